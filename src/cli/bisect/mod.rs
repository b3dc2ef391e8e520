//! `rashomon bisect`: on which versions a case shows, and between which it begins or ends.

mod change;
mod container;
mod image_name;
mod tried;
mod version;

use std::path::PathBuf;

use serde_json::json;

use super::case_file;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::server::{ServerArguments, random_u64};
use super::terminal::{counted, printable};
use super::value::{OutputFormat, oracle_names, oracles_named, positive};
use crate::engine::{OpenOptions, Server};
use crate::execute::Driver;
use crate::replay::{self, Confirmation, ReplayOptions};
use crate::reproducer::{CaseFile, Registry};
use change::changes;
use tried::{Tried, VersionResult};
use version::{ListedVersion, is_unreachable};

/// Replays a case on one server after the other, and says between which versions it begins or ends
///
/// Every server is tried, in the order given: a walk costs a few runs each, and shows a fault that was
/// mended and came back, which a search by halves would miss. A case shows on a server if one run
/// shows it, known or not; it is clean after as many runs as its recorded rate asks for. Exit 1 when it
/// shows somewhere, 0 when it shows nowhere. A version is a URL or an image with its tag: docker or podman
/// runs a server of each image in turn, at a port of the loopback address, and it is removed behind its runs.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  rashomon bisect lost-row.sql --versions mariadb://root@h:3310 mariadb://root@h:3311
  rashomon bisect lost-row.sql --versions mysql://root@h:3356,mysql://root@h:3380 --times 20
  rashomon bisect lost-row.sql --versions mysql:5.7.44 mysql:8.0.36 mysql:8.4.3 mysql:9.1.0")]
pub(super) struct BisectArguments {
    /// The case file, or - for standard input
    file: PathBuf,

    /// The servers, oldest version first, with blanks or commas between: URLs, or images of mariadb, mysql,
    /// postgres and tidb with their tags
    #[arg(long, value_name = "URL|IMAGE", value_delimiter = ',', num_args = 1.., required = true)]
    versions: Vec<String>,

    /// The oracles that judge, with commas between [default: all]
    #[arg(long, value_name = "ORACLES", value_delimiter = ',', value_parser = oracle_names())]
    oracle: Vec<String>,

    /// Run the case this often on each server, and tell in how many runs it shows [default: until it
    /// shows, or is 99 % sure not to, given the recorded rate]
    #[arg(long, value_name = "N", value_parser = positive)]
    times: Option<u64>,

    /// Run the file without the safety check
    #[arg(long)]
    trust: bool,

    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,

    #[command(flatten)]
    server: ServerArguments,
}

pub(super) fn run(arguments: &BisectArguments, output: &mut Output) -> Result<Exit, Failure> {
    let file = case_file::load(&arguments.file, arguments.trust)?;
    let run_id = format!("bisect{:08x}", random_u64()? >> 32);
    let options = OpenOptions {
        // What is known shows, too.
        nothing_is_known: true,
        ..arguments.server.open_options(&run_id)?
    };
    let (versions, containers) = version::versions(&arguments.versions, &options)?;
    let mut all = Vec::new();
    for (number, version) in versions.iter().enumerate() {
        let name = format!("rashomon_{run_id}_{number}");
        let tried = match (version, &containers) {
            (ListedVersion::Server(Ok(server)), _) => try_on(&**server, &file, &name, arguments)?,
            (ListedVersion::Server(Err(reason)), _) => Tried::unreachable(number, reason),
            (ListedVersion::Image(image), Some(containers)) => {
                let started =
                    version::start(image, &name, containers, (&file.header.variables, &options));
                match started {
                    Ok((_container, server)) => try_on(&*server, &file, &name, arguments)?,
                    Err(reason) => Tried::not_started(&image.reference, &reason),
                }
            }
            (ListedVersion::Image(image), None) => {
                Tried::not_started(&image.reference, "no container engine")
            }
        };
        let tried = tried.named(&all);
        show(&tried, arguments.format, output)?;
        all.push(tried);
    }
    summary(arguments, &all, output)?;
    Ok(exit(&all))
}

fn try_on(
    server: &dyn Server,
    file: &CaseFile,
    database: &str,
    arguments: &BisectArguments,
) -> Result<Tried, Failure> {
    let identity = server.identity();
    let registry = Registry::empty();
    let oracles = oracles_named(&arguments.oracle, None);
    let options = ReplayOptions {
        oracles: &oracles,
        registry: &registry,
        times: 1,
        stop_at_first_hit: true,
    };
    let times = arguments.times;
    let times = times.map(|times| u32::try_from(times).unwrap_or(u32::MAX));
    let name = arguments.file.display().to_string();
    let result = Driver::open(server, database).and_then(|mut driver| {
        let result = replay::confirm_in(file, &name, &mut driver, identity, (&options, times));
        if let Err(error) = driver.close() {
            tracing::warn!("a database of this replay stays: {error}; `rashomon clean` drops it");
        }
        result
    });
    let (confirmation, told, report) = match result {
        Ok(result) => result,
        Err(error) if is_unreachable(&error) => {
            return Ok(Tried::lost(identity, &error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let result = match confirmation {
        Confirmation::StillThere => VersionResult::Shows,
        Confirmation::Fixed => VersionResult::Clean,
        Confirmation::Inconclusive => VersionResult::Undecided,
    };
    Ok(Tried::new(identity, result, &told, &report))
}

fn show(tried: &Tried, format: OutputFormat, output: &mut Output) -> Result<(), Failure> {
    match format {
        OutputFormat::Json => output.json(&tried.json()),
        OutputFormat::Human => output.line(&tried.line()),
    }
}

fn summary(arguments: &BisectArguments, all: &[Tried], output: &mut Output) -> Result<(), Failure> {
    let changes = changes(all);
    let count = |result: VersionResult| all.iter().filter(|tried| tried.result == result).count();
    if arguments.format == OutputFormat::Json {
        return output.json(&json!({
            "v": 1,
            "event": "summary",
            "file": arguments.file.display().to_string(),
            "shows": count(VersionResult::Shows),
            "clean": count(VersionResult::Clean),
            "undecided": count(VersionResult::Undecided),
            "unreachable": count(VersionResult::Unreachable),
            "changes": changes.iter().map(change::VersionChange::json).collect::<Vec<_>>(),
        }));
    }
    for change in &changes {
        output.line(&printable(&change.line()))?;
    }
    if changes.is_empty() {
        let shows = count(VersionResult::Shows) as u64;
        let decided = shows + count(VersionResult::Clean) as u64;
        output.line(&match (shows, decided) {
            (_, 0) => "no server decided anything".to_owned(),
            (0, _) => format!("it shows on none of {}", counted(decided, "server")),
            _ => format!("it shows on {} of {}", shows, counted(decided, "server")),
        })?;
    }
    Ok(())
}

/// A server that could not be asked comes before what the others said.
fn exit(all: &[Tried]) -> Exit {
    let any = |result: VersionResult| all.iter().any(|tried| tried.result == result);
    if any(VersionResult::Unreachable) {
        Exit::Environment
    } else if any(VersionResult::Shows) {
        Exit::Finding
    } else if any(VersionResult::Undecided) {
        Exit::Inconclusive
    } else {
        Exit::Clean
    }
}
