//! Why a folder cannot be worked on.

use std::io;
use std::path::PathBuf;

use crate::reproducer::FormatError;

/// Why a folder cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum TriageError {
    #[error("there is no folder {path}: name the one that `fuzz` was given as --out")]
    NoFolder { path: PathBuf },
    #[error("cannot read {path}: {cause}")]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error(
        "{path} is no record of rechecks: {reason}; without the file, all that is lost is which groups were fixed"
    )]
    NotRechecks { path: PathBuf, reason: String },
    #[error("cannot write {path}: {cause}")]
    Write { path: PathBuf, cause: io::Error },
    #[error(transparent)]
    Registry(#[from] FormatError),
}
