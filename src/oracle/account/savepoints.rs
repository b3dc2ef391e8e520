//! Savepoints that are found though none of their name stands, or not found though one does (SQL:2016, part 2,
//! "savepoint statement"; MySQL manual, "SAVEPOINT, ROLLBACK TO SAVEPOINT, and RELEASE SAVEPOINT"; PostgreSQL
//! manual, "ROLLBACK TO SAVEPOINT").

use super::super::Evidence;
use super::transactions::{Strangeness, is_in_the_dark};
use crate::model::{FindingKind, Outcome};

/// The first answer about a savepoint that the transaction contradicts.
pub(super) fn strangeness(evidence: &Evidence) -> Option<Strangeness> {
    let mut explicit = evidence.case.statements.iter();
    let statement = explicit.find(|s| {
        evidence.timeline.misfound_savepoint(s.id)
            && evidence.case.is_explicit(s.id.transaction)
            && !is_in_the_dark(evidence, s.id)
    })?;
    let name = statement.effect.savepoint.as_deref().unwrap_or_default();
    let record = evidence.execution.records.get(&statement.id)?;
    let expected = match record.outcome {
        Outcome::Rejected(_) => format!("the savepoint {name}, which its transaction has set"),
        Outcome::Rows(_) | Outcome::Affected(_) => {
            format!("a refusal, because no savepoint {name} stands")
        }
    };
    Some(Strangeness {
        kind: FindingKind::WrongSavepoint,
        statement: statement.id,
        expected,
        got: record.outcome.to_string(),
    })
}
