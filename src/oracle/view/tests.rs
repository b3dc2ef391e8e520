//! What documented behaviour allows after a wait, and planted differences right beside it that must
//! stay violations. The runs are scripts as InnoDB would record them; statements run alone on SQLite.

mod cut_reads;
mod foreign_keys;
mod locked_refusals;
pub(in crate::oracle) mod script;
mod woken_together;

use self::script::{Line, Rows, Script};
use crate::model::{AnomalyClass, ErrorClass, IsolationLevel, SqlError, UndecidedReason, Verdict};
use Line::{Answers, Fails, Reads, Resumes, Returns, Stands, Waits};

const RC: IsolationLevel = IsolationLevel::ReadCommitted;
const RR: IsolationLevel = IsolationLevel::RepeatableRead;

/// Row key, version key, and a column that an UPDATE asks for.
const TABLE: &str = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT)";
const ROWS: &[[i64; 3]] = &[[1, 1, 0], [2, 2, 5], [3, 3, 0]];

/// T1 gives every row a value that counts while T2 waits for it.
const T1_UPDATES: &str = "UPDATE t SET c = 10, vkey = 1000";
const T2_UPDATES: &str = "UPDATE t SET vkey = 1001 WHERE c <> 0";
const T1_LEFT: &[[i64; 3]] = &[[1, 1000, 10], [2, 1000, 10], [3, 1000, 10]];

/// The verdict on an UPDATE that waited, by how many rows it says it changed, and what stood then.
fn after_a_wait(affected: u64, stood: &'static [[i64; 3]]) -> Verdict {
    let lines = [
        Answers(1, "BEGIN", 0),
        Answers(2, "BEGIN", 0),
        Answers(1, T1_UPDATES, 3),
        Stands(T1_LEFT),
        Waits(2, T2_UPDATES),
        Answers(1, "COMMIT", 0),
        Resumes(2, affected),
        Stands(stood),
        Answers(2, "COMMIT", 0),
    ];
    Script::new(RC, TABLE, ROWS, &lines).verdict()
}

fn is_violation(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Violation(_))
}

fn known(id: &str) -> Verdict {
    Verdict::Known(id.to_owned())
}

#[test]
fn an_update_that_waited_may_see_every_row_as_it_is_now() {
    let all: &[[i64; 3]] = &[[1, 1001, 10], [2, 1001, 10], [3, 1001, 10]];
    assert_eq!(after_a_wait(3, all), Verdict::Agree);
}

#[test]
fn an_update_that_waited_may_have_passed_over_a_row_that_did_not_count_then() {
    // MySQL#104833: row 1 was passed over, row 3 came after the wait.
    let mixed: &[[i64; 3]] = &[[1, 1000, 10], [2, 1001, 10], [3, 1001, 10]];
    assert_eq!(after_a_wait(2, mixed), known("MySQL#104833"));
    let only_the_one: &[[i64; 3]] = &[[1, 1000, 10], [2, 1001, 10], [3, 1000, 10]];
    assert_eq!(after_a_wait(1, only_the_one), known("MySQL#104833"));
}

#[test]
fn an_update_lost_after_a_wait_is_a_violation() {
    // Row 2 counted at every moment: nothing allows to pass it over.
    assert!(is_violation(&after_a_wait(0, T1_LEFT)));
    let without_row_2: &[[i64; 3]] = &[[1, 1001, 10], [2, 1000, 10], [3, 1001, 10]];
    assert!(is_violation(&after_a_wait(2, without_row_2)));
}

#[test]
fn a_row_written_from_the_version_before_the_wait_is_a_violation() {
    // T1's 10 in row 2 is lost: T2 wrote on top of the version that it saw when it was sent.
    let stale: &[[i64; 3]] = &[[1, 1001, 10], [2, 1001, 5], [3, 1001, 10]];
    assert!(is_violation(&after_a_wait(3, stale)));
}

