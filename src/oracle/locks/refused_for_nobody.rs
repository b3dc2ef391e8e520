//! Statements that were refused as not serializable though no row that they would write or lock is newer than the snapshot of their
//! transaction (PostgreSQL manual, "Repeatable Read Isolation Level").

use std::collections::BTreeSet;

use super::breach::BrokenLock;
use super::trial::ReadTrial;
use super::unrefused::{seen_by, sure_of};
use crate::dialect::{Capability, SerializationCause};
use crate::engine::EngineError;
use crate::model::{
    CaseStatement, ErrorClass, LockBreach, StatementId, StatementKind, StatementRecord, Tick,
};
use crate::observe::{RowId, VersionId};
use crate::oracle::Evidence;

/// An UPDATE or DELETE of one table that was refused at once, and no row that it changes on its view has a newer version.
pub(super) fn find(
    evidence: &Evidence,
    id: StatementId,
    trial: &mut ReadTrial<'_>,
) -> Result<Option<BrokenLock>, EngineError> {
    let Some((statement, record)) = sure_of(evidence, id) else {
        return Ok(None);
    };
    let refused = record.outcome.error_class() == Some(ErrorClass::Serialization);
    if !refused || record.resumed() || !is_plain(evidence, statement) {
        return Ok(None);
    }
    let first = evidence.first_of_tables(id.transaction);
    let (Some(first), Some(table)) = (first, statement.effect.targets().next()) else {
        return Ok(None);
    };
    let Some(touched) = trial.touched_by(statement, &seen_by(evidence, id), table)? else {
        return Ok(None);
    };
    let newer = newer_rows(evidence, record, table, first.sent);
    let is_founded = touched.is_empty() || touched.iter().any(|row| newer.contains(row));
    Ok((!is_founded).then(|| BrokenLock {
        padded: false,
        kind: LockBreach::UnfoundedRefusal,
        statement: id,
        against: None,
        expected: "an answer".to_owned(),
        got: record.outcome.to_string(),
        told: "no row that it finds has been changed since the snapshot".to_owned(),
    }))
}

/// Whether a statement writes the rows of one table that it finds, each with a trace, and meets no others: no foreign key, no trigger, no
/// partition, and nobody changes how the table is stored.
fn is_plain(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let (case, dialect) = (&evidence.case, &evidence.dialect);
    let level = case.judged_level(statement.session);
    let effect = &statement.effect;
    let mut targets = effect.targets();
    let (Some(table), None) = (targets.next(), targets.next()) else {
        return false;
    };
    let shape = case.table(table);
    let is_whole = shape.is_some_and(|shape| shape.partitioning.is_none());
    let mut statements = case.statements.iter();
    let stays = statements.all(|s| s.effect.storage_change.is_none());
    matches!(effect.kind, StatementKind::Update | StatementKind::Delete)
        && dialect.supports(Capability::LocksChosenRows)
        && dialect.serialization_cause(level) == SerializationCause::NewerRow
        && effect.leaves_a_trace(case.version_key(table))
        && !effect.uses.iter().any(|used| used.role.is_unnamed())
        && is_whole
        && stays
}

/// The rows of a table of which another transaction that may have ended since this moment, and before the answer, made a version.
fn newer_rows<'e>(
    evidence: &'e Evidence,
    record: &StatementRecord,
    table: &str,
    since: Tick,
) -> BTreeSet<&'e RowId> {
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
