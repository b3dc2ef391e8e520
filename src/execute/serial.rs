//! Serial runs: one connection, no concurrency, a database of their own.

use crate::engine::{EngineError, TransactionState};
use crate::model::{Outcome, Row, TableShape, TestCase};

use super::SerialRun;
use super::room::{Emptying, Hand, Room};

/// One serial run.
pub(super) struct ServerSerialRun<'a> {
    hand: Hand<'a>,
    room: &'a mut Room,
    case: TestCase,
    /// Nothing ran since the last reset.
    fresh: bool,
}

impl<'a> ServerSerialRun<'a> {
    pub(super) fn start(
        hand: Hand<'a>,
        room: &'a mut Room,
        case: TestCase,
    ) -> Result<Self, EngineError> {
        let mut run = Self {
            hand,
            room,
            case,
            fresh: false,
        };
        run.end_transaction()?;
        run.refill()?;
        Ok(run)
    }

    fn refill(&mut self) -> Result<(), EngineError> {
        self.room
            .reset(&mut self.hand, &self.case, Emptying::Fast)?;
        self.fresh = true;
        Ok(())
    }

    /// Rolls back a transaction that the previous run left open.
    fn end_transaction(&mut self) -> Result<(), EngineError> {
        self.hand.log.asked();
        if self.hand.connection.transaction_state()? == TransactionState::Open {
            let rollback = self.hand.dialect.spelling.rollback.clone();
            self.hand.run(&rollback)?;
        }
        Ok(())
    }

    fn shape(&self, table: &str) -> Result<TableShape, EngineError> {
        self.case
            .table(table)
            .cloned()
            .ok_or_else(|| EngineError::Target(format!("the case has no table {table:?}")))
    }

    /// Inserts rows, all in one statement.
    fn insert(&mut self, shape: &TableShape, rows: &[Row]) -> Result<(), EngineError> {
        if rows.is_empty() {
            return Ok(());
        }
        let dialect = self.hand.dialect;
        let stored: Vec<usize> = (0..shape.columns.len())
            .filter(|index| !shape.columns[*index].generated)
            .collect();
        let columns: Vec<String> = stored
            .iter()
            .map(|index| dialect.quote(&shape.columns[*index].name))
            .collect();
        let values: Vec<String> = rows
            .iter()
            .map(|row| {
                let literals: Vec<String> = stored
                    .iter()
                    .filter_map(|index| row.get(*index))
                    .map(|value| dialect.literal(value))
                    .collect();
                format!("({})", literals.join(", "))
            })
            .collect();
        let sql = format!(
            "INSERT INTO {} ({}) VALUES {}",
            dialect.quote(&shape.name),
            columns.join(", "),
            values.join(", ")
        );
        self.hand.run(&sql).map(drop)
    }

    /// Deletes rows by their row key. False when the table has none.
    fn delete_by_key(&mut self, shape: &TableShape, rows: &[Row]) -> Result<bool, EngineError> {
        let key = shape.row_key.as_deref();
        let Some((name, place)) = key.and_then(|key| Some((key, shape.column(key)?))) else {
            return Ok(false);
        };
        let keys: Option<Vec<String>> = rows
            .iter()
            .map(|row| row.get(place)?.as_integer().map(|key| key.to_string()))
            .collect();
        let Some(keys) = keys else {
            return Ok(false);
        };
        if !keys.is_empty() {
            let dialect = self.hand.dialect;
            let sql = format!(
                "DELETE FROM {} WHERE {} IN ({})",
                dialect.quote(&shape.name),
                dialect.quote(name),
                keys.join(", ")
            );
            self.hand.run(&sql)?;
        }
        Ok(true)
    }

    /// Replaces the whole table, for rows without a key.
    fn rewrite(
        &mut self,
        shape: &TableShape,
        remove: &[Row],
        insert: &[Row],
    ) -> Result<(), EngineError> {
        let mut rows = self.hand.contents(shape)?;
        for row in remove {
            if let Some(place) = rows.iter().position(|other| other == row) {
                rows.remove(place);
            }
        }
        rows.extend(insert.iter().cloned());
        let name = self.hand.dialect.quote(&shape.name);
        self.hand.run(&format!("DELETE FROM {name}"))?;
        self.insert(shape, &rows)
    }
}

impl SerialRun for ServerSerialRun<'_> {
    fn reset(&mut self) -> Result<(), EngineError> {
        if self.fresh {
            return Ok(());
        }
        self.end_transaction()?;
        self.refill()
    }

    fn run(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.fresh = false;
        self.hand.send(sql)
    }

    fn contents(&mut self, table: &str) -> Result<Vec<Row>, EngineError> {
        let shape = self.shape(table)?;
        self.hand.contents(&shape)
    }

    fn replace_rows(
        &mut self,
        table: &str,
        remove: &[Row],
        insert: &[Row],
    ) -> Result<(), EngineError> {
        self.fresh = false;
        let shape = self.shape(table)?;
        if self.delete_by_key(&shape, remove)? {
            self.insert(&shape, insert)
        } else {
            self.rewrite(&shape, remove, insert)
        }
    }
}
