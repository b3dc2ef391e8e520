//! Statements that were refused as not serializable though no row that they would write or lock is newer than the snapshot of their
//! transaction (PostgreSQL manual, "Repeatable Read Isolation Level").

use std::collections::BTreeSet;

use super::breach::BrokenLock;
use super::locking_read::LockingRead;
use super::may_hold;
use super::passed_by_upsert::is_plain_upsert;
use super::refused::unfounded;
use super::trial::{ReadTrial, same};
use super::unrefused::{seen_by, sure_of};
use crate::dialect::{Capability, SerializationCause};
use crate::engine::EngineError;
use crate::model::{
    CaseStatement, ErrorClass, Outcome, StatementId, StatementKind, StatementRecord, Tick,
};
use crate::observe::{RowId, VersionId};
use crate::oracle::Evidence;
use crate::statement::mentions;

/// An UPDATE or DELETE of one table, an upsert, or a read that locks, which was refused at once, and no row that it changes, meets or locks
/// has a newer version.
pub(super) fn find(
    evidence: &Evidence,
    id: StatementId,
    trial: &mut ReadTrial<'_>,
) -> Result<Option<BrokenLock>, EngineError> {
    let Some((statement, record)) = sure_of(evidence, id) else {
        return Ok(None);
    };
    let refused = record.outcome.error_class() == Some(ErrorClass::Serialization);
    if !refused || record.resumed() || !needs_a_newer_row(evidence, statement) {
        return Ok(None);
    }
    let is_unfounded = if statement.effect.kind == StatementKind::LockingSelect {
        locks_no_newer_row(evidence, id, trial)?
    } else if is_plain_upsert(evidence, statement) {
        meets_no_newer_row(evidence, statement, record, trial)?
    } else {
        writes_no_newer_row(evidence, statement, record, trial)?
    };
    let told = "no row that it finds has been changed since the snapshot";
    Ok(is_unfounded.then(|| unfounded(record, told)))
}

/// Whether only a newer row refuses a statement so: by its level, and nobody changes how a table is stored.
fn needs_a_newer_row(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let (case, dialect) = (&evidence.case, &evidence.dialect);
    let level = case.judged_level(statement.session);
    let mut statements = case.statements.iter();
    dialect.supports(Capability::LocksChosenRows)
        && dialect.serialization_cause(level) == SerializationCause::NewerRow
        && statements.all(|s| s.effect.storage_change.is_none())
}

/// Whether a write finds rows, and none of them has a newer version.
fn writes_no_newer_row(
    evidence: &Evidence,
    statement: &CaseStatement,
    record: &StatementRecord,
    trial: &mut ReadTrial<'_>,
) -> Result<bool, EngineError> {
    let mut targets = statement.effect.targets();
    let (Some(table), None) = (targets.next(), targets.next()) else {
        return Ok(false);
    };
    if !is_plain_write(evidence, statement, table) {
        return Ok(false);
    }
    let seen = seen_by(evidence, statement.id);
    let Some(touched) = trial.touched_by(statement, &seen, table)? else {
        return Ok(false);
    };
    let newer = newer_rows(evidence, record, table);
    Ok(!touched.is_empty() && !touched.iter().any(|row| newer.contains(row)))
}

