//! Planted faults: what the engine can be told to do wrong.
//!
//! A fault bites only while another transaction is open in the same database: without concurrency the
//! engine is right, so that set-ups, serial runs and final reads are.

use crate::engine::error::EngineError;
use crate::model::IsolationLevel;
use IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};

/// As URLs and dialect files name the engine.
pub(super) const NAME: &str = "simulated";

/// One way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A plain read sees rows that are not committed.
    DirtyRead,
    /// A write goes over a row that another transaction has written and not committed.
    DirtyWrite,
    /// A plain read sees the last row that another transaction wrote and rolled back.
    AbortedRead,
    /// A plain read sees the first of several versions that a committed transaction wrote of a row.
    IntermediateRead,
    /// ROLLBACK keeps the first write of the transaction.
    AbortedEffectsSurvive,
    /// COMMIT answers that it is done, and undoes the transaction.
    CommitLost,
    /// An UPDATE or DELETE that waited computes on the rows as they were when it was sent.
    LostUpdate,
    /// A plain read misses the newest commit that changed a row.
    StaleSnapshot,
    /// The snapshot is taken by BEGIN.
    SnapshotTooEarly,
    /// The first plain read takes no snapshot, the second one does.
    SnapshotTooLate,
    /// A write of its own gives the transaction a new snapshot.
    SnapshotMoves,
    /// A plain read sees all rows of the newest commit but one.
    FracturedRead,
    /// A plain read sees what is committed now, and locks no row.
    NonRepeatableRead,
    /// A plain read sees rows that were inserted after its snapshot, or keeps none out.
    Phantom,
    /// No condition is locked.
    MissingRangeLock,
    /// A read that locks waits for locks and takes none.
    MissingRowLock,
    /// A plain read in a transaction that has written nothing yet locks nothing.
    WriteSkew,
    /// Every other transaction misses the newest commit but one.
    LongFork,
    /// A plain read misses what its transaction has written.
    OwnWriteInvisible,
    /// A plain read sees rows that its transaction has deleted.
    OwnDeleteVisible,
    /// An UPDATE that changes nothing puts what the snapshot shows over a newer version.
    NoOpUpdateHidesNewer,
    /// An UPDATE or DELETE that waited passes over the rows that it waited for.
    RowSkippedAfterResume,
    /// An UPDATE that waited assigns the rows that it waited for twice.
    RowTouchedTwice,
    /// An UPDATE or DELETE that waited chooses rows as they were when it was sent.
    OldPredicateAfterWait,
    /// A write answers that it is done, and one of its rows stays as it was.
    WriteNotDone,
    /// A write counts one row too many.
    WrongAffectedCount,
    /// An UPDATE or DELETE touches a row for which its condition does not hold.
    ExtraRowTouched,
    /// ROLLBACK TO undoes the last write before the savepoint, too.
    RollbackToUndoesTooMuch,
    /// ROLLBACK TO keeps the first write after the savepoint.
    RollbackToUndoesTooLittle,
    /// A write that a constraint refuses keeps the rows that it has written before.
    StatementErrorLeavesHalf,
    /// A write that a constraint refuses rolls its transaction back.
    ErrorEndsTransaction,
    /// A unique key lets a second row in.
    UniqueViolationAccepted,
    /// A unique key refuses a row for a deleted one.
    UniqueCheckAgainstDeleted,
    /// An index loses the rows that were written while another transaction was open.
    IndexOutOfStep,
    /// What a deadlock's victim has written is committed.
    DeadlockVictimsWritesSurvive,
    /// NOWAIT waits.
    NowaitWaits,
    /// SKIP LOCKED passes over a row that is not locked, too.
    SkipLockedSkipsTooMuch,
    /// RELEASE SAVEPOINT undoes what came after the savepoint.
    ReleaseRollsBack,
    /// COMMIT is refused, and done.
    CommitFailsButDone,
    /// A statement that waits is not woken.
    WakeUpLost,
}

/// What there is to say of a fault.
struct About {
    fault: Fault,
    slug: &'static str,
    meaning: &'static str,
    anomaly: &'static str,
    levels: &'static [IsolationLevel],
}

const fn about(
    fault: Fault,
    slug: &'static str,
    meaning: &'static str,
    anomaly: &'static str,
    levels: &'static [IsolationLevel],
) -> About {
    About {
        fault,
        slug,
        meaning,
        anomaly,
        levels,
    }
}

