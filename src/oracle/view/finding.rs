//! From disagreements to a finding: headline, differences, signature.

use std::collections::BTreeSet;

use super::super::Evidence;
use super::super::compare::{Mismatch, place_text};
use super::super::signature::{
    VIRTUAL_INDEX_BESIDE_ACTION, differs, finding_levels, form_features,
    has_virtual_index_beside_action, note_impossible_range, replace_above_two_keys,
    statement_features,
};
use crate::model::{
    Aspect, CaseStatement, Difference, Direction, ErrorClass, Finding, FindingKind, Outcome,
    Signature, StatementId, StatementKind, TestCase,
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

    /// In which direction the run differs from the prediction.
    pub(super) fn direction(&self) -> Direction {
        self.mismatch.direction
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
        signature: Signature::new(
            oracle,
            FindingKind::Wrong(first.mismatch.aspect),
            finding_levels(case),
            features(evidence, first),
        ),
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
    if !violation.signature.kind.rests_on_a_prediction() {
        return None;
    }
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
    let mut features = statement.map_or(BTreeSet::new(), |s| form_features(evidence, s));
    if let Some(statement) = statement {
        note_impossible_range(evidence, statement, &mut features);
    }
    let direction = either_way(answers.mismatch.direction);
    if let Some(statement) = statement {
        features.extend(of_a_corrupted_index(case, statement, &answers.mismatch));
    }
    features.extend(statement.and_then(|s| of_a_replace(case, s, &answers.mismatch)));
    features.insert(differs(direction));
    let place = place_text(answers.statement);
    let Mismatch {
        aspect,
        direction: _,
        expected,
        got,
    } = &answers.mismatch;
    Finding {
        signature: Signature::new(
            oracle,
            FindingKind::UnstableSerialAnswer,
            finding_levels(case),
            features.into_iter().collect(),
        ),
        headline: format!(
            "{place}, run alone on the same rows, {answers} one time {expected}, another time {got}",
            answers = verbs(*aspect).1
        ),
        differences: vec![difference(answers)],
        explanation: vec![
            "the statement ran in a database that no other session used, more than once".to_owned(),
        ],
    }
}

/// The direction between two answers of which either may be the wrong one: named by what an engine
/// gets wrong more often, rows that it loses and counts that are too low.
fn either_way(direction: Direction) -> Direction {
    match direction {
        Direction::Extra => Direction::Lost,
        Direction::Higher => Direction::Lower,
        Direction::Answered => Direction::Refused,
        Direction::Lost
        | Direction::Changed
        | Direction::Nulled
        | Direction::Padded
        | Direction::Order
        | Direction::Lower
        | Direction::Refused
        | Direction::OtherError
        | Direction::Waiting
        | Direction::Other => direction,
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

/// What a statement did in the run, and what it does on its view.
fn verbs(aspect: Aspect) -> (&'static str, &'static str) {
    match aspect {
        Aspect::Effect | Aspect::FinalState => ("left", "leaves"),
        Aspect::Rows | Aspect::Affected | Aspect::Error | Aspect::Waiting => {
            ("answered", "answers")
        }
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
            let (did, does) = verbs(*aspect);
            format!(
                "{} ({}) at {level}: {did} {got}; on the rows it should see it {does} {expected}",
                statement.id, statement.effect.kind
            )
        }
        None => format!(
            "the final state of {} differs: got {got}; the serial run leaves {expected}",
            first.table.as_deref().unwrap_or("a table")
        ),
    }
}

/// A refused statement is an upsert, which may change a row where a plain INSERT would be refused, too.
const UPSERT: &str = "upsert";

/// It was answered with a count of no row where it should have returned rows, or the other way.
const NO_RESULT_SET: &str = "no-result-set";

/// What further distinguishes findings about errors, and about an answer of another kind.
fn of_a_wrong_error(
    evidence: &Evidence,
    statement: &CaseStatement,
    direction: Direction,
) -> Option<&'static str> {
    let effect = &statement.effect;
    let is_upsert = effect.kind == StatementKind::Insert && !effect.assigned.is_empty();
    let record = evidence.execution.records.get(&statement.id);
    let returns_none =
        |outcome: &Outcome| effect.kind.is_write() && *outcome == Outcome::Rows(Vec::new());
    let counts_nothing = record.is_some_and(|record| {
        record.outcome == Outcome::Affected(0) || returns_none(&record.outcome)
    });
    if direction == Direction::Refused && is_upsert {
        Some(UPSERT)
    } else {
        (direction == Direction::Other && counts_nothing).then_some(NO_RESULT_SET)
    }
}

/// That one of two answers is an internal error, and its number, where purge marks an index of the tables as corrupted.
fn of_a_corrupted_index(
    case: &TestCase,
    statement: &CaseStatement,
    mismatch: &Mismatch,
) -> Vec<String> {
    let before = format!("error {} (", ErrorClass::Internal);
    let code = |answer: &str| {
        let code = answer.strip_prefix(&before)?.strip_suffix(')')?;
        Some(format!("code:{code}"))
    };
    let code = code(&mismatch.expected).or_else(|| code(&mismatch.got));
    let code = code.filter(|_| has_virtual_index_beside_action(case, statement));
    let words = code.map(|code| [code, VIRTUAL_INDEX_BESIDE_ACTION.to_owned()]);
    words.into_iter().flatten().collect()
}

fn of_a_replace(case: &TestCase, statement: &CaseStatement, mismatch: &Mismatch) -> Option<String> {
    let texts = [mismatch.expected.as_str(), mismatch.got.as_str()];
    replace_above_two_keys(case, statement, mismatch.aspect, texts)
}

/// Direction, kind, form, read modes and circumstances of the statement that differs; for the final
/// state the kinds of all writes.
fn features(evidence: &Evidence, first: &Disagreement) -> Vec<String> {
    let case = &evidence.case;
    let direction = first.mismatch.direction;
    let Some(statement) = first.statement.and_then(|id| case.statement(id)) else {
        let writes = case.statements.iter().filter(|s| s.effect.kind.is_write());
        let mut features: BTreeSet<String> = writes.map(|s| s.effect.kind.to_string()).collect();
        features.insert(differs(direction));
        return features.into_iter().collect();
    };
    let mut features = statement_features(evidence, statement, direction);
    if first.mismatch.aspect == Aspect::Error {
        features.extend(of_a_wrong_error(evidence, statement, direction).map(str::to_owned));
        features.extend(of_a_corrupted_index(case, statement, &first.mismatch));
    }
    features.extend(of_a_replace(case, statement, &first.mismatch));
    for table_use in &statement.effect.uses {
        let mode = evidence.promised_mode(statement, table_use.role);
        features.insert(format!("{}:{mode}", table_use.role));
    }
    features.into_iter().collect()
}
