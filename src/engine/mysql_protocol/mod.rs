//! MySQL and MariaDB: one protocol, two lock views.
//!
//! Connections are plain: no pool, no reconnect, every timeout set. What differs between the two
//! products is data of a [`Flavour`]; nothing else asks which one it is.

mod binlog;
mod connection;
mod databases;
mod failure;
mod mariadb;
mod mysql;
mod value;
mod watcher;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::connection::Session;
use self::databases::MySqlDatabases;
use super::doctor::DiagnosisLine;
use super::guard::Guard;
use super::marker::{Leftover, check_database_name};
use super::session::{BareSession, ClassifiedSession};
use super::target::{Password, Target};
use super::timestamps::no_timestamps;
use super::{Connection, Engine, EngineError, Identity, OpenOptions, Server, Timestamps, Watcher};
use crate::dialect::{Dialect, Version};
use crate::model::Value;

pub(super) use self::mariadb::MARIADB;
pub(super) use self::mysql::MYSQL;

/// How long InnoDB and the server let a statement wait for a lock, in seconds.
///
/// Shorter than the statement deadline, or we would give up what the engine would have answered;
/// the servers' own defaults are 50 s for rows and a day or a year for metadata.
const LOCK_WAIT_S: u64 = 10;

/// Variables that change what transactions mean, where the server has them.
const VARIABLES: [&str; 10] = [
    "autocommit",
    "binlog_format",
    "default_storage_engine",
    "innodb_lock_wait_timeout",
    "innodb_rollback_on_timeout",
    "innodb_snapshot_isolation",
    "log_bin",
    "sql_mode",
    "transaction_isolation",
    "tx_isolation",
];

/// Opens the lock view of a server of this version.
type Watch = fn(Session, &Version) -> Result<Box<dyn Watcher>, EngineError>;

/// What differs between the products that speak this protocol.
pub(super) struct Flavour {
    name: &'static str,
    /// What the server's version must and must not say.
    is_product: fn(version_text: &str) -> bool,
    /// Opens the lock view.
    watch: Watch,
    /// What the login must be granted beside its own databases, for this version.
    grants: fn(&Version) -> Vec<databases::Grant>,
    /// Whether a consistent snapshot says which place of the binary log it stands for.
    marks_snapshots: bool,
}

