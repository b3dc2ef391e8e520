//! What a check may cost.

use std::time::{Duration, Instant};

/// What a check may cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Asked once in a while: whether to give up for another reason, memory for one.
    pub stop: Option<fn() -> bool>,
}

impl Budget {
    /// In the reasons of what is unknown because of it.
    pub const IS_OVER: &str = "the budget is over";

    /// Gives up after this long, counted from now.
    pub fn of(limit: Option<Duration>) -> Self {
        Self {
            deadline: limit.and_then(|limit| Instant::now().checked_add(limit)),
            stop: None,
        }
    }

    pub(crate) fn is_over(self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
            || self.stop.is_some_and(|stop| stop())
    }
}
