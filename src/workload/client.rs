//! One session: draws transactions, sends them and records how they ended.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::draw::SessionDraws;
use super::held::value_of;
use super::outbox::Outbox;
use super::pending::Ended;
use super::plan::{PlannedOperation, TransactionEnd, TransactionPlan};
use super::table::{Table, integer, list};
use super::{WorkloadError, WorkloadSettings};
use crate::engine::{Connection, EngineError, Mark, Server, Timestamps, TransactionState};
use crate::history::{Kind, Operation, Recorded, Span, Status};
use crate::model::{ErrorClass, IsolationLevel, Outcome, SqlError};

/// How often a transaction that the engine refused is run again before the session goes on.
const RETRIES_MAX: u32 = 5;

/// How long a session that lost its connection tries to get a new one.
const RECONNECT_TIME: Duration = Duration::from_secs(30);

/// How long it waits between two tries.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause, in microseconds, after the first attempt that found the engine busy.
const BUSY_PAUSE_MICROS: u32 = 250;

/// How often that is doubled, attempt by attempt: up to 4 ms.
const BUSY_DOUBLINGS_MAX: u32 = 4;

/// Totals of all sessions so far.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Transactions that committed.
    pub committed: AtomicU64,
    /// Transactions that the engine refused or that were rolled back as planned.
    pub aborted: AtomicU64,
    /// Transactions whose COMMIT was sent and not answered.
    pub indeterminate: AtomicU64,
    /// Attempts after the first one of a transaction.
    pub retries: AtomicU64,
    /// Connections that were lost.
    pub lost: AtomicU64,
    /// Statements sent.
    pub statements: AtomicU64,
    /// Values written by transactions that are not known to be rolled back.
    pub written: AtomicU64,
}

/// Shared by the sessions of a run.
pub(super) struct SharedByClients<'a> {
    pub server: &'a dyn Server,
    pub database: &'a str,
    pub settings: &'a WorkloadSettings,
    /// The isolation level of every session; None leaves the server's default.
    pub level: Option<IsolationLevel>,
    pub table: Table,
    /// Where start and commit timestamps come from, when they are recorded.
    pub timestamps: Option<Box<dyn Timestamps>>,
    /// When the sessions started; operations are timed from here.
    pub began: Instant,
    /// Set to make sessions begin no further transaction.
    pub over: AtomicBool,
    pub counters: Counters,
    /// The number of the next session that replaces one whose connection was lost.
    pub next_session: AtomicU64,
}

impl SharedByClients<'_> {
    /// A connection at the level of the run.
    pub(super) fn connect(&self) -> Result<Box<dyn Connection>, WorkloadError> {
        let mut connection = self.server.connect(self.database)?;
        let sql = self
            .level
            .and_then(|level| self.server.dialect().set_isolation(level));
        if let Some(sql) = sql
            && let Outcome::Rejected(error) = connection.execute(&sql)?
        {
            return Err(rejected(&sql, &error));
        }
        Ok(connection)
    }

    /// Whether the run is over. Each session reads the clock itself, because the recorder's thread
    /// may be busy when the time runs out.
    fn is_over(&self) -> bool {
        let is_late = |time| self.began.elapsed() >= time;
        self.over.load(Ordering::Relaxed) || self.settings.time.is_some_and(is_late)
    }

    /// Nanoseconds since the run began.
    fn now(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }
}

fn rejected(sql: &str, error: &SqlError) -> WorkloadError {
    WorkloadError::Rejected {
        sql: sql.to_owned(),
        message: format!("{} {}", error.code, error.message),
    }
}

/// A session and its connection.
pub(super) struct Client<'a> {
    stage: &'a SharedByClients<'a>,
    connection: Box<dyn Connection>,
    /// The number of the session; a new one after a lost connection.
    session: u32,
    /// The client's place among those that were started; makes its values unique.
    slot: u32,
    draw: SessionDraws,
    /// Draws the pauses. Separate from `draw`, because the engine decides how many pauses there are
    /// and the seed alone must decide what is sent.
    pauses: SessionDraws,
    /// Values drawn so far.
    values: u64,
    /// None when nothing is recorded.
    outbox: Option<&'a Outbox>,
}

/// How an attempt to run a transaction ended.
enum AttemptOutcome {
    Done,
    /// Refused with an error of this class: it may be run again.
    Refused(ErrorClass),
    /// The connection is gone.
    Lost,
}

/// An attempt under way.
#[derive(Default)]
struct Attempt {
    operations: Vec<Operation>,
    mark: Option<Mark>,
    commit: Option<i64>,
}

/// Why an attempt stopped before its last statement.
enum AttemptStopped {
    Refused(ErrorClass),
    Lost,
    Error(WorkloadError),
}

impl From<WorkloadError> for AttemptStopped {
    fn from(error: WorkloadError) -> Self {
        Self::Error(error)
    }
}

