//! Whose change a difference between two observations is.

use std::collections::{BTreeMap, BTreeSet};

use super::super::chain::{RowId, Version, VersionId};
use super::super::{Change, TableView};
use super::{Learning, cell, key_values};
use crate::model::{
    CaseStatement, Row, StatementId, StatementKind, TableShape, Tick, UndecidedReason, Value,
};

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
        let mut twice: BTreeSet<Value> = BTreeSet::new();
        for row in rows {
            if let Some(key) = cell(shape, shape.row_key.as_deref(), row)
                && now.insert(key.clone(), row).is_some()
            {
                twice.insert(key);
            }
        }
        let before_keys = before.keys().map(|row| &row.key);
        let mut keys: BTreeSet<Value> = before_keys.chain(now.keys()).cloned().collect();
        keys.retain(|key| !twice.contains(key));
        for key in keys {
            let new_row = now.get(&key).copied();
            let (id, old) = self.place(shape, &key, before, new_row);
            let old_row = old.and_then(|id| self.account.chains.row(id));
            if old_row == new_row {
                continue;
            }
            match self.writer(shape, old_row, new_row, active, at) {
                Ok(writer) => self.change(shape, id, old, new_row, writer),
                Err(Unattributed::Several(candidates)) => {
                    for id in candidates {
                        let unsure = &mut self.account.unsure;
                        unsure.insert(id, UndecidedReason::ChangeOfSeveralWriters);
                    }
                }
                Err(Unattributed::Nobody) => {
                    let show = |row: Option<&Row>| row.map_or("no row".to_owned(), row_text);
                    self.account.unexplained.push(format!(
                        "{table}: {} became {} though nobody wrote it",
                        show(old_row),
                        show(new_row)
                    ));
                }
            }
        }
    }

    /// Which row of this key a change is about, and its version before: the one that stands, else
    /// the deleted one whose place in the clustered index the new row takes, else a new one.
    fn place(
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

    fn change(
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

    /// Whose change this is: the one statement, active or waiting after a release, that can have
    /// made it.
    fn writer(
        &self,
        shape: &TableShape,
        old: Option<&Row>,
        new: Option<&Row>,
        active: &[StatementId],
        at: Tick,
    ) -> Result<StatementId, Unattributed> {
        let versioned = shape.version_key.is_some() && new.is_some();
        let stuck = |id: &StatementId| {
            self.waiting.contains(id) && !self.newly_waiting.contains(id) && !self.released
        };
        let ids: BTreeSet<StatementId> = active
            .iter()
            .chain(&self.waiting)
            .copied()
            .filter(|id| versioned || !stuck(id))
            .collect();
        let mut candidates: Vec<&CaseStatement> = ids
            .into_iter()
            .filter_map(|id| self.case.statement(id))
            .filter(|s| s.effect.targets().any(|target| target == shape.name))
            .filter(|s| self.timeline.undone(s.id).is_none_or(|undone| undone > at))
            .collect();
        let key_of = |row: Option<&Row>| cell(shape, shape.version_key.as_deref(), row?);
        match (key_of(old), key_of(new)) {
            (old_key, Some(key)) if old_key.as_ref() != Some(&key) => {
                let owner = self
                    .version_key_owner
                    .get(&(shape.name.clone(), key.clone()));
                if let Some(owner) = owner {
                    candidates.retain(|s| s.id == *owner);
                } else if candidates.len() > 1 {
                    candidates.retain(|s| names_number(&s.sql, &key.to_string()));
                }
            }
            _ if new.is_none() => candidates.retain(|s| {
                matches!(
                    s.effect.kind,
                    StatementKind::Delete | StatementKind::Replace
                )
            }),
            _ => {}
        }
        match candidates.as_slice() {
            [one] => Ok(one.id),
            [] => Err(Unattributed::Nobody),
            several => Err(Unattributed::Several(
                several.iter().map(|s| s.id).collect(),
            )),
        }
    }
}

enum Unattributed {
    Nobody,
    Several(Vec<StatementId>),
}

/// Whether two rows have the same place in the table: the same values of its clustered key. A row of
/// a table without one has a place of its own each time it is inserted.
fn same_place(shape: &TableShape, one: &Row, other: &Row) -> bool {
    let Some(key) = shape.clustered_key() else {
        return false;
    };
    let (one, other) = (key_values(shape, key, one), key_values(shape, key, other));
    one.is_some() && one == other
}

/// Whether this number stands in the text as a word of its own.
fn names_number(sql: &str, number: &str) -> bool {
    sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|word| word == number)
}

fn row_text(row: &Row) -> String {
    let cells: Vec<String> = row.iter().map(Value::to_string).collect();
    format!("({})", cells.join(", "))
}
