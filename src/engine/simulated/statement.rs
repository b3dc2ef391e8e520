//! One statement on the database as it is now: what it sees, what it locks, what it changes.
//!
//! A statement is run by SQLite on the rows that it may see, and only then asks for locks: on the rows
//! that it touched, on those that its conditions hold for, and on those that it met in a unique key.
//! Where others hold one of them nothing is kept, and the statement starts over when it was let go.

use std::collections::{BTreeMap, BTreeSet};

use super::command::{LockClause, Query, WaitPolicy};
use super::fault::Fault;
use super::locks::{Extent, LockMode, Predicate, RowName};
use super::policy::{ChosenBy, EngineFlavour, LevelPolicy, PlainRead, SnapshotTaken};
use super::refusal::EngineRefusal;
use super::scratch::{Changes, Rules, Scratch, ScratchError};
use super::state::DatabaseState;
use super::uses::{OnDuplicate, TableUses, bare_insert, uses};
use super::version::{
    Cells, ReadSight, RowNumber, RowVersion, TableRows, TransactionNumber, VersionedTable, collide,
};
use crate::model::{IsolationLevel, Outcome};

/// What came of one attempt.
#[derive(Debug)]
pub(super) enum StatementAttempt {
    Done(Outcome),
    Blocked(Obstacle),
}

/// What keeps a statement from going on.
#[derive(Debug)]
pub(super) struct Obstacle {
    /// The transactions that hold what it needs.
    pub(super) holders: BTreeSet<TransactionNumber>,
    /// The rows that they hold.
    pub(super) rows: BTreeSet<RowName>,
}

/// What a statement that waited remembers of when it was sent. Only faults ask for it.
#[derive(Clone, Debug)]
pub(super) struct Resumed {
    /// The newest commit then.
    pub(super) commits: u64,
    /// The rows that it has waited for.
    pub(super) rows: BTreeSet<RowName>,
}

/// What a statement that starts over knows of its past.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatementPast<'a> {
    /// The newest commit when it was sent.
    pub(super) sent_at: u64,
    /// Present when it has waited.
    pub(super) resumed: Option<&'a Resumed>,
}

/// The scratch databases of a session.
pub(super) struct Scratches {
    pub(super) strict: Scratch,
    pub(super) free: Scratch,
    /// For writes that see a snapshot.
    pub(super) split: Scratch,
}

impl Scratches {
    pub(super) fn open() -> Result<Self, ScratchError> {
        Ok(Self {
            strict: Scratch::open(Rules::Strict)?,
            free: Scratch::open(Rules::Free)?,
            split: Scratch::open(Rules::Split)?,
        })
    }
}

/// What a statement sees, by table.
pub(super) type Views = BTreeMap<String, TableRows>;

/// What a statement needs before it may go on.
#[derive(Default)]
pub(super) struct LockNeeds {
    pub(super) rows: BTreeMap<RowName, LockMode>,
    pub(super) predicates: Vec<Predicate>,
    /// Transactions whose uncommitted rows, or conditions, stand in the way.
    pub(super) blockers: BTreeSet<TransactionNumber>,
}

impl LockNeeds {
    pub(super) fn row(&mut self, table: &str, row: RowNumber, mode: LockMode) {
        let held = self.rows.entry((table.to_owned(), row)).or_insert(mode);
        *held = mode.max(*held);
    }
}

/// A statement on the state of the database.
pub(super) struct RunningStatement<'a> {
    pub(super) state: &'a mut DatabaseState,
    pub(super) scratches: &'a mut Scratches,
    pub(super) transaction: TransactionNumber,
    pub(super) policy: LevelPolicy,
    /// The newest commit when it was sent.
    pub(super) sent_at: u64,
    pub(super) query: &'a Query,
    pub(super) uses: TableUses,
    /// Present when it has waited.
    pub(super) resumed: Option<&'a Resumed>,
}

impl<'a> RunningStatement<'a> {
    pub(super) fn new(
        state: &'a mut DatabaseState,
        scratches: &'a mut Scratches,
        transaction: TransactionNumber,
        query: &'a Query,
        past: StatementPast<'a>,
    ) -> Self {
        let known: BTreeSet<String> = state.tables.keys().cloned().collect();
        let found = state.transactions.get(&transaction);
        let policy = found.map_or_else(
            || EngineFlavour::default().at(IsolationLevel::RepeatableRead),
            |found| found.policy,
        );
        Self {
            uses: uses(&query.sql, &known, &state.schema.views),
            state,
            scratches,
            transaction,
            policy,
            sent_at: past.sent_at,
            query,
            resumed: past.resumed,
        }
    }

