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
                    self.doubled.insert(seen, vec![half]);
                    self.see_standing_row(shape, &key, before, standing.as_ref(), active, at);
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
            let doubled = self.doubled.remove(&(table.to_owned(), key.clone()));
            let new_row = now.get(&key).copied();
            let (id, old) = self.place(shape, &key, before, new_row);
            let old_row = old.and_then(|id| self.account.chains.row(id)).cloned();
            if old_row.as_ref() == new_row {
                continue;
            }
            // Of two rows under this key the older one is gone, and another statement than the one that
            // waits can have removed it: the newer one is no new version of it.
            let is_newer = doubled.is_some_and(|both| new_row.is_some_and(|r| both.contains(r)));
            let remover = old_row.as_ref().filter(|_| is_newer).and_then(|old_row| {
                let inserter = self.writer(shape, None, new_row, active, at, None).ok();
                let removed = self.writer(shape, Some(old_row), None, active, at, inserter);
                removed.ok()
            });
            let Some(remover) = remover else {
                self.attribute(shape, id, (old, old_row.as_ref(), new_row), active, at);
                continue;
            };
            self.change(shape, id.clone(), old, None, remover);
            let mut without = before.clone();
            without.insert(id, None);
            let (id, old) = self.place(shape, &key, &without, new_row);
            self.attribute(shape, id, (old, None, new_row), active, at);
        }
    }

    /// Of two rows under one row key, the one that an INSERT put in before it waits for the unique index:
    /// the other one is the row that stood, or the half row was seen before.
    fn half_row(
        &self,
        shape: &TableShape,
        key: &Value,
        both: &[Row],
        before: &TableView,
    ) -> Option<Row> {
        let (_, old) = self.place(shape, key, before, None);
        let stood = old.and_then(|id| self.account.chains.row(id));
        if stood.is_some_and(|stood| both.contains(stood)) {
            return both.iter().find(|row| Some(*row) != stood).cloned();
        }
        let known = self.doubled.get(&(shape.name.clone(), key.clone()))?;
        both.iter().find(|row| known.contains(row)).cloned()
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
            Err(Unattributed::Several(candidates)) => {
                for id in candidates {
                    let unsure = &mut self.account.unsure;
                    unsure.insert(id, UndecidedReason::ChangeOfSeveralWriters);
                }
            }
            // An UPDATE that gives a row another place removes it first, and may wait before it inserts
            // it again: the next look after its answer tells.
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
    /// made it; not `except`.
    fn writer(
        &self,
        shape: &TableShape,
        old: Option<&Row>,
        new: Option<&Row>,
        active: &[StatementId],
        at: Tick,
        except: Option<StatementId>,
    ) -> Result<StatementId, Unattributed> {
        let versioned = shape.version_key.is_some() && new.is_some();
        let stuck = |id: &StatementId| {
            self.waiting.contains(id) && !self.newly_waiting.contains(id) && !self.released
        };
        let ids: BTreeSet<StatementId> = active
            .iter()
            .chain(&self.waiting)
            .copied()
            .filter(|id| (versioned || !stuck(id)) && Some(*id) != except)
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
                } else {
                    let number = key.to_string();
                    let names = |s: &&CaseStatement| names_number(&s.sql, &number);
                    if candidates.len() > 1 || candidates.iter().any(names) {
                        candidates.retain(names);
                    } else if let Some(writer) = self.uncovered_writer(shape, &number, at) {
                        candidates = vec![writer];
                    }
                }
            }
            _ if new.is_none() => candidates.retain(|s| {
                matches!(
                    s.effect.kind,
                    StatementKind::Delete | StatementKind::Replace
                ) || assigns_row_key(shape, &s.sql)
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

impl<'a> Learning<'a> {
    fn an_update_waits(&self, shape: &TableShape) -> bool {
        let waiting = self
            .waiting
            .iter()
            .filter_map(|id| self.case.statement(*id));
        let mut updates = waiting.filter(|s| s.effect.kind == StatementKind::Update);
        updates.any(|s| s.effect.targets().any(|target| target == shape.name))
    }

    /// Who wrote a version that another statement wrote over before anything could show it, and that
    /// stands now that the other was undone: the one statement whose text names its version key.
    fn uncovered_writer(
        &self,
        shape: &TableShape,
        number: &str,
        at: Tick,
    ) -> Option<&'a CaseStatement> {
        let wrote = |s: &&CaseStatement| {
            let record = self.execution.records.get(&s.id);
            record.is_some_and(|r| r.answered < at && r.outcome.error_class().is_none())
                && self.timeline.undone(s.id).is_none_or(|undone| undone > at)
                && s.effect.targets().any(|target| target == shape.name)
                && names_number(&s.sql, number)
        };
        let mut writers = self.case.statements.iter().filter(wrote);
        writers.next().filter(|_| writers.next().is_none())
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

/// Whether a SET clause of the text names the row key: the row may get another one.
fn assigns_row_key(shape: &TableShape, sql: &str) -> bool {
    let sql = sql.to_ascii_uppercase();
    let clauses = [" SET ", " KEY UPDATE "];
    let start = clauses.iter().find_map(|clause| sql.find(clause));
    let assigned = start.map_or("", |start| &sql[start..]);
    let assigned = assigned.split(" WHERE ").next().unwrap_or_default();
    let key = shape.row_key.as_ref().map(|key| key.to_ascii_uppercase());
    key.is_some_and(|key| names_number(assigned, &key))
}

/// Whether this number, or name, stands in the text as a word of its own.
fn names_number(sql: &str, number: &str) -> bool {
    sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|word| word == number)
}

fn row_text(row: &Row) -> String {
    let cells: Vec<String> = row.iter().map(Value::to_string).collect();
    format!("({})", cells.join(", "))
}
