//! Rows that a transaction read FOR UPDATE, where it locks them only when it commits: a COMMIT is refused if another
//! transaction has committed a change of one of them since the snapshot (TiDB manual, "TiDB Optimistic Transaction Model", "Optimistic
//! transactions": the two-phase commit checks the keys that were locked for conflicts).

use super::breach::BrokenLock;
use super::locking_read::LockingRead;
use super::trial::ReadTrial;
use super::unrefused::{newer_rows, unrefused};
use crate::engine::EngineError;
use crate::model::{CaseStatement, StatementId, StatementKind, StatementRecord};
use crate::oracle::Evidence;

/// The accepted COMMIT of a transaction that read rows FOR UPDATE.
pub(super) struct ComparedCommit<'e> {
    pub(super) read: LockingRead<'e>,
    pub(super) end: &'e StatementRecord,
}

impl<'e> ComparedCommit<'e> {
    /// Of a read that a COMMIT has to stand for; none where the statement is something else, its transaction did not
    /// commit by a COMMIT of its own, or a ROLLBACK TO has undone it.
    pub(super) fn of(evidence: &'e Evidence, id: StatementId) -> Option<Self> {
        let read = LockingRead::of(evidence, id)?;
        let transaction = read.transaction();
        let end = evidence.execution.commit_record(transaction)?;
        let is_commit = |statement: &CaseStatement| {
            statement.effect.kind == StatementKind::Commit && evidence.case.is_explicit(transaction)
        };
        let stands = read.statement.effect.kind == StatementKind::LockingSelect
            && evidence.timeline.undone(id).is_none()
            && evidence.case.statement(end.id).is_some_and(is_commit);
        stands.then_some(Self { read, end })
    }

    /// What is wrong with it: the answer depends on a row of which another transaction committed a newer version before
    /// this COMMIT was sent.
    pub(super) fn judge(
        &self,
        evidence: &'e Evidence,
        trial: &mut ReadTrial<'_>,
    ) -> Result<Option<BrokenLock>, EngineError> {
        let read = &self.read;
        for (table, row, newer) in newer_rows(evidence, read, self.end.sent) {
            let without = read.without(&[(table, row)]);
            if trial.agrees(read, &read.seen)? == Some(true)
                && trial.tells_apart(read, &read.seen, &without)?
            {
                return Ok(Some(unrefused(self.end, newer)));
            }
        }
        Ok(None)
    }
}