/// The verdict on what a locking read returned after it waited for T1's update of every row.
fn locking_read(sql: &'static str, rows: &'static [[i64; 3]]) -> Verdict {
    let lines = [
        Answers(1, "BEGIN", 0),
        Answers(2, "BEGIN", 0),
        Answers(1, T1_UPDATES, 3),
        Stands(T1_LEFT),
        Waits(2, sql),
        Answers(1, "COMMIT", 0),
        Line::Returns(2, rows),
        Answers(2, "COMMIT", 0),
    ];
    Script::new(RC, TABLE, ROWS, &lines).verdict()
}

const LOCKING: &str = "SELECT pkey, vkey, c FROM t WHERE c <> 0 FOR UPDATE";

#[test]
fn a_locking_read_that_waited_returns_rows_as_they_are_now_or_passes_them_over() {
    assert_eq!(locking_read(LOCKING, T1_LEFT), Verdict::Agree);
    assert_eq!(locking_read(LOCKING, &T1_LEFT[1..]), known("MySQL#104833"));
}

#[test]
fn a_locking_read_of_old_rows_after_a_wait_is_a_violation() {
    for planted in [
        // The row as it was before the wait, alone and among new ones.
        &[[2, 2, 5]][..],
        &[[1, 1000, 10], [2, 2, 5], [3, 1000, 10]],
        // The row that counted all the time is not there.
        &[[1, 1000, 10], [3, 1000, 10]],
        &[],
        // A row twice, and one that nobody wrote.
        &[[2, 1000, 10], [2, 1000, 10], [3, 1000, 10]],
        &[[2, 1000, 10], [3, 1000, 11]],
        &[[2, 1000, 10], [4, 1000, 10]],
    ] {
        assert!(is_violation(&locking_read(LOCKING, planted)), "{planted:?}");
    }
}

#[test]
fn an_aggregate_under_a_lock_counts_one_mix_of_the_moments() {
    const COUNT: &str = "SELECT COUNT(*), MAX(vkey), 0 FROM t WHERE c <> 0 FOR UPDATE";
    assert_eq!(locking_read(COUNT, &[[3, 1000, 0]]), Verdict::Agree);
    assert_eq!(locking_read(COUNT, &[[2, 1000, 0]]), known("MySQL#104833"));
    assert_eq!(locking_read(COUNT, &[[1, 1000, 0]]), known("MySQL#104833"));
    assert!(is_violation(&locking_read(COUNT, &[[1, 2, 0]])));
    assert!(is_violation(&locking_read(COUNT, &[[0, 1000, 0]])));
    assert!(is_violation(&locking_read(COUNT, &[[4, 1000, 0]])));
}

/// A table whose rows have a place: `c` is a key.
const PLACES: &str = "CREATE TABLE t (pkey INT NOT NULL, vkey INT, c INT NOT NULL PRIMARY KEY)";

/// T1 moves row 2 to another place while T2 deletes everything; the verdict by what T2 left.
fn deletes_around_a_move(level: IsolationLevel, left: &'static [[i64; 3]]) -> Verdict {
    let deleted = 3 - left.len() as u64;
    let lines = [
        Answers(1, "BEGIN", 0),
        Answers(2, "BEGIN", 0),
        Answers(1, "UPDATE t SET c = 3, vkey = 1000 WHERE pkey = 2", 1),
        Stands(&[[1, 1, 1], [2, 1000, 3], [3, 3, 9]]),
        Waits(2, "DELETE FROM t"),
        Answers(1, "COMMIT", 0),
        Resumes(2, deleted),
        Stands(left),
        Answers(2, "COMMIT", 0),
    ];
    let rows = &[[1, 1, 1], [2, 2, 8], [3, 3, 9]];
    Script::new(level, PLACES, rows, &lines).verdict()
}

#[test]
fn a_row_that_was_moved_meanwhile_may_be_passed_over_and_no_other() {
    for level in [RC, RR] {
        assert_eq!(deletes_around_a_move(level, &[]), Verdict::Agree);
        let moved = deletes_around_a_move(level, &[[2, 1000, 3]]);
        assert!(matches!(moved, Verdict::Known(_)), "{level}: {moved:?}");
        for stayed in [&[[1, 1, 1]][..], &[[3, 3, 9]], &[[2, 1000, 3], [3, 3, 9]]] {
            let verdict = deletes_around_a_move(level, stayed);
            assert!(is_violation(&verdict), "{level}: {stayed:?}");
        }
    }
}

