//! Folders of several runs and machines in one.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::terminal::{counted, printable};
use crate::cli::value::OutputFormat;
use crate::triage;

/// Takes over the findings, runs and rechecks of other folders
///
/// Of two files of one group and engine the smaller case stays. Merging a folder twice changes nothing.
/// Marks are decisions of people and are not taken over.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  rashomon triage all merge monday tuesday")]
pub(super) struct MergeArguments {
    /// The folders to take over; they stay as they are
    #[arg(value_name = "FROM", required = true)]
    from: Vec<PathBuf>,
}

pub(super) fn run(
    arguments: &MergeArguments,
    folder: &Path,
    format: OutputFormat,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let made = std::fs::create_dir_all(folder);
    made.map_err(|error| {
        Failure::environment(format!("cannot write {}: {error}", folder.display()))
    })?;
    let same = |from: &PathBuf| from.canonicalize().ok() == folder.canonicalize().ok();
    if let Some(own) = arguments.from.iter().find(|from| same(from)) {
        return Err(Failure::usage(format!(
            "{} cannot be merged into itself",
            own.display()
        )));
    }
    // Before the first one is merged.
    if let Some(missing) = arguments.from.iter().find(|from| !from.is_dir()) {
        return Err(Failure::usage(format!(
            "{} is no folder: give folders of findings, as fuzz --out makes them",
            missing.display()
        )));
    }
    let _lock = super::findings::lock(folder)?;
    for from in &arguments.from {
        let merged = triage::merge(folder, from)?;
        let shown = from.display().to_string();
        match format {
            OutputFormat::Json => output.json(&json!({
                "v": 1, "event": "merged", "from": shown, "files": merged.files, "runs": merged.runs,
                "marks_left": merged.marks_left,
            }))?,
            OutputFormat::Human => {
                let (files, runs) = (merged.files as u64, merged.runs as u64);
                let marks = match merged.marks_left {
                    0 => String::new(),
                    left => format!("; {} of its known.toml stay there", counted(left as u64, "mark")),
                };
                output.line(&format!(
                    "{}: {}, {} new{marks}",
                    printable(&shown),
                    counted(files, "file"),
                    counted(runs, "run")
                ))?;
            }
        }
    }
    super::list::run(&super::findings::read(folder)?, format.into(), output)
}
