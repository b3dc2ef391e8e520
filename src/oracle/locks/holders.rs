//! Whose transaction is open when, and who may hold a lock.

use std::collections::BTreeMap;

use crate::dialect::Capability;
use crate::model::{
    CaseStatement, ReadMode, StatementKind, StatementRecord, Tick, TransactionId, TransactionStatus,
};
use crate::oracle::Evidence;

/// The transactions of a run as holders of locks.
pub(super) struct LockHolders<'e> {
    evidence: &'e Evidence,
    /// When the statement was sent that ended each explicit transaction: until then it surely holds
    /// what it has locked and not undone. What a return to a savepoint has undone may hold locks still
    /// (MySQL manual, "SAVEPOINT") or not (MySQL#119490): callers leave it alone.
    held_until: BTreeMap<TransactionId, Tick>,
}

impl<'e> LockHolders<'e> {
    pub(super) fn of(evidence: &'e Evidence) -> Self {
        let execution = &evidence.execution;
        let ends = execution.transactions.iter();
        let held_until = ends
            .filter(|(transaction, _)| evidence.case.is_explicit(**transaction))
            .filter_map(|(transaction, status)| {
                let end = end_of(*status)?;
                let ended_by = |record: &&StatementRecord| {
                    record.id.transaction == *transaction && record.answered == end
                };
                // What ends a transaction may release its locks any time before it answers: a
                // COMMIT, and the statement of a deadlock's victim, which waits meanwhile.
                let last = execution.records.values().find(ended_by);
                let ended = last.map_or(end, |record| record.sent);
                let failed = failed_at(evidence, *transaction);
                Some((
                    *transaction,
                    failed.map_or(ended, |failed| failed.min(ended)),
                ))
            })
            .collect();
        Self {
            evidence,
            held_until,
        }
    }

    /// Whether the transaction surely has the locks at this moment of all that it did and did not undo.
    pub(super) fn surely_holds(&self, transaction: TransactionId, at: Tick) -> bool {
        self.held_until
            .get(&transaction)
            .is_some_and(|until| *until > at)
    }

    /// Whether what a statement locked is surely held from before one of another session was sent until after that was answered.
    pub(super) fn holds_beside(&self, of: &StatementRecord, other: &StatementRecord) -> bool {
        let undone = self.evidence.timeline.undone(of.id);
        self.stays_open_beside(of, other) && undone.is_none_or(|undone| undone > other.answered)
    }

    /// The same of what a statement locked that may have been refused: that undoes its work and none of its locks. A return to a
    /// savepoint may let go of them.
    pub(super) fn keeps_beside(&self, of: &StatementRecord, other: &StatementRecord) -> bool {
        let records = &self.evidence.execution.records;
        let goes_back = |statement: &CaseStatement| {
            let sent = records.get(&statement.id).map(|record| record.sent);
            statement.id.transaction == of.id.transaction
                && statement.effect.kind == StatementKind::RollbackTo
                && sent.is_some_and(|sent| sent > of.answered && sent < other.answered)
        };
        self.stays_open_beside(of, other) && !self.evidence.case.statements.iter().any(goes_back)
    }

    /// Whether a statement of another session ran behind this one, and its transaction surely had its locks until that was answered.
    fn stays_open_beside(&self, of: &StatementRecord, other: &StatementRecord) -> bool {
        let case = &self.evidence.case;
        case.session_of(other.id.transaction) != case.session_of(of.id.transaction)
            && other.sent > of.answered
            && self.surely_holds(of.id.transaction, other.answered)
    }

    /// Whether another session may hold a lock on a table that the statement names, at any moment
    /// while it ran.
    pub(super) fn someone_may_hold(
        &self,
        statement: &CaseStatement,
        record: &StatementRecord,
    ) -> bool {
        let mut beside = self.beside(statement, record);
        beside.any(|other| self.may_lock_a_table_of(other, statement))
    }

