//! Which statements a run lets us judge, and how strictly.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::model::{
    CaseStatement, ErrorClass, Execution, IsolationLevel, Outcome, StatementId, StatementKind,
    StatementRecord, TestCase, TransactionStatus,
};
use crate::observe::Account;

/// Why a run is no evidence in which a write changed other rows than the engine counted.
pub(super) const SELF_CHECK: &str = "changes-and-affected-rows-disagree";

/// How a statement's outcome may be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It must give what it gives on its view.
    Judged,
    /// It waited at a level where the rows of such a statement mix two moments: a difference is
    /// a registered behaviour, not a finding.
    MixedAfterWait,
    /// Its view hangs on an update that changed nothing: likewise.
    DoubtfulNoOp,
    /// Its view holds a row that was moved to another key meanwhile: likewise.
    MovedKey,
    /// A row was moved to another key while it waited: its cursor may pass the row over.
    MovedWhileWaiting,
    /// It was refused because another session stood in its way, and one did: nothing more is
    /// promised of a refusal.
    RightlyRefused,
    /// Nothing can be said of it, and why.
    Skipped(&'static str),
}

/// The standing of every statement that was answered and reads or writes tables.
pub(super) fn standings(
    case: &TestCase,
    execution: &Execution,
    account: &Account,
    dialect: &Dialect,
) -> BTreeMap<StatementId, Standing> {
    case.user_statements()
        .filter_map(|statement| {
            let record = execution.records.get(&statement.id)?;
            Some((
                statement.id,
                standing(case, statement, record, execution, account, dialect),
            ))
        })
        .collect()
}

fn standing(
    case: &TestCase,
    statement: &CaseStatement,
    record: &StatementRecord,
    execution: &Execution,
    account: &Account,
    dialect: &Dialect,
) -> Standing {
    let effect = &statement.effect;
    let level = case.judged_level(statement.session);
    if effect.kind == StatementKind::Opaque {
        return Standing::Skipped("opaque-statement");
    }
    match record.outcome.error_class() {
        Some(ErrorClass::Busy | ErrorClass::Serialization)
            if someone_stood_in_the_way(case, record, execution) =>
        {
            return Standing::RightlyRefused;
        }
        Some(class) if class.is_concurrency() => return Standing::Skipped("concurrency-abort"),
        _ => {}
    }
    if effect.depends_on_locks {
        return Standing::Skipped("depends-on-locks");
    }
    if effect
        .uses
        .iter()
        .any(|table_use| case.table(&table_use.table).is_none())
    {
        return Standing::Skipped("unknown-table");
    }
    if let Some(reason) = account.unsure.get(&statement.id) {
        return Standing::Skipped(reason);
    }
    if !account.views.contains_key(&statement.id) {
        return Standing::Skipped("no-view");
    }
    if record.resumed() && mixes(dialect, level) {
        return Standing::MixedAfterWait;
    }
    if account.doubtful_no_op.contains(&statement.id) {
        return Standing::DoubtfulNoOp;
    }
    if dialect.known_moved_while_waiting.is_some()
        && account.moved_while_waiting.contains(&statement.id)
    {
        return Standing::MovedWhileWaiting;
    }
    if dialect.known_moved_key.is_some() && account.moved_key.contains(&statement.id) {
        return Standing::MovedKey;
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

fn mixes(dialect: &Dialect, level: IsolationLevel) -> bool {
    dialect.mixes_after_wait.contains(&level)
}

/// Whether the self-check fails for any write of the run.
pub(super) fn self_check_fails(case: &TestCase, execution: &Execution, account: &Account) -> bool {
    case.user_statements().any(|statement| {
        let record = execution.records.get(&statement.id);
        record.is_some_and(|record| !changes_agree_with_count(statement, record, account))
    })
}

/// The self-check |BWR| = affected = |AWR|: as many rows changed as the engine counted.
///
/// Engines count a row that ON DUPLICATE KEY UPDATE or REPLACE changed once or twice, and a
/// REPLACE may delete several rows for one; for those only the bounds are known.
fn changes_agree_with_count(
    statement: &CaseStatement,
    record: &StatementRecord,
    account: &Account,
) -> bool {
    let changed = account.changes.get(&statement.id).map_or(0, Vec::len) as u64;
    let Outcome::Affected(counted) = record.outcome else {
        return true;
    };
    match statement.effect.kind {
        StatementKind::Update | StatementKind::Delete => counted == changed,
        StatementKind::Insert | StatementKind::InsertSelect => {
            (changed..=changed * 2).contains(&counted)
        }
        StatementKind::Replace => changed > 0 || counted == 0,
        _ => true,
    }
}
