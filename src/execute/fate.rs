//! The fate of a transaction after an answer. The transaction's state is queried, not guessed.

use crate::model::{StatementKind, UndecidedReason};

use super::scheduled_statement::ScheduledStatement;

/// The part of an answer that the schedule depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnswerState {
    /// The statement was rejected.
    pub(super) rejected: bool,
    /// The session has an open transaction now.
    pub(super) open: bool,
    /// The transaction failed, by this answer or before, and takes no statements: what it held is free,
    /// and its COMMIT rolls back.
    pub(super) failed: bool,
}

/// The state of a transaction after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionFate {
    /// The transaction goes on, or the step was no statement of the case.
    Continues,
    Committed,
    Aborted,
    /// The server's state contradicts the case: why the run is no evidence.
    Strange(UndecidedReason),
}

/// The fate of a statement's transaction.
pub(super) fn fate(
    line: &ScheduledStatement,
    answer: AnswerState,
    was_open: bool,
) -> TransactionFate {
    let AnswerState {
        rejected,
        open,
        failed,
    } = answer;
    if !line.explicit {
        return match (open, rejected) {
            (true, _) => TransactionFate::Strange(UndecidedReason::TransactionOpenOutsideOfOne),
            (false, true) => TransactionFate::Aborted,
            (false, false) => TransactionFate::Committed,
        };
    }
    if line.kind.is_begin() {
        return match (was_open, rejected, open) {
            (true, _, _) => TransactionFate::Strange(UndecidedReason::BeginInsideATransaction),
            (false, true, false) => TransactionFate::Aborted,
            (false, false, true) => TransactionFate::Continues,
            (false, true, true) | (false, false, false) => {
                TransactionFate::Strange(UndecidedReason::BeginContradicted)
            }
        };
    }
    // Behind a chain the next transaction is open.
    let ended = rejected || !line.chains;
    let open = match (ended, open) {
        (true, open) => open,
        (false, true) => false,
        (false, false) => {
            return TransactionFate::Strange(UndecidedReason::BeginContradicted);
        }
    };
    match (line.kind, rejected, open) {
        (StatementKind::Commit, false, false) if !failed => TransactionFate::Committed,
        (StatementKind::Commit | StatementKind::Rollback, false, false) | (_, true, false) => {
            TransactionFate::Aborted
        }
        (StatementKind::Commit | StatementKind::Rollback, false, true) => {
            TransactionFate::Strange(UndecidedReason::TransactionOpenAfterItsEnd)
        }
        (_, _, true) => TransactionFate::Continues,
        (_, false, false) => TransactionFate::Strange(UndecidedReason::TransactionEndedUnasked),
    }
}
