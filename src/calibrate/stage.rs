//! Two sessions that act in turn, and the lock view that tells whether one of them waits.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::listener::CalibrationListener;
use super::schema::{all_rows, changed_rows, schema};
use crate::dialect::Capability;
use crate::engine::{Connection, EngineError, Server, TransactionState, Watcher, poll_interval};
use crate::model::{IsolationLevel, Outcome};

/// The pause between two looks at the lock view.
const PAUSE: Duration = Duration::from_micros(200);

/// How long a statement goes unanswered that waits though the dialect has none wait: a slow server takes a while for
/// one that does not.
const AGAINST_THE_DIALECT: Duration = Duration::from_secs(5);

/// How long a statement goes unanswered while the lock view does not show it waiting, before its probe is given up.
pub(super) const UNSEEN: Duration = Duration::from_secs(10);

/// How long a statement that must not wait may be seen waiting.
const BY_ITSELF: Duration = Duration::from_secs(1);

type Answered = (Box<dyn Connection>, Result<Outcome, EngineError>);

/// Why the probes end before they are done.
#[derive(Debug)]
pub(super) enum Halt {
    Engine(EngineError),
    /// The listener asked for it.
    Interrupted,
    /// This statement goes unanswered, and the lock view does not show it waiting: what it would have read is not known.
    Unseen(String),
}

impl From<EngineError> for Halt {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// What was sent. Both sessions write to it.
#[derive(Debug, Default)]
struct SentStatements {
    /// The statements, each after its session's name, and what else happened.
    script: Vec<String>,
    /// Since the rows were last restored: the session's name and the statement.
    since_reset: Vec<(&'static str, String)>,
}

type Script = Rc<RefCell<SentStatements>>;

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
    /// The statement that was sent last.
    sql: String,
    /// The engine's own number of the connection.
    id: u64,
    /// How long a statement goes unanswered at least before it is taken for waiting, on an engine that shows no waits.
    quiet_min: Duration,
    /// What the script calls the session.
    name: &'static str,
    script: Script,
}

impl Actor {
    fn new(name: &'static str, connection: Box<dyn Connection>, script: &Script) -> Self {
        let waits_nowhere = connection.dialect().supports(Capability::LocksAtCommit);
        Self {
            id: connection.id(),
            quiet_min: match waits_nowhere {
                true => AGAINST_THE_DIALECT,
                false => Duration::ZERO,
            },
            connection: Some(connection),
            running: None,
            sql: String::new(),
            name,
            script: Rc::clone(script),
        }
    }

    fn note(&mut self, sql: &str) {
        self.sql = sql.to_owned();
        let mut sent = self.script.borrow_mut();
        sent.script.push(format!("{} {sql}", self.name));
        sent.since_reset.push((self.name, sql.to_owned()));
    }

    /// Runs a statement that cannot wait.
    pub(super) fn run(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.note(sql);
        match &mut self.connection {
            Some(connection) => connection.execute(sql),
            None => Err(self.lost()),
        }
    }

    /// Runs a statement that cannot wait and must be accepted.
    pub(super) fn must(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        accepted(sql, self.run(sql)?)
    }

    /// As [`Connection::counted`].
    pub(super) fn counted(&self) -> Option<i64> {
        self.connection.as_ref()?.counted()
    }

    /// Whether its transaction is open, as the server says.
    pub(super) fn transaction_state(&mut self) -> Result<TransactionState, EngineError> {
        match &mut self.connection {
            Some(connection) => connection.transaction_state(),
            None => Err(self.lost()),
        }
    }

