//! Sorted reads with a LIMIT that waited, at a level that looks again at the rows that it locks.

use super::script::{Line, Rows, Script};
use super::{RC, TABLE, is_violation};
use crate::dialect::{ObserverKind, dialect_of};
use crate::model::Verdict;
use Line::{Answers, Returns, Stands, Waits};

const INITIAL: Rows = &[[1, 1, 10], [2, 2, 20], [3, 3, 30], [4, 4, 40]];

const READ: &str = "SELECT pkey, vkey, c FROM t WHERE c < 35 ORDER BY c, pkey LIMIT 2 FOR UPDATE";

/// T1 changes the first row while T2 waits for it; the verdict on what T2 gives then.
fn first_two(write: &'static str, stands: Rows, given: Rows) -> Verdict {
    let lines = [
        Answers(1, "BEGIN", 0),
        Answers(2, "BEGIN", 0),
        Answers(1, write, 1),
        Stands(stands),
        Waits(2, READ),
        Answers(1, "COMMIT", 0),
        Returns(2, given),
        Answers(2, "COMMIT", 0),
    ];
    let mut dialect = dialect_of("postgres", "18.0");
    // The script says what stands in the tables.
    dialect.observer = ObserverKind::Uncommitted;
    Script::on(dialect, RC, TABLE, INITIAL, &lines).verdict()
}

#[test]
fn a_row_that_still_counts_keeps_the_place_that_it_had() {
    let write = "UPDATE t SET vkey = 1000, c = 34 WHERE pkey = 1";
    let stands: Rows = &[[1, 1000, 34], [2, 2, 20], [3, 3, 30], [4, 4, 40]];
    let given = |given| first_two(write, stands, given);
    let right = given(&[[1, 1000, 34], [2, 2, 20]]);
    assert!(is_allowed(&right), "{right:?}");
    assert!(is_violation(&given(&[[2, 2, 20], [3, 3, 30]])));
    assert!(is_violation(&given(&[[2, 2, 20], [1, 1000, 34]])));
    assert!(is_violation(&given(&[[1, 1, 10], [2, 2, 20]])));
}

#[test]
fn a_row_that_counts_no_longer_takes_no_place() {
    let write = "UPDATE t SET vkey = 1000, c = 50 WHERE pkey = 1";
    let stands: Rows = &[[1, 1000, 50], [2, 2, 20], [3, 3, 30], [4, 4, 40]];
    let given = |given| first_two(write, stands, given);
    let right = given(&[[2, 2, 20], [3, 3, 30]]);
    assert!(is_allowed(&right), "{right:?}");
    assert!(is_violation(&given(&[[2, 2, 20]])));
    assert!(is_violation(&given(&[[3, 3, 30], [4, 4, 40]])));
}

fn is_allowed(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Agree | Verdict::Known(_))
}
