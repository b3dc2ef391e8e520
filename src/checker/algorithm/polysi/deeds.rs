//! What transactions do to each other in a run of the history, and at which vertex.

use super::polygraph::{Polygraph, VertexView};
use crate::checker::resolved::resolve::Resolved;
use crate::checker::resolved::version::Version;
use crate::checker::resolved::vertex::Vertex;
use crate::history::{Atom, Event, Key, Kind, Txn};

/// A read of another transaction's value, or a write that others may see.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deed {
    pub(super) key: Key,
    pub(super) value: Atom,
    /// Its place among all reads; of a write its place among all writes.
    pub(super) at: u32,
}

/// What a transaction does to others.
#[derive(Clone, Debug, Default)]
pub(super) struct OneDeeds {
    pub(super) reads: Vec<Deed>,
    pub(super) writes: Vec<Deed>,
}

/// What all transactions that count do to others.
pub(super) struct Deeds {
    of_each: Vec<OneDeeds>,
    /// By read: the versions that it may be of.
    versions: Vec<Vec<Version>>,
}

/// What happens at a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The start of a transaction.
    Reads,
    /// Its commit.
    Writes,
    Both,
}

impl Part {
    pub(super) fn reads(self) -> bool {
        self != Self::Writes
    }

    pub(super) fn writes(self) -> bool {
        self != Self::Reads
    }
}

/// The transaction of a vertex that counts, and what happens there.
pub(super) fn part_at(polygraph: &Polygraph<'_>, vertex: Vertex) -> Option<(Txn, Part)> {
    let resolved = polygraph.resolved;
    let (transaction, part) = match polygraph.view {
        VertexView::Split if vertex.is_start() => (vertex.of_start_or_commit(), Part::Reads),
        VertexView::Split => (vertex.of_start_or_commit(), Part::Writes),
        VertexView::Whole | VertexView::Strict => (vertex.as_whole(resolved.len())?, Part::Both),
    };
    (!transaction.is_initial() && resolved.is_live[transaction]).then_some((transaction, part))
}

impl Deeds {
    pub(super) fn new(resolved: &Resolved<'_>) -> Self {
        let mut all = Self {
            of_each: vec![OneDeeds::default(); resolved.len()],
            versions: Vec::new(),
        };
        let mut open = resolved.open_reads.iter().peekable();
        for reader in resolved.live() {
            let mut sources: Vec<(Key, Vec<Version>)> = Vec::new();
            for version in resolved.reads(reader) {
                sources.push((resolved.key[*version], vec![*version]));
            }
            while let Some(read) = open.next_if(|read| read.reader == reader) {
                sources.push((read.key, read.candidates.clone()));
            }
            sources.sort_unstable();
            sources.dedup_by_key(|source| source.0);
            for (key, versions) in sources {
                all.add_read(resolved, reader, key, versions);
            }
            all.add_writes(resolved, reader);
        }
        all
    }

    fn add_read(&mut self, resolved: &Resolved<'_>, reader: Txn, key: Key, versions: Vec<Version>) {
        let is_it = |event: &Event| event.kind == Kind::Read && event.key == key;
        let Some(event) = resolved.history.events(reader).find(is_it) else {
            return;
        };
        let (value, at) = (event.value, self.versions.len() as u32);
        self.of_each[reader].reads.push(Deed { key, value, at });
        self.versions.push(versions);
    }

    fn add_writes(&mut self, resolved: &Resolved<'_>, writer: Txn) {
        for version in resolved.writes(writer) {
            let key = resolved.key[version];
            let is_it = |event: &Event| event.kind == Kind::Write && event.key == key;
            let last = resolved.history.events(writer).filter(is_it).last();
            let value = last.map_or(Atom::NIL, |event| event.value);
            let at = version.number();
            self.of_each[writer].writes.push(Deed { key, value, at });
        }
    }

    /// What one transaction does.
    pub(super) fn of(&self, transaction: Txn) -> &OneDeeds {
        &self.of_each[transaction]
    }

    /// What all of them do.
    pub(super) fn all(&self) -> impl Iterator<Item = &Deed> {
        let each = self.of_each.iter();
        each.flat_map(|one| one.reads.iter().chain(&one.writes))
    }

    /// The versions that a read may be of.
    pub(super) fn versions(&self, read: &Deed) -> &[Version] {
        &self.versions[read.at as usize]
    }
}

/// For each transaction how much of its session is done before it, in transactions of a session of
/// mean length.
pub(super) fn progress(resolved: &Resolved<'_>) -> Vec<f32> {
    let history = resolved.history;
    let mut count = vec![0u32; history.session_count()];
    let mut place = vec![0.0; resolved.len()];
    for transaction in resolved.live() {
        let count = &mut count[history.session_of(transaction) as usize];
        place[transaction] = *count as f32;
        *count += 1;
    }
    let mean = resolved.live().count() as f32 / history.session_count().max(1) as f32;
    for transaction in resolved.live() {
        let len = count[history.session_of(transaction) as usize] as f32;
        place[transaction] = place[transaction] / len * mean;
    }
    place
}
