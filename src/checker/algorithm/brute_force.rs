//! The referee: tries all orders of tiny histories. It shares no code with the other checkers,
//! neither how reads find their writers nor how graphs are searched.

use std::collections::BTreeSet;

use crate::checker::answer::{Answer, Checker};
use crate::checker::budget::Budget;
use crate::checker::evidence::counterexample::Counterexample;
use crate::checker::evidence::reduce;
use crate::checker::evidence::witness::{Point, Witness};
use crate::history::{Atom, Event, History, Key, Kind, Status, Txn};
use crate::model::Anomaly;
use crate::model::ConsistencyModel;

/// Tries all orders.
pub(in crate::checker) struct BruteForce;

/// Transactions that did not abort, at most: the search is exponential in them.
pub(in crate::checker) const TRANSACTIONS_MAX: usize = 14;

impl Checker for BruteForce {
    fn name(&self) -> &'static str {
        "brute-force"
    }

    fn models(&self) -> &'static [ConsistencyModel] {
        &[
            ConsistencyModel::ReadCommitted,
            ConsistencyModel::ReadAtomic,
            ConsistencyModel::Causal,
            ConsistencyModel::Snapshot,
            ConsistencyModel::Serializable,
            ConsistencyModel::StrictSerializable,
            ConsistencyModel::Linearizable,
        ]
    }

    fn check(&self, history: &History, model: ConsistencyModel, budget: Budget) -> Answer {
        match decide(history, model, budget) {
            Answer::Violated(mut found) => {
                found.core = reduce::core_of(history, found.core, budget, |part| {
                    matches!(decide(part, model, budget), Answer::Violated(_))
                });
                Answer::Violated(found)
            }
            answer @ (Answer::Satisfied(_) | Answer::Unknown(_)) => answer,
        }
    }
}

/// What is so; a counterexample is all there is. The referee is to share nothing with those whose
/// judge it is: it is asked here, and nothing is made small for it.
pub(in crate::checker) fn decide(
    history: &History,
    model: ConsistencyModel,
    budget: Budget,
) -> Answer {
    let all: Vec<Txn> = history
        .transactions()
        .filter(|t| history.status(*t) != Status::Aborted)
        .collect();
    if all.len() > TRANSACTIONS_MAX {
        return Answer::Unknown(format!("more than {TRANSACTIONS_MAX} transactions"));
    }
    let timed = |t: &Txn| history.real_time(*t).is_some();
    if model >= ConsistencyModel::StrictSerializable && !all.iter().all(timed) {
        return Answer::Unknown("a transaction has no real time".to_owned());
    }
    if has_ambiguous_list(history, &all) {
        return Answer::Unknown("a list has values that were written more than once".to_owned());
    }
    let optional: Vec<Txn> = all
        .iter()
        .copied()
        .filter(|t| history.status(*t) == Status::Indeterminate)
        .collect();
    if history.order_conflicts().is_empty() {
        for chosen in 0u32..1 << optional.len() {
            if budget.is_over() {
                return Answer::Unknown(Budget::IS_OVER.to_owned());
            }
            let is_out = |t: &Txn| {
                let place = optional.iter().position(|o| o == t);
                place.is_some_and(|place| chosen >> place & 1 == 0)
            };
            let here: Vec<Txn> = all.iter().copied().filter(|t| !is_out(t)).collect();
            let found = Trial { history, here }.search(model);
            if let Some(witness) = found {
                return Answer::Satisfied(witness);
            }
        }
    }
    Answer::Violated(Counterexample {
        anomaly: Anomaly::NoVersionOrder,
        edges: Vec::new(),
        core: all,
    })
}

