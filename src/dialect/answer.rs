//! What an engine counts as affected rows, and what a rejection ends.

use std::ops::RangeInclusive;

/// Whether a rejection of a class ends its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionEnd {
    /// It undoes its statement and nothing else.
    Never,
    /// Some codes of the class do.
    Sometimes,
    Always,
}

/// Which rows an UPDATE counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateCount {
    /// Those that it changed.
    Changed,
    /// Those that its predicate chose, changed or not.
    Matched,
}

/// Which rows a REPLACE counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceCount {
    /// Those that it deleted, and those that it inserted.
    WithDeleted,
    /// Those that it inserted.
    Inserted,
}

/// What a level needs in order to refuse a statement as one that does not serialize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SerializationCause {
    /// It never does.
    Never,
    /// A row that the statement waited for to lock or write it was moved to another partition meanwhile.
    MovedPartition,
    /// A row of a table that the statement locks or writes was written by a transaction that committed
    /// after its own took its snapshot; or a child that it waited for, to see whether it keeps its parent, was.
    NewerRow,
    /// Another session's transaction at the same time, and a table that one of the two wrote and the other used: it may
    /// refuse without need.
    ReadWriteConflict,
    /// Another session's transaction at the same time, and a table that it wrote and the transaction of the statement used: it
    /// may refuse without need.
    WrittenTable,
    /// Another session that wrote, at the same time: it may refuse without need.
    AnyWriter,
}

impl SerializationCause {
    /// Whether a level refuses where no cycle is, so that which transaction it refuses is its own choice.
    pub fn is_free(self) -> bool {
        matches!(
            self,
            Self::ReadWriteConflict | Self::WrittenTable | Self::AnyWriter
        )
    }
}

/// As dialect files spell it.
pub(super) const SERIALIZATION_CAUSES: [(&str, SerializationCause); 6] = [
    ("never", SerializationCause::Never),
    ("moved-partition", SerializationCause::MovedPartition),
    ("newer-row", SerializationCause::NewerRow),
    ("read-write-conflict", SerializationCause::ReadWriteConflict),
    ("written-table", SerializationCause::WrittenTable),
    ("any-writer", SerializationCause::AnyWriter),
];

/// As dialect files spell it.
pub(super) const TRANSACTION_ENDS: [(&str, RejectionEnd); 3] = [
    ("never", RejectionEnd::Never),
    ("sometimes", RejectionEnd::Sometimes),
    ("always", RejectionEnd::Always),
];

/// As dialect files spell it.
pub(super) const UPDATE_COUNTS: [(&str, UpdateCount); 2] = [
    ("changed", UpdateCount::Changed),
    ("matched", UpdateCount::Matched),
];

/// As dialect files spell it.
pub(super) const REPLACE_COUNTS: [(&str, ReplaceCount); 2] = [
    ("with-deleted", ReplaceCount::WithDeleted),
    ("inserted", ReplaceCount::Inserted),
];

/// How the engine counts the rows that a write affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AffectedRows {
    pub update: UpdateCount,
    /// What a row counts that ON DUPLICATE KEY UPDATE or ON CONFLICT DO UPDATE changed.
    pub upsert: u64,
    pub replace: ReplaceCount,
}

/// How many rows of a write's targets changed, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangedRows {
    /// Rows with a new row key.
    pub new: u64,
    /// Rows whose row key is gone.
    pub gone: u64,
    /// Rows that hold something else under the same row key.
    pub other: u64,
}

impl ChangedRows {
    /// The same where a statement gives rows another row key: one gone and one new are one row.
    fn moved(self) -> Option<Self> {
        Some(Self {
            new: self.new.checked_sub(self.gone)?,
            gone: 0,
            other: self.other + self.gone,
        })
    }
}

impl AffectedRows {
    /// How the rows count that a write returned, where its answer has no count beside them (MariaDB): each row that it
    /// put in, removed, or found and perhaps changed, once. MariaDB manual, "INSERT...RETURNING", "REPLACE...RETURNING".
    pub const RETURNED: Self = Self {
        update: UpdateCount::Matched,
        upsert: 1,
        replace: ReplaceCount::Inserted,
    };

