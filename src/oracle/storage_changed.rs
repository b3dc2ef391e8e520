//! Statements refused because DDL of another session changed how a table is stored.

use super::Evidence;
use crate::model::{ReadMode, Role, StatementKind, StatementRecord, StorageChange};

/// Whether the transaction of a statement may have a snapshot that is older than a change of a table which it uses:
/// "consistent read does not work over certain DDL statements" (MySQL manual, "Consistent Nonlocking Reads"). At levels
/// where each statement has a snapshot of its own, none is older.
pub(super) fn since_snapshot(evidence: &Evidence, record: &StatementRecord) -> bool {
    let case = &evidence.case;
    let Some(statement) = case.statement(record.id) else {
        return false;
    };
    let transaction = record.id.transaction;
    let level = case.level(statement.session);
    let explicit = case.is_explicit(transaction);
    let reads = evidence
        .dialect
        .read_mode(level, Role::PlainSelect, explicit);
    let keeps_snapshot = matches!(reads, ReadMode::TransactionSnapshot | ReadMode::Current);
    let own = case.statements.iter().filter(|s| {
        let kind = s.effect.kind;
        let takes_one = !kind.is_control() || kind == StatementKind::BeginSnapshot;
        s.id.transaction == transaction && takes_one
    });
    let records = &evidence.execution.records;
    let sent = own.filter_map(|s| records.get(&s.id)).map(|own| own.sent);
    let Some(snapshot) = sent.min().filter(|_| keeps_snapshot && explicit) else {
        return false;
    };
    let uses = |change: &StorageChange| {
        let mut uses = statement.effect.uses.iter();
        uses.any(|used| used.table.eq_ignore_ascii_case(&change.table))
    };
    let mut others = case.statements.iter();
    others.any(|other| {
        let changed = records.get(&other.id).is_some_and(|other| {
            other.answered > snapshot
                && other.sent < record.answered
                && other.outcome.error_class().is_none()
        });
        changed && other.effect.storage_change.as_ref().is_some_and(uses)
    })
}
