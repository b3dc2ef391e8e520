//! What an oracle says of a case.

use std::fmt;

use super::{Aspect, Direction, Signature, StatementId, UndecidedReason};

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
