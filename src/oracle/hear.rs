//! One case before its oracles: as few runs as their needs allow.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::sync::Arc;
use std::time::Duration;

use super::{Evidence, Hearing, Oracle, Ruling, account, crash, refusal, tables};
use crate::dialect::{Dialect, ObserverKind};
use crate::engine::EngineError;
use crate::execute::{CrashedRun, Executor, SerialRun};
use crate::model::{Outcome, Pace, Row, TestCase, UndecidedReason};
use crate::observe::{Learner, instrument, with_row_identity};

/// Runs the case once for each distinct need of the oracles that apply, and has it judged.
///
/// # Errors
/// When the engine gives no answer.
pub fn hear(
    case: &TestCase,
    executor: &mut dyn Executor,
    oracles: &[&dyn Oracle],
) -> Result<Hearing, EngineError> {
    let mut hearing = Hearing::default();
    let dialect = Arc::clone(executor.dialect());
    let place = HearingPlace {
        dialect: &dialect,
        restarts_server: executor.restarts_server(),
    };
    let runs = plan(case, place, oracles, &mut hearing);
    for run in runs {
        let PlannedRun {
            case,
            learner,
            crash,
            judges,
        } = run;
        let (case, execution) = match crash {
            true => {
                let CrashedRun { case, execution } = executor.execute_until_crash(&case)?;
                (case, execution)
            }
            false => Evidence::run(case.into_owned(), learner, executor)?,
        };
        let evidence = Evidence::of_answers(case, execution, Arc::clone(&dialect));
        hear_every_run(&mut hearing, &evidence, judges[0]);
        if let Some(reason) = evidence.execution.unreliable {
            for judge in judges {
                hearing.ruling(judge, oracles[judge], Ruling::undecided(reason));
            }
            hearing.runs.push(evidence);
            continue;
        }
        if let Some(finding) = tables::doubled_key(&evidence.case, &evidence.execution) {
            hearing.by_every_run(tables::TABLES, finding, judges[0]);
            hearing.runs.push(evidence);
            continue;
        }
        let needs_serial = judges.iter().any(|judge| oracles[*judge].needs().serial);
        let mut serial: Box<dyn SerialRun + '_> = if needs_serial || learner.is_some() {
            executor.serial(&evidence.case)?
        } else {
            Box::new(NoSerialRun)
        };
        let mut evidence = match learner {
            Some(learner) => evidence.learn(learner, &mut *serial)?,
            None => evidence,
        };
        hear_learned(&mut hearing, &evidence, judges[0]);
        let by_statement = judges
            .iter()
            .filter(|judge| oracles[**judge].judges_statements());
        evidence.shared = by_statement.count() > 1;
        for &judge in &judges {
            let mut as_set_up = AsSetUp {
                run: &mut *serial,
                is_due: oracles[judge].needs().serial,
            };
            let ruling = oracles[judge].judge(&evidence, &mut as_set_up)?;
            hearing.ruling(judge, oracles[judge], ruling);
        }
        drop(serial);
        if learner.is_some()
            && !hearing.has_violation_in_this_run()
            && let Some(finding) = account::of_changes(&evidence)
        {
            hearing.account(finding, judges[0]);
        }
        hearing.runs.push(evidence);
    }
    hearing.in_order();
    Ok(hearing)
}

/// What every run is heard for, before its oracles judge it.
fn hear_every_run(hearing: &mut Hearing, evidence: &Evidence, judge: usize) {
    let (case, execution) = (&evidence.case, &evidence.execution);
    if let Some(finding) = crash::internal_error(case, execution, &evidence.dialect) {
        hearing.by_every_run(crash::CRASH, finding, judge);
    }
    if let Some(finding) = tables::fault(case, execution, &evidence.dialect) {
        hearing.by_every_run(tables::TABLES, finding, judge);
    }
    // A server that was killed ends transactions without an answer.
    if execution.crash.is_some() {
        return;
    }
    match account::of_transactions(evidence) {
        Some(finding) => hearing.account(finding, judge),
        None => hearing
            .rightly_refused
            .extend(account::rightly_refused(evidence)),
    }
}

/// What a run of which changes are known is heard for, before its oracles judge it.
fn hear_learned(hearing: &mut Hearing, evidence: &Evidence, judge: usize) {
    if let Some(finding) = account::of_numbers(evidence) {
        hearing.account(finding, judge);
    }
}

/// A run that will be made, and who judges it.
struct PlannedRun<'c> {
    case: Cow<'c, TestCase>,
    learner: Option<Learner>,
    /// The server is killed during the run.
    crash: bool,
    /// Positions in the list of oracles.
    judges: Vec<usize>,
}

/// Where runs are made.
#[derive(Clone, Copy)]
struct HearingPlace<'d> {
    dialect: &'d Dialect,
    /// The server can be killed and started again.
    restarts_server: bool,
}

