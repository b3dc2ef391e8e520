//! What a session asks of an engine.

use std::fmt;
use std::str::FromStr;

/// An isolation level as SQL names it, weakest first. Not a consistency model: the dialect says
/// what an engine claims for a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl IsolationLevel {
    /// Every level, weakest first.
    pub const ALL: [Self; 4] = [
        Self::ReadUncommitted,
        Self::ReadCommitted,
        Self::RepeatableRead,
        Self::Serializable,
    ];

    /// As the standard and `SET TRANSACTION ISOLATION LEVEL` spell it: `READ COMMITTED`.
    pub fn sql(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "READ UNCOMMITTED",
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }

    /// As the command line and the dialect files spell it: `read-committed`.
    pub fn slug(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read-uncommitted",
            Self::ReadCommitted => "read-committed",
            Self::RepeatableRead => "repeatable-read",
            Self::Serializable => "serializable",
        }
    }
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sql())
    }
}

/// The text names no isolation level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown isolation level {0:?}: one of read-uncommitted, read-committed, repeatable-read, serializable"
)]
pub struct UnknownLevel(pub String);

impl FromStr for IsolationLevel {
    type Err = UnknownLevel;

    /// Reads either spelling, in any case, words parted by a space, `-` or `_`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let slug = text.trim().to_ascii_lowercase().replace([' ', '_'], "-");
        Self::ALL
            .into_iter()
            .find(|level| level.slug() == slug)
            .ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}
