//! What a run tells while it goes on.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::publish::Reproducer;
use crate::model::TransactionId;

/// A finding that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    pub path: PathBuf,
    pub oracle: String,
    pub kind: String,
    pub headline: String,
    /// Violations in runs of the published case.
    pub hits: u32,
    pub runs: u32,
    /// The case it was found in.
    pub index: u64,
    /// Statements of the published case beside begin and end, and its transactions.
    pub statements: usize,
    pub transactions: usize,
    /// An entry of the registry explains it, and this server claims the fix: its id.
    pub regression: Option<String>,
}

impl Announcement {
    /// Of what was published at a path.
    pub(super) fn of(of: &Reproducer<'_>, path: PathBuf, regression: Option<String>) -> Self {
        let statements = &of.case.statements;
        let transactions: BTreeSet<TransactionId> = statements
            .iter()
            .map(|statement| statement.id.transaction)
            .collect();
        Self {
            path,
            oracle: of.finding.signature.oracle.clone(),
            kind: of.finding.signature.kind.clone(),
            headline: of.finding.headline.clone(),
            hits: of.reproduced.hits,
            runs: of.reproduced.runs,
            index: of.index,
            statements: of.case.user_statements().count(),
            transactions: transactions.len(),
            regression,
        }
    }
}

/// What a run tells while it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Published under a new signature.
    Finding(Announcement),
    /// Published in place of a bigger case of the same signature.
    Smaller(Announcement),
    /// Did not come every time; kept under `flaky/`.
    Flaky(Announcement),
    /// The server gave no answer; the case is kept aside and the worker waits for the server.
    ServerLost {
        index: Option<u64>,
        error: String,
    },
    ServerBack {
        after: Duration,
    },
    /// With `--doublecheck`: two runs of the same case differ.
    Unstable {
        index: u64,
        difference: String,
    },
    /// Something of ours or of the environment that people should know.
    Trouble(String),
}
