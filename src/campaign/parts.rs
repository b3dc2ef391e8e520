//! The parts of a run: the server, the cases, the oracles.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::{EngineError, Identity};
use crate::execute::Executor;
use crate::model::{StatementId, TestCase};
use crate::oracle::Oracle;
use crate::reproducer::Registry;

/// Where a worker runs its cases: opened for it, closed behind it.
pub trait Workplace: Send + Sync {
    /// Opens the engine, gives the job an executor of its own, and cleans up.
    ///
    /// # Errors
    /// When the engine cannot be opened, is another one than before, or the job says so.
    fn work(
        &self,
        worker: usize,
        job: &mut dyn FnMut(&mut dyn Executor) -> Result<(), EngineError>,
    ) -> Result<(), EngineError>;
}

/// A case to run, and which productions made its statements.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub case: TestCase,
    /// Names of the productions that made each statement.
    pub productions: BTreeMap<StatementId, Vec<Arc<str>>>,
}

/// Where cases come from: a pure function of the index.
pub trait CaseSource: Send + Sync {
    fn case(&self, index: u64) -> Drawn;
}

/// The second server of a run.
#[derive(Clone)]
pub struct Counterpart {
    pub workplace: Arc<dyn Workplace>,
    /// The server that was opened before the run: another one behind the address ends it.
    pub identity: Identity,
}

/// A case that must be heard, and where it is judged.
#[derive(Clone)]
pub struct Canary {
    /// An engine with planted faults.
    pub workplace: Arc<dyn Workplace>,
    pub case: TestCase,
    /// The names of the oracles that hear it.
    pub heard_by: Vec<String>,
    /// Cases of the run to one canary.
    pub every: u64,
}

/// The parts of a run.
pub struct Parts {
    pub workplace: Arc<dyn Workplace>,
    pub cases: Arc<dyn CaseSource>,
    /// In the order in which they judge.
    pub oracles: Vec<&'static dyn Oracle>,
    /// Known behaviour, which is counted and not published.
    pub registry: Registry,
    /// The server that was opened before the run: another one behind the address ends it.
    pub identity: Identity,
    /// A second server that runs the same cases.
    pub counterpart: Option<Counterpart>,
    /// Among the cases, one that must be heard.
    pub canary: Option<Canary>,
}
