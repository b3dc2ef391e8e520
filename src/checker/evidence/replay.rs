//! Accepts or refuses a witness by running through it, knowing nothing of how it was found.

use std::collections::{BTreeMap, BTreeSet};

use crate::checker::evidence::witness::{Point, Witness};
use crate::history::{Atom, History, Key, Kind, Status, Txn};
use crate::model::ConsistencyModel;

/// Whether a witness shows that the history satisfies the model.
///
/// # Errors
/// Says where the witness fails.
pub fn replay(history: &History, model: ConsistencyModel, witness: &Witness) -> Result<(), String> {
    match (model, witness) {
        (ConsistencyModel::Snapshot, Witness::Points(points)) => snapshot(history, points),
        (ConsistencyModel::Serializable, Witness::Order(order)) => serial(history, order),
        (
            ConsistencyModel::StrictSerializable | ConsistencyModel::Linearizable,
            Witness::Order(order),
        ) => {
            serial(history, order)?;
            real_time(history, order)
        }
        (_, Witness::Order(order)) if model < ConsistencyModel::Snapshot => {
            weak(history, model, order, &[])
        }
        (_, Witness::Sourced { order, sources }) if model < ConsistencyModel::Snapshot => {
            weak(history, model, order, sources)
        }
        _ => Err(format!("the witness is none of {model}")),
    }
}

/// Every committed transaction once, no aborted one, and sessions in their order.
fn complete(history: &History, order: &[Txn]) -> Result<(), String> {
    let mut last = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for transaction in order {
        let name = history.name(*transaction);
        if history.status(*transaction) == Status::Aborted || !seen.insert(*transaction) {
            return Err(format!("{name} aborted, or stands twice"));
        }
        let before = last.insert(history.session_of(*transaction), *transaction);
        if before.is_some_and(|before| before > *transaction) {
            return Err(format!("{name} is out of its session's order"));
        }
    }
    let mut missing = history.transactions().filter(|t| !seen.contains(t));
    match missing.find(|t| history.status(*t) == Status::Committed) {
        None => Ok(()),
        Some(missing) => Err(format!("{} is missing", history.name(missing))),
    }
}

/// The keys' values, and how far the orders that lists show were followed.
struct Store<'h> {
    history: &'h History,
    values: Vec<Atom>,
    orders: BTreeMap<Key, (&'h [Atom], usize)>,
}

impl<'h> Store<'h> {
    fn new(history: &'h History) -> Self {
        let keys = history.all_keys();
        let orders = history.orders().iter();
        Self {
            history,
            values: keys.map(|key| history.initial(key)).collect(),
            orders: orders
                .map(|(key, values)| (*key, (&values[..], 0)))
                .collect(),
        }
    }

    /// Runs the reads of a transaction against the values and its own writes.
    fn read(&self, transaction: Txn) -> Result<(), String> {
        let mut own = BTreeMap::new();
        for event in self.history.events(transaction) {
            if event.kind == Kind::Write {
                own.insert(event.key, event.value);
                continue;
            }
            let held = own.get(&event.key).copied();
            let held = held.unwrap_or(self.values[event.key]);
            if held != event.value {
                return Err(format!(
                    "{} reads {} for {}, where {} is",
                    self.history.name(transaction),
                    self.history.spelled(event.value),
                    self.history.spelled(self.history.key(event.key)),
                    self.history.spelled(held)
                ));
            }
        }
        Ok(())
    }

    /// Every value that a list names was written.
    fn end(&self) -> Result<(), String> {
        let is_whole = |(values, done): &(&[Atom], usize)| *done >= values.len();
        if self.orders.values().all(is_whole) {
            return Ok(());
        }
        Err("a list names a value that no transaction wrote".to_owned())
    }

