//! How a run ends that loses its server, on scripted engines.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rashomon::campaign::{self, Parts, RunSummary, StopFlag, Workplace};
use rashomon::engine::EngineError;
use rashomon::execute::Executor;

use crate::scripted::{
    ScriptedEngine, Witness, parts, refused, scripted_engine, settings, take_one,
};

/// The scripted engine on a server that stays away once it was lost.
struct Absent {
    engine: ScriptedEngine,
    was_opened: AtomicBool,
    /// How often the server is still not reached after it was lost.
    refusals: AtomicU32,
}

impl Workplace for Absent {
    fn work(
        &self,
        worker: usize,
        job: &mut dyn FnMut(&mut dyn Executor) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if self.was_opened.swap(true, Ordering::SeqCst) && take_one(&self.refusals) {
            return Err(refused());
        }
        self.engine.work(worker, job)
    }
}

/// A run whose server is lost in case 17, and that is told to end as soon as it knows.
fn run_that_ends_without_its_server(refusals: u32) -> RunSummary {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut witness = Witness {
        stop_at_loss: Some(StopFlag::default()),
        ..Witness::default()
    };
    let stop = witness.stop_at_loss.clone().expect("it was put there");
    let workplace = Absent {
        engine: scripted_engine(&[(17, 1)]),
        was_opened: AtomicBool::new(false),
        refusals: AtomicU32::new(refusals),
    };
    let parts = Parts {
        workplace: Arc::new(workplace),
        ..parts(&[])
    };
    let settings = settings(folder.path(), 90, 1);
    campaign::run(parts, settings, None, &stop, &mut witness).expect("the run starts")
}

#[test]
fn a_run_that_ends_while_its_server_is_down_names_the_case_it_was_lost_in() {
    let summary = run_that_ends_without_its_server(u32::MAX);
    let down = summary.server_down.expect("the server was down");
    assert_eq!(down.cases, [17]);
    assert!(down.error.contains("reset by peer"), "{}", down.error);
    assert_eq!(summary.failure, None);
    assert_eq!(summary.next_index, 17, "the case is not done");
}

#[test]
fn a_server_that_is_back_when_the_run_ends_was_not_down() {
    assert_eq!(run_that_ends_without_its_server(0).server_down, None);
}

#[test]
fn a_server_that_does_not_come_back_is_given_up_with_the_case_it_was_lost_in() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut settings = settings(folder.path(), 90, 1);
    settings.patience = Duration::ZERO;
    let workplace = Absent {
        engine: scripted_engine(&[(17, 1)]),
        was_opened: AtomicBool::new(false),
        refusals: AtomicU32::new(u32::MAX),
    };
    let parts = Parts {
        workplace: Arc::new(workplace),
        ..parts(&[])
    };
    let stop = StopFlag::default();
    let summary = campaign::run(parts, settings, None, &stop, &mut Witness::default())
        .expect("the run starts");
    let failure = summary.failure.expect("it was given up");
    assert!(failure.contains("did not come back"), "{failure}");
    assert_eq!(summary.server_down.map(|down| down.cases), Some(vec![17]));
}

/// The scripted engine, opened when the run has said that it waits.
struct Slow {
    engine: ScriptedEngine,
    told: Mutex<Receiver<()>>,
}

impl Workplace for Slow {
    fn work(
        &self,
        worker: usize,
        job: &mut dyn FnMut(&mut dyn Executor) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let told = self.told.lock().expect("one worker");
        // Without a word the run gives the worker up after its grace.
        if told.recv().is_ok() {
            self.engine.work(worker, job)?;
        }
        Ok(())
    }
}

#[test]
fn an_interrupted_run_says_that_it_waits_for_the_cases_under_way() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (sender, told) = channel();
    let mut witness = Witness {
        told_of_waiting: Some(sender),
        ..Witness::default()
    };
    let stop = StopFlag::default();
    let interrupt = usize::try_from(signal_hook::consts::SIGINT).expect("a small number");
    stop.flag().store(interrupt, Ordering::SeqCst);
    let parts = Parts {
        workplace: Arc::new(Slow {
            engine: scripted_engine(&[]),
            told: Mutex::new(told),
        }),
        ..parts(&[])
    };
    let settings = settings(folder.path(), 90, 1);
    let summary =
        campaign::run(parts, settings, None, &stop, &mut witness).expect("the run starts");
    assert_eq!(summary.signal, Some(interrupt));
    assert!(witness.told_of_waiting.is_none(), "nothing was said");
}