/// The runs that the oracles which apply need. The others are noted in the hearing.
fn plan<'c>(
    case: &'c TestCase,
    place: HearingPlace<'_>,
    oracles: &[&dyn Oracle],
    hearing: &mut Hearing,
) -> Vec<PlannedRun<'c>> {
    let dialect = place.dialect;
    // The set-up is read for this, so once for all oracles, and only where one asks.
    let refusal = LazyCell::new(|| refusal::unrepeatable(case, dialect));
    let mut wanted = Vec::new();
    for (judge, oracle) in oracles.iter().enumerate() {
        match want(case, place, *oracle, &|| *refusal) {
            Ok((case, learner)) => wanted.push((judge, case, learner)),
            Err(reason) => hearing.inapplicable.push((oracle.name(), reason)),
        }
    }
    // Who learns comes first: the others may judge the same run.
    wanted.sort_by_key(|(judge, ..)| oracles[*judge].needs().learner.is_none());
    let mut runs: Vec<PlannedRun<'c>> = Vec::new();
    for (judge, case, learner) in wanted {
        let crash = oracles[judge].needs().crash;
        let serves = |run: &PlannedRun<'_>| {
            run.case == case
                && run.crash == crash
                && (run.learner == learner
                    || (learner.is_none()
                        && run.learner.is_some_and(|other| {
                            instrument(&case, dialect, other).leaves_sessions()
                        })))
        };
        match runs.iter_mut().find(|run| serves(run)) {
            Some(run) => run.judges.push(judge),
            None => runs.push(PlannedRun {
                case,
                learner,
                crash,
                judges: vec![judge],
            }),
        }
    }
    runs
}

/// The case as an oracle needs it run, and by which learner; or why the oracle does not apply.
fn want<'c>(
    case: &'c TestCase,
    place: HearingPlace<'_>,
    oracle: &dyn Oracle,
    refusal: &dyn Fn() -> Option<UndecidedReason>,
) -> Result<(Cow<'c, TestCase>, Option<Learner>), UndecidedReason> {
    let (needs, dialect) = (oracle.needs(), place.dialect);
    if case.pace == Pace::Free && needs.pace == Pace::Scheduled {
        return Err(UndecidedReason::FreePace);
    }
    // A serial run repeats statements: only what means the same again can be compared with it.
    if needs.serial
        && let Some(reason) = refusal()
    {
        return Err(reason);
    }
    let excluded = oracle.excludes_engine(dialect);
    if let Some(reason) = excluded.or_else(|| oracle.excludes(case, dialect)) {
        return Err(reason);
    }
    if needs.crash && !place.restarts_server {
        return Err(UndecidedReason::NoRestartCommand);
    }
    let learner = needs.learner.map(|learner| match dialect.observer {
        // Nothing reads beside the sessions: what they see is asked inside.
        ObserverKind::Absent => Learner::Probes,
        // A read in the session would take locks that show in who is refused.
        ObserverKind::Returning => Learner::Observer,
        ObserverKind::Uncommitted | ObserverKind::Writer => learner,
    });
    let beside = Some(Learner::Observer).filter(|learner| {
        oracle.explains_by_versions()
            && dialect.observer != ObserverKind::Absent
            && instrument(case, dialect, *learner).leaves_sessions()
    });
    let learner = learner.or(beside);
    let case = if needs.row_identity {
        with_row_identity(case, dialect).ok_or(UndecidedReason::NoRowIdentity)?
    } else {
        Cow::Borrowed(case)
    };
    Ok((case, learner))
}

/// A serial run that is brought back to its set-up when it is first used: an oracle that finds nothing
/// to ask costs nothing.
struct AsSetUp<'r> {
    run: &'r mut dyn SerialRun,
    is_due: bool,
}

impl AsSetUp<'_> {
    fn ready(&mut self) -> Result<&mut dyn SerialRun, EngineError> {
        if std::mem::take(&mut self.is_due) {
            self.run.reset()?;
        }
        Ok(&mut *self.run)
    }
}

impl SerialRun for AsSetUp<'_> {
    fn reset(&mut self) -> Result<(), EngineError> {
        self.is_due = false;
        self.run.reset()
    }

    fn rest(&mut self, time: Duration) {
        self.run.rest(time);
    }

    fn run(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.ready()?.run(sql)
    }

    fn run_without_foreign_keys(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.ready()?.run_without_foreign_keys(sql)
    }

    fn adopt(&mut self, mode: Option<&str>) -> Result<(), EngineError> {
        self.ready()?.adopt(mode)
    }

    fn count_from(&mut self, first: i64) -> Result<(), EngineError> {
        self.ready()?.count_from(first)
    }

    fn contents(&mut self, table: &str) -> Result<Vec<Row>, EngineError> {
        self.ready()?.contents(table)
    }

    fn replace_rows(
        &mut self,
        table: &str,
        remove: &[Row],
        insert: &[Row],
    ) -> Result<(), EngineError> {
        self.ready()?.replace_rows(table, remove, insert)
    }
}

/// The serial run of oracles that asked for none.
struct NoSerialRun;

impl NoSerialRun {
    fn error<T>() -> Result<T, EngineError> {
        let message = "this oracle did not ask for a serial run in its needs";
        // No loss of the server: nothing would bring it back.
        Err(EngineError::Target(message.to_owned()))
    }
}

impl SerialRun for NoSerialRun {
    fn reset(&mut self) -> Result<(), EngineError> {
        Self::error()
    }

    fn rest(&mut self, _: Duration) {}

    fn run(&mut self, _: &str) -> Result<Outcome, EngineError> {
        Self::error()
    }

    fn run_without_foreign_keys(&mut self, _: &str) -> Result<Outcome, EngineError> {
        Self::error()
    }

    fn adopt(&mut self, _: Option<&str>) -> Result<(), EngineError> {
        Self::error()
    }

    fn count_from(&mut self, _: i64) -> Result<(), EngineError> {
        Self::error()
    }

    fn contents(&mut self, _: &str) -> Result<Vec<Row>, EngineError> {
        Self::error()
    }

    fn replace_rows(&mut self, _: &str, _: &[Row], _: &[Row]) -> Result<(), EngineError> {
        Self::error()
    }
}
