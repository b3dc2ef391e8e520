//! Rows as chains of versions, and which of them a reader sees.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::types::Value;

/// Names a transaction for good.
pub(super) type TransactionNumber = u64;

/// Names a row of a table for good.
pub(super) type RowNumber = i64;

/// The stored cells of a row.
pub(super) type Cells = Arc<Vec<Value>>;

/// What a reader sees of a table.
pub(super) type TableRows = BTreeMap<RowNumber, Cells>;

/// One version of a row.
#[derive(Clone, Debug)]
pub(super) struct RowVersion {
    pub(super) writer: TransactionNumber,
    /// Counts the writes of the database, so that a savepoint can tell what came after it.
    pub(super) written: u64,
    /// The place in the order of commits; none while the writer is open.
    pub(super) committed: Option<u64>,
    /// None says that the row was deleted.
    pub(super) cells: Option<Cells>,
}

/// Versions of one row, oldest first.
pub(super) type RowChain = Vec<RowVersion>;

/// How a reader looks at versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadSight {
    /// The newest version, committed or not.
    Anything,
    /// What was committed up to this commit, and the reader's own.
    Snapshot(u64),
    /// What is committed now, and the reader's own.
    Current,
}

/// A unique key: positions of its columns among the stored ones. None where one of them is computed.
pub(super) type UniqueKey = Option<Vec<usize>>;

/// One table.
#[derive(Clone, Debug, Default)]
pub(super) struct VersionedTable {
    /// As it was created.
    pub(super) name: String,
    /// The stored columns.
    pub(super) columns: Vec<String>,
    pub(super) unique: Vec<UniqueKey>,
    pub(super) rows: BTreeMap<RowNumber, RowChain>,
    pub(super) next_row: RowNumber,
}

impl VersionedTable {
    /// What the reader sees.
    pub(super) fn seen(&self, reader: TransactionNumber, sight: ReadSight) -> TableRows {
        self.rows
            .iter()
            .filter_map(|(row, chain)| Some((*row, visible(chain, reader, sight)?.cells.clone()?)))
            .collect()
    }

    /// The newest versions of rows that other transactions have written and not committed.
    pub(super) fn uncommitted(
        &self,
        reader: TransactionNumber,
    ) -> impl Iterator<Item = (RowNumber, &RowVersion)> {
        self.rows.iter().filter_map(move |(row, chain)| {
            let newest = chain.last()?;
            (newest.committed.is_none() && newest.writer != reader).then_some((*row, newest))
        })
    }

    /// A number for a new row.
    pub(super) fn new_row(&mut self) -> RowNumber {
        self.next_row += 1;
        self.next_row
    }

    /// Stamps the versions of a writer with its place in the order of commits. Whether there were any.
    pub(super) fn commit(&mut self, writer: TransactionNumber, place: u64) -> bool {
        let mut has_written = false;
        let versions = self.rows.values_mut().flatten();
        for version in versions.filter(|v| v.writer == writer && v.committed.is_none()) {
            version.committed = Some(place);
            has_written = true;
        }
        has_written
    }

    /// Takes back what a writer has written since the database's count of writes was this.
    pub(super) fn undo(&mut self, writer: TransactionNumber, since: u64) {
        self.undo_where(writer, |version| version.written > since);
    }

    /// Takes back those versions of an open writer that the choice names.
    pub(super) fn undo_where(
        &mut self,
        writer: TransactionNumber,
        chosen: impl Fn(&RowVersion) -> bool,
    ) {
        for chain in self.rows.values_mut() {
            chain.retain(|v| v.writer != writer || v.committed.is_some() || !chosen(v));
        }
        self.rows.retain(|_, chain| !chain.is_empty());
    }

    /// Forgets all versions but the newest: no reader is left that could see them.
    pub(super) fn purge(&mut self) {
        self.rows.retain(|_, chain| {
            if chain.len() > 1 {
                chain.drain(..chain.len() - 1);
            }
            chain.last().is_some_and(|newest| newest.cells.is_some())
        });
    }
}

