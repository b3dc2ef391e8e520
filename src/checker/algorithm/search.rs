//! A search for one serial order, whatever the values: the answer where written values repeat.
//!
//! Wing and Gong's algorithm with Lowe's memory of what was tried (Porcupine): a transaction may
//! come next if nothing that ended before it began is still to come. Linearizability and strict
//! serializability with all real times are local to groups of keys that no transaction joins, so
//! each group is searched alone. Serializability has no real time to steer by and is tried within
//! the memory bound only.

use std::collections::{BTreeMap, BTreeSet};

use crate::checker::answer::{Answer, Checker};
use crate::checker::budget::Budget;
use crate::checker::evidence::counterexample::Counterexample;
use crate::checker::evidence::reduce;
use crate::checker::evidence::witness::Witness;
use crate::history::{Atom, Event, History, Interner, Key, Kind, Span, Status, Txn};
use crate::model::Anomaly;
use crate::model::ConsistencyModel;

/// Searches a serial order.
pub(in crate::checker) struct SerialSearch;

/// Words of memory that a search may spend on what it has tried.
const TRIED_WORDS_MAX: usize = 1 << 25;

/// And all searches together that make a counterexample small.
const REDUCING_WORDS_MAX: usize = 1 << 22;

impl Checker for SerialSearch {
    fn name(&self) -> &'static str {
        "search"
    }

    fn models(&self) -> &'static [ConsistencyModel] {
        &[
            ConsistencyModel::Serializable,
            ConsistencyModel::StrictSerializable,
            ConsistencyModel::Linearizable,
        ]
    }

    fn check(&self, history: &History, model: ConsistencyModel, budget: Budget) -> Answer {
        let mut words = TRIED_WORDS_MAX;
        match search(history, model, budget, &mut words) {
            Found::Order(order) => Answer::Satisfied(Witness::Order(order)),
            Found::TooMuch(reason) => Answer::Unknown(reason),
            Found::None(group) => Answer::Violated(Counterexample {
                anomaly: Anomaly::NoSerialOrder,
                edges: Vec::new(),
                core: smallest(history, group, model, budget),
            }),
        }
    }
}

/// The result of a search.
enum Found {
    Order(Vec<Txn>),
    /// These have no order.
    None(Vec<Txn>),
    TooMuch(String),
}

/// Transactions without an order of which none can be left out, as far as that is found soon.
fn smallest(
    history: &History,
    group: Vec<Txn>,
    model: ConsistencyModel,
    budget: Budget,
) -> Vec<Txn> {
    let mut words = REDUCING_WORDS_MAX;
    let has_none = |part: &History| {
        let found = search(part, model, budget, &mut words);
        matches!(found, Found::None(_))
    };
    reduce::core_of(history, group, budget, has_none)
}

/// Looks for an order of each group; `words` of memory may be spent, and fewer are left.
fn search(history: &History, model: ConsistencyModel, budget: Budget, words: &mut usize) -> Found {
    if !history.order_conflicts().is_empty() {
        return Found::TooMuch("lists contradict each other".to_owned());
    }
    let is_strict = model != ConsistencyModel::Serializable;
    let all = history.transactions();
    let here: Vec<Txn> = all
        .filter(|t| history.status(*t) != Status::Aborted)
        .collect();
    let untimed = here.iter().find(|t| history.real_time(**t).is_none());
    if is_strict && let Some(t) = untimed {
        return Found::TooMuch(format!("{} has no real time", history.name(*t)));
    }
    let lists = ListOrders::of(history);
    if let Some(reason) = lists.unknown(history) {
        return Found::TooMuch(reason.to_owned());
    }
    let groups = if is_strict {
        groups(history)
    } else {
        vec![here]
    };
    let mut points: Vec<(i64, usize, Txn)> = Vec::new();
    for group in groups {
        let mut run = GroupSearch::new(history, &lists, &group, is_strict);
        let order = match run.search(budget, words) {
            Ok(Some(order)) => order,
            Ok(None) => return Found::None(group),
            Err(reason) => return Found::TooMuch(reason.to_owned()),
        };
        let mut latest = i64::MIN;
        for (place, transaction) in order.into_iter().enumerate() {
            if is_strict && let Some(span) = history.real_time(transaction) {
                latest = latest.max(span.from);
            }
            points.push((latest, place, transaction));
        }
    }
    points.sort_unstable();
    let order = points.into_iter().map(|(_, _, transaction)| transaction);
    Found::Order(order.collect())
}

