//! From what was typed to what is run.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};

use super::super::exit::{Exit, Failure};
use super::super::server::ServerArguments;
use super::super::value::{LevelArgument, Observe, oracles_named, registry};
use super::Arguments;
use crate::calibrate::CalibrationReport;
use crate::campaign::{self, Checkpoint, Generator, Settings, WorkloadShare};
use crate::dialect::Dialect;
use crate::engine::{Identity, Target};
use crate::generate::{GenerateOptions, LevelChoice};
use crate::grammar::Grammar;
use crate::model::IsolationLevel;
use crate::oracle::Oracle;
use crate::reproducer::Registry;

/// A run, validated.
pub(super) struct Plan {
    pub run_id: String,
    pub target: String,
    pub seed: u64,
    pub cases: Option<u64>,
    pub case: Option<u64>,
    pub time: Option<Duration>,
    pub workers: usize,
    pub out: PathBuf,
    pub isolation: LevelArgument,
    pub claim: Option<IsolationLevel>,
    pub oracles: Vec<&'static dyn Oracle>,
    pub observe: Option<Observe>,
    pub grammar: Option<PathBuf>,
    pub known: Option<PathBuf>,
    pub registry: Registry,
    pub doublecheck: bool,
    pub server: ServerArguments,
    pub checkpoint: Option<Checkpoint>,
}

impl Plan {
    /// Validates what was typed; of a resumed run, takes everything that decides its cases from
    /// its checkpoint.
    pub(super) fn of(
        arguments: Arguments,
        draw: impl Fn() -> Result<u64, Failure>,
    ) -> Result<Self, Failure> {
        let checkpoint = match &arguments.resume {
            Some(folder) => Some(read_checkpoint(folder)?),
            None => None,
        };
        match checkpoint {
            Some(checkpoint) => Self::resumed(arguments, checkpoint),
            None => Self::fresh(arguments, draw),
        }
    }

