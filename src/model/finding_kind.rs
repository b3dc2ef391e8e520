//! What kind of violation a finding is, as its oracle calls it.

use std::fmt;

use super::Anomaly;
use super::slug::slugged;

slugged! {
    /// What differs between two accounts.
    pub enum Aspect {
        /// The rows of a result.
        Rows = "rows",
        /// The number of affected rows.
        Affected = "affected",
        /// Answered or rejected, and the class of the rejection.
        Error = "error",
        /// What a write did to its target.
        Effect = "effect",
        /// What the tables hold after all sessions ended.
        FinalState = "final-state",
        /// Waited, or did not.
        Waiting = "waiting",
    }
}

slugged! {
    /// Which promise about locks was broken.
    pub enum LockBreach {
        /// A statement changed a row that another open transaction had changed.
        UnlockedWrite = "unlocked-write",
        /// A read that locks got past a row that another open transaction had changed.
        UnlockedRead = "unlocked-read",
        /// A row that a read had found and locked was changed while its transaction was open.
        UnkeptRow = "unkept-row",
        /// A change gave a read that had locked its range another result while its transaction was
        /// open: a phantom.
        UnkeptRange = "unkept-range",
        /// Two transactions had locks of a table at once that exclude each other.
        UnkeptTable = "unkept-table",
        /// NOWAIT was refused although nobody could hold a lock.
        UnfoundedRefusal = "unfounded-refusal",
        /// SKIP LOCKED left out a row that nobody could hold, or returned one that was held.
        WrongSkip = "wrong-skip",
        /// A plain read, NOWAIT or SKIP LOCKED waited for a lock.
        Waited = "waited",
        /// A statement waited for a transaction whose end had been answered before it was sent.
        KeptPastEnd = "kept-past-end",
        /// A statement wrote or locked a row that is newer than the snapshot of its transaction, where its level refuses that.
        UnrefusedNewerRow = "unrefused-newer-row",
    }
}

/// What kind of violation a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// Something differs from what a view or an order of statements predicts.
    Wrong(Aspect),
    /// No serial order of the committed transactions explains the run.
    NotSerializable,
    /// Run alone twice on the same rows, the engine gave two answers.
    UnstableSerialAnswer,
    /// A row changed, and no statement that could have changed it was running.
    UnexplainedChange,
    /// A write answered a count of rows, and another number of rows changed.
    MiscountedWrite,
    /// A rejection for a conflict with another session, and no other session could be in conflict.
    RefusalWithoutCause,
    /// A transaction ended, or went on, against the answers that its session got.
    WrongTransactionEnd,
    /// An answer says in words that something else was done than what was sent.
    WrongCommandTag,
    /// A savepoint was found that does not stand, or one that stands was not.
    WrongSavepoint,
    /// A counter that fills a column gave a number that it had given before.
    NumberGivenAgain,
    /// An answer names another number than the first that its counter gave, or none.
    MistoldNumber,
    /// The engine says of itself that something is broken.
    InternalError,
    /// The server or its connection was lost.
    Crash,
    /// A statement was never answered.
    Hang,
    /// Read by an index, a table has other rows than a scan of it.
    IndexDisagrees,
    /// The engine's own check of tables complains.
    TableCheckFailed,
    /// After a crash of the server a transaction is gone whose COMMIT was acknowledged.
    LostCommit,
    /// After a crash of the server a part of a transaction is there and the rest is not.
    TornTransaction,
    /// After a crash of the server something is there of a transaction that was not committed.
    UncommittedSurvives,
    /// After a crash of the server a table holds a row that no transaction can have left.
    UnexplainedRow,
    /// Not what the case file expects.
    UnexpectedOutcome,
    /// The history violates the promised consistency model.
    Anomaly(Anomaly),
    /// A statement should have waited for a lock and did not, or was kept off where none was.
    Lock(LockBreach),
}

