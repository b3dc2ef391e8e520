//! Derives a counterexample again from the events, by code that shares nothing with the checkers
//! that found it but the restriction of a history to some transactions.

use std::collections::BTreeSet;

use crate::checker::algorithm::brute_force;
use crate::checker::algorithm::brute_force::TRANSACTIONS_MAX;
use crate::checker::answer::Answer;
use crate::checker::budget::Budget;
use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::evidence::reduce::restricted;
use crate::history::{Atom, Event, History, Key, Kind, Status, Txn};
use crate::model::Anomaly;
use crate::model::ConsistencyModel;

/// Whether a counterexample shows that the history violates the model.
///
/// # Errors
/// Says what does not hold, or that the counterexample is too large to be judged by trying all
/// orders.
pub fn rederive(
    history: &History,
    model: ConsistencyModel,
    found: &Counterexample,
) -> Result<(), String> {
    let events = Events { history };
    match found.edges[..] {
        [] => events.core(model, found),
        [edge] => events.single(model, found.anomaly, edge),
        _ => events.cycle(model, found),
    }
}

/// Questions that the events alone answer.
struct Events<'h> {
    history: &'h History,
}

fn hold(condition: bool, what: &str) -> Result<(), String> {
    if condition {
        Ok(())
    } else {
        Err(what.to_owned())
    }
}