/// T2 moves row 2 after T1 took its snapshot, then T1 writes every row; the verdict by what T1 reads.
fn reads_its_own_write_of_a_moved_row(rows: &'static [[i64; 3]]) -> Verdict {
    const BY_PLACE: &str =
        "CREATE TABLE t (pkey INT NOT NULL, vkey INT, c INT NOT NULL PRIMARY KEY)";
    let lines = [
        Answers(1, "BEGIN", 0),
        Line::Reads(1, "SELECT pkey, vkey, c FROM t", &[[1, 1, 1], [2, 2, 8]]),
        Answers(2, "BEGIN", 0),
        Answers(2, "UPDATE t SET c = 3, vkey = 1000 WHERE pkey = 2", 1),
        Stands(&[[1, 1, 1], [2, 1000, 3]]),
        Answers(2, "COMMIT", 0),
        Answers(1, "UPDATE t SET vkey = 1001", 2),
        Stands(&[[1, 1001, 1], [2, 1001, 3]]),
        Line::Reads(1, "SELECT pkey, vkey, c FROM t", rows),
        Answers(1, "COMMIT", 0),
    ];
    Script::new(RR, BY_PLACE, &[[1, 1, 1], [2, 2, 8]], &lines).verdict()
}

#[test]
fn a_snapshot_may_show_a_moved_row_at_its_old_place_its_new_one_or_both() {
    let verdict = reads_its_own_write_of_a_moved_row;
    assert_eq!(verdict(&[[1, 1001, 1], [2, 1001, 3]]), Verdict::Agree);
    for allowed in [
        &[[1, 1001, 1], [2, 1001, 3], [2, 2, 8]][..],
        &[[1, 1001, 1], [2, 2, 8]],
        &[[1, 1001, 1]],
    ] {
        assert_eq!(verdict(allowed), known("MDEV-32898"), "{allowed:?}");
    }
    for planted in [
        // The version between, the new place twice, another row's old version, an invented row.
        &[[1, 1001, 1], [2, 1000, 3]][..],
        &[[1, 1001, 1], [2, 1001, 3], [2, 1001, 3]],
        &[[1, 1, 1], [2, 1001, 3]],
        &[[1, 1001, 1], [2, 1001, 3], [4, 1001, 4]],
    ] {
        assert!(is_violation(&verdict(planted)), "{planted:?}");
    }
}

/// MDEV-26642: T1's UPDATE finds row 2 as T2 left it, and changes nothing in it; the verdict by what
/// T1 reads then.
fn reads_after_an_update_that_changes_nothing(rows: &'static [[i64; 3]]) -> Verdict {
    const BARE: &str = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, a INT, b INT)";
    const READ: &str = "SELECT pkey, a, b FROM t";
    let lines = [
        Answers(1, "BEGIN", 0),
        Line::Reads(1, READ, &[[1, 0, 0], [2, 1, 1], [3, 2, 2]]),
        Answers(2, "UPDATE t SET a = 10 WHERE b > 0", 2),
        Stands(&[[1, 0, 0], [2, 10, 1], [3, 10, 2]]),
        Answers(1, "UPDATE t SET a = 10 WHERE b < 2", 1),
        Stands(&[[1, 10, 0], [2, 10, 1], [3, 10, 2]]),
        Line::Reads(1, READ, rows),
        Answers(1, "COMMIT", 0),
    ];
    Script::new(RR, BARE, &[[1, 0, 0], [2, 1, 1], [3, 2, 2]], &lines).verdict()
}

