//! The general engine for snapshot isolation and serializability (PolySI, VLDB 2023).
//!
//! Where events leave the order of two chains of versions open, a *constraint* is an either/or of
//! two sets of edges: the one chain first, or the other. Reachability decides most of them
//! (`prune`), a SAT solver whose theory is an acyclic graph decides the rest (`solve`). Where values
//! repeat, a read may be of several writers: what is known leaves fewer (`narrow`), a run of the
//! history finds orders (`schedule`), and so does annealing (`anneal`). The solver chooses writers, too
//! (`open`), with a theory that excludes at once what would close a cycle (`eager`), and begins again
//! where annealing ended. For
//! snapshot isolation every transaction is two vertices, so that a forbidden cycle is a plain one
//! and nothing has to be composed.

mod acyclic;
mod anneal;
mod closure;
mod deeds;
mod eager;
mod greedy;
mod heat_bath;
mod judge;
mod key_line;
mod movable;
mod name;
mod narrow;
mod open;
pub(in crate::checker) mod orders;
mod outcome;
mod polygraph;
mod prune;
mod reach;
mod sat;
mod schedule;
mod solve;
#[cfg(test)]
mod tests;
mod watches;
mod writers;

use self::judge::{is_satisfied, judge};
use self::outcome::PolygraphOutcome;
use crate::checker::algorithm::weak;
use crate::checker::answer::{Answer, Checker};
use crate::checker::budget::Budget;
use crate::checker::evidence::counterexample::Counterexample;
use crate::checker::evidence::reduce;
use crate::history::History;
use crate::model::Anomaly;
use crate::model::ConsistencyModel;

/// The general engine.
pub(in crate::checker) struct PolySi;

impl Checker for PolySi {
    fn name(&self) -> &'static str {
        "polysi"
    }

    fn models(&self) -> &'static [ConsistencyModel] {
        &[
            ConsistencyModel::Snapshot,
            ConsistencyModel::Serializable,
            ConsistencyModel::StrictSerializable,
            ConsistencyModel::Linearizable,
        ]
    }

    fn check(&self, history: &History, model: ConsistencyModel, budget: Budget) -> Answer {
        match judge(history, model, budget) {
            PolygraphOutcome::Satisfied(witness) => Answer::Satisfied(witness),
            PolygraphOutcome::Violated(counterexample) => Answer::Violated(counterexample),
            // A violation of causal consistency says more than one of a stronger model.
            PolygraphOutcome::Cycle(cycle) => {
                match weak::Weak.check(history, ConsistencyModel::Causal, budget) {
                    Answer::Violated(found) => Answer::Violated(found),
                    Answer::Satisfied(_) | Answer::Unknown(_) => Answer::Violated(cycle),
                }
            }
            PolygraphOutcome::Stuck => Answer::Violated(smallest(history, model, budget)),
            PolygraphOutcome::TooMuch(reason) => Answer::Unknown(reason),
        }
    }
}

/// A small counterexample of a history whose every choice is a violation.
fn smallest(history: &History, model: ConsistencyModel, budget: Budget) -> Counterexample {
    // A violation of a weak model is one of the stronger, and is a cycle.
    for weaker in [
        ConsistencyModel::ReadCommitted,
        ConsistencyModel::ReadAtomic,
        ConsistencyModel::Causal,
    ] {
        if let Answer::Violated(found) = weak::Weak.check(history, weaker, budget) {
            return found;
        }
    }
    let core = reduce::core(history, budget, |part| {
        is_satisfied(part, model, budget) == Some(false)
    });
    let anomaly = reduce::restricted(history, &core).map_or(Anomaly::NoVersionOrder, |part| {
        name::name(&part, model, budget)
    });
    let edges = Vec::new();
    Counterexample {
        anomaly,
        edges,
        core,
    }
}
