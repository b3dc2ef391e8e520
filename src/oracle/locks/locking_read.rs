//! Reads that lock, and the rows that others hold before them.

use std::collections::{BTreeMap, BTreeSet};

use super::holders::LockHolders;
use super::strength::{self, excludes_writer};
use crate::model::{
    CaseStatement, LockStrength, ReadMode, Role, StatementId, StatementKind, StatementRecord, Tick,
    TransactionId,
};
use crate::observe::{RowId, VersionId};
use crate::oracle::Evidence;
use crate::oracle::view::{Contents, rows_of};

/// Every table that a read names, with rows that it may find.
pub(super) type FoundRows = BTreeMap<String, Contents>;

/// A read that locked what it found, and of which it is sure what it saw.
pub(super) struct LockingRead<'e> {
    pub(super) statement: &'e CaseStatement,
    pub(super) record: &'e StatementRecord,
    /// The rows of its view.
    pub(super) seen: FoundRows,
    /// The tables whose rows it locks.
    pub(super) locked: BTreeSet<&'e str>,
    /// Those of them where a snapshot chooses the rows, which are locked then: a row that it does not show
    /// as fitting is never met.
    pub(super) by_snapshot: BTreeSet<&'e str>,
    pub(super) strength: LockStrength,
}

impl<'e> LockingRead<'e> {
    /// The read of this name; none where it is something else, was rejected, or is doubtful.
    pub(super) fn of(evidence: &'e Evidence, id: StatementId) -> Option<Self> {
        let (case, account) = (&evidence.case, &evidence.account);
        let statement = case.statement(id)?;
        let record = evidence.execution.records.get(&id)?;
        let kind = statement.effect.kind;
        let reads = matches!(kind, StatementKind::Select | StatementKind::LockingSelect);
        let certain = !account.unsure.contains_key(&id) && !account.latitudes.contains_key(&id);
        if !reads || !certain || record.outcome.error_class().is_some() {
            return None;
        }
        let view = account.views.get(&id)?;
        let TableGrips {
            locked,
            plain,
            by_snapshot,
        } = TableGrips::of(evidence, statement);
        if locked.is_empty() || !locked.is_disjoint(&plain) {
            return None;
        }
        let all_known = locked.iter().chain(&plain).all(|table| {
            let shape = case.table(table);
            shape.is_some() && view.contains_key(*table)
        });
        let seen = view
            .iter()
            .map(|(table, seen)| (table.clone(), rows_of(evidence, seen)));
        all_known.then(|| Self {
            statement,
            record,
            seen: seen.collect(),
            locked,
            by_snapshot,
            strength: strength::of_read(&statement.effect),
        })
    }

    /// Whether its view has a row.
    pub(super) fn shows(&self, table: &str, row: &RowId) -> bool {
        let rows = self.seen.get(table);
        rows.is_some_and(|rows| rows.contains_key(row))
    }

    /// The session's transaction.
    pub(super) fn transaction(&self) -> TransactionId {
        self.statement.id.transaction
    }
}

/// What a statement does with the tables that it reads, by the level that it is judged by.
#[derive(Default)]
struct TableGrips<'e> {
    locked: BTreeSet<&'e str>,
    by_snapshot: BTreeSet<&'e str>,
    plain: BTreeSet<&'e str>,
}

impl<'e> TableGrips<'e> {
    fn of(evidence: &Evidence, statement: &'e CaseStatement) -> Self {
        let mut grips = Self::default();
        for used in &statement.effect.uses {
            let table = used.table.as_str();
            match evidence.promised_mode(statement, used.role) {
                ReadMode::Current => {
                    grips.locked.insert(table);
                }
                ReadMode::TransactionSnapshot | ReadMode::StatementSnapshot
                    if used.role == Role::LockingSelect =>
                {
                    grips.locked.insert(table);
                    grips.by_snapshot.insert(table);
                }
                ReadMode::TransactionSnapshot
                | ReadMode::StatementSnapshot
                | ReadMode::EitherSnapshot
                | ReadMode::Anything => {
                    grips.plain.insert(table);
                }
            }
        }
        grips
    }
}

/// A row as an open transaction left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldVersion<'e> {
    pub(super) table: &'e str,
    pub(super) version: VersionId,
}

/// The statements of others that may have changed rows of the locked tables while the read ran, in the
/// order of their answers: before or after which of them it looked is not known.
pub(super) fn meanwhile(evidence: &Evidence, read: &LockingRead<'_>) -> Vec<StatementId> {
    let chains = &evidence.account.chains;
    let tables = read.locked.iter();
    let all = tables.flat_map(|table| chains.table(table));
    let versions = all.flat_map(|(_, chain)| chain);
    let ran_beside = versions.filter_map(|version| {
        let writer = chains.version(*version).writer;
        let record = evidence.execution.records.get(&writer)?;
        let beside = record.sent < read.record.answered && record.answered > read.record.sent;
        (beside && writer.transaction != read.transaction()).then_some((record.answered, writer))
    });
    let ran_beside: BTreeSet<(Tick, StatementId)> = ran_beside.collect();
    ran_beside.into_iter().map(|(_, writer)| writer).collect()
}

/// The rows of the locked tables that other transactions had changed before the read was sent, or by
/// these statements, and surely held until it answered.
pub(super) fn held_versions<'e>(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    read: &LockingRead<'e>,
    meanwhile: &[StatementId],
) -> Vec<HeldVersion<'e>> {
    let chains = &evidence.account.chains;
    let view = evidence.account.views.get(&read.statement.id);
    let mut held = Vec::new();
    for table in &read.locked {
        for (row, chain) in chains.table(table) {
            let stands = |id: &VersionId| {
                let version = chains.version(*id);
                let is_written = written_before(evidence, version.writer, read.record.sent)
                    || meanwhile.contains(&version.writer);
                is_written
                    && version
                        .undone
                        .is_none_or(|undone| undone > read.record.answered)
            };
            let Some(newest) = chain.iter().rev().copied().find(stands) else {
                continue;
            };
            if read.by_snapshot.contains(table) && !read.shows(table, row) {
                continue;
            }
            let seen = view.and_then(|view| view.get(*table)?.get(row).copied().flatten());
            let writer = chains.version(newest).writer.transaction;
            if seen != Some(newest)
                && writer != read.transaction()
                && excludes_writer(evidence, read.strength, newest)
                && holders.surely_holds(writer, read.record.answered)
            {
                held.push(HeldVersion {
                    table,
                    version: newest,
                });
            }
        }
    }
    held
}

/// Whether a statement had answered before this moment.
fn written_before(evidence: &Evidence, writer: StatementId, at: Tick) -> bool {
    let record = evidence.execution.records.get(&writer);
    writer == StatementId::SETUP || record.is_some_and(|record| record.answered < at)
}
