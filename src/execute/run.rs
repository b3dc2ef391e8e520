//! One interleaved run: carries out the scheduler's actions on real connections.

mod asking;
mod crash;
mod pause;
mod prepared;
mod quiet;
mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::dialect::{Capability, Dialect, ObserverKind};
use crate::engine::{EngineError, STATEMENT_DEADLINE, TransactionState, Watcher};
use crate::model::{
    Doubt, Outcome, Pace, Row, SessionId, StatementId, StatementKind, TableFault, TestCase,
    UndecidedReason,
};
use crate::statement::PreparedStatements;

use super::Instrumentation;
use super::contents_left::{ContentsLeft, contents_during_run};
use super::fate::{AnswerState, TransactionFate};
use super::hand::Hand;
use super::record::{Record, SessionAnswer};
use super::recording::{ConnectionRole, SentLog};
use super::scheduled_statement::ScheduledStatement;
use super::scheduler::{DriverAction, Noted, Scheduler, SessionStep, Work};
use super::sessions::{Ask, SentCommand, SessionConnections, StatementReply};

pub(super) use crash::Crash;
use pause::Pause;

/// The rows of tables; or that one cannot be read, with the fault where it is the engine's.
type TablesRead = Result<BTreeMap<String, Vec<Row>>, Option<TableFault>>;

/// How long to wait for the answer of a read that takes no lock before each look at the lock view. It waits for
/// nobody on a correct engine, so that a look sooner is a question for nothing.
const PLAIN_ANSWER_FIRST: Duration = Duration::from_millis(5);

/// The pause before the poll that confirms two waits: deadlocks are found asynchronously.
const CONFIRM_AFTER: Duration = Duration::from_micros(1_500);

/// How long a statement may neither answer nor be seen waiting. The safety net: a run that needed
/// it is no evidence.
const UNSEEN_MAX: Duration = Duration::from_secs(2);

/// How long after the watcher lost the server a session may take to notice.
const LOSS_TOLD_WITHIN: Duration = Duration::from_secs(1);

/// The connections a run uses.
pub(super) struct RunConnections<'a> {
    pub(super) dialect: &'a Dialect,
    pub(super) sessions: &'a mut SessionConnections,
    /// None where nothing ever waits.
    pub(super) watcher: Option<&'a mut (dyn Watcher + 'static)>,
    /// Reads the tables while no statement is running: the observer, or the only writer's session.
    pub(super) observer: Option<&'a mut (dyn crate::engine::Connection + 'static)>,
    pub(super) log: &'a mut SentLog,
}

impl RunConnections<'_> {
    /// Runs a statement in a session that is no part of the case, whatever the answer is.
    fn run_aside(&mut self, slot: usize, sql: &str) -> Result<(), EngineError> {
        self.aside(slot, sql, Ask::Never).map(drop)
    }

    /// The same, with the state of the session's transaction where it is asked for.
    fn aside(
        &mut self,
        slot: usize,
        sql: &str,
        ask: Ask,
    ) -> Result<Option<TransactionState>, EngineError> {
        self.log.sent(ConnectionRole::Session(slot), sql);
        let command = SentCommand::plain(sql);
        let state = self.sessions.run(slot, &command, ask)?.state;
        if state.is_some() {
            self.log.asked();
        }
        self.log.answered(ConnectionRole::Session(slot), false);
        Ok(state)
    }
}

