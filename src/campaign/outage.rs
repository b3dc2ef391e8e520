//! The smallest case that takes the server down, on a server that comes back each time.
//!
//! A run of days does without: each candidate that shows the finding ends a server that others may use. It is
//! for a person who asks for it, on a server that something starts again (a service manager, a loop).

use std::time::Duration;

use super::absence::{Absence, AfterLoss, is_loss};
use super::parts::Workplace;
use super::sighting::{Sighting, sighting};
use super::stop::StopFlag;
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::Executor;
use crate::minimize::{self, MinimizeBudget, MinimizeEnd};
use crate::model::{Execution, Finding, Signature, TestCase};
use crate::oracle::{Oracle, crash, hear};
use crate::reproducer::Reproduced;

/// What is done on a server.
type Job<'j> = dyn FnMut(&mut dyn Executor) -> Result<(), EngineError> + 'j;

/// A server takes seconds to come back, and a case comes down to its last statements in some twenty losses.
const BUDGET: MinimizeBudget = MinimizeBudget {
    candidates: 800,
    time: Duration::from_secs(600),
};

/// Where a case that takes the server down is run, and how long the server may be away each time.
pub struct OutageSearch<'a> {
    pub workplace: &'a dyn Workplace,
    pub oracles: &'a [&'a dyn Oracle],
    pub dialect: &'a Dialect,
    /// Runs that must all lose the server, of the case and of the smallest one.
    pub confirmations: u32,
    pub patience: Duration,
    pub stop: &'a StopFlag,
}

impl OutageSearch<'_> {
    /// The smallest case that loses the server in the same way at a statement of the same kind; none where this one
    /// does not lose it every time.
    ///
    /// # Errors
    /// In a sentence, when the server does not come back or is another one.
    pub fn minimize(&self, case: &TestCase) -> Result<Option<Sighting>, String> {
        let Some(raw) = self.confirm(case, None)? else {
            return Ok(None);
        };
        let signature = raw.finding.signature.clone();
        let mut loses_it = |candidate: &TestCase| -> Result<bool, String> {
            if self.stop.is_urgent() {
                return Ok(false);
            }
            let shown = self.look(candidate)?;
            Ok(shown.is_some_and(|(finding, _)| finding.signature == signature))
        };
        let minimized = minimize::minimize(case, self.dialect, &mut loses_it, BUDGET);
        let may_be_larger = match minimized.end {
            MinimizeEnd::Failed(error) => return Err(error),
            MinimizeEnd::Budget => true,
            MinimizeEnd::Fixpoint => self.stop.is_urgent(),
        };
        let smallest = self
            .confirm(&minimized.case, Some(&signature))?
            .unwrap_or(raw);
        // The last loss has left its databases.
        if let Err(error) = self.when_it_is_there(&mut |_| Ok(()))? {
            tracing::warn!("the databases of this run stay: {error}; `rashomon clean` drops them");
        }
        Ok(Some(Sighting {
            may_be_larger,
            ..smallest
        }))
    }

    /// The last of the runs that lose the server, where all of them do so alike: in this way, or in that of the first.
    fn confirm(
        &self,
        case: &TestCase,
        wanted: Option<&Signature>,
    ) -> Result<Option<Sighting>, String> {
        let runs = self.confirmations.max(1);
        let mut last: Option<(Finding, Execution)> = None;
        for _ in 0..runs {
            let Some(shown) = self.look(case)? else {
                return Ok(None);
            };
            let before = last.as_ref().map(|(finding, _)| &finding.signature);
            if wanted.or(before).is_some_and(|s| *s != shown.0.signature) {
                return Ok(None);
            }
            last = Some(shown);
        }
        let reproduced = Reproduced { hits: runs, runs };
        Ok(last.map(|shown| sighting(case, shown, reproduced)))
    }

    /// Runs the case once, when the server is there: how it was lost, where it was.
    fn look(&self, case: &TestCase) -> Result<Option<(Finding, Execution)>, String> {
        let mut shown = None;
        let worked = self.when_it_is_there(&mut |executor| {
            let error = match hear(case, executor, self.oracles) {
                Ok(_) | Err(EngineError::Setup { .. } | EngineError::Rejected { .. }) => {
                    return Ok(());
                }
                Err(error) => error,
            };
            shown = executor.interrupted().and_then(|interrupted| {
                let place = interrupted.statement?;
                let finding = crash::outage(case, &error, Some(place), executor.dialect())?;
                Some((finding, interrupted.execution.clone()))
            });
            Err(error)
        })?;
        match worked {
            Err(error) if !is_loss(&error) => Err(error.to_string()),
            Ok(()) | Err(_) => Ok(shown),
        }
    }

    /// Waits for the server and does a job on it.
    fn when_it_is_there(&self, job: &mut Job<'_>) -> Result<Result<(), EngineError>, String> {
        let mut absence = Absence::none_yet(0, self.patience, self.stop);
        loop {
            let mut was_there = false;
            let worked = self.workplace.work(0, &mut |executor| {
                was_there = true;
                job(executor)
            });
            match worked {
                Err(error) if !was_there && is_loss(&error) => {
                    let _ = absence.begins(None, &error);
                    if absence.sit_out(&error)? == AfterLoss::Leave {
                        return Err(format!("the server is down: {error}"));
                    }
                }
                worked => return Ok(worked),
            }
        }
    }
}