    /// Whether a fault bites this statement.
    pub(super) fn strikes(&self, fault: Fault) -> bool {
        self.state.strikes(fault, self.transaction)
    }

    /// Runs it once.
    pub(super) fn attempt(mut self) -> Result<StatementAttempt, EngineRefusal> {
        self.scratches.strict.build(&self.state.schema)?;
        self.scratches.free.build(&self.state.schema)?;
        if self.uses.tables().is_empty() {
            // It reads no table of ours, or one that is not there: SQLite says so.
            return Ok(StatementAttempt::Done(
                self.scratches.free.read(&self.query.sql)?,
            ));
        }
        self.state.conflicts.check(self.transaction)?;
        let shared = LockClause {
            exclusive: false,
            wait: WaitPolicy::Wait,
        };
        let chosen_by = self.choosing_snapshot();
        match (self.query.lock, chosen_by) {
            (_, Some(place)) if self.query.writes => self.write_by_snapshot(place),
            (_, None) if self.query.writes => self.write(),
            (Some(clause), Some(place)) => self.lock_by_snapshot(clause, place),
            (Some(clause), None) => {
                let views = self.views(ReadSight::Current);
                self.locking_read(clause, views)
            }
            (None, _) if self.policy.plain == PlainRead::Locking && !self.forgets_to_lock() => {
                let views = self.plain_views(ReadSight::Current);
                self.locking_read(shared, views)
            }
            (None, _) => self.plain_read(),
        }
    }

    /// The newest commit of the snapshot by which a write or a read that locks chooses its rows; none where
    /// it goes by what is committed now. Takes the snapshot of the transaction where a statement takes it.
    fn choosing_snapshot(&mut self) -> Option<u64> {
        let is_plain = !self.query.writes && self.query.lock.is_none();
        let is_late = is_plain && self.strikes(Fault::SnapshotTooLate);
        if self.state.flavour().snapshot_taken() == SnapshotTaken::FirstStatement
            && self.policy.plain == PlainRead::TransactionSnapshot
            && !is_late
        {
            self.state.snapshot(self.transaction);
        }
        match self.policy.chosen {
            ChosenBy::Current => None,
            ChosenBy::StatementSnapshot => Some(self.sent_at),
            ChosenBy::TransactionSnapshot if is_plain => None,
            ChosenBy::TransactionSnapshot => Some(self.state.snapshot(self.transaction)),
        }
    }

    /// Whether a fault has a plain read lock nothing where it must.
    fn forgets_to_lock(&self) -> bool {
        let is_first = || !self.state.has_written(self.transaction);
        self.strikes(Fault::DirtyRead)
            || self.strikes(Fault::NonRepeatableRead)
            || (self.strikes(Fault::WriteSkew) && is_first())
    }

    fn plain_read(mut self) -> Result<StatementAttempt, EngineRefusal> {
        let sight = self.state.plain_sight(self.transaction);
        if let (true, ReadSight::Snapshot(place)) = (self.policy.tracks_reads, sight) {
            self.track_reads(place)?;
        }
        let mut views = self.plain_views(sight);
        if self.query.sql.contains(" INDEXED BY ") {
            for (key, row) in &self.state.unindexed {
                if let Some(view) = views.get_mut(key) {
                    view.remove(row);
                }
            }
        }
        load(&mut self.scratches.free, self.state, &views)?;
        Ok(StatementAttempt::Done(
            self.scratches.free.read(&self.query.sql)?,
        ))
    }

