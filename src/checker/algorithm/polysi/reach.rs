//! What reaches what along known edges, kept by sessions: a vertex reaches a session from some
//! place on, and is reached from it up to some place.

use super::polygraph::{NO_LINE, Polygraph, SessionLines};
use crate::checker::resolved::arcs::Rows;
use crate::checker::resolved::vertex::Vertex;

/// Stands for no place of a session.
const NOWHERE: u32 = u32::MAX;

/// What reaches what, as of the edges known when it was computed.
pub(super) struct Reach {
    lines: SessionLines,
    /// Row `v`: the first place of each session that `v` reaches; [`NOWHERE`] where none.
    first: Vec<u32>,
}

impl Reach {
    /// From a topological order of the edges.
    pub(super) fn new(polygraph: &Polygraph<'_>, order: &[Vertex]) -> Self {
        let lines = polygraph.lines();
        let rows = Rows::of(polygraph.len, &polygraph.edges);
        let mut first = vec![NOWHERE; polygraph.len * lines.count];
        for vertex in order.iter().rev() {
            let at = vertex.index() * lines.count;
            for to in rows.row(*vertex) {
                let other = to.index() * lines.count;
                for line in 0..lines.count {
                    first[at + line] = first[at + line].min(first[other + line]);
                }
            }
            let line = lines.line[*vertex];
            if line != NO_LINE {
                first[at + line as usize] = lines.place[*vertex];
            }
        }
        Self { lines, first }
    }

    /// The first place of a session that a vertex reaches.
    pub(super) fn first(&self, from: Vertex, line: usize) -> u32 {
        self.first[from.index() * self.lines.count + line]
    }

    /// The session of a vertex and its place in it.
    pub(super) fn place(&self, vertex: Vertex) -> (u32, u32) {
        (self.lines.line[vertex], self.lines.place[vertex])
    }

    pub(super) fn has(&self, from: Vertex, to: Vertex) -> bool {
        let line = self.lines.line[to];
        line != NO_LINE && {
            let first = self.first[from.index() * self.lines.count + line as usize];
            first <= self.lines.place[to]
        }
    }
}

/// What a vertex is reached from, as of the edges known when it was computed.
pub(super) struct Reached {
    count: usize,
    /// Row `v`: one more than the last place of each session that reaches `v`; 0 where none does.
    last: Vec<u32>,
    /// The vertices of each session by their places.
    vertices: Vec<Vec<Vertex>>,
}

impl Reached {
    /// From a topological order of the edges.
    pub(super) fn new(polygraph: &Polygraph<'_>, order: &[Vertex]) -> Self {
        let lines = polygraph.lines();
        let rows = Rows::of(polygraph.len, &polygraph.edges);
        let mut last = vec![0; polygraph.len * lines.count];
        let mut vertices = vec![Vec::new(); lines.count];
        for vertex in order {
            let at = vertex.index() * lines.count;
            let line = lines.line[*vertex];
            if line != NO_LINE {
                last[at + line as usize] = lines.place[*vertex] + 1;
            }
            for to in rows.row(*vertex) {
                let other = to.index() * lines.count;
                for line in 0..lines.count {
                    last[other + line] = last[other + line].max(last[at + line]);
                }
            }
        }
        for vertex in (0..polygraph.len).map(Vertex::at) {
            if lines.line[vertex] != NO_LINE {
                vertices[lines.line[vertex] as usize].push((lines.place[vertex], vertex));
            }
        }
        let vertices = vertices.into_iter().map(|mut line: Vec<(u32, Vertex)>| {
            line.sort_unstable();
            line.into_iter().map(|(_, vertex)| vertex).collect()
        });
        Self {
            count: lines.count,
            last,
            vertices: vertices.collect(),
        }
    }

    /// For each session one more than the last place that reaches a vertex, itself included.
    pub(super) fn row(&self, vertex: Vertex) -> &[u32] {
        let at = vertex.index() * self.count;
        &self.last[at..at + self.count]
    }

    /// The vertex of a session that stands before a place.
    pub(super) fn before(&self, line: usize, place: u32) -> Option<Vertex> {
        let at = (place as usize).checked_sub(1)?;
        self.vertices[line].get(at).copied()
    }
}

/// The known edges without those that others imply.
pub(super) fn reduced(polygraph: &Polygraph<'_>, order: &[Vertex]) -> Vec<(Vertex, Vertex)> {
    let reach = Reach::new(polygraph, order);
    let mut rank = vec![0u32; polygraph.len];
    for (place, vertex) in (0u32..).zip(order) {
        rank[*vertex] = place;
    }
    let rows = Rows::of(polygraph.len, &polygraph.edges);
    let (mut kept, mut next) = (Vec::new(), Vec::new());
    for from in (0..polygraph.len).map(Vertex::at) {
        next.clear();
        next.extend(rows.row(from).iter().filter(|to| **to != from));
        next.sort_unstable_by_key(|to| rank[*to]);
        next.dedup();
        let begin = kept.len();
        for to in &next {
            let is_implied = |(_, near): &(Vertex, Vertex)| reach.has(*near, *to);
            if !kept[begin..].iter().any(is_implied) {
                kept.push((from, *to));
            }
        }
    }
    kept
}
