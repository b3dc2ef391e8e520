//! The axioms as a graph: forced pairs, the cycle that they close, and its reasons.

use std::collections::{BTreeMap, VecDeque};

use super::causal;
use crate::checker::answer::Answer;
use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::evidence::cycle::{direct_reason, pairs, shortened, torn_read};
use crate::checker::evidence::witness::Witness;
use crate::checker::resolved::arcs::Arcs;
use crate::checker::resolved::resolve::Resolved;
use crate::checker::resolved::versions::listed_orders;
use crate::checker::resolved::vertex::Vertex;
use crate::history::{Atom, Key, Kind, Txn};
use crate::model::Anomaly;
use crate::model::ConsistencyModel;

pub(super) fn decide(resolved: &Resolved<'_>, model: ConsistencyModel) -> Answer {
    let mut arcs = Arcs::new(resolved.len(), resolved.len() * 2);
    happens_before(resolved, |from, to| {
        arcs.add(Vertex::whole(from), Vertex::whole(to))
    });
    // The order that lists show is no relation of what is seen, but every commit order has it.
    let listed = match listed_orders(resolved) {
        Ok(listed) => listed,
        Err(counterexample) => return Answer::Violated(counterexample),
    };
    for (from, to) in &listed {
        arcs.add(Vertex::whole(*from), Vertex::whole(*to));
    }
    match model {
        ConsistencyModel::ReadCommitted => {
            committed(resolved, |from, to, _, _| add(&mut arcs, from, to))
        }
        ConsistencyModel::ReadAtomic => {
            atomic_reads(resolved, |from, to, _, _| add(&mut arcs, from, to));
            atomic_session(resolved, |from, to, _, _| add(&mut arcs, from, to));
        }
        ConsistencyModel::Causal
        | ConsistencyModel::Snapshot
        | ConsistencyModel::Serializable
        | ConsistencyModel::StrictSerializable
        | ConsistencyModel::Linearizable => {
            let mut first = Arcs::new(resolved.len(), resolved.len() * 2);
            happens_before(resolved, |from, to| {
                first.add(Vertex::whole(from), Vertex::whole(to))
            });
            match first.order() {
                Err(cycle) => return Answer::Violated(explained(resolved, model, &cycle, &listed)),
                Ok(order) => {
                    let add = |from, to, _, _| add(&mut arcs, from, to);
                    if let Err(causal::TooLarge) = causal::forced(resolved, &order, add) {
                        return Answer::Unknown(causal::TOO_LARGE.to_owned());
                    }
                }
            }
        }
    }
    match arcs.order() {
        Ok(order) => {
            let transactions = order.iter().filter_map(|v| v.as_whole(resolved.len()));
            let is_real = |t: &Txn| !t.is_initial() && resolved.is_live[*t];
            Answer::Satisfied(Witness::Order(transactions.filter(is_real).collect()))
        }
        Err(cycle) => Answer::Violated(explained(resolved, model, &cycle, &listed)),
    }
}

fn add(arcs: &mut Arcs, from: Txn, to: Txn) {
    arcs.add(Vertex::whole(from), Vertex::whole(to));
}

/// SO and WR; the initial transaction precedes every other.
pub(super) fn happens_before(resolved: &Resolved<'_>, mut edge: impl FnMut(Txn, Txn)) {
    let before = resolved.session_predecessors();
    for transaction in resolved.live() {
        edge(Txn::INITIAL, transaction);
        if !before[transaction].is_initial() {
            edge(before[transaction], transaction);
        }
    }
    for reader in resolved.live() {
        for version in resolved.reads(reader) {
            let writer = resolved.writer[*version];
            if !writer.is_initial() {
                edge(writer, reader);
            }
        }
    }
}

/// Pairs forced under read committed: `(t2, t1, key, reader)` where the reader reads from `t2`
/// first and the key from `t1` later.
fn committed(resolved: &Resolved<'_>, mut forced: impl FnMut(Txn, Txn, Key, Txn)) {
    seen_reads(resolved, When::Before, &mut forced);
}

/// Pairs forced by what is read in a transaction, under read atomic: in any order.
fn atomic_reads(resolved: &Resolved<'_>, mut forced: impl FnMut(Txn, Txn, Key, Txn)) {
    seen_reads(resolved, When::Anytime, &mut forced);
}

/// When a transaction must have read from another to be bound by what it saw.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before the read that is looked at.
    Before,
    Anytime,
}

/// A read of the transaction that is looked at.
#[derive(Clone, Copy)]
struct Read {
    key: Key,
    writer: Txn,
    place: u32,
}

