//! Smaller cases that still show the finding.
//!
//! Passes from the coarse to the fine cut a case down; each asks the caller's predicate whether a
//! candidate still shows *the same* finding, and keeps it if so. The passes are run again until
//! none of them finds anything. No candidate is asked for twice, unless the caller leaves it open: a
//! finding that shows now and then takes many runs to say that a candidate has lost it, and those are best
//! made when the case is small. What the finding is, how often a
//! candidate is run, and on which engine, is the caller's business.

mod draft;
mod pass;
mod search;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::dialect::Dialect;
use crate::model::{StatementId, TestCase};

pub use pass::{COARSE_PASSES, FINE_PASSES};
pub use search::{
    CandidateAnswer, Minimization, MinimizationOver, MinimizeBudget, Pass, SmallerCase,
};

/// Why a minimization ended.
#[derive(Debug, PartialEq, Eq)]
pub enum MinimizeEnd<E> {
    /// No pass finds a smaller case.
    Fixpoint,
    /// The budget ran out: the case may be larger than it needs to be.
    Budget,
    /// The predicate had no answer: the server was lost. What was found until then holds.
    Failed(E),
}

/// The smallest case found, which satisfied the predicate.
#[derive(Debug)]
pub struct Minimized<E> {
    pub case: TestCase,
    /// Candidates that were run.
    pub tried: u32,
    /// Candidates that showed the finding.
    pub kept: u32,
    pub end: MinimizeEnd<E>,
}

/// Makes a case smaller, as long as the predicate holds. The case itself is taken to satisfy it.
pub fn minimize<E>(
    case: &TestCase,
    dialect: &Dialect,
    predicate: &mut dyn FnMut(&TestCase) -> Result<bool, E>,
    budget: MinimizeBudget,
) -> Minimized<E> {
    let mut answer = |candidate: SmallerCase<'_>| {
        predicate(candidate.case).map(|shows| match shows {
            true => CandidateAnswer::Shows,
            false => CandidateAnswer::Hides,
        })
    };
    minimize_by_answers(case, &BTreeSet::new(), dialect, &mut answer, budget)
}

/// The same where an answer may be left open. `named` are the statements that the finding is about: what they
/// need is looked for first.
pub fn minimize_by_answers<E>(
    case: &TestCase,
    named: &BTreeSet<StatementId>,
    dialect: &Dialect,
    answer: &mut dyn FnMut(SmallerCase<'_>) -> Result<CandidateAnswer, E>,
    budget: MinimizeBudget,
) -> Minimized<E> {
    let mut failure = None;
    let mut ask = |candidate: SmallerCase<'_>| match answer(candidate) {
        Ok(answer) => Some(answer),
        Err(error) => {
            failure = Some(error);
            None
        }
    };
    let mut search = Minimization::new(case, named, dialect, &mut ask, budget);
    let stopped = to_fixpoint(&mut search).is_err();
    let (case, tried, kept) = search.into_result();
    let end = match failure {
        Some(error) => MinimizeEnd::Failed(error),
        None if stopped => MinimizeEnd::Budget,
        None => MinimizeEnd::Fixpoint,
    };
    Minimized {
        case,
        tried,
        kept,
        end,
    }
}

/// Runs all passes until a whole round keeps nothing, and leaves nothing open.
///
/// Where candidates are open, the coarse passes go on as long as they keep something: each further run is the
/// cheaper, the smaller the case is.
fn to_fixpoint(search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
    loop {
        search.begin_round();
        let before = search.kept();
        run_passes(search, COARSE_PASSES)?;
        if search.has_open() && search.kept() > before {
            continue;
        }
        run_passes(search, FINE_PASSES)?;
        if search.kept() == before && !search.has_open() {
            return Ok(());
        }
    }
}

fn run_passes(search: &mut Minimization<'_>, passes: &[&dyn Pass]) -> Result<(), MinimizationOver> {
    for pass in passes {
        pass.run(search)?;
        tracing::debug!(
            pass = pass.name(),
            tried = search.tried(),
            kept = search.kept(),
            "minimizer"
        );
    }
    Ok(())
}
