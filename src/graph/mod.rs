//! Directed graphs over dense indices: components, topological orders, acyclic parts.
//!
//! Knows nothing of SQL, statements or transactions.

mod acyclic;

use std::collections::{BTreeSet, VecDeque};

pub use acyclic::acyclic_part;

/// A directed graph on the vertices `0..len`, without parallel edges or self-loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    successors: Vec<BTreeSet<usize>>,
}

impl Graph {
    /// A graph without edges.
    pub fn new(len: usize) -> Self {
        Self {
            successors: vec![BTreeSet::new(); len],
        }
    }

    pub fn len(&self) -> usize {
        self.successors.len()
    }

    pub fn is_empty(&self) -> bool {
        self.successors.is_empty()
    }

    /// Adds an edge; a self-loop says nothing and is left out.
    pub fn add(&mut self, from: usize, to: usize) {
        if from != to {
            self.successors[from].insert(to);
        }
    }

    pub fn successors(&self, of: usize) -> impl Iterator<Item = usize> + '_ {
        self.successors[of].iter().copied()
    }

    pub fn contains(&self, from: usize, to: usize) -> bool {
        self.successors[from].contains(&to)
    }

    /// The strongly connected components with more than one vertex, each sorted.
    ///
    /// Tarjan 1972, with an explicit stack so that long chains cannot exhaust ours.
    pub fn cyclic_components(&self) -> Vec<Vec<usize>> {
        let mut search = Tarjan {
            index: vec![None; self.len()],
            low: vec![0; self.len()],
            on_stack: vec![false; self.len()],
            stack: Vec::new(),
            next: 0,
            components: Vec::new(),
        };
        for vertex in 0..self.len() {
            if search.index[vertex].is_none() {
                search.visit(self, vertex);
            }
        }
        search.components
    }

    /// A topological order of the vertices in `keep`; among those that are free the one that
    /// `priority` ranks lowest comes first. None when the part is cyclic.
    pub fn topological_order<K: Ord>(
        &self,
        keep: &BTreeSet<usize>,
        priority: impl Fn(usize) -> K,
    ) -> Option<Vec<usize>> {
        let mut missing = vec![0usize; self.len()];
        for &from in keep {
            for to in self.successors(from).filter(|to| keep.contains(to)) {
                missing[to] += 1;
            }
        }
        let mut free: BTreeSet<(K, usize)> = keep
            .iter()
            .filter(|&&v| missing[v] == 0)
            .map(|&v| (priority(v), v))
            .collect();
        let mut order = Vec::with_capacity(keep.len());
        while let Some((_, vertex)) = free.pop_first() {
            order.push(vertex);
            for to in self.successors(vertex).filter(|to| keep.contains(to)) {
                missing[to] -= 1;
                if missing[to] == 0 {
                    free.insert((priority(to), to));
                }
            }
        }
        (order.len() == keep.len()).then_some(order)
    }

    /// A shortest cycle through any of the vertices, in order, without repeating the first.
    pub fn shortest_cycle(&self, within: &BTreeSet<usize>) -> Option<Vec<usize>> {
        within
            .iter()
            .filter_map(|&start| self.shortest_cycle_through(start, within))
            .min_by_key(Vec::len)
    }

    /// A shortest path between two different vertices, both included.
    pub fn shortest_path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut previous: Vec<Option<usize>> = vec![None; self.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(vertex) = queue.pop_front() {
            if vertex == to {
                let mut path = vec![to];
                let mut at = to;
                while at != from {
                    at = previous[at]?;
                    path.push(at);
                }
                path.reverse();
                return Some(path);
            }
            for next in self.successors(vertex) {
                if next != from && previous[next].is_none() {
                    previous[next] = Some(vertex);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    fn shortest_cycle_through(&self, start: usize, within: &BTreeSet<usize>) -> Option<Vec<usize>> {
        let mut previous: Vec<Option<usize>> = vec![None; self.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(vertex) = queue.pop_front() {
            for next in self.successors(vertex).filter(|next| within.contains(next)) {
                if next == start {
                    let mut cycle = vec![vertex];
                    let mut at = vertex;
                    while at != start {
                        at = previous[at]?;
                        cycle.push(at);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if previous[next].is_none() {
                    previous[next] = Some(vertex);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

struct Tarjan {
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    components: Vec<Vec<usize>>,
}

impl Tarjan {
    fn enter(&mut self, vertex: usize) {
        self.index[vertex] = Some(self.next);
        self.low[vertex] = self.next;
        self.next += 1;
        self.stack.push(vertex);
        self.on_stack[vertex] = true;
    }

    fn visit(&mut self, graph: &Graph, root: usize) {
        self.enter(root);
        let mut calls = vec![(root, graph.successors[root].iter())];
        while let Some((vertex, rest)) = calls.last_mut() {
            let vertex = *vertex;
            if let Some(&next) = rest.next() {
                match self.index[next] {
                    None => {
                        self.enter(next);
                        calls.push((next, graph.successors[next].iter()));
                    }
                    Some(index) if self.on_stack[next] => {
                        self.low[vertex] = self.low[vertex].min(index);
                    }
                    Some(_) => {}
                }
                continue;
            }
            calls.pop();
            if let Some((parent, _)) = calls.last() {
                self.low[*parent] = self.low[*parent].min(self.low[vertex]);
            }
            if Some(self.low[vertex]) == self.index[vertex] {
                self.close(vertex);
            }
        }
    }

    fn close(&mut self, root: usize) {
        let mut component = Vec::new();
        while let Some(vertex) = self.stack.pop() {
            self.on_stack[vertex] = false;
            component.push(vertex);
            if vertex == root {
                break;
            }
        }
        if component.len() > 1 {
            component.sort_unstable();
            self.components.push(component);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(len: usize, edges: &[(usize, usize)]) -> Graph {
        let mut graph = Graph::new(len);
        edges.iter().for_each(|&(from, to)| graph.add(from, to));
        graph
    }

    #[test]
    fn components_are_the_vertices_on_common_cycles() {
        let graph = graph(6, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (4, 5)]);
        let mut components = graph.cyclic_components();
        components.sort();
        assert_eq!(components, vec![vec![0, 1, 2], vec![3, 4]]);
    }

    #[test]
    fn topological_order_breaks_ties_by_priority() {
        let graph = graph(4, &[(3, 0), (2, 1)]);
        let all = (0..4).collect();
        assert_eq!(graph.topological_order(&all, |v| v), Some(vec![2, 1, 3, 0]));
        assert_eq!(
            graph.topological_order(&all, std::cmp::Reverse),
            Some(vec![3, 2, 1, 0])
        );
    }

    #[test]
    fn a_cyclic_part_has_no_topological_order_and_a_shortest_cycle() {
        let graph = graph(5, &[(0, 1), (1, 2), (2, 3), (3, 0), (2, 1), (3, 4)]);
        let all: BTreeSet<usize> = (0..5).collect();
        assert_eq!(graph.topological_order(&all, |v| v), None);
        assert_eq!(graph.shortest_cycle(&all), Some(vec![1, 2]));
        assert_eq!(graph.shortest_cycle(&BTreeSet::from([0, 1, 3])), None);
    }

    #[test]
    fn a_shortest_path_holds_both_ends() {
        let graph = graph(5, &[(0, 1), (1, 2), (2, 3), (0, 3), (3, 0), (3, 4)]);
        assert_eq!(graph.shortest_path(0, 4), Some(vec![0, 3, 4]));
        assert_eq!(graph.shortest_path(1, 0), Some(vec![1, 2, 3, 0]));
        assert_eq!(graph.shortest_path(4, 0), None);
    }
}