/// For each pair of reads of a transaction where the writer of the one also writes the key of the
/// other.
fn seen_reads(resolved: &Resolved<'_>, when: When, forced: &mut impl FnMut(Txn, Txn, Key, Txn)) {
    let mut by_key: Vec<Read> = Vec::new();
    let mut by_writer: Vec<Read> = Vec::new();
    for reader in resolved.live() {
        by_key.clear();
        for (place, version) in (0u32..).zip(resolved.reads(reader)) {
            by_key.push(Read {
                key: resolved.key[*version],
                writer: resolved.writer[*version],
                place,
            });
        }
        if by_key.len() < 2 {
            continue;
        }
        by_writer.clear();
        by_writer.extend(by_key.iter().filter(|read| !read.writer.is_initial()));
        by_writer.sort_unstable_by_key(|read| (read.writer, read.place));
        by_writer.dedup_by_key(|read| read.writer);
        by_key.sort_unstable_by_key(|read| (read.key, read.place));
        for seen in &by_writer {
            let mut consider = |read: &Read| {
                if read.writer != seen.writer && (when == When::Anytime || read.place > seen.place)
                {
                    forced(seen.writer, read.writer, read.key, reader);
                }
            };
            let writes = resolved.writes(seen.writer);
            if writes.len() <= by_key.len() * 4 {
                for key in writes.map(|version| resolved.key[version]) {
                    let begin = by_key.partition_point(|read| read.key < key);
                    by_key[begin..]
                        .iter()
                        .take_while(|r| r.key == key)
                        .for_each(&mut consider);
                }
            } else {
                let keys: std::collections::BTreeSet<Key> =
                    writes.map(|version| resolved.key[version]).collect();
                by_key
                    .iter()
                    .filter(|read| keys.contains(&read.key))
                    .for_each(&mut consider);
            }
        }
    }
}

/// Pairs forced by sessions under read atomic: the last writer of the key before the reader.
fn atomic_session(resolved: &Resolved<'_>, mut forced: impl FnMut(Txn, Txn, Key, Txn)) {
    let history = resolved.history;
    let mut sessions: Vec<Vec<Txn>> = vec![Vec::new(); history.session_count()];
    for transaction in resolved.live() {
        sessions[history.session_of(transaction) as usize].push(transaction);
    }
    // The session and the transaction that wrote a key last.
    let mut last = vec![(u32::MAX, Txn::INITIAL); history.key_count()];
    for (session, transactions) in (0u32..).zip(&sessions) {
        for transaction in transactions {
            for version in resolved.reads(*transaction) {
                let key = resolved.key[*version];
                let writer = resolved.writer[*version];
                let (of, seen) = last[key];
                if of == session && seen != writer {
                    forced(seen, writer, key, *transaction);
                }
            }
            for version in resolved.writes(*transaction) {
                last[resolved.key[version]] = (session, *transaction);
            }
        }
    }
}

/// The counterexample of a cycle: the reason of each edge is looked for again.
fn explained(
    resolved: &Resolved<'_>,
    model: ConsistencyModel,
    cycle: &[Vertex],
    listed: &[(Txn, Txn)],
) -> Counterexample {
    let is_before = |from: Txn, to: Txn| direct_reason(resolved, from, to).is_some();
    let transactions = cycle.iter().filter_map(|v| v.as_whole(resolved.len()));
    let cycle: Vec<Txn> = transactions.collect();
    let cycle = &shortened(&cycle, is_before)[..];
    let mut found: Vec<Option<Reason>> = pairs(cycle)
        .map(|(from, to)| direct_reason(resolved, from, to))
        .collect();
    let wanted: Vec<(Txn, Txn)> = pairs(cycle).collect();
    let mut see = |from: Txn, to: Txn, key: Key, reader: Txn| {
        for (reason, wanted) in found.iter_mut().zip(&wanted) {
            if reason.is_none() && *wanted == (from, to) {
                *reason = Some(Reason::SeenBy { key, reader });
            }
        }
    };
    match model {
        ConsistencyModel::ReadCommitted => committed(resolved, &mut see),
        ConsistencyModel::ReadAtomic => {
            atomic_reads(resolved, &mut see);
            atomic_session(resolved, &mut see);
        }
        ConsistencyModel::Causal
        | ConsistencyModel::Snapshot
        | ConsistencyModel::Serializable
        | ConsistencyModel::StrictSerializable
        | ConsistencyModel::Linearizable => {
            let mut first = Arcs::new(resolved.len(), resolved.len() * 2);
            happens_before(resolved, |from, to| {
                first.add(Vertex::whole(from), Vertex::whole(to))
            });
            if let Ok(order) = first.order() {
                let again = causal::forced(resolved, &order, &mut see);
                debug_assert!(
                    again.is_ok(),
                    "the clocks were not too large the first time"
                );
            }
        }
    }
    let edges: Vec<Edge> = wanted
        .iter()
        .zip(found)
        .map(|((from, to), reason)| Edge {
            from: *from,
            to: *to,
            reason: reason.unwrap_or_else(|| written_in_lists(resolved, listed, *from, *to)),
        })
        .collect();
    let unseen = edges.iter().filter_map(|edge| match edge.reason {
        Reason::SeenBy { reader, .. } if direct_reason(resolved, edge.from, reader).is_none() => {
            Some(way(resolved, edge.from, reader))
        }
        Reason::Session
        | Reason::RealTime
        | Reason::WriteRead(_)
        | Reason::WriteWrite(_)
        | Reason::ReadWrite(_)
        | Reason::SeenBy { .. }
        | Reason::Event(_)
        | Reason::Listed { .. }
        | Reason::Lists(_)
        | Reason::Early
        | Reason::Missed(_)
        | Reason::Overlap(_) => None,
    });
    Counterexample {
        anomaly: name(resolved, &edges),
        core: unseen.flatten().collect(),
        edges,
    }
}