#[test]
fn an_update_that_changes_nothing_may_make_a_version_or_not() {
    let verdict = reads_after_an_update_that_changes_nothing;
    assert_eq!(verdict(&[[1, 10, 0], [2, 1, 1], [3, 2, 2]]), Verdict::Agree);
    assert_eq!(
        verdict(&[[1, 10, 0], [2, 10, 1], [3, 2, 2]]),
        known("MDEV-26642")
    );
    for planted in [
        // Its own write is lost, a value that row 2 never had, a row too few, a row twice.
        &[[1, 0, 0], [2, 10, 1], [3, 2, 2]][..],
        &[[1, 10, 0], [2, 11, 1], [3, 2, 2]],
        &[[1, 10, 0], [3, 2, 2]],
        &[[1, 10, 0], [2, 10, 1], [2, 1, 1], [3, 2, 2]],
    ] {
        assert!(is_violation(&verdict(planted)), "{planted:?}");
    }
}

/// The verdict on a write that was refused for this and left these rows as they were.
fn refused(
    table: &str,
    rows: &'static [[i64; 3]],
    write: &'static str,
    (class, code): (ErrorClass, &str),
) -> Verdict {
    let error = SqlError {
        code: code.to_owned(),
        class,
        message: String::new(),
    };
    let lines = [
        Answers(1, "BEGIN", 0),
        Fails(1, write, error),
        Stands(rows),
        Answers(1, "COMMIT", 0),
    ];
    Script::new(RR, table, rows, &lines).verdict()
}

#[test]
fn a_write_may_be_refused_for_any_of_its_rows_that_fail_where_no_key_orders_them() {
    let (not_null, check) = ((ErrorClass::NotNull, "1299"), (ErrorClass::Check, "275"));
    // Row 1 breaks NOT NULL, row 2 the CHECK.
    let update =
        "UPDATE t SET c = CASE pkey WHEN 1 THEN NULL WHEN 2 THEN 0 ELSE 7 END, vkey = 1000";
    let verdict = |key: &str, error| {
        let table =
            format!("CREATE TABLE t (pkey INTEGER {key}, vkey INT, c INT NOT NULL CHECK (c <> 0))");
        refused(&table, &[[1, 1, 5], [2, 2, 5], [3, 3, 5]], update, error)
    };
    assert_eq!(verdict("NOT NULL", not_null), Verdict::Agree);
    assert_eq!(verdict("NOT NULL", check), Verdict::Agree);
    // Row 1 comes first by the key, and no row breaks a unique key.
    assert_eq!(verdict("PRIMARY KEY", not_null), Verdict::Agree);
    assert!(is_violation(&verdict("PRIMARY KEY", check)));
    let unique = (ErrorClass::Duplicate, "1555");
    assert!(is_violation(&verdict("NOT NULL", unique)));
}

#[test]
fn a_row_that_breaks_two_foreign_keys_may_be_refused_by_either() {
    // A row that has children gets a parent that is not there.
    let table = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT, FOREIGN KEY (c) REFERENCES t (pkey))";
    let update = "UPDATE t SET c = 9, vkey = 1000 WHERE pkey = 1";
    let verdict = |error| refused(table, &[[1, 1, 1], [2, 2, 1]], update, error);
    for code in ["787", "1451"] {
        let by_a_key = verdict((ErrorClass::ForeignKey, code));
        assert_eq!(by_a_key, Verdict::Agree, "{code}");
    }
    assert!(is_violation(&verdict((ErrorClass::Check, "275"))));
}

#[test]
fn a_row_that_breaks_a_unique_key_and_a_foreign_key_may_be_refused_by_either() {
    let table = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT, \
                 FOREIGN KEY (c) REFERENCES t (pkey) ON UPDATE RESTRICT)";
    let rows = &[[1, 1, 1], [2, 2, 2]];
    let (duplicate, foreign_key) = (
        (ErrorClass::Duplicate, "1555"),
        (ErrorClass::ForeignKey, "1811"),
    );
    for (write, either) in [
        // Its own child holds row 1, and row 2 has the new key.
        ("UPDATE t SET pkey = 2 WHERE pkey = 1", true),
        ("UPDATE t SET pkey = 3 WHERE pkey = 1", false),
    ] {
        let verdict = |error| refused(table, rows, write, error);
        assert_eq!(verdict(foreign_key), Verdict::Agree, "{write}");
        assert_eq!(verdict(duplicate) == Verdict::Agree, either, "{write}");
    }
    // The server asks for the unique key first, and then for no parent.
    for (write, either) in [
        ("INSERT INTO t VALUES (1, 1000, 9)", true),
        ("INSERT INTO t VALUES (1, 1000, 2)", false),
    ] {
        let verdict = |error| refused(table, rows, write, error);
        assert_eq!(verdict(duplicate), Verdict::Agree, "{write}");
        let by_a_key = verdict((ErrorClass::ForeignKey, "787"));
        assert_eq!(by_a_key == Verdict::Agree, either, "{write}");
    }
    // Two rows, each with a fault of its own: the first one by the key is refused.
    let two = "UPDATE t SET pkey = CASE pkey WHEN 1 THEN 1 ELSE 1 END, c = CASE pkey WHEN 1 THEN 9 ELSE 2 END";
    assert!(is_violation(&refused(
        table,
        rows,
        two,
        (ErrorClass::Check, "275")
    )));
}

