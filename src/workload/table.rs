//! The table of a workload, and the statements on it.

use super::{WorkloadError, WorkloadSettings};
use crate::dialect::Dialect;
use crate::engine::Connection;
use crate::model::{Outcome, Value};

/// Rows of one INSERT.
const ROWS_PER_INSERT: u64 = 500;

/// Statements on the table, as the dialect spells them.
#[derive(Clone, Debug)]
pub(super) struct Table {
    name: String,
    key: String,
    value: String,
    options: String,
    list_type: String,
}

impl Table {
    pub(super) fn new(dialect: &Dialect) -> Self {
        Self {
            name: dialect.quote("kv"),
            key: dialect.quote("k"),
            value: dialect.quote("v"),
            options: dialect.spelling.table_options.clone(),
            list_type: dialect.spelling.long_text.clone(),
        }
    }

    /// Makes the table and its rows.
    pub(super) fn create(
        &self,
        connection: &mut dyn Connection,
        settings: &WorkloadSettings,
    ) -> Result<(), WorkloadError> {
        let mut statements = self.set_up(settings).into_iter();
        statements.try_for_each(|sql| set_up(connection, &sql))
    }

    /// The statement that makes the table, and those that make its rows: 0, or the empty list.
    pub(super) fn set_up(&self, settings: &WorkloadSettings) -> Vec<String> {
        let Self {
            name,
            key,
            value,
            options,
            list_type,
        } = self;
        let (value_type, initial) = if settings.kind.stores_lists() {
            (list_type.as_str(), "''")
        } else {
            ("BIGINT", "0")
        };
        let mut statements = vec![format!(
            "CREATE TABLE {name} ({key} INTEGER NOT NULL PRIMARY KEY, {value} {value_type} NOT NULL){options}"
        )];
        let rows = settings.kind.rows(settings);
        let mut next = 0;
        while next < rows {
            let end = (next + ROWS_PER_INSERT).min(rows);
            let tuples: Vec<String> = (next..end)
                .map(|key| format!("({key}, {initial})"))
                .collect();
            let tuples = tuples.join(", ");
            statements.push(format!(
                "INSERT INTO {name} ({key}, {value}) VALUES {tuples}"
            ));
            next = end;
        }
        statements
    }

    pub(super) fn read(&self, key: u32) -> String {
        let Self {
            name,
            key: k,
            value,
            ..
        } = self;
        format!("SELECT {value} FROM {name} WHERE {k} = {key}")
    }

    pub(super) fn write(&self, key: u32, to: i64) -> String {
        let Self {
            name,
            key: k,
            value,
            ..
        } = self;
        format!("UPDATE {name} SET {value} = {to} WHERE {k} = {key}")
    }

    pub(super) fn append(&self, key: u32, element: i64) -> String {
        let Self {
            name,
            key: k,
            value,
            ..
        } = self;
        format!("UPDATE {name} SET {value} = CONCAT({value}, ',{element}') WHERE {k} = {key}")
    }

    pub(super) fn compare_and_set(&self, key: u32, expected: i64, to: i64) -> String {
        let Self {
            name,
            key: k,
            value,
            ..
        } = self;
        format!("UPDATE {name} SET {value} = {to} WHERE {k} = {key} AND {value} = {expected}")
    }
}

/// Runs a statement that must not be rejected.
fn set_up(connection: &mut dyn Connection, sql: &str) -> Result<(), WorkloadError> {
    match connection.execute(sql)? {
        Outcome::Rejected(error) => {
            let shown: String = sql.chars().take(120).collect();
            Err(WorkloadError::Rejected {
                sql: shown,
                message: format!("{} {}", error.code, error.message),
            })
        }
        Outcome::Rows(_) | Outcome::Affected(_) => Ok(()),
    }
}

/// The only cell of an answer; None when it has no row.
fn cell<'o>(sql: &str, outcome: &'o Outcome) -> Result<Option<&'o Value>, WorkloadError> {
    match outcome {
        Outcome::Rows(rows) => match rows.as_slice() {
            [] => Ok(None),
            [row] if row.len() == 1 => Ok(row.first()),
            _ => Err(strange(sql, format!("{} rows", rows.len()))),
        },
        Outcome::Affected(_) | Outcome::Rejected(_) => Err(strange(sql, "no rows".to_owned())),
    }
}

fn strange(sql: &str, found: String) -> WorkloadError {
    WorkloadError::Cell {
        sql: sql.to_owned(),
        found,
    }
}

/// The integer that a key holds; None when its row is missing.
pub(super) fn integer(sql: &str, outcome: &Outcome) -> Result<Option<i64>, WorkloadError> {
    match cell(sql, outcome)? {
        None => Ok(None),
        Some(Value::Integer(value)) => Ok(Some(*value)),
        Some(other) => Err(strange(sql, other.to_string())),
    }
}

/// The list that a key holds, `,1,2,3` or empty; a missing row is an empty list.
pub(super) fn list(sql: &str, outcome: &Outcome) -> Result<Vec<i64>, WorkloadError> {
    let Some(cell) = cell(sql, outcome)? else {
        return Ok(Vec::new());
    };
    let Value::Text(text) = cell else {
        return Err(strange(sql, cell.to_string()));
    };
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let elements = text.strip_prefix(',').map(|rest| rest.split(','));
    elements
        .and_then(|elements| elements.map(|element| element.parse().ok()).collect())
        .ok_or_else(|| strange(sql, cell.to_string()))
}
