//! The names of what goes wrong.

use std::fmt;

/// An anomaly. It prints as MTC's Table I and PolySI call it; [`Anomaly::adya`] has Adya's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Anomaly {
    /// A value that nobody wrote (MTC a).
    ThinAirRead,
    /// A value of a transaction that aborted (MTC b).
    AbortedRead,
    /// A value of a transaction that committed only later (Berenson P1).
    DirtyRead,
    /// A value that the transaction itself writes only later (MTC c).
    FutureRead,
    /// Its own write, but not the last one (MTC d).
    NotMyLastWrite,
    /// Another's value after it wrote the key itself (MTC e).
    NotMyOwnWrite,
    /// A value that its writer itself overwrote (MTC f).
    IntermediateRead,
    /// Two values of one key in one transaction, without a write between (MTC g).
    NonRepeatableRead,
    /// Does not see what its own session did before (MTC h).
    SessionGuaranteeViolation,
    /// Sees a transaction, and afterwards a version that this one had overwritten (MTC i).
    NonMonotonicRead,
    /// Sees one part of a transaction and misses another (MTC j).
    FracturedRead,
    /// Sees an effect and misses its cause (MTC k).
    CausalityViolation,
    /// Two readers see two writers in opposite orders (MTC l).
    LongFork,
    /// Two writers of one key started from the same version (MTC m).
    LostUpdate,
    /// Transactions read what others of them overwrite, in a circle (MTC n, of two).
    WriteSkew,
    /// Write orders of two keys contradict each other (Adya G0).
    DirtyWrite,
    /// Information flows in a circle (Adya G1c).
    CircularInformationFlow,
    /// A cycle with one anti-dependency through write orders (Adya G-single).
    ReadSkew,
    /// Lists of one key that no one order explains (Elle).
    IncompatibleOrder,
    /// No order respects real time: a read of a version that was overwritten before it began.
    StaleRead,
    /// No version order avoids a cycle: every choice leads to one.
    NoVersionOrder,
    /// No order of all transactions explains every read.
    NoSerialOrder,
    /// By the timestamps another value was there (Chronos, EXT).
    TimestampExternal,
    /// By the timestamps two writers of one key overlap (Chronos, NOCONFLICT).
    TimestampConflict,
    /// By the timestamps a session does not follow itself (Chronos, SESSION).
    TimestampSession,
}

impl Anomaly {
    /// Every anomaly.
    pub const ALL: [Self; 25] = [
        Self::ThinAirRead,
        Self::AbortedRead,
        Self::DirtyRead,
        Self::FutureRead,
        Self::NotMyLastWrite,
        Self::NotMyOwnWrite,
        Self::IntermediateRead,
        Self::NonRepeatableRead,
        Self::SessionGuaranteeViolation,
        Self::NonMonotonicRead,
        Self::FracturedRead,
        Self::CausalityViolation,
        Self::LongFork,
        Self::LostUpdate,
        Self::WriteSkew,
        Self::DirtyWrite,
        Self::CircularInformationFlow,
        Self::ReadSkew,
        Self::IncompatibleOrder,
        Self::StaleRead,
        Self::NoVersionOrder,
        Self::NoSerialOrder,
        Self::TimestampExternal,
        Self::TimestampConflict,
        Self::TimestampSession,
    ];

    /// As machine-readable output spells it: `lost-update`.
    pub fn slug(self) -> &'static str {
        match self {
            Self::ThinAirRead => "thin-air-read",
            Self::AbortedRead => "aborted-read",
            Self::DirtyRead => "dirty-read",
            Self::FutureRead => "future-read",
            Self::NotMyLastWrite => "not-my-last-write",
            Self::NotMyOwnWrite => "not-my-own-write",
            Self::IntermediateRead => "intermediate-read",
            Self::NonRepeatableRead => "non-repeatable-read",
            Self::SessionGuaranteeViolation => "session-guarantee-violation",
            Self::NonMonotonicRead => "non-monotonic-read",
            Self::FracturedRead => "fractured-read",
            Self::CausalityViolation => "causality-violation",
            Self::LongFork => "long-fork",
            Self::LostUpdate => "lost-update",
            Self::WriteSkew => "write-skew",
            Self::DirtyWrite => "dirty-write",
            Self::CircularInformationFlow => "circular-information-flow",
            Self::ReadSkew => "read-skew",
            Self::IncompatibleOrder => "incompatible-order",
            Self::StaleRead => "stale-read",
            Self::NoVersionOrder => "no-version-order",
            Self::NoSerialOrder => "no-serial-order",
            Self::TimestampExternal => "ext",
            Self::TimestampConflict => "noconflict",
            Self::TimestampSession => "session",
        }
    }

    /// Adya's name, where he has one.
    pub fn adya(self) -> Option<&'static str> {
        match self {
            Self::AbortedRead => Some("G1a"),
            Self::IntermediateRead => Some("G1b"),
            Self::DirtyWrite => Some("G0"),
            Self::CircularInformationFlow => Some("G1c"),
            Self::NonRepeatableRead
            | Self::SessionGuaranteeViolation
            | Self::NonMonotonicRead
            | Self::FracturedRead
            | Self::CausalityViolation
            | Self::LostUpdate
            | Self::ReadSkew => Some("G-single"),
            Self::LongFork => Some("G-nonadjacent"),
            Self::WriteSkew => Some("G2-item"),
            Self::ThinAirRead
            | Self::DirtyRead
            | Self::FutureRead
            | Self::NotMyLastWrite
            | Self::NotMyOwnWrite
            | Self::IncompatibleOrder
            | Self::StaleRead
            | Self::NoVersionOrder
            | Self::NoSerialOrder
            | Self::TimestampExternal
            | Self::TimestampConflict
            | Self::TimestampSession => None,
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.slug().replace('-', " ");
        f.write_str(
            &words
                .replace("thin air", "thin-air")
                .replace("non ", "non-"),
        )
    }
}
