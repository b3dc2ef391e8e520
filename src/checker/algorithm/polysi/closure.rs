//! What leads to what in a graph without cycles to which edges are added, and from which the last
//! ones are taken back: a bit for each pair of vertices, and the reasons for the solver.

use std::collections::VecDeque;

use crate::checker::resolved::arcs::Rows;
use crate::checker::resolved::vertex::Vertex;

/// A path: its first vertex and its last.
pub(super) type Path = (Vertex, Vertex);

/// Why an edge is there: a literal of the caller that is true, and a path that was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Because {
    pub(super) literal: u32,
    pub(super) path: Option<Path>,
}

/// The graph and its transitive closure.
#[derive(Debug)]
pub(super) struct Closure {
    known: Rows<Vertex, Vertex>,
    /// Added edges by where they begin: the end, and the place in `edges`.
    added: Vec<Vec<(Vertex, u32)>>,
    /// Added edges, oldest first.
    edges: Vec<AddedEdge>,
    /// Row `v`: the vertices that `v` leads to, without itself.
    ahead: Bits,
    /// Row `v`: the vertices that lead to `v`, without itself.
    behind: Bits,
    search: Search,
}

/// An edge that was added.
#[derive(Debug)]
struct AddedEdge {
    from: Vertex,
    because: Because,
    /// How much was in the logs of the bits before.
    ahead: usize,
    behind: usize,
}

/// Stands for an edge that was known from the beginning.
const KNOWN: u32 = u32::MAX;

impl Closure {
    /// From known edges and a topological order of them.
    pub(super) fn new(len: usize, edges: &[(Vertex, Vertex)], order: &[Vertex]) -> Self {
        let known = Rows::of(len, edges);
        let (mut ahead, mut behind) = (Bits::new(len), Bits::new(len));
        for vertex in order.iter().rev() {
            for to in known.row(*vertex).iter().filter(|to| *to != vertex) {
                ahead.join(*vertex, *to);
            }
        }
        for vertex in order {
            for to in known.row(*vertex).iter().filter(|to| *to != vertex) {
                behind.join(*to, *vertex);
            }
        }
        Self {
            known,
            added: vec![Vec::new(); len],
            edges: Vec::new(),
            ahead,
            behind,
            search: Search {
                round: 0,
                mark: vec![0; len],
                cost: vec![0; len],
                parent: vec![(Vertex::new(0), KNOWN); len],
                queue: VecDeque::new(),
            },
        }
    }

    /// How many vertices there are.
    pub(super) fn len(&self) -> usize {
        self.added.len()
    }

    /// How many edges were added and not taken back.
    pub(super) fn added(&self) -> usize {
        self.edges.len()
    }

    /// Whether one vertex leads to another.
    pub(super) fn has(&self, from: Vertex, to: Vertex) -> bool {
        self.ahead.has(from, to)
    }

    /// The vertices that a vertex leads to, as bits.
    pub(super) fn row(&self, vertex: Vertex) -> &[u64] {
        self.ahead.row(vertex)
    }

    /// Adds an edge that closes no cycle. Calls back for what leads where since: where it begins,
    /// the place of a word of bits, and those that are new of its vertices.
    pub(super) fn add(
        &mut self,
        from: Vertex,
        to: Vertex,
        because: Because,
        changed: impl FnMut(Vertex, usize, u64),
    ) {
        self.added[from].push((to, self.edges.len() as u32));
        self.edges.push(AddedEdge {
            from,
            because,
            ahead: self.ahead.log.len(),
            behind: self.behind.log.len(),
        });
        let before = with(self.behind.row(from), from);
        let after = with(self.ahead.row(to), to);
        let fresh_before = without(&before, self.behind.row(to));
        let fresh_after = without(&after, self.ahead.row(from));
        self.ahead.spread(&fresh_before, &after, changed);
        self.behind.spread(&fresh_after, &before, |_, _, _| ());
    }

