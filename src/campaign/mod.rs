//! One fuzzing run: workers, verdicts, findings, statistics, checkpoints.
mod checkpoint;
mod judge;
mod ledger;
mod progress;
mod statistics;
fn transcript_of(_c: &crate::model::TestCase, _e: &crate::model::Execution) -> String {
    String::new()
}
