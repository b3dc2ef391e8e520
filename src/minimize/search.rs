//! The state of a minimization: the best case so far, the predicate, the candidates tried.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::draft::Draft;
use crate::dialect::Dialect;
use crate::model::TestCase;

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

/// The state of a minimization, as passes see it.
pub struct Minimization<'a> {
    best: Draft,
    dialect: &'a Dialect,
    ask: &'a mut dyn FnMut(&TestCase) -> Option<bool>,
    asked: BTreeSet<[u8; 32]>,
    budget: MinimizeBudget,
    started: Instant,
    tried: u32,
    kept: u32,
}

impl<'a> Minimization<'a> {
    pub(super) fn new(
        case: &TestCase,
        dialect: &'a Dialect,
        ask: &'a mut dyn FnMut(&TestCase) -> Option<bool>,
        budget: MinimizeBudget,
    ) -> Self {
        let best = Draft::of(case);
        Self {
            asked: BTreeSet::from([best.hash()]),
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

    /// Asks whether a candidate shows the finding, and makes it the best if so.
    ///
    /// # Errors
    /// When the search is over.
    pub(super) fn try_draft(&mut self, candidate: Draft) -> Result<bool, MinimizationOver> {
        if candidate.lines.is_empty() || !self.asked.insert(candidate.hash()) {
            return Ok(false);
        }
        if self.tried >= self.budget.candidates || self.started.elapsed() >= self.budget.time {
            return Err(MinimizationOver);
        }
        self.tried += 1;
        let shows = (self.ask)(&candidate.case(self.dialect)).ok_or(MinimizationOver)?;
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
