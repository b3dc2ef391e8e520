//! Scratch databases of SQLite: statements run there, on the rows that they may see.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::types::{Value, ValueRef};

use super::locks::Condition;
use super::schema::{SchemaText, as_seen, with_own_row_numbers, without_constraints};
use super::version::{Cells, RowNumber, TableRows, VersionedTable, collide};
use crate::engine::sqlite::{code_and_message, typed};
use crate::model::{Outcome, Row};

/// An error of SQLite: its extended code and its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScratchError {
    pub(super) code: i32,
    pub(super) message: String,
}

impl From<rusqlite::Error> for ScratchError {
    fn from(error: rusqlite::Error) -> Self {
        let (code, message) = code_and_message(&error);
        Self { code, message }
    }
}

/// Whether constraints hold in a scratch database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    Strict,
    /// None do: any versions of any rows may stand side by side.
    Free,
    /// They hold for `main.t`; beside it a `temp.t` without any holds what is seen of the table, and
    /// stands for the name alone.
    Split,
}

/// Which of two tables of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stand {
    /// The one that is written.
    Main,
    /// The one that is seen, where the rules are [`Rules::Split`].
    Seen,
}

impl Stand {
    fn schema(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Seen => "temp",
        }
    }
}

/// What a write did to its target, with the rows of the scratch database.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Changes {
    /// Rows that were assigned or deleted, with what they hold now.
    pub(super) touched: BTreeMap<RowNumber, Option<Cells>>,
    pub(super) inserted: Vec<Cells>,
}

/// One scratch database.
pub(super) struct Scratch {
    raw: rusqlite::Connection,
    rules: Rules,
    edition: u64,
    /// What its tables hold.
    loaded: BTreeMap<(Stand, String), TableRows>,
    /// Rows that the running statement assigned, as SQLite tells.
    assigned: Arc<Mutex<BTreeSet<(String, RowNumber)>>>,
}

impl Scratch {
    pub(super) fn open(rules: Rules) -> Result<Self, ScratchError> {
        let mut raw = rusqlite::Connection::open_in_memory()?;
        let assigned: Arc<Mutex<BTreeSet<(String, RowNumber)>>> = Arc::default();
        let seen = Arc::clone(&assigned);
        raw.update_hook(Some(move |_, schema: &str, table: &str, row: i64| {
            if schema != Stand::Main.schema() {
                return;
            }
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert((table.to_ascii_lowercase(), row));
        }))?;
        Ok(Self {
            raw,
            rules,
            edition: 0,
            loaded: BTreeMap::new(),
            assigned,
        })
    }

    pub(super) fn raw(&self) -> &rusqlite::Connection {
        &self.raw
    }

    /// Builds the schema, unless it is there already.
    pub(super) fn build(&mut self, schema: &SchemaText) -> Result<(), ScratchError> {
        if self.edition == schema.edition {
            return Ok(());
        }
        *self = Self::open(self.rules)?;
        for sql in &schema.statements {
            self.change_schema(sql)?;
        }
        if self.rules == Rules::Split {
            // Last, so that the statements before it speak of the tables in `main`.
            let mut copies = schema.statements.iter().filter_map(|sql| as_seen(sql));
            copies.try_for_each(|sql| self.raw.execute_batch(&sql))?;
        }
        self.edition = schema.edition;
        Ok(())
    }

    /// Runs a statement of the schema.
    pub(super) fn change_schema(&mut self, sql: &str) -> Result<(), ScratchError> {
        let sql = match self.rules {
            Rules::Strict | Rules::Split => with_own_row_numbers(sql),
            Rules::Free => without_constraints(sql),
        };
        self.raw.execute_batch(&sql)?;
        self.edition = 0;
        Ok(())
    }

    /// Makes a table hold these rows and no others.
    pub(super) fn load(
        &mut self,
        key: &str,
        table: &VersionedTable,
        rows: &TableRows,
    ) -> Result<(), ScratchError> {
        self.load_into(Stand::Main, key, table, rows)
    }

    /// The same for one of the two tables of a name.
    pub(super) fn load_into(
        &mut self,
        stand: Stand,
        key: &str,
        table: &VersionedTable,
        rows: &TableRows,
    ) -> Result<(), ScratchError> {
        let place = (stand, key.to_owned());
        let name = format!("{}.{}", stand.schema(), quoted(&table.name));
        let held = self.loaded.remove(&place).unwrap_or_default();
        let same =
            |row: &RowNumber, cells: &Cells, other: &TableRows| other.get(row) == Some(cells);
        let gone = held.iter().filter(|(row, cells)| !same(row, cells, rows));
        let mut gone = gone.map(|(row, _)| row).peekable();
        if gone.peek().is_some() {
            let sql = format!("DELETE FROM {name} WHERE rowid = ?1");
            let mut statement = self.raw.prepare_cached(&sql)?;
            for row in gone {
                statement.execute([row])?;
            }
        }
        let mut new = rows.iter().filter(|(row, cells)| !same(row, cells, &held));
        if let Some(first) = new.next() {
            let columns: Vec<String> = table.columns.iter().map(|name| quoted(name)).collect();
            // Two rows under one key are there only where the engine was told to let them in.
            let sql = format!(
                "INSERT OR IGNORE INTO {name} (rowid, {}) VALUES (?1{})",
                columns.join(", "),
                ", ?".repeat(columns.len())
            );
            let mut statement = self.raw.prepare_cached(&sql)?;
            for (row, cells) in std::iter::once(first).chain(new) {
                let number = Value::Integer(*row);
                let values = std::iter::once(&number).chain(cells.iter());
                statement.execute(rusqlite::params_from_iter(values))?;
            }
        }
        self.loaded.insert(place, rows.clone());
        Ok(())
    }

