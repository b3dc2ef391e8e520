//! Circles of waits, as the tables of a run's statements allow them. A circle may close before the lock view shows any of its waits:
//! that a statement was seen waiting is not asked.

use std::collections::BTreeSet;

use super::super::Evidence;
use super::beside::{ended_before, is_of_another_session, touches_tables};
use super::shared_tables::may_meet;
use super::waiting::may_wait;
use crate::dialect::Capability;
use crate::model::{
    CaseStatement, ErrorClass, StatementKind, StatementRecord, Tick, TransactionId,
};

/// Whether a statement of another session that may wait was under way when this one was. One circle has one victim:
/// who was a victim before does not count.
pub(super) fn another_is_under_way(evidence: &Evidence, record: &StatementRecord) -> bool {
    // What is left of an ended transaction's locks is not told there.
    let anyone = evidence.dialect.supports(Capability::LocksOutliveEnd);
    let mut records = evidence.execution.records.values();
    let is_in_the_circle = |other: &StatementRecord| {
        let statement = evidence.case.statement(other.id);
        anyone
            || (!was_victim_before(evidence, other, record)
                && statement.is_none_or(|s| may_wait(evidence, s)))
    };
    records.any(|other| is_beside(evidence, record, other) && is_in_the_circle(other))
        || another_probes(evidence, record)
}

/// Whether a statement was the victim of a circle before another was answered.
///
/// Which of two victims came first, the order of their answers does not tell where nothing was sent between them: one that was
/// answered earlier may have been the later one if a circle without the other explains it.
fn was_victim_before(
    evidence: &Evidence,
    other: &StatementRecord,
    record: &StatementRecord,
) -> bool {
    if !answered_as_victim_before(other, record) {
        return false;
    }
    let between = |tick: Tick| other.answered < tick && tick < record.answered;
    let mut records = evidence.execution.records.values();
    let in_order = records.any(|third| between(third.sent)) || record.waiting.is_some_and(between);
    let was_before = |another: &StatementRecord| {
        another.id == record.id || answered_as_victim_before(another, other)
    };
    in_order || !closes_a_circle(evidence, other, &was_before)
}

fn answered_as_victim_before(other: &StatementRecord, record: &StatementRecord) -> bool {
    other.outcome.error_class() == Some(ErrorClass::Deadlock) && other.answered < record.answered
}

/// Whether two statements of different sessions were under way at once.
fn is_beside(evidence: &Evidence, record: &StatementRecord, other: &StatementRecord) -> bool {
    is_of_another_session(evidence, record, other.id.transaction)
        && other.sent < record.answered
        && other.answered > record.sent
}

/// Whether another session read for the sake of a statement of its own, which may wait, too. What a write returns is no such read.
fn another_probes(evidence: &Evidence, record: &StatementRecord) -> bool {
    let probes = evidence.execution.probes.iter();
    let mut probes = probes.filter(|probe| probe.tag.reads_for_a_statement());
    probes.any(|probe| {
        let other = probe.statement.transaction;
        is_of_another_session(evidence, record, other) && probe.tick > record.sent
    })
}

/// Whether a statement may have been in a circle of waits: it waits for a transaction that has used a table of its own, or one that a
/// foreign key joins with it; this has a statement under way that waits for another in the same way, or for the first one. True
/// where that is not known.
pub(super) fn may_be_in_a_circle(evidence: &Evidence, record: &StatementRecord) -> bool {
    closes_a_circle(evidence, record, &|other: &StatementRecord| {
        was_victim_before(evidence, other, record)
    })
}

/// The same, beside victims that count no more.
fn closes_a_circle(
    evidence: &Evidence,
    record: &StatementRecord,
    is_gone: &dyn Fn(&StatementRecord) -> bool,
) -> bool {
    let (case, records) = (&evidence.case, &evidence.execution.records);
    let statement = case.statement(record.id);
    let known = statement.filter(|s| touches_tables(s) && s.effect.kind != StatementKind::Opaque);
    let Some(statement) = known.filter(|_| !evidence.dialect.supports(Capability::LocksOutliveEnd))
    else {
        return true;
    };
    let is_sent = |s: &&CaseStatement| {
        let sent = records.get(&s.id).map(|other| other.sent);
        sent.is_some_and(|sent| sent < record.answered) && may_hold(s)
    };
    let sent: Vec<&CaseStatement> = case.statements.iter().filter(is_sent).collect();
    let own = |s: &&&CaseStatement| s.id.transaction == record.id.transaction;
    let closes = |waiter: &CaseStatement| {
        let mut own = sent.iter().filter(own);
        own.any(|held| may_meet(evidence, waiter, held))
    };
    let probes = another_probes(evidence, record);
    let mut met: BTreeSet<TransactionId> = BTreeSet::new();
    let mut waiters = vec![statement];
    while let Some(waiter) = waiters.pop() {
        let holders = sent.iter().map(|held| (held.id.transaction, held));
        let holders = holders.filter(|(holder, held)| {
            is_of_another_session(evidence, record, *holder)
                && !ended_before(evidence, *holder, record.sent)
                && may_meet(evidence, waiter, held)
        });
        let holders: BTreeSet<TransactionId> = holders.map(|(holder, _)| holder).collect();
        for holder in holders {
            if probes {
                return true;
            }
            if !met.insert(holder) {
                continue;
            }
            for waits in under_way(evidence, (record, is_gone), holder) {
                if closes(waits) {
                    return true;
                }
                waiters.push(waits);
            }
        }
    }
    false
}

/// Whether a transaction may have locks by a statement.
fn may_hold(statement: &CaseStatement) -> bool {
    let kind = statement.effect.kind;
    touches_tables(statement)
        || matches!(kind, StatementKind::LockTable | StatementKind::PhysicalDdl)
}

/// The statements of a transaction that were under way beside another's and may have waited.
fn under_way<'e>(
    evidence: &'e Evidence,
    (record, is_gone): (&StatementRecord, &dyn Fn(&StatementRecord) -> bool),
    holder: TransactionId,
) -> Vec<&'e CaseStatement> {
    let own = evidence.case.statements.iter();
    let own = own.filter(|s| s.id.transaction == holder && may_wait(evidence, s));
    let waits = own.filter(|s| {
        let other = evidence.execution.records.get(&s.id);
        other.is_some_and(|other| is_beside(evidence, record, other) && !is_gone(other))
    });
    waits.collect()
}