    /// The counts that an UPDATE may answer that changed these rows; None where it cannot have.
    pub fn of_update(self, changed: ChangedRows) -> Option<RangeInclusive<u64>> {
        let rows = changed.moved().filter(|rows| rows.new == 0)?.other;
        Some(match self.update {
            UpdateCount::Changed => rows..=rows,
            UpdateCount::Matched => rows..=u64::MAX,
        })
    }

    /// The same for a DELETE.
    pub fn of_delete(self, changed: ChangedRows) -> Option<RangeInclusive<u64>> {
        let deletes = changed.new == 0 && changed.other == 0;
        deletes.then_some(changed.gone..=changed.gone)
    }

    /// The same for an INSERT without a clause for rows that are there.
    pub fn of_insert(self, changed: ChangedRows) -> Option<RangeInclusive<u64>> {
        let inserts = changed.gone == 0 && changed.other == 0;
        inserts.then_some(changed.new..=changed.new)
    }

    /// The same for an INSERT that updates rows that are there. It may meet a row more than once, and
    /// leave one as it is.
    pub fn of_upsert(self, changed: ChangedRows) -> Option<RangeInclusive<u64>> {
        let rows = changed.moved()?;
        Some(rows.new + self.upsert * rows.other..=u64::MAX)
    }

    /// The same for a MERGE. It counts each row that it puts in, changes or removes, once (PostgreSQL manual, "MERGE", Outputs), and
    /// may leave one as it is.
    pub fn of_merge(self, changed: ChangedRows) -> RangeInclusive<u64> {
        // One that gets another row key is one row.
        changed.new.max(changed.gone) + changed.other..=u64::MAX
    }

    /// The same for a REPLACE. It may meet a row more than once, and put an equal one in its place.
    pub fn of_replace(self, changed: ChangedRows) -> Option<RangeInclusive<u64>> {
        let inserted = changed.new + changed.other;
        let deleted = match self.replace {
            ReplaceCount::WithDeleted => changed.gone + changed.other,
            ReplaceCount::Inserted => 0,
        };
        Some(inserted + deleted..=u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MYSQL: AffectedRows = AffectedRows {
        update: UpdateCount::Changed,
        upsert: 2,
        replace: ReplaceCount::WithDeleted,
    };

    const SQLITE: AffectedRows = AffectedRows {
        update: UpdateCount::Matched,
        upsert: 1,
        replace: ReplaceCount::Inserted,
    };

    fn rows(new: u64, gone: u64, other: u64) -> ChangedRows {
        ChangedRows { new, gone, other }
    }

    #[test]
    fn counts_are_exact_where_a_row_is_met_once() {
        assert_eq!(MYSQL.of_update(rows(0, 0, 2)), Some(2..=2));
        assert_eq!(SQLITE.of_update(rows(0, 0, 2)), Some(2..=u64::MAX));
        // A row that got another row key is one row; an UPDATE adds and removes none.
        assert_eq!(MYSQL.of_update(rows(1, 1, 0)), Some(1..=1));
        assert_eq!(MYSQL.of_update(rows(1, 0, 1)), None);
        assert_eq!(MYSQL.of_update(rows(0, 1, 1)), None);
        assert_eq!(MYSQL.of_delete(rows(0, 2, 0)), Some(2..=2));
        assert_eq!(MYSQL.of_delete(rows(0, 2, 1)), None);
        assert_eq!(MYSQL.of_insert(rows(2, 0, 0)), Some(2..=2));
        assert_eq!(MYSQL.of_insert(rows(2, 0, 1)), None);
    }

    #[test]
    fn a_row_that_is_there_counts_as_the_engine_counts_it() {
        assert_eq!(MYSQL.of_upsert(rows(1, 0, 1)), Some(3..=u64::MAX));
        assert_eq!(SQLITE.of_upsert(rows(1, 0, 1)), Some(2..=u64::MAX));
        assert_eq!(MYSQL.of_upsert(rows(0, 1, 0)), None);
        assert_eq!(MYSQL.of_replace(rows(1, 0, 1)), Some(3..=u64::MAX));
        assert_eq!(SQLITE.of_replace(rows(1, 1, 1)), Some(2..=u64::MAX));
    }
}
