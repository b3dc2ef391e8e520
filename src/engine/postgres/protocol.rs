//! PostgreSQL's protocol.

use std::collections::BTreeMap;

use super::connection::PostgresSession;
use super::databases::PostgresDatabases;
use super::examination;
use super::names::{NAME, quoted};
use super::watcher::PostgresWatcher;
use crate::dialect::ServerVersion;
use crate::engine::access::Access;
use crate::engine::cell::{first_text, named_values};
use crate::engine::connection::Watcher;
use crate::engine::diagnosis::{Demand, DiagnosisLine, Topic};
use crate::engine::error::EngineError;
use crate::engine::protocol::Protocol;
use crate::engine::server::Identity;
use crate::engine::session::BareSession;
use crate::engine::target::AddressKind;
use crate::model::Outcome;

/// Settings that change what transactions mean, or how much a crash may cost.
const VARIABLES: &str = "'default_transaction_isolation', 'default_transaction_read_only', \
     'deadlock_timeout', 'fsync', 'lock_timeout', 'synchronous_commit', 'track_commit_timestamp'";

/// The engine.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Postgres;

/// A session takes foreign keys out of force by it, and not every account may.
const REPLICATION_ROLE: &str = "session_replication_role";

/// Whether the account may set [`REPLICATION_ROLE`].
fn may_take_keys_out(session: &mut PostgresSession) -> Result<bool, EngineError> {
    let outcome = session.send(&format!("SET {REPLICATION_ROLE} = 'replica'"))?;
    if matches!(outcome, Outcome::Rejected(_)) {
        return Ok(false);
    }
    session.run(&format!("RESET {REPLICATION_ROLE}"))?;
    Ok(true)
}

/// The values of these variables, whose names are in quotes with commas between.
fn variables(
    session: &mut PostgresSession,
    names: &str,
) -> Result<BTreeMap<String, String>, EngineError> {
    let sql = format!("SELECT name, setting FROM pg_settings WHERE name IN ({names})");
    Ok(named_values(&session.rows(&sql)?).collect())
}

impl Protocol for Postgres {
    type Session = PostgresSession;
    type Databases = PostgresDatabases;

    fn name(&self) -> &'static str {
        NAME
    }

    fn address(&self) -> AddressKind {
        AddressKind::HostAndDatabase
    }

    fn connect(
        &self,
        access: &Access,
        database: Option<&str>,
    ) -> Result<PostgresSession, EngineError> {
        PostgresSession::open(access, database)
    }

    fn identify(&self, session: &mut PostgresSession) -> Result<Identity, EngineError> {
        let mut variables = variables(session, &format!("'server_version', {VARIABLES}"))?;
        let version_text = variables.remove("server_version").unwrap_or_default();
        // Servers that speak this protocol and are another product say so here.
        let full = session.rows("SELECT version()")?;
        let full = first_text(&full).unwrap_or_default();
        if !full.starts_with("PostgreSQL ") {
            return Err(EngineError::Target(format!(
                "the server calls itself {full:?}, which is no PostgreSQL: its transactions may follow \
                 other rules; name a PostgreSQL server"
            )));
        }
        // Named where it is refused only: elsewhere it changes nothing.
        if !may_take_keys_out(session)? {
            variables.insert(REPLICATION_ROLE.to_owned(), "refused".to_owned());
        }
        Ok(Identity {
            engine: NAME.to_owned(),
            version: version_text.parse().unwrap_or_default(),
            version_text,
            variables,
            session_setup: Vec::new(),
            isolation_setup: BTreeMap::new(),
        })
    }

    fn settings(
        &self,
        session: &mut PostgresSession,
        names: &[&str],
    ) -> Result<BTreeMap<String, String>, EngineError> {
        let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        variables(session, &names.join(", "))
    }

    fn limit_time(&self, lock_wait_s: u64) -> String {
        format!(
            "SELECT set_config('lock_timeout', '{lock_wait_s}s', false), \
             set_config('statement_timeout', '0', false)"
        )
    }

    fn databases(
        &self,
        session: PostgresSession,
        access: &Access,
        version: &ServerVersion,
    ) -> PostgresDatabases {
        PostgresDatabases::new(session, access.clone(), version.clone())
    }

    /// The trial of a database of ours proves the others.
    fn privileges(
        &self,
        session: &mut PostgresSession,
        version: &ServerVersion,
    ) -> Result<Vec<DiagnosisLine>, EngineError> {
        if may_take_keys_out(session)? {
            let text = format!("the account may set {REPLICATION_ROLE}");
            return Ok(vec![DiagnosisLine::good(Topic::Privilege, text)]);
        }
        let text = format!(
            "the account may not set {REPLICATION_ROLE}: cases have no foreign keys, or are refused"
        );
        let user = first_text(&session.rows("SELECT current_user")?).unwrap_or_default();
        let remedy = match *version >= ServerVersion(vec![15]) {
            true => format!(
                "GRANT SET ON PARAMETER {REPLICATION_ROLE} TO {}",
                quoted(&user)
            ),
            false => "name a superuser in the target".to_owned(),
        };
        Ok(vec![DiagnosisLine {
            remedy: Some(remedy),
            ..DiagnosisLine::unknown(Topic::Privilege, text)
        }])
    }

    fn resources(
        &self,
        session: &mut PostgresSession,
        access: &Access,
        demand: &Demand,
    ) -> Result<Vec<DiagnosisLine>, EngineError> {
        examination::resources(session, access, demand)
    }

    fn watcher(
        &self,
        session: PostgresSession,
        _version: &ServerVersion,
    ) -> Result<Box<dyn Watcher>, EngineError> {
        Ok(Box::new(PostgresWatcher::new(session)))
    }
}
