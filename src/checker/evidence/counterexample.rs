//! What shows that a history violates a model.

use crate::history::{Atom, Key, Txn};
use crate::model::Anomaly;

/// Shows that a history violates a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The name of what went wrong.
    pub anomaly: Anomaly,
    /// The cycle, each edge beginning where the one before ends; or the transactions of an
    /// anomaly that needs no cycle, as edges of the read that shows it.
    pub edges: Vec<Edge>,
    /// Without edges: transactions that cannot be ordered among themselves, where no one cycle
    /// says it all. Beside edges: those by way of which a reader must see what it misses.
    pub core: Vec<Txn>,
}

impl Counterexample {
    /// The transactions that it names, but for the initial one.
    pub(in crate::checker) fn transactions(&self) -> Vec<Txn> {
        let ends = self.edges.iter().flat_map(|edge| {
            let reader = match edge.reason {
                Reason::SeenBy { reader, .. } => reader,
                Reason::Session
                | Reason::RealTime
                | Reason::WriteRead(_)
                | Reason::WriteWrite(_)
                | Reason::ReadWrite(_)
                | Reason::Event(_)
                | Reason::Listed { .. }
                | Reason::Lists(_)
                | Reason::Early
                | Reason::Missed(_)
                | Reason::Overlap(_) => edge.from,
            };
            [edge.from, edge.to, reader]
        });
        let mut all: Vec<Txn> = ends.chain(self.core.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all.retain(|transaction| !transaction.is_initial());
        all
    }
}

/// An edge between two transactions, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The one that comes first.
    pub from: Txn,
    /// The one that comes after it.
    pub to: Txn,
    /// Why; it also says what the two ends are where the edge is the anomaly by itself.
    pub reason: Reason,
}

/// Why one transaction comes before another, or what a read got wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The one precedes the other in a session. SO.
    Session,
    /// The one ended before the other began. RT.
    RealTime,
    /// The other reads the one's version of the key. WR.
    WriteRead(Key),
    /// The other's version of the key follows the one's. WW.
    WriteWrite(Key),
    /// The one reads a version of the key that the other overwrites. RW.
    ReadWrite(Key),
    /// A third transaction must see the one, and reads the other's version of the key.
    SeenBy { key: Key, reader: Txn },
    /// The event of `to`, by its place in the history, is the anomaly by itself.
    Event(usize),
    /// What was read of the key shows this value before another, and no transaction left it there:
    /// it was never written, or `from` wrote it and aborted. `to` is the reader, or the initial transaction
    /// where the file just says so.
    Listed { key: Key, value: Atom },
    /// Version orders of the key contradict each other: those that the two transactions read; or
    /// that of the one transaction and what it wrote itself.
    Lists(Key),
    /// By the timestamps `to` begins before `from`, which precedes it in its session, has ended.
    Early,
    /// By the timestamps the event of `to` should have read what `from` left.
    Missed(usize),
    /// By the timestamps both were running and wrote the key.
    Overlap(Key),
}
