//! Writes and reads that lock where rows are chosen by a snapshot: the first updater wins.
//!
//! Rows are chosen by what the snapshot shows, and then locked. A row that is newer than the snapshot by then
//! refuses the statement, or is looked at again as it is now: it counts if the condition still holds, and
//! no row that the snapshot did not choose joins it. All else is read through the snapshot. Unique keys
//! are held against the newest rows.

use std::collections::BTreeSet;

use super::command::{LockClause, WaitPolicy};
use super::fault::Fault;
use super::locks::{Condition, Extent, LockMode};
use super::policy::ChosenBy;
use super::refusal::EngineRefusal;
use super::scratch::{Changes, Scratch, Stand};
use super::statement::{LockNeeds, RunningStatement, StatementAttempt, Views, load, obstacle};
use super::uses::{ChosenRows, OnDuplicate, of_rows};
use super::version::{
    ReadSight, RowChain, RowNumber, RowVersion, TableRows, TransactionNumber, VersionedTable,
    collide, visible,
};
use super::write::{Evaluated, unique_error};

impl RunningStatement<'_> {
    /// A write by the snapshot that shows this commit last.
    pub(super) fn write_by_snapshot(
        mut self,
        place: u64,
    ) -> Result<StatementAttempt, EngineRefusal> {
        let views = self.views(ReadSight::Snapshot(place));
        let key = self.uses.target.clone().unwrap_or_default();
        let is_insert = self.uses.insert.is_some();
        let chosen = match is_insert {
            true => BTreeSet::new(),
            false => self.chosen_rows(&views, &key)?,
        };
        let mut needs = LockNeeds::default();
        for row in &chosen {
            needs.row(&key, *row, LockMode::Exclusive);
        }
        if let Some(blocked) = self.blocked(&needs) {
            return Ok(blocked);
        }
        self.refuse_newer(&key, &chosen, place)?;
        let standing = self.standing(&key, &chosen, place);
        self.load_split(&views, &key, &standing)?;
        let evaluated = self.evaluate_chosen(&key, &chosen, is_insert);
        let evaluated = self.spoil_by_snapshot(evaluated, &views, &key, (&chosen, &standing))?;
        let Evaluated { outcome, changes } = evaluated;
        if outcome
            .as_ref()
            .is_err_and(|refusal| !refusal.is_constraint())
        {
            return outcome.map(StatementAttempt::Done);
        }
        for row in changes.touched.keys() {
            needs.row(&key, *row, LockMode::Exclusive);
        }
        let before_keys: BTreeSet<RowNumber> = needs.rows.keys().map(|(_, row)| *row).collect();
        let is_refused = outcome.is_err();
        self.need_unique(&mut needs, (&views, &standing), &key, &changes, is_refused)?;
        if let Some(blocked) = self.blocked(&needs) {
            return Ok(blocked);
        }
        let met: BTreeSet<RowNumber> = needs.rows.keys().map(|(_, row)| *row).collect();
        let met = &met - &before_keys;
        self.refuse_unseen(&key, &changes, &met, place)?;
        if self.policy.tracks_reads {
            self.refuse_taken_over(&key, &changes, &views)?;
            self.track_reads(place)?;
            self.track_writes(&key, &changes, &standing)?;
        }
        self.grant(needs);
        if outcome.is_ok() {
            self.apply(&key, changes);
        }
        outcome.map(StatementAttempt::Done)
    }

    /// A read that locks, by the snapshot that shows this commit last.
    pub(super) fn lock_by_snapshot(
        mut self,
        clause: LockClause,
        place: u64,
    ) -> Result<StatementAttempt, EngineRefusal> {
        let mode = match clause.exclusive {
            true => LockMode::Exclusive,
            false => LockMode::Shared,
        };
        let mut views = self.views(ReadSight::Snapshot(place));
        let needs = loop {
            let mut needs = LockNeeds::default();
            for (table, extent) in self.uses.reads.clone() {
                if self.locks_table(&table) {
                    for row in self.rows_of(&views, &table, &extent)? {
                        needs.row(&table, row, mode);
                    }
                }
            }
            let locked = self.locked(&needs);
            if clause.wait == WaitPolicy::SkipLocked && !locked.is_empty() {
                for (table, row) in locked.keys() {
                    if let Some(view) = views.get_mut(table) {
                        view.remove(row);
                    }
                }
                continue;
            }
            match obstacle(&needs, &locked) {
                None => break needs,
                Some(_) if clause.wait == WaitPolicy::NoWait => {
                    return Err(EngineRefusal::NoWait);
                }
                Some(obstacle) => return Ok(StatementAttempt::Blocked(obstacle)),
            }
        };
        for (table, row) in needs.rows.keys() {
            let one = [*row].into();
            self.refuse_newer(table, &one, place)?;
            let newest = self.standing(table, &one, place).get(row).cloned();
            if let Some(view) = views.get_mut(table) {
                match newest {
                    Some(cells) => view.insert(*row, cells),
                    None => view.remove(row),
                };
            }
        }
        if self.policy.tracks_reads {
            self.track_reads(place)?;
        }
        self.grant(needs);
        load(&mut self.scratches.free, self.state, &views)?;
        Ok(StatementAttempt::Done(
            self.scratches.free.read(&self.query.sql)?,
        ))
    }

    /// The rows of its target that an UPDATE or DELETE chooses by what it sees.
    fn chosen_rows(
        &mut self,
        views: &Views,
        key: &str,
    ) -> Result<BTreeSet<RowNumber>, EngineRefusal> {
        let Some(table) = self.state.tables.get(key) else {
            return Ok(BTreeSet::new());
        };
        load(&mut self.scratches.free, self.state, views)?;
        let (outcome, changes) = self
            .scratches
            .free
            .write(&self.query.sql, Some((key, table)));
        outcome?;
        let mut chosen: BTreeSet<RowNumber> = changes.touched.into_keys().collect();
        if let Some(resumed) = self.resumed
            && self.strikes(Fault::RowSkippedAfterResume)
        {
            chosen.retain(|row| !resumed.rows.contains(&(key.to_owned(), *row)));
        }
        Ok(chosen)
    }

    /// The rows that a condition chooses by what is seen.
    fn rows_of(
        &mut self,
        views: &Views,
        table: &str,
        extent: &Extent,
    ) -> Result<BTreeSet<RowNumber>, EngineRefusal> {
        let (Some(view), Some(known)) = (views.get(table), self.state.tables.get(table)) else {
            return Ok(BTreeSet::new());
        };
        Ok(match extent {
            Extent::Whole => view.keys().copied().collect(),
            Extent::Matching(condition) => {
                self.scratches.free.load(table, known, view)?;
                self.scratches.free.matching(condition)?
            }
        })
    }

    /// Who stands in the way, if anyone does.
    fn blocked(&self, needs: &LockNeeds) -> Option<StatementAttempt> {
        let found = obstacle(needs, &self.locked(needs));
        let found = found.filter(|_| !self.strikes(Fault::DirtyWrite));
        found.map(StatementAttempt::Blocked)
    }

    /// Refuses a statement whose rows others have changed since the snapshot, where it is that of the
    /// transaction.
    fn refuse_newer(
        &self,
        key: &str,
        rows: &BTreeSet<RowNumber>,
        place: u64,
    ) -> Result<(), EngineRefusal> {
        let refuses = self.policy.chosen == ChosenBy::TransactionSnapshot;
        let mut newer = rows.iter().filter(|row| self.is_newer(key, **row, place));
        if refuses && newer.next().is_some() && !self.strikes(Fault::LostUpdate) {
            return Err(EngineRefusal::Serialization);
        }
        Ok(())
    }

    /// Whether another transaction has committed a version of a row that the snapshot does not show.
    pub(super) fn is_newer(&self, key: &str, row: RowNumber, place: u64) -> bool {
        let table = self.state.tables.get(key);
        let chain = table.and_then(|table| table.rows.get(&row));
        let newer = |version: &RowVersion| {
            version.writer != self.transaction && version.committed.is_some_and(|at| at > place)
        };
        chain.is_some_and(|chain| chain.iter().any(newer))
    }

    /// What stands of the target when the write runs: the newest rows; in their place what the snapshot
    /// shows, or what is not committed, where a fault says so.
    fn standing(&self, key: &str, chosen: &BTreeSet<RowNumber>, place: u64) -> TableRows {
        let Some(table) = self.state.tables.get(key) else {
            return TableRows::new();
        };
        let mut standing = table.seen(self.transaction, ReadSight::Current);
        let other = if self.query.writes && self.strikes(Fault::LostUpdate) {
            ReadSight::Snapshot(place)
        } else if self.query.writes && self.strikes(Fault::DirtyWrite) {
            ReadSight::Anything
        } else {
            return standing;
        };
        let other = table.seen(self.transaction, other);
        for row in chosen {
            match other.get(row) {
                Some(cells) => standing.insert(*row, cells.clone()),
                None => standing.remove(row),
            };
        }
        standing
    }

    /// Loads what is seen of every table, and what stands of the target.
    fn load_split(
        &mut self,
        views: &Views,
        key: &str,
        standing: &TableRows,
    ) -> Result<(), EngineRefusal> {
        let split = &mut self.scratches.split;
        split.build(&self.state.schema)?;
        for (name, rows) in views {
            if let Some(table) = self.state.tables.get(name) {
                split.load_into(Stand::Seen, name, table, rows)?;
            }
        }
        if let Some(table) = self.state.tables.get(key) {
            split.load_into(Stand::Main, key, table, standing)?;
        }
        Ok(())
    }

    /// The write, of these rows of its target only where it is no INSERT.
    fn text(&self, chosen: Option<&ChosenRows<'_>>) -> String {
        let known: BTreeSet<String> = self.state.tables.keys().cloned().collect();
        of_rows(&self.query.sql, &known, chosen).unwrap_or_else(|| self.query.sql.clone())
    }

    fn evaluate_chosen(
        &mut self,
        key: &str,
        chosen: &BTreeSet<RowNumber>,
        is_insert: bool,
    ) -> Evaluated {
        let is_old = self.resumed.is_some() && self.strikes(Fault::OldPredicateAfterWait);
        let rows = ChosenRows {
            rows: chosen,
            checked: !is_old,
            extra: None,
        };
        let sql = self.text((!is_insert).then_some(&rows));
        self.evaluate_split(&sql, key)
    }

    fn evaluate_split(&mut self, sql: &str, key: &str) -> Evaluated {
        let table = self.state.tables.get(key).map(|table| (key, table));
        let (outcome, mut changes) = self.scratches.split.write(sql, table);
        if outcome.is_err() {
            changes = Changes::default();
        }
        Evaluated {
            outcome: outcome.map_err(EngineRefusal::from),
            changes,
        }
    }

    /// Makes of a write what planted faults make of it.
    fn spoil_by_snapshot(
        &mut self,
        mut evaluated: Evaluated,
        views: &Views,
        key: &str,
        (chosen, standing): (&BTreeSet<RowNumber>, &TableRows),
    ) -> Result<Evaluated, EngineRefusal> {
        match &evaluated.outcome {
            Ok(_) => {
                if self.strikes(Fault::UniqueCheckAgainstDeleted)
                    && self.meets_deleted(&evaluated, key)
                {
                    evaluated.outcome = Err(unique_error());
                    evaluated.changes = Changes::default();
                    return Ok(evaluated);
                }
                self.touch_extra(&mut evaluated, key, chosen, standing);
                self.touch_twice(&mut evaluated, views, key, standing)?;
                self.touch_less(&mut evaluated.changes, views, key);
            }
            Err(refusal) if refusal.is_constraint() => {
                self.accept_or_leave_half(&mut evaluated, views, key)?;
            }
            Err(_) => return Ok(evaluated),
        }
        if self.strikes(Fault::WrongAffectedCount) {
            evaluated.count_one_more();
        }
        Ok(evaluated)
    }

    /// A row for which the condition does not hold, where a fault says so.
    fn touch_extra(
        &mut self,
        evaluated: &mut Evaluated,
        key: &str,
        chosen: &BTreeSet<RowNumber>,
        standing: &TableRows,
    ) {
        if chosen.is_empty()
            || self.own_condition().is_none()
            || !self.strikes(Fault::ExtraRowTouched)
        {
            return;
        }
        let is_free = |row: &&RowNumber| {
            let name = (key.to_owned(), **row);
            let locks = &self.state.locks;
            let holders = locks.holders(&name, LockMode::Exclusive, self.transaction);
            !chosen.contains(row) && holders.is_empty()
        };
        let Some(extra) = standing.keys().find(is_free) else {
            return;
        };
        let rows = ChosenRows {
            rows: chosen,
            checked: true,
            extra: Some(*extra),
        };
        let sql = self.text(Some(&rows));
        let other = self.evaluate_split(&sql, key);
        if other.outcome.is_ok() {
            *evaluated = other;
        }
    }

    /// Assigns the rows that were waited for once more, where a fault says so.
    fn touch_twice(
        &mut self,
        evaluated: &mut Evaluated,
        views: &Views,
        key: &str,
        standing: &TableRows,
    ) -> Result<(), EngineRefusal> {
        let Some(resumed) = self.resumed else {
            return Ok(());
        };
        if self.uses.insert.is_some() || !self.strikes(Fault::RowTouchedTwice) {
            return Ok(());
        }
        let mut once = standing.clone();
        let mut again = BTreeSet::new();
        for (row, cells) in &evaluated.changes.touched {
            if let Some(cells) = cells
                && resumed.rows.contains(&(key.to_owned(), *row))
            {
                once.insert(*row, cells.clone());
                again.insert(*row);
            }
        }
        self.load_split(views, key, &once)?;
        let second = self.evaluate_chosen(key, &again, false).changes.touched;
        evaluated.changes.touched.extend(second);
        Ok(())
    }

    /// Refuses an INSERT whose clause handles a row that the snapshot of the transaction does not show
    /// as it is, and where reads are tracked one that such a row refuses.
    fn refuse_unseen(
        &self,
        key: &str,
        changes: &Changes,
        met: &BTreeSet<RowNumber>,
        place: u64,
    ) -> Result<(), EngineRefusal> {
        let handles = self.uses.insert == Some(OnDuplicate::Handle);
        let touched: BTreeSet<RowNumber> = match handles {
            true => changes.touched.keys().copied().collect(),
            false => BTreeSet::new(),
        };
        if handles || self.policy.tracks_reads {
            self.refuse_newer(key, &(&touched | met), place)?;
        }
        Ok(())
    }

    /// Refuses a write that takes a unique key which the snapshot still shows taken: that it is free tells
    /// of a concurrent transaction.
    fn refuse_taken_over(
        &mut self,
        key: &str,
        changes: &Changes,
        views: &Views,
    ) -> Result<(), EngineRefusal> {
        let (Some(view), Some(table)) = (views.get(key), self.state.tables.get(key)) else {
            return Ok(());
        };
        let current = table.seen(self.transaction, ReadSight::Current);
        let gone = view
            .iter()
            .filter(|(row, cells)| current.get(row) != Some(cells));
        let gone: Vec<_> = gone.map(|(_, cells)| cells).collect();
        let images = changes.touched.values().flatten().chain(&changes.inserted);
        for image in images {
            if gone
                .iter()
                .any(|cells| collide(&table.unique, image, cells))
            {
                return Err(self.state.conflicts.doom(self.transaction));
            }
        }
        Ok(())
    }

    /// Notes what the statement reads, and whose writes it does not see.
    pub(super) fn track_reads(&mut self, place: u64) -> Result<(), EngineRefusal> {
        let is_plain = !self.query.writes && self.query.lock.is_none();
        let forgets = self.strikes(Fault::MissingRangeLock)
            || (self.strikes(Fault::WriteSkew)
                && is_plain
                && !self.state.has_written(self.transaction));
        if forgets {
            return Ok(());
        }
        for (table, extent) in self.uses.reads.clone() {
            for writer in self.unseen_writers(&table, &extent, place)? {
                let (reader, acting) = (self.transaction, self.transaction);
                self.state.conflicts.depends(reader, writer, acting)?;
            }
            self.state.conflicts.read(self.transaction, &table, extent);
        }
        Ok(())
    }

    /// The concurrent transactions whose writes a condition would meet, and the snapshot does not show.
    fn unseen_writers(
        &mut self,
        table: &str,
        extent: &Extent,
        place: u64,
    ) -> Result<BTreeSet<TransactionNumber>, EngineRefusal> {
        let Some(known) = self.state.tables.get(table) else {
            return Ok(BTreeSet::new());
        };
        let reader = self.transaction;
        let mut images = TableRows::new();
        let mut writers: Vec<(RowNumber, TransactionNumber)> = Vec::new();
        for chain in known.rows.values() {
            let unseen: Vec<_> = unseen(chain, reader, place)
                .filter(|version| self.state.conflicts.are_concurrent(reader, version.writer))
                .collect();
            let old = visible(chain, reader, ReadSight::Snapshot(place));
            for version in unseen {
                let old = old.and_then(|old| old.cells.clone());
                for cells in [old, version.cells.clone()].into_iter().flatten() {
                    let number = RowNumber::try_from(images.len()).unwrap_or_default() + 1;
                    images.insert(number, cells);
                    writers.push((number, version.writer));
                }
            }
        }
        let met = match extent {
            _ if images.is_empty() => return Ok(BTreeSet::new()),
            Extent::Whole => images.keys().copied().collect(),
            Extent::Matching(condition) => {
                matching(&mut self.scratches.free, table, known, (&images, condition))?
            }
        };
        let met = writers
            .into_iter()
            .filter(|(number, _)| met.contains(number));
        Ok(met.map(|(_, writer)| writer).collect())
    }

    /// Notes which concurrent transactions have read what the write changes.
    fn track_writes(
        &mut self,
        key: &str,
        changes: &Changes,
        standing: &TableRows,
    ) -> Result<(), EngineRefusal> {
        let Some(table) = self.state.tables.get(key) else {
            return Ok(());
        };
        let before = changes.touched.keys().filter_map(|row| standing.get(row));
        let after = changes.touched.values().flatten();
        let images = before.chain(after).chain(&changes.inserted).cloned();
        let images: TableRows = (1..).zip(images).collect();
        let mut readers = BTreeSet::new();
        for read in self.state.conflicts.reads_beside(key, self.transaction) {
            let meets = match &read.extent {
                Extent::Whole => !images.is_empty(),
                Extent::Matching(condition) => {
                    let free = &mut self.scratches.free;
                    !matching(free, key, table, (&images, condition))?.is_empty()
                }
            };
            if meets {
                readers.insert(read.holder);
            }
        }
        for reader in readers {
            let (writer, acting) = (self.transaction, self.transaction);
            self.state.conflicts.depends(reader, writer, acting)?;
        }
        Ok(())
    }
}

/// The versions of other transactions that a snapshot does not show.
fn unseen(
    chain: &RowChain,
    reader: TransactionNumber,
    place: u64,
) -> impl Iterator<Item = &RowVersion> {
    chain.iter().filter(move |version| {
        version.writer != reader && version.committed.is_none_or(|at| at > place)
    })
}

/// The rows that a condition holds for.
fn matching(
    free: &mut Scratch,
    key: &str,
    table: &VersionedTable,
    (rows, condition): (&TableRows, &Condition),
) -> Result<BTreeSet<RowNumber>, EngineRefusal> {
    free.load(key, table, rows)?;
    Ok(free.matching(condition)?)
}
