//! What a write made or removed, as it says itself by RETURNING.
//!
//! The rows come with the answer, so that nothing lies between a write and what is learned of it; its
//! locks keep others from them until its transaction ends.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::attribute::row_text;
use super::returned_row::RowDeed;
use super::{Learning, ReturnedRow, ReturnedRows, cell, holds_a_key_twice};
use crate::dialect::ObserverKind;
use crate::model::{
    ProbeTag, Row, StatementId, StatementKind, TableShape, Tick, UndecidedReason, Value,
};
use crate::observe::chain::{RowId, VersionId};
use crate::observe::{Learner, MistoldRow, TableView};

/// Whether one of two writes had the rows first that both returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CameBefore {
    Yes,
    No,
    /// One had the one first, and the other another; or nothing tells.
    Unknown,
    /// None of which either must have come first.
    NoRowInCommon,
}

impl Learning<'_> {
    /// Keeps the rows that a write returned until every statement of its batch was answered. Behind the columns of a row
    /// they may stand once more, as they were before, and of a MERGE what it did to the row.
    pub(super) fn note_returned(&mut self, table: &str, rows: &[Row], id: StatementId, at: Tick) {
        let columns = self
            .case
            .table(table)
            .map_or(0, |shape| shape.columns.len());
        let kind = self
            .case
            .statement(id)
            .map_or(StatementKind::Opaque, |statement| statement.effect.kind);
        let rows = rows.iter().map(|row| {
            let (row, behind) = row.split_at(columns.min(row.len()));
            let words = usize::from(kind == StatementKind::Merge);
            let (old, action) = behind.split_at(behind.len().saturating_sub(words));
            ReturnedRow {
                row: row.to_vec(),
                // A row has a row key; where all is NULL none was found.
                old: (old.iter().any(|cell| *cell != Value::Null)).then(|| old.to_vec()),
                deed: RowDeed::of(kind, action.first()),
            }
        });
        self.returned.push(ReturnedRows {
            writer: id,
            table: table.to_owned(),
            rows: rows.collect(),
            at,
        });
    }

    /// Takes in what the writes returned that were answered since the last statement was sent.
    ///
    /// Of statements that one release woke, the answers may come in another order than the rows were
    /// locked. A transaction that goes on keeps its rows, so that who wrote one as well and has ended
    /// came first. Of two that have ended, a DELETE tells the order, and a write that returns what it found; else
    /// nobody knows.
    pub(super) fn take_in_returned(&mut self) {
        let batch = std::mem::take(&mut self.returned);
        let Some(last) = batch.iter().map(|returned| returned.at).max() else {
            return;
        };
        let goes_on = |id: StatementId| {
            self.timeline
                .commit(id.transaction)
                .is_none_or(|at| at > last)
        };
        let (going_on, ended): (Vec<ReturnedRows>, Vec<ReturnedRows>) = batch
            .into_iter()
            .partition(|returned| goes_on(returned.writer));
        let is_known = self.order_is_known(&ended);
        let mut done = Tick::default();
        for one in self.in_order_of_locks(ended) {
            // What came before stands, though it was answered later.
            done = one.at.max(Tick(done.0 + 1));
            self.returned(&one.table, &one.rows, one.writer, done);
        }
        for one in going_on {
            self.returned(&one.table, &one.rows, one.writer, Tick(last.0 + 1));
        }
        if !is_known {
            self.gap(UndecidedReason::WokenTogether);
        }
    }

    /// Writes as they locked the rows that they have in common, where that is known; else in the order of their answers.
    fn in_order_of_locks(&self, mut left: Vec<ReturnedRows>) -> Vec<ReturnedRows> {
        let mut ordered = Vec::new();
        while !left.is_empty() {
            let is_free = |one: &ReturnedRows| {
                let mut others = left.iter().filter(|other| other.writer != one.writer);
                others.all(|other| self.came_before(other, one) != CameBefore::Yes)
            };
            let next = left.iter().position(is_free).unwrap_or_default();
            ordered.push(left.remove(next));
        }
        ordered
    }

    /// Whether of any two of these writes that have a row in common it is known which had it first.
    fn order_is_known(&self, batch: &[ReturnedRows]) -> bool {
        let mut firsts = batch.iter().enumerate();
        firsts.all(|(at, one)| {
            let mut others = batch[..at].iter();
            others.all(|other| self.came_before(other, one) != CameBefore::Unknown)
        })
    }

    /// Whether of two writes the one had a row before the other, by what they returned of it.
    fn came_before(&self, one: &ReturnedRows, other: &ReturnedRows) -> CameBefore {
        let (Some(shape), true) = (self.case.table(&one.table), one.table == other.table) else {
            return CameBefore::NoRowInCommon;
        };
        let mut found = CameBefore::NoRowInCommon;
        for row in &one.rows {
            let mut rows = other.rows.iter().filter(|_| one.writer != other.writer);
            let Some(same) = rows.find(|of| of.may_be(row, shape)) else {
                continue;
            };
            let says = row_came_before(row, same);
            let both_speak =
                found != CameBefore::NoRowInCommon && says != CameBefore::NoRowInCommon;
            if both_speak && found != says {
                return CameBefore::Unknown;
            }
            if says != CameBefore::NoRowInCommon {
                found = says;
            }
        }
        found
    }

    /// Takes in the rows that a write returned.
    fn returned(&mut self, table: &str, rows: &[ReturnedRow], id: StatementId, at: Tick) {
        let Some(shape) = self.case.table(table) else {
            return;
        };
        for ReturnedRow { row, old, deed } in rows {
            let removes = *deed == RowDeed::Removed;
            let may_insert = matches!(deed, RowDeed::PutIn | RowDeed::PutInOrChanged);
            let found = old.as_ref().unwrap_or(row);
            let Some(key) = cell(shape, shape.row_key.as_deref(), found) else {
                self.gap(UndecidedReason::NoRowIdentity);
                return;
            };
            let stood = self.standing_under(shape, &key, id, at);
            let left = (!removes).then_some(row);
            match stood {
                Some((row_id, before)) => {
                    // A DELETE returns rows as they were.
                    let told = old.as_ref().or(removes.then_some(row));
                    let was = self.account.chains.row(before);
                    if let (Some(was), Some(told)) = (was, told)
                        && was != told
                    {
                        self.account.mistold.push(MistoldRow {
                            statement: id,
                            table: shape.name.clone(),
                            row: was.clone(),
                            returned: Some(told.clone()),
                        });
                    }
                    self.change(shape, row_id, Some(before), left, id);
                }
                None if may_insert && old.is_none() => {
                    let predecessors = self.account.chains.rows_with_key(table, &key).count();
                    let row_id = RowId {
                        key,
                        predecessors: u32::try_from(predecessors).unwrap_or(u32::MAX),
                    };
                    self.change(shape, row_id, None, left, id);
                }
                None => self.account.unexplained.push(format!(
                    "{}: {id} returned {}, and no row with that key stood",
                    shape.name,
                    row_text(found)
                )),
            }
        }
    }

    /// What a row says of its writer that came to light only when that had been answered: nothing certain is
    /// known of it, unless it returned the row and no row with its key stood.
    pub(super) fn came_late(&mut self, table: &str, row: Option<&Row>, writer: StatementId) {
        let told = self.execution.probes.iter().find(|probe| {
            let is_of_it = matches!(&probe.tag, ProbeTag::Returned { table: of } if of == table);
            is_of_it && probe.statement == writer
        });
        if let (Some(told), Some(row)) = (told, row) {
            let mut rows = told.outcome.rows().iter();
            if rows.any(|told| told.starts_with(row)) {
                return;
            }
            self.account.mistold.push(MistoldRow {
                statement: writer,
                table: table.to_owned(),
                row: row.clone(),
                returned: None,
            });
        }
        // What was read in between was worked out without this version.
        let reason = UndecidedReason::ChangesAndAffectedRowsDisagree;
        self.account.unsure.insert(writer, reason);
    }

    /// Notes writes that were accepted and did not say what they wrote: later views may lack it.
    pub(super) fn note_silent_writes(&mut self) {
        if self.learner != Learner::Observer || self.dialect.observer != ObserverKind::Returning {
            return;
        }
        let told: BTreeSet<StatementId> = {
            let probes = self.execution.probes.iter();
            let told = probes.filter(|probe| matches!(probe.tag, ProbeTag::Returned { .. }));
            told.map(|probe| probe.statement).collect()
        };
        let is_silent = self.case.statements.iter().any(|statement| {
            let record = self.execution.records.get(&statement.id);
            statement.effect.kind.is_write()
                && !told.contains(&statement.id)
                && record.is_some_and(|record| record.outcome.error_class().is_none())
        });
        if is_silent {
            self.gap(UndecidedReason::WriteWithoutReturning);
        }
    }

    /// The row that stands with a key for a writer at this moment, and its version: an UPDATE may have given it another
    /// key than it had first.
    fn standing_under(
        &self,
        shape: &TableShape,
        key: &Value,
        id: StatementId,
        at: Tick,
    ) -> Option<(RowId, VersionId)> {
        let standing = self.standing_for(&shape.name, id, at);
        let mut stands = standing.into_iter().filter_map(|(row, version)| {
            let version = version?;
            let content = self.account.chains.row(version)?;
            let has_key = cell(shape, shape.row_key.as_deref(), content).as_ref() == Some(key);
            has_key.then_some((row, version))
        });
        stands.next_back()
    }

    /// The rows without those that stand as they are known to and that an UPDATE has given another key than they had
    /// first; takes these out of what stood, too.
    pub(super) fn without_moved<'r>(
        &self,
        table: &str,
        before: &mut TableView,
        rows: &'r [Row],
    ) -> Cow<'r, [Row]> {
        let mut rows = Cow::Borrowed(rows);
        let Some(shape) = self.case.table(table) else {
            return rows;
        };
        before.retain(|id, version| {
            let content = version.and_then(|version| self.account.chains.row(version));
            let key = |row| cell(shape, shape.row_key.as_deref(), row);
            let moved = content.filter(|content| key(content).as_ref() != Some(&id.key));
            let place = moved.and_then(|moved| rows.iter().position(|row| row == moved));
            if let Some(place) = place {
                rows.to_mut().remove(place);
            }
            place.is_none()
        });
        rows
    }

    /// What a write that took over the rows which it changed saw of them: the versions that it replaced. An UPDATE or a
    /// DELETE looks again at rows that its snapshot shows, and at no new one.
    pub(super) fn overlay_replaced(&mut self, id: StatementId) {
        let looks_again = self.case.statement(id).is_some_and(|statement| {
            let kind = statement.effect.kind;
            matches!(
                kind,
                StatementKind::Update | StatementKind::Delete | StatementKind::Merge
            )
        });
        let chains = &self.account.chains;
        let is_new = |table: &str, row: &RowId| {
            let first = chains.chain(table, row).first();
            let writer = first.map(|version| chains.version(*version).writer);
            let writer = writer.and_then(|writer| self.case.statement(writer));
            writer.is_some_and(|writer| {
                let kind = writer.effect.kind;
                matches!(
                    kind,
                    StatementKind::Insert | StatementKind::InsertSelect | StatementKind::Merge
                )
            })
        };
        let roles_of = |table: &str| {
            let uses = self.case.statement(id).into_iter();
            let uses = uses.flat_map(|statement| &statement.effect.uses);
            uses.filter(|used| used.table == table && !used.role.is_unnamed())
                .count()
        };
        let Some(view) = self.account.views.get_mut(&id) else {
            return;
        };
        let mut in_two_versions = false;
        for change in self.account.changes.get(&id).into_iter().flatten() {
            let (Some(seen), Some(before)) = (view.get_mut(&change.table), change.before) else {
                continue;
            };
            let shown = seen.get(&change.row).copied().flatten();
            let is_shown = shown.is_some_and(|version| chains.row(version).is_some());
            if is_shown || !looks_again || !is_new(&change.table, &change.row) {
                // A subquery of the same table has it as its snapshot shows it.
                in_two_versions |= shown != Some(before) && roles_of(&change.table) > 1;
                seen.insert(change.row.clone(), Some(before));
            }
        }
        if in_two_versions {
            let unsure = &mut self.account.unsure;
            unsure.insert(id, UndecidedReason::OneTableInTwoReadModes);
        }
    }

    /// Gives up writes whose view no table can hold together with what they wrote: a snapshot may still
    /// show a row whose unique key another row has taken over since.
    pub(super) fn doubt_keys_of_newer_rows(&mut self) {
        let chains = &self.account.chains;
        let mut doubtful = Vec::new();
        for (id, changes) in &self.account.changes {
            let Some(view) = self.account.views.get(id) else {
                continue;
            };
            for (table, seen) in view {
                let Some(shape) = self.case.table(table) else {
                    continue;
                };
                let changed = |row: &RowId| {
                    let mut changes = changes.iter();
                    changes.any(|change| change.table == *table && change.row == *row)
                };
                let kept = seen.iter().filter(|(row, _)| !changed(row));
                let kept = kept.filter_map(|(_, version)| chains.row((*version)?));
                let own = changes.iter().filter(|change| change.table == *table);
                let own = own.filter_map(|change| chains.row(change.after));
                let holds_twice = holds_a_key_twice(shape, kept.chain(own));
                if (holds_twice && self.is_sound(shape, *id))
                    || self.shows_an_old_key(shape, *id, seen, changed)
                {
                    doubtful.push(*id);
                }
            }
        }
        for id in doubtful {
            let unsure = &mut self.account.unsure;
            unsure.insert(id, UndecidedReason::TwoRowsOfOneUniqueKey);
        }
    }

    /// Whether a write has changed a row of a table with a loose key, and its view has another row with such a key that the row had before:
    /// which rows such a key keeps apart is not known here.
    fn shows_an_old_key(
        &self,
        shape: &TableShape,
        id: StatementId,
        seen: &TableView,
        is_own: impl Fn(&RowId) -> bool,
    ) -> bool {
        let changes = self.account.changes.get(&id).into_iter().flatten();
        let mut left = changes.filter(|change| change.table == shape.name);
        let changes_a_row = left.any(|change| self.account.chains.row(change.after).is_some());
        let record = self.execution.records.get(&id);
        let answered = record.filter(|_| !shape.loose_keys.is_empty() && changes_a_row);
        let Some(answered) = answered.map(|record| record.answered) else {
            return false;
        };
        let chains = &self.account.chains;
        let standing = self.standing_for(&shape.name, id, answered);
        let cells = |row: &Row| -> Vec<Option<Value>> {
            let columns = shape.loose_keys.iter().flatten();
            columns
                .map(|column| cell(shape, Some(column), row))
                .collect()
        };
        let others = seen.iter().filter(|(row, _)| !is_own(row));
        let mut shown = others.filter_map(|(row, version)| Some((row, chains.row((*version)?)?)));
        shown.any(|(row, then)| {
            let now = standing.get(row).copied().flatten();
            let now = now.and_then(|version| chains.row(version));
            now.map(cells) != Some(cells(then))
        })
    }

    /// Whether no two rows of one unique key stand once a write was answered: else the engine let a
    /// duplicate in, and no snapshot excuses that.
    fn is_sound(&self, shape: &TableShape, id: StatementId) -> bool {
        let chains = &self.account.chains;
        self.execution.records.get(&id).is_some_and(|record| {
            let standing = self.standing_for(&shape.name, id, record.answered);
            let rows = standing
                .values()
                .filter_map(|version| chains.row((*version)?));
            !holds_a_key_twice(shape, rows)
        })
    }
}

