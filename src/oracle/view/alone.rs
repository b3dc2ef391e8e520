//! One statement after another, each alone on the rows it saw.
//!
//! Rows are put in place only where the table does not hold them already: in a topological order
//! of an acyclic graph every statement finds its view in place by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::Evidence;
use super::super::compare::{self, Mismatch};
use super::super::counted;
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{
    Aspect, CaseStatement, Outcome, Row, StatementId, StatementKind, TableShape, Value,
};
use crate::observe::{RowId, TableView, holds_a_key_twice, is_hidden_row_key};

/// A table as the serial run holds it. Two rows may have one row key.
pub(in crate::oracle) type Contents = BTreeMap<RowId, Row>;

/// Tables that a statement is run on.
pub(super) type SeenTables = BTreeMap<String, Contents>;

/// A serial run under way.
pub(in crate::oracle) struct Alone<'a> {
    pub(super) evidence: &'a Evidence,
    run: &'a mut dyn SerialRun,
    state: SeenTables,
    /// Look at the target after every write, not only at the end.
    pub(in crate::oracle) careful: bool,
    /// Every effect was looked at so far, so that the tables are known to hold what `state` says.
    sure: bool,
}

impl<'a> Alone<'a> {
    /// The serial run is as its set-up left it.
    pub(in crate::oracle) fn start(evidence: &'a Evidence, run: &'a mut dyn SerialRun) -> Self {
        let mut alone = Self {
            evidence,
            run,
            state: BTreeMap::new(),
            // The others who ask want to know the effect, too.
            careful: evidence.shared,
            sure: evidence.shared,
        };
        alone.note_initial_state();
        alone
    }

    /// The tables as the set-up leaves them, again.
    pub(in crate::oracle) fn reset(&mut self) -> Result<(), EngineError> {
        self.run.reset()?;
        self.note_initial_state();
        Ok(())
    }

    /// Lets some time go by before the same is asked again.
    pub(in crate::oracle) fn rest(&mut self, time: Duration) {
        self.run.rest(time);
    }

    fn note_initial_state(&mut self) {
        let initial = self.evidence.initial.iter();
        self.state = initial
            .filter_map(|(table, rows)| {
                let shape = self.evidence.case.table(table)?;
                Some((table.clone(), keyed(shape, rows)))
            })
            .collect();
    }

    /// Runs one statement on its view and compares what it gives with what the interleaved run
    /// gave. With `look`, its effect on each target is compared too. None where a table refuses the rows of the view:
    /// an engine that is wrong let them in.
    pub(in crate::oracle) fn judge(
        &mut self,
        id: StatementId,
        look: bool,
    ) -> Result<Option<Vec<Mismatch>>, EngineError> {
        let Some(statement) = self.evidence.case.statement(id) else {
            return Ok(Some(Vec::new()));
        };
        let view = self.promised(id);
        let mismatches = self.judge_on(statement, view, look)?;
        if self.sure && mismatches.as_ref().is_some_and(Vec::is_empty) {
            self.evidence.confirm(id);
        }
        Ok(mismatches)
    }

    /// Whether a statement does on these tables what it did in the run.
    pub(super) fn does_the_same(
        &mut self,
        statement: &CaseStatement,
        tables: SeenTables,
        look: bool,
    ) -> Result<bool, EngineError> {
        let mismatches = self.judge_on(statement, tables, look)?;
        Ok(mismatches.is_some_and(|mismatches| mismatches.is_empty()))
    }

    /// The tables that a statement names, as it must see them.
    pub(super) fn promised(&self, id: StatementId) -> SeenTables {
        let view = self.evidence.account.views.get(&id).into_iter().flatten();
        view.map(|(table, seen)| (table.clone(), self.rows_of(seen)))
            .collect()
    }

