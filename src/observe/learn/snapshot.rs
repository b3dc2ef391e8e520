//! Through which snapshot a statement reads, and in which mode.

use super::Learning;
use crate::dialect::{Capability, ObserverKind, SnapshotPoint};
use crate::model::{
    CaseStatement, ErrorClass, ReadMode, Role, StatementId, StatementKind, StatementRecord, Tick,
    UndecidedReason,
};
use crate::observe::View;
use crate::observe::instrument::promised_mode;
use crate::observe::safe_snapshot::may_be_taken_anew;

impl Learning<'_> {
    /// Notes the snapshot point of the statement's transaction, if this statement was it.
    pub(super) fn pass_snapshot_point(
        &mut self,
        statement: &CaseStatement,
        sent: Tick,
        answered: Tick,
    ) {
        let transaction = statement.id.transaction;
        let record = self.execution.records.get(&statement.id);
        let class = record.and_then(|record| record.outcome.error_class());
        // A statement that is refused before it runs reads nothing. Where an error leaves its transaction
        // open, the snapshot that the statement took stays, and a ROLLBACK TO goes back to it.
        let keeps_its_snapshot = self.dialect.supports(Capability::FailedTransaction);
        let has_read = class.is_none_or(|class| match keeps_its_snapshot {
            true => !matches!(class, ErrorClass::FailedTransaction | ErrorClass::Syntax),
            false => !class.is_concurrency() && !class.comes_before_rows_are_read(),
        });
        if !has_read || !self.case.is_explicit(transaction) {
            return;
        }
        let kind = statement.effect.kind;
        let takes_at_once = matches!(
            kind,
            StatementKind::BeginSnapshot | StatementKind::BeginImmediate
        ) || (kind.is_begin()
            && self.dialect.snapshot_point == SnapshotPoint::Begin);
        if takes_at_once {
            self.snapshots.entry(transaction).or_insert(answered);
            return;
        }
        let takes = match self.dialect.snapshot_point {
            SnapshotPoint::FirstStatement => !kind.is_control(),
            SnapshotPoint::Begin => false,
            SnapshotPoint::FirstConsistentRead => {
                statement.effect.surely_takes_snapshot
                    && self
                        .modes(statement)
                        .any(|(_, mode)| mode == ReadMode::TransactionSnapshot)
            }
        };
        if takes {
            let at = self.statement_snapshot(statement.id, sent);
            self.snapshots.entry(transaction).or_insert(at);
        }
    }

    /// Why it is not known as of when a statement reads whose transaction waited for its snapshot.
    pub(super) fn snapshot_taken_anew(&self, id: StatementId) -> Option<UndecidedReason> {
        let run = (self.case, self.execution);
        may_be_taken_anew(run, self.dialect, id).then_some(UndecidedReason::SnapshotTakenAnew)
    }

    /// Forgets the snapshot of a transaction that the engine began anew.
    pub(super) fn lose_snapshot(&mut self, statement: &CaseStatement, answered: Tick) {
        let id = statement.id;
        let is_lost = statement.effect.kind == StatementKind::RollbackTo
            && (1..id.position).any(|position| {
                let earlier = StatementId { position, ..id };
                self.timeline.let_go(earlier) == Some(answered)
            });
        if !is_lost {
            return;
        }
        if let Some(snapshot) = self.snapshots.remove(&id.transaction) {
            let promised = self.promised_snapshots.entry(id.transaction);
            promised.or_insert(snapshot);
        }
    }

    pub(super) fn modes<'s>(
        &'s self,
        statement: &'s CaseStatement,
    ) -> impl Iterator<Item = (&'s str, ReadMode)> {
        statement.effect.uses.iter().map(|table_use| {
            let mode = promised_mode(self.case, self.dialect, statement, table_use.role);
            let mode = self.mode_of(statement.id, table_use.role, mode);
            (table_use.table.as_str(), mode)
        })
    }

    /// Whether the statement waited at a level that looks again at rows that changed meanwhile.
    pub(super) fn re_evaluates(&self, statement: &CaseStatement) -> bool {
        let level = self.case.judged_level(statement.session);
        let record = self.execution.records.get(&statement.id);
        self.dialect.re_evaluates_after_wait.contains(&level)
            && record.is_some_and(StatementRecord::resumed)
    }

    /// The snapshot point of a statement's transaction; the moment of the read where it has none yet.
    pub(super) fn snapshot(&self, id: StatementId, at: Tick) -> Tick {
        let snapshot = self.snapshots.get(&id.transaction).copied();
        let own = snapshot.filter(|_| self.case.is_explicit(id.transaction));
        own.unwrap_or_else(|| self.statement_snapshot(id, at))
    }

    /// When a statement that reads at this moment takes a snapshot of its own: where a snapshot belongs
    /// to the start of a statement, a wait for a row does not move it, and one for a table does.
    pub(super) fn statement_snapshot(&self, id: StatementId, at: Tick) -> Tick {
        let record = self.execution.records.get(&id);
        match self.dialect.snapshot_point {
            SnapshotPoint::FirstStatement => record.map_or(at, |record| {
                self.looked_after_a_table_wait(record)
                    .unwrap_or(record.sent)
            }),
            SnapshotPoint::FirstConsistentRead | SnapshotPoint::Begin => at,
        }
    }

    /// The mode in which a statement reads a table in this role, and when.
    ///
    /// A unique key is held against the newest rows, whatever the snapshot of the write: one that was
    /// refused as a duplicate is judged on them (PostgreSQL manual, "Index Uniqueness Checks").
    fn mode_of(&self, id: StatementId, role: Role, mode: ReadMode) -> ReadMode {
        let record = self.execution.records.get(&id);
        let class = record.and_then(|record| record.outcome.error_class());
        let keeps_newest = self.dialect.observer == ObserverKind::Returning;
        // What a MERGE finds decides what it would put in: that is not looked for in the newest rows.
        let merges = self
            .case
            .statement(id)
            .is_some_and(|statement| statement.effect.kind == StatementKind::Merge);
        match class {
            Some(ErrorClass::Duplicate) if role.is_target() && keeps_newest && !merges => {
                ReadMode::Current
            }
            _ => mode,
        }
    }

    /// Notes what stands in the target of a MERGE that was refused as a duplicate.
    pub(super) fn note_newest(&mut self, statement: &CaseStatement) {
        let record = self.execution.records.get(&statement.id);
        let refused = record.filter(|record| {
            statement.effect.kind == StatementKind::Merge
                && record.outcome.error_class() == Some(ErrorClass::Duplicate)
        });
        let Some(at) = refused.map(|record| record.answered) else {
            return;
        };
        let tables = statement.effect.targets();
        let newest: View = tables
            .map(|table| {
                let stands = self.standing_for_before(table, statement.id, at);
                (table.to_owned(), stands)
            })
            .collect();
        self.account.newest.insert(statement.id, newest);
    }
}
