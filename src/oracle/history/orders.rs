//! In which order the writes of a key came about, where the answers and the end state leave no other.

use std::collections::BTreeMap;

use super::answers::{KeptWrite, kept_writes, sent_last};
use crate::model::{Execution, TestCase, Tick, TransactionId, Value};
use crate::workload::KeyAccesses;

/// By key, the values that several committed transactions wrote, in the order in which they came about.
pub(super) fn write_orders(
    case: &TestCase,
    keys: &KeyAccesses,
    execution: &Execution,
) -> BTreeMap<i64, Vec<i64>> {
    if execution.crash.is_some() {
        return BTreeMap::new();
    }
    let last = |key: i64| {
        let mut rows = execution.final_state.values().flatten();
        rows.find_map(|row| match row.as_slice() {
            [Value::Integer(of), Value::Integer(value)] if *of == key => Some(*value),
            _ => None,
        })
    };
    let end = |transaction| sent_last(transaction, execution);
    let written = kept_writes(case, keys, execution);
    let ordered = written
        .into_iter()
        .filter_map(|(key, writes)| Some((key, in_order(writes, last(key)?, end)?)));
    ordered.collect()
}

/// The values in the order in which they were written. What a transaction wrote stands together and in its order:
/// others see its last value. Of two transactions the last is the one whose value the table holds. More are in order
/// where each had been sent its end before the next one's first write was answered.
fn in_order(
    writes: Vec<KeptWrite<'_>>,
    last: i64,
    end: impl Fn(TransactionId) -> Option<Tick>,
) -> Option<Vec<i64>> {
    let mut writers: BTreeMap<TransactionId, Vec<KeptWrite<'_>>> = BTreeMap::new();
    for write in writes {
        write.committed?;
        let transaction = write.record.id.transaction;
        writers.entry(transaction).or_default().push(write);
    }
    if writers.len() < 2 {
        return None;
    }
    let mut writers: Vec<(TransactionId, Vec<KeptWrite<'_>>)> = writers.into_iter().collect();
    let is_last = |own: &[KeptWrite<'_>]| own.last().is_some_and(|write| write.value == last);
    writers.sort_by_key(|(_, own)| (is_last(own), own.last().map(|write| write.record.answered)));
    let mut pairs = writers.iter().zip(writers.iter().skip(1));
    let is_clear = writers.len() == 2
        || pairs.all(|((one, _), (_, next))| {
            let first = next.first().map(|write| write.record.answered);
            end(*one).is_some_and(|end| first.is_some_and(|first| end < first))
        });
    let holds_the_last = writers.last().is_some_and(|(_, own)| is_last(own));
    let values = writers.iter().flat_map(|(_, own)| own);
    (is_clear && holds_the_last).then(|| values.map(|write| write.value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Outcome, StatementId, StatementRecord};

    /// A write: its transaction, the tick of its answer, and its value.
    type Written = (u32, u32, i64);

    fn record((transaction, tick, _): Written) -> StatementRecord {
        let transaction = TransactionId(transaction);
        StatementRecord {
            id: StatementId {
                transaction,
                position: tick,
            },
            sent: Tick(tick - 1),
            waiting: None,
            waited_for: Vec::new(),
            answered: Tick(tick),
            outcome: Outcome::Affected(1),
            transaction_survives: true,
            counted: None,
            reported: None,
            command_tag: None,
        }
    }

    /// The order of the writes of a key that holds `last`, where transactions were sent their ends at `ends`.
    fn order(written: &[Written], last: i64, ends: &[(u32, u32)]) -> Option<Vec<i64>> {
        let records: Vec<StatementRecord> = written.iter().map(|write| record(*write)).collect();
        let writes = records
            .iter()
            .zip(written)
            .map(|(record, write)| KeptWrite {
                value: write.2,
                committed: Some(Tick(100)),
                record,
            });
        let end = |transaction: TransactionId| {
            let mut ends = ends.iter().filter(|end| end.0 == transaction.0);
            ends.next().map(|end| Tick(end.1))
        };
        in_order(writes.collect(), last, end)
    }

    #[test]
    fn of_two_transactions_the_last_is_the_one_whose_value_is_there() {
        let two = [(1, 10, 11), (2, 12, 12)];
        assert_eq!(order(&two, 12, &[]), Some(vec![11, 12]));
        assert_eq!(order(&two, 11, &[]), Some(vec![12, 11]));
        assert_eq!(order(&two, 10, &[]), None);
        assert_eq!(order(&two[..1], 11, &[]), None);
    }

    #[test]
    fn the_writes_of_one_transaction_stand_together_in_its_order() {
        let twice = [(1, 10, 11), (2, 12, 12), (2, 14, 15)];
        assert_eq!(order(&twice, 15, &[]), Some(vec![11, 12, 15]));
        assert_eq!(order(&twice, 11, &[]), Some(vec![12, 15, 11]));
        // What a transaction wrote over itself is not what it left.
        assert_eq!(order(&twice, 12, &[]), None);
        // One wrote between the two writes of another: it is the last value that others see.
        let amid = [(1, 10, 11), (2, 12, 12), (1, 14, 15)];
        assert_eq!(order(&amid, 15, &[]), Some(vec![12, 11, 15]));
    }

    #[test]
    fn three_transactions_are_in_order_where_each_began_behind_the_end_of_the_one_before() {
        let three = [(1, 10, 11), (2, 20, 12), (2, 22, 15), (3, 30, 13)];
        let ends = [(1, 19), (2, 29)];
        assert_eq!(order(&three, 13, &ends), Some(vec![11, 12, 15, 13]));
        // The second wrote first while the first could still write.
        assert_eq!(order(&three, 13, &[(1, 21), (2, 29)]), None);
        assert_eq!(order(&three, 13, &[(2, 29)]), None);
        // By the table the second was the last, and the third was not sent its end before it wrote.
        assert_eq!(order(&three, 15, &[(1, 19), (3, 31)]), None);
    }
}
