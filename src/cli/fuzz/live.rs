//! Prints a run while it goes on: live lines on a terminal, a line now and then elsewhere.

use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;

use super::arguments::FuzzArguments;
use super::commands;
use super::event_json::event_json;
use super::figures::{clock, rate};
use super::live_display::LiveDisplay;
use crate::campaign::{
    Activity, Announcement, Listener, RunEvent, RunSettings, SettingsRecord, Statistics, StopCause,
};
use crate::cli::exit::Failure;
use crate::cli::output::Output;
use crate::cli::terminal::{LiveLines, Style, columns_of, folded, grouped, printable};
use crate::cli::value::OutputFormat;
use crate::engine::Identity;
use crate::reproducer;

/// How often a line is written where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(30);

/// Prints the events and the progress of a run.
pub(super) struct RunReporter<'a> {
    arguments: &'a FuzzArguments,
    output: &'a mut Output,
    errors: Style,
    /// None where standard error is no terminal.
    lines: Option<LiveLines>,
    /// When the last line was written, where there is no live line; none before the first case.
    last_line: Option<Instant>,
    display: LiveDisplay,
    /// None before the run was announced.
    settings: Option<RunSettings>,
}

impl<'a> RunReporter<'a> {
    pub(super) fn new(arguments: &'a FuzzArguments, output: &'a mut Output) -> Self {
        Self {
            arguments,
            output,
            errors: Style::of_stderr(),
            lines: LiveLines::new(),
            last_line: None,
            display: LiveDisplay::new(arguments.time),
            settings: None,
        }
    }

    /// The first line of a run: its seed, before anything can go wrong; and where metrics are served.
    pub(super) fn started(
        &mut self,
        settings: RunSettings,
        (identity, counterpart): (&Identity, Option<&Identity>),
        metrics: Option<SocketAddr>,
    ) -> Result<(), Failure> {
        let asked = SettingsRecord::from(&settings);
        let server = identity.in_full();
        self.settings = Some(settings);
        if self.arguments.format == OutputFormat::Json {
            return self.output.json(&json!({
                "v": 1,
                "event": "started",
                "seed": asked.seed,
                "run": asked.run_id,
                "target": identity.in_short(),
                "server": server,
                "isolation": asked.isolation,
                "claim": asked.claim,
                "oracles": asked.oracles,
                "against": counterpart.map(Identity::in_full),
                "metrics": metrics,
            }));
        }
        if let Some(address) = metrics {
            self.say(&format!("metrics at http://{address}/metrics"));
        }
        let against = counterpart.map_or(String::new(), |other| {
            format!(" against {}", printable(&other.in_full()))
        });
        let claim = asked
            .claim
            .map_or(String::new(), |c| format!(", claimed {c}"));
        let line = format!(
            "seed {}   run {}   {}{against}   isolation {}{claim}   oracles {}",
            asked.seed,
            asked.run_id,
            printable(&server),
            asked.isolation,
            asked.oracles.join(", ")
        );
        self.output
            .line(&folded(&line, columns_of(std::io::stdout())))
    }

    /// Takes the live lines away.
    pub(super) fn finish(&mut self) {
        if let Some(lines) = &self.lines {
            lines.clear();
        }
    }

    /// A line of its own on standard error, above the live lines.
    fn say(&self, line: &str) {
        let write = || {
            // Nothing can be said of a closed standard error.
            let _ = writeln!(std::io::stderr(), "{line}");
        };
        match &self.lines {
            Some(lines) => lines.suspend(write),
            None => write(),
        }
    }

    /// The same of prose, which a terminal would break in the middle of a word.
    fn say_prose(&self, prose: &str) {
        self.say(&self.folded(prose));
    }

    fn folded(&self, prose: &str) -> String {
        let columns = self.lines.as_ref().and(columns_of(std::io::stderr()));
        folded(prose, columns)
    }

    fn announce(&self, word: &str, announcement: &Announcement) {
        let found = announcement;
        let headline = printable(&found.headline);
        let path = printable(&found.path.display().to_string());
        let regression = found.regression.as_ref().map_or(String::new(), |id| {
            format!(
                "\n  REGRESSION: {} is said to be fixed on this server",
                printable(id)
            )
        });
        let replay = self.settings.as_ref().map_or(String::new(), |settings| {
            let command = commands::replay(&path, &found.target, settings, self.arguments);
            format!("\n  Reproduce with: {command}")
        });
        let export = reproducer::load(&found.path).map_or(String::new(), |file| {
            format!("\n  Export with: {}", commands::exported(&path, &file))
        });
        let headline = self.folded(&format!(
            "{word} {} ({} {}): {headline}",
            found.anomaly, found.oracle, found.kind
        ));
        // What stands behind is copied: a path, and commands.
        self.say(&format!(
            "{headline}{regression}\n  {path}   {}/{} runs, {} transactions, {} statements, from case \
             {}{replay}{export}",
            found.hits,
            found.runs,
            found.transactions,
            found.statements,
            found.index,
        ));
    }
}

