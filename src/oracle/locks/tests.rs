//! Made-up runs of written cases: each rule, and what only looks like its breach.

mod absent_keys;
mod locked_table;
mod outlived;
mod runs;
mod shared;
mod writes;

use self::runs::{Got, Step, run, run_passing_over, run_with_an_index};
use super::LockOracle;
use crate::dialect::{ServerVersion, builtin, parse};
use crate::model::IsolationLevel::{ReadCommitted, ReadUncommitted, RepeatableRead, Serializable};
use crate::model::UndecidedReason;
use crate::oracle::Oracle;

const UPDATE_1: &str = "UPDATE t SET vkey = 1000 WHERE pkey = 1";
const CHANGED_1: &[(i64, i64)] = &[(1, 1000), (2, 20), (3, 90)];

/// Rows below 50: 1 and 2 of `(1, 10), (2, 20), (3, 90)`.
const LOCKING: &str = "SELECT pkey, vkey FROM t WHERE vkey < 50 FOR UPDATE";
const PLAIN: &str = "SELECT pkey, vkey FROM t WHERE vkey < 50";
const FOUND: Got = Got::Rows(&[(1, 10), (2, 20)]);

#[test]
fn a_write_over_a_row_of_an_open_transaction_is_found() {
    let steps = [
        Step::done(1, "BEGIN"),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::done(2, "BEGIN"),
        Step::write(
            2,
            "UPDATE t SET vkey = 1001 WHERE pkey = 1",
            &[(1, 1001), (2, 20), (3, 90)],
        ),
        Step::done(1, "COMMIT"),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(
        run(ReadCommitted, &steps),
        "unlocked-write T2.2 against T1.2"
    );
}

#[test]
fn a_write_that_waited_for_the_end_of_the_other_is_none() {
    let steps = [
        Step::done(1, "BEGIN"),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::done(2, "BEGIN"),
        Step::waits(2, "UPDATE t SET vkey = 1001 WHERE pkey = 1"),
        Step::done(1, "COMMIT"),
        Step::resumes(2, &[(1, 1001), (2, 20), (3, 90)]),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(run(ReadCommitted, &steps), "agree");
}

#[test]
fn a_write_that_waited_for_somebody_else_is_found() {
    let steps = [
        Step::done(1, "BEGIN"),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::done(3, "BEGIN"),
        Step::write(
            3,
            "UPDATE t SET vkey = 1002 WHERE pkey = 2",
            &[(1, 1000), (2, 1002), (3, 90)],
        ),
        Step::done(2, "BEGIN"),
        Step::waits(2, "UPDATE t SET vkey = 1001 WHERE pkey IN (1, 2)"),
        Step::done(3, "COMMIT"),
        Step::resumes(2, &[(1, 1001), (2, 1001), (3, 90)]),
        Step::done(1, "COMMIT"),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(
        run(RepeatableRead, &steps),
        "unlocked-write T3.2 against T1.2"
    );
}

#[test]
fn a_write_over_work_that_was_undone_is_none() {
    let steps = [
        Step::done(1, "BEGIN"),
        Step::done(1, "SAVEPOINT a"),
        Step::write(
            1,
            "INSERT INTO t VALUES (4, 1000)",
            &[(1, 10), (2, 20), (3, 90), (4, 1000)],
        ),
        Step::done(1, "ROLLBACK TO SAVEPOINT a"),
        Step::done(2, "BEGIN"),
        Step::write(
            2,
            "INSERT INTO t VALUES (4, 1001)",
            &[(1, 10), (2, 20), (3, 90), (4, 1001)],
        ),
        Step::done(1, "COMMIT"),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(run(ReadCommitted, &steps), "agree");
}

/// The victim's statement is answered after the one that closed the circle, and its locks were gone
/// before.
#[test]
fn a_victim_holds_nothing_while_its_last_statement_runs() {
    let steps = [
        Step::done(1, "BEGIN"),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::done(2, "BEGIN"),
        Step::write(
            2,
            "UPDATE t SET vkey = 1002 WHERE pkey = 2",
            &[(1, 1000), (2, 1002), (3, 90)],
        ),
        Step::waits(1, "UPDATE t SET vkey = 1003 WHERE pkey = 2"),
        Step::sent(
            2,
            "UPDATE t SET vkey = 1001 WHERE pkey = 1",
            Got::Affected(1),
        ),
        Step::victim(1, &[(1, 1001), (2, 1002), (3, 90)]),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(run(ReadCommitted, &steps), "agree");
}

/// One step of each of two transactions that are open at once.
fn beside(first: Step, second: Step) -> [Step; 6] {
    [
        Step::done(1, "BEGIN"),
        first,
        Step::done(2, "BEGIN"),
        second,
        Step::done(1, "COMMIT"),
        Step::done(2, "COMMIT"),
    ]
}

fn read_beside_an_update(read: &'static str, got: Got) -> [Step; 6] {
    let update = Step::write(1, UPDATE_1, CHANGED_1);
    beside(update, Step::sent(2, read, got))
}

#[test]
fn a_locking_read_past_a_row_of_an_open_transaction_is_found() {
    let found = "unlocked-read T2.2 against T1.2";
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let old = read_beside_an_update(LOCKING, FOUND);
        assert_eq!(run(level, &old), found, "{level}");
        let new = read_beside_an_update(LOCKING, Got::Rows(&[(2, 20)]));
        assert_eq!(run(level, &new), found, "{level}");
        let nowait = "SELECT pkey, vkey FROM t WHERE vkey < 50 FOR UPDATE NOWAIT";
        let nowait = read_beside_an_update(nowait, FOUND);
        assert_eq!(run(level, &nowait), found, "{level}");
    }
    let plain = read_beside_an_update(PLAIN, FOUND);
    assert_eq!(run(Serializable, &plain), found);
}

#[test]
fn a_read_that_does_not_lock_or_does_not_need_the_row_is_none() {
    let plain = read_beside_an_update(PLAIN, FOUND);
    assert_eq!(run(RepeatableRead, &plain), "agree");
    let second = "SELECT pkey, vkey FROM t WHERE pkey = 2 FOR UPDATE";
    let other_row = read_beside_an_update(second, Got::Rows(&[(2, 20)]));
    assert_eq!(run(RepeatableRead, &other_row), "agree");
    // Outside of a transaction a SELECT locks nothing at SERIALIZABLE.
    let alone = [
        Step::done(1, "BEGIN"),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::sent(2, PLAIN, FOUND),
        Step::done(1, "COMMIT"),
    ];
    assert_eq!(run(Serializable, &alone), "agree");
}

fn write_after_a_read(
    read: &'static str,
    write: &'static str,
    then: &'static [(i64, i64)],
) -> [Step; 6] {
    let read = Step::sent(1, read, FOUND);
    beside(read, Step::write(2, write, then))
}

#[test]
fn a_found_row_is_kept_at_every_level() {
    let found = "unkept-row T2.2 against T1.2";
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let changed = write_after_a_read(LOCKING, UPDATE_1, CHANGED_1);
        assert_eq!(run(level, &changed), found, "{level}");
        let delete = "DELETE FROM t WHERE pkey = 1";
        let deleted = write_after_a_read(LOCKING, delete, &[(2, 20), (3, 90)]);
        assert_eq!(run(level, &deleted), found, "{level}");
    }
    let plain = write_after_a_read(PLAIN, UPDATE_1, CHANGED_1);
    assert_eq!(run(Serializable, &plain), found);
    assert_eq!(run(RepeatableRead, &plain), "agree");
}

const SHARED: &str = "SELECT pkey, vkey FROM t WHERE vkey < 50 FOR SHARE";

/// Two sessions read the same rows, the second while the transaction of the first is open.
fn one_read_after_another(first: &'static str, second: &'static str) -> [Step; 6] {
    let first = Step::sent(1, first, FOUND);
    beside(first, Step::sent(2, second, FOUND))
}

#[test]
fn two_reads_do_not_hold_a_row_at_once_where_both_lock_it_for_a_change() {
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        for second in [LOCKING, NOWAIT] {
            let found = "unkept-row T2.2 against T1.2";
            let both = one_read_after_another(LOCKING, second);
            assert_eq!(run(level, &both), found, "{level}: {second}");
        }
        // A shared lock may be one of an index's entry alone, where there is an index beside the rows.
        for (first, second) in [(SHARED, LOCKING), (LOCKING, SHARED)] {
            let shared = one_read_after_another(first, second);
            assert_eq!(
                run_with_an_index(level, &shared),
                "agree",
                "{level}: {first}"
            );
            let found = "unkept-row T2.2 against T1.2";
            assert_eq!(run(level, &shared), found, "{level}: {first}");
        }
        let both = one_read_after_another(SHARED, SHARED);
        assert_eq!(run(level, &both), "agree", "{level}");
    }
    // One outside of a transaction holds nothing, and has to wait nevertheless.
    let mut alone = one_read_after_another(LOCKING, LOCKING).to_vec();
    alone.remove(5);
    alone.remove(2);
    let found = "unkept-row T2.1 against T1.2";
    assert_eq!(run(RepeatableRead, &alone), found);
}

#[test]
fn a_row_is_free_for_the_next_read_when_the_first_has_let_it_go() {
    let mut ended = one_read_after_another(LOCKING, LOCKING);
    ended.swap(3, 4);
    assert_eq!(run(RepeatableRead, &ended), "agree");
    let undone = [
        Step::done(1, "BEGIN"),
        Step::done(1, "SAVEPOINT a"),
        Step::sent(1, LOCKING, FOUND),
        Step::done(1, "ROLLBACK TO SAVEPOINT a"),
        Step::sent(2, LOCKING, FOUND),
        Step::done(1, "COMMIT"),
    ];
    assert_eq!(run(RepeatableRead, &undone), "agree");
    // What a subquery finds is locked by other rules.
    let nested = "SELECT pkey, vkey FROM t WHERE vkey < (SELECT 50) FOR UPDATE";
    let nested = one_read_after_another(LOCKING, nested);
    assert_eq!(run(RepeatableRead, &nested), "agree");
}

#[test]
fn a_row_that_comes_to_fit_is_kept_out_where_ranges_are_locked() {
    let made_to_fit = write_after_a_read(
        LOCKING,
        "UPDATE t SET vkey = 30 WHERE pkey = 3",
        &[(1, 10), (2, 20), (3, 30)],
    );
    let inserted = write_after_a_read(
        LOCKING,
        "INSERT INTO t VALUES (4, 30)",
        &[(1, 10), (2, 20), (3, 90), (4, 30)],
    );
    for steps in [made_to_fit, inserted] {
        assert_eq!(run(ReadCommitted, &steps), "agree");
        let found = "unkept-range T2.2 against T1.2";
        assert_eq!(run(RepeatableRead, &steps), found);
        assert_eq!(run(Serializable, &steps), found);
    }
}

#[test]
fn a_change_that_the_read_does_not_see_needs_no_wait() {
    let unfit = write_after_a_read(
        LOCKING,
        "UPDATE t SET vkey = 1000 WHERE pkey = 3",
        &[(1, 10), (2, 20), (3, 1000)],
    );
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        assert_eq!(run(level, &unfit), "agree", "{level}");
    }
}

#[test]
fn locks_end_with_their_transaction_and_with_what_was_undone() {
    let ended = [
        Step::done(1, "BEGIN"),
        Step::sent(1, LOCKING, FOUND),
        Step::done(1, "COMMIT"),
        Step::write(2, UPDATE_1, CHANGED_1),
    ];
    let alone = [
        Step::sent(1, LOCKING, FOUND),
        Step::write(2, UPDATE_1, CHANGED_1),
    ];
    let undone = [
        Step::done(1, "BEGIN"),
        Step::done(1, "SAVEPOINT a"),
        Step::sent(1, LOCKING, FOUND),
        Step::done(1, "ROLLBACK TO SAVEPOINT a"),
        Step::write(2, UPDATE_1, CHANGED_1),
        Step::done(1, "COMMIT"),
    ];
    for steps in [ended.as_slice(), &alone, &undone] {
        assert_eq!(run(RepeatableRead, steps), "agree", "{steps:?}");
    }
    // The same session may do what it likes.
    let own = [
        Step::done(1, "BEGIN"),
        Step::sent(1, LOCKING, FOUND),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::done(1, "COMMIT"),
    ];
    assert_eq!(run(RepeatableRead, &own), "agree");
}

const NOWAIT: &str = "SELECT pkey, vkey FROM t WHERE vkey < 50 FOR UPDATE NOWAIT";

#[test]
fn nowait_is_refused_only_where_somebody_may_hold_a_lock() {
    let nobody = [
        Step::done(1, "BEGIN"),
        Step::sent(
            1,
            "SELECT pkey, vkey FROM t",
            Got::Rows(&[(1, 10), (2, 20), (3, 90)]),
        ),
        Step::sent(2, NOWAIT, Got::Refused),
        Step::done(1, "COMMIT"),
    ];
    assert_eq!(run(RepeatableRead, &nobody), "unfounded-refusal T2.1");
    // At SERIALIZABLE the plain SELECT locks.
    assert_eq!(run(Serializable, &nobody), "agree");
    let ended = [
        Step::done(1, "BEGIN"),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::done(1, "COMMIT"),
        Step::sent(2, NOWAIT, Got::Refused),
    ];
    assert_eq!(run(RepeatableRead, &ended), "unfounded-refusal T2.1");
    // A lock on any row or gap is reason enough.
    let somebody = [
        Step::done(1, "BEGIN"),
        Step::sent(
            1,
            "SELECT pkey, vkey FROM t WHERE pkey = 7 FOR UPDATE",
            Got::Rows(&[]),
        ),
        Step::sent(2, NOWAIT, Got::Refused),
        Step::done(1, "COMMIT"),
    ];
    assert_eq!(run(RepeatableRead, &somebody), "agree");
}

#[test]
fn a_row_that_is_looked_up_by_its_key_is_all_that_is_locked() {
    let run = |update: &'static str, read: &'static str| {
        let update = Step::write(1, update, CHANGED_1);
        run(
            RepeatableRead,
            &beside(update, Step::sent(2, read, Got::Refused)),
        )
    };
    let other = "SELECT pkey, vkey FROM t WHERE pkey = 2 FOR UPDATE NOWAIT";
    let same = "SELECT pkey, vkey FROM t WHERE pkey = 1 FOR UPDATE NOWAIT";
    assert_eq!(run(UPDATE_1, other), "unfounded-refusal T2.2");
    assert_eq!(run(UPDATE_1, same), "agree");
    // The read comes by the row that is locked on its way.
    assert_eq!(run(UPDATE_1, NOWAIT), "agree");
    let by_range = "SELECT pkey, vkey FROM t WHERE pkey > 1 FOR UPDATE NOWAIT";
    assert_eq!(run(UPDATE_1, by_range), "agree");
    let searched = "UPDATE t SET vkey = 1000 WHERE vkey = 10";
    assert_eq!(run(searched, other), "agree");
}

/// DDL that waits for the users of a table keeps whoever comes behind it from the table, NOWAIT or not.
#[test]
fn nowait_may_be_refused_behind_ddl_of_its_table() {
    let behind = |ddl: &'static str| {
        [
            Step::done(1, "BEGIN"),
            Step::sent(1, PLAIN, FOUND),
            Step::waits(2, ddl),
            Step::sent(1, NOWAIT, Got::Refused),
            Step::done(1, "COMMIT"),
            Step::answered(2, Got::Affected(0)),
        ]
    };
    let (own, other) = ("CREATE INDEX x1 ON t (vkey)", "CREATE INDEX x1 ON u (vkey)");
    assert_eq!(run(RepeatableRead, &behind(own)), "agree");
    assert_eq!(
        run(RepeatableRead, &behind(other)),
        "unfounded-refusal T1.3"
    );
}

