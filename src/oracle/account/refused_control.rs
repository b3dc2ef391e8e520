//! Statements that begin or end a transaction, handle its savepoints or change how a table is stored, and are refused for what
//! nothing in the case can bring about: no row is theirs to judge. Conflicts, failed transactions and savepoints that do not stand have files of their own.

use super::super::Evidence;
use super::transactions::{Strangeness, is_in_the_dark};
use crate::dialect::Capability;
use crate::model::{CaseStatement, ErrorClass, FindingKind, StatementKind, StatementRecord};
use crate::statement;

/// The first such refusal.
pub(super) fn strangeness(evidence: &Evidence) -> Option<Strangeness> {
    let mut records = evidence.execution.records.values();
    records.find_map(|record| judge(evidence, record))
}

fn judge(evidence: &Evidence, record: &StatementRecord) -> Option<Strangeness> {
    let class = record.outcome.error_class()?;
    let statement = evidence.case.statement(record.id)?;
    let is_free = match statement.effect.kind == StatementKind::PhysicalDdl {
        true => no_ddl_meets(statement, class),
        false => {
            handles_a_transaction(statement)
                && is_of_rows(statement.effect.kind, class)
                && evidence.case.is_explicit(record.id.transaction)
                && goes_on_until(evidence, record)
                && !evidence.timeline.held_read_only(record.id)
                && !(statement.effect.kind == StatementKind::Commit && looks_at_rows(evidence))
        }
    };
    let is_free = is_free && !is_in_the_dark(evidence, record.id);
    is_free.then(|| Strangeness {
        kind: FindingKind::RefusalWithoutCause,
        statement: record.id,
        expected: "no refusal: a statement of this kind looks at no row, and nothing else stands in its way"
            .to_owned(),
        got: record.outcome.to_string(),
    })
}

/// Whether a statement does nothing but begin or end its transaction, or set, use or release a savepoint in it.
fn handles_a_transaction(statement: &CaseStatement) -> bool {
    match statement.effect.kind {
        // Inside of a transaction it is refused by some, and ends that by others.
        StatementKind::Begin | StatementKind::BeginSnapshot => statement.id.position == 1,
        StatementKind::Commit
        | StatementKind::Rollback
        | StatementKind::Savepoint
        | StatementKind::RollbackTo
        | StatementKind::ReleaseSavepoint => true,
        StatementKind::BeginImmediate
        | StatementKind::Set
        | StatementKind::Select
        | StatementKind::LockingSelect
        | StatementKind::Insert
        | StatementKind::InsertSelect
        | StatementKind::Replace
        | StatementKind::Update
        | StatementKind::Delete
        | StatementKind::Merge
        | StatementKind::PhysicalDdl
        | StatementKind::LockTable
        | StatementKind::Opaque => false,
    }
}

/// Whether DDL that changes no row, and makes no key, never meets an error of this class. A table that is rebuilt while others
/// write it may have a duplicate for a moment (MySQL manual, "Online DDL Limitations").
fn no_ddl_meets(statement: &CaseStatement, class: ErrorClass) -> bool {
    let change = statement.effect.storage_change.as_ref();
    let is_of_an_index = change.is_some_and(|change| change.index_name.is_some());
    match class {
        ErrorClass::NotNull | ErrorClass::ForeignKey | ErrorClass::Check => true,
        ErrorClass::Duplicate => is_of_an_index,
        ErrorClass::Deadlock
        | ErrorClass::Serialization
        | ErrorClass::LockTimeout
        | ErrorClass::Busy
        | ErrorClass::Data
        | ErrorClass::Interrupted
        | ErrorClass::Syntax
        | ErrorClass::Missing
        | ErrorClass::TableChanged
        | ErrorClass::SchemaChanged
        | ErrorClass::Unsupported
        | ErrorClass::FailedTransaction
        | ErrorClass::ReadOnly
        | ErrorClass::Privilege
        | ErrorClass::Resource
        | ErrorClass::Internal
        | ErrorClass::Other => false,
    }
}

/// Whether errors of a class are about rows, or about none of what has a class of its own.
fn is_of_rows(kind: StatementKind, class: ErrorClass) -> bool {
    let looks_for_one = matches!(
        kind,
        StatementKind::RollbackTo | StatementKind::ReleaseSavepoint
    );
    match class {
        ErrorClass::Duplicate
        | ErrorClass::NotNull
        | ErrorClass::ForeignKey
        | ErrorClass::Check
        | ErrorClass::Data
        | ErrorClass::ReadOnly
        | ErrorClass::Privilege
        | ErrorClass::Other => true,
        ErrorClass::Missing => !looks_for_one,
        ErrorClass::Deadlock
        | ErrorClass::LockTimeout
        | ErrorClass::Serialization
        | ErrorClass::Busy
        | ErrorClass::Interrupted
        | ErrorClass::Syntax
        | ErrorClass::TableChanged
        | ErrorClass::SchemaChanged
        | ErrorClass::Unsupported
        | ErrorClass::FailedTransaction
        | ErrorClass::Resource
        | ErrorClass::Internal => false,
    }
}

/// Whether no earlier error has ended the transaction: an engine may refuse a COMMIT where none is open.
fn goes_on_until(evidence: &Evidence, record: &StatementRecord) -> bool {
    let mut own = evidence.execution.records.values();
    own.all(|other| {
        other.id.transaction != record.id.transaction
            || other.id.position >= record.id.position
            || other.outcome.error_class().is_none()
            || other.transaction_survives
    })
}

/// Whether a COMMIT may look at rows: locks are taken then, or a constraint waits for it.
fn looks_at_rows(evidence: &Evidence) -> bool {
    let (case, dialect) = (&evidence.case, &evidence.dialect);
    let defers = |sql: &str| {
        let words = ["DEFERRED", "DEFERRABLE", "defer_foreign_keys"];
        let mut words = words.iter();
        words.any(|word| statement::mentions(sql, word, dialect))
    };
    let mut set_up = case.setup.iter();
    dialect.supports(Capability::LocksAtCommit)
        || dialect.supports(Capability::LocksOutliveEnd)
        || set_up.any(|setup| defers(&setup.sql))
}