impl Listener for RunReporter<'_> {
    fn event(&mut self, event: &RunEvent) {
        self.display.note(event);
        if self.arguments.format == OutputFormat::Json {
            // Without a reader the findings are on disk all the same.
            if let Err(error) = self.output.json(&event_json(event)) {
                tracing::debug!("an event was not read: {error}");
            }
        }
        let style = self.errors;
        match event {
            RunEvent::Finding(found) => self.announce(&style.red("FINDING"), found),
            RunEvent::Smaller(found) => self.announce(&style.yellow("SMALLER"), found),
            RunEvent::Flaky(found) => self.announce(&style.yellow("FLAKY"), found),
            RunEvent::ServerLost { index, error, .. } => {
                let case = index.map_or(String::new(), |index| format!(" during case {index}"));
                self.say_prose(&format!(
                    "{} the server is lost{case}: {}; waiting for it",
                    style.yellow("note:"),
                    printable(error)
                ));
            }
            RunEvent::ServerBack { after, .. } => {
                let seconds = after.as_secs_f64();
                self.say_prose(&format!(
                    "{} the server is back after {seconds:.1} s",
                    style.faint("note:")
                ));
            }
            RunEvent::Unstable { index, difference } => self.say_prose(&format!(
                "{} case {index} is not deterministic: {}",
                style.yellow("note:"),
                printable(difference)
            )),
            RunEvent::Differs {
                index,
                shape,
                difference,
                path,
            } => self.say(&format!(
                "{}\n  {}   from case {index}",
                self.folded(&format!(
                    "{} the servers differ, first of {shape}: {}",
                    style.yellow("note:"),
                    printable(difference)
                )),
                printable(&path.display().to_string())
            )),
            RunEvent::CanaryUnheard { index, oracles } => self.say_prose(&format!(
                "{} the canary beside case {index} was not heard by {}: they miss a fault that was planted \
                 for them; trust nothing that this run has not found, and report a bug of Rashomon",
                style.red("error:"),
                oracles.join(", ")
            )),
            RunEvent::Stopping(cause) => {
                let why = match cause {
                    StopCause::Signal => {
                        "the cases under way are brought to their end; Ctrl-C again ends at once"
                    }
                    StopCause::TimeOver => {
                        "the time is over; findings under way are minimized for a minute at most, Ctrl-C ends it sooner"
                    }
                };
                self.say_prose(&format!("{} {why}", style.faint("note:")));
            }
            RunEvent::Trouble(text) => {
                self.say_prose(&format!("{} {}", style.yellow("note:"), printable(text)));
            }
        }
    }

    fn activities(&mut self, activities: &[Activity]) {
        self.display.activities(activities);
    }

    fn tick(&mut self, statistics: &Statistics, findings: usize, elapsed: Duration) {
        match &mut self.lines {
            Some(lines) => {
                let shown = lines.show(&self.display.lines(statistics, findings, elapsed));
                if let Err(failure) = shown {
                    tracing::debug!("no live lines: {failure}");
                }
            }
            None => {
                let line = progress(statistics, findings, elapsed);
                let last = *self.last_line.get_or_insert_with(Instant::now);
                if last.elapsed() >= LINE_INTERVAL {
                    self.last_line = Some(Instant::now());
                    self.say(&line);
                }
            }
        }
    }
}

/// One line of numbers.
fn progress(statistics: &Statistics, findings: usize, elapsed: Duration) -> String {
    let verdicts = &statistics.verdicts;
    let cases = verdicts.total();
    let by_word = verdicts.by_word();
    let verdicts = by_word.map(|(word, count)| format!("{word} {}", grouped(count)));
    format!(
        "{}  {} cases  {:.1}/s  {}  findings {findings}  blocked {}  deadlocks {}",
        clock(elapsed),
        grouped(cases),
        rate(cases, elapsed),
        verdicts.join("  "),
        grouped(statistics.blocked),
        grouped(statistics.deadlocks),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_log_names_every_verdict() {
        let line = progress(&Statistics::default(), 0, Duration::from_secs(3723));
        for word in [
            "1:02:03",
            "agree",
            "known",
            "undecided",
            "flaky",
            "violation",
            "findings",
        ] {
            assert!(line.contains(word), "{line}");
        }
        assert!(line.len() <= 120, "{} characters", line.len());
    }
}
