//! Seeing a violation again: in every run or at its rate, and in a smaller case.

use std::collections::BTreeSet;

use super::activity::PursuitNote;
use super::comparison::{difference, saw_the_same};
use super::stop::StopFlag;
use crate::engine::EngineError;
use crate::execute::Executor;
use crate::minimize::{self, MinimizeBudget, MinimizeEnd};
use crate::model::{
    AnomalyClass, Execution, Finding, FindingKind, Signature, StatementKind, TestCase, Verdict,
};
use crate::oracle::{Evidence, Oracle, hear};
use crate::reproducer::Reproduced;

/// What a candidate of the minimizer must share with the finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sameness {
    /// Oracle, kind and levels.
    Kind,
    /// What is wrong, too.
    Anomaly,
    /// The direction and the kind of the statement that differs, too.
    Shape,
}

/// What minimizing a finding that shows every time came to.
pub(super) enum Reduced {
    /// The smallest case that was found.
    To(Box<Sighting>),
    /// No smaller case shows it.
    Smallest,
    /// The smallest case that was found does not show it every time.
    Unreliable,
}

/// What one run of a case shows.
pub(super) enum OneLook {
    Shown(Box<(Finding, Execution)>),
    Nothing,
    /// The engine refuses the set-up or what is added to it: no run shows anything.
    NoCase,
}

/// A case with the run that shows what is wrong with it.
#[derive(Clone, Debug)]
pub struct Sighting {
    pub case: TestCase,
    pub finding: Finding,
    /// The run that showed the finding last.
    pub execution: Execution,
    pub reproduced: Reproduced,
    /// Whether making it smaller ended by its time or its candidates.
    pub may_be_larger: bool,
}

/// Looks at cases through one oracle.
pub(super) struct Looking<'a> {
    pub executor: &'a mut dyn Executor,
    pub oracle: &'a dyn Oracle,
    /// Runs that must all show a violation.
    pub confirmations: u32,
    /// What making one case smaller may cost.
    pub budget: MinimizeBudget,
    pub stop: StopFlag,
    /// Told how far it is.
    pub note: PursuitNote,
}

