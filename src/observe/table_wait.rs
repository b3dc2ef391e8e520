//! When a statement had the locks of its tables, where another session's LOCK TABLE kept it waiting.

use crate::dialect::{Capability, Dialect};
use crate::model::{
    CaseStatement, Execution, ProbeTag, StatementKind, StatementRecord, TableLockMode, TestCase,
    Tick,
};
use crate::statement::may_be_prepared;

use super::Timeline;

/// The moment after the last LOCK TABLE was released for which the statement waited; none where it waited for no table.
///
/// A request waits behind those before it that exclude it, unless its own transaction keeps one of them waiting
/// (PostgreSQL sources, the README of the lock manager).
pub(super) fn table_wait_ended(
    (case, execution, timeline): (&TestCase, &Execution, &Timeline),
    dialect: &Dialect,
    statement: &CaseStatement,
) -> Option<Tick> {
    let record = execution.records.get(&statement.id)?;
    if !record.resumed() || !dialect.supports(Capability::LockTable) {
        return None;
    }
    let excludes = |one: TableLockMode, other| dialect.lock_rules.exclude_tables(one, other);
    let earlier = case.earlier_in_transaction(statement.id).filter(|own| {
        let answered = execution.records.get(&own.id);
        answered.is_some_and(|own| own.outcome.error_class().is_none())
            && timeline.undone(own.id).is_none_or(|at| at > record.sent)
    });
    let earlier: Vec<&CaseStatement> = earlier.collect();
    let released = case.statements.iter().filter_map(|other| {
        let lock = other.effect.table_lock.as_ref()?;
        let asked = execution.records.get(&other.id)?;
        let is_before = other.session != statement.session && asked.sent < record.sent;
        let meets = lock.tables.iter().any(|table| {
            let mode = statement.effect.table_lock_mode(table);
            let own = earlier
                .iter()
                .filter_map(|own| own.effect.table_lock_mode(table));
            let passes = own.into_iter().any(|own| excludes(own, lock.mode));
            mode.is_some_and(|mode| excludes(mode, lock.mode)) && !passes
        });
        let released = released_at(execution, timeline, dialect, other)?;
        let kept = record.sent < released && released < record.answered;
        (is_before && meets && kept).then_some(released)
    });
    released.max().map(|at| Tick(at.0 + 1))
}

/// When what a statement locked until the end of its transaction was released; none where that is unknown.
fn released_at(
    execution: &Execution,
    timeline: &Timeline,
    dialect: &Dialect,
    statement: &CaseStatement,
) -> Option<Tick> {
    let id = statement.id;
    // An error takes away what the transaction had locked behind its last savepoint, where it stays open.
    let failing = execution.records.values().filter(|record| {
        dialect.supports(Capability::FailedTransaction)
            && record.id.transaction == id.transaction
            && record.outcome.error_class().is_some()
            && timeline.loses_its_locks(id, record.id)
    });
    let failed = failing.map(|record| record.answered).min();
    let ended = timeline.undone(id).or(timeline.commit(id.transaction));
    ended.into_iter().chain(failed).min()
}

/// Whether a statement asks for its tables before it takes a snapshot, at any level. Two do, of sessions that send prepared
/// statements:
///
/// - An EXECUTE that a session sends once more and that gives rows. The server describes these first, as our driver asks it
///   to, and has the tables locked for that (PostgreSQL 13 to 18, by our driver. A client that asks for no description, as
///   psql does, has the snapshot first).
/// - What is prepared outside of a transaction: its PREPARE waits, and the snapshot is that of the EXECUTE behind it.
pub(super) fn asks_for_tables_first(
    case: &TestCase,
    execution: &Execution,
    statement: &CaseStatement,
    record: &StatementRecord,
) -> bool {
    let mut probes = execution.probes.iter();
    let gives_rows = matches!(
        statement.effect.kind,
        StatementKind::Select | StatementKind::LockingSelect
    ) || probes.any(|probe| {
        probe.statement == statement.id && matches!(probe.tag, ProbeTag::Returned { .. })
    });
    let mut own = case.statements.iter();
    let is_prepared_already = own.any(|own| {
        let answered = execution.records.get(&own.id);
        own.session == statement.session
            && own.sql == statement.sql
            && answered.is_some_and(|own| own.answered < record.sent)
    });
    let is_prepared =
        case.prepared.contains(&statement.session) && may_be_prepared(statement.effect.kind);
    let asks_first = match is_prepared_already {
        true => gives_rows,
        false => !case.is_explicit(statement.id.transaction),
    };
    is_prepared && asks_first
}
