//! Features of a statement that reads what its own transaction did before: engines that keep a transaction's changes
//! in its session and merge them into every read go wrong there.

use std::collections::BTreeSet;

use super::Evidence;
use crate::dialect::{Capability, Dialect};
use crate::model::{CaseStatement, Role, StatementKind, TestCase};
use crate::statement::{TableRead, table_reads, tables_read};

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
    features
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

/// Whether a statement looks for keys of a table several at a time: an IN list, or an INSERT or REPLACE, which looks
/// for those that its rows would meet.
fn looks_for_keys(evidence: &Evidence, statement: &CaseStatement, table: &str) -> bool {
    let inserts = matches!(
        statement.effect.kind,
        StatementKind::Insert | StatementKind::InsertSelect | StatementKind::Replace
    );
    if inserts && targets(statement).any(|target| target == table) {
        return true;
    }
    let reads = table_reads(&statement.sql, &evidence.dialect);
    reads
        .iter()
        .any(|read| matches!(read, TableRead::ListLookup { table: other, .. } if other == table))
}
