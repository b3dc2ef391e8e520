//! Transactions that an error leaves open and failed: what follows is refused until a ROLLBACK, or a
//! ROLLBACK TO a savepoint, and nothing else is refused so (PostgreSQL manual, "ROLLBACK" and "ROLLBACK TO
//! SAVEPOINT").

use std::collections::BTreeSet;

use super::super::Evidence;
use super::transactions::{Strangeness, is_in_the_dark};
use crate::dialect::Capability;
use crate::model::{
    CaseStatement, ErrorClass, FindingKind, StatementId, StatementKind, StatementRecord, Tick,
    TransactionId,
};

/// A statement that was answered, and whether its transaction had failed before.
pub(super) struct JudgedAnswer<'e> {
    pub(super) statement: &'e CaseStatement,
    pub(super) record: &'e StatementRecord,
    pub(super) was_failed: bool,
}

/// The first answer that a failed transaction may not give, or that only a failed one may.
pub(super) fn strangeness(evidence: &Evidence) -> Option<Strangeness> {
    answers(evidence).find_map(|answered| judge(evidence, &answered))
}

/// The statements that were refused because their transactions had failed, as each had to be: their answers are
/// predicted, and are what was predicted.
pub(super) fn rightly_refused(evidence: &Evidence) -> BTreeSet<StatementId> {
    let refused = answers(evidence).filter(|answered| {
        let class = answered.record.outcome.error_class();
        answered.was_failed
            && class == Some(ErrorClass::FailedTransaction)
            && !is_in_the_dark(evidence, answered.record.id)
    });
    refused.map(|answered| answered.record.id).collect()
}

/// The answers of a run in their order; none where an error fails no transaction. A read that was added to a transaction
/// fails it like one of its own.
pub(super) fn answers(evidence: &Evidence) -> impl Iterator<Item = JudgedAnswer<'_>> {
    let mut records: Vec<&StatementRecord> = Vec::new();
    if evidence.dialect.supports(Capability::FailedTransaction) {
        records.extend(evidence.execution.records.values());
    }
    records.sort_by_key(|record| record.answered);
    let probes = evidence.execution.probes.iter();
    let refused = probes.filter(|probe| probe.outcome.error_class().is_some());
    let mut refused: Vec<(Tick, TransactionId)> = refused
        .map(|probe| (probe.tick, probe.statement.transaction))
        .collect();
    refused.sort();
    let mut refused = refused.into_iter().peekable();
    let mut failed: BTreeSet<TransactionId> = BTreeSet::new();
    records.into_iter().filter_map(move |record| {
        let id = record.id.transaction;
        let statement = evidence.case.statement(record.id)?;
        while let Some((_, reader)) = refused.next_if(|(tick, _)| *tick < record.answered) {
            failed.insert(reader);
        }
        let was_failed = failed.contains(&id);
        if record.outcome.error_class().is_some() && evidence.case.is_explicit(id) {
            failed.insert(id);
        } else if statement.effect.kind == StatementKind::RollbackTo {
            failed.remove(&id);
        }
        Some(JudgedAnswer {
            statement,
            record,
            was_failed,
        })
    })
}

fn judge(evidence: &Evidence, answered: &JudgedAnswer<'_>) -> Option<Strangeness> {
    let JudgedAnswer {
        statement,
        record,
        was_failed,
    } = answered;
    let leaves = matches!(
        statement.effect.kind,
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
    match record.outcome.error_class() {
        Some(ErrorClass::FailedTransaction) if !was_failed => strange(
            FindingKind::RefusalWithoutCause,
            "an error before it in its transaction",
            format!("{} and no such error", record.outcome),
        ),
        None if *was_failed && !leaves => strange(
            FindingKind::WrongTransactionEnd,
            "a refusal, because its transaction has failed",
            record.outcome.to_string(),
        ),
        _ => None,
    }
}
