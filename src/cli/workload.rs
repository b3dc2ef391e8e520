//! `rashomon workload`: transactions on a live engine, recorded as a history.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use super::exit::{Exit, Failure};
use super::fuzz::listen_to_signals;
use super::output::Output;
use super::server::{ServerArguments, random_u64};
use super::terminal::{grouped, printable};
use super::value::{self, Format, level, positive};
use crate::campaign::Stop;
use crate::dialect::Dialect;
use crate::engine::{self, Identity};
use crate::model::IsolationLevel;
use crate::workload::{
    self, Distribution, HistoryFile, Progress, Settings, UnknownDistribution, WORKLOADS, Workload,
    WorkloadError,
};

/// How often a line is written where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Runs transactions on a live engine and records their history
///
/// Concurrent sessions work on one table in a database of their own. Every transaction becomes a
/// line of the file when it ends, committed, aborted or indeterminate; `rashomon check` says which
/// consistency models the history satisfies.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The server
    target: String,

    /// The transactions: mini-transaction, register, list-append or lightweight
    #[arg(long, value_parser = kind)]
    kind: &'static dyn Workload,

    /// Where the history goes; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Concurrent sessions
    #[arg(long, value_name = "N", value_parser = count, default_value = "10")]
    sessions: u32,

    /// Transactions in all sessions together, retries not counted [default: 1000, or as many as
    /// fit in --for]
    #[arg(long, value_name = "N", value_parser = positive)]
    txns: Option<u64>,

    /// Begin no transaction after this long: 30s, 5m
    #[arg(long = "for", value_name = "TIME", value_parser = value::duration)]
    time: Option<Duration>,

    /// Keys in use at a time [default: by kind: 100, 1000, 20, 10]
    #[arg(long, value_name = "N", value_parser = count)]
    keys: Option<u32>,

    /// Operations of a transaction, for register and list-append [default: 8 and 4]
    #[arg(long, value_name = "N", value_parser = count)]
    ops: Option<u32>,

    /// Reads among the operations, in percent; for mini-transaction and lightweight the share of
    /// transactions that only read [default: by kind: 30, 50, 50, 0]
    #[arg(long, value_name = "PCT", value_parser = clap::value_parser!(u32).range(0..=100))]
    reads: Option<u32>,

    /// How keys are chosen: uniform, zipf, hotspot or exponential
    #[arg(long, value_name = "DISTRIBUTION", value_parser = distribution, default_value = "uniform")]
    keys_dist: Distribution,

    /// The isolation level of the sessions [default: the server's]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    isolation: Option<IsolationLevel>,

    /// Record the engine's own start and commit timestamps (MariaDB with its binary log on)
    #[arg(long)]
    timestamps: bool,

    /// Draws the transactions; drawn itself when not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// How to print: human or json
    #[arg(long, value_enum, default_value = "human")]
    format: Format,

    #[command(flatten)]
    server: ServerArguments,
}

const EXAMPLES: &str = "\
Examples:
  rashomon workload 'mariadb://root@127.0.0.1:3306' --kind mini-transaction --isolation serializable --for 60s -o run.hist
  rashomon check run.hist --model ser
  rashomon workload 'postgres://postgres@127.0.0.1:5432' --kind register --txns 10000 --keys-dist zipf -o run.hist";

fn kind(text: &str) -> Result<&'static dyn Workload, String> {
    workload::by_name(text).ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|kind| kind.name()).collect();
        format!("one of {}", names.join(", "))
    })
}

fn distribution(text: &str) -> Result<Distribution, String> {
    text.parse()
        .map_err(|error: UnknownDistribution| error.to_string())
}

/// A number from 1 that fits in 32 bits.
fn count(text: &str) -> Result<u32, String> {
    positive(text).and_then(|number| {
        u32::try_from(number).map_err(|_| "expected a smaller number".to_owned())
    })
}