    fn fresh(
        arguments: Arguments,
        draw: impl Fn() -> Result<u64, Failure>,
    ) -> Result<Self, Failure> {
        let names = if arguments.oracle.is_empty() {
            vec!["txcheck".to_owned(), "serial".to_owned()]
        } else {
            arguments.oracle
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "eight hexadecimal digits are wanted"
        )]
        let run_number = draw()? as u32;
        Ok(Self {
            run_id: format!("{run_number:08x}"),
            target: arguments.target.unwrap_or_else(|| "sqlite:".to_owned()),
            // Short enough to be read out and typed again.
            seed: arguments
                .seed
                .map_or_else(|| draw().map(|seed| seed >> 24), Ok)?,
            cases: arguments.cases,
            case: arguments.case,
            time: arguments.time,
            workers: workers(arguments.workers)?,
            out: arguments.out,
            isolation: arguments.isolation.unwrap_or(LevelArgument::All),
            claim: arguments.claim,
            oracles: oracles_named(&names, arguments.observe),
            observe: arguments.observe,
            grammar: arguments.grammar,
            registry: registry(arguments.known.as_deref())?,
            known: arguments.known,
            doublecheck: arguments.doublecheck,
            server: arguments.server,
            checkpoint: None,
        })
    }

    fn resumed(arguments: Arguments, checkpoint: Checkpoint) -> Result<Self, Failure> {
        let settings = &checkpoint.settings;
        if settings.program != env!("CARGO_PKG_VERSION") {
            return Err(Failure::usage(format!(
                "the run was begun by rashomon {}, which may draw other cases than this one, {}: \
                 begin a new run",
                settings.program,
                env!("CARGO_PKG_VERSION")
            )));
        }
        let broken = |what: &str| Failure::usage(format!("the checkpoint's {what} is not known"));
        let parse_level = |text: &String| text.parse().map_err(|_| broken("claim"));
        let observe = match settings.observe.as_deref() {
            None => None,
            Some(word) => Some(Observe::from_word(word).ok_or_else(|| broken("learner"))?),
        };
        let mut server = arguments.server;
        server.or_dialect(settings.dialect.as_deref());
        let known = settings.known.as_ref().map(PathBuf::from);
        let folder = arguments.resume.unwrap_or_default();
        Ok(Self {
            run_id: settings.run_id.clone(),
            target: settings.target.clone(),
            seed: settings.seed,
            cases: arguments.cases.or(settings.cases),
            case: None,
            time: arguments.time,
            workers: workers(arguments.workers)?,
            out: output_of(&folder)?,
            isolation: settings
                .isolation
                .parse()
                .map_err(|_| broken("isolation level"))?,
            claim: settings.claim.as_ref().map(parse_level).transpose()?,
            oracles: oracles_named(&settings.oracles, observe),
            observe,
            grammar: settings.grammar.as_ref().map(PathBuf::from),
            registry: registry(known.as_deref())?,
            known,
            doublecheck: settings.doublecheck,
            server,
            checkpoint: Some(checkpoint),
        })
    }

    /// Refuses levels that the engine does not distinguish.
    pub(super) fn check_levels(&self, dialect: &Dialect) -> Result<(), Failure> {
        let asked = match self.isolation {
            LevelArgument::One(level) => Some(level),
            LevelArgument::All | LevelArgument::Mixed => None,
        };
        for level in asked.into_iter().chain(self.claim) {
            if !dialect.levels.contains(&level) {
                let levels: Vec<&str> = dialect.levels.iter().map(|level| level.slug()).collect();
                return Err(Failure::usage(format!(
                    "{} has no isolation level {}: it has {}",
                    dialect.engine,
                    level.slug(),
                    levels.join(", ")
                )));
            }
        }
        if let (LevelArgument::One(run), Some(claim)) = (self.isolation, self.claim)
            && claim < run
        {
            return Err(Failure::usage(format!(
                "--claim {} is weaker than --isolation {}: claim a level at least as strong",
                claim.slug(),
                run.slug()
            )));
        }
        Ok(())
    }

    /// What checkpoints and reproducers keep of the run.
    pub(super) fn settings(&self, identity: &Identity) -> Result<Settings, Failure> {
        let server = format!("{} {}", identity.engine, identity.version_text);
        if let Some(checkpoint) = &self.checkpoint
            && checkpoint.settings.server != server
        {
            return Err(Failure {
                exit: Exit::Refused,
                message: format!(
                    "refused for safety: the run was begun on {}, and this is {server}",
                    checkpoint.settings.server
                ),
            });
        }
        let target: Target = self.target.parse()?;
        Ok(Settings {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: self.run_id.clone(),
            target: target.to_string(),
            server,
            seed: self.seed,
            isolation: self.isolation.to_string(),
            claim: self.claim.map(|level| level.slug().to_owned()),
            oracles: self
                .oracles
                .iter()
                .map(|oracle| oracle.name().to_owned())
                .collect(),
            observe: self.observe.map(|observe| observe.word().to_owned()),
            cases: self.cases,
            grammar: self.grammar.as_ref().map(|path| path.display().to_string()),
            dialect: self.server.dialect().map(|path| path.display().to_string()),
            known: self.known.as_ref().map(|path| path.display().to_string()),
            doublecheck: self.doublecheck,
        })
    }

    /// Where the cases come from.
    pub(super) fn generator(&self, dialect: &Dialect) -> Result<Generator, Failure> {
        let options = GenerateOptions {
            levels: match self.isolation {
                LevelArgument::One(level) => LevelChoice::One(level),
                LevelArgument::All => LevelChoice::AnyOne,
                LevelArgument::Mixed => LevelChoice::Mixed,
            },
            claim: self.claim,
            ..GenerateOptions::default()
        };
        Ok(Generator {
            seed: self.seed,
            options,
            grammar: grammar(self.grammar.as_deref(), dialect)?,
            dialect: dialect.clone(),
            workloads: WorkloadShare::of(&self.oracles),
        })
    }
}

