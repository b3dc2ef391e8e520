//! Shared locks do not exclude each other (MySQL manual, "Shared and Exclusive Locks"; PostgreSQL manual, "Row-Level
//! Locks"): a read that takes no others does not wait where everybody else takes no others either.

use super::breach::{AT_ONCE, BrokenLock};
use super::holders::LockHolders;
use crate::dialect::Capability;
use crate::model::{
    CaseStatement, LockBreach, LockStrength, Outcome, ProbeAnswer, StatementId, StatementKind,
};
use crate::observe::{is_released, waits_for_a_safe_snapshot};
use crate::oracle::Evidence;
use crate::statement::count_mentions;

/// Whether a read that takes shared locks waited for others that took none but shared ones, and was answered when one of
/// them ended. Where the engine names whom it waited for, these alone count, and else everybody beside it.
pub(super) fn waited_for_a_reader(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    id: StatementId,
) -> Option<BrokenLock> {
    let statement = evidence.case.statement(id)?;
    let record = evidence.execution.records.get(&id)?;
    let (case, execution) = (&evidence.case, &evidence.execution);
    let waited = record.resumed() && is_released(case, execution, record);
    // What the probes in the sessions lock is not told apart.
    let mut probes = execution.probes.iter();
    if !waited
        || waits_for_a_safe_snapshot(case, &evidence.dialect, statement)
        || evidence.dialect.supports(Capability::LocksOutliveEnd)
        || probes.any(|ProbeAnswer { tag, .. }| tag.reads_for_a_statement())
    {
        return None;
    }
    let found = matches!(record.outcome, Outcome::Rows(_));
    let reads = |s: &CaseStatement| takes_shared_locks_only(evidence, s);
    let names = evidence.dialect.supports(Capability::NamesBlockers);
    let named = Some(&record.waited_for).filter(|named| names && !named.is_empty());
    let others_read = || {
        let mut beside = holders.beside(statement, record);
        beside.all(|other| {
            let is_named = named.is_none_or(|named| named.contains(&other.id.transaction));
            // A reader may wait behind DDL that waits for another reader, which is named then.
            let is_ddl = other.effect.kind == StatementKind::PhysicalDdl;
            let meets = || holders.may_lock_a_table_of(other, statement);
            let locks_a_table = other.effect.kind == StatementKind::LockTable;
            let is_harmless = other.effect.kind.is_control() || reads(other);
            (is_harmless && !locks_a_table) || !(is_ddl || (is_named && meets()))
        })
    };
    (found && reads(statement) && others_read()).then(|| {
        let told = "the lock view showed it waiting for transactions that had only read its tables, with shared \
                    locks or none";
        BrokenLock::needless_wait(LockBreach::Waited, record, AT_ONCE, told.to_owned())
    })
}

/// Whether a statement is a SELECT whose locks, if it takes any, are shared.
fn takes_shared_locks_only(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let effect = &statement.effect;
    let mentions = |word| count_mentions(&statement.sql, word, &evidence.dialect);
    let is_shared = || {
        let lock = effect.lock;
        lock.is_some_and(|lock| lock <= LockStrength::Share) && mentions("UPDATE") == Some(0)
    };
    effect.kind == StatementKind::Select
        || (effect.kind == StatementKind::LockingSelect && is_shared())
}
