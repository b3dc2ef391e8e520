//! Waits that ended although nothing that they waited for released a lock.
//!
//! InnoDB wakes a waiter when purge removes the delete-marked record on which it waits. A statement in
//! autocommit then commits at an unknown moment between the poll that shows it waiting and its answer,
//! and other statements run meanwhile.

use std::collections::BTreeSet;

use crate::model::{
    Execution, StatementKind, StatementRecord, TestCase, Tick, TransactionId, TransactionStatus,
};

/// A commit at an unknown moment.
pub(super) struct UnreleasedWait {
    from: Tick,
    to: Tick,
    /// The tables that the statement may have written.
    tables: BTreeSet<String>,
}

impl UnreleasedWait {
    /// Whether a read of this table at this moment may come before or after the commit.
    pub(super) fn concerns(&self, table: &str, at: Tick) -> bool {
        self.from < at && at < self.to && self.tables.contains(table)
    }
}

/// The writes in autocommit that waited and resumed without a release.
pub(super) fn unreleased_waits(case: &TestCase, execution: &Execution) -> Vec<UnreleasedWait> {
    case.statements
        .iter()
        .filter(|s| s.effect.kind.is_write() && !case.is_explicit(s.id.transaction))
        .filter_map(|statement| {
            let record = execution.records.get(&statement.id)?;
            let from = record.waiting?;
            let was_released = is_released(case, execution, record);
            (record.outcome.error_class().is_none() && !was_released).then(|| UnreleasedWait {
                from,
                to: record.answered,
                tables: statement.effect.targets().map(str::to_owned).collect(),
            })
        })
        .collect()
}

/// Whether something that the statement waited for ended, or returned to a savepoint, before it
/// answered. Where the engine does not say what it waited for, anything counts.
fn is_released(case: &TestCase, execution: &Execution, record: &StatementRecord) -> bool {
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
