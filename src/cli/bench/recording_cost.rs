//! The cost of recording a workload: the same loop with and without it, in turns.

use std::io::Write;
use std::time::Duration;

use serde_json::json;

use super::median::median;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::quantity::rounded;
use crate::cli::value::OutputFormat;
use crate::engine::Server;
use crate::workload::{self, HistoryFile, WorkloadError, WorkloadSettings};

/// How long one run takes.
const RUN_TIME: Duration = Duration::from_secs(2);

/// Runs before the first round, so that caches are warm, take this long.
const WARM_UP: Duration = Duration::from_secs(1);

/// The speed of one run.
#[derive(Clone, Copy)]
struct Throughput {
    /// Committed transactions per second. The machine's other work is in it.
    rate: f64,
    /// This process's own time on processors, in microseconds for each committed transaction.
    /// What else the machine does is not in it.
    cpu_us: f64,
}

/// A run with recording and one without.
struct RecordingRound {
    recorded: Throughput,
    silent: Throughput,
}

/// Measures mini-transactions in 8 sessions, so many rounds of one run each.
pub(super) fn run(
    server: &dyn Server,
    run_id: &str,
    rounds: u64,
    format: OutputFormat,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut settings = WorkloadSettings::of(workload::WORKLOADS[0]);
    settings.sessions = 8;
    settings.transactions = None;
    settings.keys = 1000;
    let database = format!("rashomon_{run_id}");
    rate(server, &database, &settings, true, WARM_UP)?;
    let mut measured = Vec::new();
    for number in 0..rounds {
        settings.seed = number + 1;
        let one = |records| rate(server, &database, &settings, records, RUN_TIME);
        // They take turns in being first, so that other work of the machine favours neither.
        measured.push(if number % 2 == 0 {
            let recorded = one(true)?;
            let silent = one(false)?;
            RecordingRound { recorded, silent }
        } else {
            let silent = one(false)?;
            let recorded = one(true)?;
            RecordingRound { recorded, silent }
        });
    }
    let of = |pick: &dyn Fn(&RecordingRound) -> f64| median(measured.iter().map(pick).collect());
    let recorded = of(&|round| round.recorded.rate);
    let silent = of(&|round| round.silent.rate);
    let ratio = of(&|round| round.recorded.rate / round.silent.rate.max(f64::EPSILON));
    let cpu_recorded = of(&|round| round.recorded.cpu_us);
    let cpu_silent = of(&|round| round.silent.cpu_us);
    let identity = server.identity();
    if format == OutputFormat::Json {
        output.json(&json!({
            "v": 1,
            "event": "recording",
            "target": identity.in_short(),
            "rounds": rounds,
            "recorded_per_s": recorded.round(),
            "silent_per_s": silent.round(),
            "ratio": rounded(ratio, 3),
            "recorded_cpu_us": rounded(cpu_recorded, 1),
            "silent_cpu_us": rounded(cpu_silent, 1),
        }))?;
    } else {
        output.line(&format!(
            "{} {}: {rounds} rounds of {} s each, 8 sessions of mini-transactions on 1,000 keys\n\
             {recorded:>10.0} transactions a second, recorded\n\
             {silent:>10.0} transactions a second, not recorded\n\
             {ratio:>10.3} of the loop without recording (median of the rounds)\n\
             {cpu_recorded:>10.1} us of our processor time a transaction, recorded\n\
             {cpu_silent:>10.1} us of our processor time a transaction, not recorded",
            identity.engine,
            identity.version,
            RUN_TIME.as_secs(),
        ))?;
    }
    Ok(Exit::Clean)
}

/// One run. A recorded one writes its history to a file, as `workload` does.
#[expect(clippy::cast_precision_loss, reason = "a rate is shown without digits")]
fn rate(
    server: &dyn Server,
    database: &str,
    settings: &WorkloadSettings,
    records: bool,
    time: Duration,
) -> Result<Throughput, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::environment(format!("cannot write a temporary file: {error}"))
    };
    let mut file = tempfile::tempfile().map_err(cannot)?;
    let out: &mut dyn Write = &mut file;
    let settings = WorkloadSettings {
        records,
        time: Some(time),
        ..settings.clone()
    };
    let mut history = HistoryFile::new(out, &settings, "bench", None).map_err(cannot)?;
    let before = cpu_time();
    let progress =
        workload::run(server, database, &settings, &mut history, &|| false).map_err(|error| {
            match error {
                WorkloadError::Engine(error) => error.into(),
                error @ (WorkloadError::Rejected { .. }
                | WorkloadError::Cell { .. }
                | WorkloadError::Recorder(_)
                | WorkloadError::Settings(_)) => Failure::environment(error.to_string()),
            }
        })?;
    history.finish().map_err(cannot)?;
    let cpu = cpu_time().saturating_sub(before);
    let committed = (progress.committed as f64).max(1.0);
    Ok(Throughput {
        rate: committed / progress.elapsed.as_secs_f64().max(f64::EPSILON),
        cpu_us: cpu.as_secs_f64() * 1e6 / committed,
    })
}

/// The time on processors that this process has had, as the kernel counts it: in ticks of 10 ms.
/// Zero where the kernel does not say.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may hold spaces.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
