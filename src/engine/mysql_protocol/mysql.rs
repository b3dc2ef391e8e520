//! What is MySQL's own.

use super::Flavour;
use super::connection::Session;
use super::databases::Grant;
use super::watcher::LockViewWatcher;
use super::watcher::lock_tables::LockTables;
use super::watcher::status::InnodbStatus;
use crate::dialect::Version;
use crate::engine::{EngineError, Watcher};

/// The engine.
pub(in crate::engine) const MYSQL: Flavour = Flavour {
    name: "mysql",
    is_product: |version_text| !version_text.to_ascii_lowercase().contains("mariadb"),
    watch,
    grants,
    marks_snapshots: false,
};

/// From here on `performance_schema.data_lock_waits` exists.
fn has_lock_tables(version: &Version) -> bool {
    *version >= Version(vec![8, 0, 1])
}

fn watch(session: Session, version: &Version) -> Result<Box<dyn Watcher>, EngineError> {
    if has_lock_tables(version) {
        Ok(Box::new(LockViewWatcher::new(LockTables::new(session)?)))
    } else {
        Ok(Box::new(LockViewWatcher::new(InnodbStatus::new(session)?)))
    }
}

fn grants(version: &Version) -> Vec<Grant> {
    if has_lock_tables(version) {
        vec![Grant::new(
            "SELECT on performance_schema",
            "GRANT SELECT ON performance_schema.* TO {user}",
            "SELECT 1 FROM performance_schema.data_lock_waits LIMIT 1",
        )]
    } else {
        vec![Grant::new(
            "PROCESS",
            "GRANT PROCESS ON *.* TO {user}",
            "SHOW ENGINE INNODB STATUS",
        )]
    }
}
