//! From a violation to a published reproducer: confirm, keep, minimize, name, publish, announce.

use super::activity::PursuitNote;
use super::conclusion::{Conclusion, HeldFinding, IsMinimized};
use super::ledger::{Led, Showing};
use super::publish;
use super::shared::Shared;
use super::sighting::{Looking, Reduced, Sameness, Sighting, same_shape};
use crate::engine::EngineError;
use crate::execute::Executor;
use crate::minimize::MinimizeBudget;
use crate::model::{Execution, Finding, Pace, TestCase, Verdict};
use crate::oracle::{Evidence, Explained, Heard, Oracle, hear, unstable_prediction};
use crate::reproducer::{PublishError, Reproduced};

/// Runs at the free pace of a case that no schedule shows.
const FREE_RUNS: u32 = 20;

/// Further runs of a small case that must all show what the case it came of did not always: of what shows in four runs of five
/// one in a hundred passes.
const STEADY_RUNS: u32 = 20;

/// Why a pursuit ends early.
#[derive(Debug, thiserror::Error)]
pub(super) enum PursuitError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Publish(#[from] PublishError),
}

/// One violation on its way to a file.
pub(super) struct Pursuit<'a> {
    pub shared: &'a Shared,
    pub executor: &'a mut dyn Executor,
    pub oracle: &'static dyn Oracle,
    pub index: u64,
    pub note: PursuitNote,
    /// What the loss of the server has left of it, after an error.
    pub held: Option<HeldFinding>,
}

