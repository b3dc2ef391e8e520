//! DDL that was refused for the time that it waited, beside nobody who uses its table.

use super::{Got, Place};
use crate::dialect::dialect_of;
use crate::model::{ErrorClass, FindingKind, IsolationLevel};
use Got::{Done, DoneAtLast, Refused, WaitsTooLong};

const WRITE: &str = "UPDATE t SET vkey = 3 WHERE pkey = 1";

fn said(engine: &str, sql: &'static str, got: Got) -> Option<FindingKind> {
    let level = IsolationLevel::RepeatableRead;
    Place::new(dialect_of(engine, "10.11.6"), level).said(&[(1, sql, got)])
}

#[test]
fn ddl_may_wait_for_statistics_where_all_databases_share_them_and_nothing_else_may() {
    let needless = Some(FindingKind::RefusalWithoutCause);
    let makes_an_index = "CREATE INDEX i ON t (vkey)";
    assert_eq!(said("mariadb", makes_an_index, Done), None);
    assert_eq!(said("mariadb", makes_an_index, WaitsTooLong), None);
    assert_eq!(said("mysql", makes_an_index, WaitsTooLong), needless);
    let at_once = Refused(ErrorClass::LockTimeout);
    assert_eq!(said("mariadb", makes_an_index, at_once), needless);
    assert_eq!(said("mariadb", WRITE, WaitsTooLong), needless);
}

#[test]
fn ddl_that_changes_no_row_is_not_refused_for_one() {
    let needless = Some(FindingKind::RefusalWithoutCause);
    let refused = |sql, class| said("mysql", sql, Refused(class));
    let makes_an_index = "CREATE INDEX i ON t (vkey)";
    for class in [ErrorClass::Duplicate, ErrorClass::NotNull] {
        assert_eq!(refused(makes_an_index, class), needless, "{class}");
    }
    // What another one writes meanwhile may be a duplicate for a moment.
    let rebuilds = "ALTER TABLE t FORCE";
    assert_eq!(refused(rebuilds, ErrorClass::Duplicate), None);
    assert_eq!(refused(rebuilds, ErrorClass::Check), needless);
    let unique = "CREATE UNIQUE INDEX i ON t (vkey)";
    assert_eq!(refused(unique, ErrorClass::Duplicate), None);
}

#[test]
fn a_statement_is_refused_for_ddl_of_its_table_that_is_under_way_and_for_no_other() {
    let said = |ddl| {
        let level = IsolationLevel::ReadCommitted;
        let reads = "SELECT * FROM t WHERE pkey = 1 FOR UPDATE NOWAIT";
        Place::new(dialect_of("mariadb", "10.11.6"), level).said(&[
            (1, "BEGIN", Done),
            (2, ddl, DoneAtLast),
            (1, reads, Refused(ErrorClass::LockTimeout)),
            (1, "COMMIT", Done),
        ])
    };
    assert_eq!(said("ALTER TABLE t FORCE, ALGORITHM=COPY"), None);
    let needless = Some(FindingKind::RefusalWithoutCause);
    assert_eq!(said("ALTER TABLE u FORCE, ALGORITHM=COPY"), needless);
}
