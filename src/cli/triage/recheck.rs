//! Every group, replayed on a server.

use std::path::Path;

use serde_json::json;

use super::format::TriageFormat;
use crate::campaign::unix_seconds;
use crate::cli::case_file;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::server::{ServerArguments, random_u64};
use crate::cli::terminal::printable;
use crate::cli::value::oracles_named;
use crate::engine::{self, Server};
use crate::execute::Driver;
use crate::replay::{self, Confirmation, ReplayOptions};
use crate::reproducer::{CaseHead, Registry};
use crate::triage::{Group, GroupState, Recheck, RecheckResult, Rechecks, TriageFolder};

/// Replays every group on a server, and notes which are still there
///
/// Of each group the case to read first is run that was found on the server's engine, until it shows, or as
/// often as it takes to be 99 % sure that it is gone. A group that is gone is fixed; one that shows where an
/// earlier recheck had not seen it, or on a version that claims the fix, is a regression. Exit 1 on a
/// regression; 3 where nothing could be said of a group; 4 where none was found on this engine.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  rashomon triage reproducers recheck 'mariadb://root@127.0.0.1:3306'")]
pub(super) struct RecheckArguments {
    /// The server
    #[arg(default_value = "sqlite:")]
    target: String,

    #[command(flatten)]
    server: ServerArguments,
}

pub(super) fn run(
    arguments: &RecheckArguments,
    folder: &Path,
    format: TriageFormat,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let _lock = super::findings::lock(folder)?;
    let before = super::findings::read(folder)?;
    let run_id = format!("recheck{:08x}", random_u64()? >> 32);
    let options = arguments.server.open_options(&run_id)?;
    let server = engine::open(&arguments.target, &options)?;
    let identity = server.identity();
    let found = found_on(&before, &identity.engine);
    if found.is_empty() {
        return Err(Failure {
            exit: Exit::Nothing,
            message: format!(
                "no finding in {} was found on {}",
                folder.display(),
                identity.engine
            ),
        });
    }
    let mut driver = Driver::open(&*server, &format!("rashomon_{run_id}_0"))?;
    let mut rechecks = Rechecks::read(folder)?;
    let mut undecided = 0;
    for (group, file) in found {
        let (recheck, told) = recheck(group, file, &mut driver, &*server)?;
        let recheck = rechecks.note(recheck);
        undecided += usize::from(recheck.result == RecheckResult::Undecided);
        // After each: a server that is lost midway takes nothing away.
        rechecks.write(folder)?;
        say(&recheck, &told, format, output)?;
    }
    if let Err(error) = driver.close() {
        tracing::warn!("the databases of this recheck stay: {error}; `rashomon clean` drops them");
    }
    let after = super::findings::read(folder)?;
    super::list::run(&after, format, output)?;
    let back = found_on(&after, &identity.engine)
        .into_iter()
        .any(|(group, _)| group.state == GroupState::Regression);
    Ok(match (back, undecided) {
        (true, _) => Exit::Finding,
        (false, 0) => Exit::Clean,
        (false, _) => Exit::Inconclusive,
    })
}

/// The groups that were found on an engine, each with the case to run there.
fn found_on<'a>(folder: &'a TriageFolder, engine: &str) -> Vec<(&'a Group, &'a CaseHead)> {
    let groups = folder.groups.iter();
    groups
        .filter_map(|group| {
            let mut files = group.files.iter();
            Some((group, files.find(|file| file.server.engine == engine)?))
        })
        .collect()
}

fn recheck(
    group: &Group,
    file: &CaseHead,
    driver: &mut Driver<'_>,
    server: &dyn Server,
) -> Result<(Recheck, String), Failure> {
    let recheck = |result, hits, runs| Recheck {
        signature: group.id.clone(),
        server: server.identity().in_full(),
        unix_s: unix_seconds(),
        result,
        hits,
        runs,
        was_gone: false,
    };
    let case = match case_file::load(&file.path, false) {
        Ok(case) => case,
        // One file that is not safe to run does not keep the others from being run.
        Err(failure) => return Ok((recheck(RecheckResult::Undecided, 0, 0), failure.message)),
    };
    // What is known is still there.
    let registry = Registry::empty();
    let oracles = oracles_named(&[], None);
    let options = ReplayOptions {
        oracles: &oracles,
        registry: &registry,
        times: 1,
        stop_at_first_hit: true,
    };
    let name = file.path.display().to_string();
    let (confirmation, told, report) =
        replay::confirm_fixed(&case, &name, driver, server.identity(), &options)?;
    let result = match confirmation {
        Confirmation::Fixed => RecheckResult::Gone,
        Confirmation::StillThere => RecheckResult::There,
        Confirmation::Inconclusive => RecheckResult::Undecided,
    };
    Ok((recheck(result, report.hits, report.runs), told))
}

fn say(
    recheck: &Recheck,
    told: &str,
    format: TriageFormat,
    output: &mut Output,
) -> Result<(), Failure> {
    let (id, word) = (&recheck.signature, recheck.result.slug());
    match format {
        TriageFormat::Json => output.json(&json!({
            "v": 1, "event": "rechecked", "signature": id, "server": recheck.server, "result": word,
            "hits": recheck.hits, "runs": recheck.runs,
        })),
        // What it came to stands in the XML, after all.
        TriageFormat::Junit => Ok(()),
        TriageFormat::Human => output.line(&format!("{id}  {word:<9}  {}", printable(told))),
    }
}
