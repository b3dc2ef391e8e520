//! What a flavour means: who sees what, who waits for whom, who is refused, and what a refusal ends.
//!
//! The rest of the engine asks here and never for a flavour. The dialect file of a flavour states the
//! same to the oracles, and `calibrate` proves it.

use super::fault::{Fault, NAME};
use super::refusal::EngineRefusal;
use crate::engine::error::EngineError;
use crate::model::IsolationLevel;
use IsolationLevel::{ReadCommitted, ReadUncommitted, RepeatableRead, Serializable};

/// The semantics that the engine can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EngineFlavour {
    /// Writes change what is committed now; rows and conditions are locked. As InnoDB.
    #[default]
    InnoDb,
    /// Writes choose rows by a snapshot, and the first updater wins; SERIALIZABLE by snapshots. As PostgreSQL.
    Postgres,
    /// Writes change what is committed now; rows are locked, conditions are not. As TiDB in pessimistic mode.
    Tidb,
}

/// What a plain SELECT reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlainRead {
    /// The newest versions, committed or not.
    Newest,
    StatementSnapshot,
    TransactionSnapshot,
    /// What is committed now, and it locks what it reads.
    Locking,
}

/// By which versions a write, or a read that locks, chooses its rows; and what becomes of a row that is
/// newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChosenBy {
    /// By what is committed now: none is newer.
    Current,
    /// By the snapshot of the statement; a newer row is looked at again.
    StatementSnapshot,
    /// By the snapshot of the transaction; a newer row refuses the statement.
    TransactionSnapshot,
}

/// What a level means for the statements of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LevelPolicy {
    pub(super) plain: PlainRead,
    pub(super) chosen: ChosenBy,
    /// Tables that a write, or a read that locks, only reads are locked, too.
    pub(super) locks_sources: bool,
    /// Conditions are locked, so that no row joins or leaves what they hold for.
    pub(super) locks_conditions: bool,
    /// What was read is remembered, and a transaction that read what a concurrent one wrote, and wrote
    /// what a concurrent one read, is refused.
    pub(super) tracks_reads: bool,
}

/// When a transaction takes its snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SnapshotTaken {
    Begin,
    FirstStatement,
    FirstPlainRead,
}

/// What a refusal does to the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalEffect {
    UndoesStatement,
    EndsTransaction,
    /// It takes nothing more until it is rolled back, to a savepoint or whole.
    FailsTransaction,
}

const LOCKS_CURRENT: LevelPolicy = LevelPolicy {
    plain: PlainRead::Newest,
    chosen: ChosenBy::Current,
    locks_sources: true,
    locks_conditions: false,
    tracks_reads: false,
};

const BY_SNAPSHOT: LevelPolicy = LevelPolicy {
    plain: PlainRead::TransactionSnapshot,
    chosen: ChosenBy::TransactionSnapshot,
    locks_sources: false,
    locks_conditions: false,
    tracks_reads: false,
};

impl EngineFlavour {
    /// Every flavour, the one without a name in the target first.
    pub const ALL: [Self; 3] = [Self::InnoDb, Self::Postgres, Self::Tidb];