/// Transactions that did not abort, in groups that share no key, and whose order in their sessions
/// real time shows.
fn groups(history: &History) -> Vec<Vec<Txn>> {
    let mut keys = Joined(history.all_keys().collect());
    let first = |t: Txn| history.events(t).next().map(|event| event.key);
    let mut sessions: BTreeMap<u32, Vec<(i64, Key)>> = BTreeMap::new();
    for transaction in history.transactions() {
        let Some(first) = first(transaction) else {
            continue;
        };
        for event in history.events(transaction) {
            keys.join(first, event.key);
        }
        let span = history.real_time(transaction);
        let Some(span) = span.filter(|_| history.status(transaction) != Status::Aborted) else {
            continue;
        };
        // What began when its session was not done, by its clock, is ordered by the session alone.
        let earlier = sessions.entry(history.session_of(transaction)).or_default();
        for (_, key) in earlier.iter().filter(|(end, _)| *end >= span.from) {
            keys.join(first, *key);
        }
        let mine = keys.root(first);
        earlier.retain(|(end, key)| *end > span.to || keys.root(*key) != mine);
        earlier.push((span.to, first));
    }
    let mut groups: BTreeMap<Key, Vec<Txn>> = BTreeMap::new();
    for transaction in history.transactions() {
        if history.status(transaction) != Status::Aborted {
            // A transaction without events stands in the group of the first key: it binds nothing.
            let group = first(transaction).map_or(Key::new(0), |key| keys.root(key));
            groups.entry(group).or_default().push(transaction);
        }
    }
    groups.into_values().collect()
}

/// Which keys belong together: each knows another of its set, or is its root.
struct Joined(Vec<Key>);

impl Joined {
    fn root(&mut self, mut key: Key) -> Key {
        while self.0[key] != key {
            self.0[key] = self.0[self.0[key]];
            key = self.0[key];
        }
        key
    }

    fn join(&mut self, one: Key, other: Key) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one] = other;
    }
}

/// What lists say: the value that must be there when a value is appended.
struct ListOrders {
    before: BTreeMap<(Key, Atom), Atom>,
    /// Values of listed keys after which nothing but the next of the list may be written.
    inner: BTreeSet<(Key, Atom)>,
}

impl ListOrders {
    fn of(history: &History) -> Self {
        let (mut before, mut inner) = (BTreeMap::new(), BTreeSet::new());
        for (key, values) in history.orders() {
            let mut last = history.initial(*key);
            for value in values {
                before.insert((*key, *value), last);
                inner.insert((*key, last));
                last = *value;
            }
        }
        Self { before, inner }
    }

    /// What keeps the lists from saying which write they mean.
    fn unknown(&self, history: &History) -> Option<&'static str> {
        let mut written: BTreeSet<(Key, Atom)> = BTreeSet::new();
        let real = history
            .transactions()
            .filter(|t| history.status(*t) != Status::Aborted);
        let events = real.flat_map(|t| history.events(t));
        for event in events.filter(|event| event.kind == Kind::Write) {
            let is_initial = event.value == history.initial(event.key);
            if is_initial && self.inner.contains(&(event.key, event.value)) {
                return Some("what a listed key holds at first was written, too");
            }
            if self.names(event) && !written.insert((event.key, event.value)) {
                return Some("a list names a value that was written more than once");
            }
        }
        let is_unwritten = self.before.len() > written.len();
        is_unwritten.then_some("a list names a value that no transaction committed")
    }

    /// Whether an event writes what a list names.
    fn names(&self, event: Event) -> bool {
        event.kind == Kind::Write && self.before.contains_key(&(event.key, event.value))
    }

    /// Whether a value may be written over another.
    fn allow(&self, key: Key, held: Atom, value: Atom) -> bool {
        match self.before.get(&(key, value)) {
            Some(before) => *before == held,
            None => !self.inner.contains(&(key, held)),
        }
    }
}

