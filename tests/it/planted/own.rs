//! What a transaction does not find of its own writes, and statements that change what they do not name.

use rashomon::model::Outcome;

use super::{Two, always, numbers, on_all, on_each};
use crate::plant::Fault;

/// Row keys with counters.
type Pairs = &'static [(i64, i64)];

/// In a transaction beside another one: row 1 is changed, row 2 is deleted, row 7 is put in.
fn write_three(two: &mut Two) {
    two.beside_a_transaction("READ COMMITTED");
    two.one("BEGIN");
    two.one("UPDATE t SET c = 4 WHERE pkey = 1");
    two.one("DELETE FROM t WHERE pkey = 2");
    two.one("INSERT INTO t (pkey, vkey, c) VALUES (7, 7, 3)");
}

fn pairs(outcome: &Outcome) -> Vec<(i64, i64)> {
    outcome.rows().iter().map(numbers).collect()
}

#[test]
fn a_transaction_reads_past_its_own_writes() {
    let read = "SELECT pkey, c FROM t";
    let locking = "SELECT pkey, c FROM t FOR UPDATE";
    let right: Pairs = &[(1, 4), (5, 0), (7, 3)];
    let cases: [(Fault, &str, Pairs); 5] = [
        (Fault::None, read, right),
        (Fault::OwnInsertInvisible, read, &[(1, 4), (5, 0)]),
        (
            Fault::OwnDeleteVisible,
            read,
            &[(1, 4), (2, 0), (5, 0), (7, 3)],
        ),
        (Fault::OwnUpdateInvisible, read, &[(1, 0), (5, 0), (7, 3)]),
        (
            Fault::LockingReadMissesOwn,
            locking,
            &[(1, 0), (2, 0), (5, 0)],
        ),
    ];
    for (fault, sql, rows) in cases {
        on_all("planted_own_reads", always(fault), |mut two| {
            write_three(&mut two);
            let mut seen = pairs(&two.one(sql));
            seen.sort_unstable();
            assert_eq!(seen, rows, "{fault}");
            two.close();
        });
    }
}

#[test]
fn a_write_goes_past_what_its_transaction_wrote() {
    let everywhere = "UPDATE t SET c = 9 WHERE c > 0";
    let adds = "UPDATE t SET c = c + 1 WHERE pkey = 1";
    on_all("planted_own", always(Fault::WriteMissesOwn), |mut two| {
        write_three(&mut two);
        assert_eq!(two.one(everywhere), Outcome::Affected(0));
        two.close();
    });
    on_all("planted_own", always(Fault::UpdateMissesOwn), |mut two| {
        write_three(&mut two);
        two.one(adds);
        assert_eq!(two.rows(), [(1, 1), (5, 0), (7, 3)]);
        two.close();
    });
    on_each(
        "planted_own",
        always(Fault::SubqueryMissesOwn),
        |mut two| {
            write_three(&mut two);
            let sum = "SELECT pkey, (SELECT SUM(c) FROM t AS u) FROM t WHERE pkey = 5";
            let seen = two.one(sum);
            assert_eq!(pairs(&seen), [(5, 0)]);
            two.close();
        },
    );
}

#[test]
fn statements_change_rows_that_they_do_not_name() {
    let insert = "INSERT INTO t (pkey, vkey, c) VALUES (7, 7, 0)";
    let cases: [(Fault, &[&str]); 4] = [
        (Fault::InsertEvictsRow, &[insert]),
        (
            Fault::ReadDeletesRow,
            &[insert, "SELECT c FROM t WHERE pkey = 5"],
        ),
        (Fault::SavepointDeletesRow, &[insert, "SAVEPOINT a"]),
        (Fault::CommitDeletesRow, &[insert]),
    ];
    for (fault, script) in cases {
        on_all("planted_strays", always(fault), |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            two.one("BEGIN");
            for sql in script {
                two.one(sql);
            }
            two.one("COMMIT");
            let keys: Vec<i64> = two.rows().into_iter().map(|(key, _)| key).collect();
            assert_eq!(keys, [2, 5, 7], "{fault}");
            two.close();
        });
    }
}

#[test]
fn a_write_deletes_a_row_of_another_table() {
    let fault = always(Fault::WriteTouchesOtherTable);
    on_all("planted_other_table", fault, |mut two| {
        two.one("CREATE TABLE t2 (pkey INT PRIMARY KEY, c INT)");
        two.one("INSERT INTO t2 VALUES (1, 1), (2, 2)");
        two.beside_a_transaction("READ COMMITTED");
        two.one("BEGIN");
        two.one("UPDATE t SET c = 1 WHERE pkey = 1");
        assert_eq!(pairs(&two.one("SELECT pkey, c FROM t2")), [(2, 2)]);
        two.close();
    });
}
