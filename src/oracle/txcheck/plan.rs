//! How the serial run goes: which statements are kept, in which order, and what stands in for the
//! rest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::super::evidence::Standing;
use super::check::Check;
use super::dependency::{Inference, Sdg};
use crate::graph::acyclic_part;
use crate::model::StatementId;

/// The statements of a case, by how the serial run treats them.
pub(super) struct Plan {
    /// A topological order; empty where the graph has none.
    pub(super) order: Vec<StatementId>,
    /// Of the order: put in place, not run.
    pub(super) placeholders: BTreeSet<StatementId>,
    /// Judged at the end, each on its own view.
    pub(super) on_own_view: Vec<StatementId>,
    pub(super) graph: Sdg,
    pub(super) cycle: Option<String>,
}

impl Check<'_> {
    pub(super) fn plan(&self) -> Plan {
        let lasting: BTreeSet<StatementId> = self
            .standings
            .keys()
            .copied()
            .filter(|&id| self.evidence.timeline.lasts(id) && self.relevant(id))
            .collect();
        let strict = |id: &StatementId| self.standings.get(id) == Some(&Standing::Judged);
        let fits = |id: &StatementId| strict(id) && self.sees_lasting_rows(*id);
        let mut placeholders: BTreeSet<StatementId> =
            lasting.iter().copied().filter(|id| !fits(id)).collect();
        let (graph, cycle) = self.acyclic_graph(&lasting, &mut placeholders);
        let order = self.order(&graph);
        let in_order: BTreeSet<StatementId> = order.iter().copied().collect();
        let on_own_view = self
            .evidence
            .execution
            .execution_order()
            .into_iter()
            .filter(|id| !in_order.contains(id) || placeholders.contains(id))
            .filter(|id| {
                !matches!(
                    self.standings.get(id),
                    None | Some(Standing::Skipped(_) | Standing::RightlyRefused)
                )
            })
            .collect();
        Plan {
            order,
            placeholders,
            on_own_view,
            graph,
            cycle,
        }
    }

    /// The graph of what lasts, made acyclic by placeholders, and the first cycle that was broken.
    fn acyclic_graph(
        &self,
        lasting: &BTreeSet<StatementId>,
        placeholders: &mut BTreeSet<StatementId>,
    ) -> (Sdg, Option<String>) {
        let inference = Inference {
            evidence: self.evidence,
        };
        let mut cycle = None;
        loop {
            let graph = inference.infer(lasting, placeholders);
            let all: BTreeSet<usize> = (0..graph.statements.len()).collect();
            if let Some(path) = graph.graph.shortest_cycle(&all) {
                cycle.get_or_insert_with(|| cycle_text(&graph, &path));
            }
            let candidates: BTreeSet<usize> = all
                .into_iter()
                .filter(|&v| !placeholders.contains(&graph.statements[v]))
                .collect();
            let cost = |v: usize| {
                if self.writes(graph.statements[v]) {
                    3
                } else {
                    1
                }
            };
            match acyclic_part(&graph.graph, &candidates, cost) {
                Some(removed) if removed.is_empty() => return (graph, cycle),
                Some(removed) => {
                    placeholders.extend(removed.iter().map(|&v| graph.statements[v]));
                }
                // Writes alone are in a cycle: no order holds even their effects.
                None => placeholders.extend(lasting.iter().copied()),
            }
            if placeholders.len() == lasting.len() {
                return (inference.infer(lasting, placeholders), cycle);
            }
        }
    }

    /// A lasting statement matters to the serial run when it is judged or wrote something.
    fn relevant(&self, id: StatementId) -> bool {
        self.writes(id)
            || !matches!(
                self.standings.get(&id),
                Some(Standing::Skipped(_) | Standing::RightlyRefused)
            )
    }

    fn writes(&self, id: StatementId) -> bool {
        self.evidence
            .account
            .changes
            .get(&id)
            .is_some_and(|changes| !changes.is_empty())
    }

    /// Whether all the rows a statement saw come from work that lasts: what an order of lasting
    /// statements can bring about.
    fn sees_lasting_rows(&self, id: StatementId) -> bool {
        let lasts = |version| {
            let account = &self.evidence.account;
            self.evidence
                .timeline
                .lasts(account.chains.version(version).writer)
        };
        self.evidence.account.views.get(&id).is_some_and(|view| {
            view.values()
                .flat_map(BTreeMap::values)
                .flatten()
                .all(|&version| lasts(version))
        })
    }

    /// A topological order: of half the cases as near to the execution as the graph allows, of the
    /// others as far from it. Every order gives each statement the same rows to see, so that one is
    /// enough; which one, the case's own text decides.
    fn order(&self, graph: &Sdg) -> Vec<StatementId> {
        let executed: BTreeMap<StatementId, usize> = self
            .evidence
            .execution
            .execution_order()
            .into_iter()
            .enumerate()
            .map(|(i, s)| (s, i))
            .collect();
        let rank = |v: usize| {
            executed
                .get(&graph.statements[v])
                .copied()
                .unwrap_or(usize::MAX)
        };
        let all: BTreeSet<usize> = (0..graph.statements.len()).collect();
        let letters: usize = self
            .evidence
            .case
            .user_statements()
            .map(|s| s.sql.len())
            .sum();
        let order = if letters.is_multiple_of(2) {
            graph.graph.topological_order(&all, rank)
        } else {
            graph.graph.topological_order(&all, |v| Reverse(rank(v)))
        };
        let named = order.into_iter().flatten();
        named.map(|v| graph.statements[v]).collect()
    }
}

fn cycle_text(graph: &Sdg, path: &[usize]) -> String {
    let edges: Vec<String> = path
        .iter()
        .zip(path.iter().cycle().skip(1))
        .map(|(&from, &to)| graph.edge_text(from, to))
        .collect();
    edges.join(", ")
}
