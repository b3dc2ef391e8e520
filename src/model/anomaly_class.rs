//! What is wrong, in the one word by which people tell findings apart.

use super::slug::slugged;
use super::{Anomaly, Aspect, Direction, FindingKind, LockBreach};

slugged! {
    /// What is wrong with a run, whichever oracle found it. Heads signatures and file names.
    ///
    /// The names of relations between transactions are those of Berenson et al. (A Critique of ANSI SQL
    /// Isolation Levels, 1995) and Adya (Weak Consistency, 1999). One class may stand for several anomalies
    /// of a checker ([`Anomaly`]) that a reader would call the same.
    pub enum AnomalyClass {
        /// Two transactions changed one row at once (Adya G0, Berenson P0).
        DirtyWrite = "dirty-write",
        /// A read saw what was rolled back, not yet committed, or replaced by its own writer (G1a, G1b, P1).
        DirtyRead = "dirty-read",
        /// Each of several transactions saw what the next one wrote (G1c).
        CircularFlow = "circular-flow",
        /// Two transactions changed a row from the same version, and one change is gone (P4).
        LostUpdate = "lost-update",
        /// Each of several transactions read what another one then changed (G2-item, A5B).
        WriteSkew = "write-skew",
        /// A transaction saw one part of another and missed the rest (G-single, A5A).
        ReadSkew = "read-skew",
        /// A transaction saw two versions of one row, or a newer one than its snapshot holds (P2).
        NonRepeatableRead = "non-repeatable-read",
        /// A row came into a range that a transaction had read (G2, P3).
        Phantom = "phantom",
        /// Two readers saw two writers in opposite orders (Cerone et al., G-nonadjacent).
        LongFork = "long-fork",
        /// A statement did not see what was committed before the moment it had to read at.
        StaleRead = "stale-read",
        /// A read gave a value that nobody wrote, or only later.
        ThinAirRead = "thin-air-read",
        /// A transaction did not see its own last write.
        OwnWriteMissed = "own-write-missed",
        /// No serial order explains the run, and no cycle of transactions shows why.
        NotSerializable = "not-serializable",
        /// Rows are missing from a result.
        MissingRow = "missing-row",
        /// Rows of a result are too many.
        ExtraRow = "extra-row",
        /// Rows of a result have other values.
        WrongRow = "wrong-row",
        /// The right rows in another order.
        WrongOrder = "wrong-order",
        /// A count is wrong: of a query, or of the rows that a write changed.
        WrongCount = "wrong-count",
        /// An answer says that something else was done, or names another number of rows than it gives.
        WrongTag = "wrong-command-tag",
        /// Rejected, answered, or rejected for another reason, against the prediction.
        WrongError = "wrong-error",
        /// Tables hold what no statement wrote, or miss what one did.
        WrongState = "wrong-state",
        /// A statement should have waited for a lock, and did not.
        MissingLock = "missing-lock",
        /// A statement was refused for a conflict, and nothing was in conflict with it.
        NeedlessRefusal = "needless-refusal",
        /// SKIP LOCKED left out other rows than the locked ones.
        WrongSkip = "wrong-skip",
        /// NOWAIT or SKIP LOCKED waited for a lock.
        NeedlessWait = "needless-wait",
        /// A transaction ended, or went on, against the answers that its session got.
        WrongTransactionEnd = "wrong-transaction-end",
        /// A statement, alone on the same rows, gave two answers.
        UnstableAnswer = "unstable-answer",
        /// A table and its indexes disagree, or the engine's own check complains.
        CorruptTable = "corrupt-table",
        /// A crash of the server lost a transaction whose COMMIT was acknowledged.
        LostCommit = "lost-commit",
        /// A crash of the server left a part of a transaction.
        TornTransaction = "torn-transaction",
        /// A crash of the server left something of a transaction that was not committed.
        UncommittedSurvives = "uncommitted-survives",
        /// The engine says of itself that something is broken.
        InternalError = "internal-error",
        /// The server was lost.
        Crash = "crash",
        /// A statement was never answered.
        Hang = "hang",
        /// Not what the case file expects.
        UnexpectedOutcome = "unexpected-outcome",
    }
}

impl AnomalyClass {
    /// The class of a finding of this kind that differs in this direction, where nothing more is known of
    /// it: no cycle between transactions, no other moment whose rows explain the answer.
    pub fn of(kind: FindingKind, direction: Option<Direction>) -> Self {
        match kind {
            FindingKind::Wrong(aspect) => Self::of_difference(aspect, direction),
            FindingKind::NotSerializable => Self::NotSerializable,
            FindingKind::UnstableSerialAnswer => Self::UnstableAnswer,
            FindingKind::UnexplainedChange => Self::WrongState,
            FindingKind::MiscountedWrite | FindingKind::MistoldNumber => Self::WrongCount,
            FindingKind::WrongCommandTag => Self::WrongTag,
            FindingKind::RefusalWithoutCause => Self::NeedlessRefusal,
            FindingKind::WrongTransactionEnd => Self::WrongTransactionEnd,
            FindingKind::WrongSavepoint => Self::WrongError,
            FindingKind::InternalError => Self::InternalError,
            FindingKind::Crash => Self::Crash,
            FindingKind::Hang => Self::Hang,
            FindingKind::IndexDisagrees | FindingKind::TableCheckFailed => Self::CorruptTable,
            FindingKind::LostCommit => Self::LostCommit,
            FindingKind::TornTransaction => Self::TornTransaction,
            FindingKind::UncommittedSurvives => Self::UncommittedSurvives,
            FindingKind::UnexplainedRow | FindingKind::NumberGivenAgain => Self::WrongState,
            FindingKind::UnexpectedOutcome => Self::UnexpectedOutcome,
            FindingKind::Anomaly(anomaly) => anomaly.into(),
            FindingKind::Lock(breach) => Self::of_lock(breach),
        }
    }

