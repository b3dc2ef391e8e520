//! From what was typed to the settings of a run.

use std::path::{Path, PathBuf};

use super::arguments::FuzzArguments;
use super::recovery;
use crate::campaign::{
    self, Cases, Checkpoint, CheckpointError, RunSettings, SettingsError, SettingsRecord,
};
use crate::cli::exit::{Exit, Failure};
use crate::cli::value::oracles_named;
use crate::dialect::Dialect;
use crate::engine::{Identity, Target};
use crate::generate::LevelChoice;

/// How long a lost server is waited for before the run is given up.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(600);

/// Runs that must show a violation before it counts.
const CONFIRMATIONS: u32 = 3;

/// The settings of a run, and the checkpoint that it goes on from.
pub(super) type Planned = (RunSettings, Option<Checkpoint>);

/// Makes a run of what was typed; of a resumed run, takes everything that decides its cases from
/// its checkpoint.
///
/// # Errors
/// When what was typed makes no run, or there is no checkpoint to go on from.
pub(super) fn plan(
    arguments: &FuzzArguments,
    draw: impl Fn() -> Result<u64, Failure>,
) -> Result<Planned, Failure> {
    match &arguments.resume {
        Some(folder) => {
            let checkpoint = campaign::read_checkpoint(folder)?;
            let record = checkpoint.settings.clone();
            let settings = resumed(arguments, record, output_of(folder)?)?;
            Ok((settings, Some(checkpoint)))
        }
        None => Ok((fresh(arguments, draw)?, None)),
    }
}

fn fresh(
    arguments: &FuzzArguments,
    draw: impl Fn() -> Result<u64, Failure>,
) -> Result<RunSettings, Failure> {
    let oracles = oracles_named(&arguments.oracle, arguments.observe);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "eight hexadecimal digits are wanted"
    )]
    let run_number = draw()? as u32;
    let settings = RunSettings {
        run_id: format!("{run_number:08x}"),
        target: arguments.target.as_deref().unwrap_or("sqlite:").parse()?,
        // Short enough to be read out and typed again.
        seed: match arguments.seed {
            Some(seed) => seed.seed,
            None => draw()? >> 24,
        },
        cases: cases(arguments)?,
        levels: arguments.isolation.unwrap_or(LevelChoice::AnyOne),
        claim: arguments.claim,
        oracles: oracles.iter().map(|o| o.name().to_owned()).collect(),
        learner: arguments.observe,
        grammar: arguments.grammar.clone(),
        dialect: arguments.server.dialect().map(Path::to_owned),
        known: arguments.known.clone(),
        doublecheck: arguments.doublecheck,
        against: second_target(arguments)?,
        workers: arguments.workers.unwrap_or(1),
        time: arguments.time,
        confirmations: CONFIRMATIONS,
        patience: arguments.wait_for_server.unwrap_or(PATIENCE),
        restart_command: arguments.restart_command.clone(),
        claim_durable: arguments.claim_durable,
        out: arguments.out.clone(),
    };
    recovery::check_settings(&settings)?;
    Ok(settings.validated()?)
}

/// The target of `--against`.
fn second_target(arguments: &FuzzArguments) -> Result<Option<Target>, Failure> {
    let parsed = arguments.against.as_deref().map(str::parse::<Target>);
    parsed
        .transpose()
        .map_err(|error| Failure::from(error).about("--against"))
}

/// Which cases a fresh run is about.
fn cases(arguments: &FuzzArguments) -> Result<Cases, Failure> {
    let index = arguments.seed.and_then(|seed| seed.index);
    match (index, arguments.case, arguments.cases) {
        (Some(index), None, None) => Ok(Cases::Only(index)),
        (Some(index), case, _) => {
            let other = if case.is_some() { "--case" } else { "--cases" };
            Err(Failure::usage(format!(
                "--seed SEED:{index} means case {index} alone: leave out {other}, or give --seed \
                 the number before the colon"
            )))
        }
        (None, Some(index), _) => Ok(Cases::Only(index)),
        (None, None, cases) => Ok(Cases::Count(cases)),
    }
}

