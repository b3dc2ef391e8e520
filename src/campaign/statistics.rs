//! The numbers of a run, as they are counted, merged, saved and shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::canary::CanaryCount;
use super::comparison::Compared;
use crate::execute::transcript;
use crate::model::{
    ErrorClass, Execution, Pace, StatementId, TestCase, TransactionStatus, UndecidedReason, Verdict,
};
use crate::oracle::Hearing;

/// Cases by verdict. A case counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    pub agree: u64,
    /// Explained by an entry of the registry or documented semantics.
    pub known: u64,
    /// No oracle decided.
    pub undecided: u64,
    /// A violation that did not show in every run of the case.
    pub flaky: u64,
    /// Shown by every run.
    pub violation: u64,
}

impl Verdicts {
    /// Counts one.
    pub fn count(&mut self, verdict: &Verdict) {
        let counter = match verdict {
            Verdict::Agree => &mut self.agree,
            Verdict::Known(_) => &mut self.known,
            Verdict::Undecided(_) => &mut self.undecided,
            Verdict::Flaky { .. } => &mut self.flaky,
            Verdict::Violation(_) => &mut self.violation,
        };
        *counter += 1;
    }

    /// Each verdict's word and count, the worst last.
    pub fn by_word(&self) -> [(&'static str, u64); 5] {
        [
            ("agree", self.agree),
            ("known", self.known),
            ("undecided", self.undecided),
            ("flaky", self.flaky),
            ("violation", self.violation),
        ]
    }

    /// These and others.
    pub(super) fn plus(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    /// What came after those counts.
    pub(super) fn since(&self, before: &Self) -> Self {
        self.each(before, u64::saturating_sub)
    }

    fn each(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            agree: of(self.agree, other.agree),
            known: of(self.known, other.known),
            undecided: of(self.undecided, other.undecided),
            flaky: of(self.flaky, other.flaky),
            violation: of(self.violation, other.violation),
        }
    }

    /// All cases together.
    pub fn total(&self) -> u64 {
        self.agree + self.known + self.undecided + self.flaky + self.violation
    }
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub part: u64,
    pub whole: u64,
}

impl Share {
    /// Between 0 and 1; none of nothing.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share is shown with three digits"
    )]
    pub fn ratio(self) -> Option<f64> {
        (self.whole > 0).then(|| self.part as f64 / self.whole as f64)
    }

    fn add(&mut self, is_part: bool) {
        self.whole += 1;
        self.part += u64::from(is_part);
    }
}

/// The case with the most waits and deadlocks, as text for the end of the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contended {
    pub index: u64,
    /// Statements that waited for a lock.
    pub waits: u64,
    /// Transactions that the engine aborted to end a deadlock.
    pub deadlocks: u64,
    /// Statements rejected because of concurrency: SQLite's BUSY, a lock timeout, a serialization
    /// failure.
    #[serde(default)]
    pub refusals: u64,
    /// What was sent and answered, in columns by session.
    pub transcript: String,
}

impl Contended {
    /// Waits, deadlocks and refusals together.
    pub fn score(&self) -> u64 {
        self.waits + self.deadlocks + self.refusals
    }
}

/// Cases that two servers ran (`--against`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedCases {
    /// Waits, answers and final states are the same.
    pub alike: u64,
    /// A server does not repeat itself, or a deadlock had another victim.
    pub not_comparable: u64,
    /// They differ, and the oracles find something on the second server.
    pub explained: u64,
    /// They differ and no oracle says why, by what differs at which kind of statement: `waits-update`.
    pub differences: BTreeMap<String, u64>,
}

impl ComparedCases {
    /// Counts one.
    pub(super) fn count(&mut self, compared: &Compared) {
        match compared {
            Compared::Alike => self.alike += 1,
            Compared::NotComparable => self.not_comparable += 1,
            Compared::Differs { shape, verdict } => {
                let unexplained = Verdict::Undecided(UndecidedReason::EnginesDiffer);
                if *verdict == unexplained {
                    *self.differences.entry(shape.clone()).or_default() += 1;
                } else {
                    self.explained += 1;
                }
            }
        }
    }

    /// Cases that differ and are not explained.
    pub fn differing(&self) -> u64 {
        self.differences.values().sum()
    }
}

