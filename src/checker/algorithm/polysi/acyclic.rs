//! A graph that stays acyclic while edges come and go: Pearce and Kelly's dynamic topological
//! order (JEA 2006), with the reasons of edges for the solver.

use crate::checker::resolved::arcs::Rows;
use crate::checker::resolved::vertex::Vertex;

/// Why an edge is there: what two numbers of the caller stand for, which may be the same.
pub(super) type Cause = [u32; 2];

/// Stands for an edge that needs no reason.
const KNOWN: Cause = [u32::MAX; 2];

/// A graph with a topological order of it.
#[derive(Debug)]
pub(super) struct Acyclic {
    known_out: Rows<Vertex, Vertex>,
    known_in: Rows<Vertex, Vertex>,
    /// Added edges: the other end, and the reason.
    added_out: Vec<Vec<(Vertex, Cause)>>,
    added_in: Vec<Vec<(Vertex, Cause)>>,
    /// The place of each vertex in the order.
    place: Vec<u32>,
    /// Added edges, oldest first.
    trail: Vec<(Vertex, Vertex)>,
    /// When a vertex was reached last, to clear nothing between searches.
    mark: Vec<u32>,
    round: u32,
    /// How a vertex was reached: from where, and the reason.
    parent: Vec<(Vertex, Cause)>,
    forward: Vec<Vertex>,
    backward: Vec<Vertex>,
    around: Around,
}

/// What an edge connects: what its end leads to, and what leads to its beginning.
#[derive(Debug)]
struct Around {
    ahead: Side,
    behind: Side,
    round: u32,
}

/// The vertices on one side of an edge, and how each was reached.
#[derive(Debug)]
struct Side {
    vertices: Vec<Vertex>,
    mark: Vec<u32>,
    parent: Vec<(Vertex, Cause)>,
}

impl Side {
    fn new(len: usize) -> Self {
        Self {
            vertices: Vec::new(),
            mark: vec![0; len],
            parent: vec![(Vertex::new(0), KNOWN); len],
        }
    }

    fn reach(&mut self, vertex: Vertex, round: u32, from: (Vertex, Cause)) {
        if self.mark[vertex] != round {
            self.mark[vertex] = round;
            self.parent[vertex] = from;
            self.vertices.push(vertex);
        }
    }

    /// The causes on the way to a vertex.
    fn causes(&self, vertex: Vertex, causes: &mut Vec<u32>) {
        let mut at = vertex;
        while at != self.vertices[0] {
            let (parent, cause) = self.parent[at];
            if cause != KNOWN {
                causes.extend(cause);
            }
            at = parent;
        }
    }
}

impl Acyclic {
    /// From known edges and a topological order of them.
    pub(super) fn new(len: usize, edges: &[(Vertex, Vertex)], order: &[Vertex]) -> Self {
        let mut place = vec![0; len];
        for (at, vertex) in (0u32..).zip(order) {
            place[*vertex] = at;
        }
        let reversed: Vec<(Vertex, Vertex)> = edges.iter().map(|(from, to)| (*to, *from)).collect();
        Self {
            known_out: Rows::of(len, edges),
            known_in: Rows::of(len, &reversed),
            added_out: vec![Vec::new(); len],
            added_in: vec![Vec::new(); len],
            place,
            trail: Vec::new(),
            mark: vec![0; len],
            round: 0,
            parent: vec![(Vertex::new(0), KNOWN); len],
            forward: Vec::new(),
            backward: Vec::new(),
            around: Around {
                ahead: Side::new(len),
                behind: Side::new(len),
                round: 0,
            },
        }
    }

    /// How many edges were added and not taken back.
    pub(super) fn added(&self) -> usize {
        self.trail.len()
    }

    /// Takes back all but the oldest added edges. The order stays one of what is left.
    pub(super) fn keep(&mut self, count: usize) {
        for (from, to) in self.trail.drain(count..).rev() {
            self.added_out[from].pop();
            self.added_in[to].pop();
        }
    }

    /// The place of a vertex in the order.
    pub(super) fn place(&self, vertex: Vertex) -> u32 {
        self.place[vertex]
    }

    /// The vertices in order.
    pub(super) fn order(&self) -> Vec<Vertex> {
        let mut order = vec![Vertex::new(0); self.place.len()];
        for (vertex, place) in (0u32..).map(Vertex::new).zip(&self.place) {
            order[*place as usize] = vertex;
        }
        order
    }

    /// Adds an edge, unless it closes a cycle: then the reasons of a shortest path back.
    pub(super) fn add(&mut self, from: Vertex, to: Vertex, reason: Cause) -> Result<(), Vec<u32>> {
        if self.place[from] > self.place[to] {
            self.search_forward(from, to)?;
            self.search_backward(from, to);
            self.reorder();
        }
        self.added_out[from].push((to, reason));
        self.added_in[to].push((from, reason));
        self.trail.push((from, to));
        Ok(())
    }

