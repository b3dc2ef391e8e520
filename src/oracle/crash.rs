//! Crash and hang: the server gone, a statement that never answers, an error that says of itself
//! that something is broken.

use super::signature::finding_levels;
use crate::engine::EngineError;
use crate::model::{
    Aspect, Difference, Direction, ErrorClass, Execution, Finding, FindingKind, Outcome, Signature,
    StatementId, StatementKind, TestCase,
};

/// The name under which crashes, hangs and internal errors of the engine are told.
pub const CRASH: &str = "crash";

/// An internal error among the answers of a run: corruption, a failed assertion.
pub fn internal_error(case: &TestCase, execution: &Execution) -> Option<Finding> {
    let (id, error) = execution
        .records
        .values()
        .find_map(|record| match &record.outcome {
            Outcome::Rejected(error) if error.class == ErrorClass::Internal => {
                Some((record.id, error))
            }
            Outcome::Rows(_) | Outcome::Affected(_) | Outcome::Rejected(_) => None,
        })?;
    let told = format!("error {}: {}", error.code, error.message);
    Some(finding(case, FindingKind::InternalError, Some(id), told))
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
