//! Linear-time checks where every version order is known (MTC, ICDE 2025, section IV).
//!
//! The paper asks for mini-transactions. What its proofs use is less: written values are unique,
//! and each key has one version order that the events themselves give, because every write follows
//! a read of the same key, or a list shows it. That is the precondition here, whatever the size of
//! the transactions; where it does not hold the answer is unknown. Transactions that write a key
//! twice, or that read what they did not install, are what they are (`resolve`).

mod lightweight;

use crate::checker::answer::{Answer, Checker};
use crate::checker::budget::Budget;
use crate::checker::evidence::cycle::{CycleKind, counterexample};
use crate::checker::evidence::witness::Witness;
use crate::checker::resolved::arcs::Arcs;
use crate::checker::resolved::dependencies::{DependencyEdge, dependencies, real_time};
use crate::checker::resolved::resolve::{Resolved, Unresolved, resolve};
use crate::checker::resolved::starts_and_commits::{points, transactions_of};
use crate::checker::resolved::versions::{ChainedVersions, chains};
use crate::checker::resolved::vertex::Vertex;
use crate::history::{History, Txn};
use crate::model::ConsistencyModel;

/// The linear path for snapshot isolation, serializability and strict serializability.
pub(in crate::checker) struct Mtc;

impl Checker for Mtc {
    fn name(&self) -> &'static str {
        "mtc"
    }

    fn models(&self) -> &'static [ConsistencyModel] {
        &[
            ConsistencyModel::Snapshot,
            ConsistencyModel::Serializable,
            ConsistencyModel::StrictSerializable,
            ConsistencyModel::Linearizable,
        ]
    }

    fn check(&self, history: &History, model: ConsistencyModel, _budget: Budget) -> Answer {
        if model == ConsistencyModel::Linearizable {
            match lightweight::check(history) {
                Answer::Unknown(_) => {}
                answer @ (Answer::Satisfied(_) | Answer::Violated(_)) => return answer,
            }
        }
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
        if !chains.is_total() {
            let key = history.spelled(history.key(chains.heads[0].0));
            return Answer::Unknown(format!("the version order of key {key} is not known"));
        }
        match model {
            ConsistencyModel::Snapshot => snapshot(&resolved, &chains),
            ConsistencyModel::StrictSerializable | ConsistencyModel::Linearizable => {
                strict(&resolved, &chains)
            }
            ConsistencyModel::ReadCommitted
            | ConsistencyModel::ReadAtomic
            | ConsistencyModel::Causal
            | ConsistencyModel::Serializable => serializable(&resolved, &chains),
        }
    }
}

/// Room for the edges of a history.
fn edges_max(resolved: &Resolved<'_>) -> usize {
    resolved.len() * 2 + resolved.history.event_count()
}

fn serializable(resolved: &Resolved<'_>, chains: &ChainedVersions) -> Answer {
    let mut arcs = Arcs::new(resolved.len(), edges_max(resolved));
    dependencies(resolved, chains, |from, to, _| {
        arcs.add(Vertex::whole(from), Vertex::whole(to));
    });
    match arcs.order() {
        Ok(order) => Answer::Satisfied(Witness::Order(took_place(resolved, &order))),
        // What snapshot isolation forbids too says more.
        Err(cycle) => match snapshot(resolved, chains) {
            Answer::Violated(found) => Answer::Violated(found),
            Answer::Satisfied(_) | Answer::Unknown(_) => Answer::Violated(counterexample(
                resolved,
                chains,
                &whole_transactions(resolved, &cycle),
                CycleKind::Plain,
            )),
        },
    }
}

/// The transactions among vertices that are whole ones, or moments.
fn whole_transactions(resolved: &Resolved<'_>, vertices: &[Vertex]) -> Vec<Txn> {
    let transactions = vertices.iter().filter_map(|v| v.as_whole(resolved.len()));
    transactions.collect()
}

/// The transactions of an order that took place, without the initial one.
fn took_place(resolved: &Resolved<'_>, order: &[Vertex]) -> Vec<Txn> {
    let transactions = order.iter().filter_map(|v| v.as_whole(resolved.len()));
    let is_real = |t: &Txn| !t.is_initial() && resolved.is_live[*t];
    transactions.filter(is_real).collect()
}

/// Every transaction as a start `2t` and a commit `2t + 1`: what is visible committed before the
/// start; what overwrites a read commits after the reader's start. A cycle of this graph is one
/// without two adjacent RW edges, which is what snapshot isolation forbids.
fn snapshot(resolved: &Resolved<'_>, chains: &ChainedVersions) -> Answer {
    let mut arcs = Arcs::new(resolved.len() * 2, edges_max(resolved) + resolved.len());
    for transaction in resolved.history.all_transactions() {
        arcs.add(Vertex::start(transaction), Vertex::commit(transaction));
    }
    dependencies(resolved, chains, |from, to, kind| match kind {
        DependencyEdge::Visible => arcs.add(Vertex::commit(from), Vertex::start(to)),
        DependencyEdge::Anti => arcs.add(Vertex::start(from), Vertex::commit(to)),
    });
    match arcs.order() {
        Ok(order) => Answer::Satisfied(Witness::Points(points(resolved, &order))),
        Err(cycle) => Answer::Violated(counterexample(
            resolved,
            chains,
            &transactions_of(&cycle),
            CycleKind::Plain,
        )),
    }
}

fn strict(resolved: &Resolved<'_>, chains: &ChainedVersions) -> Answer {
    let mut pairs = Vec::new();
    let len = real_time(resolved, |from, to| pairs.push((from, to)));
    let mut arcs = Arcs::new(len, edges_max(resolved) + pairs.len());
    pairs.iter().for_each(|(from, to)| arcs.add(*from, *to));
    drop(pairs);
    dependencies(resolved, chains, |from, to, _| {
        arcs.add(Vertex::whole(from), Vertex::whole(to));
    });
    match arcs.order() {
        Ok(order) => {
            let lacks = resolved
                .live()
                .find(|t| resolved.history.real_time(*t).is_none());
            match lacks {
                None => Answer::Satisfied(Witness::Order(took_place(resolved, &order))),
                Some(t) => Answer::Unknown(format!(
                    "it is serializable, but {} has no real time",
                    resolved.history.name(t)
                )),
            }
        }
        Err(cycle) => {
            let cycle = whole_transactions(resolved, &cycle);
            match serializable(resolved, chains) {
                Answer::Violated(found) => Answer::Violated(found),
                Answer::Satisfied(_) | Answer::Unknown(_) => Answer::Violated(counterexample(
                    resolved,
                    chains,
                    &cycle,
                    CycleKind::RealTime,
                )),
            }
        }
    }
}