    /// Sends a statement and comes back when it was answered or is seen waiting.
    pub(super) fn ask(
        &mut self,
        watcher: &mut dyn Watcher,
        listener: &dyn CalibrationListener,
        sql: &str,
    ) -> Result<Reply, Halt> {
        let Some(mut connection) = self.connection.take() else {
            return Err(self.lost().into());
        };
        let id = self.id;
        self.note(sql);
        let text = self.sql.clone();
        let began = Instant::now();
        let pause = poll_interval(PAUSE, watcher.shows_after());
        let running = std::thread::spawn(move || {
            let result = connection.execute(&text);
            (connection, result)
        });
        self.running = Some(running);
        loop {
            if self.running.as_ref().is_none_or(JoinHandle::is_finished) {
                return Ok(Reply::Answered(self.finish()?));
            }
            let waits = match watcher.quiet_means_waiting() {
                Some(limit) => began.elapsed() > limit.max(self.quiet_min),
                None => watcher.waiting(&[id])?.contains_key(&id),
            };
            if waits {
                let line = format!("-- {} waits", self.name);
                self.script.borrow_mut().script.push(line);
                return Ok(Reply::Waits);
            }
            if listener.is_stopped() {
                return Err(Halt::Interrupted);
            }
            if began.elapsed() > UNSEEN {
                return Err(Halt::Unseen(self.sql.clone()));
            }
            std::thread::sleep(pause);
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

    /// Closes the connection. A statement that still runs is ended first: it may wait for a lock,
    /// and would hold up the end of the database.
    fn close(self, watcher: &mut dyn Watcher) {
        let Some(running) = self.running else {
            return;
        };
        // A server that does not listen cannot end it, and waiting for the thread would not end.
        if watcher.kill(self.id).is_ok() {
            drop(running.join());
        }
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
        outcome @ (Outcome::Rows(_) | Outcome::Affected(_)) => Ok(outcome),
    }
}

/// The tables `t` (target), `u` (source), `w` (changed by no other session) and `z` (empty), and two
/// sessions.
pub(super) struct Stage<'a> {
    pub(super) server: &'a dyn Server,
    pub(super) listener: &'a mut dyn CalibrationListener,
    /// The session under test.
    pub(super) tested: Actor,
    /// The session that interferes.
    pub(super) other: Actor,
    pub(super) watcher: Box<dyn Watcher>,
    /// Where the tables are.
    database: String,
    /// A row key never used before.
    next_key: i64,
    script: Script,
}

impl<'a> Stage<'a> {
    /// Opens the sessions in a database of ours, and makes the tables there.
    pub(super) fn set_up(
        server: &'a dyn Server,
        database: &str,
        listener: &'a mut dyn CalibrationListener,
    ) -> Result<Self, EngineError> {
        let script = Script::default();
        let mut stage = Self {
            server,
            listener,
            tested: Actor::new("tested", server.connect(database)?, &script),
            other: Actor::new("other", server.connect(database)?, &script),
            watcher: server.watcher()?,
            database: database.to_owned(),
            next_key: 1000,
            script,
        };
        for sql in schema(server.dialect()) {
            stage.other.must(&sql)?;
        }
        stage
            .other
            .must("INSERT INTO w VALUES (1, 1), (2, 2), (3, 3)")?;
        stage.restore(&all_rows(server.dialect()))?;
        Ok(stage)
    }

    /// Ends both sessions' transactions and restores the rows: `(1, 1), (2, 2), (3, 3)`.
    pub(super) fn reset(&mut self) -> Result<(), Halt> {
        if self.listener.is_stopped() {
            return Err(Halt::Interrupted);
        }
        let script = self.take_script();
        let dialect = self.server.dialect();
        for actor in [&mut self.tested, &mut self.other] {
            let is_its_own = |(name, _): &(&str, String)| *name == actor.name;
            let has_sent = self.script.borrow().since_reset.iter().any(is_its_own);
            if has_sent {
                // Where no transaction is open, some engines reject this; that is no matter.
                actor.run(&dialect.spelling.rollback)?;
            }
        }
        self.next_key += 10;
        let changed = {
            let sent = self.script.borrow();
            changed_rows(
                dialect,
                sent.since_reset.iter().map(|(_, sql)| sql.as_str()),
            )
        };
        self.restore(&changed)?;
        let line = "-- both roll back; t and u hold (1, 1), (2, 2), (3, 3) again";
        let mut sent = self.script.borrow_mut();
        sent.script = script;
        sent.script.push(line.to_owned());
        Ok(())
    }