impl<'a> Client<'a> {
    pub(super) fn new(
        stage: &'a SharedByClients<'a>,
        slot: u32,
        connection: Box<dyn Connection>,
        draws: (SessionDraws, SessionDraws),
        outbox: Option<&'a Outbox>,
    ) -> Self {
        Self {
            stage,
            connection,
            session: slot,
            slot,
            draw: draws.0,
            pauses: draws.1,
            values: 0,
            outbox,
        }
    }

    /// Runs transactions until there are enough of them or the run is over.
    pub(super) fn run(&mut self) -> Result<(), WorkloadError> {
        let settings = self.stage.settings;
        let count = settings.transactions_of(self.slot).unwrap_or(u64::MAX);
        let mut number = 0;
        while number < count && !self.stage.is_over() {
            let written = self.stage.counters.written.load(Ordering::Relaxed);
            let plan = settings.kind.plan(&mut self.draw, written, settings);
            number += 1;
            for attempt in 0..=RETRIES_MAX {
                if attempt > 0 {
                    if self.stage.is_over() {
                        break;
                    }
                    count_one(&self.stage.counters.retries);
                }
                match self.attempt(&plan)? {
                    AttemptOutcome::Done => break,
                    AttemptOutcome::Refused(ErrorClass::Busy) => self.pause(attempt),
                    // The lock holder has ended.
                    AttemptOutcome::Refused(_) => {}
                    AttemptOutcome::Lost => {
                        self.reconnect()?;
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Pauses so that the lock holder can finish. Some engines answer BUSY instead of waiting;
    /// sessions that retried at once would use up their attempts and the processor.
    fn pause(&mut self, attempt: u32) {
        let doublings = attempt.min(BUSY_DOUBLINGS_MAX);
        let micros = self.pauses.below(BUSY_PAUSE_MICROS << doublings);
        std::thread::sleep(Duration::from_micros(micros.into()));
    }

    /// Sends one transaction and returns how it ended.
    fn attempt(&mut self, plan: &TransactionPlan) -> Result<AttemptOutcome, WorkloadError> {
        let expected = match plan.steps.as_slice() {
            [PlannedOperation::CompareAndSet(key)] => match self.look(*key) {
                Ok(expected) => expected,
                Err(AttemptStopped::Refused(class)) => return Ok(AttemptOutcome::Refused(class)),
                Err(AttemptStopped::Lost) => return Ok(AttemptOutcome::Lost),
                Err(AttemptStopped::Error(error)) => return Err(error),
            },
            _ => None,
        };
        let records = self.outbox.is_some();
        let from = if records { self.stage.now() } else { 0 };
        let mut attempt = Attempt::default();
        let ended = match plan.end {
            TransactionEnd::Autocommit => self.alone(plan, expected, &mut attempt),
            TransactionEnd::Commit | TransactionEnd::Rollback => self.whole(plan, &mut attempt),
        };
        // An error that ends the run leaves the transaction uncommitted, and closing the
        // connection rolls it back. It is recorded all the same: a dirty read may have seen it.
        let (status, fate) = match ended {
            Ok((status, fate)) => (status, Ok(fate)),
            Err(error) => (Status::Aborted, Err(error)),
        };
        let counters = &self.stage.counters;
        count_one(match status {
            Status::Committed => &counters.committed,
            Status::Aborted => &counters.aborted,
            Status::Indeterminate => &counters.indeterminate,
        });
        if status != Status::Aborted {
            let operations = attempt.operations.iter();
            let writes = operations.filter(|operation| operation.kind() == Kind::Write);
            let written = writes.count() as u64;
            counters.written.fetch_add(written, Ordering::Relaxed);
        }
        if records {
            let to = match status {
                Status::Indeterminate => i64::MAX,
                Status::Committed | Status::Aborted => self.stage.now(),
            };
            self.tell(status, Span { from, to }, attempt);
        }
        fate
    }

    /// A transaction between BEGIN and its end.
    fn whole(
        &mut self,
        plan: &TransactionPlan,
        attempt: &mut Attempt,
    ) -> Result<(Status, AttemptOutcome), WorkloadError> {
        let inside = self
            .begin(attempt)
            .and_then(|()| self.steps(&plan.steps, attempt));
        let spelling = &self.stage.server.dialect().spelling;
        match inside {
            Ok(()) if plan.end == TransactionEnd::Commit => self.commit(attempt),
            Ok(()) => Ok((
                Status::Aborted,
                self.roll_back(&spelling.rollback, AttemptOutcome::Done),
            )),
            // After a lock timeout the transaction is still open, after a deadlock it is gone.
            Err(AttemptStopped::Refused(class)) => Ok((
                Status::Aborted,
                self.roll_back(&spelling.rollback, AttemptOutcome::Refused(class)),
            )),
            // No COMMIT was sent: the server rolls back when the connection closes.
            Err(AttemptStopped::Lost) => Ok((Status::Aborted, AttemptOutcome::Lost)),
            Err(AttemptStopped::Error(error)) => Err(error),
        }
    }

    /// Rolls back; a connection whose transaction is still open then must go, or its next BEGIN
    /// would commit it. (Where nothing was open, an engine may reject the ROLLBACK.)
    fn roll_back(&mut self, rollback: &str, fate: AttemptOutcome) -> AttemptOutcome {
        match self.send(rollback) {
            Ok(Outcome::Rejected(_)) => match self.connection.transaction_state() {
                Ok(TransactionState::None) => fate,
                Ok(TransactionState::Open) | Err(_) => AttemptOutcome::Lost,
            },
            Ok(_) => fate,
            Err(_) => AttemptOutcome::Lost,
        }
    }

    fn begin(&mut self, attempt: &mut Attempt) -> Result<(), AttemptStopped> {
        let stage = self.stage;
        if let Some(timestamps) = &stage.timestamps {
            let mark = timestamps.begin(&mut *self.connection);
            attempt.mark = Some(mark.map_err(unanswered)?);
            return Ok(());
        }
        let begin = stage.server.dialect().spelling.begin.get("plain");
        self.statement(begin.map_or("BEGIN", String::as_str))?;
        Ok(())
    }

    fn commit(&mut self, attempt: &mut Attempt) -> Result<(Status, AttemptOutcome), WorkloadError> {
        let stage = self.stage;
        let spelling = &stage.server.dialect().spelling;
        match self.send(&spelling.commit) {
            Ok(Outcome::Rejected(error)) => {
                let fate = self.roll_back(&spelling.rollback, AttemptOutcome::Refused(error.class));
                // An engine that refuses a commit for concurrency has rolled back. After any other
                // error the outcome is unknown.
                if may_happen(error.class) {
                    Ok((Status::Aborted, fate))
                } else {
                    Ok((Status::Indeterminate, fate))
                }
            }
            Ok(_) => {
                let writes = attempt
                    .operations
                    .iter()
                    .any(|operation| matches!(operation, Operation::Write { .. }));
                if let (Some(timestamps), true) = (&stage.timestamps, writes) {
                    match timestamps.committed(&mut *self.connection) {
                        Ok(commit) => attempt.commit = Some(commit),
                        // Committed at an unknown timestamp.
                        Err(_) => return Ok((Status::Indeterminate, AttemptOutcome::Lost)),
                    }
                }
                Ok((Status::Committed, AttemptOutcome::Done))
            }
            Err(_) => Ok((Status::Indeterminate, AttemptOutcome::Lost)),
        }
    }

    /// One statement in autocommit.
    fn alone(
        &mut self,
        plan: &TransactionPlan,
        expected: Option<i64>,
        attempt: &mut Attempt,
    ) -> Result<(Status, AttemptOutcome), WorkloadError> {
        let Some(PlannedOperation::CompareAndSet(key)) = plan.steps.first().copied() else {
            return match self.steps(&plan.steps, attempt) {
                Ok(()) => Ok((Status::Committed, AttemptOutcome::Done)),
                Err(AttemptStopped::Refused(class)) => {
                    Ok((Status::Aborted, AttemptOutcome::Refused(class)))
                }
                // An unanswered write may have taken effect; a read changes nothing.
                Err(AttemptStopped::Lost) => Ok((Status::Indeterminate, AttemptOutcome::Lost)),
                Err(AttemptStopped::Error(error)) => Err(error),
            };
        };
        let value = self.fresh();
        let sql = self
            .stage
            .table
            .compare_and_set(key, expected.unwrap_or(0), value);
        let read = Operation::Read {
            key,
            value: expected,
        };
        let write = Operation::Write { key, value };
        match self.statement(&sql) {
            Ok(Outcome::Affected(0)) => {
                // Another session changed the value first, and the engine does not report the
                // value it saw.
                attempt.operations.push(write);
                Ok((Status::Aborted, AttemptOutcome::Done))
            }
            Ok(_) => {
                attempt.operations.extend([read, write]);
                Ok((Status::Committed, AttemptOutcome::Done))
            }
            Err(AttemptStopped::Refused(class)) => {
                attempt.operations.push(write);
                Ok((Status::Aborted, AttemptOutcome::Refused(class)))
            }
            Err(AttemptStopped::Lost) => {
                attempt.operations.extend([read, write]);
                Ok((Status::Indeterminate, AttemptOutcome::Lost))
            }
            Err(AttemptStopped::Error(error)) => Err(error),
        }
    }

    /// The value that a compare-and-set expects, read before it and kept out of the history.
    fn look(&mut self, key: u32) -> Result<Option<i64>, AttemptStopped> {
        let sql = self.stage.table.read(key);
        let outcome = self.statement(&sql)?;
        Ok(integer(&sql, &outcome)?)
    }

    fn steps(
        &mut self,
        steps: &[PlannedOperation],
        attempt: &mut Attempt,
    ) -> Result<(), AttemptStopped> {
        let stage = self.stage;
        let records = self.outbox.is_some();
        for step in steps {
            match *step {
                PlannedOperation::Read(key) => {
                    let sql = stage.table.read(key);
                    let outcome = self.statement(&sql)?;
                    if !records {
                        continue;
                    }
                    attempt
                        .operations
                        .push(if stage.settings.kind.stores_lists() {
                            let values = list(&sql, &outcome)?;
                            Operation::ReadList { key, values }
                        } else {
                            let value = integer(&sql, &outcome)?;
                            Operation::Read { key, value }
                        });
                }
                PlannedOperation::Write(key)
                | PlannedOperation::Append(key)
                | PlannedOperation::CompareAndSet(key) => {
                    let value = self.fresh();
                    let sql = if matches!(step, PlannedOperation::Append(_)) {
                        stage.table.append(key, value)
                    } else {
                        stage.table.write(key, value)
                    };
                    // Counted before the answer: a statement that fails wrote it and rolled back.
                    attempt.operations.push(Operation::Write { key, value });
                    if matches!(self.statement(&sql)?, Outcome::Affected(0)) {
                        // The row is missing, and no session deletes rows: the UPDATE found
                        // nothing to write.
                        attempt.operations.pop();
                        attempt
                            .operations
                            .push(Operation::Read { key, value: None });
                    }
                }
            }
        }
        Ok(())
    }

    /// A value that no other write uses.
    fn fresh(&mut self) -> i64 {
        let value = value_of(self.slot, self.values, self.stage.settings.sessions);
        self.values += 1;
        if let Some(outbox) = self.outbox {
            outbox.draw(self.slot, self.values);
        }
        value
    }

    fn send(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        count_one(&self.stage.counters.statements);
        self.connection.execute(sql)
    }

    /// Sends a statement that the engine may refuse for concurrency only.
    fn statement(&mut self, sql: &str) -> Result<Outcome, AttemptStopped> {
        match self.send(sql) {
            Ok(Outcome::Rejected(error)) if may_happen(error.class) => {
                Err(AttemptStopped::Refused(error.class))
            }
            Ok(Outcome::Rejected(error)) => Err(AttemptStopped::Error(rejected(sql, &error))),
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(unanswered(error)),
        }
    }

    /// A new connection, and with it a new session.
    fn reconnect(&mut self) -> Result<(), WorkloadError> {
        count_one(&self.stage.counters.lost);
        let since = Instant::now();
        loop {
            match self.stage.connect() {
                Ok(connection) => {
                    self.connection = connection;
                    let next = self.stage.next_session.fetch_add(1, Ordering::Relaxed);
                    self.session = u32::try_from(next).unwrap_or(u32::MAX);
                    return Ok(());
                }
                Err(error) if self.stage.is_over() || since.elapsed() > RECONNECT_TIME => {
                    return Err(error);
                }
                Err(_) => std::thread::sleep(RECONNECT_PAUSE),
            }
        }
    }

    fn tell(&self, status: Status, real_time: Span, attempt: Attempt) {
        if attempt.operations.is_empty() {
            return;
        }
        let recorded = Recorded {
            session: self.session,
            status,
            timestamps: None,
            real_time: Some(real_time),
            operations: attempt.operations,
        };
        if let Some(outbox) = self.outbox {
            outbox.push(Ended {
                client: self.slot,
                values: self.values,
                recorded,
                mark: attempt.mark,
                commit: attempt.commit,
            });
        }
    }
}

fn count_one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Whether an engine may refuse a statement of a workload with this error.
fn may_happen(class: ErrorClass) -> bool {
    class.is_concurrency() || matches!(class, ErrorClass::FailedTransaction)
}

/// Why a statement got no answer. Only a lost or hanging connection is replaced.
fn unanswered(error: EngineError) -> AttemptStopped {
    match error {
        EngineError::ConnectionLost { .. } | EngineError::Hang { .. } => AttemptStopped::Lost,
        other @ (EngineError::Connect { .. }
        | EngineError::Login { .. }
        | EngineError::Privilege { .. }
        | EngineError::ReadOnly { .. }
        | EngineError::Unsafe(_)
        | EngineError::Target(_)
        | EngineError::Dialect(_)
        | EngineError::Rejected { .. }
        | EngineError::Held { .. }
        | EngineError::Setup { .. }
        | EngineError::Restart { .. }
        | EngineError::Resource(_)) => AttemptStopped::Error(other.into()),
    }
}
