//! What a failed call of the driver means: an answer of the server, or none.

use std::io::ErrorKind;

use mysql::{DriverError, Error, MySqlError};

use crate::engine::access::Access;
use crate::engine::error::EngineError;
use crate::engine::session::{StatementFailure, hang};

/// The server says that the connection is over: shutdown, killed, gone, lost, network errors.
const CONNECTION_IS_OVER: [u16; 13] = [
    1053, 1077, 1158, 1159, 1160, 1161, 1184, 1927, 2006, 2013, 3169, 4031, 1080,
];

/// The server is out of something: connections, memory, disk.
const EXHAUSTED: [u16; 9] = [1021, 1037, 1038, 1040, 1041, 1114, 1135, 1203, 1226];

/// The login was refused: wrong password, unknown user or host, missing plugin.
const LOGIN: [u16; 8] = [1044, 1045, 1129, 1130, 1251, 1275, 1698, 4151];

/// Judges the failure of a statement.
#[expect(clippy::wildcard_enum_match_arm, reason = "an enum of the mysql crate")]
pub(super) fn of_statement(access: &Access, sql: &str, error: Error) -> StatementFailure {
    match error {
        Error::MySqlError(error) if CONNECTION_IS_OVER.contains(&error.code) => {
            StatementFailure::NoAnswer(lost(access, sql, describe(&error)))
        }
        Error::MySqlError(error) if EXHAUSTED.contains(&error.code) => {
            StatementFailure::NoAnswer(EngineError::Resource(describe(&error)))
        }
        Error::MySqlError(error) => StatementFailure::Answered {
            code: error.code.to_string(),
            message: error.message,
        },
        other => {
            let (cause, kind) = cause_of(&other);
            StatementFailure::NoAnswer(if is_timeout(kind) {
                hang(sql, access.deadline)
            } else {
                lost(access, sql, cause)
            })
        }
    }
}

/// Judges the failure of a connection attempt.
#[expect(clippy::wildcard_enum_match_arm, reason = "an enum of the mysql crate")]
pub(super) fn of_connect(access: &Access, address: String, error: Error) -> EngineError {
    let engine = access.engine;
    match error {
        Error::MySqlError(error) if LOGIN.contains(&error.code) => EngineError::Login {
            engine,
            address,
            cause: describe(&error),
        },
        Error::MySqlError(error) if EXHAUSTED.contains(&error.code) => {
            EngineError::Resource(describe(&error))
        }
        Error::MySqlError(error) if !CONNECTION_IS_OVER.contains(&error.code) => {
            EngineError::Rejected {
                engine,
                sql: "the handshake".to_owned(),
                message: describe(&error),
            }
        }
        other => {
            let (mut cause, kind) = cause_of(&other);
            if is_timeout(kind) {
                cause = format!("no answer within {} s", access.deadline.as_secs());
            }
            EngineError::Connect {
                engine,
                address,
                cause,
            }
        }
    }
}

fn lost(access: &Access, sql: &str, cause: String) -> EngineError {
    EngineError::ConnectionLost {
        engine: access.engine,
        sql: sql.to_owned(),
        cause,
    }
}

fn describe(error: &MySqlError) -> String {
    format!("{} {}", error.code, error.message)
}

/// A read past SO_RCVTIMEO answers EAGAIN.
fn is_timeout(kind: Option<ErrorKind>) -> bool {
    matches!(kind, Some(ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

/// The words for people, and the kind of the input or output error inside.
#[expect(clippy::wildcard_enum_match_arm, reason = "an enum of the mysql crate")]
fn cause_of(error: &Error) -> (String, Option<ErrorKind>) {
    match error {
        Error::IoError(io) => (io.to_string(), Some(io.kind())),
        Error::CodecError(codec) => {
            let io = std::error::Error::source(codec)
                .and_then(|source| source.downcast_ref::<std::io::Error>());
            (codec.to_string(), io.map(std::io::Error::kind))
        }
        Error::DriverError(DriverError::ConnectTimeout | DriverError::Timeout) => {
            ("timed out".to_owned(), Some(ErrorKind::TimedOut))
        }
        Error::DriverError(DriverError::CouldNotConnect(Some((_, description, kind)))) => {
            (description.clone(), Some(*kind))
        }
        other => (other.to_string(), None),
    }
}
