//! A connection of ours, whatever is sent on it noted.

use crate::dialect::Dialect;
use crate::engine::{Connection, EngineError};
use crate::model::{Outcome, Row, TableShape, Value};

use super::recording::{ConnectionRole, SentLog};

/// A connection of ours and its place in the log.
pub(super) struct Hand<'a> {
    pub(super) connection: &'a mut dyn Connection,
    pub(super) place: ConnectionRole,
    pub(super) log: &'a mut SentLog,
    pub(super) dialect: &'a Dialect,
}

impl Hand<'_> {
    /// Sends a statement; a rejection is an outcome.
    pub(super) fn send(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.log.sent(self.place, sql);
        let outcome = self.connection.execute(sql);
        self.log.failed |= outcome.is_err();
        outcome
    }

    /// Sends a statement that must not be rejected.
    pub(super) fn run(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
        let outcome = self.send(sql)?;
        accepted(sql, outcome)
    }

    /// Runs statements that must not be rejected: as one command, where the engine has one for that.
    ///
    /// If it is rejected, each statement is sent by itself, so that the error names the one that is
    /// to blame. The statements must come to the same if some of them have been run before.
    pub(super) fn run_together(&mut self, statements: &[String]) -> Result<(), EngineError> {
        if let Some(command) = self.dialect.together(statements) {
            self.log.sent_together(self.place, statements);
            let outcome = self.connection.execute(&command);
            self.log.failed |= outcome.is_err();
            if !matches!(outcome?, Outcome::Rejected(_)) {
                return Ok(());
            }
        }
        statements
            .iter()
            .try_for_each(|sql| self.run(sql).map(drop))
    }

    /// [`run_together`](Self::run_together) with foreign keys out of force: rows come and go in any order.
    pub(super) fn run_without_foreign_keys(
        &mut self,
        statements: Vec<String>,
    ) -> Result<(), EngineError> {
        let spelling = &self.dialect.spelling;
        let off = spelling.foreign_keys_off.iter().cloned();
        let on = spelling.foreign_keys_on.iter().cloned();
        let all: Vec<String> = off.chain(statements).chain(on).collect();
        let done = self.run_together(&all);
        self.with_foreign_keys_again(done)
    }

    /// [`send`](Self::send) with foreign keys out of force for this statement.
    pub(super) fn send_without_foreign_keys(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        let spelling = &self.dialect.spelling;
        let answer = self
            .run_together(&spelling.foreign_keys_off)
            .and_then(|()| self.send(sql))
            .and_then(|outcome| {
                self.run_together(&spelling.foreign_keys_on)?;
                Ok(outcome)
            });
        self.with_foreign_keys_again(answer)
    }

    /// Puts foreign keys in force where something failed while they were not: the connection serves other
    /// cases.
    fn with_foreign_keys_again<T>(
        &mut self,
        done: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if done.is_err() {
            // The first error is the cause.
            for sql in &self.dialect.spelling.foreign_keys_on {
                self.send(sql).ok();
            }
        }
        done
    }

    /// The whole content of a table, sorted.
    pub(super) fn contents(&mut self, table: &TableShape) -> Result<Vec<Row>, EngineError> {
        let (sql, outcome) = self.select_all(table)?;
        accepted(&sql, outcome)
    }

    /// A SELECT of the whole content of a table, and its answer, sorted.
    pub(super) fn select_all(
        &mut self,
        table: &TableShape,
    ) -> Result<(String, Outcome), EngineError> {
        let sql = self.dialect.select_all(table);
        self.log.sent(self.place, &sql);
        let outcome = self.connection.contents(table);
        self.log.failed |= outcome.is_err();
        Ok((sql, outcome?))
    }
}

/// The rows of a statement of ours, which must not be rejected.
pub(super) fn accepted(sql: &str, outcome: Outcome) -> Result<Vec<Row>, EngineError> {
    match outcome {
        Outcome::Rows(rows) => Ok(rows),
        Outcome::Affected(_) => Ok(Vec::new()),
        Outcome::Rejected(error) => Err(EngineError::Setup {
            sql: sql.to_owned(),
            message: format!("{} ({})", error.message, error.code),
        }),
    }
}

/// A name in an answer: some servers send names as binary strings.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::Null
        | Value::Integer(_)
        | Value::Unsigned(_)
        | Value::Real(_)
        | Value::Decimal(_)
        | Value::Temporal(_) => None,
    }
}
