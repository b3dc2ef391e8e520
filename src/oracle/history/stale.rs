//! Reads of a version that was overwritten before their snapshot was taken.
//!
//! A snapshot shows what was committed before (MySQL manual, "Consistent Nonlocking Reads"; PostgreSQL manual,
//! "Transaction Isolation"), and what was committed is what was answered. No consistency model without real time knows
//! that: an old snapshot satisfies snapshot isolation.

use std::collections::BTreeMap;

use crate::model::{
    Outcome, ReadMode, Role, StatementId, StatementRecord, Tick, TransactionId, TransactionStatus,
    Value,
};
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

/// A committed write.
struct CommittedWrite<'e> {
    record: &'e StatementRecord,
    /// When its transaction's end was answered.
    committed: Tick,
}

/// The first read that is surely outdated.
pub(super) fn find(evidence: &Evidence, keys: &KeyAccesses) -> Option<OutdatedRead> {
    let writes = committed_writes(evidence, keys);
    let records = &evidence.execution.records;
    let mut reads = keys
        .accesses
        .iter()
        .filter(|(_, access)| access.written.is_none());
    reads.find_map(|(id, access)| {
        let record = records.get(id)?;
        let value = value_of(record)?;
        let began = snapshot_taken_after(evidence, *id)?;
        let of_key = writes.get(&access.key)?;
        let seen = match of_key.get(&value) {
            Some(write) => Some(write),
            None if keys.initial.get(&access.key) == Some(&value) => None,
            // Its own, or of a transaction that is not known to have committed: others judge that.
            None => return None,
        };
        let own = id.transaction;
        if has_written(keys, record, access, own) {
            return None;
        }
        let mut later = of_key.values().filter(|write| {
            let came_after = seen.is_none_or(|seen| seen.committed < write.record.sent);
            came_after && write.committed < began && write.record.id.transaction != own
        });
        later.next().map(|missed| OutdatedRead {
            read: *id,
            key: access.key,
            value,
            missed: missed.record.id,
        })
    })
}

/// By key and value, the writes of transactions that have committed.
fn committed_writes<'e>(
    evidence: &'e Evidence,
    keys: &KeyAccesses,
) -> BTreeMap<i64, BTreeMap<i64, CommittedWrite<'e>>> {
    let execution = &evidence.execution;
    let mut writes: BTreeMap<i64, BTreeMap<i64, CommittedWrite<'e>>> = BTreeMap::new();
    for (id, access) in &keys.accesses {
        let (Some(value), Some(record)) = (access.written, execution.records.get(id)) else {
            continue;
        };
        let status = execution.transactions.get(&id.transaction);
        if let Some(TransactionStatus::Committed(committed)) = status
            && record.outcome.row_count() == Some(1)
        {
            let committed = *committed;
            let write = CommittedWrite { record, committed };
            writes.entry(access.key).or_default().insert(value, write);
        }
    }
    writes
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

/// The one number that a read gave.
fn value_of(record: &StatementRecord) -> Option<i64> {
    let Outcome::Rows(rows) = &record.outcome else {
        return None;
    };
    match rows.as_slice() {
        [row] => match row.as_slice() {
            [Value::Integer(value)] => Some(*value),
            _ => None,
        },
        _ => None,
    }
}
