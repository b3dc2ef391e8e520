//! The yardstick of the driver's speed: a plain loop that sends a recorded stream again.
//!
//! It schedules nothing, looks at no lock view and keeps no record: one thread, plain connections,
//! and for the statements that waited when they were recorded a thread that waits with them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::engine::{Connection, EngineError, STATEMENT_DEADLINE, Server};

use super::recording::{Place, Recording};
use super::sessions::{Ask, Sessions};

/// What a loop took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub statements: u64,
    pub elapsed: Duration,
}

impl Pace {
    /// Statements per second.
    pub fn rate(&self) -> f64 {
        self.statements as f64 / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }
}

/// A recorded stream and where to send it.
pub struct BareLoop<'s> {
    server: &'s dyn Server,
    database: String,
}

impl<'s> BareLoop<'s> {
    /// The stream will be sent in databases of this name, and of this name with `_serial`.
    pub fn new(server: &'s dyn Server, database: &str) -> Self {
        Self {
            server,
            database: database.to_owned(),
        }
    }

    /// Sends the stream. The clock runs from the first statement to the last answer.
    ///
    /// # Errors
    /// When there is no answer. What the engine rejects is an answer.
    pub fn run(&self, recording: &Recording) -> Result<Pace, EngineError> {
        let serial = format!("{}_serial", self.database);
        self.server.create_database(&self.database)?;
        self.server.create_database(&serial)?;
        let mut sessions = Sessions::new();
        let mut others: BTreeMap<Place, Box<dyn Connection>> = BTreeMap::new();
        for sent in &recording.stream {
            match sent.place {
                Place::Session(slot) => sessions.open(slot + 1, self.server, &self.database)?,
                place => {
                    if !others.contains_key(&place) {
                        let database = match place {
                            Place::Serial => &serial,
                            _ => &self.database,
                        };
                        others.insert(place, self.server.connect(database)?);
                    }
                }
            }
        }
        let began = Instant::now();
        send_all(recording, &mut sessions, &mut others)?;
        let elapsed = began.elapsed();
        drop((sessions, others));
        self.server.drop_database(&self.database)?;
        self.server.drop_database(&serial)?;
        Ok(Pace {
            statements: recording.stream.len() as u64,
            elapsed,
        })
    }
}

fn send_all(
    recording: &Recording,
    sessions: &mut Sessions,
    others: &mut BTreeMap<Place, Box<dyn Connection>>,
) -> Result<(), EngineError> {
    for sent in &recording.stream {
        match sent.place {
            Place::Session(slot) => {
                come_home(sessions, |sessions| sessions.connection(slot).is_some())?;
                if sent.waited {
                    sessions.start(slot, &sent.sql, Ask::Never)?;
                } else {
                    sessions.run(slot, &sent.sql, Ask::Never)?;
                }
            }
            place => {
                // Between cases, and wherever the tables are read, everything is at rest.
                if place == Place::Keeper {
                    come_home(sessions, |sessions| sessions.away().is_empty())?;
                }
                if let Some(connection) = others.get_mut(&place) {
                    connection.execute(&sent.sql)?;
                }
            }
        }
    }
    come_home(sessions, |sessions| sessions.away().is_empty())
}

/// Takes answers until this holds.
fn come_home(
    sessions: &mut Sessions,
    holds: impl Fn(&mut Sessions) -> bool,
) -> Result<(), EngineError> {
    while !holds(sessions) {
        let Some((_, reply)) = sessions.receive(STATEMENT_DEADLINE) else {
            return Err(EngineError::Hang {
                sql: "a statement of the recorded stream".to_owned(),
                seconds: STATEMENT_DEADLINE.as_secs(),
            });
        };
        reply?;
    }
    Ok(())
}
