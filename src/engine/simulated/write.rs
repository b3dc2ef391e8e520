//! Writes: what they change, what that locks, and the faults that bite there.

use std::collections::BTreeSet;

use super::fault::Fault;
use super::locks::{Condition, Extent, LockMode};
use super::refusal::EngineRefusal;
use super::scratch::{Changes, ScratchError};
use super::statement::{LockNeeds, RunningStatement, StatementAttempt, Views, load, obstacle};
use super::uses::{OnDuplicate, or_fail};
use super::version::{ReadSight, RowNumber, RowVersion, collide};
use crate::model::Outcome;

/// SQLite's code for a row that a unique key refuses.
const UNIQUE: i32 = 2067;
const PRIMARY_KEY: i32 = 1555;

/// A write and what came of it in the scratch database.
pub(super) struct Evaluated {
    pub(super) outcome: Result<Outcome, EngineRefusal>,
    pub(super) changes: Changes,
}

impl Evaluated {
    /// Tells of one row more than there are; a write that returns rows tells of its last one twice.
    pub(super) fn count_one_more(&mut self) {
        match &mut self.outcome {
            Ok(Outcome::Affected(count)) if *count > 0 => *count += 1,
            Ok(Outcome::Rows(rows)) => rows.extend(rows.last().cloned()),
            Ok(_) | Err(_) => {}
        }
    }
}

