//! The baseline of the driver's speed: a plain loop that sends a recorded stream again.
//!
//! It schedules nothing, looks at no lock view and keeps no record: one thread, plain connections,
//! and for the statements that waited when they were recorded a thread that waits with them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::engine::{Connection, EngineError, STATEMENT_DEADLINE, Server};
use crate::model::Outcome;

use super::recording::{ConnectionRole, Recording, Sent};
use super::sessions::{Ask, SentCommand, SessionConnections, StatementReply};

/// The time of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopTiming {
    /// Statements sent.
    pub statements: u64,
    /// From the first statement to the last answer, without the stalls.
    pub elapsed: Duration,
    /// Statements that waited for the engine's lock timeout. The loop does not read the lock view,
    /// so two sessions may reach a lock in another order than recorded. Their time must not count
    /// in the driver's favour.
    pub stalls: u32,
}

impl LoopTiming {
    /// Statements per second.
    pub fn rate(&self) -> f64 {
        self.statements as f64 / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }
}

/// Plain connections to databases of their own, on which recorded streams are sent again.
pub struct BareLoop<'s> {
    server: &'s dyn Server,
    database: String,
    sessions: SessionConnections,
    others: BTreeMap<ConnectionRole, Box<dyn Connection>>,
}

impl<'s> BareLoop<'s> {
    /// Makes the databases: of this name, and of this name with `_serial`.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub fn open(server: &'s dyn Server, database: &str) -> Result<Self, EngineError> {
        let bare = Self {
            server,
            database: database.to_owned(),
            sessions: SessionConnections::new(),
            others: BTreeMap::new(),
        };
        server.create_database(database)?;
        server.create_database(&bare.serial_database())?;
        Ok(bare)
    }

    fn serial_database(&self) -> String {
        format!("{}_serial", self.database)
    }

    /// Sends a stream: the first one that a driver recorded, then those that followed it. The clock
    /// runs from the first statement to the last answer; connections are opened before.
    ///
    /// # Errors
    /// When there is no answer. A rejection is an answer.
    pub fn run(&mut self, recording: &Recording) -> Result<LoopTiming, EngineError> {
        self.connect(recording)?;
        let began = Instant::now();
        let stalled = send_all(recording, &mut self.sessions, &mut self.others)?;
        let elapsed = began.elapsed().saturating_sub(stalled.iter().sum());
        Ok(LoopTiming {
            statements: recording.stream.len() as u64,
            elapsed,
            stalls: u32::try_from(stalled.len()).unwrap_or(u32::MAX),
        })
    }

    /// Opens the connections of a stream that are not open yet.
    fn connect(&mut self, recording: &Recording) -> Result<(), EngineError> {
        for sent in &recording.stream {
            match sent.place {
                ConnectionRole::Session(slot) => {
                    self.sessions.open(slot + 1, self.server, &self.database)?;
                }
                place @ (ConnectionRole::Keeper
                | ConnectionRole::Observer
                | ConnectionRole::Serial) => {
                    let database = if place == ConnectionRole::Serial {
                        self.serial_database()
                    } else {
                        self.database.clone()
                    };
                    if let Entry::Vacant(entry) = self.others.entry(place) {
                        entry.insert(self.server.connect(&database)?);
                    }
                }
            }
        }
        Ok(())
    }

    /// Closes the connections and drops the databases.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn close(self) -> Result<(), EngineError> {
        let serial = self.serial_database();
        drop((self.sessions, self.others));
        self.server.drop_database(&self.database)?;
        self.server.drop_database(&serial)
    }
}

/// A step that takes longer than this waits for a timeout, not for an answer.
const STALL: Duration = Duration::from_millis(500);

/// The time for a statement that is known to wait to reach its lock.
const REACH: Duration = Duration::from_micros(200);

