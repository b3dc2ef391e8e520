//! The end of a run: numbers, what was found, what was done, and how to go on.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use super::super::exit::{Exit, Failure};
use super::super::output::{Output, seconds};
use super::super::terminal::{Style, counted, grouped, printable};
use super::super::value::Format;
use super::live::{clock, rate};
use crate::campaign::{Cases, Options, Share, Statistics, Summary};

/// How a finished run ends the program.
pub(super) fn exit(summary: &Summary) -> Exit {
    let verdicts = &summary.statistics.verdicts;
    match summary.signal {
        Some(signal) if signal == signal_hook::consts::SIGTERM as usize => Exit::Terminated,
        Some(_) => Exit::Interrupted,
        None if verdicts.violation > 0 => Exit::Finding,
        None if summary.failure.is_some() => Exit::Environment,
        None if verdicts.total() == 0 => Exit::Nothing,
        None if verdicts.agree + verdicts.known == 0 => Exit::Inconclusive,
        None => Exit::Clean,
    }
}

/// Prints the end of a run.
pub(super) fn print(
    summary: &Summary,
    options: &Options,
    format: Format,
    output: &mut Output,
) -> Result<(), Failure> {
    match format {
        Format::Json => output.json(&machine(summary)),
        Format::Human => output.line(human(summary, options, Style::of_stdout()).trim_end()),
    }
}

/// The last line of `--format json`: a contract.
fn machine(summary: &Summary) -> Json {
    let statistics = &summary.statistics;
    let verdicts = &statistics.verdicts;
    let by_level: Map<String, Json> = statistics
        .tested_committed
        .iter()
        .map(|(level, share)| (level.clone(), json!(three_digits(*share))))
        .collect();
    let reproducers: Vec<&String> = summary.findings.iter().map(|found| &found.path).collect();
    json!({
        "v": 1,
        "event": "summary",
        "target": target(summary),
        "seed": summary.settings.seed,
        "cases": verdicts.total(),
        "verdicts": {
            "agree": verdicts.agree,
            "known": verdicts.known,
            "undecided": verdicts.undecided,
            "flaky": verdicts.flaky,
            "violation": verdicts.violation,
        },
        "statements": statistics.statements_sent,
        "blocked": statistics.blocked,
        "deadlocks": statistics.deadlocks,
        "elapsed_s": seconds(summary.elapsed),
        "cases_per_s": (rate(verdicts.total(), summary.elapsed) * 10.0).round() / 10.0,
        "tested_share": three_digits(statistics.tested),
        "reproducers": reproducers,
        "known": statistics.known,
        "undecided": statistics.undecided,
        "tested_share_committed": by_level,
        "acyclic_share": three_digits(statistics.acyclic),
        "oracles": statistics.oracles,
        "inapplicable": statistics.inapplicable,
        "rejected": statistics.rejected,
        "duplicates": statistics.duplicates,
        "server_losses": statistics.server_losses,
        "run": summary.settings.run_id,
        "next_index": summary.next_index,
        "failure": summary.failure,
    })
}

/// `mariadb 10.11.18`: the engine and the numbers of its version.
fn target(summary: &Summary) -> String {
    let mut words = summary.settings.server.split(' ');
    let engine = words.next().unwrap_or_default();
    let version = words.next().unwrap_or_default();
    let numbers: String = version
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    format!("{engine} {}", numbers.trim_end_matches('.'))
}

fn three_digits(share: Share) -> Option<f64> {
    share.ratio().map(|ratio| (ratio * 1000.0).round() / 1000.0)
}

fn percent(share: Share) -> String {
    share
        .ratio()
        .map_or_else(|| "-".to_owned(), |ratio| format!("{:.1} %", ratio * 100.0))
}

fn human(summary: &Summary, options: &Options, style: Style) -> String {
    let mut text = String::new();
    let statistics = &summary.statistics;
    // Writing to a String cannot fail.
    if let Some(contended) = &statistics.contended {
        let _ = writeln!(
            text,
            "\n{} case {}: {}, {}, {}",
            style.bold("The most contended case,"),
            contended.index,
            counted(contended.waits, "wait"),
            counted(contended.deadlocks, "deadlock"),
            counted(contended.refusals, "refusal")
        );
        let _ = writeln!(text, "{}", printable(&contended.transcript));
    }
    numbers(&mut text, summary, style);
    findings(&mut text, summary, style);
    next(&mut text, summary, options, style);
    text
}

/// A row of the summary: its name in a column of its own.
fn row(text: &mut String, style: Style, name: &str, value: &str) {
    let _ = writeln!(text, "{}  {value}", style.faint(&format!("{name:>12}")));
}

