//! Limits that end a check before it is done: time, memory, a signal.

use std::io::Read;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::campaign::StopFlag;
use crate::checker::Budget;
use crate::cli::exit::Exit;
use crate::cli::memory_use;

/// The memory limit in bytes; zero when there is none. A checker asks through a plain function.
static MEMORY_LIMIT: AtomicU64 = AtomicU64::new(0);

/// Set by a signal. It stands here for the same reason.
pub(super) static STOP: LazyLock<StopFlag> = LazyLock::new(StopFlag::default);

/// What a checker asks.
fn is_to_end() -> bool {
    STOP.is_set() || memory_is_over()
}

/// What a check gets that begins now.
pub(super) fn budget(time: Option<Duration>) -> Budget {
    Budget {
        stop: Some(is_to_end),
        ..Budget::of(time)
    }
}

pub(super) fn memory_is_over() -> bool {
    let limit = MEMORY_LIMIT.load(Ordering::Relaxed);
    limit > 0 && memory_use::resident_bytes().is_some_and(|resident| resident > limit)
}

/// Sets the limit in bytes; zero is none.
pub(super) fn set_memory_limit(bytes: u64) {
    MEMORY_LIMIT.store(bytes, Ordering::Relaxed);
}

/// Why something ended before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Limit {
    #[error("the history alone takes more than --memory")]
    Memory,
    #[error("reading the history alone takes longer than --for")]
    Time,
    /// By a signal.
    #[error("interrupted")]
    Interrupted,
}

impl Limit {
    /// The one that is reached, if any is.
    pub(super) fn reached(budget: Budget) -> Option<Self> {
        if STOP.is_set() {
            return Some(Self::Interrupted);
        }
        if memory_is_over() {
            return Some(Self::Memory);
        }
        let deadline = budget.deadline?;
        (Instant::now() >= deadline).then_some(Self::Time)
    }

    /// The one for which a budget was over, a moment ago.
    pub(super) fn that_was_reached(budget: Budget) -> Self {
        // Memory is the only one that comes back.
        Self::reached(budget).unwrap_or(Self::Memory)
    }

    /// The one that ended a stream.
    pub(super) fn behind(error: &std::io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }

    /// The reason of a checker that was given up.
    pub(super) fn of_a_checker(self) -> String {
        match self.option() {
            Some(option) => format!("given up at {option}; nothing was proved"),
            None => self.to_string(),
        }
    }

    /// The reason of a checker that ended by itself. It knows a budget, and no options.
    pub(super) fn in_options(self, reason: &str) -> String {
        match self.option() {
            Some(option) => reason.replace(Budget::IS_OVER, &format!("{option} is reached")),
            None => self.to_string(),
        }
    }

    fn option(self) -> Option<&'static str> {
        match self {
            Self::Memory => Some("--memory"),
            Self::Time => Some("--for"),
            Self::Interrupted => None,
        }
    }

    pub(super) fn exit(self) -> Exit {
        let is_term = STOP.signal() == Some(signal_hook::consts::SIGTERM as usize);
        match self {
            Self::Memory | Self::Time => Exit::Inconclusive,
            Self::Interrupted if is_term => Exit::Terminated,
            Self::Interrupted => Exit::Interrupted,
        }
    }
}

/// How much is read between two looks at the memory.
const LOOK_EVERY: u64 = 4 << 20;

/// A file that is read, with an eye on the limits and on how far it is.
pub(super) struct Watched<R, F> {
    inner: R,
    budget: Budget,
    /// Called with the number of bytes read, once in a while.
    tell: F,
    bytes: u64,
    looked: u64,
}

impl<R, F> Watched<R, F> {
    pub(super) fn new(inner: R, budget: Budget, tell: F) -> Self {
        Self {
            inner,
            budget,
            tell,
            bytes: 0,
            looked: 0,
        }
    }
}

impl<R: Read, F: FnMut(u64)> Read for Watched<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.bytes += length as u64;
        if self.bytes - self.looked >= LOOK_EVERY {
            self.looked = self.bytes;
            if let Some(limit) = Limit::reached(self.budget) {
                return Err(std::io::Error::other(limit));
            }
            (self.tell)(self.bytes);
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_the_option_that_ended_the_check() {
        let reason = format!("mtc: a blind write; polysi: {}", Budget::IS_OVER);
        assert_eq!(
            Limit::Time.in_options(&reason),
            "mtc: a blind write; polysi: --for is reached"
        );
        assert_eq!(Limit::Interrupted.in_options(&reason), "interrupted");
        let over = Budget::of(Some(Duration::ZERO));
        assert_eq!(Limit::that_was_reached(over), Limit::Time);
    }
}
