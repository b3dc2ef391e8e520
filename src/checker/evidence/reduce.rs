//! Small counterexamples where no one cycle shows the violation.
//!
//! A history stays satisfied when reads are left out, and when transactions are left out with the
//! reads of what they wrote. So whatever is left over and still violates the model shows that the
//! whole does; delta debugging finds a part from which nothing more can be left out.

use std::collections::BTreeMap;

use crate::checker::budget::Budget;
use crate::history::{Atom, Builder, Event, Head, History, Key, Kind, Status, Txn};

/// How much of the budget may go into making a counterexample small, in events looked at: beyond
/// it the counterexample stays as large as it is.
const REDUCED_EVENTS_MAX: usize = 40_000_000;

/// Transactions that violate a model by themselves, and of which none can be left out: as long as
/// the budget lasts. `violates` tells of a history that was restricted to some of them.
pub(in crate::checker) fn core(
    history: &History,
    budget: Budget,
    violates: impl FnMut(&History) -> bool,
) -> Vec<Txn> {
    let all = history.transactions();
    let all = all
        .filter(|t| history.status(*t) != Status::Aborted)
        .collect();
    core_of(history, all, budget, violates)
}

/// The same of transactions that are known to violate the model by themselves.
pub(in crate::checker) fn core_of(
    history: &History,
    mut core: Vec<Txn>,
    budget: Budget,
    mut violates: impl FnMut(&History) -> bool,
) -> Vec<Txn> {
    let writers = Writers::of(history);
    let mut events_left = REDUCED_EVENTS_MAX;
    let mut violates = |part: &[Txn]| {
        if budget.is_over() {
            return false;
        }
        let Some(history) = writers.restricted(part) else {
            return false;
        };
        if history.event_count() > events_left {
            return false;
        }
        events_left -= history.event_count();
        violates(&history)
    };
    let mut pieces = 2;
    while core.len() > 1 && pieces <= core.len() && !budget.is_over() {
        let size = core.len().div_ceil(pieces);
        let without = |piece: &[Txn]| -> Vec<Txn> {
            core.iter()
                .copied()
                .filter(|t| !piece.contains(t))
                .collect()
        };
        let smaller = core.chunks(size).map(without).find(|part| violates(part));
        match smaller {
            Some(part) => {
                core = part;
                pieces = (pieces - 1).max(2);
            }
            None if pieces == core.len() => break,
            None => pieces = (pieces * 2).min(core.len()),
        }
    }
    core
}

/// The history of some transactions, without the reads of what others wrote. None when it cannot
/// be built.
pub(in crate::checker) fn restricted(history: &History, part: &[Txn]) -> Option<History> {
    Writers::of(history).restricted(part)
}

/// Who wrote which value.
struct Writers<'h> {
    history: &'h History,
    /// By key and value; those that aborted are none.
    of: BTreeMap<(Key, Atom), Vec<Txn>>,
}

impl<'h> Writers<'h> {
    fn of(history: &'h History) -> Self {
        let mut of: BTreeMap<(Key, Atom), Vec<Txn>> = BTreeMap::new();
        for transaction in history.transactions() {
            if history.status(transaction) == Status::Aborted {
                continue;
            }
            let events = history.events(transaction);
            for event in events.filter(|event| event.kind == Kind::Write) {
                let writers = of.entry((event.key, event.value)).or_default();
                if writers.last() != Some(&transaction) {
                    writers.push(transaction);
                }
            }
        }
        Self { history, of }
    }

    fn restricted(&self, part: &[Txn]) -> Option<History> {
        let history = self.history;
        let mut is_part = vec![false; history.len()];
        for transaction in part {
            is_part[*transaction] = true;
        }
        // A read stays if every transaction that may have written its value does: with fewer writers
        // to choose from, a part could violate what the whole satisfies. A value without a writer
        // violates the whole anyway.
        let is_kept = |key: Key, value: Atom| {
            let writers = self.of.get(&(key, value)).into_iter().flatten();
            writers.into_iter().all(|writer| is_part[*writer])
        };
        let is_here = |_: Txn, event: Event, _: usize| {
            event.kind == Kind::Write || is_kept(event.key, event.value)
        };
        let is_left = |key: Key, value: Atom| {
            let writers = self.of.get(&(key, value));
            writers.is_some_and(|all| all.iter().any(|t| is_part[*t]))
        };
        rebuilt(history, part, is_here, is_left)
    }
}

/// A history of some transactions and of those of their events, and of the values of listed orders, that are wanted;
/// an event is told by its transaction, itself and its place there. None when it cannot be built.
pub(in crate::checker) fn rebuilt(
    history: &History,
    transactions: &[Txn],
    is_here: impl Fn(Txn, Event, usize) -> bool,
    is_left: impl Fn(Key, Atom) -> bool,
) -> Option<History> {
    let mut builder = Builder::new(Atom::NIL);
    for key in history.all_keys() {
        let number = builder.key(key.number().into()).ok()?;
        builder.set_initial(number, history.initial(key));
    }
    for transaction in transactions {
        let head = Head {
            session: history.session_of(*transaction).into(),
            label: transaction.number().into(),
            status: history.status(*transaction),
            timestamps: None,
            real_time: history.real_time(*transaction),
        };
        let events = history.events(*transaction).enumerate();
        let events = events.filter(|(place, event)| is_here(*transaction, *event, *place));
        let events = events.map(|(_, event)| event);
        builder.transaction(&head, events).ok()?;
    }
    for (key, values) in history.orders() {
        let left = values.iter().copied().filter(|value| is_left(*key, *value));
        builder.order(*key, left.collect());
    }
    Some(builder.finish())
}
