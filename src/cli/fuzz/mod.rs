//! `rashomon fuzz`: the main job.

mod grammar_report;
mod live;
mod settings;
mod summary;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};

use super::exit::{Exit, Failure};
use super::output::Output;
use super::server::{ServerArguments, random_u64};
use super::value::{Format, LevelArgument, Observe, duration, level, oracle_name, positive};
use crate::calibrate;
use crate::campaign::{self, CampaignError, Cases, Options, Parts, ServerWorkplace, Stop};
use crate::engine;
use crate::model::IsolationLevel;
use live::Live;
use settings::Plan;
pub(super) use settings::grammar;

/// Fuzzes an engine: generates cases, judges them, minimizes what disagrees
///
/// Every case runs interleaved in concurrent sessions, and is judged by the oracles that apply.
/// A violation is confirmed, minimized, and left as a script under --out that `rashomon replay`
/// confirms. Runs until --cases or --for is used up, or Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The server: sqlite:, mysql://USER:PW@HOST:PORT?socket=PATH, mariadb://... [default: sqlite:]
    target: Option<String>,

    /// The oracles that judge, with commas between: txcheck, serial, history (workloads of
    /// concurrent sessions), or all [default: txcheck,serial]
    #[arg(long, value_name = "ORACLES", value_delimiter = ',', value_parser = oracle_name)]
    oracle: Vec<String>,

    /// read-uncommitted, read-committed, repeatable-read, serializable, all (each case draws one)
    /// or mixed (each session draws one) [default: all]
    #[arg(long, value_name = "LEVEL")]
    isolation: Option<LevelArgument>,

    /// Judge by this stronger level than the one that is run
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    claim: Option<IsolationLevel>,

    /// How txcheck learns what statements saw: probes in the sessions, or an observer beside them
    #[arg(long, value_name = "HOW", value_enum)]
    observe: Option<Observe>,

    /// Draws the cases; the same seed draws the same cases [default: drawn from the system]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Stop after this many cases
    #[arg(long, value_name = "N", value_parser = positive)]
    cases: Option<u64>,

    /// Run this case of the seed alone: the second part of a reproducer's `seed`
    #[arg(long, value_name = "INDEX", conflicts_with_all = ["cases", "resume"])]
    case: Option<u64>,

    /// Stop after this time: 30s, 10m, 1h30m
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,

    /// Workers, each with its own databases and sessions
    #[arg(long, value_name = "N", value_parser = positive, default_value = "1")]
    workers: u64,

    /// Where findings go
    #[arg(long, value_name = "DIR", default_value = "reproducers")]
    out: PathBuf,

    /// Go on with an interrupted run: its folder under OUT/runs
    #[arg(long, value_name = "DIR", conflicts_with_all = ["target", "oracle", "isolation", "claim",
        "observe", "seed", "grammar", "known", "out", "doublecheck"])]
    resume: Option<PathBuf>,

    /// Run each case twice more and report where the two runs differ
    #[arg(long)]
    doublecheck: bool,

    /// Registry of known behaviour, added to the built-in one
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,

    /// Grammar files to use instead of the built-in ones
    #[arg(long, value_name = "DIR")]
    grammar: Option<PathBuf>,

    /// Print each production's acceptance rate on this engine at the end
    #[arg(long)]
    explain_grammar: bool,

    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,

    #[command(flatten)]
    server: ServerArguments,
}

const EXAMPLES: &str = "\
Examples:
  rashomon fuzz --for 30s
  rashomon fuzz 'mariadb://root@127.0.0.1:3306' --isolation all --for 8h --workers 2
  rashomon fuzz 'mysql://root@127.0.0.1:3306' --isolation read-committed --claim serializable --cases 300
  rashomon fuzz --resume reproducers/runs/1c0ffee2";

/// How long a lost server is waited for before the run is given up.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs that must show a violation before it counts.
const CONFIRMATIONS: u32 = 3;

pub(super) fn run(arguments: Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let stop = Stop::default();
    listen_to_signals(&stop)?;
    let format = arguments.format;
    let explain_grammar = arguments.explain_grammar;
    let plan = Plan::of(arguments, random_u64)?;
    let open_options = plan.server.open_options(&plan.run_id)?;
    let server = engine::open(&plan.target, &open_options)?;
    engine::require_cases(&*server)?;
    let identity = server.identity().clone();
    let dialect = server.dialect().clone();
    plan.check_levels(&dialect)?;
    let settings = plan.settings(&identity)?;
    let mut live = Live::new(format, output)?;
    live.started(&settings, &identity)?;
    // Held to the end of the run.
    let _lock = settings::prepare_output(&plan.out, &settings.run_id)?;
    let calibration = calibrate::run(&*server, &mut std::io::sink())?;
    settings::record_start(&plan.out, &settings, &identity, &calibration)?;
    settings::check_calibration(&calibration, &settings)?;
    drop(server);
    let options = Options {
        seed: plan.seed,
        cases: plan.case.map_or(Cases::Count(plan.cases), Cases::Only),
        time: plan.time,
        workers: plan.workers,
        confirmations: CONFIRMATIONS,
        doublecheck: plan.doublecheck,
        out: plan.out.clone(),
        patience: PATIENCE,
        settings,
    };
    let parts = Parts {
        workplace: Arc::new(ServerWorkplace::new(
            &plan.target,
            open_options,
            identity.clone(),
        )),
        cases: Arc::new(plan.generator(&dialect)?),
        oracles: plan.oracles.clone(),
        registry: plan.registry.clone(),
        identity,
    };
    let result = campaign::run(
        parts,
        options.clone(),
        plan.checkpoint.clone(),
        &stop,
        &mut live,
    );
    live.finish();
    let summary = result.map_err(|error| match error {
        CampaignError::Publish(error) => Failure::environment(error.to_string()),
        CampaignError::Checkpoint(error) => Failure::environment(error.to_string()),
    })?;
    let exit = summary::exit(&summary);
    let grammar = if explain_grammar {
        grammar_report::print(&summary.statistics, format, output)
    } else {
        Ok(())
    };
    match grammar.and_then(|()| summary::print(&summary, &options, format, output)) {
        // The reader went away: what was found was found.
        Err(failure) if failure.exit != Exit::Clean => Err(failure),
        _ => Ok(exit),
    }
}

/// The first Ctrl-C or SIGTERM stops the run in order; the second ends the process at once.
pub(in crate::cli) fn listen_to_signals(stop: &Stop) -> Result<(), Failure> {
    for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
        let again = Arc::new(std::sync::atomic::AtomicBool::new(false));
        // In this order: the second signal meets the flag that the first one set.
        signal_hook::flag::register_conditional_shutdown(signal, exit as i32, Arc::clone(&again))
            .and_then(|_| signal_hook::flag::register(signal, again))
            .and_then(|_| {
                let number = usize::try_from(signal).unwrap_or_default();
                signal_hook::flag::register_usize(signal, stop.flag(), number)
            })
            .map_err(|error| Failure::environment(format!("cannot listen to signals: {error}")))?;
    }
    Ok(())
}
