//! What is printed of a history while it is watched, and at its end.

use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::{Map, Value, json};

use super::alike::AlikeBreaches;
use super::live::LiveWorkload;
use crate::checker::aion::{Aion, Breach, Summary, WatchVerdict};
use crate::cli::exit::Failure;
use crate::cli::memory_use::peak_mebibytes;
use crate::cli::output::Output;
use crate::cli::quantity::json_seconds;
use crate::cli::terminal::{Style, counted, grouped, live_line, printable};
use crate::cli::value::OutputFormat;
use crate::history::{Atom, Texts};
use crate::model::ConsistencyModel;

/// Prints violations to standard output, and progress to standard error if it is a terminal.
pub(super) struct Teller<'o> {
    format: OutputFormat,
    output: &'o mut Output,
    bar: Option<ProgressBar>,
    alike: AlikeBreaches,
}

/// What the summary has beside the checker's counts.
pub(super) struct WatchReport<'a> {
    pub(super) source: &'a str,
    pub(super) model: ConsistencyModel,
    /// Reads that were wrong and not final when it ended.
    pub(super) open: usize,
    pub(super) end: StreamEnd,
    /// How long transactions came.
    pub(super) busy: Duration,
    pub(super) elapsed: Duration,
}

/// How far a history came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamEnd {
    Whole,
    /// A signal came first.
    Interrupted,
    /// An error came first.
    Broken,
}

impl<'o> Teller<'o> {
    pub(super) fn new(format: OutputFormat, output: &'o mut Output) -> Result<Self, Failure> {
        Ok(Self {
            format,
            output,
            bar: live_line()?,
            alike: AlikeBreaches::default(),
        })
    }

    /// Prints the workload that runs.
    pub(super) fn started(&mut self, live: &LiveWorkload) -> Result<(), Failure> {
        let settings = &live.settings;
        let (kind, seed) = (settings.kind.name(), settings.seed);
        let level = settings.level.map(|level| level.slug());
        let promised = live.promised.map_or("nothing", ConsistencyModel::slug);
        match self.format {
            OutputFormat::Human => self.output.line(&format!(
                "seed {seed}   {}   {kind}   {} sessions, {} keys ({}), isolation {}, which promises {promised}",
                printable(&live.server),
                settings.sessions,
                settings.keys,
                settings.distribution,
                level.unwrap_or("of the server"),
            )),
            OutputFormat::Json => self.output.json(&json!({
                "v": 1,
                "event": "started",
                "target": live.server,
                "kind": kind,
                "isolation": level,
                "promised": live.promised.map(ConsistencyModel::slug),
                "sessions": settings.sessions,
                "keys": settings.keys,
                "keys_dist": settings.distribution.slug(),
                "seed": seed,
            })),
        }
    }

    /// The live line.
    pub(super) fn progress(&self, aion: &Aion, elapsed: Duration) {
        let Some(bar) = &self.bar else {
            return;
        };
        let summary = aion.summary();
        let rate = summary.transactions as f64 / elapsed.as_secs_f64().max(0.001);
        bar.set_message(format!(
            "{} transactions, {}/s, {} violations, {} open, {} flips, {} spilled",
            grouped(summary.transactions),
            grouped(rate as u64),
            grouped(summary.violation_count()),
            grouped(aion.open_breaches() as u64),
            grouped(summary.flips),
            grouped(summary.spilled),
        ));
        bar.tick();
    }

    /// Prints violations, one a line; for people the first of those that are alike.
    pub(super) fn breaches(&mut self, breaches: &[Breach], texts: &Texts) -> Result<(), Failure> {
        for breach in breaches {
            let line = match self.format {
                OutputFormat::Human if !self.alike.take(breach) => continue,
                OutputFormat::Human => {
                    let words = breach.in_words(texts);
                    let name = Style::of_stdout().red(&breach.anomaly().to_string());
                    format!("{name}: {}", printable(&words))
                }
                OutputFormat::Json => breach_json(breach, texts).to_string(),
            };
            match &self.bar {
                Some(bar) => bar.suspend(|| self.output.line(&line))?,
                None => self.output.line(&line)?,
            }
        }
        Ok(())
    }

    /// Prints how many were like those that were printed, for people.
    pub(super) fn alike(&mut self, texts: &Texts) -> Result<(), Failure> {
        self.clear();
        for line in self.alike.lines(texts) {
            self.output.line(&printable(&line))?;
        }
        Ok(())
    }

    /// Takes the live line away.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// The last lines: the summary, and where the history is.
    pub(super) fn summary(
        &mut self,
        summary: &Summary,
        account: &WatchReport<'_>,
        history: Option<&str>,
    ) -> Result<(), Failure> {
        self.clear();
        match self.format {
            OutputFormat::Human => {
                self.output.line(&in_words(summary, account))?;
                let Some(history) = history else {
                    return Ok(());
                };
                self.output
                    .line(&format!("history: {}", printable(history)))
            }
            OutputFormat::Json => {
                let mut line = summary_json(summary, account);
                line["history"] = json!(history);
                self.output.json(&line)
            }
        }
    }
}

