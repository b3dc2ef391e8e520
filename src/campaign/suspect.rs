//! A case during which the server was lost: outside fault, or the engine's own crash or hang?
//!
//! The case is on disk before anything else happens. It is run again when the server is back; only
//! the same loss at the same statement in every one of these runs makes a finding. Such a finding is
//! not minimized: each candidate would take the server down. `rashomon minimize` does it on request (`outage`).
//!
//! A server that is lost while a violation is pursued takes nothing away from the violation: its pursuit is
//! taken up where it was.

use std::path::PathBuf;

use super::conclusion::{Conclusion, HeldFinding};
use super::event::{Announcement, RunEvent};
use super::publish::{self, Reproducer};
use super::shared::Shared;
use super::wall_clock::unix_seconds;
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::Interrupted;
use crate::model::{Pace, StatementId, TestCase, Verdict};
use crate::oracle::{Explained, Hearing, crash};
use crate::reproducer::{PublishError, Reproduced};

/// A case is given up after this many losses that do not agree with each other.
const LOSSES_MAX: u32 = 6;

/// How the server was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// The connection broke, or the server was gone.
    Crash,
    /// No answer within the deadline.
    Hang,
}

/// What to do with a case after a loss.
pub(super) enum Next {
    RunAgain,
    /// The losses do not agree, or hit statements of ours: undecided.
    GiveUp,
    Finding(Verdict),
}

/// What was heard of a case before the server was lost.
pub(super) struct HeardBefore {
    pub hearing: Hearing,
    /// What was sent to hear it, on every connection.
    pub statements_sent: u64,
}

/// A case during which the server was lost.
pub(super) struct Suspect {
    pub index: u64,
    /// Where it was lost while a violation was pursued: what had been heard, to go on from.
    pub heard: Option<HeardBefore>,
    /// The finding, where it had been confirmed.
    pub held: Option<HeldFinding>,
    path: Option<PathBuf>,
    losses: u32,
    /// Losses in a row of the same kind at the same statement.
    alike: u32,
    last: Option<(Loss, StatementId)>,
}

impl Suspect {
    pub(super) fn new(index: u64) -> Self {
        Self {
            index,
            heard: None,
            held: None,
            path: None,
            losses: 0,
            alike: 0,
            last: None,
        }
    }

    /// Notes a loss.
    pub(super) fn sighted(
        &mut self,
        shared: &Shared,
        case: &TestCase,
        interrupted: Option<&Interrupted>,
        error: &EngineError,
        dialect: &Dialect,
    ) -> Result<Next, PublishError> {
        if self.path.is_none() {
            let path = publish::keep_suspect(shared, case, self.index, &error.to_string())?;
            self.path = Some(path);
        }
        let runs = shared.settings.confirmations;
        let place = interrupted.and_then(|interrupted| interrupted.statement);
        match self.decide(place.map(|id| (loss_of(error), id)), case.pace, runs) {
            Decision::RunAgain => Ok(Next::RunAgain),
            Decision::GiveUp => Ok(Next::GiveUp),
            Decision::Finding(id) => {
                // Both kinds of loss are outages to the oracle; anything else never gets here.
                let Some(finding) = crash::outage(case, error, Some(id), dialect) else {
                    return Ok(Next::GiveUp);
                };
                // There is nothing to minimize first: one statement is all that it takes.
                if let Explained::Known(known) = shared.explain(&finding.signature) {
                    return Ok(Next::Finding(Verdict::Known(known)));
                }
                let execution = interrupted.map(|i| i.execution.clone()).unwrap_or_default();
                let reproducer = Reproducer {
                    case,
                    finding: &finding,
                    execution: &execution,
                    reproduced: Reproduced { hits: runs, runs },
                    remark: Some(publish::AS_FOUND),
                    index: self.index,
                };
                publish_loss(shared, &reproducer)?;
                Ok(Next::Finding(Verdict::Violation(Box::new(finding))))
            }
        }
    }

