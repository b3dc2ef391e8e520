//! LOCK TABLE on PostgreSQL: who waits for whom, and as of when a statement looks that waited for a table.

use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{IsolationLevel, Outcome, Verdict};
use rashomon::reproducer;

use crate::heard::{heard_in, open_planted};
use crate::lying::OneDriver;
use crate::oracles;
use crate::plant::Fault;
use crate::postgres_cases::server;
use crate::postgres_locks::{every_clause, nothing, verdict};
use crate::servers::{Needs, url};

const LEVELS: [IsolationLevel; 3] = [ReadCommitted, RepeatableRead, Serializable];

/// What uses `t0`, and the weakest mode that keeps it waiting (PostgreSQL manual, "Conflicting Lock Modes").
const USES: [(&str, &str); 5] = [
    ("SELECT c0 FROM t0", "ACCESS EXCLUSIVE"),
    ("SELECT c0 FROM t0 WHERE pkey = 2 FOR SHARE", "EXCLUSIVE"),
    ("UPDATE t0 SET vkey = 1000 WHERE pkey = 2", "SHARE"),
    ("DELETE FROM t0 WHERE pkey = 2", "SHARE"),
    (
        "INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 30)",
        "SHARE",
    ),
];

#[test]
fn a_forgotten_lock_of_a_table_is_heard_whichever_comes_first() {
    let Some(server) = server("a_forgotten_lock_of_a_table_is_heard") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for (used, mode) in USES {
        let lock = format!("LOCK TABLE t0 IN {mode} MODE");
        let lock_first = format!("s1 BEGIN\ns1 {lock}\ns2 BEGIN\ns2 {used}\ns1 COMMIT\ns2 COMMIT");
        let use_first = format!("s2 BEGIN\ns2 {used}\ns1 BEGIN\ns1 {lock}\ns2 COMMIT\ns1 COMMIT");
        for script in [lock_first, use_first] {
            for level in LEVELS {
                let said = verdict(&driver, level, &script, nothing);
                assert_eq!(oracles::kind(&said), "agree", "{level}: {script}: {said}");
                let said = verdict(&driver, level, &script, every_clause);
                let kind = oracles::kind(&said);
                assert_eq!(kind, "unkept-table", "{level}: {script}: {said}");
            }
        }
    }
}

/// The second session waits for the table alone, and the first one changes it meanwhile.
const WAITING: [&str; 6] = [
    "s2 SELECT * FROM t0",
    "s2 SELECT * FROM t0 WHERE c0 < 40 FOR UPDATE",
    "s2 UPDATE t0 SET vkey = 1010, c0 = c0 + 100",
    "s2 DELETE FROM t0 WHERE c0 < 25",
    "s2 INSERT INTO t1 (pkey, vkey, c0) SELECT pkey + 10, 1010, c0 FROM t0",
    "s2 BEGIN\ns2 SELECT * FROM t1\ns2 SELECT * FROM t0\ns2 UPDATE t0 SET vkey = 1010, c0 = c0 + 100\ns2 COMMIT",
];

#[test]
fn a_statement_that_waited_for_a_table_is_judged_as_of_the_end_of_the_wait() {
    let Some(server) = server("a_statement_that_waited_for_a_table") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    // What was locked before a savepoint outlives an error behind it.
    let fails = "\ns1 SAVEPOINT a\ns1 INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1002, 7)";
    for waiting in WAITING {
        for (fails, returns) in [("", ""), (fails, "s1 ROLLBACK TO SAVEPOINT a\n")] {
            let script = format!(
                "s1 BEGIN\ns1 LOCK TABLE t0{fails}\n{waiting}\n{returns}\
                 s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 30)\n\
                 s1 UPDATE t0 SET vkey = 1001, c0 = 5 WHERE pkey = 1\ns1 COMMIT"
            );
            for level in LEVELS {
                let said = verdict(&driver, level, &script, nothing);
                let kind = oracles::kind(&said);
                assert_eq!(kind, "agree", "{level}: {script}: {said}");
            }
        }
    }
}

/// T2 waits behind T1, which waits for T3, and its own transaction passes one that it keeps waiting itself.
const QUEUED: [&str; 3] = [
    "s3 BEGIN
s3 UPDATE t0 SET vkey = 1001, c0 = 5 WHERE pkey = 1
s1 BEGIN
s1 LOCK TABLE t0 IN SHARE MODE
s2 UPDATE t0 SET vkey = 1002, c0 = c0 + 1
s3 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 30)
s3 COMMIT
s1 SELECT * FROM t0
s1 COMMIT",
    "s2 BEGIN
s2 SELECT * FROM t0
s3 BEGIN
s3 UPDATE t0 SET vkey = 1001, c0 = 5 WHERE pkey = 1
s1 BEGIN
s1 LOCK TABLE t0
s2 UPDATE t0 SET vkey = 1002, c0 = c0 + 1
s3 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 30)
s3 COMMIT
s2 COMMIT
s1 COMMIT",
    "s1 BEGIN
s1 SAVEPOINT a
s1 UPDATE t1 SET vkey = 1000 WHERE pkey = 1
s1 LOCK TABLE t0, t1 IN SHARE ROW EXCLUSIVE MODE
s2 INSERT INTO t0 (pkey, vkey, c0) SELECT pkey + 10, 1010, c0 + 100 FROM t1
s1 ROLLBACK TO SAVEPOINT a
s1 LOCK TABLE t1 IN ROW SHARE MODE NOWAIT
s1 COMMIT",
];

