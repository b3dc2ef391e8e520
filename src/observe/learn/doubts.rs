//! The detectors of [`Doubt`]: of which rows documented behaviour lets a statement see something
//! else than its promised view.

use std::collections::{BTreeMap, BTreeSet};

use super::super::latitude::{Latitude, Sight};
use super::super::moved::{old_place, other_columns, other_keys, takes_over};
use super::super::{Learner, RowId, TableView, VersionId, View};
use super::Learning;
use crate::dialect::SnapshotPoint;
use crate::model::{
    CaseStatement, Doubt, ReadMode, Role, Row, StatementId, StatementKind, StatementRecord, Tick,
    UndecidedReason,
};
use crate::statement::count_mentions;

impl Learning<'_> {
    /// Notes what else the statement may have seen than the view it is promised at this moment.
    pub(super) fn note_latitude(&mut self, statement: &CaseStatement) {
        let id = statement.id;
        let Some(promised) = self.account.views.get(&id) else {
            return;
        };
        let mut latitude = Latitude::default();
        let record = self.execution.records.get(&id);
        let mut in_two_modes = false;
        if record.is_some_and(StatementRecord::resumed) {
            let moments = self.moments.get(&id).map_or(&[][..], Vec::as_slice);
            let read = self.modes_by_table(statement);
            self.wait(statement, &read, promised, moments, &mut latitude);
            in_two_modes =
                self.saw_two_snapshots(statement, &read, promised, moments, &mut latitude)
                    | self.went_on(statement, &read, promised, moments, &mut latitude);
            if let Some(record) = record {
                self.woken_with_others(statement, record, promised, &mut latitude);
            }
            if let Some(record) = record.filter(|_| self.re_evaluates(statement)) {
                for at in [record.answered, self.batch_end] {
                    self.looked_at_again(statement, promised, at, &mut latitude);
                }
                if latitude.beyond.is_none() {
                    latitude.replaced = self.replaced_meanwhile(statement, promised);
                }
            }
        }
        if self.learner == Learner::Observer && self.dialect.registers(Doubt::NoOpUpdate) {
            self.no_op_updates(statement, promised, &mut latitude);
        }
        if self.dialect.registers(Doubt::MovedKey) {
            self.old_places(statement, promised, &mut latitude);
        }
        if self.dialect.registers(Doubt::TakenOverKey) {
            self.taken_over_keys(statement, promised, &mut latitude);
        }
        if !latitude.is_empty() || in_two_modes {
            self.account.latitudes.insert(id, latitude);
        }
    }

    /// Notes a statement that sees through a later snapshot than its level promises, because the
    /// engine let the first one go.
    pub(super) fn note_lost_snapshot(&mut self, statement: &CaseStatement, at: Tick) {
        let id = statement.id;
        let promised = self.promised_snapshots.get(&id.transaction);
        let Some(promised) = promised.filter(|_| self.learner == Learner::Observer) else {
            return;
        };
        if self.reads_through(statement, at, *promised) != self.reads(statement, at) {
            self.account.registered.insert(id, Doubt::EarlySavepoint);
        }
    }

    /// What a wait allows.
    fn wait(
        &self,
        statement: &CaseStatement,
        read: &TableModes<'_>,
        promised: &View,
        moments: &[View],
        latitude: &mut Latitude,
    ) {
        let level = self.case.judged_level(statement.session);
        // Registered or not: a mix without an id is a violation, told as such.
        let mixes = self.dialect.mixes_after_wait.contains(&level);
        let moves = self.dialect.registers(Doubt::MovedWhileWaiting);
        for (table, modes) in read {
            let Some(now) = promised.get(*table) else {
                continue;
            };
            for row in now.keys() {
                let seen = now[row];
                let then = self.versions_at(table, row, moments);
                if mixes {
                    let sights = mixed_sights(self, seen, &then, modes);
                    latitude.row(table, row, Doubt::MixedAfterWait, sights);
                }
                let mut places = then;
                if modes.contains(&Grip::Locks) {
                    places.extend(self.locked_places(statement, table, row));
                }
                if moves && self.moved(table, seen, &places, mixes) {
                    let sights = moved_sights(self, seen, &places, modes, mixes);
                    latitude.row(table, row, Doubt::MovedWhileWaiting, sights);
                }
            }
        }
        if !mixes {
            return;
        }
        for view in moments {
            let tables = self.own_snapshot(statement, view);
            latitude.snapshot(promised, tables);
        }
        latitude.moments = moments.to_vec();
        latitude.beyond = self.beyond(statement, read);
    }

    /// A statement outside of a transaction takes its snapshot at its first consistent read: before its wait, or
    /// behind it, at every level. Says whether a table changed meanwhile that it also reads in another way: that way
    /// sees the newest rows all the same, and no table can hold both.
    fn saw_two_snapshots(
        &self,
        statement: &CaseStatement,
        read: &TableModes<'_>,
        promised: &View,
        moments: &[View],
        latitude: &mut Latitude,
    ) -> bool {
        let level = self.case.judged_level(statement.session);
        if self.dialect.mixes_after_wait.contains(&level)
            || self.dialect.snapshot_point != SnapshotPoint::FirstConsistentRead
        {
            return false;
        }
        let two_modes = tables_in_two_modes(read);
        let mut changed = false;
        for view in moments {
            let tables = self.own_snapshot(statement, view).into_iter();
            let (both, tables): (Vec<_>, Vec<_>) =
                tables.partition(|(table, _)| two_modes.contains(table));
            changed |= both
                .iter()
                .any(|(table, seen)| promised.get(*table) != Some(seen));
            latitude.snapshot(promised, tables);
        }
        if changed {
            latitude.beyond = Some(UndecidedReason::OneTableInTwoReadModes);
        }
        changed
    }

    /// What a level allows that begins a statement anew only where a row that it locks has changed during the
    /// wait: all that it reads is as of the moment when it was sent, or of a later one at which it began anew. What it
    /// locks was the same then, so that any row which differs now was passed over. Says whether a table changed that
    /// it also reads in another way.
    fn went_on(
        &self,
        statement: &CaseStatement,
        read: &TableModes<'_>,
        promised: &View,
        moments: &[View],
        latitude: &mut Latitude,
    ) -> bool {
        let level = self.case.judged_level(statement.session);
        if !self.dialect.begins_anew_after_wait.contains(&level) {
            return false;
        }
        for (table, modes) in read {
            for (row, seen) in promised.get(*table).into_iter().flatten() {
                let then = self.versions_at(table, row, moments);
                let sights = mixed_sights(self, *seen, &then, modes);
                latitude.row(table, row, Doubt::MixedAfterWait, sights);
            }
        }
        let two_modes = tables_in_two_modes(read);
        let mut changed = false;
        for view in moments {
            latitude.snapshot(promised, self.own_snapshot(statement, view));
            let differs = |table: &&str| view.get(*table) != promised.get(*table);
            changed |= two_modes.iter().any(differs);
        }
        latitude.moments = moments.to_vec();
        if changed {
            latitude.beyond = Some(UndecidedReason::OneTableInTwoReadModes);
        }
        changed
    }

    /// The tables that a statement reads through a snapshot of its own, in a view.
    fn own_snapshot<'s>(
        &'s self,
        statement: &'s CaseStatement,
        view: &View,
    ) -> Vec<(&'s str, TableView)> {
        let modes = self.modes(statement);
        modes
            .filter(|(_, mode)| {
                matches!(mode, ReadMode::StatementSnapshot | ReadMode::EitherSnapshot)
            })
            .filter_map(|(table, _)| Some((table, view.get(table)?.clone())))
            .collect()
    }

    /// The versions of a row when a statement began to wait, the last committed one and the newest: whoever has moved the
    /// row, or moves one that it has put in itself, holds a lock at its old place, where one waits that reads whatever stands
    /// and locks what it changes.
    fn locked_places(
        &self,
        statement: &CaseStatement,
        table: &str,
        row: &RowId,
    ) -> Vec<Option<VersionId>> {
        let Some(record) = self.execution.records.get(&statement.id) else {
            return Vec::new();
        };
        let before = self.standing_for_before(table, statement.id, record.sent);
        let stood = |id: &VersionId| {
            let version = self.account.chains.version(*id);
            let writer = self.execution.records.get(&version.writer);
            let is_written = writer.is_some_and(|writer| writer.answered < record.sent);
            is_written && version.undone.is_none_or(|undone| undone > record.sent)
        };
        let chain = self.account.chains.chain(table, row).iter();
        let newest = chain.rev().copied().find(stood);
        before
            .get(row)
            .copied()
            .into_iter()
            .chain(newest.map(Some))
            .collect()
    }

    /// The modes in which a statement reads each table.
    fn modes_by_table<'s>(&'s self, statement: &'s CaseStatement) -> TableModes<'s> {
        let mut tables = TableModes::new();
        for (table_use, (table, mode)) in statement.effect.uses.iter().zip(self.modes(statement)) {
            tables
                .entry(table)
                .or_default()
                .insert(Grip::of(table_use.role, mode));
        }
        tables
    }

    /// The versions of a row that the views show, each once, oldest first.
    fn versions_at(&self, table: &str, row: &RowId, moments: &[View]) -> Vec<Option<VersionId>> {
        let mut versions = Vec::new();
        for view in moments {
            let seen = view.get(table).and_then(|rows| rows.get(row));
            let seen = seen.copied().flatten();
            if !versions.contains(&seen) {
                versions.push(seen);
            }
        }
        versions
    }

    /// Whether the row had other values in a column of a key at one of these moments, and so another
    /// place, before or behind the cursor. Where gaps are not locked (`mixes`) the columns of any
    /// index count.
    fn moved(
        &self,
        table: &str,
        now: Option<VersionId>,
        then: &[Option<VersionId>],
        mixes: bool,
    ) -> bool {
        let Some(shape) = self.case.table(table) else {
            return false;
        };
        let chains = &self.account.chains;
        let mut versions = then.iter().copied().chain([now]).flatten();
        let first = versions.next();
        let differ = if mixes { other_columns } else { other_keys };
        first.is_some_and(|first| versions.any(|version| differ(shape, chains, first, version)))
    }

    /// Why a statement that waited may have seen more than one choice for each row.
    fn beyond(&self, statement: &CaseStatement, read: &TableModes<'_>) -> Option<UndecidedReason> {
        if !tables_in_two_modes(read).is_empty() {
            return Some(UndecidedReason::OneTableInTwoReadModes);
        }
        let single = |table: &str| {
            count_mentions(&statement.sql, table, self.dialect).is_some_and(|count| count <= 1)
        };
        // A table to which a foreign key alone leads is no part of a join: the engine looks there for the key of a row that it
        // writes, and what it finds stays locked.
        let is_named = |table: &str| {
            let mut uses = statement.effect.uses.iter();
            uses.any(|used| used.table == table && !used.role.is_by_foreign_key())
        };
        let read_by_row: Vec<&str> = read
            .iter()
            .filter(|(_, grips)| !grips.contains(&Grip::Snapshot))
            .map(|(table, _)| *table)
            .filter(|table| is_named(table))
            // The body of a trigger reads a row of its table when it writes it, and no other.
            .filter(|table| !statement.effect.is_triggered_on(table))
            .collect();
        let once = match read_by_row.as_slice() {
            [] => true,
            // In a query of its own a source may be read again for each row of the target.
            [table] => single(table),
            _ => false,
        };
        (!once).then_some(UndecidedReason::RowReadAgainAfterAWait)
    }

    /// What an UPDATE of this transaction allows that may have matched a row without changing it.
    /// Some engines make a version then and some do not (MDEV-26642, MySQL#100328), so a snapshot
    /// shows what it showed, or what the UPDATE found.
    fn no_op_updates(&self, statement: &CaseStatement, promised: &View, latitude: &mut Latitude) {
        let id = statement.id;
        for (table, seen) in self.through_snapshot(statement, promised) {
            let disciplined = self
                .case
                .table(table)
                .is_some_and(|shape| shape.version_key.is_some());
            if disciplined {
                continue;
            }
            let updates = self.case.earlier_in_transaction(id).filter(|other| {
                other.effect.targets().any(|target| target == table)
                    && matches!(
                        other.effect.kind,
                        StatementKind::Update | StatementKind::Insert
                    )
                    && self.timeline.undone(other.id).is_none_or(|tick| {
                        self.execution
                            .records
                            .get(&id)
                            .is_some_and(|record| tick > record.sent)
                    })
            });
            let found: Vec<&TableView> = updates
                .filter_map(|update| self.account.views.get(&update.id)?.get(table))
                .collect();
            for (row, shown) in seen {
                if shown.is_some_and(|version| self.is_own(version, id)) {
                    continue;
                }
                let sights = found
                    .iter()
                    .filter_map(|rows| *rows.get(row)?)
                    .filter(|version| self.content(Some(*version)).is_some())
                    .filter(|version| !self.is_own(*version, id))
                    .filter(|version| self.content(Some(*version)) != self.content(*shown))
                    .map(Sight::Version)
                    .collect::<BTreeSet<_>>();
                latitude.row(table, row, Doubt::NoOpUpdate, sights);
            }
        }
    }

    /// What a snapshot allows that shows a row at its old place though the reader's transaction wrote
    /// it at a new one.
    fn old_places(&self, statement: &CaseStatement, promised: &View, latitude: &mut Latitude) {
        let snapshot = self.snapshots.get(&statement.id.transaction).copied();
        let sent = self.execution.records.get(&statement.id).map(|r| r.sent);
        let Some((snapshot, sent)) = snapshot.zip(sent) else {
            return;
        };
        for (table, seen) in self.through_snapshot(statement, promised) {
            let Some(shape) = self.case.table(table) else {
                continue;
            };
            for (row, shown) in seen {
                let chains = &self.account.chains;
                let chain = chains.chain(table, row);
                let mut newest_first = chain.iter().rev().copied();
                let own = newest_first.find(|id| self.is_own_standing(*id, statement, sent));
                let Some(own) = own else {
                    continue;
                };
                let is_own = |id: &VersionId| self.is_own_standing(*id, statement, sent);
                // Where rows lie by a key of the engine's own, one that replaces another lies elsewhere.
                let replaces = |id| shape.clustered_key().is_none() && self.came_by_replace(id);
                let old = old_place(
                    shape,
                    chains,
                    self.timeline,
                    chain,
                    is_own,
                    replaces,
                    snapshot,
                );
                let Some(old) = old else {
                    continue;
                };
                let stands = self.content(Some(own)).is_some();
                let sights = if *shown == Some(old) {
                    // A probe met the old place alone; another way to the row meets the own version.
                    let own = stands.then_some(Sight::Version(own));
                    own.into_iter().chain([Sight::Nothing]).collect()
                } else if *shown != Some(own) {
                    Vec::new()
                } else if stands {
                    vec![Sight::Version(old), Sight::Nothing, Sight::Beside(old)]
                } else {
                    vec![Sight::Version(old)]
                };
                latitude.row(table, row, Doubt::MovedKey, sights);
            }
        }
    }

    /// What a snapshot allows that shows a row whose value of a unique key another row took over, which the
    /// reader's transaction wrote: by that key it may be missing.
    fn taken_over_keys(&self, statement: &CaseStatement, promised: &View, latitude: &mut Latitude) {
        let Some(sent) = self.execution.records.get(&statement.id).map(|r| r.sent) else {
            return;
        };
        let chains = &self.account.chains;
        let own = |id: &VersionId| self.is_own_standing(*id, statement, sent);
        for (table, seen) in self.through_snapshot(statement, promised) {
            let Some(shape) = self.case.table(table) else {
                continue;
            };
            for (row, shown) in seen {
                let Some(shown) = shown.filter(|shown| !own(shown)) else {
                    continue;
                };
                let mut others = chains.table(table).filter(|(other, _)| *other != row);
                if others.any(|(_, chain)| takes_over(shape, chains, shown, chain, own, sent)) {
                    latitude.row(table, row, Doubt::TakenOverKey, [Sight::Nothing]);
                }
            }
        }
    }

    /// Whether a version was made by the reader's transaction before it, and not taken back when it was sent.
    fn is_own_standing(&self, id: VersionId, reader: &CaseStatement, sent: Tick) -> bool {
        let version = self.account.chains.version(id);
        version.writer.transaction == reader.id.transaction
            && version.writer.position < reader.id.position
            && version.undone.is_none_or(|undone| undone > sent)
    }

    /// The tables of a view that the statement reads through its transaction's snapshot, or may read so.
    fn through_snapshot<'v>(
        &self,
        statement: &CaseStatement,
        promised: &'v View,
    ) -> Vec<(&'v str, &'v TableView)> {
        let tables: BTreeSet<&str> = self
            .modes(statement)
            .filter(|(_, mode)| {
                matches!(
                    mode,
                    ReadMode::TransactionSnapshot | ReadMode::EitherSnapshot
                )
            })
            .map(|(table, _)| table)
            .collect();
        promised
            .iter()
            .filter(|(table, _)| tables.contains(table.as_str()))
            .map(|(table, seen)| (table.as_str(), seen))
            .collect()
    }

    fn is_own(&self, version: VersionId, reader: StatementId) -> bool {
        let writer = self.account.chains.version(version).writer;
        writer.transaction == reader.transaction
    }

    pub(super) fn content(&self, version: Option<VersionId>) -> Option<&Row> {
        self.account.chains.row(version?)
    }
}

