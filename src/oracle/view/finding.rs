//! From disagreements to a finding: headline, differences, signature.

use std::collections::BTreeSet;

use super::super::Evidence;
use super::super::compare::{Mismatch, place_text};
use super::super::signature::{finding_levels, form_features};
use crate::model::{
    CaseStatement, Difference, Finding, FindingKind, Signature, StatementId, TestCase,
};

/// One difference between the interleaved run and what a view predicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::oracle) struct Disagreement {
    /// None for the final state.
    pub(in crate::oracle) statement: Option<StatementId>,
    /// The table, for the final state.
    table: Option<String>,
    mismatch: Mismatch,
}

impl Disagreement {
    pub(in crate::oracle) fn at(statement: StatementId, mismatch: Mismatch) -> Self {
        Self {
            statement: Some(statement),
            table: None,
            mismatch,
        }
    }

    /// Of a difference that is worded already.
    pub(in crate::oracle) fn of(difference: Difference) -> Self {
        Self {
            statement: difference.statement,
            table: None,
            mismatch: Mismatch {
                aspect: difference.aspect,
                direction: difference.direction,
                expected: difference.expected,
                got: difference.got,
            },
        }
    }

    pub(in crate::oracle) fn finally(table: String, mismatch: Mismatch) -> Self {
        Self {
            statement: None,
            table: Some(table),
            mismatch,
        }
    }
}

/// The finding of an oracle about a run, told by its first unexplained disagreement.
pub(in crate::oracle) fn finding(
    oracle: &str,
    evidence: &Evidence,
    first: &Disagreement,
    all: &[Disagreement],
    explanation: Vec<String>,
) -> Finding {
    let case = &evidence.case;
    let statement = first.statement.and_then(|id| case.statement(id));
    Finding {
        signature: Signature {
            oracle: oracle.to_owned(),
            kind: FindingKind::Wrong(first.mismatch.aspect),
            levels: finding_levels(case),
            features: features(evidence, statement),
        },
        headline: headline(case, first, statement),
        differences: all.iter().map(difference).collect(),
        explanation,
    }
}

/// The same violation told as a defect of the serial run that predicted otherwise; none where it is not
/// about the answer of one statement.
///
/// For a caller that has repeated the run and found the oracle to agree with it.
pub fn unstable_prediction(violation: &Finding, evidence: &Evidence) -> Option<Finding> {
    let answers = violation
        .differences
        .iter()
        .find(|d| d.statement.is_some())?;
    let oracle = &violation.signature.oracle;
    let answers = Disagreement::of(answers.clone());
    Some(unstable_finding(oracle, evidence, &answers))
}

/// The finding that a statement, alone on the same rows, gave two answers from one serial run to the
/// next: a defect of the engine, though none of transactions, and no prediction.
pub(in crate::oracle) fn unstable_finding(
    oracle: &str,
    evidence: &Evidence,
    answers: &Disagreement,
) -> Finding {
    let case = &evidence.case;
    let statement = answers.statement.and_then(|id| case.statement(id));
    let mut features: Vec<String> = statement.map_or(Vec::new(), |s| form_features(case, s));
    features.extend(statement.map(|s| s.effect.kind.to_string()));
    features.sort();
    let place = place_text(answers.statement);
    let Mismatch {
        aspect,
        direction: _,
        expected,
        got,
    } = &answers.mismatch;
    Finding {
        signature: Signature {
            oracle: oracle.to_owned(),
            kind: FindingKind::UnstableSerialAnswer,
            levels: finding_levels(case),
            features,
        },
        headline: format!(
            "{place}, run alone on the same rows, has {aspect} that differ from one run to the \
             next: {expected}; {got}"
        ),
        differences: vec![difference(answers)],
        explanation: vec![
            "the statement ran in a database that no other session used, more than once".to_owned(),
        ],
    }
}

fn difference(disagreement: &Disagreement) -> Difference {
    let place = disagreement
        .table
        .as_ref()
        .map_or(String::new(), |table| format!("{table}: "));
    Difference {
        statement: disagreement.statement,
        aspect: disagreement.mismatch.aspect,
        direction: disagreement.mismatch.direction,
        expected: format!("{place}{}", disagreement.mismatch.expected),
        got: format!("{place}{}", disagreement.mismatch.got),
    }
}

fn headline(case: &TestCase, first: &Disagreement, statement: Option<&CaseStatement>) -> String {
    let Mismatch {
        aspect,
        direction: _,
        expected,
        got,
    } = &first.mismatch;
    match statement {
        Some(statement) => {
            let run = case.level(statement.session);
            let judged = case.judged_level(statement.session);
            let level = if run == judged {
                run.to_string()
            } else {
                format!("{run} claimed {judged}")
            };
            format!(
                "{} ({}) at {level}: {aspect} differ: got {got}; on the rows it should see: {expected}",
                statement.id, statement.effect.kind
            )
        }
        None => format!(
            "the final state of {} differs: got {got}; the serial run leaves {expected}",
            first.table.as_deref().unwrap_or("a table")
        ),
    }
}

/// Kind, form, wait and read modes of the statement that differs, and the kinds of the writes by other
/// transactions to the tables it names; `alone` where there is no other transaction.
fn features(evidence: &Evidence, statement: Option<&CaseStatement>) -> Vec<String> {
    let case = &evidence.case;
    let mut features = BTreeSet::new();
    let Some(statement) = statement else {
        let kinds = case.statements.iter().filter(|s| s.effect.kind.is_write());
        return kinds
            .map(|s| s.effect.kind.to_string())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
    };
    features.insert(statement.effect.kind.to_string());
    let others = |s: &&CaseStatement| s.id.transaction != statement.id.transaction;
    if !case.user_statements().any(|s| others(&s)) {
        features.insert("alone".to_owned());
    }
    features.extend(form_features(case, statement));
    let record = evidence.execution.records.get(&statement.id);
    if record.is_some_and(|record| record.resumed()) {
        features.insert("resumed".to_owned());
    }
    if let Some(class) = record.and_then(|record| record.outcome.error_class()) {
        features.insert(format!("error:{class}"));
    }
    let level = case.judged_level(statement.session);
    let explicit = case.is_explicit(statement.id.transaction);
    for table_use in &statement.effect.uses {
        let mode = evidence.dialect.read_mode(level, table_use.role, explicit);
        features.insert(format!("{}:{mode}", table_use.role));
    }
    for other in &case.statements {
        let names_it = |table: &str| statement.effect.uses.iter().any(|u| u.table == table);
        if other.id.transaction != statement.id.transaction && other.effect.targets().any(names_it)
        {
            features.insert(format!("against:{}", other.effect.kind));
        }
    }
    features.into_iter().collect()
}
