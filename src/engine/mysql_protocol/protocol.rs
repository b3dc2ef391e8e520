//! MySQL's protocol, for every product that speaks it.

use std::collections::BTreeMap;

use super::binlog::BinlogTimestamps;
use super::connection::MySqlSession;
use super::databases::MySqlDatabases;
use super::examination;
use super::product::{Product, SelfDescription};
use super::products::check_product;
use crate::dialect::ServerVersion;
use crate::engine::access::Access;
use crate::engine::cell::{named_values, text_of};
use crate::engine::connection::Watcher;
use crate::engine::diagnosis::{Demand, DiagnosisLine};
use crate::engine::error::EngineError;
use crate::engine::protocol::Protocol;
use crate::engine::server::Identity;
use crate::engine::session::BareSession;
use crate::engine::target::AddressKind;
use crate::engine::timestamps::{Timestamps, no_timestamps};

/// Among the variables of a server that keeps its rows elsewhere: where ([`Product::ask_store`]).
const STORE: &str = "store";

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

/// The values of these variables in a scope, GLOBAL or SESSION; the latter has those, too, that no
/// session can change.
fn variables<'n>(
    session: &mut MySqlSession,
    scope: &str,
    names: impl Iterator<Item = &'n str>,
) -> Result<BTreeMap<String, String>, EngineError> {
    let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    let names = names.join(", ");
    let rows = session.rows(&format!(
        "SHOW {scope} VARIABLES WHERE Variable_name IN ({names})"
    ))?;
    Ok(named_values(&rows).collect())
}

impl Protocol for Product {
    type Session = MySqlSession;
    type Databases = MySqlDatabases;

    fn name(&self) -> &'static str {
        self.name
    }

    fn address(&self) -> AddressKind {
        AddressKind::Host
    }

    fn connect(
        &self,
        access: &Access,
        database: Option<&str>,
    ) -> Result<MySqlSession, EngineError> {
        let mut session = MySqlSession::open(access, database)?;
        session.adapt_to(self.state_question, self.read_only);
        // Sessions of cases have a database.
        if database.is_some() {
            session.track_transactions()?;
        }
        Ok(session)
    }

    fn identify(&self, session: &mut MySqlSession) -> Result<Identity, EngineError> {
        let rows = session.rows("SELECT VERSION(), @@version_comment")?;
        let cell = |index: usize| {
            let cell = rows.first().and_then(|row| row.get(index));
            cell.and_then(text_of).unwrap_or_default()
        };
        let server = SelfDescription {
            version: cell(0),
            comment: cell(1),
        };
        check_product(self, &server)?;
        let names = VARIABLES.iter().chain(self.variables).copied();
        let mut variables = variables(session, "GLOBAL", names)?;
        variables.insert("version_comment".to_owned(), server.comment);
        let store = self.ask_store.map(|ask| ask(session)).transpose()?;
        let version_text = match &store {
            Some(store) => format!("{} on {store}", server.version),
            None => server.version.clone(),
        };
        variables.extend(store.map(|store| (STORE.to_owned(), store)));
        Ok(Identity {
            engine: self.name.to_owned(),
            version: (self.version)(&server.version),
            version_text,
            variables,
            session_setup: Vec::new(),
            isolation_setup: BTreeMap::new(),
        })
    }

    fn settings(
        &self,
        session: &mut MySqlSession,
        names: &[&str],
    ) -> Result<BTreeMap<String, String>, EngineError> {
        variables(session, "SESSION", names.iter().copied())
    }

    fn limit_time(&self, lock_wait_s: u64) -> String {
        let lift = self.lift_time_limit;
        format!(
            "SET SESSION innodb_lock_wait_timeout = {lock_wait_s}, lock_wait_timeout = {lock_wait_s}{lift}"
        )
    }

    fn databases(
        &self,
        session: MySqlSession,
        _access: &Access,
        _version: &ServerVersion,
    ) -> MySqlDatabases {
        MySqlDatabases::new(session, self.system_databases)
    }

    fn privileges(
        &self,
        session: &mut MySqlSession,
        version: &ServerVersion,
    ) -> Result<Vec<DiagnosisLine>, EngineError> {
        examination::privileges(session, &(self.grants)(version))
    }

    fn resources(
        &self,
        session: &mut MySqlSession,
        access: &Access,
        demand: &Demand,
    ) -> Result<Vec<DiagnosisLine>, EngineError> {
        examination::resources(session, access, demand, self.read_only)
    }

    fn watcher(
        &self,
        session: MySqlSession,
        version: &ServerVersion,
    ) -> Result<Box<dyn Watcher>, EngineError> {
        (self.watch)(session, version)
    }

    fn timestamps(
        &self,
        access: &Access,
        identity: &Identity,
    ) -> Result<Box<dyn Timestamps>, EngineError> {
        if !self.marks_snapshots {
            return Err(no_timestamps(self.name));
        }
        let has_log = identity.variables.get("log_bin");
        if has_log.is_none_or(|value| value != "ON") {
            return Err(EngineError::Target(
                "the server's binary log is off, and timestamps come from it: start it with \
                 --log-bin --binlog-format=ROW --server-id=1"
                    .to_owned(),
            ));
        }
        Ok(Box::new(BinlogTimestamps::new(access.clone())))
    }

    fn statement_counters(
        &self,
        session: &mut MySqlSession,
    ) -> Result<Option<BTreeMap<String, u64>>, EngineError> {
        let rows = session.rows("SHOW GLOBAL STATUS LIKE 'Com%'")?;
        let counters = named_values(&rows)
            .filter(|(name, _)| name.starts_with("Com_"))
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)));
        let counters: BTreeMap<String, u64> = counters.collect();
        Ok((!counters.is_empty()).then_some(counters))
    }
}
