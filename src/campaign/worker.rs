//! One worker: draws its cases, has them judged, and sits out the absence of the server.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

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
use super::suspect::{Next, Suspect};
use crate::engine::EngineError;
use crate::execute::Executor;
use crate::model::{Pace, UndecidedReason, Verdict};
use crate::oracle::{Hearing, hear};

/// The pauses between attempts to reach a lost server: from the first, doubled, to the last.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How often a pause looks whether the run is over.
const NAP: Duration = Duration::from_millis(50);

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
        self.does(Activity::Ended);
        // Nobody listens when the run was given up.
        let _ = self.shared.messages.send(Message::Ended(result));
    }

    /// Opens the workplace again whenever the server was lost.
    fn sittings(&mut self) -> Result<(), String> {
        let mut lost: Option<Instant> = None;
        let mut pause = PAUSE_MIN;
        loop {
            // A run that ends while the server is away tries once more, to know whether it is down.
            let is_last_attempt = self.shared.stop.is_set();
            let workplace = Arc::clone(&self.shared.workplace);
            let result = workplace.work(self.number, &mut |executor| {
                if let Some(since) = lost.take() {
                    self.shared.tell(RunEvent::ServerBack {
                        worker: self.number,
                        after: since.elapsed(),
                    });
                    pause = PAUSE_MIN;
                }
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
            match result {
                Ok(()) => return Ok(()),
                Err(error) if is_loss(&error) || (lost.is_some() && is_unwell(&error)) => {
                    let since = *lost.get_or_insert_with(|| {
                        self.shared.state().statistics.server_losses += 1;
                        let index = self.suspect.as_ref().map(|suspect| suspect.index);
                        let error = error.to_string();
                        let worker = self.number;
                        self.shared.tell(RunEvent::ServerLost {
                            worker,
                            index,
                            error,
                        });
                        Instant::now()
                    });
                    self.does(Activity::AwaitingServer);
                    let patience = self.shared.settings.patience;
                    if since.elapsed() > patience {
                        let seconds = patience.as_secs();
                        return Err(format!(
                            "the server did not come back in {seconds} s: {error}"
                        ));
                    }
                    if is_last_attempt || self.shared.stop.signal().is_some() {
                        return Ok(());
                    }
                    self.rest(pause);
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn does(&self, activity: Activity) {
        self.shared.activities.set(self.number, activity);
    }

    /// Waits, unless the run is over.
    fn rest(&self, pause: Duration) {
        let start = Instant::now();
        while start.elapsed() < pause && !self.shared.stop.is_set() {
            std::thread::sleep(NAP.min(pause));
        }
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
            let sent_before = executor.statements_sent();
            match hear(&drawn.case, executor, &self.shared.oracles) {
                Ok(hearing) => {
                    let sent = executor.statements_sent() - sent_before;
                    let heard = HeardCase {
                        index,
                        drawn: &drawn,
                        hearing: &hearing,
                        statements_sent: sent,
                    };
                    match &mut counterpart {
                        Some(counterpart) => {
                            self.judged(executor, Some(&mut **counterpart), &heard)?
                        }
                        None => self.judged(executor, None, &heard)?,
                    }
                }
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
        heard: &HeardCase<'_>,
    ) -> Result<(), EngineError> {
        let (index, drawn) = (heard.index, heard.drawn);
        let mut verdict = heard.hearing.verdict();
        let is_scheduled = drawn.case.pace == Pace::Scheduled;
        if let Verdict::Violation(_) = &verdict {
            verdict = match self.pursue(executor, index, drawn, heard.hearing) {
                Ok(verdict) => verdict,
                Err(error) => return self.given_up(executor, heard, error),
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
                self.compare(executor, counterpart, heard)
            }
            Some(_) | None => Ok(None),
        };
        let (compared, lost) = match compared {
            Ok(compared) => (compared, None),
            // It is counted without the counterpart, or it might take that down again and again.
            Err(PursuitError::Engine(error)) if executor.interrupted().is_none() => {
                (None, Some(error))
            }
            Err(error) => return self.given_up(executor, heard, error),
        };
        self.count(heard, verdict, compared);
        lost.map_or(Ok(()), Err)
    }

    /// A case whose follow-up ended early: by a loss of the server it is suspect, by the disk the worker
    /// ends.
    fn given_up(
        &mut self,
        executor: &dyn Executor,
        heard: &HeardCase<'_>,
        error: PursuitError,
    ) -> Result<(), EngineError> {
        match error {
            PursuitError::Engine(error) => {
                if is_loss(&error) {
                    self.lost(executor, heard.index, heard.drawn, &error);
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
                hearing: heard.hearing,
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

    fn pursue(
        &mut self,
        executor: &mut dyn Executor,
        index: u64,
        drawn: &Drawn,
        hearing: &Hearing,
    ) -> Result<Verdict, PursuitError> {
        let shared = Arc::clone(&self.shared);
        let Some(heard) = hearing.violation(|_| true) else {
            return Ok(hearing.verdict());
        };
        Pursuit {
            shared: &shared,
            executor,
            oracle: shared.oracles[heard.judge],
            index,
            note: PursuitNote::new(&shared.activities, self.number, index),
        }
        .run(&drawn.case, heard, hearing.run_of(heard))
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
        let interrupted = executor.interrupted();
        match suspect.sighted(&self.shared, &drawn.case, interrupted, error) {
            Ok(Next::RunAgain) => self.suspect = Some(suspect),
            Ok(Next::GiveUp) => {
                self.suspect = Some(suspect);
                self.undecided(index, UndecidedReason::ServerLost);
            }
            Ok(Next::Finding(verdict)) => {
                self.suspect = Some(suspect);
                self.finish(index, |state| state.statistics.count_unheard(&verdict));
            }
            Err(error) => self.obstacle = Some(error.to_string()),
        }
    }
}

/// A case that the oracles have heard.
struct HeardCase<'a> {
    index: u64,
    drawn: &'a Drawn,
    hearing: &'a Hearing,
    /// What was sent to hear it, on every connection.
    statements_sent: u64,
}

/// The server or its connection is gone: it may come back.
fn is_loss(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::Connect { .. }
            | EngineError::ConnectionLost { .. }
            | EngineError::Hang { .. }
            | EngineError::Resource(_)
    )
}

/// A server that was lost and is back may refuse what it takes otherwise: it may be taking back the work of a
/// statement that was given up, and be short of locks meanwhile.
fn is_unwell(error: &EngineError) -> bool {
    matches!(error, EngineError::Rejected { .. })
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
