//! One session: statement after statement, each in the open transaction or in one of its own.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::command::{Query, SessionCommand};
use super::fault::Fault;
use super::planted::Faults;
use super::policy::RefusalEffect;
use super::refusal::EngineRefusal;
use super::schema::{self, SchemaText};
use super::state::DatabaseState;
use super::statement::{
    Resumed, RunningStatement, Scratches, StatementAttempt, StatementPast, current,
};
use super::version::{RowChain, RowVersion, TransactionNumber};
use crate::dialect::Dialect;
use crate::engine::connection::{Connection, TransactionState};
use crate::engine::error::EngineError;
use crate::model::{ErrorClass, IsolationLevel, Outcome, SqlError};

/// How long a statement waits for locks before it is refused.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(50);

/// One database, and the bell that rings when something in it was let go.
pub(super) struct Database {
    state: Mutex<DatabaseState>,
    changed: Condvar,
}

impl Database {
    pub(super) fn with_faults(faults: Faults) -> Self {
        Self {
            state: Mutex::new(DatabaseState::with_faults(faults)),
            changed: Condvar::new(),
        }
    }

    /// Locks the state. A statement changes it at its end only, so that a panic leaves it whole.
    pub(super) fn state(&self) -> MutexGuard<'_, DatabaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn ring(&self) {
        self.changed.notify_all();
    }
}

/// What ends a statement without an answer, or with a refusal.
enum StatementStop {
    Refused(EngineRefusal),
    /// The deadline passed.
    Hang,
}

