//! Rows on which another session may hold a lock, where each lock is one of a row that was chosen: what nobody may hold is
//! free, whatever else of the table is locked. So is every lock of PostgreSQL (manual, "Row-Level Locks"), and of InnoDB that
//! of a row which was looked up by its primary key (MySQL manual, "Transaction Isolation Levels": "For a unique index with a
//! unique search condition, InnoDB locks only the index record found, not the gap before it").

use std::collections::BTreeSet;

use super::holders::LockHolders;
use super::locking_read::LockingRead;
use super::trial::ReadTrial;
use crate::dialect::Capability;
use crate::engine::EngineError;
use crate::model::{CaseStatement, StatementKind, TableShape};
use crate::observe::RowId;
use crate::oracle::Evidence;
use crate::statement::{count_mentions, row_lookup, shows_each_row};

/// Rows of the tables that a read names.
pub(super) type NamedRows<'r> = BTreeSet<(&'r str, &'r RowId)>;

/// The rows of its tables on which another session may have held a lock while the read ran that excludes its own; none
/// where it may have been any of them, or where the result does not tell which rows the read would lock.
pub(super) fn rows<'r>(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    read: &'r LockingRead<'_>,
    earlier: &[LockingRead<'_>],
    trial: &mut ReadTrial<'_>,
) -> Result<Option<NamedRows<'r>>, EngineError> {
    if !finds_rows_plainly(evidence, read) {
        return Ok(None);
    }
    let mut held = NamedRows::new();
    let beside: Vec<&CaseStatement> = holders.beside(read.statement, read.record).collect();
    for other in beside {
        let is_ddl = other.effect.kind == StatementKind::PhysicalDdl;
        if !is_ddl && !holders.may_lock_a_table_of(other, read.statement) {
            continue;
        }
        let asks_again = holders.may_lock_a_parent(other, read.statement);
        if is_ddl
            || asks_again
            || !locks_chosen_rows(evidence, other)
            || !has_done_what_it_says(evidence, read, other)
        {
            return Ok(None);
        }
        let found = match other.effect.kind.is_write() {
            true => written_rows(evidence, read, other),
            false => match earlier.iter().find(|by| by.statement.id == other.id) {
                Some(by) => read_rows(evidence, read, by, trial)?,
                None => None,
            },
        };
        match found {
            Some(found) => held.extend(found),
            None => return Ok(None),
        }
    }
    Ok(Some(held))
}

/// Whether a statement locks the rows that it finds, and nothing beside them.
pub(super) fn locks_chosen_rows(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let dialect = &evidence.dialect;
    let lasts = dialect.supports(Capability::LocksOutliveEnd);
    dialect.supports(Capability::LocksChosenRows)
        || (!lasts && looks_up_one_row(evidence, statement))
}

/// Whether a statement looks up one row by the primary key of its table, and leaves that key and every other one alone.
fn looks_up_one_row(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let effect = &statement.effect;
    let is_one = matches!(
        effect.kind,
        StatementKind::Update | StatementKind::Delete | StatementKind::LockingSelect
    );
    let [used] = effect.uses.as_slice() else {
        return false;
    };
    let shape = evidence.case.table(&used.table);
    // To see whether another key is taken, the rows beside it are locked, too.
    let of_one_key = |shape: &&TableShape| shape.keys().count() == 1 && shape.loose_keys.is_empty();
    let Some(shape) = shape.filter(of_one_key) else {
        return false;
    };
    let key = row_lookup(&statement.sql, shape, &evidence.dialect);
    let is_primary = shape.primary_key.is_some();
    is_one
        && is_primary
        && effect.trigger_writes.is_empty()
        && key.is_some_and(|key| !effect.assigns(&used.table, key))
}

/// Whether each row that a read finds shows in its result by itself: no LIMIT, outer join or subquery, and one clause.
pub(super) fn finds_rows_plainly(evidence: &Evidence, read: &LockingRead<'_>) -> bool {
    let (sql, dialect) = (&read.statement.sql, &evidence.dialect);
    let effect = &read.statement.effect;
    effect.kind == StatementKind::LockingSelect
        && shows_each_row(sql, effect, dialect)
        && count_mentions(sql, "FOR", dialect) == Some(1)
}

/// Whether a statement of another session was answered before the read was sent, waited for nothing, and did what its
/// answer says: one that waited keeps rows that it looked at again and found unfit.
fn has_done_what_it_says(
    evidence: &Evidence,
    read: &LockingRead<'_>,
    other: &CaseStatement,
) -> bool {
    let account = &evidence.account;
    let record = evidence.execution.records.get(&other.id);
    let is_over = record.is_some_and(|record| {
        record.answered < read.record.sent
            && !record.resumed()
            && record.outcome.error_class().is_none()
    });
    is_over
        && other.effect.table_lock.is_none()
        && !account.unsure.contains_key(&other.id)
        && !account.latitudes.contains_key(&other.id)
}

/// The rows that a write has changed, which are all that it has locked; none where it may have locked others, too: by an
/// upsert, for a foreign key, in a trigger, or an UPDATE that leaves no trace of itself in a row.
fn written_rows<'r>(
    evidence: &Evidence,
    read: &'r LockingRead<'_>,
    other: &CaseStatement,
) -> Option<NamedRows<'r>> {
    let effect = &other.effect;
    let kind = effect.kind;
    let inserts = matches!(kind, StatementKind::Insert | StatementKind::InsertSelect);
    let is_plain = |table: &str| {
        let version_key = evidence.case.version_key(table);
        (inserts && effect.assigned.is_empty()) || effect.leaves_a_trace(version_key)
    };
    let may_lock_others = effect.uses.iter().any(|used| {
        let table = used.table.as_str();
        let is_named = effect.counted_targets().any(|target| target == table);
        (used.role.is_target() || used.role.is_by_foreign_key())
            && read.locked.contains(table)
            && !(is_named && is_plain(table))
    });
    if may_lock_others {
        return None;
    }
    let changed = |table: &str, row: &RowId| evidence.account.has_changed(other.id, table, row);
    Some(rows_that(read, changed).collect())
}

/// The rows that another read may have found, as both see them; none where its answer does not tell.
fn read_rows<'r>(
    evidence: &Evidence,
    read: &'r LockingRead<'_>,
    by: &LockingRead<'_>,
    trial: &mut ReadTrial<'_>,
) -> Result<Option<NamedRows<'r>>, EngineError> {
    let rules = &evidence.dialect.lock_rules;
    if !finds_rows_plainly(evidence, by) || trial.agrees(by, &by.seen)? != Some(true) {
        return Ok(None);
    }
    let mut found = NamedRows::new();
    let exclude = |table: &str| rules.exclude(by.strength_on(table), read.strength_on(table));
    for (table, row) in rows_that(read, |table, row| exclude(table) && by.shows(table, row)) {
        if trial.agrees(by, &by.without(&[(table, row)]))? != Some(true) {
            found.insert((table, row));
        }
    }
    Ok(Some(found))
}

/// The rows of the tables that a read locks of which this is true.
fn rows_that<'r>(
    read: &'r LockingRead<'_>,
    is_it: impl Fn(&str, &RowId) -> bool,
) -> impl Iterator<Item = (&'r str, &'r RowId)> {
    let tables = read.seen.iter();
    let locked = tables.filter(|(table, _)| read.locked.contains(table.as_str()));
    let rows = locked.flat_map(|(table, rows)| rows.keys().map(move |row| (table.as_str(), row)));
    rows.filter(move |(table, row)| is_it(table, row))
}
