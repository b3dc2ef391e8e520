//! From disagreements to a finding: headline, differences, signature.

use std::collections::BTreeSet;

use super::super::compare::Mismatch;
use super::super::{finding_levels, form_features};
use crate::dialect::Dialect;
use crate::model::{
    CaseStatement, Difference, Execution, Finding, Signature, StatementId, TestCase,
};

/// One difference between the interleaved and the serial run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Disagreement {
    /// None for the final state.
    pub(super) statement: Option<StatementId>,
    /// The table, for the final state.
    table: Option<String>,
    mismatch: Mismatch,
}

impl Disagreement {
    pub(super) fn at(statement: StatementId, mismatch: Mismatch) -> Self {
        Self {
            statement: Some(statement),
            table: None,
            mismatch,
        }
    }

    pub(super) fn finally(table: String, mismatch: Mismatch) -> Self {
        Self {
            statement: None,
            table: Some(table),
            mismatch,
        }
    }
}

/// The finding about a case, told by its first unexplained disagreement.
pub(super) fn finding(
    case: &TestCase,
    execution: &Execution,
    dialect: &Dialect,
    first: &Disagreement,
    all: &[Disagreement],
    explanation: Vec<String>,
) -> Finding {
    let statement = first.statement.and_then(|id| case.statement(id));
    Finding {
        signature: Signature {
            oracle: "txcheck".to_owned(),
            kind: format!("wrong-{}", first.mismatch.aspect),
            levels: finding_levels(case),
            features: features(case, execution, dialect, statement),
        },
        headline: headline(case, first, statement),
        differences: all.iter().map(difference).collect(),
        explanation,
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
        expected: format!("{place}{}", disagreement.mismatch.expected),
        got: format!("{place}{}", disagreement.mismatch.got),
    }
}

fn headline(case: &TestCase, first: &Disagreement, statement: Option<&CaseStatement>) -> String {
    let Mismatch {
        aspect,
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
fn features(
    case: &TestCase,
    execution: &Execution,
    dialect: &Dialect,
    statement: Option<&CaseStatement>,
) -> Vec<String> {
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
    let record = execution.records.get(&statement.id);
    if record.is_some_and(|record| record.resumed()) {
        features.insert("resumed".to_owned());
    }
    if let Some(class) = record.and_then(|record| record.outcome.error_class()) {
        features.insert(format!("error:{class}"));
    }
    let level = case.judged_level(statement.session);
    let explicit = case.is_explicit(statement.id.transaction);
    for table_use in &statement.effect.uses {
        let mode = dialect.read_mode(level, table_use.role, explicit);
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
