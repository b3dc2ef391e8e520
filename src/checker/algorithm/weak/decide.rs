//! The axioms as a graph: forced pairs, the cycle that they close, and its reasons.

use std::collections::{BTreeMap, VecDeque};

use super::causal;
use crate::checker::answer::Answer;
use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::evidence::cycle::{direct_reason, pairs, shortened, torn_read};
use crate::checker::evidence::witness::Witness;
use crate::checker::resolved::arcs::Arcs;
use crate::checker::resolved::resolve::{NONE, Resolved};
use crate::checker::resolved::versions::listed_orders;
use crate::history::{Atom, Kind};
use crate::model::Anomaly;
use crate::model::ConsistencyModel;

pub(super) fn decide(resolved: &Resolved<'_>, model: ConsistencyModel) -> Answer {
    let mut arcs = Arcs::new(resolved.len(), resolved.len() * 2);
    happens_before(resolved, |from, to| arcs.add(from, to));
    // The order that lists show is no relation of what is seen, but every commit order has it.
    let listed = match listed_orders(resolved) {
        Ok(listed) => listed,
        Err(counterexample) => return Answer::Violated(counterexample),
    };
    for (from, to) in &listed {
        arcs.add(*from, *to);
    }
    match model {
        ConsistencyModel::ReadCommitted => committed(resolved, |from, to, _, _| arcs.add(from, to)),
        ConsistencyModel::ReadAtomic => {
            atomic_reads(resolved, |from, to, _, _| arcs.add(from, to));
            atomic_session(resolved, |from, to, _, _| arcs.add(from, to));
        }
        _ => {
            let mut first = Arcs::new(resolved.len(), resolved.len() * 2);
            happens_before(resolved, |from, to| first.add(from, to));
            match first.order() {
                Err(cycle) => return Answer::Violated(explained(resolved, model, &cycle, &listed)),
                Ok(order) => {
                    let add = |from, to, _, _| arcs.add(from, to);
                    if let Err(causal::TooLarge) = causal::forced(resolved, &order, add) {
                        return Answer::Unknown(causal::TOO_LARGE.to_owned());
                    }
                }
            }
        }
    }
    match arcs.order() {
        Ok(order) => {
            let is_real = |t: &u32| *t > 0 && resolved.is_live[*t as usize];
            Answer::Satisfied(Witness::Order(order.into_iter().filter(is_real).collect()))
        }
        Err(cycle) => Answer::Violated(explained(resolved, model, &cycle, &listed)),
    }
}

/// SO and WR; the initial transaction precedes every other.
pub(super) fn happens_before(resolved: &Resolved<'_>, mut edge: impl FnMut(u32, u32)) {
    let before = resolved.session_predecessors();
    for transaction in resolved.live() {
        edge(0, transaction);
        if before[transaction as usize] > 0 {
            edge(before[transaction as usize], transaction);
        }
    }
    for reader in resolved.live() {
        for version in resolved.reads(reader) {
            let writer = resolved.writer[*version as usize];
            if writer > 0 {
                edge(writer, reader);
            }
        }
    }
}

/// Pairs forced under read committed: `(t2, t1, key, reader)` where the reader reads from `t2`
/// first and the key from `t1` later.
fn committed(resolved: &Resolved<'_>, mut forced: impl FnMut(u32, u32, u32, u32)) {
    seen_reads(resolved, When::Before, &mut forced);
}

/// Pairs forced by what is read in a transaction, under read atomic: in any order.
fn atomic_reads(resolved: &Resolved<'_>, mut forced: impl FnMut(u32, u32, u32, u32)) {
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
    key: u32,
    writer: u32,
    place: u32,
}

/// For each pair of reads of a transaction where the writer of the one also writes the key of the
/// other.
fn seen_reads(resolved: &Resolved<'_>, when: When, forced: &mut impl FnMut(u32, u32, u32, u32)) {
    let mut by_key: Vec<Read> = Vec::new();
    let mut by_writer: Vec<Read> = Vec::new();
    for reader in resolved.live() {
        by_key.clear();
        for (place, version) in (0u32..).zip(resolved.reads(reader)) {
            by_key.push(Read {
                key: resolved.key[*version as usize],
                writer: resolved.writer[*version as usize],
                place,
            });
        }
        if by_key.len() < 2 {
            continue;
        }
        by_writer.clear();
        by_writer.extend(by_key.iter().filter(|read| read.writer > 0));
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
                for key in writes.map(|version| resolved.key[version as usize]) {
                    let begin = by_key.partition_point(|read| read.key < key);
                    by_key[begin..]
                        .iter()
                        .take_while(|r| r.key == key)
                        .for_each(&mut consider);
                }
            } else {
                let keys: std::collections::BTreeSet<u32> = writes
                    .map(|version| resolved.key[version as usize])
                    .collect();
                by_key
                    .iter()
                    .filter(|read| keys.contains(&read.key))
                    .for_each(&mut consider);
            }
        }
    }
}

