//! Keys that a read or a write looked up and did not find.

use super::runs::{Got, Step, run, run_locking_absent_keys};
use crate::model::IsolationLevel::ReadCommitted;

const INSERTED: &[(i64, i64)] = &[(1, 10), (2, 20), (3, 90), (7, 1001)];

/// The second session inserts the row 7 beside this statement of the first one, which finds nothing.
fn beside(lookup: &'static str) -> [Step; 6] {
    let got = match lookup.starts_with("SELECT") {
        true => Got::Rows(&[]),
        false => Got::Affected(0),
    };
    [
        Step::done(1, "BEGIN"),
        Step::sent(1, lookup, got),
        Step::done(2, "BEGIN"),
        Step::write(2, "INSERT INTO t VALUES (7, 1001)", INSERTED),
        Step::done(1, "COMMIT"),
        Step::done(2, "COMMIT"),
    ]
}

#[test]
fn a_row_under_a_key_that_was_looked_up_is_found() {
    for lookup in [
        "SELECT pkey, vkey FROM t WHERE pkey = 7 FOR UPDATE",
        "SELECT pkey, vkey FROM t WHERE pkey IN (8, 7) FOR UPDATE",
        "UPDATE t SET vkey = 1000 WHERE pkey = 7",
        "DELETE FROM t WHERE pkey = 7",
    ] {
        let steps = beside(lookup);
        let said = run_locking_absent_keys(ReadCommitted, &steps);
        assert_eq!(said, "unkept-range T2.2 against T1.2", "{lookup}");
        assert_eq!(run(ReadCommitted, &steps), "agree", "{lookup}");
    }
}

#[test]
fn a_row_under_another_key_or_that_was_looked_for_otherwise_is_none() {
    for lookup in [
        "SELECT pkey, vkey FROM t WHERE pkey = 8 FOR UPDATE",
        "SELECT pkey, vkey FROM t WHERE vkey = 1001 FOR UPDATE",
        "SELECT pkey, vkey FROM t WHERE pkey = 7",
        "UPDATE t SET vkey = 1000 WHERE pkey = 7 AND vkey < 5",
    ] {
        let said = run_locking_absent_keys(ReadCommitted, &beside(lookup));
        assert_eq!(said, "agree", "{lookup}");
    }
}

#[test]
fn a_row_that_waited_for_the_end_or_came_behind_it_is_none() {
    let lookup = || Step::sent(1, "DELETE FROM t WHERE pkey = 7", Got::Affected(0));
    let insert = "INSERT INTO t VALUES (7, 1001)";
    let waited = [
        Step::done(1, "BEGIN"),
        lookup(),
        Step::done(2, "BEGIN"),
        Step::waits(2, insert),
        Step::done(1, "COMMIT"),
        Step::resumes(2, INSERTED),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(run_locking_absent_keys(ReadCommitted, &waited), "agree");
    // Outside of a transaction nothing stays locked.
    let outside = [lookup(), Step::write(2, insert, INSERTED)];
    assert_eq!(run_locking_absent_keys(ReadCommitted, &outside), "agree");
}
