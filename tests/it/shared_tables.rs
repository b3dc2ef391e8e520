//! Refusals that a transaction of another session can have caused only in a table of both.

use rashomon::model::IsolationLevel::{self, ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{ErrorClass, Execution};

use crate::lying::{Lie, OneDriver, hearing_of, honest, id, refuse, scripted};
use crate::oracles;
use crate::servers::Needs;

const TABLES: &str = "\
    /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT);\n\
    /* init */ CREATE TABLE t1 (pkey INT PRIMARY KEY, vkey INT);\n\
    /* init */ INSERT INTO t0 VALUES (1, 1), (2, 2);\n\
    /* init */ INSERT INTO t1 VALUES (1, 3), (2, 4);\n";

/// The second table has a foreign key to the first.
const JOINED: &str = "\
    /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT);\n\
    /* init */ CREATE TABLE t1 (pkey INT PRIMARY KEY, vkey INT, FOREIGN KEY (pkey) REFERENCES t0 (pkey));\n\
    /* init */ INSERT INTO t0 VALUES (1, 1), (2, 2);\n\
    /* init */ INSERT INTO t1 VALUES (1, 3), (2, 4);\n";

const NEEDLESS: &str = "refusal-without-cause";

fn said(
    driver: &OneDriver<'_>,
    level: IsolationLevel,
    setup: &str,
    script: &str,
    lie: Lie,
) -> String {
    let case = scripted(driver.server, level, setup, script);
    oracles::kind(&hearing_of(driver, &case, lie).verdict())
}

/// T2's read is seen waiting, and the server says that it waited for too long.
fn runs_out_of_time(run: &mut Execution) {
    refuse(run, 2, "40001", ErrorClass::LockTimeout);
    let record = run.records.get_mut(&id(2, 2)).expect("it ran");
    record.waiting = Some(record.sent);
}

#[test]
fn a_statement_waits_for_too_long_for_locks_of_its_tables_alone() {
    let script = "s1 BEGIN\ns1 UPDATE t0 SET vkey = 1000 WHERE pkey = 1\ns2 BEGIN\n\
        s2 SELECT * FROM t1 WHERE pkey = 2 FOR UPDATE\ns1 COMMIT\ns2 COMMIT";
    let in_one_table = script.replace("FROM t1", "FROM t0");
    for needs in [Needs::MySql, Needs::MariaDb, Needs::Postgres] {
        let Some(server) = oracles::server("waits_for_locks_of_its_tables", needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        for level in [ReadCommitted, RepeatableRead, Serializable] {
            let said = |setup, script| said(&driver, level, setup, script, runs_out_of_time);
            assert_eq!(said(TABLES, script), NEEDLESS, "{level}");
            assert_ne!(said(TABLES, &in_one_table), NEEDLESS, "{level}");
            assert_ne!(said(JOINED, script), NEEDLESS, "{level}");
        }
    }
}

/// The server says that T2's COMMIT met a dependency.
fn does_not_serialize(run: &mut Execution) {
    refuse(run, 3, "40001", ErrorClass::Serialization);
}

#[test]
fn transactions_without_a_table_in_common_refuse_each_other_nothing() {
    let Some(server) = oracles::server("without_a_table_in_common", Needs::Postgres) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let script = "s1 BEGIN\ns2 BEGIN\ns1 UPDATE t0 SET vkey = 1000 WHERE pkey = 1\n\
        s2 UPDATE t1 SET vkey = 1001 WHERE pkey = 2\ns2 COMMIT\ns1 COMMIT";
    let said = |setup, script: &str| said(&driver, Serializable, setup, script, does_not_serialize);
    assert_eq!(said(TABLES, script), NEEDLESS);
    assert_ne!(said(JOINED, script), NEEDLESS);
    // One of them reads what the other writes.
    let reads = script.replace("s2 UPDATE t1 SET vkey = 1001", "s2 SELECT * FROM t0");
    assert_ne!(said(TABLES, &reads), NEEDLESS);
    // Both read, and write elsewhere.
    let apart = reads.replace("s1 UPDATE t0 SET vkey = 1000", "s1 SELECT * FROM t0");
    assert_eq!(said(TABLES, &apart), NEEDLESS);
}

/// The server says that T2's INSERT, its third statement, met a newer row.
fn meets_a_newer_row(run: &mut Execution) {
    refuse(run, 3, "40001", ErrorClass::Serialization);
}

#[test]
fn an_insert_that_names_no_conflict_meets_no_newer_row() {
    let Some(server) = oracles::server("an_insert_meets_no_newer_row", Needs::Postgres) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let script = "s1 BEGIN\ns2 BEGIN\ns2 SELECT * FROM t1\ns1 UPDATE t1 SET vkey = 1000 WHERE pkey = 1\ns1 COMMIT\n\
        s2 INSERT INTO t1 (pkey, vkey) VALUES (9, 1001)\ns2 ROLLBACK";
    let said =
        |setup, script: &str| said(&driver, RepeatableRead, setup, script, meets_a_newer_row);
    assert_eq!(said(TABLES, script), NEEDLESS);
    for conflict in ["DO NOTHING", "(pkey) DO UPDATE SET vkey = 1002"] {
        let upsert = script.replace("1001)", &format!("1001) ON CONFLICT {conflict}"));
        assert_ne!(said(TABLES, &upsert), NEEDLESS, "{conflict}");
    }
    // It asks for a row of the other table.
    let of_a_child = script
        .replace("s1 UPDATE t1", "s1 UPDATE t0")
        .replace("VALUES (9,", "VALUES (2,");
    assert_ne!(said(JOINED, &of_a_child), NEEDLESS);
    assert_eq!(said(TABLES, &of_a_child), NEEDLESS);
}

/// The server says that T2's second statement was a deadlock's victim.
fn is_a_victim(run: &mut Execution) {
    refuse(run, 2, "40001", ErrorClass::Deadlock);
}

/// A row that is held, and a writer that waits for it; T2 names the same table beside them.
#[test]
fn what_takes_no_lock_is_refused_for_none() {
    let script = |second: &str| {
        format!(
            "s1 BEGIN\ns1 UPDATE t0 SET vkey = 1000 WHERE pkey = 1\ns2 BEGIN\ns3 UPDATE t0 SET vkey = 1001 WHERE pkey = 1\n\
             s2 {second}\ns1 COMMIT\ns2 ROLLBACK"
        )
    };
    for needs in [Needs::MySql, Needs::MariaDb, Needs::Postgres] {
        let Some(server) = oracles::server("refused_for_no_lock", needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        // InnoDB rolls a victim back, which the lie does not.
        let victim = (needs == Needs::Postgres).then_some(is_a_victim as Lie);
        for lie in [runs_out_of_time as Lie].into_iter().chain(victim) {
            let said = |level, second: &str| said(&driver, level, TABLES, &script(second), lie);
            for second in ["SELECT * FROM t0 WHERE pkey = 2", "SAVEPOINT a"] {
                assert_eq!(said(ReadCommitted, second), NEEDLESS, "{second}");
            }
            let locks = "SELECT * FROM t0 WHERE pkey = 2 FOR UPDATE";
            assert_ne!(said(ReadCommitted, locks), NEEDLESS);
            if needs != Needs::Postgres {
                // Shared locks.
                assert_ne!(
                    said(Serializable, "SELECT * FROM t0 WHERE pkey = 2"),
                    NEEDLESS
                );
            }
        }
    }
}

/// The server says that T2's second statement was cancelled.
fn is_interrupted(run: &mut Execution) {
    refuse(run, 2, "57014", ErrorClass::Interrupted);
}

#[test]
fn a_statement_that_nobody_cancels_is_not_interrupted() {
    let script = "s1 BEGIN\ns1 UPDATE t0 SET vkey = 1000 WHERE pkey = 1\ns2 BEGIN\ns2 UPDATE t0 SET vkey = 1001 WHERE pkey = 2\n\
        s1 COMMIT\ns2 ROLLBACK";
    for (needs, limit) in [
        (Needs::MySql, "SET SESSION max_execution_time = 900"),
        (Needs::MariaDb, "SET SESSION max_statement_time = 900"),
        (Needs::Postgres, "SET statement_timeout = '900s'"),
    ] {
        let Some(server) = oracles::server("nobody_cancels", needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        let said = |script: &str, lie| said(&driver, ReadCommitted, TABLES, script, lie);
        assert_eq!(said(script, honest), "agree");
        assert_eq!(said(script, is_interrupted), NEEDLESS);
        let read = script.replace("UPDATE t0 SET vkey = 1001", "SELECT * FROM t0");
        assert_eq!(said(&read, is_interrupted), NEEDLESS);
        // A limit that the case sets, or the statement itself.
        let limited = script.replace("s2 BEGIN", &format!("s2 {limit}\ns2 BEGIN"));
        assert_ne!(said(&limited, is_interrupted), NEEDLESS);
        let hinted = read.replace("s2 SELECT", "s2 SELECT /*+ MAX_EXECUTION_TIME(900000) */");
        assert_ne!(said(&hinted, is_interrupted), NEEDLESS);
    }
}
