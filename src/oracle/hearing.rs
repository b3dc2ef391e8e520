//! What the oracles said of a case, and the one verdict that follows.

use std::collections::BTreeSet;

use super::account::ACCOUNT;
use super::crash::CRASH;
use super::tables::TABLES;
use super::{Evidence, Oracle, Ruling};
use crate::model::{Finding, Signature, StatementId, UndecidedReason, Verdict};

/// The names under which it is told what every run is heard for.
pub const EVERY_RUN: [&str; 3] = [CRASH, ACCOUNT, TABLES];

/// What the oracles said of a case.
#[derive(Clone, Debug, Default)]
pub struct Hearing {
    /// What every run is heard for first, then each oracle that applies, in the order in which they were given.
    pub rulings: Vec<Heard>,
    /// Each oracle that does not apply, with its reason.
    pub inapplicable: Vec<(&'static str, UndecidedReason)>,
    /// The runs that were made.
    pub runs: Vec<Evidence>,
    /// Statements that some run refused, and what it takes for that was there: their transactions had failed, or
    /// another session had written.
    pub rightly_refused: BTreeSet<StatementId>,
}

/// One ruling and where it comes from.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The name of the oracle.
    pub oracle: &'static str,
    pub ruling: Ruling,
    /// The position in [`Hearing::runs`] of the run that was judged.
    pub run: usize,
    /// The position, in the list of oracles that were asked, of one that judges this run.
    pub judge: usize,
}

impl Heard {
    /// The finding, when the ruling is a violation.
    pub fn finding(&self) -> Option<&Finding> {
        if let Verdict::Violation(finding) = &self.ruling.verdict {
            Some(finding)
        } else {
            None
        }
    }
}

impl Hearing {
    pub(super) fn ruling(&mut self, judge: usize, oracle: &dyn Oracle, ruling: Ruling) {
        self.rulings.push(Heard {
            oracle: oracle.name(),
            ruling,
            run: self.runs.len(),
            judge,
        });
    }

    /// What every run is heard for is a violation whatever the oracles say of the run: an internal
    /// error of the engine, a table that disagrees with its index.
    pub(super) fn by_every_run(&mut self, oracle: &'static str, finding: Finding, judge: usize) {
        self.rulings.push(Heard {
            oracle,
            ruling: Ruling::bare(Verdict::Violation(Box::new(finding))),
            run: self.runs.len(),
            judge,
        });
    }

    /// What the record of a run says by itself is a violation whatever the oracles say of it.
    pub(super) fn account(&mut self, finding: Finding, judge: usize) {
        self.rulings.push(Heard {
            oracle: ACCOUNT,
            ruling: Ruling::bare(Verdict::Violation(Box::new(finding))),
            run: self.runs.len(),
            judge,
        });
    }

    /// Whether a violation was found in the run that is being judged.
    pub(super) fn has_violation_in_this_run(&self) -> bool {
        let run = self.runs.len();
        self.rulings
            .iter()
            .any(|heard| heard.run == run && heard.finding().is_some())
    }

    pub(super) fn in_order(&mut self) {
        self.rulings
            .sort_by_key(|heard| (!EVERY_RUN.contains(&heard.oracle), heard.judge));
    }

    /// The worst ruling, where violation > flaky > known > agree > undecided; of equal ones the first.
    ///
    /// An oracle that does not apply does not count.
    pub fn worst(&self) -> Option<&Heard> {
        self.rulings
            .iter()
            .rev()
            .max_by_key(|heard| heard.ruling.verdict.rank())
    }

    /// The one verdict of the case; where no oracle applies nothing was decided.
    pub fn verdict(&self) -> Verdict {
        self.worst().map_or(
            Verdict::Undecided(UndecidedReason::NoOracleApplies),
            |heard| heard.ruling.verdict.clone(),
        )
    }

    /// The first violation with a finding for which this holds.
    pub fn violation(&self, holds: impl Fn(&Finding) -> bool) -> Option<&Heard> {
        let holds = |heard: &&Heard| heard.finding().is_some_and(&holds);
        self.rulings.iter().find(holds)
    }

    /// The run behind a ruling.
    pub fn run_of(&self, heard: &Heard) -> &Evidence {
        &self.runs[heard.run]
    }
}

/// What explains a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explained {
    Not,
    /// By the entry of this id.
    Known(String),
    /// By the entry of this id, and the server claims its fix.
    Regression(String),
}

/// What findings are explained by: the registry of known behaviour, on one server.
pub trait Explains {
    /// What explains a finding with this signature.
    fn explain(&self, signature: &Signature) -> Explained;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_of(verdicts: &[Verdict]) -> Verdict {
        let heard = |(judge, verdict): (usize, &Verdict)| Heard {
            oracle: "o",
            ruling: Ruling::bare(verdict.clone()),
            run: 0,
            judge,
        };
        Hearing {
            rulings: verdicts.iter().enumerate().map(heard).collect(),
            ..Hearing::default()
        }
        .verdict()
    }

    #[test]
    fn the_worst_verdict_counts_and_undecided_only_where_nothing_agreed() {
        let undecided = || Verdict::Undecided(UndecidedReason::NothingRan);
        let known = || Verdict::Known("X".to_owned());
        let flaky = || Verdict::Flaky { hits: 1, runs: 3 };
        assert_eq!(verdict_of(&[undecided(), Verdict::Agree]), Verdict::Agree);
        assert_eq!(verdict_of(&[undecided(), undecided()]), undecided());
        assert_eq!(verdict_of(&[Verdict::Agree, known()]), known());
        assert_eq!(verdict_of(&[flaky(), known(), Verdict::Agree]), flaky());
        assert_eq!(
            verdict_of(&[]),
            Verdict::Undecided(UndecidedReason::NoOracleApplies)
        );
    }

    #[test]
    fn the_first_of_two_equal_verdicts_is_kept() {
        let known = |id: &str| Verdict::Known(id.to_owned());
        assert_eq!(verdict_of(&[known("A"), known("B")]), known("A"));
    }
}
