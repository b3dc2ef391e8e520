//! Engines: connections, databases, the lock view. An engine knows no oracle.
//!
//! A [`Server`] is one running engine that was opened, identified and found safe to use. An error
//! that the engine answers is an [`Outcome::Rejected`]; [`EngineError`] means *we have no answer*.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::dialect::{Dialect, Version};
use crate::model::{Outcome, TableShape};

/// How long an unanswered statement may run before it is given up.
pub const STATEMENT_DEADLINE: Duration = Duration::from_secs(20);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("cannot connect to {engine} at {address}: {cause}")]
    Connect {
        engine: &'static str,
        address: String,
        cause: String,
    },
    #[error("{engine} refused the login at {address}: {cause}")]
    Login {
        engine: &'static str,
        address: String,
        cause: String,
    },
    #[error("the privilege is missing: {cause}; give it with: {grant}")]
    Privilege { cause: String, grant: String },
    #[error("{engine} closed the connection during {sql:?}: {cause}")]
    ConnectionLost {
        engine: &'static str,
        sql: String,
        cause: String,
    },
    /// The statement's deadline passed; the connection is of no use any more.
    #[error("no answer within {seconds} s to {sql:?}")]
    Hang { sql: String, seconds: u64 },
    #[error("refused for safety: {0}")]
    Unsafe(String),
    #[error("{0}")]
    Target(String),
    /// A statement of ours (reset, watcher, guard) was rejected: a defect or the environment.
    #[error("{engine} rejected {sql:?}: {message}")]
    Rejected {
        engine: &'static str,
        sql: String,
        message: String,
    },
    /// The server is out of disk, memory or connections.
    #[error("the server's resources are exhausted: {0}")]
    Resource(String),
}

/// Which server this is: recorded in every report, checked again after a reconnect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// As URLs name it: `mariadb`.
    pub engine: String,
    /// As the server prints it: `10.11.18-MariaDB`.
    pub version_text: String,
    pub version: Version,
    /// The variables that change what transactions mean, by name.
    pub variables: BTreeMap<String, String>,
}

/// What the server says of a connection's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionState {
    Open,
    None,
}

/// An opened server.
pub trait Server: Send + Sync {
    fn identity(&self) -> &Identity;

    fn dialect(&self) -> &Dialect;

    /// Whether a statement may wait for another session's lock. Where none ever does (SQLite
    /// answers BUSY), cases need no threads and no lock view.
    fn waits(&self) -> bool {
        true
    }

    /// Creates a database of ours, with its marker; `name` begins with `rashomon_`.
    fn create_database(&self, name: &str) -> Result<(), EngineError>;

    /// Drops a database if, and only if, it carries our marker.
    fn drop_database(&self, name: &str) -> Result<(), EngineError>;

    /// A new connection, its session set up by the dialect, in this database.
    fn connect(&self, database: &str) -> Result<Box<dyn Connection>, EngineError>;

    /// An extra connection that reads the lock view.
    fn watcher(&self) -> Result<Box<dyn Watcher>, EngineError>;

    /// Statement counters of the whole server (`Com_*`), where the engine keeps them.
    fn statement_counters(&self) -> Result<Option<BTreeMap<String, u64>>, EngineError>;
}

/// One connection. Nothing is sent twice, nothing reconnects.
pub trait Connection: Send {
    /// The engine's own number of this connection.
    fn id(&self) -> u64;

    /// Sends one statement and waits for its answer, within the deadline.
    fn execute(&mut self, sql: &str) -> Result<Outcome, EngineError>;

    /// Whether a transaction is open, as the server's own answer to the last statement said
    /// (protocol status flags, `sqlite3_get_autocommit`): costs nothing.
    fn transaction_state(&self) -> TransactionState;

    /// Whole content of a table, columns in the order of the shape, sorted.
    fn contents(&mut self, table: &TableShape) -> Result<Outcome, EngineError>;
}

/// The view of who waits for whom.
pub trait Watcher: Send {
    /// Which of these connections wait for a lock now, each with the connections it waits for
    /// where the engine says (empty where it does not).
    fn waiting(&mut self, connections: &[u64]) -> Result<BTreeMap<u64, Vec<u64>>, EngineError>;

    /// Ends whatever the connection is doing (`KILL`).
    fn kill(&mut self, connection: u64) -> Result<(), EngineError>;
}
