//! Refusals for a row that was locked before the engine told of it: no row as it was before the wait explains one.
//!
//! Who finds a duplicate, a missing parent or a child waits until the transaction that holds the row has ended, and looks again
//! (MySQL manual, "Locks Set by Different SQL Statements in InnoDB": "If a duplicate-key error occurs, a shared lock on the
//! duplicate index record is set"; "InnoDB Locking" of foreign keys). The error ends the statement, so that it comes behind
//! every wait. That is not so of a row that a cursor evaluates while it looks for others, and lets go.

use super::super::counted;
use super::alone::Alone;
use crate::model::{
    CaseStatement, Doubt, ErrorClass, Form, Pace, ReadMode, Role, StatementKind, StatementRecord,
    Tick, TransactionStatus,
};
use crate::observe::{Latitude, is_released};
use crate::statement::{Counting, Filling, mentions, row_lookup};

impl Alone<'_> {
    /// Whether a write of one row was refused for rows as they stood behind its last wait, and for no others.
    pub(super) fn is_refused_for_what_it_locked(
        &self,
        statement: &CaseStatement,
        latitude: &Latitude,
    ) -> bool {
        let evidence = self.evidence;
        let record = evidence.execution.records.get(&statement.id);
        let Some(record) = record.filter(|record| record.resumed()) else {
            return false;
        };
        let Some(class) = record.outcome.error_class() else {
            return false;
        };
        let mut doubts = latitude.rows.iter().flat_map(|row| &row.sights);
        // A parent that got another place meanwhile may be passed over.
        let may_be_missed = doubts.any(|(_, doubt)| *doubt == Doubt::MovedWhileWaiting);
        let is_of_a_locked_row =
            class == ErrorClass::Duplicate || (class == ErrorClass::ForeignKey && !may_be_missed);
        let in_steps =
            evidence.case.pace == Pace::Scheduled && evidence.execution.unreliable.is_none();
        is_of_a_locked_row
            && in_steps
            && latitude.beyond.is_none()
            && self.is_woken_by_the_last_end(record)
            && self.looks_at_what_stands(statement, class)
            && (self.inserts_one_row(statement) || self.changes_one_row(statement))
    }

    /// Whether the transaction that ended last before the answer is one that the statement waited for: nothing was committed
    /// between its last look and the answer.
    fn is_woken_by_the_last_end(&self, record: &StatementRecord) -> bool {
        let (case, execution) = (&self.evidence.case, &self.evidence.execution);
        let mut last: Option<(Tick, bool)> = None;
        for (transaction, status) in &execution.transactions {
            let at = match status {
                TransactionStatus::Committed(at) | TransactionStatus::Aborted(at) => *at,
                TransactionStatus::Indeterminate => return false,
            };
            let is_other = *transaction != record.id.transaction;
            if is_other && record.sent < at && at < record.answered {
                let waited =
                    record.waited_for.is_empty() || record.waited_for.contains(transaction);
                last = last.max(Some((at, waited)));
            }
        }
        is_released(case, execution, record) && last.is_some_and(|(_, waited)| waited)
    }

    /// Whether a statement names no table but its target, and reads that, and those to which foreign keys lead, as they stand.
    fn looks_at_what_stands(&self, statement: &CaseStatement, class: ErrorClass) -> bool {
        let evidence = self.evidence;
        let effect = &statement.effect;
        let is_own_or_by_key = |role: Role| match role {
            Role::InsertTarget
            | Role::UpdateTarget
            | Role::DeleteTarget
            | Role::ForeignKeyCheck
            | Role::ForeignKeyChild => true,
            Role::PlainSelect
            | Role::LockingSelect
            | Role::LockingSelectSource
            | Role::UpdateSource
            | Role::UpdateJoinSource
            | Role::DeleteSource
            | Role::InsertSelectSource
            | Role::InsertValuesSource
            | Role::ForeignKeyTarget
            | Role::TriggerTarget => false,
        };
        let mut uses = effect.uses.iter();
        let current = uses.all(|used| {
            is_own_or_by_key(used.role)
                && evidence.promised_mode(statement, used.role) == ReadMode::Current
        });
        let level = evidence.case.judged_level(statement.session);
        // Such an engine asks for all unique keys of a row at once, and may have found one while it waits for another. It looks
        // for parents in a snapshot.
        let has_one_key = |name: &str| {
            let table = evidence.case.table(name);
            table.is_some_and(|table| table.keys().count() == 1 && table.loose_keys.is_empty())
        };
        let by_one_key = || {
            class == ErrorClass::Duplicate
                && evidence.case.is_explicit(statement.id.transaction)
                && effect.targets().all(has_one_key)
        };
        let begins_anew = evidence.dialect.begins_anew_after_wait.contains(&level);
        current && effect.trigger_writes.is_empty() && (!begins_anew || by_one_key())
    }

    /// Whether a statement puts in one row, whatever stands in its way, with numbers of its own.
    fn inserts_one_row(&self, statement: &CaseStatement) -> bool {
        let dialect = &self.evidence.dialect;
        let otherwise = ["CONFLICT", "DUPLICATE", "IGNORE"];
        let has = |word: &&str| mentions(&statement.sql, word, dialect);
        let acts_otherwise = otherwise.iter().any(has);
        let insert = counted::counted_insert(&self.evidence.case, statement, dialect);
        let is_given = insert.is_none_or(|(_, insert)| match insert.counting {
            Counting::Never => true,
            Counting::Rows(rows) => rows.iter().all(|row| matches!(row, Filling::Given(_))),
            Counting::Query { .. } | Counting::Unknown => false,
        });
        statement.effect.kind == StatementKind::Insert
            && !statement.effect.forms.contains(&Form::SeveralRows)
            && !acts_otherwise
            && is_given
    }

    /// Whether a statement changes the row that has one value of a unique key, and no other.
    fn changes_one_row(&self, statement: &CaseStatement) -> bool {
        let evidence = self.evidence;
        let kind = statement.effect.kind;
        if !matches!(kind, StatementKind::Update | StatementKind::Delete) {
            return false;
        }
        let mut targets = statement.effect.targets();
        let shape = targets.next().and_then(|name| evidence.case.table(name));
        let looks_one_up = shape
            .is_some_and(|shape| row_lookup(&statement.sql, shape, &evidence.dialect).is_some());
        looks_one_up && targets.next().is_none()
    }
}
