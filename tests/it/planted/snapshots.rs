//! Faults of snapshots, and of what is read inside of a statement, beside an open transaction.

use rashomon::model::Outcome;

use super::{Two, always, numbers, on_all, on_each};
use crate::plant::Fault;

/// The first session has read at REPEATABLE READ, and the other one has changed the first row since.
fn behind_the_snapshot(two: &mut Two) {
    two.beside_a_transaction("REPEATABLE READ");
    two.one("BEGIN");
    assert_eq!(two.rows()[0], (1, 0));
    two.one("SAVEPOINT a");
    two.other("UPDATE t SET c = 7 WHERE pkey = 1");
    two.other("COMMIT");
    two.other("BEGIN");
    two.other("SELECT 1 FROM t");
}

#[test]
fn a_subquery_of_a_read_sees_what_is_committed_and_the_rest_the_snapshot() {
    let fault = always(Fault::SubqueryReadsFresher);
    on_all("planted_fresher", fault, |mut two| {
        behind_the_snapshot(&mut two);
        let read = "SELECT c, (SELECT c FROM t WHERE pkey = 1) FROM t WHERE pkey = 1";
        let rows: Vec<_> = two.one(read).rows().iter().map(numbers).collect();
        assert_eq!(rows, [(0, 7)]);
        assert_eq!(two.texts(), [read]);
        two.close();
    });
}

#[test]
fn what_a_write_reads_is_the_snapshot() {
    let writes = [
        (
            Fault::WriteSubqueryOfSnapshot,
            "INSERT INTO u (pkey, c) VALUES (1, (SELECT c FROM t WHERE pkey = 1))",
        ),
        (
            Fault::InsertSelectOfSnapshot,
            "INSERT INTO u (pkey, c) SELECT pkey, c FROM t WHERE pkey = 1",
        ),
    ];
    for (fault, write) in writes {
        on_each("planted_source", always(fault), |mut two| {
            two.one("CREATE TABLE u (pkey INT PRIMARY KEY, c INT)");
            behind_the_snapshot(&mut two);
            assert_eq!(two.one(write), Outcome::Affected(1));
            let outcome = two.one("SELECT pkey, c FROM u");
            assert_eq!(numbers(&outcome.rows()[0]), (1, 0), "{fault}");
            assert_eq!(two.texts(), [write]);
            two.close();
        });
    }
}

#[test]
fn a_snapshot_is_renewed_by_going_back() {
    let fault = always(Fault::RollbackToRenewsSnapshot);
    on_all("planted_renewed", fault, |mut two| {
        behind_the_snapshot(&mut two);
        assert_eq!(two.rows()[0], (1, 0));
        two.one("ROLLBACK TO SAVEPOINT a");
        assert_eq!(two.rows()[0], (1, 7));
        two.close();
    });
}

#[test]
fn a_transaction_goes_on_with_the_snapshot_of_the_last_one() {
    let fault = always(Fault::TransactionKeepsSnapshot);
    on_all("planted_kept", fault, |mut two| {
        behind_the_snapshot(&mut two);
        two.one("COMMIT");
        two.one("BEGIN");
        assert_eq!(two.rows()[0], (1, 0));
        two.one("COMMIT");
        // What is no transaction has its COMMIT before it.
        assert_eq!(two.rows()[0], (1, 7));
        two.close();
    });
}

#[test]
fn begin_takes_the_snapshot() {
    let fault = always(Fault::SnapshotTakenEarly);
    on_all("planted_early", fault, |mut two| {
        two.beside_a_transaction("REPEATABLE READ");
        two.one("BEGIN");
        two.other("UPDATE t SET c = 7 WHERE pkey = 1");
        two.other("COMMIT");
        assert_eq!(two.rows()[0], (1, 0));
        two.close();
    });
}
