//! Deciding constraints by reachability (PolySI, section 4.3).
//!
//! If what one order of two chains means would close a cycle, the other holds. Reachability is
//! kept by sessions, not by pairs of transactions: a vertex reaches a session from some place on.

use super::polygraph::{Chain, Constraint, Polygraph};
use super::reach::Reach;
use crate::checker::budget::Budget;
use crate::checker::resolved::dependencies::DependencyEdge;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Txn;

/// Rounds of pruning at most; a round costs less than what it decides saves only while it decides.
const ROUNDS_MAX: usize = 12;

/// Why pruning did not come to its end.
pub(super) enum Stopped {
    Violated,
    TimeIsOver,
    /// What reaches what does not fit into [`REACH_BYTES_MAX`].
    TooLarge,
}

/// Bytes that reachability may take: a number for each vertex and session.
const REACH_BYTES_MAX: usize = 4 << 30;

/// Why reachability is not known.
pub(super) const TOO_LARGE: &str = "which transactions lead to which takes more than 4096 MB: \
     check fewer sessions at a time";

/// Whether reachability may be computed within [`REACH_BYTES_MAX`].
pub(super) fn fits(polygraph: &Polygraph<'_>) -> bool {
    let sessions = polygraph.resolved.history.session_count();
    let entries = polygraph.len.saturating_mul(sessions);
    entries.saturating_mul(size_of::<u32>()) <= REACH_BYTES_MAX
}

/// What is known of the order of two chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Before,
    After,
    Open,
}

/// The first chain is the likelier to be the earlier. Where neither order is possible the one that
/// is looked at first is excluded, and the edges of the other close a cycle.
fn order(polygraph: &Polygraph<'_>, reach: &Reach, one: &Chain, other: &Chain) -> Order {
    if is_excluded(polygraph, reach, other, one) {
        Order::Before
    } else if is_excluded(polygraph, reach, one, other) {
        Order::After
    } else {
        Order::Open
    }
}

/// Whether one chain before another would close a cycle.
fn is_excluded(polygraph: &Polygraph<'_>, reach: &Reach, one: &Chain, other: &Chain) -> bool {
    let view = polygraph.view;
    let closes = |(from, to): (Vertex, Vertex)| reach.has(to, from);
    if !one.last.is_initial() && closes(view.edge(one.last, other.first, VISIBLE)) {
        return true;
    }
    let mut readers = polygraph.readers_of(one).iter();
    readers.any(|reader| {
        *reader != other.first && closes(view.edge(*reader, other.first, DependencyEdge::Anti))
    })
}

/// Decides constraints until nothing more follows; what stays open is left in the polygraph.
pub(super) fn prune(polygraph: &mut Polygraph<'_>, budget: Budget) -> Result<(), Stopped> {
    if polygraph.chains.is_empty() {
        return Ok(());
    }
    if !fits(polygraph) {
        return Err(Stopped::TooLarge);
    }
    let topological = polygraph.order().map_err(|_| Stopped::Violated)?;
    let mut reach = Reach::new(polygraph, &topological);
    let mut rank = vec![0u32; polygraph.len];
    for (place, vertex) in (0u32..).zip(&topological) {
        rank[*vertex] = place;
    }
    let (known, open) = first_round(polygraph, &reach, &rank, budget)?;
    polygraph.constraints = open;
    let mut fresh = known;
    for _ in 0..ROUNDS_MAX {
        if fresh.is_empty() || polygraph.constraints.is_empty() {
            break;
        }
        if budget.is_over() {
            return Err(Stopped::TimeIsOver);
        }
        polygraph.edges.append(&mut fresh);
        let topological = polygraph.order().map_err(|_| Stopped::Violated)?;
        reach = Reach::new(polygraph, &topological);
        let mut open = Vec::new();
        for constraint in std::mem::take(&mut polygraph.constraints) {
            let (one, other) = pair(polygraph, constraint);
            let (before, after) = match order(polygraph, &reach, &one, &other) {
                Order::Open => {
                    open.push(constraint);
                    continue;
                }
                Order::Before => (one, other),
                Order::After => (other, one),
            };
            polygraph.between(&before, &after, |(from, to)| {
                if !reach.has(from, to) {
                    fresh.push((from, to));
                }
            });
        }
        polygraph.constraints = open;
    }
    polygraph.edges.append(&mut fresh);
    polygraph.order().map(|_| ()).map_err(|_| Stopped::Violated)
}

/// The chains of a constraint.
pub(super) fn pair(polygraph: &Polygraph<'_>, constraint: Constraint) -> (Chain, Chain) {
    let chain = |at: u32| polygraph.chains[at as usize];
    (chain(constraint.one), chain(constraint.other))
}

/// New edges, and the constraints that stay open.
type Round = (Vec<(Vertex, Vertex)>, Vec<Constraint>);

/// Looks at all pairs of chains of each key. Of what is decided only the edges between neighbours
/// are kept, so that a hot key costs edges in proportion to its chains.
fn first_round(
    polygraph: &mut Polygraph<'_>,
    reach: &Reach,
    rank: &[u32],
    budget: Budget,
) -> Result<Round, Stopped> {
    let mut chains = std::mem::take(&mut polygraph.chains);
    let vertex = |chain: &Chain| polygraph.view.edge(Txn::INITIAL, chain.first, VISIBLE).1;
    chains.sort_by_key(|chain| (chain.key, rank[vertex(chain)], chain.first));
    let (mut known, mut open) = (Vec::new(), Vec::new());
    let mut begin = 0;
    for group in chains.chunk_by(|one, other| one.key == other.key) {
        if budget.is_over() {
            return Err(Stopped::TimeIsOver);
        }
        let len = group.len();
        let mut orders = vec![Order::Open; len * len];
        for one in 0..len {
            for other in one + 1..len {
                let found = order(polygraph, reach, &group[one], &group[other]);
                if found == Order::Open {
                    let number = |at: usize| (begin + at) as u32;
                    let (one, other) = (number(one), number(other));
                    open.push(Constraint { one, other });
                }
                orders[one * len + other] = found;
                orders[other * len + one] = match found {
                    Order::Before => Order::After,
                    Order::After => Order::Before,
                    same => same,
                };
            }
        }
        let mut neighbours: Vec<usize> = Vec::new();
        for one in 0..len {
            neighbours.clear();
            let row = &orders[one * len..(one + 1) * len];
            for other in (0..len).filter(|other| row[*other] == Order::Before) {
                let is_behind = |near: &usize| orders[near * len + other] == Order::Before;
                if neighbours.iter().any(is_behind) {
                    continue;
                }
                neighbours.push(other);
                polygraph.between(&group[one], &group[other], |(from, to)| {
                    if !reach.has(from, to) {
                        known.push((from, to));
                    }
                });
            }
        }
        begin += len;
    }
    polygraph.chains = chains;
    Ok((known, open))
}

const VISIBLE: DependencyEdge = DependencyEdge::Visible;