/// Transactions on a causal path from `from` to `to`, in path order, both ends left out.
fn way(resolved: &Resolved<'_>, from: Txn, to: Txn) -> Vec<Txn> {
    let before = resolved.session_predecessors();
    let mut after: BTreeMap<Txn, Txn> = BTreeMap::new();
    let mut reached = VecDeque::from([to]);
    while let Some(at) = reached.pop_front() {
        if at == from {
            break;
        }
        let writers = resolved.reads(at).iter();
        let writers = writers.map(|version| resolved.writer[*version]);
        for earlier in writers.chain([before[at]]).filter(|t| !t.is_initial()) {
            after.entry(earlier).or_insert_with(|| {
                reached.push_back(earlier);
                at
            });
        }
    }
    let next = |at: &Txn| after.get(at).copied().filter(|next| *next != to);
    std::iter::successors(next(&from), next).collect()
}

/// The key of a list in which the one precedes the other.
fn written_in_lists(resolved: &Resolved<'_>, listed: &[(Txn, Txn)], from: Txn, to: Txn) -> Reason {
    debug_assert!(listed.contains(&(from, to)), "every edge has a reason");
    let history = resolved.history;
    let place = |t: Txn, key: Key, values: &[Atom]| {
        let mut writes = history
            .events(t)
            .filter(|e| e.kind == Kind::Write && e.key == key);
        writes.find_map(|event| values.iter().position(|value| *value == event.value))
    };
    let writes = |key: Key| resolved.writes(to).any(|v| resolved.key[v] == key);
    let precedes = |(key, values): &&(Key, Vec<Atom>)| {
        let (first, last) = (place(from, *key, values), place(to, *key, values));
        first.is_some() && writes(*key) && (last.is_none() || first < last)
    };
    let found = history.orders().iter().find(precedes);
    Reason::WriteWrite(found.map_or(Key::new(0), |(key, _)| *key))
}

/// Names a cycle by the strongest of the views that close it.
fn name(resolved: &Resolved<'_>, edges: &[Edge]) -> Anomaly {
    let views = edges.iter().filter_map(|edge| match edge.reason {
        Reason::SeenBy { key, reader } => Some(view(resolved, edge.from, key, reader)),
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
        | Reason::Overlap(_) => None,
    });
    let rank = |anomaly: &Anomaly| {
        let weakest_first = [
            Anomaly::NonMonotonicRead,
            Anomaly::FracturedRead,
            Anomaly::SessionGuaranteeViolation,
            Anomaly::CausalityViolation,
        ];
        weakest_first.iter().position(|known| known == anomaly)
    };
    let is_write = |edge: &Edge| matches!(edge.reason, Reason::WriteWrite(_));
    if edges.iter().all(is_write) {
        return Anomaly::DirtyWrite;
    }
    views
        .max_by_key(rank)
        .unwrap_or(Anomaly::CircularInformationFlow)
}

/// The anomaly of a reader that must see a transaction and does not, by what connects the two.
fn view(resolved: &Resolved<'_>, seen: Txn, stale: Key, reader: Txn) -> Anomaly {
    match direct_reason(resolved, seen, reader) {
        Some(Reason::WriteRead(key)) => torn_read(resolved.history, reader, key, stale),
        Some(Reason::Session) => Anomaly::SessionGuaranteeViolation,
        _ => Anomaly::CausalityViolation,
    }
}
