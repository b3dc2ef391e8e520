//! Seeing a violation again: the same in every run, and in a smaller case.

use super::doublecheck::difference;
use super::stop::StopFlag;
use crate::engine::EngineError;
use crate::execute::Executor;
use crate::minimize::{self, MinimizeBudget, MinimizeEnd};
use crate::model::{Execution, Finding, Signature, TestCase, Verdict};
use crate::oracle::{Evidence, Oracle, hear};
use crate::reproducer::Reproduced;

/// A case with the run that shows what is wrong with it.
#[derive(Clone, Debug)]
pub struct Sighting {
    pub case: TestCase,
    pub finding: Finding,
    /// The run that showed the finding last.
    pub execution: Execution,
    pub reproduced: Reproduced,
}

/// Looks at cases through one oracle.
pub(super) struct Looking<'a> {
    pub executor: &'a mut dyn Executor,
    pub oracle: &'a dyn Oracle,
    /// Runs that must all show a violation.
    pub confirmations: u32,
    pub stop: StopFlag,
}

impl Looking<'_> {
    /// Runs the case again and again: how often the same violation comes, and the last sighting.
    pub(super) fn confirm(
        &mut self,
        case: &TestCase,
        signature: &Signature,
        runs: u32,
    ) -> Result<(u32, Option<Sighting>), EngineError> {
        let mut hits = 0;
        let mut last = None;
        for _ in 0..runs {
            if let Some(shown) = self.look(case, signature)? {
                hits += 1;
                last = Some(shown);
            }
        }
        let sighting = last.map(|(finding, execution)| Sighting {
            case: case.clone(),
            finding,
            execution,
            reproduced: Reproduced { hits, runs },
        });
        Ok((hits, sighting))
    }

    /// Runs the case once: the violation, when it is the same in oracle, kind and levels.
    fn look(
        &mut self,
        case: &TestCase,
        signature: &Signature,
    ) -> Result<Option<(Finding, Execution)>, EngineError> {
        let mut hearing = match hear(case, self.executor, &[self.oracle]) {
            Ok(hearing) => hearing,
            // A candidate whose set-up, or what we add to it, the engine refuses is no candidate.
            Err(EngineError::Setup { .. } | EngineError::Rejected { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let shown = hearing.violation(|finding| is_same(&finding.signature, signature));
        let Some((finding, run)) = shown.and_then(|h| Some((h.finding()?.clone(), h.run))) else {
            return Ok(None);
        };
        Ok(Some((finding, hearing.runs.swap_remove(run).execution)))
    }

    /// Whether further runs repeat this one, outcome for outcome, and are agreed with: then not the
    /// run was wrong, but what the first serial run predicted of it.
    pub(super) fn repeats_and_agrees(
        &mut self,
        case: &TestCase,
        first: &Execution,
    ) -> Result<bool, EngineError> {
        for _ in 0..self.confirmations {
            let hearing = match hear(case, self.executor, &[self.oracle]) {
                Ok(hearing) => hearing,
                Err(EngineError::Setup { .. } | EngineError::Rejected { .. }) => return Ok(false),
                Err(error) => return Err(error),
            };
            let repeats = |run: &Evidence| difference(first, &run.execution).is_none();
            if hearing.verdict() != Verdict::Agree || !hearing.runs.iter().all(repeats) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The smallest case that shows the same and is as reliable; none when there is no smaller one.
    pub(super) fn minimize(&mut self, raw: &Sighting) -> Result<Option<Sighting>, EngineError> {
        let signature = raw.finding.signature.clone();
        let stop = self.stop.clone();
        let dialect = self.executor.dialect().clone();
        let mut predicate = |candidate: &TestCase| -> Result<bool, EngineError> {
            // With every candidate refused the minimizer ends soon, with what it has.
            Ok(!stop.is_set() && self.look(candidate, &signature)?.is_some())
        };
        let minimized = minimize::minimize(
            &raw.case,
            &dialect,
            &mut predicate,
            MinimizeBudget::default(),
        );
        if let MinimizeEnd::Failed(error) = minimized.end {
            return Err(error);
        }
        if minimized.case == raw.case {
            return Ok(None);
        }
        let runs = self.confirmations;
        let (hits, sighting) = self.confirm(&minimized.case, &signature, runs)?;
        Ok(sighting.filter(|_| hits == runs))
    }
}

/// The smallest case that shows the violation of this one; none when no oracle finds one every time.
///
/// # Errors
/// When the engine gives no answer.
pub fn minimize_case(
    case: &TestCase,
    executor: &mut dyn Executor,
    oracles: &[&dyn Oracle],
    confirmations: u32,
    stop: &StopFlag,
) -> Result<Option<Sighting>, EngineError> {
    let hearing = hear(case, executor, oracles)?;
    for heard in &hearing.rulings {
        let Some(finding) = heard.finding() else {
            continue;
        };
        let mut looking = Looking {
            executor,
            oracle: oracles[heard.judge],
            confirmations,
            stop: stop.clone(),
        };
        let (hits, sighting) = looking.confirm(case, &finding.signature, confirmations)?;
        if let Some(raw) = sighting.filter(|_| hits == confirmations) {
            let minimized = looking.minimize(&raw)?;
            return Ok(Some(minimized.unwrap_or(raw)));
        }
    }
    Ok(None)
}

/// The minimizer's predicate and the confirmation: features may vanish, the rest may not change.
fn is_same(a: &Signature, b: &Signature) -> bool {
    a.oracle == b.oracle && a.kind == b.kind && a.levels == b.levels
}
