//! Writes that lock what they look for, whether they change it or not.

use super::runs::{Got, Step, run, run_with_light_writes};
use super::{CHANGED_1, FOUND, LOCKING, UPDATE_1, beside};
use crate::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};

/// Row 1 of `(1, 10), (2, 20), (3, 90)`.
const DELETE_LOW: &str = "DELETE FROM t WHERE vkey < 15";

#[test]
fn what_a_write_looks_for_is_kept_out_where_ranges_are_locked() {
    let deletion = |write, then| {
        [
            Step::done(1, "BEGIN"),
            Step::write(1, DELETE_LOW, &[(2, 20), (3, 90)]),
            Step::write(2, write, then),
            Step::done(1, "COMMIT"),
        ]
    };
    let fits = deletion("INSERT INTO t VALUES (4, 12)", &[(2, 20), (3, 90), (4, 12)]);
    assert_eq!(run(ReadCommitted, &fits), "agree");
    let found = "unkept-range T2.1 against T1.2";
    assert_eq!(run(RepeatableRead, &fits), found);
    assert_eq!(run(Serializable, &fits), found);
    let other = deletion("INSERT INTO t VALUES (4, 40)", &[(2, 20), (3, 90), (4, 40)]);
    assert_eq!(run(RepeatableRead, &other), "agree");
}

#[test]
fn a_write_does_not_get_past_a_row_that_would_fit_where_ranges_are_locked() {
    let steps = [
        Step::done(1, "BEGIN"),
        Step::write(
            1,
            "UPDATE t SET vkey = 12 WHERE pkey = 3",
            &[(1, 10), (2, 20), (3, 12)],
        ),
        Step::write(2, DELETE_LOW, &[(2, 20), (3, 12)]),
        Step::done(1, "COMMIT"),
    ];
    let found = "unlocked-read T2.1 against T1.2";
    assert_eq!(run(RepeatableRead, &steps), found);
    assert_eq!(run(Serializable, &steps), found);
    // It looks at what is committed, and goes on if that does not fit.
    assert_eq!(run(ReadCommitted, &steps), "agree");
}

/// An UPDATE that leaves every row as it is.
fn no_op(session: u32, sql: &'static str) -> Step {
    Step::sent(session, sql, Got::Affected(0))
}

const SAME_1: &str = "UPDATE t SET vkey = vkey WHERE pkey = 1";

#[test]
fn a_row_that_an_update_left_as_it_is_is_kept_at_every_level() {
    let found = "unkept-row T2.2 against T1.2";
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let changed = beside(no_op(1, SAME_1), Step::write(2, UPDATE_1, CHANGED_1));
        assert_eq!(run(level, &changed), found, "{level}");
        let both = beside(no_op(1, SAME_1), no_op(2, SAME_1));
        assert_eq!(run(level, &both), found, "{level}");
        let read = beside(no_op(1, SAME_1), Step::sent(2, LOCKING, FOUND));
        assert_eq!(run(level, &read), found, "{level}");
        let past = beside(Step::write(1, UPDATE_1, CHANGED_1), no_op(2, SAME_1));
        let found = "unlocked-read T2.2 against T1.2";
        assert_eq!(run(level, &past), found, "{level}");
    }
}

#[test]
fn where_rows_are_locked_alone_an_update_keeps_no_row_that_it_found_unfit() {
    let same = "UPDATE t SET vkey = vkey WHERE vkey < 15";
    let of_2 = "UPDATE t SET vkey = 1001 WHERE pkey = 2";
    let after: &[(i64, i64)] = &[(1, 10), (2, 1001), (3, 90)];
    let other = beside(no_op(1, same), Step::write(2, of_2, after));
    assert_eq!(run(ReadCommitted, &other), "agree");
    // Nor does it wait for one that another transaction is about to make fit, but for one that it makes unfit.
    let fitting: &[(i64, i64)] = &[(1, 10), (2, 12), (3, 90)];
    let of_2 = "UPDATE t SET vkey = 12 WHERE pkey = 2";
    let passed = beside(Step::write(1, of_2, fitting), no_op(2, same));
    assert_eq!(run(ReadCommitted, &passed), "agree");
    let past = beside(Step::write(1, UPDATE_1, CHANGED_1), no_op(2, same));
    let found = "unlocked-read T2.2 against T1.2";
    assert_eq!(run(ReadCommitted, &past), found);
}

/// TiDB: outside of a transaction a write locks what it changes, when it commits.
#[test]
fn outside_of_a_transaction_an_update_may_go_past_a_row_that_it_leaves_as_it_is() {
    let outside = |step| {
        [
            Step::done(1, "BEGIN"),
            Step::write(1, UPDATE_1, CHANGED_1),
            step,
            Step::done(1, "COMMIT"),
        ]
    };
    let past = "unlocked-read T2.1 against T1.2";
    let same = outside(no_op(2, SAME_1));
    assert_eq!(run(ReadCommitted, &same), past);
    assert_eq!(run_with_light_writes(ReadCommitted, &same), "agree");
    // A row that it has to change, or to delete, is another matter.
    for write in ["UPDATE t SET vkey = 1002 WHERE pkey = 1", DELETE_LOW] {
        let passed = outside(no_op(2, write));
        assert_eq!(
            run_with_light_writes(ReadCommitted, &passed),
            past,
            "{write}"
        );
    }
    let both = beside(Step::write(1, UPDATE_1, CHANGED_1), no_op(2, SAME_1));
    let past = "unlocked-read T2.2 against T1.2";
    assert_eq!(run_with_light_writes(ReadCommitted, &both), past);
}
