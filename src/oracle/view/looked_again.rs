//! What no second look explains, where a level looks again at rows that changed while a statement waited and which rows
//! it was joined with is not told (PostgreSQL manual, "Read Committed Isolation Level"): the rows that did not change
//! are those of its snapshot, and a read gives no row but as those that it locked are now. Two rows that its snapshot joins stay
//! joined where they still fit as they are now.

use super::alone::Alone;
use crate::engine::EngineError;
use crate::model::{CaseStatement, Doubt, Outcome, StatementKind, UndecidedReason};
use crate::observe::{Latitude, RowId, Sight};
use crate::oracle::compare;
use crate::statement::shows_each_row;

impl Alone<'_> {
    /// Whether a statement of several tables did what looking again at these rows cannot have done.
    pub(super) fn is_beyond_looking_again(
        &mut self,
        statement: &CaseStatement,
        latitude: &Latitude,
    ) -> Result<bool, EngineError> {
        let looks_again = latitude.beyond == Some(UndecidedReason::RowReadAgainAfterAWait)
            && latitude.snapshots.is_empty();
        let mut doubts = latitude.rows.iter().flat_map(|row| &row.sights);
        let is_re_evaluated = |(_, doubt): &(Sight, Doubt)| *doubt == Doubt::ReEvaluated;
        if !looks_again || latitude.rows.is_empty() || !doubts.all(is_re_evaluated) {
            return Ok(false);
        }
        let kind = statement.effect.kind;
        if matches!(kind, StatementKind::Update | StatementKind::Delete) {
            return Ok(self.leaves_an_unchanged_row_otherwise(statement, latitude)?
                || self.passes_over_a_pair(statement, latitude)?);
        }
        // A row that its source matches no more may be put in anew, which is no row of the view.
        if kind == StatementKind::Merge {
            return self.leaves_an_unchanged_row_otherwise(statement, latitude);
        }
        if kind == StatementKind::LockingSelect {
            return self.gives_rows_beside(statement, latitude);
        }
        Ok(false)
    }

    /// Whether a write touched other rows than its snapshot says, of those that nobody had changed meanwhile. What it gave
    /// them is not compared: of several rows that a row is joined with, any may be taken.
    fn leaves_an_unchanged_row_otherwise(
        &mut self,
        statement: &CaseStatement,
        latitude: &Latitude,
    ) -> Result<bool, EngineError> {
        let evidence = self.evidence;
        let promised = self.promised(statement.id);
        for table in statement.effect.counted_targets() {
            let version_key = evidence.case.version_key(table);
            let leaves_a_trace =
                version_key.is_some() && statement.effect.leaves_a_trace(version_key);
            let Some(before) = promised.get(table).filter(|_| leaves_a_trace) else {
                return Ok(false);
            };
            let Some(after) = self.left_by(statement, promised.clone(), table)? else {
                return Ok(false);
            };
            let is_touched = |row: &RowId| evidence.account.has_changed(statement.id, table, row);
            let is_known = |row: &RowId| {
                let mut changed = latitude.rows.iter();
                row.predecessors == 0
                    && !changed.any(|other| other.table == table && other.row == *row)
            };
            let mut known = before.iter().filter(|(row, _)| is_known(row));
            if known.any(|(row, cells)| (after.get(row) != Some(cells)) != is_touched(row)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a join of which every row shows by itself gives a row that it does not give on the rows as they are now, or
    /// lacks one that it gives without those that changed.
    fn gives_rows_beside(
        &mut self,
        statement: &CaseStatement,
        latitude: &Latitude,
    ) -> Result<bool, EngineError> {
        let evidence = self.evidence;
        let (sql, dialect) = (&statement.sql, &evidence.dialect);
        let effect = &statement.effect;
        // Of a row that one release let others write, too, the read may have met any of several versions, and the rows as they
        // are at the end are not those that it locked.
        if latitude.rows.iter().any(|row| row.sights.len() > 1) {
            return Ok(false);
        }
        // A weaker lock stands beside a change of the row, which is shown as it was then.
        let rules = &dialect.lock_rules;
        let keeps_changes_out = effect
            .lock
            .is_some_and(|lock| rules.keeps_changes_out(lock));
        // Of a table that is joined to itself the clause may lock one of the two, and the other stays as it was.
        let is_plain = self.names_each_table_once(statement)
            && keeps_changes_out
            && shows_each_row(sql, effect, dialect);
        let record = evidence.execution.records.get(&statement.id);
        let Some(Outcome::Rows(got)) = record.map(|record| &record.outcome).filter(|_| is_plain)
        else {
            return Ok(false);
        };
        let now = self.newest(statement.id, latitude);
        let without = self.unchanged(statement.id, latitude);
        let (Some(Outcome::Rows(most)), Some(Outcome::Rows(least))) =
            (self.answer(sql, &now)?, self.answer(sql, &without)?)
        else {
            return Ok(false);
        };
        let beyond = compare::table_difference(&most, got).map_or(0, |(_, extra)| extra.len());
        let mut kept = least;
        kept.extend(self.pairs_given(statement, latitude)?);
        let lacking = compare::table_difference(&kept, got).map_or(0, |(missing, _)| missing.len());
        Ok(beyond > 0 || lacking > 0)
    }
}
