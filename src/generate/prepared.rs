//! Sessions that send prepared statements, and what they send again.
//!
//! An engine keeps of a prepared statement what it found out when it was prepared or first executed: the
//! second execution is where that goes wrong.

use std::collections::BTreeSet;

use super::entropy::Entropy;
use super::session::DrawnStatement;
use crate::dialect::Dialect;
use crate::model::{SessionId, StatementKind};

/// How many sessions, of a hundred, of a case with prepared statements send them.
const SESSION_PERCENT: usize = 60;

/// How many of their statements, of a hundred, that may be sent again are.
const AGAIN_PERCENT: usize = 50;

/// Draws the sessions that send prepared statements, and has them send some again.
pub(super) fn prepare_some(
    entropy: &mut Entropy<'_>,
    percent: usize,
    lines: &mut Vec<DrawnStatement>,
    dialect: &Dialect,
) -> BTreeSet<SessionId> {
    if dialect.spelling.prepared.is_none() || !entropy.percent(percent) {
        return BTreeSet::new();
    }
    let all: BTreeSet<SessionId> = lines.iter().map(|line| line.session).collect();
    let chosen = |_: &SessionId| entropy.percent(SESSION_PERCENT);
    let sessions: BTreeSet<SessionId> = all.into_iter().filter(chosen).collect();
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        let again = sessions.contains(&line.session) && may_come_again(line.effect.kind);
        if again && entropy.percent(AGAIN_PERCENT) {
            let room = room_behind(lines, at);
            let place = at + 1 + entropy.below(room + 1);
            let line = lines[at].clone();
            lines.insert(place, line);
        }
        at += 1;
    }
    sessions
}

/// A write that comes again would give a version key a second time.
fn may_come_again(kind: StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Select | StatementKind::LockingSelect | StatementKind::Delete
    )
}

/// How many of the lines behind one can pass before its session ends its transaction or begins one.
fn room_behind(lines: &[DrawnStatement], at: usize) -> usize {
    let parts = |line: &DrawnStatement| {
        let kind = line.effect.kind;
        line.session == lines[at].session && (kind.is_begin() || kind.is_end())
    };
    let behind = lines[at + 1..].iter();
    behind.take_while(|line| !parts(line)).count()
}
