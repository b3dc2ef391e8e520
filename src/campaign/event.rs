//! Events of a run, for the part of the program that prints them.

use std::path::PathBuf;
use std::time::Duration;

use super::activity::Activity;
use super::statistics::Statistics;
use super::stopping::StopCause;

/// A finding that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The case file.
    pub path: PathBuf,
    /// The TARGET of the server that it was found on, without its password.
    pub target: String,
    /// The identifier of its signature.
    pub signature: String,
    /// What is wrong, in a word: `lost-update`.
    pub anomaly: String,
    /// The oracle's name.
    pub oracle: String,
    /// Its signature's kind: `not-serializable`.
    pub kind: String,
    /// What is wrong, in one line.
    pub headline: String,
    /// Violations in runs of the published case.
    pub hits: u32,
    /// Runs of the published case.
    pub runs: u32,
    /// The case it was found in.
    pub index: u64,
    /// Statements of the published case beside begin and end.
    pub statements: usize,
    /// Transactions of the published case.
    pub transactions: usize,
    /// An entry of the registry explains it, and this server claims the fix: its id.
    pub regression: Option<String>,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEvent {
    /// Published under a new signature.
    Finding(Announcement),
    /// Published in place of a bigger case of the same signature.
    Smaller(Announcement),
    /// Did not show in every run; kept under `flaky/`.
    Flaky(Announcement),
    /// The server gave no answer; the case is kept aside and the worker waits for the server.
    ServerLost {
        worker: usize,
        /// The case that was running; none between two cases.
        index: Option<u64>,
        error: String,
    },
    /// A worker reached the lost server again.
    ServerBack { worker: usize, after: Duration },
    /// The run is to end, and the cases under way take their time.
    Stopping(StopCause),
    /// With `--doublecheck`: two runs of the same case differ.
    Unstable { index: u64, difference: String },
    /// With `--against`: the first case of its shape in which the two servers differ and no oracle says
    /// why.
    Differs {
        index: u64,
        /// What differs, at which kind of statement: `waits-update`.
        shape: String,
        /// What each server did, in one line.
        difference: String,
        /// The case, minimized.
        path: PathBuf,
    },
    /// Oracles did not hear a case with a planted fault: what the run says of the engine cannot be trusted.
    CanaryUnheard {
        /// The case of the run beside it.
        index: u64,
        oracles: Vec<String>,
    },
    /// A problem of this program or of its environment, in one sentence.
    Trouble(String),
}

/// Receives the events of a run.
pub trait Listener {
    fn event(&mut self, event: &RunEvent);

    /// Called before each [`Listener::tick`] with what each worker does.
    fn activities(&mut self, _activities: &[Activity]) {}

    /// Called several times a second with the numbers so far.
    fn tick(&mut self, statistics: &Statistics, findings: usize, elapsed: Duration);
}
