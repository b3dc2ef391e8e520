//! Transactions of other sessions beside a statement.

use super::super::Evidence;
use crate::model::{
    CaseStatement, StatementKind, StatementRecord, Tick, TransactionId, TransactionStatus,
};

pub(super) fn is_of_another_session(
    evidence: &Evidence,
    record: &StatementRecord,
    id: TransactionId,
) -> bool {
    let session = |id| evidence.case.session_of(id);
    session(id) != session(record.id.transaction)
}

pub(super) fn ended_before(evidence: &Evidence, id: TransactionId, tick: Tick) -> bool {
    match evidence.execution.transactions.get(&id) {
        Some(TransactionStatus::Committed(end) | TransactionStatus::Aborted(end)) => *end < tick,
        Some(TransactionStatus::Indeterminate) | None => false,
    }
}

pub(super) fn touches_tables(statement: &CaseStatement) -> bool {
    !statement.effect.kind.is_control() || statement.effect.kind == StatementKind::BeginImmediate
}