/// The numbers of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Of the cases, after confirmation.
    pub verdicts: Verdicts,
    /// Why cases were undecided.
    pub undecided: BTreeMap<String, u64>,
    /// Known behaviour by its id.
    pub known: BTreeMap<String, u64>,
    /// Verdicts of each oracle; a case that it does not apply to is not counted.
    pub oracles: BTreeMap<String, Verdicts>,
    /// Cases that an oracle does not apply to, by `oracle: reason`.
    pub inapplicable: BTreeMap<String, u64>,
    /// Everything sent to the engine.
    pub statements_sent: u64,
    /// Statements that waited for a lock.
    pub blocked: u64,
    /// Transactions that the engine aborted to end a deadlock.
    pub deadlocks: u64,
    /// Statements that the engine rejected, by error class.
    pub rejected: BTreeMap<String, u64>,
    /// Generated user statements whose answer was compared with a prediction: by an oracle, or
    /// by what a refusal needs.
    pub tested: Share,
    /// Why the others were not, by reason.
    #[serde(default)]
    pub untested: BTreeMap<String, u64>,
    /// The same over statements of committed transactions, by the session's level.
    pub tested_committed: BTreeMap<String, Share>,
    /// Statements that graph oracles kept in the acyclic part, of those that last.
    pub acyclic: Share,
    /// Statements that the engine accepted, by the grammar's production.
    pub productions: BTreeMap<String, Share>,
    /// Violations that are one more sighting of a published finding.
    pub duplicates: u64,
    /// Confirmed violations that were not minimized, because many that look alike were.
    #[serde(default)]
    pub unminimized: u64,
    /// Cases that a second server ran, too.
    #[serde(default)]
    pub compared: ComparedCases,
    /// Cases with a planted fault, which are none of the others.
    #[serde(default)]
    pub canaries: CanaryCount,
    /// How often the server was lost and came back.
    pub server_losses: u64,
    /// The most contended case so far.
    pub contended: Option<Contended>,
}

/// One case, as it is counted.
pub struct CaseCount<'a> {
    pub index: u64,
    pub case: &'a TestCase,
    pub hearing: &'a Hearing,
    /// Of the case, after confirmation.
    pub verdict: &'a Verdict,
    /// The productions behind each statement.
    pub productions: &'a BTreeMap<StatementId, Vec<Arc<str>>>,
    /// What was sent to hear the case, on every connection.
    pub statements_sent: u64,
}

impl Statistics {
    /// Counts one case.
    pub fn count(&mut self, counted: &CaseCount<'_>) {
        self.count_verdict(counted.verdict);
        let hearing = counted.hearing;
        for heard in &hearing.rulings {
            let told = self.oracles.entry(heard.oracle.to_owned()).or_default();
            told.count(in_the_end(&heard.ruling.verdict, counted.verdict));
            if let Some((kept, lasting)) = heard.ruling.acyclic {
                self.acyclic.part += kept as u64;
                self.acyclic.whole += lasting as u64;
            }
        }
        for (oracle, reason) in &hearing.inapplicable {
            *self
                .inapplicable
                .entry(format!("{oracle}: {reason}"))
                .or_default() += 1;
        }
        self.statements_sent += counted.statements_sent;
        self.count_tested(counted.case, hearing);
        if let Some(run) = hearing.runs.first() {
            self.count_execution(&run.execution, counted.productions);
            self.keep_contended(counted, &run.execution);
        }
    }

    /// Counts a case that no oracle heard to its end: its set-up was rejected, or the server was lost.
    /// A crash is a violation that its own oracle tells.
    pub fn count_unheard(&mut self, verdict: &Verdict) {
        self.count_verdict(verdict);
        if let Verdict::Violation(finding) = verdict {
            let oracle = finding.signature.oracle.clone();
            self.oracles.entry(oracle).or_default().count(verdict);
        }
    }

    fn count_verdict(&mut self, verdict: &Verdict) {
        self.verdicts.count(verdict);
        match verdict {
            Verdict::Undecided(reason) => {
                *self.undecided.entry(reason.slug().to_owned()).or_default() += 1;
            }
            Verdict::Known(id) => *self.known.entry(id.clone()).or_default() += 1,
            Verdict::Agree | Verdict::Flaky { .. } | Verdict::Violation(_) => {}
        }
    }

    fn count_tested(&mut self, case: &TestCase, hearing: &Hearing) {
        for statement in case.user_statements() {
            let rulings = || hearing.rulings.iter().map(|heard| &heard.ruling);
            let tested = rulings().any(|ruling| ruling.tested.contains(&statement.id))
                || hearing.rightly_refused.contains(&statement.id);
            self.tested.add(tested);
            if !tested {
                let reason = rulings().find_map(|ruling| ruling.untested.get(&statement.id));
                let reason = reason.map_or(UndecidedReason::NotAnswered, |reason| *reason);
                *self.untested.entry(reason.slug().to_owned()).or_default() += 1;
            }
            let committed = |execution: &Execution| {
                let status = execution.transactions.get(&statement.id.transaction);
                matches!(status, Some(TransactionStatus::Committed(_)))
            };
            if hearing.runs.iter().any(|run| committed(&run.execution)) {
                let tested = hearing.rulings.iter().any(|heard| {
                    committed(&hearing.run_of(heard).execution)
                        && heard.ruling.tested.contains(&statement.id)
                });
                let level = case.level(statement.session).slug().to_owned();
                self.tested_committed.entry(level).or_default().add(tested);
            }
        }
    }

