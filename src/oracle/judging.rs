//! What an oracle is: its name, its needs, and its ruling on a run.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::Evidence;
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{Pace, StatementId, TestCase, UndecidedReason, Verdict};
use crate::observe::Learner;

/// One oracle.
pub trait Oracle: Sync {
    /// As `--oracle` names it.
    fn name(&self) -> &'static str;

    /// One line for `--help`.
    fn about(&self) -> &'static str;

    /// What the oracle needs of a run, whatever the case.
    fn needs(&self) -> Needs;

    /// Whether it runs each statement alone on its view. Where several do, what one finds is kept for
    /// the others.
    fn judges_statements(&self) -> bool {
        false
    }

    /// Whether row versions would help it to explain a finding, though it judges answers only: they
    /// are learned where that adds nothing to the sessions.
    fn explains_by_versions(&self) -> bool {
        false
    }

    /// Why the oracle applies to no case on an engine of this dialect; none where it applies to some.
    fn excludes_engine(&self, _dialect: &Dialect) -> Option<UndecidedReason> {
        None
    }

    /// Why the oracle does not apply to this case; none where it does. What [`Needs`] rules out by
    /// itself, or the engine, is not asked again.
    fn excludes(&self, _case: &TestCase, _dialect: &Dialect) -> Option<UndecidedReason> {
        None
    }

    /// Judges one run. The serial run is as its set-up left it.
    ///
    /// # Errors
    /// When there is no answer from the engine; the caller decides what that means.
    fn judge(&self, evidence: &Evidence, serial: &mut dyn SerialRun)
    -> Result<Ruling, EngineError>;
}

/// What an oracle needs of a run. Oracles with equal needs judge the same run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The pace of the cases that are drawn for it. An oracle of the free pace judges schedules,
    /// too; one of schedules judges nothing else.
    pub pace: Pace,
    /// How row versions are learned; none where the oracle looks at answers only. Such an oracle
    /// judges an instrumented run as well if nothing was added to the sessions.
    pub learner: Option<Learner>,
    /// Every table must have a row key, hidden where the case has none.
    pub row_identity: bool,
    /// A connection for serial runs of the case's set-up.
    pub serial: bool,
    /// The server is killed during the run, and started again.
    pub crash: bool,
}

impl Needs {
    /// Those of oracles that look at answers only.
    pub const fn answers(pace: Pace) -> Self {
        Self {
            pace,
            learner: None,
            row_identity: false,
            serial: false,
            crash: false,
        }
    }

    /// Those of oracles that ask what a statement gives alone on its view: they judge one run.
    pub fn views(learner: Learner) -> Self {
        Self {
            learner: Some(learner),
            row_identity: true,
            serial: true,
            ..Self::answers(Pace::Scheduled)
        }
    }
}

/// What an oracle says of one run, and what it looked at.
#[derive(Clone, Debug)]
pub struct Ruling {
    pub verdict: Verdict,
    /// The statements whose outcome was compared with a prediction.
    pub tested: BTreeSet<StatementId>,
    /// Why others that were answered could not be.
    pub untested: BTreeMap<StatementId, UndecidedReason>,
    /// For graph oracles: statements kept in the acyclic part, of those that last.
    pub acyclic: Option<(usize, usize)>,
}

impl Ruling {
    /// A verdict without any statement that was compared.
    pub fn bare(verdict: Verdict) -> Self {
        Self {
            verdict,
            tested: BTreeSet::new(),
            untested: BTreeMap::new(),
            acyclic: None,
        }
    }

    /// Nothing can be said of this run, and why.
    pub fn undecided(reason: UndecidedReason) -> Self {
        Self::bare(Verdict::Undecided(reason))
    }
}
