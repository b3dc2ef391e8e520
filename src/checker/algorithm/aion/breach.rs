//! What the checker reports: breaches, and the summary of a run.

use std::collections::BTreeMap;
use std::fmt;

use crate::history::{Atom, Texts};
use crate::model::Anomaly;

/// An axiom that does not hold. Transactions go by their labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breach {
    /// A transaction begins before one that precedes it in its session has ended.
    Session { transaction: Atom, before: Atom },
    /// It does not read what it wrote itself.
    Internal {
        transaction: Atom,
        key: Atom,
        read: Atom,
        wrote: Atom,
    },
    /// It does not read what was there.
    External {
        transaction: Atom,
        key: Atom,
        read: Atom,
        held: Atom,
        /// The transaction that wrote `held`; none for the initial value.
        writer: Option<Atom>,
    },
    /// It overlaps a transaction that committed before it, and both write the key.
    Conflict {
        transaction: Atom,
        other: Atom,
        key: Atom,
    },
}

impl Breach {
    /// Its name.
    pub fn anomaly(&self) -> Anomaly {
        match self {
            Self::Session { .. } => Anomaly::TimestampSession,
            Self::Internal { .. } => Anomaly::NotMyOwnWrite,
            Self::External { .. } => Anomaly::TimestampExternal,
            Self::Conflict { .. } => Anomaly::TimestampConflict,
        }
    }

    /// The transaction that shows it.
    pub fn transaction(&self) -> Atom {
        match *self {
            Self::Session { transaction, .. }
            | Self::Internal { transaction, .. }
            | Self::External { transaction, .. }
            | Self::Conflict { transaction, .. } => transaction,
        }
    }

    /// The transaction that it contradicts: itself for INT, none for the initial value.
    pub fn other(&self) -> Option<Atom> {
        match *self {
            Self::Session { before, .. } => Some(before),
            Self::Internal { transaction, .. } => Some(transaction),
            Self::External { writer, .. } => writer.filter(|writer| *writer != Atom::NIL),
            Self::Conflict { other, .. } => Some(other),
        }
    }

    pub fn key(&self) -> Option<Atom> {
        match *self {
            Self::Session { .. } => None,
            Self::Internal { key, .. }
            | Self::External { key, .. }
            | Self::Conflict { key, .. } => Some(key),
        }
    }

    /// In one line.
    pub fn in_words(&self, texts: &Texts) -> String {
        let show = |atom| texts.spelled(atom);
        let name = |label: Option<Atom>| label.map_or("T0".to_owned(), |l| format!("T{}", show(l)));
        let (it, other) = (name(Some(self.transaction())), name(self.other()));
        match *self {
            Self::Session { .. } => {
                format!("{it} begins before {other} of its own session has ended")
            }
            Self::Internal {
                key, read, wrote, ..
            } => {
                let (key, read, wrote) = (show(key), show(read), show(wrote));
                format!("{it} reads {read} for {key}, where it had written {wrote}")
            }
            Self::External {
                key, read, held, ..
            } => {
                let (key, read, held) = (show(key), show(read), show(held));
                format!("{it} reads {read} for {key}, where {other} had left {held}")
            }
            Self::Conflict { key, .. } => {
                format!("{other} and {it} overlap and both write {}", show(key))
            }
        }
    }
}

/// Why something is not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unjudged {
    /// A committed transaction has no timestamps.
    Untimed,
    /// A transaction commits before it starts, or a writer at its start.
    Backwards,
    /// Two writers of a key commit at one time.
    Tie,
    /// A read of a value whose writer has no known commit timestamp.
    Doubtful,
    /// A session that may have been forgotten since.
    Session,
    /// A read, where too many are wrong and not final to remember it.
    Crowded,
    /// A read that was reported as wrong before its writer arrived.
    Withdrawn,
}

impl fmt::Display for Unjudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Untimed => "committed without timestamps",
            Self::Backwards => "does not commit after it starts",
            Self::Tie => "two writers of a key commit at one time",
            Self::Doubtful => "reads from a transaction whose commit has no certain time",
            Self::Session => "too old for what is remembered of its session",
            Self::Crowded => "too many reads are wrong at once",
            Self::Withdrawn => "told as wrong before its writer came (a longer --timeout helps)",
        })
    }
}

/// The verdict of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchVerdict {
    Satisfied,
    Violated,
    /// No breach, but something could not be judged.
    Unknown,
}

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Transactions received, duplicates and aborted ones included.
    pub transactions: u64,
    /// Events of these transactions.
    pub events: u64,
    /// Breaches that are certain, by name.
    pub violations: BTreeMap<Anomaly, u64>,
    /// How many times the open verdict of a read changed.
    pub flips: u64,
    /// Transactions received a second time; the second is not judged.
    pub duplicates: u64,
    /// Writers that arrived after reads that they could affect were final.
    pub late: u64,
    /// How often each reason kept something from being judged.
    pub unjudged: BTreeMap<Unjudged, u64>,
    /// Entries written to disk.
    pub spilled: u64,
    /// Entries read from disk again.
    pub reloads: u64,
}

impl Summary {
    pub(super) fn count(&mut self, why: Unjudged) {
        *self.unjudged.entry(why).or_default() += 1;
    }

    /// All violations.
    pub fn violation_count(&self) -> u64 {
        self.violations.values().sum()
    }

    /// The verdict on everything received. Late writers may have made final verdicts wrong.
    pub fn verdict(&self) -> WatchVerdict {
        if self.violation_count() > 0 {
            WatchVerdict::Violated
        } else if self.unjudged.is_empty() && self.late == 0 {
            WatchVerdict::Satisfied
        } else {
            WatchVerdict::Unknown
        }
    }
}
