//! `rashomon replay`: case files, judged again.

use std::path::{Path, PathBuf};

use super::case_file;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::output_file::Overwriting;
use super::server::{ServerArguments, random_u64};
use super::terminal::printable;
use super::value::{
    OutputFormat, nothing_is_known, oracle_names, oracles_named, positive, registry,
};
use crate::engine::{self, OpenOptions};
use crate::execute::Driver;
use crate::model::Verdict;
use crate::replay::{self, Confirmation, ReplayOptions, ReplayReport};
use crate::reproducer;

/// Runs case files again and judges them
///
/// Every oracle that applies is asked, and expectations in the file are checked. A hand-written
/// file needs no more than `--! format = 1`, an isolation level, and tagged statements. Files are
/// not trusted: what could leave the case's own tables is refused. A file of a folder that cannot be
/// read is named and skipped. Exit 1 when a violation shows.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  rashomon replay reproducers/mariadb/lost-update-2fcdb124.sql 'mariadb://root@127.0.0.1:3306'
  rashomon replay reproducers/mariadb 'mariadb://root@127.0.0.1:3306' --confirm-fixed
  rashomon replay by-hand.sql 'mysql://root@127.0.0.1:3306' -o answered.sql
  rashomon export answered.sql --to issue")]
pub(super) struct ReplayArguments {
    /// A case file, a folder of them, or - for standard input
    path: PathBuf,

    /// The server; must be named unless every file was seen on SQLite
    target: Option<String>,

    /// The oracles that judge, with commas between [default: all]
    #[arg(long, value_name = "ORACLES", value_delimiter = ',', value_parser = oracle_names())]
    oracle: Vec<String>,

    /// How often each file is run
    #[arg(long, value_name = "N", value_parser = positive, default_value = "10")]
    times: u64,

    /// Run as often as it takes to be 99 % sure that the finding is gone, given the recorded rate
    #[arg(long, conflicts_with = "times")]
    confirm_fixed: bool,

    /// Run the files without the safety check
    #[arg(long)]
    trust: bool,

    /// Registry of known behaviour, added to the built-in one; `none`: nothing is known, everything
    /// is a finding
    #[arg(long, value_name = "FILE|none")]
    known: Option<PathBuf>,

    /// Write the case with what it was answered, and what the finding expects: a file that `export` and `report` can
    /// tell. One file at a time
    #[arg(short, alias = "output", value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    overwriting: Overwriting,

    /// Print no transcripts
    #[arg(long)]
    brief: bool,

    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,

    #[command(flatten)]
    server: ServerArguments,
}

pub(super) fn run(arguments: &ReplayArguments, output: &mut Output) -> Result<Exit, Failure> {
    let loaded = case_file::load_all(&arguments.path, arguments.trust)?.without_crashes();
    let mut exit = Exit::Clean;
    for skipped in &loaded.skipped {
        exit = worse(exit, skipped.failure.exit);
        show_skipped(skipped, arguments.format, output)?;
    }
    if loaded.files.is_empty() {
        return Err(none_to_run(&arguments.path, exit));
    }
    check_output(arguments, loaded.files.len())?;
    let target = case_file::target_of(arguments.target.as_deref(), &loaded.files)?;
    let registry = registry(arguments.known.as_deref())?;
    let oracles = oracles_named(&arguments.oracle, None);
    let run_id = format!("replay{:08x}", random_u64()? >> 32);
    let options = OpenOptions {
        nothing_is_known: nothing_is_known(arguments.known.as_deref()),
        ..arguments.server.open_options(&run_id)?
    };
    let server = engine::open(&target, &options)?;
    let mut driver = Driver::open(&*server, &format!("rashomon_{run_id}_0"))?;
    let replay_options = ReplayOptions {
        oracles: &oracles,
        registry: &registry,
        times: u32::try_from(arguments.times).unwrap_or(u32::MAX),
        stop_at_first_hit: false,
    };
    let mut reports = Vec::with_capacity(loaded.files.len());
    for (path, file) in &loaded.files {
        let name = path.display().to_string();
        let identity = server.identity();
        let (report, confirmation, ends_with) = if arguments.confirm_fixed {
            let (confirmation, sentence, report) =
                replay::confirm_fixed(file, &name, &mut driver, identity, &replay_options)?;
            if arguments.format == OutputFormat::Human {
                output.line(&printable(&sentence))?;
            }
            (
                report,
                Some(confirmation),
                exit_of_confirmation(confirmation),
            )
        } else {
            let report = replay::replay(file, &name, &mut driver, identity, &replay_options)?;
            let ends_with = exit_of(&report);
            (report, None, ends_with)
        };
        show(&report, confirmation, arguments, output)?;
        if let Some(path) = &arguments.output {
            let answered = report.answered(file, server.identity());
            let answered = answered.ok_or_else(|| nothing_to_write(path))?;
            let text = reproducer::write(&answered);
            arguments.overwriting.write(path, text.as_bytes())?;
        }
        exit = worse(exit, ends_with);
        reports.push(report);
    }
    if let Err(error) = driver.close() {
        tracing::warn!("the databases of this replay stay: {error}; `rashomon clean` drops them");
    }
    let identity = server.identity();
    let target = identity.in_short();
    let skipped = loaded.skipped.len();
    if arguments.format == OutputFormat::Json {
        output.line(&replay::summary(&target, &reports, skipped))?;
    } else if reports.len() + skipped > 1 {
        output.line(&counts(&reports, skipped))?;
    }
    Ok(exit)
}

