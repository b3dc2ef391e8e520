//! One fuzzing run: workers, verdicts, findings, statistics, checkpoints.
//!
//! Workers draw blocks of consecutive cases, each with a workplace of its own. A violation is
//! confirmed, kept on disk, minimized, and published before it is announced (`pursue`). A lost
//! server is waited for, and the case run again (`suspect`). The run itself only listens: it
//! passes events on, writes checkpoints, and ends in a [`RunSummary`].

mod absence;
mod activity;
mod ahead;
mod canary;
mod checkpoint;
mod comparison;
mod conclusion;
mod counterpart;
mod doublecheck;
mod event;
mod flaky;
mod ledger;
mod outage;
mod parts;
mod progress;
mod publish;
mod pursue;
mod rate;
mod rate_search;
mod settings;
mod shared;
mod sighting;
mod statistics;
mod stop;
mod stopping;
mod suspect;
mod timeline;
mod wall_clock;
mod worker;
mod workplace;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::engine::Identity;
use crate::reproducer::PublishError;

pub use absence::{Absence, AfterLoss, is_loss};
pub use activity::Activity;
pub use ahead::Ahead;
pub use canary::{CANARY_EVERY, CanaryCount};
pub use checkpoint::{
    Checkpoint, CheckpointError, files as checkpoint_files, read as read_checkpoint,
};
pub use event::{Announcement, Listener, RunEvent};
pub use ledger::{FlakyFinding, Ledger, Published, Sightings};
pub use outage::OutageSearch;
pub use parts::{Canary, CaseSource, Counterpart, Drawn, Parts, Workplace};
pub use settings::{Cases, RunSettings, SettingsError, SettingsRecord};
pub use sighting::{Sighting, minimize_case};
pub use statistics::{ComparedCases, Contended, Share, Statistics, Verdicts};
pub use stop::StopFlag;
pub use stopping::StopCause;
pub use timeline::VerdictTimeline;
pub use wall_clock::unix_seconds;
pub use workplace::{Generator, ServerWorkplace, WorkloadShare, check_same};

use shared::{Message, RunState, Shared};
use stopping::{StopStep, Stopping};

/// How often the run looks at the clock and tells its progress.
const TICK: Duration = Duration::from_millis(200);

/// How often a checkpoint is written.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(5);

/// The result of a run.
#[derive(Clone, Debug)]
pub struct RunSummary {
    pub settings: RunSettings,
    pub identity: Identity,
    /// Over all sittings.
    pub statistics: Statistics,
    /// Findings that this run saw, over all its sittings.
    pub findings: Vec<Published>,
    /// Findings that do not show in every run.
    pub flaky: Vec<FlakyFinding>,
    /// Over all sittings.
    pub elapsed: Duration,
    /// The lowest case index that is not done.
    pub next_index: u64,
    /// The signal that ended the run, if one did.
    pub signal: Option<usize>,
    /// Why the run could not go on: the environment.
    pub failure: Option<String>,
    /// The server was down when the run ended.
    pub server_down: Option<ServerDown>,
}

impl RunSummary {
    /// Why the server or the disk ended the run.
    pub fn problem(&self) -> Option<String> {
        let Some(down) = &self.server_down else {
            return self.failure.clone();
        };
        let cases: Vec<String> = down.cases.iter().map(u64::to_string).collect();
        let lost = match cases.len() {
            0 => "the server was lost between two cases".to_owned(),
            1 => format!("the server was lost in case {}", cases.concat()),
            _ => format!("the server was lost in cases {}", cases.join(", ")),
        };
        let why = match &self.failure {
            Some(failure) => failure.clone(),
            None => format!("it was still down when the run ended: {}", down.error),
        };
        Some(format!("{lost}; {why}"))
    }
}

/// A server that was lost and not reached again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerDown {
    /// The cases that were running when the workers lost it, which no verdict was given on.
    pub cases: Vec<u64>,
    /// The error that the last of these workers got.
    pub error: String,
}

/// Why a run does not start.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

