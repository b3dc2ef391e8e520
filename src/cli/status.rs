//! `rashomon status`: what the runs of a folder have come to, while they go on or after.

use std::fmt::Write as _;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value as Json, json};

use super::exit::{Exit, Failure};
use super::fuzz::{clock, rate};
use super::output::Output;
use super::quantity::{ago, json_seconds, rounded};
use super::terminal::{Style, counted, grouped, printable};
use super::value::OutputFormat;
use crate::campaign::{self, Checkpoint, unix_seconds};

/// Tells what the runs of a folder have come to, while they go on or after
///
/// Reads what the runs save every five seconds, and asks nobody: it works from another terminal,
/// and over a copy of the folder.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  rashomon status
  rashomon status found --format json")]
pub(super) struct StatusArguments {
    /// The folder of the findings, --out of the runs
    #[arg(value_name = "DIR", default_value = "reproducers")]
    folder: PathBuf,

    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

pub(super) fn run(arguments: &StatusArguments, output: &mut Output) -> Result<Exit, Failure> {
    let runs = runs_of(&arguments.folder)?;
    let now = unix_seconds();
    for run in &runs {
        match arguments.format {
            OutputFormat::Json => output.json(&machine(run))?,
            OutputFormat::Human => {
                output.line(human(run, now, Style::of_stdout()).trim_end())?;
            }
        }
    }
    if arguments.format == OutputFormat::Json {
        let running = runs.iter().filter(|run| run.state == RunStatus::Running);
        output.json(&json!({
            "v": 1,
            "event": "summary",
            "runs": runs.len(),
            "running": running.count(),
        }))?;
    }
    Ok(match runs.is_empty() {
        true => Exit::Nothing,
        false => Exit::Clean,
    })
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RunStatus {
    /// A process works on it.
    Running,
    /// It has cases left: `fuzz --resume` goes on with it.
    Stopped,
    /// Every case is done.
    Done,
}

impl RunStatus {
    fn slug(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Done => "done",
        }
    }
}

/// A run as its folder shows it.
struct RunInFolder {
    folder: PathBuf,
    state: RunStatus,
    /// When its numbers were saved; none before its first case.
    saved_unix_s: Option<u64>,
    /// Its numbers, or why there are none.
    checkpoint: Result<Checkpoint, String>,
}

/// The runs of a folder: those that go on first, the newest first among them.
fn runs_of(folder: &Path) -> Result<Vec<RunInFolder>, Failure> {
    let cannot = |error: &std::io::Error| {
        Failure::usage(format!(
            "cannot read {}: {error}; name the folder that a run was given as --out",
            folder.display()
        ))
    };
    if let Err(error) = std::fs::metadata(folder) {
        return Err(cannot(&error));
    }
    let entries = match std::fs::read_dir(folder.join("runs")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot(&error)),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| cannot(&error))?.path();
        if path.is_dir() {
            runs.push(run_in(path));
        }
    }
    runs.sort_by_key(|run| {
        let is_over = run.state != RunStatus::Running;
        (
            is_over,
            std::cmp::Reverse(run.saved_unix_s),
            run.folder.clone(),
        )
    });
    Ok(runs)
}

fn run_in(folder: PathBuf) -> RunInFolder {
    let checkpoint = campaign::read_checkpoint(&folder).map_err(|error| error.to_string());
    let is_done = checkpoint.as_ref().is_ok_and(|checkpoint| {
        let judged = checkpoint.statistics.verdicts.total();
        let cases = checkpoint.settings.which_cases();
        cases.are_done(checkpoint.done.first_missing(), judged)
    });
    let state = match (is_held(&folder), is_done) {
        (true, _) => RunStatus::Running,
        (false, true) => RunStatus::Done,
        (false, false) => RunStatus::Stopped,
    };
    RunInFolder {
        state,
        saved_unix_s: last_written(campaign::checkpoint_files(&folder)),
        checkpoint,
        folder,
    }
}

