//! Small counterexamples where no one cycle shows the violation.
//!
//! A history stays satisfied when reads are left out, and when transactions are left out with the
//! reads of what they wrote. So whatever is left over and still violates the model shows that the
//! whole does; delta debugging finds a part from which nothing more can be left out.

use crate::checker::anomaly::Anomaly;
use crate::checker::evidence::Counterexample;
use crate::checker::{Answer, Budget, Checker, Model, weak};
use std::collections::BTreeSet;

use crate::history::{Atom, Builder, Event, Head, History, Kind, Status};

/// The counterexample of a history that violates the model.
pub(super) fn counterexample(
    history: &History,
    model: Model,
    budget: Budget,
    mut events_left: usize,
) -> Counterexample {
    // A violation of a weak model is one of the stronger, and is a cycle.
    for weaker in [Model::ReadCommitted, Model::ReadAtomic, Model::Causal] {
        if let Answer::Violated(found) = weak::Weak.check(history, weaker, budget) {
            return found;
        }
    }
    let mut core: Vec<u32> = history
        .transactions()
        .filter(|t| history.status(*t) != Status::Aborted)
        .collect();
    let mut violates = |part: &[u32]| {
        let Some(history) = restricted(history, part) else {
            return false;
        };
        if history.event_count() > events_left || budget.is_over() {
            return false;
        }
        events_left -= history.event_count();
        super::is_satisfied(&history, model, budget) == Some(false)
    };
    let mut pieces = 2;
    while core.len() > 1 && pieces <= core.len() {
        let size = core.len().div_ceil(pieces);
        let without = |piece: &[u32]| -> Vec<u32> {
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
    let anomaly = match model {
        Model::Snapshot => Anomaly::LongFork,
        _ => name_of_serial(history, &core, budget),
    };
    Counterexample {
        anomaly,
        edges: Vec::new(),
        core,
    }
}

/// What snapshot isolation allows is a write skew; what it forbids too is a long fork.
fn name_of_serial(history: &History, core: &[u32], budget: Budget) -> Anomaly {
    let part = restricted(history, core);
    match part.and_then(|part| super::is_satisfied(&part, Model::Snapshot, budget)) {
        Some(true) => Anomaly::WriteSkew,
        Some(false) => Anomaly::LongFork,
        None => Anomaly::NoVersionOrder,
    }
}

/// The history of some transactions, without the reads of what others wrote. None when it cannot
/// be built.
pub(in crate::checker) fn restricted(history: &History, part: &[u32]) -> Option<History> {
    let mut written: BTreeSet<(u32, Atom)> = BTreeSet::new();
    for transaction in part {
        let writes = history
            .events(*transaction)
            .filter(|e| e.kind == Kind::Write);
        written.extend(writes.map(|event| (event.key, event.value)));
    }
    let mut builder = Builder::new(Atom::NIL);
    for key in 0..history.key_count() as u32 {
        let number = builder.key(key.into()).ok()?;
        builder.set_initial(number, history.initial(key));
    }
    for transaction in part {
        let is_here = |event: &Event| {
            event.kind == Kind::Write
                || event.value == history.initial(event.key)
                || written.contains(&(event.key, event.value))
        };
        let head = Head {
            session: history.session_of(*transaction).into(),
            label: (*transaction).into(),
            status: history.status(*transaction),
            timestamps: None,
            real_time: history.real_time(*transaction),
        };
        builder
            .transaction(&head, history.events(*transaction).filter(is_here))
            .ok()?;
    }
    for (key, values) in history.orders() {
        let left = values
            .iter()
            .copied()
            .filter(|value| written.contains(&(*key, *value)));
        builder.order(*key, left.collect());
    }
    Some(builder.finish())
}
