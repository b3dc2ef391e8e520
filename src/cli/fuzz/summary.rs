//! The end of a run: numbers, what was found, what was done, and how to go on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use super::arguments::FuzzArguments;
use super::commands;
use super::figures::{clock, rate};
use super::summary_json;
use crate::campaign::{ComparedCases, RunSummary, Share, Statistics};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::terminal::{Style, counted, grouped, printable};
use crate::cli::value::OutputFormat;
use crate::model::UndecidedReason;
use crate::reproducer;

/// How a finished run ends the program.
pub(super) fn exit(summary: &RunSummary) -> Exit {
    let verdicts = &summary.statistics.verdicts;
    match summary.signal {
        // What the disk did not take is lost, whatever ended the run.
        _ if summary.failure.is_some() => Exit::Environment,
        // What such a run did not find says nothing.
        _ if !summary.statistics.canaries.unheard.is_empty() => Exit::Internal,
        Some(signal) => Exit::of_signal(signal),
        None if summary.server_down.is_some() => Exit::Environment,
        None if verdicts.violation + verdicts.flaky > 0 => Exit::Finding,
        None if verdicts.total() == 0 => Exit::Nothing,
        None if verdicts.agree + verdicts.known == 0 => Exit::Inconclusive,
        None => Exit::Clean,
    }
}

/// Prints the end of a run.
pub(super) fn print(
    summary: &RunSummary,
    arguments: &FuzzArguments,
    format: OutputFormat,
    output: &mut Output,
) -> Result<(), Failure> {
    match format {
        OutputFormat::Json => output.json(&summary_json::machine(summary)),
        OutputFormat::Human => {
            output.line(human(summary, arguments, Style::of_stdout()).trim_end())
        }
    }
}

fn percent(share: Share) -> String {
    share
        .ratio()
        .map_or_else(|| "-".to_owned(), |ratio| format!("{:.1} %", ratio * 100.0))
}

