//! Refusals for a version that is newer than the snapshot.

use super::{Got, Place};
use crate::dialect::dialect_with;
use crate::model::{ErrorClass, FindingKind, IsolationLevel};
use Got::{Done, Ends};

const READ: &str = "SELECT vkey FROM t";
const WRITE: &str = "UPDATE t SET vkey = 3 WHERE pkey = 1";

/// T1 does something and commits; T2, which has read, is refused when it writes.
fn refused_beside(place: &Place, first: &'static str) -> Option<FindingKind> {
    place.said(&[
        (2, "BEGIN", Done),
        (2, READ, Done),
        (1, "BEGIN", Done),
        (1, first, Done),
        (1, "COMMIT", Done),
        (2, WRITE, Ends(ErrorClass::Serialization)),
    ])
}

#[test]
fn a_snapshot_is_outdated_by_a_write_and_by_no_read() {
    let snapshots = [("innodb_snapshot_isolation", "ON")];
    let level = IsolationLevel::RepeatableRead;
    let mariadb = Place::new(dialect_with("mariadb", "11.8.2", &snapshots), level);
    assert_eq!(refused_beside(&mariadb, WRITE), None);
    let needless = Some(FindingKind::RefusalWithoutCause);
    assert_eq!(refused_beside(&mariadb, READ), needless);
    let elsewhere = "UPDATE u SET vkey = 3 WHERE pkey = 1";
    assert_eq!(refused_beside(&mariadb, elsewhere), needless);
}