    /// Runs a statement that leaves the tables as they are.
    pub(super) fn read(&self, sql: &str) -> Result<Outcome, ScratchError> {
        run(&self.raw, sql)
    }

    /// Runs a write; the tables are as they were afterwards. What it did to the table is told even where
    /// it is none that is known: then it is nothing.
    pub(super) fn write(
        &mut self,
        sql: &str,
        target: Option<(&str, &VersionedTable)>,
    ) -> (Result<Outcome, ScratchError>, Changes) {
        let begun = self.raw.execute_batch("BEGIN");
        self.assigned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        let outcome = run(&self.raw, sql);
        // A refused write is undone, except where it is told not to be (OR FAIL).
        let changes = match target {
            Some((key, table)) if !self.raw.is_autocommit() => self.changes(key, table),
            Some(_) | None => Ok(Changes::default()),
        };
        let ended = begun.and_then(|()| match self.raw.is_autocommit() {
            true => Ok(()),
            false => self.raw.execute_batch("ROLLBACK"),
        });
        match (ended, changes) {
            (Ok(()), Ok(changes)) => (outcome, changes),
            (Err(error), _) => (Err(error.into()), Changes::default()),
            (Ok(()), Err(error)) => (Err(error), Changes::default()),
        }
    }

    fn changes(&self, key: &str, table: &VersionedTable) -> Result<Changes, ScratchError> {
        let empty = TableRows::new();
        let place = (Stand::Main, key.to_owned());
        let before = self.loaded.get(&place).unwrap_or(&empty);
        let after = self.content(table)?;
        let assigned = self.assigned.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = Changes::default();
        for (row, cells) in before {
            let now = after.get(row);
            if now != Some(cells) || assigned.contains(&(key.to_owned(), *row)) {
                changes.touched.insert(*row, now.cloned());
            }
        }
        for (_, cells) in after
            .into_iter()
            .filter(|(row, _)| !before.contains_key(row))
        {
            match replaced(table, before, &changes.touched, &cells) {
                Some(row) => {
                    changes.touched.insert(row, Some(cells));
                }
                None => changes.inserted.push(cells),
            }
        }
        Ok(changes)
    }

    /// What a table holds now.
    pub(super) fn content(&self, table: &VersionedTable) -> Result<TableRows, ScratchError> {
        let columns: Vec<String> = table.columns.iter().map(|name| quoted(name)).collect();
        let sql = format!(
            "SELECT rowid, {} FROM main.{}",
            columns.join(", "),
            quoted(&table.name)
        );
        let mut statement = self.raw.prepare_cached(&sql)?;
        let rows = statement.query_map([], |row| {
            let cells = (1..=columns.len()).map(|at| row.get::<_, Value>(at));
            Ok((row.get(0)?, Arc::new(cells.collect::<Result<_, _>>()?)))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Which rows of the loaded table the condition holds for.
    pub(super) fn matching(
        &self,
        condition: &Condition,
    ) -> Result<BTreeSet<RowNumber>, ScratchError> {
        let Condition { from, alias, text } = condition;
        let sql = format!("SELECT {alias}.rowid FROM {from} WHERE {text}");
        let mut statement = self.raw.prepare(&sql)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// The row whose place a new row takes: a statement that deletes a row and inserts one under its key
/// (REPLACE) changes the row. The primary key decides before other keys do.
fn replaced(
    table: &VersionedTable,
    before: &TableRows,
    touched: &BTreeMap<RowNumber, Option<Cells>>,
    new: &Cells,
) -> Option<RowNumber> {
    let deleted = || touched.iter().filter(|(_, now)| now.is_none());
    table.unique.iter().find_map(|key| {
        let takes = |row: &RowNumber| {
            let old = before.get(row);
            old.is_some_and(|old| collide(std::slice::from_ref(key), old, new))
        };
        deleted().map(|(row, _)| *row).find(takes)
    })
}

fn run(raw: &rusqlite::Connection, sql: &str) -> Result<Outcome, ScratchError> {
    let mut statement = raw.prepare(sql)?;
    if statement.column_count() == 0 {
        let before = raw.total_changes();
        statement.execute([])?;
        // The count is that of the last write: one that changed nothing leaves it alone.
        let changed = raw.total_changes() != before;
        return Ok(Outcome::Affected(if changed { raw.changes() } else { 0 }));
    }
    let columns = statement.column_count();
    let mut rows: Vec<Row> = Vec::new();
    let mut cursor = statement.query([])?;
    while let Some(row) = cursor.next()? {
        let cells = (0..columns).map(|at| row.get_ref(at).map(|cell: ValueRef<'_>| typed(cell)));
        rows.push(cells.collect::<Result<_, _>>()?);
    }
    Ok(Outcome::Rows(rows))
}

/// A name as SQLite takes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
