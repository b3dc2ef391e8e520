//! What an examination of a target found.

use std::collections::BTreeMap;

use super::error::EngineError;
use crate::dialect::{Dialect, DurableSetting};

/// What a line of a diagnosis is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The server is reached and takes the login.
    Connection,
    /// The product and its version.
    Version,
    /// A variable that changes what transactions mean.
    Variable,
    /// Whether cases are generated and judged on the engine.
    Cases,
    /// Whether acknowledged commits survive a crash of the server.
    Durability,
    /// Whether the server holds databases that are not ours.
    Safety,
    /// Databases of ours are made, written and dropped.
    Databases,
    /// A privilege beside the one on databases of ours.
    Privilege,
    /// Modes in which the server takes no writes.
    ReadOnly,
    /// Connections for all workers.
    Connections,
    /// Free space where the server keeps its data.
    Disk,
}

impl Topic {
    /// As `--format json` spells it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Version => "version",
            Self::Variable => "variable",
            Self::Cases => "cases",
            Self::Durability => "durability",
            Self::Safety => "safety",
            Self::Databases => "databases",
            Self::Privilege => "privilege",
            Self::ReadOnly => "read-only",
            Self::Connections => "connections",
            Self::Disk => "disk",
        }
    }
}

/// Whether something is as `fuzz` needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Good,
    /// `fuzz` would stop at this.
    Bad,
    /// It cannot be known from here, or most runs do not need it.
    Unknown,
}

/// One line of a diagnosis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosisLine {
    /// What the line is about.
    pub topic: Topic,
    /// Whether it is as `fuzz` needs it.
    pub health: Health,
    /// What was found.
    pub text: String,
    /// What mends it: a statement, an option or a sentence. None where nothing is bad, or no
    /// remedy is known.
    pub remedy: Option<String>,
}

impl DiagnosisLine {
    pub(super) fn good(topic: Topic, text: impl Into<String>) -> Self {
        Self {
            topic,
            health: Health::Good,
            text: text.into(),
            remedy: None,
        }
    }

    pub(super) fn unknown(topic: Topic, text: impl Into<String>) -> Self {
        Self {
            health: Health::Unknown,
            ..Self::good(topic, text)
        }
    }

    pub(super) fn bad(topic: Topic, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            health: Health::Bad,
            remedy: Some(remedy.into()),
            ..Self::good(topic, text)
        }
    }

    /// Whether the server promises that acknowledged commits survive its crash, by these settings. Only the
    /// oracle of recovery asks for that.
    pub(super) fn durability(dialect: &Dialect, settings: &BTreeMap<String, String>) -> Self {
        let shown = |(name, value): (&String, &String)| format!("{name} = {value}");
        let shown: Vec<String> = settings.iter().map(shown).collect();
        let shown = shown.join(", ");
        let remedies = dialect.unkept(settings).into_iter();
        let remedies: Vec<String> = remedies.map(DurableSetting::remedy).collect();
        if remedies.is_empty() {
            let text = format!("acknowledged commits survive a crash: {shown}");
            return Self::good(Topic::Durability, text);
        }
        let text = format!(
            "a crash may cost acknowledged commits: {shown}; --oracle recovery asks for \
             --claim-durable here"
        );
        Self {
            remedy: Some(format!("{} in its configuration", remedies.join(", "))),
            ..Self::unknown(Topic::Durability, text)
        }
    }

    /// Why there was no answer, with the remedy that the error names.
    pub(super) fn of_error(topic: Topic, error: &EngineError) -> Self {
        Self {
            health: Health::Bad,
            remedy: error.remedy().map(str::to_owned),
            ..Self::good(topic, error.to_string())
        }
    }

    /// Whether so many more connections fit. `limit` is what the server takes, `used` what it has
    /// now; `raise` is what raises the limit to the number that it is given.
    pub(super) fn connections(
        limit: u64,
        used: u64,
        demand: &Demand,
        raise: impl Fn(u64) -> String,
    ) -> Self {
        let needed = demand.connections;
        let text = format!("{limit} are allowed, {used} are open, a run needs {needed} more");
        if used.saturating_add(needed) <= limit {
            return Self::good(Topic::Connections, text);
        }
        let remedy = format!("{}, or fewer --workers", raise(used.saturating_add(needed)));
        Self::bad(Topic::Connections, text, remedy)
    }

    /// What a read-only mode means for a run. `remedy` ends the mode.
    pub(super) fn read_only(mode: &str, demand: &Demand, remedy: &str) -> Self {
        if demand.can_write {
            let text = format!("{mode}, which does not bind this login");
            return Self::good(Topic::ReadOnly, text);
        }
        Self::bad(Topic::ReadOnly, mode, remedy)
    }
}

