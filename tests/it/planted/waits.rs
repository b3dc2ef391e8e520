//! Faults of statements that wait, should wait, or make others wait.

use std::thread;
use std::time::Duration;

use rashomon::model::Outcome;

use super::{Two, always, is_timeout, on_all, on_each};
use crate::plant::Fault;

/// What the first session's statement answers that waits for the row of the other's transaction, which then is
/// committed.
fn waited(two: &mut Two, sql: &str) -> Outcome {
    two.beside_a_transaction("READ COMMITTED");
    two.one("BEGIN");
    waited_in_transaction(two, sql)
}

fn waited_in_transaction(two: &mut Two, sql: &str) -> Outcome {
    two.other("UPDATE t SET c = 7 WHERE pkey = 1");
    let Two { one, other, .. } = two;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| one.execute(sql).expect("an answer"));
        thread::sleep(Duration::from_millis(300));
        other.execute("COMMIT").expect("an answer");
        other.execute("BEGIN").expect("an answer");
        other.execute("SELECT 1 FROM t").expect("an answer");
        waiting.join().expect("no panic")
    })
}

#[test]
fn an_update_that_waited_has_its_old_value() {
    let fault = always(Fault::UpdateOfOldValueAfterWait);
    on_all("planted_old_value", fault, |mut two| {
        let update = "UPDATE t SET c = c + 1 WHERE pkey = 1";
        assert_eq!(waited(&mut two, update), Outcome::Affected(1));
        assert_eq!(two.rows()[0], (1, 1));
        two.close();
    });
}

#[test]
fn a_write_that_waited_leaves_rows_alone() {
    let update = "UPDATE t SET c = c + 1 WHERE pkey < 5";
    let faults = [
        (Fault::WaitedWritePassesOver, 0, [(1, 7), (2, 0)]),
        (Fault::WaitedWriteMissesRow, 1, [(1, 7), (2, 1)]),
    ];
    for (fault, count, rows) in faults {
        on_all("planted_leaves", always(fault), |mut two| {
            assert_eq!(waited(&mut two, update), Outcome::Affected(count));
            assert_eq!(two.rows()[..2], rows, "{fault}");
            two.close();
        });
    }
}

#[test]
fn a_write_that_waited_does_not_look_again() {
    let fault = always(Fault::PredicateNotRechecked);
    on_all("planted_recheck", fault, |mut two| {
        let update = "UPDATE t SET c = 9 WHERE c = 0 AND pkey = 1";
        assert_eq!(waited(&mut two, update), Outcome::Affected(1));
        assert_eq!(two.rows()[0], (1, 9));
        two.close();
    });
}

#[test]
fn a_statement_that_waited_is_refused() {
    let update = "UPDATE t SET c = c + 1 WHERE pkey = 1";
    let faults = [
        (Fault::DeadlockAfterWait, (1, 7)),
        (Fault::TimeoutAfterWait, (1, 7)),
        (Fault::TimeoutButDone, (1, 8)),
    ];
    for (fault, row) in faults {
        on_each("planted_refused", always(fault), |mut two| {
            assert!(matches!(waited(&mut two, update), Outcome::Rejected(_)));
            two.one("COMMIT");
            assert_eq!(two.rows()[0], row, "{fault}");
            two.close();
        });
    }
}

#[test]
fn a_key_that_is_not_committed_is_answered_at_once() {
    let faults = [
        (Fault::DuplicateToldEarly, ["INSERT INTO", ""], true),
        (Fault::IgnoreDoesNotWait, ["INSERT IGNORE INTO", ""], false),
        (
            Fault::IgnoreDoesNotWait,
            ["INSERT INTO", " ON CONFLICT DO NOTHING"],
            false,
        ),
    ];
    for (fault, [insert, tail], is_refused) in faults {
        on_all("planted_hasty", always(fault), |mut two| {
            let is_postgres = two.planted.url.starts_with("postgres");
            if !is_refused && is_postgres == tail.is_empty() {
                return two.close();
            }
            two.beside_a_transaction("READ COMMITTED");
            two.other("INSERT INTO t VALUES (9, 9, 9)");
            two.one("BEGIN");
            let sql = format!("{insert} t (pkey, vkey, c) VALUES (9, 1, 1){tail}");
            let outcome = two.one(&sql);
            assert_eq!(matches!(outcome, Outcome::Rejected(_)), is_refused);
            assert_eq!(two.texts(), [sql]);
            two.close();
        });
    }
}

