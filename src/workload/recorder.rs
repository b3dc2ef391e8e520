//! The receiver of a workload's transactions, and the progress of a run.

use std::time::Duration;

use crate::history::Recorded;

/// Takes transactions as they end.
///
/// It is called by the thread that called [`run`](super::run()), never by a session's: however slow it is, the
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
    /// Transactions that committed.
    pub committed: u64,
    /// Refused by the engine or rolled back as planned.
    pub aborted: u64,
    /// The commit was sent and no answer came.
    pub indeterminate: u64,
    /// Transactions that were run again after the engine had refused them.
    pub retries: u64,
    /// Connections that were lost and replaced.
    pub lost: u64,
    /// Statements sent, of every transaction.
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
