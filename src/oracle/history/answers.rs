//! What answers say of keys: the number that a read gave, and the writes that were not taken back.

use std::collections::BTreeMap;

use crate::model::{
    Execution, Row, StatementRecord, TestCase, Tick, TransactionId, TransactionStatus, Value,
};
use crate::workload::KeyAccesses;

/// A write of a key that was not taken back.
pub(super) struct KeptWrite<'e> {
    pub(super) value: i64,
    /// When its transaction's end was answered; none for one in doubt, which may have been the last.
    pub(super) committed: Option<Tick>,
    pub(super) record: &'e StatementRecord,
}

/// By key, in the order of the case.
pub(super) fn kept_writes<'e>(
    case: &TestCase,
    keys: &KeyAccesses,
    execution: &'e Execution,
) -> BTreeMap<i64, Vec<KeptWrite<'e>>> {
    let mut written: BTreeMap<i64, Vec<KeptWrite<'_>>> = BTreeMap::new();
    for statement in &case.statements {
        let access = keys.accesses.get(&statement.id);
        let written_value = access.and_then(|access| Some((access.key, access.written?)));
        let (Some((key, value)), Some(record), Some(status)) = (
            written_value,
            execution.records.get(&statement.id),
            execution.transactions.get(&statement.id.transaction),
        ) else {
            continue;
        };
        let committed = match *status {
            TransactionStatus::Committed(committed) => Some(committed),
            TransactionStatus::Indeterminate => None,
            TransactionStatus::Aborted(_) => continue,
        };
        if record.outcome.row_count() == Some(1) {
            written.entry(key).or_default().push(KeptWrite {
                value,
                committed,
                record,
            });
        }
    }
    written
}

/// Since when the end of a transaction may have taken place: when it was sent its last statement.
pub(super) fn sent_last(transaction: TransactionId, execution: &Execution) -> Option<Tick> {
    let records = execution.records.values();
    let own = records.filter(|record| record.id.transaction == transaction);
    own.map(|record| record.sent).max()
}

/// The number that is all of an answer.
pub(super) fn only_number(rows: &[Row]) -> Option<i64> {
    match rows {
        [row] => match row.as_slice() {
            [Value::Integer(value)] => Some(*value),
            _ => None,
        },
        _ => None,
    }
}
