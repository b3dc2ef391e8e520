//! Directed graphs of millions of edges: topological order, or a short cycle.

use std::collections::VecDeque;
use std::marker::PhantomData;

use super::vertex::Vertex;

/// Vertices whose cycle is searched from; a shortest of theirs is a short one of all.
const STARTS_MAX: usize = 64;

/// Edges of a graph on `0..len`, collected in any order.
#[derive(Debug)]
pub(in crate::checker) struct Arcs {
    len: usize,
    pairs: Vec<(Vertex, Vertex)>,
}

impl Arcs {
    pub(in crate::checker) fn new(len: usize, edges: usize) -> Self {
        Self {
            len,
            pairs: Vec::with_capacity(edges),
        }
    }

    pub(in crate::checker) fn add(&mut self, from: Vertex, to: Vertex) {
        if from != to {
            self.pairs.push((from, to));
        }
    }

    /// A topological order, or a short cycle.
    pub(in crate::checker) fn order(self) -> Result<Vec<Vertex>, Vec<Vertex>> {
        let graph: SuccessorRows = Rows::of(self.len, &self.pairs);
        drop(self.pairs);
        let mut missing = vec![0u32; self.len];
        for to in &graph.entries {
            missing[*to] += 1;
        }
        let mut order: Vec<Vertex> = Vec::with_capacity(self.len);
        order.extend((0..self.len).map(Vertex::at).filter(|v| missing[*v] == 0));
        let mut done = 0;
        while let Some(&vertex) = order.get(done) {
            done += 1;
            for to in graph.row(vertex) {
                missing[*to] -= 1;
                if missing[*to] == 0 {
                    order.push(*to);
                }
            }
        }
        if order.len() == self.len {
            return Ok(order);
        }
        let is_left: Vec<bool> = missing.iter().map(|missing| *missing > 0).collect();
        Err(short_cycle(&graph, &is_left))
    }
}

/// The successors of every vertex.
type SuccessorRows = Rows<Vertex, Vertex>;

/// For each row a list of entries, one row after the other.
#[derive(Debug)]
pub(in crate::checker) struct Rows<R, T> {
    begins: Vec<u32>,
    entries: Vec<T>,
    rows: PhantomData<R>,
}

impl<R: Copy + Into<usize>, T: Copy> Rows<R, T> {
    pub(in crate::checker) fn of(len: usize, pairs: &[(R, T)]) -> Self {
        let mut begins = vec![0u32; len + 1];
        for (row, _) in pairs {
            begins[(*row).into()] += 1;
        }
        // From how many there are in a row to where it ends, and back to where it begins.
        let mut end = 0;
        for begin in &mut begins {
            end += *begin;
            *begin = end;
        }
        let mut entries: Vec<T> = pairs.iter().map(|pair| pair.1).collect();
        for (row, entry) in pairs.iter().rev() {
            let begin = &mut begins[(*row).into()];
            *begin -= 1;
            entries[*begin as usize] = *entry;
        }
        Self {
            begins,
            entries,
            rows: PhantomData,
        }
    }

    pub(in crate::checker) fn row(&self, row: R) -> &[T] {
        let at = row.into();
        &self.entries[self.begins[at] as usize..self.begins[at + 1] as usize]
    }
}

/// A short cycle among vertices that are left, which have one.
fn short_cycle(graph: &SuccessorRows, is_left: &[bool]) -> Vec<Vertex> {
    let component = smallest_component(graph, is_left);
    let mut is_in = vec![false; is_left.len()];
    for vertex in &component {
        is_in[*vertex] = true;
    }
    let step = component.len().div_ceil(STARTS_MAX).max(1);
    let mut parents = vec![None; is_left.len()];
    let cycles = component
        .iter()
        .step_by(step)
        .filter_map(|start| cycle_through(graph, *start, &is_in, &mut parents));
    cycles.min_by_key(Vec::len).unwrap_or_default()
}

