//! What a kind of workload decides, and the settings of a run of it.

use std::time::Duration;

use super::draw::{Distribution, SessionDraws};
use super::plan::TransactionPlan;
use crate::model::IsolationLevel;

/// One kind of workload.
pub trait Workload: Sync {
    /// As `--kind` takes it.
    fn name(&self) -> &'static str;

    /// One line for `--help`.
    fn about(&self) -> &'static str;

    /// Parameters of this kind unless the user sets others.
    fn defaults(&self) -> Defaults;

    /// Whether keys hold lists, to which elements are appended, instead of integers.
    fn stores_lists(&self) -> bool {
        false
    }

    /// Whether each transaction is one statement in autocommit: an operation on one object, which
    /// has no start to ask for and is checked for linearizability.
    fn is_one_statement(&self) -> bool {
        false
    }

    /// How many keys are made before the sessions start.
    fn rows(&self, settings: &WorkloadSettings) -> u64 {
        u64::from(settings.keys)
    }

    /// Draws the next transaction of a session.
    ///
    /// `written`: values written so far by transactions that were not rolled back.
    fn plan(
        &self,
        draw: &mut SessionDraws,
        written: u64,
        settings: &WorkloadSettings,
    ) -> TransactionPlan;
}

impl std::fmt::Debug for dyn Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Parameters that differ from kind to kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// Keys in use at a time.
    pub keys: u32,
    /// Operations of a transaction; None where the kind decides it.
    pub operations: Option<u32>,
    /// As [`WorkloadSettings::reads_percent`].
    pub reads_percent: u32,
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct WorkloadSettings {
    pub kind: &'static dyn Workload,
    /// Concurrent sessions.
    pub sessions: u32,
    /// Transactions of all sessions together, retries not counted; None: until the time is over.
    pub transactions: Option<u64>,
    /// How long sessions begin new transactions; None: until their number is reached.
    pub time: Option<Duration>,
    /// Keys in use at a time.
    pub keys: u32,
    /// Operations of a transaction, where the kind does not decide it.
    pub operations: u32,
    /// The share of reads among the operations, or of read-only transactions where the kind
    /// decides the operations.
    pub reads_percent: u32,
    pub distribution: Distribution,
    /// None: the server's default.
    pub level: Option<IsolationLevel>,
    /// Ask the engine for start and commit timestamps.
    pub timestamps: bool,
    /// Off only to measure the cost of recording.
    pub records: bool,
    pub seed: u64,
}

impl WorkloadSettings {
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
