//! Scripted engines, oracles and listeners: what a run needs, and nothing behind it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use rashomon::campaign::{
    Activity, Announcement, CaseSource, Cases, Drawn, Listener, Parts, RunEvent, RunSettings,
    Statistics, StopFlag, Workplace,
};
use rashomon::dialect::{self, Dialect};
use rashomon::engine::{EngineError, Identity};
use rashomon::execute::{Executor, Instrumentation, Interrupted, SerialRun};
use rashomon::generate::LevelChoice;
use rashomon::model::{
    Effect, Execution, Finding, FindingKind, IsolationLevel, Pace, SessionId, Signature,
    StatementId, StatementKind, TestCase, UndecidedReason, Verdict,
};
use rashomon::oracle::{Evidence, Needs, Oracle, Ruling};
use rashomon::reproducer::Registry;

use crate::lying::id;

/// One session that selects the number of its case: all that scripted engines and oracles need.
pub(crate) struct Numbered;

impl CaseSource for Numbered {
    fn case(&self, index: u64) -> Drawn {
        let line = (
            SessionId(1),
            format!("SELECT {index}"),
            Effect::of_kind(StatementKind::Select),
        );
        let levels = [(SessionId(1), IsolationLevel::Serializable)].into();
        Drawn {
            case: TestCase::new(Vec::new(), Vec::new(), vec![line], levels, None),
            productions: BTreeMap::new(),
        }
    }
}

/// The same, and whoever draws this case stops the run: what a listener stops by the numbers of finished cases may have
/// ended before it is told.
pub(crate) struct StopsTheRun {
    pub(crate) at: u64,
    pub(crate) stop: StopFlag,
}

impl CaseSource for StopsTheRun {
    fn case(&self, index: u64) -> Drawn {
        if index == self.at {
            self.stop.time_over();
        }
        Numbered.case(index)
    }
}

/// The number of a case of [`Numbered`].
fn number_of(case: &TestCase) -> Option<u64> {
    let sql = &case.statements.first()?.sql;
    sql.trim_start_matches("SELECT ").parse().ok()
}

pub(crate) fn sqlite_dialect() -> Arc<Dialect> {
    let text = dialect::builtin("sqlite").expect("a file");
    let version = "3.50".parse().expect("a version");
    Arc::new(dialect::parse("sqlite", text, &version).expect("it parses"))
}

/// An engine that answers everything, but is lost in some cases.
pub(crate) struct ScriptedEngine {
    dialect: Arc<Dialect>,
    /// How often the server is still lost, by case.
    losses: BTreeMap<u64, AtomicU32>,
}

struct ScriptedExecutor<'a> {
    engine: &'a ScriptedEngine,
    interrupted: Option<Interrupted>,
}

impl Executor for ScriptedExecutor<'_> {
    fn execute(&mut self, case: &TestCase, _: &Instrumentation) -> Result<Execution, EngineError> {
        // A case of the generator has no number, and the server is not lost in it.
        let left = number_of(case).and_then(|index| self.engine.losses.get(&index));
        if !left.is_some_and(take_one) {
            return Ok(Execution {
                statements_sent: 1,
                ..Execution::default()
            });
        }
        let (interrupted, error) = lost_at(id(1, 1), &case.statements[0].sql);
        self.interrupted = Some(interrupted);
        Err(error)
    }

    fn serial(&mut self, _: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        Err(EngineError::Target(
            "the scripted engine runs nothing serially".to_owned(),
        ))
    }

    fn dialect(&self) -> &Arc<Dialect> {
        &self.engine.dialect
    }

    fn interrupted(&self) -> Option<&Interrupted> {
        self.interrupted.as_ref()
    }
}

impl Workplace for ScriptedEngine {
    fn work(
        &self,
        _: usize,
        job: &mut dyn FnMut(&mut dyn Executor) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        job(&mut ScriptedExecutor {
            engine: self,
            interrupted: None,
        })
    }
}

/// Takes one of what is left; whether there was one.
pub(crate) fn take_one(left: &AtomicU32) -> bool {
    let less = |left: u32| left.checked_sub(1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        .is_ok()
}

/// What an executor keeps of a run in which the server was lost at a statement, and the error.
pub(crate) fn lost_at(statement: StatementId, sql: &str) -> (Interrupted, EngineError) {
    let interrupted = Interrupted {
        statement: Some(statement),
        execution: Execution::default(),
    };
    let error = EngineError::ConnectionLost {
        engine: "scripted",
        sql: sql.to_owned(),
        cause: "reset by peer".to_owned(),
    };
    (interrupted, error)
}

/// The error of a server that is away.
pub(crate) fn refused() -> EngineError {
    EngineError::Connect {
        engine: "scripted",
        address: "nowhere".to_owned(),
        cause: "refused".to_owned(),
    }
}

/// What scripted oracles need: a run.
pub(crate) const ANY_RUN: Needs = Needs::answers(Pace::Scheduled);

/// Agrees to every case.
pub(crate) struct Content;

impl Oracle for Content {
    fn name(&self) -> &'static str {
        "serial"
    }

    fn about(&self) -> &'static str {
        "always content"
    }

    fn needs(&self) -> Needs {
        ANY_RUN
    }

    fn excludes(&self, _: &TestCase, _: &Dialect) -> Option<UndecidedReason> {
        None
    }

    fn judge(&self, _: &Evidence, _: &mut dyn SerialRun) -> Result<Ruling, EngineError> {
        Ok(Ruling::bare(Verdict::Agree))
    }
}

