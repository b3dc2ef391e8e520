//! Start and commit timestamps that an engine gives without being changed.
//!
//! A session marks the start of a transaction when it has one, in whatever the engine counts in;
//! [`Resolver`] turns marks into numbers that compare with commit timestamps, on a connection of
//! its own and while the sessions go on.

use super::connection::Connection;
use super::error::EngineError;
use crate::model::IsolationLevel;

/// Where a snapshot was taken, as the engine names it: a place in a log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The name of the log file.
    pub log: String,
    /// The offset in the file, in bytes.
    pub position: u64,
}

/// How the timestamps of a transaction are asked for.
pub trait Timestamps: Send + Sync {
    /// The only level at which the start is the transaction's snapshot.
    fn level(&self) -> IsolationLevel;

    /// Begins a transaction and asks for its start.
    ///
    /// # Errors
    /// When there is no answer, or one that is not understood; a transaction may be open then.
    fn begin(&self, connection: &mut dyn Connection) -> Result<Mark, EngineError>;

    /// Asks for the commit timestamp; the transaction wrote and has just committed.
    ///
    /// # Errors
    /// As above.
    fn committed(&self, connection: &mut dyn Connection) -> Result<i64, EngineError>;

    /// A resolver of the marks that are made from now on.
    ///
    /// # Errors
    /// When there is no answer.
    fn resolver(&self) -> Result<Box<dyn Resolver>, EngineError>;
}

/// Turns marks into start timestamps.
pub trait Resolver: Send {
    /// Reads on in the engine's log, as far as it goes now.
    ///
    /// # Errors
    /// When there is no answer, or one that is not understood.
    fn advance(&mut self) -> Result<(), EngineError>;

    /// The start timestamp: that of the last commit which the snapshot holds. None when the mark
    /// lies beyond what was read of the log.
    fn resolve(&self, mark: &Mark) -> Option<i64>;
}

/// The error of an engine that gives no timestamps.
pub(super) fn no_timestamps(engine: &str) -> EngineError {
    EngineError::Target(format!(
        "{engine} gives no timestamps of its transactions: MariaDB with its binary log on does \
         (--log-bin --binlog-format=ROW --server-id=1)"
    ))
}
