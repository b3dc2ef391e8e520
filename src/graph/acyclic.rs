//! An acyclic part that keeps as much as possible.
//!
//! The paper behind statement-dependency graphs drops random vertices of cycles (TxCheck, section
//! 3.3, "Graph Decycling"). Cycles of a test case are few and short, so a smallest removal is
//! searched exactly up to two vertices a component, and greedily beyond.

use std::collections::BTreeSet;

use super::Graph;

/// Chooses vertices among `candidates` whose removal leaves `graph` acyclic, cheapest first by
/// `cost`. None when cycles remain that no candidate is on.
pub fn acyclic_part(
    graph: &Graph,
    candidates: &BTreeSet<usize>,
    cost: impl Fn(usize) -> u32,
) -> Option<BTreeSet<usize>> {
    let mut removed = BTreeSet::new();
    loop {
        let rest = without(graph, &removed);
        let components = rest.cyclic_components();
        if components.is_empty() {
            return Some(removed);
        }
        for component in components {
            removed.extend(break_component(&rest, &component, candidates, &cost)?);
        }
    }
}

/// Vertices to remove from one component: one or two that make it acyclic, or the one on most of
/// its edges.
fn break_component(
    graph: &Graph,
    component: &[usize],
    candidates: &BTreeSet<usize>,
    cost: &impl Fn(usize) -> u32,
) -> Option<Vec<usize>> {
    let within: BTreeSet<usize> = component.iter().copied().collect();
    let mut choices: Vec<usize> = component
        .iter()
        .copied()
        .filter(|v| candidates.contains(v))
        .collect();
    choices.sort_by_key(|&v| (cost(v), std::cmp::Reverse(degree(graph, v, &within)), v));
    let acyclic = |out: &[usize]| {
        let keep = within
            .iter()
            .copied()
            .filter(|v| !out.contains(v))
            .collect();
        graph.topological_order(&keep, |v| v).is_some()
    };
    if let Some(&one) = choices.iter().find(|&&v| acyclic(&[v])) {
        return Some(vec![one]);
    }
    let mut best: Option<(u32, [usize; 2])> = None;
    if choices.len() <= 24 {
        for (i, &a) in choices.iter().enumerate() {
            for &b in &choices[i + 1..] {
                let price = cost(a) + cost(b);
                if best.is_none_or(|(known, _)| price < known) && acyclic(&[a, b]) {
                    best = Some((price, [a, b]));
                }
            }
        }
    }
    best.map(|(_, pair)| pair.to_vec())
        .or_else(|| choices.first().map(|&v| vec![v]))
}

fn degree(graph: &Graph, vertex: usize, within: &BTreeSet<usize>) -> usize {
    let out = graph
        .successors(vertex)
        .filter(|to| within.contains(to))
        .count();
    let into = within
        .iter()
        .filter(|&&from| graph.contains(from, vertex))
        .count();
    out * into
}

fn without(graph: &Graph, removed: &BTreeSet<usize>) -> Graph {
    let mut rest = Graph::new(graph.len());
    for from in (0..graph.len()).filter(|from| !removed.contains(from)) {
        for to in graph.successors(from).filter(|to| !removed.contains(to)) {
            rest.add(from, to);
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removal(
        len: usize,
        edges: &[(usize, usize)],
        cost: impl Fn(usize) -> u32,
    ) -> Option<BTreeSet<usize>> {
        let mut graph = Graph::new(len);
        edges.iter().for_each(|&(from, to)| graph.add(from, to));
        acyclic_part(&graph, &(0..len).collect(), cost)
    }

    #[test]
    fn acyclic_part_removes_the_one_vertex_on_every_cycle() {
        let edges = [(0, 1), (1, 0), (1, 2), (2, 1), (1, 3), (3, 1)];
        assert_eq!(removal(4, &edges, |_| 1), Some(BTreeSet::from([1])));
    }

    #[test]
    fn acyclic_part_removes_the_cheaper_vertex() {
        let cost = |v| if v == 0 { 5 } else { 1 };
        assert_eq!(
            removal(2, &[(0, 1), (1, 0)], cost),
            Some(BTreeSet::from([1]))
        );
    }

    #[test]
    fn acyclic_part_is_none_when_no_candidate_breaks_a_cycle() {
        let mut graph = Graph::new(2);
        graph.add(0, 1);
        graph.add(1, 0);
        assert_eq!(acyclic_part(&graph, &BTreeSet::new(), |_| 1), None);
    }

    #[test]
    fn acyclic_part_of_an_acyclic_graph_removes_nothing() {
        assert_eq!(
            removal(3, &[(0, 1), (1, 2), (0, 2)], |_| 1),
            Some(BTreeSet::new())
        );
    }
}