    /// As [`Self::judge`], on these tables.
    pub(super) fn judge_on(
        &mut self,
        statement: &CaseStatement,
        place: SeenTables,
        look: bool,
    ) -> Result<Option<Vec<Mismatch>>, EngineError> {
        let id = statement.id;
        let Some(record) = self.evidence.execution.records.get(&id) else {
            return Ok(Some(Vec::new()));
        };
        if !self.put_for(statement, place)? {
            return Ok(None);
        }
        let predicted = self.run_as_its_transaction_may(statement)?;
        let row_order = statement.effect.row_order;
        let mismatch = compare::outcomes(&predicted, &record.outcome, row_order)
            .filter(|_| !self.may_break_either_key(statement, &predicted, &record.outcome));
        let mut mismatches: Vec<Mismatch> = mismatch.into_iter().collect();
        if !statement.effect.kind.is_write() {
            return Ok(Some(mismatches));
        }
        let targets: Vec<String> = statement.effect.targets().map(str::to_owned).collect();
        for table in targets {
            let hidden = self
                .evidence
                .case
                .table(&table)
                .is_some_and(is_hidden_row_key);
            let expected = self.after(&table, id);
            if look || hidden || self.careful || !mismatches.is_empty() {
                let (mismatch, is_settled) = self.settle(&table, expected)?;
                mismatches.extend(mismatch);
                if !is_settled {
                    break;
                }
            } else {
                self.state.insert(table, expected);
            }
        }
        Ok(Some(mismatches))
    }

    /// What a table holds when a statement was run on these tables; none where it was refused. All are as the set-up left
    /// them then.
    pub(in crate::oracle) fn left_by(
        &mut self,
        statement: &CaseStatement,
        tables: SeenTables,
        table: &str,
    ) -> Result<Option<Contents>, EngineError> {
        let Some(shape) = self.evidence.case.table(table) else {
            return Ok(None);
        };
        if !self.put_for(statement, tables)? {
            return Ok(None);
        }
        let outcome = self.run_as_its_transaction_may(statement)?;
        let rows = self.run.contents(table)?;
        self.reset()?;
        let is_answered = outcome.error_class().is_none();
        Ok(is_answered.then(|| keyed(shape, &rows)))
    }

    /// What a statement answers on these tables; none where no table can hold such rows. All are as the set-up left them then.
    pub(in crate::oracle) fn answer_of(
        &mut self,
        statement: &CaseStatement,
        tables: SeenTables,
    ) -> Result<Option<Outcome>, EngineError> {
        if !self.put_for(statement, tables)? {
            return Ok(None);
        }
        let outcome = self.run_as_its_transaction_may(statement)?;
        self.reset()?;
        Ok(Some(outcome))
    }

    /// Runs a statement that may be refused in a READ ONLY transaction in such a one, if its own was.
    fn run_as_its_transaction_may(
        &mut self,
        statement: &CaseStatement,
    ) -> Result<Outcome, EngineError> {
        let case = &self.evidence.case;
        self.run.adopt(case.mode_of(statement))?;
        counted::give(self.evidence, statement, self.run)?;
        let begin = case.begin_of(statement.id.transaction);
        let begin = begin.filter(|begin| begin.effect.read_only);
        // Plain reads are never refused: one that was is heard.
        let begin = begin.filter(|_| statement.effect.kind != StatementKind::Select);
        let Some(begin) = begin else {
            return self.run.run(&statement.sql);
        };
        self.run.run(&begin.sql)?;
        let outcome = self.run.run(&statement.sql)?;
        self.run.run(&self.evidence.dialect.spelling.commit)?;
        Ok(outcome)
    }

    /// What a read gives on these tables; none where no table can hold such rows.
    pub(in crate::oracle) fn answer(
        &mut self,
        sql: &str,
        tables: &BTreeMap<String, Contents>,
    ) -> Result<Option<Outcome>, EngineError> {
        let case = &self.evidence.case;
        let can_hold = |(table, rows): (&String, &Contents)| {
            case.table(table)
                .is_some_and(|shape| !holds_a_key_twice(shape, rows.values()))
        };
        if !tables.iter().all(can_hold) {
            return Ok(None);
        }
        if !self.put_all(tables.clone())? {
            return Ok(None);
        }
        self.run.run(sql).map(Some)
    }

    /// Puts the effect of a statement in place without running it; false where a table refuses it.
    pub(in crate::oracle) fn place(&mut self, id: StatementId) -> Result<bool, EngineError> {
        let mut tables = SeenTables::new();
        for change in self.evidence.account.changes.get(&id).into_iter().flatten() {
            let now = self.state.get(&change.table).cloned().unwrap_or_default();
            let contents = tables.entry(change.table.clone()).or_insert(now);
            match self.evidence.account.chains.row(change.after) {
                Some(row) => contents.insert(change.row.clone(), row.clone()),
                None => contents.remove(&change.row),
            };
        }
        self.put_all(tables)
    }

