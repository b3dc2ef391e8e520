//! The self-check of writes: as many rows changed as the engine counted.

use crate::model::{CaseStatement, Outcome, StatementKind, StatementRecord};
use crate::observe::{Account, VersionId};
use crate::oracle::Evidence;

/// Whether the self-check fails for any write of the run.
pub(in crate::oracle) fn self_check_fails(evidence: &Evidence) -> bool {
    evidence.case.user_statements().any(|statement| {
        let record = evidence.execution.records.get(&statement.id);
        record.is_some_and(|record| !changes_agree_with_count(statement, record, &evidence.account))
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
        StatementKind::Begin
        | StatementKind::BeginSnapshot
        | StatementKind::BeginImmediate
        | StatementKind::Commit
        | StatementKind::Rollback
        | StatementKind::Savepoint
        | StatementKind::RollbackTo
        | StatementKind::ReleaseSavepoint
        | StatementKind::Select
        | StatementKind::LockingSelect
        | StatementKind::Set
        | StatementKind::Opaque => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effect, SessionId, StatementId, Tick, TransactionId, Value};
    use crate::observe::{Change, RowId, Version};

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
                    id: RowId::first(Value::Integer(key)),
                    row: Some(vec![Value::Integer(key), Value::Integer(value)]),
                    writer,
                    undone: None,
                })
            };
            let before = (key >= new).then(|| version(StatementId::SETUP, 0));
            let after = version(id, 1);
            account.changes.entry(id).or_default().push(Change {
                table: "t0".to_owned(),
                row: RowId::first(Value::Integer(key)),
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
