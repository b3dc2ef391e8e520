//! Rows that an upsert met under the key of its own and left as they were: it has locked them all the same (PostgreSQL manual,
//! "INSERT": "all rows will be locked when the ON CONFLICT DO UPDATE action is taken", also those that its WHERE leaves out).

use super::breach::BrokenLock;
use super::holders::LockHolders;
use super::strength::excludes_change;
use super::trial::ReadTrial;
use super::unrefused::{seen_by, sure_of};
use crate::dialect::{Capability, LockingWrite};
use crate::engine::EngineError;
use crate::model::{CaseStatement, LockBreach, Role, StatementId, StatementKind, StatementRecord};
use crate::observe::Change;
use crate::oracle::Evidence;

/// A later write of another session that changed such a row while the transaction of the upsert was open.
pub(super) fn find(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    id: StatementId,
    trial: &mut ReadTrial<'_>,
) -> Result<Option<BrokenLock>, EngineError> {
    let Some((statement, record)) = sure_of(evidence, id) else {
        return Ok(None);
    };
    let mut targets = statement.effect.targets();
    let (Some(table), None) = (targets.next(), targets.next()) else {
        return Ok(None);
    };
    if record.outcome.error_class().is_some() || !is_plain_upsert(evidence, statement) {
        return Ok(None);
    }
    let changes = later_changes(evidence, holders, record, table);
    if changes.is_empty() {
        return Ok(None);
    }
    let seen = seen_by(evidence, id);
    let Some(with) = trial.added_by(statement, &seen, table)? else {
        return Ok(None);
    };
    for (write, change) in changes {
        let mut without = seen.clone();
        without
            .entry(table.to_owned())
            .or_default()
            .remove(&change.row);
        let more = trial.added_by(statement, &without, table)?;
        if more.is_some_and(|more| more > with) {
            let told = format!(
                "it changed the row of {table} with the key {}, which {id} had met as a conflict",
                change.row.key
            );
            let kind = LockBreach::UnkeptRow;
            return Ok(Some(BrokenLock::without_waiting(kind, write, id, told)));
        }
    }
    Ok(None)
}

/// Whether a statement puts in rows that its text has whole, and locks the ones that are in their way: no source, no subquery and
/// no trigger says what it does.
pub(super) fn is_plain_upsert(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let effect = &statement.effect;
    let mut uses = effect.uses.iter();
    evidence.dialect.supports(Capability::LocksChosenRows)
        && effect.kind == StatementKind::Insert
        && !effect.assigned.is_empty()
        && !effect.unrepeatable
        && uses.all(|used| used.role == Role::InsertTarget || used.role == Role::ForeignKeyCheck)
}

/// What other sessions changed of a table, by writes that were sent after the upsert was answered and answered while its
/// transaction surely held its locks: rows in the version that the upsert met.
fn later_changes<'e>(
    evidence: &'e Evidence,
    holders: &LockHolders<'_>,
    upsert: &StatementRecord,
    table: &str,
) -> Vec<(&'e StatementRecord, &'e Change)> {
    let account = &evidence.account;
    let strength = evidence.dialect.lock_rules.of_write(LockingWrite::Update);
    let seen = account
        .views
        .get(&upsert.id)
        .and_then(|view| view.get(table));
    let is_met = |change: &&Change| {
        let met = seen.and_then(|seen| seen.get(&change.row).copied().flatten());
        change.table == table
            && met.is_some()
            && met == change.before
            && excludes_change(evidence, strength, change)
    };
    let order = evidence.execution.execution_order().into_iter();
    let writes = order.filter_map(|id| evidence.execution.records.get(&id));
    let beside = writes.filter(|write| {
        write.outcome.error_class().is_none() && holders.holds_beside(upsert, write)
    });
    let changes = beside.flat_map(|write| {
        let changes = account.changes.get(&write.id).into_iter().flatten();
        changes.map(move |change| (write, change))
    });
    changes.filter(|(_, change)| is_met(change)).collect()
}