impl From<EngineRefusal> for StatementStop {
    fn from(refusal: EngineRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A connection.
pub(super) struct SimulatedSession {
    database: Arc<Database>,
    scratches: Scratches,
    id: u64,
    dialect: Arc<Dialect>,
    patience: Duration,
    level: IsolationLevel,
    /// The transaction that a BEGIN opened.
    transaction: Option<TransactionNumber>,
    /// It takes nothing more until it is rolled back.
    has_failed: bool,
}

impl SimulatedSession {
    pub(super) fn open(
        database: Arc<Database>,
        id: u64,
        dialect: Arc<Dialect>,
        patience: Duration,
    ) -> Result<Self, EngineError> {
        let scratches = Scratches::open().map_err(|error| EngineError::Resource(error.message))?;
        Ok(Self {
            database,
            scratches,
            id,
            dialect,
            patience,
            level: IsolationLevel::RepeatableRead,
            transaction: None,
            has_failed: false,
        })
    }

    fn run(&mut self, sql: &str) -> Result<Outcome, StatementStop> {
        let done = Ok(Outcome::Affected(0));
        let database = Arc::clone(&self.database);
        let begun = Instant::now();
        let mut state = self.await_turn(&database, None, begun)?;
        if let Some(open) = self.transaction {
            state.note(open, sql);
        }
        let command = SessionCommand::read(sql);
        if self.has_failed && !command.leaves_failure() {
            return Err(EngineRefusal::Failed.into());
        }
        match command {
            SessionCommand::Begin {
                snapshot,
                read_only,
            } => {
                let number = self.begin(&mut state, read_only);
                if snapshot {
                    state.snapshot_at_once(number);
                }
                done
            }
            SessionCommand::Commit => {
                let has_failed = std::mem::take(&mut self.has_failed);
                match self.transaction.take() {
                    Some(open) if has_failed => state.roll_back(open),
                    Some(open) => state.asked_to_commit(open)?,
                    None => {}
                }
                done
            }
            SessionCommand::Rollback => {
                self.has_failed = false;
                if let Some(open) = self.transaction.take() {
                    state.asked_to_roll_back(open);
                }
                done
            }
            SessionCommand::Savepoint(name) => {
                if let Some(open) = self.transaction {
                    state.savepoint(open, name);
                }
                done
            }
            SessionCommand::RollbackTo(name) => {
                let open = self.transaction.unwrap_or_default();
                let undone = state.asked_to_roll_back_to(open, &name);
                self.has_failed &= undone.is_err();
                self.after_refusal(&mut state, undone)?;
                done
            }
            SessionCommand::Release(name) => {
                let released = state.asked_to_release(self.transaction.unwrap_or_default(), &name);
                self.after_refusal(&mut state, released)?;
                done
            }
            SessionCommand::SetLevel(level) => {
                self.level = level;
                done
            }
            SessionCommand::Set => done,
            SessionCommand::ChangeSchema => {
                if let Some(open) = self.transaction.take() {
                    state.commit(open);
                }
                self.change_schema(&mut state, sql)?;
                done
            }
            SessionCommand::Query(query) => self.query(&database, state, &query, begun),
        }
    }

    /// Opens a transaction; one that is open is committed.
    fn begin(&mut self, state: &mut DatabaseState, read_only: bool) -> TransactionNumber {
        if let Some(open) = self.transaction.take() {
            state.commit(open);
        }
        let number = state.begin(self.id, self.level, read_only);
        self.transaction = Some(number);
        number
    }

    /// Waits until it is this statement's turn to look at the database.
    fn await_turn<'d>(
        &self,
        database: &'d Database,
        ticket: Option<u64>,
        begun: Instant,
    ) -> Result<MutexGuard<'d, DatabaseState>, StatementStop> {
        let mut state = database.state();
        loop {
            let killed = ticket
                .and_then(|ticket| state.waiters.get(&ticket))
                .is_some_and(|waiter| waiter.killed);
            if killed {
                return Err(EngineRefusal::Interrupted.into());
            }
            if state.has_turn(ticket) {
                return Ok(state);
            }
            let waited = begun.elapsed();
            if waited >= self.patience {
                return Err(StatementStop::Hang);
            }
            if waited >= LOCK_WAIT_MAX {
                return Err(EngineRefusal::LockTimeout.into());
            }
            let rest = self.patience.min(LOCK_WAIT_MAX) - waited;
            let woken = database.changed.wait_timeout(state, rest);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Runs a statement on rows, in the open transaction or in one of its own.
    fn query<'d>(
        &mut self,
        database: &'d Database,
        mut state: MutexGuard<'d, DatabaseState>,
        query: &Query,
        begun: Instant,
    ) -> Result<Outcome, StatementStop> {
        let number = match self.transaction {
            Some(open) => open,
            None => {
                let number = state.begin(self.id, self.level, false);
                state.note(number, &query.sql);
                number
            }
        };
        let result = self.attempts(database, state, number, query, begun);
        let mut state = database.state();
        let effect = match &result {
            Ok(_) => RefusalEffect::UndoesStatement,
            Err(StatementStop::Refused(refusal)) => {
                let wrongly = state.strikes(Fault::ErrorEndsTransaction, number);
                match refusal.is_constraint() && wrongly {
                    true => RefusalEffect::EndsTransaction,
                    false => state.flavour().effect_of(refusal),
                }
            }
            Err(StatementStop::Hang) => RefusalEffect::EndsTransaction,
        };
        let is_victim = matches!(
            &result,
            Err(StatementStop::Refused(EngineRefusal::Deadlock))
        );
        let result = match (effect, result) {
            (RefusalEffect::UndoesStatement, result) if self.transaction.is_some() => result,
            (_, Ok(outcome)) => {
                let committed = state.commit_alone(number);
                committed.map(|()| outcome).map_err(StatementStop::Refused)
            }
            (effect, Err(stop)) => {
                let fails = effect == RefusalEffect::FailsTransaction && self.transaction.is_some();
                match is_victim {
                    _ if fails && state.undo_to_savepoint(number) => {}
                    true => state.roll_back_victim(number),
                    false => state.roll_back(number),
                }
                self.has_failed = fails;
                self.transaction = self.transaction.filter(|_| fails);
                Err(stop)
            }
        };
        drop(state);
        database.ring();
        result
    }

    /// Lets a refusal of transaction control do to the open transaction what it does.
    fn after_refusal(
        &mut self,
        state: &mut DatabaseState,
        result: Result<(), EngineRefusal>,
    ) -> Result<(), EngineRefusal> {
        let (Err(refusal), Some(open)) = (&result, self.transaction) else {
            return result;
        };
        let fails = state.flavour().effect_of(refusal) == RefusalEffect::FailsTransaction;
        if fails && !self.has_failed {
            self.has_failed = true;
            if !state.undo_to_savepoint(open) {
                state.roll_back(open);
            }
        }
        result
    }

    /// Runs a statement as often as it has to start over.
    fn attempts<'d>(
        &mut self,
        database: &'d Database,
        mut state: MutexGuard<'d, DatabaseState>,
        number: TransactionNumber,
        query: &Query,
        begun: Instant,
    ) -> Result<Outcome, StatementStop> {
        let found = state.transactions.get(&number);
        if query.writes && found.is_some_and(|transaction| transaction.read_only) {
            return Err(EngineRefusal::ReadOnly.into());
        }
        let mut ticket = None;
        let mut resumed = Resumed {
            commits: state.commits,
            rows: BTreeSet::new(),
        };
        loop {
            let waited = ticket.map(|_| &resumed);
            let running = RunningStatement::new(
                &mut state,
                &mut self.scratches,
                number,
                query,
                StatementPast {
                    sent_at: resumed.commits,
                    resumed: waited,
                },
            );
            let obstacle = match running.attempt() {
                Ok(StatementAttempt::Blocked(obstacle)) => obstacle,
                Ok(StatementAttempt::Done(outcome)) => {
                    leave(&mut state, ticket);
                    return Ok(outcome);
                }
                Err(refusal) => {
                    leave(&mut state, ticket);
                    return Err(refusal.into());
                }
            };
            resumed.rows.extend(obstacle.rows);
            match state.wait(ticket, number, obstacle.holders) {
                Ok(own) => ticket = Some(own),
                Err(refusal) => {
                    leave(&mut state, ticket);
                    return Err(refusal.into());
                }
            }
            drop(state);
            database.ring();
            state = match self.await_turn(database, ticket, begun) {
                Ok(state) => state,
                Err(failure) => {
                    leave(&mut database.state(), ticket);
                    return Err(failure);
                }
            };
        }
    }

