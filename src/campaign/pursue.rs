//! From a violation to a published reproducer: confirm, keep, minimize, name, publish, announce.

use super::event::{Announcement, Event};
use super::judge;
use super::ledger::Place;
use super::publish::{self, Reproducer};
use super::shared::Shared;
use crate::engine::EngineError;
use crate::execute::Executor;
use crate::minimize::{self, Budget, End};
use crate::model::{Finding, Signature, TestCase, Verdict};
use crate::oracle::{Judgement, Oracle};
use crate::reproducer::{Match, PublishError, Reproduced};

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

/// A case with the run that shows what is wrong with it.
struct Sighting {
    case: TestCase,
    finding: Finding,
    run: Judgement,
    reproduced: Reproduced,
}

impl Pursuit<'_> {
    /// Follows a violation to its end, and says what the case comes to.
    pub(super) fn run(
        &mut self,
        case: &TestCase,
        first: &Finding,
        first_run: &Judgement,
    ) -> Result<Verdict, PursuitError> {
        let runs = self.shared.options.confirmations;
        let (hits, sighting) = self.confirm(case, &first.signature, runs)?;
        let Some(raw) = sighting.filter(|_| hits == runs) else {
            self.keep_flaky(Sighting {
                case: case.clone(),
                finding: first.clone(),
                run: first_run.clone(),
                reproduced: Reproduced { hits, runs },
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
        let minimized = self.minimize(&raw);
        let sighting = match minimized {
            Ok(sighting) => sighting.unwrap_or(raw),
            // The server went away meanwhile: what is there is published as it is.
            Err(error) => {
                self.conclude(&raw, &raw.finding.signature.clone())?;
                publish::discard(&kept);
                return Err(error);
            }
        };
        let verdict = self.conclude(&sighting, &first.signature)?;
        publish::discard(&kept);
        Ok(verdict)
    }

    /// Runs the case again and again: how often the same violation comes, and the last sighting.
    fn confirm(
        &mut self,
        case: &TestCase,
        signature: &Signature,
        runs: u32,
    ) -> Result<(u32, Option<Sighting>), PursuitError> {
        let mut hits = 0;
        let mut last = None;
        for _ in 0..runs {
            if let Some((finding, run)) = self.look(case, signature)? {
                hits += 1;
                last = Some((finding, run));
            }
        }
        let sighting = last.map(|(finding, run)| Sighting {
            case: case.clone(),
            finding,
            run,
            reproduced: Reproduced { hits, runs },
        });
        Ok((hits, sighting))
    }

    /// Runs the case once: the violation, when it is the same in oracle, kind and levels.
    fn look(
        &mut self,
        case: &TestCase,
        signature: &Signature,
    ) -> Result<Option<(Finding, Judgement)>, EngineError> {
        if self.oracle.inapplicable(case, self.executor).is_some() {
            return Ok(None);
        }
        let run = match judge::check(self.oracle, case, self.executor) {
            Ok(run) => run,
            // A candidate whose set-up, or what we add to it, the engine refuses is no candidate.
            Err(EngineError::Setup { .. } | EngineError::Rejected { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let finding = match &run.verdict {
            Verdict::Violation(finding) if is_same(&finding.signature, signature) => {
                (**finding).clone()
            }
            _ => return Ok(None),
        };
        Ok(Some((finding, run)))
    }

    /// The smallest case that shows the same and is as reliable; none when there is no smaller one.
    fn minimize(&mut self, raw: &Sighting) -> Result<Option<Sighting>, PursuitError> {
        let signature = raw.finding.signature.clone();
        let stop = self.shared.stop.clone();
        let dialect = self.executor.dialect().clone();
        let mut predicate = |candidate: &TestCase| -> Result<bool, EngineError> {
            // With every candidate refused the minimizer ends soon, with what it has.
            Ok(!stop.is_set() && self.look(candidate, &signature)?.is_some())
        };
        let minimized = minimize::minimize(&raw.case, &dialect, &mut predicate, Budget::default());
        if let End::Failed(error) = minimized.end {
            return Err(error.into());
        }
        if minimized.case == raw.case {
            return Ok(None);
        }
        let runs = self.shared.options.confirmations;
        let (hits, sighting) = self.confirm(&minimized.case, &signature, runs)?;
        Ok(sighting.filter(|_| hits == runs))
    }

    /// Known, duplicate or new: counts it or publishes it.
    fn conclude(&mut self, sighting: &Sighting, raw: &Signature) -> Result<Verdict, PursuitError> {
        let signature = &sighting.finding.signature;
        let regression = match self.shared.registry.judge(signature, &self.shared.identity) {
            Match::Known(known) => {
                let id = known.id.clone();
                self.shared.state().ledger.minimized(raw, Place::Duplicate);
                return Ok(Verdict::Known(id));
            }
            Match::Regression(known) => Some(known.id.clone()),
            Match::None => None,
        };
        let shared = self.shared;
        let publishing = shared.publishing();
        let size = publish::size_of(&sighting.case);
        let place = self.shared.state().ledger.place(signature, size);
        let verdict = Verdict::Violation(Box::new(sighting.finding.clone()));
        if place == Place::Duplicate {
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
            state.statistics.duplicates += u64::from(place == Place::Smaller);
        }
        drop(publishing);
        // On disk for good before it is announced: what was announced is never lost.
        let announcement = Announcement::of(&self.reproducer(sighting), path, regression);
        self.shared.tell(match place {
            Place::New => Event::Finding(announcement),
            Place::Smaller | Place::Duplicate => Event::Smaller(announcement),
        });
        Ok(verdict)
    }

    /// A finding that looks like those that many minimizations led to: counted by its look.
    fn count_alike(&self, raw: Sighting) -> Verdict {
        match self
            .shared
            .registry
            .judge(&raw.finding.signature, &self.shared.identity)
        {
            Match::Known(known) => Verdict::Known(known.id.clone()),
            Match::Regression(_) | Match::None => {
                self.shared.state().statistics.duplicates += 1;
                Verdict::Violation(Box::new(raw.finding))
            }
        }
    }

    /// Keeps a finding that does not come every time under `flaky/`.
    fn keep_flaky(&self, sighting: Sighting) -> Result<(), PursuitError> {
        let path = publish::keep_flaky(self.shared, &self.reproducer(&sighting))?;
        self.shared.tell(Event::Flaky(Announcement::of(
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
            execution: &sighting.run.execution,
            reproduced: sighting.reproduced,
            index: self.index,
        }
    }
}

/// The minimizer's predicate and the confirmation: features may vanish, the rest may not change.
fn is_same(a: &Signature, b: &Signature) -> bool {
    a.oracle == b.oracle && a.kind == b.kind && a.levels == b.levels
}
