//! From a violation to a published reproducer: confirm, keep, minimize, name, publish, announce.

use super::activity::PursuitNote;
use super::event::{Announcement, RunEvent};
use super::ledger::{Led, Novelty, Showing};
use super::publish::{self, Reproducer};
use super::shared::Shared;
use super::sighting::{Looking, Reduced, Sameness, Sighting, same_shape};
use super::wall_clock::unix_seconds;
use crate::engine::EngineError;
use crate::execute::Executor;
use crate::model::{
    Execution, Finding, FindingKind, Pace, Signature, TestCase, UndecidedReason, Verdict,
};
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

/// Whether a sighting is of the smallest case that shows its finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IsMinimized {
    Yes,
    No,
}

/// One violation on its way to a file.
pub(super) struct Pursuit<'a> {
    pub shared: &'a Shared,
    pub executor: &'a mut dyn Executor,
    pub oracle: &'static dyn Oracle,
    pub index: u64,
    pub note: PursuitNote,
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
            return self.pursue_flaky(&Sighting {
                case: case.clone(),
                finding,
                execution: first_run.execution.clone(),
                reproduced,
            });
        };
        let signature = &raw.finding.signature;
        let worth = self.is_worth_minimizing(signature, Showing::Always);
        if !worth {
            return Ok(self.count_unminimized(raw));
        }
        let kept = publish::keep_raw(self.shared, &self.reproducer(&raw))?;
        let (sighting, how) = match self.minimize(&raw) {
            Ok(minimized) => minimized,
            // The server went away meanwhile: what is there is published as it is.
            Err(error) => {
                self.conclude(&raw, IsMinimized::No, &raw.finding.signature.clone())?;
                publish::discard(&kept);
                return Err(error.into());
            }
        };
        let verdict = self.conclude(&sighting, how, &raw.finding.signature)?;
        publish::discard(&kept);
        Ok(verdict)
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
        };
        self.conclude(&sighting, IsMinimized::Yes, &signature)
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
            if !same_shape(found, signature) && self.is_old(smaller) {
                reduced = self.looking().minimize(raw, Sameness::Shape)?;
            }
        }
        Ok(match reduced {
            Reduced::To(smaller) => (*smaller, IsMinimized::Yes),
            Reduced::Smallest => (raw.clone(), IsMinimized::Yes),
            Reduced::Unreliable => (raw.clone(), IsMinimized::No),
        })
    }

    /// An entry of the registry explains the finding, or it was published before.
    fn is_old(&self, sighting: &Sighting) -> bool {
        let signature = &sighting.finding.signature;
        let explained = matches!(self.shared.explain(signature), Explained::Known(_));
        let state = self.shared.state();
        explained || state.ledger.published(signature).is_some()
    }

    fn is_worth_minimizing(&self, signature: &Signature, showing: Showing) -> bool {
        let mut state = self.shared.state();
        state.ledger.is_worth_minimizing(signature, showing)
    }

    fn note_minimized(&self, signature: &Signature, showing: Showing, led: Led) {
        let mut state = self.shared.state();
        state.ledger.minimized(signature, showing, led);
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
            note: self.note.clone(),
        }
    }

    /// Known, duplicate or new: counts it or publishes it. What was not minimized is never known.
    fn conclude(
        &mut self,
        sighting: &Sighting,
        minimized: IsMinimized,
        raw: &Signature,
    ) -> Result<Verdict, PursuitError> {
        let signature = &sighting.finding.signature;
        let regression = match (minimized, self.shared.explain(signature)) {
            (IsMinimized::Yes, Explained::Known(id)) => {
                self.note_minimized(raw, Showing::Always, Led::Known);
                return Ok(Verdict::Known(id));
            }
            (IsMinimized::Yes | IsMinimized::No, Explained::Regression(id)) => Some(id),
            (IsMinimized::No, Explained::Known(_)) | (_, Explained::Not) => None,
        };
        let shared = self.shared;
        let publishing = shared.publishing();
        let size = publish::size_of(&sighting.case);
        let place = self.shared.state().ledger.place(signature, size);
        let verdict = Verdict::Violation(Box::new(sighting.finding.clone()));
        if place == Novelty::Duplicate {
            let mut state = self.shared.state();
            let led = state.ledger.sighted(signature, unix_seconds());
            state.ledger.minimized(raw, Showing::Always, led);
            state.statistics.duplicates += 1;
            return Ok(verdict);
        }
        let path = publish::publish(self.shared, &self.reproducer(sighting))?;
        let headline = sighting.finding.headline.clone();
        {
            let mut state = self.shared.state();
            let shown = path.display().to_string();
            let now = unix_seconds();
            state
                .ledger
                .publish(signature, &shown, &headline, size, now);
            let led = match place {
                Novelty::New => Led::New,
                Novelty::Smaller | Novelty::Duplicate => Led::Seen,
            };
            state.ledger.minimized(raw, Showing::Always, led);
            state.statistics.duplicates += u64::from(place == Novelty::Smaller);
        }
        drop(publishing);
        // On disk for good before it is announced: what was announced is never lost.
        let announcement = Announcement::of(
            &self.reproducer(sighting),
            &self.shared.settings,
            path,
            regression,
        );
        self.shared.tell(match place {
            Novelty::New => RunEvent::Finding(announcement),
            Novelty::Smaller | Novelty::Duplicate => RunEvent::Smaller(announcement),
        });
        Ok(verdict)
    }

    /// A finding that looks like those that many minimizations led to. Where these are explained by the
    /// registry, nothing is said of this one: it may be another.
    fn count_unminimized(&self, raw: Sighting) -> Verdict {
        let mut state = self.shared.state();
        state.statistics.unminimized += 1;
        let signature = &raw.finding.signature;
        if state.ledger.looks_known(signature, Showing::Always) {
            Verdict::Undecided(UndecidedReason::NotMinimized)
        } else {
            Verdict::Violation(Box::new(raw.finding))
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

    /// Follows a finding that does not show every time: measures how often it does, minimizes it at that
    /// rate, and publishes one file for all cases that come to the same.
    fn pursue_flaky(&mut self, first: &Sighting) -> Result<Verdict, PursuitError> {
        let raw = first.finding.signature.clone();
        let Reproduced { hits, runs } = first.reproduced;
        if !self.is_worth_minimizing(&raw, Showing::Sometimes) {
            let mut state = self.shared.state();
            state.statistics.unminimized += 1;
            state.ledger.sighted_flaky(&raw, unix_seconds());
            return Ok(Verdict::Flaky { hits, runs });
        }
        let kept = publish::keep_raw(self.shared, &self.reproducer(first))?;
        let (measured, minimized) = match self.looking().minimize_flaky(first) {
            Ok(result) => result,
            Err(error) => {
                self.publish_flaky(first, &raw)?;
                publish::discard(&kept);
                return Err(error.into());
            }
        };
        let sighting = minimized.as_ref().unwrap_or(&measured);
        let explained = self.shared.explain(&sighting.finding.signature);
        let verdict = match explained {
            Explained::Known(id) if minimized.is_some() => {
                self.note_minimized(&raw, Showing::Sometimes, Led::Known);
                Verdict::Known(id)
            }
            Explained::Known(_) | Explained::Regression(_) | Explained::Not => {
                self.publish_flaky(sighting, &raw)?;
                let Reproduced { hits, runs } = sighting.reproduced;
                Verdict::Flaky { hits, runs }
            }
        };
        publish::discard(&kept);
        Ok(verdict)
    }

    /// Publishes a finding that does not show every time under `flaky/`, unless it was before and this
    /// case is no smaller.
    fn publish_flaky(&self, sighting: &Sighting, raw: &Signature) -> Result<(), PursuitError> {
        let signature = &sighting.finding.signature;
        let publishing = self.shared.publishing();
        let size = publish::size_of(&sighting.case);
        let place = self.shared.state().ledger.place_flaky(signature, size);
        if place == Novelty::Duplicate {
            let mut state = self.shared.state();
            let led = state.ledger.sighted_flaky(signature, unix_seconds());
            state.ledger.minimized(raw, Showing::Sometimes, led);
            return Ok(());
        }
        let path = publish::publish_flaky(self.shared, &self.reproducer(sighting))?;
        {
            let mut state = self.shared.state();
            let (shown, headline) = (path.display().to_string(), &sighting.finding.headline);
            let ledger = &mut state.ledger;
            let stamped = (sighting.reproduced, unix_seconds());
            ledger.publish_flaky(signature, &shown, headline, size, stamped);
            let led = match place {
                Novelty::New => Led::New,
                Novelty::Smaller | Novelty::Duplicate => Led::Seen,
            };
            ledger.minimized(raw, Showing::Sometimes, led);
        }
        drop(publishing);
        let announcement = Announcement::of(
            &self.reproducer(sighting),
            &self.shared.settings,
            path,
            None,
        );
        self.shared.tell(match place {
            Novelty::New => RunEvent::Flaky(announcement),
            Novelty::Smaller | Novelty::Duplicate => RunEvent::Smaller(announcement),
        });
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
