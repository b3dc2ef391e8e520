//! When verdicts become final.

use std::time::Duration;

/// Counts time in epochs: what came in one epoch becomes final together, when the last of it has
/// waited for the timeout. A verdict waits for at most an eighth more than that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    timeout: Duration,
    /// How long an epoch lasts.
    grain: Duration,
    now: u32,
    /// What came in an epoch before this one is final.
    open: u32,
}

/// The shortest epoch: 2^32 of them are more than a year.
const GRAIN_MIN: Duration = Duration::from_millis(10);

impl Clock {
    pub(super) fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            grain: (timeout / 8).max(GRAIN_MIN),
            now: 0,
            open: 0,
        }
    }

    /// Goes on to a moment, counted from the beginning; whether something became final.
    pub(super) fn advance(&mut self, moment: Duration) -> bool {
        self.now = self.epochs(moment).max(self.now);
        let open = moment.checked_sub(self.timeout);
        let open = open.map_or(0, |moment| self.epochs(moment));
        let is_later = open > self.open;
        self.open = open.max(self.open);
        is_later
    }

    /// Everything is final.
    pub(super) fn end(&mut self) {
        self.open = u32::MAX;
    }

    fn epochs(&self, moment: Duration) -> u32 {
        let epochs = moment.as_nanos() / self.grain.as_nanos().max(1);
        u32::try_from(epochs).unwrap_or(u32::MAX - 1)
    }

    /// The epoch that runs.
    #[inline]
    pub(super) fn now(&self) -> u32 {
        self.now
    }

    /// What came before this epoch is final.
    #[inline]
    pub(super) fn open(&self) -> u32 {
        self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_final_before_its_timeout_and_everything_is_soon_after() {
        let mut clock = Clock::new(Duration::from_secs(8));
        for came in 0..40u64 {
            let moment = Duration::from_millis(came * 300);
            let mut later = clock;
            clock.advance(moment);
            later.advance(moment);
            let epoch = later.now();
            later.advance(moment + Duration::from_millis(7_999));
            assert!(epoch >= later.open(), "{came}");
            later.advance(moment + Duration::from_millis(9_000));
            assert!(epoch < later.open(), "{came}");
        }
    }
}
