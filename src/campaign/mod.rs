//! One fuzzing run: workers, verdicts, findings, statistics, checkpoints.
//!
//! Workers draw blocks of consecutive cases, each with a workplace of its own. A violation is
//! confirmed, kept on disk, minimized, and published before it is announced (`pursue`). A lost
//! server is waited for, and the case run again (`suspect`). The run itself only listens: it
//! passes events on, writes checkpoints, and ends in a [`Summary`].

mod ahead;
mod checkpoint;
mod event;
mod judge;
mod ledger;
mod progress;
mod publish;
mod pursue;
mod shared;
mod sighting;
mod statistics;
mod stop;
mod suspect;
mod worker;
mod workplace;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::engine::{EngineError, Identity};
use crate::execute::Executor;
use crate::model::{StatementId, TestCase};
use crate::oracle::Oracle;
use crate::reproducer::{PublishError, Registry};

pub use ahead::Ahead;
pub use checkpoint::{
    Checkpoint, CheckpointError, Settings, read as read_checkpoint, sweep, write_whole,
};
pub use event::{Announcement, Event};
pub use ledger::{Ledger, Published};
pub use progress::Cases;
pub use shared::Options;
pub use sighting::{Sighting, minimize_case};
pub use statistics::{Contended, Share, Statistics, Verdicts};
pub use stop::Stop;
pub use workplace::{Generator, ServerWorkplace, WorkloadShare};

use shared::{Message, Shared, State};

/// How often the run looks at the clock and tells its progress.
const TICK: Duration = Duration::from_millis(200);

/// How often a checkpoint is written.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(5);

/// How long the workers may take to end their cases once the run is stopped. Longer than a
/// statement's deadline when nobody is waiting at the keyboard.
const GRACE_AFTER_SIGNAL: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(40);

/// Where a worker runs its cases: opened for it, closed behind it.
pub trait Workplace: Send + Sync {
    /// Opens the engine, gives the job an executor of its own, and cleans up.
    ///
    /// # Errors
    /// When the engine cannot be opened, is another one than before, or the job says so.
    fn work(
        &self,
        worker: usize,
        job: &mut dyn FnMut(&mut dyn Executor) -> Result<(), EngineError>,
    ) -> Result<(), EngineError>;
}

/// A case to run, and which productions made its statements.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub case: TestCase,
    pub productions: BTreeMap<StatementId, Vec<Arc<str>>>,
}

/// Where cases come from: a pure function of the index.
pub trait CaseSource: Send + Sync {
    fn case(&self, index: u64) -> Drawn;
}

/// What a run is made of.
pub struct Parts {
    pub workplace: Arc<dyn Workplace>,
    pub cases: Arc<dyn CaseSource>,
    /// In the order in which they are asked.
    pub oracles: Vec<&'static dyn Oracle>,
    pub registry: Registry,
    pub identity: Identity,
}

/// Who is told what goes on.
pub trait Listener {
    fn event(&mut self, event: &Event);

