//! Dirty writes: a row changed on top of another open transaction's version.

use super::breach::BrokenLock;
use super::holders::LockHolders;
use crate::dialect::Capability;
use crate::model::{LockBreach, StatementId, StatementRecord, TransactionId};
use crate::observe::{Change, Version};
use crate::oracle::Evidence;
use crate::oracle::compare::rows_text;

/// Every statement that changed a row whose newest version belonged to another transaction that was
/// still open when it answered, whether it had waited for somebody or not.
pub(super) fn find<'e>(
    evidence: &'e Evidence,
    holders: &'e LockHolders<'e>,
) -> impl Iterator<Item = BrokenLock> + 'e {
    let order = evidence.execution.execution_order();
    let of = |id: StatementId| {
        evidence
            .account
            .changes
            .get(&id)
            .map(|changes| (id, changes))
    };
    let changes = order.into_iter().filter_map(of);
    changes.filter_map(|(id, changes)| {
        let record = evidence.execution.records.get(&id)?;
        if record.outcome.error_class().is_some() {
            return None;
        }
        changes.iter().find_map(|change| {
            let below = uncommitted_below(evidence, holders, record, change)?;
            let row = below
                .row
                .as_ref()
                .map(|row| rows_text(std::slice::from_ref(row)));
            let told = match row {
                Some(row) => format!("the row {row} of {}", change.table),
                None => format!("a row of {} with the key {}", change.table, change.row.key),
            };
            let told = format!(
                "it changed {told}, which {} had left uncommitted",
                below.writer
            );
            let breach = LockBreach::UnlockedWrite;
            Some(BrokenLock::without_waiting(
                breach,
                record,
                below.writer,
                told,
            ))
        })
    })
}

/// The version of another transaction, still open when the write was answered, that stood where the write changed the row.
///
/// Where nobody sees what is uncommitted, the version that the write found is what a right engine shows it. There it is any
/// that had been written before the write was sent: one that works on the committed version beside it is no better.
fn uncommitted_below<'e>(
    evidence: &'e Evidence,
    holders: &LockHolders<'_>,
    record: &StatementRecord,
    change: &Change,
) -> Option<&'e Version> {
    let chains = &evidence.account.chains;
    let is_foreign = |version: &Version| {
        let writer = version.writer.transaction;
        writer != record.id.transaction && writer != TransactionId::SETUP
    };
    let is_held = |version: &Version| {
        let stood = version.undone.is_none_or(|undone| undone > record.answered);
        let writer = version.writer.transaction;
        is_foreign(version) && stood && holders.surely_holds(writer, record.answered)
    };
    let found = change.before.map(|before| chains.version(before));
    if let Some(found) = found.filter(|version| is_held(version)) {
        return Some(found);
    }
    if !evidence.dialect.supports(Capability::LocksChosenRows) {
        return None;
    }
    let chain = chains.chain(&change.table, &change.row).iter().rev();
    let mut versions = chain.map(|version| chains.version(*version));
    versions.find(|version| {
        let of = evidence.execution.records.get(&version.writer);
        is_foreign(version) && of.is_some_and(|of| holders.holds_beside(of, record))
    })
}
