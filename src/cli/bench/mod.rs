//! `rashomon bench`: how fast cases run, and how near that is to what the server can do.

mod median;
mod recording_cost;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::campaign::{Ahead, CaseSource, Generator, WorkloadShare};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::quantity::{positive, rounded};
use crate::cli::seed;
use crate::cli::server::{ServerArguments, random_u64};
use crate::cli::value::{OutputFormat, grammar};
use crate::engine::{self, Server};
use crate::execute::Driver;
use crate::execute::bare_loop::{BareLoop, LoopTiming};
use crate::generate::GenerateOptions;
use crate::model::Verdict;
use crate::observe::Learner;
use crate::oracle::{Oracle, TxCheck, hear};
use median::{Spread, median};

/// Measures cases per second, and the driver against a bare loop
///
/// One worker, txcheck alone, 2 sessions of 5 statements, 2 tables of 15 rows. Everything that is
/// sent is recorded and sent again by a loop that schedules nothing and judges nothing. They take
/// turns of a few cases in the same run, so that both meet what else the machine does.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  rashomon bench 'mariadb://root@127.0.0.1:3306?socket=/run/mysqld/mysqld.sock' --rounds 100"
)]
pub(super) struct BenchArguments {
    /// The server: sqlite:, mysql://USER:PW@HOST:PORT?socket=PATH, mariadb://..., tidb://..., postgres://...
    target: String,

    /// Cases of each round: first the driver runs them, then the loop sends the same
    #[arg(long, value_name = "N", value_parser = positive, default_value = "25")]
    cases: u64,

    /// Rounds; their median and quartiles are reported
    #[arg(long, value_name = "N", value_parser = positive, default_value = "40")]
    rounds: u64,

    /// Measure what recording a workload costs instead
    #[arg(long, conflicts_with = "cases")]
    recording: bool,

    /// Draws the cases
    #[arg(long, value_name = "N", value_parser = seed::alone, default_value = "1")]
    seed: u64,

    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,

    #[command(flatten)]
    server: ServerArguments,
}

/// One round.
struct BenchRound {
    elapsed: Duration,
    statements: u64,
    bare: LoopTiming,
    undecided: u64,
    violations: u64,
}

impl BenchRound {
    #[expect(clippy::cast_precision_loss, reason = "a rate is shown with one digit")]
    fn statements_per_s(&self) -> f64 {
        self.statements as f64 / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }

    fn ratio(&self) -> f64 {
        self.statements_per_s() / self.bare.rate().max(f64::EPSILON)
    }
}

pub(super) fn run(arguments: &BenchArguments, output: &mut Output) -> Result<Exit, Failure> {
    let run_id = format!("bench{:08x}", random_u64()? >> 32);
    let options = arguments.server.open_options(&run_id)?;
    let server = engine::open(&arguments.target, &options)?;
    if arguments.recording {
        let (rounds, format) = (arguments.rounds, arguments.format);
        return recording_cost::run(&*server, &run_id, rounds, format, output);
    }
    let dialect = server.dialect().clone();
    let generator: Arc<dyn CaseSource> = Arc::new(Generator {
        seed: arguments.seed,
        options: GenerateOptions::benchmark(),
        grammar: grammar(None, &dialect)?,
        workloads: WorkloadShare::None,
        dialect,
    });
    let oracle = TxCheck {
        learner: Learner::Observer,
    };
    let database = format!("rashomon_{run_id}");
    let mut driver = Driver::open(&*server, &format!("{database}_0"))?;
    driver.sample_engine_checks();
    // Connections are opened and caches filled before the clock runs.
    for index in 0..WARM_UP_CASES {
        hear(&generator.case(index).case, &mut driver, &[&oracle])?;
    }
    driver.start_recording()?;
    let mut bare = BareLoop::open(&*server, &format!("{database}_1"))?;
    let mut rounds = Vec::new();
    for number in 0..arguments.rounds {
        let first = number * arguments.cases;
        let indexes = first..first + arguments.cases;
        rounds.push(round(&mut driver, &mut bare, &oracle, &generator, indexes)?);
    }
    driver.close()?;
    bare.close()?;
    report(&rounds, arguments, &*server, output)?;
    Ok(Exit::Clean)
}