    /// Several times a second, with the numbers so far.
    fn tick(&mut self, statistics: &Statistics, findings: usize, elapsed: Duration);
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Summary {
    pub settings: Settings,
    pub statistics: Statistics,
    pub findings: Vec<Published>,
    /// Over all sittings.
    pub elapsed: Duration,
    /// The lowest case index that is not done.
    pub next_index: u64,
    /// The signal that ended the run, if one did.
    pub signal: Option<usize>,
    /// Why the run could not go on: the environment.
    pub failure: Option<String>,
}

/// Why a run does not start.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

/// Runs cases until they are done, the time is over, or somebody stops it.
///
/// # Errors
/// When the output folder takes no files. What happens later ends the run with a summary.
pub fn run(
    parts: Parts,
    options: Options,
    resumed: Option<Checkpoint>,
    stop: &Stop,
    listener: &mut dyn Listener,
) -> Result<Summary, CampaignError> {
    let started = Instant::now();
    let mut ledger = Ledger::default();
    let (mut done, mut statistics, mut before) = (
        progress::Done::default(),
        Statistics::default(),
        Duration::ZERO,
    );
    if let Some(checkpoint) = resumed {
        (done, statistics, ledger) = (checkpoint.done, checkpoint.statistics, checkpoint.ledger);
        before = Duration::try_from_secs_f64(checkpoint.elapsed_s).unwrap_or_default();
    }
    publish::adopt(&options, &parts.identity.engine, &mut ledger)?;
    let (messages, inbox) = crossbeam_channel::unbounded();
    let workers = options.workers.max(1);
    let shared = Arc::new(Shared {
        workplace: parts.workplace,
        cases: parts.cases,
        oracles: parts.oracles,
        registry: parts.registry,
        identity: parts.identity,
        stop: stop.clone(),
        state: Mutex::new(State {
            allotment: progress::Allotment::new(&done, options.cases),
            done,
            statistics,
            ledger,
        }),
        publishing: Mutex::new(()),
        messages,
        options,
    });
    let mut run = Run {
        checkpoints: checkpoint::Writer::new(&shared.options.run_folder()),
        shared,
        inbox,
        started,
        before,
        failure: None,
        active: workers,
    };
    run.save()?;
    for number in 0..workers {
        let worker = worker::Worker::new(Arc::clone(&run.shared), number);
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
struct Run {
    shared: Arc<Shared>,
    inbox: Receiver<Message>,
    checkpoints: checkpoint::Writer,
    started: Instant,
    /// What earlier sittings took.
    before: Duration,
    failure: Option<String>,
    /// Workers that have not ended.
    active: usize,
}

impl Run {
    fn elapsed(&self) -> Duration {
        self.before + self.started.elapsed()
    }

    /// Passes events on until every worker has ended, or does not within the grace.
    fn listen(&mut self, listener: &mut dyn Listener) {
        let mut saved = Instant::now();
        let mut stopped: Option<Instant> = None;
        while self.active > 0 {
            match self.inbox.recv_timeout(TICK) {
                Ok(Message::Event(event)) => {
                    listener.event(&event);
                    // Findings are on disk already; the checkpoint keeps them from being told twice.
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
            let stop = &self.shared.stop;
            if self
                .shared
                .options
                .time
                .is_some_and(|time| self.started.elapsed() >= time)
            {
                stop.time_over();
            }
            if stop.is_set() {
                let grace = if stop.signal().is_some() {
                    GRACE_AFTER_SIGNAL
                } else {
                    GRACE
                };
                if stopped.get_or_insert_with(Instant::now).elapsed() > grace {
                    tracing::warn!(
                        "{} workers do not end; what they hold is given up",
                        self.active
                    );
                    break;
                }
            }
        }
        self.save_or_fail();
        self.tell_progress(listener);
    }

    fn tell_progress(&self, listener: &mut dyn Listener) {
        let (statistics, findings) = {
            let state = self.shared.state();
            (state.statistics.clone(), state.ledger.findings().count())
        };
        listener.tick(&statistics, findings, self.elapsed());
    }

    fn save(&mut self) -> Result<(), CheckpointError> {
        let checkpoint = {
            let state = self.shared.state();
            Checkpoint {
                settings: self.shared.options.settings.clone(),
                done: state.done.clone(),
                statistics: state.statistics.clone(),
                ledger: state.ledger.clone(),
                elapsed_s: self.elapsed().as_secs_f64(),
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

    fn summary(self) -> Summary {
        let state = self
            .shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Summary {
            settings: self.shared.options.settings.clone(),
            statistics: state.statistics.clone(),
            findings: state.ledger.findings().cloned().collect(),
            elapsed: self.elapsed(),
            next_index: state.done.first_missing(),
            signal: self.shared.stop.signal(),
            failure: self.failure.clone(),
        }
    }
}
