//! The lock view: the graph of waits, as the databases have it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::store::DatabaseStore;
use crate::engine::connection::Watcher;
use crate::engine::error::EngineError;

/// Reads the graph of waits of every database of the server.
pub(super) struct WaitGraph {
    pub(super) store: DatabaseStore,
    /// Whether it shows nothing, as the server of an older version may.
    pub(super) is_hidden: bool,
}

/// Far longer than any statement of the engine takes that does not wait.
const QUIET: Duration = Duration::from_millis(250);

impl Watcher for WaitGraph {
    fn waiting(&mut self, connections: &[u64]) -> Result<BTreeMap<u64, Vec<u64>>, EngineError> {
        let mut waiting = BTreeMap::new();
        if self.is_hidden {
            return Ok(waiting);
        }
        for database in self.store.all() {
            waiting.extend(database.state().waiting());
        }
        waiting.retain(|connection, _| connections.contains(connection));
        Ok(waiting)
    }

    fn quiet_means_waiting(&self) -> Option<Duration> {
        self.is_hidden.then_some(QUIET)
    }

    fn kill(&mut self, connection: u64) -> Result<(), EngineError> {
        for database in self.store.all() {
            database.state().kill(connection);
            database.ring();
        }
        Ok(())
    }
}
