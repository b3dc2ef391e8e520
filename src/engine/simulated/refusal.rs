//! Why a statement is refused: the engine's own codes, beside SQLite's.

use super::scratch::ScratchError;

/// Why a statement is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EngineRefusal {
    /// The statement would have closed a circle of waits.
    Deadlock,
    /// NOWAIT met a lock.
    NoWait,
    /// The statement waited too long.
    LockTimeout,
    /// A write in a READ ONLY transaction.
    ReadOnly,
    /// The statement was ended by a KILL.
    Interrupted,
    NoSavepoint(String),
    /// COMMIT is refused. Only a fault does that.
    CommitFailed,
    /// A row is newer than the snapshot, or a circle of dependencies may close.
    Serialization,
    /// An error before it left the transaction failed.
    Failed,
    /// SQLite refused it.
    Scratch(ScratchError),
}

impl EngineRefusal {
    /// As dialect files name it.
    pub(super) fn code(&self) -> String {
        match self {
            Self::Deadlock => "deadlock".to_owned(),
            Self::NoWait => "nowait".to_owned(),
            Self::LockTimeout => "lock-timeout".to_owned(),
            Self::ReadOnly => "read-only".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
            Self::NoSavepoint(_) => "no-savepoint".to_owned(),
            Self::CommitFailed => "commit-failed".to_owned(),
            Self::Serialization => "serialization".to_owned(),
            Self::Failed => "failed-transaction".to_owned(),
            Self::Scratch(error) => error.code.to_string(),
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            Self::Deadlock => "deadlock: the transaction is rolled back".to_owned(),
            Self::NoWait => "a row is locked, and NOWAIT is set".to_owned(),
            Self::LockTimeout => "a lock was waited for too long".to_owned(),
            Self::ReadOnly => "a READ ONLY transaction does not write".to_owned(),
            Self::Interrupted => "the statement was interrupted".to_owned(),
            Self::NoSavepoint(name) => format!("no such savepoint: {name}"),
            Self::CommitFailed => "the transaction cannot be committed".to_owned(),
            Self::Serialization => {
                "the transaction does not serialize with a concurrent one".to_owned()
            }
            Self::Failed => {
                "the transaction has failed: it takes nothing until ROLLBACK".to_owned()
            }
            Self::Scratch(error) => error.message.clone(),
        }
    }

    /// Whether it is no statement that is refused, but its transaction.
    pub(super) fn is_of_the_whole_transaction(&self) -> bool {
        match self {
            Self::Deadlock | Self::CommitFailed | Self::Serialization => true,
            Self::NoWait
            | Self::Failed
            | Self::LockTimeout
            | Self::ReadOnly
            | Self::Interrupted
            | Self::NoSavepoint(_)
            | Self::Scratch(_) => false,
        }
    }

    /// Whether a constraint refused it, so that what it read and met stays locked.
    pub(super) fn is_constraint(&self) -> bool {
        /// SQLITE_CONSTRAINT, the low byte of all its refinements.
        const CONSTRAINT: i32 = 19;
        match self {
            Self::Scratch(error) => error.code & 0xff == CONSTRAINT,
            Self::Deadlock
            | Self::CommitFailed
            | Self::Serialization
            | Self::Failed
            | Self::NoWait
            | Self::LockTimeout
            | Self::ReadOnly
            | Self::Interrupted
            | Self::NoSavepoint(_) => false,
        }
    }
}

impl From<ScratchError> for EngineRefusal {
    fn from(error: ScratchError) -> Self {
        Self::Scratch(error)
    }
}
