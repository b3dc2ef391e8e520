//! Smaller cases that still show the finding.
//!
//! Passes from the coarse to the fine cut a case down; each asks the caller's predicate whether a
//! candidate still shows *the same* finding, and keeps it if so. The passes are run again until
//! none of them finds anything. No candidate is asked for twice. What the finding is, how often a
//! candidate is run, and on which engine, is the caller's business.

mod draft;
mod pass;
mod search;
#[cfg(test)]
mod tests;

use crate::dialect::Dialect;
use crate::model::TestCase;

pub use pass::PASSES;
pub use search::{Minimization, MinimizationOver, MinimizeBudget, Pass};

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
    let mut failure = None;
    let mut ask = |candidate: &TestCase| match predicate(candidate) {
        Ok(shows) => Some(shows),
        Err(error) => {
            failure = Some(error);
            None
        }
    };
    let mut search = Minimization::new(case, dialect, &mut ask, budget);
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

/// Runs all passes until a whole round keeps nothing.
fn to_fixpoint(search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
    loop {
        let before = search.kept();
        for pass in PASSES {
            pass.run(search)?;
            tracing::debug!(
                pass = pass.name(),
                tried = search.tried(),
                kept = search.kept(),
                "minimizer"
            );
        }
        if search.kept() == before {
            return Ok(());
        }
    }
}
