//! What a failed call of the driver means: an answer of the server, or none.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity};

use super::names::NAME;
use crate::engine::error::EngineError;
use crate::engine::session::StatementFailure;

/// The server says that the connection is over: the classes 08 (connection exception) and 57P
/// (operator intervention but for a cancelled statement), or an error that ends the session.
fn ends_connection(error: &DbError) -> bool {
    let code = error.code().code();
    let is_fatal = matches!(
        error.parsed_severity(),
        Some(Severity::Fatal | Severity::Panic)
    );
    is_fatal || code.starts_with("08") || code.starts_with("57P")
}

/// The server is out of something: class 53, disk, memory, connections.
fn is_exhausted(error: &DbError) -> bool {
    error.code().code().starts_with("53")
}

fn describe(error: &DbError) -> String {
    format!("{} {}", error.code().code(), error.message())
}

/// The words of an error and of what is behind it.
fn in_words(error: &Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Judges the failure of a statement.
pub(super) fn of_statement(sql: &str, error: &Error) -> StatementFailure {
    let lost = |cause: String| {
        StatementFailure::NoAnswer(EngineError::ConnectionLost {
            engine: NAME,
            sql: sql.to_owned(),
            cause,
        })
    };
    match error.as_db_error() {
        Some(error) if is_exhausted(error) => {
            StatementFailure::NoAnswer(EngineError::Resource(describe(error)))
        }
        Some(error) if ends_connection(error) => lost(describe(error)),
        Some(error) => StatementFailure::Answered {
            code: error.code().code().to_owned(),
            message: error.message().to_owned(),
        },
        None => lost(in_words(error)),
    }
}

/// Judges the failure of a connection attempt.
pub(super) fn of_connect(address: String, error: &Error) -> EngineError {
    match error.as_db_error() {
        Some(error) if is_exhausted(error) => EngineError::Resource(describe(error)),
        // Class 28: the login itself; 3D: a database that is not there; 42: no right to it.
        Some(error)
            if ["28", "3D", "42"]
                .iter()
                .any(|class| error.code().code().starts_with(class)) =>
        {
            EngineError::Login {
                engine: NAME,
                address,
                cause: describe(error),
            }
        }
        Some(error) => EngineError::Connect {
            engine: NAME,
            address,
            cause: describe(error),
        },
        None => EngineError::Connect {
            engine: NAME,
            address,
            cause: in_words(error),
        },
    }
}
