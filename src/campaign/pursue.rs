//! From a violation to a published reproducer: confirm, keep, minimize, name, publish, announce.

use super::event::{Announcement, RunEvent};
use super::ledger::Novelty;
use super::publish::{self, Reproducer};
use super::shared::Shared;
use super::sighting::{Looking, Sighting};
use crate::engine::EngineError;
use crate::execute::Executor;
use crate::model::{Execution, Finding, FindingKind, Pace, Signature, TestCase, Verdict};
use crate::oracle::{Evidence, Explained, Heard, Oracle, hear, unstable_prediction};
use crate::reproducer::{PublishError, Reproduced};

/// Runs at the free pace of a case that no schedule shows.
const FREE_RUNS: u32 = 20;

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
        let (reproduced, sighting) = match case.pace {
            Pace::Scheduled => self.confirm(case, first)?,
            Pace::Free => self.confirm_free(case, first, &first_run.execution)?,
        };
        let Reproduced { hits, runs } = reproduced;
        let Some(raw) = sighting.filter(|_| hits == runs) else {
            let finding = self.flaky_finding(case, first, first_run, hits)?;
            if let Some(known) = self.explains_unstable(&finding) {
                return Ok(known);
            }
            self.keep_flaky(Sighting {
                case: case.clone(),
                finding,
                execution: first_run.execution.clone(),
                reproduced,
            })?;
            return Ok(Verdict::Flaky { hits, runs });
        };
        let worth = self
            .shared
            .state()
            .ledger
            .is_worth_minimizing(&raw.finding.signature);
        if !worth {
            return Ok(self.count_alike(raw));
        }
        let kept = publish::keep_raw(self.shared, &self.reproducer(&raw))?;
        let minimized = self.looking().minimize(&raw);
        let sighting = match minimized {
            Ok(sighting) => sighting.unwrap_or(raw),
            // The server went away meanwhile: what is there is published as it is.
            Err(error) => {
                self.conclude(&raw, &raw.finding.signature.clone())?;
                publish::discard(&kept);
                return Err(error.into());
            }
        };
        let verdict = self.conclude(&sighting, &first.signature)?;
        publish::discard(&kept);
        Ok(verdict)
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
            stop: self.shared.stop.clone(),
        }
    }

    /// Known, duplicate or new: counts it or publishes it.
    fn conclude(&mut self, sighting: &Sighting, raw: &Signature) -> Result<Verdict, PursuitError> {
        let signature = &sighting.finding.signature;
        let regression = match self.shared.explain(signature) {
            Explained::Known(id) => {
                self.shared
                    .state()
                    .ledger
                    .minimized(raw, Novelty::Duplicate);
                return Ok(Verdict::Known(id));
            }
            Explained::Regression(id) => Some(id),
            Explained::Not => None,
        };
        let shared = self.shared;
        let publishing = shared.publishing();
        let size = publish::size_of(&sighting.case);
        let place = self.shared.state().ledger.place(signature, size);
        let verdict = Verdict::Violation(Box::new(sighting.finding.clone()));
        if place == Novelty::Duplicate {
            let mut state = self.shared.state();
            state.ledger.sighted(signature);
            state.ledger.minimized(raw, place);
            state.statistics.duplicates += 1;
            return Ok(verdict);
        }
        let path = publish::publish(self.shared, &self.reproducer(sighting))?;
        let headline = sighting.finding.headline.clone();
        {
            let mut state = self.shared.state();
            let shown = path.display().to_string();
            state.ledger.publish(signature, &shown, &headline, size);
            state.ledger.minimized(raw, place);
            state.statistics.duplicates += u64::from(place == Novelty::Smaller);
        }
        drop(publishing);
        // On disk for good before it is announced: what was announced is never lost.
        let announcement = Announcement::of(&self.reproducer(sighting), path, regression);
        self.shared.tell(match place {
            Novelty::New => RunEvent::Finding(announcement),
            Novelty::Smaller | Novelty::Duplicate => RunEvent::Smaller(announcement),
        });
        Ok(verdict)
    }

    /// A finding that looks like those that many minimizations led to: counted by its look.
    fn count_alike(&self, raw: Sighting) -> Verdict {
        match self.shared.explain(&raw.finding.signature) {
            Explained::Known(id) => Verdict::Known(id),
            Explained::Regression(_) | Explained::Not => {
                self.shared.state().statistics.duplicates += 1;
                Verdict::Violation(Box::new(raw.finding))
            }
        }
    }

    /// What is wrong with a case whose violation did not come every time.
    ///
    /// Where it never came again although the run itself was repeated, the engine answered the
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

    /// What explains that a statement gave two answers alone: such an answer seldom comes every time,
    /// and one statement is all that it takes, so there is nothing to minimize first.
    fn explains_unstable(&self, finding: &Finding) -> Option<Verdict> {
        let signature = &finding.signature;
        if signature.kind != FindingKind::UnstableSerialAnswer {
            return None;
        }
        match self.shared.explain(signature) {
            Explained::Known(id) => Some(Verdict::Known(id)),
            Explained::Regression(_) | Explained::Not => None,
        }
    }

    /// Keeps a finding that does not come every time under `flaky/`.
    fn keep_flaky(&self, sighting: Sighting) -> Result<(), PursuitError> {
        let path = publish::keep_flaky(self.shared, &self.reproducer(&sighting))?;
        self.shared.tell(RunEvent::Flaky(Announcement::of(
            &self.reproducer(&sighting),
            path,
            None,
        )));
        Ok(())
    }

    fn reproducer<'s>(&self, sighting: &'s Sighting) -> Reproducer<'s> {
        Reproducer {
            case: &sighting.case,
            finding: &sighting.finding,
            execution: &sighting.execution,
            reproduced: sighting.reproduced,
            index: self.index,
        }
    }
}
