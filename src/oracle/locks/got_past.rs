//! Reads that got past a row which another transaction held.

use std::collections::BTreeSet;

use super::breach::BrokenLock;
use super::holders::LockHolders;
use super::locking_read::{HeldVersion, LockingRead, held_versions, meanwhile};
use super::trial::ReadTrial;
use crate::engine::EngineError;
use crate::model::{Direction, LockBreach};
use crate::observe::RowId;
use crate::oracle::Evidence;

/// A read that gives another result when it also sees what open transactions have changed: whatever
/// way it took, it met one of these rows, and did not wait. Where a snapshot chooses the rows to lock, one
/// that gives another result without these rows. Where they changed rows while it ran, that
/// holds whenever it looked.
pub(super) fn find(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    read: &LockingRead<'_>,
    trial: &mut ReadTrial<'_>,
) -> Result<Option<BrokenLock>, EngineError> {
    let held = held_versions(evidence, holders, read, &[]);
    if held.is_empty() {
        return Ok(None);
    }
    let Some(mut direction) = depends_on(evidence, read, &held, trial)? else {
        return Ok(None);
    };
    let meanwhile = meanwhile(evidence, read);
    for count in 1..=meanwhile.len() {
        let later = held_versions(evidence, holders, read, &meanwhile[..count]);
        if later == held {
            continue;
        }
        match depends_on(evidence, read, &later, trial)? {
            Some(same) if same == direction => {}
            Some(_) => direction = Direction::Changed,
            None => return Ok(None),
        }
    }
    Ok(Some(breach(evidence, read, &held, direction)))
}

/// In which direction the result is another one where these rows are as open transactions left them.
fn depends_on(
    evidence: &Evidence,
    read: &LockingRead<'_>,
    held: &[HeldVersion<'_>],
    trial: &mut ReadTrial<'_>,
) -> Result<Option<Direction>, EngineError> {
    let chains = &evidence.account.chains;
    let mut uncommitted = read.seen.clone();
    for HeldVersion { table, version } in held {
        let rows = uncommitted.entry((*table).to_owned()).or_default();
        let version = chains.version(*version);
        let by_snapshot = read.by_snapshot.contains(table);
        match version.row.as_ref().filter(|_| !by_snapshot) {
            Some(row) => rows.insert(version.id.clone(), row.clone()),
            None => rows.remove(&version.id),
        };
    }
    if !trial.may_have_written(read, &read.seen)? && !trial.may_have_written(read, &uncommitted)? {
        return Ok(None);
    }
    let direction = trial.difference(read, &read.seen, &uncommitted)?;
    let whole = held
        .iter()
        .filter(|held| read.locks_whole_rows_of(held.table));
    let whole = whole.map(|held| chains.version(held.version));
    let rows: Vec<(&str, &RowId)> = whole.map(|v| (v.table.as_str(), &v.id)).collect();
    if direction.is_some() || rows.is_empty() {
        return Ok(direction);
    }
    // What others have changed of the rows that it found does not show in the result.
    trial.difference(read, &read.seen, &read.without(&rows))
}

fn breach(
    evidence: &Evidence,
    read: &LockingRead<'_>,
    held: &[HeldVersion<'_>],
    direction: Direction,
) -> BrokenLock {
    let writer = |held: &HeldVersion<'_>| evidence.account.chains.version(held.version).writer;
    let first = &held[0];
    let writers: BTreeSet<String> = held.iter().map(|held| writer(held).to_string()).collect();
    let writers: Vec<String> = writers.into_iter().collect();
    let told = format!(
        "its result depends on rows of {} that {} had left uncommitted",
        first.table,
        writers.join(", ")
    );
    BrokenLock {
        padded: direction == Direction::Padded,
        ..BrokenLock::without_waiting(LockBreach::UnlockedRead, read.record, writer(first), told)
    }
}