/// A shortest cycle through one vertex. `parents` is all none and is left so.
fn cycle_through(
    graph: &SuccessorRows,
    start: Vertex,
    is_in: &[bool],
    parents: &mut [Option<Vertex>],
) -> Option<Vec<Vertex>> {
    let mut queue = VecDeque::from([start]);
    let mut reached = Vec::new();
    let mut found = None;
    'search: while let Some(vertex) = queue.pop_front() {
        for to in graph.row(vertex).iter().copied().filter(|to| is_in[*to]) {
            if to == start {
                found = Some(vertex);
                break 'search;
            }
            if parents[to].is_none() {
                parents[to] = Some(vertex);
                reached.push(to);
                queue.push_back(to);
            }
        }
    }
    let cycle = found.map(|last| {
        let mut cycle = vec![last];
        let mut at = last;
        while let (false, Some(parent)) = (at == start, parents[at]) {
            at = parent;
            cycle.push(at);
        }
        cycle.reverse();
        cycle
    });
    for vertex in reached {
        parents[vertex] = None;
    }
    cycle
}

/// The smallest strongly connected component with a cycle. Tarjan 1972 without recursion.
fn smallest_component(graph: &SuccessorRows, is_left: &[bool]) -> Vec<Vertex> {
    const NEW: u32 = u32::MAX;
    let len = is_left.len();
    let (mut index, mut low) = (vec![NEW; len], vec![0u32; len]);
    let mut is_open = vec![false; len];
    let (mut open, mut calls): (Vec<Vertex>, Vec<(Vertex, usize)>) = (Vec::new(), Vec::new());
    let mut next = 0;
    let mut best: Vec<Vertex> = Vec::new();
    for root in (0..len).map(Vertex::at).filter(|v| is_left[*v]) {
        if index[root] != NEW {
            continue;
        }
        calls.push((root, 0));
        while let Some((vertex, done)) = calls.last_mut() {
            let at = vertex.index();
            if *done == 0 {
                (index[at], low[at]) = (next, next);
                next += 1;
                open.push(*vertex);
                is_open[at] = true;
            }
            if let Some(&to) = graph.row(*vertex).get(*done) {
                *done += 1;
                let to_at = to.index();
                if is_left[to_at] && index[to_at] == NEW {
                    calls.push((to, 0));
                } else if is_open[to_at] {
                    low[at] = low[at].min(index[to_at]);
                }
                continue;
            }
            calls.pop();
            if let Some((parent, _)) = calls.last() {
                let parent = parent.index();
                low[parent] = low[parent].min(low[at]);
            }
            if low[at] == index[at] {
                let begin = open.iter().rposition(|v| v.index() == at).unwrap_or(0);
                let component = open.split_off(begin);
                for vertex in &component {
                    is_open[*vertex] = false;
                }
                if component.len() > 1 && (best.is_empty() || component.len() < best.len()) {
                    best = component;
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(len: usize, edges: &[(u32, u32)]) -> Result<Vec<u32>, Vec<u32>> {
        let mut arcs = Arcs::new(len, edges.len());
        for (from, to) in edges {
            arcs.add(Vertex::new(*from), Vertex::new(*to));
        }
        let numbers = |vertices: Vec<Vertex>| vertices.into_iter().map(Vertex::number).collect();
        arcs.order().map(numbers).map_err(numbers)
    }

    #[test]
    fn an_acyclic_graph_has_an_order_that_respects_every_edge() {
        let edges = [(3, 1), (1, 0), (3, 0), (2, 0), (0, 4)];
        let order = order(5, &edges).expect("acyclic");
        let place = |v: u32| order.iter().position(|o| *o == v).expect("every vertex");
        assert!(
            edges.iter().all(|(from, to)| place(*from) < place(*to)),
            "{order:?}"
        );
    }

    #[test]
    fn a_cyclic_graph_has_a_short_cycle() {
        let long = [
            (0, 1),
            (1, 2),
            (2, 3),
            (3, 4),
            (4, 0),
            (4, 5),
            (5, 6),
            (6, 5),
            (6, 7),
        ];
        let mut cycle = order(8, &long).expect_err("cyclic");
        cycle.sort_unstable();
        assert_eq!(cycle, [5, 6]);
    }
}
