//! The server is lost while a finding is confirmed or minimized, on scripted engines: the finding stands, in one
//! file, as if nothing had happened; and where the server stays away it is published as it was found.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use rashomon::campaign::{
    self, CaseSource, Cases, Drawn, Parts, RunSettings, RunSummary, StopFlag, Workplace,
};
use rashomon::dialect::Dialect;
use rashomon::engine::EngineError;
use rashomon::execute::{Executor, Instrumentation, Interrupted, SerialRun};
use rashomon::model::{Effect, Execution, IsolationLevel, SessionId, StatementKind, TestCase};

use crate::lying::id;
use crate::scripted::{Witness, lost_at, parts, refused, scripted_engine, settings};

/// What a run of the case takes that is lost nowhere: the hearing and three confirmations.
const BEFORE_MINIMIZING: u32 = 4;

/// Four statements in two sessions, the first of which is that of the scripted case of the same number.
pub(crate) struct Longer;

impl CaseSource for Longer {
    fn case(&self, index: u64) -> Drawn {
        let line = |session, number| {
            let effect = Effect::of_kind(StatementKind::Select);
            (SessionId(session), format!("SELECT {number}"), effect)
        };
        let lines = vec![line(1, index), line(2, 1), line(1, 2), line(2, 3)];
        let levels = [1, 2].map(|session| (SessionId(session), IsolationLevel::Serializable));
        Drawn {
            case: TestCase::new(Vec::new(), Vec::new(), lines, levels.into(), None),
            productions: BTreeMap::new(),
        }
    }
}

/// The scripted engine on a server that is lost in one of its runs, counted from 1.
struct LostOnce {
    runs: Arc<AtomicU32>,
    lost_in: u32,
    /// Whether it is away for good then.
    stays_away: bool,
    was_lost: AtomicBool,
}

struct LosingExecutor<'a> {
    inner: &'a mut dyn Executor,
    server: &'a LostOnce,
    interrupted: Option<Interrupted>,
}

impl Executor for LosingExecutor<'_> {
    fn execute(
        &mut self,
        case: &TestCase,
        instrumentation: &Instrumentation,
    ) -> Result<Execution, EngineError> {
        let run = self.server.runs.fetch_add(1, Ordering::SeqCst) + 1;
        if run != self.server.lost_in {
            return self.inner.execute(case, instrumentation);
        }
        self.server.was_lost.store(true, Ordering::SeqCst);
        let (interrupted, error) = lost_at(id(1, 1), "SELECT 1");
        self.interrupted = Some(interrupted);
        Err(error)
    }

    fn serial(&mut self, case: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        self.inner.serial(case)
    }

    fn dialect(&self) -> &Arc<Dialect> {
        self.inner.dialect()
    }

    fn interrupted(&self) -> Option<&Interrupted> {
        self.interrupted.as_ref()
    }
}

impl Workplace for LostOnce {
    fn work(
        &self,
        worker: usize,
        job: &mut dyn FnMut(&mut dyn Executor) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if self.stays_away && self.was_lost.load(Ordering::SeqCst) {
            return Err(refused());
        }
        scripted_engine(&[]).work(worker, &mut |inner| {
            job(&mut LosingExecutor {
                inner,
                server: self,
                interrupted: None,
            })
        })
    }
}

struct LossTrial {
    runs: u32,
    summary: RunSummary,
    witness: Witness,
    folder: tempfile::TempDir,
}