fn human(summary: &RunSummary, arguments: &FuzzArguments, style: Style) -> String {
    let mut text = String::new();
    let statistics = &summary.statistics;
    // Writing to a String cannot fail.
    if let Some(contended) = statistics.contended.as_ref().filter(|_| !arguments.brief) {
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
    match arguments.brief {
        true => verdict_line(&mut text, statistics, style),
        false => numbers(&mut text, summary, style),
    }
    findings(&mut text, summary, style);
    next(&mut text, summary, arguments, style);
    text
}

/// A row of the summary: its name in a column of its own.
fn row(text: &mut String, style: Style, name: &str, value: &str) {
    let _ = writeln!(text, "{}  {value}", style.faint(&format!("{name:>12}")));
}

fn numbers(text: &mut String, summary: &RunSummary, style: Style) {
    let statistics = &summary.statistics;
    let total = statistics.verdicts.total();
    row(
        text,
        style,
        "server",
        &printable(&summary.identity.in_full()),
    );
    let cases = format!(
        "{} in {}, {:.1} a second; {} sent",
        grouped(total),
        clock(summary.elapsed),
        rate(total, summary.elapsed),
        counted(statistics.statements_sent, "statement")
    );
    row(text, style, "cases", &cases);
    verdicts(text, statistics, style);
    let contention = format!(
        "{} waited, {}; {}",
        counted(statistics.blocked, "statement"),
        counted(statistics.deadlocks, "deadlock"),
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
    for (index, (slug, count)) in statistics.untested.iter().enumerate() {
        let lead = if index == 0 { "untested" } else { "" };
        row(text, style, lead, &explained(*count, slug, None));
    }
    if statistics.acyclic.whole > 0 {
        let kept = percent(statistics.acyclic);
        let line =
            format!("{kept} of lasting statements kept in acyclic statement dependency graphs");
        row(text, style, "", &line);
    }
    if let Some(against) = &summary.settings.against {
        compared(text, &statistics.compared, &against.to_string(), style);
    }
    for (at, line) in statistics.canaries.told().iter().enumerate() {
        row(text, style, ["canaries", ""][at.min(1)], line);
    }
    if statistics.server_losses > 0 {
        let times = counted(statistics.server_losses, "time");
        row(text, style, "server lost", &times);
    }
}

/// What a second server did with the same cases.
fn compared(text: &mut String, compared: &ComparedCases, against: &str, style: Style) {
    let line = format!(
        "{} alike, {} not, {} explained by oracles, {} not comparable; with {}",
        grouped(compared.alike),
        grouped(compared.differing()),
        grouped(compared.explained),
        grouped(compared.not_comparable),
        printable(against)
    );
    row(text, style, "compared", &line);
    for (shape, count) in &compared.differences {
        row(text, style, "", &format!("{} {shape}", grouped(*count)));
    }
}

/// How many cases came to each verdict.
fn verdict_line(text: &mut String, statistics: &Statistics, style: Style) {
    let all = statistics.verdicts.by_word().map(|(word, count)| {
        let shown = format!("{word} {}", grouped(count));
        match word {
            _ if count == 0 => shown,
            "agree" => style.green(&shown),
            "known" => style.bold(&shown),
            "flaky" => style.yellow(&shown),
            "violation" => style.red(&shown),
            _ => shown,
        }
    });
    row(text, style, "verdicts", &all.join("   "));
}

/// Verdicts of the cases, reasons of the undecided and known ones, and verdicts of each oracle.
fn verdicts(text: &mut String, statistics: &Statistics, style: Style) {
    verdict_line(text, statistics, style);
    let total = statistics.verdicts.total();
    for (reason, count) in &statistics.undecided {
        let share = percent(Share {
            part: *count,
            whole: total,
        });
        let line = explained(*count, reason, Some(share));
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
    oracles(text, statistics, style);
}

/// What each oracle judged, and what it left to the others.
fn oracles(text: &mut String, statistics: &Statistics, style: Style) {
    let parts = || {
        let entries = statistics.inapplicable.iter();
        entries.filter_map(|(key, count)| {
            let (name, slug) = key.split_once(": ")?;
            Some((name, slug, *count))
        })
    };
    let names: BTreeSet<&str> = statistics
        .oracles
        .keys()
        .map(String::as_str)
        .chain(parts().map(|(name, _, _)| name))
        .collect();
    for name in names {
        let said = statistics.oracles.get(name);
        let judged = said.map_or_else(
            || "judged no case".to_owned(),
            |said| {
                let words: Vec<String> = said
                    .by_word()
                    .into_iter()
                    .filter(|(_, count)| *count > 0)
                    .map(|(word, count)| format!("{word} {}", grouped(count)))
                    .collect();
                format!(
                    "judged {}: {}",
                    counted(said.total(), "case"),
                    words.join(", ")
                )
            },
        );
        row(text, style, name, &judged);
        for (_, slug, count) in parts().filter(|(oracle, _, _)| *oracle == name) {
            row(
                text,
                style,
                "",
                &format!("left {}", explained(count, slug, None)),
            );
        }
    }
    // Only then would a reader take one of the two numbers for wrong.
    let mut each = statistics.oracles.values();
    if each.any(|said| said.undecided > statistics.verdicts.undecided) {
        let note = "a case that one oracle leaves undecided counts by what another one says of it";
        row(text, style, "", note);
    }
}

/// `12 no-row-identity (1.2 %): a table has no row key ..`
fn explained(count: u64, slug: &str, share: Option<String>) -> String {
    let share = share.map(|share| format!(" ({share})")).unwrap_or_default();
    let about = UndecidedReason::from_slug(slug).map_or("", UndecidedReason::about);
    let about = about.trim_end_matches('.');
    let mut letters = about.chars();
    let about = match letters.next() {
        // A sentence goes on in lower case, unless it begins with a keyword in capitals.
        Some(first) if !letters.as_str().starts_with(char::is_uppercase) => {
            format!(": {}{}", first.to_lowercase(), letters.as_str())
        }
        Some(_) => format!(": {about}"),
        None => String::new(),
    };
    format!("{} {}{share}{about}", grouped(count), printable(slug))
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

fn findings(text: &mut String, summary: &RunSummary, style: Style) {
    let count = match summary.findings.len() {
        0 if summary.statistics.verdicts.violation + summary.statistics.verdicts.flaky > 0 => {
            "none that shows every time".to_owned()
        }
        0 => style.green("none"),
        count => count.to_string(),
    };
    row(text, style, "findings", &count);
    for found in &summary.findings {
        file(text, &style.red(&printable(&found.path)), &found.headline);
    }
    let rest = summary.statistics.duplicates;
    if rest > 0 {
        let _ = writeln!(
            text,
            "  and {} that look the same",
            counted(rest, "further violation")
        );
    }
    let unminimized = summary.statistics.unminimized;
    if unminimized > 0 {
        let _ = writeln!(
            text,
            "  and {} not minimized, because many that look alike were: neither known nor new",
            counted(unminimized, "further violation")
        );
    }
    if !summary.flaky.is_empty() {
        let line = format!(
            "{}, which did not show in every run of the case",
            summary.flaky.len()
        );
        row(text, style, "flaky", &line);
    }
    for found in &summary.flaky {
        let path = style.yellow(&printable(&found.path));
        let (hits, runs) = (found.hits, found.runs);
        let cases = counted(found.sightings.count, "case");
        let headline = format!("{hits}/{runs} runs, from {cases}: {}", found.headline);
        file(text, &path, &headline);
    }
}

/// A file and its headline, which is not known of a file that an earlier run left.
fn file(text: &mut String, path: &str, headline: &str) {
    let _ = writeln!(text, "  {path}");
    if !headline.is_empty() {
        let _ = writeln!(text, "      {}", printable(headline));
    }
}

/// The TARGET of the server on which a reproducer was found.
fn found_on(path: &str, summary: &RunSummary) -> String {
    let settings = &summary.settings;
    let head = reproducer::load_head(Path::new(path)).ok();
    let is_elsewhere = head.is_some_and(|head| {
        (head.server.engine, head.server.version_text)
            != (
                summary.identity.engine.clone(),
                summary.identity.version_text.clone(),
            )
    });
    let against = settings.against.as_ref().filter(|_| is_elsewhere);
    against.unwrap_or(&settings.target).to_string()
}

/// What to type next.
fn next(text: &mut String, summary: &RunSummary, arguments: &FuzzArguments, style: Style) {
    if let Some(problem) = summary.problem() {
        row(text, style, "problem", &style.red(&printable(&problem)));
    }
    let mut commands = Vec::new();
    let settings = &summary.settings;
    let first = summary.findings.first().map(|found| &found.path);
    if let Some(path) = first.or(summary.flaky.first().map(|found| &found.path)) {
        let target = found_on(path, summary);
        commands.push(commands::replay(path, &target, settings, arguments));
    }
    let judged = summary.statistics.verdicts.total();
    if !settings.cases.are_done(summary.next_index, judged) {
        commands.push(commands::resume(settings, arguments));
    }
    if !commands.is_empty() && settings.target.password().is_some() {
        commands.push("(with the password in RASHOMON_PASSWORD)".to_owned());
    }
    for (index, command) in commands.iter().enumerate() {
        let lead = if index == 0 { "next" } else { "" };
        row(text, style, lead, &printable(command));
    }
}

#[cfg(test)]
mod tests;