impl RunningStatement<'_> {
    pub(super) fn write(mut self) -> Result<StatementAttempt, EngineRefusal> {
        let views = self.seen_by_write();
        let key = self.uses.target.clone().unwrap_or_default();
        let sql = self.sql_of_write(&views, &key)?;
        load(&mut self.scratches.strict, self.state, &views)?;
        let mut evaluated = self.evaluate(&sql, &key);
        self.spoil(&mut evaluated, &views, &key)?;
        let Evaluated { outcome, changes } = evaluated;
        let is_other_error = |refusal: &EngineRefusal| !refusal.is_constraint();
        if outcome.as_ref().is_err_and(is_other_error) {
            return outcome.map(StatementAttempt::Done);
        }
        let mut needs = LockNeeds::default();
        for (read, extent) in self.uses.reads.clone() {
            let is_target = self.uses.insert.is_none() && read == key;
            if !is_target && !self.policy.locks_sources {
                continue;
            }
            let mode = match is_target {
                true => LockMode::Exclusive,
                false => LockMode::Shared,
            };
            self.need_extent(&mut needs, &views, &read, extent, mode)?;
        }
        for row in changes.touched.keys() {
            needs.row(&key, *row, LockMode::Exclusive);
        }
        let standing = views.get(&key).cloned().unwrap_or_default();
        let is_refused = outcome.is_err();
        self.need_unique(&mut needs, (&views, &standing), &key, &changes, is_refused)?;
        self.need_predicates(&mut needs, &views, &key, &changes)?;
        let locked = self.locked(&needs);
        let obstacle = obstacle(&needs, &locked);
        if let Some(obstacle) = obstacle.filter(|_| !self.strikes(Fault::DirtyWrite)) {
            return Ok(StatementAttempt::Blocked(obstacle));
        }
        self.grant(needs);
        if outcome.is_ok() || self.strikes(Fault::StatementErrorLeavesHalf) {
            let changes = without_unchanged(changes, &views, &key);
            self.apply(&key, changes);
        }
        outcome.map(StatementAttempt::Done)
    }

    /// Runs the write in the scratch database.
    fn evaluate(&mut self, sql: &str, key: &str) -> Evaluated {
        let table = self.state.tables.get(key).map(|table| (key, table));
        let (outcome, mut changes) = self.scratches.strict.write(sql, table);
        if outcome.is_err() {
            changes = Changes::default();
        }
        Evaluated {
            outcome: outcome.map_err(EngineRefusal::from),
            changes,
        }
    }

    /// What a write sees of the tables that it names.
    fn seen_by_write(&self) -> Views {
        let mut views = self.views(ReadSight::Current);
        let Some(key) = self.uses.target.as_deref() else {
            return views;
        };
        let (Some(view), Some(table)) = (views.get_mut(key), self.state.tables.get(key)) else {
            return views;
        };
        if self.uses.insert.is_some() {
            return views;
        }
        if self.strikes(Fault::DirtyWrite) {
            *view = table.seen(self.transaction, ReadSight::Anything);
        }
        if let Some(resumed) = self.resumed {
            if self.strikes(Fault::LostUpdate) {
                *view = table.seen(self.transaction, ReadSight::Snapshot(resumed.commits));
            }
            if self.strikes(Fault::RowSkippedAfterResume) {
                view.retain(|row, _| !resumed.rows.contains(&(key.to_owned(), *row)));
            }
        }
        views
    }

    /// The condition by which an UPDATE or DELETE chooses rows of its target, where it is simple.
    pub(super) fn own_condition(&self) -> Option<&Condition> {
        let target = self.uses.target.as_ref()?;
        let own = self.uses.reads.iter().find(|(table, _)| table == target);
        match own.filter(|_| self.uses.insert.is_none())? {
            (_, Extent::Matching(condition)) => Some(condition),
            (_, Extent::Whole) => None,
        }
    }

    /// The statement, with the rows named that it would have chosen when it was sent, where a fault
    /// says so.
    fn sql_of_write(&mut self, views: &Views, key: &str) -> Result<String, EngineRefusal> {
        let unchanged = self.query.sql.clone();
        let (Some(resumed), Some(condition)) = (self.resumed, self.own_condition().cloned()) else {
            return Ok(unchanged);
        };
        let Some(table) = self.state.tables.get(key) else {
            return Ok(unchanged);
        };
        if !self.strikes(Fault::OldPredicateAfterWait) {
            return Ok(unchanged);
        }
        let old = table.seen(self.transaction, ReadSight::Snapshot(resumed.commits));
        self.scratches.free.load(key, table, &old)?;
        let chosen = self.scratches.free.matching(&condition)?;
        let still = |row: &&RowNumber| views.get(key).is_some_and(|view| view.contains_key(row));
        let numbers: Vec<String> = chosen.iter().filter(still).map(i64::to_string).collect();
        let rows = format!("{}.rowid IN ({})", condition.alias, numbers.join(", "));
        Ok(with_condition(&unchanged, &condition, &rows))
    }

    /// Makes of a write what planted faults make of it.
    fn spoil(
        &mut self,
        evaluated: &mut Evaluated,
        views: &Views,
        key: &str,
    ) -> Result<(), EngineRefusal> {
        match &evaluated.outcome {
            Ok(_) => {
                if self.strikes(Fault::UniqueCheckAgainstDeleted)
                    && self.meets_deleted(evaluated, key)
                {
                    evaluated.outcome = Err(unique_error());
                    evaluated.changes = Changes::default();
                    return Ok(());
                }
                self.touch_more(evaluated, views, key)?;
                self.touch_less(&mut evaluated.changes, views, key);
            }
            Err(refusal) if refusal.is_constraint() => {
                self.accept_or_leave_half(evaluated, views, key)?;
            }
            Err(_) => return Ok(()),
        }
        if self.strikes(Fault::WrongAffectedCount) {
            evaluated.count_one_more();
        }
        Ok(())
    }

    /// Whether a new row has a key of a row that is deleted.
    pub(super) fn meets_deleted(&self, evaluated: &Evaluated, key: &str) -> bool {
        let Some(table) = self.state.tables.get(key) else {
            return false;
        };
        let is_plain = self.uses.insert == Some(OnDuplicate::Fail);
        let deleted = table
            .rows
            .values()
            .filter(|chain| chain.last().is_some_and(|newest| newest.cells.is_none()));
        let mut cells = deleted
            .flatten()
            .filter_map(|version| version.cells.as_ref());
        is_plain
            && cells.any(|cells| {
                let mut new = evaluated.changes.inserted.iter();
                new.any(|image| collide(&table.unique, image, cells))
            })
    }

    /// A row that does not fit, or rows that are assigned once more.
    fn touch_more(
        &mut self,
        evaluated: &mut Evaluated,
        views: &Views,
        key: &str,
    ) -> Result<(), EngineRefusal> {
        let (Some(view), Some(condition)) = (views.get(key), self.own_condition().cloned()) else {
            return Ok(());
        };
        let is_free = |row: &&RowNumber| {
            let name = (key.to_owned(), **row);
            let locks = &self.state.locks;
            !evaluated.changes.touched.contains_key(row)
                && locks
                    .holders(&name, LockMode::Exclusive, self.transaction)
                    .is_empty()
        };
        if self.strikes(Fault::ExtraRowTouched)
            && !evaluated.changes.touched.is_empty()
            && let Some(row) = view.keys().find(is_free)
        {
            let more = format!("({}) OR {}.rowid = {row}", condition.text, condition.alias);
            let sql = with_condition(&self.query.sql, &condition, &more);
            let other = self.evaluate(&sql, key);
            if other.outcome.is_ok() {
                evaluated.changes = other.changes;
            }
        }
        if let Some(resumed) = self.resumed
            && self.strikes(Fault::RowTouchedTwice)
        {
            let mut views = views.clone();
            let view = views.entry(key.to_owned()).or_default();
            let mut again = BTreeSet::new();
            for (row, cells) in &evaluated.changes.touched {
                if let Some(cells) = cells
                    && resumed.rows.contains(&(key.to_owned(), *row))
                {
                    view.insert(*row, cells.clone());
                    again.insert(*row);
                }
            }
            load(&mut self.scratches.strict, self.state, &views)?;
            let second = self.evaluate(&self.query.sql, key).changes.touched;
            let second = second.into_iter().filter(|(row, _)| again.contains(row));
            evaluated.changes.touched.extend(second);
        }
        Ok(())
    }

    /// Rows that the answer counts and that are not what the statement made of them.
    pub(super) fn touch_less(&self, changes: &mut Changes, views: &Views, key: &str) {
        let behind = Fault::NoOpUpdateHidesNewer;
        if self.state.strikes_behind(behind, self.transaction)
            && let (Some(view), Some(table)) = (views.get(key), self.state.tables.get(key))
            && let Some(snapshot) = self.state.transactions.get(&self.transaction)
            && let Some(place) = snapshot.snapshot
        {
            let older = table.seen(self.transaction, ReadSight::Snapshot(place));
            for (row, cells) in &mut changes.touched {
                if let Some(older) = older.get(row)
                    && self.is_newer(key, *row, place)
                    && cells.as_ref() == view.get(row)
                {
                    *cells = Some(older.clone());
                }
            }
        }
        if self.strikes(Fault::WriteNotDone) && changes.inserted.pop().is_none() {
            changes.touched.pop_last();
        }
    }

    /// A write that a constraint refuses and a fault lets through, or half of it.
    pub(super) fn accept_or_leave_half(
        &mut self,
        evaluated: &mut Evaluated,
        views: &Views,
        key: &str,
    ) -> Result<(), EngineRefusal> {
        let is_unique = matches!(
            &evaluated.outcome,
            Err(EngineRefusal::Scratch(error)) if [UNIQUE, PRIMARY_KEY].contains(&error.code)
        );
        let table = self.state.tables.get(key).map(|table| (key, table));
        if is_unique && self.strikes(Fault::UniqueViolationAccepted) {
            load(&mut self.scratches.free, self.state, views)?;
            let (outcome, changes) = self.scratches.free.write(&self.query.sql, table);
            if let Ok(outcome) = outcome {
                evaluated.outcome = Ok(outcome);
                evaluated.changes = changes;
            }
        } else if self.strikes(Fault::StatementErrorLeavesHalf)
            && let Some(sql) = or_fail(&self.query.sql)
        {
            evaluated.changes = self.scratches.strict.write(&sql, table).1;
        }
        Ok(())
    }

    /// Writes the changes as versions of this transaction.
    pub(super) fn apply(&mut self, key: &str, changes: Changes) {
        self.state.writes += 1;
        let (writer, written) = (self.transaction, self.state.writes);
        let moves = self.strikes(Fault::SnapshotMoves);
        let loses_index = self.strikes(Fault::IndexOutOfStep);
        let state = &mut *self.state;
        if state.transactions.len() < 2 {
            // The table is filled anew.
            state.unindexed.retain(|(table, _)| table != key);
        }
        if moves && let Some(found) = state.transactions.get_mut(&writer) {
            found.snapshot = found.snapshot.map(|_| state.commits);
        }
        let Some(table) = state.tables.get_mut(key) else {
            return;
        };
        let version = |cells| RowVersion {
            writer,
            written,
            committed: None,
            cells,
        };
        let mut rows: Vec<RowNumber> = changes.touched.keys().copied().collect();
        for (row, cells) in changes.touched {
            table.rows.entry(row).or_default().push(version(cells));
        }
        for cells in changes.inserted {
            let row = table.new_row();
            rows.push(row);
            table.rows.insert(row, vec![version(Some(cells))]);
            let locks = &mut state.locks;
            locks.take((key.to_owned(), row), LockMode::Exclusive, writer);
        }
        if loses_index {
            let names = rows.into_iter().map(|row| (key.to_owned(), row));
            state.unindexed.extend(names);
        }
    }
}

/// The changes without rows that an UPDATE gave the values that they have: as in InnoDB, these are locked
/// and get no version.
fn without_unchanged(mut changes: Changes, views: &Views, key: &str) -> Changes {
    if let Some(view) = views.get(key) {
        changes
            .touched
            .retain(|row, cells| cells.as_ref() != view.get(row));
    }
    changes
}

/// The statement with another condition.
fn with_condition(sql: &str, condition: &Condition, other: &str) -> String {
    match sql.rfind(&condition.text) {
        Some(at) => {
            let after = &sql[at + condition.text.len()..];
            format!("{}{other}{after}", &sql[..at])
        }
        None => sql.to_owned(),
    }
}

pub(super) fn unique_error() -> EngineRefusal {
    EngineRefusal::Scratch(ScratchError {
        code: UNIQUE,
        message: "UNIQUE constraint failed".to_owned(),
    })
}
