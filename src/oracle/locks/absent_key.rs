//! Keys that a statement looked up and did not find, where it locks them all the same (TiDB manual, "TiDB Pessimistic Transaction
//! Mode", "Behaviors": "If the `Point Get` and `Batch Point Get` operators do not read data, they still lock the given primary key
//! or unique key, which blocks other transactions from locking or writing data to the same primary key or unique key").

use super::breach::BrokenLock;
use super::holders::LockHolders;
use super::unrefused::{seen_by, sure_of};
use crate::model::{LockBreach, Row, StatementId, StatementKind, TableShape, Value};
use crate::observe::Change;
use crate::oracle::Evidence;
use crate::statement::{KeyLookup, key_lookups};

/// A later write of another session that made a row with such a key while the transaction that had looked it up was surely open.
pub(super) fn find(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    id: StatementId,
) -> Option<BrokenLock> {
    let (statement, record) = sure_of(evidence, id)?;
    let level = evidence.case.judged_level(statement.session);
    let effect = &statement.effect;
    let looks_up = matches!(
        effect.kind,
        StatementKind::LockingSelect | StatementKind::Update | StatementKind::Delete
    );
    if !evidence.dialect.locks_absent_keys.contains(&level)
        || !looks_up
        || effect.depends_on_locks
        || record.resumed()
        || record.outcome.error_class().is_some()
    {
        return None;
    }
    let [used] = effect.uses.iter().collect::<Vec<_>>()[..] else {
        return None;
    };
    let lookups = key_lookups(&statement.sql, &evidence.dialect);
    let lookup = lookups.first().filter(|lookup| lookup.alone)?;
    let shape = evidence.case.table(&used.table)?;
    let by_row_key = shape
        .row_key
        .as_deref()
        .is_some_and(|key| key.eq_ignore_ascii_case(&lookup.column));
    if !by_row_key || !shape.has_unique_row_key() || shape.partitioning.is_some() {
        return None;
    }
    let seen = seen_by(evidence, id);
    let seen = seen.get(&used.table)?;
    let chains = &evidence.account.chains;
    let makes = |change: &&Change| {
        let after = chains.row(change.after);
        let key = after.and_then(|row| looked_up(shape, lookup, row));
        change.table == used.table
            && key.is_some_and(|key| {
                !seen
                    .values()
                    .any(|row| looked_up(shape, lookup, row) == Some(key))
            })
    };
    evidence
        .execution
        .execution_order()
        .into_iter()
        .find_map(|write| {
            let later = evidence.execution.records.get(&write)?;
            let changes = evidence.account.changes.get(&write)?;
            let change = changes.iter().find(makes)?;
            let is_beside =
                later.outcome.error_class().is_none() && holders.holds_beside(record, later);
            let told = format!(
                "it made the row of {} with the key {}, which {id} had looked up",
                change.table, change.row.key
            );
            let kind = LockBreach::UnkeptRange;
            is_beside.then(|| BrokenLock::without_waiting(kind, later, id, told))
        })
}

/// The key of a row, if a lookup asks for it.
fn looked_up(shape: &TableShape, lookup: &KeyLookup, row: &Row) -> Option<i64> {
    let key = row
        .get(shape.column(&lookup.column)?)
        .and_then(Value::as_integer)?;
    lookup.values.contains(&key).then_some(key)
}
