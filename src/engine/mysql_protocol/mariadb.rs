//! What is MariaDB's own.

use super::connection::MySqlSession;
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
    watch,
    grants: |_| vec![Grant::PROCESS],
    marks_snapshots: true,
};

fn watch(session: MySqlSession, _version: &ServerVersion) -> Result<Box<dyn Watcher>, EngineError> {
    Ok(Box::new(LockViewWatcher::new(InnodbStatus::new(session)?)))
}
