//! `--doublecheck`: does a case run the same twice?

use super::comparison::difference;
use crate::engine::EngineError;
use crate::execute::{Executor, Instrumentation};
use crate::model::TestCase;

/// Runs a case twice as it is and says where the two runs differ; the outcome of a statement or
/// the final state.
///
/// # Errors
/// When the engine gives no answer.
pub(super) fn doublecheck(
    case: &TestCase,
    executor: &mut dyn Executor,
) -> Result<Option<String>, EngineError> {
    let first = executor.execute(case, &Instrumentation::default())?;
    let second = executor.execute(case, &Instrumentation::default())?;
    Ok(difference(&first, &second))
}
