//! What a run tells while it goes on.

use std::path::PathBuf;
use std::time::Duration;

use super::statistics::Statistics;

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

/// What a run tells while it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEvent {
    /// Published under a new signature.
    Finding(Announcement),
    /// Published in place of a bigger case of the same signature.
    Smaller(Announcement),
    /// Did not come every time; kept under `flaky/`.
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
    /// A signal asked the run to end, and the cases under way take their time.
    Stopping,
    /// With `--doublecheck`: two runs of the same case differ.
    Unstable { index: u64, difference: String },
    /// Something of ours or of the environment that people should know.
    Trouble(String),
}

/// Who is told what goes on.
pub trait Listener {
    fn event(&mut self, event: &RunEvent);

    /// Several times a second, with the numbers so far.
    fn tick(&mut self, statistics: &Statistics, findings: usize, elapsed: Duration);
}
