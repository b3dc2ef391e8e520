//! What becomes of a polygraph, and its first part: pruning.

use super::polygraph::{Polygraph, VertexView};
use super::prune::{self, Stopped};
use crate::checker::budget::Budget;
use crate::checker::evidence::counterexample::Counterexample;
use crate::checker::evidence::cycle::{CycleKind, counterexample};
use crate::checker::evidence::witness::Witness;
use crate::checker::resolved::resolve::Resolved;
use crate::checker::resolved::starts_and_commits::transactions_of;
use crate::checker::resolved::versions::ChainedVersions;
use crate::checker::resolved::vertex::Vertex;
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

impl PolygraphOutcome {
    /// What it means that pruning did not come to its end.
    pub(super) fn of(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Violated => Self::Stuck,
            Stopped::TooLarge => Self::TooMuch(prune::TOO_LARGE.to_owned()),
            Stopped::TimeIsOver => Self::TooMuch(Budget::IS_OVER.to_owned()),
        }
    }
}

/// The polygraph with what reachability decides of it, and with edges that were derived otherwise.
pub(super) fn pruned<'r>(
    resolved: &'r Resolved<'r>,
    chains: &ChainedVersions,
    derived: &[(Vertex, Vertex)],
    model: ConsistencyModel,
    budget: Budget,
) -> Result<Polygraph<'r>, PolygraphOutcome> {
    let view = VertexView::of(model);
    let mut polygraph = Polygraph::new(resolved, chains, view, derived);
    if let Err(cycle) = polygraph.order() {
        // A derived edge holds in every choice, and has no reason that a cycle could tell.
        return Err(match derived.is_empty() {
            true => PolygraphOutcome::Cycle(known_cycle(resolved, chains, view, &cycle)),
            false => PolygraphOutcome::Stuck,
        });
    }
    let done = prune::prune(&mut polygraph, budget);
    done.map(|()| polygraph).map_err(PolygraphOutcome::of)
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
