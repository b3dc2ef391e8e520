//! Rows and ranges that a read had locked, changed by others while its transaction was open.

use super::breach::BrokenLock;
use super::holders::LockHolders;
use super::locking_read::{FoundRows, LockingRead};
use super::strength::excludes_change;
use super::trial::ReadTrial;
use crate::dialect::LockReach;
use crate::engine::EngineError;
use crate::model::{Doubt, LockBreach, StatementId, StatementRecord};
use crate::observe::{Change, RowLatitude, Sight, VersionId};
use crate::oracle::Evidence;

/// A later write of another session, made while the reader's transaction was surely open.
struct LaterWrite<'e> {
    record: &'e StatementRecord,
    /// What it changed in tables that the read had locked.
    changes: Vec<&'e Change>,
}

/// A write that gives the read another result, where it should have waited for the read's locks.
pub(super) fn find(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    read: &LockingRead<'_>,
    trial: &mut ReadTrial<'_>,
) -> Result<Option<BrokenLock>, EngineError> {
    let level = evidence.case.judged_level(read.statement.session);
    let Some(reach) = evidence.dialect.lock_reach(level) else {
        return Ok(None);
    };
    let writes = later_writes(evidence, holders, read);
    if writes.is_empty() {
        return Ok(None);
    }
    let judge = Judge { evidence, read };
    let keeps_rows = read.locked.iter().any(|table| read.keeps_rows_of(table));
    // One that passes over locked rows is asked for what it found alone.
    let ranges = reach == LockReach::Ranges
        && !read.statement.effect.depends_on_locks
        && read.latitude.is_none();
    if !keeps_rows && !ranges {
        return Ok(None);
    }
    // Once with all that had to wait, as most changes leave the result as it is.
    let mut all = read.seen.clone();
    for change in writes.iter().flat_map(|write| &write.changes) {
        if ranges || judge.was_there(change) {
            judge.apply(&mut all, change);
        }
    }
    if all == read.seen {
        return Ok(None);
    }
    let gives_another = trial.agrees(read, &all)? == Some(false);
    let mut locked = read.locked.iter();
    let locks_whole_rows = locked.any(|table| read.locks_whole_rows_of(table));
    if keeps_rows
        && (gives_another || locks_whole_rows)
        && let Some(broken) = judge.changed_row(&writes, trial)?
    {
        return Ok(Some(broken));
    }
    if ranges && gives_another {
        judge.changed_range(&writes, trial)
    } else {
        Ok(None)
    }
}

/// The writes of other sessions that were sent after the read answered, in the order in which they
/// answered.
fn later_writes<'e>(
    evidence: &'e Evidence,
    holders: &LockHolders<'_>,
    read: &LockingRead<'_>,
) -> Vec<LaterWrite<'e>> {
    let order = evidence.execution.execution_order();
    let writes = order.into_iter().filter_map(|id| {
        let record = evidence.execution.records.get(&id)?;
        let changes = evidence.account.changes.get(&id)?;
        let meets =
            record.outcome.error_class().is_none() && holders.holds_beside(read.record, record);
        let locked = |change: &&Change| read.locked.contains(change.table.as_str());
        let excluded =
            |change: &&Change| excludes_change(evidence, read.strength_on(&change.table), change);
        let changes = changes.iter().filter(locked).filter(excluded);
        let changes: Vec<&Change> = changes.collect();
        (meets && !changes.is_empty()).then_some(LaterWrite { record, changes })
    });
    writes.collect()
}

struct Judge<'j> {
    evidence: &'j Evidence,
    read: &'j LockingRead<'j>,
}

