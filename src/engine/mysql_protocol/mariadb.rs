//! What is MariaDB's own.

use super::connection::{MySqlSession, ReadOnlyModes, StateQuestion};
use super::product::{Grant, Product};
use super::watcher::{InnodbStatus, LockViewWatcher};
use crate::dialect::ServerVersion;
use crate::engine::connection::Watcher;
use crate::engine::error::EngineError;

pub(super) const MARIADB: Product = Product {
    name: "mariadb",
    is_described_by: |server| {
        let text = format!("{} {}", server.version, server.comment);
        text.to_ascii_lowercase().contains("mariadb")
    },
    version: version_of,
    ask_store: None,
    watch,
    grants: |_| vec![Grant::PROCESS],
    marks_snapshots: true,
    system_databases: &["information_schema", "mysql", "performance_schema", "sys"],
    variables: &[],
    lift_time_limit: ", max_statement_time = 0",
    state_question: StateQuestion::SetLevel,
    read_only: ReadOnlyModes::READ_ONLY,
};

fn watch(session: MySqlSession, _version: &ServerVersion) -> Result<Box<dyn Watcher>, EngineError> {
    Ok(Box::new(LockViewWatcher::new(InnodbStatus::new(session)?)))
}

/// Old servers put `5.5.5-` before their version for old clients.
fn version_of(text: &str) -> ServerVersion {
    let text = text
        .strip_prefix("5.5.5-")
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or(text);
    text.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_for_old_clients_does_not_count() {
        for (text, version) in [
            ("5.5.5-10.5.29-MariaDB", vec![10, 5, 29]),
            ("11.8.3-MariaDB-0+deb13u1", vec![11, 8, 3]),
            ("5.5.5", vec![5, 5, 5]),
        ] {
            assert_eq!(version_of(text), ServerVersion(version), "{text}");
        }
    }
}