/// A transaction that was put into the order, and what it changed.
struct Step {
    place: usize,
    old: Vec<(Key, Atom)>,
}

/// A search of one group.
struct GroupSearch<'h> {
    history: &'h History,
    lists: &'h ListOrders,
    /// The transactions by their beginning.
    group: Vec<Txn>,
    /// Beginning and end of each in real time; an end at infinity constrains no other.
    spans: Vec<Span>,
    /// The place of the last committed transaction before in the session.
    before: Vec<Option<usize>>,
    /// Whether it may be left out: its commit is not known, and no list names what it wrote.
    is_optional: Vec<bool>,
    /// Transactions not yet in the order, as a list in order of their beginning: place to next.
    next: Vec<usize>,
    previous: Vec<usize>,
    is_done: Vec<u64>,
    values: BTreeMap<Key, Atom>,
    tried: Interner,
    configurations: Vec<Box<[u64]>>,
}

impl<'h> GroupSearch<'h> {
    fn new(history: &'h History, lists: &'h ListOrders, group: &[Txn], is_strict: bool) -> Self {
        let span = |t: Txn| match history.real_time(t) {
            Some(span) if is_strict => span,
            _ => Span {
                from: i64::MIN,
                to: i64::MAX,
            },
        };
        let mut group = group.to_vec();
        group.sort_by_key(|t| (span(*t).from, *t));
        let len = group.len();
        let mut last: BTreeMap<u32, usize> = BTreeMap::new();
        let is_optional = group.iter().map(|t| {
            history.status(*t) == Status::Indeterminate
                && !history.events(*t).any(|event| lists.names(event))
        });
        let is_optional: Vec<bool> = is_optional.collect();
        let mut by_number: Vec<usize> = (0..len).collect();
        by_number.sort_by_key(|place| group[*place]);
        let mut before = vec![None; len];
        for place in by_number {
            let session = history.session_of(group[place]);
            before[place] = last.get(&session).copied();
            if !is_optional[place] {
                last.insert(session, place);
            }
        }
        let mut values = BTreeMap::new();
        for transaction in &group {
            for event in history.events(*transaction) {
                values.insert(event.key, history.initial(event.key));
            }
        }
        Self {
            history,
            lists,
            spans: group.iter().map(|t| span(*t)).collect(),
            before,
            is_optional,
            // Place `len` is both ends of the list.
            next: (1..=len).chain([0]).collect(),
            previous: [len].into_iter().chain(0..len).collect(),
            is_done: vec![0; len.div_ceil(64)],
            group,
            values,
            tried: Interner::default(),
            configurations: Vec::new(),
        }
    }

    fn has(&self, place: usize) -> bool {
        self.is_done[place / 64] >> (place % 64) & 1 == 1
    }

    fn is_optional(&self, place: usize) -> bool {
        self.is_optional[place]
    }

