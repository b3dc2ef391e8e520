//! Tables that a transaction had locked whole, used by others while it was open.

use super::breach::BrokenLock;
use super::holders::LockHolders;
use crate::model::{CaseStatement, LockBreach, StatementRecord, TableLock, Tick};
use crate::oracle::Evidence;

/// Whether a statement and one of another session that was answered before it had locks of a table at once that exclude
/// each other, of which one is a LOCK TABLE.
///
/// What a statement locks in passing, for a foreign key or a trigger, is left alone: it may not have come to it.
pub(super) fn find(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    later: &CaseStatement,
) -> Option<BrokenLock> {
    let record = accepted(evidence, later)?;
    let others = evidence.case.statements.iter();
    others
        .filter(|other| other.session != later.session)
        .find_map(|other| {
            let locks = other.effect.table_lock.is_some() || later.effect.table_lock.is_some();
            if !locks || !had_it_still(evidence, holders, other, record) {
                return None;
            }
            let table = excluded_table(evidence, other, later)?;
            // One in autocommit has let go of its own lock when it answers: it must have come later whole.
            let both = is_held(evidence, holders, later, record.answered)
                || accepted(evidence, other)?.answered < record.sent;
            both.then(|| {
                let told = format!("{} had locked the table {table}", other.id);
                let kind = LockBreach::UnkeptTable;
                BrokenLock::without_waiting(kind, record, other.id, told)
            })
        })
}

/// Whether a statement was answered before another one and its transaction surely had its locks when that was answered.
fn had_it_still(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    earlier: &CaseStatement,
    later: &StatementRecord,
) -> bool {
    let answered = accepted(evidence, earlier).map(|record| record.answered);
    answered.is_some_and(|answered| answered < later.answered)
        && is_held(evidence, holders, earlier, later.answered)
}

/// Whether a statement's transaction surely has the locks of it at this moment.
fn is_held(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    statement: &CaseStatement,
    at: Tick,
) -> bool {
    let undone = evidence.timeline.undone(statement.id);
    holders.surely_holds(statement.id.transaction, at) && undone.is_none_or(|undone| undone > at)
}

fn accepted<'e>(evidence: &'e Evidence, statement: &CaseStatement) -> Option<&'e StatementRecord> {
    let record = evidence.execution.records.get(&statement.id)?;
    record.outcome.error_class().is_none().then_some(record)
}

/// A table of which two statements take locks that exclude each other.
fn excluded_table<'s>(
    evidence: &Evidence,
    one: &'s CaseStatement,
    other: &CaseStatement,
) -> Option<&'s str> {
    let rules = &evidence.dialect.lock_rules;
    let mut tables = one.effect.named_tables().into_iter();
    tables.find(|table| {
        let modes = one.effect.table_lock_mode(table);
        let modes = modes.zip(other.effect.table_lock_mode(table));
        modes.is_some_and(|(one, other)| rules.exclude_tables(one, other))
    })
}

/// Whether LOCK TABLE of another session, granted or in the queue, may keep a statement waiting for one of its tables.
pub(super) fn may_keep_waiting(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    statement: &CaseStatement,
    record: &StatementRecord,
) -> bool {
    let excludes = |lock: &TableLock| {
        lock.tables.iter().any(|table| {
            let mode = statement.effect.table_lock_mode(table);
            let rules = &evidence.dialect.lock_rules;
            mode.is_some_and(|mode| rules.exclude_tables(mode, lock.mode))
        })
    };
    let mut beside = holders.beside(statement, record);
    beside.any(|other| other.effect.table_lock.as_ref().is_some_and(excludes))
}
