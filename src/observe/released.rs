//! Whether a wait ended by a release.

use crate::model::{
    Execution, StatementKind, StatementRecord, TestCase, Tick, TransactionId, TransactionStatus,
};

/// Whether something that the statement waited for ended, or returned to a savepoint, before it
/// answered. Where the engine does not say what it waited for, anything counts.
pub fn is_released(case: &TestCase, execution: &Execution, record: &StatementRecord) -> bool {
    let meanwhile = |tick: Tick| record.sent < tick && tick < record.answered;
    let blocks = |transaction: &TransactionId| {
        *transaction != record.id.transaction
            && (record.waited_for.is_empty() || record.waited_for.contains(transaction))
    };
    let ended = execution.transactions.iter().any(|(transaction, status)| {
        let at = match status {
            TransactionStatus::Committed(tick) | TransactionStatus::Aborted(tick) => *tick,
            TransactionStatus::Indeterminate => return true,
        };
        blocks(transaction) && meanwhile(at)
    });
    let returns = case
        .statements
        .iter()
        .filter(|s| s.effect.kind == StatementKind::RollbackTo && blocks(&s.id.transaction));
    let mut returned = returns.filter_map(|s| execution.records.get(&s.id));
    ended || returned.any(|other| meanwhile(other.answered))
}
