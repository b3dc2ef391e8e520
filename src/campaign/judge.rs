//! One case before all oracles, and the one verdict that comes of it.

use crate::engine::EngineError;
use crate::execute::{Executor, Instrumentation};
use crate::model::{Execution, Outcome, Row, TestCase, Verdict};
use crate::oracle::{Judgement, Oracle, crash};

/// What the oracles said of a case.
#[derive(Clone, Debug, Default)]
pub struct CaseJudgement {
    /// Each oracle that applies, in order, with its verdict.
    pub verdicts: Vec<(String, Verdict)>,
    /// Each oracle that does not apply, with its reason.
    pub inapplicable: Vec<(String, String)>,
    /// The runs behind the verdicts, in the same order.
    pub runs: Vec<Judgement>,
}

impl CaseJudgement {
    /// The one verdict of the case: the worst, where violation > flaky > known > agree, and
    /// undecided stands only where no oracle agreed.
    ///
    /// An oracle that does not apply does not count; where none applies nothing was decided.
    pub fn verdict(&self) -> Verdict {
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Undecided(_) => 0,
            Verdict::Agree => 1,
            Verdict::Known(_) => 2,
            Verdict::Flaky { .. } => 3,
            Verdict::Violation(_) => 4,
        };
        // The first of the worst, in the order of the oracles.
        let worst = self
            .verdicts
            .iter()
            .map(|(_, verdict)| verdict)
            .rev()
            .max_by_key(|v| rank(v));
        worst
            .cloned()
            .unwrap_or_else(|| Verdict::Undecided("no-oracle-applies".to_owned()))
    }

    /// The first interleaved run: the one that statistics and the transcript are about.
    pub fn execution(&self) -> Option<&Execution> {
        self.runs.first().map(|run| &run.execution)
    }

    /// The run behind the first violation.
    pub fn violating_run(&self) -> Option<&Judgement> {
        self.runs
            .iter()
            .find(|run| matches!(run.verdict, Verdict::Violation(_)))
    }
}

/// Puts the case before every oracle that applies.
///
/// # Errors
/// When the engine gives no answer.
pub(super) fn judge(
    case: &TestCase,
    executor: &mut dyn Executor,
    oracles: &[&dyn Oracle],
) -> Result<CaseJudgement, EngineError> {
    let mut judgement = CaseJudgement::default();
    for oracle in oracles {
        if let Some(reason) = oracle.inapplicable(case, executor) {
            judgement
                .inapplicable
                .push((oracle.name().to_owned(), reason));
            continue;
        }
        let run = check(*oracle, case, executor)?;
        judgement
            .verdicts
            .push((oracle.name().to_owned(), run.verdict.clone()));
        judgement.runs.push(run);
    }
    Ok(judgement)
}

/// Puts the case before one oracle. An internal error of the engine is a violation whatever the
/// oracle says.
///
/// # Errors
/// When the engine gives no answer.
pub(super) fn check(
    oracle: &dyn Oracle,
    case: &TestCase,
    executor: &mut dyn Executor,
) -> Result<Judgement, EngineError> {
    let mut run = oracle.check(case, executor)?;
    if let Some(finding) = crash::internal_error(case, &run.execution) {
        run.verdict = Verdict::Violation(Box::new(finding));
    }
    Ok(run)
}

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

fn difference(first: &Execution, second: &Execution) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_of(verdicts: &[Verdict]) -> Verdict {
        let verdicts = verdicts
            .iter()
            .map(|v| ("o".to_owned(), v.clone()))
            .collect();
        CaseJudgement {
            verdicts,
            ..CaseJudgement::default()
        }
        .verdict()
    }

    #[test]
    fn the_worst_verdict_counts_and_undecided_only_where_nothing_agreed() {
        let undecided = || Verdict::Undecided("why".to_owned());
        let known = || Verdict::Known("X".to_owned());
        let flaky = || Verdict::Flaky { hits: 1, runs: 3 };
        assert_eq!(verdict_of(&[undecided(), Verdict::Agree]), Verdict::Agree);
        assert_eq!(verdict_of(&[undecided(), undecided()]), undecided());
        assert_eq!(verdict_of(&[Verdict::Agree, known()]), known());
        assert_eq!(verdict_of(&[flaky(), known(), Verdict::Agree]), flaky());
        assert_eq!(
            verdict_of(&[]),
            Verdict::Undecided("no-oracle-applies".to_owned())
        );
    }

    #[test]
    fn the_first_of_two_equal_verdicts_is_kept() {
        let known = |id: &str| Verdict::Known(id.to_owned());
        assert_eq!(verdict_of(&[known("A"), known("B")]), known("A"));
    }
}
