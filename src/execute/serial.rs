//! Serial runs: one connection, no concurrency, a database of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::engine::{EngineError, TransactionState};
use crate::model::{ErrorClass, Outcome, Row, Setting, StatementKind, TableShape, TestCase};
use crate::statement::has_trigger;

use super::SerialRun;
use super::hand::Hand;
use super::room::{Emptying, Room, has_foreign_keys, triggers};
use super::touched::Touched;

/// One serial run.
pub(super) struct ServerSerialRun<'a> {
    hand: Hand<'a>,
    room: &'a mut Room,
    case: TestCase,
    /// What may differ from the set-up.
    touched: Touched,
    /// The tables as the set-up leaves them, as far as they were read.
    initial: BTreeMap<String, Vec<Row>>,
    /// The statement that gave the connection its mode; none where it has the usual one.
    mode: Option<String>,
    has_triggers: bool,
    /// The tables, in lower case, whose triggers were dropped for rows to be put in place.
    untriggered: BTreeSet<String>,
}

impl<'a> ServerSerialRun<'a> {
    pub(super) fn start(
        hand: Hand<'a>,
        room: &'a mut Room,
        case: TestCase,
    ) -> Result<Self, EngineError> {
        let mut run = Self {
            has_triggers: has_trigger(&case),
            hand,
            room,
            case,
            touched: Touched::Everything,
            initial: BTreeMap::new(),
            mode: None,
            untriggered: BTreeSet::new(),
        };
        run.end_transaction()?;
        run.refill()?;
        Ok(run)
    }

    /// Drops the triggers of a table: rows that are put in place must not fire them.
    fn drop_triggers(&mut self, table: &str) -> Result<(), EngineError> {
        if !self.has_triggers || !self.untriggered.insert(table.to_ascii_lowercase()) {
            return Ok(());
        }
        for trigger in triggers(&self.case, self.hand.dialect) {
            if trigger.table.eq_ignore_ascii_case(table) {
                self.hand.run(&trigger.dropping(self.hand.dialect))?;
            }
        }
        Ok(())
    }

    /// Makes the triggers again that were dropped, in the order of the set-up. What statements mean in the body of a trigger
    /// is fixed when it is made (MySQL manual, "CREATE TRIGGER Statement"), so it is made as the set-up made it.
    fn make_triggers(&mut self) -> Result<(), EngineError> {
        let tables = std::mem::take(&mut self.untriggered);
        if tables.is_empty() {
            return Ok(());
        }
        let mode = self.mode.clone();
        self.adopt(None)?;
        for trigger in triggers(&self.case, self.hand.dialect) {
            if tables.contains(&trigger.table.to_ascii_lowercase()) {
                self.hand.run(trigger.create)?;
            }
        }
        self.adopt(mode.as_deref())
    }

    fn refill(&mut self) -> Result<(), EngineError> {
        self.adopt(None)?;
        // Where triggers were dropped a table was touched, and what brings it back makes them again.
        self.untriggered.clear();
        let Touched::Tables(tables) = &self.touched else {
            self.room
                .reset(&mut self.hand, &self.case, Emptying::Fast)?;
            self.touched = Touched::default();
            return Ok(());
        };
        if !tables.is_empty() {
            self.room.restore(&mut self.hand, &self.case, tables)?;
            self.touched = Touched::default();
        }
        Ok(())
    }

    /// Rolls back a transaction that the last statements may have left open.
    fn end_transaction(&mut self) -> Result<(), EngineError> {
        if !self.room.may_be_in_transaction {
            return Ok(());
        }
        self.hand.log.asked();
        if self.hand.connection.transaction_state()? == TransactionState::Open {
            let rollback = self.hand.dialect.spelling.rollback.clone();
            self.hand.run(&rollback)?;
        }
        self.room.may_be_in_transaction = false;
        Ok(())
    }

    /// Notes what a statement may do, before it is sent; its kind, if it is one of the case.
    fn about_to_run(&mut self, sql: &str) -> Option<StatementKind> {
        let statement = self.case.statements.iter().find(|s| s.sql == sql);
        let effect = statement.map(|s| &s.effect);
        match effect {
            Some(effect) => self.touched.note_effect(effect, &self.case),
            None => self.touched = Touched::Everything,
        }
        if self.touched != Touched::default() && !self.room.changes_stay_in_their_table() {
            self.touched = Touched::Everything;
        }
        if effect.is_some_and(|effect| effect.setting == Some(Setting::Mode)) {
            self.mode = Some(sql.to_owned());
        }
        let kind = effect.map(|effect| effect.kind);
        self.room.may_be_in_transaction |= match kind {
            None | Some(StatementKind::Opaque | StatementKind::Set) => true,
            Some(kind) => kind.is_begin(),
        };
        kind
    }

