//! SQLite's BUSY, with a rollback journal and with a write-ahead log.

use super::{Got, Line, Place, sqlite};
use crate::dialect::dialect_with;
use crate::model::{ErrorClass, FindingKind, IsolationLevel};
use Got::{Done, Refused};

const REFUSAL: Option<FindingKind> = Some(FindingKind::RefusalWithoutCause);
const BUSY: Got = Refused(ErrorClass::Busy);
const READ: &str = "SELECT vkey FROM t";
const WRITE: &str = "UPDATE t SET vkey = 3 WHERE pkey = 1";

fn with_log() -> Place {
    let journal = [("journal_mode", "wal")];
    let dialect = dialect_with("sqlite", "3.50.0", &journal);
    Place::new(dialect, IsolationLevel::Serializable)
}

/// T1 does something and stays open; T2 is told that the database is busy.
fn beside(place: &Place, first: &'static str, second: &'static str) -> Option<FindingKind> {
    let lines: [Line; 6] = [
        (1, "BEGIN", Done),
        (1, first, Done),
        (2, "BEGIN", Done),
        (2, second, BUSY),
        (1, "COMMIT", Done),
        (2, "COMMIT", Done),
    ];
    place.said(&lines)
}

#[test]
fn with_a_log_only_a_writer_keeps_a_writer_out() {
    assert_eq!(beside(&with_log(), WRITE, WRITE), None);
    assert_eq!(beside(&with_log(), READ, WRITE), REFUSAL);
    assert_eq!(beside(&with_log(), WRITE, READ), REFUSAL);
}

#[test]
fn without_a_log_readers_do_too() {
    for (first, second) in [(WRITE, WRITE), (READ, WRITE), (WRITE, READ)] {
        assert_eq!(beside(&sqlite(), first, second), None, "{first}; {second}");
    }
}
