//! `rashomon watch`: does a history keep to its model while it is recorded?

mod alike;
mod live;
mod saved;
mod source;
mod tell;
mod waited;

use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::output_file::Overwriting;
use super::quantity::{self, size};
use super::value::OutputFormat;
use super::workload::Load;
use super::{check, signals};
use crate::campaign::StopFlag;
use crate::checker::aion::{Aion, Settings, SpillError, WatchVerdict};
use crate::history::{Atom, Texts};
use crate::model::ConsistencyModel;
use crate::workload::Workload;
use live::LiveWorkload;
use saved::SavedHistory;
use source::WatchedSource;
use tell::{StreamEnd, Teller};
use waited::{TICK, Waited};

/// Judges a history by its timestamps while it is recorded (Aion)
///
/// Runs a workload on a server that gives timestamps (MariaDB with its binary log on) and judges it
/// meanwhile, or reads our line format from a file that may grow, a pipe, or a socket. Transactions
/// of different sessions may come in any order; a read waits --timeout for versions that come late,
/// then its verdict is final and told. A pipe or socket is over at its end, a file when it has not
/// grown for --idle. Satisfied is exit 0, violated 1, unknown 3; at Ctrl-C violated is 1, anything
/// else 130.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  rashomon watch 'mariadb://root@127.0.0.1:3306' --model si --for 10m\n  rashomon watch history.txt --model si\n  recorder | rashomon watch - --model ser --format json\n  rashomon watch tcp://localhost:7000 --model si --timeout 30s --memory 2G\n\nThe lines of --format json, field by field: docs/checkers.md, \"Lines of JSON\""
)]
pub(super) struct WatchArguments {
    /// The URL of a server, a file that may grow, a named pipe, a Unix socket, tcp://HOST:PORT, or -
    /// for standard input
    source: String,

    /// What to check: si or ser
    #[arg(long, value_parser = model)]
    model: ConsistencyModel,

    /// How long a read waits for versions that come late [default: 5s; 30s on a server, where a
    /// commit may be answered late]
    #[arg(long, value_name = "TIME", value_parser = quantity::time)]
    timeout: Option<Duration>,

    /// How much memory to take; what does not fit goes to disk: 512M, 4G
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = size)]
    memory: u64,

    /// A file is over when it has not grown for this long [default: the timeout]
    #[arg(long, value_name = "TIME", value_parser = quantity::time)]
    idle: Option<Duration>,

    /// Where to put what does not fit into memory [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    spill: Option<PathBuf>,

    /// The integer that every key holds at first, if the history does not say it
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    initial: Option<i64>,

    /// How to say it: human or json
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,

    /// On a server, the transactions: mini-transaction or register [default: register]
    #[arg(long, value_parser = live::kind)]
    kind: Option<&'static dyn Workload>,

    /// On a server, where its history goes [default: watch-SEED.hist in this folder, kept where a
    /// violation shows, its first gigabyte]
    #[arg(short, alias = "output", value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    overwriting: Overwriting,

    #[command(flatten)]
    load: Load,
}

/// What is watched.
struct Opened {
    source: WatchedSource,
    /// The workload that is behind it.
    live: Option<LiveWorkload>,
    /// Its history.
    saved: Option<SavedHistory>,
}

impl WatchArguments {
    /// On a server longer than a statement may take to be answered.
    fn timeout(&self, is_target: bool) -> Duration {
        let default = if is_target { 30 } else { 5 };
        self.timeout.unwrap_or(Duration::from_secs(default))
    }

    /// Refuses options that mean nothing where this comes from.
    fn check(&self, is_target: bool) -> Result<(), Failure> {
        if self.memory < MEMORY_MIN {
            return Err(Failure::usage("--memory must be at least 64M"));
        }
        let output = self.output.as_ref().map(|_| "-o");
        let load = self.kind.map(|_| "--kind").or(self.load.given()).or(output);
        match (is_target, load) {
            (false, Some(name)) => Err(Failure::usage(format!(
                "{name} is for a workload on a server, and {:?} is no URL of one",
                self.source
            ))),
            (true, _) if self.idle.is_some() => {
                let message = "--idle is for files: a workload ends by --for, --txns or Ctrl-C";
                Err(Failure::usage(message))
            }
            _ => Ok(()),
        }
    }

