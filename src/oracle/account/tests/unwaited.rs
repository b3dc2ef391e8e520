//! Refusals for a lock that was not granted in time, beside who may hold it.

use super::{Got, Line, Place, innodb};
use crate::dialect::dialect_of;
use crate::model::{ErrorClass, FindingKind, IsolationLevel};
use Got::{Done, Refused, WaitsTooLong};

const WRITE: &str = "UPDATE t SET vkey = 3 WHERE pkey = 1";
const AT_ONCE: Got = Refused(ErrorClass::LockTimeout);

/// T1 has written and is open; T2, behind `before`, is refused.
fn beside_a_writer(place: &Place, before: &[Line], sql: &'static str, got: Got) -> bool {
    let mut lines: Vec<Line> = vec![(1, "BEGIN", Done), (1, WRITE, Done)];
    lines.extend(before);
    lines.extend([(2, "BEGIN", Done), (2, sql, got), (1, "COMMIT", Done)]);
    match place.said(&lines) {
        None => false,
        Some(kind) => kind == FindingKind::RefusalWithoutCause,
    }
}

#[test]
fn a_lock_is_waited_for_before_it_took_too_long() {
    let is_needless = |sql, got| beside_a_writer(&innodb(), &[], sql, got);
    for sql in [WRITE, "SELECT vkey FROM t FOR UPDATE", "DELETE FROM t"] {
        assert!(is_needless(sql, AT_ONCE), "{sql}");
        assert!(!is_needless(sql, WaitsTooLong), "{sql}");
    }
}

#[test]
fn who_says_how_long_is_too_long_may_not_wait() {
    let nowait = "SELECT vkey FROM t FOR UPDATE NOWAIT";
    assert!(!beside_a_writer(&innodb(), &[], nowait, AT_ONCE));
    let limits = "SET SESSION innodb_lock_wait_timeout = 1";
    let own: Line = (2, limits, Done);
    assert!(!beside_a_writer(&innodb(), &[own], WRITE, AT_ONCE));
    let other: Line = (1, limits, Done);
    assert!(beside_a_writer(&innodb(), &[other], WRITE, AT_ONCE));
    let level = IsolationLevel::RepeatableRead;
    let outlive = Place::new(dialect_of("tidb", "8.5.0"), level);
    assert!(!beside_a_writer(&outlive, &[], WRITE, AT_ONCE));
}
