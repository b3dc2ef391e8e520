//! The general engine for snapshot isolation and serializability (PolySI, VLDB 2023).
//!
//! Where events leave the order of two chains of versions open, a *constraint* is an either/or of
//! two sets of edges: the one chain first, or the other. Reachability decides most of them
//! (`prune`), a SAT solver whose theory is an acyclic graph decides the rest (`solve`). For
//! snapshot isolation every transaction is two vertices, so that a forbidden cycle is a plain one
//! and nothing has to be composed.

mod acyclic;
mod polygraph;
mod prune;
mod reduce;
mod solve;

pub(super) use reduce::restricted;

use super::evidence::{Counterexample, Witness};
use super::explain::{CycleKind, counterexample};
use super::mtc::{points, transactions_of};
use super::resolve::{Resolved, Unresolved, resolve};
use super::versions::{Chains, chains};
use super::{Answer, Budget, Checker, Model, weak};
use crate::history::History;

use polygraph::{Polygraph, View};
use solve::Solved;

/// The general engine.
pub(super) struct PolySi;

/// How much of the time budget may go into making a counterexample small, in transactions looked
/// at: beyond it the counterexample stays as large as it is.
const REDUCED_EVENTS_MAX: usize = 40_000_000;

impl Checker for PolySi {
    fn name(&self) -> &'static str {
        "polysi"
    }

    fn models(&self) -> &'static [Model] {
        &[
            Model::Snapshot,
            Model::Serializable,
            Model::StrictSerializable,
            Model::Linearizable,
        ]
    }

    fn check(&self, history: &History, model: Model, budget: Budget) -> Answer {
        let resolved = match resolve(history) {
            Ok(resolved) => resolved,
            Err(Unresolved::Violated(counterexample)) => return Answer::Violated(counterexample),
            Err(Unresolved::Ambiguous { key, value }) => {
                return Answer::Unknown(Unresolved::reason(history, key, value));
            }
        };
        if let Some(counterexample) = &resolved.non_repeatable {
            return Answer::Violated(counterexample.clone());
        }
        let chains = match chains(&resolved) {
            Ok(chains) => chains,
            Err(counterexample) => return Answer::Violated(counterexample),
        };
        if model >= Model::StrictSerializable
            && let Some(t) = resolved.live().find(|t| history.real_time(*t).is_none())
        {
            return Answer::Unknown(format!("{} has no real time", history.name(t)));
        }
        match decide(&resolved, &chains, model, budget) {
            Outcome::Order(order) => Answer::Satisfied(witness(&resolved, model, order)),
            // A violation of causal consistency says more than one of a stronger model.
            Outcome::Cycle(cycle) => match weak::Weak.check(history, Model::Causal, budget) {
                Answer::Violated(found) => Answer::Violated(found),
                _ => Answer::Violated(cycle),
            },
            Outcome::Stuck => {
                let events = REDUCED_EVENTS_MAX;
                Answer::Violated(reduce::counterexample(history, model, budget, events))
            }
            Outcome::TooMuch(reason) => Answer::Unknown(reason.to_owned()),
        }
    }
}

/// What came out of the polygraph.
enum Outcome {
    /// A topological order of its vertices.
    Order(Vec<u32>),
    /// A cycle of known edges.
    Cycle(Counterexample),
    /// No choice is acyclic.
    Stuck,
    TooMuch(&'static str),
}

fn decide(resolved: &Resolved<'_>, chains: &Chains, model: Model, budget: Budget) -> Outcome {
    let view = View::of(model);
    let mut polygraph = Polygraph::new(resolved, chains, view);
    if let Err(cycle) = polygraph.order() {
        return Outcome::Cycle(known_cycle(resolved, chains, view, &cycle));
    }
    match prune::prune(&mut polygraph, budget) {
        Ok(()) => {}
        Err(prune::Stopped::Violated) => return Outcome::Stuck,
        Err(prune::Stopped::TimeIsOver) => return Outcome::TooMuch("the budget is over"),
    }
    match solve::solve(&polygraph, budget) {
        Solved::Order(order) => Outcome::Order(order),
        Solved::Stuck => Outcome::Stuck,
        Solved::TimeIsOver => Outcome::TooMuch("the budget is over"),
    }
}

/// Whether some choice is acyclic; none when the time was over.
fn is_satisfied(history: &History, model: Model, budget: Budget) -> Option<bool> {
    let Ok(resolved) = resolve(history) else {
        return Some(false);
    };
    if resolved.non_repeatable.is_some() {
        return Some(false);
    }
    let Ok(chains) = chains(&resolved) else {
        return Some(false);
    };
    match decide(&resolved, &chains, model, budget) {
        Outcome::Order(_) => Some(true),
        Outcome::Cycle(_) | Outcome::Stuck => Some(false),
        Outcome::TooMuch(_) => None,
    }
}

/// The counterexample of a cycle before any choice.
fn known_cycle(
    resolved: &Resolved<'_>,
    chains: &Chains,
    view: View,
    cycle: &[u32],
) -> Counterexample {
    let transactions = match view {
        View::Split => transactions_of(cycle),
        View::Whole | View::Strict => {
            let len = resolved.len();
            cycle
                .iter()
                .copied()
                .filter(|v| (*v as usize) < len)
                .collect()
        }
    };
    let kind = match view {
        View::Strict => CycleKind::RealTime,
        View::Split | View::Whole => CycleKind::Plain,
    };
    counterexample(resolved, chains, &transactions, kind)
}

fn witness(resolved: &Resolved<'_>, model: Model, order: Vec<u32>) -> Witness {
    if model == Model::Snapshot {
        return Witness::Points(points(resolved, &order));
    }
    let is_real = |t: &u32| *t > 0 && resolved.is_live.get(*t as usize) == Some(&true);
    Witness::Order(order.into_iter().filter(is_real).collect())
}
