//! Locks on rows, and on conditions that no other transaction may make come true or false.

use std::collections::{BTreeMap, BTreeSet};

use super::version::{RowNumber, TransactionNumber};

/// How a row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LockMode {
    Shared,
    Exclusive,
}

/// A row of a table.
pub(super) type RowName = (String, RowNumber);

/// A condition over one table: `FROM from WHERE condition` selects its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    /// The table with its alias, as the statement spells them.
    pub(super) from: String,
    /// The name by which the rows are called.
    pub(super) alias: String,
    pub(super) text: String,
}

/// Rows of a table, by what a statement reads of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The rows of a condition.
    Matching(Condition),
    /// All of them, present and future.
    Whole,
}

/// A condition that a transaction has read by, and that stays as it is until it ends.
#[derive(Clone, Debug)]
pub(super) struct Predicate {
    pub(super) holder: TransactionNumber,
    pub(super) table: String,
    pub(super) extent: Extent,
}

/// Every lock of a database.
#[derive(Clone, Debug, Default)]
pub(super) struct LockTable {
    rows: BTreeMap<RowName, BTreeMap<TransactionNumber, LockMode>>,
    predicates: Vec<Predicate>,
}

impl LockTable {
    /// The other transactions that keep this one from the lock.
    pub(super) fn holders(
        &self,
        row: &RowName,
        mode: LockMode,
        asking: TransactionNumber,
    ) -> BTreeSet<TransactionNumber> {
        let held = self.rows.get(row).into_iter().flatten();
        held.filter(|(holder, held)| **holder != asking && mode.max(**held) == LockMode::Exclusive)
            .map(|(holder, _)| *holder)
            .collect()
    }

    /// Gives the lock, or strengthens the one that is held.
    pub(super) fn take(&mut self, row: RowName, mode: LockMode, holder: TransactionNumber) {
        let held = self.rows.entry(row).or_default().entry(holder);
        let held = held.or_insert(mode);
        *held = mode.max(*held);
    }

    pub(super) fn take_predicate(&mut self, predicate: Predicate) {
        let is_same = |known: &Predicate| {
            known.holder == predicate.holder
                && known.table == predicate.table
                && known.extent == predicate.extent
        };
        if !self.predicates.iter().any(is_same) {
            self.predicates.push(predicate);
        }
    }

    /// Predicates of other transactions over a table.
    pub(super) fn predicates_of_others(
        &self,
        table: &str,
        asking: TransactionNumber,
    ) -> impl Iterator<Item = &Predicate> {
        self.predicates
            .iter()
            .filter(move |predicate| predicate.holder != asking && predicate.table == table)
    }

    /// Lets everything go that a transaction holds. False where that is nothing.
    pub(super) fn release(&mut self, holder: TransactionNumber) -> bool {
        let predicates = self.predicates.len();
        self.predicates
            .retain(|predicate| predicate.holder != holder);
        let mut held = self.predicates.len() != predicates;
        self.rows.retain(|_, holders| {
            held |= holders.remove(&holder).is_some();
            !holders.is_empty()
        });
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_locks_stand_beside_each_other_and_nothing_beside_an_exclusive_one() {
        let row = || ("t".to_owned(), 1);
        let mut locks = LockTable::default();
        locks.take(row(), LockMode::Shared, 1);
        assert!(locks.holders(&row(), LockMode::Shared, 2).is_empty());
        assert_eq!(locks.holders(&row(), LockMode::Exclusive, 2), [1].into());
        assert!(locks.holders(&row(), LockMode::Exclusive, 1).is_empty());
        locks.take(row(), LockMode::Exclusive, 1);
        locks.take(row(), LockMode::Shared, 1);
        assert_eq!(locks.holders(&row(), LockMode::Shared, 2), [1].into());
        assert!(locks.release(1));
        assert!(!locks.release(1));
        assert!(locks.holders(&row(), LockMode::Exclusive, 2).is_empty());
    }
}
