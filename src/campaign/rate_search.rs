//! The smallest case that shows a finding as often as the whole one does.
//!
//! At a rate of 5 % it takes some 60 runs to say that a candidate has lost the finding, and a third of that to
//! see it once. So a candidate gets a few runs, and is left open when none of them shows it; the next ones have
//! their turn, and what was left open goes on where it stood. The first that shows it leaves a smaller case, whose runs cost less,
//! and which has fewer candidates to refuse at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::rate::{SequentialTest, turn_runs, wanted};
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::minimize::{
    CandidateAnswer, MinimizeBudget, MinimizeEnd, SmallerCase, minimize_by_answers,
};
use crate::model::{StatementId, TestCase};

/// Runs for which a finding that does not show every time may be minimized.
const SEARCH_RUNS: u32 = 8_000;

/// And how long.
const SEARCH_TIME: Duration = Duration::from_secs(180);

/// What one run of a candidate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OneRun {
    Shows,
    Hides,
    /// It is no case, or there are no more runs: nothing is known of it, and nothing will be.
    Impossible,
    Stopped,
}

/// A case whose finding shows at a rate, to be made smaller.
pub(super) struct RateSearch<'a> {
    pub case: &'a TestCase,
    /// Statements at which the finding differs.
    pub named: BTreeSet<StatementId>,
    /// Of the whole case.
    pub rate: f64,
    pub dialect: &'a Dialect,
}

/// What a search has found.
#[derive(Debug)]
pub(super) struct FoundAtRate {
    /// Ever smaller cases that seemed to have the rate.
    pub kept: Vec<TestCase>,
    /// Whether every smaller case was refused.
    pub is_complete: bool,
}

impl RateSearch<'_> {
    /// The rate that a smaller case must have.
    pub(super) fn wanted(&self, case: &TestCase) -> f64 {
        let part = share(case.statements.len(), self.case.statements.len());
        wanted(self.rate, part)
    }

    /// Makes the case smaller. `run` runs a candidate once; `note` hears of each that is kept.
    ///
    /// One of twenty candidates that have the rate is refused. So the smallest case is taken for the whole one, and
    /// made smaller again, until that leads to nothing.
    pub(super) fn search(
        &self,
        run: &mut dyn FnMut(&TestCase) -> Result<OneRun, EngineError>,
        note: &dyn Fn(&TestCase),
    ) -> Result<FoundAtRate, EngineError> {
        let started = Instant::now();
        let mut left = SEARCH_RUNS;
        let mut kept: Vec<TestCase> = Vec::new();
        let mut named = self.named.clone();
        let mut is_again = false;
        loop {
            let before = kept.len();
            let from = kept.last().unwrap_or(self.case).clone();
            let mut turns = Turns {
                search: self,
                left: &mut left,
                open: BTreeMap::new(),
                kept: &mut kept,
            };
            let mut answer = |candidate: SmallerCase<'_>| turns.answer(candidate, run, note);
            let budget = MinimizeBudget {
                candidates: u32::MAX,
                time: SEARCH_TIME.saturating_sub(started.elapsed()),
            };
            let end = minimize_by_answers(&from, &named, self.dialect, &mut answer, budget).end;
            let has_ended = match end {
                MinimizeEnd::Failed(error) => return Err(error),
                MinimizeEnd::Fixpoint => kept.len() == before,
                MinimizeEnd::Budget => true,
            };
            if has_ended {
                // A search that keeps nothing, ended or not, leaves what the one before it came to.
                let is_complete =
                    kept.len() == before && (is_again || matches!(end, MinimizeEnd::Fixpoint));
                return Ok(FoundAtRate { kept, is_complete });
            }
            // They stand elsewhere now.
            named.clear();
            is_again = true;
        }
    }
}

/// Candidates that have their turns, each with the runs that it had.
struct Turns<'s> {
    search: &'s RateSearch<'s>,
    /// Runs that may still be made.
    left: &'s mut u32,
    open: BTreeMap<[u8; 32], SequentialTest>,
    kept: &'s mut Vec<TestCase>,
}