/// A history that broke off, or that has no transaction, is not called satisfied.
fn verdict(summary: &Summary, account: &WatchReport<'_>) -> WatchVerdict {
    match summary.verdict() {
        WatchVerdict::Satisfied if account.end != StreamEnd::Whole => WatchVerdict::Unknown,
        WatchVerdict::Satisfied if summary.transactions == 0 => WatchVerdict::Unknown,
        verdict @ (WatchVerdict::Satisfied | WatchVerdict::Violated | WatchVerdict::Unknown) => {
            verdict
        }
    }
}

/// An integer as a number, nil as null, the rest as a text.
fn value(atom: Atom, texts: &Texts) -> Value {
    match atom.as_integer() {
        Some(integer) => json!(integer),
        None if atom == Atom::NIL => Value::Null,
        None => json!(texts.show(atom)),
    }
}

fn breach_json(breach: &Breach, texts: &Texts) -> Value {
    let show = |atom: Option<Atom>| atom.map_or(Value::Null, |atom| value(atom, texts));
    let (read, held) = match *breach {
        Breach::External { read, held, .. } => (Some(read), Some(held)),
        Breach::Internal { read, wrote, .. } => (Some(read), Some(wrote)),
        Breach::Session { .. } | Breach::Conflict { .. } => (None, None),
    };
    json!({
        "v": 1,
        "event": "violation",
        "anomaly": breach.anomaly().slug(),
        "transaction": show(Some(breach.transaction())),
        "other": show(breach.other()),
        "key": show(breach.key()),
        "read": show(read),
        "held": show(held),
        "words": breach.in_words(texts),
    })
}

/// Transactions a second, as long as they came.
fn rate(summary: &Summary, account: &WatchReport<'_>) -> u64 {
    (summary.transactions as f64 / account.busy.as_secs_f64().max(0.001)) as u64
}

fn summary_json(summary: &Summary, account: &WatchReport<'_>) -> Value {
    let anomalies = summary.violations.iter();
    let anomalies = anomalies.map(|(anomaly, count)| (anomaly.slug().to_owned(), json!(count)));
    let unjudged = summary.unjudged.iter();
    let unjudged = unjudged.map(|(why, count)| (why.to_string(), json!(count)));
    let verdict = match verdict(summary, account) {
        WatchVerdict::Satisfied => "satisfied",
        WatchVerdict::Violated => "violated",
        WatchVerdict::Unknown => "unknown",
    };
    json!({
        "v": 1,
        "event": "summary",
        "source": account.source,
        "model": account.model.slug(),
        "verdict": verdict,
        "transactions": summary.transactions,
        "events": summary.events,
        "violations": summary.violation_count(),
        "anomalies": anomalies.collect::<Map<_, _>>(),
        "open": account.open,
        "flip_flops": summary.flips,
        "duplicates": summary.duplicates,
        "late": summary.late,
        "unjudged": unjudged.collect::<Map<_, _>>(),
        "whole": account.end == StreamEnd::Whole,
        "spilled": summary.spilled,
        "reloaded": summary.reloads,
        "elapsed_s": json_seconds(account.elapsed),
        "tps": rate(summary, account),
        "peak_rss_mb": peak_mebibytes(),
    })
}

fn in_words(summary: &Summary, account: &WatchReport<'_>) -> String {
    let style = Style::of_stdout();
    let verdict = match verdict(summary, account) {
        WatchVerdict::Satisfied => style.green("satisfied"),
        WatchVerdict::Violated => style.red("violated"),
        WatchVerdict::Unknown => style.yellow("unknown"),
    };
    let mut text = format!(
        "{verdict}: {} by timestamps: {}, {}, {}",
        account.model,
        counted(summary.transactions, "transaction"),
        counted(summary.events, "event"),
        counted(summary.violation_count(), "violation"),
    );
    let counts = [
        (account.open as u64, "read", "reads", " wrong but not final"),
        (summary.flips, "flip", "flips", ""),
        (summary.duplicates, "duplicate", "duplicates", ""),
        (summary.late, "writer", "writers", " after the timeout"),
        (summary.spilled, "entry", "entries", " spilled"),
        (summary.reloads, "entry", "entries", " reloaded"),
    ];
    for (count, one, many, how) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        let what = if count == 1 { one } else { many };
        text.push_str(&format!(", {} {what}{how}", grouped(count)));
    }
    for (why, count) in &summary.unjudged {
        text.push_str(&format!("; {} not judged: {why}", grouped(*count)));
    }
    text.push_str(match account.end {
        StreamEnd::Whole if summary.transactions == 0 => "; there is no transaction in it",
        StreamEnd::Whole => "",
        StreamEnd::Interrupted => "; interrupted before the history came to its end",
        StreamEnd::Broken => "; the history did not come to its end",
    });
    let rate = grouped(rate(summary, account));
    let seconds = account.elapsed.as_secs_f64();
    text.push_str(&format!(" ({seconds:.1} s, {rate} transactions/s)"));
    text
}
