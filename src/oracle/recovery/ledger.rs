//! A case as writes of rows that are named by their key.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::model::{Row, SetupKind, StatementId, StatementKind, TableShape, TestCase, Value};
use crate::statement::{RowWrite, row_write};

/// A row: its table, as the case's shape names it, and its key.
pub(super) type RowAddress = (String, i64);

/// What a statement does to one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RowChange {
    Insert(Row),
    /// New values, by the position of their columns.
    Update(Vec<(usize, Value)>),
    Delete,
}

impl RowChange {
    /// Whether a row may be what this change left.
    pub(super) fn leaves(&self, row: &Row) -> bool {
        match self {
            Self::Insert(inserted) => inserted == row,
            Self::Update(assigned) => assigned
                .iter()
                .all(|(at, value)| row.get(*at) == Some(value)),
            Self::Delete => false,
        }
    }
}

/// What the set-up and the statements of a case do to rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowLedger {
    pub(super) initial: BTreeMap<RowAddress, Row>,
    /// By statement, in the order of the text; control statements and reads have none.
    pub(super) changes: BTreeMap<StatementId, Vec<(RowAddress, RowChange)>>,
}

impl RowLedger {
    /// None when a statement, or the set-up, writes anything else, or takes back a part of a transaction.
    pub(super) fn of(case: &TestCase, dialect: &Dialect) -> Option<Self> {
        let mut initial = BTreeMap::new();
        let rows = case.setup.iter().filter(|s| s.kind == SetupKind::Rows);
        for setup in rows {
            for (key, change) in changes(case, &setup.sql, dialect)? {
                match change {
                    RowChange::Insert(row) => initial.insert(key, row),
                    RowChange::Update(_) | RowChange::Delete => return None,
                };
            }
        }
        let mut found = BTreeMap::new();
        for statement in &case.statements {
            match statement.effect.kind {
                StatementKind::Insert | StatementKind::Update | StatementKind::Delete => {
                    found.insert(statement.id, changes(case, &statement.sql, dialect)?);
                }
                StatementKind::Select
                | StatementKind::LockingSelect
                | StatementKind::Begin
                | StatementKind::BeginSnapshot
                | StatementKind::BeginImmediate
                | StatementKind::Commit
                | StatementKind::Rollback
                | StatementKind::LockTable => {}
                StatementKind::Savepoint
                | StatementKind::RollbackTo
                | StatementKind::ReleaseSavepoint
                | StatementKind::InsertSelect
                | StatementKind::Replace
                | StatementKind::Merge
                | StatementKind::Set
                | StatementKind::PhysicalDdl
                | StatementKind::Opaque => return None,
            }
        }
        Some(Self {
            initial,
            changes: found,
        })
    }
}

/// What a write does to rows; None when it is of another form, or names other columns than the table has.
fn changes(case: &TestCase, sql: &str, dialect: &Dialect) -> Option<Vec<(RowAddress, RowChange)>> {
    match row_write(sql, dialect)? {
        RowWrite::Insert {
            table,
            columns,
            rows,
        } => {
            let shape = keyed(case, &table)?;
            let order: Vec<usize> = shape
                .columns
                .iter()
                .map(|column| {
                    columns
                        .iter()
                        .position(|c| c.eq_ignore_ascii_case(&column.name))
                })
                .collect::<Option<_>>()?;
            let rows = rows.into_iter().map(|row| {
                let row: Row = order.iter().map(|at| row[*at].clone()).collect();
                let place = key_place(shape)?;
                let Value::Integer(key) = row.get(place)? else {
                    return None;
                };
                if shape.columns[place].counted && *key == 0 {
                    // The counter gives the key.
                    return None;
                }
                Some(((shape.name.clone(), *key), RowChange::Insert(row)))
            });
            let is_whole = columns.len() == shape.columns.len();
            rows.collect::<Option<Vec<_>>>().filter(|_| is_whole)
        }
        RowWrite::Update {
            table,
            key_column,
            key,
            assigned,
        } => {
            let shape = keyed_by(case, &table, &key_column)?;
            let assigned = assigned.into_iter();
            let assigned = assigned.map(|(name, value)| Some((shape.column(&name)?, value)));
            let change = RowChange::Update(assigned.collect::<Option<_>>()?);
            Some(vec![((shape.name.clone(), key), change)])
        }
        RowWrite::Delete {
            table,
            key_column,
            key,
        } => {
            let shape = keyed_by(case, &table, &key_column)?;
            Some(vec![((shape.name.clone(), key), RowChange::Delete)])
        }
    }
}

/// A table whose primary key is one column, and whose values are those that statements give it.
fn keyed<'c>(case: &'c TestCase, table: &str) -> Option<&'c TableShape> {
    let shape = case.table(table)?;
    let is_plain = shape.columns.iter().all(|c| !c.generated && !c.counted);
    let has_one = shape.primary_key.as_ref().is_some_and(|key| key.len() == 1);
    (is_plain && has_one).then_some(shape)
}

fn keyed_by<'c>(case: &'c TestCase, table: &str, column: &str) -> Option<&'c TableShape> {
    let shape = keyed(case, table)?;
    (shape.column(column)? == key_place(shape)?).then_some(shape)
}

/// The position of the column that names rows.
pub(super) fn key_place(shape: &TableShape) -> Option<usize> {
    shape.column(shape.primary_key.as_ref()?.first()?)
}
