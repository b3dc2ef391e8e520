//! What every version order of a small history leads to.

use super::outcome::{PolygraphOutcome, pruned};
use crate::checker::budget::Budget;
use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::evidence::reduce;
use crate::checker::resolved::resolve::{Resolved, resolve_openly};
use crate::checker::resolved::version::Version;
use crate::checker::resolved::versions::{ChainedVersions, chains, last_of};
use crate::history::{History, Key, Txn};
use crate::model::ConsistencyModel;

/// With more ways to order the writes nobody reads them.
const WAYS_MAX: usize = 8;

/// With more transactions each look at them takes long.
const TRANSACTIONS_MAX: usize = 16;

/// One way to begin the version orders, and the cycle that it closes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::checker) struct OrderCycle {
    /// Who writes a key next, of several who can: in the order of the choice.
    pub(in crate::checker) chosen: Vec<(Key, Txn)>,
    pub(in crate::checker) edges: Vec<Edge>,
}

/// A cycle for every way to order the writes of these transactions; none where there is a way without one,
/// where there are too many, or where it is not known who wrote what was read.
///
/// They are cycles of snapshot isolation where each way has one, else of serializability, else of strict
/// serializability.
pub(in crate::checker) fn cycles_of_every_order(
    history: &History,
    core: &[Txn],
) -> Option<Vec<OrderCycle>> {
    if core.len() > TRANSACTIONS_MAX {
        return None;
    }
    let part = reduce::restricted(history, core)?;
    let resolved = resolve_openly(&part).ok()?;
    if !resolved.open_reads.is_empty() {
        return None;
    }
    let models = [
        ConsistencyModel::Snapshot,
        ConsistencyModel::Serializable,
        ConsistencyModel::StrictSerializable,
    ];
    let timed = || resolved.live().all(|t| part.real_time(t).is_some());
    let mut found = models.into_iter().find_map(|model| {
        let is_known = model != ConsistencyModel::StrictSerializable || timed();
        let begun = chains(&resolved).ok().filter(|_| is_known)?;
        let mut ways = Ways {
            resolved: &resolved,
            model,
            found: Vec::new(),
        };
        ways.all_close(begun, &mut Vec::new()).then_some(ways.found)
    })?;
    // The part numbers its transactions in the order of the core.
    let whole = |t: Txn| match t.is_initial() {
        true => Some(t),
        false => core.get(t.number() as usize - 1).copied(),
    };
    for way in &mut found {
        for (_, writer) in &mut way.chosen {
            *writer = whole(*writer)?;
        }
        for edge in &mut way.edges {
            (edge.from, edge.to) = (whole(edge.from)?, whole(edge.to)?);
            if let Reason::SeenBy { reader, .. } = &mut edge.reason {
                *reader = whole(*reader)?;
            }
        }
    }
    Some(found)
}

/// The ways to put chains behind each other, found so far.
struct Ways<'r> {
    resolved: &'r Resolved<'r>,
    model: ConsistencyModel,
    found: Vec<OrderCycle>,
}

impl Ways<'_> {
    /// Whether every way to go on from these chains closes a cycle.
    fn all_close(&mut self, begun: ChainedVersions, chosen: &mut Vec<(Key, Txn)>) -> bool {
        if let Some(cycle) = self.cycle(&begun) {
            self.found.push(OrderCycle {
                chosen: chosen.clone(),
                edges: cycle.edges,
            });
            return self.found.len() <= WAYS_MAX;
        }
        // The key whose order closes cycles soonest tells most.
        let keys = begun.heads.chunk_by(|one, other| one.0 == other.0);
        let rated = keys.map(|heads| {
            let ways: Vec<_> = one_further(&begun, heads[0].0).collect();
            let closed = ways.iter().filter(|way| self.cycle(&way.1).is_some());
            (ways.len() - closed.count(), ways)
        });
        let Some((_, ways)) = rated.min_by_key(|(open, ways)| (*open, ways.len())) else {
            return false;
        };
        let is_choice = ways.len() > 1;
        ways.into_iter().all(|(head, further)| {
            let choice = (self.resolved.key[head], self.resolved.writer[head]);
            chosen.extend(is_choice.then_some(choice));
            let closes = self.all_close(further, chosen);
            chosen.truncate(chosen.len() - usize::from(is_choice));
            closes
        })
    }

    fn cycle(&self, chains: &ChainedVersions) -> Option<Counterexample> {
        let outcome = pruned(self.resolved, chains, &[], self.model, Budget::default());
        let Err(PolygraphOutcome::Cycle(found)) = outcome else {
            return None;
        };
        Some(found)
    }
}

/// The ways to put one more chain of a key behind those that are in order: its first version, and the
/// chains then.
pub(super) fn one_further(
    begun: &ChainedVersions,
    key: Key,
) -> impl Iterator<Item = (Version, ChainedVersions)> {
    let last = last_of(&begun.next, Version::initial(key));
    let of_key = begun.heads.iter().enumerate();
    let of_key = of_key.filter(move |(_, head)| head.0 == key);
    of_key.map(move |(at, (_, head))| {
        let (mut next, mut heads) = (begun.next.clone(), begun.heads.clone());
        next[last] = *head;
        heads.remove(at);
        (*head, ChainedVersions { next, heads })
    })
}
