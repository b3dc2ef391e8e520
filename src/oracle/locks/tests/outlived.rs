//! Waits for a transaction that has ended.

use super::runs::{Got, Step, run, run_releasing_late, run_without_names};
use super::{CHANGED_1, FOUND, LOCKING, PLAIN, UPDATE_1};
use crate::model::IsolationLevel::RepeatableRead;

const AGAIN: &str = "UPDATE t SET vkey = 1001 WHERE pkey = 1";
const CHANGED_AGAIN: &[(i64, i64)] = &[(1, 1001), (2, 20), (3, 90)];

/// The third session's part is done, or not, when the second one's write waits for the first.
fn late_commit(others_done: bool, wait: Step) -> Vec<Step> {
    let mut steps = vec![
        Step::done(1, "BEGIN"),
        Step::done(3, "BEGIN"),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::done(1, "COMMIT"),
    ];
    if others_done {
        steps.push(Step::done(3, "COMMIT"));
    }
    steps.extend([
        Step::done(2, "BEGIN"),
        wait,
        Step::resumes(2, CHANGED_AGAIN),
        Step::done(2, "COMMIT"),
    ]);
    steps
}

#[test]
fn a_wait_for_a_transaction_that_had_ended_is_found() {
    let named = late_commit(false, Step::waits_for(2, AGAIN, 1));
    assert_eq!(run(RepeatableRead, &named), "kept-past-end T3.2");
    let open = late_commit(false, Step::waits_for(2, AGAIN, 3));
    assert_eq!(run(RepeatableRead, &open), "agree");
    // It is nobody of the case: a process of the engine.
    let nobody = late_commit(true, Step::waits(2, AGAIN));
    assert_eq!(run(RepeatableRead, &nobody), "agree");
}

#[test]
fn where_no_name_is_told_a_wait_is_found_when_nobody_else_may_hold_a_lock() {
    let alone = late_commit(true, Step::waits(2, AGAIN));
    assert_eq!(
        run_without_names(RepeatableRead, &alone),
        "kept-past-end T3.2"
    );
    // The third session is in a transaction, and has sent nothing that locks a row.
    let beside = late_commit(false, Step::waits(2, AGAIN));
    assert_eq!(
        run_without_names(RepeatableRead, &beside),
        "kept-past-end T3.2"
    );
    for (holds, found) in [(LOCKING, "agree"), (PLAIN, "kept-past-end T3.2")] {
        let mut steps = late_commit(false, Step::waits(2, AGAIN));
        let read = Step::sent(3, holds, Got::Rows(&[(1, 1000), (2, 20)]));
        steps.insert(4, read);
        assert_eq!(run_without_names(RepeatableRead, &steps), found, "{holds}");
    }
}

#[test]
fn locks_that_may_outlive_their_transaction_are_waited_for() {
    let named = late_commit(true, Step::waits_for(2, AGAIN, 1));
    assert_eq!(run_releasing_late(RepeatableRead, &named), "agree");
}

#[test]
fn a_read_that_locks_is_told_the_same_and_a_wait_that_began_before_the_end_is_none() {
    let read = [
        Step::done(1, "BEGIN"),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::done(1, "ROLLBACK"),
        Step::done(2, "BEGIN"),
        Step::waits_for(2, LOCKING, 1),
        Step::answered(2, FOUND),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(run(RepeatableRead, &read), "kept-past-end T2.2");
    let before = [
        Step::done(1, "BEGIN"),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::done(2, "BEGIN"),
        Step::waits_for(2, LOCKING, 1),
        Step::done(1, "ROLLBACK"),
        Step::answered(2, FOUND),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(run(RepeatableRead, &before), "agree");
    assert_eq!(run_without_names(RepeatableRead, &before), "agree");
}
