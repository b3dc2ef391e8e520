//! The connections of the sessions: one each, kept open across cases, each with a thread of its
//! own for statements that may wait.
//!
//! A connection belongs to one thread at a time: it travels to the thread with the statement and
//! comes back with the answer. A statement that cannot wait runs where the driver runs, which
//! saves two thread switches.

use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use crate::engine::{Connection, EngineError, Server, TransactionState};
use crate::model::{IsolationLevel, Outcome};

/// An answer, and the state of the session's transaction if it was queried.
#[derive(Debug)]
pub(super) struct StatementReply {
    pub(super) outcome: Outcome,
    pub(super) state: Option<TransactionState>,
    /// As [`Connection::ended_transaction`].
    pub(super) says_ended: bool,
    /// As [`Connection::counted`].
    pub(super) counted: Option<i64>,
    /// As [`Connection::reported`].
    pub(super) reported: Option<u64>,
    /// As [`Connection::command_tag`].
    pub(super) command_tag: Option<String>,
    /// The answer is that of the PREPARE, which was rejected; the statement behind it was not sent.
    pub(super) is_of_prepare: bool,
}

/// When to query the state of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Never,
    /// When the statement was rejected.
    AfterRejection,
    /// After every answer that does not itself say that the transaction ended.
    UnlessEnded,
    /// After every answer: the statement may end or open a transaction implicitly.
    Always,
}

/// What a session sends for one statement.
#[derive(Clone, Debug)]
pub(super) struct SentCommand {
    /// Is sent first, and the statement only where this is accepted. It may wait, too: for a table.
    pub(super) prepare: Option<String>,
    pub(super) sql: String,
}

impl SentCommand {
    /// A statement as it stands.
    pub(super) fn plain(sql: &str) -> Self {
        Self {
            prepare: None,
            sql: sql.to_owned(),
        }
    }

    /// In the order of sending.
    pub(super) fn statements(&self) -> Vec<String> {
        let prepare = self.prepare.iter();
        prepare.chain([&self.sql]).cloned().collect()
    }
}

/// A command on its way to a thread.
struct Job {
    connection: Box<dyn Connection>,
    command: SentCommand,
    ask: Ask,
}

/// A connection on its way back.
struct ReturnedConnection {
    slot: usize,
    connection: Box<dyn Connection>,
    reply: Result<StatementReply, EngineError>,
}

/// One session's connection and thread.
struct Slot {
    /// None while the thread has it.
    connection: Option<Box<dyn Connection>>,
    /// The engine's number of the connection.
    id: u64,
    jobs: Sender<Job>,
    /// The level that was set last.
    level: Option<IsolationLevel>,
}

/// The sessions' connections, counted from 0.
pub(super) struct SessionConnections {
    slots: Vec<Slot>,
    done: Receiver<ReturnedConnection>,
    done_sender: Sender<ReturnedConnection>,
}

impl SessionConnections {
    pub(super) fn new() -> Self {
        let (done_sender, done) = unbounded();
        Self {
            slots: Vec::new(),
            done,
            done_sender,
        }
    }

    /// Opens connections until there are this many. Returns how many it opened.
    pub(super) fn open(
        &mut self,
        count: usize,
        server: &dyn Server,
        database: &str,
    ) -> Result<(), EngineError> {
        while self.slots.len() < count {
            let connection = server.connect(database)?;
            let jobs = self.start_thread(self.slots.len())?;
            self.slots.push(Slot {
                id: connection.id(),
                connection: Some(connection),
                jobs,
                level: None,
            });
        }
        Ok(())
    }

    /// Closes the connections from this one on: a case changed their settings.
    pub(super) fn close_from(&mut self, slot: usize) {
        self.slots.truncate(slot);
    }

    /// The engine's number of a session's connection.
    pub(super) fn id(&self, slot: usize) -> Option<u64> {
        self.slots.get(slot).map(|slot| slot.id)
    }

    /// The connections whose statements have not come back.
    pub(super) fn away(&self) -> Vec<u64> {
        self.slots
            .iter()
            .filter(|slot| slot.connection.is_none())
            .map(|slot| slot.id)
            .collect()
    }

    /// Every slot.
    pub(super) fn all(&self) -> std::ops::Range<usize> {
        0..self.slots.len()
    }

