//! A watcher by one lock view. `information_schema.innodb_trx` and its relatives are never read: they are
//! cached, and each reading puts off the next refresh.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::engine::connection::Watcher;
use crate::engine::error::EngineError;
use crate::engine::mysql_protocol::connection::MySqlSession;

/// One way to ask a server which connections wait for a lock.
pub(in crate::engine::mysql_protocol) trait LockView:
    Send
{
    fn session(&mut self) -> &mut MySqlSession;

    /// The connections that wait for a row lock, each with those that hold it where the view says so.
    fn row_waits(&mut self) -> Result<BTreeMap<u64, Vec<u64>>, EngineError>;

    /// As [`Watcher::shows_after`].
    fn shows_after(&self) -> Duration {
        Duration::ZERO
    }

    /// As [`Watcher::quiet_means_waiting`].
    fn quiet_means_waiting(&self) -> Option<Duration> {
        None
    }

    /// The connections that wait for a lock of the server, not of its storage engine.
    fn metadata_waits(&mut self) -> Result<Vec<u64>, EngineError>;
}

/// A watcher by one lock view.
pub(in crate::engine::mysql_protocol) struct LockViewWatcher<V> {
    view: V,
    unseen: Unseen,
}

impl<V> LockViewWatcher<V> {
    pub(in crate::engine::mysql_protocol) fn new(view: V) -> Self {
        Self {
            view,
            unseen: Unseen::default(),
        }
    }
}

impl<V: LockView> Watcher for LockViewWatcher<V> {
    fn waiting(&mut self, connections: &[u64]) -> Result<BTreeMap<u64, Vec<u64>>, EngineError> {
        if connections.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut waiting = self.view.row_waits()?;
        waiting.retain(|id, _| connections.contains(id));
        let due = self.unseen.note(connections, &waiting);
        if !due.is_empty() {
            let seen = self.view.metadata_waits()?;
            let seen = seen.into_iter().filter(|id| due.contains(id));
            waiting.extend(seen.map(|id| (id, Vec::new())));
        }
        Ok(waiting)
    }

    fn shows_after(&self) -> Duration {
        self.view.shows_after()
    }

    fn quiet_means_waiting(&self) -> Option<Duration> {
        self.view.quiet_means_waiting()
    }

    fn kill(&mut self, connection: u64) -> Result<(), EngineError> {
        self.view.session().kill(connection)
    }
}

/// After this many polls that did not see it wait, a connection is looked up among the waits for
/// metadata locks, which no view of row locks shows; and again after every so many.
const POLLS_BEFORE_METADATA: u32 = 3;

/// Counts, for each connection that is asked about, the polls that did not see it wait.
#[derive(Default)]
struct Unseen(BTreeMap<u64, u32>);

impl Unseen {
    /// Takes note of a poll. Gives the connections that are now worth a look at metadata locks.
    fn note(&mut self, asked: &[u64], waiting: &BTreeMap<u64, Vec<u64>>) -> BTreeSet<u64> {
        self.0.retain(|id, _| asked.contains(id));
        let mut due = BTreeSet::new();
        for id in asked {
            let count = self.0.entry(*id).or_default();
            if waiting.contains_key(id) {
                *count = 0;
                continue;
            }
            *count += 1;
            if count.is_multiple_of(POLLS_BEFORE_METADATA) {
                due.insert(*id);
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_locks_are_looked_at_after_some_polls_only() {
        let mut unseen = Unseen::default();
        let none = BTreeMap::new();
        let due: Vec<usize> = (0..7).map(|_| unseen.note(&[5, 6], &none).len()).collect();
        assert_eq!(due, [0, 0, 2, 0, 0, 2, 0]);
        let waits = BTreeMap::from([(5, vec![])]);
        assert_eq!(unseen.note(&[5, 6], &waits).len(), 0);
        // 5 was seen and counts anew; 6 was due at its ninth poll.
        assert_eq!(unseen.note(&[5, 6], &none), BTreeSet::from([6]));
        // A connection that is not asked about any more is forgotten.
        assert_eq!(unseen.note(&[7], &none).len(), 0);
        assert_eq!(unseen.0.len(), 1);
    }
}
