//! Transactions that take their snapshot only when nobody can spoil it: SERIALIZABLE READ ONLY DEFERRABLE (PostgreSQL manual, "SET
//! TRANSACTION").

use crate::dialect::{Dialect, SerializationCause};
use crate::model::{
    CaseStatement, Execution, StatementId, StatementRecord, TestCase, Tick, TransactionId,
    TransactionStatus,
};
use crate::statement::defers_snapshots;

/// Whether a statement may wait until the transactions beside it have ended: it is the first of one that begins so.
pub(crate) fn waits_for_a_safe_snapshot(
    case: &TestCase,
    dialect: &Dialect,
    statement: &CaseStatement,
) -> bool {
    let level = case.level(statement.session);
    let is_first = || {
        let mut earlier = case.earlier_in_transaction(statement.id);
        earlier.all(|own| own.effect.kind.is_control())
    };
    let defers = || {
        let before = case.statements.iter().take_while(|s| s.id != statement.id);
        let mut own = before.filter(|s| s.session == statement.session);
        own.any(|own| defers_snapshots(&own.sql, &own.effect))
    };
    dialect.serialization_cause(level) == SerializationCause::ReadWriteConflict
        && defers()
        && is_first()
}

/// Whether the transaction of a statement waited for its snapshot, and may have thrown the first one away: a transaction that was open
/// beside it may have read what another one had replaced before, which the snapshot shows (Ports and Grittner, *Serializable Snapshot
/// Isolation in PostgreSQL*, VLDB 2012, section 4.3). Whether it did, only the engine knows.
pub(super) fn may_be_taken_anew(
    (case, execution): (&TestCase, &Execution),
    dialect: &Dialect,
    id: StatementId,
) -> bool {
    let mut own = case.statements.iter();
    let first = own.find(|s| {
        s.id.transaction == id.transaction && waits_for_a_safe_snapshot(case, dialect, s)
    });
    let record = first.and_then(|first| execution.records.get(&first.id));
    let Some(record) = record.filter(|record| record.resumed()) else {
        return false;
    };
    let others = execution.transactions.keys();
    let mut others = others.filter(|other| **other != id.transaction);
    others.any(|other| is_beside_after_a_write(case, execution, *other, record))
}

/// Whether a transaction was open when a statement was sent, and another one that had written committed since it began.
fn is_beside_after_a_write(
    case: &TestCase,
    execution: &Execution,
    transaction: TransactionId,
    record: &StatementRecord,
) -> bool {
    let own = execution.records.values();
    let own = own.filter(|own| own.id.transaction == transaction);
    let Some(began) = own.map(|own| own.sent).min() else {
        return false;
    };
    let ended_before = match execution.transactions.get(&transaction) {
        Some(TransactionStatus::Committed(end) | TransactionStatus::Aborted(end)) => {
            *end < record.sent
        }
        Some(TransactionStatus::Indeterminate) | None => false,
    };
    let between = |end: Tick| began < end && end < record.sent;
    let mut writes = case.statements.iter().filter(|s| s.effect.kind.is_write());
    !ended_before
        && writes.any(|write| {
            let end = execution.commit_tick(write.id.transaction);
            write.id.transaction != transaction && end.is_some_and(between)
        })
}
