//! From a history to its polygraph, and from this to an answer.

use super::open::OpenReads;
use super::polygraph::{Polygraph, VertexView};
use super::solve::Solved;
use super::{prune, solve};
use crate::checker::budget::Budget;
use crate::checker::evidence::counterexample::Counterexample;
use crate::checker::evidence::cycle::{CycleKind, counterexample};
use crate::checker::evidence::witness::Witness;
use crate::checker::resolved::resolve::{Resolved, Unresolved, resolve_openly};
use crate::checker::resolved::starts_and_commits::{points, transactions_of};
use crate::checker::resolved::versions::{ChainedVersions, chains};
use crate::checker::resolved::vertex::Vertex;
use crate::history::{History, Txn};
use crate::model::ConsistencyModel;

/// What came out of the polygraph.
pub(super) enum PolygraphOutcome {
    Satisfied(Witness),
    /// Seen without looking at the version orders.
    Violated(Counterexample),
    /// A cycle of known edges.
    Cycle(Counterexample),
    /// No choice is acyclic.
    Stuck,
    TooMuch(String),
}

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
        return judge_openly(&resolved, &chains, model, budget);
    }
    match pruned(&resolved, &chains, model, budget) {
        Ok(polygraph) => told(&resolved, model, solve::solve(&polygraph, budget)),
        Err(outcome) => outcome,
    }
}

/// The same where the writers of some reads are to be chosen: first as the file has it, and then
/// by the solver.
fn judge_openly(
    resolved: &Resolved<'_>,
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
        && let Ok(polygraph) = pruned(&likely, &chains, model, budget)
        && let Some(order) = solve::solve_greedily(&polygraph, budget)
    {
        return PolygraphOutcome::Satisfied(witness(resolved, model, &order));
    }
    let polygraph = match pruned(resolved, known, model, budget) {
        Ok(polygraph) => polygraph,
        Err(outcome) => return outcome,
    };
    if !prune::fits(&polygraph) {
        return PolygraphOutcome::TooMuch(prune::TOO_LARGE.to_owned());
    }
    let Some(open) = OpenReads::new(&polygraph, known) else {
        return PolygraphOutcome::TooMuch(
            "too many transactions wrote the values that were read".to_owned(),
        );
    };
    let solved = solve::solve_openly(&polygraph, &open, budget);
    told(resolved, model, solved)
}

/// The polygraph with what reachability decides of it.
pub(super) fn pruned<'r>(
    resolved: &'r Resolved<'r>,
    chains: &ChainedVersions,
    model: ConsistencyModel,
    budget: Budget,
) -> Result<Polygraph<'r>, PolygraphOutcome> {
    let view = VertexView::of(model);
    let mut polygraph = Polygraph::new(resolved, chains, view);
    if let Err(cycle) = polygraph.order() {
        return Err(PolygraphOutcome::Cycle(known_cycle(
            resolved, chains, view, &cycle,
        )));
    }
    match prune::prune(&mut polygraph, budget) {
        Ok(()) => Ok(polygraph),
        Err(prune::Stopped::Violated) => Err(PolygraphOutcome::Stuck),
        Err(prune::Stopped::TooLarge) => {
            Err(PolygraphOutcome::TooMuch(prune::TOO_LARGE.to_owned()))
        }
        Err(prune::Stopped::TimeIsOver) => {
            Err(PolygraphOutcome::TooMuch(Budget::IS_OVER.to_owned()))
        }
    }
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

/// The counterexample of a cycle before any choice.
fn known_cycle(
    resolved: &Resolved<'_>,
    chains: &ChainedVersions,
    view: VertexView,
    cycle: &[Vertex],
) -> Counterexample {
    let transactions = match view {
        VertexView::Split => transactions_of(cycle),
        VertexView::Whole | VertexView::Strict => {
            let len = resolved.len();
            cycle.iter().filter_map(|v| v.as_whole(len)).collect()
        }
    };
    let kind = match view {
        VertexView::Strict => CycleKind::RealTime,
        VertexView::Split | VertexView::Whole => CycleKind::Plain,
    };
    counterexample(resolved, chains, &transactions, kind)
}

fn witness(resolved: &Resolved<'_>, model: ConsistencyModel, order: &[Vertex]) -> Witness {
    if model == ConsistencyModel::Snapshot {
        return Witness::Points(points(resolved, order));
    }
    let transactions = order.iter().filter_map(|v| v.as_whole(resolved.len()));
    let is_real = |t: &Txn| !t.is_initial() && resolved.is_live[*t];
    Witness::Order(transactions.filter(is_real).collect())
}
