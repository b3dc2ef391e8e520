//! Command tags of PostgreSQL: what an answer says was done.

use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{Execution, StatementRecord, Verdict};

use crate::heard::open_planted;
use crate::lying::{Lie, OneDriver, SETUP, database, hearing_of, honest, id, scripted, verdict};
use crate::oracles;
use crate::plant::Fault;
use crate::postgres_cases::server;
use crate::servers::{Needs, url};

/// A transaction that an INSERT fails, and one that commits.
const SCRIPT: &str = "s1 BEGIN
s1 SELECT pkey, c0 FROM t0
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1000, 1)
s1 COMMIT
s2 BEGIN
s2 UPDATE t0 SET c0 = 11, vkey = 1001 WHERE pkey = 1
s2 SAVEPOINT a
s2 ROLLBACK TO SAVEPOINT a
s2 COMMIT";

fn record(run: &mut Execution, transaction: u32, position: u32) -> &mut StatementRecord {
    let record = run.records.get_mut(&id(transaction, position));
    record.expect("it ran")
}

fn says(run: &mut Execution, transaction: u32, position: u32, tag: &str) {
    record(run, transaction, position).command_tag = Some(tag.to_owned());
}

/// What a server may say wrongly, and what it is called.
const LIES: [(Lie, &str); 6] = [
    (|run| says(run, 1, 4, "COMMIT"), "wrong-transaction-end"),
    (|run| says(run, 2, 5, "ROLLBACK"), "wrong-transaction-end"),
    (|run| says(run, 2, 2, "INSERT"), "wrong-command-tag"),
    (|run| says(run, 2, 3, "RELEASE"), "wrong-command-tag"),
    (|run| says(run, 2, 1, "COMMIT"), "wrong-command-tag"),
    (
        |run| record(run, 1, 2).reported = Some(3),
        "wrong-command-tag",
    ),
];

#[test]
fn a_tag_that_contradicts_the_statement_or_its_transaction_is_a_finding() {
    let Some(server) = server("a_tag_that_contradicts") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let said = verdict(&driver, level, None, SCRIPT, honest);
        assert_eq!(said, Verdict::Agree, "{level}");
        for (place, (lie, kind)) in LIES.into_iter().enumerate() {
            let said = verdict(&driver, level, None, SCRIPT, lie);
            assert_eq!(oracles::kind(&said), kind, "{place} at {level}: {said}");
        }
    }
}

#[test]
fn the_tag_of_a_statement_is_read_behind_its_rows_and_before_what_the_driver_asks() {
    let Some(server) = server("the_tag_of_a_statement") else {
        return;
    };
    let name = database();
    server.create_database(&name).expect("create");
    let mut one = server.connect(&name).expect("connect");
    let mut tag = |sql: &str| {
        one.execute(sql).expect("an answer");
        one.command_tag()
    };
    for (sql, expected) in [
        ("CREATE TYPE mood AS ENUM ('good')", Some("CREATE TYPE")),
        (
            "CREATE TABLE t (pkey INT PRIMARY KEY, m mood)",
            Some("CREATE TABLE"),
        ),
        ("BEGIN", Some("BEGIN")),
        // The driver asks for the type of a column.
        (
            "INSERT INTO t VALUES (1, 'good') RETURNING m",
            Some("INSERT"),
        ),
        ("PREPARE p AS UPDATE t SET pkey = 2", Some("PREPARE")),
        ("EXECUTE p", Some("UPDATE")),
        ("SELECT pkey FROM t WHERE pkey = 7", Some("SELECT")),
        ("LOCK t", Some("LOCK TABLE")),
        ("INSERT INTO t VALUES (2)", None),
        ("SELECT 1", None),
        ("COMMIT", Some("ROLLBACK")),
        ("COMMIT", Some("COMMIT")),
    ] {
        assert_eq!(tag(sql).as_deref(), expected, "{sql}");
    }
    drop(one);
    server.drop_database(&name).expect("drop");
}

#[test]
fn a_failed_transaction_that_is_committed_by_its_tag_is_heard_on_the_wire() {
    let Some(url) = url("a_failed_transaction_that_is_committed", Needs::Postgres) else {
        return;
    };
    let script = format!("s3 BEGIN\ns3 SELECT 1 FROM t0\n{SCRIPT}\ns3 COMMIT");
    for (fault, expected) in [
        (Fault::None, "agree"),
        (Fault::FailedCommitSaysCommit, "wrong-transaction-end"),
    ] {
        let (_planted, server) = open_planted(&url, fault);
        let driver = OneDriver::of(&*server);
        let case = scripted(&*server, ReadCommitted, SETUP, &script);
        let said = hearing_of(&driver, &case, honest).verdict();
        assert_eq!(oracles::kind(&said), expected, "{said}");
    }
}
