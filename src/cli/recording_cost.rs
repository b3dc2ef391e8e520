//! What recording a workload costs: the same loop with and without it, in turns.

use std::io::Write;
use std::time::Duration;

use serde_json::json;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::value::Format;
use crate::engine::Server;
use crate::workload::{self, HistoryFile, Settings, WorkloadError};

/// How long one run takes.
const RUN_TIME: Duration = Duration::from_secs(5);

/// Runs before the first round, so that caches are warm, take this long.
const WARM_UP: Duration = Duration::from_secs(1);

/// Committed transactions per second, with and without recording.
struct Round {
    recorded: f64,
    silent: f64,
}

/// Measures mini-transactions in 8 sessions, so many rounds of one run each.
pub(super) fn run(
    server: &dyn Server,
    run_id: &str,
    rounds: u64,
    format: Format,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut settings = Settings::of(workload::WORKLOADS[0]);
    settings.sessions = 8;
    settings.transactions = None;
    settings.keys = 1000;
    let database = format!("rashomon_{run_id}");
    rate(server, &database, &settings, true, WARM_UP)?;
    let mut measured = Vec::new();
    for number in 0..rounds {
        settings.seed = number + 1;
        let one = |records| rate(server, &database, &settings, records, RUN_TIME);
        // Who comes first changes, so that what the machine does meanwhile favours nobody.
        measured.push(if number % 2 == 0 {
            let recorded = one(true)?;
            let silent = one(false)?;
            Round { recorded, silent }
        } else {
            let silent = one(false)?;
            let recorded = one(true)?;
            Round { recorded, silent }
        });
    }
    let median = super::bench::median;
    let recorded = median(measured.iter().map(|round| round.recorded).collect());
    let silent = median(measured.iter().map(|round| round.silent).collect());
    let ratio = median(
        measured
            .iter()
            .map(|round| round.recorded / round.silent.max(f64::EPSILON))
            .collect(),
    );
    let identity = server.identity();
    if format == Format::Json {
        output.json(&json!({
            "v": 1,
            "event": "recording",
            "target": format!("{} {}", identity.engine, identity.version),
            "rounds": rounds,
            "recorded_per_s": recorded.round(),
            "silent_per_s": silent.round(),
            "ratio": (ratio * 1000.0).round() / 1000.0,
        }))?;
    } else {
        output.line(&format!(
            "{} {}: {rounds} rounds of {} s each, 8 sessions of mini-transactions on 1,000 keys\n\
             {recorded:>10.0} transactions a second, recorded\n\
             {silent:>10.0} transactions a second, not recorded\n\
             {ratio:>10.3} of the loop without recording (median of the rounds)",
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
    settings: &Settings,
    records: bool,
    time: Duration,
) -> Result<f64, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::environment(format!("cannot write a temporary file: {error}"))
    };
    let mut file = tempfile::tempfile().map_err(cannot)?;
    let out: &mut dyn Write = &mut file;
    let settings = Settings {
        records,
        time: Some(time),
        ..settings.clone()
    };
    let mut history = HistoryFile::new(out, &settings, "bench").map_err(cannot)?;
    let progress =
        workload::run(server, database, &settings, &mut history, &|| false).map_err(|error| {
            match error {
                WorkloadError::Engine(error) => error.into(),
                error => Failure::environment(error.to_string()),
            }
        })?;
    history.finish().map_err(cannot)?;
    Ok(progress.committed as f64 / progress.elapsed.as_secs_f64().max(f64::EPSILON))
}