/// Whether a process works on a run: it holds the run's lock.
fn is_held(folder: &Path) -> bool {
    let lock = File::open(folder.join("lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// When the last of its findings was written.
fn last_finding(checkpoint: &Checkpoint) -> Option<u64> {
    last_written(checkpoint.ledger.findings().map(|found| &found.path))
}

/// When the last of these files was written, in seconds since 1970; none where none is there.
fn last_written(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Option<u64> {
    let written = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified());
    let times = paths
        .into_iter()
        .filter_map(|path| written(path.as_ref()).ok());
    let last = times.max()?.duration_since(UNIX_EPOCH);
    Some(last.unwrap_or_default().as_secs())
}

fn machine(run: &RunInFolder) -> Json {
    let mut line = json!({
        "v": 1,
        "event": "run",
        "folder": run.folder.display().to_string(),
        "state": run.state.slug(),
        "saved_unix_s": run.saved_unix_s,
    });
    let checkpoint = match &run.checkpoint {
        Ok(checkpoint) => checkpoint,
        Err(reason) => {
            line["problem"] = json!(reason);
            return line;
        }
    };
    let (settings, statistics) = (&checkpoint.settings, &checkpoint.statistics);
    let elapsed = elapsed(checkpoint);
    let cases = statistics.verdicts.total();
    let found: Vec<&String> = checkpoint.ledger.findings().map(|f| &f.path).collect();
    let flaky: Vec<&String> = checkpoint.ledger.flaky().map(|f| &f.path).collect();
    let rest = json!({
        "run": settings.run_id,
        "server": checkpoint.server,
        "seed": settings.seed,
        "isolation": settings.isolation,
        "claim": settings.claim,
        "workers": settings.workers,
        "cases": cases,
        "cases_asked": settings.cases,
        "elapsed_s": json_seconds(elapsed),
        "cases_per_s": rounded(rate(cases, elapsed), 1),
        "verdicts": statistics.verdicts,
        "undecided": statistics.undecided,
        "known": statistics.known,
        "reproducers": found,
        "flaky": flaky,
        "last_finding_unix_s": last_finding(checkpoint),
    });
    if let (Json::Object(line), Json::Object(rest)) = (&mut line, rest) {
        line.extend(rest);
    }
    line
}

fn elapsed(checkpoint: &Checkpoint) -> Duration {
    Duration::try_from_secs_f64(checkpoint.elapsed_s).unwrap_or_default()
}

fn human(run: &RunInFolder, now: u64, style: Style) -> String {
    let mut text = String::new();
    let state = match run.state {
        RunStatus::Running => style.green(run.state.slug()),
        RunStatus::Stopped => style.yellow(run.state.slug()),
        RunStatus::Done => style.bold(run.state.slug()),
    };
    let name = run.folder.file_name().unwrap_or_default().to_string_lossy();
    let saved = run
        .saved_unix_s
        .map_or(String::new(), |at| format!("   saved {} ago", ago(now, at)));
    let row = |text: &mut String, name: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}  {value}", style.faint(&format!("{name:>12}")));
    };
    let checkpoint = match &run.checkpoint {
        Ok(checkpoint) => checkpoint,
        Err(reason) => {
            let _ = writeln!(text, "run {}   {state}{saved}", printable(&name));
            row(&mut text, "", &printable(reason));
            return text;
        }
    };
    let (settings, statistics) = (&checkpoint.settings, &checkpoint.statistics);
    let claim = settings.claim.as_deref();
    let claim = claim.map_or(String::new(), |claim| format!(", claimed {claim}"));
    let _ = writeln!(
        text,
        "run {}   {state}{saved}   {}   seed {}   isolation {}",
        printable(&name),
        printable(&checkpoint.server),
        settings.seed,
        printable(&(settings.isolation.clone() + &claim))
    );
    let (cases, elapsed) = (statistics.verdicts.total(), elapsed(checkpoint));
    let asked = settings
        .cases
        .map_or(String::new(), |n| format!(" of {}", grouped(n)));
    let workers = counted(settings.workers as u64, "worker");
    let line = format!(
        "{}{asked} in {}, {:.1} a second, {workers}",
        grouped(cases),
        clock(elapsed),
        rate(cases, elapsed)
    );
    row(&mut text, "cases", &line);
    let words = statistics.verdicts.by_word();
    let words = words.map(|(word, count)| format!("{word} {}", grouped(count)));
    row(&mut text, "verdicts", &words.join("   "));
    let found = checkpoint.ledger.findings().count();
    let last = last_finding(checkpoint);
    let last = last.map_or(String::new(), |at| {
        format!(", the last written {} ago", ago(now, at))
    });
    let found = match found {
        0 => "none".to_owned(),
        found => style.red(&format!("{found}{last}")),
    };
    row(&mut text, "findings", &found);
    let flaky = checkpoint.ledger.flaky().count();
    if flaky > 0 {
        row(&mut text, "flaky", &style.yellow(&flaky.to_string()));
    }
    text
}