    /// Runs a statement and notes what it may have done.
    fn run_by(
        &mut self,
        sql: &str,
        send: impl FnOnce(&mut Hand<'a>, &str) -> Result<Outcome, EngineError>,
    ) -> Result<Outcome, EngineError> {
        self.make_triggers()?;
        let kind = self.about_to_run(sql);
        let outcome = send(&mut self.hand, sql)?;
        if outcome.error_class() == Some(ErrorClass::Internal) {
            // Its tables may be broken for good: the next reset builds them anew.
            self.room.forget();
            self.touched = Touched::Everything;
        }
        let accepted = !matches!(outcome, Outcome::Rejected(_));
        if accepted && kind.is_some_and(StatementKind::is_end) {
            self.room.may_be_in_transaction = false;
        }
        Ok(outcome)
    }

    fn shape(&self, table: &str) -> Result<TableShape, EngineError> {
        self.case
            .table(table)
            .cloned()
            .ok_or_else(|| EngineError::Target(format!("the case has no table {table:?}")))
    }

    /// Inserts rows, all in one statement; none where there are none.
    fn insertion(&self, shape: &TableShape, rows: &[Row]) -> Option<String> {
        if rows.is_empty() {
            return None;
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
        Some(format!(
            "INSERT INTO {} ({}) VALUES {}",
            dialect.quote(&shape.name),
            columns.join(", "),
            values.join(", ")
        ))
    }

    /// Deletes rows by their row key. None when the table has none.
    fn deletion_by_key(&self, shape: &TableShape, rows: &[Row]) -> Option<String> {
        let key = shape.row_key.as_deref()?;
        let place = shape.column(key)?;
        let keys: Option<Vec<String>> = rows
            .iter()
            .map(|row| row.get(place)?.as_integer().map(|key| key.to_string()))
            .collect();
        let dialect = self.hand.dialect;
        Some(format!(
            "DELETE FROM {} WHERE {} IN ({})",
            dialect.quote(&shape.name),
            dialect.quote(key),
            keys?.join(", ")
        ))
    }

    fn replace(
        &mut self,
        deletion: Option<String>,
        insertion: Option<String>,
    ) -> Result<(), EngineError> {
        // What a row holds was stored under some mode: any value is taken under the usual one.
        self.adopt(None)?;
        let statements: Vec<String> = deletion.into_iter().chain(insertion).collect();
        if has_foreign_keys(&self.case) {
            self.hand.run_without_foreign_keys(statements)
        } else {
            self.hand.run_together(&statements)
        }
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
        let delete = format!("DELETE FROM {name}");
        self.replace(Some(delete), self.insertion(shape, &rows))
    }
}

impl SerialRun for ServerSerialRun<'_> {
    fn reset(&mut self) -> Result<(), EngineError> {
        self.end_transaction()?;
        self.refill()
    }

    fn rest(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn run(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.run_by(sql, Hand::send)
    }

    fn run_without_foreign_keys(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.run_by(sql, Hand::send_without_foreign_keys)
    }

    fn adopt(&mut self, mode: Option<&str>) -> Result<(), EngineError> {
        if self.mode.as_deref() == mode {
            return Ok(());
        }
        let usual = || self.hand.dialect.usual_mode();
        if let Some(sql) = mode.map(str::to_owned).or_else(usual) {
            self.hand.run(&sql)?;
        }
        self.mode = mode.map(str::to_owned);
        Ok(())
    }

    fn count_from(&mut self, first: i64) -> Result<(), EngineError> {
        let spelling = &self.hand.dialect.spelling.count_from;
        let sql = spelling.replace("{first}", &first.to_string());
        self.hand.run(&sql).map(drop)
    }

    fn contents(&mut self, table: &str) -> Result<Vec<Row>, EngineError> {
        let shape = self.shape(table)?;
        if self.touched.concerns(table) {
            return self.hand.contents(&shape);
        }
        // Nothing can have changed since it was read.
        if let Some(rows) = self.initial.get(table) {
            return Ok(rows.clone());
        }
        let rows = self.hand.contents(&shape)?;
        self.initial.insert(table.to_owned(), rows.clone());
        Ok(rows)
    }

    fn replace_rows(
        &mut self,
        table: &str,
        remove: &[Row],
        insert: &[Row],
    ) -> Result<(), EngineError> {
        let shape = self.shape(table)?;
        self.touched.note(table);
        self.drop_triggers(&shape.name)?;
        let insertion = self.insertion(&shape, insert);
        match self.deletion_by_key(&shape, remove) {
            Some(deletion) => {
                self.replace(Some(deletion).filter(|_| !remove.is_empty()), insertion)
            }
            None => self.rewrite(&shape, remove, insert),
        }
    }
}
