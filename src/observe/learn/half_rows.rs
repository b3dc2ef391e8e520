//! Rows of statements that wait half-way: an INSERT that waits for the unique index on the row key has
//! put its row into the clustered index already, beside the row that stands under the key.

use super::Learning;
use super::writer::{Unattributed, gives_place};
use crate::model::{CaseStatement, Row, StatementId, StatementKind, TableShape, Tick};
use crate::observe::View;
use crate::observe::chain::{RowId, VersionId};
use crate::statement::mentions;

/// A row of a table, as it was last seen.
pub(super) struct StandingRow {
    pub(super) id: RowId,
    pub(super) version: VersionId,
    pub(super) row: Row,
}

impl Learning<'_> {
    /// Whether a row may have become another one at another place of the clustered index: whoever wrote
    /// the new one changes or replaces rows, and does not wait with the new row half-way in. An upsert
    /// that waits may have done either; nobody else has removed the old row where it has moved it.
    pub(super) fn may_be_moved(
        &self,
        shape: &TableShape,
        old: &StandingRow,
        new_row: &Row,
        active: &[StatementId],
        at: Tick,
    ) -> bool {
        let writer = self.writer(shape, Some(&old.row), Some(new_row), active, at, None);
        let Ok(writer) = writer else {
            // Of a change of nobody or of several nothing better is known.
            return true;
        };
        let Some(statement) = self.case.statement(writer) else {
            return true;
        };
        let mut triggered = statement.effect.triggered_on(&shape.name).peekable();
        if triggered.peek().is_some() {
            return triggered.any(|write| write.kind == StatementKind::Update);
        }
        let kind = statement.effect.kind;
        let is_waiting = self.waiting.contains(&writer);
        let inserts = if matches!(kind, StatementKind::Insert | StatementKind::InsertSelect) {
            let removed_by_another = || {
                let except = Some(writer);
                let remover = self.writer(shape, Some(&old.row), None, active, at, except);
                // Who has removed as many rows as it counted has not removed this one.
                let may_be = |id: StatementId| self.lacking(shape, id, at) != Some(0);
                match remover {
                    Ok(id) => may_be(id),
                    Err(Unattributed::Several(ids)) => ids.into_iter().any(may_be),
                    Err(Unattributed::Nobody) => false,
                }
            };
            statement.effect.assigned.is_empty() || (is_waiting && removed_by_another())
        } else {
            kind == StatementKind::Replace && is_waiting
        };
        !inserts
    }

    /// Whether one row is known to have become another at another place of the clustered index: an UPDATE
    /// that gives rows another place wrote it, while other statements may have put rows beside it.
    pub(super) fn is_moved(
        &self,
        shape: &TableShape,
        old: &StandingRow,
        new_row: &Row,
        active: &[StatementId],
        at: Tick,
    ) -> bool {
        let writer = self.writer(shape, Some(&old.row), Some(new_row), active, at, None);
        let writer = writer.ok().and_then(|id| self.case.statement(id));
        writer.is_some_and(|s| s.effect.kind == StatementKind::Update && gives_place(shape, s))
    }

    /// What a view shows to a cursor on a secondary index, where a waiting statement has put a row into
    /// the clustered index and not into every other one; none where there is no such row.
    pub(super) fn without_half_rows(&self, view: &View) -> Option<View> {
        let mut by_index = view.clone();
        for (table, rows) in &mut by_index {
            let Some(shape) = self.case.table(table) else {
                continue;
            };
            for (row, seen) in rows {
                *seen = seen.filter(|version| !self.is_half_way(shape, row, *version));
            }
        }
        (by_index != *view).then_some(by_index)
    }

    /// Whether a row waits for a unique index: who wrote it waits, and another row has, or had, its values
    /// in a unique key.
    fn is_half_way(&self, shape: &TableShape, id: &RowId, version: VersionId) -> bool {
        let chains = &self.account.chains;
        let Some(row) = chains.row(version) else {
            return false;
        };
        let others = || chains.table(&shape.name).filter(|(other, _)| *other != id);
        let is_taken = |key: &Vec<String>| {
            let values = shape.key_of(key, row);
            let has_them = |other: &VersionId| {
                let other = chains.row(*other);
                other.is_some_and(|other| shape.key_of(key, other) == values)
            };
            values.is_some() && others().any(|(_, chain)| chain.iter().any(has_them))
        };
        self.waiting.contains(&chains.version(version).writer) && shape.keys().any(is_taken)
    }

    /// Whether a row that is gone was taken back by the statement that had put it in: one that waited
    /// with its row half-way in, and has gone on with the row of another, or without it (IGNORE).
    pub(super) fn takes_back(&self, writer: StatementId, active: &[StatementId]) -> bool {
        let is_under_way = self.waiting.contains(&writer) || active.contains(&writer);
        let statement = self.case.statement(writer);
        let may_give_way = |s: &CaseStatement| {
            let inserts = matches!(
                s.effect.kind,
                StatementKind::Insert | StatementKind::InsertSelect
            );
            let ignores = || mentions(&s.sql, "IGNORE", self.dialect);
            inserts && (!s.effect.assigned.is_empty() || ignores())
        };
        is_under_way && statement.is_some_and(may_give_way)
    }
}
