//! `rashomon replay`: case files, judged again.

use std::path::PathBuf;

use super::case_file;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::server::{ServerArguments, random_u64};
use super::value::{OutputFormat, oracle_name, oracles_named, positive, registry};
use crate::engine;
use crate::execute::Driver;
use crate::model::Verdict;
use crate::replay::{self, Confirmation, ReplayOptions, ReplayReport};

/// Runs case files again and judges them
///
/// Every oracle that applies is asked, and expectations in the file are checked. A hand-written
/// file needs no more than `--! format = 1`, an isolation level, and tagged statements. Files are
/// not trusted: what could leave the case's own tables is refused. Exit 1 when a violation shows.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  rashomon replay reproducers/mariadb/serial-not-serializable-5307e5b3.sql 'mariadb://root@127.0.0.1:3306'
  rashomon replay reproducers/mariadb 'mariadb://root@127.0.0.1:3306' --confirm-fixed")]
pub(super) struct ReplayArguments {
    /// A case file, or a folder of them
    path: PathBuf,

    /// The server; must be named unless every file was seen on SQLite
    target: Option<String>,

    /// The oracles that judge, with commas between: txcheck, serial, or all [default: all]
    #[arg(long, value_name = "ORACLES", value_delimiter = ',', value_parser = oracle_name)]
    oracle: Vec<String>,

    /// How often each file is run
    #[arg(long, value_name = "N", value_parser = positive, default_value = "10")]
    times: u64,

    /// Run as often as it takes to be 99 % sure that the finding is gone
    #[arg(long, conflicts_with = "times")]
    confirm_fixed: bool,

    /// Run the files as they are, whatever they do
    #[arg(long)]
    trust: bool,

    /// Registry of known behaviour, added to the built-in one
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,

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
    let files = case_file::load_all(&arguments.path, arguments.trust)?;
    if files.is_empty() {
        return Err(Failure {
            exit: Exit::Nothing,
            message: format!("no case file in {}", arguments.path.display()),
        });
    }
    let target = case_file::target_of(arguments.target.as_deref(), &files)?;
    let registry = registry(arguments.known.as_deref())?;
    let names = if arguments.oracle.is_empty() {
        vec!["all".to_owned()]
    } else {
        arguments.oracle.clone()
    };
    let oracles = oracles_named(&names, None);
    let run_id = format!("replay{:08x}", random_u64()? >> 32);
    let options = arguments.server.open_options(&run_id)?;
    let server = engine::open(&target, &options)?;
    let mut driver = Driver::open(&*server, &format!("rashomon_{run_id}_0"))?;
    let replay_options = ReplayOptions {
        oracles: &oracles,
        registry: &registry,
        times: u32::try_from(arguments.times).unwrap_or(u32::MAX),
        stop_at_first_hit: false,
    };
    let mut reports = Vec::with_capacity(files.len());
    let mut exit = Exit::Clean;
    for (path, file) in &files {
        let name = path.display().to_string();
        let identity = server.identity();
        let (report, ends_with) = if arguments.confirm_fixed {
            let (confirmation, sentence, report) =
                replay::confirm_fixed(file, &name, &mut driver, identity, &replay_options)?;
            if arguments.format == OutputFormat::Human {
                output.line(&super::terminal::printable(&sentence))?;
            }
            let ends_with = match confirmation {
                Confirmation::Fixed => Exit::Clean,
                Confirmation::StillThere => Exit::Finding,
                Confirmation::Inconclusive => Exit::Inconclusive,
            };
            (report, ends_with)
        } else {
            let report = replay::replay(file, &name, &mut driver, identity, &replay_options)?;
            let ends_with = exit_of(&report);
            (report, ends_with)
        };
        show(&report, arguments, output)?;
        exit = worse(exit, ends_with);
        reports.push(report);
    }
    if let Err(error) = driver.close() {
        tracing::warn!("the databases of this replay stay: {error}; `rashomon clean` drops them");
    }
    let identity = server.identity();
    let target = format!("{} {}", identity.engine, identity.version);
    if arguments.format == OutputFormat::Json {
        output.line(&replay::summary(&target, &reports))?;
    } else if reports.len() > 1 {
        output.line(&counts(&reports))?;
    }
    Ok(exit)
}

fn show(
    report: &ReplayReport,
    arguments: &ReplayArguments,
    output: &mut Output,
) -> Result<(), Failure> {
    if arguments.format == OutputFormat::Json {
        return output.line(&replay::replayed(report));
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

/// Of several files the worst counts: reproduced, then inconclusive, then clean.
fn worse(a: Exit, b: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Finding => 2,
        Exit::Inconclusive => 1,
        _ => 0,
    };
    if rank(b) > rank(a) { b } else { a }
}

fn counts(reports: &[ReplayReport]) -> String {
    let count = |word: &str| reports.iter().filter(|r| r.verdict.word() == word).count();
    let words = ["agree", "known", "undecided", "flaky", "violation"];
    let counts: Vec<String> = words
        .iter()
        .map(|word| format!("{word} {}", count(word)))
        .collect();
    format!("{} files: {}", reports.len(), counts.join(", "))
}
