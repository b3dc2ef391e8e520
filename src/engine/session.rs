//! Connections of servers that are reached by a protocol: what they share beside how bytes travel.

use std::sync::Arc;
use std::time::Duration;

use super::connection::{Connection, TransactionState};
use super::error::EngineError;
use crate::dialect::Dialect;
use crate::model::{ErrorClass, Outcome, Row, SqlError};

/// A connection whose answers carry no error class: what the guard and the watchers use.
pub(super) trait BareSession: Send {
    /// As URLs name it.
    fn engine(&self) -> &'static str;

    /// The engine's own number of the connection.
    fn id(&self) -> u64;

    /// Sends one statement.
    fn send(&mut self, sql: &str) -> Result<Outcome, EngineError>;

    /// As [`Connection::transaction_state`].
    fn transaction_state(&mut self) -> Result<TransactionState, EngineError>;

    /// As [`Connection::ended_transaction`].
    fn ended_transaction(&self) -> bool {
        false
    }

    /// As [`Connection::counted`].
    fn counted(&self) -> Option<i64> {
        None
    }

    /// As [`Connection::reported`].
    fn reported(&self) -> Option<u64> {
        None
    }

    /// As [`Connection::command_tag`].
    fn command_tag(&self) -> Option<String> {
        None
    }

    /// Sends a statement of ours, which must not be rejected.
    fn run(&mut self, sql: &str) -> Result<(), EngineError> {
        self.rows(sql).map(drop)
    }

    /// The same, with the rows.
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
        let outcome = self.send(sql)?;
        rows_of(self.engine(), sql, outcome)
    }
}

/// A failed statement: the server's own error, or the reason why there is no answer.
pub(super) enum StatementFailure {
    Answered { code: String, message: String },
    NoAnswer(EngineError),
}

/// Whether a connection can still be used.
#[derive(Default)]
pub(super) struct Fitness {
    /// A statement got no answer: nothing more is sent.
    is_over: bool,
}

impl Fitness {
    /// Refuses to send on a connection that failed before.
    pub(super) fn check(&self, engine: &'static str, sql: &str) -> Result<(), EngineError> {
        if !self.is_over {
            return Ok(());
        }
        Err(EngineError::ConnectionLost {
            engine,
            sql: sql.to_owned(),
            cause: "the connection failed before".to_owned(),
        })
    }

    /// Turns a failure into a rejection without a class, or into the end of the connection.
    pub(super) fn judge(&mut self, failure: StatementFailure) -> Result<Outcome, EngineError> {
        match failure {
            StatementFailure::Answered { code, message } => Ok(Outcome::Rejected(SqlError {
                code,
                class: ErrorClass::Other,
                message,
            })),
            StatementFailure::NoAnswer(error) => {
                self.is_over = true;
                Err(error)
            }
        }
    }
}

/// No answer came within the deadline.
pub(super) fn hang(sql: &str, deadline: Duration) -> EngineError {
    EngineError::Hang {
        sql: sql.to_owned(),
        seconds: deadline.as_secs(),
    }
}

/// A rejection of a statement that needs a privilege names the GRANT that gives it.
pub(super) fn missing_privilege(error: &SqlError, grant: &str) -> EngineError {
    EngineError::Privilege {
        cause: format!("{} {}", error.code, error.message),
        grant: grant.to_owned(),
    }
}

/// The rows of the answer to a statement of ours, which must not be a rejection.
pub(super) fn rows_of(
    engine: &'static str,
    sql: &str,
    outcome: Outcome,
) -> Result<Vec<Row>, EngineError> {
    match outcome {
        Outcome::Rows(rows) => Ok(rows),
        Outcome::Affected(_) => Ok(Vec::new()),
        Outcome::Rejected(error) => Err(EngineError::Rejected {
            engine,
            sql: sql.to_owned(),
            message: format!("{} {}", error.code, error.message),
        }),
    }
}

/// A session of a case: its answers are classified by the dialect.
pub(super) struct ClassifiedSession<S> {
    session: S,
    dialect: Arc<Dialect>,
}

impl<S: BareSession> ClassifiedSession<S> {
    pub(super) fn new(session: S, dialect: Arc<Dialect>) -> Self {
        Self { session, dialect }
    }
}

impl<S: BareSession> Connection for ClassifiedSession<S> {
    fn id(&self) -> u64 {
        self.session.id()
    }

    fn execute(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        let mut outcome = self.session.send(sql)?;
        if let Outcome::Rejected(error) = &mut outcome {
            error.class = self.dialect.class_of(&error.code, &error.message);
            if error.class == ErrorClass::Resource {
                let message = format!("{} {}", error.code, error.message);
                return Err(EngineError::Resource(message));
            }
        }
        Ok(outcome)
    }

    fn transaction_state(&mut self) -> Result<TransactionState, EngineError> {
        self.session.transaction_state()
    }

    fn ended_transaction(&self) -> bool {
        self.session.ended_transaction()
    }

    fn counted(&self) -> Option<i64> {
        self.session.counted()
    }

    fn reported(&self) -> Option<u64> {
        self.session.reported()
    }

    fn command_tag(&self) -> Option<String> {
        self.session.command_tag()
    }

    fn dialect(&self) -> &Dialect {
        &self.dialect
    }
}