/// Runs one case on a server that is lost in this run of it.
fn trial(index: u64, lost_in: u32, stays_away: bool) -> LossTrial {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = Arc::new(AtomicU32::new(0));
    let parts = Parts {
        workplace: Arc::new(LostOnce {
            runs: Arc::clone(&runs),
            lost_in,
            stays_away,
            was_lost: AtomicBool::new(false),
        }),
        cases: Arc::new(Longer),
        ..parts(&[])
    };
    let settings = RunSettings {
        cases: Cases::Only(index),
        patience: match stays_away {
            true => Duration::ZERO,
            false => Duration::from_secs(20),
        },
        ..settings(folder.path(), 1, 1)
    };
    let (mut witness, stop) = (Witness::default(), StopFlag::default());
    let summary = campaign::run(parts, settings, None, &stop, &mut witness);
    LossTrial {
        runs: runs.load(Ordering::SeqCst),
        summary: summary.expect("the run starts"),
        witness,
        folder,
    }
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn a_finding_outlives_a_loss_in_any_run_of_its_pursuit() {
    let undisturbed = trial(97, 0, false);
    let [expected] = undisturbed.witness.findings.as_slice() else {
        panic!("{:?}", undisturbed.witness.findings);
    };
    assert!(
        undisturbed.runs > BEFORE_MINIMIZING + 3,
        "{}",
        undisturbed.runs
    );
    assert_eq!(expected.statements, 1);
    for lost_in in 1..=undisturbed.runs {
        let trial = trial(97, lost_in, false);
        let (summary, witness) = (&trial.summary, &trial.witness);
        assert_eq!(witness.losses, 1, "lost in run {lost_in}");
        assert_eq!(summary.statistics.server_losses, 1);
        assert_eq!(
            summary.statistics.verdicts.violation, 1,
            "lost in run {lost_in}"
        );
        assert_eq!(summary.statistics.verdicts.total(), 1);
        let [found] = witness.findings.as_slice() else {
            panic!("lost in run {lost_in}: {:?}", witness.findings);
        };
        assert_eq!((found.hits, found.runs, found.statements), (3, 3, 1));
        assert_eq!(found.signature, expected.signature);
        assert_eq!(summary.findings.len(), 1, "lost in run {lost_in}");
        assert!(summary.flaky.is_empty(), "lost in run {lost_in}");
        assert_eq!((&summary.failure, &summary.server_down), (&None, &None));
        let run = trial.folder.path().join("runs/feedface");
        assert_eq!(files(&run.join("unminimized")), 0, "lost in run {lost_in}");
        assert_eq!(files(&run.join("suspects")), 0, "lost in run {lost_in}");
    }
}

/// Its violation shows in every second run, so that most of its confirmations and candidates show nothing.
#[test]
fn a_flaky_finding_outlives_a_loss_in_any_run_of_its_pursuit() {
    let undisturbed = trial(98, 0, false);
    assert_eq!(undisturbed.witness.flaky.len(), 1);
    for lost_in in (2..=undisturbed.runs).step_by(9) {
        let trial = trial(98, lost_in, false);
        assert_eq!(trial.witness.losses, 1, "lost in run {lost_in}");
        assert_eq!(trial.witness.findings, [], "lost in run {lost_in}");
        assert_eq!(trial.witness.flaky.len(), 1, "lost in run {lost_in}");
        let verdicts = trial.summary.statistics.verdicts;
        assert_eq!(
            (verdicts.flaky, verdicts.total()),
            (1, 1),
            "lost in run {lost_in}"
        );
    }
}

#[test]
fn a_finding_is_published_as_it_was_found_where_the_server_stays_away() {
    let trial = trial(97, BEFORE_MINIMIZING + 2, true);
    let failure = trial.summary.failure.as_deref().unwrap_or_default();
    assert!(
        failure.starts_with("the server did not come back"),
        "{failure}"
    );
    let [found] = trial.witness.findings.as_slice() else {
        panic!("{:?}", trial.witness.findings);
    };
    assert_eq!((found.hits, found.runs, found.statements), (3, 3, 4));
    assert!(found.path.exists());
    assert_eq!(trial.summary.findings.len(), 1);
    assert_eq!(
        trial.summary.statistics.verdicts.total(),
        0,
        "no verdict was given"
    );
    let kept = trial.folder.path().join("runs/feedface/unminimized");
    assert_eq!(files(&kept), 0);
}