    pub(super) fn level(&self, slot: usize) -> Option<IsolationLevel> {
        self.slots.get(slot).and_then(|slot| slot.level)
    }

    pub(super) fn set_level(&mut self, slot: usize, level: IsolationLevel) {
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.level = Some(level);
        }
    }

    /// The connection of a session that has nothing under way.
    pub(super) fn connection(&mut self, slot: usize) -> Option<&mut Box<dyn Connection>> {
        self.slots.get_mut(slot)?.connection.as_mut()
    }

    /// Runs a command that cannot wait, on the caller's thread.
    pub(super) fn run(
        &mut self,
        slot: usize,
        command: &SentCommand,
        ask: Ask,
    ) -> Result<StatementReply, EngineError> {
        let connection = self.connection(slot);
        let connection = connection.ok_or_else(|| busy(slot, &command.sql))?;
        answer(connection.as_mut(), command, ask)
    }

    /// Sends a command on the session's thread.
    pub(super) fn start(
        &mut self,
        slot: usize,
        command: SentCommand,
        ask: Ask,
    ) -> Result<(), EngineError> {
        let taken = self.slots.get_mut(slot).and_then(|slot| {
            let connection = slot.connection.take()?;
            Some((slot, connection))
        });
        let (slot, connection) = taken.ok_or_else(|| busy(slot, &command.sql))?;
        let job = Job {
            connection,
            command,
            ask,
        };
        slot.jobs
            .send(job)
            .map_err(|_| EngineError::Resource("a session's thread is gone".to_owned()))
    }

    /// The next answer, if one comes in this time.
    pub(super) fn receive(
        &mut self,
        timeout: Duration,
    ) -> Option<(usize, Result<StatementReply, EngineError>)> {
        let done = self.done.recv_timeout(timeout).ok()?;
        self.slots.get_mut(done.slot)?.connection = Some(done.connection);
        Some((done.slot, done.reply))
    }

    fn start_thread(&self, slot: usize) -> Result<Sender<Job>, EngineError> {
        let (jobs, inbox) = bounded::<Job>(1);
        let done = self.done_sender.clone();
        thread::Builder::new()
            .name(format!("session-{}", slot + 1))
            .spawn(move || {
                // Ends when the slot is closed; a statement under way then is bounded by its
                // deadline, and its answer is dropped.
                for mut job in inbox {
                    let reply = answer(job.connection.as_mut(), &job.command, job.ask);
                    let connection = job.connection;
                    let sent = done.send(ReturnedConnection {
                        slot,
                        connection,
                        reply,
                    });
                    if sent.is_err() {
                        return;
                    }
                }
            })
            .map(|_| jobs)
            .map_err(|error| EngineError::Resource(format!("no thread for a session: {error}")))
    }
}

fn answer(
    connection: &mut dyn Connection,
    command: &SentCommand,
    ask: Ask,
) -> Result<StatementReply, EngineError> {
    let prepared = match &command.prepare {
        Some(prepare) => Some(connection.execute(prepare)?),
        None => None,
    };
    let refused = prepared.filter(|answer| matches!(answer, Outcome::Rejected(_)));
    let is_of_prepare = refused.is_some();
    let outcome = match refused {
        Some(refused) => refused,
        None => connection.execute(&command.sql)?,
    };
    let (counted, reported) = (connection.counted(), connection.reported());
    let command_tag = connection.command_tag();
    let asked = match ask {
        Ask::Never => false,
        Ask::AfterRejection => matches!(outcome, Outcome::Rejected(_)),
        Ask::UnlessEnded => !connection.ended_transaction(),
        Ask::Always => true,
    };
    let state = if asked {
        Some(connection.transaction_state()?)
    } else {
        None
    };
    Ok(StatementReply {
        outcome,
        state,
        says_ended: connection.ended_transaction(),
        counted,
        reported,
        command_tag,
        is_of_prepare,
    })
}

/// The error that ends a run if the scheduler ever sends to a busy session.
fn busy(slot: usize, sql: &str) -> EngineError {
    EngineError::Target(format!(
        "session {} has a statement under way and cannot take {sql:?}",
        slot + 1
    ))
}
