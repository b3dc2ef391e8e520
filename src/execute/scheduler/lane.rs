//! What each session is at.

use std::collections::BTreeSet;

use super::super::fate::AnswerState;
use super::step::SessionStep;
use crate::model::SessionId;

/// A step that was sent and is not recorded as answered.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) step: SessionStep,
    /// Was seen waiting at any time.
    pub(super) waited: bool,
    /// Was seen waiting in a poll taken after the last answer and the last send that may have changed
    /// a lock.
    pub(super) at_rest: bool,
    /// Taken for waiting after a timeout.
    pub(super) by_timer: bool,
    pub(super) on: BTreeSet<SessionId>,
    /// Its answer, while another's must be recorded first.
    pub(super) answer: Option<AnswerState>,
}

impl Flight {
    /// Whether it waits, so that only another session can change its state.
    pub(super) fn rests(&self) -> bool {
        self.answer.is_none() && (self.at_rest || self.by_timer)
    }
}

/// One session's progress through its statements.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    /// Its lines, by place in submitted order.
    pub(super) lines: Vec<usize>,
    /// How many of them are done or dropped.
    pub(super) done: usize,
    /// How many steps of the first line that is not done were answered.
    pub(super) steps: usize,
    pub(super) flight: Option<Flight>,
    pub(super) open: bool,
    pub(super) rollback_due: bool,
    /// The tables that its open transaction, or the statement under way, has used.
    pub(super) tables: BTreeSet<String>,
}

impl Lane {
    pub(super) fn head(&self) -> Option<usize> {
        self.lines.get(self.done).copied()
    }
}
