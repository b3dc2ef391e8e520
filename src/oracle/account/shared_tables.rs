//! Tables that a statement shares with transactions of other sessions: who waits for another, or is refused for one, has met it in a
//! table that both use.

use std::collections::BTreeSet;

use super::super::Evidence;
use super::beside::{ended_before, is_of_another_session, touches_tables};
use crate::model::{CaseStatement, StatementKind, StatementRecord, Tick, TransactionId};

/// Whether two statements name a table of both, or one that a foreign key joins with it; true where that is not known.
pub(super) fn share_a_table(
    evidence: &Evidence,
    record: &StatementRecord,
    other: &CaseStatement,
) -> bool {
    let statement = evidence.case.statement(record.id);
    statement.is_none_or(|statement| may_meet(evidence, statement, other))
}

/// Whether another statement is DDL of a table that this one names, or that a foreign key joins with one.
pub(super) fn changes_a_table_of(
    evidence: &Evidence,
    record: &StatementRecord,
    other: &CaseStatement,
) -> bool {
    let statement = evidence.case.statement(record.id);
    let is_known = other.effect.storage_change.is_some();
    let meet = |own: &CaseStatement| {
        !reached_tables(evidence, own).is_disjoint(&reached_tables(evidence, other))
    };
    other.effect.kind == StatementKind::PhysicalDdl
        && (!is_known || statement.is_none_or(|own| !names_its_tables(own) || meet(own)))
}

/// The same of two statements of the case.
pub(super) fn may_meet(evidence: &Evidence, one: &CaseStatement, other: &CaseStatement) -> bool {
    let all_known = names_its_tables(one) && names_its_tables(other);
    !all_known || !reached_tables(evidence, one).is_disjoint(&reached_tables(evidence, other))
}

/// Whether a transaction of another session was open at a moment since `since` of which a statement wrote a table that this one's
/// transaction has used, or, where `own_writes` count, used one that it has written: an edge of a cycle that SERIALIZABLE breaks
/// has two such ends (Ports and Grittner, *Serializable Snapshot Isolation in PostgreSQL*, VLDB 2012, section 3).
pub(super) fn another_conflicts(
    evidence: &Evidence,
    record: &StatementRecord,
    since: Tick,
    own_writes: bool,
) -> bool {
    let started = |s: &&CaseStatement| {
        let other = evidence.execution.records.get(&s.id);
        other.is_some_and(|other| other.sent < record.answered)
    };
    let all = || evidence.case.statements.iter().filter(started);
    let is_beside = |id: TransactionId| {
        is_of_another_session(evidence, record, id) && !ended_before(evidence, id, since)
    };
    // What is not understood may write.
    let writes = |s: &CaseStatement| may_write(s) || !names_its_tables(s);
    let meet = |own: &CaseStatement, other: &CaseStatement| {
        (writes(other) || (own_writes && writes(own))) && may_meet(evidence, own, other)
    };
    let own = all().filter(|s| s.id.transaction == record.id.transaction);
    let own: Vec<&CaseStatement> = own.filter(|s| touches_tables(s)).collect();
    let mut others = all().filter(|s| is_beside(s.id.transaction) && touches_tables(s));
    others.any(|other| own.iter().any(|own| meet(own, other)))
}

fn may_write(statement: &CaseStatement) -> bool {
    let kind = statement.effect.kind;
    kind.is_write() || kind == StatementKind::PhysicalDdl
}

/// Whether the tables that a statement uses are all known: it was understood, and takes no lock of the whole database.
fn names_its_tables(statement: &CaseStatement) -> bool {
    let kind = statement.effect.kind;
    !matches!(kind, StatementKind::Opaque | StatementKind::BeginImmediate) && !kind.is_control()
        || kind == StatementKind::LockTable
}

/// The tables, in lower case, that a statement names or reaches, and those that foreign keys join with them.
fn reached_tables(evidence: &Evidence, statement: &CaseStatement) -> BTreeSet<String> {
    let effect = &statement.effect;
    let used = effect.uses.iter().map(|used| used.table.as_str());
    let locked = effect.table_lock.iter().flat_map(|lock| &lock.tables);
    let changed = effect
        .storage_change
        .iter()
        .map(|change| change.table.as_str());
    let named: BTreeSet<String> = used
        .chain(locked.map(String::as_str))
        .chain(changed)
        .map(str::to_lowercase)
        .collect();
    let mut reached = named.clone();
    for shape in &evidence.case.tables {
        let child = shape.name.to_lowercase();
        for key in &shape.foreign_keys {
            let parent = key.parent.to_lowercase();
            if named.contains(&child) || named.contains(&parent) {
                reached.extend([child.clone(), parent]);
            }
        }
    }
    reached
}