    /// Takes back all but the oldest added edges.
    pub(super) fn keep(&mut self, count: usize) {
        let Some(first) = self.edges.get(count) else {
            return;
        };
        self.ahead.keep(first.ahead);
        self.behind.keep(first.behind);
        for edge in self.edges.drain(count..).rev() {
            self.added[edge.from].pop();
        }
    }

    /// A topological order.
    pub(super) fn order(&self) -> Vec<Vertex> {
        let mut order: Vec<Vertex> = (0..self.len()).map(Vertex::at).collect();
        let count = |vertex: &Vertex| {
            let words = self.behind.row(*vertex).iter();
            words.map(|word| word.count_ones()).sum::<u32>()
        };
        order.sort_by_cached_key(count);
        order
    }

    /// Collects literals because of which one vertex led to another when so many edges were there.
    pub(super) fn reasons(&mut self, path: Path, time: usize, reasons: &mut Vec<u32>) {
        let mut open = vec![(path, time as u32)];
        while let Some(((from, to), time)) = open.pop() {
            self.find(from, to, time);
            let mut at = to;
            while at != from {
                let (parent, edge) = self.search.parent[at];
                if edge != KNOWN {
                    let because = self.edges[edge as usize].because;
                    reasons.push(because.literal);
                    open.extend(because.path.map(|path| (path, edge)));
                }
                at = parent;
            }
        }
    }

    /// Finds a path with the fewest added edges, all older than a time.
    fn find(&mut self, from: Vertex, to: Vertex, time: u32) {
        let search = &mut self.search;
        search.round += 1;
        search.queue.clear();
        search.reach(from, 0, (from, KNOWN));
        while let Some((vertex, cost)) = search.queue.pop_front() {
            if vertex == to {
                return;
            }
            if search.cost[vertex] < cost {
                continue;
            }
            let is_on_a_way = |vertex: Vertex| vertex == to || self.ahead.has(vertex, to);
            for next in self.known.row(vertex) {
                if is_on_a_way(*next) {
                    search.reach(*next, cost, (vertex, KNOWN));
                }
            }
            for (next, edge) in &self.added[vertex] {
                if *edge < time && is_on_a_way(*next) {
                    search.reach(*next, cost + 1, (vertex, *edge));
                }
            }
        }
        unreachable!("{from:?} led to {to:?}")
    }
}

/// A search for a path, kept to allocate nothing.
#[derive(Debug)]
struct Search {
    round: u32,
    /// The round in which a vertex was reached last, with how many added edges, and from where.
    mark: Vec<u32>,
    cost: Vec<u32>,
    parent: Vec<(Vertex, u32)>,
    queue: VecDeque<(Vertex, u32)>,
}

impl Search {
    fn reach(&mut self, vertex: Vertex, cost: u32, parent: (Vertex, u32)) {
        if self.mark[vertex] == self.round && self.cost[vertex] <= cost {
            return;
        }
        self.mark[vertex] = self.round;
        self.cost[vertex] = cost;
        self.parent[vertex] = parent;
        match parent.1 {
            KNOWN => self.queue.push_front((vertex, cost)),
            _ => self.queue.push_back((vertex, cost)),
        }
    }
}

/// A bit for each pair of vertices, and what changed of them.
#[derive(Debug)]
struct Bits {
    width: usize,
    words: Vec<u64>,
    /// Words as they were before they changed, oldest first.
    log: Vec<(u32, u64)>,
}

impl Bits {
    fn new(len: usize) -> Self {
        let width = len.div_ceil(64);
        Self {
            width,
            words: vec![0; width * len],
            log: Vec::new(),
        }
    }

    fn row(&self, vertex: Vertex) -> &[u64] {
        let begin = vertex.index() * self.width;
        &self.words[begin..begin + self.width]
    }

    fn has(&self, row: Vertex, vertex: Vertex) -> bool {
        let word = self.words[row.index() * self.width + vertex.index() / 64];
        (word >> (vertex.index() % 64)) & 1 == 1
    }

    /// Adds a vertex and its row to another row.
    fn join(&mut self, row: Vertex, other: Vertex) {
        let (begin, from) = (row.index() * self.width, other.index() * self.width);
        for place in 0..self.width {
            self.words[begin + place] |= self.words[from + place];
        }
        self.words[begin + other.index() / 64] |= 1 << (other.index() % 64);
    }