    /// Compares every table with the final state of the interleaved run.
    pub(in crate::oracle) fn compare_final_state(
        &mut self,
    ) -> Result<Vec<(String, Mismatch)>, EngineError> {
        let mut mismatches = Vec::new();
        for shape in &self.evidence.case.tables {
            let Some(got) = self.evidence.execution.final_state.get(&shape.name) else {
                continue;
            };
            let predicted = self.run.contents(&shape.name)?;
            self.state
                .insert(shape.name.clone(), keyed(shape, &predicted));
            let (a, b) = (visible(shape, &predicted), visible(shape, got));
            if let Some((missing, extra)) = compare::table_difference(&a, &b) {
                let mismatch = Mismatch {
                    aspect: Aspect::FinalState,
                    direction: compare::difference_direction(&missing, &extra),
                    expected: compare::rows_text(&missing),
                    got: compare::rows_text(&extra),
                };
                mismatches.push((shape.name.clone(), mismatch));
            }
        }
        Ok(mismatches)
    }

    /// What a table holds now.
    pub(super) fn standing(&self, table: &str) -> Option<&Contents> {
        self.state.get(table)
    }

    pub(super) fn rows_of(&self, seen: &TableView) -> Contents {
        rows_of(self.evidence, seen)
    }

    /// What a target holds when the statement has done to its view what it did in the run.
    fn after(&self, table: &str, id: StatementId) -> Contents {
        let mut contents = self.state.get(table).cloned().unwrap_or_default();
        let record = self.evidence.execution.records.get(&id);
        if record.is_some_and(|record| record.outcome.error_class().is_some()) {
            // What it did before it was rejected was undone.
            return contents;
        }
        for change in self.evidence.account.changes.get(&id).into_iter().flatten() {
            if change.table != table {
                continue;
            }
            match self.evidence.account.chains.row(change.after) {
                Some(row) => contents.insert(change.row.clone(), row.clone()),
                None => contents.remove(&change.row),
            };
        }
        contents
    }

    /// As [`Self::put_all`], with the parents of the rows that a write finds.
    fn put_for(
        &mut self,
        statement: &CaseStatement,
        tables: SeenTables,
    ) -> Result<bool, EngineError> {
        self.put_all(self.with_parents(statement, tables))
    }

