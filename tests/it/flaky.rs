//! Violations that do not come every time: whether the run or what a serial run predicted was wrong,
//! and how a fault that comes and goes is measured, minimized and grouped.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rashomon::campaign::{
    self, Generator, Listener, Parts, RunEvent, RunSummary, ServerWorkplace, Statistics, StopFlag,
    WorkloadShare, Workplace,
};
use rashomon::dialect::Dialect;
use rashomon::engine::{self, EngineError, OpenOptions};
use rashomon::execute::{Executor, Instrumentation, Interrupted, SerialRun};
use rashomon::generate::{GenerateOptions, LevelChoice};
use rashomon::grammar::Grammar;
use rashomon::model::{
    Aspect, Difference, Direction, Execution, Finding, FindingKind, IsolationLevel, LockBreach,
    Observation, Outcome, ProbeAnswer, ProbeTag, StatementKind, TestCase, Tick, UndecidedReason,
    Value, Verdict,
};
use rashomon::oracle::{Evidence, Needs, ORACLES, Oracle, Ruling, SerialOracle};
use rashomon::reproducer::{self, Registry};

use crate::lost_pursuit::Longer;
use crate::lying::id;
use crate::plant::{Fault, Plant, PlantedServer, Rate, WriteKind};
use crate::servers;

use crate::scripted::{ANY_RUN, Witness, parts, settings, sqlite_dialect, violation};

/// Objects to some of the runs that it judges.
struct Objects {
    kind: FindingKind,
    judged: AtomicU32,
    /// Whether to the run of this number, counted from 0.
    to: fn(u32) -> bool,
}

impl Objects {
    /// The run outlives every borrow: an oracle is static.
    fn to(to: fn(u32) -> bool, kind: FindingKind) -> &'static Self {
        Box::leak(Box::new(Self {
            kind,
            judged: AtomicU32::new(0),
            to,
        }))
    }
}

/// What [`Objects`] finds.
fn objection(kind: FindingKind) -> Box<Finding> {
    let Verdict::Violation(mut finding) = violation("once") else {
        unreachable!("it is a violation");
    };
    finding.signature.kind = kind;
    finding
}

impl Oracle for Objects {
    fn name(&self) -> &'static str {
        "serial"
    }

    fn about(&self) -> &'static str {
        "once"
    }

    fn needs(&self) -> Needs {
        ANY_RUN
    }

    fn excludes(&self, _: &TestCase, _: &Dialect) -> Option<UndecidedReason> {
        None
    }

    fn judge(&self, evidence: &Evidence, _: &mut dyn SerialRun) -> Result<Ruling, EngineError> {
        if !(self.to)(self.judged.fetch_add(1, Ordering::SeqCst)) {
            return Ok(Ruling::bare(Verdict::Agree));
        }
        let mut finding = objection(self.kind);
        finding.differences.push(Difference {
            statement: evidence.case.statements.first().map(|s| s.id),
            aspect: Aspect::Rows,
            direction: Direction::Changed,
            expected: "(1)".to_owned(),
            got: "(2)".to_owned(),
        });
        Ok(Ruling::bare(Verdict::Violation(finding)))
    }
}

/// What is another one in each run of [`Leaves`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Another {
    Nothing,
    FinalState,
    /// What the observer sees.
    Observation,
    /// What a probe answers.
    Probe,
}

/// An engine that leaves another final state after every run or shows another one on the way, or always the same.
struct Leaves {
    dialect: Arc<Dialect>,
    another: Another,
    runs: AtomicU32,
}

impl Executor for &Leaves {
    fn execute(&mut self, _: &TestCase, _: &Instrumentation) -> Result<Execution, EngineError> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst);
        let rows = |another| {
            let number = i64::from(run) * i64::from(self.another == another);
            vec![vec![Value::Integer(number)]]
        };
        let tables = |another| BTreeMap::from([("t".to_owned(), rows(another))]);
        Ok(Execution {
            final_state: tables(Another::FinalState),
            observations: vec![Observation {
                tick: Tick(0),
                active: Vec::new(),
                tables: tables(Another::Observation),
            }],
            probes: vec![ProbeAnswer {
                statement: id(1, 1),
                tag: ProbeTag::FixSnapshot,
                sql: "SELECT 1".to_owned(),
                tick: Tick(0),
                parted: false,
                outcome: Outcome::Rows(rows(Another::Probe)),
            }],
            ..Execution::default()
        })
    }

    fn serial(&mut self, _: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        Err(EngineError::Target("it runs nothing serially".to_owned()))
    }

    fn dialect(&self) -> &Arc<Dialect> {
        &self.dialect
    }
}