/// What a run will ask of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Connections at once, of all workers together.
    pub connections: u64,
    /// A database of ours was made and written on this login.
    pub can_write: bool,
}

/// What was found.
#[derive(Debug)]
pub struct Diagnosis {
    /// In the order in which it was examined.
    pub lines: Vec<DiagnosisLine>,
    /// Why the server cannot be opened, or was lost.
    pub error: Option<EngineError>,
    /// The server's dialect, where cases are generated and judged on this engine.
    pub dialect: Option<Dialect>,
}

impl Diagnosis {
    /// The lines at which `fuzz` would stop.
    pub fn missing(&self) -> impl Iterator<Item = &DiagnosisLine> {
        self.lines.iter().filter(|line| line.health == Health::Bad)
    }

    /// Everything is as `fuzz` needs it, as far as it can be known.
    pub fn is_healthy(&self) -> bool {
        self.error.is_none() && self.missing().next().is_none()
    }

    /// The server holds databases that are not ours, and that was not allowed.
    pub fn is_refused(&self) -> bool {
        self.missing().any(|line| line.topic == Topic::Safety)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;

    fn demand(connections: u64) -> Demand {
        Demand {
            connections,
            can_write: false,
        }
    }

    #[test]
    fn connections_are_good_up_to_the_limit_and_bad_above_it() {
        let line = |needed| {
            DiagnosisLine::connections(151, 3, &demand(needed), |sum| format!("SET {sum}"))
        };
        assert_eq!(line(148).health, Health::Good);
        let over = line(149);
        assert_eq!(over.health, Health::Bad);
        assert_eq!(over.remedy.as_deref(), Some("SET 152, or fewer --workers"));
    }

    #[test]
    fn a_read_only_mode_is_bad_unless_the_login_writes_all_the_same() {
        let mut demand = demand(1);
        let line = DiagnosisLine::read_only("read_only = ON", &demand, "SET GLOBAL ..");
        assert_eq!(line.health, Health::Bad);
        demand.can_write = true;
        let line = DiagnosisLine::read_only("read_only = ON", &demand, "SET GLOBAL ..");
        assert_eq!(line.health, Health::Good);
    }

    #[test]
    fn a_server_that_may_lose_commits_is_told_with_the_remedy_and_fuzz_can_begin() {
        let dialect = dialect_of("postgres", "17");
        let settings = |fsync: &str| {
            let pairs = [
                ("fsync", fsync),
                ("synchronous_commit", "on"),
                ("full_page_writes", "on"),
            ];
            pairs
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into()
        };
        let line = DiagnosisLine::durability(&dialect, &settings("on"));
        assert_eq!((line.health, line.remedy), (Health::Good, None));
        let line = DiagnosisLine::durability(&dialect, &settings("off"));
        assert_eq!(line.health, Health::Unknown);
        assert_eq!(
            line.remedy.as_deref(),
            Some("fsync = on in its configuration")
        );
    }

    #[test]
    fn what_cannot_be_known_keeps_no_run_from_starting() {
        let diagnosis = |line| Diagnosis {
            lines: vec![line],
            error: None,
            dialect: None,
        };
        assert!(diagnosis(DiagnosisLine::unknown(Topic::Disk, "")).is_healthy());
        let shared = diagnosis(DiagnosisLine::bad(Topic::Safety, "", ""));
        assert!(!shared.is_healthy() && shared.is_refused());
        let low = diagnosis(DiagnosisLine::bad(Topic::Disk, "", ""));
        assert!(!low.is_healthy() && !low.is_refused());
    }
}
