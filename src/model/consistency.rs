//! Consistency models: what a checker decides.

use std::fmt;
use std::str::FromStr;

/// A consistency model, weakest first. Not an isolation level: that is what a session asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConsistencyModel {
    /// Reads see committed final writes, and do not go back within a transaction.
    ReadCommitted,
    /// A transaction is seen whole or not at all.
    ReadAtomic,
    /// What is seen brings with it what its writer saw. Transactional causal consistency.
    Causal,
    /// Snapshots that respect sessions, no two concurrent writers of one key. Strong session SI.
    Snapshot,
    /// As if one transaction ran after the other, sessions kept.
    Serializable,
    /// Serializable in an order that real time allows.
    StrictSerializable,
    /// Strictly serializable, all real times known: a transaction is an operation on one object.
    Linearizable,
}

impl ConsistencyModel {
    /// The models of the ladder, weakest first; linearizability is no further step of it.
    pub const LADDER: [Self; 6] = [
        Self::ReadCommitted,
        Self::ReadAtomic,
        Self::Causal,
        Self::Snapshot,
        Self::Serializable,
        Self::StrictSerializable,
    ];

    /// As the command line takes it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::ReadCommitted => "rc",
            Self::ReadAtomic => "ra",
            Self::Causal => "cc",
            Self::Snapshot => "si",
            Self::Serializable => "ser",
            Self::StrictSerializable => "sser",
            Self::Linearizable => "lin",
        }
    }
}

impl fmt::Display for ConsistencyModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadCommitted => "read committed",
            Self::ReadAtomic => "read atomic",
            Self::Causal => "causal consistency",
            Self::Snapshot => "snapshot isolation",
            Self::Serializable => "serializability",
            Self::StrictSerializable => "strict serializability",
            Self::Linearizable => "linearizability",
        })
    }
}

/// The text names no consistency model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown model {0:?}: one of rc, ra, cc, si, ser, sser, lin")]
pub struct UnknownModel(pub String);

impl FromStr for ConsistencyModel {
    type Err = UnknownModel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::LADDER
            .into_iter()
            .chain([Self::Linearizable])
            .find(|model| model.slug() == text)
            .ok_or_else(|| UnknownModel(text.to_owned()))
    }
}
