//! What a folder of findings holds, by its paths.

use std::io;
use std::path::{Path, PathBuf};

use super::error::TriageError;

/// The folder of the runs, below the folder of findings.
pub(super) const RUNS: &str = "runs";

/// The case files in a folder and in those right below it, but for its runs; sorted.
pub(super) fn case_files(folder: &Path) -> Result<Vec<PathBuf>, TriageError> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if is_case(&path) {
            found.push(path);
        } else if path.is_dir() && path.file_name().is_some_and(|name| name != RUNS) {
            found.extend(entries(&path)?.into_iter().filter(|path| is_case(path)));
        }
    }
    Ok(found)
}

fn is_case(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sql")
}

/// The folder of findings has to be there: one that is misspelt has none, either.
///
/// # Errors
///
/// [`TriageError::NoFolder`] where it is not.
pub fn require_folder(folder: &Path) -> Result<(), TriageError> {
    match folder.is_dir() {
        true => Ok(()),
        false => Err(TriageError::NoFolder {
            path: folder.to_owned(),
        }),
    }
}

/// The paths in a folder, sorted.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, TriageError> {
    require_folder(folder)?;
    let fail = |cause| TriageError::Unreadable {
        path: folder.to_owned(),
        cause,
    };
    let entries = std::fs::read_dir(folder).map_err(fail)?;
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(fail)?;
    paths.sort();
    Ok(paths)
}
