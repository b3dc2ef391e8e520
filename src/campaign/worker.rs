//! One worker: draws its cases, has them judged, and sits out the absence of the server.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::absence::{Absence, AfterLoss, is_loss};
use super::activity::{Activity, PursuitNote};
use super::ahead::Ahead;
use super::canary::CanaryVerdict;
use super::comparison::Compared;
use super::counterpart::Comparing;
use super::doublecheck::doublecheck;
use super::event::RunEvent;
use super::parts::Drawn;
use super::publish;
use super::pursue::{Pursuit, PursuitError};
use super::shared::{Message, Shared};
use super::statistics::CaseCount;
use super::suspect::{HeardBefore, Next, Suspect};
use crate::engine::EngineError;
use crate::execute::Executor;
use crate::model::{Pace, UndecidedReason, Verdict};
use crate::oracle::{Hearing, hear};

/// One worker of a run.
pub(super) struct Worker {
    shared: Arc<Shared>,
    /// The run with its counterpart as the server.
    other: Option<Arc<Shared>>,
    number: usize,
    /// Cases of the block in hand, the current one first.
    block: VecDeque<u64>,
    ahead: Ahead,
    /// The case during which the server was lost: it comes first when the server is back.
    suspect: Option<Suspect>,
    /// What came of the canary beside the case in hand.
    canary: Option<CanaryVerdict>,
    /// Why the worker cannot go on, when the engine is not to blame.
    obstacle: Option<String>,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, other: Option<Arc<Shared>>, number: usize) -> Self {
        Self {
            ahead: Ahead::new(Arc::clone(&shared.cases)),
            shared,
            other,
            number,
            block: VecDeque::new(),
            suspect: None,
            canary: None,
            obstacle: None,
        }
    }

    /// Works until there is nothing left, the run is stopped, or it cannot go on.
    pub(super) fn run(mut self) {
        let result = self.sittings();
        let published = self.publish_held();
        let result = result.and(published);
        self.does(Activity::Ended);
        // Nobody listens when the run was given up.
        let _ = self.shared.messages.send(Message::Ended(result));
    }

    /// Opens the workplace again whenever the server was lost.
    fn sittings(&mut self) -> Result<(), String> {
        let patience = self.shared.settings.patience;
        let mut absence = Absence::none_yet(self.number, patience, &self.shared.stop);
        loop {
            let workplace = Arc::clone(&self.shared.workplace);
            let result = workplace.work(self.number, &mut |executor| {
                absence
                    .over()
                    .into_iter()
                    .for_each(|back| self.shared.tell(back));
                let Some(other) = self.other.clone() else {
                    return self.cases(executor, None);
                };
                other.workplace.work(self.number, &mut |counterpart| {
                    self.cases(executor, Some(counterpart))
                })
            });
            if let Some(obstacle) = self.obstacle.take() {
                return Err(obstacle);
            }
            let error = match result {
                Ok(()) => return Ok(()),
                Err(error) if absence.explains(&error) => error,
                Err(error) => return Err(error.to_string()),
            };
            let index = self.suspect.as_ref().map(|suspect| suspect.index);
            if let Some(lost) = absence.begins(index, &error) {
                self.shared.state().statistics.server_losses += 1;
                self.shared.tell(lost);
            }
            self.does(Activity::AwaitingServer);
            if absence.sit_out(&error)? == AfterLoss::Leave {
                return Ok(());
            }
        }
    }

    fn does(&self, activity: Activity) {
        self.shared.activities.set(self.number, activity);
    }

    /// Case after case.
    fn cases(
        &mut self,
        executor: &mut dyn Executor,
        mut counterpart: Option<&mut dyn Executor>,
    ) -> Result<(), EngineError> {
        while !self.shared.stop.is_set() && self.obstacle.is_none() {
            let Some(index) = self.next() else {
                return Ok(());
            };
            self.does(Activity::Judging { index });
            let (canary, oracles) = (&self.shared.canary, &self.shared.oracles);
            let canary = canary.as_ref();
            self.canary = canary.and_then(|canary| canary.beside(index, self.number, oracles));
            let drawn = self.ahead.case(index, self.block.get(1).copied());
            match self.heard(executor, index, &drawn) {
                Ok(heard) => match &mut counterpart {
                    Some(counterpart) => self.judged(executor, Some(&mut **counterpart), heard)?,
                    None => self.judged(executor, None, heard)?,
                },
                Err(error @ EngineError::Setup { .. }) => {
                    tracing::warn!("case {index}: {error}");
                    self.undecided(index, UndecidedReason::SetUpRejected);
                }
                // A defect of ours, and no reason to end a run of days: it shows in the numbers.
                Err(error @ EngineError::Rejected { .. }) => {
                    tracing::warn!("case {index}: {error}");
                    self.undecided(index, UndecidedReason::OwnStatementRejected);
                }
                Err(error) if is_loss(&error) => {
                    self.lost(executor, index, &drawn, &error);
                    return Err(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Has the case judged, or takes up what was heard of it when the server was lost later.
    fn heard<'a>(
        &mut self,
        executor: &mut dyn Executor,
        index: u64,
        drawn: &'a Drawn,
    ) -> Result<HeardCase<'a>, EngineError> {
        let suspect = self.suspect.as_mut();
        let before = suspect.and_then(|suspect| suspect.heard.take());
        let (hearing, statements_sent) = match before {
            Some(before) => (before.hearing, before.statements_sent),
            None => {
                let sent_before = executor.statements_sent();
                let hearing = hear(&drawn.case, executor, &self.shared.oracles)?;
                (hearing, executor.statements_sent() - sent_before)
            }
        };
        Ok(HeardCase {
            index,
            drawn,
            hearing,
            statements_sent,
        })
    }

    /// The next case: the suspect one, then the rest of the block, then a new block.
    fn next(&mut self) -> Option<u64> {
        if let Some(suspect) = &self.suspect {
            return Some(suspect.index);
        }
        if self.block.is_empty() {
            let mut state = self.shared.state();
            let state = &mut *state;
            self.block.extend(state.allotment.next(&state.done)?);
        }
        self.block.front().copied()
    }

    /// Follows up the verdict of a case and counts it.
    fn judged(
        &mut self,
        executor: &mut dyn Executor,
        counterpart: Option<&mut dyn Executor>,
        heard: HeardCase<'_>,
    ) -> Result<(), EngineError> {
        let (index, drawn) = (heard.index, heard.drawn);
        let mut verdict = heard.hearing.verdict();
        let is_scheduled = drawn.case.pace == Pace::Scheduled;
        if let Verdict::Violation(_) = &verdict {
            verdict = match self.pursue(executor, &heard) {
                Ok(verdict) => verdict,
                Err(error) => {
                    self.keep_heard(heard, &error);
                    return self.given_up(executor, index, drawn, error);
                }
            };
        } else if self.shared.settings.doublecheck && is_scheduled {
            match doublecheck(&drawn.case, executor) {
                Ok(None) => {}
                Ok(Some(difference)) => {
                    self.shared.tell(RunEvent::Unstable { index, difference });
                    verdict = Verdict::Undecided(UndecidedReason::NotDeterministic);
                }
                Err(error) => {
                    self.lost(executor, index, drawn, &error);
                    return Err(error);
                }
            }
        }
        let was_found = matches!(verdict, Verdict::Violation(_) | Verdict::Flaky { .. });
        let compared = match counterpart {
            Some(counterpart) if is_scheduled && !was_found => {
                self.compare(executor, counterpart, &heard)
            }
            Some(_) | None => Ok(None),
        };
        let (compared, lost) = match compared {
            Ok(compared) => (compared, None),
            // It is counted without the counterpart, or it might take that down again and again.
            Err(PursuitError::Engine(error)) if executor.interrupted().is_none() => {
                (None, Some(error))
            }
            Err(error) => return self.given_up(executor, index, drawn, error),
        };
        self.count(&heard, verdict, compared);
        lost.map_or(Ok(()), Err)
    }

    /// A case whose follow-up ended early: by a loss of the server it is suspect, by the disk the worker
    /// ends.
    fn given_up(
        &mut self,
        executor: &dyn Executor,
        index: u64,
        drawn: &Drawn,
        error: PursuitError,
    ) -> Result<(), EngineError> {
        match error {
            PursuitError::Engine(error) => {
                if is_loss(&error) {
                    self.lost(executor, index, drawn, &error);
                }
                Err(error)
            }
            PursuitError::Publish(error) => {
                self.obstacle = Some(error.to_string());
                Ok(())
            }
        }
    }

    /// Counts a case by its verdict, and by what its comparison came to.
    fn count(&mut self, heard: &HeardCase<'_>, verdict: Verdict, compared: Option<Compared>) {
        let verdict = match &compared {
            Some(Compared::Differs { verdict, .. }) => verdict.clone(),
            Some(Compared::Alike | Compared::NotComparable) | None => verdict,
        };
        // A case during which the server was killed is as long as what was sent.
        let runs = &heard.hearing.runs;
        let crashed = runs.iter().find(|run| run.execution.crash.is_some());
        let case = crashed.map_or(&heard.drawn.case, |run| &run.case);
        self.finish(heard.index, |state| {
            if let Some(compared) = &compared {
                state.statistics.compared.count(compared);
            }
            state.statistics.count(&CaseCount {
                index: heard.index,
                case,
                hearing: &heard.hearing,
                verdict: &verdict,
                productions: &heard.drawn.productions,
                statements_sent: heard.statements_sent,
            });
        });
    }

    /// Runs the case on both servers. A case during which the counterpart was lost is kept as a suspect.
    fn compare(
        &mut self,
        executor: &mut dyn Executor,
        counterpart: &mut dyn Executor,
        heard: &HeardCase<'_>,
    ) -> Result<Option<Compared>, PursuitError> {
        let Some(other) = self.other.clone() else {
            return Ok(None);
        };
        let shared = Arc::clone(&self.shared);
        let compared = Comparing {
            shared: &shared,
            other_shared: &other,
            executor,
            other: counterpart,
            index: heard.index,
            note: PursuitNote::new(&shared.activities, self.number, heard.index),
        }
        .run(heard.drawn);
        match compared {
            Ok(compared) => Ok(Some(compared)),
            Err(PursuitError::Engine(
                error @ (EngineError::Setup { .. } | EngineError::Rejected { .. }),
            )) => {
                tracing::warn!("case {} is not compared: {error}", heard.index);
                Ok(Some(Compared::NotComparable))
            }
            Err(PursuitError::Engine(error)) => {
                if is_loss(&error) && counterpart.interrupted().is_some() {
                    let (case, text) = (&heard.drawn.case, error.to_string());
                    publish::keep_suspect(&other, case, heard.index, &text)?;
                }
                Err(error.into())
            }
            Err(error @ PursuitError::Publish(_)) => Err(error),
        }
    }

    /// Follows a violation to its end, from where a loss of the server has interrupted it.
    fn pursue(
        &mut self,
        executor: &mut dyn Executor,
        case: &HeardCase<'_>,
    ) -> Result<Verdict, PursuitError> {
        let (shared, index) = (Arc::clone(&self.shared), case.index);
        let hearing = &case.hearing;
        let Some(heard) = hearing.violation(|_| true) else {
            return Ok(hearing.verdict());
        };
        let suspect = self.suspect.as_mut();
        let mut pursuit = Pursuit {
            shared: &shared,
            executor,
            oracle: shared.oracles[heard.judge],
            index,
            note: PursuitNote::new(&shared.activities, self.number, index),
            held: suspect.and_then(|suspect| suspect.held.take()),
        };
        let pursued = pursuit.run(&case.drawn.case, heard, hearing.run_of(heard));
        if let Some(held) = pursuit.held.take() {
            self.suspected(index).held = Some(held);
        }
        pursued
    }

    /// Keeps what was heard of a case whose pursuit a loss has interrupted: the finding is not lost where the
    /// case does not show it when it is run again.
    fn keep_heard(&mut self, heard: HeardCase<'_>, error: &PursuitError) {
        if matches!(error, PursuitError::Engine(error) if is_loss(error)) {
            self.suspected(heard.index).heard = Some(HeardBefore {
                hearing: heard.hearing,
                statements_sent: heard.statements_sent,
            });
        }
    }

    fn suspected(&mut self, index: u64) -> &mut Suspect {
        self.suspect.get_or_insert_with(|| Suspect::new(index))
    }

    /// Publishes the finding whose pursuit was interrupted as it was found: nobody takes it up again.
    fn publish_held(&mut self) -> Result<(), String> {
        let Some(suspect) = &mut self.suspect else {
            return Ok(());
        };
        let index = suspect.index;
        let published = suspect.publish_held(&self.shared);
        let published = published.map_err(|error| error.to_string())?;
        if published.is_some() {
            tracing::warn!(
                "the finding of case {index} is published as it was found: the server was lost"
            );
        }
        Ok(())
    }

    /// Counts a case, and only then calls it done: both under one lock, so that a checkpoint has
    /// both or neither.
    fn finish(&mut self, index: u64, count: impl FnOnce(&mut super::shared::RunState)) {
        let mut state = self.shared.state();
        count(&mut state);
        let canary = self.canary.take();
        if let Some(canary) = &canary {
            state.statistics.canaries.count(canary);
        }
        state.done.insert(index);
        drop(state);
        if let Some(canary) = canary.filter(|canary| !canary.unheard_by.is_empty()) {
            self.shared.tell(RunEvent::CanaryUnheard {
                index,
                oracles: canary.unheard_by,
            });
        }
        if self.block.front() == Some(&index) {
            self.block.pop_front();
        }
        if let Some(suspect) = self.suspect.take_if(|suspect| suspect.index == index) {
            suspect.forget();
        }
    }

    fn undecided(&mut self, index: u64, reason: UndecidedReason) {
        let verdict = Verdict::Undecided(reason);
        self.finish(index, |state| state.statistics.count_unheard(&verdict));
    }

    /// Keeps the case aside before anything else is done, and decides what its loss comes to.
    fn lost(&mut self, executor: &dyn Executor, index: u64, drawn: &Drawn, error: &EngineError) {
        let suspect = self.suspect.take_if(|suspect| suspect.index == index);
        let mut suspect = suspect.unwrap_or_else(|| Suspect::new(index));
        // A smaller case is run while a finding is held: its statements are not those of the case.
        let interrupted = executor.interrupted().filter(|_| suspect.held.is_none());
        let dialect = executor.dialect();
        let sighted = suspect.sighted(&self.shared, &drawn.case, interrupted, error, dialect);
        let is_over = matches!(sighted, Ok(Next::GiveUp | Next::Finding(_)));
        let published = match is_over {
            true => suspect.publish_held(&self.shared),
            false => Ok(None),
        };
        self.suspect = Some(suspect);
        match (sighted, published) {
            (Ok(Next::RunAgain), _) => {}
            (Ok(Next::GiveUp), Ok(None)) => self.undecided(index, UndecidedReason::ServerLost),
            (Ok(Next::GiveUp), Ok(Some(verdict))) | (Ok(Next::Finding(verdict)), Ok(_)) => {
                self.finish(index, |state| state.statistics.count_unheard(&verdict));
            }
            (Err(error), _) | (_, Err(error)) => self.obstacle = Some(error.to_string()),
        }
    }
}

/// A case that the oracles have heard.
struct HeardCase<'a> {
    index: u64,
    drawn: &'a Drawn,
    hearing: Hearing,
    /// What was sent to hear it, on every connection.
    statements_sent: u64,
}

/// A case without productions, for callers that made it otherwise.
impl From<crate::model::TestCase> for Drawn {
    fn from(case: crate::model::TestCase) -> Self {
        Self {
            case,
            productions: BTreeMap::new(),
        }
    }
}