/// Every fault, in the order of the documentation.
const FAULTS: &[About] = &[
    about(
        Fault::DirtyRead,
        "dirty-read",
        "a plain read sees rows that are not committed",
        "G1a, G1b",
        &[ReadCommitted, RepeatableRead, Serializable],
    ),
    about(
        Fault::DirtyWrite,
        "dirty-write",
        "a write goes over a row that another transaction has written and not committed",
        "G0",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::AbortedRead,
        "aborted-read",
        "a plain read sees the last row that another transaction wrote and rolled back",
        "G1a",
        &[ReadCommitted, RepeatableRead, Serializable],
    ),
    about(
        Fault::IntermediateRead,
        "intermediate-read",
        "a plain read sees the first of several versions that a committed transaction wrote of a row",
        "G1b",
        &[ReadCommitted, RepeatableRead, Serializable],
    ),
    about(
        Fault::AbortedEffectsSurvive,
        "aborted-effects-survive",
        "ROLLBACK keeps the first write of the transaction",
        "G1a",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::CommitLost,
        "commit-lost",
        "COMMIT answers that it is done, and undoes the transaction",
        "lost commit",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::LostUpdate,
        "lost-update",
        "an UPDATE or DELETE that waited computes on the rows as they were when it was sent",
        "P4",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::StaleSnapshot,
        "stale-snapshot",
        "a plain read misses the newest commit that changed a row",
        "stale read",
        &[ReadCommitted, RepeatableRead],
    ),
    about(
        Fault::SnapshotTooEarly,
        "snapshot-too-early",
        "the snapshot is taken by BEGIN",
        "stale read",
        &[RepeatableRead],
    ),
    about(
        Fault::SnapshotTooLate,
        "snapshot-too-late",
        "the first plain read takes no snapshot, the second one does",
        "fuzzy read",
        &[RepeatableRead],
    ),
    about(
        Fault::SnapshotMoves,
        "snapshot-moves",
        "a write of its own gives the transaction a new snapshot",
        "fuzzy read",
        &[RepeatableRead],
    ),
    about(
        Fault::FracturedRead,
        "fractured-read",
        "a plain read sees all rows of the newest commit but one",
        "fractured read",
        &[ReadCommitted, RepeatableRead],
    ),
    about(
        Fault::NonRepeatableRead,
        "non-repeatable-read",
        "a plain read sees what is committed now, and locks no row",
        "P2",
        &[RepeatableRead, Serializable],
    ),
    about(
        Fault::Phantom,
        "phantom",
        "a plain read sees rows that were inserted after its snapshot, or keeps none out",
        "P3",
        &[RepeatableRead, Serializable],
    ),
    about(
        Fault::MissingRangeLock,
        "missing-range-lock",
        "no condition is locked",
        "P3",
        &[RepeatableRead, Serializable],
    ),
    about(
        Fault::MissingRowLock,
        "missing-row-lock",
        "a read that locks waits for locks and takes none",
        "P4",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::WriteSkew,
        "write-skew",
        "a plain read in a transaction that has written nothing yet locks nothing",
        "G2",
        &[Serializable],
    ),
    about(
        Fault::LongFork,
        "long-fork",
        "every other transaction misses the newest commit but one",
        "long fork",
        &[ReadCommitted, RepeatableRead],
    ),
    about(
        Fault::OwnWriteInvisible,
        "own-write-invisible",
        "a plain read misses what its transaction has written",
        "own write",
        &[ReadCommitted, RepeatableRead],
    ),
    about(
        Fault::OwnDeleteVisible,
        "own-delete-visible",
        "a plain read sees rows that its transaction has deleted",
        "own write",
        &[ReadCommitted, RepeatableRead],
    ),
    about(
        Fault::NoOpUpdateHidesNewer,
        "no-op-update-hides-newer",
        "an UPDATE that changes nothing puts what the snapshot shows over a newer version",
        "own write",
        &[RepeatableRead],
    ),
    about(
        Fault::RowSkippedAfterResume,
        "row-skipped-after-resume",
        "an UPDATE or DELETE that waited passes over the rows that it waited for",
        "skipped row",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::RowTouchedTwice,
        "row-touched-twice",
        "an UPDATE that waited assigns the rows that it waited for twice",
        "row touched twice",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::OldPredicateAfterWait,
        "old-predicate-after-wait",
        "an UPDATE or DELETE that waited chooses rows as they were when it was sent",
        "old predicate",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::WriteNotDone,
        "write-not-done",
        "a write answers that it is done, and one of its rows stays as it was",
        "lost write",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::WrongAffectedCount,
        "wrong-affected-count",
        "a write counts one row too many",
        "wrong count",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::ExtraRowTouched,
        "extra-row-touched",
        "an UPDATE or DELETE touches a row for which its condition does not hold",
        "wrong row",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::RollbackToUndoesTooMuch,
        "rollback-to-undoes-too-much",
        "ROLLBACK TO undoes the last write before the savepoint, too",
        "savepoint",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::RollbackToUndoesTooLittle,
        "rollback-to-undoes-too-little",
        "ROLLBACK TO keeps the first write after the savepoint",
        "savepoint",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::StatementErrorLeavesHalf,
        "statement-error-leaves-half",
        "a write that a constraint refuses keeps the rows that it has written before",
        "half a statement",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::ErrorEndsTransaction,
        "error-ends-transaction",
        "a write that a constraint refuses rolls its transaction back",
        "ended transaction",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::UniqueViolationAccepted,
        "unique-violation-accepted",
        "a unique key lets a second row in",
        "constraint",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::UniqueCheckAgainstDeleted,
        "unique-check-against-deleted",
        "a unique key refuses a row for a deleted one",
        "constraint",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::IndexOutOfStep,
        "index-out-of-step",
        "an index loses the rows that were written while another transaction was open",
        "index",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::DeadlockVictimsWritesSurvive,
        "deadlock-victims-writes-survive",
        "what a deadlock's victim has written is committed",
        "G1a",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::NowaitWaits,
        "nowait-waits",
        "NOWAIT waits",
        "locks",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::SkipLockedSkipsTooMuch,
        "skip-locked-skips-too-much",
        "SKIP LOCKED passes over a row that is not locked, too",
        "locks",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::ReleaseRollsBack,
        "release-rolls-back",
        "RELEASE SAVEPOINT undoes what came after the savepoint",
        "savepoint",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::CommitFailsButDone,
        "commit-fails-but-done",
        "COMMIT is refused, and done",
        "commit",
        &IsolationLevel::ALL,
    ),
    about(
        Fault::WakeUpLost,
        "wake-up-lost",
        "a statement that waits is not woken",
        "hang",
        &IsolationLevel::ALL,
    ),
];