/// T2.1 waits for T1 and is answered when that has ended.
fn after_a_wait(sql: &'static str, got: Got) -> [Step; 5] {
    [
        Step::done(1, "BEGIN"),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::waits(2, sql),
        Step::done(1, "COMMIT"),
        Step::answered(2, got),
    ]
}

#[test]
fn an_answer_that_nothing_released_was_no_wait_but_a_look_at_a_request_that_was_given_up() {
    let found = Got::Rows(&[(2, 20)]);
    let mut steps = after_a_wait(SKIP, found);
    steps.swap(3, 4);
    assert_eq!(run(RepeatableRead, &steps), "agree");
    // The same request, answered behind the release.
    steps.swap(3, 4);
    assert_eq!(run(RepeatableRead, &steps), "waited T2.1");
}

#[test]
fn a_plain_read_waits_where_it_locks_and_nowhere_else() {
    let mut steps = after_a_wait(PLAIN, Got::Rows(&[(2, 20)])).to_vec();
    steps.insert(1, Step::done(2, "BEGIN"));
    for level in [ReadUncommitted, ReadCommitted, RepeatableRead] {
        assert_eq!(run(level, &steps), "waited T2.2", "{level}");
    }
    assert_ne!(run(Serializable, &steps), "waited T2.2");
}