    fn count_execution(
        &mut self,
        execution: &Execution,
        productions: &BTreeMap<StatementId, Vec<Arc<str>>>,
    ) {
        self.blocked += execution.waits() as u64;
        self.deadlocks += execution.deadlocks() as u64;
        for (id, record) in &execution.records {
            let class = record.outcome.error_class();
            if let Some(class) = class {
                *self.rejected.entry(class.slug().to_owned()).or_default() += 1;
            }
            // Concurrency may reject anything: it says nothing about the grammar.
            if class.is_some_and(|class| class.is_concurrency()) {
                continue;
            }
            for production in productions.get(id).into_iter().flatten() {
                self.productions
                    .entry(production.to_string())
                    .or_default()
                    .add(class.is_none());
            }
        }
    }

    /// Keeps the transcript when this case is more contended than the one kept: more waits,
    /// deadlocks and refusals, then the lower index.
    ///
    /// At the free pace waits are not observed, and a transcript is many pages long.
    fn keep_contended(&mut self, counted: &CaseCount<'_>, execution: &Execution) {
        if counted.case.pace == Pace::Free {
            return;
        }
        let refusals = execution.records.values().filter(|record| {
            let class = record.outcome.error_class();
            class.is_some_and(|class| class.is_concurrency() && class != ErrorClass::Deadlock)
        });
        let contended = Contended {
            index: counted.index,
            waits: execution.waits() as u64,
            deadlocks: execution.deadlocks() as u64,
            refusals: refusals.count() as u64,
            transcript: String::new(),
        };
        let is_better = match &self.contended {
            None => contended.score() > 0,
            Some(best) => {
                contended.score() > best.score()
                    || (contended.score() == best.score() && contended.index < best.index)
            }
        };
        if is_better {
            self.contended = Some(Contended {
                transcript: transcript(counted.case, execution),
                ..contended
            });
        }
    }
}

/// The verdict that is counted for an oracle once the case has its own. A violation of the first run
/// may turn out flaky or known; a case whose runs differ decides nothing for any oracle.
fn in_the_end<'a>(said: &'a Verdict, of_case: &'a Verdict) -> &'a Verdict {
    match (said, of_case) {
        (_, Verdict::Undecided(_)) | (Verdict::Violation(_), _) => of_case,
        _ => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Finding, FindingKind, Signature};
    use crate::oracle::{Heard, Ruling};

    fn violation() -> Verdict {
        Verdict::Violation(Box::new(Finding {
            signature: Signature::new(
                "serial",
                FindingKind::NotSerializable,
                Vec::new(),
                Vec::new(),
            ),
            headline: "wrong".to_owned(),
            differences: Vec::new(),
            explanation: Vec::new(),
        }))
    }

    /// The worst verdict that any oracle has for one case.
    fn worst(statistics: &Statistics) -> &'static str {
        let any = |count: fn(&Verdicts) -> u64| statistics.oracles.values().any(|o| count(o) > 0);
        type CountOf = fn(&Verdicts) -> u64;
        let counts: [(&str, CountOf); 4] = [
            ("violation", |v| v.violation),
            ("flaky", |v| v.flaky),
            ("known", |v| v.known),
            ("agree", |v| v.agree),
        ];
        let found = counts.into_iter().find(|(_, count)| any(*count));
        found.map_or("undecided", |(word, _)| word)
    }

    #[test]
    fn the_counts_of_the_oracles_come_to_the_verdict_of_the_case() {
        let case = TestCase::new(vec![], vec![], vec![], BTreeMap::new(), None);
        let undecided = || Verdict::Undecided(UndecidedReason::NothingRan);
        let flaky = || Verdict::Flaky { hits: 1, runs: 3 };
        let known = || Verdict::Known("X".to_owned());
        for (said, of_case) in [
            ([violation(), Verdict::Agree], violation()),
            ([violation(), Verdict::Agree], flaky()),
            ([violation(), violation()], flaky()),
            ([Verdict::Agree, violation()], known()),
            ([violation(), undecided()], undecided()),
            ([Verdict::Agree, Verdict::Agree], undecided()),
            ([Verdict::Agree, undecided()], Verdict::Agree),
        ] {
            let mut statistics = Statistics::default();
            let heard = |(judge, (oracle, verdict))| Heard {
                oracle,
                ruling: Ruling::bare(verdict),
                run: 0,
                judge,
            };
            let rulings = ["txcheck", "serial"].into_iter().zip(said);
            statistics.count(&CaseCount {
                index: 0,
                case: &case,
                hearing: &Hearing {
                    rulings: rulings.enumerate().map(heard).collect(),
                    ..Hearing::default()
                },
                verdict: &of_case,
                productions: &BTreeMap::new(),
                statements_sent: 12,
            });
            assert_eq!(worst(&statistics), of_case.word());
        }
    }
}
