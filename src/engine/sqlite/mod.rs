//! SQLite, in this process: a file per database, a connection per session, BUSY instead of waits.

mod connection;
mod store;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::InterruptHandle;

use self::connection::SqliteConnection;
pub(super) use self::store::temporary_folders;
use self::store::{Files, Store};
use super::doctor::DiagnosisLine;
use super::guard::Guard;
use super::marker::{Leftover, check_database_name};
use super::target::Target;
use super::{Connection, Engine, EngineError, Identity, OpenOptions, Server, Watcher};
use crate::dialect::{Dialect, Version};

const NAME: &str = "sqlite";

/// The engine.
pub(super) struct Sqlite;

/// How the database file keeps transactions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Journal {
    /// Write-ahead log: readers and one writer at once.
    Wal,
    /// Rollback journal: a writer commits only when nobody reads.
    Delete,
}

impl Journal {
    fn word(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Delete => "delete",
        }
    }
}

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn open(&self, target: &Target, options: &OpenOptions) -> Result<Box<dyn Server>, EngineError> {
        target.only_parameters(&["journal"])?;
        let journal = match target.parameter("journal") {
            None | Some("wal") => Journal::Wal,
            Some("delete") => Journal::Delete,
            Some(other) => {
                return Err(EngineError::Target(format!(
                    "unknown journal {other:?}: wal or delete"
                )));
            }
        };
        let version_text = rusqlite::version().to_owned();
        let version: Version = version_text.parse().unwrap_or_default();
        let variables = BTreeMap::from([("journal_mode".to_owned(), journal.word().to_owned())]);
        let dialect = options.dialect_for(NAME, &version, &variables)?;
        Ok(Box::new(SqliteServer {
            identity: Identity {
                engine: NAME.to_owned(),
                version_text,
                version,
                variables,
                session_setup: dialect.session_setup.clone(),
            },
            dialect: Arc::new(dialect),
            store: Store::open(target.path())?,
            journal,
            options: options.clone(),
            next_connection: AtomicU64::new(1),
            running: Arc::default(),
        }))
    }
}

/// Handles that interrupt what a connection runs, by connection number.
type Running = Arc<Mutex<BTreeMap<u64, InterruptHandle>>>;

struct SqliteServer {
    identity: Identity,
    dialect: Arc<Dialect>,
    store: Store,
    journal: Journal,
    options: OpenOptions,
    next_connection: AtomicU64,
    running: Running,
}

impl SqliteServer {
    fn guard(&self) -> Guard<Files<'_>> {
        let files = Files {
            store: &self.store,
            journal: self.journal,
        };
        Guard::new(files, &self.options.run_id)
    }
}

impl Server for SqliteServer {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    fn waits(&self) -> bool {
        false
    }

    fn create_database(&self, name: &str) -> Result<(), EngineError> {
        self.guard().create(name)
    }

    fn drop_database(&self, name: &str) -> Result<(), EngineError> {
        self.guard().drop(name)
    }

    fn connect(&self, database: &str) -> Result<Box<dyn Connection>, EngineError> {
        check_database_name(database)?;
        let id = self.next_connection.fetch_add(1, Ordering::Relaxed);
        let raw = self.store.connect(database)?;
        let connection = SqliteConnection::new(
            raw,
            id,
            Arc::clone(&self.dialect),
            self.options.deadline,
            Arc::clone(&self.running),
        )?;
        Ok(Box::new(connection))
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, EngineError> {
        Ok(Box::new(SqliteWatcher {
            running: Arc::clone(&self.running),
        }))
    }

    fn leftovers(&self) -> Result<Vec<Leftover>, EngineError> {
        self.guard().leftovers()
    }

    fn examine(&self) -> Result<Vec<DiagnosisLine>, EngineError> {
        self.guard().examine()
    }

    fn statement_counters(&self) -> Result<Option<BTreeMap<String, u64>>, EngineError> {
        Ok(None)
    }
}

/// Nothing ever waits here: what cannot go on answers BUSY.
struct SqliteWatcher {
    running: Running,
}

impl Watcher for SqliteWatcher {
    fn waiting(&mut self, _connections: &[u64]) -> Result<BTreeMap<u64, Vec<u64>>, EngineError> {
        Ok(BTreeMap::new())
    }

    fn kill(&mut self, connection: u64) -> Result<(), EngineError> {
        let running = lock(&self.running);
        if let Some(handle) = running.get(&connection) {
            handle.interrupt();
        }
        Ok(())
    }
}

/// Locks the table of handles. A panic elsewhere leaves it whole: every change is one call.
fn lock(running: &Running) -> std::sync::MutexGuard<'_, BTreeMap<u64, InterruptHandle>> {
    running
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
