//! From a history to its polygraph, and from this to an answer.

use super::narrow::{Narrowed, narrow};
use super::open::OpenReads;
use super::outcome::{PolygraphOutcome, pruned};
use super::polygraph::Polygraph;
use super::prune::{self, Stopped};
use super::reach::reduced;
use super::sat::Solved;
use super::schedule::schedule;
use super::solve;
use crate::checker::budget::Budget;
use crate::checker::evidence::witness::Witness;
use crate::checker::resolved::resolve::{Resolved, Unresolved, resolve_openly};
use crate::checker::resolved::starts_and_commits::points;
use crate::checker::resolved::versions::{ChainedVersions, chains};
use crate::checker::resolved::vertex::Vertex;
use crate::history::{History, Txn};
use crate::model::ConsistencyModel;

pub(super) fn judge(
    history: &History,
    model: ConsistencyModel,
    budget: Budget,
) -> PolygraphOutcome {
    let resolved = match resolve_openly(history) {
        Ok(resolved) => resolved,
        Err(Unresolved::Violated(counterexample)) => {
            return PolygraphOutcome::Violated(counterexample);
        }
        Err(Unresolved::Ambiguous { key, value }) => {
            return PolygraphOutcome::TooMuch(Unresolved::reason(history, key, value));
        }
    };
    if let Some(counterexample) = &resolved.non_repeatable {
        return PolygraphOutcome::Violated(counterexample.clone());
    }
    let chains = match chains(&resolved) {
        Ok(chains) => chains,
        Err(counterexample) => return PolygraphOutcome::Violated(counterexample),
    };
    if model >= ConsistencyModel::StrictSerializable
        && let Some(t) = resolved.live().find(|t| history.real_time(*t).is_none())
    {
        return PolygraphOutcome::TooMuch(format!("{} has no real time", history.name(t)));
    }
    if !resolved.open_reads.is_empty() {
        return judge_openly(resolved, &chains, model, budget);
    }
    let open = OpenReads { reads: Vec::new() };
    match pruned(&resolved, &chains, &[], model, budget) {
        Ok(polygraph) => told(&resolved, model, solve::solve(&polygraph, &open, budget)),
        Err(outcome) => outcome,
    }
}

/// The same where the writers of some reads are to be chosen: first as the file has it, then as
/// what is known leaves it, and by the solver where that leaves a choice.
fn judge_openly(
    resolved: Resolved<'_>,
    known: &ChainedVersions,
    model: ConsistencyModel,
    budget: Budget,
) -> PolygraphOutcome {
    let history = resolved.history;
    if !history.orders().is_empty() {
        return PolygraphOutcome::TooMuch(
            "values were written more than once, in lists too".to_owned(),
        );
    }
    let likely = resolved.with_versions(&resolved.likely_versions());
    if let Ok(chains) = chains(&likely)
        && let Ok(polygraph) = pruned(&likely, &chains, &[], model, budget)
        && let Some(order) = solve::solve_greedily(&polygraph, budget)
    {
        return PolygraphOutcome::Satisfied(witness(&resolved, model, &order));
    }
    // A cycle without any choice is evidence.
    if let Err(outcome) = pruned(&resolved, known, &[], model, budget) {
        return outcome;
    }
    let narrowed = match narrow(resolved, model, budget) {
        Ok(narrowed) => narrowed,
        Err(outcome) => return outcome,
    };
    let polygraph = match narrowed_polygraph(&narrowed, model, budget) {
        Ok(polygraph) => polygraph,
        Err(outcome) => return outcome,
    };
    let resolved = &narrowed.resolved;
    if !resolved.open_reads.is_empty()
        && let Some(order) = schedule(&polygraph, budget)
    {
        return PolygraphOutcome::Satisfied(witness(resolved, model, &order));
    }
    let Some(open) = OpenReads::new(&polygraph) else {
        return PolygraphOutcome::TooMuch(
            "too many transactions wrote the values that were read".to_owned(),
        );
    };
    told(resolved, model, solve::solve(&polygraph, &open, budget))
}

/// The polygraph of what is left, without edges that others imply.
pub(super) fn narrowed_polygraph<'n>(
    narrowed: &'n Narrowed<'n>,
    model: ConsistencyModel,
    budget: Budget,
) -> Result<Polygraph<'n>, PolygraphOutcome> {
    let Narrowed {
        resolved,
        chains,
        derived,
    } = narrowed;
    let mut polygraph = match pruned(resolved, chains, derived, model, budget) {
        Err(PolygraphOutcome::Cycle(_)) => return Err(PolygraphOutcome::Stuck),
        pruned => pruned?,
    };
    if !prune::fits(&polygraph) {
        return Err(PolygraphOutcome::of(Stopped::TooLarge));
    }
    let order = polygraph.order().map_err(|_| PolygraphOutcome::Stuck)?;
    polygraph.edges = reduced(&polygraph, &order);
    Ok(polygraph)
}

fn told(resolved: &Resolved<'_>, model: ConsistencyModel, solved: Solved) -> PolygraphOutcome {
    match solved {
        Solved::Order(order) => PolygraphOutcome::Satisfied(witness(resolved, model, &order)),
        Solved::Stuck => PolygraphOutcome::Stuck,
        Solved::TimeIsOver => PolygraphOutcome::TooMuch(Budget::IS_OVER.to_owned()),
    }
}

/// Whether some choice is acyclic; none when the budget was over.
pub(super) fn is_satisfied(
    history: &History,
    model: ConsistencyModel,
    budget: Budget,
) -> Option<bool> {
    match judge(history, model, budget) {
        PolygraphOutcome::Satisfied(_) => Some(true),
        PolygraphOutcome::Violated(_) | PolygraphOutcome::Cycle(_) | PolygraphOutcome::Stuck => {
            Some(false)
        }
        PolygraphOutcome::TooMuch(_) => None,
    }
}

pub(super) fn witness(
    resolved: &Resolved<'_>,
    model: ConsistencyModel,
    order: &[Vertex],
) -> Witness {
    if model == ConsistencyModel::Snapshot {
        return Witness::Points(points(resolved, order));
    }
    let transactions = order.iter().filter_map(|v| v.as_whole(resolved.len()));
    let is_real = |t: &Txn| !t.is_initial() && resolved.is_live[*t];
    Witness::Order(transactions.filter(is_real).collect())
}
