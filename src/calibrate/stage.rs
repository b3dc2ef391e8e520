//! Two sessions that act in turn, and the lock view that tells whether one of them waits.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::engine::{Connection, EngineError, STATEMENT_DEADLINE, Server, Watcher};
use crate::model::{IsolationLevel, Outcome};

/// The pause between two looks at the lock view.
const PAUSE: Duration = Duration::from_micros(200);

type Answered = (Box<dyn Connection>, Result<Outcome, EngineError>);

/// What came of a statement that may wait.
#[derive(Debug)]
pub(super) enum Reply {
    Answered(Outcome),
    /// The lock view shows it waiting; [`Actor::finish`] takes the answer.
    Waits,
}

/// One session, which may have a statement that waits.
pub(super) struct Actor {
    /// None while a statement runs.
    connection: Option<Box<dyn Connection>>,
    running: Option<JoinHandle<Answered>>,
    sql: String,
}

impl Actor {
    fn new(connection: Box<dyn Connection>) -> Self {
        Self {
            connection: Some(connection),
            running: None,
            sql: String::new(),
        }
    }

    /// Runs a statement that cannot wait.
    pub(super) fn run(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.sql = sql.to_owned();
        match &mut self.connection {
            Some(connection) => connection.execute(sql),
            None => Err(self.lost()),
        }
    }

    /// Runs a statement that cannot wait and must be accepted.
    pub(super) fn must(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        accepted(sql, self.run(sql)?)
    }

    /// Sends a statement and comes back when it was answered or is seen waiting.
    pub(super) fn ask(
        &mut self,
        watcher: &mut dyn Watcher,
        sql: &str,
    ) -> Result<Reply, EngineError> {
        let Some(mut connection) = self.connection.take() else {
            return Err(self.lost());
        };
        let id = connection.id();
        self.sql = sql.to_owned();
        let text = self.sql.clone();
        let began = Instant::now();
        let running = std::thread::spawn(move || {
            let result = connection.execute(&text);
            (connection, result)
        });
        self.running = Some(running);
        loop {
            if self.running.as_ref().is_none_or(JoinHandle::is_finished) {
                return Ok(Reply::Answered(self.finish()?));
            }
            if watcher.waiting(&[id])?.contains_key(&id) {
                return Ok(Reply::Waits);
            }
            if began.elapsed() > STATEMENT_DEADLINE {
                return Err(EngineError::Hang {
                    sql: self.sql.clone(),
                    seconds: STATEMENT_DEADLINE.as_secs(),
                });
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The answer of the statement that waited, now that nothing holds it up.
    pub(super) fn finish(&mut self) -> Result<Outcome, EngineError> {
        let Some(running) = self.running.take() else {
            return Err(self.lost());
        };
        let Ok((connection, result)) = running.join() else {
            return Err(self.lost());
        };
        self.connection = Some(connection);
        result
    }

    fn lost(&self) -> EngineError {
        EngineError::ConnectionLost {
            engine: "calibrate",
            sql: self.sql.clone(),
            cause: "the session's thread ended".to_owned(),
        }
    }
}

/// An accepted statement, or the error that ends the calibration.
pub(super) fn accepted(sql: &str, outcome: Outcome) -> Result<Outcome, EngineError> {
    match outcome {
        Outcome::Rejected(error) => Err(EngineError::Rejected {
            engine: "the server",
            sql: sql.to_owned(),
            message: format!("{} {}", error.code, error.message),
        }),
        outcome => Ok(outcome),
    }
}

/// The tables `t` (target), `u` (source), `w` (touched by nobody else) and `z` (empty), and two
/// sessions.
pub(super) struct Stage<'a> {
    pub(super) server: &'a dyn Server,
    database: String,
    /// The session under test.
    pub(super) tested: Actor,
    /// The session that interferes.
    pub(super) other: Actor,
    pub(super) watcher: Box<dyn Watcher>,
    /// A row key never used before.
    next_key: i64,
}

impl<'a> Stage<'a> {
    /// Makes the database and its tables.
    pub(super) fn set_up(server: &'a dyn Server, database: &str) -> Result<Self, EngineError> {
        server.create_database(database)?;
        let mut stage = Self {
            server,
            database: database.to_owned(),
            tested: Actor::new(server.connect(database)?),
            other: Actor::new(server.connect(database)?),
            watcher: server.watcher()?,
            next_key: 1000,
        };
        let options = &server.dialect().spelling.table_options;
        for table in ["t", "u", "w", "z"] {
            let sql =
                format!("CREATE TABLE {table} (pkey INTEGER PRIMARY KEY, c INTEGER){options}");
            stage.other.must(&sql)?;
        }
        stage
            .other
            .must("INSERT INTO w VALUES (1, 1), (2, 2), (3, 3)")?;
        stage.reset()?;
        Ok(stage)
    }

    /// Ends both sessions' transactions and restores the rows: `(1, 1), (2, 2), (3, 3)`.
    pub(super) fn reset(&mut self) -> Result<(), EngineError> {
        let rollback = self.server.dialect().spelling.rollback.clone();
        for actor in [&mut self.tested, &mut self.other] {
            // Where no transaction is open, some engines reject this; that is no matter.
            actor.run(&rollback)?;
        }
        self.next_key += 10;
        for table in ["t", "u"] {
            self.other.must(&format!("DELETE FROM {table}"))?;
            let sql = format!("INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3)");
            self.other.must(&sql)?;
        }
        Ok(())
    }

    /// A row key that was never in a table.
    pub(super) fn key(&self) -> i64 {
        self.next_key
    }

    /// Both sessions run at these levels from now on.
    pub(super) fn levels(
        &mut self,
        tested: IsolationLevel,
        other: IsolationLevel,
    ) -> Result<(), EngineError> {
        for (actor, level) in [(&mut self.tested, tested), (&mut self.other, other)] {
            if let Some(sql) = self.server.dialect().set_isolation(level) {
                actor.must(&sql)?;
            }
        }
        Ok(())
    }

    /// The text that opens a transaction.
    pub(super) fn begin(&self) -> &'a str {
        self.server
            .dialect()
            .spelling
            .begin
            .get("plain")
            .map_or("BEGIN", String::as_str)
    }

    /// Asks the session under test.
    pub(super) fn ask(&mut self, sql: &str) -> Result<Reply, EngineError> {
        self.tested.ask(&mut *self.watcher, sql)
    }

    /// Asks the other session.
    pub(super) fn ask_other(&mut self, sql: &str) -> Result<Reply, EngineError> {
        self.other.ask(&mut *self.watcher, sql)
    }

    /// Whether the session under test has answered by now.
    pub(super) fn tested_is_done(&self) -> bool {
        self.tested
            .running
            .as_ref()
            .is_none_or(JoinHandle::is_finished)
    }

    /// Closes the sessions and drops the database.
    pub(super) fn strike(self) -> Result<(), EngineError> {
        let Self {
            server,
            database,
            tested,
            other,
            watcher,
            ..
        } = self;
        drop((tested, other, watcher));
        server.drop_database(&database)
    }
}
