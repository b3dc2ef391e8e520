//! `rashomon selftest`: which planted faults are found, and whether anything is where nothing is wrong.

use serde_json::{Map, Value, json};

use super::exit::{Exit, Failure};
use super::output::Output;
use super::seed;
use super::value::{OutputFormat, level_parser, positive};
use crate::engine::{EngineFlavour, Fault};
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

    /// Try this flavour of the engine only: innodb, postgres, tidb
    #[arg(long, value_name = "NAME", value_parser = flavour)]
    flavour: Option<EngineFlavour>,

    /// How often a fault bites where it can, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = per_million, default_value = "1")]
    rate: u32,

    /// Try this fault only; an unknown name lists all
    #[arg(long, value_name = "NAME", value_parser = fault)]
    fault: Option<Fault>,

    /// Try this level only
    #[arg(long, value_name = "LEVEL", value_parser = level_parser(), hide_possible_values = true)]
    isolation: Option<IsolationLevel>,

    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

/// Reads `--flavour`.
fn flavour(text: &str) -> Result<EngineFlavour, String> {
    EngineFlavour::named(text).map_err(|error| error.to_string())
}

/// Reads `--rate`, as so many of a million.
fn per_million(text: &str) -> Result<u32, String> {
    let share: Option<f64> = text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
    let share = share.ok_or_else(|| "a number from 0 to 1".to_owned())?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between 0 and a million"
    )]
    Ok((share * 1_000_000.0).round() as u32)
}

/// Reads `--fault`.
fn fault(text: &str) -> Result<Fault, String> {
    Fault::named(text).map_err(|error| error.to_string())
}

pub(super) fn run(arguments: &SelftestArguments, output: &mut Output) -> Result<Exit, Failure> {
    let settings = SelftestSettings {
        cases: arguments.cases,
        seed: arguments.seed,
        flavour: arguments.flavour,
        per_million: arguments.rate,
        fault: arguments.fault,
        level: arguments.isolation,
        threads: THREADS,
    };
    refuse_nothing_to_do(arguments)?;
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

/// Refuses a fault at a level that it does not break.
fn refuse_nothing_to_do(arguments: &SelftestArguments) -> Result<(), Failure> {
    let flavours = arguments
        .flavour
        .map_or(EngineFlavour::ALL.to_vec(), |only| vec![only]);
    let has_level = |flavour: &EngineFlavour, level| flavour.levels().contains(&level);
    let flavours: Vec<EngineFlavour> = match arguments.isolation {
        Some(level) => flavours
            .into_iter()
            .filter(|f| has_level(f, level))
            .collect(),
        None => flavours,
    };
    let Some(fault) = arguments.fault.filter(|_| !flavours.is_empty()) else {
        return match flavours.is_empty() {
            true => Err(Failure::usage("the flavour has no such level".to_owned())),
            false => Ok(()),
        };
    };
    let breaks = |flavour: &EngineFlavour| {
        let levels = flavour.broken_by(fault);
        arguments
            .isolation
            .map_or(!levels.is_empty(), |level| levels.contains(&level))
    };
    if flavours.iter().any(breaks) {
        return Ok(());
    }
    let places = flavours.iter().map(|flavour| {
        let levels = flavour.broken_by(fault).iter().map(|level| level.slug());
        let levels: Vec<&str> = levels.collect();
        match levels.is_empty() {
            true => format!("{}: nothing", flavour.slug()),
            false => format!("{}: {}", flavour.slug(), levels.join(", ")),
        }
    });
    Err(Failure::usage(format!(
        "{} breaks nothing there; it breaks in {}",
        fault.slug(),
        places.collect::<Vec<_>>().join("; ")
    )))
}

/// Names under which violations are told, in the order of the documentation. Nothing kills the engine in
/// this process.
fn judges() -> impl Iterator<Item = &'static str> {
    let oracles = ORACLES.iter().filter(|oracle| !oracle.needs().crash);
    oracles.map(|oracle| oracle.name()).chain(EVERY_RUN)
}

fn summary(report: &SelftestReport) -> Value {
    let flavours: Map<String, Value> = report
        .flavours()
        .into_iter()
        .map(|flavour| {
            let only = report.of(flavour);
            let told = json!({
                "faults": faults(&only),
                "median_cases_to_first": only.median(),
                "false_alarms": only.false_alarms(),
                "cases_clean": only.cases_clean(),
            });
            (flavour.slug().to_owned(), told)
        })
        .collect();
    json!({
        "v": 1,
        "event": "summary",
        // Those of the first flavour, which was the only one once.
        "faults": faults(&report.of(EngineFlavour::default())),
        "flavours": flavours,
        "false_alarms": report.false_alarms(),
        "cases_clean": report.cases_clean(),
    })
}

fn faults(report: &SelftestReport) -> Map<String, Value> {
    let mut faults: Map<String, Value> = Map::new();
    for ((_, fault, level), result) in &report.faults {
        let oracles: Map<String, Value> = judges()
            .map(|name| (name.to_owned(), found(result, name)))
            .collect();
        let levels = faults.entry(fault.slug()).or_insert_with(|| json!({}));
        levels[level.slug()] = Value::Object(oracles);
    }
    faults
}

fn found(result: &TrialResult, oracle: &str) -> Value {
    match result.first.get(oracle) {
        Some(cases) => json!({ "found": true, "cases_to_first": cases }),
        None => json!({ "found": false }),
    }
}

fn table(report: &SelftestReport, output: &mut Output) -> Result<(), Failure> {
    for flavour in report.flavours() {
        output.line(&format!("flavour {}", flavour.slug()))?;
        table_of_flavour(&report.of(flavour), output)?;
    }
    Ok(())
}

fn table_of_flavour(report: &SelftestReport, output: &mut Output) -> Result<(), Failure> {
    let mut last = None;
    for ((_, fault, level), result) in &report.faults {
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
    for ((_, level), result) in &report.clean {
        output.line(&format!(
            "without a fault at {}: {} violations in {} cases",
            level.slug(),
            result.violations,
            result.cases
        ))?;
    }
    let (all, missed) = (report.faults.len(), report.missed().count());
    let median = report.median();
    let median = median.map_or(String::new(), |case| format!("; the median is case {case}"));
    output.line(&format!(
        "{} of {all} found, a fault at a level counting one{median}; {} false alarms in {} cases",
        all - missed,
        report.false_alarms(),
        report.cases_clean()
    ))
}
