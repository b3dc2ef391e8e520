//! Crash and hang: the server gone, a statement that never answers, an error that says of itself
//! that something is broken.

use super::own_changes::{OWN_TABLE, reads_own_table};
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
    let kind = FindingKind::InternalError;
    Some(finding(case, kind, Some(record.id), told, features))
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
    dialect: &Dialect,
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
    let read = statement.and_then(|id| case.statement(id));
    let words = read.filter(|_| kind == FindingKind::Hang).map(|read| {
        [
            may_scan_backwards(dialect, read).then_some(BACKWARD_SCAN),
            reads_own_table(case, read, dialect).then_some(OWN_TABLE),
        ]
    });
    let words = words.into_iter().flatten().flatten();
    let features = words.map(str::to_owned).collect();
    Some(finding(case, kind, statement, error.to_string(), features))
}

fn finding(
    case: &TestCase,
    kind: FindingKind,
    statement: Option<StatementId>,
    told: String,
    mut features: Vec<String>,
) -> Finding {
    let of = |id: StatementId| case.statement(id).map(|s| s.effect.kind);
    let statement_kind = statement.and_then(of).map_or("none", StatementKind::slug);
    features.push(statement_kind.to_owned());
    features.sort();
    Finding {
        signature: Signature::new(CRASH, kind, finding_levels(case), features),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;
    use crate::model::TransactionId;
    use crate::reproducer::case_of;

    /// The features of a hang at the last statement of a transaction of one session.
    fn hang_at_the_last(engine: &str, statements: &[&str]) -> String {
        let dialect = dialect_of(engine, "99");
        let lines: Vec<String> = statements
            .iter()
            .map(|sql| format!("/* s1 */ {sql};\n"))
            .collect();
        let table = "/* init */ CREATE TABLE t (pkey INT PRIMARY KEY, c INT);\n/* s1 */ BEGIN;\n";
        let case = case_of(&format!("{table}{}", lines.concat()), &dialect);
        let statement = StatementId {
            transaction: TransactionId(1),
            position: u32::try_from(statements.len() + 1).expect("few"),
        };
        let (sql, seconds) = (String::new(), 20);
        let error = EngineError::Hang { sql, seconds };
        let finding = outage(&case, &error, Some(statement), &dialect).expect("a hang");
        finding.signature.features.join(" ")
    }

    #[test]
    fn a_hang_says_how_its_statement_reads_what_the_transaction_has_changed() {
        let (write, other) = ("UPDATE t SET c = 1", "SELECT c FROM t");
        let backwards = "SELECT MAX(c) FROM t WHERE c IN (1, 2)";
        let forwards = "SELECT MIN(c) FROM t WHERE c IN (1, 2)";
        for (engine, statements, features) in [
            ("tidb", [write, backwards], "backward-scan own-table select"),
            ("tidb", [other, backwards], "backward-scan select"),
            ("tidb", [write, forwards], "own-table select"),
            ("mysql", [write, backwards], "select"),
        ] {
            assert_eq!(hang_at_the_last(engine, &statements), features);
        }
    }
}
