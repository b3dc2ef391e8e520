//! Waits that ended although nothing that they waited for released a lock.
//!
//! InnoDB wakes a waiter when purge removes the delete-marked record on which it waits. A statement in
//! autocommit then commits at an unknown moment between the poll that shows it waiting and its answer,
//! and other statements run meanwhile. Where a row was removed from its table, that may happen before the
//! release that would have woken it.

use std::collections::BTreeSet;

use crate::dialect::{Capability, Dialect};
use crate::model::{CaseStatement, Execution, TableShape, TestCase, Tick, TransactionStatus};
use crate::observe::released::is_released;

/// A commit at an unknown moment.
pub(super) struct UnreleasedWait {
    from: Tick,
    to: Tick,
    /// The tables that the statement may have written.
    tables: BTreeSet<String>,
}

impl UnreleasedWait {
    /// Whether a read of this table at this moment may come before or after the commit.
    pub(super) fn concerns(&self, table: &str, at: Tick) -> bool {
        self.from < at && at < self.to && self.tables.contains(table)
    }
}

/// The writes in autocommit that waited and resumed without a release, and those for which purge may have
/// come before the release.
pub(super) fn unreleased_waits(
    case: &TestCase,
    execution: &Execution,
    dialect: &Dialect,
) -> Vec<UnreleasedWait> {
    case.statements
        .iter()
        .filter(|s| s.effect.kind.is_write() && !case.is_explicit(s.id.transaction))
        .filter_map(|statement| {
            let record = execution.records.get(&statement.id)?;
            let waiting = record.waiting?;
            let from = match is_released(case, execution, record) {
                false => waiting,
                true => removed_before(case, execution, dialect, statement)?.max(waiting),
            };
            let is_unknown = record.outcome.error_class().is_none() && from < record.answered;
            is_unknown.then(|| UnreleasedWait {
                from,
                to: record.answered,
                tables: statement.effect.targets().map(str::to_owned).collect(),
            })
        })
        .collect()
}

/// When the first other transaction ended, before this statement's answer, that left a removed row or index
/// entry of one of its tables for purge. None where rows lie in a heap, which nothing is removed from
/// while others wait.
fn removed_before(
    case: &TestCase,
    execution: &Execution,
    dialect: &Dialect,
    statement: &CaseStatement,
) -> Option<Tick> {
    if dialect.supports(Capability::HeapTables) {
        return None;
    }
    let until = execution.records.get(&statement.id)?.answered;
    let ended = case.statements.iter().filter_map(|other| {
        let record = execution.records.get(&other.id)?;
        let is_other = other.id.transaction != statement.id.transaction;
        let done = record.outcome.row_count().is_some_and(|count| count > 0);
        let mut tables = statement.effect.targets();
        if !is_other || !done || !tables.any(|table| removes_from(case, other, table)) {
            return None;
        }
        match execution.transactions.get(&other.id.transaction)? {
            TransactionStatus::Committed(at) => Some(*at),
            TransactionStatus::Aborted(_) | TransactionStatus::Indeterminate => None,
        }
    });
    ended.filter(|at| *at < until).min()
}

/// Whether a statement may remove a row, or an entry of an index, from a table.
fn removes_from(case: &TestCase, statement: &CaseStatement, table: &str) -> bool {
    let effect = &statement.effect;
    if !effect.targets().any(|target| target == table) {
        return false;
    }
    if effect.removes_from(table) {
        return true;
    }
    let shape = case.table(table).into_iter();
    let mut columns = shape.flat_map(TableShape::indexed_columns);
    columns.any(|column| effect.assigns(table, column))
}
