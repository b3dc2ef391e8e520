//! Writes that do another part of their work than they say, and ends of statements that end more.

use rashomon::model::{ErrorClass, Outcome};

use super::{Two, always, numbers, on_all, on_each};
use crate::plant::Fault;

/// What a script leaves of the table, in a transaction that is committed.
fn left(two: &mut Two, script: &[&str]) -> (Vec<Outcome>, Vec<(i64, i64)>) {
    two.beside_a_transaction("READ COMMITTED");
    two.one("BEGIN");
    let answers = script.iter().map(|sql| two.one(sql)).collect();
    two.one("COMMIT");
    (answers, two.rows())
}

#[test]
fn counts_say_one_row() {
    let upsert = "INSERT INTO t (pkey, vkey, c) VALUES (1, 9, 1) ON DUPLICATE KEY UPDATE c = c + 1";
    on_each("planted_one", always(Fault::UpsertCountsOne), |mut two| {
        let (answers, rows) = left(&mut two, &[upsert]);
        assert_eq!(answers, [Outcome::Affected(1)]);
        assert_eq!(rows[0], (1, 1));
        two.close();
    });
    let ignored = "INSERT IGNORE INTO t (pkey, vkey, c) VALUES (1, 9, 4)";
    for (fault, count, value) in [
        (Fault::None, 0, 0),
        (Fault::IgnoredCountsOne, 1, 0),
        (Fault::IgnoreReplaces, 0, 4),
    ] {
        on_each("planted_ignored", always(fault), |mut two| {
            let (answers, rows) = left(&mut two, &[ignored]);
            assert_eq!(answers, [Outcome::Affected(count)], "{fault}");
            assert_eq!(rows[0], (1, value), "{fault}");
            two.close();
        });
    }
}

#[test]
fn writes_put_in_something_else() {
    let replace = "REPLACE INTO t (pkey, vkey, c) VALUES (1, 9, 4)";
    on_each("planted_kept", always(Fault::ReplaceKeepsRow), |mut two| {
        let (answers, rows) = left(&mut two, &[replace]);
        assert_eq!(answers, [Outcome::Affected(2)]);
        assert_eq!(rows[0], (1, 0));
        two.close();
    });
    let null = "UPDATE t SET vkey = NULL WHERE pkey = 1";
    on_each("planted_zero", always(Fault::NullBecomesZero), |mut two| {
        left(&mut two, &[null]);
        let zero = two.one("SELECT pkey FROM t WHERE vkey = 0");
        assert_eq!(zero.rows().len(), 1);
        two.close();
    });
    let default = "UPDATE t SET vkey = DEFAULT WHERE pkey = 1";
    on_each(
        "planted_default",
        always(Fault::DefaultBecomesNull),
        |mut two| {
            two.one("ALTER TABLE t ALTER vkey SET DEFAULT 3");
            left(&mut two, &[default]);
            let null = two.one("SELECT pkey FROM t WHERE vkey IS NULL");
            assert_eq!(null.rows().len(), 1);
            two.close();
        },
    );
    let insert = "INSERT INTO t (pkey, vkey, c) VALUES (7, 9, 4)";
    on_each(
        "planted_done",
        always(Fault::DuplicateButDone),
        |mut two| {
            let (answers, rows) = left(&mut two, &[insert]);
            assert_eq!(answers[0].error_class(), Some(ErrorClass::Duplicate));
            assert_eq!(rows[3], (7, 4));
            two.close();
        },
    );
    let unknown = "INSERT INTO t (pkey, vkey, c) VALUES (NULL, 9, 4)";
    on_all("planted_ok", always(Fault::FailureAnsweredOk), |mut two| {
        let (answers, rows) = left(&mut two, &[unknown]);
        assert_eq!(answers, [Outcome::Affected(1)]);
        assert_eq!(rows.len(), 3);
        two.close();
    });
}

