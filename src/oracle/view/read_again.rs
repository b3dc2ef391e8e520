//! What no mix of moments explains, where a statement that waited may have read a row more than once, as the inner table of a join is
//! (MySQL manual, "Nested-Loop Join Algorithms"), and which moment each reading showed is not told. All that an inner join gives or
//! writes comes of one version of one row of each of its tables: what it gives without the rows that changed it gives anyhow, and what
//! it gives in no mix it does not give.

use std::collections::BTreeSet;

use super::allowed::{SightChoice, choices};
use super::alone::{Alone, Contents, SeenTables};
use crate::engine::EngineError;
use crate::model::{CaseStatement, Doubt, Outcome, Row, StatementKind, UndecidedReason};
use crate::observe::{Latitude, RowId, RowLatitude};
use crate::oracle::compare;
use crate::statement::{count_mentions, shows_each_row};

impl Alone<'_> {
    /// Whether an inner join did what none of the versions of these rows explains, however often each was read.
    pub(super) fn is_beyond_reading_again(
        &mut self,
        statement: &CaseStatement,
        latitude: &Latitude,
    ) -> Result<bool, EngineError> {
        let reads_again = latitude.beyond == Some(UndecidedReason::RowReadAgainAfterAWait);
        let mut doubts = latitude.rows.iter().flat_map(|row| &row.sights);
        if !reads_again
            || !latitude.snapshots.is_empty()
            || doubts.any(|(_, doubt)| *doubt == Doubt::ReEvaluated)
            || !self.names_each_table_once(statement)
        {
            return Ok(false);
        }
        let rows: Vec<&RowLatitude> = latitude.rows.iter().collect();
        let (mut mixes, all) = choices(&rows, 0);
        if !all {
            return Ok(false);
        }
        mixes.push(SightChoice::promised(rows.len()));
        let mut shown = Vec::new();
        for choice in &mixes {
            let tables = self.as_used(statement.id, latitude, &rows, choice);
            if !self.can_stand(&tables) {
                return Ok(false);
            }
            shown.push(tables);
        }
        let unchanged = self.unchanged(statement.id, latitude);
        let kind = statement.effect.kind;
        if matches!(kind, StatementKind::Update | StatementKind::Delete) {
            return self.writes_beside(statement, latitude, (&unchanged, &shown));
        }
        if kind == StatementKind::LockingSelect {
            return self.gives_beside(statement, &unchanged, &shown);
        }
        Ok(false)
    }

    /// Of a table that is named twice each reading may show another version of a row.
    pub(super) fn names_each_table_once(&self, statement: &CaseStatement) -> bool {
        let dialect = &self.evidence.dialect;
        let mut uses = statement.effect.uses.iter();
        uses.all(|used| count_mentions(&statement.sql, &used.table, dialect) == Some(1))
    }

    /// Whether a read lacks a row that it gives by unchanged rows alone, or gives one that it gives in no mix.
    fn gives_beside(
        &mut self,
        statement: &CaseStatement,
        unchanged: &SeenTables,
        shown: &[SeenTables],
    ) -> Result<bool, EngineError> {
        let evidence = self.evidence;
        let (sql, effect) = (&statement.sql, &statement.effect);
        let record = evidence.execution.records.get(&statement.id);
        let got = record.map(|record| &record.outcome);
        let (Some(Outcome::Rows(got)), true) =
            (got, shows_each_row(sql, effect, &evidence.dialect))
        else {
            return Ok(false);
        };
        let Some(Outcome::Rows(least)) = self.answer(sql, unchanged)? else {
            return Ok(false);
        };
        if compare::table_difference(&least, got).is_some_and(|(missing, _)| !missing.is_empty()) {
            return Ok(true);
        }
        let mut unexplained: Vec<&Row> = got.iter().collect();
        for tables in shown {
            let Some(Outcome::Rows(rows)) = self.answer(sql, tables)? else {
                return Ok(false);
            };
            unexplained.retain(|row| !rows.contains(row));
        }
        Ok(!unexplained.is_empty())
    }

    /// Whether a write left an unchanged row of a target alone that it writes by unchanged rows alone, or wrote one that it writes in no
    /// mix. What it gave them is not compared: of several rows that a row is joined with, any may be taken.
    fn writes_beside(
        &mut self,
        statement: &CaseStatement,
        latitude: &Latitude,
        (unchanged, shown): (&SeenTables, &[SeenTables]),
    ) -> Result<bool, EngineError> {
        let evidence = self.evidence;
        let effect = &statement.effect;
        let record = evidence.execution.records.get(&statement.id);
        let is_answered = record.is_some_and(|r| r.outcome.error_class().is_none());
        let is_inner_join = !effect.outer_join
            && count_mentions(&statement.sql, "SELECT", &evidence.dialect) == Some(0)
            && !effect.uses.iter().any(|used| used.role.is_by_foreign_key());
        if !is_answered || !is_inner_join {
            return Ok(false);
        }
        for table in effect.counted_targets() {
            let version_key = evidence.case.version_key(table);
            let Some(before) = unchanged.get(table) else {
                return Ok(false);
            };
            if version_key.is_none() || !effect.leaves_a_trace(version_key) {
                return Ok(false);
            }
            let written_on = |after: Contents| -> BTreeSet<RowId> {
                let differs = before
                    .iter()
                    .filter(|(row, cells)| after.get(row) != Some(cells));
                differs.map(|(row, _)| row.clone()).collect()
            };
            let Some(after) = self.left_by(statement, unchanged.clone(), table)? else {
                return Ok(false);
            };
            let least = written_on(after);
            let mut most = BTreeSet::new();
            for tables in shown {
                let Some(after) = self.left_by(statement, tables.clone(), table)? else {
                    return Ok(false);
                };
                most.extend(written_on(after));
            }
            let is_written = |row: &RowId| evidence.account.has_changed(statement.id, table, row);
            let mut known = before.keys().filter(|row| {
                let mut open = latitude.rows.iter();
                row.predecessors == 0
                    && !open.any(|other| other.table == table && other.row == **row)
            });
            if known.any(|row| {
                is_written(row) && !most.contains(row) || !is_written(row) && least.contains(row)
            }) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
