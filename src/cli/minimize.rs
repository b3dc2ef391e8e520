//! `rashomon minimize`: a smaller case of the same finding.

use std::path::PathBuf;

use super::case_file;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::output_file::Overwriting;
use super::server::{ServerArguments, random_u64};
use super::terminal::printable;
use super::value::{oracle_names, oracles_named, positive};
use crate::campaign::{self, StopFlag};
use crate::engine;
use crate::execute::Driver;
use crate::reproducer::{self, CaseFile};

/// Makes a case file smaller, as long as it shows the same finding
///
/// The first oracle that finds a violation in every one of --times runs is the judge: a candidate
/// is kept while the same oracle finds the same kind at the same levels. Exit 1 with the smaller
/// case, 0 when no violation shows.
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
    let mut driver = Driver::open(&*server, &format!("rashomon_{run_id}_0"))?;
    let times = u32::try_from(arguments.times).unwrap_or(u32::MAX);
    let result =
        campaign::minimize_case(&case, &mut driver, &oracles, times, &StopFlag::default())?;
    if let Err(error) = driver.close() {
        tracing::warn!("the databases of this run stay: {error}; `rashomon clean` drops them");
    }
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
