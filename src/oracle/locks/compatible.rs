//! Locks of a row that do not exclude each other (PostgreSQL manual, "Row-Level Locks", Table "Conflicting Row-Level Locks"): nobody
//! waits for one beside the other. Judged where the engine names whom a statement waits for, and locks the chosen rows alone.

use super::breach::{AT_ONCE, BrokenLock};
use super::holders::LockHolders;
use crate::dialect::{Capability, LockingWrite};
use crate::model::{
    CaseStatement, LockBreach, LockStrength, Role, StatementId, StatementKind, TableShape,
};
use crate::observe::is_released;
use crate::oracle::Evidence;
use crate::statement::{count_mentions, mentions};

/// Whether a statement waited for transactions none of whose locks excludes its own, and was answered when one of them ended.
pub(super) fn waited_for_one(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    id: StatementId,
) -> Option<BrokenLock> {
    let statement = evidence.case.statement(id)?;
    let record = evidence.execution.records.get(&id)?;
    let is_named = evidence.dialect.supports(Capability::LocksChosenRows)
        && evidence.dialect.supports(Capability::NamesBlockers)
        && !record.waited_for.is_empty();
    let answered = record.resumed() && record.outcome.error_class().is_none();
    if !is_named
        || !answered
        || !is_released(&evidence.case, &evidence.execution, record)
        || locks_whole_tables(evidence)
    {
        return None;
    }
    let wanted = strongest(evidence, statement)?;
    let is_compatible = |other: &CaseStatement| {
        let asks_for_a_parent = holders.may_lock_a_parent(statement, other);
        let meets = asks_for_a_parent || holders.may_lock_a_table_of(other, statement);
        other.effect.kind.is_control()
            || !meets
            || (!asks_for_a_parent && is_beside(evidence, other, wanted))
    };
    let mut beside = holders.beside(statement, record);
    let all_are = beside
        .all(|other| !record.waited_for.contains(&other.id.transaction) || is_compatible(other));
    all_are.then(|| {
        let told = format!(
            "the lock view showed it waiting for transactions none of whose locks of rows excludes its own ({})",
            wanted.slug()
        );
        BrokenLock::needless_wait(LockBreach::Waited, record, AT_ONCE, told)
    })
}

/// Whether a session may lock a table, or the whole of a table's rows, in a way that rows do not tell.
fn locks_whole_tables(evidence: &Evidence) -> bool {
    let mut statements = evidence.case.statements.iter();
    statements.any(|statement| statement.effect.kind.may_lock_any_table())
}

/// Whether nothing that a statement of another session locks in rows of its tables excludes a lock of this strength.
fn is_beside(evidence: &Evidence, other: &CaseStatement, wanted: LockStrength) -> bool {
    let effect = &other.effect;
    if effect.kind == StatementKind::Select {
        return true;
    }
    // Its rows are in nobody's way who asks for no key: none that the snapshot of another shows is among them.
    let only_adds = effect.kind == StatementKind::Insert
        && effect.assigned.is_empty()
        && effect
            .uses
            .iter()
            .all(|used| used.role == Role::InsertTarget);
    let rules = &evidence.dialect.lock_rules;
    only_adds || strongest(evidence, other).is_some_and(|strength| !rules.exclude(strength, wanted))
}

/// The strongest lock that a statement takes of a row: a SELECT with one clause, or an UPDATE that leaves the keys alone. None for
/// any other statement, which may lock more rows, or meet others by their keys.
fn strongest(evidence: &Evidence, statement: &CaseStatement) -> Option<LockStrength> {
    let effect = &statement.effect;
    let dialect = &evidence.dialect;
    match effect.kind {
        StatementKind::LockingSelect => {
            let has_one_clause = count_mentions(&statement.sql, "FOR", dialect) == Some(1);
            effect.lock.filter(|_| has_one_clause)
        }
        StatementKind::Update => {
            let reads_only = |role: Role| matches!(role, Role::UpdateTarget | Role::UpdateSource);
            let is_plain = effect.uses.iter().all(|used| reads_only(used.role));
            let keeps_keys = effect.targets().all(|table| {
                let shape = evidence.case.table(table);
                shape.is_some_and(|shape| keeps_keys(statement, shape))
            });
            let is_sure = is_plain && keeps_keys && !has_unseen_key(evidence);
            is_sure.then(|| dialect.lock_rules.of_write(LockingWrite::Update))
        }
        StatementKind::Begin
        | StatementKind::BeginSnapshot
        | StatementKind::BeginImmediate
        | StatementKind::Commit
        | StatementKind::Rollback
        | StatementKind::Savepoint
        | StatementKind::RollbackTo
        | StatementKind::ReleaseSavepoint
        | StatementKind::Set
        | StatementKind::Select
        | StatementKind::Insert
        | StatementKind::InsertSelect
        | StatementKind::Replace
        | StatementKind::Delete
        | StatementKind::Merge
        | StatementKind::PhysicalDdl
        | StatementKind::LockTable
        | StatementKind::Opaque => None,
    }
}

/// Whether an UPDATE assigns no column of a key, and none that a column of a key is computed from; nor moves a row between partitions.
fn keeps_keys(update: &CaseStatement, shape: &TableShape) -> bool {
    let is_assigned = |name: &String| update.effect.assigns(&shape.name, name);
    let is_computed = |name: &String| {
        let place = shape.column(name);
        place.is_none_or(|at| shape.columns[at].generated)
    };
    let mut columns = shape.keys().flatten();
    shape.partitioning.is_none() && !columns.any(|name| is_assigned(name) || is_computed(name))
}

/// Whether the set-up makes a key that the tables' shapes do not have: a unique index of its own, which may be of an expression or of
/// a part of the rows, or an exclusion by another operator than equality, or of a part of the rows. Whoever puts a row there waits
/// for another that does, whatever locks of rows they have (PostgreSQL manual, "CREATE TABLE", EXCLUDE).
fn has_unseen_key(evidence: &Evidence) -> bool {
    let dialect = &evidence.dialect;
    let has = |sql: &str, word: &str| mentions(sql, word, dialect);
    let exclusions = |sql: &str| count_mentions(sql, "EXCLUDE", dialect).unwrap_or(usize::MAX);
    let setup = || evidence.case.setup.iter().map(|setup| setup.sql.as_str());
    let made = setup().map(exclusions).fold(0, usize::saturating_add);
    let seen: usize = evidence
        .case
        .tables
        .iter()
        .map(|table| table.exclusions.len())
        .sum();
    made > seen || setup().any(|sql| has(sql, "UNIQUE") && has(sql, "INDEX"))
}
