//! What an answer means for the transaction it was given in. The server is asked, not guessed.

use crate::model::StatementKind;

use super::scheduler::Line;

/// What an answer says, as far as the order of things depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) rejected: bool,
    /// The server says that a transaction is open on the session now.
    pub(super) open: bool,
}

/// What an answer means for the transaction of its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The transaction goes on, or the step was none of the case's statements.
    Continues,
    Committed,
    Aborted,
    /// The server's state contradicts the case: why the run is no evidence.
    Strange(&'static str),
}

/// What a statement's answer means for its transaction.
pub(super) fn fate(line: &Line, answer: Answer, was_open: bool) -> Fate {
    let Answer { rejected, open } = answer;
    if !line.explicit {
        return match (open, rejected) {
            (true, _) => Fate::Strange("transaction_open_outside_of_one"),
            (false, true) => Fate::Aborted,
            (false, false) => Fate::Committed,
        };
    }
    if line.kind.is_begin() {
        return match (was_open, rejected, open) {
            (true, _, _) => Fate::Strange("begin_inside_a_transaction"),
            (false, true, false) => Fate::Aborted,
            (false, false, true) => Fate::Continues,
            (false, true, true) | (false, false, false) => Fate::Strange("begin_contradicted"),
        };
    }
    match (line.kind, rejected, open) {
        (StatementKind::Commit, false, false) => Fate::Committed,
        (StatementKind::Rollback, false, false) | (_, true, false) => Fate::Aborted,
        (StatementKind::Commit | StatementKind::Rollback, false, true) => {
            Fate::Strange("transaction_open_after_its_end")
        }
        (_, _, true) => Fate::Continues,
        (_, false, false) => Fate::Strange("transaction_ended_unasked"),
    }
}
