//! `--doublecheck`: does a case run the same twice?

use crate::engine::EngineError;
use crate::execute::{Executor, Instrumentation};
use crate::model::{Execution, Outcome, Row, TestCase};

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

/// Where two runs of a case differ; none where every outcome and the final state are the same.
pub(super) fn difference(first: &Execution, second: &Execution) -> Option<String> {
    for (id, record) in &first.records {
        match second.records.get(id) {
            None => return Some(format!("{id} was sent in one of two runs only")),
            Some(other) if !same_outcome(&record.outcome, &other.outcome) => {
                return Some(format!("{id} came to two outcomes in two runs"));
            }
            Some(_) => {}
        }
    }
    if let Some(id) = second
        .records
        .keys()
        .find(|id| !first.records.contains_key(id))
    {
        return Some(format!("{id} was sent in one of two runs only"));
    }
    (first.final_state != second.final_state).then(|| "the final state differs".to_owned())
}

/// Messages are for people and name ids of connections and transactions: classes are compared.
fn same_outcome(a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Outcome::Rows(a), Outcome::Rows(b)) => {
            let sorted = |rows: &Vec<Row>| {
                let mut rows = rows.clone();
                rows.sort();
                rows
            };
            sorted(a) == sorted(b)
        }
        (Outcome::Rejected(a), Outcome::Rejected(b)) => a.code == b.code && a.class == b.class,
        (a, b) => a == b,
    }
}
