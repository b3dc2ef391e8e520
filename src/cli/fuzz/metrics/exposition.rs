//! The numbers of a run as text: the exposition formats of Prometheus (0.0.4) and OpenMetrics (1.0.0).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use crate::campaign::Statistics;

/// What is served.
#[derive(Default)]
pub(super) struct Numbers {
    pub(super) run: String,
    /// Product and version of the server.
    pub(super) server: String,
    pub(super) statistics: Statistics,
    /// Findings on disk that show every time.
    pub(super) findings: usize,
    /// Over all sittings.
    pub(super) elapsed: Duration,
    pub(super) last_finding_unix_s: Option<u64>,
    /// Workers that wait for a lost server.
    pub(super) waiting: BTreeSet<usize>,
}

/// Which of the two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    Prometheus,
    OpenMetrics,
}

impl Flavour {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The whole text.
pub(super) fn exposition(numbers: &Numbers, flavour: Flavour) -> String {
    let statistics = &numbers.statistics;
    let mut text = Exposition {
        text: String::new(),
        flavour,
    };
    let about = [("run", &*numbers.run), ("server", &*numbers.server)];
    text.gauge("rashomon_run_info", "The run and its server.");
    text.sample("rashomon_run_info", &about, "1");
    text.counter("rashomon_cases", "Cases by their verdict.");
    for (verdict, count) in statistics.verdicts.by_word() {
        text.count("rashomon_cases", &[("verdict", verdict)], count);
    }
    text.counter("rashomon_cases_undecided", "Undecided cases by the reason.");
    for (reason, count) in &statistics.undecided {
        text.count("rashomon_cases_undecided", &[("reason", reason)], *count);
    }
    text.counter(
        "rashomon_cases_known",
        "Cases that the registry explains, by its id.",
    );
    for (id, count) in &statistics.known {
        text.count("rashomon_cases_known", &[("id", id)], *count);
    }
    let plain = [
        (
            "rashomon_statements",
            "Statements sent to the engine.",
            statistics.statements_sent,
        ),
        (
            "rashomon_statements_blocked",
            "Statements that waited for a lock.",
            statistics.blocked,
        ),
        (
            "rashomon_deadlocks",
            "Transactions that the engine ended as victims of a deadlock.",
            statistics.deadlocks,
        ),
        (
            "rashomon_violations_unminimized",
            "Violations not minimized, because many that look alike were.",
            statistics.unminimized,
        ),
        (
            "rashomon_server_losses",
            "Times the server was lost and came back.",
            statistics.server_losses,
        ),
    ];
    for (name, help, count) in plain {
        text.counter(name, help);
        text.count(name, &[], count);
    }
    text.of_the_sitting(numbers);
    text.end()
}

struct Exposition {
    text: String,
    flavour: Flavour,
}

impl Exposition {
    fn of_the_sitting(&mut self, numbers: &Numbers) {
        self.counter("rashomon_run_seconds", "How long the run has gone on.");
        let seconds = format!("{:.3}", numbers.elapsed.as_secs_f64());
        self.sample("rashomon_run_seconds_total", &[], &seconds);
        self.gauge(
            "rashomon_findings",
            "Findings on disk that show in every run.",
        );
        self.sample("rashomon_findings", &[], &numbers.findings.to_string());
        self.gauge(
            "rashomon_last_finding_timestamp_seconds",
            "When the last finding of this sitting was published.",
        );
        if let Some(at) = numbers.last_finding_unix_s {
            let name = "rashomon_last_finding_timestamp_seconds";
            self.sample(name, &[], &at.to_string());
        }
        self.gauge(
            "rashomon_workers_waiting",
            "Workers that wait for a lost server.",
        );
        let waiting = numbers.waiting.len().to_string();
        self.sample("rashomon_workers_waiting", &[], &waiting);
    }

    /// Heads a counter. Prometheus' own format names it with its ending, OpenMetrics without.
    fn counter(&mut self, name: &str, help: &str) {
        match self.flavour {
            Flavour::Prometheus => self.head(&format!("{name}_total"), "counter", help),
            Flavour::OpenMetrics => self.head(name, "counter", help),
        }
    }

    fn gauge(&mut self, name: &str, help: &str) {
        self.head(name, "gauge", help);
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn count(&mut self, name: &str, labels: &[(&str, &str)], count: u64) {
        self.sample(&format!("{name}_total"), labels, &count.to_string());
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: &str) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }

    fn end(mut self) -> String {
        if self.flavour == Flavour::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// The value of a label between its quotes.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Verdict;

    fn numbers() -> Numbers {
        let mut statistics = Statistics::default();
        statistics.verdicts.count(&Verdict::Agree);
        statistics.known.insert("a\"b\\c\nd".to_owned(), 7);
        Numbers {
            run: "0123abcd".to_owned(),
            server: "mariadb 10.11.18".to_owned(),
            statistics,
            findings: 2,
            elapsed: Duration::from_millis(1500),
            last_finding_unix_s: Some(12),
            waiting: BTreeSet::from([1]),
        }
    }

    #[test]
    fn each_format_heads_its_counters_in_its_own_way() {
        let plain = exposition(&numbers(), Flavour::Prometheus);
        assert!(
            plain.contains("# TYPE rashomon_cases_total counter\n"),
            "{plain}"
        );
        assert!(!plain.contains("# EOF"), "{plain}");
        let open = exposition(&numbers(), Flavour::OpenMetrics);
        assert!(open.contains("# TYPE rashomon_cases counter\n"), "{open}");
        assert!(open.ends_with("# EOF\n"), "{open}");
        for text in [plain, open] {
            for sample in [
                "rashomon_cases_total{verdict=\"agree\"} 1\n",
                "rashomon_cases_known_total{id=\"a\\\"b\\\\c\\nd\"} 7\n",
                "rashomon_run_seconds_total 1.500\n",
                "rashomon_findings 2\n",
                "rashomon_workers_waiting 1\n",
            ] {
                assert!(text.contains(sample), "{sample}: {text}");
            }
        }
    }

    /// Samples of one name stand together, each name headed once, and no line is anything else.
    #[test]
    fn every_sample_stands_under_its_own_head() {
        let text = exposition(&numbers(), Flavour::Prometheus);
        let mut heads = BTreeSet::new();
        let mut under = String::new();
        for line in text.lines() {
            if let Some(head) = line.strip_prefix("# TYPE ") {
                under = head.split(' ').next().unwrap_or_default().to_owned();
                assert!(heads.insert(under.clone()), "{under} is headed twice");
            } else if !line.starts_with("# HELP ") {
                let name = line.split(['{', ' ']).next().unwrap_or_default();
                assert_eq!(name, under, "{line}");
            }
        }
        assert!(heads.len() > 10, "{heads:?}");
    }
}