    fn decide(&mut self, sighting: Option<(Loss, StatementId)>, pace: Pace, runs: u32) -> Decision {
        self.losses += 1;
        // At the free pace several statements are under way: chance says which is told first.
        let is_alike = |(loss, id): (Loss, StatementId)| match pace {
            Pace::Scheduled => self.last == Some((loss, id)),
            Pace::Free => self.last.is_some_and(|(last, _)| last == loss),
        };
        match sighting {
            Some(sighting) if is_alike(sighting) => self.alike += 1,
            Some(_) => self.alike = 1,
            None => self.alike = 0,
        }
        self.last = sighting;
        match sighting {
            Some((_, id)) if self.alike > runs => Decision::Finding(id),
            _ if self.losses > LOSSES_MAX.max(runs + 1) => Decision::GiveUp,
            _ => Decision::RunAgain,
        }
    }

    /// Publishes the finding that is held as it was found, where there is one.
    pub(super) fn publish_held(
        &mut self,
        shared: &Shared,
    ) -> Result<Option<Verdict>, PublishError> {
        let index = self.index;
        let held = self.held.take();
        held.map(|held| Conclusion { shared, index }.publish_held(&held))
            .transpose()
    }

    /// The case came to a verdict: the file that kept it is needed no more.
    pub(super) fn forget(self) {
        if let Some(path) = self.path {
            publish::discard(&path);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    RunAgain,
    GiveUp,
    Finding(StatementId),
}

fn loss_of(error: &EngineError) -> Loss {
    if matches!(error, EngineError::Hang { .. }) {
        Loss::Hang
    } else {
        Loss::Crash
    }
}

fn publish_loss(shared: &Shared, reproducer: &Reproducer<'_>) -> Result<(), PublishError> {
    let publishing = shared.publishing();
    let path = publish::publish(shared, reproducer)?;
    let finding = reproducer.finding;
    let size = publish::size_of(reproducer.case);
    let (shown, now) = (path.display().to_string(), unix_seconds());
    let is_new = shared
        .state()
        .ledger
        .published(&finding.signature)
        .is_none();
    shared
        .state()
        .ledger
        .publish(&finding.signature, &shown, &finding.headline, size, now);
    drop(publishing);
    if is_new {
        shared.tell(RunEvent::Finding(Announcement::of(
            reproducer,
            &shared.settings,
            path,
            None,
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TransactionId;

    fn at(position: u32) -> Option<(Loss, StatementId)> {
        Some((
            Loss::Crash,
            StatementId {
                transaction: TransactionId(1),
                position,
            },
        ))
    }

    #[test]
    fn only_the_same_loss_in_every_run_is_a_finding() {
        let mut suspect = Suspect::new(7);
        assert_eq!(
            suspect.decide(at(2), Pace::Scheduled, 3),
            Decision::RunAgain
        );
        assert_eq!(
            suspect.decide(at(2), Pace::Scheduled, 3),
            Decision::RunAgain
        );
        assert_eq!(
            suspect.decide(at(2), Pace::Scheduled, 3),
            Decision::RunAgain
        );
        assert!(matches!(
            suspect.decide(at(2), Pace::Scheduled, 3),
            Decision::Finding(_)
        ));
    }

    #[test]
    fn losses_here_and_there_are_given_up() {
        let mut suspect = Suspect::new(7);
        for position in 1..=6 {
            assert_eq!(
                suspect.decide(at(position), Pace::Scheduled, 3),
                Decision::RunAgain
            );
        }
        assert_eq!(suspect.decide(at(7), Pace::Scheduled, 3), Decision::GiveUp);
    }

    #[test]
    fn at_the_free_pace_any_statement_will_do() {
        let mut suspect = Suspect::new(7);
        for position in 1..=3 {
            let decision = suspect.decide(at(position), Pace::Free, 3);
            assert_eq!(decision, Decision::RunAgain);
        }
        assert!(matches!(
            suspect.decide(at(4), Pace::Free, 3),
            Decision::Finding(_)
        ));
    }

    #[test]
    fn a_hang_is_no_crash() {
        let mut suspect = Suspect::new(7);
        let hang = at(2).map(|(_, id)| (Loss::Hang, id));
        for sighting in [at(2), hang, at(2), hang, at(2), hang] {
            assert_eq!(
                suspect.decide(sighting, Pace::Scheduled, 3),
                Decision::RunAgain
            );
        }
        assert_eq!(suspect.decide(None, Pace::Scheduled, 3), Decision::GiveUp);
    }
}
