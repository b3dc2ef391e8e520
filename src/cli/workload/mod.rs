//! `rashomon workload`: transactions on a live engine, recorded as a history.

mod load;

use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::output_file::{Overwriting, cannot_write};
use super::quantity::json_seconds;
use super::server::random_u64;
use super::signals;
use super::terminal::{grouped, printable};
use super::value::OutputFormat;
use crate::campaign::StopFlag;
use crate::dialect::Dialect;
use crate::engine::Identity;
use crate::model::ConsistencyModel;
use crate::workload::{self, HistoryFile, Progress, Workload, WorkloadSettings};
pub(super) use load::{Load, failure, kind};

/// How often a line is written where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Runs transactions on a live engine and records their history
///
/// Concurrent sessions work on one table in a database of their own. Every transaction becomes a
/// line of the file when it ends, committed, aborted or indeterminate; `rashomon check` says which
/// consistency models the history satisfies.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct WorkloadArguments {
    /// The server: sqlite:, mysql://USER:PW@HOST:PORT?socket=PATH, mariadb://..., tidb://..., postgres://...
    target: String,

    /// The transactions: mini-transaction, register, list-append or lightweight
    #[arg(long, value_parser = kind)]
    kind: &'static dyn Workload,

    /// Where the history goes; - is standard output
    #[arg(short, alias = "output", value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    overwriting: Overwriting,

    /// Record the engine's own start and commit timestamps (MariaDB with its binary log on)
    #[arg(long)]
    timestamps: bool,

    /// How to print: human or json
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,

    #[command(flatten)]
    load: Load,
}

/// Said where connections were lost: the server may have gone down.
const DURABILITY: &str = "
Connections were lost. A server that went down may have lost what it had committed, and a violation
may be just that, unless it is set to keep it (innodb_flush_log_at_trx_commit = 1 and sync_binlog = 1;
PostgreSQL: fsync and synchronous_commit)";

const EXAMPLES: &str = "\
Examples:
  rashomon workload 'mariadb://root@127.0.0.1:3306' --kind mini-transaction --for 60s -o run.hist
  rashomon check run.hist --model ser
  rashomon workload 'postgres://postgres@127.0.0.1:5432' --kind register --txns 10000 -o run.hist";

impl WorkloadArguments {
    fn settings(&self) -> Result<WorkloadSettings, Failure> {
        if self.timestamps && self.kind.is_one_statement() {
            let message = "--timestamps: a statement in autocommit has no start to ask for";
            return Err(Failure::usage(message));
        }
        let transactions = WorkloadSettings::of(self.kind).transactions;
        let mut settings = self.load.settings(self.kind, transactions)?;
        settings.timestamps = self.timestamps;
        Ok(settings)
    }

    /// The file, or standard output.
    fn open(&self) -> Result<Box<dyn Write>, Failure> {
        if self.output.as_os_str() == "-" {
            return Ok(Box::new(std::io::stdout()));
        }
        let file = self.overwriting.create(&self.output)?;
        Ok(Box::new(BufWriter::new(file)))
    }
}