/// Pairs forced by sessions under read atomic: the last writer of the key before the reader.
fn atomic_session(resolved: &Resolved<'_>, mut forced: impl FnMut(u32, u32, u32, u32)) {
    let history = resolved.history;
    let mut sessions: Vec<Vec<u32>> = vec![Vec::new(); history.session_count()];
    for transaction in resolved.live() {
        sessions[history.session_of(transaction) as usize].push(transaction);
    }
    // The session and the transaction that wrote a key last.
    let mut last = vec![(NONE, 0u32); history.key_count()];
    for (session, transactions) in (0u32..).zip(&sessions) {
        for transaction in transactions {
            for version in resolved.reads(*transaction) {
                let key = resolved.key[*version as usize];
                let writer = resolved.writer[*version as usize];
                let (of, seen) = last[key as usize];
                if of == session && seen != writer {
                    forced(seen, writer, key, *transaction);
                }
            }
            for version in resolved.writes(*transaction) {
                last[resolved.key[version as usize] as usize] = (session, *transaction);
            }
        }
    }
}

/// The counterexample of a cycle: the reason of each edge is looked for again.
fn explained(
    resolved: &Resolved<'_>,
    model: ConsistencyModel,
    cycle: &[u32],
    listed: &[(u32, u32)],
) -> Counterexample {
    let is_before = |from: u32, to: u32| direct_reason(resolved, from, to).is_some();
    let cycle = &shortened(cycle, is_before)[..];
    let mut found: Vec<Option<Reason>> = pairs(cycle)
        .map(|(from, to)| direct_reason(resolved, from, to))
        .collect();
    let wanted: Vec<(u32, u32)> = pairs(cycle).collect();
    let mut see = |from: u32, to: u32, key: u32, reader: u32| {
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
        _ => {
            let mut first = Arcs::new(resolved.len(), resolved.len() * 2);
            happens_before(resolved, |from, to| first.add(from, to));
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
        _ => None,
    });
    Counterexample {
        anomaly: name(resolved, &edges),
        core: unseen.flatten().collect(),
        edges,
    }
}

/// The transactions between two of which the one leads to the other, in this order.
fn way(resolved: &Resolved<'_>, from: u32, to: u32) -> Vec<u32> {
    let before = resolved.session_predecessors();
    let mut after: BTreeMap<u32, u32> = BTreeMap::new();
    let mut reached = VecDeque::from([to]);
    while let Some(at) = reached.pop_front() {
        if at == from {
            break;
        }
        let writers = resolved.reads(at).iter();
        let writers = writers.map(|version| resolved.writer[*version as usize]);
        for earlier in writers.chain([before[at as usize]]).filter(|t| *t > 0) {
            after.entry(earlier).or_insert_with(|| {
                reached.push_back(earlier);
                at
            });
        }
    }
    let next = |at: &u32| after.get(at).copied().filter(|next| *next != to);
    std::iter::successors(next(&from), next).collect()
}

/// The key of a list in which the one precedes the other.
fn written_in_lists(resolved: &Resolved<'_>, listed: &[(u32, u32)], from: u32, to: u32) -> Reason {
    debug_assert!(listed.contains(&(from, to)), "every edge has a reason");
    let history = resolved.history;
    let place = |t: u32, key: u32, values: &[Atom]| {
        let mut writes = history
            .events(t)
            .filter(|e| e.kind == Kind::Write && e.key == key);
        writes.find_map(|event| values.iter().position(|value| *value == event.value))
    };
    let writes = |key: u32| resolved.writes(to).any(|v| resolved.key[v as usize] == key);
    let precedes = |(key, values): &&(u32, Vec<Atom>)| {
        let (first, last) = (place(from, *key, values), place(to, *key, values));
        first.is_some() && writes(*key) && (last.is_none() || first < last)
    };
    let found = history.orders().iter().find(precedes);
    Reason::WriteWrite(found.map_or(0, |(key, _)| *key))
}

/// Names a cycle by the strongest of the views that close it.
fn name(resolved: &Resolved<'_>, edges: &[Edge]) -> Anomaly {
    let views = edges.iter().filter_map(|edge| match edge.reason {
        Reason::SeenBy { key, reader } => Some(view(resolved, edge.from, key, reader)),
        _ => None,
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

/// How a reader that must see a transaction, and does not, comes to it.
fn view(resolved: &Resolved<'_>, seen: u32, stale: u32, reader: u32) -> Anomaly {
    match direct_reason(resolved, seen, reader) {
        Some(Reason::WriteRead(key)) => torn_read(resolved.history, reader, key, stale),
        Some(Reason::Session) => Anomaly::SessionGuaranteeViolation,
        _ => Anomaly::CausalityViolation,
    }
}
