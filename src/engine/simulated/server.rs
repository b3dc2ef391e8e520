//! The server: this process, with databases in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::fault::NAME;
use super::planted::Faults;
use super::policy::EngineFlavour;
use super::session::SimulatedSession;
use super::store::DatabaseStore;
use super::watcher::WaitGraph;
use crate::dialect::{Dialect, ServerVersion};
use crate::engine::connection::{Connection, Watcher};
use crate::engine::diagnosis::{Demand, DiagnosisLine, Topic};
use crate::engine::error::EngineError;
use crate::engine::guard::Guard;
use crate::engine::marker::{Leftover, check_database_name};
use crate::engine::opening::{Engine, OpenOptions};
use crate::engine::server::{Identity, Server};
use crate::engine::target::{AddressKind, Target};

/// The engine.
pub(in crate::engine) struct Simulated;

/// What a target may say.
const PARAMETERS: [&str; 4] = ["flavour", "fault", "rate", "waits"];

/// Whether the lock view shows nothing, as `waits` says.
fn hides_waits(asked: Option<&str>) -> Result<bool, EngineError> {
    match asked {
        None => Ok(false),
        Some("unseen") => Ok(true),
        Some(other) => Err(EngineError::Target(format!(
            "waits are {other:?}: leave the parameter out, or write waits=unseen"
        ))),
    }
}

impl Engine for Simulated {
    fn name(&self) -> &'static str {
        NAME
    }

    fn address(&self) -> AddressKind {
        AddressKind::Process
    }

    fn open(&self, target: &Target, options: &OpenOptions) -> Result<Box<dyn Server>, EngineError> {
        target.only_parameters(&PARAMETERS)?;
        let flavour = target.parameter("flavour").map(EngineFlavour::named);
        let flavour = flavour.transpose()?.unwrap_or_default();
        let faults = Faults::read(flavour, target.parameter("fault"), target.parameter("rate"))?;
        let hides_waits = hides_waits(target.parameter("waits"))?;
        let version_text = env!("CARGO_PKG_VERSION").to_owned();
        let version: ServerVersion = version_text.parse().unwrap_or_default();
        let variables = BTreeMap::from([("flavour".to_owned(), flavour.slug().to_owned())]);
        let dialect = options.dialect_from(NAME, flavour.dialect(), &version, &variables)?;
        Ok(Box::new(SimulatedServer {
            identity: Identity {
                engine: NAME.to_owned(),
                version_text,
                version,
                variables,
                session_setup: dialect.session_setup.clone(),
                isolation_setup: dialect.isolation_setup(),
            },
            dialect: Arc::new(dialect),
            store: DatabaseStore::with_faults(faults),
            options: options.clone(),
            next_connection: AtomicU64::new(1),
            hides_waits,
        }))
    }
}

struct SimulatedServer {
    identity: Identity,
    dialect: Arc<Dialect>,
    store: DatabaseStore,
    options: OpenOptions,
    next_connection: AtomicU64,
    hides_waits: bool,
}

impl SimulatedServer {
    fn guard(&self) -> Guard<&DatabaseStore> {
        Guard::new(&self.store, &self.options.run_id)
    }
}

impl Server for SimulatedServer {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    fn create_database(&self, name: &str) -> Result<(), EngineError> {
        self.guard().create(name)
    }

    fn drop_database(&self, name: &str) -> Result<(), EngineError> {
        self.guard().drop(name)
    }

    fn connect(&self, database: &str) -> Result<Box<dyn Connection>, EngineError> {
        check_database_name(database)?;
        let Some(found) = self.store.get(database) else {
            return Err(EngineError::Connect {
                engine: NAME,
                address: database.to_owned(),
                cause: "there is no such database".to_owned(),
            });
        };
        let id = self.next_connection.fetch_add(1, Ordering::Relaxed);
        let dialect = Arc::clone(&self.dialect);
        let session = SimulatedSession::open(found, id, dialect, self.options.deadline)?;
        Ok(Box::new(session))
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, EngineError> {
        Ok(Box::new(WaitGraph {
            store: self.store.clone(),
            is_hidden: self.hides_waits,
        }))
    }

    fn leftovers(&self) -> Result<Vec<Leftover>, EngineError> {
        self.guard().leftovers()
    }

    fn examine_safety(&self, allow_shared_server: bool) -> Result<DiagnosisLine, EngineError> {
        self.guard().safety(allow_shared_server)
    }

    /// No mode and no login binds connections, and nothing is kept on a disk.
    fn examine(&self, _demand: &Demand) -> Result<Vec<DiagnosisLine>, EngineError> {
        let text = "databases are in memory";
        Ok(vec![DiagnosisLine::good(Topic::Disk, text)])
    }

    fn statement_counters(&self) -> Result<Option<BTreeMap<String, u64>>, EngineError> {
        Ok(None)
    }
}
