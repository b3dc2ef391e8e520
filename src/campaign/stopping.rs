//! How a run waits for its workers once it is to end.

use std::time::{Duration, Instant};

use super::stop::StopFlag;

/// How long the workers may take to end what is under way. Longer than a statement's deadline, unless a
/// signal shows that a person waits.
const GRACE_AFTER_SIGNAL: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(40);

/// What findings under way may take beyond `--for`: to make one smaller that shows every time takes no
/// longer ([`crate::minimize::MinimizeBudget`]). Where one is published larger than it has to be, no entry of
/// the registry fits it, and a known bug is taken for a new one.
const OVERTIME: Duration = Duration::from_secs(60);

/// People learn after this long why the run goes on.
const TOLD_AFTER: Duration = Duration::from_secs(1);

/// Why a run ends before its cases are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    Signal,
    TimeOver,
}

impl StopCause {
    pub fn slug(self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::TimeOver => "time-over",
        }
    }
}

/// What a run that is to end does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopStep {
    Wait,
    /// Tells people why it goes on.
    Tell(StopCause),
    /// Leaves the workers that have not ended.
    GiveUp,
}

/// A run that is to end before its cases are done.
#[derive(Debug, Default)]
pub(super) struct Stopping {
    /// Since when the workers are waited for, for the reason that stands.
    since: Option<Instant>,
    /// Whether what is under way is to end, too.
    is_urgent: bool,
    told: Option<StopCause>,
}

impl Stopping {
    pub(super) fn step(&mut self, stop: &StopFlag, now: Instant) -> StopStep {
        let is_urgent = stop.is_urgent();
        if is_urgent && !self.is_urgent {
            // A signal may come when the time is over already: it is waited for anew.
            (self.is_urgent, self.since) = (true, None);
        }
        let waited = now.saturating_duration_since(*self.since.get_or_insert(now));
        let cause = match (stop.signal(), is_urgent) {
            (Some(_), _) => Some(StopCause::Signal),
            (None, false) => Some(StopCause::TimeOver),
            (None, true) => None,
        };
        if let Some(cause) = cause.filter(|cause| waited > TOLD_AFTER && self.told != Some(*cause))
        {
            self.told = Some(cause);
            return StopStep::Tell(cause);
        }
        if !is_urgent {
            if waited > OVERTIME {
                stop.overtime_over();
            }
            return StopStep::Wait;
        }
        let grace = match stop.signal() {
            Some(_) => GRACE_AFTER_SIGNAL,
            None => GRACE,
        };
        if waited > grace {
            StopStep::GiveUp
        } else {
            StopStep::Wait
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    /// Every step of a run that looks once a second, `seconds` long from `from`, but those at which it only waits.
    fn steps(
        stopping: &mut Stopping,
        stop: &StopFlag,
        began: Instant,
        seconds: std::ops::Range<u64>,
    ) -> Vec<(u64, StopStep)> {
        seconds
            .map(|second| {
                let now = began + Duration::from_secs(second);
                (second, stopping.step(stop, now))
            })
            .filter(|(_, step)| *step != StopStep::Wait)
            .collect()
    }

    #[test]
    fn findings_go_on_when_the_time_is_over_but_not_without_end() {
        let (stop, mut stopping, began) =
            (StopFlag::default(), Stopping::default(), Instant::now());
        stop.time_over();
        let told = steps(&mut stopping, &stop, began, 0..61);
        assert_eq!(told, [(2, StopStep::Tell(StopCause::TimeOver))]);
        assert!(stop.is_set() && !stop.is_urgent());
        assert_eq!(steps(&mut stopping, &stop, began, 61..62), []);
        assert!(stop.is_urgent() && stop.signal().is_none());
        // 62 is the first look after it, from which the workers are waited for.
        assert_eq!(
            steps(&mut stopping, &stop, began, 62..104),
            [(103, StopStep::GiveUp)]
        );
    }

    #[test]
    fn a_signal_after_the_time_is_over_ends_what_goes_on() {
        let (stop, mut stopping, began) =
            (StopFlag::default(), Stopping::default(), Instant::now());
        stop.time_over();
        steps(&mut stopping, &stop, began, 0..30);
        stop.flag().store(2, Ordering::SeqCst);
        assert!(stop.is_urgent());
        assert_eq!(
            steps(&mut stopping, &stop, began, 30..42),
            [
                (32, StopStep::Tell(StopCause::Signal)),
                (41, StopStep::GiveUp)
            ]
        );
        assert_eq!(stop.signal(), Some(2));
    }

    #[test]
    fn a_run_that_failed_tells_its_failure_alone() {
        let (stop, mut stopping, began) =
            (StopFlag::default(), Stopping::default(), Instant::now());
        stop.failed();
        stop.time_over();
        assert_eq!(
            steps(&mut stopping, &stop, began, 0..42),
            [(41, StopStep::GiveUp)]
        );
    }
}
