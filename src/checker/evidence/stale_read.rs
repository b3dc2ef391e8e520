//! Whether a read was stale when it was made, or only does not fit to what its transaction read later.

use crate::checker::evidence::counterexample::{Counterexample, Reason};
use crate::checker::evidence::reduce::rebuilt;
use crate::history::{Event, History, Key, Kind, Status, Txn};

/// Whether a read of the counterexample misses what it had to see when it was made: without the later reads of its
/// transaction, the history still violates the model. Where it does not, two reads of the transaction are of two
/// moments, and none of them is stale alone. False where the counterexample is about no read. `violates` tells of the
/// history without those reads.
pub fn has_stale_read(
    history: &History,
    found: &Counterexample,
    mut violates: impl FnMut(&History) -> bool,
) -> bool {
    let mut reads = found.edges.iter().filter_map(|edge| match edge.reason {
        Reason::ReadWrite(key) => Some((edge.from, key)),
        Reason::SeenBy { key, reader } => Some((reader, key)),
        Reason::Session
        | Reason::RealTime
        | Reason::WriteRead(_)
        | Reason::WriteWrite(_)
        | Reason::Event(_)
        | Reason::Listed { .. }
        | Reason::Lists(_)
        | Reason::Early
        | Reason::Missed(_)
        | Reason::Overlap(_) => None,
    });
    reads.any(|(reader, key)| until(history, reader, key).is_none_or(|part| violates(&part)))
}

/// The history without what a transaction reads behind its first read of a key; it reads that key. None when it cannot
/// be built.
fn until(history: &History, reader: Txn, key: Key) -> Option<History> {
    let is_read = |event: Event| event.kind == Kind::Read && event.key == key;
    let first = history.events(reader).position(is_read)?;
    let is_here = |transaction: Txn, event: Event, place: usize| {
        transaction != reader || event.kind == Kind::Write || place <= first
    };
    let all = history.transactions();
    let all: Vec<Txn> = all
        .filter(|t| history.status(*t) != Status::Aborted)
        .collect();
    rebuilt(history, &all, is_here, |_, _| true)
}
