//! Rows newer than the snapshot of a transaction, which a statement wrote or locked though its level has it refused
//! (PostgreSQL manual, "Repeatable Read Isolation Level": "a repeatable read transaction cannot modify or lock rows changed by
//! other transactions after the repeatable read transaction began").

use super::breach::BrokenLock;
use super::locking_read::{FoundRows, LockingRead};
use super::trial::ReadTrial;
use crate::dialect::Capability;
use crate::engine::EngineError;
use crate::model::{
    CaseStatement, Form, LockBreach, StatementId, StatementRecord, Tick, TransactionId,
};
use crate::observe::{RowId, Version, VersionId};
use crate::oracle::Evidence;
use crate::oracle::view::rows_of;

/// A write that replaced a version which was committed after its transaction had its snapshot.
pub(super) fn write(evidence: &Evidence, id: StatementId) -> Option<BrokenLock> {
    let statement = evidence.case.statement(id)?;
    let record = evidence.execution.records.get(&id)?;
    if record.outcome.error_class().is_some() || !refuses_newer_rows(evidence, statement) {
        return None;
    }
    let snapshot = snapshot_is_taken(evidence, id.transaction)?;
    let changes = evidence.account.changes.get(&id).into_iter().flatten();
    let mut replaced = changes.filter_map(|change| change.before);
    let newer = replaced.find(|version| {
        committed(evidence, *version, id.transaction).is_some_and(|commit| commit.sent > snapshot)
    })?;
    Some(unrefused(record, evidence.account.chains.version(newer)))
}

/// A read whose result depends on a row of which a newer version had been committed when it was sent, and which it locks
/// against changes.
pub(super) fn read(
    evidence: &Evidence,
    read: &LockingRead<'_>,
    trial: &mut ReadTrial<'_>,
) -> Result<Option<BrokenLock>, EngineError> {
    let rules = &evidence.dialect.lock_rules;
    let clause = read.statement.effect.lock;
    let is_kept_out = clause.is_some_and(|lock| rules.keeps_changes_out(lock));
    if !is_kept_out || !refuses_newer_rows(evidence, read.statement) {
        return Ok(None);
    }
    for (table, row, newer) in newer_rows(evidence, read, read.record.sent) {
        let without = read.without(&[(table, row)]);
        let depends = trial.agrees(read, &read.seen)? == Some(true)
            && trial.agrees(read, &without)? == Some(false);
        if depends {
            return Ok(Some(unrefused(read.record, newer)));
        }
    }
    Ok(None)
}

/// The rows that a read shows, of tables where a snapshot chooses what it locks, and of each the first version that another
/// transaction committed after the snapshot and before this moment.
pub(super) fn newer_rows<'e>(
    evidence: &'e Evidence,
    read: &LockingRead<'e>,
    until: Tick,
) -> Vec<(&'e str, &'e RowId, &'e Version)> {
    let transaction = read.transaction();
    let Some(snapshot) = snapshot_is_taken(evidence, transaction) else {
        return Vec::new();
    };
    let chains = &evidence.account.chains;
    let is_newer = |version: &&VersionId| {
        let commit = committed(evidence, **version, transaction);
        commit.is_some_and(|commit| commit.sent > snapshot && commit.answered < until)
    };
    let mut rows = Vec::new();
    for table in read.locked.intersection(&read.by_snapshot) {
        let shown = chains
            .table(table)
            .filter(|(row, _)| read.shows(table, row));
        rows.extend(shown.filter_map(|(row, chain)| {
            let newer = chain.iter().find(is_newer)?;
            Some((*table, row, chains.version(*newer)))
        }));
    }
    rows
}