    fn locking_read(
        mut self,
        clause: LockClause,
        mut views: Views,
    ) -> Result<StatementAttempt, EngineRefusal> {
        let mode = match clause.exclusive {
            true => LockMode::Exclusive,
            false => LockMode::Shared,
        };
        loop {
            let mut needs = LockNeeds::default();
            for (table, extent) in self.uses.reads.clone() {
                if self.locks_table(&table) {
                    self.need_extent(&mut needs, &views, &table, extent, mode)?;
                }
            }
            let locked = self.locked(&needs);
            if clause.wait == WaitPolicy::SkipLocked {
                if locked.is_empty() {
                    needs.blockers.clear();
                    self.skip_too_much(&needs, &mut views);
                    self.grant(needs);
                    break;
                }
                for (table, row) in locked.keys() {
                    if let Some(view) = views.get_mut(table) {
                        view.remove(row);
                    }
                }
                continue;
            }
            if let Some(obstacle) = obstacle(&needs, &locked) {
                if clause.wait == WaitPolicy::NoWait && !self.strikes(Fault::NowaitWaits) {
                    return Err(EngineRefusal::NoWait);
                }
                return Ok(StatementAttempt::Blocked(obstacle));
            }
            if !self.strikes(Fault::MissingRowLock) {
                self.grant(needs);
            }
            break;
        }
        load(&mut self.scratches.free, self.state, &views)?;
        Ok(StatementAttempt::Done(
            self.scratches.free.read(&self.query.sql)?,
        ))
    }

    /// Whether a read that locks locks a table: where sources are left alone, it is named beside a lock
    /// clause.
    pub(super) fn locks_table(&self, table: &str) -> bool {
        let depths = self.uses.depths.get(table);
        self.policy.locks_sources
            || depths.is_some_and(|depths| !depths.is_disjoint(&self.query.lock_depths))
    }

    /// Leaves out the first row that is free, where a fault says so.
    fn skip_too_much(&self, needs: &LockNeeds, views: &mut Views) {
        if !self.strikes(Fault::SkipLockedSkipsTooMuch) {
            return;
        }
        if let Some((table, row)) = needs.rows.keys().next()
            && let Some(view) = views.get_mut(table)
        {
            view.remove(row);
        }
    }

    /// What a plain read sees of the tables that it names.
    fn plain_views(&self, sight: ReadSight) -> Views {
        let named = self.uses.tables().into_iter();
        named
            .map(|name| {
                let view = self.state.plain_view(name, self.transaction, sight);
                (name.clone(), view)
            })
            .collect()
    }

    /// What the statement sees of the tables that it names.
    pub(super) fn views(&self, sight: ReadSight) -> Views {
        let named = self.uses.tables().into_iter();
        named
            .filter_map(|name| {
                let table = self.state.tables.get(name)?;
                Some((name.clone(), table.seen(self.transaction, sight)))
            })
            .collect()
    }

    /// Locks for what a statement reads of a table: the rows that its condition holds for, and from
    /// REPEATABLE READ on the condition itself.
    pub(super) fn need_extent(
        &mut self,
        needs: &mut LockNeeds,
        views: &Views,
        table: &str,
        extent: Extent,
        mode: LockMode,
    ) -> Result<(), EngineRefusal> {
        let (Some(view), Some(known)) = (views.get(table), self.state.tables.get(table)) else {
            return Ok(());
        };
        let others: Vec<(RowNumber, &RowVersion)> = known.uncommitted(self.transaction).collect();
        match &extent {
            Extent::Whole => {
                for row in view.keys() {
                    needs.row(table, *row, mode);
                }
                needs.blockers.extend(others.iter().map(|(_, v)| v.writer));
            }
            Extent::Matching(condition) => {
                let mut candidates = view.clone();
                for (row, version) in &others {
                    if let Some(cells) = &version.cells {
                        candidates.insert(-row, cells.clone());
                    }
                }
                let free = &mut self.scratches.free;
                free.load(table, known, &candidates)?;
                let matching = free.matching(condition)?;
                for row in matching.iter().filter(|row| view.contains_key(row)) {
                    needs.row(table, *row, mode);
                }
                let met = others.iter().filter(|(row, _)| matching.contains(&-row));
                needs.blockers.extend(met.map(|(_, v)| v.writer));
            }
        }
        let forgets = self.strikes(Fault::MissingRangeLock)
            || (!self.query.writes && self.query.lock.is_none() && self.strikes(Fault::Phantom));
        if self.policy.locks_conditions && !forgets {
            needs.predicates.push(Predicate {
                holder: self.transaction,
                table: table.to_owned(),
                extent,
            });
        }
        Ok(())
    }

