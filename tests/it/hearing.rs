//! One case before its oracles: how often it runs, who judges which run, and one verdict wherever a
//! case is asked about.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rashomon::campaign::{self, StopFlag};
use rashomon::dialect::{Dialect, ObserverKind};
use rashomon::engine::{EngineError, Server};
use rashomon::execute::{Driver, Executor, Instrumentation, SerialRun};
use rashomon::model::{
    Execution, FindingKind, IsolationLevel, Outcome, Row, TestCase, UndecidedReason, Verdict,
};
use rashomon::observe::Learner;
use rashomon::oracle::{
    Evidence, Explained, Explains, Heard, Hearing, Needs, ORACLES, Oracle, Ruling, SerialOracle,
    TxCheck, hear,
};
use rashomon::replay::{self, EXPECTATION, ReplayOptions};
use rashomon::reproducer::{self, CaseFile, Registry};

use crate::execute::{On, case, server};
use crate::minimize::PATIENT;

const OBSERVER: TxCheck = TxCheck {
    learner: Learner::Observer,
};

const PROBES: TxCheck = TxCheck {
    learner: Learner::Probes,
};

const TWO_WRITERS: &str = "
    init: CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INTEGER)
    init: INSERT INTO t (pkey, vkey) VALUES (1, 1), (2, 2)
    s1: BEGIN
    s1: UPDATE t SET vkey = 1000 WHERE pkey = 1
    s1: COMMIT
    s2: SELECT pkey, vkey FROM t
    s2: UPDATE t SET vkey = 1001 WHERE pkey = 2
";

/// An executor that notes every interleaved run.
struct Noting<'e> {
    inner: &'e mut dyn Executor,
    dialect: Arc<Dialect>,
    runs: Vec<Instrumentation>,
    /// Another session disturbs each serial run for so long.
    disturbed: Duration,
}

impl<'e> Noting<'e> {
    fn new(inner: &'e mut dyn Executor) -> Self {
        Self {
            dialect: Arc::clone(inner.dialect()),
            inner,
            runs: Vec::new(),
            disturbed: Duration::ZERO,
        }
    }
}

impl Executor for Noting<'_> {
    fn execute(
        &mut self,
        case: &TestCase,
        instrumentation: &Instrumentation,
    ) -> Result<Execution, EngineError> {
        self.runs.push(instrumentation.clone());
        self.inner.execute(case, instrumentation)
    }

    fn serial(&mut self, case: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        Ok(Box::new(Forgetful {
            inner: self.inner.serial(case)?,
            left: 0,
            disturbed: self.disturbed,
        }))
    }

    fn dialect(&self) -> &Arc<Dialect> {
        &self.dialect
    }
}