#[test]
fn a_snapshot_of_a_read_that_waited_is_as_old_as_the_read_or_as_its_answer() {
    // Outside of a transaction: the subquery has a snapshot of its own.
    let read = "SELECT * FROM t WHERE (SELECT COUNT(*) FROM t) < pkey FOR UPDATE";
    let verdict = |change, count, then, answer| {
        let lines = [
            Answers(1, "BEGIN", 0),
            Answers(1, change, count),
            Stands(then),
            Waits(2, read),
            Answers(1, "COMMIT", 0),
            Returns(2, answer),
        ];
        let table = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT)";
        Script::new(RR, table, &[[2, 2, 0], [3, 3, 0], [9, 9, 0]], &lines).verdict()
    };
    let insert = "INSERT INTO t VALUES (8, 1000, 0)";
    let after: Rows = &[[2, 2, 0], [3, 3, 0], [8, 1000, 0], [9, 9, 0]];
    let newest: Rows = &[[8, 1000, 0], [9, 9, 0]];
    assert_eq!(verdict(insert, 1, after, newest), Verdict::Agree);
    // The outer rows are the newest, the count is that of the older ones: one table, in two modes.
    let undecided = Verdict::Undecided(UndecidedReason::OneTableInTwoReadModes);
    for answer in [&[[9, 9, 0]][..], &[[3, 3, 0], [8, 1000, 0], [9, 9, 0]]] {
        assert_eq!(verdict(insert, 1, after, answer), undecided);
    }
    // Nothing changed while it waited: nothing else may be seen.
    let same: Rows = &[[2, 2, 0], [3, 3, 0], [9, 9, 0]];
    let nothing = "DELETE FROM t WHERE pkey = 5";
    assert_eq!(verdict(nothing, 0, same, &[[9, 9, 0]]), Verdict::Agree);
    assert!(is_violation(&verdict(
        nothing,
        0,
        same,
        &[[3, 3, 0], [9, 9, 0]]
    )));
}

#[test]
fn under_a_claim_rows_of_two_moments_are_a_read_skew() {
    // T1 changes both rows and commits; the UPDATE that waits for it takes one of them as it was.
    let update = "UPDATE t SET vkey = 1001 WHERE c > 5";
    let anomaly = |then: Rows, count| {
        let lines = [
            Answers(1, "BEGIN", 0),
            Answers(2, "BEGIN", 0),
            Answers(1, "UPDATE t SET c = 9, vkey = 1000", 2),
            Stands(&[[1, 1000, 9], [2, 1000, 9]]),
            Waits(2, update),
            Answers(1, "COMMIT", 0),
            Resumes(2, count),
            Stands(then),
            Answers(2, "COMMIT", 0),
        ];
        let script = Script::new(RC, TABLE, &[[1, 1, 0], [2, 2, 0]], &lines);
        anomaly_claimed_serializable(script)
    };
    assert_eq!(anomaly(&[[1, 1001, 9], [2, 1001, 9]], 2), None);
    let skew = anomaly(&[[1, 1001, 9], [2, 1000, 9]], 1);
    assert_eq!(skew, Some(AnomalyClass::ReadSkew));
    // Both as they were: one moment, an older one.
    let stale = anomaly(&[[1, 1000, 9], [2, 1000, 9]], 0);
    assert_eq!(stale, Some(AnomalyClass::StaleRead));
}

