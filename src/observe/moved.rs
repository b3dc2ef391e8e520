//! Rows whose key was moved: for the engine a deletion and an insertion, for a chain one row.

use super::chain::{Chains, Version, VersionId};
use super::visibility::Timeline;
use super::{TableView, View};
use crate::model::{CaseStatement, TableShape, TestCase, Tick};

/// [`Doubt::MovedKey`](crate::model::Doubt::MovedKey): the view holds a row that the reader's
/// transaction wrote on top of a version with other keys than the one its snapshot shows.
///
/// An engine that keeps rows by their key leaves the old one in place for the snapshot: the
/// transaction's own write went to the new one, and it sees both (MDEV-32898, `TiDB#23966`).
pub(super) fn holds_a_moved_row(
    case: &TestCase,
    chains: &Chains,
    timeline: &Timeline,
    statement: &CaseStatement,
    view: &View,
    snapshot: Tick,
) -> bool {
    view.iter().any(|(table, seen)| {
        case.table(table).is_some_and(|shape| {
            seen.iter()
                .any(|row| moved(shape, chains, timeline, statement, row, snapshot))
        })
    })
}

fn moved(
    shape: &TableShape,
    chains: &Chains,
    timeline: &Timeline,
    statement: &CaseStatement,
    (row, seen): <&TableView as IntoIterator>::Item,
    snapshot: Tick,
) -> bool {
    let own = |version: &Version| version.writer.transaction == statement.id.transaction;
    if !seen.is_some_and(|id| own(chains.version(id))) {
        return false;
    }
    let chain = chains.chain(&shape.name, row);
    let first_own = chain.iter().position(|id| own(chains.version(*id)));
    let below = &chain[..first_own.unwrap_or(chain.len())];
    let shown = below.iter().rposition(|id| {
        let writer = chains.version(*id).writer.transaction;
        timeline.committed_before(writer, snapshot)
    });
    // Every version between the snapshot's and the own one that still stood counts: a key that was
    // moved away and back again was moved.
    let Some(shown) = shown else { return false };
    below[shown + 1..]
        .iter()
        .filter(|id| chains.version(**id).undone.is_none())
        .any(|id| other_keys(shape, chains, below[shown], *id))
}

/// [`Doubt::MovedWhileWaiting`](crate::model::Doubt::MovedWhileWaiting): a row that a statement sees
/// now had other keys when it was sent.
pub(super) fn moved_meanwhile(case: &TestCase, chains: &Chains, then: &View, now: &View) -> bool {
    now.iter().any(|(table, seen)| {
        case.table(table).is_some_and(|shape| {
            seen.iter().any(|(key, version)| {
                let before = then
                    .get(table)
                    .and_then(|rows| rows.get(key))
                    .copied()
                    .flatten();
                matches!((before, *version), (Some(before), Some(now))
                    if other_keys(shape, chains, before, now))
            })
        })
    })
}

fn other_keys(shape: &TableShape, chains: &Chains, one: VersionId, other: VersionId) -> bool {
    let (Some(one), Some(other)) = (chains.row(one), chains.row(other)) else {
        return false;
    };
    shape
        .unique_keys
        .iter()
        .flatten()
        .filter_map(|column| shape.column(column))
        .any(|column| one.get(column) != other.get(column))
}
