//! Dirty writes: a row changed on top of another open transaction's version.

use super::breach::BrokenLock;
use super::holders::LockHolders;
use crate::model::{LockBreach, StatementId, TransactionId};
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
        let chains = &evidence.account.chains;
        if record.outcome.error_class().is_some() {
            return None;
        }
        changes.iter().find_map(|change| {
            let below = chains.version(change.before?);
            let writer = below.writer.transaction;
            let stood = below.undone.is_none_or(|undone| undone > record.answered);
            let foreign = writer != id.transaction && writer != TransactionId::SETUP;
            let held = foreign && stood && holders.surely_holds(writer, record.answered);
            held.then(|| {
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
                BrokenLock::without_waiting(LockBreach::UnlockedWrite, record, below.writer, told)
            })
        })
    })
}
