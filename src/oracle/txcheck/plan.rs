//! How the serial run goes: which statements are kept, in which orders, and what stands in for the
//! rest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::super::view::Standing;
use super::check::Check;
use super::dependency::{Inference, Sdg};
use crate::graph::acyclic_part;
use crate::model::{CaseStatement, StatementId};

/// The statements of a case, by how the serial run treats them.
pub(super) struct Plan {
    /// One topological order each, over the same statements.
    pub(super) orders: Vec<Vec<StatementId>>,
    /// Of an order: put in place, not run.
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
        let orders = self.orders(&graph);
        let in_order: BTreeSet<StatementId> = orders.iter().flatten().copied().collect();
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
            orders,
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

    /// Two topological orders: as near to the execution as the graph allows, and as far from it.
    fn orders(&self, graph: &Sdg) -> Vec<Vec<StatementId>> {
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
        let near = graph.graph.topological_order(&all, rank);
        let far = graph.graph.topological_order(&all, |v| Reverse(rank(v)));
        let mut orders: Vec<Vec<StatementId>> = [near, far]
            .into_iter()
            .flatten()
            .map(|order| order.into_iter().map(|v| graph.statements[v]).collect())
            .collect();
        if let [near, far] = orders.as_slice()
            && self.tell_the_same(near, far)
        {
            orders.truncate(1);
        }
        orders
    }

    /// Whether two orders differ only in statements that cannot see each other's work: the second
    /// would tell nothing new.
    fn tell_the_same(&self, one: &[StatementId], other: &[StatementId]) -> bool {
        let place: BTreeMap<StatementId, usize> =
            other.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        one.iter().enumerate().all(|(at, first)| {
            one[at + 1..]
                .iter()
                .all(|second| place.get(first) < place.get(second) || !self.meet(*first, *second))
        })
    }

    /// Whether one statement may write a table that the other names.
    fn meet(&self, one: StatementId, other: StatementId) -> bool {
        let (Some(one), Some(other)) = (
            self.evidence.case.statement(one),
            self.evidence.case.statement(other),
        ) else {
            return true;
        };
        let writes = |a: &CaseStatement, b: &CaseStatement| {
            a.effect
                .targets()
                .any(|table| b.effect.uses.iter().any(|u| u.table == table))
        };
        writes(one, other) || writes(other, one)
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
