//! Serial runs: a reset brings every change back, and sends no more than that takes.

use rashomon::execute::{Driver, Executor, SerialRun};
use rashomon::model::{IsolationLevel, Row, TestCase};

use crate::execute::{On, case, server};

const TABLES: [&str; 2] = ["t", "u"];

/// Two tables, filled each by rows of its own, and a writer of the first.
const TWO_TABLES: &str = "
    init: CREATE TABLE t (pkey INTEGER PRIMARY KEY, v INTEGER)
    init: CREATE TABLE u (pkey INTEGER PRIMARY KEY, v INTEGER)
    init: INSERT INTO t (pkey, v) VALUES (1, 10), (2, 20)
    init: INSERT INTO u (pkey, v) VALUES (7, 70)
    s1: BEGIN
    s1: UPDATE t SET v = v + 1 WHERE pkey = 1
    s1: SELECT v FROM u
    s1: COMMIT
";

/// A row of `t` refers to one of `u`, whose deletion reaches it.
const CASCADE: &str = "
    init: CREATE TABLE u (pkey INTEGER PRIMARY KEY, v INTEGER)
    init: CREATE TABLE t (pkey INTEGER PRIMARY KEY, v INTEGER REFERENCES u (pkey) ON DELETE CASCADE)
    init: INSERT INTO u (pkey, v) VALUES (7, 70)
    init: INSERT INTO t (pkey, v) VALUES (1, 7)
    s1: PRAGMA foreign_keys = ON
    s1: DELETE FROM u
";

/// The rows of one table come from the other.
const COPIED: &str = "
    init: CREATE TABLE t (pkey INTEGER PRIMARY KEY, v INTEGER)
    init: CREATE TABLE u (pkey INTEGER PRIMARY KEY, v INTEGER)
    init: INSERT INTO t (pkey, v) VALUES (1, 10), (2, 20)
    init: INSERT INTO u SELECT pkey, v FROM t
    s1: UPDATE u SET v = 0
    s1: UPDATE t SET v = 0
";

fn contents(run: &mut dyn SerialRun) -> Vec<Vec<Row>> {
    let read = |table: &&str| run.contents(table).expect("contents");
    TABLES.iter().map(read).collect()
}

/// Runs something on a fresh serial run of a case on SQLite, resets it, and gives the tables before
/// and after, with what the reset and the second reading sent.
fn after_reset(
    text: &str,
    work: impl Fn(&TestCase, &mut dyn SerialRun),
) -> (Vec<Vec<Row>>, Vec<Vec<Row>>, Vec<String>) {
    let server = server("serial_run", On::Sqlite).expect("SQLite is always there");
    let mut driver = Driver::open(server.as_ref(), "rashomon_serial_run").expect("a driver");
    let case = case(server.as_ref(), IsolationLevel::Serializable, text);
    let mut run = driver.serial(&case).expect("a serial run");
    let before = contents(&mut *run);
    drop(run);
    driver.start_recording().expect("a recording");
    let mut run = driver.serial(&case).expect("a serial run");
    work(&case, &mut *run);
    run.reset().expect("a reset");
    let after = contents(&mut *run);
    drop(run);
    let sent = driver.take_recording().stream;
    driver.close().expect("the databases are dropped");
    (
        before,
        after,
        sent.into_iter().map(|sent| sent.sql).collect(),
    )
}

fn run_all(case: &TestCase, run: &mut dyn SerialRun) {
    for statement in &case.statements {
        run.run(&statement.sql).expect("an answer");
    }
}

fn count(sent: &[String], word: &str) -> usize {
    sent.iter().filter(|sql| sql.contains(word)).count()
}

#[test]
fn a_reset_restores_the_table_that_was_written_and_leaves_the_other() {
    let (before, after, sent) = after_reset(TWO_TABLES, run_all);
    assert_eq!(before, after);
    // Once when the run starts, once at the reset; the other only when the run starts.
    assert_eq!(count(&sent, "INSERT INTO t"), 2, "{sent:?}");
    assert_eq!(count(&sent, "INSERT INTO u"), 1, "{sent:?}");
}

