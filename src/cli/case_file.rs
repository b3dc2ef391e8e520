//! Case files as commands are given them.

use std::path::{Path, PathBuf};

use super::exit::{Exit, Failure};
use crate::oracle::ORACLES;
use crate::reproducer::{self, CaseFile, safety};

/// The path that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// A case file that is not run, and why.
#[derive(Debug)]
pub(super) struct Skipped {
    pub(super) path: PathBuf,
    pub(super) failure: Failure,
}

/// What a path names: the case files that can be run, and those that cannot.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) files: Vec<(PathBuf, CaseFile)>,
    pub(super) skipped: Vec<Skipped>,
}

/// Reads a case file, or every `.sql` file below a folder, and refuses what is not safe to run. A
/// file of a folder that cannot be used does not keep the others from being run.
///
/// # Errors
/// When the path names one file that cannot be used, or a folder that cannot be read.
pub(super) fn load_all(path: &Path, trust: bool) -> Result<Loaded, Failure> {
    let mut loaded = Loaded::default();
    if !path.is_dir() {
        // The reader's error names the file.
        loaded.files.push((path.to_owned(), load(path, trust)?));
        return Ok(loaded);
    }
    let mut paths = Vec::new();
    collect(path, &mut paths)?;
    paths.sort();
    for path in paths {
        match load(&path, trust) {
            Ok(file) => loaded.files.push((path, file)),
            Err(failure) => loaded.skipped.push(Skipped { path, failure }),
        }
    }
    Ok(loaded)
}

impl Loaded {
    /// The same without the files whose finding takes a crash of the server: no run of them shows it.
    pub(super) fn without_crashes(self) -> Self {
        let Self { files, mut skipped } = self;
        let mut kept = Vec::with_capacity(files.len());
        for (path, file) in files {
            match crashing(&path, &file) {
                Some(failure) => skipped.push(Skipped { path, failure }),
                None => kept.push((path, file)),
            }
        }
        Self {
            files: kept,
            skipped,
        }
    }
}

/// Why a file is not replayed that an oracle found which has the server killed; none of any other.
fn crashing(path: &Path, file: &CaseFile) -> Option<Failure> {
    let name = file.header.oracle.as_deref()?;
    let oracle = ORACLES.iter().find(|oracle| oracle.name() == name)?;
    let seed = file.header.seed.as_deref().unwrap_or("SEED:INDEX");
    let message = format!(
        "{}: the {name} oracle found it after a crash of the server, which is no part of a replay: \
         `rashomon fuzz TARGET --oracle {name} --restart-command CMD --seed {seed}` runs the case it is \
         from, with another crash",
        path.display()
    );
    let exit = Exit::Inconclusive;
    oracle.needs().crash.then_some(Failure { exit, message })
}

/// Reads one case file, or standard input for `-`, and refuses what is not safe to run.
pub(super) fn load(path: &Path, trust: bool) -> Result<CaseFile, Failure> {
    let read = if path.as_os_str() == STANDARD_INPUT {
        reproducer::read_from(&mut std::io::stdin().lock(), "standard input")
    } else {
        reproducer::load(path)
    };
    let file = read.map_err(|error| Failure::usage(error.to_string()))?;
    if !trust {
        safety::check(&file).map_err(|refusal| Failure {
            exit: Exit::Refused,
            message: format!("{}: {refusal}", path.display()),
        })?;
    }
    Ok(file)
}

/// Every `.sql` file below a folder.
fn collect(path: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
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
        "name the TARGET to run this on: sqlite:, mysql://USER:PW@HOST:PORT, mariadb://..., tidb://..., postgres://...",
    ))
}