/// An INSERT with `ON CONFLICT DO NOTHING` that passed over a row which its snapshot does not show: at READ COMMITTED alone it
/// may (same chapter).
pub(super) fn passed_over(
    evidence: &Evidence,
    id: StatementId,
    trial: &mut ReadTrial<'_>,
) -> Result<Option<BrokenLock>, EngineError> {
    let Some((statement, record)) = sure_of(evidence, id) else {
        return Ok(None);
    };
    let account = &evidence.account;
    let passes = statement.effect.forms.contains(&Form::OnConflictDoNothing);
    if !passes || record.outcome.error_class().is_some() {
        return Ok(None);
    }
    let snapshot = snapshot_is_taken(evidence, id.transaction);
    let snapshot = snapshot.filter(|_| refuses_newer_rows(evidence, statement));
    let mut targets = statement.effect.targets();
    let (Some(snapshot), Some(table), None) = (snapshot, targets.next(), targets.next()) else {
        return Ok(None);
    };
    let seen = seen_by(evidence, id);
    // Of the row there is no version that is as old as the snapshot.
    let is_new = |version: &VersionId| {
        let commit = committed(evidence, *version, id.transaction);
        commit.is_some_and(|commit| commit.sent > snapshot)
    };
    let unseen = account.chains.table(table).filter(|(row, chain)| {
        let is_there = seen.get(table).is_some_and(|rows| rows.contains_key(*row));
        is_there && !chain.is_empty() && chain.iter().all(is_new)
    });
    let unseen: Vec<(&RowId, &VersionId)> = unseen
        .filter_map(|(row, chain)| Some((row, chain.last()?)))
        .collect();
    if unseen.is_empty() {
        return Ok(None);
    }
    let Some(with) = trial.added_by(statement, &seen, table)? else {
        return Ok(None);
    };
    for (row, version) in unseen {
        let mut without = seen.clone();
        without.entry(table.to_owned()).or_default().remove(row);
        let more = trial.added_by(statement, &without, table)?;
        if more.is_some_and(|more| more > with) {
            return Ok(Some(unrefused(record, account.chains.version(*version))));
        }
    }
    Ok(None)
}

/// Whether a statement runs at a level that refuses what is newer than the snapshot of its transaction.
fn refuses_newer_rows(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let level = evidence.case.judged_level(statement.session);
    evidence.dialect.supports(Capability::LocksChosenRows)
        && !evidence.dialect.re_evaluates_after_wait.contains(&level)
        && evidence.case.is_explicit(statement.id.transaction)
}

/// By when a transaction surely had its snapshot: its first statement that names a table was answered. While that waits for a
/// table it may have none yet.
fn snapshot_is_taken(evidence: &Evidence, transaction: TransactionId) -> Option<Tick> {
    let first = evidence.first_of_tables(transaction);
    first.map(|first| first.answered)
}

/// A statement that was answered, with its answer; none where what it saw is in doubt.
pub(super) fn sure_of(
    evidence: &Evidence,
    id: StatementId,
) -> Option<(&CaseStatement, &StatementRecord)> {
    let account = &evidence.account;
    let is_doubtful = account.unsure.contains_key(&id) || account.latitudes.contains_key(&id);
    let statement = evidence.case.statement(id).filter(|_| !is_doubtful)?;
    Some((statement, evidence.execution.records.get(&id)?))
}

/// The rows of a statement's view; no table where it has none.
pub(super) fn seen_by(evidence: &Evidence, id: StatementId) -> FoundRows {
    let view = evidence.account.views.get(&id).into_iter().flatten();
    view.map(|(table, seen)| (table.clone(), rows_of(evidence, seen)))
        .collect()
}

/// What committed a version that another transaction of the case made, if it was.
fn committed(
    evidence: &Evidence,
    version: VersionId,
    own: TransactionId,
) -> Option<&StatementRecord> {
    let version = evidence.account.chains.version(version);
    let writer = version.writer.transaction;
    let is_of_another = writer != own && version.undone.is_none();
    let end = evidence.execution.commit_record(writer);
    end.filter(|_| is_of_another)
}

pub(super) fn unrefused(record: &StatementRecord, newer: &Version) -> BrokenLock {
    BrokenLock {
        kind: LockBreach::UnrefusedNewerRow,
        statement: record.id,
        against: Some(newer.writer),
        padded: false,
        expected: "error serialization".to_owned(),
        got: record.outcome.to_string(),
        told: format!(
            "{} had changed the row of {} with the key {} after the snapshot",
            newer.writer, newer.table, newer.id.key
        ),
    }
}
