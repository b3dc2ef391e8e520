//! `rashomon triage`: what the runs of a folder have found, by groups.

mod findings;
mod format;
mod list;
mod mark;
mod merge;
mod recheck;
mod show;
mod view;

use std::path::PathBuf;

use self::findings::read;
use self::format::TriageFormat;
use super::exit::{Exit, Failure};
use super::output::Output;

/// Lists what runs have found, one line a group of findings, newest first
///
/// A group is what is told as one bug: the same anomaly at the same levels (docs/triage.md). Each is new,
/// known (an entry of the registry explains it), flaky, fixed (the last recheck did not see it) or a
/// regression. What is marked is written to known.toml in the folder, and the next run that writes there
/// counts it as known.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  rashomon triage reproducers
  rashomon triage reproducers -i
  rashomon triage reproducers show 2fcdb124
  rashomon triage reproducers mark 2fcdb124 --known MDEV-26642 --note 'as in the second comment'
  rashomon triage reproducers mark 2fcdb124 --not-a-bug
  rashomon triage reproducers unmark 2fcdb124
  rashomon triage all merge monday tuesday
  rashomon triage reproducers recheck 'mariadb://root@127.0.0.1:3306'
  rashomon triage reproducers --format junit > triage.xml")]
pub(super) struct TriageArguments {
    /// The folder of the findings: what `fuzz` takes as --out
    #[arg(value_name = "DIR", default_value = "reproducers")]
    folder: PathBuf,

    /// How to print
    #[arg(long, value_enum, default_value = "human", global = true)]
    format: TriageFormat,

    /// On a terminal: keys to move, open, replay, mark and export; ? lists them
    #[arg(short, long, conflicts_with = "format")]
    interactive: bool,

    #[command(subcommand)]
    task: Option<TriageTask>,
}

#[derive(clap::Subcommand, Debug)]
enum TriageTask {
    Show(show::ShowArguments),
    Mark(mark::MarkArguments),
    Unmark(mark::UnmarkArguments),
    Merge(merge::MergeArguments),
    Recheck(recheck::RecheckArguments),
}

pub(super) fn run(arguments: &TriageArguments, output: &mut Output) -> Result<Exit, Failure> {
    let (folder, format) = (arguments.folder.as_path(), arguments.format);
    match &arguments.task {
        None if arguments.interactive => view::run(folder),
        None => list::run(&read(folder)?, format, output),
        Some(_) if arguments.interactive => Err(Failure::usage(
            "-i stands alone: its keys show, mark and replay",
        )),
        Some(TriageTask::Recheck(task)) => recheck::run(task, folder, format, output),
        Some(TriageTask::Show(task)) => show::run(task, &read(folder)?, format.plain()?, output),
        Some(TriageTask::Mark(task)) => mark::run(task, folder, format.plain()?, output),
        Some(TriageTask::Unmark(task)) => mark::undo(task, folder, format.plain()?, output),
        Some(TriageTask::Merge(task)) => merge::run(task, folder, format.plain()?, output),
    }
}
