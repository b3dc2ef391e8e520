//! Which statements may wait for the locks of others, and which take locks.

use super::super::Evidence;
use super::beside::touches_tables;
use crate::dialect::Capability;
use crate::model::{CaseStatement, ReadMode, Role, StatementKind};
use crate::statement;

/// Whether a statement may wait for locks of others. The end of a transaction waits where locks are taken then, or a constraint is
/// held against the rows of others, and a plain read where something locks whole tables.
pub(super) fn may_wait(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let (case, dialect) = (&evidence.case, &evidence.dialect);
    let locks_tables = || {
        let mut all = case.statements.iter();
        all.any(|s| s.effect.kind.may_lock_any_table())
    };
    match statement.effect.kind {
        StatementKind::Commit => {
            let mut setup = case.setup.iter();
            dialect.supports(Capability::LocksAtCommit)
                || setup.any(|s| statement::mentions(&s.sql, "DEFERRED", dialect))
        }
        StatementKind::Begin
        | StatementKind::BeginSnapshot
        | StatementKind::Rollback
        | StatementKind::Savepoint
        | StatementKind::RollbackTo
        | StatementKind::ReleaseSavepoint
        | StatementKind::Set => false,
        StatementKind::Select => takes_locks(evidence, statement) || locks_tables(),
        StatementKind::BeginImmediate
        | StatementKind::LockingSelect
        | StatementKind::Insert
        | StatementKind::InsertSelect
        | StatementKind::Replace
        | StatementKind::Update
        | StatementKind::Delete
        | StatementKind::Merge
        | StatementKind::PhysicalDdl
        | StatementKind::LockTable
        | StatementKind::Opaque => true,
    }
}

/// Whether a statement takes locks that last, or may.
pub(super) fn takes_locks(evidence: &Evidence, statement: &CaseStatement) -> bool {
    if statement.effect.kind != StatementKind::Select {
        let locks_a_table = statement.effect.kind == StatementKind::LockTable;
        return locks_a_table || touches_tables(statement);
    }
    let level = evidence.case.level(statement.session);
    let explicit = evidence.case.is_explicit(statement.id.transaction);
    evidence
        .dialect
        .read_mode(level, Role::PlainSelect, explicit)
        == ReadMode::Current
}