/// Whether a list names a value that was written twice, or its key was written back to what it held
/// at first: then it does not say which writes it means.
fn has_ambiguous_list(history: &History, all: &[Txn]) -> bool {
    let events = || all.iter().flat_map(|t| history.events(*t));
    let count = |key: Key, value: Atom| {
        let same =
            |event: &Event| (event.kind, event.key, event.value) == (Kind::Write, key, value);
        events().filter(same).count()
    };
    history.orders().iter().any(|(key, values)| {
        let is_double = |value: &Atom| count(*key, *value) > 1;
        count(*key, history.initial(*key)) > 0 || values.iter().any(is_double)
    })
}

/// The transactions that are taken to have happened.
struct Trial<'h> {
    history: &'h History,
    here: Vec<Txn>,
}

/// Where a search of starts and commits stands. Equal states have equal futures.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    started: u32,
    committed: u32,
    values: Vec<Atom>,
    /// How many values of each list were appended.
    appended: Vec<usize>,
}

impl Trial<'_> {
    fn search(&self, model: ConsistencyModel) -> Option<Witness> {
        if model < ConsistencyModel::Snapshot {
            return self.weak(model);
        }
        let keys = self.history.all_keys();
        let state = State {
            started: 0,
            committed: 0,
            values: keys.map(|key| self.history.initial(key)).collect(),
            appended: vec![0; self.history.orders().len()],
        };
        let (mut seen, mut path) = (BTreeSet::new(), Vec::new());
        if !self.run(model, state, &mut seen, &mut path) {
            return None;
        }
        if model == ConsistencyModel::Snapshot {
            return Some(Witness::Points(path));
        }
        let commit = |point: Point| match point {
            Point::Commit(t) => Some(t),
            Point::Start(_) => None,
        };
        Some(Witness::Order(
            path.into_iter().filter_map(commit).collect(),
        ))
    }

    /// Starts or commits one more transaction, in every way that is allowed.
    fn run(
        &self,
        model: ConsistencyModel,
        state: State,
        seen: &mut BTreeSet<State>,
        path: &mut Vec<Point>,
    ) -> bool {
        let all = (1u32 << self.here.len()) - 1;
        if state.committed == all {
            return self.lists_are_whole(&state);
        }
        if !seen.insert(state.clone()) {
            return false;
        }
        for (place, transaction) in self.here.iter().enumerate() {
            let bit = 1u32 << place;
            if state.started & bit == 0 && self.may_start(model, &state, place) {
                let mut next = state.clone();
                next.started |= bit;
                path.push(Point::Start(*transaction));
                let found = if model == ConsistencyModel::Snapshot {
                    self.run(model, next, seen, path)
                } else {
                    path.push(Point::Commit(*transaction));
                    let found = self
                        .commit(next, place)
                        .is_some_and(|next| self.run(model, next, seen, path));
                    if !found {
                        path.pop();
                    }
                    found
                };
                if found {
                    return true;
                }
                path.pop();
            } else if state.started & bit != 0 && state.committed & bit == 0 {
                path.push(Point::Commit(*transaction));
                let next = self.commit(state.clone(), place);
                if next.is_some_and(|next| self.run(model, next, seen, path)) {
                    return true;
                }
                path.pop();
            }
        }
        false
    }

    fn may_start(&self, model: ConsistencyModel, state: &State, place: usize) -> bool {
        let history = self.history;
        let transaction = self.here[place];
        let is_strict = model >= ConsistencyModel::StrictSerializable;
        let ended = |t: Txn| history.real_time(t).map_or(i64::MAX, |span| span.to);
        let began = history
            .real_time(transaction)
            .map_or(i64::MIN, |span| span.from);
        for (other_place, other) in self.here.iter().enumerate() {
            let is_committed = state.committed >> other_place & 1 == 1;
            let is_running = state.started >> other_place & 1 == 1 && !is_committed;
            let same_session = history.session_of(*other) == history.session_of(transaction);
            let precedes =
                same_session && other_place < place || is_strict && ended(*other) < began;
            if precedes && !is_committed {
                return false;
            }
            let written = |t: Txn, key: Key| {
                let is_it = |e: Event| e.kind == Kind::Write && e.key == key;
                history.events(t).any(is_it)
            };
            let keys = history.all_keys();
            let overlaps = |key: Key| written(*other, key) && written(transaction, key);
            if is_running && keys.clone().any(overlaps) {
                return false;
            }
        }
        let mut values = state.values.clone();
        history.events(transaction).all(|event| match event.kind {
            Kind::Write => {
                values[event.key] = event.value;
                true
            }
            Kind::Read => values[event.key] == event.value,
        })
    }

    fn commit(&self, mut state: State, place: usize) -> Option<State> {
        state.committed |= 1 << place;
        for event in self.history.events(self.here[place]) {
            if event.kind == Kind::Read {
                continue;
            }
            state.values[event.key] = event.value;
            for (at, (key, values)) in self.history.orders().iter().enumerate() {
                let done = &mut state.appended[at];
                if *key == event.key {
                    if *done < values.len() && values[*done] != event.value {
                        return None;
                    }
                    *done += 1;
                }
            }
        }
        Some(state)
    }

    fn lists_are_whole(&self, state: &State) -> bool {
        let orders = self.history.orders().iter().zip(&state.appended);
        orders
            .into_iter()
            .all(|((_, values), done)| *done >= values.len())
    }
}