    /// Makes tables hold these rows. False where a table refuses them: all are as the set-up left them then.
    fn put_all(&mut self, tables: SeenTables) -> Result<bool, EngineError> {
        for (table, rows) in tables {
            match self.put(&table, rows) {
                Ok(()) => {}
                Err(EngineError::Setup { .. }) => {
                    self.reset()?;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Makes a table hold these rows.
    fn put(&mut self, table: &str, rows: Contents) -> Result<(), EngineError> {
        let now = self.state.entry(table.to_owned()).or_default();
        if *now == rows {
            return Ok(());
        }
        let remove = only_in(now, &rows);
        let insert = only_in(&rows, now);
        // Rows are removed by the key that they have now: those that share one go, too, and come back.
        let shape = self.evidence.case.table(table);
        let at = shape.and_then(|shape| shape.column(shape.row_key.as_deref()?));
        let leave: BTreeSet<&Value> = remove.iter().map(|(id, row)| key_of(at, id, row)).collect();
        let shared = now
            .iter()
            .filter(|(id, row)| leave.contains(key_of(at, id, row)) && !remove.contains_key(*id));
        let insert: Vec<Row> = insert
            .values()
            .chain(shared.map(|(_, row)| row))
            .cloned()
            .collect();
        let remove: Vec<Row> = remove.into_values().collect();
        self.run.replace_rows(table, &remove, &insert)?;
        self.state.insert(table.to_owned(), rows);
        Ok(())
    }

    /// Makes a table hold these rows, this one before all others where the engine keeps them as they come.
    pub(super) fn put_first(
        &mut self,
        table: &str,
        rows: &Contents,
        first: &RowId,
    ) -> Result<(), EngineError> {
        self.put(table, rows.clone())?;
        let all: Vec<Row> = rows.values().cloned().collect();
        let others = rows.iter().filter(|(row, _)| *row != first);
        let others = others.map(|(_, row)| row.clone());
        let in_order: Vec<Row> = rows.get(first).cloned().into_iter().chain(others).collect();
        self.run.replace_rows(table, &all, &in_order)
    }

    /// What a statement gives on these tables; without foreign keys, if asked for.
    pub(super) fn outcome_on(
        &mut self,
        statement: &CaseStatement,
        tables: SeenTables,
        foreign_keys: bool,
    ) -> Result<Outcome, EngineError> {
        for (table, rows) in self.with_parents(statement, tables) {
            self.put(&table, rows)?;
        }
        self.run.adopt(self.evidence.case.mode_of(statement))?;
        counted::give(self.evidence, statement, self.run)?;
        let outcome = match foreign_keys {
            true => self.run.run(&statement.sql),
            false => self.run.run_without_foreign_keys(&statement.sql),
        }?;
        if outcome.error_class().is_none() {
            self.reset()?;
        }
        Ok(outcome)
    }

    /// Looks at a target after a write, says how it differs from what was observed, and puts the
    /// observed rows in place, so that one difference is not told again by every later statement; and whether the
    /// table takes them.
    fn settle(
        &mut self,
        table: &str,
        expected: Contents,
    ) -> Result<(Option<Mismatch>, bool), EngineError> {
        let Some(shape) = self.evidence.case.table(table) else {
            return Ok((None, true));
        };
        let rows = self.run.contents(table)?;
        self.state.insert(table.to_owned(), keyed(shape, &rows));
        let observed: Vec<Row> = expected.values().cloned().collect();
        let difference =
            compare::table_difference(&visible(shape, &rows), &visible(shape, &observed));
        let is_settled = self.put_all(SeenTables::from([(table.to_owned(), expected)]))?;
        let mismatch = difference.map(|(missing, extra)| Mismatch {
            aspect: Aspect::Effect,
            direction: compare::difference_direction(&missing, &extra),
            expected: format!("{table}: {}", compare::rows_text(&missing)),
            got: format!("{table}: {}", compare::rows_text(&extra)),
        });
        Ok((mismatch, is_settled))
    }

    /// What a statement gives on its view, as `judge` ran it; for explanations.
    pub(in crate::oracle) fn view_text(&self, id: StatementId) -> Vec<String> {
        let Some(view) = self.evidence.account.views.get(&id) else {
            return Vec::new();
        };
        view.iter()
            .map(|(table, seen)| {
                let rows: Vec<Row> = self.rows_of(seen).into_values().collect();
                let rows = self
                    .evidence
                    .case
                    .table(table)
                    .map_or(rows.clone(), |s| visible(s, &rows));
                format!("{id} must see of {table}: {}", compare::rows_text(&rows))
            })
            .collect()
    }
}

/// The rows of a view.
pub(in crate::oracle) fn rows_of(evidence: &Evidence, seen: &TableView) -> Contents {
    seen.iter()
        .filter_map(|(id, version)| {
            let row = evidence.account.chains.row((*version)?)?;
            Some((id.clone(), row.clone()))
        })
        .collect()
}

/// The rows that one of two tables has, or has otherwise.
fn only_in(one: &Contents, other: &Contents) -> Contents {
    one.iter()
        .filter(|(id, row)| other.get(*id) != Some(*row))
        .map(|(id, row)| (id.clone(), row.clone()))
        .collect()
}

/// The row key that a row has now, in the column of this number: it may have been moved since it got its id.
fn key_of<'r>(column: Option<usize>, id: &'r RowId, row: &'r Row) -> &'r Value {
    column.and_then(|at| row.get(at)).unwrap_or(&id.key)
}

/// Rows by their row key.
fn keyed(shape: &TableShape, rows: &[Row]) -> Contents {
    let at = shape.row_key.as_deref().and_then(|key| shape.column(key));
    let mut contents = Contents::new();
    for row in rows {
        let Some(key) = at.and_then(|at| row.get(at)) else {
            continue;
        };
        let mut id = RowId::first(key.clone());
        while contents.contains_key(&id) {
            id.predecessors += 1;
        }
        contents.insert(id, row.clone());
    }
    contents
}

/// Rows without a row key that statements of the case cannot name: two runs number rows apart.
pub(in crate::oracle) fn visible(shape: &TableShape, rows: &[Row]) -> Vec<Row> {
    let hidden = is_hidden_row_key(shape);
    let at = shape
        .row_key
        .as_deref()
        .filter(|_| hidden)
        .and_then(|key| shape.column(key));
    let strip = |row: &Row| -> Row {
        row.iter()
            .enumerate()
            .filter(|(i, _)| Some(*i) != at)
            .map(|(_, v)| v.clone())
            .collect()
    };
    rows.iter().map(strip).collect()
}