#[test]
fn a_queue_before_a_table_is_no_finding() {
    let Some(server) = server("a_queue_before_a_table") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for script in QUEUED {
        let said = verdict(&driver, ReadCommitted, script, nothing);
        assert!(!matches!(said, Verdict::Violation(_)), "{script}: {said}");
        for level in [RepeatableRead, Serializable] {
            let said = verdict(&driver, level, script, nothing);
            assert_eq!(oracles::kind(&said), "agree", "{level}: {script}: {said}");
        }
    }
}

/// T3 may look before T2 has committed, or behind it: one ROLLBACK wakes both.
const WOKEN_TOGETHER: &str = "s1 BEGIN
s1 LOCK TABLE t0
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 30)
s3 SELECT * FROM t0
s1 ROLLBACK";

#[test]
fn statements_that_one_end_wakes_see_each_other_or_not() {
    let Some(server) = server("statements_that_one_end_wakes") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for _ in 0..40 {
        let said = verdict(&driver, ReadCommitted, WOKEN_TOGETHER, nothing);
        assert_eq!(oracles::kind(&said), "agree", "{said}");
    }
}

/// Cases in which s2 sends prepared statements and waits for a table that s1 locks: outside of transactions, and in one.
fn waits_for_a_lock(level: IsolationLevel, earlier: &str, sql: &str, mode: &str) -> [String; 2] {
    [("", ""), ("/* s2 */ BEGIN;\n", "/* s2 */ COMMIT;\n")].map(|(begin, commit)| {
        format!(
            "--! format = 1\n--! isolation = \"{level}\"\n--! prepared = [\"s2\"]\n\
             /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
             /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 1), (2, 2, 2);\n\
             {earlier}{begin}/* s1 */ BEGIN;\n/* s1 */ LOCK TABLE t0 IN {mode} MODE;\n\
             /* s2 */ {sql};\n/* s1 */ INSERT INTO t0 (pkey, vkey, c0) VALUES (9, 1000, 9);\n\
             /* s1 */ COMMIT;\n{commit}"
        )
    })
}

/// An EXECUTE that is sent once more has its rows described, for which it waits, and takes its snapshot then, at any level.
#[test]
fn what_is_executed_once_more_looks_after_it_waited_for_a_table() {
    let Some(url) = url("what_is_executed_once_more", Needs::Postgres) else {
        return;
    };
    let again = [
        ("SELECT * FROM t0", "ACCESS EXCLUSIVE"),
        ("SELECT * FROM t0 FOR UPDATE", "EXCLUSIVE"),
        ("DELETE FROM t0 WHERE pkey > 5", "SHARE ROW EXCLUSIVE"),
    ];
    for (sql, mode) in again {
        for level in LEVELS {
            let earlier = format!("/* s2 */ {sql};\n");
            for text in waits_for_a_lock(level, &earlier, sql, mode) {
                let verdict = heard_in(&url, Fault::None, "rashomon_executed_again", &text);
                assert_eq!(verdict, Verdict::Agree, "{text}");
            }
        }
    }
}

/// A PREPARE waits for its table on the session's own connection, while the others go on. Outside of a transaction the
/// EXECUTE behind it has the snapshot; inside, the PREPARE took it.
#[test]
fn what_is_prepared_waits_for_a_table_while_the_others_go_on() {
    let Some(url) = url("what_is_prepared_waits", Needs::Postgres) else {
        return;
    };
    let waiting = [
        ("SELECT * FROM t0", "ACCESS EXCLUSIVE"),
        ("SELECT * FROM t0 FOR UPDATE", "EXCLUSIVE"),
        ("UPDATE t0 SET c0 = c0 + 1 WHERE pkey > 1", "SHARE"),
        ("DELETE FROM t0 WHERE pkey > 5", "SHARE ROW EXCLUSIVE"),
    ];
    for (sql, mode) in waiting {
        for level in LEVELS {
            for text in waits_for_a_lock(level, "", sql, mode) {
                let waited = answer_after_a_wait(&url, &text, sql);
                assert_eq!(waited.error_class(), None, "{text}");
                let verdict = heard_in(&url, Fault::None, "rashomon_prepare_waits", &text);
                assert_eq!(verdict, Verdict::Agree, "{text}");
            }
        }
    }
}

/// What a statement of the case answered, which was seen waiting.
fn answer_after_a_wait(url: &str, text: &str, sql: &str) -> Outcome {
    let (_planted, server) = open_planted(url, Fault::None);
    let mut driver = Driver::open(&*server, "rashomon_prepare_waits").expect("a database");
    let file = reproducer::read(text, "waits.sql").expect("a case file");
    let case = file.test_case(server.dialect()).expect("a case");
    let none = Instrumentation::default();
    let execution = driver.execute(&case, &none).expect("an execution");
    driver.close().expect("the database goes");
    assert_eq!(execution.unreliable, None, "{text}");
    let statement = case.statements.iter().find(|own| own.sql == sql);
    let record = &execution.records[&statement.expect("the statement").id];
    assert!(record.resumed(), "{text}");
    record.outcome.clone()
}