impl Looking<'_> {
    /// Runs the case again and again, each time on new tables: how often the same violation comes, and the
    /// last sighting. A violation that only shows on tables in which earlier cases left something would
    /// not show to anybody else.
    pub(super) fn confirm(
        &mut self,
        case: &TestCase,
        signature: &Signature,
        runs: u32,
    ) -> Result<(u32, Option<Sighting>), EngineError> {
        self.note.confirming();
        let mut hits = 0;
        let mut last = None;
        for _ in 0..runs {
            self.executor.renew();
            if let OneLook::Shown(shown) = self.look(case, signature, Sameness::Kind)? {
                hits += 1;
                last = Some(shown);
            }
        }
        let sighting = last.map(|shown| sighting(case, *shown, Reproduced { hits, runs }));
        Ok((hits, sighting))
    }

    /// Runs the case once: the violation, when it is the same.
    pub(super) fn look(
        &mut self,
        case: &TestCase,
        signature: &Signature,
        sameness: Sameness,
    ) -> Result<OneLook, EngineError> {
        let mut hearing = match hear(case, self.executor, &[self.oracle]) {
            Ok(hearing) => hearing,
            // A candidate whose set-up, or what we add to it, the engine refuses is no candidate.
            Err(EngineError::Setup { .. } | EngineError::Rejected { .. }) => {
                return Ok(OneLook::NoCase);
            }
            Err(error) => return Err(error),
        };
        let shown = hearing.violation(|finding| is_same(&finding.signature, signature, sameness));
        let Some((finding, run)) = shown.and_then(|h| Some((h.finding()?.clone(), h.run))) else {
            return Ok(OneLook::Nothing);
        };
        let execution = hearing.runs.swap_remove(run).execution;
        Ok(OneLook::Shown(Box::new((finding, execution))))
    }

    /// Whether further runs repeat this one, outcome for outcome and in what was seen beside them, and are agreed with: then not the
    /// run was wrong, but what the first serial run predicted of it.
    pub(super) fn repeats_and_agrees(
        &mut self,
        case: &TestCase,
        first: &Execution,
    ) -> Result<bool, EngineError> {
        for _ in 0..self.confirmations {
            let hearing = match hear(case, self.executor, &[self.oracle]) {
                Ok(hearing) => hearing,
                Err(EngineError::Setup { .. } | EngineError::Rejected { .. }) => return Ok(false),
                Err(error) => return Err(error),
            };
            let repeats = |run: &Evidence| {
                let again = &run.execution;
                difference(first, again).is_none() && saw_the_same(first, again)
            };
            if hearing.verdict() != Verdict::Agree || !hearing.runs.iter().all(repeats) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The smallest case that shows the same and is as reliable.
    pub(super) fn minimize(
        &mut self,
        raw: &Sighting,
        sameness: Sameness,
    ) -> Result<Reduced, EngineError> {
        let signature = raw.finding.signature.clone();
        let (stop, note, budget) = (self.stop.clone(), self.note.clone(), self.budget);
        note.minimizing(&raw.case, &raw.case);
        let dialect = self.executor.dialect().clone();
        let mut predicate = |candidate: &TestCase| -> Result<bool, EngineError> {
            // With every candidate refused the minimizer ends soon, with what it has.
            let shown = !stop.is_urgent()
                && matches!(
                    self.look(candidate, &signature, sameness)?,
                    OneLook::Shown(_)
                );
            if shown {
                note.minimizing(&raw.case, candidate);
            }
            Ok(shown)
        };
        let minimized = minimize::minimize(&raw.case, &dialect, &mut predicate, budget);
        if let MinimizeEnd::Failed(error) = minimized.end {
            return Err(error);
        }
        if minimized.case == raw.case {
            let complete = matches!(minimized.end, MinimizeEnd::Fixpoint) && !self.stop.is_urgent();
            return Ok(if complete {
                Reduced::Smallest
            } else {
                Reduced::Unreliable
            });
        }
        let may_be_larger = matches!(minimized.end, MinimizeEnd::Budget) || self.stop.is_urgent();
        let runs = self.confirmations;
        let (hits, sighting) = self.confirm(&minimized.case, &signature, runs)?;
        // What is shown last names the file.
        let same = |found: &Sighting| is_same(&found.finding.signature, &signature, sameness);
        Ok(match sighting.filter(|found| hits == runs && same(found)) {
            Some(sighting) => Reduced::To(Box::new(Sighting {
                may_be_larger,
                ..sighting
            })),
            None => Reduced::Unreliable,
        })
    }
}

pub(super) fn sighting(
    case: &TestCase,
    shown: (Finding, Execution),
    reproduced: Reproduced,
) -> Sighting {
    let (finding, execution) = shown;
    Sighting {
        case: case.clone(),
        finding,
        execution,
        reproduced,
        may_be_larger: false,
    }
}

/// The smallest case that shows the violation of this one; none when no oracle finds one every time.
///
/// # Errors
/// When the engine gives no answer.
pub fn minimize_case(
    case: &TestCase,
    executor: &mut dyn Executor,
    oracles: &[&dyn Oracle],
    confirmations: u32,
    budget: MinimizeBudget,
    stop: &StopFlag,
) -> Result<Option<Sighting>, EngineError> {
    let hearing = hear(case, executor, oracles)?;
    for heard in &hearing.rulings {
        let Some(finding) = heard.finding() else {
            continue;
        };
        let mut looking = Looking {
            executor,
            oracle: oracles[heard.judge],
            confirmations,
            budget,
            stop: stop.clone(),
            note: PursuitNote::unheard(),
        };
        let (hits, sighting) = looking.confirm(case, &finding.signature, confirmations)?;
        if let Some(raw) = sighting.filter(|_| hits == confirmations) {
            return Ok(Some(match looking.minimize(&raw, Sameness::Shape)? {
                Reduced::To(minimized) => *minimized,
                Reduced::Smallest | Reduced::Unreliable => raw,
            }));
        }
    }
    Ok(None)
}

/// The minimizer's predicate and the confirmation: features of the whole may vanish, the rest may not change, but that
/// what had no name gets one.
fn is_same(smaller: &Signature, whole: &Signature, sameness: Sameness) -> bool {
    let gets_name = gets_name(smaller, whole);
    let kind = smaller.kind == whole.kind || gets_name;
    let anomaly = smaller.anomaly == whole.anomaly || gets_name;
    let alike = smaller.oracle == whole.oracle && kind && smaller.levels == whole.levels;
    alike
        && match sameness {
            Sameness::Kind => true,
            Sameness::Anomaly => anomaly,
            Sameness::Shape => anomaly && same_shape(smaller, whole),
        }
}

/// Whether a smaller case shows by its name what the whole one shows without: a run that no order explains, though no cycle
/// alone says so, is most often one of a known shape beside statements that have no part in it.
fn gets_name(smaller: &Signature, whole: &Signature) -> bool {
    let is_history = |signature: &Signature| matches!(signature.kind, FindingKind::Anomaly(_));
    whole.anomaly == AnomalyClass::NotSerializable
        && smaller.anomaly.is_between_transactions()
        && (smaller.kind == whole.kind || (is_history(smaller) && is_history(whole)))
}

/// Whether a smaller case differs in the same direction as the whole one, at statements of the same kind.
///
/// What is found in the tables at the end names every kind of write that may have done it: in a smaller case some of them.
pub(super) fn same_shape(smaller: &Signature, whole: &Signature) -> bool {
    fn directions(signature: &Signature) -> BTreeSet<&str> {
        let features = signature.features.iter().map(String::as_str);
        features
            .filter(|feature| feature.starts_with("differs:"))
            .collect()
    }
    fn kinds(signature: &Signature) -> BTreeSet<&str> {
        let features = signature.features.iter().map(String::as_str);
        let is_kind = |name: &&str| StatementKind::ALL.iter().any(|kind| kind.slug() == *name);
        features.filter(is_kind).collect()
    }
    let (of_smaller, of_whole) = (kinds(smaller), kinds(whole));
    let any_may_have = matches!(
        whole.kind,
        FindingKind::TableCheckFailed | FindingKind::IndexDisagrees
    );
    let same_kinds = match any_may_have {
        true => of_smaller.is_subset(&of_whole) && of_smaller.is_empty() == of_whole.is_empty(),
        false => of_smaller == of_whole,
    };
    same_kinds && directions(smaller) == directions(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_may_get_one_in_a_smaller_case_and_nothing_else_becomes_another() {
        let same = |smaller: &str, whole: &str, sameness| {
            let [smaller, whole] =
                [smaller, whole].map(|text| Signature::parse(text).expect("a signature"));
            is_same(&smaller, &whole, sameness)
        };
        let unnamed = "not-serializable history no-version-order [SERIALIZABLE] violates-ser";
        let skew = "read-skew history read-skew [SERIALIZABLE] violates-ser";
        let refuted =
            "not-serializable serial not-serializable [SERIALIZABLE] differs:lower select";
        let lost = "lost-update serial not-serializable [SERIALIZABLE] differs:lower select";
        for sameness in [Sameness::Kind, Sameness::Anomaly, Sameness::Shape] {
            assert!(same(skew, unnamed, sameness), "{sameness:?}");
            assert!(!same(unnamed, skew, sameness), "{sameness:?}");
            assert!(!same(lost, unnamed, sameness), "{sameness:?}");
        }
        assert!(same(lost, refuted, Sameness::Anomaly));
        assert!(!same(refuted, lost, Sameness::Anomaly));
        let own = "own-write-missed history not-my-own-write [SERIALIZABLE] violates-ser";
        assert!(!same(own, unnamed, Sameness::Kind));
    }

    #[test]
    fn a_write_that_may_have_broken_a_table_may_go_and_a_statement_that_differs_may_not() {
        let same = |smaller: &str, whole: &str| {
            let [smaller, whole] =
                [smaller, whole].map(|text| Signature::parse(text).expect("a signature"));
            same_shape(&smaller, &whole)
        };
        let orphan =
            |kinds: &str| format!("tables table-check-failed [SERIALIZABLE] {kinds}orphan");
        assert!(same(&orphan("replace "), &orphan("delete replace update ")));
        assert!(!same(&orphan("replace "), &orphan("delete ")));
        assert!(!same(&orphan(""), &orphan("delete ")));
        let rows = |of: &str| format!("txcheck wrong-rows [SERIALIZABLE] differs:{of}");
        assert!(same(&rows("lost order-by select"), &rows("lost select")));
        assert!(!same(&rows("lost"), &rows("lost select")));
        assert!(!same(&rows("extra select"), &rows("lost select")));
    }
}