impl Workplace for Leaves {
    fn work(
        &self,
        _: usize,
        job: &mut dyn FnMut(&mut dyn Executor) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut executor = self;
        job(&mut executor)
    }
}

/// The kind of the flaky finding of a run with one case, to which the oracle objects once.
fn told_of_the_only_objection(kind: FindingKind, another: Another) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut witness = Witness::default();
    let parts = Parts {
        workplace: Arc::new(Leaves {
            dialect: sqlite_dialect(),
            another,
            runs: AtomicU32::new(0),
        }),
        oracles: vec![Objects::to(|run| run == 0, kind)],
        ..parts(&[])
    };
    let settings = settings(folder.path(), 1, 1);
    let summary = campaign::run(parts, settings, None, &StopFlag::default(), &mut witness)
        .expect("the run starts");
    assert_eq!(summary.statistics.verdicts.flaky, 1);
    witness.flaky[0].kind.clone()
}

#[test]
fn a_violation_that_a_repeated_run_never_shows_again_is_the_serial_run_s() {
    let told = told_of_the_only_objection(FindingKind::NotSerializable, Another::Nothing);
    assert_eq!(told, "unstable-serial-answer");
}

#[test]
fn a_violation_that_no_serial_run_predicted_stays_what_it_was() {
    let waited = FindingKind::Lock(LockBreach::Waited);
    for kind in [waited, FindingKind::MiscountedWrite] {
        assert_eq!(
            told_of_the_only_objection(kind, Another::Nothing),
            kind.slug()
        );
    }
}

#[test]
fn a_violation_of_a_run_that_is_never_repeated_stays_what_it_was() {
    for another in [Another::FinalState, Another::Observation, Another::Probe] {
        let told = told_of_the_only_objection(FindingKind::NotSerializable, another);
        assert_eq!(told, "not-serializable", "{another:?}");
    }
}

/// What a run comes to whose one case shows a finding in the hearing, in all confirmations and in one smaller case,
/// and never again, where the registry has an entry for it.
fn told_of_a_known_finding_that_went_away(kind: FindingKind) -> RunSummary {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let signature = objection(kind).signature;
    let entry = format!(
        "format = 3\n[[known]]\nid = \"SCRIPT-1\"\nstatus = \"open\"\nengines = [\"scripted *\"]\n\
         match = {{ signature = {:?}, group = {:?} }}\n",
        signature.id(),
        signature.group()
    );
    let parts = Parts {
        cases: Arc::new(Longer),
        oracles: vec![Objects::to(|run| run < 5, kind)],
        registry: Registry::read(&entry, "known.toml").expect("it reads"),
        ..parts(&[])
    };
    let settings = settings(folder.path(), 1, 1);
    let mut witness = Witness::default();
    campaign::run(parts, settings, None, &StopFlag::default(), &mut witness).expect("it starts")
}

#[test]
fn an_answer_that_is_stable_for_a_while_is_known_all_the_same() {
    let summary = told_of_a_known_finding_that_went_away(FindingKind::UnstableSerialAnswer);
    assert_eq!(summary.statistics.verdicts.known, 1);
    assert_eq!(summary.findings.len(), 0);
}

#[test]
fn no_other_finding_is_known_before_it_is_minimized() {
    let summary = told_of_a_known_finding_that_went_away(FindingKind::NotSerializable);
    assert_eq!(summary.statistics.verdicts.violation, 1);
    assert_eq!(summary.findings.len(), 1);
}

/// What a run comes to whose one case shows a finding in these of its runs: the first is the hearing, three more confirm it.
fn told_of_a_finding_in_some_runs(folder: &Path, to: fn(u32) -> bool) -> RunSummary {
    let parts = Parts {
        cases: Arc::new(Longer),
        oracles: vec![Objects::to(to, FindingKind::NotSerializable)],
        ..parts(&[])
    };
    run_to_the_end(parts, folder, 1).0
}