    /// Ends the transaction of the session that has been answered, so that the other one is, too, and restores the rows.
    ///
    /// # Errors
    /// A statement that is not answered then is no matter of locks: the server hangs.
    pub(super) fn free_the_unanswered(&mut self) -> Result<(), Halt> {
        let rollback = &self.server.dialect().spelling.rollback;
        for actor in [&mut self.tested, &mut self.other] {
            if actor.running.is_none() {
                actor.run(rollback)?;
            }
        }
        for actor in [&mut self.tested, &mut self.other] {
            if actor.running.is_some() {
                actor.finish()?;
            }
        }
        self.reset()
    }

    /// Restores rows in one transaction, so that a server that writes each commit to its disk does so once, and as one
    /// command where the engine has one for that.
    fn restore(&mut self, statements: &[&str]) -> Result<(), EngineError> {
        let dialect = self.server.dialect();
        if !statements.is_empty() {
            // Within another command, BEGIN may open a block.
            let ends = (self.begin_as("start"), dialect.spelling.commit.as_str());
            let all = [&[ends.0], statements, &[ends.1]].concat();
            let all: Vec<String> = all.into_iter().map(str::to_owned).collect();
            match dialect.together(&all) {
                Some(command) => self.other.must(&command).map(drop)?,
                None => all
                    .iter()
                    .try_for_each(|sql| self.other.must(sql).map(drop))?,
            }
        }
        self.script.borrow_mut().since_reset.clear();
        Ok(())
    }

    /// The statements that were sent since the last time, without those that restored the rows.
    pub(super) fn take_script(&mut self) -> Vec<String> {
        std::mem::take(&mut self.script.borrow_mut().script)
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
        self.begin_as("plain")
    }

    /// The text that opens a transaction, by its name in the dialect.
    pub(super) fn begin_as(&self, name: &str) -> &'a str {
        let begin = &self.server.dialect().spelling.begin;
        begin.get(name).map_or("BEGIN", String::as_str)
    }

    /// Asks the session under test.
    pub(super) fn ask(&mut self, sql: &str) -> Result<Reply, Halt> {
        self.tested.ask(&mut *self.watcher, &*self.listener, sql)
    }

    /// Asks the other session.
    pub(super) fn ask_other(&mut self, sql: &str) -> Result<Reply, Halt> {
        self.other.ask(&mut *self.watcher, &*self.listener, sql)
    }

    /// Asks the other session. Where it waits, the one under test rolls back, so that it is answered.
    pub(super) fn ask_other_and_free(&mut self, sql: &str) -> Result<Reply, Halt> {
        let reply = self.ask_other(sql)?;
        if let Reply::Waits = reply {
            self.tested.must(&self.server.dialect().spelling.rollback)?;
            self.other.finish()?;
        }
        Ok(reply)
    }

    /// Has a third session run a statement that cannot wait, and must be accepted.
    pub(super) fn third(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        let connection = self.server.connect(&self.database)?;
        Actor::new("third", connection, &self.script).must(sql)
    }

    /// Whether the session under test has answered by now.
    pub(super) fn tested_is_done(&self) -> bool {
        self.tested
            .running
            .as_ref()
            .is_none_or(JoinHandle::is_finished)
    }

    /// Whether the other session, just seen waiting, answers though nothing lets it go on. MySQL's
    /// lock view may show a SKIP LOCKED that finds a row locked for the moment in which it does.
    pub(super) fn other_answers_by_itself(&self) -> bool {
        let began = Instant::now();
        let is_done = || {
            self.other
                .running
                .as_ref()
                .is_none_or(JoinHandle::is_finished)
        };
        while !is_done() && began.elapsed() < BY_ITSELF {
            std::thread::sleep(PAUSE);
        }
        is_done()
    }

    /// Closes the sessions, whatever they are doing.
    pub(super) fn strike(mut self) {
        self.tested.close(&mut *self.watcher);
        self.other.close(&mut *self.watcher);
    }
}