fn resumed(
    arguments: &FuzzArguments,
    record: SettingsRecord,
    out: PathBuf,
) -> Result<RunSettings, Failure> {
    let begun = record.restore(out)?;
    let target = match &arguments.target {
        Some(named) => same_target(&begun.target, named.parse()?)?,
        None => begun.target,
    };
    let against = match (begun.against, second_target(arguments)?) {
        (Some(begun), Some(named)) => Some(same_target(&begun, named)?),
        (None, Some(_)) => {
            return Err(Failure::usage(
                "the run was begun without --against: begin a new run".to_owned(),
            ));
        }
        (begun, None) => begun,
    };
    let cases = match (begun.cases, arguments.cases) {
        (Cases::Only(index), Some(_)) => {
            return Err(Failure::usage(format!(
                "the run is of case {index} alone: leave out --cases"
            )));
        }
        (Cases::Count(_), Some(cases)) => Cases::Count(Some(cases)),
        (begun, None) => begun,
    };
    let settings = RunSettings {
        target,
        against,
        cases,
        workers: arguments.workers.unwrap_or(begun.workers),
        time: arguments.time,
        patience: arguments.wait_for_server.unwrap_or(begun.patience),
        restart_command: arguments.restart_command.clone(),
        ..begun
    };
    recovery::check_settings(&settings)?;
    Ok(settings.validated()?)
}

/// The target as it was named again, maybe with a password, which no checkpoint keeps.
fn same_target(begun: &Target, named: Target) -> Result<Target, Failure> {
    if begun.to_string() == named.to_string() {
        return Ok(named);
    }
    Err(Failure::usage(format!(
        "the run was begun on {begun}, and {named} is another target: leave it out, or begin a new \
         run there without --resume"
    )))
}

/// Refuses levels that the engine does not distinguish.
pub(super) fn check_levels(settings: &RunSettings, dialect: &Dialect) -> Result<(), Failure> {
    let asked = match settings.levels {
        LevelChoice::One(level) => Some(level),
        LevelChoice::AnyOne | LevelChoice::Mixed => None,
    };
    let mut asked = asked.into_iter().chain(settings.claim);
    let Some(level) = asked.find(|level| !dialect.levels.contains(level)) else {
        return Ok(());
    };
    let levels: Vec<&str> = dialect.levels.iter().map(|level| level.slug()).collect();
    Err(Failure::usage(format!(
        "{} has no isolation level {}: it has {}",
        dialect.engine,
        level.slug(),
        levels.join(", ")
    )))
}

/// Refuses to go on with a run on another server than it was begun on.
pub(super) fn check_server(
    checkpoint: Option<&Checkpoint>,
    identity: &Identity,
) -> Result<(), Failure> {
    let server = identity.in_full();
    match checkpoint.map(|checkpoint| &checkpoint.server) {
        Some(begun) if *begun != server => Err(Failure {
            exit: Exit::Refused,
            message: format!(
                "refused for safety: the run was begun on {begun}, and this is {server}"
            ),
        }),
        _ => Ok(()),
    }
}

/// The output folder of a run's folder: two up.
fn output_of(run_folder: &Path) -> Result<PathBuf, Failure> {
    let absolute = std::path::absolute(run_folder).unwrap_or_else(|_| run_folder.to_owned());
    let named = run_folder
        .parent()
        .and_then(Path::parent)
        .filter(|p| !p.as_os_str().is_empty());
    named
        .or_else(|| absolute.parent().and_then(Path::parent))
        .map(Path::to_owned)
        .ok_or_else(|| {
            Failure::usage(format!(
                "{} is not the folder of a run",
                run_folder.display()
            ))
        })
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        match &error {
            CheckpointError::Write { .. } => Self::environment(error.to_string()),
            CheckpointError::Missing { .. } | CheckpointError::OtherFormat { .. } => {
                Self::usage(error.to_string())
            }
        }
    }
}
