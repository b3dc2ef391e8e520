//! What an answer means for the transaction it was given in. The server is asked, not guessed.

use crate::model::StatementKind;

use super::scheduled_statement::ScheduledStatement;

/// What an answer says, as far as the order of things depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnswerState {
    pub(super) rejected: bool,
    /// The server says that a transaction is open on the session now.
    pub(super) open: bool,
}

/// What an answer means for the transaction of its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionFate {
    /// The transaction goes on, or the step was none of the case's statements.
    Continues,
    Committed,
    Aborted,
    /// The server's state contradicts the case: why the run is no evidence.
    Strange(&'static str),
}

/// What a statement's answer means for its transaction.
pub(super) fn fate(
    line: &ScheduledStatement,
    answer: AnswerState,
    was_open: bool,
) -> TransactionFate {
    let AnswerState { rejected, open } = answer;
    if !line.explicit {
        return match (open, rejected) {
            (true, _) => TransactionFate::Strange("transaction_open_outside_of_one"),
            (false, true) => TransactionFate::Aborted,
            (false, false) => TransactionFate::Committed,
        };
    }
    if line.kind.is_begin() {
        return match (was_open, rejected, open) {
            (true, _, _) => TransactionFate::Strange("begin_inside_a_transaction"),
            (false, true, false) => TransactionFate::Aborted,
            (false, false, true) => TransactionFate::Continues,
            (false, true, true) | (false, false, false) => {
                TransactionFate::Strange("begin_contradicted")
            }
        };
    }
    match (line.kind, rejected, open) {
        (StatementKind::Commit, false, false) => TransactionFate::Committed,
        (StatementKind::Rollback, false, false) | (_, true, false) => TransactionFate::Aborted,
        (StatementKind::Commit | StatementKind::Rollback, false, true) => {
            TransactionFate::Strange("transaction_open_after_its_end")
        }
        (_, _, true) => TransactionFate::Continues,
        (_, false, false) => TransactionFate::Strange("transaction_ended_unasked"),
    }
}