    /// The source, and the workload that is behind it.
    fn open(&self, is_target: bool, stop: &StopFlag) -> Result<Opened, Failure> {
        if !is_target {
            let idle = self.idle.unwrap_or(self.timeout(is_target));
            return Ok(Opened {
                source: source::open(&self.source, idle, stop)?,
                live: None,
                saved: None,
            });
        }
        let kind = match self.kind {
            Some(kind) => kind,
            None => live::kind("register").map_err(Failure::usage)?,
        };
        let settings = self.load.settings(kind, None)?;
        let saved = match &self.output {
            Some(path) => SavedHistory::asked(path, self.overwriting)?,
            None => {
                let name = format!("watch-{}.hist", settings.seed);
                SavedHistory::unasked(Path::new(&name), None)?
            }
        };
        let (reader, live) = live::start(&self.source, settings, &self.load, stop)?;
        let shown = live::shown(&self.source)?;
        Ok(Opened {
            source: source::pumped(&shown, Box::new(saved.of(reader)))?,
            live: Some(live),
            saved: Some(saved),
        })
    }
}

fn model(text: &str) -> Result<ConsistencyModel, String> {
    match check::model(text)? {
        model @ (ConsistencyModel::Snapshot | ConsistencyModel::Serializable) => Ok(model),
        model @ (ConsistencyModel::ReadCommitted
        | ConsistencyModel::ReadAtomic
        | ConsistencyModel::Causal
        | ConsistencyModel::StrictSerializable
        | ConsistencyModel::Linearizable) => Err(format!("{model} is not watched: si, ser")),
    }
}

/// The least memory that the program itself and a little history fit into.
const MEMORY_MIN: u64 = 64 << 20;

pub(super) fn run(arguments: &WatchArguments, output: &mut Output) -> Result<Exit, Failure> {
    let is_target = live::is_target(&arguments.source);
    arguments.check(is_target)?;
    let stop = StopFlag::default();
    signals::listen(&stop)?;
    let folder = arguments.spill.clone().unwrap_or_else(std::env::temp_dir);
    can_spill(&folder)?;
    let mut aion = Aion::new(Settings {
        model: arguments.model,
        timeout: arguments.timeout(is_target),
        memory: arguments.memory,
        folder,
    });
    if let Some(initial) = arguments.initial {
        let atom = Atom::integer(initial);
        aion.set_initial(atom.ok_or_else(|| Failure::usage("--initial is too small"))?);
    }
    let Opened {
        source,
        live,
        saved,
    } = arguments.open(is_target, &stop)?;
    let begun = Instant::now();
    let mut watch = WatchLoop {
        teller: Teller::new(arguments.format, output)?,
        aion,
        stop,
        memory: arguments.memory,
        begun,
        waited: Waited::since(begun, arguments.timeout(is_target)),
        busy: Duration::ZERO,
        is_live: live.is_some(),
    };
    let told = live
        .as_ref()
        .map_or(Ok(()), |live| watch.teller.started(live));
    let mut ended = told.and_then(|()| watch.through(&source));
    if let Some(live) = live {
        // It ends by itself, unless what it says is of no use any more.
        if ended.is_err() {
            watch.stop.failed();
            source.drain();
        }
        ended = ended.and(live.join());
    }
    let shown = live::shown(&arguments.source)?;
    watch.finish(&shown, arguments.model, &source, saved.as_ref(), ended)
}

/// Tries the folder before hours have passed until it is needed.
fn can_spill(folder: &Path) -> Result<(), Failure> {
    match tempfile::tempfile_in(folder) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::usage(format!(
            "no file can be made in {} for what does not fit into memory: {error}; --spill DIR \
             names another folder",
            folder.display()
        ))),
    }
}

/// A history on its way.
struct WatchLoop<'o> {
    teller: Teller<'o>,
    aion: Aion,
    stop: StopFlag,
    memory: u64,
    begun: Instant,
    /// What reads wait by.
    waited: Waited,
    /// When the last transaction came.
    busy: Duration,
    /// A workload of ours is behind it, which ends in order when it is stopped.
    is_live: bool,
}

