//! A read that locks sorts its rows by its snapshot, then waits, and looks again at those that changed:
//! a row keeps the place that it had by its old values (PostgreSQL manual, "SELECT", "The Locking
//! Clause").

use super::alone::{Alone, SeenTables};
use crate::engine::EngineError;
use crate::model::{CaseStatement, Outcome, Row, RowOrder};
use crate::statement::sorted_read;

impl Alone<'_> {
    /// Whether a sorted read gives on these rows what the run gave, each at the place that it has by the
    /// promised view. None where the statement is no such read, or has no rows to compare.
    pub(super) fn gives_in_the_old_order(
        &mut self,
        statement: &CaseStatement,
        seen: &SeenTables,
    ) -> Result<Option<bool>, EngineError> {
        let evidence = self.evidence;
        let record = evidence.execution.records.get(&statement.id);
        let Some(Outcome::Rows(got)) = record.map(|record| &record.outcome) else {
            return Ok(None);
        };
        if statement.effect.row_order != RowOrder::Total {
            return Ok(None);
        }
        let Some(read) = sorted_read(&statement.sql, &evidence.dialect) else {
            return Ok(None);
        };
        let promised = self.promised(statement.id);
        let before = self.answer(&read.sql, &promised)?;
        let after = self.answer(&read.sql, seen)?;
        let (Some(Outcome::Rows(before)), Some(Outcome::Rows(after))) = (before, after) else {
            return Ok(None);
        };
        let now = |old: &Row| {
            let mut after = after.iter();
            after.find_map(|new| match (new.split_first()?, old.first()?) {
                ((key, cells), old_key) if key == old_key => Some(cells),
                _ => None,
            })
        };
        let rows = before.iter().filter_map(now);
        let rows = rows
            .skip(read.offset)
            .take(read.limit.unwrap_or(usize::MAX));
        Ok(Some(rows.eq(got.iter().map(Vec::as_slice))))
    }
}