impl FindingKind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        let plain = [
            Self::NotSerializable,
            Self::UnstableSerialAnswer,
            Self::UnexplainedChange,
            Self::MiscountedWrite,
            Self::RefusalWithoutCause,
            Self::WrongTransactionEnd,
            Self::WrongCommandTag,
            Self::WrongSavepoint,
            Self::NumberGivenAgain,
            Self::MistoldNumber,
            Self::InternalError,
            Self::Crash,
            Self::Hang,
            Self::IndexDisagrees,
            Self::TableCheckFailed,
            Self::LostCommit,
            Self::TornTransaction,
            Self::UncommittedSurvives,
            Self::UnexplainedRow,
            Self::UnexpectedOutcome,
        ];
        let wrong = Aspect::ALL.iter().copied().map(Self::Wrong);
        let anomalies = Anomaly::ALL.iter().copied().map(Self::Anomaly);
        let locks = LockBreach::ALL.iter().copied().map(Self::Lock);
        wrong.chain(plain).chain(anomalies).chain(locks)
    }

    /// Whether such a finding is as right as what the engine answered without concurrency. The others are shown by
    /// the interleaved run itself.
    pub fn rests_on_a_prediction(self) -> bool {
        match self {
            Self::Wrong(_) | Self::NotSerializable => true,
            Self::Lock(breach) => match breach {
                LockBreach::UnlockedRead
                | LockBreach::UnkeptRow
                | LockBreach::UnkeptRange
                | LockBreach::UnrefusedNewerRow
                | LockBreach::WrongSkip => true,
                LockBreach::UnlockedWrite
                | LockBreach::UnkeptTable
                | LockBreach::UnfoundedRefusal
                | LockBreach::Waited
                | LockBreach::KeptPastEnd => false,
            },
            Self::UnstableSerialAnswer
            | Self::UnexplainedChange
            | Self::MiscountedWrite
            | Self::RefusalWithoutCause
            | Self::WrongTransactionEnd
            | Self::WrongCommandTag
            | Self::WrongSavepoint
            | Self::NumberGivenAgain
            | Self::MistoldNumber
            | Self::InternalError
            | Self::Crash
            | Self::Hang
            | Self::IndexDisagrees
            | Self::TableCheckFailed
            | Self::LostCommit
            | Self::TornTransaction
            | Self::UncommittedSurvives
            | Self::UnexplainedRow
            | Self::UnexpectedOutcome
            | Self::Anomaly(_) => false,
        }
    }

    /// Its spelling in signatures, files and registry rules.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Wrong(Aspect::Rows) => "wrong-rows",
            Self::Wrong(Aspect::Affected) => "wrong-affected",
            Self::Wrong(Aspect::Error) => "wrong-error",
            Self::Wrong(Aspect::Effect) => "wrong-effect",
            Self::Wrong(Aspect::FinalState) => "wrong-final-state",
            Self::Wrong(Aspect::Waiting) => "wrong-waiting",
            Self::NotSerializable => "not-serializable",
            Self::UnstableSerialAnswer => "unstable-serial-answer",
            Self::UnexplainedChange => "unexplained-change",
            Self::MiscountedWrite => "miscounted-write",
            Self::RefusalWithoutCause => "refusal-without-cause",
            Self::WrongTransactionEnd => "wrong-transaction-end",
            Self::WrongCommandTag => "wrong-command-tag",
            Self::WrongSavepoint => "wrong-savepoint",
            Self::NumberGivenAgain => "number-given-again",
            Self::MistoldNumber => "mistold-number",
            Self::InternalError => "internal-error",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::IndexDisagrees => "index-disagrees",
            Self::TableCheckFailed => "table-check-failed",
            Self::LostCommit => "lost-commit",
            Self::TornTransaction => "torn-transaction",
            Self::UncommittedSurvives => "uncommitted-survives",
            Self::UnexplainedRow => "unexplained-row",
            Self::UnexpectedOutcome => "unexpected-outcome",
            Self::Anomaly(anomaly) => anomaly.slug(),
            Self::Lock(breach) => breach.slug(),
        }
    }

    /// The kind of this spelling.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::all().find(|kind| kind.slug() == slug)
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}