/// Refuses an output file that is taken, or that is to hold several cases, before anything runs.
fn check_output(arguments: &ReplayArguments, files: usize) -> Result<(), Failure> {
    let Some(path) = &arguments.output else {
        return Ok(());
    };
    if files > 1 {
        return Err(Failure::usage(format!(
            "-o {} takes one case, and {} has {files}: name one file",
            path.display(),
            arguments.path.display()
        )));
    }
    arguments.overwriting.check(path)
}

fn nothing_to_write(path: &Path) -> Failure {
    Failure {
        exit: Exit::Inconclusive,
        message: format!(
            "{} is not written: no run of the case came to its end",
            path.display()
        ),
    }
}

/// Names a file that is not replayed and goes on with the others.
fn show_skipped(
    skipped: &case_file::Skipped,
    format: OutputFormat,
    output: &mut Output,
) -> Result<(), Failure> {
    let reason = &skipped.failure.message;
    match format {
        OutputFormat::Json => {
            let file = skipped.path.display().to_string();
            output.line(&replay::skipped(&file, reason))
        }
        OutputFormat::Human => output.line(&format!("skipped: {}", printable(reason))),
    }
}

/// A folder without a case file that can be run. `exit`: what the skipped files mean.
fn none_to_run(path: &Path, exit: Exit) -> Failure {
    let path = path.display();
    if exit == Exit::Clean {
        return Failure {
            exit: Exit::Nothing,
            message: format!("no case file (*.sql) in {path}"),
        };
    }
    Failure {
        exit,
        message: format!("no case file in {path} can be replayed"),
    }
}

fn show(
    report: &ReplayReport,
    confirmation: Option<Confirmation>,
    arguments: &ReplayArguments,
    output: &mut Output,
) -> Result<(), Failure> {
    if arguments.format == OutputFormat::Json {
        return output.line(&replay::replayed(report, confirmation));
    }
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = replay::print(report, &mut text);
    output.line(String::from_utf8_lossy(&text).trim_end())?;
    match &report.shown {
        Some((case, execution)) if !arguments.brief => {
            output.line(&crate::execute::transcript(case, execution))
        }
        _ => Ok(()),
    }
}

/// What one report means for the exit code.
fn exit_of(report: &ReplayReport) -> Exit {
    match &report.verdict {
        Verdict::Violation(_) => Exit::Finding,
        Verdict::Flaky { hits, .. } if *hits > 0 => Exit::Finding,
        Verdict::Agree | Verdict::Known(_) => Exit::Clean,
        Verdict::Undecided(_) | Verdict::Flaky { .. } => Exit::Inconclusive,
    }
}

fn exit_of_confirmation(confirmation: Confirmation) -> Exit {
    match confirmation {
        Confirmation::Fixed => Exit::Clean,
        Confirmation::StillThere => Exit::Finding,
        Confirmation::Inconclusive => Exit::Inconclusive,
    }
}

/// Of several files the worst counts: reproduced, then refused as unsafe, then not readable, then
/// inconclusive, then clean.
fn worse(a: Exit, b: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Finding => 4,
        Exit::Refused => 3,
        Exit::Usage => 2,
        Exit::Inconclusive => 1,
        Exit::Clean
        | Exit::Nothing
        | Exit::Environment
        | Exit::Internal
        | Exit::Interrupted
        | Exit::Terminated => 0,
    };
    if rank(b) > rank(a) { b } else { a }
}

fn counts(reports: &[ReplayReport], skipped: usize) -> String {
    let count = |word: &str| reports.iter().filter(|r| r.verdict.word() == word).count();
    let words = ["agree", "known", "undecided", "flaky", "violation"];
    let counts: Vec<String> = words
        .iter()
        .map(|word| format!("{word} {}", count(word)))
        .collect();
    let skipped = match skipped {
        0 => String::new(),
        skipped => format!(", skipped {skipped}"),
    };
    format!("{} files: {}{skipped}", reports.len(), counts.join(", "))
}
