//! Rows that two reads of different sessions hold at once, though their locks exclude each other.

use super::breach::BrokenLock;
use super::holders::LockHolders;
use super::locking_read::LockingRead;
use super::trial::ReadTrial;
use crate::engine::EngineError;
use crate::model::{LockBreach, LockStrength};
use crate::observe::RowId;
use crate::oracle::Evidence;
use crate::statement::{count_mentions, mentions};

/// A read that found, without waiting, a row that an earlier read had found and surely still held.
pub(super) fn find(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    read: &LockingRead<'_>,
    earlier: &[LockingRead<'_>],
    trial: &mut ReadTrial<'_>,
) -> Result<Option<BrokenLock>, EngineError> {
    for first in earlier {
        if !holders.holds_beside(first.record, read.record) {
            continue;
        }
        let rows = rows_of_both(evidence, first, read);
        if let Some((table, row)) = found_by_both(first, read, &rows, trial)? {
            return Ok(Some(breach(first, read, table, row)));
        }
    }
    Ok(None)
}

/// A row that an earlier read had surely found and still held, and that read.
pub(super) struct FoundRow<'r, 'e> {
    pub(super) by: &'r LockingRead<'e>,
    pub(super) table: &'r str,
    pub(super) row: &'r RowId,
}

/// The rows that a read may not lock beside earlier ones, which had found them.
pub(super) fn held_rows<'r, 'e>(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    read: &'r LockingRead<'e>,
    earlier: &'r [LockingRead<'e>],
    trial: &mut ReadTrial<'_>,
) -> Result<Vec<FoundRow<'r, 'e>>, EngineError> {
    let mut held = Vec::new();
    for by in earlier {
        if !holders.holds_beside(by.record, read.record)
            || trial.agrees(by, &by.seen)? != Some(true)
        {
            continue;
        }
        for (table, row) in rows_of_both(evidence, by, read) {
            if trial.agrees(by, &by.without(&[(table, row)]))? == Some(false) {
                held.push(FoundRow { by, table, row });
            }
        }
    }
    Ok(held)
}

/// The rows of tables that both lock, in ways that exclude each other, which both saw alike.
fn rows_of_both<'r>(
    evidence: &Evidence,
    first: &'r LockingRead<'_>,
    read: &LockingRead<'_>,
) -> Vec<(&'r str, &'r RowId)> {
    let rules = &evidence.dialect.lock_rules;
    let mut rows = Vec::new();
    for (table, seen) in &first.seen {
        let exclude = rules.exclude(first.strength_on(table), read.strength_on(table));
        let whole = [first, read]
            .iter()
            .all(|read| locks_whole_rows(evidence, read, table));
        if !exclude || !whole {
            continue;
        }
        let Some(others) = read.seen.get(table) else {
            continue;
        };
        let alike = seen
            .iter()
            .filter(|(row, content)| others.get(row) == Some(content));
        rows.extend(alike.map(|(row, _)| (table.as_str(), row)));
    }
    rows
}

/// Whether a read locks the rows of this table that it finds by its own clause, and the rows themselves.
///
/// A shared lock of a read that finds all it needs in an index is one of the index's entry alone, which a
/// read by another index does not meet (MySQL manual, "Locks Set by Different SQL Statements in InnoDB": an
/// exclusive one takes the row of the clustered index as well); where there is no other index it is the row. Where a snapshot
/// chooses the rows, they are locked themselves. What a subquery or a view finds is locked by other rules.
fn locks_whole_rows(evidence: &Evidence, read: &LockingRead<'_>, table: &str) -> bool {
    let (sql, dialect) = (&read.sql, &evidence.dialect);
    let uses = read
        .statement
        .effect
        .uses
        .iter()
        .filter(|u| u.table == table);
    read.locked.contains(table)
        && read.keeps_rows_of(table)
        && (read.strength_on(table) > LockStrength::Share || read.locks_whole_rows_of(table))
        && uses.count() == 1
        && mentions(sql, table, dialect)
        && count_mentions(sql, "SELECT", dialect) == Some(1)
}

/// A row without which each of the two reads gives another result.
fn found_by_both<'r>(
    first: &LockingRead<'_>,
    read: &LockingRead<'_>,
    rows: &[(&'r str, &'r RowId)],
    trial: &mut ReadTrial<'_>,
) -> Result<Option<(&'r str, &'r RowId)>, EngineError> {
    // Once without all of them, as most reads that run beside each other find other rows.
    for one in [first, read] {
        if rows.is_empty() || trial.agrees(one, &one.without(rows))? != Some(false) {
            return Ok(None);
        }
    }
    for row in rows {
        let lone = std::slice::from_ref(row);
        let mut both = true;
        for one in [read, first] {
            both = both
                && trial.agrees(one, &one.without(lone))? == Some(false)
                && trial.agrees(one, &one.seen)? == Some(true)
                && trial.tells_apart(one, &one.seen, &one.without(lone))?;
        }
        if both {
            return Ok(Some(*row));
        }
    }
    Ok(None)
}

fn breach(first: &LockingRead<'_>, read: &LockingRead<'_>, table: &str, row: &RowId) -> BrokenLock {
    let holder = first.statement.id;
    let told = format!(
        "it found a row of {table}, with the key {}, that {holder} had locked",
        row.key
    );
    BrokenLock::without_waiting(LockBreach::UnkeptRow, read.record, holder, told)
}