/// Runs something on an executor for SQLite.
fn on_sqlite<T>(work: impl FnOnce(&dyn Server, &mut Driver<'_>) -> T) -> T {
    let server = server("hearing", On::Sqlite).expect("it comes with the program");
    let mut driver = Driver::open(&*server, "rashomon_it_hearing").expect("a driver");
    let result = work(&*server, &mut driver);
    driver.close().expect("the database goes");
    result
}

/// Hears a script on SQLite, and says with which instrumentations it ran.
fn heard(script: &str, oracles: &[&dyn Oracle]) -> (Hearing, Vec<Instrumentation>) {
    on_sqlite(|server, driver| {
        let case = case(server, IsolationLevel::Serializable, script);
        let mut noting = Noting::new(driver);
        let hearing = hear(&case, &mut noting, oracles).expect("an answer");
        (hearing, noting.runs)
    })
}

fn words(hearing: &Hearing) -> Vec<(&str, &str, usize)> {
    let rulings = hearing.rulings.iter();
    rulings
        .map(|heard| (heard.oracle, heard.ruling.verdict.word(), heard.run))
        .collect()
}

#[test]
fn oracles_that_need_the_same_sessions_judge_one_run() {
    let (hearing, runs) = heard(TWO_WRITERS, &[&SerialOracle, &OBSERVER]);
    assert_eq!(runs.len(), 1);
    assert_eq!(
        words(&hearing),
        [("serial", "agree", 0), ("txcheck", "agree", 0)]
    );
}

#[test]
fn an_oracle_that_adds_to_the_sessions_has_a_run_of_its_own() {
    let (hearing, runs) = heard(TWO_WRITERS, &[&SerialOracle, &PROBES]);
    assert_eq!(runs.len(), 2);
    assert!(!runs[0].leaves_sessions() && runs[1].leaves_sessions());
    assert_eq!(
        words(&hearing),
        [("serial", "agree", 1), ("txcheck", "agree", 0)]
    );
}

#[test]
fn where_nothing_reads_beside_the_sessions_probes_stand_in_for_the_observer() {
    on_sqlite(|server, driver| {
        let case = case(server, IsolationLevel::Serializable, TWO_WRITERS);
        let mut noting = Noting::new(driver);
        let mut blind = Dialect::clone(&noting.dialect);
        blind.observer = ObserverKind::Absent;
        noting.dialect = Arc::new(blind);
        let hearing = hear(&case, &mut noting, &[&OBSERVER]).expect("an answer");
        assert_eq!(words(&hearing), [("txcheck", "agree", 0)]);
        assert!(noting.runs.iter().all(|run| run.observe.is_empty()));
        assert!(!noting.runs[0].before.is_empty());
    });
}

/// A new oracle is this, and a line in `ORACLES`: it objects to every run of more than two writes.
struct FewWrites;

impl Oracle for FewWrites {
    fn name(&self) -> &'static str {
        "few-writes"
    }

    fn about(&self) -> &'static str {
        "at most two writes"
    }

    fn needs(&self) -> Needs {
        Needs {
            serial: false,
            ..Needs::views(Learner::Observer)
        }
    }

    fn excludes(&self, case: &TestCase, _: &Dialect) -> Option<UndecidedReason> {
        let is_empty = case.user_statements().next().is_none();
        is_empty.then_some(UndecidedReason::NothingRan)
    }

    fn judge(
        &self,
        evidence: &Evidence,
        serial: &mut dyn SerialRun,
    ) -> Result<Ruling, EngineError> {
        assert!(serial.reset().is_ok(), "the learner asked for a serial run");
        let writes: usize = evidence.account.changes.values().map(Vec::len).sum();
        Ok(match writes {
            0..=2 => Ruling::bare(Verdict::Agree),
            _ => Ruling::undecided(UndecidedReason::NothingRan),
        })
    }
}

#[test]
fn a_new_oracle_sees_versions_and_changes_of_the_run_that_the_others_judge() {
    let (hearing, runs) = heard(TWO_WRITERS, &[&OBSERVER, &FewWrites, &SerialOracle]);
    assert_eq!(runs.len(), 1);
    assert_eq!(
        words(&hearing),
        [
            ("txcheck", "agree", 0),
            ("few-writes", "agree", 0),
            ("serial", "agree", 0)
        ]
    );
    let more = format!("{TWO_WRITERS}s1: DELETE FROM t");
    let (hearing, _) = heard(&more, &[&FewWrites]);
    assert_eq!(words(&hearing), [("few-writes", "undecided", 0)]);
}

#[test]
fn what_no_serial_run_repeats_is_refused_with_its_reason() {
    let table = "init: CREATE TABLE t (pkey INTEGER PRIMARY KEY, c TEXT)\n";
    let counted = "init: CREATE TABLE t (pkey INTEGER PRIMARY KEY AUTOINCREMENT, c TEXT)\n";
    let refused = [
        (
            format!("{table}s1: SET sql_mode = ''"),
            UndecidedReason::SessionSetting,
        ),
        (
            format!("{table}s1: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
            UndecidedReason::LevelSetInSession,
        ),
        (
            format!("{table}s1: INSERT INTO t VALUES (1, CONNECTION_ID())"),
            UndecidedReason::UnrepeatableFunction,
        ),
        (
            format!(
                "{table}init: INSERT INTO t VALUES (1, CURRENT_TIMESTAMP)\ns1: SELECT c FROM t"
            ),
            UndecidedReason::UnrepeatableFunction,
        ),
        (
            format!("{counted}s1: INSERT INTO t (c) VALUES ('a')"),
            UndecidedReason::AutoIncrement,
        ),
    ];
    for (script, reason) in refused {
        let (hearing, runs) = heard(&script, &[&OBSERVER, &SerialOracle]);
        assert_eq!(
            hearing.inapplicable,
            [("txcheck", reason), ("serial", reason)],
            "{script}"
        );
        assert_eq!(
            hearing.verdict(),
            Verdict::Undecided(UndecidedReason::NoOracleApplies)
        );
        assert!(runs.is_empty());
    }
    let script = format!("{counted}init: INSERT INTO t VALUES (1, 'a')\ns1: SELECT c FROM t");
    let (hearing, _) = heard(&script, &[&OBSERVER, &SerialOracle]);
    assert_eq!(hearing.verdict(), Verdict::Agree);
}

/// A serial run that answers the first SELECTs with no rows, or every one until the oracle has waited.
struct Forgetful<'s> {
    inner: Box<dyn SerialRun + 's>,
    left: u32,
    /// As long as another session's transaction stays open.
    disturbed: Duration,
}

