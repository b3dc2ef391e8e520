//! The server: this process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::connection::{NAME, SqliteConnection};
use super::store::{FileStore, Files, Journal};
use super::watcher::{Running, SqliteWatcher};
use crate::dialect::{Dialect, ServerVersion};
use crate::engine::connection::{Connection, Watcher};
use crate::engine::diagnosis::{Demand, DiagnosisLine};
use crate::engine::disk;
use crate::engine::error::EngineError;
use crate::engine::guard::Guard;
use crate::engine::marker::{Leftover, check_database_name};
use crate::engine::opening::{Engine, OpenOptions};
use crate::engine::server::{Identity, Server};
use crate::engine::target::{AddressKind, Target};

/// The engine.
pub(in crate::engine) struct Sqlite;

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn address(&self) -> AddressKind {
        AddressKind::Path
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
        let version: ServerVersion = version_text.parse().unwrap_or_default();
        let variables = BTreeMap::from([("journal_mode".to_owned(), journal.word().to_owned())]);
        let dialect = options.dialect_for(NAME, &version, &variables)?;
        Ok(Box::new(SqliteServer {
            identity: Identity {
                engine: NAME.to_owned(),
                version_text,
                version,
                variables,
                session_setup: dialect.session_setup.clone(),
                isolation_setup: dialect.isolation_setup(),
            },
            dialect: Arc::new(dialect),
            store: FileStore::open(target.path())?,
            journal,
            options: options.clone(),
            next_connection: AtomicU64::new(1),
            running: Arc::default(),
        }))
    }
}

struct SqliteServer {
    identity: Identity,
    dialect: Arc<Dialect>,
    store: FileStore,
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

    fn examine_safety(&self, allow_shared_server: bool) -> Result<DiagnosisLine, EngineError> {
        self.guard().safety(allow_shared_server)
    }

    /// Connections are files that this process opens; no mode and no login binds it.
    fn examine(&self, _demand: &Demand) -> Result<Vec<DiagnosisLine>, EngineError> {
        Ok(vec![disk::line_of_folder(self.store.folder())])
    }

    fn statement_counters(&self) -> Result<Option<BTreeMap<String, u64>>, EngineError> {
        Ok(None)
    }
}