impl ReturnedRow {
    /// Whether another write may have returned the same row: one of its keys was one of the other's.
    fn may_be(&self, other: &Self, shape: &TableShape) -> bool {
        let (own, others) = (self.keys(shape), other.keys(shape));
        own.iter().any(|key| others.contains(key))
    }

    /// The row key that it has, and the one that it had.
    fn keys(&self, shape: &TableShape) -> Vec<Value> {
        let rows = std::iter::once(&self.row).chain(&self.old);
        rows.filter_map(|row| cell(shape, shape.row_key.as_deref(), row))
            .collect()
    }
}

/// Whether of two writes the one had a row before the other, by what they returned of it.
///
/// What removes a row returns it as it was. What the other write made of it and this one removed came before; an UPDATE
/// found the row, so that it came before whatever is removed. Where a write returns what it found, who made that came
/// before.
fn row_came_before(one: &ReturnedRow, other: &ReturnedRow) -> CameBefore {
    let is_first = |first| match first {
        true => CameBefore::Yes,
        false => CameBefore::No,
    };
    let made_first = |made: &ReturnedRow, removed: &ReturnedRow| {
        let found_one = made.deed == RowDeed::Changed || made.old.is_some();
        found_one || made.row == removed.row
    };
    let removes = |row: &ReturnedRow| row.deed == RowDeed::Removed;
    match (removes(one), removes(other)) {
        (false, true) => return is_first(made_first(one, other)),
        (true, false) => return is_first(!made_first(other, one)),
        (true, true) => return CameBefore::Unknown,
        (false, false) => {}
    }
    let found = |by: &ReturnedRow, of: &ReturnedRow| by.old.as_ref() == Some(&of.row);
    match (found(other, one), found(one, other)) {
        (true, false) => CameBefore::Yes,
        (false, true) => CameBefore::No,
        // Both left the row as it was: either may have come first.
        (true, true) if one.row == other.row => CameBefore::NoRowInCommon,
        // A third write came between the two, or one of them found what nobody left.
        (false, false) if one.old.is_some() && other.old.is_some() => CameBefore::NoRowInCommon,
        (true, true) | (false, false) => CameBefore::Unknown,
    }
}