/// How a statement reads each of its tables.
type TableModes<'a> = BTreeMap<&'a str, BTreeSet<Grip>>;

/// The tables that are read in more than one way.
fn tables_in_two_modes<'a>(read: &TableModes<'a>) -> BTreeSet<&'a str> {
    let in_two_modes = read.iter().filter(|(_, grips)| grips.len() > 1);
    in_two_modes.map(|(table, _)| *table).collect()
}

/// How a statement holds on to the rows it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Grip {
    /// It locks what counts: such a row stays as it was read.
    Locks,
    /// It reads each row whenever its cursor comes by.
    Passes,
    /// All rows as of one moment.
    Snapshot,
}

impl Grip {
    fn of(role: Role, mode: ReadMode) -> Self {
        match mode {
            ReadMode::Current => Self::Locks,
            ReadMode::Anything if role.is_target() => Self::Locks,
            ReadMode::Anything => Self::Passes,
            ReadMode::StatementSnapshot
            | ReadMode::TransactionSnapshot
            | ReadMode::EitherSnapshot => Self::Snapshot,
        }
    }
}

/// What a statement may see of a row that had these versions while it waited, at a level where each
/// row is as of some moment.
fn mixed_sights(
    learning: &Learning<'_>,
    now: Option<VersionId>,
    then: &[Option<VersionId>],
    grips: &BTreeSet<Grip>,
) -> Vec<Sight> {
    let mut sights = BTreeSet::new();
    for version in then {
        if learning.content(*version) == learning.content(now) {
            continue;
        }
        let stood = version.filter(|id| learning.content(Some(*id)).is_some());
        for grip in grips {
            match (grip, stood) {
                (Grip::Snapshot, _) => {}
                (Grip::Locks | Grip::Passes, None) => {
                    sights.insert(Sight::Nothing);
                }
                (Grip::Locks, Some(id)) => {
                    sights.insert(Sight::PassedOver(id));
                }
                (Grip::Passes, Some(id)) => {
                    sights.insert(Sight::Version(id));
                }
            }
        }
    }
    sights.into_iter().collect()
}

/// What a statement may see of a row that was moved to another place while it waited: with a lock
/// only its new place, or nothing; without one, where rows may be read at several moments, both.
fn moved_sights(
    learning: &Learning<'_>,
    now: Option<VersionId>,
    then: &[Option<VersionId>],
    grips: &BTreeSet<Grip>,
    mixes: bool,
) -> Vec<Sight> {
    let mut sights = BTreeSet::new();
    if learning.content(now).is_some() && !grips.contains(&Grip::Snapshot) {
        sights.insert(Sight::Nothing);
    }
    if mixes && grips.contains(&Grip::Passes) {
        let stood = then
            .iter()
            .flatten()
            .filter(|id| learning.content(Some(**id)).is_some())
            .filter(|id| Some(**id) != now);
        for id in stood {
            sights.insert(Sight::Version(*id));
            if learning.content(now).is_some() {
                sights.insert(Sight::Beside(*id));
            }
        }
    }
    sights.into_iter().collect()
}
