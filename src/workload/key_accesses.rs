//! A case as reads and writes of keys, where it is one.

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::Dialect;
use crate::model::{SetupKind, StatementId, StatementKind, TestCase};
use crate::statement::{KeyAccess, KeyTable, inserted_rows, key_access, key_table};

/// What the statements of a case do to keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAccesses {
    /// By statement; BEGIN, COMMIT and ROLLBACK have none.
    pub accesses: BTreeMap<StatementId, KeyAccess>,
    /// What the set-up gives each key that has a row.
    pub initial: BTreeMap<i64, i64>,
}

impl KeyAccesses {
    /// None when a statement, or the set-up, does anything else.
    ///
    /// One table of one value a row: InnoDB gives a transaction that writes one column of a row a new
    /// version of all of them, which no model of single values foresees.
    pub fn of(case: &TestCase, dialect: &Dialect) -> Option<Self> {
        let (mut tables, mut initial) = (Vec::new(), BTreeMap::new());
        for setup in &case.setup {
            match setup.kind {
                SetupKind::Schema => tables.push(key_table(&setup.sql, dialect)?),
                SetupKind::Rows => initial.extend(rows(tables.first()?, &setup.sql, dialect)?),
            }
        }
        let [table] = tables.as_slice() else {
            return None;
        };
        let mut accesses = BTreeMap::new();
        for statement in &case.statements {
            match statement.effect.kind {
                StatementKind::Select | StatementKind::Update => {
                    let access = key_access(&statement.sql, dialect)?;
                    accesses.insert(statement.id, access);
                }
                StatementKind::Begin
                | StatementKind::BeginSnapshot
                | StatementKind::BeginImmediate
                | StatementKind::Commit
                | StatementKind::Rollback => {}
                // Savepoints take back writes, and settings may change what a level means.
                StatementKind::Savepoint
                | StatementKind::RollbackTo
                | StatementKind::ReleaseSavepoint
                | StatementKind::LockingSelect
                | StatementKind::Insert
                | StatementKind::InsertSelect
                | StatementKind::Replace
                | StatementKind::Delete
                | StatementKind::Merge
                | StatementKind::Set
                | StatementKind::PhysicalDdl
                | StatementKind::LockTable
                | StatementKind::Opaque => return None,
            }
        }
        let is_its_own = |access: &KeyAccess| {
            let value = access.written.unwrap_or(0);
            access.table == table.table
                && access.key_column == table.key_column
                && access.column == table.column
                && (access.key.abs() < table.largest.0 && value.abs() < table.largest.1)
        };
        let keys = Self { accesses, initial };
        (keys.accesses.values().all(is_its_own) && keys.has_distinct_values()).then_some(keys)
    }

    /// Whether no value is written to a key twice, or is there at first: a write that changes
    /// nothing leaves no version on some engines, and a read of such a value names no writer.
    fn has_distinct_values(&self) -> bool {
        let mut values: BTreeSet<(i64, i64)> = self.initial.iter().map(|(k, v)| (*k, *v)).collect();
        let written = self
            .accesses
            .values()
            .filter_map(|a| Some((a.key, a.written?)));
        written.into_iter().all(|value| values.insert(value))
    }
}

/// The rows that an INSERT gives a table; none when it is of another form.
fn rows(table: &KeyTable, sql: &str, dialect: &Dialect) -> Option<Vec<(i64, i64)>> {
    let inserted = inserted_rows(sql, dialect)?;
    let at = |name: &String| inserted.columns.iter().position(|column| column == name);
    let (key, value) = (at(&table.key_column)?, at(&table.column)?);
    let holds =
        |row: &Vec<i64>| row[key].abs() < table.largest.0 && row[value].abs() < table.largest.1;
    let is_plain = inserted.table == table.table
        && inserted.columns.len() == 2
        && inserted.rows.iter().all(holds);
    is_plain.then(|| {
        inserted
            .rows
            .iter()
            .map(|row| (row[key], row[value]))
            .collect()
    })
}