/// Judges by the number of the case: see [`Scripted::judge`].
struct Scripted;

thread_local! {
    /// Looks at a flaky case by this worker: of other runs under way nothing is counted.
    static FLAKY_LOOKS: Cell<u32> = const { Cell::new(0) };
}

impl Oracle for Scripted {
    fn name(&self) -> &'static str {
        "serial"
    }

    fn about(&self) -> &'static str {
        "by the number of the case"
    }

    fn needs(&self) -> Needs {
        ANY_RUN
    }

    fn excludes(&self, _: &TestCase, _: &Dialect) -> Option<UndecidedReason> {
        None
    }

    fn judge(&self, evidence: &Evidence, _: &mut dyn SerialRun) -> Result<Ruling, EngineError> {
        let case = &evidence.case;
        let number = number_of(case).expect("a number");
        let verdict = match number % 100 {
            97 => violation("always"),
            // Every second look: never three times in a row.
            98 if FLAKY_LOOKS.replace(FLAKY_LOOKS.get() + 1).is_multiple_of(2) => {
                violation("flaky")
            }
            99 => Verdict::Known("SCRIPT-1".to_owned()),
            n if n % 10 == 5 => Verdict::Undecided(UndecidedReason::NothingRan),
            _ => Verdict::Agree,
        };
        let tested = case
            .statements
            .iter()
            .map(|statement| statement.id)
            .collect();
        Ok(Ruling {
            tested,
            ..Ruling::bare(verdict)
        })
    }
}

pub(crate) fn violation(feature: &str) -> Verdict {
    Verdict::Violation(Box::new(Finding {
        signature: Signature::new(
            "serial",
            FindingKind::NotSerializable,
            vec!["serializable".to_owned()],
            vec![feature.to_owned()],
        ),
        headline: "the script says so".to_owned(),
        differences: Vec::new(),
        explanation: Vec::new(),
    }))
}

/// Keeps what it is told, and looks at once whether what is announced is on disk.
#[derive(Default)]
pub(crate) struct Witness {
    pub(crate) findings: Vec<Announcement>,
    pub(crate) flaky: Vec<Announcement>,
    pub(crate) losses: usize,
    pub(crate) activities: Vec<Activity>,
    /// The run is stopped when its server is lost.
    pub(crate) stop_at_loss: Option<StopFlag>,
    /// Canaries that were not heard.
    pub(crate) unheard: usize,
    /// Gets a word when the run says that it waits for cases under way.
    pub(crate) told_of_waiting: Option<Sender<()>>,
}

impl Listener for Witness {
    fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Finding(found) => {
                assert!(
                    found.path.exists(),
                    "{:?} was announced before it was there",
                    found.path
                );
                assert!(found.path.with_extension("json").exists());
                self.findings.push(found.clone());
            }
            RunEvent::Flaky(found) => {
                assert!(found.path.exists());
                self.flaky.push(found.clone());
            }
            RunEvent::Stopping(_) => {
                let told = self.told_of_waiting.take().expect("it is said once");
                told.send(()).expect("a case waits for it");
            }
            RunEvent::CanaryUnheard { .. } => self.unheard += 1,
            RunEvent::ServerLost { .. } => {
                self.losses += 1;
                if let Some(stop) = &self.stop_at_loss {
                    stop.time_over();
                }
            }
            RunEvent::Smaller(_)
            | RunEvent::ServerBack { .. }
            | RunEvent::Unstable { .. }
            | RunEvent::Differs { .. }
            | RunEvent::Trouble(_) => {}
        }
    }

    fn activities(&mut self, activities: &[Activity]) {
        self.activities = activities.to_vec();
    }

    fn tick(&mut self, _: &Statistics, _: usize, _: Duration) {}
}

pub(crate) fn settings(out: &Path, cases: u64, workers: usize) -> RunSettings {
    let settings = RunSettings {
        run_id: "feedface".to_owned(),
        target: "sqlite:".parse().expect("a target"),
        seed: 1,
        cases: Cases::Count(Some(cases)),
        levels: LevelChoice::AnyOne,
        claim: None,
        oracles: vec!["serial".to_owned()],
        learner: None,
        grammar: None,
        dialect: None,
        known: None,
        doublecheck: false,
        against: None,
        workers,
        time: None,
        confirmations: 3,
        patience: Duration::from_secs(5),
        restart_command: None,
        claim_durable: false,
        out: out.to_owned(),
    };
    std::fs::create_dir_all(settings.folder()).expect("the folder is made");
    settings
}

pub(crate) fn scripted_engine(losses: &[(u64, u32)]) -> ScriptedEngine {
    ScriptedEngine {
        dialect: sqlite_dialect(),
        losses: losses
            .iter()
            .map(|(index, times)| (*index, AtomicU32::new(*times)))
            .collect(),
    }
}

pub(crate) fn parts(losses: &[(u64, u32)]) -> Parts {
    Parts {
        workplace: Arc::new(scripted_engine(losses)),
        cases: Arc::new(Numbered),
        oracles: vec![&Scripted],
        registry: Registry::default(),
        identity: Identity {
            engine: "scripted".to_owned(),
            version_text: "1".to_owned(),
            version: "1".parse().expect("a version"),
            variables: BTreeMap::new(),
            session_setup: vec!["SET sql_mode = ''".to_owned()],
            isolation_setup: BTreeMap::new(),
        },
        counterpart: None,
        canary: None,
    }
}