#[test]
fn neither_nowait_nor_skip_locked_waits() {
    let found = Got::Rows(&[(2, 20)]);
    for sql in [NOWAIT, SKIP] {
        let said = run(RepeatableRead, &after_a_wait(sql, found));
        assert_eq!(said, "waited T2.1", "{sql}");
    }
    // What is refused may have stood in the queue for a moment.
    let refused = after_a_wait(NOWAIT, Got::Refused);
    assert_ne!(run(RepeatableRead, &refused), "waited T2.1");
    // Without the clause it may wait, and so may a subquery that has it not.
    let nested =
        "SELECT pkey, vkey FROM t WHERE pkey IN (SELECT pkey FROM t FOR UPDATE) FOR UPDATE NOWAIT";
    for sql in [LOCKING, nested] {
        assert_eq!(
            run(RepeatableRead, &after_a_wait(sql, found)),
            "agree",
            "{sql}"
        );
    }
}

const SKIP: &str = "SELECT pkey, vkey FROM t WHERE vkey < 50 FOR UPDATE SKIP LOCKED";

#[test]
fn skip_locked_leaves_out_what_is_held_and_nothing_else() {
    let wrong = "wrong-skip T2.2 against T1.2";
    let beside = |got| read_beside_an_update(SKIP, got);
    assert_eq!(run(RepeatableRead, &beside(Got::Rows(&[(2, 20)]))), "agree");
    assert_eq!(run(RepeatableRead, &beside(Got::Rows(&[]))), wrong);
    // Who looks for rows by no key may hold more than what it changed.
    let searched = Step::write(1, "UPDATE t SET vkey = 1000 WHERE vkey = 10", CHANGED_1);
    let steps = self::beside(searched, Step::sent(2, SKIP, Got::Rows(&[])));
    assert_eq!(run(RepeatableRead, &steps), "agree");
    assert_eq!(run(RepeatableRead, &beside(FOUND)), wrong);
    let uncommitted = Got::Rows(&[(1, 1000), (2, 20)]);
    assert_eq!(run(RepeatableRead, &beside(uncommitted)), wrong);
    let alone = |got| {
        [
            Step::done(1, "BEGIN"),
            Step::sent(1, SKIP, got),
            Step::done(1, "COMMIT"),
        ]
    };
    assert_eq!(run(RepeatableRead, &alone(FOUND)), "agree");
    let short = Got::Rows(&[(2, 20)]);
    assert_eq!(run(RepeatableRead, &alone(short)), "wrong-skip T1.2");
}