impl WatchLoop<'_> {
    /// Takes everything from the source, to its end.
    fn through(&mut self, source: &WatchedSource) -> Result<(), Failure> {
        loop {
            match source.batches.recv_timeout(TICK) {
                Ok(batch) => {
                    let batch = batch?;
                    let moment = self.waited.look(Instant::now());
                    self.aion
                        .receive_batch(&batch, moment)
                        .map_err(|error| disk(&error))?;
                    self.busy = self.begun.elapsed();
                    source.give_back(batch);
                }
                Err(RecvTimeoutError::Timeout) => self.advance()?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.tell(source)?;
            if self.stop.is_set() && !self.is_live {
                return Ok(());
            }
            if texts(source).bytes() as u64 > self.memory / 2 {
                return Err(Failure {
                    exit: Exit::Inconclusive,
                    message: "the names that are texts alone take half of --memory".to_owned(),
                });
            }
        }
        // A reader that was stopped ends as well, but more might have come.
        if !self.stop.is_set() || self.is_live {
            self.aion.finish().map_err(|error| disk(&error))?;
        }
        self.tell(source)
    }

    fn advance(&mut self) -> Result<(), Failure> {
        let moment = self.waited.look(Instant::now());
        self.aion.advance(moment).map_err(|error| disk(&error))
    }

    /// Tells what became certain.
    fn tell(&mut self, source: &WatchedSource) -> Result<(), Failure> {
        let breaches = self.aion.take_breaches();
        self.teller.progress(&self.aion, self.begun.elapsed());
        if breaches.is_empty() {
            return Ok(());
        }
        self.teller.breaches(&breaches, &texts(source))
    }

    /// The summary and the exit code.
    fn finish(
        mut self,
        name: &str,
        model: ConsistencyModel,
        source: &WatchedSource,
        saved: Option<&SavedHistory>,
        ended: Result<(), Failure>,
    ) -> Result<Exit, Failure> {
        // Violations that were final before something went wrong are printed all the same.
        let told = self.tell(source);
        let ended = ended.and(told);
        let summary = self.aion.summary();
        if let Err(failure) = &ended
            && failure.exit != Exit::Clean
            && summary.transactions == 0
        {
            // There is nothing that a summary could be of.
            self.teller.clear();
            return ended.map(|()| Exit::Clean);
        }
        let account = tell::WatchReport {
            source: name,
            model,
            open: self.aion.open_breaches(),
            end: match &ended {
                Err(_) => StreamEnd::Broken,
                Ok(()) if self.stop.is_set() && !self.is_live => StreamEnd::Interrupted,
                Ok(()) => StreamEnd::Whole,
            },
            busy: self.busy,
            elapsed: self.begun.elapsed(),
        };
        let is_violated = summary.verdict() == WatchVerdict::Violated;
        let saved = saved.map_or(Ok(None), |saved| saved.finish(is_violated));
        let (kept, saved) = match saved {
            Ok(kept) => (kept, Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        let is_read = self
            .teller
            .alike(&texts(source))
            .and_then(|()| self.teller.summary(&summary, &account, kept.as_deref()));
        // The exit code tells a violation even if no reader is left.
        for result in [ended, saved, is_read] {
            if let Err(failure) = result
                && failure.exit != Exit::Clean
            {
                return Err(failure);
            }
        }
        // A violation is exit 1 even after a signal.
        if let Some(signal) = self.stop.signal()
            && summary.verdict() != WatchVerdict::Violated
        {
            let is_interrupt = signal == signal_hook::consts::SIGINT as usize;
            return Ok(match is_interrupt {
                true => Exit::Interrupted,
                false => Exit::Terminated,
            });
        }
        Ok(match summary.verdict() {
            _ if summary.transactions == 0 => Exit::Nothing,
            WatchVerdict::Satisfied => Exit::Clean,
            WatchVerdict::Violated => Exit::Finding,
            WatchVerdict::Unknown => Exit::Inconclusive,
        })
    }
}

/// The texts among names; a reader that panicked leaves them as they are.
fn texts(source: &WatchedSource) -> MutexGuard<'_, Texts> {
    source.texts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn disk(error: &SpillError) -> Failure {
    Failure::environment(format!("{error}: {}", error.0))
}
