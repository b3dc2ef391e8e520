//! Folders of several runs and machines in one.
//!
//! A run is known by its folder's name, eight random digits, so that merging the same folder twice changes
//! nothing. Of two files of one name the smaller case stays.

use std::fs::File;
use std::path::Path;

use super::error::TriageError;
use super::paths::{RUNS, case_files, entries};
use super::rechecks::Rechecks;
use crate::reproducer::{self, Registry, whole_file};

/// What a merge has taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Case files, new ones and smaller ones.
    pub files: usize,
    pub runs: usize,
    /// The other folder's marks that this one lacks: they are not taken over.
    pub marks_left: usize,
}

/// Takes over the case files, runs and rechecks of another folder.
///
/// # Errors
/// What cannot be read or written. What was taken over by then stays: merge again.
pub fn merge(into: &Path, from: &Path) -> Result<Merged, TriageError> {
    let mut merged = Merged::default();
    let own = Registry::of_folder(into)?;
    let marks = Registry::of_folder(from)?.entries;
    merged.marks_left = marks
        .iter()
        .filter(|mark| !own.entries.contains(mark))
        .count();
    for file in case_files(from)? {
        let below = file.strip_prefix(from).unwrap_or(&file);
        let place = into.join(below);
        if is_smaller(&file, &place) {
            // The case file last: it is what is looked for.
            let beside = file.with_extension("json");
            if beside.exists() {
                copy(&beside, &place.with_extension("json"))?;
            }
            copy(&file, &place)?;
            merged.files += 1;
        }
    }
    let runs = from.join(RUNS);
    if runs.is_dir() {
        for run in entries(&runs)?.iter().filter(|path| path.is_dir()) {
            let place = into.join(RUNS).join(run.file_name().unwrap_or_default());
            merged.runs += usize::from(!place.exists());
            for file in entries(run)?.iter().filter(|path| is_record(path)) {
                copy(file, &place.join(file.file_name().unwrap_or_default()))?;
            }
        }
    }
    let mut rechecks = Rechecks::read(into)?;
    let before = rechecks.clone();
    for recheck in Rechecks::read(from)?.all {
        rechecks.adopt(recheck);
    }
    if rechecks != before {
        rechecks.write(into)?;
    }
    Ok(merged)
}

/// Whether a case is not there yet, or is smaller than the one that is.
fn is_smaller(file: &Path, place: &Path) -> bool {
    let size = |path: &Path| reproducer::load_head(path).map(|head| head.statements);
    match (size(file), size(place)) {
        (Ok(new), Ok(old)) => new < old,
        (_, Err(_)) => !place.exists(),
        (Err(_), Ok(_)) => false,
    }
}

/// Whether a file of a run's folder tells what it was and what it saw.
fn is_record(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}

fn copy(from: &Path, to: &Path) -> Result<(), TriageError> {
    let unreadable = |cause| TriageError::Unreadable {
        path: from.to_owned(),
        cause,
    };
    let bytes = std::fs::read(from).map_err(unreadable)?;
    let modified = std::fs::metadata(from).and_then(|file| file.modified());
    let folder = to.parent().unwrap_or(to);
    let written = std::fs::create_dir_all(folder).and_then(|()| whole_file::write(to, &bytes));
    // When a run was saved last is told by the time of its file.
    let written = written.and_then(|()| {
        File::options()
            .write(true)
            .open(to)?
            .set_modified(modified?)
    });
    written.map_err(|cause| TriageError::Write {
        path: to.to_owned(),
        cause,
    })
}
