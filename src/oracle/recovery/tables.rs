//! The rows that a choice of transactions leaves, and the rows that were found.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::{RowAddress, RowChange, RowLedger, key_place};
use crate::model::{Execution, Row, StatementId, TestCase, TransactionId, Value};

/// A change of a row that took place before the crash, if its transaction did.
#[derive(Clone, Debug)]
pub(super) struct Write<'l> {
    pub(super) transaction: TransactionId,
    pub(super) statement: StatementId,
    pub(super) key: &'l RowAddress,
    pub(super) change: &'l RowChange,
    /// It was answered, and so it changed a row that was there, or added one that was not.
    pub(super) is_certain: bool,
}

/// A row as a choice of transactions leaves it, and who wrote it last.
#[derive(Clone, Debug, Default)]
pub(super) struct ExpectedRow {
    pub(super) row: Option<Row>,
    /// None for a row of the set-up.
    pub(super) writer: Option<TransactionId>,
}

/// What a choice of transactions leaves.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    pub(super) rows: BTreeMap<RowAddress, ExpectedRow>,
    /// Answered writes that could not have been answered so, had the choice been what took place: a row
    /// was changed that would not have been there.
    pub(super) impossible: BTreeSet<(TransactionId, RowAddress)>,
}

impl Expected {
    /// Applies the writes of the chosen transactions, in their order.
    pub(super) fn of(
        ledger: &RowLedger,
        writes: &[Write<'_>],
        is_chosen: impl Fn(TransactionId) -> bool,
    ) -> Self {
        let own = |(key, row): (&RowAddress, &Row)| {
            let row = ExpectedRow {
                row: Some(row.clone()),
                writer: None,
            };
            (key.clone(), row)
        };
        let mut expected = Self {
            rows: ledger.initial.iter().map(own).collect(),
            impossible: BTreeSet::new(),
        };
        for write in writes.iter().filter(|write| is_chosen(write.transaction)) {
            expected.apply(write);
        }
        expected
    }

    fn apply(&mut self, write: &Write<'_>) {
        let place = self.rows.entry(write.key.clone()).or_default();
        let fits = match write.change {
            RowChange::Insert(_) => place.row.is_none(),
            RowChange::Update(_) | RowChange::Delete => place.row.is_some(),
        };
        if !fits && write.is_certain {
            self.impossible
                .insert((write.transaction, write.key.clone()));
        }
        match (write.change, &mut place.row) {
            (RowChange::Insert(row), _) => place.row = Some(row.clone()),
            (RowChange::Delete, _) => place.row = None,
            (RowChange::Update(assigned), Some(row)) => {
                for (at, value) in assigned {
                    if let Some(cell) = row.get_mut(*at) {
                        cell.clone_from(value);
                    }
                }
            }
            // Nothing was there to change.
            (RowChange::Update(_), None) => return,
        }
        place.writer = Some(write.transaction);
    }

    /// The rows that differ from what was found.
    pub(super) fn differing(&self, found: &RecoveredRows) -> BTreeSet<RowAddress> {
        let expected = self.rows.iter();
        let missing = expected
            .filter(|(key, expected)| found.rows.get(*key) != expected.row.as_ref())
            .map(|(key, _)| key.clone());
        let extra = found
            .rows
            .keys()
            .filter(|key| !self.rows.contains_key(*key));
        missing.chain(extra.cloned()).collect()
    }

    /// How far it is from what was found: 0 where it explains it.
    pub(super) fn distance(&self, found: &RecoveredRows) -> usize {
        self.differing(found).len() + self.impossible.len()
    }
}

/// The rows that were found after the crash.
#[derive(Clone, Debug, Default)]
pub(super) struct RecoveredRows {
    pub(super) rows: BTreeMap<RowAddress, Row>,
}

impl RecoveredRows {
    /// None where a row has no integer for a key.
    pub(super) fn of(case: &TestCase, execution: &Execution) -> Option<Self> {
        let mut found = Self::default();
        for shape in &case.tables {
            let at = key_place(shape)?;
            for row in execution.final_state.get(&shape.name).into_iter().flatten() {
                let Some(Value::Integer(key)) = row.get(at) else {
                    return None;
                };
                found.rows.insert((shape.name.clone(), *key), row.clone());
            }
        }
        Some(found)
    }
}
