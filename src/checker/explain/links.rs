//! What is known between the transactions of a counterexample, beside its cycle.

use std::collections::{BTreeMap, BTreeSet};

use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::history::{Atom, History, Key, Kind, Txn};

/// Reads and sessions between the transactions beside the cycle, and between these and those of the
/// cycle: pictures show them as dashed arrows. A read of a value that several transactions wrote is
/// none.
pub(in crate::checker) fn links(history: &History, counterexample: &Counterexample) -> Vec<Edge> {
    let beside: BTreeSet<Txn> = counterexample.core.iter().copied().collect();
    if beside.is_empty() {
        return Vec::new();
    }
    let named: BTreeSet<Txn> = counterexample.transactions().into_iter().collect();
    let mut links: BTreeMap<(Txn, Txn), Reason> = BTreeMap::new();
    let mut last_of = BTreeMap::new();
    for transaction in &named {
        let session = history.session_of(*transaction);
        if let Some(before) = last_of.insert(session, *transaction) {
            links.insert((before, *transaction), Reason::Session);
        }
    }
    let writers = writers(history, &named);
    for reader in &named {
        for read in history.events(*reader).filter(|e| e.kind == Kind::Read) {
            let Some(Some(writer)) = writers.get(&(read.key, read.value)) else {
                continue;
            };
            if writer != reader && named.contains(writer) {
                let link = links.entry((*writer, *reader)).or_insert(Reason::Session);
                if *link == Reason::Session {
                    *link = Reason::WriteRead(read.key);
                }
            }
        }
    }
    let edges = counterexample.edges.iter();
    let told: BTreeSet<(Txn, Txn)> = edges.map(|edge| (edge.from, edge.to)).collect();
    links
        .into_iter()
        .filter(|((from, to), _)| beside.contains(from) || beside.contains(to))
        .filter(|(ends, _)| !told.contains(ends))
        .map(|((from, to), reason)| Edge { from, to, reason })
        .collect()
}

/// By key and value of what these transactions read: the only transaction that wrote it.
fn writers(history: &History, named: &BTreeSet<Txn>) -> BTreeMap<(Key, Atom), Option<Txn>> {
    let events = named.iter().flat_map(|t| history.events(*t));
    let reads = events.filter(|e| e.kind == Kind::Read && e.value != history.initial(e.key));
    let values: BTreeSet<(Key, Atom)> = reads.map(|read| (read.key, read.value)).collect();
    let mut writers: BTreeMap<(Key, Atom), Option<Txn>> = BTreeMap::new();
    for transaction in history.transactions() {
        for event in history.events(transaction) {
            let written = (event.key, event.value);
            if event.kind == Kind::Write && values.contains(&written) {
                let writer = writers.entry(written).or_insert(Some(transaction));
                writer.take_if(|first| *first != transaction);
            }
        }
    }
    writers
}

#[cfg(test)]
mod tests {
    use super::links;
    use crate::checker::{Anomaly, Counterexample, Edge, Reason, dot, svg};
    use crate::history::{History, Key, Txn, format};

    fn read(lines: &str) -> History {
        let ours = format::by_name("rashomon").expect("our format");
        let text = format!("#! rashomon history 1\ninitial 0\n{lines}");
        (ours.read)(&mut text.as_bytes()).expect("a history")
    }

    fn found(edges: &[(u32, u32, Reason)], core: &[u32]) -> Counterexample {
        let edge = |(from, to, reason): &(u32, u32, Reason)| Edge {
            from: Txn::new(*from),
            to: Txn::new(*to),
            reason: *reason,
        };
        Counterexample {
            anomaly: Anomaly::NoVersionOrder,
            edges: edges.iter().map(edge).collect(),
            core: core.iter().copied().map(Txn::new).collect(),
        }
    }

    #[test]
    fn the_way_from_one_to_another_is_drawn_and_the_cycle_is_not_drawn_twice() {
        let history = read(
            "committed s1 w(x,1)\ncommitted s1 w(y,1)\n\
             committed s2 r(y,1) w(z,1)\ncommitted s3 r(z,1) r(x,0)\n",
        );
        let seen = Reason::SeenBy {
            key: Key::new(0),
            reader: Txn::new(4),
        };
        let found = found(&[(0, 1, Reason::Session), (1, 0, seen)], &[2, 3]);
        let told: Vec<String> = links(&history, &found)
            .iter()
            .map(|edge| {
                format!(
                    "{} {} {:?}",
                    edge.from.number(),
                    edge.to.number(),
                    edge.reason
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                "1 2 Session",
                "2 3 WriteRead(Key(1))",
                "3 4 WriteRead(Key(2))"
            ]
        );
        assert_eq!(svg(&history, &found).matches("stroke-dasharray").count(), 3);
        assert_eq!(dot(&history, &found).matches("style=dashed").count(), 3);
    }

    #[test]
    fn what_several_may_have_written_is_no_link() {
        let history = read(
            "committed s1 w(x,1)\ncommitted s2 w(x,1)\ncommitted s3 r(x,1)\n\
             committed s4 w(y,7) w(y,7)\ncommitted s5 r(y,7) w(y,0)\ncommitted s6 r(y,0)\n",
        );
        // T2 is not among them, and may yet be the writer; y holds 0 before anyone writes it.
        let found = found(&[], &[1, 3, 4, 5, 6]);
        let (from, to, reason) = (Txn::new(4), Txn::new(5), Reason::WriteRead(Key::new(1)));
        assert_eq!(links(&history, &found), [Edge { from, to, reason }]);
    }
}
