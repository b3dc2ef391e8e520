//! Running a case: sessions interleaved, or statements one after another.
//!
//! `scheduler` is the pure state machine, `driver` the threads around it, `room` the place of
//! serial runs, `transcript` the text of an execution.

pub mod bare_loop;
mod contents_left;
mod crashed;
mod driver;
mod fate;
mod hand;
mod index_check;
mod record;
mod recording;
mod restart;
mod room;
mod run;
mod scheduled_statement;
mod scheduler;
mod serial;
mod sessions;
mod table_check;
mod touched;
mod transcript;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::model::{Execution, Outcome, ProbeTag, Row, StatementId, TestCase};

pub use crashed::CrashedRun;
pub use driver::{CONNECTIONS_BESIDE_SESSIONS, Driver};
pub use recording::{ConnectionRole, Recording, Sent, first_word};
pub use restart::RestartCommand;
pub use transcript::transcript;

/// A read that instrumentation adds. Never part of the case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What it reads and for which statement.
    pub tag: ProbeTag,
    pub sql: String,
}

/// Reads to add to a run, and where. A pure function of the case makes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instrumentation {
    /// In the session, before the statement, in order.
    pub before: BTreeMap<StatementId, Vec<Probe>>,
    /// In the session, after the statement, when it was not rejected.
    pub after: BTreeMap<StatementId, Vec<Probe>>,
    /// Tables that the observer reads once no sent statement is running, if this statement was
    /// active since its last read.
    pub observe: BTreeMap<StatementId, Vec<String>>,
    /// Sent instead of the statement: the same, and it returns the rows that it made or removed. Its
    /// answer is recorded as the one that the statement alone would have given.
    pub returning: BTreeMap<StatementId, ReturningWrite>,
}

/// A write that was made to return the rows of its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturningWrite {
    pub probe: Probe,
    /// How many cells at the end of each row were added.
    pub columns: usize,
    /// What stands before them is the statement's own answer; without it that is a count.
    pub has_own: bool,
}

impl Instrumentation {
    /// Whether the sessions send what they send without it.
    pub fn leaves_sessions(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }
}

/// Runs cases on one engine; oracles get their evidence from it.
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

    /// Whether the server can be killed and started again.
    fn restarts_server(&self) -> bool {
        false
    }

    /// Runs the case at the free pace from a fresh state, has the server killed while it runs, at a
    /// moment that follows from the case, and started again, and reads the tables that are left.
    ///
    /// # Errors
    /// As above; when the restart command fails, or the server does not come back; and always where
    /// [`Executor::restarts_server`] is false.
    fn execute_until_crash(&mut self, _case: &TestCase) -> Result<CrashedRun, EngineError> {
        Err(no_restart_command())
    }

    /// Starts a serial run of the case's set-up, in a database of its own.
    ///
    /// # Errors
    /// As above, and when the set-up is rejected.
    fn serial(&mut self, case: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError>;

    /// Has the next run and the next serial run build their tables anew. Tables are kept from case to case,
    /// and what a defect of the engine left in them must not show in a case that does not cause it.
    fn renew(&mut self) {}

    /// The dialect of the server.
    fn dialect(&self) -> &Arc<Dialect>;

    /// How many statements were sent in all, of every kind.
    fn statements_sent(&self) -> u64 {
        0
    }

    /// The run that the last `execute` could not finish; None after one that returned an
    /// execution.
    fn interrupted(&self) -> Option<&Interrupted> {
        None
    }
}

/// Nothing says how the server is killed and started again.
fn no_restart_command() -> EngineError {
    EngineError::Target("no --restart-command was given".to_owned())
}

/// A run that ended without an answer from the engine: evidence of a crash or a hang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// The statement of the case that got no answer; None when it was one that the driver added.
    pub statement: Option<StatementId>,
    /// The record up to that statement.
    pub execution: Execution,
}

/// One connection, no concurrency, its own copy of the tables.
pub trait SerialRun {
    /// Brings the tables back to the state after the set-up.
    fn reset(&mut self) -> Result<(), EngineError>;

    /// Lets some time go by before a question is asked again: another worker's open transaction may
    /// have disturbed the answer, and ends meanwhile. Does nothing where there is no server.
    fn rest(&mut self, time: Duration);

    /// Runs a statement of the case, or anything else, in autocommit unless it says otherwise.
    fn run(&mut self, sql: &str) -> Result<Outcome, EngineError>;

    /// The same with foreign keys out of force, where the run has any.
    fn run_without_foreign_keys(&mut self, sql: &str) -> Result<Outcome, EngineError>;

    /// Has what follows run under this setting of what statements mean, as the session of a statement sent it;
    /// under the usual one where there is none.
    fn adopt(&mut self, mode: Option<&str>) -> Result<(), EngineError>;

    /// Has the next statement, which takes numbers from the counter of a column, take this one and those after it.
    fn count_from(&mut self, first: i64) -> Result<(), EngineError>;

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
