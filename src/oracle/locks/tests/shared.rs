//! Waits among reads that take shared locks.

use super::runs::{Got, Step, run, run_releasing_late};
use super::{CHANGED_1, FOUND, LOCKING, PLAIN, UPDATE_1};
use crate::model::IsolationLevel::{self, RepeatableRead, Serializable};

const SHARING: &str = "SELECT pkey, vkey FROM t WHERE vkey < 50 FOR SHARE";

/// The second session's read waits until the first one's transaction ends, which has done this.
fn waits_for(level: IsolationLevel, first: Step, waiting: &'static str) -> String {
    run(level, &steps(first, waiting))
}

fn steps(first: Step, waiting: &'static str) -> [Step; 7] {
    [
        Step::done(1, "BEGIN"),
        first,
        Step::done(2, "BEGIN"),
        Step::waits(2, waiting),
        Step::done(1, "ROLLBACK"),
        Step::answered(2, FOUND),
        Step::done(2, "COMMIT"),
    ]
}

#[test]
fn a_read_that_shares_its_locks_does_not_wait_for_one_that_does() {
    let shares = |sql| Step::sent(1, sql, FOUND);
    let found = "waited T2.2";
    assert_eq!(waits_for(RepeatableRead, shares(SHARING), SHARING), found);
    assert_eq!(waits_for(RepeatableRead, shares(PLAIN), SHARING), found);
    assert_eq!(waits_for(Serializable, shares(PLAIN), SHARING), found);
    assert_eq!(waits_for(Serializable, shares(SHARING), PLAIN), found);
}

#[test]
fn where_a_reader_is_named_a_writer_beside_it_is_no_excuse() {
    let waits_for = |named| {
        let steps = [
            Step::done(1, "BEGIN"),
            Step::sent(1, SHARING, FOUND),
            Step::done(3, "BEGIN"),
            Step::write(
                3,
                "UPDATE t SET vkey = 1000 WHERE pkey = 3",
                &[(1, 10), (2, 20), (3, 1000)],
            ),
            Step::done(2, "BEGIN"),
            Step::waits_for(2, SHARING, named),
            Step::done(named, "ROLLBACK"),
            Step::answered(2, FOUND),
            Step::done(2, "COMMIT"),
        ];
        run(RepeatableRead, &steps)
    };
    assert_eq!(waits_for(1), "waited T3.2");
    assert_eq!(waits_for(3), "agree");
}

#[test]
fn what_the_reader_writes_elsewhere_is_no_excuse() {
    let steps = [
        Step::done(1, "BEGIN"),
        Step::sent(1, SHARING, FOUND),
        Step::sent(1, "DELETE FROM u WHERE pkey = 7", Got::Affected(0)),
        Step::done(2, "BEGIN"),
        Step::waits(2, SHARING),
        Step::done(1, "ROLLBACK"),
        Step::answered(2, FOUND),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(run(RepeatableRead, &steps), "waited T2.2");
}

#[test]
fn it_waits_for_whatever_may_exclude_it() {
    let updates = Step::write(1, UPDATE_1, CHANGED_1);
    assert_eq!(waits_for(RepeatableRead, updates, SHARING), "agree");
    let locks = || Step::sent(1, LOCKING, FOUND);
    assert_eq!(waits_for(RepeatableRead, locks(), SHARING), "agree");
    let shares = Step::sent(1, SHARING, FOUND);
    assert_eq!(waits_for(RepeatableRead, shares, LOCKING), "agree");
    let finds_nothing = Step::sent(1, "DELETE FROM t WHERE pkey = 7", Got::Affected(0));
    assert_eq!(waits_for(RepeatableRead, finds_nothing, SHARING), "agree");
    let shares = Step::sent(1, SHARING, FOUND);
    let late = run_releasing_late(RepeatableRead, &steps(shares, SHARING));
    assert_eq!(late, "agree");
}
