//! Commits that had to be refused: where transactions lock what they wrote only when they commit, the first of two that
//! wrote a row wins, and the other is told so (TiDB manual, "TiDB Optimistic Transaction Model", "Write conflict").

use std::collections::{BTreeMap, BTreeSet};

use super::super::Evidence;
use super::transactions::{Strangeness, is_in_the_dark};
use crate::dialect::Capability;
use crate::model::{
    FindingKind, LockBreach, StatementKind, StatementRecord, TableShape, TransactionId, Value,
};
use crate::observe::{Change, VersionId};

/// A transaction that has committed, and the answer that says so.
struct CommittedTransaction<'e> {
    id: TransactionId,
    end: &'e StatementRecord,
    /// The rows that it leaves otherwise than it found them, by table and row key.
    rows: BTreeSet<(&'e str, Value)>,
}

/// The first COMMIT that was accepted though another transaction had committed one of its rows meanwhile.
pub(super) fn strangeness(evidence: &Evidence) -> Option<Strangeness> {
    let takes_late = evidence.dialect.supports(Capability::LocksAtCommit);
    if !takes_late || evidence.account.gap.is_some() {
        return None;
    }
    let all = committed(evidence);
    all.iter().find_map(|late| {
        // By then it surely had its snapshot.
        let snapshot = evidence.first_of_tables(late.id)?.answered;
        let first = all.iter().find(|first| {
            let is_another = evidence.case.session_of(first.id) != evidence.case.session_of(late.id);
            is_another
                && snapshot < first.end.sent
                && first.end.answered < late.end.sent
                && !first.rows.is_disjoint(&late.rows)
        })?;
        let (table, key) = first.rows.intersection(&late.rows).next()?;
        let is_known = !is_in_the_dark(evidence, late.end.id) && !is_in_the_dark(evidence, first.end.id);
        is_known.then(|| Strangeness {
            kind: FindingKind::Lock(LockBreach::UnrefusedNewerRow),
            statement: late.end.id,
            expected: format!(
                "error serialization, because {} had committed the row of {table} with the key {key} after the snapshot",
                first.id
            ),
            got: late.end.outcome.to_string(),
        })
    })
}

fn committed(evidence: &Evidence) -> Vec<CommittedTransaction<'_>> {
    let execution = &evidence.execution;
    let ids: BTreeSet<TransactionId> = execution.records.keys().map(|id| id.transaction).collect();
    let found = ids.into_iter().filter_map(|id| {
        let end = execution.commit_record(id)?;
        let statement = evidence.case.statement(end.id)?;
        let is_end =
            statement.effect.kind == StatementKind::Commit || !evidence.case.is_explicit(id);
        is_end.then(|| CommittedTransaction {
            id,
            end,
            rows: rows(evidence, id),
        })
    });
    found.collect()
}

/// What a transaction leaves otherwise than it found it, of tables whose row key is unique: elsewhere two rows of one key
/// are two rows.
fn rows(evidence: &Evidence, id: TransactionId) -> BTreeSet<(&str, Value)> {
    let account = &evidence.account;
    let lasting = |version: VersionId| account.chains.version(version).undone.is_none();
    let own = account
        .changes
        .iter()
        .filter(|(of, _)| of.transaction == id);
    let own = own.flat_map(|(_, changes)| changes);
    let mut seen: BTreeMap<(&str, Value), (bool, bool)> = BTreeMap::new();
    for change in own.filter(|change| lasting(change.after)) {
        let Some(shape) = evidence.case.table(&change.table) else {
            continue;
        };
        if shape.has_unique_row_key() && keeps_its_key(evidence, shape, change) {
            let stood = |version: Option<VersionId>| {
                version.is_some_and(|version| account.chains.row(version).is_some())
            };
            let key = (shape.name.as_str(), change.row.key.clone());
            let ends = seen.entry(key).or_insert((stood(change.before), false));
            ends.1 = stood(Some(change.after));
        }
    }
    // What it put in and took out again was never there.
    let left = seen
        .into_iter()
        .filter(|(_, (before, after))| *before || *after);
    left.map(|(row, _)| row).collect()
}

/// Whether a row has the key by which it is known, before and after.
fn keeps_its_key(evidence: &Evidence, shape: &TableShape, change: &Change) -> bool {
    let place = shape.row_key.as_deref().and_then(|key| shape.column(key));
    let has_it = |version: VersionId| {
        let row = evidence.account.chains.row(version);
        row.is_none_or(|row| place.and_then(|at| row.get(at)) == Some(&change.row.key))
    };
    change.before.is_none_or(has_it) && has_it(change.after)
}