/// The grammar of a folder, or the built-in one.
pub(in crate::cli) fn grammar(
    folder: Option<&Path>,
    dialect: &Dialect,
) -> Result<Grammar, Failure> {
    let grammar = match folder {
        Some(folder) => Grammar::load(folder, &dialect.engine),
        None => Grammar::builtin(&dialect.engine),
    };
    grammar.map_err(|error| Failure::usage(error.to_string()))
}

fn workers(asked: u64) -> Result<usize, Failure> {
    // Each has up to seven connections; servers allow some 150 by default.
    match usize::try_from(asked) {
        Ok(workers) if workers <= 64 => Ok(workers),
        _ => Err(Failure::usage("--workers: at most 64")),
    }
}

fn read_checkpoint(folder: &Path) -> Result<Checkpoint, Failure> {
    campaign::read_checkpoint(folder).map_err(|error| Failure::usage(error.to_string()))
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
        .ok_or_else(|| Failure::usage(format!("{} is no run's folder", run_folder.display())))
}

/// Makes the folders of a run and proves that they take a file: better now than at the first
/// finding. The lock that is returned keeps other processes out of the run while it is held.
pub(super) fn prepare_output(out: &Path, run_id: &str) -> Result<File, Failure> {
    let folder = out.join("runs").join(run_id);
    let cannot = |error: std::io::Error| {
        Failure::environment(format!("cannot write to --out {}: {error}", out.display()))
    };
    std::fs::create_dir_all(&folder).map_err(cannot)?;
    let lock = File::create(folder.join("lock")).map_err(cannot)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Failure {
                exit: Exit::Refused,
                message: format!("another process works on the run in {}", folder.display()),
            });
        }
        Err(TryLockError::Error(error)) => return Err(cannot(error)),
    }
    campaign::sweep(&folder);
    let test = folder.join("writable");
    campaign::write_whole(&test, &[b'\n'; 4096])
        .and_then(|()| std::fs::remove_file(&test))
        .map_err(cannot)?;
    Ok(lock)
}

/// Records what the run was started with and what the server proved to be.
pub(super) fn record_start(
    out: &Path,
    settings: &Settings,
    identity: &Identity,
    calibration: &CalibrationReport,
) -> Result<(), Failure> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a record is stamped with the time it was made"
    )]
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let record = json!({
        "v": 1,
        "settings": settings,
        "started_unix_s": now,
        "server": {
            "engine": identity.engine,
            "version": identity.version_text,
            "variables": identity.variables,
        },
        "calibration": calibration_record(calibration),
    });
    let path = out.join("runs").join(&settings.run_id).join("run.json");
    campaign::write_whole(&path, format!("{record:#}\n").as_bytes())
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}

fn calibration_record(calibration: &CalibrationReport) -> Json {
    let entries: Vec<Json> = calibration
        .entries
        .iter()
        .map(|entry| {
            json!({
                "subject": entry.subject,
                "form": entry.form,
                "file": entry.claimed,
                "server": entry.measured,
                "judgement": format!("{:?}", entry.judgement),
            })
        })
        .collect();
    let (right, wrong, idle) = calibration.counts();
    json!({ "right": right, "wrong": wrong, "does_not_apply": idle, "entries": entries })
}

/// Refuses to go on with a dialect file that is wrong about the server: every oracle trusts it.
pub(super) fn check_calibration(
    calibration: &CalibrationReport,
    settings: &Settings,
) -> Result<(), Failure> {
    if calibration.is_right() {
        return Ok(());
    }
    let wrong: Vec<String> = calibration
        .wrong()
        .map(|entry| {
            format!(
                "\n  {} [{}]: the file says {}, the server does {}",
                entry.subject, entry.form, entry.claimed, entry.measured
            )
        })
        .collect();
    Err(Failure::usage(format!(
        "the dialect file is wrong about {}:{}\nCorrect the file, or give another with --dialect; \
         `rashomon calibrate` shows every entry",
        settings.server,
        wrong.concat()
    )))
}
