//! Engines: connections, databases, the lock view. An engine knows no oracle.
//!
//! A [`Server`] is one running engine that was opened, identified and found safe to use. An error
//! that the engine answers is an [`Outcome::Rejected`]; [`EngineError`] means *we have no answer*.

mod clean;
mod doctor;
mod guard;
mod marker;
mod mysql_protocol;
mod postgres;
mod session;
mod sqlite;
mod target;
mod timestamps;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::dialect::{BUILTIN, Capability, Dialect, DialectError, Version};
use crate::model::{Outcome, TableShape};

pub use clean::{Cleaned, clean, clean_target};
pub use doctor::{Diagnosis, DiagnosisLine, doctor};
pub use marker::{Leftover, MARKER_TABLE, Marker, check_database_name};
pub use target::{Password, Target};
pub use timestamps::{Mark, Resolver, Timestamps};

/// Every engine, in the order of the documentation.
pub const ENGINES: &[&dyn Engine] = &[
    &sqlite::Sqlite,
    &mysql_protocol::MYSQL,
    &mysql_protocol::MARIADB,
    &postgres::Postgres,
];

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
    /// The URL, or what it names, is not understood.
    #[error("{0}")]
    Target(String),
    #[error(transparent)]
    Dialect(#[from] DialectError),
    /// A statement of ours (reset, watcher, guard) was rejected: a defect or the environment.
    #[error("{engine} rejected {sql:?}: {message}")]
    Rejected {
        engine: &'static str,
        sql: String,
        message: String,
    },
    /// A statement of a case's set-up was rejected: the case cannot run.
    #[error("the set-up is rejected at {sql:?}: {message}")]
    Setup { sql: String, message: String },
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
    /// What every session of ours sets for itself before anything else, by which it may differ
    /// from the server's variables.
    pub session_setup: Vec<String>,
}

/// What the server says of a connection's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionState {
    Open,
    None,
}

/// How a server is to be opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Go on although the server holds databases of somebody else.
    pub allow_shared_server: bool,
    /// Used when the URL has none; without either, the environment's `RASHOMON_PASSWORD`.
    pub password: Option<Password>,
    /// How long a statement may stay unanswered.
    pub deadline: Duration,
    /// A dialect file instead of the built-in one: its name, for messages, and its text.
    pub dialect: Option<(String, String)>,
    /// Written into the marker of every database that is created.
    pub run_id: String,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            allow_shared_server: false,
            password: None,
            deadline: STATEMENT_DEADLINE,
            dialect: None,
            run_id: format!("pid{}", std::process::id()),
        }
    }
}

impl OpenOptions {
    /// The dialect for a server of this engine: the given file or the built-in one, as its version
    /// and variables make it.
    fn dialect_for(
        &self,
        engine: &str,
        version: &Version,
        variables: &BTreeMap<String, String>,
    ) -> Result<Dialect, EngineError> {
        if let Some((name, text)) = &self.dialect {
            let dialect = crate::dialect::parse_for(name, text, version, variables)?;
            if dialect.engine != engine {
                return Err(EngineError::Target(format!(
                    "{name} is the dialect of {}, and the server is {engine}",
                    dialect.engine
                )));
            }
            return Ok(dialect);
        }
        let text = BUILTIN
            .iter()
            .find(|(name, _)| *name == engine)
            .map(|(_, text)| *text)
            .ok_or_else(|| EngineError::Target(format!("no dialect for {engine}")))?;
        let file = format!("dialects/{engine}.toml");
        Ok(crate::dialect::parse_for(&file, text, version, variables)?)
    }
}

/// One engine: how its servers are reached.
pub trait Engine: Sync {
    /// As URLs and dialect files name it.
    fn name(&self) -> &'static str;

    /// Connects, identifies and checks the server.
    ///
    /// # Errors
    /// When it is not reachable, refuses the login, lacks a privilege, or is not safe to use.
    fn open(&self, target: &Target, options: &OpenOptions) -> Result<Box<dyn Server>, EngineError>;
}

/// Opens the server that a TARGET URL names.
///
/// # Errors
/// As [`Engine::open`], and when the URL cannot be understood.
pub fn open(target: &str, options: &OpenOptions) -> Result<Box<dyn Server>, EngineError> {
    let target: Target = target.parse()?;
    engine_of(&target)?.open(&target, options)
}

/// Refuses a server that cases are not built for.
///
/// # Errors
/// [`EngineError::Target`], which says what does work there.
pub fn require_cases(server: &dyn Server) -> Result<(), EngineError> {
    if server.dialect().supports(Capability::Cases) {
        return Ok(());
    }
    Err(EngineError::Target(format!(
        "cases are not generated and judged on {} yet: workload, watch, doctor and clean work there",
        server.dialect().engine
    )))
}

/// The engine of a target.
fn engine_of(target: &Target) -> Result<&'static dyn Engine, EngineError> {
    ENGINES
        .iter()
        .find(|engine| engine.name() == target.scheme())
        .copied()
        .ok_or_else(|| EngineError::Target(target::unknown_scheme(target.scheme())))
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
    ///
    /// What a dead run, or this one, left under the same name is dropped first; anything else of
    /// that name is an error.
    fn create_database(&self, name: &str) -> Result<(), EngineError>;

    /// Drops a database if, and only if, it carries our marker.
    fn drop_database(&self, name: &str) -> Result<(), EngineError>;

    /// A new connection, its session set up by the dialect, in this database.
    fn connect(&self, database: &str) -> Result<Box<dyn Connection>, EngineError>;

    /// An extra connection that reads the lock view.
    fn watcher(&self) -> Result<Box<dyn Watcher>, EngineError>;

    /// Every database whose name is one of ours, with its marker where it has one.
    fn leftovers(&self) -> Result<Vec<Leftover>, EngineError>;

    /// What the login may do and whether the server is safe to use, for `doctor`.
    fn examine(&self) -> Result<Vec<DiagnosisLine>, EngineError>;

    /// How this server gives start and commit timestamps.
    ///
    /// # Errors
    /// When it does not, as it is set up: the message names the remedy.
    fn timestamps(&self) -> Result<Box<dyn Timestamps>, EngineError> {
        Err(timestamps::no_timestamps(&self.identity().engine))
    }

    /// Statement counters of the whole server (`Com_*`), where the engine keeps them.
    fn statement_counters(&self) -> Result<Option<BTreeMap<String, u64>>, EngineError>;
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
    /// server as `Com_set_option`. No READ ONLY of an aborted transaction outlives the question.
    fn transaction_state(&mut self) -> Result<TransactionState, EngineError>;

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

/// The view of who waits for whom.
pub trait Watcher: Send {
    /// Which of these connections wait for a lock now, each with the connections it waits for
    /// where the engine says (empty where it does not).
    fn waiting(&mut self, connections: &[u64]) -> Result<BTreeMap<u64, Vec<u64>>, EngineError>;

    /// Ends whatever the connection is doing (`KILL`).
    fn kill(&mut self, connection: u64) -> Result<(), EngineError>;
}