    fn of_difference(aspect: Aspect, direction: Option<Direction>) -> Self {
        match aspect {
            Aspect::Effect | Aspect::FinalState => return Self::WrongState,
            Aspect::Waiting => return Self::MissingLock,
            Aspect::Error => return Self::WrongError,
            Aspect::Rows | Aspect::Affected => {}
        }
        match direction {
            Some(Direction::Lost) => Self::MissingRow,
            Some(Direction::Extra) => Self::ExtraRow,
            Some(Direction::Changed | Direction::Nulled | Direction::Padded) => Self::WrongRow,
            Some(Direction::Order) => Self::WrongOrder,
            Some(Direction::Lower | Direction::Higher) => Self::WrongCount,
            Some(Direction::Answered | Direction::Refused | Direction::OtherError) => {
                Self::WrongError
            }
            Some(Direction::Waiting) => Self::MissingLock,
            Some(Direction::Other) | None => match aspect {
                Aspect::Affected => Self::WrongCount,
                Aspect::Rows
                | Aspect::Error
                | Aspect::Effect
                | Aspect::FinalState
                | Aspect::Waiting => Self::WrongRow,
            },
        }
    }

    fn of_lock(breach: LockBreach) -> Self {
        match breach {
            LockBreach::UnlockedWrite => Self::DirtyWrite,
            LockBreach::UnlockedRead | LockBreach::UnkeptRow | LockBreach::UnkeptTable => {
                Self::MissingLock
            }
            LockBreach::UnkeptRange => Self::Phantom,
            LockBreach::UnrefusedNewerRow => Self::LostUpdate,
            LockBreach::UnfoundedRefusal => Self::NeedlessRefusal,
            LockBreach::WrongSkip => Self::WrongSkip,
            LockBreach::Waited | LockBreach::KeptPastEnd => Self::NeedlessWait,
        }
    }

    /// Whether it names a relation between transactions: what a weaker level than the promised one allows.
    pub fn is_between_transactions(self) -> bool {
        match self {
            Self::DirtyWrite
            | Self::DirtyRead
            | Self::CircularFlow
            | Self::LostUpdate
            | Self::WriteSkew
            | Self::ReadSkew
            | Self::NonRepeatableRead
            | Self::Phantom
            | Self::LongFork
            | Self::StaleRead
            | Self::NotSerializable
            | Self::MissingLock => true,
            Self::ThinAirRead
            | Self::OwnWriteMissed
            | Self::MissingRow
            | Self::ExtraRow
            | Self::WrongRow
            | Self::WrongOrder
            | Self::WrongCount
            | Self::WrongTag
            | Self::WrongError
            | Self::WrongState
            | Self::NeedlessRefusal
            | Self::WrongSkip
            | Self::NeedlessWait
            | Self::WrongTransactionEnd
            | Self::UnstableAnswer
            | Self::CorruptTable
            | Self::LostCommit
            | Self::TornTransaction
            | Self::UncommittedSurvives
            | Self::InternalError
            | Self::Crash
            | Self::Hang
            | Self::UnexpectedOutcome => false,
        }
    }
}

impl From<Anomaly> for AnomalyClass {
    fn from(anomaly: Anomaly) -> Self {
        match anomaly {
            Anomaly::DirtyWrite => Self::DirtyWrite,
            Anomaly::DirtyRead | Anomaly::AbortedRead | Anomaly::IntermediateRead => {
                Self::DirtyRead
            }
            Anomaly::CircularInformationFlow => Self::CircularFlow,
            Anomaly::LostUpdate | Anomaly::TimestampConflict => Self::LostUpdate,
            Anomaly::WriteSkew => Self::WriteSkew,
            Anomaly::ReadSkew | Anomaly::FracturedRead => Self::ReadSkew,
            Anomaly::NonRepeatableRead => Self::NonRepeatableRead,
            Anomaly::LongFork => Self::LongFork,
            Anomaly::StaleRead
            | Anomaly::SessionGuaranteeViolation
            | Anomaly::NonMonotonicRead
            | Anomaly::CausalityViolation
            | Anomaly::TimestampExternal
            | Anomaly::TimestampSession => Self::StaleRead,
            Anomaly::ThinAirRead | Anomaly::FutureRead => Self::ThinAirRead,
            Anomaly::NotMyLastWrite | Anomaly::NotMyOwnWrite => Self::OwnWriteMissed,
            Anomaly::IncompatibleOrder | Anomaly::NoVersionOrder | Anomaly::NoSerialOrder => {
                Self::NotSerializable
            }
        }
    }
}