impl Fault {
    /// Every fault, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        FAULTS.iter().map(|about| about.fault)
    }

    fn about(self) -> &'static About {
        let found = FAULTS.iter().find(|about| about.fault == self);
        found.unwrap_or(&FAULTS[0])
    }

    /// As targets spell it.
    pub fn slug(self) -> &'static str {
        self.about().slug
    }

    /// What the engine does wrong, in one line.
    pub fn meaning(self) -> &'static str {
        self.about().meaning
    }

    /// What that breaks, as the literature calls it where it has a name.
    pub fn anomaly(self) -> &'static str {
        self.about().anomaly
    }

    /// The levels whose promises it breaks in the first flavour; a flavour tells of its own.
    pub(super) fn levels(self) -> &'static [IsolationLevel] {
        self.about().levels
    }

    /// The fault of this name.
    ///
    /// # Errors
    /// When there is none: the message names the nearest one and all.
    pub fn named(name: &str) -> Result<Self, EngineError> {
        if let Some(found) = Self::all().find(|fault| fault.slug() == name) {
            return Ok(found);
        }
        let near = Self::all()
            .map(|fault| (strsim::jaro_winkler(name, fault.slug()), fault.slug()))
            .filter(|(likeness, _)| *likeness > 0.8)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let hint = near.map_or(String::new(), |(_, slug)| format!(", did you mean {slug}?"));
        let all: Vec<&str> = Self::all().map(Self::slug).collect();
        Err(EngineError::Target(format!(
            "unknown fault {name:?}{hint} One of: {}",
            all.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_fault_is_listed_once_and_found_by_its_name() {
        let mut seen = BTreeSet::new();
        for fault in Fault::all() {
            assert!(seen.insert(fault), "{fault:?}");
            assert_eq!(fault.about().fault, fault);
            assert_eq!(Fault::named(fault.slug()).ok(), Some(fault));
            assert!(!fault.levels().is_empty());
        }
    }
}