impl Engine for Flavour {
    fn name(&self) -> &'static str {
        self.name
    }

    fn open(&self, target: &Target, options: &OpenOptions) -> Result<Box<dyn Server>, EngineError> {
        target.only_parameters(&["socket"])?;
        let access = Access::new(self, target, options);
        let mut session = access.session(None)?;
        let mut identity = identify(self, &mut session)?;
        let flavour = flavour_of(self, &identity)?;
        let dialect = options.dialect_for(flavour.name, &identity.version, &identity.variables)?;
        identity.session_setup.clone_from(&dialect.session_setup);
        let server = MySqlServer {
            dialect: Arc::new(dialect),
            flavour,
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

/// The product a server turned out to be. A URL that names the other one is refused: its dialect
/// would judge the answers wrongly.
fn flavour_of(asked: &Flavour, identity: &Identity) -> Result<&'static Flavour, EngineError> {
    [&MARIADB, &MYSQL]
        .into_iter()
        .find(|flavour| flavour.name == asked.name && (flavour.is_product)(&identity.version_text))
        .ok_or_else(|| {
            let other = if asked.name == MARIADB.name {
                MYSQL.name
            } else {
                MARIADB.name
            };
            EngineError::Target(format!(
                "the server is {}, not {}: write {other}:// in the target",
                identity.version_text, asked.name
            ))
        })
}

/// How connections are made.
#[derive(Clone)]
struct Access {
    engine: &'static str,
    target: Target,
    password: Option<Password>,
    deadline: std::time::Duration,
}

impl Access {
    fn new(flavour: &Flavour, target: &Target, options: &OpenOptions) -> Self {
        Self {
            engine: flavour.name,
            target: target.clone(),
            password: target
                .password()
                .cloned()
                .or_else(|| options.password.clone())
                .or_else(Password::from_environment),
            deadline: options.deadline,
        }
    }

    /// A bare connection, its session as the server's defaults have it.
    fn session(&self, database: Option<&str>) -> Result<Session, EngineError> {
        Session::open(self, database)
    }
}

struct MySqlServer {
    flavour: &'static Flavour,
    identity: Identity,
    dialect: Arc<Dialect>,
    access: Access,
    options: OpenOptions,
}

impl MySqlServer {
    fn guard(&self, session: Session) -> Guard<MySqlDatabases> {
        let grants = (self.flavour.grants)(&self.identity.version);
        Guard::new(MySqlDatabases::new(session, grants), &self.options.run_id)
    }
}

impl Server for MySqlServer {
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
        session.run(&format!(
            "SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_S}, lock_wait_timeout = {LOCK_WAIT_S}"
        ))?;
        let dialect = Arc::clone(&self.dialect);
        Ok(Box::new(ClassifiedSession::new(session, dialect)))
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, EngineError> {
        (self.flavour.watch)(self.access.session(None)?, &self.identity.version)
    }

    fn leftovers(&self) -> Result<Vec<Leftover>, EngineError> {
        self.guard(self.access.session(None)?).leftovers()
    }

    fn examine(&self) -> Result<Vec<DiagnosisLine>, EngineError> {
        self.guard(self.access.session(None)?).examine()
    }

    fn timestamps(&self) -> Result<Box<dyn Timestamps>, EngineError> {
        if !self.flavour.marks_snapshots {
            return Err(no_timestamps(self.flavour.name));
        }
        let has_log = self.identity.variables.get("log_bin");
        if has_log.is_none_or(|value| value != "ON") {
            return Err(EngineError::Target(
                "the server's binary log is off, and timestamps come from it: start it with \
                 --log-bin --binlog-format=ROW --server-id=1"
                    .to_owned(),
            ));
        }
        Ok(Box::new(binlog::BinlogTimestamps::new(self.access.clone())))
    }

    fn statement_counters(&self) -> Result<Option<BTreeMap<String, u64>>, EngineError> {
        let mut session = self.access.session(None)?;
        let rows = session.rows("SHOW GLOBAL STATUS LIKE 'Com%'")?;
        let counters = rows.iter().filter_map(|row| match row.as_slice() {
            [name, value] => {
                let name = text_of(name).filter(|name| name.starts_with("Com_"))?;
                Some((name, text_of(value)?.parse().ok()?))
            }
            _ => None,
        });
        Ok(Some(counters.collect()))
    }
}

/// Asks who the server is.
fn identify(asked: &Flavour, session: &mut Session) -> Result<Identity, EngineError> {
    let rows = session.rows("SELECT VERSION(), @@version_comment")?;
    let cell = |index: usize| {
        rows.first()
            .and_then(|row| row.get(index))
            .and_then(text_of)
            .unwrap_or_default()
    };
    let version_text = cell(0);
    let names: Vec<String> = VARIABLES.iter().map(|name| format!("'{name}'")).collect();
    let sql = format!(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})",
        names.join(", ")
    );
    let mut variables: BTreeMap<String, String> = session
        .rows(&sql)?
        .iter()
        .filter_map(|row| Some((text_of(row.first()?)?, text_of(row.get(1)?)?)))
        .collect();
    variables.insert("version_comment".to_owned(), cell(1));
    Ok(Identity {
        engine: asked.name.to_owned(),
        version: version_of(&version_text),
        version_text,
        variables,
        session_setup: Vec::new(),
    })
}

/// The version of the product. Old MariaDB servers put `5.5.5-` before it for old clients.
fn version_of(text: &str) -> Version {
    let text = text
        .strip_prefix("5.5.5-")
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or(text);
    text.parse().unwrap_or_default()
}

/// A cell as text, whatever the server gave it as.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::Decimal(text) | Value::Temporal(text) => Some(text.clone()),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Unsigned(number) => Some(number.to_string()),
        Value::Real(number) => Some(number.to_string()),
        Value::Null => None,
    }
}

/// A cell as a number, whatever the server gave it as.
fn number_of(value: &Value) -> Option<u64> {
    text_of(value)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_product() {
        assert_eq!(
            version_of("5.5.5-10.5.29-MariaDB"),
            Version(vec![10, 5, 29])
        );
        assert_eq!(
            version_of("11.8.3-MariaDB-0+deb13u1"),
            Version(vec![11, 8, 3])
        );
        assert_eq!(version_of("5.6.51"), Version(vec![5, 6, 51]));
    }
}