    fn write(&mut self, transaction: Txn) -> Result<(), String> {
        for event in self
            .history
            .events(transaction)
            .filter(|e| e.kind == Kind::Write)
        {
            self.values[event.key] = event.value;
            if let Some((values, done)) = self.orders.get_mut(&event.key) {
                if values.get(*done).is_some_and(|value| *value != event.value) {
                    return Err(format!("{} breaks a list", self.history.name(transaction)));
                }
                *done += 1;
            }
        }
        Ok(())
    }
}

fn serial(history: &History, order: &[Txn]) -> Result<(), String> {
    complete(history, order)?;
    let mut store = Store::new(history);
    for transaction in order {
        store.read(*transaction)?;
        store.write(*transaction)?;
    }
    store.end()
}

/// No transaction stands behind one that began after it had ended.
fn real_time(history: &History, order: &[Txn]) -> Result<(), String> {
    let mut latest = i64::MIN;
    for transaction in order {
        if let Some(span) = history.real_time(*transaction) {
            latest = latest.max(span.from);
            if span.to < latest {
                return Err(format!("{} had ended before", history.name(*transaction)));
            }
        }
    }
    Ok(())
}

/// Reads come from the values at the start; no two writers of a key overlap.
fn snapshot(history: &History, points: &[Point]) -> Result<(), String> {
    let commits: Vec<Txn> = points
        .iter()
        .filter_map(|point| match point {
            Point::Commit(transaction) => Some(*transaction),
            Point::Start(_) => None,
        })
        .collect();
    complete(history, &commits)?;
    let mut store = Store::new(history);
    let mut running: BTreeMap<Key, Txn> = BTreeMap::new();
    let mut open: BTreeSet<Txn> = BTreeSet::new();
    let mut open_sessions: BTreeSet<u32> = BTreeSet::new();
    for point in points {
        match *point {
            Point::Start(transaction) => {
                store.read(transaction)?;
                let session = history.session_of(transaction);
                if !open.insert(transaction) || !open_sessions.insert(session) {
                    return Err(format!("{} starts too early", history.name(transaction)));
                }
                for event in history
                    .events(transaction)
                    .filter(|e| e.kind == Kind::Write)
                {
                    let other = running.insert(event.key, transaction);
                    if other.is_some_and(|other| other != transaction) {
                        return Err(format!("{} overlaps a writer", history.name(transaction)));
                    }
                }
            }
            Point::Commit(transaction) => {
                if !open.remove(&transaction) {
                    return Err(format!("{} has not started", history.name(transaction)));
                }
                open_sessions.remove(&history.session_of(transaction));
                store.write(transaction)?;
                running.retain(|_, writer| *writer != transaction);
            }
        }
    }
    store.end()
}

/// The axioms of Biswas and Enea, taken literally, on a commit order.
fn weak(
    history: &History,
    model: ConsistencyModel,
    order: &[Txn],
    sources: &[(usize, Txn)],
) -> Result<(), String> {
    complete(history, order)?;
    let written = Written::of(history, order, sources);
    let mut seen_by: BTreeMap<Txn, BTreeSet<Txn>> = BTreeMap::new();
    let mut store = Store::new(history);
    for (at, reader) in order.iter().enumerate() {
        let name = history.name(*reader);
        let reads = written.foreign_reads(*reader)?;
        let session = history.session_of(*reader);
        let earlier = order[..at].iter().copied();
        let earlier = earlier.filter(|t| history.session_of(*t) == session);
        let sources = reads.iter().map(|(_, writer)| *writer).chain(earlier);
        let mut seen: BTreeSet<Txn> = BTreeSet::new();
        match model {
            ConsistencyModel::ReadCommitted => {}
            ConsistencyModel::Causal => {
                let closed = |t: Txn| seen_by.get(&t).into_iter().flatten().copied().chain([t]);
                seen.extend(sources.flat_map(closed));
            }
            ConsistencyModel::ReadAtomic
            | ConsistencyModel::Snapshot
            | ConsistencyModel::Serializable
            | ConsistencyModel::StrictSerializable
            | ConsistencyModel::Linearizable => seen.extend(sources),
        }
        for (key, writer) in &reads {
            let is_missed = |t: &&Txn| written.has(**t, *key) && written.is_later(**t, *writer);
            if let Some(missed) = seen.iter().find(is_missed) {
                return Err(format!(
                    "{name} misses what {} wrote",
                    history.name(*missed)
                ));
            }
            if model == ConsistencyModel::ReadCommitted {
                seen.insert(*writer);
            }
        }
        seen_by.insert(*reader, seen);
        store.write(*reader)?;
    }
    store.end()
}

