//! Why a file cannot be used, with the place.

/// A file that cannot be used, with the place. Lines and columns count from 1, columns in bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct FormatError {
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub message: String,
}
