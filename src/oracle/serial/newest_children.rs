//! Foreign keys that look for children among the newest rows, which the transaction itself does not see.
//!
//! PostgreSQL asks with a newer snapshot whether a parent that goes has children, and so does what it does with
//! them. At SERIALIZABLE another transaction that took a child away comes first then, by this, and by everything else it
//! may come later: no dependency shows it. Such a statement runs in its place of an order without the children that were
//! gone by then; they are put back behind it, for its transaction sees them still.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Evidence, compare};
use crate::model::{CaseStatement, Row, StatementId, TableShape, TransactionId};

/// Rows of tables.
pub(super) type HiddenRows = BTreeMap<String, Vec<Row>>;

/// Whether a write was answered that may take parents away, and a transaction that it does not see had written their
/// children and committed.
pub(super) fn asks_newest(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let record = evidence.execution.records.get(&statement.id);
    record.is_some_and(|record| record.outcome.error_class().is_none())
        && !committed_beside(evidence, statement.id).is_empty()
}

/// The tables with a foreign key to one that the statement writes.
pub(super) fn children(evidence: &Evidence, id: StatementId) -> BTreeSet<&str> {
    let Some(statement) = evidence.case.statement(id) else {
        return BTreeSet::new();
    };
    let is_written = |parent: &str| {
        let mut targets = statement.effect.targets();
        targets.any(|target| target == parent)
    };
    let refers = |table: &&TableShape| {
        let mut keys = table.foreign_keys.iter();
        keys.any(|key| is_written(&key.parent))
    };
    let tables = evidence.case.tables.iter().filter(refers);
    tables.map(|table| table.name.as_str()).collect()
}

/// The transactions that wrote such a table and committed after the statement's own had begun to read, and before the
/// statement was answered.
pub(super) fn committed_beside(evidence: &Evidence, id: StatementId) -> BTreeSet<TransactionId> {
    let (case, execution) = (&evidence.case, &evidence.execution);
    let children = children(evidence, id);
    let of_own = |s: &&CaseStatement| s.id.transaction == id.transaction;
    let mut own = case.user_statements().filter(of_own);
    let began = own.find_map(|s| Some(execution.records.get(&s.id)?.sent));
    let answered = execution.records.get(&id).map(|record| record.answered);
    let (Some(began), Some(answered)) = (began, answered) else {
        return BTreeSet::new();
    };
    let beside = |transaction: &TransactionId| {
        let end = execution.commit_tick(*transaction);
        end.is_some_and(|end| began < end && end < answered)
    };
    let writes_a_child = |s: &&CaseStatement| {
        let mut targets = s.effect.targets();
        targets.any(|target| children.contains(target))
    };
    let others = case.user_statements().filter(writes_a_child);
    let others = others.map(|s| s.id.transaction);
    others
        .filter(|transaction| *transaction != id.transaction && beside(transaction))
        .collect()
}

/// The rows that are no longer there.
pub(super) fn gone(before: &HiddenRows, after: &HiddenRows) -> HiddenRows {
    let of_table = |(table, before): (&String, &Vec<Row>)| {
        let after = after.get(table)?;
        let (gone, _) = compare::table_difference(before, after)?;
        (!gone.is_empty()).then(|| (table.clone(), gone))
    };
    before.iter().filter_map(of_table).collect()
}
