//! Whose change a difference between two observations is.

use std::collections::{BTreeMap, BTreeSet};

use super::super::chain::{RowId, Version, VersionId};
use super::super::{Change, TableView};
use super::contested::ContestedChange;
use super::writer::Unattributed;
use super::{Learning, cell, key_values};
use crate::model::{Row, StatementId, TableShape, Tick, UndecidedReason, Value};

impl Learning<'_> {
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
        let mut now: BTreeMap<Value, &Row> = BTreeMap::new();
        // An INSERT that waits for the unique index on the row key has put its row into the
        // primary index already: two rows with one row key stand there, and neither may stay.
        let mut twice: BTreeMap<Value, Vec<Row>> = BTreeMap::new();
        for row in rows {
            if let Some(key) = cell(shape, shape.row_key.as_deref(), row)
                && let Some(other) = now.insert(key.clone(), row)
            {
                let both = twice.entry(key).or_insert_with(|| vec![other.clone()]);
                both.push(row.clone());
            }
        }
        let before_keys = before.keys().map(|row| &row.key);
        let mut keys: BTreeSet<Value> = before_keys.chain(now.keys()).cloned().collect();
        keys.retain(|key| !twice.contains_key(key));
        for (key, both) in twice {
            let waited = self.half_row(shape, &key, &both, before);
            let seen = (table.to_owned(), key.clone());
            match waited {
                Some(half) => {
                    let standing = both.iter().position(|row| *row != half);
                    let standing = standing.map(|place| both[place].clone());
                    let before = self.without(before, &key, &half);
                    self.doubled.insert(seen, vec![half]);
                    self.see_standing_row(shape, &key, &before, standing.as_ref(), active, at);
                }
                // Which of the two is whose is not known.
                None => {
                    self.doubled.insert(seen, both);
                    let reason = UndecidedReason::ChangeOfSeveralWriters;
                    let unsure = &mut self.account.unsure;
                    unsure.extend(active.iter().map(|id| (*id, reason)));
                }
            }
        }
        for key in keys {
            self.adopt_row(shape, &key, before, now.get(&key).copied(), active, at);
        }
        self.settle_by_counts(shape, at);
    }

    /// Takes the one row that stands under a key now, or that none does.
    fn adopt_row(
        &mut self,
        shape: &TableShape,
        key: &Value,
        before: &TableView,
        new_row: Option<&Row>,
        active: &[StatementId],
        at: Tick,
    ) {
        let doubled = self.doubled.remove(&(shape.name.clone(), key.clone()));
        let before = &self.withdraw_half_rows(shape, key, before, new_row, active);
        let (id, old) = self.place(shape, key, before, new_row);
        let old_row = old.and_then(|id| self.account.chains.row(id)).cloned();
        if old_row.as_ref() == new_row
            || old.is_some_and(|old| self.is_undone_already(old, new_row, at))
        {
            return;
        }
        // Of two rows under this key the older one is gone, and another statement than the one that
        // waits can have removed it: the newer one is no new version of it.
        let is_newer = doubled.is_some_and(|both| new_row.is_some_and(|r| both.contains(r)));
        let remover = old_row.as_ref().filter(|_| is_newer).map(|old_row| {
            let inserter = self.writer(shape, None, new_row, active, at, None).ok();
            self.writer(shape, Some(old_row), None, active, at, inserter)
        });
        match remover {
            None | Some(Err(Unattributed::Nobody)) => {
                self.attribute(shape, id, (old, old_row.as_ref(), new_row), active, at);
                return;
            }
            Some(Ok(remover)) => self.change(shape, id.clone(), old, None, remover),
            Some(Err(Unattributed::Several(candidates))) => {
                self.contested.push(ContestedChange {
                    row: id.clone(),
                    before: old,
                    now: None,
                    candidates,
                });
            }
        }
        let mut without = before.clone();
        without.insert(id, None);
        self.see_standing_row(shape, key, &without, new_row, active, at);
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

    /// Takes the row that stands under a key beside a half row.
    fn see_standing_row(
        &mut self,
        shape: &TableShape,
        key: &Value,
        before: &TableView,
        new_row: Option<&Row>,
        active: &[StatementId],
        at: Tick,
    ) {
        let (id, old) = self.place(shape, key, before, new_row);
        let old_row = old.and_then(|id| self.account.chains.row(id)).cloned();
        if old_row.as_ref() != new_row {
            self.attribute(shape, id, (old, old_row.as_ref(), new_row), active, at);
        }
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
                    // What was read in between was worked out without this version.
                    let reason = UndecidedReason::ChangesAndAffectedRowsDisagree;
                    self.account.unsure.insert(writer, reason);
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

    /// Which row of this key a change is about, and its version before: the one that stands, else
    /// the deleted one whose place in the clustered index the new row takes, else a new one.
    pub(super) fn place(
        &self,
        shape: &TableShape,
        key: &Value,
        before: &TableView,
        new_row: Option<&Row>,
    ) -> (RowId, Option<VersionId>) {
        let chains = &self.account.chains;
        let first = RowId::first(key.clone());
        let standing = before
            .range(first.clone()..)
            .take_while(|(row, _)| row.key == *key)
            .filter(|(_, version)| version.is_some_and(|id| chains.row(id).is_some()))
            .last();
        if let Some((row, version)) = standing {
            return (row.clone(), *version);
        }
        let rows: Vec<(&RowId, &[VersionId])> = chains.rows_with_key(&shape.name, key).collect();
        let Some((newest, _)) = rows.last() else {
            return (first, None);
        };
        let Some(new_row) = new_row else {
            let version = before.get(*newest).copied().flatten();
            return ((*newest).clone(), version);
        };
        let takes_the_place = |chain: &[VersionId]| {
            let last = chain.iter().rev().find_map(|id| chains.row(*id));
            last.is_some_and(|last| same_place(shape, last, new_row))
        };
        let same = rows.iter().rev().find(|(_, chain)| takes_the_place(chain));
        match same {
            Some((row, _)) => ((*row).clone(), before.get(*row).copied().flatten()),
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

/// Whether two rows have the same place in the table: the same values of its clustered key. A row of
/// a table without one has a place of its own each time it is inserted.
pub(super) fn same_place(shape: &TableShape, one: &Row, other: &Row) -> bool {
    let Some(key) = shape.clustered_key() else {
        return false;
    };
    let (one, other) = (key_values(shape, key, one), key_values(shape, key, other));
    one.is_some() && one == other
}

fn row_text(row: &Row) -> String {
    let cells: Vec<String> = row.iter().map(Value::to_string).collect();
    format!("({})", cells.join(", "))
}
