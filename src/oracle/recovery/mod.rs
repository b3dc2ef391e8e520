//! Recovery: the server is killed while transactions run, and started again. Every acknowledged commit is
//! there, nothing is there of what was not committed, and a COMMIT without an answer took place or did
//! not, as a whole.
//!
//! Which transactions must be there is known from the answers; which value a row must have, from the order
//! in which its writers held its lock. `docs/oracle-recovery.md` says what this claims and may miss.

mod judgement;
mod ledger;
mod tables;
#[cfg(test)]
mod tests;

use super::signature::finding_levels;
use super::{Evidence, Needs, Oracle, Ruling};
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{
    Finding, Outcome, Pace, ServerCrash, Signature, TestCase, UndecidedReason, Verdict,
};
use crate::statement;
use judgement::{CrashLoss, Judgement};
use ledger::RowLedger;

/// The oracle.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryOracle;

impl Oracle for RecoveryOracle {
    fn name(&self) -> &'static str {
        "recovery"
    }

    fn about(&self) -> &'static str {
        "the server is killed and started again (--restart-command): what was committed is there, and \
         nothing else"
    }

    fn needs(&self) -> Needs {
        Needs {
            crash: true,
            ..Needs::answers(Pace::Free)
        }
    }

    fn excludes_engine(&self, dialect: &Dialect) -> Option<UndecidedReason> {
        let promises = !dialect.durability.is_empty();
        (!promises).then_some(UndecidedReason::PromisesNoDurability)
    }

    fn excludes(&self, case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
        if statement::has_trigger(case) {
            return Some(UndecidedReason::Trigger);
        }
        let is_ours = case.pace == Pace::Free && RowLedger::of(case, dialect).is_some();
        (!is_ours).then_some(UndecidedReason::NotRowsByKey)
    }

    fn judge(&self, evidence: &Evidence, _: &mut dyn SerialRun) -> Result<Ruling, EngineError> {
        let (case, execution) = (&evidence.case, &evidence.execution);
        let Some(crash) = &execution.crash else {
            return Ok(Ruling::undecided(UndecidedReason::NoRestartCommand));
        };
        let Some(ledger) = RowLedger::of(case, &evidence.dialect) else {
            return Ok(Ruling::undecided(UndecidedReason::NotRowsByKey));
        };
        let judgement = match Judgement::of(case, execution, &ledger) {
            Ok(judgement) => judgement,
            Err(reason) => return Ok(Ruling::undecided(reason)),
        };
        let verdict = match judgement.loss() {
            None => Verdict::Agree,
            Some(loss) => {
                let finding = finding(evidence, crash, &judgement, loss);
                Verdict::Violation(Box::new(finding))
            }
        };
        let tested = judgement.acknowledged_writes();
        let untested = case.user_statements().filter_map(|statement| {
            let record = execution.records.get(&statement.id)?;
            let reason = match record.outcome {
                Outcome::Rejected(_) => UndecidedReason::Rejected,
                Outcome::Rows(_) | Outcome::Affected(_) => UndecidedReason::NotCommitted,
            };
            (!tested.contains(&statement.id)).then_some((record.id, reason))
        });
        Ok(Ruling {
            verdict,
            untested: untested.collect(),
            tested,
            acyclic: None,
        })
    }
}

fn finding(
    evidence: &Evidence,
    crash: &ServerCrash,
    judgement: &Judgement<'_>,
    loss: CrashLoss,
) -> Finding {
    let unkept = evidence.dialect.unkept(&crash.settings).into_iter();
    let features = unkept.map(|setting| format!("unkept-{}", setting.variable.replace('_', "-")));
    let settings = crash.settings.iter();
    let settings: Vec<String> = settings
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    let answered = evidence.execution.records.values();
    let before = answered
        .clone()
        .filter(|record| record.answered <= crash.at)
        .count();
    let mut explanation = vec![
        format!(
            "the restart command was called when {before} statements had been answered; {} were \
             before the server was gone",
            answered.count()
        ),
        format!("the server had {}", settings.join(", ")),
    ];
    explanation.extend(loss.explanation);
    explanation.extend(judgement.doubts());
    Finding {
        headline: loss.headline,
        signature: Signature::new(
            "recovery",
            loss.kind,
            finding_levels(&evidence.case),
            features.collect(),
        ),
        differences: loss.differences,
        explanation,
    }
}