    /// As targets spell it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::InnoDb => "innodb",
            Self::Postgres => "postgres",
            Self::Tidb => "tidb",
        }
    }

    /// The flavour of this name.
    ///
    /// # Errors
    /// When there is none: the message names all.
    pub fn named(name: &str) -> Result<Self, EngineError> {
        let found = Self::ALL.into_iter().find(|flavour| flavour.slug() == name);
        found.ok_or_else(|| {
            EngineError::Target(format!(
                "unknown flavour {name:?}: one of {}",
                Self::ALL.map(Self::slug).join(", ")
            ))
        })
    }

    /// Its dialect file: name and text.
    pub(super) fn dialect(self) -> (&'static str, &'static str) {
        match self {
            Self::InnoDb => (
                "dialects/simulated.toml",
                include_str!("../../../dialects/simulated.toml"),
            ),
            Self::Postgres => (
                "dialects/simulated/postgres.toml",
                include_str!("../../../dialects/simulated/postgres.toml"),
            ),
            Self::Tidb => (
                "dialects/simulated/tidb.toml",
                include_str!("../../../dialects/simulated/tidb.toml"),
            ),
        }
    }

    /// The target of a server of this flavour with these faults. `per_million`: how many of a million
    /// opportunities they take.
    pub fn target(self, faults: &[Fault], per_million: u32) -> String {
        let flavour = self.slug();
        if faults.is_empty() {
            return format!("{NAME}:?flavour={flavour}");
        }
        let faults: Vec<&str> = faults.iter().map(|fault| fault.slug()).collect();
        let rate = f64::from(per_million) / 1_000_000.0;
        format!(
            "{NAME}:?flavour={flavour}&fault={}&rate={rate}",
            faults.join(",")
        )
    }

    /// The levels that it tells apart, weakest first.
    pub fn levels(self) -> &'static [IsolationLevel] {
        match self {
            Self::InnoDb => &IsolationLevel::ALL,
            Self::Postgres => &[ReadCommitted, RepeatableRead, Serializable],
            Self::Tidb => &[ReadCommitted, RepeatableRead],
        }
    }

    /// What a level means. One that the flavour does not tell apart is the next stronger one, or the
    /// strongest that there is.
    pub(super) fn at(self, level: IsolationLevel) -> LevelPolicy {
        let plain = match level {
            ReadUncommitted => PlainRead::Newest,
            ReadCommitted => PlainRead::StatementSnapshot,
            RepeatableRead => PlainRead::TransactionSnapshot,
            Serializable => PlainRead::Locking,
        };
        match (self, level) {
            (Self::InnoDb, _) => LevelPolicy {
                plain,
                locks_conditions: level >= RepeatableRead,
                ..LOCKS_CURRENT
            },
            (Self::Postgres, ReadUncommitted | ReadCommitted) => LevelPolicy {
                plain: PlainRead::StatementSnapshot,
                chosen: ChosenBy::StatementSnapshot,
                ..BY_SNAPSHOT
            },
            (Self::Postgres, RepeatableRead) => BY_SNAPSHOT,
            (Self::Postgres, Serializable) => LevelPolicy {
                tracks_reads: true,
                ..BY_SNAPSHOT
            },
            (Self::Tidb, ReadUncommitted | ReadCommitted) => LevelPolicy {
                plain: PlainRead::StatementSnapshot,
                locks_sources: false,
                ..LOCKS_CURRENT
            },
            (Self::Tidb, RepeatableRead | Serializable) => LevelPolicy {
                plain: PlainRead::TransactionSnapshot,
                locks_sources: false,
                ..LOCKS_CURRENT
            },
        }
    }

    pub(super) fn snapshot_taken(self) -> SnapshotTaken {
        match self {
            Self::InnoDb => SnapshotTaken::FirstPlainRead,
            Self::Postgres => SnapshotTaken::FirstStatement,
            Self::Tidb => SnapshotTaken::Begin,
        }
    }

    /// Whether a SAVEPOINT hides one of its name, and does not replace it.
    pub(super) fn nests_savepoints(self) -> bool {
        match self {
            Self::Postgres => true,
            Self::InnoDb | Self::Tidb => false,
        }
    }

    /// What a refusal does to an open transaction.
    pub(super) fn effect_of(self, refusal: &EngineRefusal) -> RefusalEffect {
        match self {
            Self::Postgres => RefusalEffect::FailsTransaction,
            Self::InnoDb | Self::Tidb if refusal.is_of_the_whole_transaction() => {
                RefusalEffect::EndsTransaction
            }
            Self::InnoDb | Self::Tidb => RefusalEffect::UndoesStatement,
        }
    }

    /// The levels whose promises a fault breaks: none where no answer shows it.
    pub fn broken_by(self, fault: Fault) -> &'static [IsolationLevel] {
        match self {
            Self::InnoDb => fault.levels(),
            Self::Postgres => in_postgres(fault),
            Self::Tidb => in_tidb(fault),
        }
    }
}

const SNAPSHOTS: &[IsolationLevel] = &[RepeatableRead, Serializable];
const EVERY: &[IsolationLevel] = &[ReadCommitted, RepeatableRead, Serializable];