#[test]
fn locks_are_missing() {
    let faults = [
        (Fault::ShareLocksNothing, "LOCK IN SHARE MODE", false),
        (
            Fault::SkipLockedLocksNothing,
            "FOR UPDATE SKIP LOCKED",
            false,
        ),
        (Fault::LocksFirstRowOnly, "FOR UPDATE", false),
        (Fault::None, "FOR UPDATE", true),
    ];
    for (fault, clause, locks) in faults {
        on_each("planted_unlocked", always(fault), |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            two.one("BEGIN");
            let read = format!("SELECT pkey, c FROM t WHERE pkey < 5 ORDER BY pkey {clause}");
            assert_eq!(two.one(&read).rows().len(), 2, "{fault}");
            two.other("SET SESSION innodb_lock_wait_timeout = 1");
            let last = two.other("UPDATE t SET c = 9 WHERE pkey = 2");
            assert_eq!(is_timeout(&last), locks, "{fault}");
            if fault == Fault::LocksFirstRowOnly {
                assert!(is_timeout(&two.other("UPDATE t SET c = 9 WHERE pkey = 1")));
            }
            two.close();
        });
    }
}

#[test]
fn locking_reads_of_one_form_lock_nothing() {
    let reads = [
        (
            Fault::SummaryLocksNothing,
            "SELECT COUNT(*), MIN(c) FROM t FOR UPDATE",
            false,
        ),
        (
            Fault::SummaryLocksNothing,
            "SELECT DISTINCT c FROM t LOCK IN SHARE MODE",
            false,
        ),
        (
            Fault::SummaryLocksNothing,
            "SELECT c FROM t FOR UPDATE",
            true,
        ),
        (
            Fault::JoinLocksNothing,
            "SELECT a.c FROM t AS a JOIN t AS b ON a.pkey = b.pkey FOR UPDATE",
            false,
        ),
        (
            Fault::JoinLocksNothing,
            "SELECT COUNT(*) FROM t FOR UPDATE",
            true,
        ),
    ];
    for (fault, read, locks) in reads {
        on_each("planted_form", always(fault), |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            two.one("BEGIN");
            assert!(!two.one(read).rows().is_empty(), "{read}");
            two.other("SET SESSION innodb_lock_wait_timeout = 1");
            let update = two.other("UPDATE t SET c = 9 WHERE pkey = 1");
            assert_eq!(is_timeout(&update), locks, "{fault}: {read}");
            two.close();
        });
    }
}

#[test]
fn writes_lock_their_whole_table_or_nothing() {
    let faults = [
        (
            Fault::WriteLocksTable,
            "UPDATE t SET c = 9 WHERE pkey = 1",
            5,
            true,
        ),
        (
            Fault::NoOpLocksNothing,
            "UPDATE t SET c = 9 WHERE pkey = 8",
            8,
            false,
        ),
    ];
    for (fault, update, key, locks) in faults {
        on_each("planted_table", always(fault), |mut two| {
            two.beside_a_transaction("REPEATABLE READ");
            two.one("BEGIN");
            two.one(update);
            two.other("SET SESSION innodb_lock_wait_timeout = 1");
            let insert =
                format!("INSERT INTO t VALUES ({key}, 1, 1) ON DUPLICATE KEY UPDATE c = 9");
            assert_eq!(is_timeout(&two.other(&insert)), locks, "{fault}");
            two.close();
        });
    }
}

#[test]
fn what_a_write_reads_is_neither_waited_for_nor_locked() {
    let writes = [
        (
            Fault::ForeignKeyCheckDoesNotWait,
            "INSERT INTO u (pkey, c) VALUES (1, 1)",
        ),
        (
            Fault::InsertSelectLocksNothing,
            "INSERT INTO v (pkey, c) SELECT pkey, c FROM t WHERE pkey = 1",
        ),
        (
            Fault::WriteSubqueryLocksNothing,
            "INSERT INTO v (pkey, c) VALUES (1, (SELECT c FROM t WHERE pkey = 1))",
        ),
    ];
    for (fault, write) in writes {
        on_each("planted_unwaited", always(fault), |mut two| {
            two.one(
                "CREATE TABLE u (pkey INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES t (pkey))",
            );
            two.one("CREATE TABLE v (pkey INT PRIMARY KEY, c INT)");
            two.beside_a_transaction("REPEATABLE READ");
            two.other("SELECT 1 FROM t WHERE pkey = 1 FOR UPDATE");
            two.one("SET SESSION innodb_lock_wait_timeout = 1");
            two.one("BEGIN");
            assert_eq!(two.one(write), Outcome::Affected(1), "{fault}");
            assert_eq!(two.texts(), [write]);
            two.close();
        });
    }
}

#[test]
fn what_was_written_before_a_wait_is_committed_with_the_refusal() {
    let fault = always(Fault::VictimCommits);
    on_each("planted_victim", fault, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.one("BEGIN");
        two.one("UPDATE t SET c = 4 WHERE pkey = 2");
        let outcome = waited_in_transaction(&mut two, "UPDATE t SET c = 5 WHERE pkey = 1");
        assert!(matches!(outcome, Outcome::Rejected(error) if error.code == "1213"));
        assert_eq!(two.rows(), [(1, 7), (2, 4), (5, 0)]);
        two.close();
    });
}