/// Who left which value under which key, and in which place of the commit order.
struct Written<'h> {
    history: &'h History,
    place: BTreeMap<Txn, usize>,
    /// By key and value.
    writers: BTreeMap<(Key, Atom), Vec<Txn>>,
    left: BTreeMap<(Txn, Key), Atom>,
    /// Whose value a read saw, by the place of the read.
    sources: BTreeMap<usize, Txn>,
}

impl<'h> Written<'h> {
    fn of(history: &'h History, order: &[Txn], sources: &[(usize, Txn)]) -> Self {
        let mut writers: BTreeMap<(Key, Atom), Vec<Txn>> = BTreeMap::new();
        let mut left = BTreeMap::new();
        for key in history.all_keys() {
            left.insert((Txn::INITIAL, key), history.initial(key));
        }
        for transaction in order {
            for event in history.events(*transaction) {
                if event.kind == Kind::Write {
                    left.insert((*transaction, event.key), event.value);
                }
            }
        }
        for ((transaction, key), value) in &left {
            writers
                .entry((*key, *value))
                .or_default()
                .push(*transaction);
        }
        Self {
            history,
            place: order
                .iter()
                .enumerate()
                .map(|(at, t)| (*t, at + 1))
                .collect(),
            writers,
            left,
            sources: sources.iter().copied().collect(),
        }
    }

    fn has(&self, transaction: Txn, key: Key) -> bool {
        self.left.contains_key(&(transaction, key))
    }

    /// The initial transaction has no place and comes before all.
    fn is_later(&self, one: Txn, other: Txn) -> bool {
        self.place.get(&one) > self.place.get(&other)
    }

    /// What a transaction reads of others: keys and writers.
    fn foreign_reads(&self, reader: Txn) -> Result<Vec<(Key, Txn)>, String> {
        let name = self.history.name(reader);
        let (mut own, mut reads) = (BTreeMap::new(), Vec::new());
        for at in self.history.event_range(reader) {
            let event = self.history.event(at);
            match (event.kind, own.get(&event.key)) {
                (Kind::Write, _) => {
                    own.insert(event.key, event.value);
                }
                (Kind::Read, Some(value)) if *value == event.value => {}
                (Kind::Read, Some(_)) => return Err(format!("{name} does not read its own write")),
                (Kind::Read, None) => {
                    let writer = self.source(reader, at)?;
                    if writer == reader || !writer.is_initial() && !self.is_later(reader, writer) {
                        return Err(format!("{name} reads what comes later"));
                    }
                    reads.push((event.key, writer));
                }
            }
        }
        Ok(reads)
    }

    /// Whose value a read saw.
    fn source(&self, reader: Txn, at: usize) -> Result<Txn, String> {
        let event = self.history.event(at);
        if let Some(writer) = self.sources.get(&at) {
            return match self.left.get(&(*writer, event.key)) {
                Some(value) if *value == event.value => Ok(*writer),
                _ => Err(format!("{} did not write that", self.history.name(*writer))),
            };
        }
        let writers = self.writers.get(&(event.key, event.value));
        let mut others = writers.into_iter().flatten().filter(|t| **t != reader);
        match (others.next(), others.next()) {
            (Some(writer), None) => Ok(*writer),
            (None, _) => Err("a read of a value that no transaction wrote".to_owned()),
            (Some(_), Some(_)) => Err("a value has several writers".to_owned()),
        }
    }
}
