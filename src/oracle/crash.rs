//! Crash and hang: the server gone, a statement that never answers, an error that says of itself
//! that something is broken.

use super::signature::{
    BACKWARD_SCAN, VIRTUAL_INDEX_BESIDE_ACTION, finding_levels, has_virtual_index_beside_action,
    may_scan_backwards,
};
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::model::{
    Aspect, Difference, Direction, ErrorClass, Execution, Finding, FindingKind, Outcome, RESUMED,
    Role, Signature, StatementId, StatementKind, TestCase,
};

/// The name under which crashes, hangs and internal errors of the engine are told.
pub const CRASH: &str = "crash";

/// An internal error among the answers of a run: corruption, a failed assertion.
pub fn internal_error(
    case: &TestCase,
    execution: &Execution,
    dialect: &Dialect,
) -> Option<Finding> {
    let (record, error) = execution
        .records
        .values()
        .find_map(|record| match &record.outcome {
            Outcome::Rejected(error) if error.class == ErrorClass::Internal => {
                Some((record, error))
            }
            Outcome::Rows(_) | Outcome::Affected(_) | Outcome::Rejected(_) => None,
        })?;
    let told = format!("error {}: {}", error.code, error.message);
    let mut finding = finding(case, FindingKind::InternalError, Some(record.id), told);
    let signature = &finding.signature;
    let mut features = vec![format!("code:{}", error.code)];
    if record.resumed() {
        features.push(RESUMED.to_owned());
    }
    if let Some(statement) = case.statement(record.id) {
        let mut uses = statement.effect.uses.iter();
        if uses.any(|table_use| table_use.role == Role::ForeignKeyTarget) {
            features.push(Role::ForeignKeyTarget.to_string());
        }
        if has_virtual_index_beside_action(case, statement) {
            features.push(VIRTUAL_INDEX_BESIDE_ACTION.to_owned());
        }
        if may_scan_backwards(dialect, statement) {
            features.push(BACKWARD_SCAN.to_owned());
        }
    }
    features.extend(signature.features.iter().cloned());
    features.sort();
    finding.signature = Signature::new(CRASH, signature.kind, finding_levels(case), features);
    Some(finding)
}

/// What an engine that gave no answer did: crashed or hung. None for errors that speak of the
/// environment or of us.
///
/// A single lost connection is no finding: the caller runs the case again, and only what recurs
/// on a server that came back is one.
pub fn outage(
    case: &TestCase,
    error: &EngineError,
    statement: Option<StatementId>,
) -> Option<Finding> {
    let kind = match error {
        EngineError::ConnectionLost { .. } => FindingKind::Crash,
        EngineError::Hang { .. } => FindingKind::Hang,
        EngineError::Connect { .. }
        | EngineError::Login { .. }
        | EngineError::Privilege { .. }
        | EngineError::ReadOnly { .. }
        | EngineError::Unsafe(_)
        | EngineError::Target(_)
        | EngineError::Dialect(_)
        | EngineError::Rejected { .. }
        | EngineError::Held { .. }
        | EngineError::Setup { .. }
        | EngineError::Restart { .. }
        | EngineError::Resource(_) => return None,
    };
    Some(finding(case, kind, statement, error.to_string()))
}

fn finding(
    case: &TestCase,
    kind: FindingKind,
    statement: Option<StatementId>,
    told: String,
) -> Finding {
    let of = |id: StatementId| case.statement(id).map(|s| s.effect.kind);
    let statement_kind = statement.and_then(of).map_or("none", StatementKind::slug);
    Finding {
        signature: Signature::new(
            CRASH,
            kind,
            finding_levels(case),
            vec![statement_kind.to_owned()],
        ),
        headline: match statement {
            Some(id) => format!("{kind} at {id} ({statement_kind}): {told}"),
            None => format!("{kind}: {told}"),
        },
        differences: vec![Difference {
            statement,
            aspect: Aspect::Error,
            direction: Direction::Refused,
            expected: "an answer".to_owned(),
            got: told,
        }],
        explanation: Vec::new(),
    }
}