/// A run under way.
pub(super) struct InterleavedRun<'a, 'c> {
    stage: RunConnections<'a>,
    case: &'c TestCase,
    instrumentation: &'c Instrumentation,
    lines: &'c [ScheduledStatement],
    scheduler: Scheduler,
    pub(super) record: Record<'c>,
    /// Slot of each session of the case.
    slots: BTreeMap<SessionId, usize>,
    /// Answers that came and are not recorded yet.
    replies: BTreeMap<SessionId, SessionAnswer>,
    /// Sessions that may hold locks: in a transaction, or after an end that was answered and not asked for.
    holding: BTreeSet<SessionId>,
    /// Sessions that may hold locks of tables beyond their transactions.
    locking_tables: BTreeSet<SessionId>,
    /// Sessions in a transaction, by the last answer that said so.
    open: BTreeSet<SessionId>,
    /// Those of them whose transaction failed and takes no statements.
    failed: BTreeSet<SessionId>,
    /// The steps under way.
    under_way: BTreeMap<SessionId, SessionStep>,
    /// Sessions of which a transaction was ended by a rejection, and that were not rolled back since.
    victims: BTreeSet<SessionId>,
    /// The statement that was running in the session whose connection failed.
    pub(super) interrupted: Option<StatementId>,
    /// Sessions whose last statement was answered as the end of a transaction, which was not asked for.
    unasked: BTreeMap<SessionId, StatementId>,
    /// What sessions have prepared in this run.
    prepared: BTreeMap<SessionId, PreparedStatements>,
    pause: Pause,
    /// Sessions whose statements were taken for waiting by their silence, and whether a lock may have been released since.
    silent: BTreeMap<SessionId, bool>,
}

impl<'a, 'c> InterleavedRun<'a, 'c> {
    pub(super) fn new(
        stage: RunConnections<'a>,
        case: &'c TestCase,
        instrumentation: &'c Instrumentation,
        lines: &'c [ScheduledStatement],
    ) -> Self {
        Self {
            stage,
            case,
            instrumentation,
            lines,
            scheduler: Scheduler::new(case.pace, lines.to_vec()),
            record: Record::new(case, instrumentation, lines),
            slots: case.sessions().into_iter().zip(0..).collect(),
            replies: BTreeMap::new(),
            holding: BTreeSet::new(),
            locking_tables: BTreeSet::new(),
            open: BTreeSet::new(),
            failed: BTreeSet::new(),
            under_way: BTreeMap::new(),
            victims: BTreeSet::new(),
            unasked: BTreeMap::new(),
            interrupted: None,
            prepared: BTreeMap::new(),
            pause: Pause::begin(),
            silent: BTreeMap::new(),
        }
    }

    /// Runs the case to its end.
    pub(super) fn play(&mut self) -> Result<(), EngineError> {
        self.set_levels()?;
        self.forget_prepared()?;
        loop {
            match self.scheduler.next() {
                DriverAction::Send(step) => self.send(step)?,
                DriverAction::Settle => self.settle()?,
                DriverAction::AwaitAnswer => {
                    if !self.receive(STATEMENT_DEADLINE)? {
                        self.record.unreliable(UndecidedReason::NothingCanAnswer);
                        return Ok(());
                    }
                }
                DriverAction::Observe(active) => self.observe(active)?,
                DriverAction::Finish => {
                    self.ask_for_ends()?;
                    return self.release_victims();
                }
            }
        }
    }

    /// Sends a ROLLBACK to sessions in which READ ONLY may outlive a transaction that the engine ended:
    /// the next case would be refused.
    fn release_victims(&mut self) -> Result<(), EngineError> {
        let dialect = self.stage.dialect;
        // Not even where nothing is to be known may one case reach into the next.
        let may_outlive = dialect.claims(Doubt::ReadOnlyOutlivesAbort).unwrap_or(true);
        let keeps_read_only =
            may_outlive && self.case.statements.iter().any(|s| s.effect.read_only);
        if !keeps_read_only {
            return Ok(());
        }
        for session in std::mem::take(&mut self.victims) {
            self.roll_back(self.slot(session))?;
        }
        Ok(())
    }

    /// Ends by a ROLLBACK what a transaction that the engine ended has left in its session.
    fn roll_back(&mut self, slot: usize) -> Result<(), EngineError> {
        let rollback = &self.stage.dialect.spelling.rollback;
        self.stage.run_aside(slot, rollback)
    }

