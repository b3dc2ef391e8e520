//! What an oracle says of a case.

use std::fmt;

use super::slug::slugged;
use super::{Anomaly, Direction, StatementId, UndecidedReason};

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
        /// NOWAIT was refused although nobody could hold a lock.
        UnfoundedRefusal = "unfounded-refusal",
        /// SKIP LOCKED left out a row that nobody could hold, or returned one that was held.
        WrongSkip = "wrong-skip",
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
            Self::InternalError,
            Self::Crash,
            Self::Hang,
            Self::IndexDisagrees,
            Self::TableCheckFailed,
            Self::UnexpectedOutcome,
        ];
        let wrong = Aspect::ALL.iter().copied().map(Self::Wrong);
        let anomalies = Anomaly::ALL.iter().copied().map(Self::Anomaly);
        let locks = LockBreach::ALL.iter().copied().map(Self::Lock);
        wrong.chain(plain).chain(anomalies).chain(locks)
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
            Self::InternalError => "internal-error",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::IndexDisagrees => "index-disagrees",
            Self::TableCheckFailed => "table-check-failed",
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

/// One disagreement between two accounts of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The statement it is about; none for the final state.
    pub statement: Option<StatementId>,
    pub aspect: Aspect,
    pub direction: Direction,
    /// What the oracle predicts, spelled as `Outcome` and rows are, so that a case file can hold it
    /// as an expectation. For the final state only the missing rows: `t0: (1) (2)`.
    pub expected: String,
    /// What the run gave, in the same spelling. For the final state only the extra rows.
    pub got: String,
}

/// As people read it: `T2.1, rows: expected (1), got (0)`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.statement {
            Some(id) => write!(f, "{id}, ")?,
            None => f.write_str("at the end, ")?,
        }
        let (aspect, expected, got) = (self.aspect, &self.expected, &self.got);
        write!(f, "{aspect}: expected {expected}, got {got}")
    }
}

/// What two findings share to be one bug. Computed from the minimized case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// The name of the oracle.
    pub oracle: String,
    pub kind: FindingKind,
    /// Levels run and claimed of the sessions in conflict, sorted.
    pub levels: Vec<String>,
    /// Kinds, read modes and waits of the statements in conflict, normalized and sorted.
    pub features: Vec<String>,
}

impl Signature {
    /// The canonical text; equal texts are one bug.
    pub fn text(&self) -> String {
        format!(
            "{} {} [{}] {}",
            self.oracle,
            self.kind,
            self.levels.join(", "),
            self.features.join(" ")
        )
    }

    /// Eight hexadecimal digits of BLAKE3 over the text: names files and buckets.
    pub fn id(&self) -> String {
        blake3::hash(self.text().as_bytes()).to_hex()[..8].to_owned()
    }
}

/// A violation with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub signature: Signature,
    /// One line for people: what is wrong.
    pub headline: String,
    pub differences: Vec<Difference>,
    /// Why the oracle holds its account for the right one: views, orders, cycles.
    pub explanation: Vec<String>,
}

/// The answer of an oracle. Undecided is never a pass and never a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Agree,
    /// Documented semantics or a registered bug: the id of its entry.
    Known(String),
    /// Why nothing can be said.
    Undecided(UndecidedReason),
    /// The violation came k times in n runs.
    Flaky {
        hits: u32,
        runs: u32,
    },
    Violation(Box<Finding>),
}

impl Verdict {
    /// How much it weighs against other verdicts about the same case: a violation most, undecided
    /// least.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Undecided(_) => 0,
            Self::Agree => 1,
            Self::Known(_) => 2,
            Self::Flaky { .. } => 3,
            Self::Violation(_) => 4,
        }
    }

    /// The word of the JSON contract.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Known(_) => "known",
            Self::Undecided(_) => "undecided",
            Self::Flaky { .. } => "flaky",
            Self::Violation(_) => "violation",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agree => f.write_str("agree"),
            Self::Known(id) => write!(f, "known ({id})"),
            Self::Undecided(reason) => write!(f, "undecided ({reason})"),
            Self::Flaky { hits, runs } => write!(f, "flaky ({hits} of {runs})"),
            Self::Violation(finding) => write!(f, "violation: {}", finding.headline),
        }
    }
}