/// Runs cases until they are done, the time is over, or a signal stops it.
///
/// # Errors
/// When the output folder takes no files. What happens later ends the run with a summary.
pub fn run(
    parts: Parts,
    settings: RunSettings,
    resumed: Option<Checkpoint>,
    stop: &StopFlag,
    listener: &mut dyn Listener,
) -> Result<RunSummary, CampaignError> {
    let started = Instant::now();
    let mut ledger = Ledger::default();
    let (mut done, mut statistics, mut before) = (
        progress::Done::default(),
        Statistics::default(),
        Duration::ZERO,
    );
    let mut timeline = None;
    if let Some(checkpoint) = resumed {
        (done, statistics, ledger) = (checkpoint.done, checkpoint.statistics, checkpoint.ledger);
        timeline = checkpoint.timeline;
        before = Duration::try_from_secs_f64(checkpoint.elapsed_s).unwrap_or_default();
    }
    let timeline = timeline
        .unwrap_or_else(|| VerdictTimeline::beginning(&statistics.verdicts, unix_seconds()));
    publish::adopt(&settings, &parts.identity.engine, &mut ledger)?;
    let (messages, inbox) = crossbeam_channel::unbounded();
    let workers = settings.workers.max(1);
    let shared = Arc::new(Shared {
        workplace: parts.workplace,
        cases: parts.cases,
        oracles: parts.oracles,
        registry: parts.registry,
        canary: parts.canary,
        identity: parts.identity,
        stop: stop.clone(),
        state: Arc::new(Mutex::new(RunState {
            allotment: progress::Allotment::new(&done, settings.cases),
            done,
            statistics,
            ledger,
            differences_kept: BTreeSet::new(),
        })),
        publishing: Arc::new(Mutex::new(())),
        activities: activity::ActivityBoard::new(workers),
        messages,
        settings,
    });
    let counterpart = parts.counterpart;
    let other = counterpart.map(|counterpart| Arc::new(shared.at(&counterpart)));
    let mut run = RunLoop {
        checkpoints: checkpoint::CheckpointWriter::new(&shared.settings.folder()),
        shared,
        inbox,
        started,
        before,
        timeline,
        failure: None,
        lost: BTreeMap::new(),
        active: workers,
    };
    run.save()?;
    for number in 0..workers {
        let worker = worker::Worker::new(Arc::clone(&run.shared), other.clone(), number);
        // Not scoped: a worker that a dead server holds must not keep the summary back.
        let builder = std::thread::Builder::new().name(format!("worker-{number}"));
        if let Err(error) = builder.spawn(move || worker.run()) {
            run.failure = Some(format!("cannot start a thread: {error}"));
            run.active -= 1;
            stop.failed();
        }
    }
    run.listen(listener);
    Ok(run.summary())
}

/// The run as the main thread sees it.
struct RunLoop {
    shared: Arc<Shared>,
    inbox: Receiver<Message>,
    checkpoints: checkpoint::CheckpointWriter,
    started: Instant,
    /// What earlier sittings took.
    before: Duration,
    /// When the run came to its verdicts, over all sittings.
    timeline: VerdictTimeline,
    failure: Option<String>,
    /// The workers that wait for a lost server: the case each was running, and its error.
    lost: BTreeMap<usize, (Option<u64>, String)>,
    /// Workers that have not ended.
    active: usize,
}

impl RunLoop {
    fn elapsed(&self) -> Duration {
        self.before + self.started.elapsed()
    }

