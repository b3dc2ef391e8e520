//! `rashomon minimize`: a smaller case of the same finding.

use std::path::PathBuf;
use std::time::Duration;

use super::case_file;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::output_file::Overwriting;
use super::quantity::time;
use super::server::{ServerArguments, random_u64};
use super::terminal::printable;
use super::value::{oracle_names, oracles_named, positive};
use crate::campaign::{self, OutageSearch, ServerWorkplace, Sighting, StopFlag};
use crate::engine::{self, EngineError, OpenOptions, Server};
use crate::execute::Driver;
use crate::minimize::MinimizeBudget;
use crate::model::TestCase;
use crate::oracle::Oracle;
use crate::reproducer::{self, CaseFile};

/// Makes a case file smaller, as long as it shows the same finding
///
/// The first oracle that finds a violation in every one of --times runs is the judge: a candidate
/// is kept while the same oracle finds the same kind at the same levels. Exit 1 with the smaller
/// case, 0 when no violation shows.
///
/// A case that takes the server down does so with every smaller case that shows it: it needs a server
/// that something starts again, and is waited for each time.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  rashomon minimize long.sql 'mariadb://root@127.0.0.1:3306' -o short.sql"
)]
pub(super) struct MinimizeArguments {
    /// The case file, or - for standard input
    file: PathBuf,

    /// The server to run it on
    target: String,

    /// Where to write the smaller case [default: standard output]
    #[arg(short, alias = "output", value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    overwriting: Overwriting,

    /// The oracles that judge, with commas between [default: all]
    #[arg(long, value_name = "ORACLES", value_delimiter = ',', value_parser = oracle_names())]
    oracle: Vec<String>,

    /// Runs that must all show the violation
    #[arg(long, value_name = "N", value_parser = positive, default_value = "3")]
    times: u64,

    /// How long to wait each time for a server that the case takes down
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1m")]
    wait_for_server: Duration,

    /// Run the file without the safety check
    #[arg(long)]
    trust: bool,

    #[command(flatten)]
    server: ServerArguments,
}

pub(super) fn run(arguments: &MinimizeArguments, output: &mut Output) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.output {
        arguments.overwriting.check(path)?;
    }
    let file = case_file::load(&arguments.file, arguments.trust)?;
    let run_id = format!("minimize{:08x}", random_u64()? >> 32);
    let options = arguments.server.open_options(&run_id)?;
    let server = engine::open(&arguments.target, &options)?;
    let case = file
        .test_case(server.dialect())
        .map_err(|error| Failure::usage(format!("{}: {error}", arguments.file.display())))?;
    let oracles = oracles_named(&arguments.oracle, None);
    let driver = Driver::open(&*server, &format!("rashomon_{run_id}_0"))?;
    let times = u32::try_from(arguments.times).unwrap_or(u32::MAX);
    let smaller = Smaller {
        arguments,
        server: &*server,
        options,
        oracles: &oracles,
        times,
    };
    let result = smaller.find(&case, driver)?;
    let Some(sighting) = result else {
        output.line(&format!(
            "{}: no oracle finds a violation in every one of {times} runs",
            arguments.file.display()
        ))?;
        return Ok(Exit::Clean);
    };
    let minimized = CaseFile::of_finding(
        &sighting.case,
        &sighting.finding,
        &sighting.execution,
        server.identity(),
        file.header.seed.as_deref().unwrap_or_default(),
        sighting.reproduced,
    );
    let text = reproducer::write(&minimized);
    match &arguments.output {
        None => output.line(text.trim_end())?,
        Some(path) => {
            arguments.overwriting.write(path, text.as_bytes())?;
            output.line(&format!(
                "{}: {} of {} statements, {}",
                path.display(),
                sighting.case.statements.len(),
                case.statements.len(),
                printable(&sighting.finding.headline)
            ))?;
        }
    }
    Ok(Exit::Finding)
}

/// How a smaller case is looked for.
struct Smaller<'a> {
    arguments: &'a MinimizeArguments,
    server: &'a dyn Server,
    options: OpenOptions,
    oracles: &'a [&'static dyn Oracle],
    times: u32,
}

impl Smaller<'_> {
    /// The smallest case of the finding that an oracle finds in every run, or of the loss of the server.
    fn find(self, case: &TestCase, mut driver: Driver<'_>) -> Result<Option<Sighting>, Failure> {
        let stop = StopFlag::default();
        let found = campaign::minimize_case(
            case,
            &mut driver,
            self.oracles,
            self.times,
            MinimizeBudget::default(),
            &stop,
        );
        if let Err(error) = &found
            && campaign::is_loss(error)
        {
            drop(driver);
            return self.find_loss(case, error, &stop);
        }
        let found = found?;
        if let Err(error) = driver.close() {
            tracing::warn!("the databases of this run stay: {error}; `rashomon clean` drops them");
        }
        Ok(found)
    }

    fn find_loss(
        self,
        case: &TestCase,
        error: &EngineError,
        stop: &StopFlag,
    ) -> Result<Option<Sighting>, Failure> {
        let patience = self.arguments.wait_for_server;
        tracing::warn!(
            "{error}; each smaller case that shows it takes the server down again, which is waited for {} s each time",
            patience.as_secs()
        );
        let identity = self.server.identity().clone();
        let workplace = ServerWorkplace::new(&self.arguments.target, self.options, identity);
        let search = OutageSearch {
            workplace: &workplace,
            oracles: self.oracles,
            dialect: self.server.dialect(),
            confirmations: self.times,
            patience,
            stop,
        };
        search.minimize(case).map_err(Failure::environment)
    }
}