impl Events<'_> {
    /// The value that a transaction leaves under a key; the initial one of the initial transaction.
    fn last_write(&self, transaction: Txn, key: Key) -> Option<Atom> {
        if transaction.is_initial() {
            return Some(self.history.initial(key));
        }
        let is_it = |event: &Event| event.kind == Kind::Write && event.key == key;
        let writes = self.history.events(transaction).filter(is_it);
        writes.last().map(|event| event.value)
    }

    /// What a transaction reads of others, in its own order.
    fn foreign_reads(&self, transaction: Txn) -> Vec<Event> {
        let mut own = BTreeSet::new();
        let mut reads = Vec::new();
        for event in self.history.events(transaction) {
            match event.kind {
                Kind::Write => {
                    own.insert(event.key);
                }
                Kind::Read if !own.contains(&event.key) => reads.push(event),
                Kind::Read => {}
            }
        }
        reads
    }

    /// Whether `reader` reads the key from `writer`.
    fn reads_from(&self, reader: Txn, writer: Txn, key: Key) -> bool {
        let value = self.last_write(writer, key);
        let mut reads = self.foreign_reads(reader).into_iter();
        reads.any(|event| event.key == key && Some(event.value) == value)
    }

    /// An anomaly of one read.
    fn single(&self, model: ConsistencyModel, anomaly: Anomaly, edge: Edge) -> Result<(), String> {
        let at = match edge.reason {
            Reason::Event(at) => at,
            Reason::Listed { key, value } => return self.listed(anomaly, edge.from, key, value),
            Reason::Session
            | Reason::RealTime
            | Reason::WriteRead(_)
            | Reason::WriteWrite(_)
            | Reason::ReadWrite(_)
            | Reason::SeenBy { .. }
            | Reason::Lists(_)
            | Reason::Early
            | Reason::Missed(_)
            | Reason::Overlap(_) => return self.torn(edge.from),
        };
        let read = self.history.event(at);
        let range = self.history.event_range(edge.to);
        hold(
            range.contains(&at) && read.kind == Kind::Read,
            "no read of the transaction",
        )?;
        let before = |wanted: usize| (range.start..wanted).map(|at| self.history.event(at));
        let mine = before(at).rfind(|e| e.kind == Kind::Write && e.key == read.key);
        let others = self.history.transactions().filter(|t| *t != edge.to);
        let is_final = |t: Txn| {
            self.history.status(t) != Status::Aborted
                && self.last_write(t, read.key) == Some(read.value)
        };
        let has_writer =
            read.value == self.history.initial(read.key) || others.clone().any(is_final);
        let same = |e: Event| e.kind == Kind::Write && (e.key, e.value) == (read.key, read.value);
        let wrote = |t: Txn| self.history.events(t).any(same);
        let shows = match anomaly {
            Anomaly::FutureRead if mine.is_some() => {
                let later = (at..range.end).map(|at| self.history.event(at));
                mine.is_some_and(|mine| mine.value != read.value) && later.into_iter().any(same)
            }
            Anomaly::NotMyOwnWrite | Anomaly::NotMyLastWrite => {
                mine.is_some_and(|mine| mine.value != read.value)
            }
            Anomaly::NonRepeatableRead => {
                let other =
                    |e: Event| e.kind == Kind::Read && e.key == read.key && e.value != read.value;
                model > ConsistencyModel::ReadCommitted && mine.is_none() && before(at).any(other)
            }
            Anomaly::ThinAirRead => mine.is_none() && !has_writer && !others.clone().any(wrote),
            Anomaly::FutureRead => mine.is_none() && !has_writer && wrote(edge.to),
            Anomaly::AbortedRead | Anomaly::IntermediateRead => {
                mine.is_none() && !has_writer && wrote(edge.from)
            }
            Anomaly::SessionGuaranteeViolation
            | Anomaly::NonMonotonicRead
            | Anomaly::FracturedRead
            | Anomaly::CausalityViolation
            | Anomaly::LongFork
            | Anomaly::LostUpdate
            | Anomaly::WriteSkew
            | Anomaly::DirtyWrite
            | Anomaly::CircularInformationFlow
            | Anomaly::ReadSkew
            | Anomaly::IncompatibleOrder
            | Anomaly::StaleRead
            | Anomaly::NoVersionOrder
            | Anomaly::NoSerialOrder
            | Anomaly::TimestampExternal
            | Anomaly::TimestampConflict
            | Anomaly::TimestampSession
            | Anomaly::DirtyRead => false,
        };
        hold(shows, "the read is no such anomaly")
    }

    /// Lists that contradict each other.
    fn torn(&self, from: Txn) -> Result<(), String> {
        let is_torn = !self.history.order_conflicts().is_empty() || self.has_torn_list(from);
        hold(is_torn, "no lists contradict each other")
    }

    /// A value that an order of versions names and that no transaction left there.
    fn listed(&self, anomaly: Anomaly, from: Txn, key: Key, value: Atom) -> Result<(), String> {
        let mut orders = self.history.orders().iter();
        let names = orders.any(|(k, values)| *k == key && values.contains(&value));
        hold(names, "no order names the value")?;
        let wrote = |t: &Txn| {
            let same = |e: Event| (e.kind, e.key, e.value) == (Kind::Write, key, value);
            self.history.events(*t).any(same)
        };
        let is_left = |t: &Txn| self.history.status(*t) != Status::Aborted && wrote(t);
        hold(
            value != self.history.initial(key) && !self.history.transactions().any(|t| is_left(&t)),
            "a transaction left the value there",
        )?;
        let is_aborted = anomaly == Anomaly::AbortedRead && wrote(&from);
        let is_thin =
            anomaly == Anomaly::ThinAirRead && !self.history.transactions().any(|t| wrote(&t));
        hold(is_aborted || is_thin, "the value has another source")
    }

    /// Whether some list does not have the writes of a transaction in a row, as far as it goes.
    fn has_torn_list(&self, transaction: Txn) -> bool {
        self.history.orders().iter().any(|(key, values)| {
            let events = self.history.events(transaction);
            let mine = events.filter(|e| e.kind == Kind::Write && e.key == *key);
            let mine: Vec<Atom> = mine.map(|event| event.value).collect();
            let first = values.iter().position(|value| mine.contains(value));
            first.is_some_and(|first| values[first..].iter().zip(&mine).any(|(a, b)| a != b))
        })
    }

    /// A cycle that the model forbids, of edges that hold.
    fn cycle(&self, model: ConsistencyModel, found: &Counterexample) -> Result<(), String> {
        let edges = &found.edges;
        let is_anti = |edge: &Edge| matches!(edge.reason, Reason::ReadWrite(_));
        for (edge, next) in edges.iter().zip(edges.iter().cycle().skip(1)) {
            hold(edge.to == next.from, "the edges are no cycle")?;
            let adjacent = is_anti(edge) && is_anti(next);
            let is_update = self.is_lost_update(edges);
            hold(
                !adjacent || model > ConsistencyModel::Snapshot || is_update,
                "two RW edges follow each other",
            )?;
            hold(
                model >= ConsistencyModel::Snapshot || !is_anti(edge),
                "an RW edge",
            )?;
            let shown = || format!("the edge {edge:?} does not hold");
            if !is_update && !self.edge(model, edge) {
                return Err(shown());
            }
        }
        Ok(())
    }

    /// Two transactions that read one version and both write the key.
    fn is_lost_update(&self, edges: &[Edge]) -> bool {
        let [one, other] = edges else { return false };
        let (Reason::ReadWrite(key), true) = (one.reason, one.reason == other.reason) else {
            return false;
        };
        let value = |t: Txn| {
            self.foreign_reads(t)
                .into_iter()
                .find(|e| e.key == key)
                .map(|e| e.value)
        };
        let writes = |t: Txn| self.last_write(t, key).is_some();
        let same = value(one.from).is_some() && value(one.from) == value(other.from);
        same && writes(one.from) && writes(other.from)
    }

    fn edge(&self, model: ConsistencyModel, edge: &Edge) -> bool {
        let Edge { from, to, reason } = *edge;
        match reason {
            Reason::Session => {
                let session = |t: Txn| self.history.session_of(t);
                from.is_initial() || from < to && session(from) == session(to)
            }
            Reason::RealTime => {
                let spans = self.history.real_time(from).zip(self.history.real_time(to));
                model >= ConsistencyModel::StrictSerializable
                    && spans.is_some_and(|(from, to)| from.to < to.from)
            }
            Reason::WriteRead(key) => self.reads_from(to, from, key),
            Reason::WriteWrite(key) => self.follows(from, to, key),
            Reason::ReadWrite(key) => {
                let writers = self.history.all_transactions().filter(|t| *t != from);
                let mut writers = writers.filter(|w| self.reads_from(from, *w, key));
                from != to && writers.any(|writer| self.follows(writer, to, key))
            }
            Reason::SeenBy { key, reader } => {
                from != to
                    && self.reads_from(reader, to, key)
                    && self.last_write(from, key).is_some()
                    && self.must_see(model, reader, from, key)
            }
            // Breaches of timestamps are no edges of a cycle.
            Reason::Event(_) | Reason::Early | Reason::Missed(_) | Reason::Overlap(_) => false,
            // Nor is a contradiction of lists.
            Reason::Listed { .. } | Reason::Lists(_) => false,
        }
    }

    /// Whether one writer of a key comes behind another: it read its version, a list says so, or
    /// the one is the end of the chain of reads and writes that the initial version begins.
    fn follows(&self, one: Txn, other: Txn, key: Key) -> bool {
        if self.last_write(one, key).is_none() || self.last_write(other, key).is_none() {
            return false;
        }
        if one.is_initial() || self.reads_from(other, one, key) {
            return true;
        }
        for (_, values) in self.history.orders().iter().filter(|(k, _)| *k == key) {
            let wrote = |t: Txn, value: Atom| {
                let same = |e: Event| (e.kind, e.key, e.value) == (Kind::Write, key, value);
                self.history.events(t).any(same)
            };
            let first = values.iter().position(|value| wrote(one, *value));
            let last = values.iter().rposition(|value| wrote(other, *value));
            if first.is_some() && last.is_none_or(|last| first < Some(last)) {
                return true;
            }
        }
        // The chain by its writers: another may have written one of its values too.
        let mut at = self.history.initial(key);
        let mut chain = BTreeSet::new();
        while !chain.contains(&one) {
            let updates = |t: &Txn| {
                let reads = self.foreign_reads(*t);
                reads.iter().any(|e| (e.key, e.value) == (key, at))
                    && self.last_write(*t, key).is_some()
            };
            let is = |status: Status| move |t: &Txn| self.history.status(*t) == status;
            let all = || self.history.transactions().filter(updates);
            let committed = all().find(is(Status::Committed));
            let next = committed.or_else(|| all().find(is(Status::Indeterminate)));
            let Some(next) = next.filter(|next| chain.insert(*next)) else {
                return false;
            };
            at = self.last_write(next, key).unwrap_or(at);
        }
        !chain.contains(&other)
    }

    /// Whether a reader must see a transaction when it reads the key.
    fn must_see(&self, model: ConsistencyModel, reader: Txn, seen: Txn, key: Key) -> bool {
        let reads = self.foreign_reads(reader);
        let from_seen = |e: &Event| self.last_write(seen, e.key) == Some(e.value);
        if model == ConsistencyModel::ReadCommitted {
            let place = reads.iter().position(from_seen);
            let last = reads.iter().rposition(|e| e.key == key);
            return place.is_some() && place < last;
        }
        let session = |t: Txn| self.history.session_of(t);
        let leads = |from: Txn, to: Txn| {
            from.is_initial()
                || from < to && session(from) == session(to)
                || self
                    .foreign_reads(to)
                    .iter()
                    .any(|e| self.last_write(from, e.key) == Some(e.value))
        };
        if model == ConsistencyModel::ReadAtomic || leads(seen, reader) {
            return leads(seen, reader);
        }
        let (mut reached, mut next) = (BTreeSet::new(), vec![reader]);
        while let Some(at) = next.pop() {
            for from in self.history.transactions().filter(|from| *from != at) {
                let is_real = self.history.status(from) != Status::Aborted;
                if is_real && leads(from, at) && reached.insert(from) {
                    next.push(from);
                }
            }
        }
        reached.contains(&seen)
    }

    /// Transactions that no order explains, as the referee finds.
    fn core(&self, model: ConsistencyModel, found: &Counterexample) -> Result<(), String> {
        let part = &found.core;
        if part.len() > TRANSACTIONS_MAX {
            return Err(format!(
                "{} transactions are too many to try all orders",
                part.len()
            ));
        }
        let part = restricted(self.history, part).ok_or("the part cannot be built")?;
        match brute_force::decide(&part, model, Budget::default()) {
            Answer::Violated(_) => Ok(()),
            Answer::Satisfied(_) => Err("the transactions alone have an order".to_owned()),
            Answer::Unknown(reason) => Err(reason),
        }
    }
}