    /// Looks at what an edge of the graph connects.
    pub(super) fn look_around(&mut self, from: Vertex, to: Vertex) {
        let Around {
            ahead,
            behind,
            round,
        } = &mut self.around;
        *round += 1;
        for (side, start, known, added) in [
            (ahead, to, &self.known_out, &self.added_out),
            (behind, from, &self.known_in, &self.added_in),
        ] {
            side.vertices.clear();
            side.reach(start, *round, (start, KNOWN));
            let mut at = 0;
            while let Some(&vertex) = side.vertices.get(at) {
                at += 1;
                for next in known.row(vertex) {
                    side.reach(*next, *round, (vertex, KNOWN));
                }
                for (next, cause) in &added[vertex] {
                    side.reach(*next, *round, (vertex, *cause));
                }
            }
        }
    }

    /// What the end of the edge that was looked at leads to, itself included.
    pub(super) fn ahead(&self) -> &[Vertex] {
        &self.around.ahead.vertices
    }

    /// Whether a vertex leads to the beginning of the edge that was looked at.
    pub(super) fn is_behind(&self, vertex: Vertex) -> bool {
        self.around.behind.mark[vertex] == self.around.round
    }

    /// The reasons of the path from one vertex behind the edge that was looked at to one ahead of
    /// it, without those of the edge itself.
    pub(super) fn reasons_around(&self, behind: Vertex, ahead: Vertex) -> Vec<u32> {
        let mut causes = Vec::new();
        self.around.behind.causes(behind, &mut causes);
        self.around.ahead.causes(ahead, &mut causes);
        causes
    }

    /// Collects what `to` reaches before the place of `from`.
    fn search_forward(&mut self, from: Vertex, to: Vertex) -> Result<(), Vec<u32>> {
        self.round += 1;
        let bound = self.place[from];
        self.forward.clear();
        self.forward.push(to);
        self.mark[to] = self.round;
        let mut at = 0;
        while let Some(&vertex) = self.forward.get(at) {
            at += 1;
            let known = self.known_out.row(vertex).iter().map(|to| (*to, KNOWN));
            let added = self.added_out[vertex].iter().copied();
            for (next, reason) in known.chain(added) {
                let index = next.index();
                if self.mark[index] == self.round || self.place[index] > bound {
                    continue;
                }
                self.mark[index] = self.round;
                self.parent[index] = (vertex, reason);
                if next == from {
                    return Err(self.reasons(from, to));
                }
                self.forward.push(next);
            }
        }
        Ok(())
    }

    /// The reasons on the path that was found from `to` back to `from`.
    fn reasons(&self, from: Vertex, to: Vertex) -> Vec<u32> {
        let mut reasons = Vec::new();
        let mut at = from;
        while at != to {
            let (parent, reason) = self.parent[at];
            if reason != KNOWN {
                reasons.extend(reason);
            }
            at = parent;
        }
        reasons.sort_unstable();
        reasons.dedup();
        reasons
    }

    /// Collects what reaches `from` behind the place of `to`.
    fn search_backward(&mut self, from: Vertex, to: Vertex) {
        self.round += 1;
        let bound = self.place[to];
        self.backward.clear();
        self.backward.push(from);
        self.mark[from] = self.round;
        let mut at = 0;
        while let Some(&vertex) = self.backward.get(at) {
            at += 1;
            let known = self.known_in.row(vertex).iter().copied();
            let added = self.added_in[vertex].iter().map(|(from, _)| *from);
            for next in known.chain(added) {
                let index = next.index();
                if self.mark[index] != self.round && self.place[index] > bound {
                    self.mark[index] = self.round;
                    self.backward.push(next);
                }
            }
        }
    }

    /// Puts what was found behind before what was found ahead, in the places of both.
    fn reorder(&mut self) {
        let place = &self.place;
        self.backward.sort_unstable_by_key(|vertex| place[*vertex]);
        self.forward.sort_unstable_by_key(|vertex| place[*vertex]);
        let vertices = self.backward.iter().chain(&self.forward);
        let mut places: Vec<u32> = vertices.clone().map(|v| place[*v]).collect();
        places.sort_unstable();
        for (vertex, place) in vertices.zip(places) {
            self.place[*vertex] = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_that_closes_a_cycle_says_which_added_ones_lead_back() {
        let [a, b, c, d] = [0, 1, 2, 3].map(Vertex::new);
        let known = [(a, b), (c, d)];
        let mut graph = Acyclic::new(4, &known, &[c, d, a, b]);
        graph.add(b, c, [7, 7]).expect("acyclic");
        let place = |graph: &Acyclic, v: Vertex| graph.order().iter().position(|o| *o == v);
        assert!(place(&graph, b) < place(&graph, c));
        assert_eq!(graph.add(d, a, [8, 8]), Err(vec![7]));
        graph.keep(0);
        graph.add(d, a, [8, 5]).expect("acyclic again");
        assert_eq!(graph.add(b, c, [9, 9]), Err(vec![5, 8]));
        assert_eq!(graph.added(), 1);
    }
}
