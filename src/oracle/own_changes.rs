//! Features of a statement that reads what its own transaction did before: engines that keep a transaction's changes
//! in its session and merge them into every read go wrong there; and of one that puts in a key which was looked up before.

use std::collections::BTreeSet;

use super::Evidence;
use crate::dialect::{Capability, Dialect};
use crate::model::{CaseStatement, Outcome, Role, StatementKind, TestCase};
use crate::statement::{
    KeyLookup, TableRead, key_lookups, mentions, table_reads, tables_read, value_keys,
};

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
            TableRead::Distinct { .. } => None,
        };
        features.extend(word.map(str::to_owned));
    }
    if puts_in_looked_up_key(evidence, statement) {
        features.insert("looked-up-key".to_owned());
    }
    if reads_indexed_enum(evidence, statement, &changed) {
        features.insert("own-enum-index".to_owned());
    }
    if looks_up_locked_key(evidence, statement) {
        features.insert(LOCKED_KEY_AGAIN.to_owned());
    }
    if lists_missed_key(evidence, statement) {
        features.insert("missed-key-list".to_owned());
    }
    features
}

/// Whether a statement reads a table that its transaction has changed, and names an ENUM column of it by which an index is ordered.
fn reads_indexed_enum(
    evidence: &Evidence,
    statement: &CaseStatement,
    changed: &BTreeSet<&str>,
) -> bool {
    let names = |column: &str| mentions(&statement.sql, column, &evidence.dialect);
    let mut uses = statement.effect.uses.iter();
    uses.any(|used| {
        let shape = evidence.case.table(&used.table);
        let own = shape.filter(|_| changed.contains(used.table.as_str()));
        own.is_some_and(|table| {
            let indexes = table.keys().chain(&table.indexes);
            indexes.flatten().any(|column| {
                let place = table.column(column);
                let is_enum = place.is_some_and(|place| is_enum(&table.columns[place].sql_type));
                is_enum && names(column)
            })
        })
    })
}

fn is_enum(sql_type: &str) -> bool {
    sql_type
        .trim_start()
        .to_ascii_lowercase()
        .starts_with("enum")
}

/// A plain read looks up a row key by its value that an earlier write or read that locks of its own transaction has looked up, and
/// so locked.
pub(super) const LOCKED_KEY_AGAIN: &str = "locked-key-again";

/// Whether it does, on an engine where that matters.
pub(super) fn looks_up_locked_key(evidence: &Evidence, statement: &CaseStatement) -> bool {
    statement.effect.kind == StatementKind::Select
        && evidence.dialect.supports(Capability::MergesOwnChanges)
        && looks_up_again(evidence, statement, |_, _, _| true)
}

/// Whether a write or a read that locks looks up a row key in a list, which an earlier one of its own transaction had looked up
/// alone, and not found.
fn lists_missed_key(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let found_nothing = |other: &CaseStatement| {
        let record = evidence.execution.records.get(&other.id);
        record.is_some_and(|record| match &record.outcome {
            Outcome::Rows(rows) => rows.is_empty(),
            Outcome::Affected(count) => *count == 0,
            Outcome::Rejected(_) => false,
        })
    };
    looks_up_with_locks(statement)
        && looks_up_again(evidence, statement, |other, before, now| {
            now.listed && !before.listed && found_nothing(other)
        })
}

fn looks_up_with_locks(statement: &CaseStatement) -> bool {
    matches!(
        statement.effect.kind,
        StatementKind::LockingSelect | StatementKind::Update | StatementKind::Delete
    )
}

/// Whether a statement looks up a value of a column that an earlier write or read that locks of its own transaction had looked up
/// in the same table, where the two lookups are so.
fn looks_up_again(
    evidence: &Evidence,
    statement: &CaseStatement,
    are_so: impl Fn(&CaseStatement, &KeyLookup, &KeyLookup) -> bool,
) -> bool {
    let now = key_lookups(&statement.sql, &evidence.dialect);
    if now.is_empty() {
        return false;
    }
    let shares = |other: &CaseStatement| {
        let mut tables = statement.effect.uses.iter();
        tables.any(|used| other.effect.uses.iter().any(|u| u.table == used.table))
    };
    let before = evidence.case.earlier_in_transaction(statement.id);
    let mut locking = before.filter(|other| looks_up_with_locks(other) && shares(other));
    locking.any(|other| {
        let lookups = key_lookups(&other.sql, &evidence.dialect);
        let meets = |before: &KeyLookup| {
            now.iter().any(|now| {
                before.column == now.column
                    && !before.values.is_disjoint(&now.values)
                    && are_so(other, before, now)
            })
        };
        lookups.iter().any(meets)
    })
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
