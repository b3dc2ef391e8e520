//! What is TiDB's own.

use super::connection::{MySqlSession, ReadOnlyModes, StateQuestion};
use super::product::{Product, SelfDescription};
use super::watcher::{LockViewWatcher, TransactionStates};
use crate::dialect::ServerVersion;
use crate::engine::cell::first_text;
use crate::engine::connection::Watcher;
use crate::engine::error::EngineError;
use crate::engine::session::BareSession;

pub(super) const TIDB: Product = Product {
    name: "tidb",
    is_described_by: is_tidb,
    version: version_of,
    ask_store: Some(ask_store),
    watch,
    // The lock view shows every login its own transactions without a privilege.
    grants: |_| Vec::new(),
    marks_snapshots: false,
    system_databases: &[
        "information_schema",
        "metrics_schema",
        "mysql",
        "performance_schema",
        "sys",
    ],
    variables: &[
        "tidb_constraint_check_in_place",
        "tidb_constraint_check_in_place_pessimistic",
        "tidb_disable_txn_auto_retry",
        "tidb_enable_1pc",
        "tidb_enable_async_commit",
        "tidb_pessimistic_txn_fair_locking",
        "tidb_txn_mode",
    ],
    lift_time_limit: ", max_execution_time = 0",
    // TiDB accepts a new level inside a transaction, too. It is the start timestamp of the
    // transaction that is open. TiDB manual, "System Variables", `tidb_current_ts`.
    state_question: StateQuestion::Number("SELECT @@tidb_current_ts"),
    read_only: ReadOnlyModes {
        variables: &["tidb_restricted_read_only", "tidb_super_read_only"],
        end: "SET GLOBAL tidb_restricted_read_only = OFF, GLOBAL tidb_super_read_only = OFF",
    },
};

/// What stands before TiDB's own version in `VERSION()`: `8.0.11-TiDB-v8.5.4`.
const BEFORE_VERSION: &str = "-TiDB-v";

fn is_tidb(server: &SelfDescription) -> bool {
    server.version.contains(BEFORE_VERSION) || server.comment.starts_with("TiDB Server")
}

/// The version for clients of MySQL comes before TiDB's own, and an operator may have replaced it.
fn version_of(text: &str) -> ServerVersion {
    let own = text.split_once(BEFORE_VERSION).map(|(_, own)| own);
    own.unwrap_or_default().parse().unwrap_or_default()
}

/// `tikv` for a cluster, `unistore` or `mocktikv` for the stores in the server's own process.
fn ask_store(session: &mut MySqlSession) -> Result<String, EngineError> {
    let text = first_text(&session.rows("SELECT tidb_version()")?).unwrap_or_default();
    if let Some(store) = store_of(&text) {
        return Ok(store.to_owned());
    }
    let config = first_text(&session.rows("SELECT @@tidb_config")?).unwrap_or_default();
    Ok(configured_store(&config)
        .unwrap_or("an unknown store")
        .to_owned())
}

/// The store in the answer of `tidb_version()`, which has a line for it.
fn store_of(text: &str) -> Option<&str> {
    let mut stores = text.lines().filter_map(|line| line.strip_prefix("Store:"));
    stores.next().map(str::trim)
}

/// The store in the server's settings, for versions whose `tidb_version()` has no line for it (4.0).
fn configured_store(config: &str) -> Option<&str> {
    let (_, rest) = config.split_once("\"store\":")?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

fn watch(session: MySqlSession, version: &ServerVersion) -> Result<Box<dyn Watcher>, EngineError> {
    let view = TransactionStates::new(session, version)?;
    Ok(Box::new(LockViewWatcher::new(view)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_tidbs_and_not_the_one_for_clients_of_mysql() {
        for (text, version) in [
            ("8.0.11-TiDB-v8.5.4-ac41d7e", vec![8, 5, 4]),
            ("5.7.25-TiDB-v4.0.2", vec![4, 0, 2]),
            ("8.0.11-TiDB-v7.6.0-alpha-147-g1", vec![7, 6, 0]),
            ("8.0.11", vec![]),
        ] {
            assert_eq!(version_of(text), ServerVersion(version), "{text}");
        }
    }

    #[test]
    fn the_store_is_read_from_its_line() {
        let text =
            "Release Version: v8.5.4\nEdition: Community\nStore: unistore\nKernel Type: Classic";
        assert_eq!(store_of(text), Some("unistore"));
        assert_eq!(store_of("Release Version: v8.5.4"), None);
        let config = "{\n\t\"cors\": \"\",\n\t\"store\": \"mocktikv\",\n\t\"path\": \"/d\"";
        assert_eq!(configured_store(config), Some("mocktikv"));
        assert_eq!(configured_store("{}"), None);
    }
}
