//! A read that locks sorts its rows by its snapshot, then waits, and looks again at those that changed:
//! a row keeps the place that it had by its old values (PostgreSQL manual, "SELECT", "The Locking
//! Clause").

use super::alone::{Alone, SeenTables};
use crate::engine::EngineError;
use crate::model::{CaseStatement, Outcome, Role, Row, RowOrder, Value};
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
        let moved = self.moved_keys(statement, &promised, seen);
        let now = |old: &Row| {
            let key = old.first()?;
            let moved = moved.iter().find(|(before, _)| before == key);
            let key = moved.map_or(key, |(_, now)| now);
            let mut after = after.iter().filter_map(|new| new.split_first());
            after.find_map(|(new_key, cells)| (new_key == key).then_some(cells))
        };
        let rows = before.iter().filter_map(now);
        let rows = rows
            .skip(read.offset)
            .take(read.limit.unwrap_or(usize::MAX));
        Ok(Some(rows.eq(got.iter().map(Vec::as_slice))))
    }

    /// The row keys that rows of the table which is read have in one view, and those that they have in another, where
    /// these differ.
    fn moved_keys(
        &self,
        statement: &CaseStatement,
        before: &SeenTables,
        now: &SeenTables,
    ) -> Vec<(Value, Value)> {
        let mut uses = statement.effect.uses.iter();
        let table = uses.find(|used| used.role == Role::LockingSelect);
        let shape = table.and_then(|used| self.evidence.case.table(&used.table));
        let Some((shape, at)) = shape.and_then(|shape| {
            let key = shape.row_key.as_deref()?;
            Some((shape, shape.column(key)?))
        }) else {
            return Vec::new();
        };
        let both = before.get(&shape.name).zip(now.get(&shape.name));
        let pairs = both.into_iter().flat_map(|(before, now)| {
            before
                .iter()
                .filter_map(|(row, cells)| Some((cells.get(at)?, now.get(row)?.get(at)?)))
        });
        let moved = pairs.filter(|(before, now)| before != now);
        moved
            .map(|(before, now)| (before.clone(), now.clone()))
            .collect()
    }
}