impl Judge<'_> {
    /// Whether the row was there when the read looked.
    fn was_there(&self, change: &Change) -> bool {
        self.read.shows(&change.table, &change.row)
    }

    /// A write that changed a row which the read had found.
    fn changed_row(
        &self,
        writes: &[LaterWrite<'_>],
        trial: &mut ReadTrial<'_>,
    ) -> Result<Option<BrokenLock>, EngineError> {
        let found =
            |change: &&&Change| self.was_there(change) && self.read.keeps_rows_of(&change.table);
        for write in writes {
            for change in write.changes.iter().filter(found) {
                let mut changed = self.read.seen.clone();
                self.apply(&mut changed, change);
                let without = self.read.without(&[(&change.table, &change.row)]);
                let seen = &self.read.seen;
                let is_held = self.read.locks_whole_rows_of(&change.table)
                    || trial.tells_apart(self.read, seen, &changed)?;
                if is_held
                    && trial.tells_apart(self.read, seen, &without)?
                    && trial.agrees(self.read, seen)? == Some(true)
                    && was_met(self.evidence, self.read, change, trial)?
                {
                    let told = format!(
                        "it changed a row of {}, with the key {}, that {} had found",
                        change.table, change.row.key, self.read.statement.id
                    );
                    return Ok(Some(self.breach(LockBreach::UnkeptRow, write, told)));
                }
            }
        }
        Ok(None)
    }

    /// The first write after which the read would give another result. What other transactions did
    /// between the two counts, too: then one of them should have waited.
    fn changed_range(
        &self,
        writes: &[LaterWrite<'_>],
        trial: &mut ReadTrial<'_>,
    ) -> Result<Option<BrokenLock>, EngineError> {
        let mut now = self.read.seen.clone();
        for write in writes {
            let changes = write.changes.iter();
            changes.for_each(|change| self.apply(&mut now, change));
            if trial.agrees(self.read, &now)? != Some(false) {
                continue;
            }
            let seen = &self.read.seen;
            let stands = trial.agrees(self.read, seen)? == Some(true)
                && trial.tells_apart(self.read, seen, &now)?;
            let would = if self.read.statement.effect.kind.is_write() {
                "match other rows"
            } else {
                "give another result"
            };
            let told = format!("{} would {would} after it", self.read.statement.id);
            return Ok(stands.then(|| self.breach(LockBreach::UnkeptRange, write, told)));
        }
        Ok(None)
    }

    fn apply(&self, tables: &mut FoundRows, change: &Change) {
        let chains = &self.evidence.account.chains;
        let rows = tables.entry(change.table.clone()).or_default();
        let after: VersionId = change.after;
        match chains.row(after) {
            Some(row) => rows.insert(change.row.clone(), row.clone()),
            None => rows.remove(&change.row),
        };
    }

    fn breach(&self, kind: LockBreach, write: &LaterWrite<'_>, told: String) -> BrokenLock {
        let reader: StatementId = self.read.statement.id;
        BrokenLock::without_waiting(kind, write.record, reader, told)
    }
}

/// Has a read that waited keep the rows in the newest versions that it may have met, where these give its answer and those of its
/// snapshot do not: what it locked it looked at again (PostgreSQL manual, "Read Committed Isolation Level").
pub(super) fn take_newest(
    evidence: &Evidence,
    read: &mut LockingRead<'_>,
    trial: &mut ReadTrial<'_>,
) -> Result<(), EngineError> {
    let rows = read.latitude.map_or(&[][..], |latitude| &latitude.rows);
    let mut sights = rows.iter().flat_map(|row| &row.sights);
    if rows.is_empty()
        || !sights.all(|(_, doubt)| *doubt == Doubt::ReEvaluated)
        || trial.agrees(read, &read.seen)? != Some(false)
    {
        return Ok(());
    }
    let mut newest = read.seen.clone();
    for row in rows {
        if let Some((sight, _)) = row.sights.last() {
            newest = with_sight(evidence, row, *sight, &newest);
        }
    }
    if trial.agrees(read, &newest)? == Some(true) {
        read.seen = newest;
    }
    Ok(())
}

/// How many ways to see its rows are tried of a read that waited.
const WAYS_MAX: usize = 32;

/// Whether a read has surely met a row as its view has it: however else it may have seen rows, where it saw this one otherwise
/// or not at all its answer is another one.
fn was_met(
    evidence: &Evidence,
    read: &LockingRead<'_>,
    change: &Change,
    trial: &mut ReadTrial<'_>,
) -> Result<bool, EngineError> {
    let Some(latitude) = read.latitude else {
        return Ok(true);
    };
    let is_it = |row: &RowLatitude| row.table == change.table && row.row == change.row;
    let mut others = vec![read.seen.clone()];
    for row in latitude.rows.iter().filter(|row| !is_it(row)) {
        let seen_otherwise = others
            .iter()
            .flat_map(|seen| otherwise(evidence, read, row, seen));
        let seen_otherwise: Vec<FoundRows> = seen_otherwise.collect();
        others.extend(seen_otherwise);
        if others.len() > WAYS_MAX {
            return Ok(false);
        }
    }
    for seen in others {
        // What a snapshot chooses and a lock keeps was met in whichever version.
        let by_snapshot = read.by_snapshot.contains(change.table.as_str());
        let own = latitude.rows.iter().filter(|row| is_it(row));
        let own = own.filter(|_| !by_snapshot);
        let mut ways: Vec<FoundRows> = own
            .flat_map(|row| otherwise(evidence, read, row, &seen))
            .collect();
        let mut without = seen;
        if let Some(rows) = without.get_mut(&change.table) {
            rows.remove(&change.row);
        }
        ways.push(without);
        for way in ways {
            if trial.agrees(read, &way)? != Some(false) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The tables with one row as it may have been seen otherwise, each way.
fn otherwise(
    evidence: &Evidence,
    read: &LockingRead<'_>,
    row: &RowLatitude,
    seen: &FoundRows,
) -> Vec<FoundRows> {
    let view = evidence.account.views.get(&read.statement.id);
    let promised = view.and_then(|view| view.get(&row.table)?.get(&row.row).copied().flatten());
    let promised = promised.map_or(Sight::Nothing, Sight::Version);
    let sights = row.sights.iter().map(|(sight, _)| *sight);
    let ways = std::iter::once(promised).chain(sights);
    let ways = ways.map(|sight| with_sight(evidence, row, sight, seen));
    ways.filter(|way| way != seen).collect()
}

/// The tables with one row as this sight shows it.
fn with_sight(evidence: &Evidence, row: &RowLatitude, sight: Sight, seen: &FoundRows) -> FoundRows {
    let mut tables = seen.clone();
    let rows = tables.entry(row.table.clone()).or_default();
    let (version, beside) = match sight {
        Sight::Nothing => (None, false),
        Sight::Version(version) | Sight::PassedOver(version) => (Some(version), false),
        Sight::Beside(version) => (Some(version), true),
    };
    let mut id = row.row.clone();
    if beside {
        id.predecessors = u32::MAX;
    }
    match version.and_then(|version| evidence.account.chains.row(version)) {
        Some(content) => rows.insert(id, content.clone()),
        None => rows.remove(&id),
    };
    tables
}