#[test]
fn a_finding_whose_smallest_case_shows_it_every_time_is_not_flaky() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let summary = told_of_a_finding_in_some_runs(folder.path(), |run| run != 2);
    let verdicts = &summary.statistics.verdicts;
    assert_eq!((verdicts.violation, verdicts.flaky), (1, 0));
    assert_eq!(summary.flaky.len(), 0);
    let [found] = &summary.findings[..] else {
        panic!("{:#?}", summary.findings);
    };
    assert!(!found.path.contains("flaky"), "{}", found.path);
    let file = reproducer::load(Path::new(&found.path)).expect("it reads");
    let reproduced = file.header.reproduced.map(|r| (r.hits, r.runs));
    assert_eq!(reproduced, Some((25, 25)));
}

#[test]
fn a_finding_whose_smallest_case_hides_it_in_one_run_of_sixteen_is_flaky() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let summary = told_of_a_finding_in_some_runs(folder.path(), |run| run % 16 != 2);
    let verdicts = &summary.statistics.verdicts;
    assert_eq!((verdicts.violation, verdicts.flaky), (0, 1));
    assert_eq!(summary.findings.len(), 0);
}

/// Loses the last row of a SELECT in one run of so many, in runs of several sessions only.
struct LosesARow {
    inner: ServerWorkplace,
    one_in: u64,
    /// The state of a generator: the same runs fail on every machine.
    chance: AtomicU64,
}

struct LosingExecutor<'a> {
    inner: &'a mut dyn Executor,
    engine: &'a LosesARow,
}

impl LosesARow {
    fn fails(&self) -> bool {
        let mut state = self.chance.load(Ordering::SeqCst);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.chance.store(state, Ordering::SeqCst);
        (state >> 20).is_multiple_of(self.one_in)
    }
}

impl Executor for LosingExecutor<'_> {
    fn execute(
        &mut self,
        case: &TestCase,
        instrumentation: &Instrumentation,
    ) -> Result<Execution, EngineError> {
        let mut execution = self.inner.execute(case, instrumentation)?;
        if self.engine.fails() {
            let selects = case
                .statements
                .iter()
                .filter(|statement| statement.effect.kind == StatementKind::Select);
            for statement in selects {
                let record = execution.records.get_mut(&statement.id);
                if let Some(Outcome::Rows(rows)) = record.map(|record| &mut record.outcome)
                    && rows.pop().is_some()
                {
                    break;
                }
            }
        }
        Ok(execution)
    }

    fn serial(&mut self, case: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        self.inner.serial(case)
    }

    fn dialect(&self) -> &Arc<Dialect> {
        self.inner.dialect()
    }

    fn interrupted(&self) -> Option<&Interrupted> {
        self.inner.interrupted()
    }
}

impl Workplace for LosesARow {
    fn work(
        &self,
        worker: usize,
        job: &mut dyn FnMut(&mut dyn Executor) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.inner.work(worker, &mut |inner| {
            job(&mut LosingExecutor {
                inner,
                engine: self,
            })
        })
    }
}