    /// Passes events on until every worker has ended, or the grace is over.
    fn listen(&mut self, listener: &mut dyn Listener) {
        let mut saved = Instant::now();
        let mut stopping = Stopping::default();
        while self.active > 0 {
            match self.inbox.recv_timeout(TICK) {
                Ok(Message::RunEvent(event)) => {
                    self.note(&event);
                    listener.event(&event);
                    // Findings are on disk already; with the checkpoint they are not announced again.
                    saved = Instant::now();
                    self.save_or_fail();
                }
                Ok(Message::Ended(result)) => {
                    self.active -= 1;
                    if let Err(failure) = result {
                        self.failure.get_or_insert(failure);
                        self.shared.stop.failed();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.tell_progress(listener);
            if saved.elapsed() >= CHECKPOINT_INTERVAL {
                saved = Instant::now();
                self.save_or_fail();
            }
            let time = self.shared.settings.time;
            if time.is_some_and(|time| self.started.elapsed() >= time) {
                self.shared.stop.time_over();
            }
            if self.shared.stop.is_set() && self.is_given_up(&mut stopping, listener) {
                break;
            }
        }
        self.save_or_fail();
        self.tell_progress(listener);
    }

    /// Whether a run that was stopped has waited long enough for its workers.
    fn is_given_up(&self, stopping: &mut Stopping, listener: &mut dyn Listener) -> bool {
        match stopping.step(&self.shared.stop, Instant::now()) {
            StopStep::Wait => false,
            StopStep::Tell(cause) => {
                listener.event(&RunEvent::Stopping(cause));
                false
            }
            StopStep::GiveUp => {
                tracing::warn!(
                    "{} of the workers did not end; their cases are given up",
                    self.active
                );
                true
            }
        }
    }

    /// Keeps of an event what the summary needs.
    fn note(&mut self, event: &RunEvent) {
        match event {
            RunEvent::ServerLost {
                worker,
                index,
                error,
            } => {
                self.lost.insert(*worker, (*index, error.clone()));
            }
            RunEvent::ServerBack { worker, .. } => {
                self.lost.remove(worker);
            }
            RunEvent::Finding(_)
            | RunEvent::Smaller(_)
            | RunEvent::Flaky(_)
            | RunEvent::Unstable { .. }
            | RunEvent::Differs { .. }
            | RunEvent::CanaryUnheard { .. }
            | RunEvent::Stopping(_)
            | RunEvent::Trouble(_) => {}
        }
    }

    fn tell_progress(&mut self, listener: &mut dyn Listener) {
        let (statistics, findings) = {
            let state = self.shared.state();
            (state.statistics.clone(), state.ledger.findings().count())
        };
        self.timeline.note(&statistics.verdicts, self.elapsed());
        listener.activities(&self.shared.activities.all());
        listener.tick(&statistics, findings, self.elapsed());
    }

    fn save(&mut self) -> Result<(), CheckpointError> {
        let elapsed = self.elapsed();
        let checkpoint = {
            let state = self.shared.state();
            self.timeline.note(&state.statistics.verdicts, elapsed);
            Checkpoint {
                settings: SettingsRecord::from(&self.shared.settings),
                server: self.shared.identity.in_full(),
                done: state.done.clone(),
                statistics: state.statistics.clone(),
                ledger: state.ledger.clone(),
                elapsed_s: elapsed.as_secs_f64(),
                timeline: Some(self.timeline.clone()),
            }
        };
        self.checkpoints.write(&checkpoint)
    }

    /// A disk that takes no checkpoint ends the run: what it finds could not be kept either.
    fn save_or_fail(&mut self) {
        if let Err(error) = self.save()
            && self.failure.is_none()
        {
            self.failure = Some(error.to_string());
            self.shared.stop.failed();
        }
    }

    fn server_down(&self) -> Option<ServerDown> {
        let (_, (_, error)) = self.lost.last_key_value()?;
        let mut cases: Vec<u64> = self.lost.values().filter_map(|(case, _)| *case).collect();
        cases.sort_unstable();
        Some(ServerDown {
            cases,
            error: error.clone(),
        })
    }

    fn summary(self) -> RunSummary {
        let state = self
            .shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        RunSummary {
            settings: self.shared.settings.clone(),
            identity: self.shared.identity.clone(),
            statistics: state.statistics.clone(),
            findings: state.ledger.findings().cloned().collect(),
            flaky: state.ledger.flaky().cloned().collect(),
            elapsed: self.elapsed(),
            next_index: state.done.first_missing(),
            signal: self.shared.stop.signal(),
            failure: self.failure.clone(),
            server_down: self.server_down(),
        }
    }
}
