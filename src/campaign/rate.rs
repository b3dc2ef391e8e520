//! How often a finding shows, and whether a smaller case shows it as often.

use crate::reproducer::Reproduced;

/// Hits after which a rate is known well enough: 5 hits put it within a factor of about 2.5.
const HITS_MAX: u32 = 5;

/// Runs after which measuring ends. A finding of one run in a hundred shows in them with 95 %.
const RUNS_MAX: u32 = 300;

/// A rate above this one may fall with the statements of the case, down to it: where each of six
/// statements may fail, the smallest case has one of them and a sixth of the rate.
const WORTH_KEEPING: f64 = 0.05;

/// A candidate whose rate is lower by this factor is to be refused.
const LOSS: f64 = 5.0;

/// Chance that a candidate which lost its rate is kept: the last measurement shows it, and an earlier one is taken.
/// Below a third a candidate would mostly have to show the finding twice.
const WRONGLY_KEPT: f64 = 0.35;

/// Chance that a candidate which has the rate is refused: the case stays a little larger.
const WRONGLY_REFUSED: f64 = 0.05;

/// Whether more runs tell more about a rate.
///
/// Inverse sampling: the rarer the finding, the more runs (Haldane, *On a Method of Estimating
/// Frequencies*, Biometrika 33 (1945), 222-225).
pub(super) fn is_measured(so_far: Reproduced) -> bool {
    so_far.hits >= HITS_MAX || so_far.runs >= RUNS_MAX
}

/// The rate that a candidate must have which keeps this share of the statements of the case.
pub(super) fn wanted(rate: f64, share: f64) -> f64 {
    (rate * share).max(rate.min(WORTH_KEEPING))
}

/// Runs for which a candidate is not left for the others, when it has not shown the finding: one of three that have
/// this rate shows it in them.
pub(super) fn turn_runs(wanted: f64) -> u32 {
    (1..=RUNS_MAX)
        .find(|runs| f64::from(*runs) * wanted * 3.0 >= 1.0)
        .unwrap_or(RUNS_MAX)
}

/// The smallest of ever smaller cases whose measured rate stays, with what measuring it gave; none where that of no case does.
/// The last one is measured first, then those before it by halves.
pub(super) fn last_that_stays<T, M, E>(
    cases: &[T],
    mut measure: impl FnMut(&T) -> Result<Option<M>, E>,
) -> Result<Option<M>, E> {
    let Some(last) = cases.last() else {
        return Ok(None);
    };
    let mut best = measure(last)?;
    if best.is_some() {
        return Ok(best);
    }
    let (mut from, mut to) = (0, cases.len() - 1);
    while from < to {
        let middle = from.midpoint(to);
        match measure(&cases[middle])? {
            Some(measured) => {
                best = Some(measured);
                from = middle + 1;
            }
            None => to = middle,
        }
    }
    Ok(best)
}

/// Whether a measured rate is one that a candidate may have.
pub(super) fn stays(measured: Reproduced, wanted: f64) -> bool {
    measured.rate() * LOSS >= wanted
}

/// Decides, run by run, whether a candidate shows a finding at the wanted rate or at a fifth of it.
///
/// Wald's sequential probability ratio test (*Sequential Tests of Statistical Hypotheses*, Annals of
/// Mathematical Statistics 16 (1945), 117-186, section 3). At a rate of 5 % a candidate that never
/// shows the finding is refused after 62 runs, one that does is kept after some 30.
#[derive(Clone, Copy, Debug)]
pub(super) struct SequentialTest {
    /// What a run that shows the finding adds to the log-likelihood ratio, and what another one does.
    hit: f64,
    miss: f64,
    ratio: f64,
    has_shown: bool,
}

impl SequentialTest {
    pub(super) fn new(wanted: f64) -> Self {
        let high = wanted.clamp(1.0 / f64::from(RUNS_MAX), 0.95);
        let low = high / LOSS;
        Self {
            hit: (high / low).ln(),
            miss: ((1.0 - high) / (1.0 - low)).ln(),
            ratio: 0.0,
            has_shown: false,
        }
    }

    /// Whether a run showed the finding.
    pub(super) fn has_shown(&self) -> bool {
        self.has_shown
    }