#[test]
fn what_a_run_tells_of_nowait_and_skip_locked_is_compared() {
    let (_, tested) = runs::judge(RepeatableRead, &read_beside_an_update(SKIP, Got::Rows(&[])));
    assert_eq!(tested, ["T2.2"]);
    let (_, tested) = runs::judge(RepeatableRead, &read_beside_an_update(NOWAIT, Got::Refused));
    assert_eq!(tested, ["T2.2"]);
    let (_, tested) = runs::judge(RepeatableRead, &read_beside_an_update(LOCKING, FOUND));
    assert_eq!(tested, Vec::<String>::new());
}

/// TiDB: only a row whose committed version fits is locked, and waited for.
#[test]
fn a_read_may_pass_over_uncommitted_rows_where_the_engine_chooses_by_the_committed_ones() {
    let fits_later = "INSERT INTO t VALUES (4, 40)";
    let later: &[(i64, i64)] = &[(1, 10), (2, 20), (3, 90), (4, 40)];
    for (write, then, by_committed) in [
        (fits_later, later, "agree"),
        (UPDATE_1, CHANGED_1, "unlocked-read T2.2 against T1.2"),
    ] {
        let steps = [
            Step::done(1, "BEGIN"),
            Step::write(1, write, then),
            Step::done(2, "BEGIN"),
            Step::sent(2, LOCKING, FOUND),
            Step::done(1, "COMMIT"),
            Step::done(2, "COMMIT"),
        ];
        let waits = "unlocked-read T2.2 against T1.2";
        assert_eq!(run(ReadCommitted, &steps), waits, "{write}");
        assert_eq!(run_passing_over(ReadCommitted, &steps), by_committed);
    }
}