/// Whether an upsert would add as many rows if those of which there is a newer version were not there, in whichever version: none
/// of them is in its way.
fn meets_no_newer_row(
    evidence: &Evidence,
    statement: &CaseStatement,
    record: &StatementRecord,
    trial: &mut ReadTrial<'_>,
) -> Result<bool, EngineError> {
    let (account, mut targets) = (&evidence.account, statement.effect.targets());
    let (Some(table), None) = (targets.next(), targets.next()) else {
        return Ok(false);
    };
    let view = account.views.get(&statement.id);
    let is_known = view.is_some_and(|view| view.contains_key(table));
    // A parent is looked for in the snapshot, and locked.
    let names_all = !statement
        .effect
        .uses
        .iter()
        .any(|used| used.role.is_unnamed());
    if !is_known || !names_all || !is_whole(evidence, table) {
        return Ok(false);
    }
    let seen = seen_by(evidence, statement.id);
    for row in newer_rows(evidence, record, table) {
        let mut without = seen.clone();
        without.entry(table.to_owned()).or_default().remove(row);
        let Some(free) = trial.added_by(statement, &without, table)? else {
            return Ok(false);
        };
        let mut versions = account.chains.table(table).filter(|(of, _)| *of == row);
        let versions = versions.next().into_iter().flat_map(|(_, chain)| chain);
        for content in versions.filter_map(|version| account.chains.row(*version)) {
            let mut with = without.clone();
            let rows = with.entry(table.to_owned()).or_default();
            rows.insert(row.clone(), content.clone());
            let added = trial.added_by(statement, &with, table)?;
            if added.is_none_or(|added| added < free) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether a write writes the rows that it finds, each with a trace, and meets no others: no foreign key, no trigger, no partition.
fn is_plain_write(evidence: &Evidence, statement: &CaseStatement, table: &str) -> bool {
    let effect = &statement.effect;
    matches!(effect.kind, StatementKind::Update | StatementKind::Delete)
        && effect.leaves_a_trace(evidence.case.version_key(table))
        && !effect.uses.iter().any(|used| used.role.is_unnamed())
        && is_whole(evidence, table)
}

fn is_whole(evidence: &Evidence, table: &str) -> bool {
    let shape = evidence.case.table(table);
    shape.is_some_and(|shape| shape.partitioning.is_none())
}

/// Whether a read finds the same without the rows of which there is a newer version: it comes to lock none of them.
fn locks_no_newer_row(
    evidence: &Evidence,
    id: StatementId,
    trial: &mut ReadTrial<'_>,
) -> Result<bool, EngineError> {
    let Some(read) = LockingRead::sent(evidence, id) else {
        return Ok(false);
    };
    let is_plain = |table: &&str| {
        is_whole(evidence, table) && mentions(&read.statement.sql, table, &evidence.dialect)
    };
    if !may_hold::finds_rows_plainly(evidence, &read) || !read.locked.iter().all(is_plain) {
        return Ok(false);
    }
    let mut newer = Vec::new();
    for table in &read.locked {
        let rows = newer_rows(evidence, read.record, table);
        newer.extend(rows.into_iter().map(|row| (*table, row)));
    }
    let all = trial.answer(&read, &read.seen)?;
    let others = trial.answer(&read, &read.without(&newer))?;
    Ok(all
        .zip(others)
        .is_some_and(|(all, others)| matches!(all, Outcome::Rows(_)) && same(&read, &all, &others)))
}

/// The rows of a table of which another transaction that may have ended since the snapshot of this one made a version.
fn newer_rows<'e>(
    evidence: &'e Evidence,
    record: &StatementRecord,
    table: &str,
) -> BTreeSet<&'e RowId> {
    let since = before_snapshot(evidence, record);
    let chains = &evidence.account.chains;
    let is_newer = |version: &VersionId| {
        let writer = chains.version(*version).writer.transaction;
        let ended = evidence.execution.commit_tick(writer);
        writer != record.id.transaction && ended.is_none_or(|at| at > since)
    };
    let rows = chains.table(table);
    let rows = rows.filter(|(_, chain)| chain.iter().any(is_newer));
    rows.map(|(row, _)| row).collect()
}

/// A moment at which a transaction had no snapshot yet: its first statement that is none of control was sent then.
fn before_snapshot(evidence: &Evidence, record: &StatementRecord) -> Tick {
    let own = evidence.case.statements.iter();
    let own = own.filter(|s| s.id.transaction == record.id.transaction);
    let reads = own.filter(|s| !s.effect.kind.is_control());
    let sent = reads.filter_map(|s| Some(evidence.execution.records.get(&s.id)?.sent));
    sent.min().unwrap_or(record.sent)
}
