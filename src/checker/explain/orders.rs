//! The story of a history that no version order explains: who wrote which value, who read it, and what
//! each order leads to.

use std::collections::BTreeSet;

use crate::checker::algorithm::polysi::orders::{OrderCycle, cycles_of_every_order};
use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::explain::label::label;
use crate::history::{Atom, History, Key, Kind, Txn};

/// The sentences; none where the writes can be ordered in more ways than one reads.
pub(super) fn story(history: &History, counterexample: &Counterexample) -> Vec<String> {
    let core = &counterexample.core;
    let Some(ways) = cycles_of_every_order(history, core) else {
        return Vec::new();
    };
    let edges = ways.iter().flat_map(|way| &way.edges);
    let chosen = ways.iter().flat_map(|way| &way.chosen);
    let keys = edges.filter_map(|edge| key_of(edge.reason));
    let keys: BTreeSet<Key> = keys.chain(chosen.map(|(key, _)| *key)).collect();
    let values = keys.iter().map(|key| values_of(history, core, *key));
    let ways = ways.iter().map(|way| way_in_words(history, way));
    values.chain(ways).collect()
}

fn key_of(reason: Reason) -> Option<Key> {
    match reason {
        Reason::WriteRead(key)
        | Reason::WriteWrite(key)
        | Reason::ReadWrite(key)
        | Reason::SeenBy { key, .. }
        | Reason::Listed { key, .. }
        | Reason::Lists(key)
        | Reason::Overlap(key) => Some(key),
        Reason::Session
        | Reason::RealTime
        | Reason::Early
        | Reason::Event(_)
        | Reason::Missed(_) => None,
    }
}

/// `x: 0 at first, read by T6; 1 by T2; 4 by T5, read by T6`.
fn values_of(history: &History, core: &[Txn], key: Key) -> String {
    let mut written: Vec<(Atom, Option<Txn>)> = vec![(history.initial(key), None)];
    let all = |kind: Kind| {
        core.iter().flat_map(move |transaction| {
            let events = history.events(*transaction);
            let events = events.filter(move |event| event.kind == kind && event.key == key);
            events.map(move |event| (event.value, *transaction))
        })
    };
    written.extend(all(Kind::Write).map(|(value, writer)| (value, Some(writer))));
    let told = written.into_iter().filter_map(|(value, writer)| {
        let readers = all(Kind::Read).filter(|(read, by)| *read == value && Some(*by) != writer);
        let mut readers: Vec<Txn> = readers.map(|(_, reader)| reader).collect();
        readers.dedup();
        if writer.is_none() && readers.is_empty() {
            return None;
        }
        let by = writer.map_or(" at first".to_owned(), |by| {
            format!(" by {}", history.name(by))
        });
        let readers: Vec<String> = readers.iter().map(|t| history.name(*t)).collect();
        let read = match readers.is_empty() {
            true => String::new(),
            false => format!(", read by {}", readers.join(" and ")),
        };
        Some(format!("{}{by}{read}", history.spelled(value)))
    });
    let told: Vec<String> = told.collect();
    format!("{}: {}", history.spelled(history.key(key)), told.join("; "))
}

/// `if T5 writes x first: T5 -WW(x)-> T2 -RW(y)-> T5`.
fn way_in_words(history: &History, way: &OrderCycle) -> String {
    let cycle = cycle_in_words(history, &way.edges);
    let mut chosen: Vec<(Key, Vec<String>)> = Vec::new();
    for (key, writer) in &way.chosen {
        let name = history.name(*writer);
        match chosen.iter_mut().find(|(of, _)| of == key) {
            Some((_, names)) => names.push(name),
            None => chosen.push((*key, vec![name])),
        }
    }
    let told = chosen.iter().map(|(key, names)| {
        let key = history.spelled(history.key(*key));
        format!("{} writes {key} first", names.join(", then "))
    });
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => format!("in every order: {cycle}"),
        false => format!("if {}: {cycle}", told.join(" and ")),
    }
}

fn cycle_in_words(history: &History, edges: &[Edge]) -> String {
    let begin = edges
        .first()
        .map_or(String::new(), |e| history.name(e.from));
    let rest = edges.iter().map(|edge| {
        let to = history.name(edge.to);
        format!(" -{}-> {to}", label(history, edge.reason))
    });
    begin + &rest.collect::<String>()
}
