//! What is sent on a session.

use crate::model::SessionId;

/// The content of a step. `line` is the place of a statement in submitted order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::execute) enum Work {
    Before {
        line: usize,
        probe: usize,
    },
    Statement {
        line: usize,
    },
    After {
        line: usize,
        probe: usize,
    },
    /// A ROLLBACK of the driver: ends a transaction that the case, or a refused COMMIT, left open.
    Rollback,
}

/// Something to send on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::execute) struct SessionStep {
    pub(in crate::execute) session: SessionId,
    pub(in crate::execute) work: Work,
}
