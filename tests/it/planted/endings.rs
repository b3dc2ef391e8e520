//! Faults of ends and of writes that leave rows, beside an open transaction.

use rashomon::model::Outcome;

use super::{always, on_all, on_each};
use crate::plant::Fault;

#[test]
fn commit_loses_the_last_write_alone() {
    let fault = always(Fault::CommitLosesLastWrite);
    on_all("planted_last", fault, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.one("BEGIN");
        two.one("UPDATE t SET c = 1 WHERE pkey = 1");
        two.one("UPDATE t SET c = 2 WHERE pkey = 2");
        two.one("COMMIT");
        assert_eq!(two.rows(), [(1, 1), (2, 0), (5, 0)]);
        assert_eq!(two.texts(), ["COMMIT"]);
        two.close();
    });
}

#[test]
fn going_back_keeps_the_last_write_alone() {
    let fault = always(Fault::RollbackToKeepsLastWrite);
    on_all("planted_back", fault, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.one("BEGIN");
        two.one("SAVEPOINT a");
        two.one("UPDATE t SET c = 1 WHERE pkey = 1");
        two.one("UPDATE t SET c = 2 WHERE pkey = 2");
        assert_eq!(two.one("ROLLBACK TO SAVEPOINT a"), Outcome::Affected(0));
        assert_eq!(two.rows(), [(1, 0), (2, 2), (5, 0)]);
        two.close();
    });
}

#[test]
fn commit_is_refused_and_done() {
    let fault = always(Fault::CommitRefusedButDone);
    on_each("planted_refused_commit", fault, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.one("BEGIN");
        two.one("UPDATE t SET c = 1 WHERE pkey = 1");
        assert!(matches!(two.one("COMMIT"), Outcome::Rejected(error) if error.code == "1213"));
        assert_eq!(two.rows()[0], (1, 1));
        two.close();
    });
}

#[test]
fn a_row_that_gets_another_key_stays_or_vanishes() {
    let update = "UPDATE t SET pkey = 3 WHERE pkey = 2";
    let faults = [
        (
            Fault::MovedRowLeavesOldOne,
            vec![(1, 0), (2, 0), (3, 0), (5, 0)],
        ),
        (Fault::MovedRowVanishes, vec![(1, 0), (5, 0)]),
    ];
    for (fault, rows) in faults {
        on_each("planted_moved", always(fault), |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            two.one("BEGIN");
            assert_eq!(two.one(update), Outcome::Affected(1));
            assert_eq!(two.rows(), rows, "{fault}");
            two.close();
        });
    }
}

#[test]
fn a_limit_takes_the_rows_of_the_other_end() {
    let fault = always(Fault::LimitedWriteTakesLast);
    on_each("planted_limit", fault, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.one("UPDATE t SET c = 1 WHERE pkey < 5 ORDER BY pkey LIMIT 1");
        two.one("UPDATE t SET c = 2 WHERE pkey < 9 ORDER BY pkey DESC LIMIT 1");
        assert_eq!(two.rows(), [(1, 2), (2, 1), (5, 0)]);
        two.close();
    });
}

#[test]
fn a_replaced_row_keeps_the_columns_that_are_not_named() {
    let fault = always(Fault::ReplaceKeepsColumns);
    on_each("planted_replace", fault, |mut two| {
        two.one("UPDATE t SET c = 4");
        two.beside_a_transaction("READ COMMITTED");
        two.one("REPLACE INTO t (pkey, vkey) VALUES (1, 9)");
        assert_eq!(two.rows()[0], (1, 4));
        two.close();
    });
}

#[test]
fn a_write_outside_of_a_transaction_is_done_in_steps_or_late() {
    for fault in [Fault::LoneWriteInSteps, Fault::LoneWriteComesLate] {
        on_all("planted_lone", always(fault), |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            let update = "UPDATE t SET c = c + 1 WHERE pkey < 5";
            assert_eq!(two.one(update), Outcome::Affected(2), "{fault}");
            assert_eq!(two.rows(), [(1, 1), (2, 1), (5, 0)], "{fault}");
            assert_eq!(two.texts(), [update]);
            two.close();
        });
    }
}

#[test]
fn a_failed_insert_leaves_rows_outside_of_a_transaction_alone() {
    let fault = always(Fault::LoneFailedInsertLeavesRows);
    on_each("planted_lone_insert", fault, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        let insert = "INSERT INTO t VALUES (3, 3, 3), (1, 1, 1)";
        two.one("BEGIN");
        assert!(matches!(two.one(insert), Outcome::Rejected(_)));
        two.one("COMMIT");
        assert_eq!(two.rows(), [(1, 0), (2, 0), (5, 0)]);
        assert!(matches!(two.one(insert), Outcome::Rejected(_)));
        assert_eq!(two.rows(), [(1, 0), (2, 0), (3, 3), (5, 0)]);
        two.close();
    });
}
