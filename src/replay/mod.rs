//! Running a case file again: does it still show what it showed, and is what it shows right?
//!
//! Every oracle that applies judges each run, and so do the file's own expectations. *Could not
//! run* (the server rejects the set-up, or has no such level) is another answer than *not
//! reproduced*.

mod confirm;
mod expectation;
mod json;
mod report;
mod run;
mod text;

use crate::engine::{EngineError, Identity};
use crate::execute::Executor;
use crate::reproducer::CaseFile;

pub use confirm::{
    Confirmation, DEFAULT_CLEAN_RUNS, clean_runs, confirm_fixed, confirm_in, rate_at_least,
};
pub use expectation::{EXPECTATION, UnexpectedRejection};
pub use json::{replayed, skipped, summary};
pub use report::{ReplayOptions, ReplayReport, UnjudgedStatement, VoiceReport};
pub use text::print;

/// Runs a case file and judges it. `name` is how the report calls the file.
///
/// # Errors
/// When the server gives no answer and does not come back: the environment, never a verdict. A
/// server that goes away *because of the case* and comes back is a finding of the crash oracle.
pub fn replay(
    file: &CaseFile,
    name: &str,
    executor: &mut dyn Executor,
    server: &Identity,
    options: &ReplayOptions<'_>,
) -> Result<ReplayReport, EngineError> {
    let case = match file.test_case(executor.dialect()) {
        Ok(case) => case,
        Err(reason) => return Ok(ReplayReport::could_not_run(name, reason.to_string())),
    };
    let mut tally = run::Tally::new(file, server, options.registry);
    for _ in 0..options.times.max(1) {
        match tally.run(&case, executor, options.oracles) {
            Ok(()) => {}
            Err(run::RunError::CouldNotRun(reason)) => {
                return Ok(ReplayReport::could_not_run(name, reason));
            }
            Err(run::RunError::NoAnswer(error)) => return Err(error),
        }
        if options.stop_at_first_hit && tally.hit() {
            break;
        }
    }
    Ok(tally.report(name).without_unearned_agreement())
}
