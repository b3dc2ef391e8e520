//! NOWAIT: refused where somebody holds a lock and nowhere else; neither it nor SKIP LOCKED
//! ever waits, and nor does a read that takes no lock.

use super::breach::{AT_ONCE, BrokenLock};
use super::holders::LockHolders;
use super::locking_read::LockingRead;
use super::trial::{ReadTrial, same};
use super::{locked_table, may_hold, strength};
use crate::engine::EngineError;
use crate::model::{
    CaseStatement, ErrorClass, LockBreach, Outcome, ReadMode, StatementId, StatementKind,
    StatementRecord,
};
use crate::observe::{is_released, promised_mode, waits_for_a_safe_snapshot};
use crate::oracle::Evidence;
use crate::statement::count_mentions;

/// Whether a statement with NOWAIT was refused, and wrongly so. None where it was not refused for a
/// lock: then it is judged as every other read that locks.
pub(super) fn judge(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    id: StatementId,
) -> Option<Option<BrokenLock>> {
    let statement = evidence.case.statement(id)?;
    let record = evidence.execution.records.get(&id)?;
    let refused = record.outcome.error_class() == Some(ErrorClass::LockTimeout);
    if !statement.effect.nowait || !refused {
        return None;
    }
    let told = "no other session has touched its tables in a transaction that is open";
    let someone_may = holders.someone_may_hold(statement, record);
    Some((!someone_may).then(|| unfounded(record, told)))
}

/// The same of one that was refused beside locks which others hold of its tables: whether one of these can be in its way.
pub(super) fn beside_locks(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    id: StatementId,
    earlier: &[LockingRead<'_>],
    trial: &mut ReadTrial<'_>,
) -> Result<Option<BrokenLock>, EngineError> {
    // Where rows are locked before they are held against the condition, a row that does not count may be in its way.
    let meets_chosen_rows =
        |read: &LockingRead<'_>| may_hold::locks_chosen_rows(evidence, read.statement);
    let read = LockingRead::sent(evidence, id).filter(|read| read.latitude.is_none());
    let Some(read) = read.filter(meets_chosen_rows) else {
        return Ok(None);
    };
    let Some(held) = may_hold::rows(evidence, holders, &read, earlier, trial)? else {
        return Ok(None);
    };
    let held: Vec<_> = held.into_iter().collect();
    let all = trial.answer(&read, &read.seen)?;
    let free = trial.answer(&read, &read.without(&held))?;
    let finds_none_held = all.is_some_and(|all| {
        matches!(all, Outcome::Rows(_)) && free.is_some_and(|free| same(&read, &all, &free))
    });
    let told = "no other session may hold a lock on a row that it finds";
    Ok(finds_none_held.then(|| unfounded(read.record, told)))
}

pub(super) fn unfounded(record: &StatementRecord, told: &str) -> BrokenLock {
    BrokenLock {
        padded: false,
        kind: LockBreach::UnfoundedRefusal,
        statement: record.id,
        against: None,
        expected: "an answer".to_owned(),
        got: record.outcome.to_string(),
        told: told.to_owned(),
    }
}

/// Whether a read that never waits for a row lock did, and was answered then: one with NOWAIT or SKIP LOCKED, or a
/// plain one (MySQL manual, "Consistent Nonlocking Reads"; PostgreSQL manual, "Introduction" of
/// "Concurrency Control"); or a LOCK TABLE .. NOWAIT, which waits for nothing at all (PostgreSQL manual, "LOCK").
///
/// An engine may put a request in its queue before it refuses it or leaves the row out, and a look at its locks
/// may fall between the two: a refusal is no sign of a wait, and no answer is one that came while every
/// transaction went on that it could wait for. A subquery has no part in the clause: it may wait.
///
/// Nor does the clause of a read mean the table: it waits for a LOCK TABLE, and so does a plain read for the strongest one. The first read of
/// a DEFERRABLE transaction waits for a safe snapshot.
pub(super) fn waited(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    id: StatementId,
) -> Option<BrokenLock> {
    let statement = evidence.case.statement(id)?;
    let record = evidence.execution.records.get(&id)?;
    let effect = &statement.effect;
    let in_one_query = || count_mentions(&statement.sql, "SELECT", &evidence.dialect) == Some(1);
    let has_clause = effect.kind == StatementKind::LockingSelect
        && (effect.nowait || effect.depends_on_locks)
        && in_one_query()
        && strength::is_of_its_clause_alone(evidence, statement);
    // It may ask for a user lock.
    if effect.unrepeatable {
        return None;
    }
    let locks_a_table = effect.kind == StatementKind::LockTable && effect.nowait;
    let never_waits = has_clause || locks_a_table || takes_no_lock(evidence, statement);
    let found = record.outcome.error_class().is_none();
    let waited = record.resumed() && is_released(&evidence.case, &evidence.execution, record);
    let expected = match has_clause || locks_a_table {
        true => "an answer or a refusal at once",
        false => AT_ONCE,
    };
    let for_a_snapshot = || waits_for_a_safe_snapshot(&evidence.case, &evidence.dialect, statement);
    let for_a_table =
        || !locks_a_table && locked_table::may_keep_waiting(evidence, holders, statement, record);
    (never_waits && found && waited && !for_a_table() && !for_a_snapshot()).then(|| {
        let told = "the lock view showed it waiting".to_owned();
        BrokenLock::needless_wait(LockBreach::Waited, record, expected, told)
    })
}

/// Whether a statement is a SELECT that reads every table without a lock at its level.
fn takes_no_lock(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let (case, dialect) = (&evidence.case, &evidence.dialect);
    let mut uses = statement.effect.uses.iter();
    statement.effect.kind == StatementKind::Select
        && uses.all(|table_use| {
            promised_mode(case, dialect, statement, table_use.role) != ReadMode::Current
        })
}
