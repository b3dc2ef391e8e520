//! The lock view: `pg_blocking_pids`.

use std::collections::BTreeMap;

use super::connection::PostgresSession;
use crate::engine::cell::text_of;
use crate::engine::connection::Watcher;
use crate::engine::error::EngineError;
use crate::engine::session::BareSession;

/// Asks which connections wait for a lock, and for which others.
pub(super) struct PostgresWatcher {
    session: PostgresSession,
}

impl PostgresWatcher {
    pub(super) fn new(session: PostgresSession) -> Self {
        Self { session }
    }
}

impl Watcher for PostgresWatcher {
    fn waiting(&mut self, connections: &[u64]) -> Result<BTreeMap<u64, Vec<u64>>, EngineError> {
        let ids: Vec<String> = connections.iter().map(u64::to_string).collect();
        let sql = format!(
            "SELECT pid::bigint, array_to_string(pg_blocking_pids(pid), ' ') \
             FROM unnest('{{{}}}'::int[]) AS pid WHERE cardinality(pg_blocking_pids(pid)) > 0",
            ids.join(",")
        );
        let rows = self.session.rows(&sql)?;
        let waits = rows.iter().filter_map(|row| {
            let pid = text_of(row.first()?)?.parse().ok()?;
            let blockers = text_of(row.get(1)?)?;
            // A prepared transaction has the number 0, and is none of ours.
            let blockers = blockers.split(' ').filter_map(|pid| pid.parse().ok());
            Some((pid, blockers.filter(|pid| *pid > 0).collect()))
        });
        Ok(waits.collect())
    }

    fn kill(&mut self, connection: u64) -> Result<(), EngineError> {
        let sql = format!("SELECT pg_terminate_backend({connection}::int)");
        self.session.run(&sql)
    }
}