impl SerialRun for Forgetful<'_> {
    fn reset(&mut self) -> Result<(), EngineError> {
        self.inner.reset()
    }

    fn rest(&mut self, time: Duration) {
        self.disturbed = self.disturbed.saturating_sub(time);
    }

    fn run(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        let outcome = self.inner.run(sql)?;
        let forgets = self.left > 0 || !self.disturbed.is_zero();
        if forgets && sql.starts_with("SELECT") {
            self.left = self.left.saturating_sub(1);
            return Ok(Outcome::Rows(Vec::new()));
        }
        Ok(outcome)
    }

    fn run_without_foreign_keys(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.inner.run_without_foreign_keys(sql)
    }

    fn adopt(&mut self, mode: Option<&str>) -> Result<(), EngineError> {
        self.inner.adopt(mode)
    }

    fn count_from(&mut self, first: i64) -> Result<(), EngineError> {
        self.inner.count_from(first)
    }

    fn contents(&mut self, table: &str) -> Result<Vec<Row>, EngineError> {
        self.inner.contents(table)
    }

    fn replace_rows(
        &mut self,
        table: &str,
        remove: &[Row],
        insert: &[Row],
    ) -> Result<(), EngineError> {
        self.inner.replace_rows(table, remove, insert)
    }
}

#[test]
fn a_serial_answer_that_does_not_recur_is_a_finding_about_itself() {
    on_sqlite(|server, driver| {
        let case = case(server, IsolationLevel::Serializable, TWO_WRITERS);
        for oracle in [&SerialOracle as &dyn Oracle, &OBSERVER] {
            let mut hearing = hear(&case, driver, &[oracle]).expect("an answer");
            let evidence = hearing.runs.remove(0);
            let mut kind_of = |left: u32, disturbed: Duration| {
                let inner = driver.serial(&evidence.case).expect("a serial run");
                let mut forgetful = Forgetful {
                    inner,
                    left,
                    disturbed,
                };
                let ruling = oracle.judge(&evidence, &mut forgetful);
                match ruling.expect("an answer").verdict {
                    Verdict::Violation(finding) => Some(finding.signature.kind),
                    Verdict::Agree
                    | Verdict::Known(_)
                    | Verdict::Undecided(_)
                    | Verdict::Flaky { .. } => None,
                }
            };
            let at_once = Duration::ZERO;
            let name = oracle.name();
            assert_eq!(kind_of(0, at_once), None, "{name}");
            // The second: a transaction of another session disturbs until it ends.
            for (left, disturbed) in [(1, at_once), (0, Duration::from_millis(50))] {
                assert_eq!(
                    kind_of(left, disturbed),
                    Some(FindingKind::UnstableSerialAnswer),
                    "{name}"
                );
            }
            assert!(
                matches!(
                    kind_of(u32::MAX, at_once),
                    Some(FindingKind::NotSerializable | FindingKind::Wrong(_))
                ),
                "{name}: what recurs is a violation"
            );
        }
    });
}

#[test]
fn an_answer_that_another_session_disturbs_is_asked_for_again_when_it_has_ended() {
    on_sqlite(|server, driver| {
        let case = case(server, IsolationLevel::Serializable, TWO_WRITERS);
        for oracle in [&SerialOracle as &dyn Oracle, &OBSERVER] {
            let mut executor = Noting::new(driver);
            executor.disturbed = Duration::from_millis(50);
            let hearing = hear(&case, &mut executor, &[oracle]).expect("an answer");
            let kinds = hearing.rulings.iter().filter_map(Heard::finding);
            let kinds: Vec<FindingKind> = kinds.map(|finding| finding.signature.kind).collect();
            assert_eq!(
                kinds,
                [FindingKind::UnstableSerialAnswer],
                "{}",
                oracle.name()
            );
        }
    });
}

