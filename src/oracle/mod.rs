//! Oracles: each judges a case by an account of its own.

use std::collections::BTreeSet;

use crate::engine::EngineError;
use crate::execute::Executor;
use crate::model::{Execution, StatementId, TestCase, Verdict};

/// What an oracle says, and what it looked at.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The statements whose outcome was compared with a prediction.
    pub tested: BTreeSet<StatementId>,
    /// The interleaved run that was judged.
    pub execution: Execution,
}

/// One oracle.
pub trait Oracle: Sync {
    /// As `--oracle` names it.
    fn name(&self) -> &'static str;

    /// One line for `--help`.
    fn about(&self) -> &'static str;

    /// Why the oracle has nothing to say about this case, or nothing if it has.
    fn inapplicable(&self, case: &TestCase, executor: &dyn Executor) -> Option<String>;

    /// Runs the case and judges it.
    ///
    /// # Errors
    /// When there is no answer from the engine; the caller decides what that means.
    fn check(&self, case: &TestCase, executor: &mut dyn Executor)
    -> Result<Judgement, EngineError>;
}