/// Cases of the generator for a server, judged by these oracles.
fn generated(
    url: &str,
    oracles: &[&'static dyn Oracle],
    levels: LevelChoice,
    workplace: impl FnOnce(ServerWorkplace) -> Arc<dyn Workplace>,
) -> Parts {
    let open_options = OpenOptions {
        allow_shared_server: true,
        run_id: "flaky".to_owned(),
        ..OpenOptions::default()
    };
    let server = engine::open(url, &open_options).expect("a server");
    let identity = server.identity().clone();
    Parts {
        workplace: workplace(ServerWorkplace::new(url, open_options, identity.clone())),
        cases: Arc::new(Generator {
            seed: 1,
            options: GenerateOptions {
                levels,
                ..GenerateOptions::default()
            },
            grammar: Grammar::builtin(&identity.engine).expect("it parses"),
            dialect: server.dialect().clone(),
            workloads: WorkloadShare::None,
        }),
        oracles: oracles.to_vec(),
        registry: Registry::empty(),
        identity,
        counterpart: None,
        canary: None,
    }
}

fn run_to_the_end(parts: Parts, folder: &Path, cases: u64) -> (RunSummary, Witness) {
    let mut witness = Witness::default();
    let settings = settings(folder, cases, 1);
    let summary = campaign::run(parts, settings, None, &StopFlag::default(), &mut witness)
        .expect("the run starts");
    (summary, witness)
}

#[test]
fn a_fault_in_one_run_of_thirty_comes_out_as_groups_of_small_cases_with_their_rates() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let parts = generated("sqlite:", &[&SerialOracle], LevelChoice::AnyOne, |inner| {
        Arc::new(LosesARow {
            inner,
            one_in: 30,
            chance: AtomicU64::new(0x2545_f491_4f6c_dd1d),
        })
    });
    let (summary, witness) = run_to_the_end(parts, folder.path(), 150);
    let flaky = summary.statistics.verdicts.flaky;
    assert!(flaky >= 2, "{flaky} flaky cases");
    assert_eq!(summary.statistics.verdicts.violation, 0);
    // Selects of two forms at most are left: the cases of a form are one group. A case that shows too seldom is left with what
    // it was found with, below, and is a group of its own.
    let counts = summary.flaky.iter().map(|group| group.sightings.count);
    let (again, once): (Vec<_>, Vec<_>) = counts.partition(|count| *count >= 2);
    assert!(again.len() <= 2, "{:#?}", summary.flaky);
    let most_are_of_a_form = again.iter().sum::<u64>() > once.iter().sum();
    assert!(most_are_of_a_form, "{:#?}", summary.flaky);
    assert_eq!(witness.flaky.len(), summary.flaky.len());
    let most = summary
        .flaky
        .iter()
        .map(|group| group.sightings.count)
        .max();
    assert!(most.is_some_and(|most| most >= 2), "{:#?}", summary.flaky);
    for group in &summary.flaky {
        assert!(group.hits >= 1 && group.hits * 4 < group.runs, "{group:?}");
        assert!(group.path.contains("flaky"), "{}", group.path);
        let file = reproducer::load(Path::new(&group.path)).expect("it reads");
        let reproduced = file.header.reproduced.map(|r| (r.hits, r.runs));
        assert_eq!(reproduced, Some((group.hits, group.runs)));
        let is_small = file.lines.len() <= 5;
        assert!(is_small, "{}", reproducer::write(&file));
    }
}

/// Ends a run with its first flaky finding.
struct StopsAtTheFirst(StopFlag);

impl Listener for StopsAtTheFirst {
    fn event(&mut self, event: &RunEvent) {
        if let RunEvent::Flaky(_) = event {
            self.0.time_over();
        }
    }

    fn tick(&mut self, _: &Statistics, _: usize, _: Duration) {}
}

#[test]
fn a_write_that_lies_in_one_turn_of_twenty_is_found_as_flaky() {
    let test = "a_write_that_lies_in_one_turn_of_twenty_is_found_as_flaky";
    let Some(url) = servers::url(test, servers::Needs::MariaDb) else {
        return;
    };
    let plant = Plant {
        fault: Fault::Lies(WriteKind::Update),
        rate: Rate::OneTurnIn(20),
    };
    let planted = PlantedServer::before(&url, plant);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let levels = LevelChoice::One(IsolationLevel::Serializable);
    let parts = generated(&planted.url, ORACLES, levels, |inner| Arc::new(inner));
    let stop = StopFlag::default();
    let mut first = StopsAtTheFirst(stop.clone());
    let settings = settings(folder.path(), 1_000, 1);
    let summary = campaign::run(parts, settings, None, &stop, &mut first).expect("the run starts");
    assert!(
        summary.statistics.verdicts.flaky > 0,
        "{:?}",
        summary.statistics.verdicts
    );
    let of_an_update = |path: &str| {
        let file = reproducer::load(Path::new(path)).expect("it reads");
        // How small it gets is a matter of luck here; the stand-in's test says how small it must get.
        let mut lines = file.lines.iter();
        lines.any(|line| line.sql.starts_with("UPDATE"))
    };
    assert!(
        summary.flaky.iter().any(|group| of_an_update(&group.path)),
        "{:#?}",
        summary.flaky
    );
}
