//! The one server of all engines that are reached over a connection.
//!
//! What differs between them is a [`Protocol`]: how a connection is made, what the server says of
//! itself, how it lists and makes databases, what shows its waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::access::Access;
use super::connection::{Connection, Watcher};
use super::diagnosis::{Demand, DiagnosisLine};
use super::error::EngineError;
use super::guard::{Databases, Guard};
use super::marker::{Leftover, check_database_name};
use super::opening::{Engine, OpenOptions};
use super::server::{Identity, Server};
use super::session::{BareSession, ClassifiedSession};
use super::target::{AddressKind, Target};
use super::timestamps::{Timestamps, no_timestamps};
use crate::dialect::{Dialect, ServerVersion};

/// How long a server lets a statement of ours wait for a lock, in seconds.
///
/// Shorter than the statement deadline, or we would give up what the engine would have answered.
/// The servers' own defaults are 50 s for InnoDB's rows, a day or a year for metadata, and for ever
/// on PostgreSQL.
const LOCK_WAIT_S: u64 = 10;

/// What a protocol, or a product that speaks it, has of its own.
pub(super) trait Protocol: Copy + Send + Sync + 'static {
    /// A connection whose answers are not classified.
    type Session: BareSession + 'static;
    /// How databases are listed, made and dropped.
    type Databases: Databases;

    /// As URLs and dialect files name the engine.
    fn name(&self) -> &'static str;

    /// What a target URL names.
    fn address(&self) -> AddressKind;

    /// A connection to a database, or to the one that a login goes to.
    fn connect(
        &self,
        access: &Access,
        database: Option<&str>,
    ) -> Result<Self::Session, EngineError>;

    /// Asks for product, version and variables, and refuses another product than the one the URL names. The session
    /// set-up is left empty: it is the dialect's.
    fn identify(&self, session: &mut Self::Session) -> Result<Identity, EngineError>;

    /// The statement that lets no later one of its session wait for a lock longer than this, and lifts every other limit of
    /// the time that one may take: who is interrupted then was not by a setting of the server.
    fn limit_time(&self, lock_wait_s: u64) -> String;

    /// The databases of the server.
    fn databases(
        &self,
        session: Self::Session,
        access: &Access,
        version: &ServerVersion,
    ) -> Self::Databases;

    /// What the login may do beside making databases of ours, for `doctor`. Changes nothing.
    fn privileges(
        &self,
        session: &mut Self::Session,
        version: &ServerVersion,
    ) -> Result<Vec<DiagnosisLine>, EngineError>;

    /// Read-only modes, connections and disk, for `doctor`. Changes nothing.
    fn resources(
        &self,
        session: &mut Self::Session,
        access: &Access,
        demand: &Demand,
    ) -> Result<Vec<DiagnosisLine>, EngineError>;

    /// As [`Server::settings`]. The names are those of a dialect file.
    fn settings(
        &self,
        session: &mut Self::Session,
        names: &[&str],
    ) -> Result<BTreeMap<String, String>, EngineError>;

    /// The lock view of a server of this version.
    fn watcher(
        &self,
        session: Self::Session,
        version: &ServerVersion,
    ) -> Result<Box<dyn Watcher>, EngineError>;

    /// As [`Server::timestamps`].
    fn timestamps(
        &self,
        _access: &Access,
        _identity: &Identity,
    ) -> Result<Box<dyn Timestamps>, EngineError> {
        Err(no_timestamps(self.name()))
    }

    /// As [`Server::statement_counters`].
    fn statement_counters(
        &self,
        _session: &mut Self::Session,
    ) -> Result<Option<BTreeMap<String, u64>>, EngineError> {
        Ok(None)
    }
}

