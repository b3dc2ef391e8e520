//! The lock view: `pg_blocking_pids`, its like for snapshots, and what a session says that waits for no lock of the lock manager.

use std::collections::BTreeMap;

use super::connection::PostgresSession;
use crate::engine::cell::text_of;
use crate::engine::connection::Watcher;
use crate::engine::error::EngineError;
use crate::engine::session::BareSession;

/// Asks which connections wait for a lock, and for which others.
pub(super) struct PostgresWatcher {
    session: PostgresSession,
    /// Polls since the last one that saw every connection waiting or looked at pages, too.
    fruitless: u32,
    /// The last poll saw a connection that waits for a page.
    sees_pages: bool,
}

/// After how many polls in which a connection neither waits nor answers it is asked whether it waits for a page: that question
/// costs three times as much as the one for locks.
const FRUITLESS_MAX: u32 = 8;

impl PostgresWatcher {
    pub(super) fn new(session: PostgresSession) -> Self {
        Self {
            session,
            fruitless: 0,
            sees_pages: false,
        }
    }
}

impl Watcher for PostgresWatcher {
    fn waiting(&mut self, connections: &[u64]) -> Result<BTreeMap<u64, Vec<u64>>, EngineError> {
        let ids: Vec<String> = connections.iter().map(u64::to_string).collect();
        // A READ ONLY DEFERRABLE transaction waits for no lock, but for the end of those that may spoil its snapshot.
        let mut sql = format!(
            "SELECT pid::bigint, array_to_string(blockers, ' ') \
             FROM (SELECT pid, pg_blocking_pids(pid) || pg_safe_snapshot_blocking_pids(pid) AS blockers \
             FROM unnest('{{{}}}'::int[]) AS pid) AS waits WHERE cardinality(blockers) > 0",
            ids.join(",")
        );
        // VACUUM may wait until nobody looks at a page, and a session whose read stopped early looks at one until it
        // sends its next statement. Who that is, the server does not say.
        let asks_for_pages = self.sees_pages || self.fruitless >= FRUITLESS_MAX;
        if asks_for_pages {
            sql.push_str(
                " OR (SELECT wait_event_type FROM pg_stat_get_activity(pid)) = 'BufferPin'",
            );
        }
        let rows = self.session.rows(&sql)?;
        let waits = rows.iter().filter_map(|row| {
            let pid = text_of(row.first()?)?.parse().ok()?;
            let blockers = text_of(row.get(1)?)?;
            // A prepared transaction has the number 0, and is none of ours.
            let blockers = blockers.split(' ').filter_map(|pid| pid.parse().ok());
            Some((pid, blockers.filter(|pid| *pid > 0).collect()))
        });
        let waits: BTreeMap<u64, Vec<u64>> = waits.collect();
        self.sees_pages = waits.values().any(Vec::is_empty);
        self.fruitless = match asks_for_pages || waits.len() == connections.len() {
            true => 0,
            false => self.fruitless + 1,
        };
        Ok(waits)
    }

    fn kill(&mut self, connection: u64) -> Result<(), EngineError> {
        let sql = format!("SELECT pg_terminate_backend({connection}::int)");
        self.session.run(&sql)
    }
}
