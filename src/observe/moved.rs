//! Rows that were moved to another place: for the engine a deletion and an insertion, for a chain one
//! row.

use super::Version;
use super::chain::{Chains, VersionId};
use super::visibility::Timeline;
use crate::model::{TableShape, Tick};

/// [`Doubt::MovedKey`](crate::model::Doubt::MovedKey): the version that a snapshot shows of a row
/// which the reader's transaction wrote on top of a version with other keys, or of another row that replaced it. `own` picks the
/// versions of that transaction that it has not taken back, `replaces` those that lie elsewhere whatever their keys.
///
/// An engine that keeps rows by their key leaves the old one in place for the snapshot: the
/// transaction's own write went to the new one, and it sees both (MDEV-32898, `TiDB#23966`).
pub(super) fn old_place(
    shape: &TableShape,
    chains: &Chains,
    timeline: &Timeline,
    chain: &[VersionId],
    own: impl Fn(&VersionId) -> bool,
    replaces: impl Fn(VersionId) -> bool,
    snapshot: Tick,
) -> Option<VersionId> {
    let first_own = chain.iter().position(&own);
    let below = &chain[..first_own.unwrap_or(chain.len())];
    let shown = below.iter().rposition(|id| {
        let writer = chains.version(*id).writer.transaction;
        timeline.committed_before(writer, snapshot)
    })?;
    // Every version between the snapshot's and the own one that still stood counts: a key that was
    // moved away and back again was moved.
    let stands = |version: &Version| version.undone.is_none();
    below[shown + 1..]
        .iter()
        .filter(|id| stands(chains.version(**id)))
        .any(|id| replaces(*id) || other_keys(shape, chains, below[shown], *id))
        .then_some(below[shown])
}

/// [`Doubt::TakenOverKey`](crate::model::Doubt::TakenOverKey): whether a version that the reader's transaction (`own`)
/// wrote and had not taken back at the moment of the read, or the one that it wrote over, has the value of a unique key of a row that its snapshot shows.
///
/// An engine that names an entry of a unique index by the values alone has one entry for both rows. Who looks the
/// key up meets what the reader's transaction left there (`TiDB#44200`).
pub(super) fn takes_over(
    shape: &TableShape,
    chains: &Chains,
    shown: VersionId,
    chain: &[VersionId],
    own: impl Fn(&VersionId) -> bool,
    read: Tick,
) -> bool {
    let Some(shown) = chains.row(shown) else {
        return false;
    };
    let standing: Vec<VersionId> = chain
        .iter()
        .copied()
        .filter(|id| {
            chains
                .version(*id)
                .undone
                .is_none_or(|undone| undone > read)
        })
        .collect();
    let Some(first_own) = standing.iter().position(own) else {
        return false;
    };
    let touched = &standing[first_own.saturating_sub(1)..];
    shape.keys().any(|key| {
        let values = shape.key_of(key, shown);
        let mut rows = touched.iter().filter_map(|id| chains.row(*id));
        values.is_some() && rows.any(|row| shape.key_of(key, row) == values)
    })
}

/// Whether two versions differ in a column of a key.
pub(super) fn other_keys(
    shape: &TableShape,
    chains: &Chains,
    one: VersionId,
    other: VersionId,
) -> bool {
    let columns = shape.keys().flatten();
    differ(shape, chains, columns, one, other)
}

/// Whether two versions differ in a column of any index.
pub(super) fn other_columns(
    shape: &TableShape,
    chains: &Chains,
    one: VersionId,
    other: VersionId,
) -> bool {
    differ(shape, chains, shape.indexed_columns(), one, other)
}

fn differ<'s>(
    shape: &TableShape,
    chains: &Chains,
    mut columns: impl Iterator<Item = &'s String>,
    one: VersionId,
    other: VersionId,
) -> bool {
    let (Some(one), Some(other)) = (chains.row(one), chains.row(other)) else {
        return false;
    };
    columns.any(|name| {
        shape
            .column(name)
            .is_some_and(|at| one.get(at) != other.get(at))
    })
}
