//! What a case came to on one server.

use serde_json::{Value as Json, json};

use crate::cli::terminal::printable;
use crate::engine::Identity;
use crate::replay::ReplayReport;

/// Whether a case shows on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionResult {
    Shows,
    /// In no run, of as many as its rate asks for.
    Clean,
    /// The runs decide nothing, or it could not be run there.
    Undecided,
    /// The server gave no answer.
    Unreachable,
}

impl VersionResult {
    pub(super) fn slug(self) -> &'static str {
        match self {
            Self::Shows => "shows",
            Self::Clean => "clean",
            Self::Undecided => "undecided",
            Self::Unreachable => "unreachable",
        }
    }
}

/// One server and what it came to there.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    /// Product and version, with a number where another server has the same.
    pub(super) server: String,
    pub(super) result: VersionResult,
    pub(super) hits: u32,
    pub(super) runs: u32,
    /// What is wrong there, as `replay` calls it.
    pub(super) kind: Option<String>,
    /// Why, in a line.
    pub(super) told: String,
}

impl Tried {
    pub(super) fn new(
        identity: &Identity,
        result: VersionResult,
        told: &str,
        report: &ReplayReport,
    ) -> Self {
        Self {
            server: identity.in_short(),
            result,
            hits: report.hits,
            runs: report.runs,
            kind: report.kind.clone(),
            told: told.to_owned(),
        }
    }

    /// A server that was lost in the middle.
    pub(super) fn lost(identity: &Identity, reason: &str) -> Self {
        Self {
            server: identity.in_short(),
            ..Self::unreachable(0, reason)
        }
    }

    /// A server that could not be reached; it is named by its place in the list.
    pub(super) fn unreachable(place: usize, reason: &str) -> Self {
        Self {
            server: format!("server {}", place + 1),
            result: VersionResult::Unreachable,
            hits: 0,
            runs: 0,
            kind: None,
            told: reason.to_owned(),
        }
    }

    /// An image of which no server could be started, or none that answers.
    pub(super) fn not_started(image: &str, reason: &str) -> Self {
        Self {
            server: image.to_owned(),
            ..Self::unreachable(0, reason)
        }
    }

    /// The same, told apart from earlier servers of one name.
    pub(super) fn named(mut self, earlier: &[Self]) -> Self {
        let is_taken = |name: &str| earlier.iter().any(|other| other.server == name);
        let plain = self.server.clone();
        let mut number = 2;
        while is_taken(&self.server) {
            self.server = format!("{plain} ({number})");
            number += 1;
        }
        self
    }

    /// `mariadb 10.11.18  shows, 3 of 3 runs: wrong-rows`.
    pub(super) fn line(&self) -> String {
        let runs = format!("{} of {} runs", self.hits, self.runs);
        let what = match self.result {
            VersionResult::Shows => match &self.kind {
                Some(kind) => format!("{runs}: {kind}"),
                None => runs,
            },
            VersionResult::Clean => runs,
            VersionResult::Undecided | VersionResult::Unreachable => self.told.clone(),
        };
        let line = format!("{:<24} {:<11} {what}", self.server, self.result.slug());
        printable(&line).replace('\n', " ")
    }

    pub(super) fn json(&self) -> Json {
        json!({
            "v": 1,
            "event": "tried",
            "server": self.server,
            "result": self.result.slug(),
            "hits": self.hits,
            "runs": self.runs,
            "kind": self.kind,
            "reason": self.told,
        })
    }
}
