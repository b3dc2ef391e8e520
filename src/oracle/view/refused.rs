//! Writes that are refused for one of several reasons.
//!
//! A write that fails for several of its rows, each in its own way, is refused for the one that comes first.
//! In a table without a clustered key rows come in the order in which they were put there, which no
//! statement fixes: put there again for the serial run they may come in another one.
//!
//! A row that breaks two foreign keys is refused for the one whose index comes first. TRUNCATE makes a table of
//! InnoDB anew with its unique indexes before the others, whatever their order was. For the same reason a row
//! that breaks a unique key and a foreign key is refused for either.

use super::super::compare::{self, Mismatch};
use super::alone::Alone;
use crate::engine::EngineError;
use crate::model::{
    Aspect, CaseStatement, Clustering, Direction, ErrorClass, Form, Outcome, StatementKind,
};
use crate::observe::{RowId, holds_a_key_twice};

impl Alone<'_> {
    /// Whether a write that was refused otherwise than on its view is refused as in the run, once another
    /// row of a table without a clustered key comes first.
    pub(super) fn is_refused_for_another_row(
        &mut self,
        statement: &CaseStatement,
        mismatches: &[Mismatch],
    ) -> Result<bool, EngineError> {
        if !is_other_error(mismatches) {
            return Ok(false);
        }
        let effect = &statement.effect;
        if !effect.kind.is_write() || effect.forms.contains(&Form::OrderBy) {
            return Ok(false);
        }
        let seen = self.promised(statement.id);
        for (table, rows) in &seen {
            let shape = self.evidence.case.table(table);
            if shape.is_none_or(|shape| shape.clustered_key().is_some()) {
                continue;
            }
            for first in rows.keys() {
                self.put_first(table, rows, first)?;
                if self.does_the_same(statement, seen.clone(), true)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a write was refused for a duplicate, on its view for a foreign key, or the other way round, because
    /// one row breaks both: with the one out of the way it is refused for the other, and without the row for neither.
    pub(super) fn is_refused_by_another_check(
        &mut self,
        statement: &CaseStatement,
        mismatches: &[Mismatch],
    ) -> Result<bool, EngineError> {
        let record = self.evidence.execution.records.get(&statement.id);
        let Some(got) = record.map(|record| record.outcome.clone()) else {
            return Ok(false);
        };
        // Elsewhere foreign keys are looked at when the statement has written its rows: a duplicate comes first.
        let by_index = |table: &str| {
            let shape = self.evidence.case.table(table);
            shape.is_some_and(|shape| shape.clustering == Clustering::AnyKey)
        };
        let is_write = statement.effect.kind.is_write() && statement.effect.targets().all(by_index);
        if !is_other_error(mismatches) || !is_write {
            return Ok(false);
        }
        let seen = self.promised(statement.id);
        let predicted = self.outcome_on(statement, seen.clone(), true)?;
        let refused = |outcome: &Outcome, class| outcome.error_class() == Some(class);
        let same = |outcome: &Outcome| {
            compare::outcomes(outcome, &got, statement.effect.row_order).is_none()
        };
        let (duplicate, foreign_key) = (ErrorClass::Duplicate, ErrorClass::ForeignKey);
        if refused(&predicted, foreign_key) && refused(&got, duplicate) {
            if !same(&self.outcome_on(statement, seen.clone(), false)?) {
                return Ok(false);
            }
        } else if !(refused(&predicted, duplicate) && refused(&got, foreign_key)) {
            return Ok(false);
        }
        let forms = &statement.effect.forms;
        let one_row =
            statement.effect.kind == StatementKind::Insert && !forms.contains(&Form::SeveralRows);
        // Not shown yet: that one row fails, and that it breaks the other key, too.
        let (mut one_fails, mut breaks_both) = (one_row, refused(&got, duplicate));
        for (table, rows) in &seen {
            if !statement.effect.targets().any(|target| target == table) {
                continue;
            }
            for row in rows.keys() {
                if one_fails && breaks_both {
                    return Ok(true);
                }
                let mut others = seen.clone();
                others.entry(table.clone()).or_default().remove(row);
                let outcome = self.outcome_on(statement, others, true)?;
                one_fails |= outcome.error_class().is_none();
                breaks_both |= same(&outcome);
            }
        }
        Ok(one_fails && breaks_both)
    }

    /// Whether a MERGE was refused as a duplicate, and what it makes of the rows that it finds has a unique key of a row
    /// that stood then: it looks for its rows in a snapshot, and a key is held against the newest ones (PostgreSQL manual,
    /// "Index Uniqueness Checks").
    pub(super) fn is_refused_for_a_newer_row(
        &mut self,
        statement: &CaseStatement,
    ) -> Result<bool, EngineError> {
        let evidence = self.evidence;
        let Some(newest) = evidence.account.newest.get(&statement.id) else {
            return Ok(false);
        };
        let promised = self.promised(statement.id);
        let latitude = evidence.account.latitudes.get(&statement.id);
        let again = latitude.map(|latitude| self.newest(statement.id, latitude));
        for found in std::iter::once(promised).chain(again) {
            for (table, stood) in newest {
                let (Some(shape), Some(before)) = (evidence.case.table(table), found.get(table))
                else {
                    continue;
                };
                let Some(after) = self.left_by(statement, found.clone(), table)? else {
                    continue;
                };
                let is_touched = |row: &RowId| {
                    before
                        .get(row)
                        .is_some_and(|was| after.get(row) != Some(was))
                };
                let made = after
                    .iter()
                    .filter(|(row, now)| before.get(*row) != Some(*now));
                let stood = self.rows_of(stood);
                let stood = stood.iter().filter(|(row, _)| !is_touched(row));
                if holds_a_key_twice(shape, made.chain(stood).map(|(_, row)| row)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a write was refused by a foreign key both times, if not by the same one, and two or more foreign
    /// keys hold a table that it writes.
    pub(super) fn may_break_either_key(
        &self,
        statement: &CaseStatement,
        predicted: &Outcome,
        got: &Outcome,
    ) -> bool {
        let is_refused = |outcome: &Outcome| outcome.error_class() == Some(ErrorClass::ForeignKey);
        let tables = &self.evidence.case.tables;
        let keys_of = |name: &str| {
            let is_it = |other: &str| other.eq_ignore_ascii_case(name);
            let ends = tables.iter().flat_map(|table| {
                let parents = table.foreign_keys.iter().map(|key| key.parent.as_str());
                parents.flat_map(|parent| [table.name.as_str(), parent])
            });
            ends.filter(|end| is_it(end)).count()
        };
        is_refused(predicted)
            && is_refused(got)
            && statement.effect.targets().any(|table| keys_of(table) > 1)
    }
}

/// Whether nothing but the error differs.
fn is_other_error(mismatches: &[Mismatch]) -> bool {
    matches!(
        mismatches,
        [Mismatch {
            aspect: Aspect::Error,
            direction: Direction::OtherError,
            ..
        }]
    )
}
