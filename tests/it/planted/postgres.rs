//! Faults of PostgreSQL alone, and those that it shows in another way.

use rashomon::model::{ErrorClass, Outcome};

use super::{Two, always, on};
use crate::plant::Fault;
use crate::servers::Needs;

fn on_postgres(test: &str, fault: Fault, check: impl Fn(Two)) {
    on(&[Needs::Postgres], test, always(fault), check);
}

const UPDATE: &str = "UPDATE t SET c = c + 1 WHERE pkey < 5";

/// The keys and counters of the rows that a write returned.
fn returned(outcome: &Outcome) -> Vec<(i64, i64)> {
    outcome.rows().iter().map(super::numbers).collect()
}

#[test]
fn a_write_says_another_count_beside_the_rows_that_it_returns() {
    let update = format!("{UPDATE} RETURNING pkey, c");
    on_postgres("planted_tag", Fault::CountOffByOne, |mut two| {
        assert_eq!(returned(&two.one(&update)), [(1, 1), (2, 1)]);
        assert_eq!(two.one.reported(), Some(2));
        two.beside_a_transaction("READ COMMITTED");
        assert_eq!(returned(&two.one(&update)), [(1, 2), (2, 2)]);
        assert_eq!(two.one.reported(), Some(3));
        assert_eq!(two.one(UPDATE), Outcome::Affected(3));
        two.close();
    });
}

#[test]
fn what_a_write_returns_is_not_what_it_wrote() {
    let update = format!("{UPDATE} RETURNING pkey, c");
    let cases = [
        (
            "planted_value",
            Fault::ReturningChangesValue,
            vec![(1, 1), (2, 0)],
        ),
        ("planted_returned", Fault::ReturningMissesRow, vec![(1, 1)]),
        ("planted_hidden", Fault::ReturningHidesRow, vec![(1, 1)]),
    ];
    for (test, fault, told) in cases {
        on_postgres(test, fault, |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            assert_eq!(returned(&two.one(&update)), told, "{fault}");
            assert_eq!(two.rows(), [(1, 1), (2, 1), (5, 0)], "{fault}");
            two.close();
        });
    }
}

#[test]
fn rows_are_returned_as_they_were_and_a_merge_does_nothing() {
    let update = format!("{UPDATE} RETURNING pkey, c");
    on_postgres("planted_old", Fault::ReturningGivesOld, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        assert_eq!(returned(&two.one(&update)), [(1, 0), (2, 0)]);
        assert_eq!(two.rows(), [(1, 1), (2, 1), (5, 0)]);
        two.close();
    });
    let merge = "MERGE INTO t USING (VALUES (1)) AS v (k) ON t.pkey = v.k \
                 WHEN MATCHED THEN UPDATE SET c = 4";
    on_postgres("planted_merge", Fault::MergeLies, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        assert_eq!(two.one(merge), Outcome::Affected(1));
        assert_eq!(two.rows(), [(1, 0), (2, 0), (5, 0)]);
        two.close();
    });
}

#[test]
fn a_failed_statement_leaves_its_transaction_as_it_was() {
    on_postgres("planted_kept", Fault::ErrorKeepsTransaction, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.one("BEGIN");
        two.one(UPDATE);
        let refused = two.one("INSERT INTO t VALUES (7, 7, 0), (1, 1, 0)");
        assert_eq!(refused.error_class(), Some(ErrorClass::Duplicate));
        assert_eq!(two.rows(), [(1, 1), (2, 1), (5, 0)]);
        two.one("COMMIT");
        assert_eq!(two.rows(), [(1, 1), (2, 1), (5, 0)]);
        two.close();
    });
}

#[test]
fn refusals_without_a_cause_fail_the_transaction() {
    let cases = [
        ("planted_conflict", Fault::ConflictFromNowhere, "40001"),
        ("planted_deadlock", Fault::DeadlockFromNowhere, "40P01"),
        ("planted_timeout", Fault::TimeoutFromNowhere, "55P03"),
    ];
    for (test, fault, code) in cases {
        on_postgres(test, fault, |mut two| {
            two.beside_a_transaction("REPEATABLE READ");
            two.one("BEGIN");
            let codes = [two.one(UPDATE), two.one("SELECT 1")].map(|outcome| match outcome {
                Outcome::Rejected(error) => error.code,
                other @ (Outcome::Rows(_) | Outcome::Affected(_)) => panic!("{fault}: {other}"),
            });
            assert_eq!(codes, [code, "25P02"], "{fault}");
            two.one("ROLLBACK");
            assert_eq!(two.rows()[0], (1, 0), "{fault}");
            two.close();
        });
    }
}

#[test]
fn a_locking_read_locks_nothing() {
    for (fault, locks) in [(Fault::None, true), (Fault::MissingRowLocks, false)] {
        on_postgres("planted_lock", fault, |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            two.one("BEGIN");
            two.one("SELECT c FROM t WHERE pkey = 1 FOR UPDATE");
            two.other("SET lock_timeout = 200");
            let changed = two.other("UPDATE t SET c = 9 WHERE pkey = 1");
            let refused = changed.error_class() == Some(ErrorClass::LockTimeout);
            assert_eq!(refused, locks, "{fault}: {changed}");
            two.close();
        });
    }
}

#[test]
fn a_lone_insert_that_fails_leaves_rows() {
    on_postgres("planted_half", Fault::FailedInsertLeavesRows, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        let refused = two.one("INSERT INTO t VALUES (7, 7, 0), (1, 1, 0)");
        assert_eq!(refused.error_class(), Some(ErrorClass::Duplicate));
        assert_eq!(two.rows(), [(1, 0), (2, 0), (5, 0), (7, 0)]);
        two.close();
    });
}