#[test]
fn a_transaction_left_open_is_rolled_back_by_the_reset() {
    let (before, after, sent) = after_reset(TWO_TABLES, |case, run| {
        for statement in &case.statements[..3] {
            run.run(&statement.sql).expect("an answer");
        }
    });
    assert_eq!(before, after);
    assert!(count(&sent, "ROLLBACK") >= 1, "{sent:?}");
}

#[test]
fn a_statement_that_is_not_of_the_case_resets_everything() {
    let (before, after, sent) = after_reset(TWO_TABLES, |_, run| {
        run.run("UPDATE u SET v = v + 1").expect("an answer");
    });
    assert_eq!(before, after);
    assert_eq!(count(&sent, "INSERT INTO t"), 2, "{sent:?}");
    assert_eq!(count(&sent, "INSERT INTO u"), 2, "{sent:?}");
}

#[test]
fn a_change_that_reaches_another_table_by_a_foreign_key_is_seen_and_brought_back() {
    let server = server("serial_run", On::Sqlite).expect("SQLite is always there");
    let mut driver = Driver::open(server.as_ref(), "rashomon_serial_keys").expect("a driver");
    let case = case(server.as_ref(), IsolationLevel::Serializable, CASCADE);
    let mut run = driver.serial(&case).expect("a serial run");
    let before = contents(&mut *run);
    run_all(&case, &mut *run);
    assert_eq!(contents(&mut *run), vec![Vec::<Row>::new(); 2]);
    run.reset().expect("a reset");
    assert_eq!(contents(&mut *run), before);
    drop(run);
    driver.close().expect("the databases are dropped");
}

#[test]
fn rows_copied_from_another_table_are_copied_again_from_its_first_rows() {
    let (before, after, _) = after_reset(COPIED, run_all);
    assert_eq!(before, after);
}

#[test]
fn what_was_written_is_read_again_and_what_was_not_is_remembered() {
    let (_, _, sent) = after_reset(TWO_TABLES, |case, run| {
        let first = contents(run);
        run.run(&case.statements[1].sql).expect("an answer");
        let second = contents(run);
        assert_ne!(first[0], second[0]);
        assert_eq!(first[1], second[1]);
    });
    let reads = |table: &str| {
        let reads = sent.iter().filter(|sql| sql.starts_with("SELECT"));
        reads
            .filter(|sql| sql.ends_with(&format!("\"{table}\"")))
            .count()
    };
    assert_eq!((reads("t"), reads("u")), (2, 1), "{sent:?}");
}

#[test]
fn tables_are_built_anew_after_an_internal_error_and_when_they_are_to_be_renewed() {
    const TEST: &str = "tables_are_built_anew";
    // As InnoDB answers where an index is marked as corrupted.
    let corrupted =
        "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1712, MESSAGE_TEXT = 'a corrupted index'";
    let harmless = "SIGNAL SQLSTATE '22003' SET MYSQL_ERRNO = 1690, MESSAGE_TEXT = 'out of range'";
    for on in [On::MariaDb, On::MySql] {
        let Some(server) = server(TEST, on) else {
            continue;
        };
        let mut driver = Driver::open(server.as_ref(), "rashomon_serial_anew").expect("a driver");
        let case = case(server.as_ref(), IsolationLevel::ReadCommitted, TWO_TABLES);
        driver.start_recording().expect("a recording");
        let created = |driver: &mut Driver<'_>, sql: &str| {
            let mut run = driver.serial(&case).expect("a serial run");
            let before = contents(&mut *run);
            let outcome = run.run(sql).expect("an answer");
            run.reset().expect("a reset");
            assert_eq!(contents(&mut *run), before, "{outcome}");
            drop(run);
            let sent = driver.take_recording().stream.into_iter();
            let sent: Vec<String> = sent.map(|sent| sent.sql).collect();
            count(&sent, "CREATE TABLE")
        };
        assert_eq!(created(&mut driver, harmless), 2, "the first run's");
        assert_eq!(created(&mut driver, harmless), 0);
        assert_eq!(created(&mut driver, corrupted), 2);
        assert_eq!(created(&mut driver, harmless), 0);
        driver.renew();
        assert_eq!(created(&mut driver, harmless), 2);
        driver.close().expect("the databases are dropped");
    }
}
