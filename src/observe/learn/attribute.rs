//! Whose change a difference between two observations is.

use std::collections::{BTreeMap, BTreeSet};

use super::super::chain::{RowId, Version, VersionId};
use super::super::{Change, TableView};
use super::half_rows::StandingRow;
use super::writer::Unattributed;
use super::{ContestedChange, Learning, cell};
use crate::model::{Row, StatementId, TableShape, Tick, UndecidedReason, Value};

/// Whether a row that stood before the active statements is now this other row.
type HasBecome<'a> =
    fn(&Learning<'a>, &TableShape, &StandingRow, &Row, &[StatementId], Tick) -> bool;

impl<'a> Learning<'a> {
    /// Makes versions of the differences between what stood in a table and what stands now.
    pub(super) fn adopt(
        &mut self,
        table: &str,
        rows: &[Row],
        before: &TableView,
        active: &[StatementId],
        at: Tick,
    ) {
        let Some(shape) = self.case.table(table) else {
            return;
        };
        let named = self.named_by_other_keys(shape, before);
        let mut now: BTreeMap<Value, Vec<&Row>> = BTreeMap::new();
        for row in rows {
            if let Some(key) = cell(shape, shape.row_key.as_deref(), row) {
                let name = named.get(&key).cloned().unwrap_or(key);
                now.entry(name).or_default().push(row);
            }
        }
        if !names_rows(shape, &now) {
            self.gap(UndecidedReason::NoRowIdentity);
        }
        let before_keys = before.keys().map(|row| &row.key);
        let keys: BTreeSet<Value> = before_keys.chain(now.keys()).cloned().collect();
        // First what is merely gone: what its removers counted tells of the rest.
        let (here, gone): (Vec<Value>, Vec<Value>) =
            keys.into_iter().partition(|key| now.contains_key(key));
        for key in gone.into_iter().chain(here) {
            let rows = now.remove(&key).unwrap_or_default();
            self.adopt_rows(shape, &key, before, rows, active, at);
        }
        self.settle_by_counts(shape, at);
    }

    /// The keys of rows that were given them after their first ones, by which they are called, where no other row is called by the
    /// new one.
    fn named_by_other_keys(
        &self,
        shape: &TableShape,
        before: &TableView,
    ) -> BTreeMap<Value, Value> {
        let key_at = shape.row_key.as_deref().and_then(|key| shape.column(key));
        let Some(key_at) = key_at else {
            return BTreeMap::new();
        };
        let standing = before.iter().filter_map(|(id, version)| {
            let row = self.account.chains.row((*version)?)?;
            Some((id, row.get(key_at)?))
        });
        let is_in_place = |key: &Value| {
            let mut others = standing.clone();
            others.any(|(id, now)| now == key && id.key == *key)
        };
        let moved = standing
            .clone()
            .filter(|(id, now)| id.key != **now && !is_in_place(now));
        moved
            .map(|(id, now)| (now.clone(), id.key.clone()))
            .collect()
    }

    /// Takes the rows that stand under a key now: most often one, or none. An INSERT that waits for the
    /// unique index on the row key has put its row beside the one that stands.
    fn adopt_rows(
        &mut self,
        shape: &TableShape,
        key: &Value,
        before: &TableView,
        mut now: Vec<&Row>,
        active: &[StatementId],
        at: Tick,
    ) {
        let mut gone = self.no_longer_as_it_was(key, before, &mut now);
        // Who stayed in its place is settled first: a row that is merely changed was not moved.
        let stayed: HasBecome<'a> = |_, shape, old, row, _, _| same_place(shape, &old.row, row);
        for has_become in [stayed, Self::is_moved] {
            gone.retain(|old| {
                let becomes = |row: &&Row| has_become(self, shape, old, row, active, at);
                let new_row = now.iter().position(becomes);
                let new_row = new_row.map(|place| now.remove(place));
                if new_row.is_some() {
                    self.adopt_change(shape, old, new_row, active, at);
                }
                new_row.is_none()
            });
        }
        gone.retain(|old| {
            let writer = self.account.chains.version(old.version).writer;
            let taken_back = self.takes_back(writer, active);
            if taken_back {
                self.change(shape, old.id.clone(), Some(old.version), None, writer);
            }
            !taken_back
        });
        if let ([old], [new_row]) = (gone.as_slice(), now.as_slice())
            && self.may_be_moved(shape, old, new_row, active, at)
        {
            self.adopt_change(shape, old, Some(new_row), active, at);
            return;
        }
        for old in &gone {
            self.adopt_change(shape, old, None, active, at);
        }
        for row in now {
            let (id, old) = self.place(shape, key, before, row);
            self.attribute(shape, id, (old, None, Some(row)), active, at);
        }
    }

    /// The rows that stood under a row key and do not stand there as they were; takes those that do out
    /// of `now`.
    fn no_longer_as_it_was(
        &self,
        key: &Value,
        before: &TableView,
        now: &mut Vec<&Row>,
    ) -> Vec<StandingRow> {
        let from = before.range(RowId::first(key.clone())..);
        let under_key = from.take_while(|(id, _)| id.key == *key);
        let mut gone = Vec::new();
        for (id, version) in under_key {
            let Some((version, row)) =
                version.and_then(|version| Some((version, self.account.chains.row(version)?)))
            else {
                continue;
            };
            match now.iter().position(|stands| *stands == row) {
                Some(place) => {
                    now.remove(place);
                }
                None => gone.push(StandingRow {
                    id: id.clone(),
                    version,
                    row: row.clone(),
                }),
            }
        }
        gone
    }

    /// Takes a row that holds something else now, or is gone.
    fn adopt_change(
        &mut self,
        shape: &TableShape,
        old: &StandingRow,
        new_row: Option<&Row>,
        active: &[StatementId],
        at: Tick,
    ) {
        if !self.is_undone_already(old.version, new_row, at) {
            let change = (Some(old.version), Some(&old.row), new_row);
            self.attribute(shape, old.id.clone(), change, active, at);
        }
    }

    /// Whether a version is gone because its writer, or a later statement of its transaction, was rejected
    /// already and has undone it: the answer has not come yet.
    fn is_undone_already(&self, version: VersionId, new_row: Option<&Row>, at: Tick) -> bool {
        let chains = &self.account.chains;
        let undone = chains.version(version);
        let Some(answer) = undone.undone.filter(|tick| *tick > at) else {
            return false;
        };
        let in_flight = self.execution.records.values().any(|record| {
            record.id.transaction == undone.writer.transaction
                && record.sent < at
                && record.answered == answer
                && record.outcome.error_class().is_some()
        });
        let chain = chains.chain(&undone.table, &undone.id);
        in_flight
            && self
                .timeline
                .top(chains, chain, answer)
                .and_then(|below| chains.row(below))
                == new_row
    }

    /// Lays a change at the door of its writer: the version before, its row, and the row now.
    fn attribute(
        &mut self,
        shape: &TableShape,
        id: RowId,
        change: (Option<VersionId>, Option<&Row>, Option<&Row>),
        active: &[StatementId],
        at: Tick,
    ) {
        let (old, old_row, new_row) = change;
        match self.writer(shape, old_row, new_row, active, at, None) {
            Ok(writer) => {
                if !active.contains(&writer) && !self.waiting.contains(&writer) {
                    self.came_late(&shape.name, new_row, writer);
                }
                self.change(shape, id, old, new_row, writer);
            }
            Err(Unattributed::Several(candidates)) => self.contested.push(ContestedChange {
                row: id,
                before: old,
                now: new_row.cloned(),
                candidates,
            }),
            // The next look after the answer of the UPDATE that waits tells.
            Err(Unattributed::Nobody) if new_row.is_none() && self.an_update_waits(shape) => {}
            Err(Unattributed::Nobody) => {
                let show = |row: Option<&Row>| row.map_or("no row".to_owned(), row_text);
                self.account.unexplained.push(format!(
                    "{}: {} became {}, and no statement wrote it",
                    shape.name,
                    show(old_row),
                    show(new_row)
                ));
            }
        }
    }

    /// Which row of this key a new row is, and its version before: the deleted one whose place in the
    /// clustered index it takes, else a new one.
    fn place(
        &self,
        shape: &TableShape,
        key: &Value,
        before: &TableView,
        new_row: &Row,
    ) -> (RowId, Option<VersionId>) {
        let chains = &self.account.chains;
        let rows: Vec<(&RowId, &[VersionId])> = chains.rows_with_key(&shape.name, key).collect();
        let Some((newest, _)) = rows.last() else {
            return (RowId::first(key.clone()), None);
        };
        let version = |row: &RowId| before.get(row).copied().flatten();
        let takes_the_place = |(row, chain): &&(&RowId, &[VersionId])| {
            let stands = version(row).is_some_and(|id| chains.row(id).is_some());
            let last = chain.iter().rev().find_map(|id| chains.row(*id));
            !stands && last.is_some_and(|last| same_place(shape, last, new_row))
        };
        match rows.iter().rev().find(takes_the_place) {
            Some((row, _)) => ((*row).clone(), version(row)),
            None => {
                let next = RowId {
                    key: key.clone(),
                    predecessors: newest.predecessors + 1,
                };
                (next, None)
            }
        }
    }

    pub(super) fn change(
        &mut self,
        shape: &TableShape,
        id: RowId,
        before: Option<VersionId>,
        row: Option<&Row>,
        writer: StatementId,
    ) {
        if let Some(row) = row {
            self.own_version_key(shape, row, writer);
        }
        let after = self.account.chains.push(Version {
            table: shape.name.clone(),
            id: id.clone(),
            row: row.cloned(),
            writer,
            undone: self.timeline.undone(writer),
        });
        let changes = self.account.changes.entry(writer).or_default();
        // Seen half-way and seen again: one change, from the first to the last.
        let so_far = changes
            .iter_mut()
            .find(|change| change.table == shape.name && change.row == id);
        match so_far {
            Some(change) => change.after = after,
            None => changes.push(Change {
                table: shape.name.clone(),
                row: id,
                before,
                after,
            }),
        }
    }
}

/// Whether the row key tells these rows apart. Of a key that the engine holds unique two rows are its affair.
fn names_rows(shape: &TableShape, rows: &BTreeMap<Value, Vec<&Row>>) -> bool {
    let is_unique = shape.has_unique_row_key();
    let is_alone =
        |(key, rows): (&Value, &Vec<&Row>)| *key != Value::Null && (is_unique || rows.len() < 2);
    rows.iter().all(is_alone)
}

/// Whether two rows have the same place in the table: the same values of its clustered key. A row of
/// a table without one has a place of its own each time it is inserted.
pub(super) fn same_place(shape: &TableShape, one: &Row, other: &Row) -> bool {
    let Some(key) = shape.clustered_key() else {
        return false;
    };
    let (one, other) = (shape.key_of(key, one), shape.key_of(key, other));
    one.is_some() && one == other
}

pub(super) fn row_text(row: &Row) -> String {
    let cells: Vec<String> = row.iter().map(Value::to_string).collect();
    format!("({})", cells.join(", "))
}
