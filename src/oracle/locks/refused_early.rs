//! Writes that were refused for a row which another open transaction had changed: they have to wait for it first.

use super::breach::BrokenLock;
use super::holders::LockHolders;
use super::locking_read::{FoundRows, newest_standing};
use super::trial::ReadTrial;
use super::unrefused::{seen_by, sure_of};
use crate::dialect::{Capability, Dialect};
use crate::engine::EngineError;
use crate::model::{
    CaseStatement, ErrorClass, LockBreach, ReadMode, Role, StatementId, StatementKind,
    StatementRecord,
};
use crate::observe::VersionId;
use crate::oracle::Evidence;

/// A write that was refused at once, as a duplicate or for a foreign key, though it would be done if the transactions that are open
/// committed now: every row that refuses it was changed or added by one of them. An engine locks such a row before it tells
/// (MySQL manual, "Locks Set by Different SQL Statements in InnoDB": a duplicate-key error sets a shared lock on the duplicate index
/// record, and a foreign key constraint sets one on the records that are looked at to check it), or waits for its transaction
/// (PostgreSQL manual, "Index Uniqueness Checks"). A foreign key of PostgreSQL does not see a parent that is not committed.
pub(super) fn find(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    id: StatementId,
    trial: &mut ReadTrial<'_>,
) -> Result<Option<BrokenLock>, EngineError> {
    let Some((statement, record)) = sure_of(evidence, id) else {
        return Ok(None);
    };
    let class = record.outcome.error_class();
    if record.resumed() || !has_to_wait(&evidence.dialect, class) || !is_plain(evidence, statement)
    {
        return Ok(None);
    }
    let seen = seen_by(evidence, id);
    let mut uses = statement.effect.uses.iter();
    if !uses.all(|used| seen.contains_key(&used.table)) {
        return Ok(None);
    }
    let held = held(evidence, holders, record, &seen);
    let Some(first) = held.first() else {
        return Ok(None);
    };
    let first = evidence.account.chains.version(*first);
    let uncommitted = with(evidence, &seen, &held);
    let depends = trial.refusal_on(statement, &seen)? == Some(class)
        && trial.refusal_on(statement, &uncommitted)? == Some(None);
    Ok(depends.then(|| {
        let told = format!(
            "it is refused for rows that {} had left uncommitted, as the one of {} with the key {}",
            first.writer.transaction, first.table, first.id.key
        );
        BrokenLock::without_waiting(LockBreach::UnlockedWrite, record, first.writer, told)
    }))
}

/// Whether an engine tells of such an error after it has the lock of the row that it is about.
fn has_to_wait(dialect: &Dialect, class: Option<ErrorClass>) -> bool {
    let locks_what_it_meets = !dialect.supports(Capability::PassesOverUnfitRows);
    let locks_parents = !dialect.supports(Capability::LocksChosenRows);
    locks_what_it_meets
        && (class == Some(ErrorClass::Duplicate)
            || (class == Some(ErrorClass::ForeignKey) && locks_parents))
}

/// Whether a statement writes rows that it names or finds by current rows, and reads no other table than for its foreign keys.
fn is_plain(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let effect = &statement.effect;
    let is_current = |role: Role| match evidence.promised_mode(statement, role) {
        ReadMode::Current | ReadMode::StatementSnapshot => true,
        ReadMode::TransactionSnapshot | ReadMode::EitherSnapshot | ReadMode::Anything => false,
    };
    let is_own = |role: Role| {
        matches!(
            role,
            Role::InsertTarget | Role::UpdateTarget | Role::DeleteTarget
        )
    };
    let mut uses = effect.uses.iter();
    matches!(
        effect.kind,
        StatementKind::Insert | StatementKind::Update | StatementKind::Delete
    ) && uses
        .all(|used| (is_own(used.role) || used.role.is_by_foreign_key()) && is_current(used.role))
}

/// The versions that stood before the statement was sent of rows that other transactions had changed, and surely held until it was
/// answered.
fn held(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    record: &StatementRecord,
    seen: &FoundRows,
) -> Vec<VersionId> {
    let chains = &evidence.account.chains;
    let rows = seen.keys().flat_map(|table| chains.table(table));
    let newest = rows.filter_map(|(_, chain)| newest_standing(evidence, record, chain, &[]));
    newest
        .filter(|id| {
            let writer = chains.version(*id).writer.transaction;
            writer != record.id.transaction && holders.surely_holds(writer, record.answered)
        })
        .collect()
}

/// These tables with these versions in place of what they have of the same rows.
fn with(evidence: &Evidence, seen: &FoundRows, versions: &[VersionId]) -> FoundRows {
    let mut tables = seen.clone();
    for version in versions {
        let version = evidence.account.chains.version(*version);
        let rows = tables.entry(version.table.clone()).or_default();
        match &version.row {
            Some(row) => rows.insert(version.id.clone(), row.clone()),
            None => rows.remove(&version.id),
        };
    }
    tables
}
