//! How long the program has waited for what may come late.

use std::time::{Duration, Instant};

/// How often waiting is interrupted, for what becomes final meanwhile.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// Counts the time during which the program looked at its source.
///
/// A program that is stopped (Ctrl-Z, a paused machine) looks at nothing: what comes late may lie in
/// the pipe since long, and no read may become final before it was taken.
pub(super) struct Waited {
    seen: Instant,
    /// The longest time between two looks that counts whole.
    most: Duration,
    total: Duration,
}

/// Ten times as long as one look takes where nothing comes.
const LOOK_MAX: Duration = TICK.saturating_mul(10);

/// What a step counts at least: a timeout of nothing passes, too.
const LOOK_MIN: Duration = Duration::from_millis(10);

impl Waited {
    /// Begins to wait for something that is given up after so long.
    pub(super) fn since(begun: Instant, timeout: Duration) -> Self {
        Self {
            seen: begun,
            // What lies in the pipe is taken in several batches.
            most: LOOK_MAX.min(timeout / 8).max(LOOK_MIN),
            total: Duration::ZERO,
        }
    }

    /// Looks once more; the time waited up to now.
    pub(super) fn look(&mut self, now: Instant) -> Duration {
        self.total += now.saturating_duration_since(self.seen).min(self.most);
        self.seen = now;
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_while_the_program_stands_still_is_no_waiting() {
        let begun = Instant::now();
        let mut waited = Waited::since(begun, Duration::from_secs(5));
        let at = |milliseconds| begun + Duration::from_millis(milliseconds);
        assert_eq!(waited.look(at(50)), Duration::from_millis(50));
        assert_eq!(waited.look(at(450)), Duration::from_millis(450));
        let stood_still = at(3_600_000);
        let resumed = waited.look(stood_still);
        assert_eq!(resumed, Duration::from_millis(450) + LOOK_MAX);
        let later = waited.look(stood_still + Duration::from_millis(50));
        assert_eq!(later, resumed + Duration::from_millis(50));
    }
}
