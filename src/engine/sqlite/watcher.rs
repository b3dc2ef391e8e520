//! What runs on which connection, so that it can be interrupted. Nothing ever waits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rusqlite::InterruptHandle;

use crate::engine::connection::Watcher;
use crate::engine::error::EngineError;

/// Handles that interrupt what a connection runs, by connection number.
pub(super) type Running = Arc<Mutex<BTreeMap<u64, InterruptHandle>>>;

/// Nothing ever waits here: what cannot go on answers BUSY.
pub(super) struct SqliteWatcher {
    pub(super) running: Running,
}

impl Watcher for SqliteWatcher {
    fn waiting(&mut self, _connections: &[u64]) -> Result<BTreeMap<u64, Vec<u64>>, EngineError> {
        Ok(BTreeMap::new())
    }

    fn kill(&mut self, connection: u64) -> Result<(), EngineError> {
        let running = lock(&self.running);
        if let Some(handle) = running.get(&connection) {
            handle.interrupt();
        }
        Ok(())
    }
}

/// Locks the table of handles. A panic elsewhere leaves it whole: every change is one call.
pub(super) fn lock(running: &Running) -> std::sync::MutexGuard<'_, BTreeMap<u64, InterruptHandle>> {
    running
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
