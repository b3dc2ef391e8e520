//! Which statements a run lets us judge, and how strictly.

use std::collections::BTreeMap;

use super::self_check::{overwritten_unseen, written_over_uncounted};
use crate::model::{
    CaseStatement, ErrorClass, Execution, StatementId, StatementKind, StatementRecord, TestCase,
    TransactionStatus, UndecidedReason,
};
use crate::oracle::counted::{self, GivenNumbers};
use crate::oracle::evidence::{Evidence, Standing};
use crate::oracle::storage_changed;

/// The standing of every statement that was answered and reads or writes tables.
pub(in crate::oracle) fn standings(evidence: &Evidence) -> &BTreeMap<StatementId, Standing> {
    evidence.standings.get_or_init(|| {
        let statements = evidence.case.user_statements();
        let standings = statements.filter_map(|statement| {
            let record = evidence.execution.records.get(&statement.id)?;
            Some((statement.id, standing(evidence, statement, record)))
        });
        standings.collect()
    })
}

fn standing(evidence: &Evidence, statement: &CaseStatement, record: &StatementRecord) -> Standing {
    let (case, account) = (&evidence.case, &evidence.account);
    let effect = &statement.effect;
    if effect.kind == StatementKind::Opaque {
        return Standing::Skipped(UndecidedReason::OpaqueStatement);
    }
    match record.outcome.error_class() {
        Some(ErrorClass::Busy | ErrorClass::Serialization)
            if someone_stood_in_the_way(case, record, &evidence.execution) =>
        {
            return Standing::RightlyRefused;
        }
        Some(ErrorClass::TableChanged) if storage_changed::since_snapshot(evidence, record) => {
            return Standing::RightlyRefused;
        }
        Some(_) if evidence.timeline.held_read_only(statement.id) => {
            return Standing::RightlyRefused;
        }
        Some(class) if class.is_concurrency() => {
            return Standing::Skipped(UndecidedReason::ConcurrencyAbort);
        }
        _ => {}
    }
    if effect.depends_on_locks {
        return Standing::Skipped(UndecidedReason::DependsOnLocks);
    }
    if effect
        .uses
        .iter()
        .any(|table_use| case.table(&table_use.table).is_none())
    {
        return Standing::Skipped(UndecidedReason::UnknownTable);
    }
    if counted::numbers(evidence, statement) == GivenNumbers::Unknown {
        return Standing::Skipped(UndecidedReason::AutoIncrement);
    }
    if let Some(reason) = account.unsure.get(&statement.id) {
        return Standing::Skipped(*reason);
    }
    if !account.views.contains_key(&statement.id) {
        return Standing::Skipped(UndecidedReason::NoView);
    }
    if account.latitudes.contains_key(&statement.id) {
        return Standing::Lenient;
    }
    Standing::Judged
}

/// Whether a statement that was told to try again had reason to be: a write of another transaction
/// that was open when it was sent, or that committed after its own transaction began.
fn someone_stood_in_the_way(
    case: &TestCase,
    record: &StatementRecord,
    execution: &Execution,
) -> bool {
    let own = record.id.transaction;
    let began = execution
        .records
        .values()
        .filter(|other| other.id.transaction == own)
        .map(|other| other.sent)
        .min()
        .unwrap_or(record.sent);
    case.statements.iter().any(|statement| {
        let kind = statement.effect.kind;
        let wrote = execution.records.get(&statement.id).is_some_and(|other| {
            other.answered < record.sent && other.outcome.error_class().is_none()
        });
        let ended_before = |tick| match execution.transactions.get(&statement.id.transaction) {
            Some(TransactionStatus::Committed(end) | TransactionStatus::Aborted(end)) => {
                *end < tick
            }
            Some(TransactionStatus::Indeterminate) | None => false,
        };
        statement.id.transaction != own
            && (kind.is_write() || kind == StatementKind::BeginImmediate)
            && wrote
            && !ended_before(began)
    })
}

/// Why nothing can be said about a run at all.
pub(in crate::oracle) fn blind(evidence: &Evidence) -> Option<UndecidedReason> {
    if evidence.account.gap.is_some() {
        return evidence.account.gap;
    }
    // Of two writes that resumed at one moment, the second over the first, no observation shows the
    // version between, and every later view may lack it.
    if !overwritten_unseen(evidence).is_empty() {
        return Some(UndecidedReason::ChangesAndAffectedRowsDisagree);
    }
    if written_over_uncounted(evidence) {
        return Some(UndecidedReason::ChangeOfSeveralWriters);
    }
    const OPAQUE: UndecidedReason = UndecidedReason::OpaqueStatement;
    let opaque_ran = |(id, standing): (&StatementId, &Standing)| {
        let record = evidence.execution.records.get(id);
        *standing == Standing::Skipped(OPAQUE)
            && record.is_some_and(|r| r.outcome.error_class().is_none())
    };
    standings(evidence).iter().any(opaque_ran).then_some(OPAQUE)
}
