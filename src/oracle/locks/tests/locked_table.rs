//! Tables that are locked by name, and who uses them meanwhile.

use super::runs::{Got, Step, run_with_table_locks as run};
use super::{CHANGED_1, FOUND, LOCKING, PLAIN, UPDATE_1};
use crate::model::IsolationLevel::ReadCommitted;

const SHARE: &str = "LOCK TABLE t IN SHARE MODE";
const EXCLUSIVE: &str = "LOCK TABLE t IN EXCLUSIVE MODE";
const ALONE: &str = "LOCK TABLE t";

/// The second session does something while the first one's transaction is open, which has done this.
fn beside(held: Step, used: Step) -> String {
    let steps = [
        Step::done(1, "BEGIN"),
        held,
        Step::done(2, "BEGIN"),
        used,
        Step::done(1, "COMMIT"),
        Step::done(2, "COMMIT"),
    ];
    run(ReadCommitted, &steps)
}

#[test]
fn a_use_that_a_lock_of_its_table_excludes_is_found_and_no_other() {
    let write = Step::write(2, UPDATE_1, CHANGED_1);
    let locking = Step::sent(2, LOCKING, FOUND);
    let plain = Step::sent(2, PLAIN, FOUND);
    let found = "unkept-table T2.2";
    for (held, used, told) in [
        (SHARE, write, found),
        (SHARE, locking, "agree"),
        (SHARE, plain, "agree"),
        (SHARE, Step::done(2, SHARE), "agree"),
        (SHARE, Step::done(2, EXCLUSIVE), found),
        (EXCLUSIVE, locking, found),
        (EXCLUSIVE, plain, "agree"),
        (ALONE, plain, found),
    ] {
        let said = beside(Step::done(1, held), used);
        let said = said.split(" against").next();
        assert_eq!(said, Some(told), "{held}: {used:?}");
    }
}

#[test]
fn a_lock_of_a_table_that_an_open_transaction_uses_is_found() {
    let write = Step::write(1, UPDATE_1, CHANGED_1);
    let read = Step::sent(1, PLAIN, FOUND);
    let lock = |sql| Step::done(2, sql);
    assert!(beside(write, lock(SHARE)).starts_with("unkept-table T2.2"));
    assert_eq!(beside(read, lock(SHARE)), "agree");
    assert!(beside(read, lock(ALONE)).starts_with("unkept-table T2.2"));
}

#[test]
fn a_lock_ends_with_its_transaction_and_with_a_return_to_a_savepoint() {
    let waited = [
        Step::done(1, "BEGIN"),
        Step::done(1, SHARE),
        Step::done(2, "BEGIN"),
        Step::waits(2, "UPDATE t SET vkey = 1001 WHERE pkey = 1"),
        Step::done(1, "COMMIT"),
        Step::resumes(2, &[(1, 1001), (2, 20), (3, 90)]),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(run(ReadCommitted, &waited), "agree");
    let returned = [
        Step::done(1, "BEGIN"),
        Step::done(1, "SAVEPOINT a"),
        Step::done(1, SHARE),
        Step::done(1, "ROLLBACK TO a"),
        Step::write(2, UPDATE_1, CHANGED_1),
        Step::done(1, "COMMIT"),
    ];
    assert_eq!(run(ReadCommitted, &returned), "agree");
}

#[test]
fn one_in_autocommit_had_its_lock_while_it_ran_and_no_longer() {
    let during = [
        Step::done(1, "BEGIN"),
        Step::done(1, SHARE),
        Step::write(2, UPDATE_1, CHANGED_1),
        Step::done(1, "COMMIT"),
    ];
    assert!(run(ReadCommitted, &during).starts_with("unkept-table T2.1"));
    let before = [
        Step::done(1, "BEGIN"),
        Step::write(2, UPDATE_1, CHANGED_1),
        Step::done(1, SHARE),
        Step::done(1, "COMMIT"),
    ];
    assert_eq!(run(ReadCommitted, &before), "agree");
}

#[test]
fn nowait_is_refused_where_another_transaction_uses_the_table_and_nowhere_else() {
    let refused = |others: &[Step]| {
        let mut steps = others.to_vec();
        steps.extend([
            Step::done(2, "BEGIN"),
            Step::sent(2, "LOCK TABLE t NOWAIT", Got::Refused),
            Step::done(2, "ROLLBACK"),
        ]);
        run(ReadCommitted, &steps)
    };
    let read = [Step::done(1, "BEGIN"), Step::sent(1, PLAIN, FOUND)];
    assert_eq!(refused(&read), "agree");
    let ended = [read[0], read[1], Step::done(1, "COMMIT")];
    assert_eq!(refused(&ended), "unfounded-refusal T2.2");
    assert_eq!(refused(&read[..1]), "unfounded-refusal T2.2");
}

#[test]
fn a_lock_of_a_table_with_nowait_does_not_wait() {
    let write = Step::write(1, UPDATE_1, CHANGED_1);
    for (held, lock, told) in [
        (Step::done(1, ALONE), "LOCK TABLE t NOWAIT", "waited T2.2"),
        (write, "LOCK TABLE t IN SHARE MODE NOWAIT", "waited T2.2"),
        (write, SHARE, "agree"),
    ] {
        let steps = [
            Step::done(1, "BEGIN"),
            held,
            Step::done(2, "BEGIN"),
            Step::waits(2, lock),
            Step::done(1, "COMMIT"),
            Step::answered(2, Got::Affected(0)),
            Step::done(2, "COMMIT"),
        ];
        assert_eq!(run(ReadCommitted, &steps), told, "{held:?}: {lock}");
    }
}

/// Neither NOWAIT nor a plain read means the table.
#[test]
fn a_read_that_waits_for_a_table_is_no_finding_and_one_that_waits_beside_it_is() {
    let nowait = "SELECT pkey, vkey FROM t WHERE vkey < 50 FOR UPDATE NOWAIT";
    for (lock, read, told) in [
        (ALONE, PLAIN, "agree"),
        (EXCLUSIVE, nowait, "agree"),
        (EXCLUSIVE, PLAIN, "waited T2.2"),
        (SHARE, nowait, "waited T2.2"),
    ] {
        let steps = [
            Step::done(1, "BEGIN"),
            Step::done(1, lock),
            Step::done(2, "BEGIN"),
            Step::waits(2, read),
            Step::done(1, "COMMIT"),
            Step::answered(2, FOUND),
            Step::done(2, "COMMIT"),
        ];
        assert_eq!(run(ReadCommitted, &steps), told, "{lock}: {read}");
    }
}
