//! What is MariaDB's own.

use super::Flavour;
use super::connection::Session;
use super::guard::Grant;
use super::watcher::status;
use crate::dialect::Version;
use crate::engine::{EngineError, TransactionState, Watcher};
use crate::model::Value;

/// The engine.
pub(in crate::engine) const MARIADB: Flavour = Flavour {
    name: "mariadb",
    is_product: |version_text| version_text.to_ascii_lowercase().contains("mariadb"),
    ask_state,
    watch,
    grants: |_| {
        vec![Grant::new(
            "PROCESS",
            "GRANT PROCESS ON *.* TO {user}",
            "SHOW ENGINE INNODB STATUS",
        )]
    },
};

/// MariaDB keeps the answer in a session variable.
fn ask_state(session: &mut Session) -> Result<TransactionState, EngineError> {
    let rows = session.rows("SELECT @@in_transaction")?;
    Ok(match rows.first().and_then(|row| row.first()) {
        Some(Value::Integer(0)) => TransactionState::None,
        _ => TransactionState::Open,
    })
}

fn watch(session: Session, _version: &Version) -> Result<Box<dyn Watcher>, EngineError> {
    Ok(Box::new(status::StatusWatcher::new(session)?))
}
