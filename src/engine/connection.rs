//! What a case needs of an engine: connections, and the view of lock waits.

use std::collections::BTreeMap;
use std::time::Duration;

use super::error::EngineError;
use crate::dialect::Dialect;
use crate::model::{Outcome, TableShape};

/// What the server says of a connection's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionState {
    Open,
    None,
}

/// One connection. Nothing is sent twice, nothing reconnects.
pub trait Connection: Send {
    /// The engine's own number of this connection.
    fn id(&self) -> u64;

    /// Sends one statement and waits for its answer, within the deadline.
    fn execute(&mut self, sql: &str) -> Result<Outcome, EngineError>;

    /// Whether a transaction is open, as the server itself says.
    ///
    /// Costs a statement on engines of the MySQL protocol, whose answer to a rejected statement
    /// does not carry it: ask after a rejection, not after every statement. It is counted by the
    /// server as `Com_set_option`.
    fn transaction_state(&mut self) -> Result<TransactionState, EngineError>;

    /// Whether the server's answer to the last statement itself said that it ended the transaction,
    /// so that asking would only repeat it. False where an answer carries no such thing.
    fn ended_transaction(&self) -> bool {
        false
    }

    /// The number that the answer to the last statement carried as the first one that it took from a counter of the
    /// engine: the last insert id of MySQL's protocol. It may also be a number that the statement gave a row itself.
    /// None where there is none.
    fn counted(&self) -> Option<i64> {
        None
    }

    /// How many rows the answer to the last statement said it changed, where it returned rows as well: PostgreSQL's
    /// command tag, `sqlite3_changes()`. None where there is none.
    fn reported(&self) -> Option<u64> {
        None
    }

    /// The words by which the answer to the last statement says what was done: PostgreSQL's command tag, without its numbers. None
    /// where an answer says nothing of the kind, and after a rejection.
    fn command_tag(&self) -> Option<String> {
        None
    }

    /// Whole content of a table, columns in the order of the shape, sorted.
    fn contents(&mut self, table: &TableShape) -> Result<Outcome, EngineError> {
        let sql = self.dialect().select_all(table);
        let mut outcome = self.execute(&sql)?;
        if let Outcome::Rows(rows) = &mut outcome {
            rows.sort_unstable();
        }
        Ok(outcome)
    }

    /// The dialect of the server.
    fn dialect(&self) -> &Dialect;
}

/// A view that shows waits late is asked this often in the time that it takes, at most.
const POLLS_UNTIL_SHOWN: u32 = 10;

/// The pause between two questions to a lock view: this long, or longer where it shows waits late ([`Watcher::shows_after`]).
pub fn poll_interval(least: Duration, shows_after: Duration) -> Duration {
    least.max(shows_after / POLLS_UNTIL_SHOWN)
}

/// The lock view: which connections wait for which others.
pub trait Watcher: Send {
    /// Which of these connections wait for a lock now, each with the connections it waits for
    /// where the engine says (empty where it does not).
    fn waiting(&mut self, connections: &[u64]) -> Result<BTreeMap<u64, Vec<u64>>, EngineError>;

    /// How long a wait has lasted when [`Self::waiting`] first shows it: a question sooner cannot see it.
    fn shows_after(&self) -> Duration {
        Duration::ZERO
    }

    /// On an engine that shows no waits: how long a statement has to go unanswered, while nothing else is answered, to be taken
    /// for waiting. None where [`Self::waiting`] tells.
    fn quiet_means_waiting(&self) -> Option<Duration> {
        None
    }

    /// Ends whatever the connection is doing (`KILL`).
    fn kill(&mut self, connection: u64) -> Result<(), EngineError>;
}