impl Arguments {
    fn settings(&self) -> Result<Settings, Failure> {
        let defaults = self.kind.defaults();
        if self.ops.is_some() && defaults.operations.is_none() {
            let message = format!("--ops: {} decides its operations itself", self.kind.name());
            return Err(Failure::usage(message));
        }
        if self.timestamps && self.kind.name() == "lightweight" {
            let message = "--timestamps: a statement in autocommit has no start to ask for";
            return Err(Failure::usage(message));
        }
        let mut settings = Settings::of(self.kind);
        settings.sessions = self.sessions;
        settings.transactions = match (self.txns, self.time) {
            (None, None) => settings.transactions,
            (asked, _) => asked,
        };
        settings.time = self.time;
        settings.keys = self.keys.unwrap_or(settings.keys);
        settings.operations = self.ops.unwrap_or(settings.operations);
        settings.reads_percent = self.reads.unwrap_or(settings.reads_percent);
        settings.distribution = self.keys_dist;
        settings.level = self.isolation;
        settings.timestamps = self.timestamps;
        settings.seed = match self.seed {
            Some(seed) => seed,
            // Short enough to be read out and typed again.
            None => random_u64()? >> 24,
        };
        Ok(settings)
    }
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let settings = arguments.settings()?;
    let stop = Stop::default();
    listen_to_signals(&stop)?;
    let run_id = format!("workload{:08x}", random_u64()? >> 32);
    let options = arguments.server.open_options(&run_id)?;
    let server = engine::open(&arguments.target, &options)?;
    let identity = server.identity().clone();
    let name = format!("{} {}", identity.engine, identity.version_text);
    let mut out = open(&arguments.output)?;
    let cannot = |error: &std::io::Error| {
        let path = arguments.output.display();
        Failure::environment(format!("cannot write {path}: {error}"))
    };
    let mut told = Instant::now();
    let is_terminal = std::io::stderr().is_terminal();
    let mut tell = |progress: &Progress| {
        if told.elapsed() >= LINE_INTERVAL || is_terminal {
            told = Instant::now();
            say(progress, is_terminal);
        }
        true
    };
    let mut file = HistoryFile::new(&mut *out, &settings, &name)
        .map_err(|error| cannot(&error))?
        .on_tick(&mut tell);
    let database = format!("rashomon_{run_id}");
    let result = workload::run(&*server, &database, &settings, &mut file, &|| stop.is_set());
    let finished = file.finish();
    if is_terminal {
        say_line("\r\u{1b}[K");
    }
    let progress = result.map_err(|error| failure(error, &arguments.output))?;
    finished.map_err(|error| cannot(&error))?;
    drop(out);
    let model = promised(&settings, server.dialect());
    report(arguments, &settings, &identity, model, &progress, output)?;
    Ok(match stop.signal() {
        Some(signal) if signal == signal_hook::consts::SIGTERM as usize => Exit::Terminated,
        Some(_) => Exit::Interrupted,
        None if progress.committed == 0 => Exit::Nothing,
        None => Exit::Clean,
    })
}

/// The file, or standard output.
fn open(path: &Path) -> Result<Box<dyn Write>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(std::io::stdout()));
    }
    let file = File::create(path).map_err(|error| {
        Failure::environment(format!("cannot write {}: {error}", path.display()))
    })?;
    Ok(Box::new(BufWriter::new(file)))
}

fn failure(error: WorkloadError, path: &Path) -> Failure {
    match error {
        WorkloadError::Engine(error) => error.into(),
        WorkloadError::Settings(message) => Failure::usage(message),
        WorkloadError::Recorder(error) => {
            Failure::environment(format!("cannot write {}: {error}", path.display()))
        }
        WorkloadError::Rejected { .. } | WorkloadError::Cell { .. } => {
            Failure::environment(error.to_string())
        }
    }
}