pub(super) fn run(arguments: &WorkloadArguments, output: &mut Output) -> Result<Exit, Failure> {
    arguments.overwriting.check(&arguments.output)?;
    let mut settings = arguments.settings()?;
    let stop = StopFlag::default();
    signals::listen(&stop)?;
    let run_id = format!("workload{:08x}", random_u64()? >> 32);
    let server = arguments
        .load
        .open_for(&arguments.target, &run_id, &mut settings)?;
    let identity = server.identity().clone();
    let name = identity.in_full();
    // What cannot run must not cost the file that was there.
    let shown = arguments.output.display().to_string();
    workload::check(&*server, &settings).map_err(|error| failure(error, &shown))?;
    let mut out = arguments.open()?;
    let cannot = |error: &std::io::Error| cannot_write(&arguments.output, error);
    let mut told = Instant::now();
    let is_terminal = std::io::stderr().is_terminal();
    let mut tell = |progress: &Progress| {
        if told.elapsed() >= LINE_INTERVAL || is_terminal {
            told = Instant::now();
            say(progress, is_terminal);
        }
        true
    };
    let promise = promised(&settings, server.dialect());
    let mut file = HistoryFile::new(&mut *out, &settings, &name, promise)
        .map_err(|error| cannot(&error))?
        .on_tick(&mut tell);
    let database = format!("rashomon_{run_id}");
    let result = workload::run(&*server, &database, &settings, &mut file, &|| stop.is_set());
    let finished = file.finish();
    if is_terminal {
        say_line("\r\u{1b}[K");
    }
    let progress = result.map_err(|error| failure(error, &shown))?;
    finished.map_err(|error| cannot(&error))?;
    drop(out);
    let account = WorkloadReport {
        arguments,
        settings: &settings,
        identity: &identity,
        promised: promise,
        progress: &progress,
    };
    account.tell(output)?;
    Ok(match stop.signal() {
        Some(signal) => Exit::of_signal(signal),
        None if progress.committed == 0 => Exit::Nothing,
        None => Exit::Clean,
    })
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
fn promised(settings: &WorkloadSettings, dialect: &Dialect) -> Option<ConsistencyModel> {
    if settings.kind.is_one_statement() {
        return Some(ConsistencyModel::Linearizable);
    }
    let level = settings.level?;
    match settings.kind.stores_lists() {
        true => dialect.promise_for_lists(level),
        false => dialect.promise(level),
    }
}

/// A run that has ended.
struct WorkloadReport<'a> {
    arguments: &'a WorkloadArguments,
    settings: &'a WorkloadSettings,
    identity: &'a Identity,
    /// The model that the level promises.
    promised: Option<ConsistencyModel>,
    progress: &'a Progress,
}

impl WorkloadReport<'_> {
    fn tell(&self, output: &mut Output) -> Result<(), Failure> {
        let text = match self.arguments.format {
            OutputFormat::Json => self.json().to_string(),
            OutputFormat::Human => self.in_words(),
        };
        if self.is_piped() {
            say_line(&format!("{text}\n"));
            return Ok(());
        }
        output.line(&text)
    }

    /// Whether the history itself is on standard output.
    fn is_piped(&self) -> bool {
        self.arguments.output.as_os_str() == "-"
    }

    fn json(&self) -> serde_json::Value {
        let (settings, identity, progress) = (self.settings, self.identity, self.progress);
        json!({
            "v": 1,
            "event": "recorded",
            "file": self.arguments.output.display().to_string(),
            "target": identity.in_short(),
            "kind": settings.kind.name(),
            "isolation": settings.level.map(|level| level.slug()),
            "sessions": settings.sessions,
            "keys": settings.keys,
            "keys_dist": settings.distribution.slug(),
            "seed": settings.seed,
            "timestamps": settings.timestamps,
            "promised": self.promised.map(ConsistencyModel::slug),
            "transactions": progress.transactions(),
            "committed": progress.committed,
            "aborted": progress.aborted,
            "indeterminate": progress.indeterminate,
            "retries": progress.retries,
            "lost_connections": progress.lost,
            "statements": progress.statements,
            "elapsed_s": json_seconds(progress.elapsed),
            "transactions_per_s": rate(progress).round(),
        })
    }

    fn in_words(&self) -> String {
        let (settings, identity, progress) = (self.settings, self.identity, self.progress);
        let path = self.arguments.output.display().to_string();
        let path = printable(&path);
        let level = settings.level.map(|level| level.slug());
        let mut text = format!(
            "{path}: {} transactions of {} on {}, isolation {}, seed {}\n\
             {:>10} committed, {} aborted, {} indeterminate, {} retries, {} connections lost\n\
             {:>10.0} committed a second, {} statements in {:.1} s",
            grouped(progress.transactions()),
            settings.kind.name(),
            printable(&identity.in_full()),
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
        );
        if progress.lost > 0 {
            text.push_str(DURABILITY);
        }
        if !self.is_piped() {
            let (what, model) = match self.promised {
                Some(model) => (
                    "what the level promises",
                    format!(" --model {}", model.slug()),
                ),
                None => ("it", String::new()),
            };
            let command = format!("rashomon check {path}{model} --explain");
            text.push_str(&format!("\nCheck {what}: {command}"));
        }
        text
    }
}