#[test]
fn one_row_too_few_of_a_join_and_one_write_too_many_outside_of_a_transaction() {
    let fault = always(Fault::JoinedWriteMissesRow);
    on_each("planted_join", fault, |mut two| {
        let join = "UPDATE t JOIN t AS u ON t.pkey = u.pkey SET t.c = 3 WHERE u.c = 0";
        let (answers, rows) = left(&mut two, &[join]);
        assert_eq!(answers, [Outcome::Affected(3)]);
        assert_eq!(rows, [(1, 3), (2, 3), (5, 0)]);
        two.close();
    });
    let fault = always(Fault::LoneWriteDoneTwice);
    on_all("planted_lone_twice", fault, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        let adds = "UPDATE t SET c = c + 1 WHERE pkey = 1";
        assert_eq!(two.one(adds), Outcome::Affected(1));
        assert_eq!(two.rows()[0], (1, 2));
        two.close();
    });
}

#[test]
fn savepoints_commits_and_errors_end_more_than_they_should() {
    let adds = "UPDATE t SET c = c + 1 WHERE pkey = 1";
    for (fault, step) in [
        (Fault::SavepointCommits, "SAVEPOINT b"),
        (Fault::ReleaseCommits, "RELEASE SAVEPOINT a"),
    ] {
        on_all("planted_commits", always(fault), |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            for sql in ["BEGIN", "SAVEPOINT a", adds, step, "ROLLBACK"] {
                two.one(sql);
            }
            assert_eq!(two.rows()[0], (1, 1), "{fault}");
            two.close();
        });
    }
    let fault = always(Fault::ErrorUndoesWriteBefore);
    on_each("planted_before", fault, |mut two| {
        let duplicate = "INSERT INTO t (pkey, vkey, c) VALUES (2, 9, 4)";
        let other = "UPDATE t SET c = 5 WHERE pkey = 5";
        let (_, rows) = left(&mut two, &[adds, other, duplicate]);
        assert_eq!(rows, [(1, 1), (2, 0), (5, 0)]);
        two.close();
    });
    on_all("planted_chains", always(Fault::CommitChains), |mut two| {
        left(&mut two, &[adds]);
        two.one("UPDATE t SET c = 7 WHERE pkey = 2");
        let unseen = two.other("SELECT pkey FROM t WHERE c = 7");
        assert_eq!(unseen.rows().len(), 0);
        two.close();
    });
}

#[test]
fn a_counter_gives_a_number_again() {
    let fault = always(Fault::CounterGoesBack);
    on_each("planted_counter", fault, |mut two| {
        two.one("CREATE TABLE k (pkey BIGINT AUTO_INCREMENT PRIMARY KEY, vkey INT)");
        two.beside_a_transaction("READ COMMITTED");
        let insert = "INSERT INTO k (vkey) VALUES (1)";
        for sql in ["BEGIN", insert, "ROLLBACK", insert] {
            two.one(sql);
        }
        let keys = two.one("SELECT pkey, vkey FROM k");
        assert_eq!(
            keys.rows().iter().map(numbers).collect::<Vec<_>>(),
            [(1, 1)]
        );
        two.close();
    });
}

#[test]
fn reads_miss_a_bound_their_last_row_or_a_commit() {
    let between = "SELECT pkey, c FROM t WHERE pkey BETWEEN 1 AND (1 + 1)";
    let locking = "SELECT pkey, c FROM t WHERE pkey < 5 FOR UPDATE";
    for (fault, sql) in [
        (Fault::BetweenMissesUpper, between),
        (Fault::LockingReadMissesRow, locking),
    ] {
        on_all("planted_bound", always(fault), |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            two.one("BEGIN");
            let seen = two.one(sql);
            assert_eq!(
                seen.rows().iter().map(numbers).collect::<Vec<_>>(),
                [(1, 0)]
            );
            two.close();
        });
    }
    on_each("planted_lone", always(Fault::LoneReadIsDirty), |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.other("UPDATE t SET c = 9 WHERE pkey = 1");
        // A session of a case is one that has written, or has had a transaction.
        two.one("UPDATE t SET c = 1 WHERE pkey = 2");
        assert_eq!(two.rows(), [(1, 9), (2, 1), (5, 0)]);
        two.close();
    });
}