/// A read of another's write: the reader's place, the key, the value, and where the event lies.
type Foreign = (usize, Key, Atom, usize);

impl Trial<'_> {
    /// Tries every choice of writers for the reads, and for each every commit order.
    fn weak(&self, model: ConsistencyModel) -> Option<Witness> {
        let mut reads: Vec<Foreign> = Vec::new();
        for (place, transaction) in self.here.iter().enumerate() {
            let mut own: Vec<(Key, Atom)> = Vec::new();
            for at in self.history.event_range(*transaction) {
                let event = self.history.event(at);
                let mine = own.iter().rev().find(|(key, _)| *key == event.key);
                match (event.kind, mine) {
                    (Kind::Write, _) => own.push((event.key, event.value)),
                    (Kind::Read, Some((_, value))) if *value == event.value => {}
                    (Kind::Read, Some(_)) => return None,
                    (Kind::Read, None) => reads.push((place, event.key, event.value, at)),
                }
            }
        }
        let mut sources = Vec::new();
        let order = self.choose(model, &reads, &mut sources)?;
        let writer = |source: &Option<usize>| source.map_or(Txn::INITIAL, |place| self.here[place]);
        let places = reads.iter().map(|read| read.3);
        let sources = places.zip(sources.iter().map(writer)).collect();
        Some(Witness::Sourced { order, sources })
    }

    /// The last value that a transaction writes to a key.
    fn last_write(&self, place: usize, key: Key) -> Option<Atom> {
        let events: Vec<Event> = self.history.events(self.here[place]).collect();
        let is_it = |e: &&Event| e.kind == Kind::Write && e.key == key;
        events.iter().rfind(is_it).map(|e| e.value)
    }

    /// Gives one more read a writer: a place, or none for the initial transaction.
    fn choose(
        &self,
        model: ConsistencyModel,
        reads: &[Foreign],
        sources: &mut Vec<Option<usize>>,
    ) -> Option<Vec<Txn>> {
        let Some((reader, key, value, _)) = reads.get(sources.len()).copied() else {
            return self.ordered(&self.forced(model, reads, sources)?);
        };
        let places = (0..self.here.len()).filter(|place| *place != reader);
        let mut candidates: Vec<Option<usize>> = places
            .filter(|place| self.last_write(*place, key) == Some(value))
            .map(Some)
            .collect();
        if self.history.initial(key) == value {
            candidates.push(None);
        }
        for candidate in candidates {
            sources.push(candidate);
            let found = self.choose(model, reads, sources);
            if found.is_some() {
                return found;
            }
            sources.pop();
        }
        None
    }

    /// Pairs that the axioms put into the commit order; none when one precedes the beginning.
    fn forced(
        &self,
        model: ConsistencyModel,
        reads: &[Foreign],
        sources: &[Option<usize>],
    ) -> Option<Vec<(usize, usize)>> {
        let len = self.here.len();
        let mut leads = vec![vec![false; len]; len];
        for (later, transaction) in self.here.iter().enumerate() {
            for (earlier, other) in self.here.iter().enumerate().take(later) {
                let session = |t: Txn| self.history.session_of(t);
                leads[earlier][later] |= session(*transaction) == session(*other);
            }
        }
        for ((reader, ..), source) in reads.iter().zip(sources) {
            if let Some(source) = source {
                leads[*source][*reader] = true;
            }
        }
        let base = leads.clone();
        if model == ConsistencyModel::Causal {
            for middle in 0..len {
                for from in 0..len {
                    for to in 0..len {
                        leads[from][to] |= leads[from][middle] && leads[middle][to];
                    }
                }
            }
        }
        let mut pairs: Vec<(usize, usize)> = self.list_pairs()?;
        for (from, row) in base.iter().enumerate() {
            pairs.extend((0..len).filter(|to| row[*to]).map(|to| (from, to)));
        }
        for (at, ((reader, key, ..), source)) in reads.iter().zip(sources).enumerate() {
            for (other, row) in leads.iter().enumerate() {
                let is_earlier = |r: usize| reads[r].0 == *reader && sources[r] == Some(other);
                let sees = match model {
                    ConsistencyModel::ReadCommitted => (0..at).any(is_earlier),
                    ConsistencyModel::ReadAtomic
                    | ConsistencyModel::Causal
                    | ConsistencyModel::Snapshot
                    | ConsistencyModel::Serializable
                    | ConsistencyModel::StrictSerializable
                    | ConsistencyModel::Linearizable => row[*reader],
                };
                if sees
                    && *source != Some(other)
                    && other != *reader
                    && self.last_write(other, *key).is_some()
                {
                    pairs.push((other, (*source)?));
                }
            }
        }
        Some(pairs)
    }

    /// Pairs that lists put into the commit order; none when a list names a value that no transaction
    /// wrote.
    fn list_pairs(&self) -> Option<Vec<(usize, usize)>> {
        let mut pairs = Vec::new();
        for (key, values) in self.history.orders() {
            let wrote = |place: usize, value: Atom| {
                let is_it = |e: Event| (e.kind, e.key, e.value) == (Kind::Write, *key, value);
                self.history.events(self.here[place]).any(is_it)
            };
            let mut writers = Vec::new();
            for value in values {
                writers.push((0..self.here.len()).find(|place| wrote(*place, *value))?);
            }
            // Whole transactions one after the other, the last perhaps cut.
            let mut at = 0;
            while at < writers.len() {
                for event in self.history.events(self.here[writers[at]]) {
                    if event.kind == Kind::Write && event.key == *key {
                        if values.get(at).is_some_and(|value| *value != event.value) {
                            return None;
                        }
                        at += 1;
                    }
                }
            }
            let changes = writers.windows(2).filter(|pair| pair[0] != pair[1]);
            pairs.extend(changes.map(|pair| (pair[0], pair[1])));
            let others = (0..self.here.len()).filter(|place| !writers.contains(place));
            for other in others.filter(|place| self.last_write(*place, *key).is_some()) {
                pairs.extend(writers.iter().map(|writer| (*writer, other)));
            }
        }
        Some(pairs)
    }

    /// Some order of all transactions that has every pair.
    fn ordered(&self, pairs: &[(usize, usize)]) -> Option<Vec<Txn>> {
        let mut order: Vec<usize> = Vec::new();
        while order.len() < self.here.len() {
            let is_free = |place: &usize| {
                !order.contains(place)
                    && pairs
                        .iter()
                        .all(|(from, to)| to != place || order.contains(from))
            };
            let next = (0..self.here.len()).find(is_free)?;
            order.push(next);
        }
        Some(order.into_iter().map(|place| self.here[place]).collect())
    }
}