    /// Changes the schema. What the tables hold stays, with new columns as SQLite fills them.
    fn change_schema(&mut self, state: &mut DatabaseState, sql: &str) -> Result<(), EngineRefusal> {
        let (strict, free) = (&mut self.scratches.strict, &mut self.scratches.free);
        strict.build(&state.schema)?;
        free.build(&state.schema)?;
        for (key, table) in &state.tables {
            strict.load(key, table, &current(table, 0))?;
        }
        strict.change_schema(sql)?;
        let raw = strict.raw();
        let read = || -> rusqlite::Result<_> {
            let views: BTreeSet<String> = schema::names(raw, "view")?.into_iter().collect();
            let next = SchemaText {
                edition: state.schema.edition + 1,
                statements: schema::statements(raw)?,
                views: views.iter().map(|name| name.to_ascii_lowercase()).collect(),
            };
            Ok((next, schema::tables(raw)?))
        };
        let (next, described) = read().map_err(super::scratch::ScratchError::from)?;
        state.adopt(next, described);
        for table in state.tables.values_mut() {
            for (row, cells) in strict.content(table)? {
                let chain: RowChain = vec![RowVersion {
                    writer: 0,
                    written: 0,
                    committed: Some(0),
                    cells: Some(cells),
                }];
                table.rows.insert(row, chain);
            }
        }
        Ok(())
    }

    fn rejection(&self, refusal: &EngineRefusal) -> Outcome {
        let (code, message) = (refusal.code(), refusal.message());
        let mut class = self.dialect.class_of(&code, &message);
        if let (ErrorClass::Other, EngineRefusal::Scratch(error)) = (class, refusal) {
            // The low byte is the primary code, which stands for all its refinements.
            let primary = (error.code & 0xff).to_string();
            class = self.dialect.class_of(&primary, &message);
        }
        Outcome::Rejected(SqlError {
            code,
            class,
            message,
        })
    }
}

/// Takes a statement off the list of those that wait.
fn leave(state: &mut DatabaseState, ticket: Option<u64>) {
    if let Some(ticket) = ticket {
        state.waiters.remove(&ticket);
    }
}

impl Connection for SimulatedSession {
    fn id(&self) -> u64 {
        self.id
    }

    fn execute(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        let result = self.run(sql);
        self.database.ring();
        match result {
            Ok(outcome) => Ok(outcome),
            Err(StatementStop::Refused(refusal)) => Ok(self.rejection(&refusal)),
            Err(StatementStop::Hang) => Err(EngineError::Hang {
                sql: sql.to_owned(),
                seconds: self.patience.as_secs(),
            }),
        }
    }

    fn transaction_state(&mut self) -> Result<TransactionState, EngineError> {
        Ok(match self.transaction {
            Some(_) => TransactionState::Open,
            None => TransactionState::None,
        })
    }

    fn dialect(&self) -> &Dialect {
        &self.dialect
    }
}

impl Drop for SimulatedSession {
    fn drop(&mut self) {
        if let Some(open) = self.transaction.take() {
            self.database.state().roll_back(open);
            self.database.ring();
        }
    }
}