/// Cases before the first round.
const WARM_UP_CASES: u64 = 10;

/// Runs the cases, then sends the same statements again in a bare loop.
fn round(
    driver: &mut Driver<'_>,
    bare: &mut BareLoop<'_>,
    oracle: &dyn Oracle,
    generator: &Arc<dyn CaseSource>,
    indexes: std::ops::Range<u64>,
) -> Result<BenchRound, Failure> {
    let (mut undecided, mut violations) = (0, 0);
    let mut ahead = Ahead::new(Arc::clone(generator));
    let start = Instant::now();
    for index in indexes.clone() {
        // Drawing the case is part of the job, and so is judging it.
        let next = Some(index + 1).filter(|next| indexes.contains(next));
        let verdict = hear(&ahead.case(index, next).case, driver, &[oracle])?.verdict();
        undecided += u64::from(matches!(verdict, Verdict::Undecided(_)));
        violations += u64::from(matches!(verdict, Verdict::Violation(_)));
    }
    let elapsed = start.elapsed();
    let recording = driver.take_recording();
    Ok(BenchRound {
        elapsed,
        statements: recording.stream.len() as u64,
        bare: bare.run(&recording)?,
        undecided,
        violations,
    })
}

#[expect(clippy::cast_precision_loss, reason = "rates are shown with one digit")]
fn report(
    rounds: &[BenchRound],
    arguments: &BenchArguments,
    server: &dyn Server,
    output: &mut Output,
) -> Result<(), Failure> {
    let rate = |round: &BenchRound| arguments.cases as f64 / round.elapsed.as_secs_f64();
    let cases_per_s = Spread::of(rounds.iter().map(rate).collect());
    let statements_per_s = median(rounds.iter().map(BenchRound::statements_per_s).collect());
    let bare = median(rounds.iter().map(|round| round.bare.rate()).collect());
    let ratio = Spread::of(rounds.iter().map(BenchRound::ratio).collect());
    let undecided: u64 = rounds.iter().map(|round| round.undecided).sum();
    let stalls: u32 = rounds.iter().map(|round| round.bare.stalls).sum();
    let violations: u64 = rounds.iter().map(|round| round.violations).sum();
    let identity = server.identity();
    if arguments.format == OutputFormat::Json {
        return output.json(&json!({
            "v": 1,
            "event": "bench",
            "target": identity.in_short(),
            "cases": arguments.cases * arguments.rounds,
            "cases_per_s": rounded(cases_per_s.median, 1),
            "cases_per_s_quartiles": quartiles(cases_per_s, 1),
            "statements_per_s": statements_per_s.round(),
            "bare_statements_per_s": bare.round(),
            "ratio": rounded(ratio.median, 3),
            "ratio_quartiles": quartiles(ratio, 3),
            "bare_stalls": stalls,
            "undecided": undecided,
            "violations": violations,
        }));
    }
    output.line(&format!(
        "{} {}: {} rounds of {} cases, 2 sessions x 5 statements, 2 tables x 15 rows, txcheck\n\
         {:>10.1} cases a second, half of the rounds between {:.1} and {:.1}\n\
         {statements_per_s:>10.0} statements a second\n\
         {bare:>10.0} statements a second by a bare loop that sends the same ({stalls} stalls left out)\n\
         {:>10.2} of the bare loop, half of the rounds between {:.2} and {:.2}\n\
         {undecided:>10} undecided, {violations} violations",
        identity.engine,
        identity.version,
        arguments.rounds,
        arguments.cases,
        cases_per_s.median,
        cases_per_s.lower_quartile,
        cases_per_s.upper_quartile,
        ratio.median,
        ratio.lower_quartile,
        ratio.upper_quartile,
    ))
}

fn quartiles(spread: Spread, digits: i32) -> [f64; 2] {
    [spread.lower_quartile, spread.upper_quartile].map(|value| rounded(value, digits))
}