/// One line of numbers, over the last one on a terminal.
fn say(progress: &Progress, is_terminal: bool) {
    let line = format!(
        "{} s  {} committed  {} aborted  {} indeterminate  {} retries  {:.0}/s",
        progress.elapsed.as_secs(),
        grouped(progress.committed),
        grouped(progress.aborted),
        grouped(progress.indeterminate),
        grouped(progress.retries),
        rate(progress),
    );
    say_line(&if is_terminal {
        format!("\r\u{1b}[K{line}")
    } else {
        format!("{line}\n")
    });
}

fn say_line(text: &str) {
    let mut stream = std::io::stderr();
    // Nothing can be said of a closed standard error.
    let _ = stream.write_all(text.as_bytes());
    let _ = stream.flush();
}

/// Committed transactions per second.
#[expect(clippy::cast_precision_loss, reason = "a rate is shown without digits")]
fn rate(progress: &Progress) -> f64 {
    progress.committed as f64 / progress.elapsed.as_secs_f64().max(f64::EPSILON)
}

/// The model that the level promises for this kind; none where nothing is promised, or where the
/// server's own level was taken.
fn promised(settings: &Settings, dialect: &Dialect) -> Option<&'static str> {
    if settings.kind.name() == "lightweight" {
        return Some("lin");
    }
    let promise = dialect.promise(settings.level?);
    promise.filter(|_| !settings.kind.stores_lists())
}

fn report(
    arguments: &Arguments,
    settings: &Settings,
    identity: &Identity,
    model: Option<&'static str>,
    progress: &Progress,
    output: &mut Output,
) -> Result<(), Failure> {
    // The history itself is on standard output.
    if arguments.output.as_os_str() == "-" {
        return Ok(());
    }
    let path = arguments.output.display().to_string();
    let level = settings.level.map(|level| level.slug());
    if arguments.format == Format::Json {
        let millis = |time: Duration| (time.as_secs_f64() * 1000.0).round() / 1000.0;
        return output.json(&json!({
            "v": 1,
            "event": "recorded",
            "file": path,
            "target": format!("{} {}", identity.engine, identity.version),
            "kind": settings.kind.name(),
            "isolation": level,
            "sessions": settings.sessions,
            "keys": settings.keys,
            "keys_dist": settings.distribution.slug(),
            "seed": settings.seed,
            "timestamps": settings.timestamps,
            "promised": model,
            "transactions": progress.transactions(),
            "committed": progress.committed,
            "aborted": progress.aborted,
            "indeterminate": progress.indeterminate,
            "retries": progress.retries,
            "lost_connections": progress.lost,
            "statements": progress.statements,
            "elapsed_s": millis(progress.elapsed),
            "transactions_per_s": rate(progress).round(),
        }));
    }
    output.line(&format!(
        "{}: {} transactions of {} on {}, isolation {}, seed {}\n\
         {:>10} committed, {} aborted, {} indeterminate, {} retries, {} connections lost\n\
         {:>10.0} committed a second, {} statements in {:.1} s\n\
         Check {}: rashomon check {}{} --explain",
        printable(&path),
        grouped(progress.transactions()),
        settings.kind.name(),
        printable(&format!("{} {}", identity.engine, identity.version_text)),
        level.unwrap_or("of the server"),
        settings.seed,
        grouped(progress.committed),
        grouped(progress.aborted),
        grouped(progress.indeterminate),
        grouped(progress.retries),
        grouped(progress.lost),
        rate(progress),
        grouped(progress.statements),
        progress.elapsed.as_secs_f64(),
        match model {
            Some(_) => "what the level promises",
            None => "it",
        },
        printable(&path),
        model.map_or(String::new(), |model| format!(" --model {model}")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_distributions_are_named_in_the_error() {
        assert!(kind("register").is_ok());
        let error = kind("bank").map(Workload::name).expect_err("no such kind");
        assert!(error.contains("list-append"), "{error}");
        let error = distribution("normal").expect_err("no such distribution");
        assert!(error.contains("hotspot"), "{error}");
        assert!(count("4294967296").is_err());
        assert!(count("0").is_err());
    }
}
