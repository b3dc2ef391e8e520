//! How long to wait for an answer before the lock view is asked, or asked again.

use std::time::{Duration, Instant};

use crate::engine::poll_interval;

/// How long an answer is awaited before the lock view is asked.
///
/// A wait shows in the view 0.3 to 2.4 ms after it began, and a statement that was woken answers 0.07
/// to 0.23 ms after the release: asking earlier mostly costs a question.
const ANSWER_FIRST: Duration = Duration::from_micros(200);

/// The longest pause between two polls.
const POLL_INTERVAL_MAX: Duration = Duration::from_millis(1);

pub(super) struct Pause {
    sent: Instant,
    /// The last send or answer.
    pub(super) since: Instant,
    pub(super) polls: u32,
    /// The last answer left its transaction open, and so all locks but few: no answer is due.
    pub(super) none_is_due: bool,
}

impl Pause {
    /// A statement was sent.
    pub(super) fn begin() -> Self {
        let now = Instant::now();
        Self {
            sent: now,
            since: now,
            polls: 0,
            none_is_due: false,
        }
    }

    /// An answer came.
    pub(super) fn answered(&mut self) {
        *self = Self {
            sent: self.sent,
            ..Self::begin()
        };
    }

    /// The pause before the next poll, where the view shows waits after this long.
    pub(super) fn length(&self, shows_after: Duration) -> Duration {
        if self.none_is_due {
            return Duration::ZERO;
        }
        let longest = poll_interval(POLL_INTERVAL_MAX, shows_after);
        (ANSWER_FIRST * self.polls.max(1)).min(longest)
    }

    /// How long the view cannot show yet that the last statement waits.
    pub(super) fn until_shown(&self, shows_after: Duration) -> Duration {
        shows_after.saturating_sub(self.sent.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No question sooner than its answer can matter, and none needless beside the others.
    #[test]
    fn a_view_that_shows_waits_late_is_asked_seldom() {
        let late = Duration::from_millis(50);
        let mut pause = Pause::begin();
        let lengths = |pause: &mut Pause, shows_after| -> Vec<Duration> {
            let lengths = (0..40).map(|polls| {
                pause.polls = polls;
                pause.length(shows_after)
            });
            lengths.collect()
        };
        let at_once = lengths(&mut pause, Duration::ZERO);
        assert_eq!(at_once[0], ANSWER_FIRST);
        assert_eq!(at_once[39], POLL_INTERVAL_MAX);
        let seldom = lengths(&mut pause, late);
        assert_eq!(seldom[0], ANSWER_FIRST);
        assert_eq!(seldom[39], Duration::from_millis(5));
        assert_eq!(pause.until_shown(Duration::ZERO), Duration::ZERO);
        // An answer does not show a statement sooner or later that was sent before it.
        let sent = pause.sent;
        pause.answered();
        assert_eq!(pause.sent, sent);
        pause.none_is_due = true;
        assert_eq!(pause.length(late), Duration::ZERO);
    }
}
