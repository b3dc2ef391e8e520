//! What an oracle says of a case.

use std::fmt;

use super::StatementId;

/// One disagreement between two accounts of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The statement it is about; none for the final state.
    pub statement: Option<StatementId>,
    /// What differs: `rows`, `affected`, `error`, `effect`, `final-state`. One word, in signatures.
    pub aspect: &'static str,
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
    pub oracle: String,
    /// `wrong-rows`, `wrong-affected`, `wrong-error`, `wrong-effect`, `wrong-final-state`,
    /// `not-serializable`, `crash`, `hang`.
    pub kind: String,
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
    /// Why nothing can be said: a slug, for the statistics.
    Undecided(String),
    /// The violation came k times in n runs.
    Flaky {
        hits: u32,
        runs: u32,
    },
    Violation(Box<Finding>),
}

impl Verdict {
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
