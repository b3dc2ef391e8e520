//! From a history to its polygraph, and from this to an answer.

use super::anneal::anneal;
use super::deeds::Deeds;
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
        Ok(polygraph) => match polygraph.order() {
            Ok(order) => {
                let solved = solve::solve(&polygraph, &open, order, u32::MAX, budget);
                told(&resolved, model, solved)
            }
            Err(_) => PolygraphOutcome::Stuck,
        },
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
    let again = as_it_is(&resolved);
    let narrowed = match narrow(resolved, model, budget) {
        Ok(narrowed) => narrowed,
        Err(outcome) => return outcome,
    };
    let polygraph = match narrowed_polygraph(&narrowed, model, budget) {
        Ok(polygraph) => polygraph,
        Err(outcome) => return outcome,
    };
    let Ok(order) = polygraph.order() else {
        return PolygraphOutcome::Stuck;
    };
    let resolved = &narrowed.resolved;
    let deeds = Deeds::new(resolved);
    if !resolved.open_reads.is_empty()
        && let Some(order) = schedule(&polygraph, &deeds, &order, budget)
    {
        return PolygraphOutcome::Satisfied(witness(resolved, model, &order));
    }
    let Some(open) = OpenReads::new(&polygraph) else {
        return PolygraphOutcome::TooMuch(
            "too many transactions wrote the values that were read".to_owned(),
        );
    };
    decide(&polygraph, &again, (&open, &deeds), order, (model, budget))
}

/// Asks the solver and anneals in turns, each twice as long as the last: the solver is the one that ends
/// where there is no order, and comes to most orders slowly, unless it begins near one.
fn decide(
    polygraph: &Polygraph<'_>,
    again: &Resolved<'_>,
    (open, deeds): (&OpenReads, &Deeds),
    order: Vec<Vertex>,
    (model, budget): (ConsistencyModel, Budget),
) -> PolygraphOutcome {
    let resolved = polygraph.resolved;
    let found = |order: &[Vertex]| PolygraphOutcome::Satisfied(witness(resolved, model, order));
    if open.reads.is_empty() {
        let solved = solve::solve(polygraph, open, order, u32::MAX, budget);
        return told(resolved, model, solved);
    }
    let mut may_be_serial = model == ConsistencyModel::Snapshot;
    let mut effort = Effort::FIRST;
    let mut begin = order.clone();
    loop {
        let solved = solve::solve(polygraph, open, begin, effort.conflicts, budget);
        if !matches!(solved, Solved::TimeIsOver) || budget.is_over() {
            return told(resolved, model, solved);
        }
        if may_be_serial {
            match serial_order(as_it_is(again), effort, budget) {
                Serial::Order(order) => return found(&order),
                Serial::Unknown => {}
                Serial::Excluded => may_be_serial = false,
            }
        }
        // An order one by one is far easier to come by, and has two turns before the other kind has one.
        begin = if may_be_serial && effort == Effort::FIRST {
            order.clone()
        } else {
            let annealed = anneal(polygraph, deeds, &order, effort.moves, budget);
            if annealed.wrong == 0 {
                return found(&annealed.order);
            }
            annealed.order
        };
        effort = effort.twice();
    }
}

/// How long a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effort {
    /// Conflicts that the solver meets.
    pub(super) conflicts: u32,
    /// Moves of annealing for each vertex.
    pub(super) moves: usize,
}

impl Effort {
    const FIRST: Self = Self {
        conflicts: 50,
        moves: 10_000,
    };

    fn twice(self) -> Self {
        Self {
            conflicts: self.conflicts.saturating_mul(2),
            moves: self.moves.saturating_mul(2),
        }
    }
}

/// Whether transactions may have run one after the other.
#[derive(Debug)]
pub(super) enum Serial {
    /// They may in this order of starts and commits.
    Order(Vec<Vertex>),
    /// They may not, or it takes too much to ask.
    Excluded,
    Unknown,
}

/// An order in which no transaction runs beside another, where one is found. It satisfies snapshot
/// isolation, too, and there is half as much to be put in order.
pub(super) fn serial_order(resolved: Resolved<'_>, effort: Effort, budget: Budget) -> Serial {
    let model = ConsistencyModel::Serializable;
    let Ok(narrowed) = narrow(resolved, model, budget) else {
        return Serial::Excluded;
    };
    let Ok(polygraph) = narrowed_polygraph(&narrowed, model, budget) else {
        return Serial::Excluded;
    };
    let Ok(order) = polygraph.order() else {
        return Serial::Excluded;
    };
    let deeds = Deeds::new(&narrowed.resolved);
    let annealed = anneal(&polygraph, &deeds, &order, effort.moves, budget);
    let whole = match (annealed.wrong, OpenReads::new(&polygraph)) {
        (0, _) => annealed.order,
        (_, None) => return Serial::Unknown,
        (_, Some(open)) => {
            match solve::solve(&polygraph, &open, annealed.order, effort.conflicts, budget) {
                Solved::Order(order) => order,
                Solved::Stuck => return Serial::Excluded,
                Solved::TimeIsOver => return Serial::Unknown,
            }
        }
    };
    let transactions = whole.into_iter();
    let transactions = transactions.filter_map(|v| v.as_whole(narrowed.resolved.len()));
    let both = transactions.flat_map(|t| [Vertex::start(t), Vertex::commit(t)]);
    Serial::Order(both.collect())
}

/// The same resolved history, to be narrowed in another way.
pub(super) fn as_it_is<'h>(resolved: &Resolved<'h>) -> Resolved<'h> {
    let candidates = resolved.open_reads.iter();
    let candidates: Vec<_> = candidates.map(|read| read.candidates.clone()).collect();
    resolved.with_candidates(&candidates)
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