    /// An order, if there is one.
    ///
    /// # Errors
    /// When the memory or the budget is over.
    fn search(
        &mut self,
        budget: Budget,
        words: &mut usize,
    ) -> Result<Option<Vec<Txn>>, &'static str> {
        let len = self.group.len();
        let mut missing = (0..len).filter(|place| !self.is_optional(*place)).count();
        let mut path: Vec<Step> = Vec::new();
        let mut at = self.next[len];
        while missing > 0 {
            // What ended first among those still to come bounds who may come next.
            if at != len
                && self.may_come(at)
                && let Some(old) = self.apply(at)
            {
                self.is_done[at / 64] |= 1 << (at % 64);
                if self.is_new(words) {
                    self.unlink(at);
                    missing -= usize::from(!self.is_optional(at));
                    path.push(Step { place: at, old });
                    at = self.next[len];
                    continue;
                }
                self.is_done[at / 64] &= !(1 << (at % 64));
                old.into_iter().rev().for_each(|(key, value)| {
                    self.values.insert(key, value);
                });
            }
            if *words == 0 {
                return Err("the search remembers as much as it may");
            }
            if self.configurations.len().is_multiple_of(256) && budget.is_over() {
                return Err(Budget::IS_OVER);
            }
            if at != len && !self.is_bound(at) {
                at = self.next[at];
                continue;
            }
            let Some(step) = path.pop() else {
                return Ok(None);
            };
            step.old.into_iter().rev().for_each(|(key, value)| {
                self.values.insert(key, value);
            });
            self.is_done[step.place / 64] &= !(1 << (step.place % 64));
            self.relink(step.place);
            missing += usize::from(!self.is_optional(step.place));
            at = self.next[step.place];
        }
        let order = path.iter().map(|step| self.group[step.place]);
        Ok(Some(order.collect()))
    }

    /// Whether a transaction that is still to come ended before this one, or a later one, began.
    /// A transaction that may be left out constrains no other: it is left out then.
    fn is_bound(&self, at: usize) -> bool {
        let begin = self.spans[at].from;
        let len = self.group.len();
        let mut other = self.next[len];
        while other != len && self.spans[other].from < begin {
            if self.spans[other].to < begin && !self.is_optional(other) {
                return true;
            }
            other = self.next[other];
        }
        false
    }

    fn may_come(&self, at: usize) -> bool {
        let session = self.before[at];
        let waits = |before: usize| !self.has(before);
        // One that may have happened cannot do so after what its session did later, nor after what
        // began when it had ended.
        let is_late = || {
            let session = |place: usize| self.history.session_of(self.group[place]);
            let follows = |place: usize| {
                let is_later = session(place) == session(at) && self.group[place] > self.group[at];
                is_later || self.spans[place].from > self.spans[at].to
            };
            (0..self.group.len()).any(|place| self.has(place) && follows(place))
        };
        !(self.is_bound(at) || session.is_some_and(waits) || (self.is_optional(at) && is_late()))
    }

    /// Reads and writes; the old values, or none where a read finds something else.
    fn apply(&mut self, at: usize) -> Option<Vec<(Key, Atom)>> {
        let mut old = Vec::new();
        let mut agrees = true;
        for event in self.history.events(self.group[at]) {
            let held = self.values.get(&event.key).copied().unwrap_or_default();
            match event.kind {
                Kind::Read => agrees &= held == event.value,
                Kind::Write => {
                    agrees &= self.lists.allow(event.key, held, event.value);
                    old.push((event.key, held));
                    self.values.insert(event.key, event.value);
                }
            }
            if !agrees {
                break;
            }
        }
        if agrees {
            return Some(old);
        }
        old.into_iter().rev().for_each(|(key, value)| {
            self.values.insert(key, value);
        });
        None
    }

    /// Whether this set of transactions with these values was not tried before.
    fn is_new(&mut self, words: &mut usize) -> bool {
        let values = self.values.values().map(|value| value.bits());
        let configuration: Box<[u64]> = self.is_done.iter().copied().chain(values).collect();
        let hash = configuration.iter().fold(0u64, |hash, word| {
            (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
        });
        let fresh = self.configurations.len() as u32;
        let known = &self.configurations;
        let equal = |other: u32| known[other as usize] == configuration;
        let is_new = self.tried.find_or_insert(hash, fresh, equal) == fresh;
        if is_new {
            *words = words.saturating_sub(configuration.len() + 4);
            self.configurations.push(configuration);
        }
        is_new
    }

    fn unlink(&mut self, at: usize) {
        let (next, previous) = (self.next[at], self.previous[at]);
        self.next[previous] = next;
        self.previous[next] = previous;
    }

    fn relink(&mut self, at: usize) {
        let (next, previous) = (self.next[at], self.previous[at]);
        self.next[previous] = at;
        self.previous[next] = at;
    }
}
