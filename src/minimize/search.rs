//! The state of a minimization: the best case so far, the predicate, the candidates tried.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::draft::Draft;
use crate::dialect::Dialect;
use crate::model::{StatementId, TestCase};

/// Bounds of a minimization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinimizeBudget {
    /// Candidates that are run at most.
    pub candidates: u32,
    /// No candidate is begun when this much time has passed.
    pub time: Duration,
}

impl Default for MinimizeBudget {
    /// A candidate costs about 10 ms on a local server; a minute is what a finding may cost.
    fn default() -> Self {
        Self {
            candidates: 800,
            time: Duration::from_secs(60),
        }
    }
}

/// A smaller case that may show the finding.
#[derive(Clone, Copy, Debug)]
pub struct SmallerCase<'c> {
    pub case: &'c TestCase,
    /// The same for every candidate that does the same, and for no other.
    pub key: [u8; 32],
}

/// What the caller says of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateAnswer {
    /// It shows the finding.
    Shows,
    /// It does not.
    Hides,
    /// Not decided yet: to be asked again when the others have had their turn.
    Open,
    /// There are no more answers.
    Over,
}

/// The search ends here: the budget ran out or the predicate has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinimizationOver;

/// One way of making a case smaller.
pub trait Pass: Sync {
    /// For logs.
    fn name(&self) -> &'static str;

    /// Tries its candidates.
    ///
    /// # Errors
    /// When the search is over.
    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver>;
}

/// What is known of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Decided,
    /// In this round it was not.
    OpenIn(u32),
}

/// The state of a minimization, as passes see it.
pub struct Minimization<'a> {
    best: Draft,
    dialect: &'a Dialect,
    ask: &'a mut dyn FnMut(SmallerCase<'_>) -> Option<CandidateAnswer>,
    asked: BTreeMap<[u8; 32], Asked>,
    /// Counted from 1; an open candidate is asked for once in each.
    round: u32,
    /// Candidates of this round that are not decided.
    open: u32,
    budget: MinimizeBudget,
    started: Instant,
    tried: u32,
    kept: u32,
}

impl<'a> Minimization<'a> {
    pub(super) fn new(
        case: &TestCase,
        named: &BTreeSet<StatementId>,
        dialect: &'a Dialect,
        ask: &'a mut dyn FnMut(SmallerCase<'_>) -> Option<CandidateAnswer>,
        budget: MinimizeBudget,
    ) -> Self {
        let best = Draft::of(case, named);
        Self {
            asked: BTreeMap::from([(best.hash(), Asked::Decided)]),
            round: 1,
            open: 0,
            best,
            dialect,
            ask,
            budget,
            started: Instant::now(),
            tried: 0,
            kept: 0,
        }
    }

    pub(super) fn into_result(self) -> (TestCase, u32, u32) {
        (self.best.case(self.dialect), self.tried, self.kept)
    }

    /// The smallest case so far.
    pub(super) fn best(&self) -> &Draft {
        &self.best
    }

    pub(super) fn dialect(&self) -> &'a Dialect {
        self.dialect
    }

    /// Candidates that were run.
    pub fn tried(&self) -> u32 {
        self.tried
    }

    /// Candidates that became the best.
    pub fn kept(&self) -> u32 {
        self.kept
    }

    /// Begins another round, in which candidates that are open are asked for again.
    pub(super) fn begin_round(&mut self) {
        self.round += 1;
        self.open = 0;
    }

    /// Whether candidates of this round are not decided.
    pub(super) fn has_open(&self) -> bool {
        self.open > 0
    }

    /// Asks whether a candidate shows the finding, and makes it the best if so.
    ///
    /// # Errors
    /// When the search is over.
    pub(super) fn try_draft(&mut self, candidate: Draft) -> Result<bool, MinimizationOver> {
        let key = candidate.hash();
        let asked = self.asked.get(&key).copied();
        let is_open = match asked {
            None => false,
            Some(Asked::OpenIn(round)) if round < self.round => true,
            Some(Asked::OpenIn(_) | Asked::Decided) => return Ok(false),
        };
        if candidate.lines.is_empty() {
            return Ok(false);
        }
        if self.tried >= self.budget.candidates || self.started.elapsed() >= self.budget.time {
            return Err(MinimizationOver);
        }
        self.tried += u32::from(!is_open);
        let case = candidate.case(self.dialect);
        let answer = (self.ask)(SmallerCase { case: &case, key }).ok_or(MinimizationOver)?;
        let (asked, shows) = match answer {
            CandidateAnswer::Shows => (Asked::Decided, true),
            CandidateAnswer::Hides => (Asked::Decided, false),
            CandidateAnswer::Open => (Asked::OpenIn(self.round), false),
            CandidateAnswer::Over => return Err(MinimizationOver),
        };
        self.asked.insert(key, asked);
        self.open += u32::from(asked != Asked::Decided);
        if shows {
            self.kept += 1;
            self.best = candidate;
        }
        Ok(shows)
    }

    /// Removes as many of the items of the best case as the finding allows: large chunks first,
    /// then smaller ones, until no single item can go.
    ///
    /// `count` says how many items the case has now; `without` makes the candidate that lacks the
    /// items of these numbers, or none where that is no case.
    ///
    /// # Errors
    /// When the search is over.
    pub(super) fn remove(
        &mut self,
        count: impl Fn(&Draft) -> usize,
        without: impl Fn(&Draft, &BTreeSet<usize>) -> Option<Draft>,
    ) -> Result<(), MinimizationOver> {
        let mut size = count(&self.best);
        while size > 0 {
            let mut start = 0;
            let mut removed = false;
            while start < count(&self.best) {
                let end = (start + size).min(count(&self.best));
                let chunk: BTreeSet<usize> = (start..end).collect();
                let candidate = without(&self.best, &chunk);
                if let Some(candidate) = candidate
                    && self.try_draft(candidate)?
                {
                    removed = true;
                } else {
                    start = end;
                }
            }
            if size > 1 {
                size = size.div_ceil(2);
            } else if !removed {
                size = 0;
            }
        }
        Ok(())
    }
}