    /// Sets the isolation level of every session that does not have it already.
    fn set_levels(&mut self) -> Result<(), EngineError> {
        for (session, slot) in self.slots.clone() {
            let level = self.case.level(session);
            if self.stage.sessions.level(slot) == Some(level) {
                continue;
            }
            if let Some(sql) = self.stage.dialect.set_isolation(level) {
                self.stage.log.sent(ConnectionRole::Session(slot), &sql);
                let command = SentCommand::plain(&sql);
                let ask = Ask::AfterRejection;
                let reply = self.stage.sessions.run(slot, &command, ask)?;
                if let Outcome::Rejected(error) = reply.outcome {
                    return Err(EngineError::Setup {
                        sql,
                        message: error.message,
                    });
                }
            }
            self.stage.sessions.set_level(slot, level);
        }
        Ok(())
    }

    fn send(&mut self, step: SessionStep) -> Result<(), EngineError> {
        let slot = self.slot(step.session);
        let sql = self
            .record
            .text(step.work)
            .unwrap_or(&self.stage.dialect.spelling.rollback)
            .to_owned();
        let ask = self.ask(step.work);
        self.record.sent(step);
        self.under_way.insert(step.session, step);
        let command = self.command(step, &sql);
        let role = ConnectionRole::Session(slot);
        self.stage.log.sent_together(role, &command.statements());
        let may_wait = match self.case.pace {
            Pace::Free => true,
            Pace::Scheduled => self.stage.watcher.is_some() && self.may_wait(step),
        };
        if self.takes_locks(step) {
            self.holding.insert(step.session);
        }
        self.pause = Pause::begin();
        if may_wait {
            self.stage.sessions.start(slot, command, ask)
        } else {
            let reply = self.stage.sessions.run(slot, &command, ask);
            self.take(step.session, reply)
        }
    }

    /// Waits briefly for an answer, then polls the lock view.
    fn settle(&mut self) -> Result<(), EngineError> {
        let only_plain_reads = self.only_plain_reads_run();
        let pause = if self.scheduler.awaits_confirmation() {
            CONFIRM_AFTER
        } else {
            let shows_after = self.shows_after();
            let least = match only_plain_reads {
                true => PLAIN_ANSWER_FIRST,
                false => self.pause.length(shows_after),
            };
            match self.scheduler.last_sent_is_unseen() {
                true => least.max(self.pause.until_shown(shows_after)),
                false => least,
            }
        };
        if self.receive(pause)? {
            return Ok(());
        }
        if self.pause.since.elapsed() > UNSEEN_MAX && !only_plain_reads {
            self.record.unreliable(UndecidedReason::BlockedByTimer);
            let noted = self.scheduler.gave_up();
            return self.note(noted);
        }
        self.poll()
    }

    fn shows_after(&self) -> Duration {
        let watcher = self.stage.watcher.as_deref();
        watcher.map_or(Duration::ZERO, Watcher::shows_after)
    }

    fn poll(&mut self) -> Result<(), EngineError> {
        let Some(watcher) = self.stage.watcher.as_deref_mut() else {
            return Ok(());
        };
        if let Some(limit) = watcher.quiet_means_waiting() {
            return self.take_silence(limit);
        }
        let in_flight: Vec<SessionId> = self.scheduler.in_flight().collect();
        let ids: BTreeMap<u64, SessionId> = in_flight
            .iter()
            .filter_map(|session| {
                let id = self.stage.sessions.id(*self.slots.get(session)?)?;
                Some((id, *session))
            })
            .collect();
        let all: BTreeMap<u64, SessionId> = self
            .slots
            .iter()
            .filter_map(|(session, slot)| Some((self.stage.sessions.id(*slot)?, *session)))
            .collect();
        self.stage.log.polled();
        self.pause.polls += 1;
        self.pause.none_is_due = false;
        let waiting = match watcher.waiting(&ids.keys().copied().collect::<Vec<_>>()) {
            Ok(waiting) => waiting,
            Err(error) => return Err(self.loss_told_by_a_session(error)),
        };
        let waiting = waiting
            .into_iter()
            .filter_map(|(id, on)| {
                let on = on.iter().filter_map(|id| all.get(id).copied()).collect();
                Some((*ids.get(&id)?, on))
            })
            .collect();
        let noted = self.scheduler.polled(&waiting);
        self.note(noted)
    }

