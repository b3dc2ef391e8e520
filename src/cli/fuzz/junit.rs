//! What a run has found, as JUnit XML (`--junit FILE`).

use std::io;
use std::path::Path;

use crate::campaign::RunSummary;
use crate::cli::exit::Failure;
use crate::cli::output_file::cannot_write;
use crate::report;
use crate::reproducer::{Registry, whole_file};
use crate::triage::TriageFolder;

/// Refuses at the start what could not be written at the end.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let is_place = folder.is_none_or(Path::is_dir) && !path.is_dir();
    match is_place {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "--junit {}: name a file in a folder that exists",
            path.display()
        ))),
    }
}

/// Writes the groups that the run has seen, over what an earlier run has written.
pub(super) fn write(path: &Path, summary: &RunSummary) -> Result<(), Failure> {
    let builtin = Registry::builtin().map_err(|error| Failure::usage(error.to_string()))?;
    let mut folder = TriageFolder::read(&summary.settings.out, builtin)?;
    folder.keep_run(&summary.settings.run_id);
    keep(path, report::junit(&folder, summary.problem().as_deref()))
}

/// Writes that a run came to no case, and why.
pub(super) fn write_problem(path: &Path, out: &Path, problem: &str) -> Result<(), Failure> {
    let place = out.display().to_string();
    keep(path, report::junit_of_no_run(&place, problem))
}

fn keep(path: &Path, xml: io::Result<String>) -> Result<(), Failure> {
    let written = xml.and_then(|xml| whole_file::write(path, xml.as_bytes()));
    written.map_err(|error| cannot_write(path, &error))
}
