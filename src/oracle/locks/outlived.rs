//! Locks that outlive their transaction: a statement waits, and whom it can wait for had ended before it
//! was sent.

use super::breach::{AT_ONCE, BrokenLock};
use super::holders::LockHolders;
use crate::dialect::Capability;
use crate::model::{
    CaseStatement, LockBreach, StatementId, StatementKind, StatementRecord, TransactionId,
};
use crate::oracle::Evidence;

/// Whether a statement waited for a transaction whose end had been answered: that end was not done, or did not
/// release what the transaction had locked.
///
/// Where the engine names whom a statement waits for, one name is enough; where it does not, no transaction that was open
/// beside it may lock anything in its tables.
pub(super) fn find(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    id: StatementId,
) -> Option<BrokenLock> {
    let statement = evidence.case.statement(id)?;
    let record = evidence.execution.records.get(&id)?;
    let dialect = &evidence.dialect;
    if !record.resumed() || dialect.supports(Capability::LocksOutliveEnd) {
        return None;
    }
    let told = if dialect.supports(Capability::NamesBlockers) {
        let holder = named(holders, record)?;
        format!("the lock view showed it waiting for {holder}, which had ended before it was sent")
    } else {
        if !waits_for_rows(statement) || holders.someone_may_hold(statement, record) {
            return None;
        }
        let told = "the lock view showed it waiting, and every transaction of another session that may lock \
                    anything in its tables had ended before it was sent";
        told.to_owned()
    };
    let kind = LockBreach::KeptPastEnd;
    Some(BrokenLock::needless_wait(kind, record, AT_ONCE, told))
}

/// The first of those that the engine named which had ended before the statement was sent.
fn named(holders: &LockHolders<'_>, record: &StatementRecord) -> Option<TransactionId> {
    let mut named = record.waited_for.iter().copied();
    named.find(|transaction| {
        *transaction != record.id.transaction && holders.had_ended(*transaction, record.sent)
    })
}

/// Whether a statement waits for other transactions alone. One that changes a schema (it is opaque) also waits for
/// whoever reads a table, and the engine itself may.
fn waits_for_rows(statement: &CaseStatement) -> bool {
    let kind = statement.effect.kind;
    kind.is_write() || matches!(kind, StatementKind::Select | StatementKind::LockingSelect)
}
