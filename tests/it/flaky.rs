//! Violations that do not come every time: whether the run or what a serial run predicted was wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rashomon::campaign::{self, Parts, StopFlag, Workplace};
use rashomon::dialect::Dialect;
use rashomon::engine::EngineError;
use rashomon::execute::{Executor, Instrumentation, SerialRun};
use rashomon::model::{
    Aspect, Difference, Direction, Execution, TestCase, UndecidedReason, Value, Verdict,
};
use rashomon::oracle::{Evidence, Needs, Oracle, Ruling};

use crate::campaign::{ANY_RUN, Witness, parts, settings, sqlite_dialect, violation};

/// Objects to the first run that it judges, and to no other.
struct ObjectsOnce {
    objections: AtomicU32,
}

impl Oracle for ObjectsOnce {
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
        if self.objections.fetch_add(1, Ordering::SeqCst) > 0 {
            return Ok(Ruling::bare(Verdict::Agree));
        }
        let Verdict::Violation(mut finding) = violation("once") else {
            unreachable!("it is a violation");
        };
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

/// An engine that leaves another final state after every run, or always the same.
struct Leaves {
    dialect: Arc<Dialect>,
    another_each_time: bool,
    runs: AtomicU32,
}

impl Executor for &Leaves {
    fn execute(&mut self, _: &TestCase, _: &Instrumentation) -> Result<Execution, EngineError> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst);
        let left = i64::from(run) * i64::from(self.another_each_time);
        Ok(Execution {
            final_state: [("t".to_owned(), vec![vec![Value::Integer(left)]])].into(),
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
fn kind_of_the_only_objection(another_each_time: bool) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut witness = Witness::default();
    // The run outlives every borrow: an oracle is static.
    let oracle: &'static ObjectsOnce = Box::leak(Box::new(ObjectsOnce {
        objections: AtomicU32::new(0),
    }));
    let parts = Parts {
        workplace: Arc::new(Leaves {
            dialect: sqlite_dialect(),
            another_each_time,
            runs: AtomicU32::new(0),
        }),
        oracles: vec![oracle],
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
    assert_eq!(kind_of_the_only_objection(false), "unstable-serial-answer");
}

#[test]
fn a_violation_of_a_run_that_is_never_repeated_stays_what_it_was() {
    assert_eq!(kind_of_the_only_objection(true), "not-serializable");
}
