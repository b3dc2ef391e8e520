//! Case files as commands are given them.

use std::path::{Path, PathBuf};

use super::exit::{Exit, Failure};
use super::text_file;
use crate::reproducer::{self, CaseFile, safety};

/// Reads a case file, or every `.sql` file below a folder, and refuses what is not safe to run.
pub(super) fn load_all(path: &Path, trust: bool) -> Result<Vec<(PathBuf, CaseFile)>, Failure> {
    let mut paths = Vec::new();
    collect(path, &mut paths)?;
    paths.sort();
    paths
        .into_iter()
        .map(|path| load(&path, trust).map(|file| (path, file)))
        .collect()
}

/// Reads one case file, and refuses what is not safe to run.
pub(super) fn load(path: &Path, trust: bool) -> Result<CaseFile, Failure> {
    text_file::check_plain(path)?;
    let file = reproducer::load(path).map_err(|error| Failure::usage(error.to_string()))?;
    if !trust {
        safety::check(&file).map_err(|refusal| Failure {
            exit: Exit::Refused,
            message: format!("{}: {refusal}", path.display()),
        })?;
    }
    Ok(file)
}

fn collect(path: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if !path.is_dir() {
        // Whatever is wrong with it, the reader says it with the file's name.
        found.push(path.to_owned());
        return Ok(());
    }
    let unreadable = |error| {
        Failure::usage(format!(
            "cannot read the folder {}: {error}",
            path.display()
        ))
    };
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let below = entry.path();
        // A link could lead out of the folder, or around in circles.
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() {
            collect(&below, found)?;
        } else if kind.is_file()
            && below
                .extension()
                .is_some_and(|extension| extension == "sql")
        {
            found.push(below);
        }
    }
    Ok(())
}

/// The target that was given, or SQLite where every file was seen there: a URL in a case file is
/// never trusted.
pub(super) fn target_of(
    given: Option<&str>,
    files: &[(PathBuf, CaseFile)],
) -> Result<String, Failure> {
    if let Some(target) = given {
        return Ok(target.to_owned());
    }
    if files
        .iter()
        .all(|(_, file)| file.header.engine.as_deref() == Some("sqlite"))
    {
        return Ok("sqlite:".to_owned());
    }
    Err(Failure::usage(
        "name the TARGET to run this on: sqlite:, mysql://USER:PW@HOST:PORT, mariadb://...",
    ))
}