/// The anomaly that a script has where SERIALIZABLE is claimed.
fn anomaly_claimed_serializable(script: Script) -> Option<AnomalyClass> {
    match script.claimed(IsolationLevel::Serializable).verdict() {
        Verdict::Violation(finding) => Some(finding.signature.anomaly),
        Verdict::Agree | Verdict::Known(_) | Verdict::Undecided(_) | Verdict::Flaky { .. } => None,
    }
}

#[test]
fn what_an_offset_leaves_of_old_rows_beside_own_ones_is_a_stale_read() {
    const BY_C: &str = "CREATE TABLE t (pkey INT NOT NULL UNIQUE, vkey INT, c INT PRIMARY KEY)";
    const READ: &str = "SELECT * FROM t ORDER BY pkey LIMIT 1 OFFSET 2";
    let anomaly = |given: Rows| {
        let lines = [
            Answers(1, "BEGIN", 0),
            Reads(1, "SELECT * FROM t", &[[1, 1, 20], [3, 1, 21], [7, 1, 24]]),
            Answers(2, "REPLACE INTO t VALUES (1, 1005, 0)", 1),
            Stands(&[[1, 1005, 0], [3, 1, 21], [7, 1, 24]]),
            Answers(1, "UPDATE t SET vkey = 1010", 3),
            Stands(&[[1, 1010, 0], [3, 1010, 21], [7, 1010, 24]]),
            Reads(1, READ, given),
            Answers(1, "COMMIT", 0),
        ];
        let rows: Rows = &[[1, 1, 20], [3, 1, 21], [7, 1, 24]];
        let script = Script::new(RR, BY_C, rows, &lines);
        anomaly_claimed_serializable(script)
    };
    assert_eq!(anomaly(&[[7, 1010, 24]]), None);
    // Behind both rows of the key 1.
    assert_eq!(anomaly(&[[3, 1010, 21]]), Some(AnomalyClass::StaleRead));
    // A row that never was.
    assert_eq!(anomaly(&[[3, 1011, 21]]), Some(AnomalyClass::WrongRow));
}

#[test]
fn an_old_row_that_hides_the_own_one_of_its_key_is_a_stale_read() {
    const BY_C: &str = "CREATE TABLE t (pkey INT NOT NULL UNIQUE, vkey INT, c INT PRIMARY KEY)";
    const READ: &str = "SELECT * FROM t WHERE pkey = 1";
    let anomaly = |given: Rows| {
        let lines = [
            Answers(1, "BEGIN", 0),
            Reads(1, READ, &[[1, 1, 20]]),
            Answers(2, "UPDATE t SET vkey = 1005, c = 0 WHERE pkey = 1", 1),
            Stands(&[[1, 1005, 0]]),
            Answers(1, "DELETE FROM t WHERE pkey = 1", 1),
            Stands(&[]),
            Answers(1, "INSERT INTO t VALUES (1, 1010, 29)", 1),
            Stands(&[[1, 1010, 29]]),
            Reads(1, READ, given),
            Answers(1, "COMMIT", 0),
        ];
        let script = Script::new(RR, BY_C, &[[1, 1, 20]], &lines);
        anomaly_claimed_serializable(script)
    };
    assert_eq!(anomaly(&[[1, 1010, 29]]), None);
    assert_eq!(anomaly(&[[1, 1, 20]]), Some(AnomalyClass::StaleRead));
    // Beside it, which no table can hold.
    let both = anomaly(&[[1, 1, 20], [1, 1010, 29]]);
    assert_eq!(both, Some(AnomalyClass::StaleRead));
    // A row that never was.
    assert_eq!(anomaly(&[[1, 7, 20]]), Some(AnomalyClass::WrongRow));
    let both = anomaly(&[[1, 7, 20], [1, 1010, 29]]);
    assert_ne!(both, Some(AnomalyClass::StaleRead));
}
