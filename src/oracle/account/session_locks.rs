//! Sessions that lock tables for themselves, whatever becomes of their transactions.

use super::super::Evidence;
use crate::model::{CaseStatement, SessionId, StatementRecord, Tick};
use crate::statement::{SessionLock, session_lock};

/// Whether another session held tables at `since` that it locks beyond its transactions, or a moment later and before this statement
/// was answered. Which tables those are is not read.
pub(super) fn another_locks_tables(
    evidence: &Evidence,
    record: &StatementRecord,
    since: Tick,
) -> bool {
    let own = evidence.case.session_of(record.id.transaction);
    let sessions = evidence.case.sessions();
    let mut others = sessions.into_iter().filter(|other| Some(*other) != own);
    others.any(|other| locks_tables(evidence, other, since, record.answered))
}

fn locks_tables(evidence: &Evidence, session: SessionId, since: Tick, until: Tick) -> bool {
    let all = evidence.case.statements.iter();
    let mut held: Option<SessionLock> = None;
    for statement in all.filter(|s| s.session == session) {
        if let Some(now) = change(evidence, statement, since, until) {
            let keeps_all =
                held == Some(SessionLock::OfServer) && now == SessionLock::LetsGoOfTables;
            if !keeps_all {
                held = Some(now);
            }
        }
    }
    held.is_some_and(SessionLock::holds)
}

/// What a statement makes of its session's locks in that time: what it takes counts from the moment when it was sent, and what it
/// lets go from its answer.
fn change(
    evidence: &Evidence,
    statement: &CaseStatement,
    since: Tick,
    until: Tick,
) -> Option<SessionLock> {
    let record = evidence.execution.records.get(&statement.id)?;
    let now = session_lock(&statement.sql, &statement.effect, &evidence.dialect)?;
    let counts = match now.holds() {
        true => record.sent < until,
        false => record.answered < since,
    };
    (counts && record.outcome.error_class().is_none()).then_some(now)
}
