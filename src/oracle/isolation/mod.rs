//! Isolation: Adya's graph over item dependencies, against what each transaction's level promises.
//!
//! Who wrote which version is known from the account of the run; who read it, where the rows that a
//! query gave name their versions. Nothing is inferred from predicates, so that every dependency is a
//! fact. `docs/oracle-isolation.md` says what this claims and what it may miss.

mod anomalies;
mod dependencies;
mod promises;
mod reads;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use self::anomalies::{ItemAnomaly, cycle};
pub(super) use self::dependencies::{ItemEdgeKind, ItemGraph, JudgedBy};
use self::reads::ItemQuery;
pub(super) use self::reads::{item_queries, ranges};
use super::own_changes::{LOCKED_KEY_AGAIN, looks_up_locked_key};
use super::signature::{BACKWARD_SCAN, finding_levels, may_scan_backwards};
use super::view::blind;
use super::{Evidence, Needs, Oracle, Ruling, refusal};
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{
    Doubt, Finding, FindingKind, RESUMED, Signature, StatementId, StatementKind, TestCase,
    UndecidedReason, Verdict,
};
use crate::observe::Learner;

/// The oracle, with the learner it trusts.
#[derive(Clone, Copy, Debug)]
pub struct IsolationOracle {
    pub learner: Learner,
}

impl Oracle for IsolationOracle {
    fn name(&self) -> &'static str {
        "isolation"
    }

    fn about(&self) -> &'static str {
        "who read and replaced whose rows, against what each level promises (Adya's graph)"
    }

    fn needs(&self) -> Needs {
        Needs {
            serial: false,
            ..Needs::views(self.learner)
        }
    }

    fn excludes(&self, case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
        let promises = |session| dialect.promise(case.judged_level(session)).is_some();
        if !case.sessions().into_iter().any(promises) {
            return Some(UndecidedReason::LevelPromisesNothing);
        }
        refusal::other_rules(case, dialect)
    }

    fn judge(&self, evidence: &Evidence, _: &mut dyn SerialRun) -> Result<Ruling, EngineError> {
        // A version that is missing, or laid at another's door, makes edges that are not there.
        if let Some(reason) = blind(evidence) {
            return Ok(Ruling::undecided(reason));
        }
        let queries = item_queries(evidence);
        let tested = tested(evidence, &queries);
        if tested.is_empty() {
            return Ok(Ruling::undecided(UndecidedReason::NothingCommitted));
        }
        let worst = |judged| {
            let graph = ItemGraph::of(evidence, &queries, &judged);
            anomalies::worst(evidence, &queries, &graph)
        };
        let among_themselves = || {
            promises::serializable_among_others(evidence).then_some(())?;
            worst(JudgedBy::SerializableAlone)
        };
        let verdict = match worst(JudgedBy::ByLevel).or_else(among_themselves) {
            None => Verdict::Agree,
            Some(found) => match (let_go(evidence), worst(JudgedBy::WithoutWhatWasLetGo)) {
                (Some(known), None) => Verdict::Known(known),
                _ => Verdict::Violation(Box::new(finding(evidence, found))),
            },
        };
        Ok(Ruling {
            verdict,
            tested,
            untested: BTreeMap::new(),
            acyclic: None,
        })
    }
}

/// The id of the registered behaviour by which the engine ended a transaction of its own at a return to
/// an early savepoint, where one did.
fn let_go(evidence: &Evidence) -> Option<String> {
    let mut statements = evidence.case.user_statements();
    let any = statements.any(|s| evidence.timeline.let_go(s.id).is_some());
    let (doubt, kind) = (Doubt::EarlySavepoint, StatementKind::RollbackTo);
    let known = evidence.dialect.known(doubt, kind).filter(|_| any);
    known.map(str::to_owned)
}

/// The statements of committed transactions that read or wrote a version which is known.
fn tested(evidence: &Evidence, queries: &[ItemQuery]) -> BTreeSet<StatementId> {
    let read = queries.iter().map(|query| query.statement);
    let wrote = evidence.account.changes.keys().copied();
    read.chain(wrote)
        .filter(|id| dependencies::commits(evidence, id.transaction))
        .collect()
}

fn finding(evidence: &Evidence, found: ItemAnomaly) -> Finding {
    let case = &evidence.case;
    let levels = finding_levels(case);
    let ItemAnomaly {
        anomaly,
        class,
        shape,
        lines,
        statements,
    } = found;
    let adya = anomaly.adya();
    let adya = adya.map_or(String::new(), |name| format!(" ({name})"));
    Finding {
        headline: format!("{anomaly}{adya} at {}: {shape}", levels.join(", ")),
        signature: Signature::new(
            "isolation",
            FindingKind::Anomaly(anomaly),
            levels,
            features(evidence, &statements),
        )
        .with_anomaly(class),
        differences: Vec::new(),
        explanation: lines.into_iter().chain(promises_text(evidence)).collect(),
    }
}

/// Kinds of the statements that made the dependencies, and whether one of them had waited.
fn features(evidence: &Evidence, statements: &BTreeSet<StatementId>) -> Vec<String> {
    let mut features = BTreeSet::new();
    for id in statements {
        let statement = evidence.case.statement(*id);
        features.extend(statement.map(|s| s.effect.kind.to_string()));
        if statement.is_some_and(|s| may_scan_backwards(&evidence.dialect, s)) {
            features.insert(BACKWARD_SCAN.to_owned());
        }
        if statement.is_some_and(|s| looks_up_locked_key(evidence, s)) {
            features.insert(LOCKED_KEY_AGAIN.to_owned());
        }
        let record = evidence.execution.records.get(id);
        if record.is_some_and(|record| record.resumed()) {
            features.insert(RESUMED.to_owned());
        }
    }
    features.into_iter().collect()
}

/// What the levels of the case promise, one line each.
fn promises_text(evidence: &Evidence) -> BTreeSet<String> {
    let case = &evidence.case;
    let sessions = case.sessions().into_iter();
    let levels = sessions.map(|session| case.judged_level(session));
    levels
        .map(|level| match evidence.dialect.promise(level) {
            Some(model) => format!("{level} promises {model}"),
            None => format!("{level} promises nothing of reads"),
        })
        .collect()
}