    /// Locks for the rows that new rows meet in a unique key, whether that refuses the statement or not.
    /// `seen` is what the statement reads, `standing` what the key is held against.
    pub(super) fn need_unique(
        &mut self,
        needs: &mut LockNeeds,
        (seen, standing): (&Views, &TableRows),
        key: &str,
        changes: &Changes,
        refused: bool,
    ) -> Result<(), EngineRefusal> {
        let Some(table) = self.state.tables.get(key) else {
            return Ok(());
        };
        if table.unique.is_empty() {
            return Ok(());
        }
        let handles = self.uses.insert == Some(OnDuplicate::Handle);
        let all_rows;
        let changes = if refused || handles {
            // What would be there if no key refused it.
            let sql = match self.uses.insert {
                Some(_) => bare_insert(&self.query.sql),
                None => self.query.sql.clone(),
            };
            load(&mut self.scratches.free, self.state, seen)?;
            all_rows = self.scratches.free.write(&sql, Some((key, table))).1;
            &all_rows
        } else {
            changes
        };
        let touched = changes.touched.iter();
        let images = touched
            .filter_map(|(row, cells)| Some((Some(*row), cells.as_ref()?)))
            .chain(changes.inserted.iter().map(|cells| (None, cells)));
        for (own, image) in images {
            for (row, cells) in standing {
                if own != Some(*row) && collide(&table.unique, image, cells) {
                    needs.row(key, *row, LockMode::Shared);
                }
            }
            for (row, version) in table.uncommitted(self.transaction) {
                let meets = |cells: &Cells| collide(&table.unique, image, cells);
                if own != Some(row) && version.cells.as_ref().is_some_and(meets) {
                    needs.blockers.insert(version.writer);
                }
            }
        }
        Ok(())
    }

    /// The holders of conditions that a change would make true or false for a row.
    pub(super) fn need_predicates(
        &mut self,
        needs: &mut LockNeeds,
        views: &Views,
        key: &str,
        changes: &Changes,
    ) -> Result<(), EngineRefusal> {
        let Some(table) = self.state.tables.get(key) else {
            return Ok(());
        };
        let before = views.get(key).into_iter().flatten();
        let before = before.filter(|(row, _)| changes.touched.contains_key(row));
        let after = changes.touched.values().flatten();
        let images: Vec<&Cells> = before
            .map(|(_, cells)| cells)
            .chain(after)
            .chain(&changes.inserted)
            .collect();
        if images.is_empty() {
            return Ok(());
        }
        let numbered: TableRows = (1..).zip(images.into_iter().cloned()).collect();
        let free = &mut self.scratches.free;
        for predicate in self.state.locks.predicates_of_others(key, self.transaction) {
            let meets = match &predicate.extent {
                Extent::Whole => true,
                Extent::Matching(condition) => {
                    free.load(key, table, &numbered)?;
                    !free.matching(condition)?.is_empty()
                }
            };
            if meets {
                needs.blockers.insert(predicate.holder);
            }
        }
        Ok(())
    }

    /// The rows that others hold.
    pub(super) fn locked(
        &self,
        needs: &LockNeeds,
    ) -> BTreeMap<RowName, BTreeSet<TransactionNumber>> {
        let locks = &self.state.locks;
        let held = needs
            .rows
            .iter()
            .map(|(row, mode)| (row.clone(), locks.holders(row, *mode, self.transaction)));
        held.filter(|(_, holders)| !holders.is_empty()).collect()
    }

    pub(super) fn grant(&mut self, needs: LockNeeds) {
        let locks = &mut self.state.locks;
        for (row, mode) in needs.rows {
            locks.take(row, mode, self.transaction);
        }
        for predicate in needs.predicates {
            locks.take_predicate(predicate);
        }
    }
}

/// Everyone who stands in the way, and the rows that they hold.
pub(super) fn obstacle(
    needs: &LockNeeds,
    locked: &BTreeMap<RowName, BTreeSet<TransactionNumber>>,
) -> Option<Obstacle> {
    let by_rows = locked.values().flatten();
    let holders: BTreeSet<TransactionNumber> = by_rows.chain(&needs.blockers).copied().collect();
    (!holders.is_empty()).then(|| Obstacle {
        holders,
        rows: locked.keys().cloned().collect(),
    })
}

/// Loads what a statement sees into a scratch database.
pub(super) fn load(
    scratch: &mut Scratch,
    state: &DatabaseState,
    views: &Views,
) -> Result<(), ScratchError> {
    for (key, rows) in views {
        if let Some(table) = state.tables.get(key) {
            scratch.load(key, table, rows)?;
        }
    }
    Ok(())
}

/// Rows of a table as they are now, for a change of the schema.
pub(super) fn current(table: &VersionedTable, reader: TransactionNumber) -> TableRows {
    table.seen(reader, ReadSight::Current)
}
