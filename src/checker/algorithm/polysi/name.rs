//! Names what no choice of version orders avoids.

use std::collections::BTreeSet;

use super::judge::is_satisfied;
use super::orders::one_further;
use super::outcome::{PolygraphOutcome, pruned};
use crate::checker::algorithm::weak;
use crate::checker::answer::{Answer, Checker as _};
use crate::checker::budget::Budget;
use crate::checker::resolved::resolve::{Resolved, resolve_openly};
use crate::checker::resolved::versions::{ChainedVersions, chains};
use crate::history::{History, Key};
use crate::model::Anomaly;
use crate::model::ConsistencyModel;

/// With more version orders than this the counterexample has no name of its own.
const ORDERS_MAX: usize = 720;

/// Names a core by the models that it leaves, and by what every version order makes of it: nothing
/// can be left out of it.
pub(super) fn name(core: &History, model: ConsistencyModel, budget: Budget) -> Anomaly {
    let satisfies = |weaker: ConsistencyModel| is_satisfied(core, weaker, budget);
    if model >= ConsistencyModel::StrictSerializable
        && satisfies(ConsistencyModel::Serializable) == Some(true)
    {
        return Anomaly::StaleRead;
    }
    if model != ConsistencyModel::Snapshot && satisfies(ConsistencyModel::Snapshot) == Some(true) {
        return Anomaly::WriteSkew;
    }
    of_every_order(core, budget).unwrap_or(Anomaly::NoVersionOrder)
}

/// The anomaly that every version order leads to under snapshot isolation; none where one leads to
/// another, or where there are too many.
///
/// In these orders an update follows the version that its transaction read. Where the core is causally consistent, an order
/// that breaks causality is not the one that it had, and says nothing; where all do, the one that it had puts another
/// write between what a transaction read and what it wrote: an update is lost.
fn of_every_order(core: &History, budget: Budget) -> Option<Anomaly> {
    let resolved = resolve_openly(core).ok()?;
    if !resolved.open_reads.is_empty() {
        return None;
    }
    let known = chains(&resolved).ok()?;
    let read: BTreeSet<Key> = resolved
        .live()
        .flat_map(|transaction| resolved.reads(transaction))
        .map(|version| resolved.key[*version])
        .collect();
    // A cycle that stands without the writes that nobody reads stands with them, in whatever order they are.
    let mut of_read_keys = known.clone();
    of_read_keys.heads.retain(|(key, _)| read.contains(key));
    let all_are_read = of_read_keys.heads == known.heads;
    let mut ways = vec![of_read_keys];
    if !all_are_read {
        ways.push(known);
    }
    ways.retain(has_few_orders);
    if ways.is_empty() {
        return None;
    }
    let causal = weak::Weak.check(core, ConsistencyModel::Causal, budget);
    let is_causal = matches!(causal, Answer::Satisfied(_));
    let mut ways = ways.into_iter();
    ways.find_map(|known| of_orders(&resolved, known, is_causal, budget))
}

/// Whether all orders of these chains can be looked at.
fn has_few_orders(known: &ChainedVersions) -> bool {
    let of_keys = known.heads.chunk_by(|one, other| one.0 == other.0);
    let orders = of_keys
        .flat_map(|heads| 1..=heads.len())
        .try_fold(1_usize, usize::checked_mul);
    orders.is_some_and(|orders| orders <= ORDERS_MAX)
}

/// The anomaly that these chains lead to in every order.
fn of_orders(
    resolved: &Resolved<'_>,
    known: ChainedVersions,
    is_causal: bool,
    budget: Budget,
) -> Option<Anomaly> {
    let mut named = None;
    is_every_order(known, &mut |chains| {
        if budget.is_over() {
            return false;
        }
        let Err(PolygraphOutcome::Cycle(found)) =
            pruned(resolved, chains, &[], ConsistencyModel::Snapshot, budget)
        else {
            return false;
        };
        if is_causal && breaks_causality(found.anomaly) {
            return true;
        }
        *named.get_or_insert(found.anomaly) == found.anomaly
    })
    .then(|| named.or(is_causal.then_some(Anomaly::LostUpdate)))?
}

/// Whether causal consistency forbids it.
fn breaks_causality(anomaly: Anomaly) -> bool {
    matches!(
        anomaly,
        Anomaly::DirtyWrite
            | Anomaly::CircularInformationFlow
            | Anomaly::SessionGuaranteeViolation
            | Anomaly::NonMonotonicRead
            | Anomaly::FracturedRead
            | Anomaly::CausalityViolation
    )
}

/// Whether something holds of every way to put the chains of each key behind each other.
fn is_every_order(
    chains: ChainedVersions,
    holds: &mut impl FnMut(&ChainedVersions) -> bool,
) -> bool {
    let Some((key, _)) = chains.heads.first().copied() else {
        return holds(&chains);
    };
    one_further(&chains, key).all(|(_, further)| is_every_order(further, holds))
}
