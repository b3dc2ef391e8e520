//! The settings of a run: one type that decides its cases, bounds it, and says where it writes.
//!
//! `cli` makes it of what was typed, or of a checkpoint by [`SettingsRecord::restore`].

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::Target;
use crate::execute::RestartCommand;
use crate::generate::{GenerateOptions, LevelChoice};
use crate::model::IsolationLevel;
use crate::observe::Learner;

/// More workers than this exceed the connections that a server allows by default (some 150): each
/// worker has up to seven.
const WORKERS_MAX: usize = 64;

/// The version of this program: another one may draw other cases from the same seed.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Which cases a run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cases {
    /// From the first to this number of cases, over all sittings; without end where there is none.
    Count(Option<u64>),
    /// The case of this index alone.
    Only(u64),
}

impl Cases {
    /// Whether every one is done, by the lowest index that is not and the number of cases judged.
    pub fn are_done(self, next_index: u64, judged: u64) -> bool {
        match self {
            Self::Count(cases) => cases.is_some_and(|cases| next_index >= cases),
            Self::Only(_) => judged > 0,
        }
    }
}

/// Everything a run was asked for. A run and its resumption draw the same cases because the first
/// ten fields are kept in every checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSettings {
    /// Eight hexadecimal digits: in the names of the run's folder and of its databases.
    pub run_id: String,
    pub target: Target,
    /// Decides the cases, with their index.
    pub seed: u64,
    pub cases: Cases,
    /// Isolation levels of the sessions.
    pub levels: LevelChoice,
    /// The stronger level by which cases are judged.
    pub claim: Option<IsolationLevel>,
    /// Names of the oracles, in the order of [`crate::oracle::ORACLES`].
    pub oracles: Vec<String>,
    /// How txcheck and troc learn what statements saw, where that was asked for.
    pub learner: Option<Learner>,
    /// Folder of grammar files, instead of the built-in ones.
    pub grammar: Option<PathBuf>,
    /// Dialect file, instead of the built-in one.
    pub dialect: Option<PathBuf>,
    /// Registry of known behaviour, before the built-in one.
    pub known: Option<PathBuf>,
    /// Whether each scheduled case that shows nothing is run twice more, to compare the two runs.
    pub doublecheck: bool,
    /// A second server that runs the same cases.
    pub against: Option<Target>,
    /// From 1 to 64, each with databases and sessions of its own.
    pub workers: usize,
    /// Length of this sitting.
    pub time: Option<Duration>,
    /// Runs that must all show a violation before it counts, and as many of its minimized case.
    pub confirmations: u32,
    /// How long a lost server is waited for before the run is given up.
    pub patience: Duration,
    /// Kills the server and starts it again, for the oracle that judges what is left. No record keeps it:
    /// it may name secrets.
    pub restart_command: Option<String>,
    /// The server is judged as if its settings promised that commits survive a crash.
    pub claim_durable: bool,
    /// Folder of the reproducers.
    pub out: PathBuf,
}

/// Why settings make no run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("--workers {0}: at most {WORKERS_MAX}, for each has up to seven connections")]
    Workers(usize),
    #[error(
        "--claim {} is weaker than --isolation {}: claim a level at least as strong",
        claim.slug(),
        level.slug()
    )]
    WeakerClaim {
        claim: IsolationLevel,
        level: IsolationLevel,
    },
    #[error(
        "the run was begun by rashomon {0}, which may draw other cases than this one, {PROGRAM}: \
         begin a new run"
    )]
    OtherProgram(String),
    #[error("the checkpoint's {field} {value:?} is not known: begin a new run")]
    Unknown { field: &'static str, value: String },
}

impl RunSettings {
    /// Checks what can be checked without a server.
    ///
    /// # Errors
    /// When there are too many workers, or the claim is weaker than what is run.
    pub fn validated(self) -> Result<Self, SettingsError> {
        if self.workers > WORKERS_MAX {
            return Err(SettingsError::Workers(self.workers));
        }
        if let (LevelChoice::One(level), Some(claim)) = (self.levels, self.claim)
            && claim < level
        {
            return Err(SettingsError::WeakerClaim { claim, level });
        }
        Ok(self)
    }

