//! A lost update, told as the cycle that it is.

use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::history::{Event, History, Key, Kind, Txn};
use crate::model::Anomaly;

/// The edges as people know them. Of two transactions that read one version of a key and wrote it, the
/// checker says that each overwrites what the other read, whichever wrote first. Told is one of the two orders:
/// by the list where one is known, else that of the file.
pub(super) fn as_told(history: &History, counterexample: &Counterexample) -> Vec<Edge> {
    let Some((key, [first, then])) = both_overwrite(counterexample) else {
        return counterexample.edges.clone();
    };
    let place = |transaction: Txn| {
        let orders = history.orders().iter().find(|(of, _)| *of == key)?;
        let written = last_write(history, transaction, key)?;
        orders.1.iter().position(|value| *value == written.value)
    };
    let is_turned = match (place(first), place(then)) {
        (Some(first), Some(then)) => then < first,
        (None, Some(_)) => true,
        (Some(_), None) => false,
        (None, None) => then < first,
    };
    let (from, to) = if is_turned {
        (then, first)
    } else {
        (first, then)
    };
    vec![
        Edge {
            from,
            to,
            reason: Reason::WriteWrite(key),
        },
        Edge {
            from: to,
            to: from,
            reason: Reason::ReadWrite(key),
        },
    ]
}

/// What the two have to do with each other, and how many others with them.
pub(super) fn sentence(history: &History, counterexample: &Counterexample) -> Option<String> {
    let (key, both) = both_overwrite(counterexample)?;
    let read = |transaction: Txn| {
        let mut before = history.events(transaction);
        before.find(|event| event.key == key && event.kind == Kind::Read)
    };
    let version = read(both[0])?.value;
    let alike = history.transactions().filter(|other| {
        let is_alike = |event: Event| event.value == version;
        !both.contains(other)
            && read(*other).is_some_and(is_alike)
            && last_write(history, *other, key).is_some()
    });
    let alike = match alike.count() {
        0 => String::new(),
        1 => "; one more transaction read this version and wrote the key".to_owned(),
        more => format!("; {more} more transactions read this version and wrote the key"),
    };
    Some(format!(
        "both wrote what both had read: the later, whichever it is, did not see the write of the earlier{alike}"
    ))
}

/// The key and the two transactions, where each overwrites the version that the other read.
fn both_overwrite(counterexample: &Counterexample) -> Option<(Key, [Txn; 2])> {
    let (Anomaly::LostUpdate, [one, other]) =
        (counterexample.anomaly, counterexample.edges.as_slice())
    else {
        return None;
    };
    let Reason::ReadWrite(key) = one.reason else {
        return None;
    };
    (one.reason == other.reason).then_some((key, [one.from, one.to]))
}

/// The last write of a key in a transaction.
fn last_write(history: &History, transaction: Txn, key: Key) -> Option<Event> {
    let events = history.events(transaction);
    events
        .filter(|event| event.key == key && event.kind == Kind::Write)
        .last()
}
