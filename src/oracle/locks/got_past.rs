//! Reads that got past a row which another transaction held.

use std::collections::BTreeSet;

use super::breach::BrokenLock;
use super::holders::LockHolders;
use super::locking_read::{HeldVersion, LockingRead, held_versions};
use super::trial::ReadTrial;
use crate::engine::EngineError;
use crate::model::LockBreach;
use crate::oracle::Evidence;

/// A read that gives another result when it also sees what open transactions have changed: whatever
/// way it took, it met one of these rows, and did not wait.
pub(super) fn find(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    read: &LockingRead<'_>,
    trial: &mut ReadTrial<'_>,
) -> Result<Option<BrokenLock>, EngineError> {
    let held = held_versions(evidence, holders, read);
    let Some(first) = held.first() else {
        return Ok(None);
    };
    let chains = &evidence.account.chains;
    let mut uncommitted = read.seen.clone();
    for HeldVersion { table, version } in &held {
        let rows = uncommitted.entry((*table).to_owned()).or_default();
        let version = chains.version(*version);
        match &version.row {
            Some(row) => rows.insert(version.id.clone(), row.clone()),
            None => rows.remove(&version.id),
        };
    }
    if !trial.tells_apart(read, &read.seen, &uncommitted)? {
        return Ok(None);
    }
    let writer = chains.version(first.version).writer;
    let writers: BTreeSet<String> = held
        .iter()
        .map(|held| chains.version(held.version).writer.to_string())
        .collect();
    let writers: Vec<String> = writers.into_iter().collect();
    Ok(Some(BrokenLock {
        kind: LockBreach::UnlockedRead,
        statement: read.statement.id,
        against: Some(writer),
        expected: format!("waits for {}", writer.transaction),
        got: read.record.outcome.to_string(),
        told: format!(
            "its result depends on rows of {} that {} had left uncommitted",
            first.table,
            writers.join(", ")
        ),
    }))
}
