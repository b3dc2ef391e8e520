//! Rows that an upsert met under the key of its own and left as they were: it has locked them all the same (PostgreSQL manual,
//! "INSERT": "all rows will be locked when the ON CONFLICT DO UPDATE action is taken", also those that its WHERE leaves out).

use super::breach::BrokenLock;
use super::holders::LockHolders;
use super::met_row::{changes_beside, only_target, puts_in_given_rows};
use super::trial::ReadTrial;
use super::unrefused::{seen_by, sure_of};
use crate::dialect::{Capability, LockingWrite};
use crate::engine::EngineError;
use crate::model::{CaseStatement, LockBreach, StatementId, StatementRecord};
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
    let Some(table) = only_target(&statement.effect) else {
        return Ok(None);
    };
    if record.outcome.error_class().is_some() || !is_plain_upsert(evidence, statement) {
        return Ok(None);
    }
    let strength = evidence.dialect.lock_rules.of_write(LockingWrite::Update);
    let is_beside = |write: &StatementRecord| holders.holds_beside(record, write);
    let changes = changes_beside(evidence, (record, table), strength, is_beside);
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

/// Whether a statement puts in rows that its text has whole, and locks the ones that are in their way.
pub(super) fn is_plain_upsert(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let effect = &statement.effect;
    evidence.dialect.supports(Capability::LocksChosenRows)
        && !effect.assigned.is_empty()
        && puts_in_given_rows(effect)
}
