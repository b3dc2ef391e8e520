//! `rashomon selftest`: which planted faults are found, and whether anything is where nothing is wrong.

use serde_json::{Map, Value, json};

use super::exit::{Exit, Failure};
use super::output::Output;
use super::seed;
use super::value::{OutputFormat, level, positive};
use crate::engine::Fault;
use crate::model::IsolationLevel;
use crate::oracle::{EVERY_RUN, ORACLES};
use crate::selftest::{self, SelftestReport, SelftestSettings, TrialResult};

/// Threads that share the trials: results do not depend on it.
const THREADS: usize = 2;

/// Plants faults in the simulated engine and tests whether the oracles find them
///
/// Each fault is tried at every level that it breaks, until an oracle finds it and a little longer;
/// then the engine is tried without faults. Exit 0 when every fault was found and nothing else was.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  rashomon selftest --cases 200\n  rashomon selftest --fault lost-update --isolation serializable"
)]
pub(super) struct SelftestArguments {
    /// Cases of each fault at each level, at most, and of each level without a fault
    #[arg(long, value_name = "N", value_parser = positive, default_value = "2000")]
    cases: u64,

    /// Draws the cases
    #[arg(long, value_name = "N", value_parser = seed::alone, default_value = "1")]
    seed: u64,

    /// Try this fault only; an unknown name lists all
    #[arg(long, value_name = "NAME", value_parser = fault)]
    fault: Option<Fault>,

    /// Try this level only
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    isolation: Option<IsolationLevel>,

    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

/// Reads `--fault`.
fn fault(text: &str) -> Result<Fault, String> {
    Fault::named(text).map_err(|error| error.to_string())
}

pub(super) fn run(arguments: &SelftestArguments, output: &mut Output) -> Result<Exit, Failure> {
    let settings = SelftestSettings {
        cases: arguments.cases,
        seed: arguments.seed,
        fault: arguments.fault,
        level: arguments.isolation,
        threads: THREADS,
    };
    if let (Some(fault), Some(level)) = (arguments.fault, arguments.isolation)
        && !fault.levels().contains(&level)
    {
        let levels: Vec<&str> = fault.levels().iter().map(|level| level.slug()).collect();
        return Err(Failure::usage(format!(
            "{} breaks nothing at {}: it does at {}",
            fault.slug(),
            level.slug(),
            levels.join(", ")
        )));
    }
    let report = selftest::run(&settings, &mut |trial, result| {
        tracing::info!("{trial:?}: {result:?}");
    })?;
    match arguments.format {
        OutputFormat::Json => output.json(&summary(&report))?,
        OutputFormat::Human => table(&report, output)?,
    }
    Ok(match report.is_sound() {
        true => Exit::Clean,
        false => Exit::Finding,
    })
}

/// Names under which violations are told, in the order of the documentation. Nothing kills the engine in
/// this process.
fn judges() -> impl Iterator<Item = &'static str> {
    let oracles = ORACLES.iter().filter(|oracle| !oracle.needs().crash);
    oracles.map(|oracle| oracle.name()).chain(EVERY_RUN)
}

fn summary(report: &SelftestReport) -> Value {
    let mut faults: Map<String, Value> = Map::new();
    for ((fault, level), result) in &report.faults {
        let oracles: Map<String, Value> = judges()
            .map(|name| (name.to_owned(), found(result, name)))
            .collect();
        let levels = faults.entry(fault.slug()).or_insert_with(|| json!({}));
        levels[level.slug()] = Value::Object(oracles);
    }
    json!({
        "v": 1,
        "event": "summary",
        "faults": faults,
        "false_alarms": report.false_alarms(),
        "cases_clean": report.cases_clean(),
    })
}

fn found(result: &TrialResult, oracle: &str) -> Value {
    match result.first.get(oracle) {
        Some(cases) => json!({ "found": true, "cases_to_first": cases }),
        None => json!({ "found": false }),
    }
}

fn table(report: &SelftestReport, output: &mut Output) -> Result<(), Failure> {
    let mut last = None;
    for ((fault, level), result) in &report.faults {
        if last.replace(*fault) != Some(*fault) {
            output.line(&format!("{}: {}", fault.slug(), fault.meaning()))?;
        }
        let mut firsts: Vec<(u64, &str)> = result.first.iter().map(|(o, n)| (*n, *o)).collect();
        firsts.sort_unstable();
        let found: Vec<String> = firsts.iter().map(|(n, o)| format!("{o} {n}")).collect();
        let found = match found.as_slice() {
            [] => format!("not found up to case {}", result.cases),
            found => found.join(", "),
        };
        output.line(&format!("  {:<17} {found}", level.slug()))?;
    }
    for (level, result) in &report.clean {
        output.line(&format!(
            "without a fault at {}: {} violations in {} cases",
            level.slug(),
            result.violations,
            result.cases
        ))?;
    }
    let (all, missed) = (report.faults.len(), report.missed().count());
    output.line(&format!(
        "{} of {all} found, a fault at a level counting one; {} false alarms in {} cases",
        all - missed,
        report.false_alarms(),
        report.cases_clean()
    ))
}