fn numbers(text: &mut String, summary: &Summary, style: Style) {
    let statistics = &summary.statistics;
    let total = statistics.verdicts.total();
    row(text, style, "server", &printable(&summary.settings.server));
    let cases = format!(
        "{} in {}, {:.1} a second; {} statements sent",
        grouped(total),
        clock(summary.elapsed),
        rate(total, summary.elapsed),
        grouped(statistics.statements_sent)
    );
    row(text, style, "cases", &cases);
    verdicts(text, statistics, style);
    let contention = format!(
        "{} statements waited, {} deadlocks; {}",
        grouped(statistics.blocked),
        grouped(statistics.deadlocks),
        rejected(statistics)
    );
    row(text, style, "contention", &contention);
    let tested = format!("{} of all generated statements", percent(statistics.tested));
    row(text, style, "tested", &tested);
    for (level, share) in &statistics.tested_committed {
        let share = percent(*share);
        let line = format!("{share} of those in committed transactions at {level}");
        row(text, style, "", &line);
    }
    if !statistics.untested.is_empty() {
        row(text, style, "untested", &counts(&statistics.untested));
    }
    if statistics.acyclic.whole > 0 {
        let kept = percent(statistics.acyclic);
        let line = format!("{kept} of what lasts kept in acyclic statement dependency graphs");
        row(text, style, "", &line);
    }
    if statistics.server_losses > 0 {
        let times = format!("{} times", grouped(statistics.server_losses));
        row(text, style, "server lost", &times);
    }
}

/// What the cases came to, why some are undecided or known, and what each oracle said by itself.
fn verdicts(text: &mut String, statistics: &Statistics, style: Style) {
    let verdicts = &statistics.verdicts;
    let total = verdicts.total();
    let coloured = |word: &str, count: u64, paint: &dyn Fn(&str) -> String| {
        let shown = format!("{word} {}", grouped(count));
        if count == 0 { shown } else { paint(&shown) }
    };
    let all = [
        coloured("agree", verdicts.agree, &|t| style.green(t)),
        coloured("known", verdicts.known, &|t| style.bold(t)),
        coloured("undecided", verdicts.undecided, &|t| t.to_owned()),
        coloured("flaky", verdicts.flaky, &|t| style.yellow(t)),
        coloured("violation", verdicts.violation, &|t| style.red(t)),
    ];
    row(text, style, "verdicts", &all.join("   "));
    for (reason, count) in &statistics.undecided {
        let share = percent(Share {
            part: *count,
            whole: total,
        });
        let line = format!("{} {} ({share})", grouped(*count), printable(reason));
        row(text, style, "undecided", &line);
    }
    for (id, count) in &statistics.known {
        row(
            text,
            style,
            "known",
            &format!("{} {}", grouped(*count), printable(id)),
        );
    }
    for (oracle, said) in &statistics.oracles {
        let line = format!(
            "agree {}, known {}, undecided {}, flaky {}, violation {}",
            grouped(said.agree),
            grouped(said.known),
            grouped(said.undecided),
            grouped(said.flaky),
            grouped(said.violation)
        );
        row(text, style, oracle, &line);
    }
}

fn rejected(statistics: &Statistics) -> String {
    if statistics.rejected.is_empty() {
        return "nothing rejected".to_owned();
    }
    format!("rejected: {}", counts(&statistics.rejected))
}

/// `reason 12, other-reason 3`.
fn counts(by_reason: &BTreeMap<String, u64>) -> String {
    let counts: Vec<String> = by_reason
        .iter()
        .map(|(reason, count)| format!("{reason} {}", grouped(*count)))
        .collect();
    counts.join(", ")
}

fn findings(text: &mut String, summary: &Summary, style: Style) {
    if summary.findings.is_empty() {
        let _ = writeln!(
            text,
            "{}  {}",
            style.faint("    findings"),
            style.green("none")
        );
        return;
    }
    let _ = writeln!(
        text,
        "{}  {}",
        style.faint("    findings"),
        summary.findings.len()
    );
    for found in &summary.findings {
        let _ = writeln!(
            text,
            "  {}\n      {}",
            style.red(&printable(&found.path)),
            printable(&found.headline)
        );
    }
    let rest = summary.statistics.duplicates;
    if rest > 0 {
        let _ = writeln!(
            text,
            "  {} further violations look like these",
            grouped(rest)
        );
    }
}

/// What to type next.
fn next(text: &mut String, summary: &Summary, options: &Options, style: Style) {
    if let Some(failure) = &summary.failure {
        let _ = writeln!(
            text,
            "{} {}",
            style.red("the run could not go on:"),
            printable(failure)
        );
    }
    let mut commands = Vec::new();
    if let Some(found) = summary.findings.first() {
        let target = &summary.settings.target;
        commands.push(format!(
            "rashomon replay {} '{target}'",
            printable(&found.path)
        ));
    }
    let is_complete = match options.cases {
        Cases::Count(cases) => cases.is_some_and(|cases| summary.next_index >= cases),
        Cases::Only(_) => summary.statistics.verdicts.total() > 0,
    };
    if !is_complete {
        let folder = options.run_folder();
        let more = options
            .time
            .map_or(String::new(), |time| format!(" --for {}s", time.as_secs()));
        commands.push(format!("rashomon fuzz --resume {}{more}", folder.display()));
    }
    for (index, command) in commands.iter().enumerate() {
        let lead = if index == 0 { "        next" } else { "" };
        let _ = writeln!(text, "{}  {command}", style.faint(&format!("{lead:>12}")));
    }
}