    /// The statements of other sessions whose transactions may have been open while it ran, sent before it answered.
    pub(super) fn beside<'s>(
        &'s self,
        statement: &'s CaseStatement,
        record: &'s StatementRecord,
    ) -> impl Iterator<Item = &'s CaseStatement> {
        let records = &self.evidence.execution.records;
        self.evidence.case.statements.iter().filter(move |other| {
            let sent = records.get(&other.id).map(|other| other.sent);
            other.session != statement.session
                && sent.is_none_or(|sent| sent < record.answered)
                && !self.had_ended(other.id.transaction, record.sent)
        })
    }

    /// Whether the end of a transaction was answered before this moment.
    pub(super) fn had_ended(&self, transaction: TransactionId, at: Tick) -> bool {
        let ended = self.evidence.execution.transactions.get(&transaction);
        ended
            .and_then(|status| end_of(*status))
            .is_some_and(|end| end < at)
    }

    /// Whether a statement takes locks on a table that another names. LOCK TABLE is one of rows, too, and may wait for
    /// whoever has used the table; DDL that waits for those keeps others waiting (MySQL manual, "Metadata Locking").
    pub(super) fn may_lock_a_table_of(
        &self,
        other: &CaseStatement,
        statement: &CaseStatement,
    ) -> bool {
        if other.effect.kind == StatementKind::Opaque {
            return true;
        }
        let (case, dialect) = (&self.evidence.case, &self.evidence.dialect);
        let explicit = case.is_explicit(other.id.transaction);
        let whole = statement.effect.table_lock.is_some();
        let names = |table: &str| {
            let mut uses = statement.effect.uses.iter();
            uses.any(|u| u.table.eq_ignore_ascii_case(table))
                || statement.effect.table_lock_mode(table).is_some()
        };
        if self.may_lock_a_parent(other, statement) {
            return true;
        }
        let mut asked = other.effect.table_lock.iter().flat_map(|lock| &lock.tables);
        let changed = other.effect.storage_change.as_ref();
        if asked.any(|table| names(table)) || changed.is_some_and(|change| names(&change.table)) {
            return true;
        }
        other.effect.uses.iter().any(|u| {
            let level = case.level(other.session);
            let locks = dialect.locks_rows_of(u.role)
                || other.effect.kind == StatementKind::LockingSelect
                || dialect.read_mode(level, u.role, explicit) == ReadMode::Current;
            (locks || whole) && names(&u.table)
        })
    }
}

impl LockHolders<'_> {
    /// Whether a statement may lock parents in a table that another names though it assigns no foreign key: PostgreSQL asks for
    /// the parent of a row again that its own transaction has written before (by hand on 13, 15 and 18; the manual does not say).
    pub(super) fn may_lock_a_parent(
        &self,
        other: &CaseStatement,
        statement: &CaseStatement,
    ) -> bool {
        let (case, dialect) = (&self.evidence.case, &self.evidence.dialect);
        let updates =
            other.effect.kind == StatementKind::Update || !other.effect.assigned.is_empty();
        if !updates || !dialect.supports(Capability::LocksChosenRows) {
            return false;
        }
        other.effect.targets().any(|table| {
            let mut earlier = case.earlier_in_transaction(other.id);
            let is_written = earlier.any(|one| one.effect.targets().any(|target| target == table));
            let keys = case
                .table(table)
                .map_or(&[][..], |shape| &shape.foreign_keys);
            is_written
                && keys.iter().any(|key| {
                    let mut uses = statement.effect.uses.iter();
                    uses.any(|used| used.table.eq_ignore_ascii_case(&key.parent))
                })
        })
    }
}

/// When the first statement of a transaction was sent that was rejected, where an error takes away what
/// was locked although the transaction stays open (PostgreSQL manual, "SAVEPOINT": what is older than
/// the savepoint stays, which is not looked at here).
fn failed_at(evidence: &Evidence, transaction: TransactionId) -> Option<Tick> {
    let fails = evidence.dialect.supports(Capability::FailedTransaction);
    let records = evidence.execution.records.values().filter(|_| fails);
    let rejected = records.filter(|record| {
        record.id.transaction == transaction && record.outcome.error_class().is_some()
    });
    rejected.map(|record| record.sent).min()
}

fn end_of(status: TransactionStatus) -> Option<Tick> {
    match status {
        TransactionStatus::Committed(tick) | TransactionStatus::Aborted(tick) => Some(tick),
        TransactionStatus::Indeterminate => None,
    }
}