impl<P: Protocol> Engine for P {
    fn name(&self) -> &'static str {
        Protocol::name(self)
    }

    fn address(&self) -> AddressKind {
        Protocol::address(self)
    }

    fn open(&self, target: &Target, options: &OpenOptions) -> Result<Box<dyn Server>, EngineError> {
        target.only_parameters(&["socket"])?;
        let access = Access::new(Protocol::name(self), target, options);
        let mut session = self.connect(&access, None)?;
        let mut identity = self.identify(&mut session)?;
        let variables = &identity.variables;
        let dialect = options.dialect_for(Protocol::name(self), &identity.version, variables)?;
        identity.session_setup.clone_from(&dialect.session_setup);
        identity.isolation_setup = dialect.isolation_setup();
        let server = ProtocolServer {
            protocol: *self,
            dialect: Arc::new(dialect),
            identity,
            access,
            run_id: options.run_id.clone(),
        };
        server
            .guard_on(session)
            .check_safe(options.allow_shared_server)?;
        Ok(Box::new(server))
    }
}

/// An opened server of a protocol.
struct ProtocolServer<P> {
    protocol: P,
    identity: Identity,
    dialect: Arc<Dialect>,
    access: Access,
    run_id: String,
}

impl<P: Protocol> ProtocolServer<P> {
    /// A connection on which no statement waits long for a lock.
    fn session(&self, database: Option<&str>) -> Result<P::Session, EngineError> {
        let mut session = self.protocol.connect(&self.access, database)?;
        session.run(&self.protocol.limit_time(LOCK_WAIT_S))?;
        Ok(session)
    }

    fn guard(&self) -> Result<Guard<P::Databases>, EngineError> {
        Ok(self.guard_on(self.session(None)?))
    }

    fn guard_on(&self, session: P::Session) -> Guard<P::Databases> {
        let version = &self.identity.version;
        let databases = self.protocol.databases(session, &self.access, version);
        Guard::new(databases, &self.run_id)
    }
}

impl<P: Protocol> Server for ProtocolServer<P> {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    fn create_database(&self, name: &str) -> Result<(), EngineError> {
        self.guard()?.create(name)
    }

    fn drop_database(&self, name: &str) -> Result<(), EngineError> {
        self.guard()?.drop(name)
    }

    fn connect(&self, database: &str) -> Result<Box<dyn Connection>, EngineError> {
        check_database_name(database)?;
        let mut session = self.protocol.connect(&self.access, Some(database))?;
        for sql in &self.dialect.session_setup {
            session.run(sql)?;
        }
        session.run(&self.protocol.limit_time(LOCK_WAIT_S))?;
        let dialect = Arc::clone(&self.dialect);
        Ok(Box::new(ClassifiedSession::new(session, dialect)))
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, EngineError> {
        let session = self.protocol.connect(&self.access, None)?;
        self.protocol.watcher(session, &self.identity.version)
    }

    fn leftovers(&self) -> Result<Vec<Leftover>, EngineError> {
        self.guard()?.leftovers()
    }

    fn examine_safety(&self, allow_shared_server: bool) -> Result<DiagnosisLine, EngineError> {
        self.guard()?.safety(allow_shared_server)
    }

    fn examine(&self, demand: &Demand) -> Result<Vec<DiagnosisLine>, EngineError> {
        let mut session = self.session(None)?;
        let (protocol, access) = (&self.protocol, &self.access);
        let mut lines = protocol.privileges(&mut session, &self.identity.version)?;
        lines.extend(protocol.resources(&mut session, access, demand)?);
        Ok(lines)
    }

    fn settings(&self, names: &[&str]) -> Result<BTreeMap<String, String>, EngineError> {
        self.protocol.settings(&mut self.session(None)?, names)
    }

    fn timestamps(&self) -> Result<Box<dyn Timestamps>, EngineError> {
        self.protocol.timestamps(&self.access, &self.identity)
    }

    fn statement_counters(&self) -> Result<Option<BTreeMap<String, u64>>, EngineError> {
        let mut session = self.protocol.connect(&self.access, None)?;
        self.protocol.statement_counters(&mut session)
    }
}
