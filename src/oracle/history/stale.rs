//! Reads of a version that was overwritten before their snapshot was taken.
//!
//! A snapshot shows what was committed before (MySQL manual, "Consistent Nonlocking Reads"; PostgreSQL manual,
//! "Transaction Isolation"), and what was committed is what was answered. No consistency model without real time knows
//! that: an old snapshot satisfies snapshot isolation.

use super::answers::{kept_writes, only_number};
use crate::model::{ReadMode, Role, StatementId, StatementRecord, Tick, TransactionId};
use crate::oracle::Evidence;
use crate::statement::KeyAccess;
use crate::workload::KeyAccesses;

/// A read of a value that another one had taken the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutdatedRead {
    pub(super) read: StatementId,
    pub(super) key: i64,
    pub(super) value: i64,
    /// The write whose transaction had been answered its end before the snapshot was taken.
    pub(super) missed: StatementId,
}

/// The first read that is surely outdated.
pub(super) fn find(evidence: &Evidence, keys: &KeyAccesses) -> Option<OutdatedRead> {
    let execution = &evidence.execution;
    let writes = kept_writes(&evidence.case, keys, execution);
    let mut reads = keys
        .accesses
        .iter()
        .filter(|(_, access)| access.written.is_none());
    reads.find_map(|(id, access)| {
        let record = execution.records.get(id)?;
        let value = only_number(record.outcome.rows())?;
        let began = snapshot_taken_after(evidence, *id)?;
        let of_key = writes.get(&access.key)?;
        let is_initial = keys.initial.get(&access.key) == Some(&value);
        let committed = match of_key.iter().find(|write| write.value == value) {
            Some(seen) => Some(seen.committed?),
            None if is_initial => None,
            // Of a transaction that was aborted: others judge that.
            None => return None,
        };
        let own = id.transaction;
        if has_written(keys, record, access, own) {
            return None;
        }
        let mut later = of_key.iter().filter(|write| {
            let came_after = committed.is_none_or(|committed| committed < write.record.sent);
            let was_there = write.committed.is_some_and(|committed| committed < began);
            came_after && was_there && write.record.id.transaction != own
        });
        later.next().map(|missed| OutdatedRead {
            read: *id,
            key: access.key,
            value,
            missed: missed.record.id,
        })
    })
}

/// A moment before which no snapshot was taken that the read may look at; none where its level shows it anything.
fn snapshot_taken_after(evidence: &Evidence, read: StatementId) -> Option<Tick> {
    let (case, execution) = (&evidence.case, &evidence.execution);
    let sent = execution.records.get(&read)?.sent;
    let session = case.session_of(read.transaction)?;
    let explicit = case.is_explicit(read.transaction);
    // Of a level that is claimed no more is asked than of the one that ran: a model says what that promises.
    let level = case.level(session);
    match evidence
        .dialect
        .read_mode(level, Role::PlainSelect, explicit)
    {
        ReadMode::Current | ReadMode::StatementSnapshot => Some(sent),
        // Some take it at the BEGIN, some at the first read.
        ReadMode::TransactionSnapshot | ReadMode::EitherSnapshot => {
            let own = execution.records.values();
            let own = own.filter(|record| record.id.transaction == read.transaction);
            own.map(|record| record.sent).min()
        }
        ReadMode::Anything => None,
    }
}

/// Whether the transaction of a read had written its key before.
fn has_written(
    keys: &KeyAccesses,
    read: &StatementRecord,
    of: &KeyAccess,
    transaction: TransactionId,
) -> bool {
    keys.accesses.iter().any(|(id, access)| {
        id.transaction == transaction
            && id.position < read.id.position
            && access.key == of.key
            && access.written.is_some()
    })
}
