//! Rows of statements that wait half-way: an INSERT that waits for the unique index on the row key has
//! put its row into the clustered index already, beside the row that stands under the key.

use super::Learning;
use super::attribute::same_place;
use crate::model::{Row, StatementId, TableShape, Value};
use crate::observe::TableView;
use crate::observe::chain::{RowId, VersionId};

impl Learning<'_> {
    /// Of two rows under one row key, the one that a statement put in before it waits for the unique
    /// index: the one that a waiting statement was seen to write, else the one beside the row that
    /// stood.
    pub(super) fn half_row(
        &self,
        shape: &TableShape,
        key: &Value,
        both: &[Row],
        before: &TableView,
    ) -> Option<Row> {
        let chains = &self.account.chains;
        let (_, old) = self.place(shape, key, before, None);
        let stood = old.and_then(|id| chains.row(id).map(|row| (id, row)));
        if let Some((id, stood)) = stood
            && both.contains(stood)
        {
            let waits = self.waiting.contains(&chains.version(id).writer);
            let mut rows = both.iter();
            return rows.find(|row| (*row == stood) == waits).cloned();
        }
        let known = self.doubled.get(&(shape.name.clone(), key.clone()))?;
        both.iter().find(|row| known.contains(row)).cloned()
    }

    /// What stood, without a row under this key.
    pub(super) fn without(&self, before: &TableView, key: &Value, row: &Row) -> TableView {
        let mut left = before.clone();
        let under_key = left.iter_mut().filter(|(id, _)| id.key == *key);
        for (_, version) in under_key {
            *version = version.filter(|id| self.account.chains.row(*id) != Some(row));
        }
        left
    }

    /// Of several rows that stood under a key where one stands now, takes back those that a statement
    /// put in before it waited: an upsert whose wait ends at the row of another goes on with that one.
    pub(super) fn withdraw_half_rows(
        &mut self,
        shape: &TableShape,
        key: &Value,
        before: &TableView,
        new_row: Option<&Row>,
        active: &[StatementId],
    ) -> TableView {
        let chains = &self.account.chains;
        let under_key = before.iter().filter(|(row, _)| row.key == *key);
        let standing: Vec<(&RowId, VersionId, &Row)> = under_key
            .filter_map(|(row, version)| Some((row, (*version)?, chains.row((*version)?)?)))
            .collect();
        let is_now = |row: &Row| new_row == Some(row);
        let becomes = |row: &Row| new_row.is_some_and(|new| same_place(shape, row, new));
        let stays = standing
            .iter()
            .position(|(.., row)| is_now(row))
            .or_else(|| standing.iter().position(|(.., row)| becomes(row)))
            .unwrap_or(standing.len().saturating_sub(1));
        let gone = standing.iter().enumerate().filter(|(at, _)| *at != stays);
        let half: Vec<(RowId, VersionId, StatementId)> = gone
            .map(|(_, (row, id, _))| ((*row).clone(), *id, chains.version(*id).writer))
            .filter(|(.., writer)| self.waiting.contains(writer) || active.contains(writer))
            .collect();
        let mut left = before.clone();
        for (row, version, writer) in half {
            left.insert(row.clone(), None);
            self.change(shape, row, Some(version), None, writer);
        }
        left
    }
}