fn in_postgres(fault: Fault) -> &'static [IsolationLevel] {
    match fault {
        Fault::SnapshotTooEarly
        | Fault::SnapshotTooLate
        | Fault::SnapshotMoves
        | Fault::NonRepeatableRead
        | Fault::Phantom => SNAPSHOTS,
        Fault::MissingRangeLock | Fault::WriteSkew => &[Serializable],
        Fault::OldPredicateAfterWait => &[ReadCommitted],
        // The dialect promises no locks, so that no oracle judges them; an UPDATE that changes
        // nothing makes a version like any other; what a refused statement did goes with its
        // transaction.
        Fault::MissingRowLock
        | Fault::NowaitWaits
        | Fault::SkipLockedSkipsTooMuch
        | Fault::NoOpUpdateHidesNewer
        | Fault::StatementErrorLeavesHalf => &[],
        Fault::DirtyRead
        | Fault::DirtyWrite
        | Fault::AbortedRead
        | Fault::IntermediateRead
        | Fault::AbortedEffectsSurvive
        | Fault::CommitLost
        | Fault::LostUpdate
        | Fault::StaleSnapshot
        | Fault::FracturedRead
        | Fault::LongFork
        | Fault::OwnWriteInvisible
        | Fault::OwnDeleteVisible
        | Fault::RowSkippedAfterResume
        | Fault::RowTouchedTwice
        | Fault::WriteNotDone
        | Fault::WrongAffectedCount
        | Fault::ExtraRowTouched
        | Fault::RollbackToUndoesTooMuch
        | Fault::RollbackToUndoesTooLittle
        | Fault::ErrorEndsTransaction
        | Fault::UniqueViolationAccepted
        | Fault::UniqueCheckAgainstDeleted
        | Fault::IndexOutOfStep
        | Fault::DeadlockVictimsWritesSurvive
        | Fault::ReleaseRollsBack
        | Fault::CommitFailsButDone
        | Fault::WakeUpLost => EVERY,
    }
}

fn in_tidb(fault: Fault) -> &'static [IsolationLevel] {
    const BOTH: &[IsolationLevel] = &[ReadCommitted, RepeatableRead];
    match fault {
        // The snapshot is taken by BEGIN, and conditions are not locked. Faults of locks are not planted yet.
        Fault::SnapshotTooEarly
        | Fault::MissingRangeLock
        | Fault::WriteSkew
        | Fault::MissingRowLock
        | Fault::NowaitWaits
        | Fault::SkipLockedSkipsTooMuch => &[],
        Fault::SnapshotTooLate
        | Fault::SnapshotMoves
        | Fault::NonRepeatableRead
        | Fault::Phantom
        | Fault::NoOpUpdateHidesNewer => &[RepeatableRead],
        // They spoil what was committed since BEGIN, and no snapshot of a transaction shows that.
        Fault::StaleSnapshot | Fault::FracturedRead | Fault::LongFork => &[ReadCommitted],
        Fault::DirtyRead
        | Fault::DirtyWrite
        | Fault::AbortedRead
        | Fault::IntermediateRead
        | Fault::AbortedEffectsSurvive
        | Fault::CommitLost
        | Fault::LostUpdate
        | Fault::OwnWriteInvisible
        | Fault::OwnDeleteVisible
        | Fault::RowSkippedAfterResume
        | Fault::RowTouchedTwice
        | Fault::OldPredicateAfterWait
        | Fault::WriteNotDone
        | Fault::WrongAffectedCount
        | Fault::ExtraRowTouched
        | Fault::RollbackToUndoesTooMuch
        | Fault::RollbackToUndoesTooLittle
        | Fault::StatementErrorLeavesHalf
        | Fault::ErrorEndsTransaction
        | Fault::UniqueViolationAccepted
        | Fault::UniqueCheckAgainstDeleted
        | Fault::IndexOutOfStep
        | Fault::DeadlockVictimsWritesSurvive
        | Fault::ReleaseRollsBack
        | Fault::CommitFailsButDone
        | Fault::WakeUpLost => BOTH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_breaks_levels_that_its_flavour_tells_apart() {
        for flavour in EngineFlavour::ALL {
            assert_eq!(EngineFlavour::named(flavour.slug()).ok(), Some(flavour));
            for fault in Fault::all() {
                let levels = flavour.broken_by(fault).iter();
                let known = |level: &IsolationLevel| flavour.levels().contains(level);
                assert!(levels.into_iter().all(known), "{flavour:?} {fault:?}");
            }
        }
    }
}