impl Turns<'_> {
    /// Gives a candidate a turn.
    fn answer(
        &mut self,
        candidate: SmallerCase<'_>,
        run: &mut dyn FnMut(&TestCase) -> Result<OneRun, EngineError>,
        note: &dyn Fn(&TestCase),
    ) -> Result<CandidateAnswer, EngineError> {
        let wanted = self.search.wanted(candidate.case);
        let test = self.open.entry(candidate.key);
        let test = test.or_insert_with(|| SequentialTest::new(wanted));
        let mut turn = turn_runs(wanted);
        while *self.left > 0 {
            *self.left -= 1;
            let shows = match run(candidate.case)? {
                OneRun::Shows => true,
                OneRun::Hides => false,
                OneRun::Impossible => return Ok(CandidateAnswer::Hides),
                OneRun::Stopped => return Ok(CandidateAnswer::Over),
            };
            match test.add(shows) {
                Some(true) => {
                    note(candidate.case);
                    self.kept.push(candidate.case.clone());
                    return Ok(CandidateAnswer::Shows);
                }
                Some(false) => return Ok(CandidateAnswer::Hides),
                None => {}
            }
            turn = turn.saturating_sub(1);
            // One that has shown it is decided at once.
            if turn == 0 && !test.has_shown() {
                return Ok(CandidateAnswer::Open);
            }
        }
        Ok(CandidateAnswer::Over)
    }
}