    /// Handles a server that the watcher found lost first. The running statements fail, too, and
    /// name the statement that was interrupted.
    fn loss_told_by_a_session(&mut self, error: EngineError) -> EngineError {
        loop {
            match self.receive(LOSS_TOLD_WITHIN) {
                Ok(true) => {}
                Ok(false) => return error,
                Err(told) => return told,
            }
        }
    }

    /// Takes every answer that has arrived, waiting for the first. False when none came.
    fn receive(&mut self, timeout: Duration) -> Result<bool, EngineError> {
        let Some((slot, reply)) = self.stage.sessions.receive(timeout) else {
            return Ok(false);
        };
        let session = self
            .slots
            .iter()
            .find(|(_, s)| **s == slot)
            .map(|(s, _)| *s);
        if let Some(session) = session {
            self.pause.answered();
            self.take(session, reply)?;
        }
        Ok(true)
    }

    /// Takes an answer in.
    fn take(
        &mut self,
        session: SessionId,
        reply: Result<StatementReply, EngineError>,
    ) -> Result<(), EngineError> {
        let step = self.under_way.remove(&session);
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                // A statement that waits is not what the server was at when it was lost.
                let running = self.scheduler.restless().collect::<Vec<_>>();
                let told = step.filter(|step| running.is_empty() || running.contains(step));
                let lost = told.or(running.first().copied());
                self.interrupted = lost.and_then(|step| self.record.statement(step));
                return Err(error);
            }
        };
        if let (true, Some(step)) = (reply.is_of_prepare, step) {
            self.was_not_prepared(step);
        }
        let rejected = matches!(reply.outcome, Outcome::Rejected(_));
        let failed = self.has_failed(session, step, rejected);
        let was_open = self.open.contains(&session);
        if let (false, Some(step)) = (rejected, step) {
            self.note_session_lock(step);
        }
        self.note_unasked(session, step, &reply);
        let open = match reply.state {
            Some(state) => {
                self.stage.log.asked();
                state == TransactionState::Open
            }
            None => step.is_some_and(|step| self.open_by_rule(step)),
        };
        if open {
            self.open.insert(session);
        } else {
            self.open.remove(&session);
            self.failed.remove(&session);
            // An end that was not asked for may be answered before it is done: who meets its locks is watched.
            if reply.state.is_some() || !step.is_some_and(|step| self.is_end(step)) {
                self.holding.remove(&session);
            }
        }
        let place = ConnectionRole::Session(self.slot(session));
        self.stage.log.answered(place, rejected && !open);
        if rejected && !open {
            if was_open && self.stage.dialect.supports(Capability::VictimKeepsTables) {
                self.roll_back(self.slot(session))?;
            } else {
                self.victims.insert(session);
            }
        }
        let answer = SessionAnswer {
            outcome: reply.outcome,
            open,
            counted: reply.counted,
            reported: reply.reported,
            command_tag: reply.command_tag,
        };
        self.replies.insert(session, answer);
        let noted = self.scheduler.answered(
            session,
            AnswerState {
                rejected,
                open,
                failed,
            },
        );
        self.note(noted)
    }

    /// Whether a session's transaction takes no statements after this answer, or took none before it and
    /// ends with it.
    fn has_failed(
        &mut self,
        session: SessionId,
        step: Option<SessionStep>,
        rejected: bool,
    ) -> bool {
        if !self.stage.dialect.supports(Capability::FailedTransaction) {
            return false;
        }
        let line = step.and_then(|step| match step.work {
            Work::Statement { line } => Some(&self.lines[line]),
            Work::Before { .. } | Work::After { .. } | Work::Rollback => None,
        });
        if rejected {
            self.failed.insert(session);
        } else if line.is_some_and(|line| line.kind == StatementKind::RollbackTo) {
            self.failed.remove(&session);
        }
        match line.is_some_and(|line| line.chains && !rejected) {
            // The next transaction has not failed.
            true => self.failed.remove(&session),
            false => self.failed.contains(&session),
        }
    }

    fn note(&mut self, noted: Vec<Noted>) -> Result<(), EngineError> {
        for note in noted {
            match note {
                Noted::Waiting { step, on } => {
                    self.record.waiting(step, &on);
                    self.stage
                        .log
                        .waited(ConnectionRole::Session(self.slot(step.session)));
                }
                Noted::Answered {
                    step,
                    fate,
                    resumed,
                } => {
                    self.note_answer(step, fate);
                    self.pause.none_is_due = fate == TransactionFate::Continues && !resumed;
                    if let Some(answer) = self.replies.remove(&step.session) {
                        self.record.answered(step, fate, answer);
                    }
                }
            }
        }
        Ok(())
    }

    fn observe(&mut self, active: Vec<StatementId>) -> Result<(), EngineError> {
        let observer = match self.stage.dialect.observer {
            ObserverKind::Uncommitted => None,
            ObserverKind::Writer => {
                let last = active.last();
                // A writer whose lock was refused reads an old snapshot and has written nothing. Of one that was not
                // understood, our read would take the snapshot.
                let refused = last
                    .and_then(|id| self.record.error_class(*id))
                    .is_some_and(|class| {
                        class.is_concurrency() || class.comes_before_rows_are_read()
                    });
                if refused {
                    return Ok(());
                }
                let session = last.and_then(|id| self.case.session_of(id.transaction));
                Some(session.map_or(0, |session| self.slot(session)))
            }
            // Nothing can be seen beside the sessions: writes tell, or probes ask inside them.
            ObserverKind::Returning | ObserverKind::Absent => return Ok(()),
        };
        match self.read(&active, observer)? {
            Ok(tables) => self.record.observed(active, tables),
            Err(fault) => self.record.table_not_read(fault),
        }
        Ok(())
    }

    /// Reads the tables that these statements want observed: in the slot of the session that wrote,
    /// else on the observer's own connection.
    fn read(
        &mut self,
        active: &[StatementId],
        writer: Option<usize>,
    ) -> Result<TablesRead, EngineError> {
        let names: BTreeSet<&String> = active
            .iter()
            .filter_map(|id| self.instrumentation.observe.get(id))
            .flatten()
            .collect();
        let found = match writer {
            None => {
                let observer = self.stage.observer.as_deref_mut();
                observer.map(|observer| (observer, ConnectionRole::Observer))
            }
            Some(slot) => {
                let session = self.stage.sessions.connection(slot);
                session.map(|session| (session.as_mut(), ConnectionRole::Session(slot)))
            }
        };
        let Some((connection, place)) = found else {
            return Ok(Ok(BTreeMap::new()));
        };
        let mut hand = Hand {
            connection,
            place,
            log: self.stage.log,
            dialect: self.stage.dialect,
        };
        let mut tables = BTreeMap::new();
        for name in names {
            if let Some(shape) = self.case.table(name) {
                match contents_during_run(&mut hand, shape)? {
                    ContentsLeft::Rows(rows) => tables.insert(shape.name.clone(), rows),
                    ContentsLeft::OutOfReach => return Ok(Err(None)),
                    ContentsLeft::Unreadable(fault) => return Ok(Err(Some(fault))),
                };
            }
        }
        Ok(Ok(tables))
    }

    fn slot(&self, session: SessionId) -> usize {
        self.slots.get(&session).copied().unwrap_or_default()
    }
}