/// Every published case of one engine's folders, by name.
fn published(folders: &[&str]) -> Vec<(String, CaseFile)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/cases");
    let mut files = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder of cases") {
            let path = entry.expect("a file").path();
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let name = path.display().to_string();
            let file = reproducer::read(&text, &name).expect("a case");
            files.push((name, file));
        }
    }
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    files
}

/// How often a case is asked anew before its verdicts are said to differ. Who is a deadlock's victim
/// and which of two sessions is woken first is the server's choice, and each of the three runs the
/// case for itself; a difference between *them* is there every time.
const ASKED: u32 = 5;

/// What `hear` says of a case when the registry has had its say, what a replay says, and whether the
/// minimizer finds what `hear` found: once.
fn verdicts(
    server: &dyn Server,
    driver: &mut Driver<'_>,
    (name, file): (&str, &CaseFile),
    case: &TestCase,
) -> Option<Result<(), String>> {
    let registry = Registry::builtin().expect("the registry reads");
    let hearing = hear(case, driver, ORACLES).ok()?;
    let explained = |heard: &rashomon::oracle::Heard| match heard.finding() {
        Some(finding) => match registry.on(server.identity()).explain(&finding.signature) {
            Explained::Known(_) => "known",
            Explained::Regression(_) | Explained::Not => "violation",
        },
        None => heard.ruling.verdict.word(),
    };
    let mut heard: Vec<(&str, &str)> = hearing
        .rulings
        .iter()
        .map(|heard| (heard.oracle, explained(heard)))
        .collect();
    let options = ReplayOptions {
        oracles: ORACLES,
        registry: &registry,
        times: 1,
        stop_at_first_hit: false,
    };
    let report =
        replay::replay(file, name, driver, server.identity(), &options).expect("an answer");
    let voices = report
        .voices
        .iter()
        .filter(|voice| voice.name != EXPECTATION);
    let mut replayed: Vec<(&str, &str)> = voices
        .filter_map(|voice| Some((voice.name.as_str(), voice.worst.as_ref()?.word())))
        .collect();
    // What a file's header explains is known to its replay alone.
    if let (Some(_), Some(oracle)) = (&file.header.known, &file.header.oracle) {
        heard.retain(|(name, _)| name != oracle);
        replayed.retain(|(name, _)| name != oracle);
    }
    heard.sort_unstable();
    replayed.sort_unstable();
    if heard != replayed {
        return Some(Err(format!("hear says {heard:?}, replay {replayed:?}")));
    }
    let minimized =
        campaign::minimize_case(case, driver, ORACLES, 1, PATIENT, &StopFlag::default());
    let minimized = minimized.expect("an answer").is_some();
    if minimized != hearing.violation(|_| true).is_some() {
        return Some(Err(format!("hear says {heard:?}, minimized: {minimized}")));
    }
    Some(Ok(()))
}

/// Whether the case runs on the server at all; panics if its verdicts differ each time.
fn one_verdict(server: &dyn Server, driver: &mut Driver<'_>, name: &str, file: &CaseFile) -> bool {
    let Ok(case) = file.test_case(driver.dialect()) else {
        return false;
    };
    let mut differences = Vec::new();
    for _ in 0..ASKED {
        match verdicts(server, driver, (name, file), &case) {
            None => return false,
            Some(Ok(())) => return true,
            Some(Err(difference)) => differences.push(difference),
        }
    }
    panic!("{name}: {}", differences.join("; "));
}

#[test]
fn campaign_replay_and_minimize_give_one_verdict_about_every_published_case() {
    let test = "campaign_replay_and_minimize_give_one_verdict_about_every_published_case";
    // SQLite takes few cases that were written for servers.
    for (on, least) in [(On::Sqlite, 3), (On::MariaDb, 20), (On::MySql, 20)] {
        let Some(server) = server(test, on) else {
            continue;
        };
        let name = format!("rashomon_it_one_verdict_{}", std::process::id());
        let mut driver = Driver::open(&*server, &name).expect("a driver");
        let files = published(&["innodb", "mariadb", "mysql", "tidb", "postgresql"]);
        let judged = files
            .iter()
            .filter(|(name, file)| one_verdict(&*server, &mut driver, name, file))
            .count();
        assert!(
            judged >= least,
            "{on:?}: {judged} of {} cases ran",
            files.len()
        );
        driver.close().expect("the database goes");
    }
}
