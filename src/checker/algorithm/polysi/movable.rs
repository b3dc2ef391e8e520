//! The vertices that annealing moves, and the known edges between them. The commits of transactions that only
//! read do nothing to a key, and follow: each comes right behind what must come before it.

use super::polygraph::{Polygraph, VertexView};
use crate::checker::resolved::arcs::Rows;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Key;

pub(super) struct Movable {
    pub(super) all: Vec<Vertex>,
    /// Of those that move: which of them come before one, by the known edges and paths through others.
    pub(super) before: Rows<Vertex, Vertex>,
    pub(super) after: Rows<Vertex, Vertex>,
    /// Those that follow, in an order of the known edges, and of each what comes right before it.
    followers: Vec<Vertex>,
    leaders: Rows<Vertex, Vertex>,
}

impl Movable {
    /// What moves, and what follows because it owns none of the accesses. `order` has the known edges.
    pub(super) fn new(
        polygraph: &Polygraph<'_>,
        order: &[Vertex],
        owners: &[(Vertex, Key)],
    ) -> Self {
        // Another vertex without accesses may stand between many and many, as those of real time do.
        let is_commit = |vertex: Vertex| polygraph.view == VertexView::Split && !vertex.is_start();
        let vertices = (0..polygraph.len).map(Vertex::at);
        let mut moves: Vec<bool> = vertices.map(|vertex| !is_commit(vertex)).collect();
        for (vertex, _) in owners {
            moves[*vertex] = true;
        }
        let edges = polygraph.edges.iter().filter(|(from, to)| from != to);
        let back: Vec<_> = edges.map(|(from, to)| (*to, *from)).collect();
        let leaders = Rows::of(polygraph.len, &back);
        // Of a vertex that follows: the last ones before it that move.
        let mut nearest: Vec<Vec<Vertex>> = vec![Vec::new(); polygraph.len];
        let (mut out, mut back) = (Vec::new(), Vec::new());
        for vertex in order {
            let mut before = Vec::new();
            for leader in leaders.row(*vertex) {
                match moves[*leader] {
                    true => before.push(*leader),
                    false => before.extend(&nearest[*leader]),
                }
            }
            before.sort_unstable();
            before.dedup();
            if moves[*vertex] {
                out.extend(before.iter().map(|before| (*before, *vertex)));
                back.extend(before.iter().map(|before| (*vertex, *before)));
            } else {
                nearest[*vertex] = before;
            }
        }
        let (all, followers) = order.iter().partition(|vertex| moves[**vertex]);
        Self {
            all,
            before: Rows::of(polygraph.len, &back),
            after: Rows::of(polygraph.len, &out),
            followers,
            leaders,
        }
    }

    /// All vertices in order: those that move by their moments, and of one moment the first number first,
    /// as the lines have it.
    pub(super) fn order(&self, moments: &[f64]) -> Vec<Vertex> {
        // A follower has the moment of its last leader, and comes behind it.
        let mut at: Vec<(f64, u32)> = moments.iter().map(|moment| (*moment, 0)).collect();
        for vertex in &self.followers {
            let leaders = self.leaders.row(*vertex).iter();
            let behind = leaders.map(|leader| (at[*leader].0, at[*leader].1 + 1));
            let first = (f64::NEG_INFINITY, 0);
            at[*vertex] = behind.fold(first, |one, other| if other > one { other } else { one });
        }
        let mut order: Vec<Vertex> = (0..moments.len()).map(Vertex::at).collect();
        order.sort_by(|one, other| {
            let (one, other) = (at[*one], at[*other]);
            one.0.total_cmp(&other.0).then(one.1.cmp(&other.1))
        });
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::algorithm::polysi::judge::narrowed_polygraph;
    use crate::checker::algorithm::polysi::narrow::narrow;
    use crate::checker::budget::Budget;
    use crate::checker::resolved::resolve::resolve_openly;
    use crate::checker::tests::{Numbers, build, random};
    use crate::model::ConsistencyModel;

    #[test]
    fn followers_keep_every_known_edge_wherever_the_others_are() {
        let mut numbers = Numbers(11);
        let (mut looked_at, mut followers) = (0, 0);
        while looked_at < 200 {
            let history = build(&random(&mut numbers, [12, 6, 4], 2));
            let budget = Budget::default();
            let Ok(resolved) = resolve_openly(&history) else {
                continue;
            };
            let model = ConsistencyModel::Snapshot;
            let Ok(narrowed) = narrow(resolved, model, budget) else {
                continue;
            };
            let Ok(polygraph) = narrowed_polygraph(&narrowed, model, budget) else {
                continue;
            };
            let order = polygraph.order().expect("no cycle");
            // Every other transaction has accesses at its commit.
            let owners: Vec<_> = (0..polygraph.len)
                .map(Vertex::at)
                .filter(|v| v.is_start() || v.of_start_or_commit().number().is_multiple_of(2))
                .map(|v| (v, Key::new(0)))
                .collect();
            let movable = Movable::new(&polygraph, &order, &owners);
            let moments = moments(&mut numbers, &movable, polygraph.len);
            let told = movable.order(&moments);
            let mut place = vec![0; polygraph.len];
            for (at, vertex) in told.iter().enumerate() {
                place[*vertex] = at;
            }
            for (from, to) in polygraph.edges.iter().filter(|(from, to)| from != to) {
                assert!(place[*from] < place[*to], "{from:?} {to:?} in {told:?}");
            }
            looked_at += 1;
            followers += movable.followers.len();
        }
        assert!(followers > 200, "{followers}");
    }

    /// A random moment of every vertex that moves, behind those that must be before it; of the others one
    /// that means nothing.
    fn moments(numbers: &mut Numbers, movable: &Movable, len: usize) -> Vec<f64> {
        let mut moments = vec![f64::MAX; len];
        for vertex in &movable.all {
            let before = movable.before.row(*vertex).iter();
            let begin = before.fold(0.0, |begin, before| moments[*before].max(begin));
            moments[*vertex] = begin + 1.0 + numbers.below(4) as f64;
        }
        moments
    }
}
