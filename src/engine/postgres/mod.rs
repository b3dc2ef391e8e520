//! PostgreSQL, as far as recording histories needs it.
//!
//! Connections are of `tokio-postgres`, the asynchronous half of the `postgres` crate, each on a
//! runtime of its own: the blocking half sets no deadline for an answer, and a server that hangs
//! would hang us. Cases are not generated for this engine yet; its dialect lacks the capability
//! `cases`, and what needs it says so.

mod answer;
mod connection;
mod databases;
mod failure;
mod watcher;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::connection::Session;
use self::databases::PostgresDatabases;
use super::doctor::DiagnosisLine;
use super::guard::Guard;
use super::marker::{Leftover, check_database_name};
use super::session::{BareSession, ClassifiedSession};
use super::target::{Password, Target};
use super::{Connection, Engine, EngineError, Identity, OpenOptions, Server, Watcher};
use crate::dialect::{Dialect, Version};
use crate::model::{Row, Value};

/// As URLs and dialect files name it.
const NAME: &str = "postgres";

/// Where we log in unless the URL names a database: it is there on every server.
const MAINTENANCE: &str = "postgres";

/// How long the server lets a statement wait for a lock, in seconds: shorter than the statement
/// deadline, or we would give up what it would have answered. Its own default is for ever.
const LOCK_WAIT_S: u64 = 10;

/// Settings that change what transactions mean, or how much a crash may cost.
const VARIABLES: &str = "'default_transaction_isolation', 'default_transaction_read_only', \
     'deadlock_timeout', 'fsync', 'lock_timeout', 'synchronous_commit', 'track_commit_timestamp'";

/// The engine.
pub(super) struct Postgres;

impl Engine for Postgres {
    fn name(&self) -> &'static str {
        NAME
    }

    fn open(&self, target: &Target, options: &OpenOptions) -> Result<Box<dyn Server>, EngineError> {
        target.only_parameters(&["socket"])?;
        let access = Access {
            password: target
                .password()
                .cloned()
                .or_else(|| options.password.clone())
                .or_else(Password::from_environment),
            target: target.clone(),
            deadline: options.deadline,
        };
        let mut session = access.session(None)?;
        let mut identity = identify(&mut session)?;
        let dialect = options.dialect_for(NAME, &identity.version, &identity.variables)?;
        identity.session_setup.clone_from(&dialect.session_setup);
        let server = PostgresServer {
            dialect: Arc::new(dialect),
            identity,
            access,
            options: options.clone(),
        };
        server
            .guard(session)
            .check_safe(options.allow_shared_server)?;
        Ok(Box::new(server))
    }
}

/// How connections are made.
#[derive(Clone)]
struct Access {
    target: Target,
    password: Option<Password>,
    deadline: std::time::Duration,
}

impl Access {
    /// A bare connection to a database, or to the one that the login goes to.
    fn session(&self, database: Option<&str>) -> Result<Session, EngineError> {
        let own = self.target.database().unwrap_or(MAINTENANCE);
        Session::open(self, database.unwrap_or(own))
    }
}

struct PostgresServer {
    identity: Identity,
    dialect: Arc<Dialect>,
    access: Access,
    options: OpenOptions,
}

impl PostgresServer {
    fn guard(&self, session: Session) -> Guard<PostgresDatabases> {
        let version = self.identity.version.clone();
        let databases = PostgresDatabases::new(session, self.access.clone(), version);
        Guard::new(databases, &self.options.run_id)
    }
}

impl Server for PostgresServer {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    fn create_database(&self, name: &str) -> Result<(), EngineError> {
        self.guard(self.access.session(None)?).create(name)
    }

    fn drop_database(&self, name: &str) -> Result<(), EngineError> {
        self.guard(self.access.session(None)?).drop(name)
    }

    fn connect(&self, database: &str) -> Result<Box<dyn Connection>, EngineError> {
        check_database_name(database)?;
        let mut session = self.access.session(Some(database))?;
        for sql in &self.dialect.session_setup {
            session.run(sql)?;
        }
        session.run(&format!("SET lock_timeout = '{LOCK_WAIT_S}s'"))?;
        let dialect = Arc::clone(&self.dialect);
        Ok(Box::new(ClassifiedSession::new(session, dialect)))
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, EngineError> {
        let session = self.access.session(None)?;
        Ok(Box::new(watcher::PostgresWatcher::new(session)))
    }

    fn leftovers(&self) -> Result<Vec<Leftover>, EngineError> {
        self.guard(self.access.session(None)?).leftovers()
    }

    fn examine(&self) -> Result<Vec<DiagnosisLine>, EngineError> {
        self.guard(self.access.session(None)?).examine()
    }

    fn statement_counters(&self) -> Result<Option<BTreeMap<String, u64>>, EngineError> {
        Ok(None)
    }
}

/// Asks who the server is.
fn identify(session: &mut Session) -> Result<Identity, EngineError> {
    let sql = format!(
        "SELECT name, setting FROM pg_settings WHERE name IN ('server_version', {VARIABLES})"
    );
    let mut variables: BTreeMap<String, String> = session
        .rows(&sql)?
        .iter()
        .filter_map(|row| Some((text_of(row.first()?)?, text_of(row.get(1)?)?)))
        .collect();
    let version_text = variables.remove("server_version").unwrap_or_default();
    // Servers that speak this protocol and are another product say so here.
    let full = session.rows("SELECT version()")?;
    let full = full.first().and_then(|row| text_of(row.first()?));
    let full = full.unwrap_or_default();
    if !full.starts_with("PostgreSQL ") {
        return Err(EngineError::Target(format!(
            "the server is {full}, not PostgreSQL"
        )));
    }
    Ok(Identity {
        engine: NAME.to_owned(),
        version: version_text.parse().unwrap_or_default(),
        version_text,
        variables,
        session_setup: Vec::new(),
    })
}

/// A cell as text.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::Decimal(text) | Value::Temporal(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The first cell of the first row, as text.
fn first_text(rows: &[Row]) -> Option<String> {
    text_of(rows.first()?.first()?)
}

/// An identifier in quotes.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Text as a literal. The server's `standard_conforming_strings` is on, as it is by default since
/// 9.1 and always from 19 on; the session sets it all the same.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// From here on DROP DATABASE ends the connections that hold it up.
fn has_forced_drop(version: &Version) -> bool {
    *version >= Version(vec![13])
}
