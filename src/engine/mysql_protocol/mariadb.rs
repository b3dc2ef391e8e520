//! What is MariaDB's own.

use super::Flavour;
use super::connection::Session;
use super::databases::Grant;
use super::watcher::LockViewWatcher;
use super::watcher::status::InnodbStatus;
use crate::dialect::Version;
use crate::engine::{EngineError, Watcher};

/// The engine.
pub(in crate::engine) const MARIADB: Flavour = Flavour {
    name: "mariadb",
    is_product: |version_text| version_text.to_ascii_lowercase().contains("mariadb"),
    watch,
    grants: |_| {
        vec![Grant::new(
            "PROCESS",
            "GRANT PROCESS ON *.* TO {user}",
            "SHOW ENGINE INNODB STATUS",
        )]
    },
    marks_snapshots: true,
};

fn watch(session: Session, _version: &Version) -> Result<Box<dyn Watcher>, EngineError> {
    Ok(Box::new(LockViewWatcher::new(InnodbStatus::new(session)?)))
}
