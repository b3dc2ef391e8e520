//! Transactions that an error leaves open and failed: what follows is refused until a ROLLBACK, or a
//! ROLLBACK TO a savepoint, and nothing else is refused so (PostgreSQL manual, "ROLLBACK" and "ROLLBACK TO
//! SAVEPOINT").

use std::collections::BTreeSet;

use super::super::Evidence;
use super::transactions::{Strangeness, is_in_the_dark};
use crate::dialect::Capability;
use crate::model::{ErrorClass, FindingKind, StatementKind, StatementRecord, TransactionId};

/// The first answer that a failed transaction may not give, or that only a failed one may.
pub(super) fn strangeness(evidence: &Evidence) -> Option<Strangeness> {
    if !evidence.dialect.supports(Capability::FailedTransaction) {
        return None;
    }
    let mut failed: BTreeSet<TransactionId> = BTreeSet::new();
    let mut records: Vec<&StatementRecord> = evidence.execution.records.values().collect();
    records.sort_by_key(|record| record.answered);
    records
        .into_iter()
        .find_map(|record| judge(evidence, record, &mut failed))
}

fn judge(
    evidence: &Evidence,
    record: &StatementRecord,
    failed: &mut BTreeSet<TransactionId>,
) -> Option<Strangeness> {
    let id = record.id.transaction;
    let kind = evidence.case.statement(record.id)?.effect.kind;
    let class = record.outcome.error_class();
    let was_failed = failed.contains(&id);
    if class.is_some() && evidence.case.is_explicit(id) {
        failed.insert(id);
    } else if kind == StatementKind::RollbackTo {
        failed.remove(&id);
    }
    let leaves = matches!(
        kind,
        StatementKind::Rollback | StatementKind::RollbackTo | StatementKind::Commit
    );
    let strange = |kind, expected: &str, got: String| {
        (!is_in_the_dark(evidence, record.id)).then(|| Strangeness {
            kind,
            statement: record.id,
            expected: expected.to_owned(),
            got,
        })
    };
    match class {
        Some(ErrorClass::FailedTransaction) if !was_failed => strange(
            FindingKind::RefusalWithoutCause,
            "an error before it in its transaction",
            format!("{} and no such error", record.outcome),
        ),
        None if was_failed && !leaves => strange(
            FindingKind::WrongTransactionEnd,
            "a refusal, because its transaction has failed",
            record.outcome.to_string(),
        ),
        _ => None,
    }
}