    /// The run's own records: checkpoints, suspects, findings that are not minimized yet.
    pub fn folder(&self) -> PathBuf {
        self.out.join("runs").join(&self.run_id)
    }

    /// How the server is killed and started again, where that was said.
    pub fn restart(&self) -> Option<RestartCommand> {
        let command = self.restart_command.clone()?;
        Some(RestartCommand {
            command,
            patience: self.patience,
        })
    }

    /// What the generator is asked for.
    pub fn generate_options(&self) -> GenerateOptions {
        GenerateOptions {
            levels: self.levels,
            claim: self.claim,
            ..GenerateOptions::default()
        }
    }
}

/// The settings as checkpoints, `run.json` and sidecars of reproducers spell them.
///
/// The format's own type: a field of [`RunSettings`] may be renamed without changing a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsRecord {
    /// The program's version: another one may draw other cases.
    pub program: String,
    pub run_id: String,
    /// The TARGET, without its password.
    pub target: String,
    /// Decides the cases, with their index.
    pub seed: u64,
    /// As the command line spells them.
    pub isolation: String,
    /// The level by which cases are judged, where it is stronger.
    pub claim: Option<String>,
    /// Their names.
    pub oracles: Vec<String>,
    /// `probes` or `observer`, where that was asked for.
    pub observe: Option<String>,
    /// Number of cases of the whole run, where there is an end.
    pub cases: Option<u64>,
    /// The index of the only case.
    pub case: Option<u64>,
    /// Path of the folder, as it was given.
    pub grammar: Option<String>,
    /// Path of the file, as it was given.
    pub dialect: Option<String>,
    /// Path of the file, as it was given.
    pub known: Option<String>,
    pub doublecheck: bool,
    /// The TARGET of the second server, without its password.
    #[serde(default)]
    pub against: Option<String>,
    /// From 1 to 64, each with databases and sessions of its own.
    pub workers: usize,
    /// Runs that must all show a violation.
    pub confirmations: u32,
    /// In seconds.
    pub patience_s: u64,
    /// The server is judged as if it promised that commits survive a crash.
    #[serde(default)]
    pub claim_durable: bool,
}

impl From<&RunSettings> for SettingsRecord {
    fn from(settings: &RunSettings) -> Self {
        let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let (cases, case) = match settings.cases {
            Cases::Count(cases) => (cases, None),
            Cases::Only(index) => (None, Some(index)),
        };
        Self {
            program: PROGRAM.to_owned(),
            run_id: settings.run_id.clone(),
            target: settings.target.to_string(),
            seed: settings.seed,
            isolation: settings.levels.to_string(),
            claim: settings.claim.map(|level| level.slug().to_owned()),
            oracles: settings.oracles.clone(),
            observe: settings.learner.map(|learner| learner.slug().to_owned()),
            cases,
            case,
            grammar: shown(&settings.grammar),
            dialect: shown(&settings.dialect),
            known: shown(&settings.known),
            doublecheck: settings.doublecheck,
            against: settings.against.as_ref().map(Target::to_string),
            workers: settings.workers,
            confirmations: settings.confirmations,
            patience_s: settings.patience.as_secs(),
            claim_durable: settings.claim_durable,
        }
    }
}

impl SettingsRecord {
    /// Which cases the run is about.
    pub fn which_cases(&self) -> Cases {
        self.case.map_or(Cases::Count(self.cases), Cases::Only)
    }

