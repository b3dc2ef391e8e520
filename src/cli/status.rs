//! `rashomon status`: what the runs of a folder have come to, while they go on or after.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::exit::{Exit, Failure};
use super::fuzz::{clock, rate};
use super::output::Output;
use super::quantity::{ago, json_seconds, rounded};
use super::terminal::{Style, columns_of, counted, folded, grouped, printable};
use super::value::OutputFormat;
use crate::campaign::unix_seconds;
use crate::triage::{self, RunInFolder, RunStatus};

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
    let runs = triage::runs_of(&arguments.folder)?;
    let now = unix_seconds();
    let columns = columns_of(std::io::stdout());
    for run in &runs {
        match arguments.format {
            OutputFormat::Json => output.json(&machine(run))?,
            OutputFormat::Human => {
                let text = human(run, now, Style::of_stdout());
                let lines = text.trim_end().lines();
                let lines = lines.map(|line| folded(line, columns));
                output.line(&lines.collect::<Vec<_>>().join("\n"))?;
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
    let elapsed = run.elapsed();
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
        "last_finding_unix_s": run.last_finding_unix_s(),
    });
    if let (Json::Object(line), Json::Object(rest)) = (&mut line, rest) {
        line.extend(rest);
    }
    line
}

fn human(run: &RunInFolder, now: u64, style: Style) -> String {
    let mut text = String::new();
    let state = match run.state {
        RunStatus::Running => style.green(run.state.slug()),
        RunStatus::Stopped => style.yellow(run.state.slug()),
        RunStatus::Done => style.bold(run.state.slug()),
    };
    let name = run.name();
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
    let (cases, elapsed) = (statistics.verdicts.total(), run.elapsed());
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
    let last = run.last_finding_unix_s();
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