    /// Adds the same vertices to many rows.
    fn spread(&mut self, rows: &[u64], gain: &[u64], mut changed: impl FnMut(Vertex, usize, u64)) {
        let gain = gain.iter().copied().enumerate();
        let gain: Vec<(usize, u64)> = gain.filter(|(_, gain)| *gain != 0).collect();
        for row in ones(rows) {
            let begin = row.index() * self.width;
            for (place, gain) in &gain {
                let old = self.words[begin + place];
                let fresh = gain & !old;
                if fresh != 0 {
                    self.log.push(((begin + place) as u32, old));
                    self.words[begin + place] = old | fresh;
                    changed(row, *place, fresh);
                }
            }
        }
    }

    /// Takes back all but the oldest changes.
    fn keep(&mut self, count: usize) {
        for (place, old) in self.log.drain(count..).rev() {
            self.words[place as usize] = old;
        }
    }
}

/// A row with one vertex more.
fn with(row: &[u64], vertex: Vertex) -> Vec<u64> {
    let mut row = row.to_vec();
    row[vertex.index() / 64] |= 1 << (vertex.index() % 64);
    row
}

/// What is in one row and not in another.
fn without(row: &[u64], other: &[u64]) -> Vec<u64> {
    let both = row.iter().zip(other);
    both.map(|(word, other)| word & !other).collect()
}

/// The vertices of a row.
fn ones(row: &[u64]) -> impl Iterator<Item = Vertex> {
    let words = row.iter().enumerate();
    words.flat_map(|(place, word)| ones_of_word(place, *word))
}

/// The vertices of the word of a row that stands at a place.
pub(super) fn ones_of_word(place: usize, word: u64) -> impl Iterator<Item = Vertex> {
    let mut left = word;
    std::iter::from_fn(move || {
        let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(Vertex::at(place * 64 + bit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::tests::Numbers;

    fn because(literal: u32) -> Because {
        Because {
            literal,
            path: None,
        }
    }

    #[test]
    fn reasons_are_those_of_the_time_asked_for_and_of_paths_before_an_edge() {
        let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(Vertex::new);
        let mut graph = Closure::new(5, &[(a, b), (c, d)], &[e, c, d, a, b]);
        graph.add(b, e, because(1), |_, _, _| ());
        graph.add(e, c, because(2), |_, _, _| ());
        let path = Some((a, d));
        graph.add(a, c, Because { literal: 3, path }, |_, _, _| ());
        let mut reasons = |time| {
            let mut reasons = Vec::new();
            graph.reasons((a, d), time, &mut reasons);
            reasons.sort_unstable();
            reasons
        };
        assert_eq!(reasons(2), [1, 2]);
        assert_eq!(reasons(3), [1, 2, 3]);
    }

    #[test]
    fn bits_are_those_of_a_search_however_edges_come_and_go() {
        const LEN: usize = 70;
        let mut numbers = Numbers(5);
        let order: Vec<Vertex> = (0..LEN).map(Vertex::at).collect();
        let mut edges = vec![(order[0], order[1]), (order[1], order[66])];
        let known = edges.len();
        let mut graph = Closure::new(LEN, &edges, &order);
        for _ in 0..400 {
            if numbers.below(4) == 0 {
                let keep = numbers.below(edges.len() as u64 + 1) as usize;
                edges.truncate(keep.max(known));
                graph.keep(edges.len() - known);
            }
            let [from, to] = [(); 2].map(|()| Vertex::at(numbers.below(LEN as u64) as usize));
            if from != to && !graph.has(to, from) && !graph.has(from, to) {
                edges.push((from, to));
                graph.add(from, to, because(0), |_, _, _| ());
            }
            let fresh = Closure::new(LEN, &edges, &graph.order());
            assert_eq!(graph.ahead.words, fresh.ahead.words);
            assert_eq!(graph.behind.words, fresh.behind.words);
        }
    }
}