    /// The settings of a run that goes on in this output folder, as it was begun; without a limit
    /// of time, which belongs to a sitting.
    ///
    /// # Errors
    /// When another version of the program wrote them, or a value has no meaning to this one.
    pub fn restore(self, out: PathBuf) -> Result<RunSettings, SettingsError> {
        if self.program != PROGRAM {
            return Err(SettingsError::OtherProgram(self.program));
        }
        let unknown = |field, value: &str| SettingsError::Unknown {
            field,
            value: value.to_owned(),
        };
        let claim = self.claim.as_deref().map(|text| {
            let level = text.parse::<IsolationLevel>();
            level.map_err(|_| unknown("claim", text))
        });
        let learner = self.observe.as_deref().map(|text| {
            let learner = text.parse::<Learner>();
            learner.map_err(|_| unknown("learner", text))
        });
        let levels = self.isolation.parse::<LevelChoice>();
        let target = self.target.parse::<Target>();
        let against = self.against.as_deref().map(|text| {
            let against = text.parse::<Target>();
            against.map_err(|_| unknown("second target", text))
        });
        let cases = self.which_cases();
        RunSettings {
            run_id: self.run_id,
            target: target.map_err(|_| unknown("target", &self.target))?,
            seed: self.seed,
            cases,
            levels: levels.map_err(|_| unknown("isolation level", &self.isolation))?,
            claim: claim.transpose()?,
            oracles: self.oracles,
            learner: learner.transpose()?,
            grammar: self.grammar.map(PathBuf::from),
            dialect: self.dialect.map(PathBuf::from),
            known: self.known.map(PathBuf::from),
            doublecheck: self.doublecheck,
            against: against.transpose()?,
            workers: self.workers,
            time: None,
            confirmations: self.confirmations,
            patience: Duration::from_secs(self.patience_s),
            restart_command: None,
            claim_durable: self.claim_durable,
            out,
        }
        .validated()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> RunSettings {
        RunSettings {
            run_id: "0123abcd".to_owned(),
            target: "mysql://root@localhost:3307?socket=/run/a%26b.sock"
                .parse()
                .expect("a target"),
            seed: 7,
            cases: Cases::Count(Some(12)),
            levels: LevelChoice::One(IsolationLevel::ReadCommitted),
            claim: Some(IsolationLevel::Serializable),
            oracles: vec!["serial".to_owned()],
            learner: Some(Learner::Probes),
            grammar: Some("grammar".into()),
            dialect: None,
            known: Some("known.toml".into()),
            doublecheck: true,
            against: Some("mysql://root@localhost:3308".parse().expect("a target")),
            workers: 3,
            time: None,
            confirmations: 3,
            patience: Duration::from_secs(600),
            restart_command: None,
            claim_durable: true,
            out: "found".into(),
        }
    }

    #[test]
    fn settings_survive_their_record() {
        for cases in [Cases::Count(None), Cases::Count(Some(12)), Cases::Only(12)] {
            for levels in [LevelChoice::Mixed, LevelChoice::AnyOne, settings().levels] {
                let settings = RunSettings {
                    cases,
                    levels,
                    ..settings()
                };
                let text = serde_json::to_string(&SettingsRecord::from(&settings));
                let record: SettingsRecord =
                    serde_json::from_str(&text.expect("it is written")).expect("it is read");
                assert_eq!(record.restore(settings.out.clone()), Ok(settings));
            }
        }
    }

    #[test]
    fn a_password_is_not_recorded() {
        let target = "mysql://root:s3cret@localhost".parse().expect("a target");
        let settings = RunSettings {
            target,
            ..settings()
        };
        let text = format!("{:?}", SettingsRecord::from(&settings));
        assert!(!text.contains("s3cret"), "{text}");
        assert!(!format!("{settings:?}").contains("s3cret"));
    }

    #[test]
    fn settings_that_make_no_run_are_refused() {
        let workers = RunSettings {
            workers: 65,
            ..settings()
        };
        assert_eq!(workers.validated(), Err(SettingsError::Workers(65)));
        let claim = RunSettings {
            levels: LevelChoice::One(IsolationLevel::Serializable),
            claim: Some(IsolationLevel::ReadCommitted),
            ..settings()
        };
        let error = claim.validated().expect_err("it is weaker").to_string();
        assert!(error.contains("weaker"), "{error}");
    }

    #[test]
    fn a_record_of_another_program_or_with_unknown_words_is_refused_by_name() {
        let record = || SettingsRecord::from(&settings());
        let refused = |record: SettingsRecord| {
            let error = record.restore("found".into()).expect_err("it is refused");
            error.to_string()
        };
        let other = SettingsRecord {
            program: "0.0.1".to_owned(),
            ..record()
        };
        assert!(refused(other).contains("0.0.1"));
        let unknown = SettingsRecord {
            isolation: "snapshot".to_owned(),
            ..record()
        };
        assert!(refused(unknown).contains("isolation level \"snapshot\""));
    }
}
