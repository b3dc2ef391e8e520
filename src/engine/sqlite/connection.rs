//! One connection to a database file.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;

use super::watcher::{Running, lock};
use crate::dialect::Dialect;
use crate::engine::connection::{Connection, TransactionState};
use crate::engine::error::EngineError;
use crate::model::{ErrorClass, Outcome, Row, SqlError, Value};

/// As URLs and dialect files name the engine.
pub(super) const NAME: &str = "sqlite";

/// How many virtual machine steps pass between two looks at the clock.
const STEPS_PER_LOOK: i32 = 20_000;

/// When the statement that runs must be given up, and whether it was.
#[derive(Default)]
struct StatementDeadline {
    at: Mutex<Option<Instant>>,
    passed: AtomicBool,
}

impl StatementDeadline {
    fn set(&self, at: Option<Instant>) {
        self.passed.store(false, Ordering::Relaxed);
        *self
            .at
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = at;
    }

    /// Whether the statement is to be interrupted now.
    fn is_over(&self) -> bool {
        let at = *self
            .at
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let over = at.is_some_and(|at| Instant::now() >= at);
        if over {
            self.passed.store(true, Ordering::Relaxed);
        }
        over
    }
}

pub(super) struct SqliteConnection {
    raw: rusqlite::Connection,
    id: u64,
    dialect: Arc<Dialect>,
    patience: Duration,
    deadline: Arc<StatementDeadline>,
    running: Running,
    /// How many rows the last statement said it changed beside those that it returned.
    reported: Option<u64>,
}

impl SqliteConnection {
    /// Takes over an opened connection and sets up its session.
    pub(super) fn new(
        mut raw: rusqlite::Connection,
        id: u64,
        dialect: Arc<Dialect>,
        patience: Duration,
        running: Running,
    ) -> Result<Self, EngineError> {
        let deadline = Arc::new(StatementDeadline::default());
        let seen = Arc::clone(&deadline);
        raw.progress_handler(STEPS_PER_LOOK, Some(move || seen.is_over()))
            .map_err(|error| rejected("progress handler", &error))?;
        lock(&running).insert(id, raw.get_interrupt_handle());
        let mut connection = Self {
            raw,
            id,
            dialect,
            patience,
            deadline,
            running,
            reported: None,
        };
        for sql in connection.dialect.session_setup.clone() {
            if let Outcome::Rejected(error) = connection.execute(&sql)? {
                return Err(EngineError::Rejected {
                    engine: NAME,
                    sql,
                    message: error.message,
                });
            }
        }
        Ok(connection)
    }

    fn run(&mut self, sql: &str) -> Result<Outcome, rusqlite::Error> {
        let before = self.raw.total_changes();
        // The count of changes is that of the last writing statement: BEGIN leaves it alone.
        let changes = || match self.raw.total_changes() == before {
            true => 0,
            false => self.raw.changes(),
        };
        let mut statement = self.raw.prepare(sql)?;
        if statement.column_count() == 0 {
            statement.execute([])?;
            return Ok(Outcome::Affected(changes()));
        }
        let writes = !statement.readonly();
        let mut rows = Vec::new();
        let mut cursor = statement.query([])?;
        while let Some(row) = cursor.next()? {
            // Counted after the step: when another connection changed the schema, the statement was
            // prepared for the old one, and the first step prepares it again.
            let columns = row.as_ref().column_count();
            let mut cells = Vec::with_capacity(columns);
            for index in 0..columns {
                cells.push(typed(row.get_ref(index)?));
            }
            rows.push(cells);
        }
        self.reported = writes.then(changes);
        Ok(Outcome::Rows(rows))
    }

    fn rejection(&self, sql: &str, error: &rusqlite::Error) -> Result<Outcome, EngineError> {
        let (code, message) = code_and_message(error);
        let mut class = self.dialect.class_of(&code.to_string(), &message);
        if class == ErrorClass::Other {
            // The low byte is the primary code, which stands for all its refinements.
            class = self.dialect.error_class(&(code & 0xff).to_string());
        }
        if class == ErrorClass::Interrupted && self.deadline.passed.load(Ordering::Relaxed) {
            return Err(EngineError::Hang {
                sql: sql.to_owned(),
                seconds: self.patience.as_secs(),
            });
        }
        if class == ErrorClass::Resource {
            return Err(EngineError::Resource(message));
        }
        Ok(Outcome::Rejected(SqlError {
            code: code.to_string(),
            class,
            message,
        }))
    }
}

impl Connection for SqliteConnection {
    fn id(&self) -> u64 {
        self.id
    }

    fn execute(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.deadline.set(Instant::now().checked_add(self.patience));
        self.reported = None;
        let result = self.run(sql);
        let outcome = match result {
            Ok(outcome) => Ok(outcome),
            Err(error) => self.rejection(sql, &error),
        };
        self.deadline.set(None);
        outcome
    }

    fn transaction_state(&mut self) -> Result<TransactionState, EngineError> {
        Ok(if self.raw.is_autocommit() {
            TransactionState::None
        } else {
            TransactionState::Open
        })
    }

    fn reported(&self) -> Option<u64> {
        self.reported
    }

    fn dialect(&self) -> &Dialect {
        &self.dialect
    }
}

impl Drop for SqliteConnection {
    fn drop(&mut self) {
        lock(&self.running).remove(&self.id);
    }
}

/// A cell by its storage class.
pub(in crate::engine) fn typed(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Bytes(bytes.to_vec()),
        },
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

/// The extended result code, or SQLITE_MISUSE for what the driver itself refuses.
#[expect(clippy::wildcard_enum_match_arm, reason = "an enum of rusqlite")]
pub(in crate::engine) fn code_and_message(error: &rusqlite::Error) -> (i32, String) {
    match error {
        rusqlite::Error::SqliteFailure(code, message) => (
            code.extended_code,
            message.clone().unwrap_or_else(|| error.to_string()),
        ),
        rusqlite::Error::SqlInputError { error, msg, .. } => (error.extended_code, msg.clone()),
        other => (rusqlite::ffi::SQLITE_MISUSE, other.to_string()),
    }
}

/// Rows of a marker or another small query of ours.
pub(super) fn plain_rows(raw: &rusqlite::Connection, sql: &str) -> rusqlite::Result<Vec<Row>> {
    let mut statement = raw.prepare(sql)?;
    let columns = statement.column_count();
    let mut rows = Vec::new();
    let mut cursor = statement.query([])?;
    while let Some(row) = cursor.next()? {
        rows.push(
            (0..columns)
                .map(|index| row.get_ref(index).map(typed))
                .collect::<rusqlite::Result<Row>>()?,
        );
    }
    Ok(rows)
}

/// A statement of ours that was refused.
pub(super) fn rejected(sql: &str, error: &rusqlite::Error) -> EngineError {
    EngineError::Rejected {
        engine: NAME,
        sql: sql.to_owned(),
        message: error.to_string(),
    }
}