#[test]
fn a_level_without_row_locks_is_not_judged() {
    let excluded = |text: &str| {
        let dialect = parse("mysql", text, &ServerVersion(vec![99])).expect("valid");
        let case = runs::case(ReadCommitted, &[Step::done(1, "BEGIN")], &dialect);
        let engine = LockOracle.excludes_engine(&dialect);
        engine.or_else(|| LockOracle.excludes(&case, &dialect))
    };
    let text = builtin("mysql").expect("listed");
    assert_eq!(excluded(text), None);
    let without = text.replace("read-committed = \"rows\"", "");
    assert_eq!(excluded(&without), Some(UndecidedReason::NoRowLocks));
    let unseen = text.replace("observer = \"uncommitted\"", "observer = \"writer\"");
    let reason = UndecidedReason::NothingShowsUncommittedRows;
    assert_eq!(excluded(&unseen), Some(reason));
}

/// The holder's next statement and the read go on together: which of the two came first nobody saw.
const NEXT_OF_HOLDER: &str = "UPDATE t SET vkey = 1001 WHERE pkey = 3";

#[test]
fn a_read_whose_result_the_holder_no_longer_changes_when_both_go_on_is_none() {
    let steps = [
        Step::done(1, "BEGIN"),
        Step::write(
            1,
            "UPDATE t SET vkey = 30 WHERE pkey = 3",
            &[(1, 10), (2, 20), (3, 30)],
        ),
        Step::waits(1, NEXT_OF_HOLDER),
        Step::done(2, "BEGIN"),
        Step::waits(2, LOCKING),
        Step::resumes(1, &[(1, 10), (2, 20), (3, 1001)]),
        Step::answered(2, FOUND),
        Step::done(1, "COMMIT"),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(run(RepeatableRead, &steps), "agree");
}

#[test]
fn a_read_that_got_past_a_row_whatever_the_holder_did_meanwhile_is_found() {
    let steps = [
        Step::done(1, "BEGIN"),
        Step::write(1, UPDATE_1, CHANGED_1),
        Step::waits(1, NEXT_OF_HOLDER),
        Step::done(2, "BEGIN"),
        Step::waits(2, LOCKING),
        Step::resumes(1, &[(1, 1000), (2, 20), (3, 1001)]),
        Step::answered(2, FOUND),
        Step::done(1, "COMMIT"),
        Step::done(2, "COMMIT"),
    ];
    assert_eq!(
        run(RepeatableRead, &steps),
        "unlocked-read T2.2 against T1.2"
    );
}
