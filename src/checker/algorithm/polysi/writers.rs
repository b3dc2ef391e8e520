//! Who wrote a key, session by session.

use super::polygraph::VertexView;
use super::reach::{Reach, Reached};
use crate::checker::resolved::resolve::Resolved;
use crate::history::{Key, Txn};

/// The writers of keys, the initial transaction left out.
pub(super) struct KeyWriters {
    /// For each key the session and the transaction, in that order.
    of_key: Vec<Vec<KeyWrite>>,
}

/// A transaction that writes a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyWrite {
    pub(super) session: u32,
    pub(super) writer: Txn,
}

impl KeyWriters {
    /// Of the keys of open reads.
    pub(super) fn of(resolved: &Resolved<'_>) -> Self {
        let mut is_open = vec![false; resolved.history.key_count()];
        for read in &resolved.open_reads {
            is_open[read.key] = true;
        }
        Self::of_those(resolved, |key| is_open[key])
    }

    /// Of all keys.
    pub(super) fn of_all(resolved: &Resolved<'_>) -> Self {
        Self::of_those(resolved, |_| true)
    }

    fn of_those(resolved: &Resolved<'_>, is_wanted: impl Fn(Key) -> bool) -> Self {
        let history = resolved.history;
        let mut of_key: Vec<Vec<KeyWrite>> = vec![Vec::new(); history.key_count()];
        for writer in resolved.live() {
            for version in resolved.writes(writer) {
                let key = resolved.key[version];
                if is_wanted(key) {
                    of_key[key.index()].push(KeyWrite {
                        session: history.session_of(writer),
                        writer,
                    });
                }
            }
        }
        // Transactions of a session stand in the order of their numbers.
        for writes in &mut of_key {
            writes.sort_unstable_by_key(|write| (write.session, write.writer));
        }
        Self { of_key }
    }

    /// The writers of a key, one session after the other.
    pub(super) fn sessions(&self, key: Key) -> impl Iterator<Item = &[KeyWrite]> {
        self.of_key[key.index()].chunk_by(|one, other| one.session == other.session)
    }

    /// For each session that writes a key, its first writer that is known to come after another
    /// writer; every writer comes after the initial transaction.
    pub(super) fn followers(
        &self,
        view: VertexView,
        reach: &Reach,
        key: Key,
        writer: Txn,
    ) -> impl Iterator<Item = KeyWrite> {
        self.sessions(key).filter_map(move |writes| {
            if writer.is_initial() {
                return writes.first().copied();
            }
            let first = reach.first(view.end(writer), writes[0].session as usize);
            let is_before = |write: &KeyWrite| {
                write.writer == writer || reach.place(view.begin(write.writer)).1 < first
            };
            writes.get(writes.partition_point(is_before)).copied()
        })
    }

    /// The last writer of a key in each session that a reader must see, itself left out.
    pub(super) fn last_seen(
        &self,
        view: VertexView,
        reach: &Reach,
        reached: &Reached,
        key: Key,
        reader: Txn,
    ) -> Vec<Txn> {
        let row = reached.row(view.begin(reader));
        let last = |writes: &[KeyWrite]| {
            let place = row[writes[0].session as usize];
            let is_seen = |write: &KeyWrite| {
                write.writer != reader && reach.place(view.end(write.writer)).1 < place
            };
            let count = writes.partition_point(is_seen);
            count.checked_sub(1).map(|at| writes[at].writer)
        };
        self.sessions(key).filter_map(last).collect()
    }
}
