//! Workloads: transactions on a key-value table, run by concurrent sessions and recorded.
//!
//! [`run`] opens a connection a session, each on a thread of its own, and hands every transaction
//! to a [`Recorder`] when it has ended, one by one, in the order of its session. What is sent is
//! decided by the seed; what comes back, and when, is the engine's. `docs/workload.md` describes
//! the kinds, and what is recorded of aborted, retried and indeterminate transactions.

mod case;
mod client;
mod draw;
mod file;
mod held;
mod lightweight;
mod list_append;
mod mini_transaction;
mod outbox;
mod pending;
mod plan;
mod register;
mod run;
mod table;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::engine::EngineError;
use crate::history::Recorded;
use crate::model::IsolationLevel;

pub use case::{CaseLevels, case};
pub use draw::{Distribution, Draw, UnknownDistribution};
pub use file::HistoryFile;
pub use plan::{End, Plan, Step};
pub use run::{check, run};

/// Every kind, in the order of `--help`.
pub const WORKLOADS: &[&dyn Workload] = &[
    &mini_transaction::MiniTransaction,
    &register::Register,
    &list_append::ListAppend,
    &lightweight::Lightweight,
];

/// The kind of this name.
pub fn by_name(name: &str) -> Option<&'static dyn Workload> {
    WORKLOADS.iter().copied().find(|kind| kind.name() == name)
}

/// One kind of workload.
pub trait Workload: Sync {
    /// As `--kind` takes it.
    fn name(&self) -> &'static str;

    /// One line for `--help`.
    fn about(&self) -> &'static str;

    /// What holds where nothing else was asked for.
    fn defaults(&self) -> Defaults;

    /// Whether keys hold lists, to which elements are appended, instead of integers.
    fn stores_lists(&self) -> bool {
        false
    }

    /// How many keys are made before the sessions start.
    fn rows(&self, settings: &Settings) -> u64 {
        u64::from(settings.keys)
    }

    /// Draws the next transaction of a session, when all sessions together have written so many
    /// values that were not undone.
    fn plan(&self, draw: &mut Draw, written: u64, settings: &Settings) -> Plan;
}

impl std::fmt::Debug for dyn Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Parameters that differ from kind to kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    pub keys: u32,
    /// Operations of a transaction; none where the kind decides it.
    pub operations: Option<u32>,
    pub reads_percent: u32,
}

/// What is run.
#[derive(Clone, Debug)]
pub struct Settings {
    pub kind: &'static dyn Workload,
    pub sessions: u32,
    /// Transactions in all sessions together, retries not counted; none: until the time is over.
    pub transactions: Option<u64>,
    /// When to begin no further transaction.
    pub time: Option<Duration>,
    /// Keys in use at a time.
    pub keys: u32,
    /// Operations of a transaction, where the kind does not decide it.
    pub operations: u32,
    /// The share of reads among the operations, or of read-only transactions where the kind
    /// decides the operations.
    pub reads_percent: u32,
    pub distribution: Distribution,
    /// None: whatever the server gives a session that asks for nothing.
    pub level: Option<IsolationLevel>,
    /// Ask the engine for start and commit timestamps.
    pub timestamps: bool,
    /// Off only to measure what recording costs.
    pub records: bool,
    pub seed: u64,
}

impl Settings {
    /// A kind with its defaults: 10 sessions, 1,000 transactions, uniform keys, seed 1.
    pub fn of(kind: &'static dyn Workload) -> Self {
        let defaults = kind.defaults();
        Self {
            kind,
            sessions: 10,
            transactions: Some(1000),
            time: None,
            keys: defaults.keys,
            operations: defaults.operations.unwrap_or(0),
            reads_percent: defaults.reads_percent,
            distribution: Distribution::Uniform,
            level: None,
            timestamps: false,
            records: true,
            seed: 1,
        }
    }

    /// Transactions of one session, where there is a bound.
    pub(in crate::workload) fn transactions_of(&self, session: u32) -> Option<u64> {
        let sessions = u64::from(self.sessions.max(1));
        let all = self.transactions?;
        Some(all / sessions + u64::from(u64::from(session) < all % sessions))
    }
}

/// Takes transactions as they end.
///
/// It is called by the thread that called [`run`], never by a session's: however slow it is, the
/// sessions go on until transactions with some 500,000 values wait for it.
pub trait Recorder {
    /// Takes a transaction. Those of one session come in its order. An error ends the run.
    fn transaction(&mut self, transaction: Recorded) -> std::io::Result<()>;

    /// Called some ten times a second, whether transactions come or not. False ends the run.
    fn tick(&mut self, progress: &Progress) -> bool {
        let _ = progress;
        true
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub committed: u64,
    /// Refused by the engine or rolled back as planned.
    pub aborted: u64,
    /// The commit was sent and no answer came.
    pub indeterminate: u64,
    /// Transactions that were run again after the engine had refused them.
    pub retries: u64,
    /// Connections that were lost and replaced.
    pub lost: u64,
    pub statements: u64,
    /// Since the first statement of the first session.
    pub elapsed: Duration,
}

impl Progress {
    /// Transactions that have ended.
    pub fn transactions(&self) -> u64 {
        self.committed + self.aborted + self.indeterminate
    }
}

/// Why a workload ends before its time.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A statement of the workload was rejected, and not for concurrency.
    #[error("the engine rejected {sql:?}: {message}")]
    Rejected { sql: String, message: String },
    /// A cell holds what no statement of the workload writes.
    #[error("{sql:?} gave {found}, which no session wrote")]
    Cell { sql: String, found: String },
    #[error("cannot keep what was recorded: {0}")]
    Recorder(#[source] std::io::Error),
    #[error("{0}")]
    Settings(String),
}