    /// Takes a run into account; whether the candidate is kept, once that is decided.
    pub(super) fn add(&mut self, shows: bool) -> Option<bool> {
        self.has_shown |= shows;
        self.ratio += if shows { self.hit } else { self.miss };
        if self.ratio >= ((1.0 - WRONGLY_REFUSED) / WRONGLY_KEPT).ln() {
            Some(true)
        } else if self.ratio <= (WRONGLY_REFUSED / (1.0 - WRONGLY_KEPT)).ln() {
            Some(false)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of candidates of a rate that the test keeps, and the mean number of runs it asks for.
    fn outcome(wanted: f64, rate: f64) -> (f64, f64) {
        const CANDIDATES: u32 = 2_000;
        // A multiplicative congruential generator: the same numbers on every machine.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            f64::from((state >> 40) as u32) / f64::from(1_u32 << 24)
        };
        let (mut kept, mut runs) = (0_u32, 0_u32);
        for _ in 0..CANDIDATES {
            let mut test = SequentialTest::new(wanted);
            loop {
                runs += 1;
                if let Some(keep) = test.add(draw() < rate) {
                    kept += u32::from(keep);
                    break;
                }
            }
        }
        let whole = f64::from(CANDIDATES);
        (f64::from(kept) / whole, f64::from(runs) / whole)
    }

    #[test]
    fn a_candidate_with_the_rate_is_kept_and_one_that_lost_it_is_refused() {
        for wanted in [0.01, 0.05, 0.3, 0.8] {
            let (kept, _) = outcome(wanted, wanted);
            assert!(kept > 0.93, "{wanted}: {kept} of those with the rate");
            let (kept, _) = outcome(wanted, wanted / LOSS);
            assert!(kept < 0.37, "{wanted}: {kept} of those at a fifth of it");
            let (kept, _) = outcome(wanted, 0.0);
            assert!(kept == 0.0, "{wanted}: {kept} of those that never show it");
        }
    }

    #[test]
    fn the_rarer_the_finding_the_more_runs_decide() {
        let (_, never) = outcome(0.05, 0.0);
        assert!((55.0..70.0).contains(&never), "{never} runs");
        let (_, as_often) = outcome(0.05, 0.05);
        assert!((20.0..45.0).contains(&as_often), "{as_often} runs");
        assert!(outcome(0.01, 0.0).1 > 4.0 * never);
        assert!(outcome(0.8, 0.0).1 < 4.0);
    }

    #[test]
    fn a_rate_may_fall_with_the_statements_as_far_as_it_is_worth_having() {
        assert_eq!(wanted(0.3, 0.5), 0.15);
        assert_eq!(wanted(0.3, 0.1), WORTH_KEEPING);
        assert_eq!(wanted(0.01, 0.1), 0.01);
        let of = |hits, runs| Reproduced { hits, runs };
        assert!(stays(of(5, 100), 0.05) && stays(of(1, 100), 0.05));
        assert!(!stays(of(1, 300), 0.05) && !stays(of(0, 300), 0.01));
    }

    #[test]
    fn a_turn_is_a_third_of_the_runs_that_a_hit_takes() {
        assert_eq!([0.95, 0.3, 0.05, 0.01].map(turn_runs), [1, 2, 7, 34]);
        assert_eq!(turn_runs(0.0), RUNS_MAX);
    }

    #[test]
    fn where_the_smallest_case_lost_the_rate_the_smallest_that_has_it_is_taken() {
        for (count, stays) in [
            (0, 0),
            (1, 0),
            (1, 1),
            (9, 0),
            (9, 1),
            (9, 5),
            (9, 8),
            (9, 9),
        ] {
            let cases: Vec<usize> = (1..=count).collect();
            let mut measured = 0;
            let found = last_that_stays(&cases, |case| {
                measured += 1;
                Ok::<_, ()>((*case <= stays).then_some(*case))
            });
            let found = found.expect("measuring does not fail");
            assert_eq!(
                found,
                Some(stays).filter(|_| stays > 0),
                "{stays} of {count}"
            );
            assert!(measured <= 5, "{measured} measured of {count}");
        }
    }

    #[test]
    fn measuring_ends_by_hits_or_by_runs() {
        let of = |hits, runs| is_measured(Reproduced { hits, runs });
        assert!(!of(4, 299) && of(5, 6) && of(0, 300));
    }
}
