//! When a run came to its verdicts: a bounded number of equal stretches of its time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::statistics::Verdicts;

/// With more stretches than this two neighbours become one, and each is twice as long from then on: a run of
/// a week has as few as one of an hour, and the file of the checkpoint stays small.
const STRETCHES_MAX: usize = 240;

/// When a run came to its verdicts, by its own time: pauses between its sittings are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictTimeline {
    /// When the first sitting began, in seconds since 1970; none of a run that an earlier program began.
    pub began_unix_s: Option<u64>,
    /// The length of each stretch, in seconds.
    pub stretch_s: u64,
    /// Cases judged in each stretch, beginning with the run; one without cases stands between others, and not
    /// at the end.
    pub stretches: Vec<Verdicts>,
    /// Judged by an earlier program, which did not note when.
    pub before: Verdicts,
}

impl Default for VerdictTimeline {
    fn default() -> Self {
        Self {
            began_unix_s: None,
            stretch_s: 1,
            stretches: Vec::new(),
            before: Verdicts::default(),
        }
    }
}

impl VerdictTimeline {
    /// Of a run that begins, or of one that an earlier program has brought to these verdicts.
    pub(super) fn beginning(so_far: &Verdicts, now_unix_s: u64) -> Self {
        Self {
            began_unix_s: (so_far.total() == 0).then_some(now_unix_s),
            before: *so_far,
            ..Self::default()
        }
    }

    /// Notes what the run has come to after this time: what is more than was noted before was judged now.
    pub(super) fn note(&mut self, total: &Verdicts, elapsed: Duration) {
        let new = total.since(&self.noted());
        if new.total() == 0 {
            return;
        }
        let mut at = self.stretch_of(elapsed);
        while at >= STRETCHES_MAX {
            self.halve();
            at = self.stretch_of(elapsed);
        }
        if self.stretches.len() <= at {
            self.stretches.resize(at + 1, Verdicts::default());
        }
        self.stretches[at] = self.stretches[at].plus(&new);
    }

    /// Everything that was noted.
    fn noted(&self) -> Verdicts {
        let stretches = self.stretches.iter();
        stretches.fold(self.before, |sum, stretch| sum.plus(stretch))
    }

    fn stretch_of(&self, elapsed: Duration) -> usize {
        let number = elapsed.as_secs() / self.stretch_s.max(1);
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    fn halve(&mut self) {
        let pairs = self.stretches.chunks(2);
        let sum = |pair: &[Verdicts]| {
            let parts = pair.iter();
            parts.fold(Verdicts::default(), |sum, part| sum.plus(part))
        };
        self.stretches = pairs.map(sum).collect();
        self.stretch_s = self.stretch_s.max(1).saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(agree: u64) -> Verdicts {
        Verdicts {
            agree,
            ..Verdicts::default()
        }
    }

    fn counts(timeline: &VerdictTimeline) -> Vec<u64> {
        let stretches = timeline.stretches.iter();
        stretches.map(Verdicts::total).collect()
    }

    #[test]
    fn cases_are_counted_in_the_stretch_they_were_judged_in() {
        let mut timeline = VerdictTimeline::beginning(&agree(0), 1_000);
        for (total, millis) in [(2, 100), (5, 900), (5, 1_500), (6, 3_999)] {
            timeline.note(&agree(total), Duration::from_millis(millis));
        }
        assert_eq!(counts(&timeline), [5, 0, 0, 1]);
        assert_eq!(
            (timeline.stretch_s, timeline.began_unix_s),
            (1, Some(1_000))
        );
    }

    #[test]
    fn a_long_run_has_longer_stretches_and_no_more_of_them() {
        let mut timeline = VerdictTimeline::beginning(&agree(0), 0);
        const SECONDS: u64 = 100_000;
        for second in 0..SECONDS {
            timeline.note(&agree((second + 1) * 3), Duration::from_secs(second));
        }
        assert_eq!(timeline.stretch_s, 512);
        let counts = counts(&timeline);
        assert!(counts.len() <= STRETCHES_MAX, "{}", counts.len());
        assert_eq!(counts.iter().sum::<u64>(), SECONDS * 3);
        let (last, full) = counts.split_last().expect("stretches");
        assert!(full.iter().all(|count| *count == 512 * 3), "{full:?}");
        assert_eq!(*last, SECONDS % 512 * 3);
    }

    #[test]
    fn a_jump_far_ahead_keeps_every_count() {
        let mut timeline = VerdictTimeline::beginning(&agree(0), 0);
        timeline.note(&agree(7), Duration::ZERO);
        timeline.note(&agree(9), Duration::from_secs(1 << 40));
        assert!(timeline.stretches.len() <= STRETCHES_MAX);
        assert_eq!(counts(&timeline).iter().sum::<u64>(), 9);
    }

    #[test]
    fn what_an_earlier_program_judged_has_no_time() {
        let mut timeline = VerdictTimeline::beginning(&agree(50), 1_000);
        timeline.note(&agree(53), Duration::from_secs(2));
        assert_eq!(counts(&timeline), [0, 0, 3]);
        assert_eq!((timeline.before, timeline.began_unix_s), (agree(50), None));
    }
}