impl Pursuit<'_> {
    /// Follows a violation to its end, and says what the case comes to.
    pub(super) fn run(
        &mut self,
        case: &TestCase,
        heard: &Heard,
        first_run: &Evidence,
    ) -> Result<Verdict, PursuitError> {
        let Some(first) = heard.finding() else {
            return Ok(heard.ruling.verdict.clone());
        };
        if self.oracle.needs().crash {
            return self.publish_crash(first, first_run);
        }
        if let Some(held) = self.held.take() {
            return self.reduce(held);
        }
        let (reproduced, sighting) = match case.pace {
            Pace::Scheduled => self.confirm(case, first)?,
            Pace::Free => self.confirm_free(case, first, &first_run.execution)?,
        };
        let Reproduced { hits, runs } = reproduced;
        let Some(raw) = sighting.filter(|_| hits == runs) else {
            let finding = self.flaky_finding(case, first, first_run, hits)?;
            if let Some(known) = self.conclusion().explains_unstable(&finding) {
                return Ok(known);
            }
            return self.pursue_flaky(Sighting {
                case: case.clone(),
                finding,
                execution: first_run.execution.clone(),
                reproduced,
                may_be_larger: false,
            });
        };
        let signature = &raw.finding.signature;
        let conclusion = self.conclusion();
        if !conclusion.is_worth_minimizing(signature, Showing::Always) {
            return Ok(conclusion.count_unminimized(raw));
        }
        let kept = conclusion.keep(&raw)?;
        self.reduce(HeldFinding {
            sighting: raw,
            showing: Showing::Always,
            kept,
        })
    }

    /// Makes a finding smaller that is on disk, and publishes it. One that the loss of the server interrupts
    /// is held until the server is back.
    fn reduce(&mut self, found: HeldFinding) -> Result<Verdict, PursuitError> {
        let reduced = match found.showing {
            Showing::Always => self.reduce_steady(&found.sighting),
            Showing::Sometimes => self.reduce_flaky(&found.sighting),
        };
        match reduced {
            Ok(_) => publish::discard(&found.kept),
            Err(_) => self.held = Some(found),
        }
        reduced
    }

    fn reduce_steady(&mut self, raw: &Sighting) -> Result<Verdict, PursuitError> {
        let (sighting, how) = self.minimize(raw)?;
        if how == IsMinimized::No
            && let Some(known) = self.conclusion().explains_unstable(&sighting.finding)
        {
            return Ok(known);
        }
        let raw = &raw.finding.signature;
        let conclusion = self.conclusion();
        Ok(conclusion.publish(&sighting, how, raw, Showing::Always)?)
    }

    fn conclusion(&self) -> Conclusion<'_> {
        Conclusion {
            shared: self.shared,
            index: self.index,
        }
    }

    /// Publishes what a crash of the server left, as it was found: another crash would leave something
    /// else, so it is neither repeated nor minimized.
    fn publish_crash(
        &mut self,
        finding: &Finding,
        run: &Evidence,
    ) -> Result<Verdict, PursuitError> {
        let mut finding = finding.clone();
        if finding.signature.oracle != self.oracle.name() {
            let told = "the server was killed and started again before: no replay shows this";
            finding.explanation.push(told.to_owned());
        }
        let signature = finding.signature.clone();
        let sighting = Sighting {
            case: run.case.clone(),
            finding,
            execution: run.execution.clone(),
            reproduced: Reproduced { hits: 1, runs: 1 },
            may_be_larger: false,
        };
        let conclusion = self.conclusion();
        Ok(conclusion.publish(&sighting, IsMinimized::Yes, &signature, Showing::Always)?)
    }

    /// The smallest case of a finding.
    ///
    /// A case that is made smaller may come to show another bug. Where that one is known or seen, the
    /// minimizer is asked again for one that differs in the same direction, at a statement of the same
    /// kind: or the one that was seen a thousand times would hide the one that was seen once.
    fn minimize(&mut self, raw: &Sighting) -> Result<(Sighting, IsMinimized), EngineError> {
        let mut reduced = self.looking().minimize(raw, Sameness::Anomaly)?;
        if let Reduced::To(smaller) = &reduced {
            let (found, signature) = (&raw.finding.signature, &smaller.finding.signature);
            if !same_shape(signature, found) && self.conclusion().is_old(smaller) {
                reduced = self.looking().minimize(raw, Sameness::Shape)?;
            }
        }
        Ok(match reduced {
            Reduced::To(smaller) => (*smaller, IsMinimized::Yes),
            Reduced::Smallest => (raw.clone(), IsMinimized::Yes),
            Reduced::Unreliable => (raw.clone(), IsMinimized::No),
        })
    }

    fn confirm(
        &mut self,
        case: &TestCase,
        first: &Finding,
    ) -> Result<(Reproduced, Option<Sighting>), EngineError> {
        let runs = self.shared.settings.confirmations;
        let (hits, sighting) = self.looking().confirm(case, &first.signature, runs)?;
        Ok((Reproduced { hits, runs }, sighting))
    }

    /// A violation at the free pace: the best that can come of it is a schedule that shows the same
    /// every time, so the order of the answers is tried, and that of the sending. Where neither
    /// shows it, chance has to.
    fn confirm_free(
        &mut self,
        case: &TestCase,
        first: &Finding,
        execution: &Execution,
    ) -> Result<(Reproduced, Option<Sighting>), EngineError> {
        for order in [execution.execution_order(), execution.sending_order()] {
            let scheduled = case.in_order(&order).at_pace(Pace::Scheduled);
            // The violation may have another name in a schedule: it is one all the same.
            let shown = match hear(&scheduled, self.executor, &[self.oracle]) {
                Ok(hearing) => hearing.verdict(),
                Err(EngineError::Setup { .. } | EngineError::Rejected { .. }) => continue,
                Err(error) => return Err(error),
            };
            let Verdict::Violation(shown) = shown else {
                continue;
            };
            let (reproduced, sighting) = self.confirm(&scheduled, &shown)?;
            if reproduced.hits == reproduced.runs {
                return Ok((reproduced, sighting));
            }
        }
        let (hits, sighting) = self.looking().confirm(case, &first.signature, FREE_RUNS)?;
        // The run that showed it first counts, or there might be a finding that was never seen.
        let reproduced = Reproduced {
            hits: hits + 1,
            runs: FREE_RUNS + 1,
        };
        Ok((reproduced, sighting))
    }

    fn looking(&mut self) -> Looking<'_> {
        Looking {
            executor: self.executor,
            oracle: self.oracle,
            confirmations: self.shared.settings.confirmations,
            budget: MinimizeBudget::default(),
            stop: self.shared.stop.clone(),
            note: self.note.clone(),
        }
    }

    /// What is wrong with a case whose violation did not come every time.
    ///
    /// Where it never came again although the run itself was repeated, effects that no statement reads included, the engine answered the
    /// serial run of the first hearing otherwise: another worker's open transactions disturbed it.
    fn flaky_finding(
        &mut self,
        case: &TestCase,
        first: &Finding,
        first_run: &Evidence,
        hits: u32,
    ) -> Result<Finding, EngineError> {
        let may_be_the_prediction = hits == 0 && case.pace == Pace::Scheduled;
        let retold = unstable_prediction(first, first_run).filter(|_| may_be_the_prediction);
        let Some(retold) = retold else {
            return Ok(first.clone());
        };
        let repeats = self
            .looking()
            .repeats_and_agrees(case, &first_run.execution)?;
        Ok(if repeats { retold } else { first.clone() })
    }

    /// Follows a finding that does not show every time.
    fn pursue_flaky(&mut self, first: Sighting) -> Result<Verdict, PursuitError> {
        let raw = &first.finding.signature;
        let Reproduced { hits, runs } = first.reproduced;
        let conclusion = self.conclusion();
        if !conclusion.is_worth_minimizing(raw, Showing::Sometimes) {
            conclusion.count_unminimized_flaky(raw);
            return Ok(Verdict::Flaky { hits, runs });
        }
        let kept = conclusion.keep(&first)?;
        self.reduce(HeldFinding {
            sighting: first,
            showing: Showing::Sometimes,
            kept,
        })
    }

    /// Measures how often a finding shows, minimizes it at that rate, and publishes one file for all cases
    /// that come to the same. Where the smallest case shows it every time, it is a finding as others are.
    fn reduce_flaky(&mut self, first: &Sighting) -> Result<Verdict, PursuitError> {
        let raw = &first.finding.signature;
        let (measured, minimized) = self.looking().minimize_flaky(first)?;
        if let Some(smallest) = &minimized {
            // A known one is not worth the runs that tell whether it is steady.
            if let Explained::Known(id) = self.shared.explain(&smallest.finding.signature) {
                let conclusion = self.conclusion();
                conclusion.note_minimized(raw, Showing::Sometimes, Led::Known);
                return Ok(Verdict::Known(id));
            }
            if let Some(steady) = self.steady(smallest)? {
                let conclusion = self.conclusion();
                return Ok(conclusion.publish(
                    &steady,
                    IsMinimized::Yes,
                    raw,
                    Showing::Sometimes,
                )?);
            }
        }
        let sighting = minimized.as_ref().unwrap_or(&measured);
        self.conclusion().publish_flaky(sighting, raw)?;
        let Reproduced { hits, runs } = sighting.reproduced;
        Ok(Verdict::Flaky { hits, runs })
    }

    /// The same finding where its case shows it in all of many more runs, each on new tables. None of a run at the free
    /// pace: chance decides what it shows.
    fn steady(&mut self, smallest: &Sighting) -> Result<Option<Sighting>, EngineError> {
        let Reproduced { hits, runs } = smallest.reproduced;
        if hits < runs || smallest.case.pace == Pace::Free {
            return Ok(None);
        }
        let signature = &smallest.finding.signature;
        let (again, last) = self
            .looking()
            .confirm(&smallest.case, signature, STEADY_RUNS)?;
        let reproduced = Reproduced {
            hits: hits + again,
            runs: runs + STEADY_RUNS,
        };
        Ok(last.filter(|_| again == STEADY_RUNS).map(|shown| Sighting {
            reproduced,
            may_be_larger: smallest.may_be_larger,
            ..shown
        }))
    }
}
