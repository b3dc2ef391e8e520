//! Features of a statement that reads what its own transaction did before: engines that keep a transaction's changes
//! in its session and merge them into every read go wrong there; and of one that puts in a key which was looked up before.

use std::collections::BTreeSet;

use super::Evidence;
use crate::dialect::{Capability, Dialect};
use crate::model::{CaseStatement, Role, StatementKind, TestCase};
use crate::statement::{TableRead, key_lookups, table_reads, tables_read, value_keys};

/// How a statement reads tables that earlier statements of its transaction changed, or looked for keys of.
pub(super) fn own_changes(evidence: &Evidence, statement: &CaseStatement) -> BTreeSet<String> {
    let mut features = BTreeSet::new();
    if !evidence.dialect.supports(Capability::MergesOwnChanges) {
        return features;
    }
    let before = evidence.case.earlier_in_transaction(statement.id);
    let before: Vec<&CaseStatement> = before.collect();
    let changed: BTreeSet<&str> = before
        .iter()
        .filter(|other| has_changed_rows(evidence, other))
        .flat_map(|other| targets(other))
        .collect();
    let reads = table_reads(&statement.sql, &evidence.dialect);
    let has_others = tables_read(&statement.sql, &evidence.dialect) > 1;
    for read in &reads {
        let own = changed.contains(read.table());
        let word = match read {
            TableRead::FilteredLookup { table, column } => {
                let is_one = own && has_others && is_key(evidence, table, column);
                is_one.then_some("own-lookup")
            }
            TableRead::ListLookup { table, column } => {
                let again = before
                    .iter()
                    .any(|other| looks_for_keys(evidence, other, table));
                (changed.is_empty() && again && is_key(evidence, table, column))
                    .then_some("second-key-list")
            }
            TableRead::Correlated { .. } => own.then_some("own-correlated"),
            TableRead::LeftCondition { .. } => own.then_some("own-left-condition"),
            TableRead::Grouped { .. } => own.then_some("own-groups"),
        };
        features.extend(word.map(str::to_owned));
    }
    if puts_in_looked_up_key(evidence, statement) {
        features.insert("looked-up-key".to_owned());
    }
    features
}

/// Whether an INSERT or REPLACE puts in a row key that a write or a read that locks, of any session, had looked up by its value and
/// was answered before: an engine that locks keys has locked this one, whether the row was there or not.
fn puts_in_looked_up_key(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let (case, dialect) = (&evidence.case, &evidence.dialect);
    let records = &evidence.execution.records;
    let target = statement.effect.targets().next();
    let Some(shape) = target.and_then(|table| case.table(table)) else {
        return false;
    };
    let row_key = shape.row_key.as_deref().unwrap_or_default();
    let (Some(keys), Some(own)) = (
        value_keys(&statement.sql, row_key, dialect),
        records.get(&statement.id),
    ) else {
        return false;
    };
    case.statements.iter().any(|other| {
        let locks = matches!(
            other.effect.kind,
            StatementKind::LockingSelect | StatementKind::Update | StatementKind::Delete
        );
        let is_before = records
            .get(&other.id)
            .is_some_and(|other| other.answered < own.answered);
        let mut uses = other.effect.uses.iter();
        let names = uses.any(|used| used.table == shape.name);
        let finds = || key_lookups(&other.sql, dialect);
        locks
            && is_before
            && names
            && finds().iter().any(|lookup| {
                lookup.column.eq_ignore_ascii_case(row_key) && !lookup.values.is_disjoint(&keys)
            })
    })
}

/// The statement reads a table that an earlier statement of its transaction writes.
pub(super) const OWN_TABLE: &str = "own-table";

/// Whether it does, on an engine where that matters. What was answered does not count: the run may have been lost.
pub(super) fn reads_own_table(
    case: &TestCase,
    statement: &CaseStatement,
    dialect: &Dialect,
) -> bool {
    let before = case.earlier_in_transaction(statement.id);
    let writes = before.filter(|other| other.effect.kind.is_write());
    let written: BTreeSet<&str> = writes.flat_map(targets).collect();
    let mut uses = statement.effect.uses.iter();
    dialect.supports(Capability::MergesOwnChanges)
        && uses.any(|used| written.contains(used.table.as_str()))
}

/// Whether a statement was answered that it changed rows.
fn has_changed_rows(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let record = evidence.execution.records.get(&statement.id);
    statement.effect.kind.is_write()
        && record.is_some_and(|record| record.changed_rows().is_some_and(|rows| rows > 0))
}

/// The tables that a statement writes.
fn targets(statement: &CaseStatement) -> impl Iterator<Item = &str> {
    let writes = |role: Role| {
        matches!(
            role,
            Role::UpdateTarget
                | Role::DeleteTarget
                | Role::InsertTarget
                | Role::ForeignKeyTarget
                | Role::TriggerTarget
        )
    };
    let uses = statement.effect.uses.iter();
    uses.filter(move |used| writes(used.role))
        .map(|used| used.table.as_str())
}

/// Whether a column alone is a unique key of a table.
fn is_key(evidence: &Evidence, table: &str, column: &str) -> bool {
    let shape = evidence.case.table(table);
    shape.is_some_and(|shape| {
        let mut keys = shape.unique_keys.iter();
        keys.any(|key| matches!(key.as_slice(), [only] if only.eq_ignore_ascii_case(column)))
    })
}

/// Whether a statement looks for keys of a table as it would for several at a time: an IN list, be it of one key, or an INSERT
/// or REPLACE, which looks for those that its rows would meet.
fn looks_for_keys(evidence: &Evidence, statement: &CaseStatement, table: &str) -> bool {
    let inserts = matches!(
        statement.effect.kind,
        StatementKind::Insert | StatementKind::InsertSelect | StatementKind::Replace
    );
    if inserts && targets(statement).any(|target| target == table) {
        return true;
    }
    let reads = table_reads(&statement.sql, &evidence.dialect);
    let mut uses = statement.effect.uses.iter();
    let of_one_key = || {
        let lookups = key_lookups(&statement.sql, &evidence.dialect);
        lookups
            .iter()
            .any(|lookup| lookup.listed && is_key(evidence, table, &lookup.column))
    };
    reads
        .iter()
        .any(|read| matches!(read, TableRead::ListLookup { table: other, .. } if other == table))
        || (uses.any(|used| used.table == table) && of_one_key())
}