/// The version of a chain that the reader sees; it may say that the row is deleted.
pub(super) fn visible(
    chain: &RowChain,
    reader: TransactionNumber,
    sight: ReadSight,
) -> Option<&RowVersion> {
    chain.iter().rev().find(|version| match sight {
        ReadSight::Anything => true,
        ReadSight::Current => version.committed.is_some() || version.writer == reader,
        ReadSight::Snapshot(upto) => {
            let before = version.committed.is_some_and(|place| place <= upto);
            before || (version.writer == reader && version.committed.is_none())
        }
    })
}

/// Whether two cells are equal where a unique key compares them: NULL equals nothing.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Integer(a), Value::Integer(b)) => a == b,
        (Value::Real(a), Value::Real(b)) => a == b,
        #[expect(clippy::cast_precision_loss, reason = "keys are small numbers")]
        (Value::Integer(whole), Value::Real(real)) | (Value::Real(real), Value::Integer(whole)) => {
            *whole as f64 == *real
        }
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Blob(a), Value::Blob(b)) => a == b,
        (Value::Integer(_) | Value::Real(_) | Value::Text(_) | Value::Blob(_), _) => false,
    }
}

/// Whether two rows meet in a key of the table.
pub(super) fn collide(unique: &[UniqueKey], a: &Cells, b: &Cells) -> bool {
    unique.iter().any(|key| match key {
        // What a computed key holds is not known here: any two rows may meet in it.
        None => true,
        Some(columns) => columns.iter().all(|at| match (a.get(*at), b.get(*at)) {
            (Some(a), Some(b)) => equal(a, b),
            _ => false,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(writer: u64, committed: Option<u64>, cell: Option<i64>) -> RowVersion {
        RowVersion {
            writer,
            written: writer,
            committed,
            cells: cell.map(|cell| Arc::new(vec![Value::Integer(cell)])),
        }
    }

    fn table(chain: RowChain) -> VersionedTable {
        VersionedTable {
            rows: BTreeMap::from([(1, chain)]),
            ..VersionedTable::default()
        }
    }

    fn cell(table: &VersionedTable, reader: u64, sight: ReadSight) -> Option<i64> {
        match table.seen(reader, sight).get(&1)?.first()? {
            Value::Integer(cell) => Some(*cell),
            Value::Null | Value::Real(_) | Value::Text(_) | Value::Blob(_) => None,
        }
    }

    #[test]
    fn each_sight_shows_its_version() {
        let table = table(vec![
            version(1, Some(1), Some(10)),
            version(2, Some(2), Some(20)),
            version(3, None, Some(30)),
        ]);
        assert_eq!(cell(&table, 9, ReadSight::Snapshot(1)), Some(10));
        assert_eq!(cell(&table, 9, ReadSight::Current), Some(20));
        assert_eq!(cell(&table, 9, ReadSight::Anything), Some(30));
        assert_eq!(cell(&table, 3, ReadSight::Snapshot(1)), Some(30));
        assert_eq!(cell(&table, 3, ReadSight::Current), Some(30));
    }

    #[test]
    fn a_deleted_row_is_seen_by_older_snapshots_only_until_it_is_purged() {
        let mut table = table(vec![
            version(1, Some(1), Some(10)),
            version(2, Some(2), None),
        ]);
        assert_eq!(cell(&table, 9, ReadSight::Snapshot(1)), Some(10));
        assert_eq!(cell(&table, 9, ReadSight::Current), None);
        table.purge();
        assert!(table.rows.is_empty());
    }

    #[test]
    fn undo_takes_back_what_came_after_the_mark() {
        let mut table = table(vec![
            version(1, Some(1), Some(10)),
            version(2, None, Some(20)),
        ]);
        table.undo(2, 2);
        assert_eq!(cell(&table, 2, ReadSight::Current), Some(20));
        table.undo(2, 1);
        assert_eq!(cell(&table, 2, ReadSight::Current), Some(10));
    }

    #[test]
    fn null_meets_nothing_in_a_unique_key() {
        let row = |cell: Value| Arc::new(vec![cell]);
        let keys = [Some(vec![0])];
        assert!(collide(
            &keys,
            &row(Value::Integer(1)),
            &row(Value::Real(1.0))
        ));
        assert!(!collide(&keys, &row(Value::Null), &row(Value::Null)));
    }
}