fn send_all(
    recording: &Recording,
    sessions: &mut SessionConnections,
    others: &mut BTreeMap<ConnectionRole, Box<dyn Connection>>,
) -> Result<Vec<Duration>, EngineError> {
    let mut stalled = Vec::new();
    // Statements that wait, by the place in the stream before which they have to answer.
    let mut due: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    // Sessions whose transaction the engine ended when it was recorded.
    let mut victims: BTreeSet<usize> = BTreeSet::new();
    let mut clock = Instant::now();
    for (index, sent) in recording.stream.iter().enumerate() {
        let step = clock.elapsed();
        clock = Instant::now();
        stalled.extend((step > STALL).then_some(step));
        for slot in due.remove(&index).into_iter().flatten() {
            come_home(sessions, slot, &mut victims)?;
        }
        let ConnectionRole::Session(slot) = sent.place else {
            if let Some(connection) = others.get_mut(&sent.place) {
                send_alike(connection.as_mut(), &recording.stream[index..])?;
            }
            continue;
        };
        // It went out with its PREPARE.
        if sent.with_previous {
            continue;
        }
        come_home(sessions, slot, &mut victims)?;
        let executed = recording.stream.get(index + 1);
        let executed = executed.filter(|next| next.place == sent.place && next.with_previous);
        let command = SentCommand {
            prepare: executed.map(|_| sent.sql.clone()),
            sql: executed.unwrap_or(sent).sql.clone(),
        };
        let sent = executed.unwrap_or(sent);
        if sent.aborted {
            victims.insert(slot);
        }
        if !sent.waited {
            let reply = sessions.run(slot, &command, Ask::Never)?;
            settle_victim(sessions, slot, &reply, &mut victims)?;
            continue;
        }
        sessions.start(slot, command, Ask::Never)?;
        if let Some(answered) = sent.answered {
            due.entry(answered).or_default().push(slot);
        }
        if let Some((slot, reply)) = sessions.receive(REACH) {
            reply.and_then(|reply| settle_victim(sessions, slot, &reply, &mut victims))?;
        }
    }
    sessions
        .all()
        .try_for_each(|slot| come_home(sessions, slot, &mut victims))?;
    Ok(stalled)
}

/// Sends the first statement of a stream, in one command with those that were sent with it; nothing
/// where that was done before.
fn send_alike(connection: &mut dyn Connection, stream: &[Sent]) -> Result<(), EngineError> {
    let [first, rest @ ..] = stream else {
        return Ok(());
    };
    if first.with_previous {
        return Ok(());
    }
    let with_first = rest.iter().take_while(|sent| sent.with_previous);
    let statements: Vec<String> = std::iter::once(first)
        .chain(with_first)
        .map(|sent| sent.sql.clone())
        .collect();
    let command = connection.dialect().together(&statements);
    connection
        .execute(command.as_ref().unwrap_or(&first.sql))
        .map(drop)
}

/// Takes answers until this session's is there.
fn come_home(
    sessions: &mut SessionConnections,
    slot: usize,
    victims: &mut BTreeSet<usize>,
) -> Result<(), EngineError> {
    while sessions.connection(slot).is_none() {
        let Some((slot, reply)) = sessions.receive(STATEMENT_DEADLINE) else {
            return Err(EngineError::Hang {
                sql: "a statement of the recorded stream".to_owned(),
                seconds: STATEMENT_DEADLINE.as_secs(),
            });
        };
        settle_victim(sessions, slot, &reply?, victims)?;
    }
    Ok(())
}

/// Rolls back a recorded victim if the engine chose another one this time: the stream has no COMMIT
/// for it, and its locks would block the others.
fn settle_victim(
    sessions: &mut SessionConnections,
    slot: usize,
    reply: &StatementReply,
    victims: &mut BTreeSet<usize>,
) -> Result<(), EngineError> {
    if victims.remove(&slot) && !matches!(reply.outcome, Outcome::Rejected(_)) {
        sessions.run(slot, &SentCommand::plain("ROLLBACK"), Ask::Never)?;
    }
    Ok(())
}
