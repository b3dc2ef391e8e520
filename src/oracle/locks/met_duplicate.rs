//! Rows that an INSERT met under the key of its own: a shared lock on each is left behind (MySQL manual, "Locks Set by Different SQL
//! Statements in InnoDB": "If a duplicate-key error occurs, a shared lock on the duplicate index record is set"), also where IGNORE
//! passes over the row (by hand on MySQL 9.7 and MariaDB 10.11).

use super::breach::BrokenLock;
use super::holders::LockHolders;
use super::met_row::{changes_beside, only_target, puts_in_given_rows};
use super::trial::ReadTrial;
use super::unrefused::{seen_by, sure_of};
use crate::dialect::Capability;
use crate::engine::EngineError;
use crate::model::{
    CaseStatement, ErrorClass, LockBreach, LockStrength, StatementId, StatementRecord, TableShape,
};
use crate::oracle::Evidence;

/// A later write of another session that changed such a row while the transaction of the INSERT was open.
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
    let class = record.outcome.error_class();
    let is_kept_from = class.is_none() || class == Some(ErrorClass::Duplicate);
    if record.resumed() || !is_kept_from || !is_plain_insert(evidence, statement, table) {
        return Ok(None);
    }
    let is_beside = |write: &StatementRecord| holders.keeps_beside(record, write);
    let changes = changes_beside(evidence, (record, table), LockStrength::Share, is_beside);
    if changes.is_empty() {
        return Ok(None);
    }
    let seen = seen_by(evidence, id);
    let mut without = seen.clone();
    for (write, change) in changes {
        let rows = without.entry(table.to_owned()).or_default();
        let Some(met) = rows.remove(&change.row) else {
            continue;
        };
        let was_in_the_way = match class {
            Some(_) => {
                trial.refusal_on(statement, &seen)? == Some(class)
                    && trial.refusal_on(statement, &without)? == Some(None)
            }
            None => {
                let with = trial.added_by(statement, &seen, table)?;
                let more = trial.added_by(statement, &without, table)?;
                with.zip(more).is_some_and(|(with, more)| more > with)
            }
        };
        if was_in_the_way {
            let told = format!(
                "it changed the row of {table} with the key {}, which {id} had met as a duplicate",
                change.row.key
            );
            let kind = LockBreach::UnkeptRow;
            return Ok(Some(BrokenLock::without_waiting(kind, write, id, told)));
        }
        without
            .entry(table.to_owned())
            .or_default()
            .insert(change.row.clone(), met);
    }
    Ok(None)
}

/// Whether a statement puts in rows that its text has whole, into a table in which a duplicate is one of the row itself: its one
/// unique key keeps the rows.
fn is_plain_insert(evidence: &Evidence, statement: &CaseStatement, table: &str) -> bool {
    let effect = &statement.effect;
    let is_keyed = |shape: &TableShape| {
        let clustered = shape.clustered_key().is_some() && shape.has_unique_row_key();
        clustered && shape.keys().count() == 1 && shape.partitioning.is_none()
    };
    evidence.dialect.supports(Capability::LocksDuplicates)
        && effect.assigned.is_empty()
        && puts_in_given_rows(effect)
        && evidence.case.table(table).is_some_and(is_keyed)
}