/// A part of a whole, as a number.
fn share(part: usize, whole: usize) -> f64 {
    let of = |count: usize| u32::try_from(count).map_or(f64::INFINITY, f64::from);
    of(part) / of(whole.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;
    use crate::minimize::minimize;
    use crate::model::StatementKind;
    use crate::reproducer::case_of;

    /// Six sessions of three transactions with four statements each, a line of each session in turn, on two tables.
    fn large_case(dialect: &Dialect) -> TestCase {
        let mut text = String::new();
        for table in ["t0", "t1"] {
            text += &format!(
                "/* init */ CREATE TABLE {table} (pkey BIGINT PRIMARY KEY, c0 INT);\n\
                 /* init */ INSERT INTO {table} (pkey, c0) VALUES (1, 1), (2, 2), (3, 3), (4, 4);\n"
            );
        }
        let session = |number: usize| {
            let of_transaction = move |transaction: usize| {
                let inner = (0..4).map(move |line| match (number + transaction + line) % 4 {
                    0 => format!("SELECT * FROM t0 WHERE c0 > {line}"),
                    1 => format!("UPDATE t1 SET c0 = {line} WHERE pkey = {transaction}"),
                    2 => format!("DELETE FROM t0 WHERE pkey = {line}"),
                    _ => format!("SELECT * FROM t1 WHERE c0 > {number} FOR UPDATE"),
                });
                let begin = std::iter::once("BEGIN".to_owned());
                begin.chain(inner).chain(["COMMIT".to_owned()])
            };
            (0..3).flat_map(of_transaction).collect::<Vec<_>>()
        };
        let sessions: Vec<Vec<String>> = (0..6).map(session).collect();
        for line in 0..sessions[0].len() {
            for (number, session) in sessions.iter().enumerate() {
                text += &format!("/* s{} */ {};\n", number + 1, session[line]);
            }
        }
        case_of(&text, dialect)
    }

    /// The updates of the last row beside another session's transaction that has deleted something and is still open: an engine
    /// that lies may lie about each of them.
    fn exposed(case: &TestCase) -> Vec<StatementId> {
        let lines = &case.statements;
        let is_open_beside = |delete: usize, at: usize| {
            let id = lines[delete].id.transaction;
            let is_end = |line: &usize| {
                lines[*line].id.transaction == id && lines[*line].effect.kind.is_end()
            };
            lines[delete].effect.kind == StatementKind::Delete
                && lines[delete].session != lines[at].session
                && (at..lines.len()).any(|line| is_end(&line))
                && !(delete..at).any(|line| is_end(&line))
        };
        let is_fragile = |sql: &str| {
            let others = ["WHERE pkey = 0", "WHERE pkey = 1"];
            sql.starts_with("UPDATE t1 SET c0 = 1") && !others.iter().any(|text| sql.contains(text))
        };
        (0..lines.len())
            .filter(|at| is_fragile(&lines[*at].sql))
            .filter(|at| (0..*at).any(|delete| is_open_beside(delete, *at)))
            .map(|at| lines[at].id)
            .collect()
    }

    /// An engine that lies about an exposed update with a probability, and the runs that were made on it.
    struct Liar {
        rate: f64,
        /// Of a xorshift generator: the same lies on every machine.
        state: u64,
        runs: u32,
    }

    impl Liar {
        fn new(rate: f64, seed: u64) -> Self {
            Self {
                rate,
                state: 0x2545_f491_4f6c_dd1d_u64.wrapping_mul(seed),
                runs: 0,
            }
        }

        fn lies(&mut self) -> bool {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            f64::from((self.state >> 40) as u32) / f64::from(1_u32 << 24) < self.rate
        }

        /// Whether one run of the case shows a lie.
        fn run(&mut self, case: &TestCase) -> bool {
            self.runs += 1;
            let exposed = exposed(case).len();
            (0..exposed).fold(false, |shown, _| self.lies() | shown)
        }

        /// How often a case shows a lie.
        fn rate_of(&self, case: &TestCase) -> f64 {
            let exposed = i32::try_from(exposed(case).len()).expect("a few");
            1.0 - (1.0 - self.rate).powi(exposed)
        }
    }

    /// Statements without and with those that begin and end transactions.
    fn size(case: &TestCase) -> (usize, usize) {
        (case.user_statements().count(), case.statements.len())
    }

    /// The last case of a search at this rate, and the runs for it.
    fn smallest(liar: &mut Liar, named: &[StatementId]) -> (TestCase, u32) {
        let dialect = dialect_of("mysql", "9.7.0");
        let case = large_case(&dialect);
        let search = RateSearch {
            case: &case,
            named: named.iter().copied().collect(),
            rate: liar.rate_of(&case),
            dialect: &dialect,
        };
        let mut run = |candidate: &TestCase| {
            Ok(match liar.run(candidate) {
                true => OneRun::Shows,
                false => OneRun::Hides,
            })
        };
        let found = search.search(&mut run, &|_| {}).expect("it answers");
        assert!(found.is_complete, "{} runs", liar.runs);
        let smallest = found.kept.last().expect("a smaller one").clone();
        (smallest, liar.runs)
    }

    #[test]
    fn a_lie_of_one_in_twenty_comes_down_to_the_size_of_one_that_always_shows() {
        let dialect = dialect_of("mysql", "9.7.0");
        let case = large_case(&dialect);
        let mut shows = |case: &TestCase| Ok::<_, EngineError>(!exposed(case).is_empty());
        let steady = minimize(&case, &dialect, &mut shows, MinimizeBudget::default()).case;
        assert_eq!(size(&steady).0, 2);
        for seed in 1..=8 {
            for named in [exposed(&case), Vec::new()] {
                let mut liar = Liar::new(0.05, seed);
                let (smallest, runs) = smallest(&mut liar, &named);
                assert_eq!(size(&smallest), size(&steady), "{smallest:#?}");
                // The sequential test alone, for one candidate after the other, takes more than are allowed.
                assert!(runs < 5_000, "{runs} runs, {} named", named.len());
            }
        }
    }

    #[test]
    fn where_no_run_shows_it_again_nothing_is_kept_and_no_more_runs_are_made_than_allowed() {
        let dialect = dialect_of("mysql", "9.7.0");
        let case = large_case(&dialect);
        let search = RateSearch {
            case: &case,
            named: BTreeSet::new(),
            rate: 0.01,
            dialect: &dialect,
        };
        let mut runs = 0;
        let mut run = |_: &TestCase| {
            runs += 1;
            Ok(OneRun::Hides)
        };
        let found = search.search(&mut run, &|_| {}).expect("it answers");
        assert!(found.kept.is_empty() && !found.is_complete);
        assert_eq!(runs, SEARCH_RUNS);
    }

    #[test]
    fn a_search_that_is_stopped_keeps_what_it_has() {
        let dialect = dialect_of("mysql", "9.7.0");
        let case = large_case(&dialect);
        let search = RateSearch {
            case: &case,
            named: exposed(&case).into_iter().collect(),
            rate: 1.0,
            dialect: &dialect,
        };
        let mut left = 40;
        let mut run = |candidate: &TestCase| {
            left -= 1;
            Ok(match left {
                0 => OneRun::Stopped,
                _ if exposed(candidate).is_empty() => OneRun::Hides,
                _ => OneRun::Shows,
            })
        };
        let found = search.search(&mut run, &|_| {}).expect("it answers");
        assert!(!found.kept.is_empty() && !found.is_complete);
    }
}
