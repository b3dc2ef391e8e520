//! Running a case: sessions interleaved, or statements one after another.
//!
//! `scheduler` is the pure state machine, `driver` the threads around it, `room` the place of
//! serial runs, `transcript` the text of an execution.

pub mod bare_loop;
mod driver;
mod fate;
mod record;
mod recording;
mod room;
mod run;
mod scheduled_statement;
mod scheduler;
mod serial;
mod sessions;
mod transcript;

use std::collections::BTreeMap;

use crate::engine::EngineError;
use crate::model::{Execution, Outcome, ProbeTag, Row, StatementId, TestCase};

pub use driver::Driver;
pub use recording::{ConnectionRole, Recording, Sent};
pub use transcript::transcript;

/// A read that instrumentation adds. Never part of the case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub tag: ProbeTag,
    pub sql: String,
}

/// What to add to a run, and where. A pure function of the case makes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instrumentation {
    /// In the session, before the statement, in order.
    pub before: BTreeMap<StatementId, Vec<Probe>>,
    /// In the session, after the statement, when it was not rejected.
    pub after: BTreeMap<StatementId, Vec<Probe>>,
    /// Tables the observer reads, once things are at rest, when this statement was active.
    pub observe: BTreeMap<StatementId, Vec<String>>,
}

/// Runs cases on one engine: what an oracle asks for evidence.
pub trait Executor {
    /// Runs the case interleaved, in its submitted order, from a fresh state.
    ///
    /// # Errors
    /// When there is no answer: the connection was lost, the server hangs.
    fn execute(
        &mut self,
        case: &TestCase,
        instrumentation: &Instrumentation,
    ) -> Result<Execution, EngineError>;

    /// Starts a serial run of the case's set-up, in a database of its own.
    ///
    /// # Errors
    /// As above, and when the set-up is rejected.
    fn serial(&mut self, case: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError>;

    /// The dialect of the server.
    fn dialect(&self) -> &crate::dialect::Dialect;

    /// How many statements were sent in all, of every kind.
    fn statements_sent(&self) -> u64 {
        0
    }

    /// What was running when the last `execute` ended without an answer; none after one that
    /// returned an execution.
    fn interrupted(&self) -> Option<&Interrupted> {
        None
    }
}

/// A run that the engine did not let us finish: evidence of a crash or a hang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// The statement of the case that got no answer; none when it was a statement of ours.
    pub statement: Option<StatementId>,
    /// What had been recorded until then.
    pub execution: Execution,
}

/// One connection, no concurrency, its own copy of the tables.
pub trait SerialRun {
    /// The tables as the set-up leaves them, again.
    fn reset(&mut self) -> Result<(), EngineError>;

    /// Runs a statement of the case, or anything else, in autocommit unless it says otherwise.
    fn run(&mut self, sql: &str) -> Result<Outcome, EngineError>;

    /// The whole content of a table, sorted.
    fn contents(&mut self, table: &str) -> Result<Vec<Row>, EngineError>;

    /// Makes the table hold exactly these rows. Used for placeholders of dropped statements.
    fn replace_rows(
        &mut self,
        table: &str,
        remove: &[Row],
        insert: &[Row],
    ) -> Result<(), EngineError>;
}
