//! Why an engine gives no answer.

use crate::dialect::DialectError;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("cannot connect to {engine} at {address}: {cause}")]
    Connect {
        engine: &'static str,
        address: String,
        cause: String,
    },
    #[error("{engine} refused the login at {address}: {cause}")]
    Login {
        engine: &'static str,
        address: String,
        cause: String,
    },
    #[error("the privilege is missing: {cause}; give it with: {grant}")]
    Privilege { cause: String, grant: String },
    /// The server is in a mode in which this login writes nothing.
    #[error("the server takes no writes of this login: {cause}; end that with: {remedy}")]
    ReadOnly { cause: String, remedy: String },
    #[error("{engine} closed the connection during {sql:?}: {cause}")]
    ConnectionLost {
        engine: &'static str,
        sql: String,
        cause: String,
    },
    /// The statement's deadline passed; the connection is of no use any more.
    #[error("no answer within {seconds} s to {sql:?}")]
    Hang { sql: String, seconds: u64 },
    #[error("refused for safety: {0}")]
    Unsafe(String),
    /// The URL, or what it names, is not understood.
    #[error("{0}")]
    Target(String),
    #[error(transparent)]
    Dialect(#[from] DialectError),
    /// A statement of ours (reset, watcher, guard) was rejected: a defect or the environment.
    #[error("{engine} rejected {sql:?}: {message}")]
    Rejected {
        engine: &'static str,
        sql: String,
        message: String,
    },
    /// A database of this run cannot be made anew: something in it goes on, as a statement that was given up and is
    /// still being taken back.
    #[error("the database {database} cannot be dropped: {cause}")]
    Held { database: String, cause: String },
    /// A statement of a case's set-up was rejected: the case cannot run.
    #[error("the set-up is rejected at {sql:?}: {message}")]
    Setup { sql: String, message: String },
    /// The command that kills the server and starts it again did not do that.
    #[error("the restart command {command:?} {what}")]
    Restart { command: String, what: String },
    /// The server is out of disk, memory or connections.
    #[error("the server's resources are exhausted: {0}")]
    Resource(String),
}

impl EngineError {
    /// The statement that mends it, where one is known.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Self::Privilege { grant, .. } => Some(grant),
            Self::ReadOnly { remedy, .. } => Some(remedy),
            Self::Connect { .. }
            | Self::Login { .. }
            | Self::ConnectionLost { .. }
            | Self::Hang { .. }
            | Self::Unsafe(_)
            | Self::Target(_)
            | Self::Dialect(_)
            | Self::Rejected { .. }
            | Self::Held { .. }
            | Self::Setup { .. }
            | Self::Restart { .. }
            | Self::Resource(_) => None,
        }
    }
}
