//! Which statements a run lets us judge, and how strictly.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::model::{
    CaseStatement, ErrorClass, Execution, IsolationLevel, Outcome, StatementId, StatementKind,
    StatementRecord, TestCase, TransactionStatus,
};
use crate::observe::{Account, VersionId};

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
/// MySQL and MariaDB count a row that ON DUPLICATE KEY UPDATE or REPLACE found twice, the other
/// engines once, or a replaced one not at all; a new row counts once everywhere. A row more than
/// that was written, and written over by somebody else before anyone could see it.
fn changes_agree_with_count(
    statement: &CaseStatement,
    record: &StatementRecord,
    account: &Account,
) -> bool {
    let Outcome::Affected(counted) = record.outcome else {
        return true;
    };
    let changes = account.changes.get(&statement.id).map_or(&[][..], |c| c);
    let changed = changes.len() as u64;
    let stood =
        |version: Option<VersionId>| version.and_then(|id| account.chains.row(id)).is_some();
    let found = changes
        .iter()
        .filter(|change| stood(change.before) && stood(Some(change.after)))
        .count() as u64;
    match statement.effect.kind {
        StatementKind::Update | StatementKind::Delete => counted == changed,
        StatementKind::Insert | StatementKind::InsertSelect => {
            (changed..=changed + found).contains(&counted)
        }
        StatementKind::Replace => counted <= changed + found,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effect, SessionId, Tick, TransactionId, Value};
    use crate::observe::{Change, Version};

    /// A write of this kind that the engine counted so, and that gave some rows their first
    /// version and others another one.
    fn agrees(kind: StatementKind, counted: u64, new: i64, found: i64) -> bool {
        let id = StatementId {
            transaction: TransactionId(1),
            position: 1,
        };
        let mut account = Account::default();
        for key in 0..new + found {
            let mut version = |writer, value| {
                account.chains.push(Version {
                    table: "t0".to_owned(),
                    key: Value::Integer(key),
                    row: Some(vec![Value::Integer(key), Value::Integer(value)]),
                    writer,
                    undone: None,
                })
            };
            let before = (key >= new).then(|| version(StatementId::SETUP, 0));
            let after = version(id, 1);
            account.changes.entry(id).or_default().push(Change {
                table: "t0".to_owned(),
                key: Value::Integer(key),
                before,
                after,
            });
        }
        let statement = CaseStatement {
            session: SessionId(1),
            id,
            sql: String::new(),
            effect: Effect::of_kind(kind),
        };
        let record = StatementRecord {
            id,
            sent: Tick(1),
            waiting: None,
            waited_for: Vec::new(),
            answered: Tick(2),
            outcome: Outcome::Affected(counted),
            transaction_survives: true,
        };
        changes_agree_with_count(&statement, &record, &account)
    }

    #[test]
    fn a_row_that_nobody_saw_does_not_pass_the_self_check() {
        use StatementKind::{Insert, Replace, Update};
        assert!(agrees(Update, 2, 0, 2));
        assert!(!agrees(Update, 2, 0, 1));
        // Two new rows, one of which another statement wrote over before the observer looked.
        assert!(agrees(Insert, 2, 2, 0));
        assert!(!agrees(Insert, 2, 1, 0));
        // ON DUPLICATE KEY UPDATE counts a found row twice, ON CONFLICT once.
        assert!(agrees(Insert, 2, 0, 1) && agrees(Insert, 1, 0, 1));
        assert!(!agrees(Insert, 3, 0, 1) && !agrees(Insert, 3, 2, 0));
        assert!(agrees(Replace, 3, 1, 1) && !agrees(Replace, 4, 1, 1));
        assert!(agrees(Replace, 0, 0, 0) && !agrees(Replace, 1, 0, 0));
    }
}
