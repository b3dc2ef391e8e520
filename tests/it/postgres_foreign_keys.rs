//! Foreign keys on PostgreSQL: a parent is found by the snapshot of its reader and then locked, a child by the newest rows.

use rashomon::model::IsolationLevel::{self, ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{ErrorClass, Execution, Outcome, SqlError, UndecidedReason, Verdict};

use crate::heard::heard_in;
use crate::lying::{OneDriver, case_text, hearing_of, honest, id, refuse, scripted};
use crate::oracles;
use crate::plant::Fault;
use crate::postgres_cases::server;
use crate::servers::{Needs, url};

const TABLES: &str = "\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 BIGINT UNIQUE);\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 BIGINT, \
    FOREIGN KEY (c0) REFERENCES t0 (c0));\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30);\n\
    /* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 11, 10);\n";

const LEVELS: [IsolationLevel; 3] = [ReadCommitted, RepeatableRead, Serializable];

/// Scripts in which a key refuses a statement, and the levels at which it does.
const REFUSALS: [(&str, &[IsolationLevel]); 4] = [
    (
        "s1 BEGIN\ns1 INSERT INTO t1 (pkey, vkey, c0) VALUES (2, 1001, 90)\ns1 COMMIT",
        &LEVELS,
    ),
    // Nobody waits for a parent that is not committed.
    (
        "s1 BEGIN\ns1 INSERT INTO t0 (pkey, vkey, c0) VALUES (9, 1001, 90)\n\
         s2 INSERT INTO t1 (pkey, vkey, c0) VALUES (2, 1002, 90)\ns1 COMMIT",
        &LEVELS,
    ),
    // A parent that is newer than the snapshot is none.
    (
        "s2 BEGIN\ns2 SELECT pkey FROM t0\ns1 INSERT INTO t0 (pkey, vkey, c0) VALUES (9, 1001, 90)\n\
         s2 INSERT INTO t1 (pkey, vkey, c0) VALUES (2, 1002, 90)\ns2 COMMIT",
        &[RepeatableRead, Serializable],
    ),
    // A child that is newer than the snapshot keeps its parent.
    (
        "s2 BEGIN\ns2 SELECT pkey FROM t0\ns1 INSERT INTO t1 (pkey, vkey, c0) VALUES (2, 1001, 30)\n\
         s2 DELETE FROM t0 WHERE pkey = 3\ns2 COMMIT",
        &[ReadCommitted, RepeatableRead],
    ),
];

/// Scripts in which a child and its parent meet and an engine without a fault is right, whatever it answers.
const MEETINGS: [&str; 9] = [
    // The parent's other columns are nobody's business.
    "s1 BEGIN\ns1 UPDATE t0 SET vkey = 1000 WHERE pkey = 3\n\
     s2 INSERT INTO t1 (pkey, vkey, c0) VALUES (2, 1001, 30)\ns1 COMMIT",
    "s1 BEGIN\ns1 UPDATE t0 SET vkey = 1000, c0 = 70 WHERE pkey = 3\ns2 BEGIN\n\
     s2 INSERT INTO t1 (pkey, vkey, c0) VALUES (2, 1001, 30)\ns1 COMMIT\ns2 COMMIT",
    "s1 BEGIN\ns1 DELETE FROM t0 WHERE pkey = 3\ns2 BEGIN\n\
     s2 INSERT INTO t1 (pkey, vkey, c0) VALUES (2, 1001, 30)\ns1 ROLLBACK\ns2 COMMIT",
    "s1 BEGIN\ns1 INSERT INTO t1 (pkey, vkey, c0) VALUES (2, 1001, 30)\ns2 BEGIN\n\
     s2 DELETE FROM t0 WHERE pkey = 3\ns1 COMMIT\ns2 COMMIT",
    // An INSERT that waits for a key of its own finds the parent that comes meanwhile, at READ COMMITTED.
    "s1 BEGIN\ns1 INSERT INTO t0 (pkey, vkey, c0) VALUES (9, 1000, 90)\ns1 DELETE FROM t1 WHERE pkey = 1\n\
     s2 BEGIN\ns2 INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1001, 90)\ns1 COMMIT\ns2 COMMIT",
    // The same with the snapshot of its transaction, and a parent that changes after it.
    "s2 BEGIN\ns2 SELECT pkey FROM t1\ns1 UPDATE t0 SET vkey = 1000, c0 = 70 WHERE pkey = 3\n\
     s2 INSERT INTO t1 (pkey, vkey, c0) VALUES (2, 1001, 30)\ns2 COMMIT",
    // The lock of a parent is the weakest, and refuses who asks for a stronger one at once.
    "s1 BEGIN\ns1 INSERT INTO t1 (pkey, vkey, c0) VALUES (2, 1001, 30)\n\
     s2 SELECT pkey FROM t0 WHERE pkey = 3 FOR UPDATE NOWAIT\ns1 COMMIT",
    "s1 BEGIN\ns1 INSERT INTO t1 (pkey, vkey, c0) VALUES (2, 1001, 30)\n\
     s2 SELECT pkey FROM t0 FOR UPDATE SKIP LOCKED\ns1 COMMIT",
    // A second UPDATE of a row asks for its parent, whatever it assigns.
    "s1 BEGIN\ns1 UPDATE t1 SET vkey = 1000\ns1 UPDATE t1 SET vkey = 1001\n\
     s2 SELECT pkey FROM t0 WHERE pkey = 1 FOR UPDATE NOWAIT\ns1 COMMIT",
];

/// What all oracles say of a script at a level, through a server with a fault.
fn said(url: &str, fault: Fault, level: IsolationLevel, script: &str) -> Verdict {
    // Tests run at once, one for a server without a fault.
    let database = format!("rashomon_key_{fault:?}");
    let text = case_text(level, TABLES, script);
    heard_in(url, fault, &database, &text)
}

#[test]
fn a_child_and_its_parent_meet_without_a_false_alarm() {
    let Some(url) = url("a_child_and_its_parent_meet", Needs::Postgres) else {
        return;
    };
    for level in LEVELS {
        for script in MEETINGS
            .iter()
            .chain(REFUSALS.iter().map(|(script, _)| script))
        {
            let verdict = said(&url, Fault::None, level, script);
            let is_right = matches!(&verdict, Verdict::Agree | Verdict::Known(_));
            assert!(is_right, "{level}: {script}\n{verdict:?}");
        }
    }
}

#[test]
fn a_key_that_refuses_nothing_is_heard_at_each_level() {
    let Some(url) = url("a_key_that_refuses_nothing", Needs::Postgres) else {
        return;
    };
    for (script, levels) in REFUSALS {
        for level in levels {
            // A fault is planted beside an open transaction.
            let script =
                format!("s3 BEGIN\ns3 SELECT pkey FROM t0 WHERE pkey = 2\n{script}\ns3 COMMIT");
            let verdict = said(&url, Fault::ForeignKeysForgotten, *level, &script);
            let is_heard = matches!(verdict, Verdict::Violation(_));
            assert!(is_heard, "{level}: {script}\n{verdict:?}");
        }
    }
}

/// The DELETE of a parent waits for its child, which is gone then.
const CHILD_GOES: &str = "s1 BEGIN
s1 DELETE FROM t1
s2 DELETE FROM t0 WHERE pkey = 1
s1 COMMIT";

/// It waits for the parent itself, and the child went before it was sent.
const CHILD_IS_GONE: &str = "s1 DELETE FROM t1
s2 BEGIN
s2 UPDATE t0 SET vkey = 1000 WHERE pkey = 1
s3 DELETE FROM t0 WHERE pkey = 1
s2 ROLLBACK";

/// It finds no child, and waits for nobody.
const CHILD_WENT: &str = "s2 BEGIN
s2 SELECT pkey FROM t0 WHERE pkey = 3
s1 DELETE FROM t1
s2 DELETE FROM t0 WHERE pkey = 1
s2 COMMIT";

fn refuses(execution: &mut Execution, statement: (u32, u32)) {
    let record = execution.records.get_mut(&id(statement.0, statement.1));
    record.expect("it ran").outcome = Outcome::Rejected(SqlError {
        code: "40001".to_owned(),
        class: ErrorClass::Serialization,
        message: String::new(),
    });
}

/// A snapshot that is older than the end of a child refuses the end of its parent where it waited for the child, and
/// nowhere else.
#[test]
fn a_parent_is_refused_for_a_child_that_it_waited_for_and_no_other() {
    let Some(server) = server("a_parent_is_refused_for_a_child") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = |level, script, lie: fn(&mut Execution)| {
        let case = scripted(&*server, level, TABLES, script);
        hearing_of(&driver, &case, lie).verdict()
    };
    for level in LEVELS {
        for script in [CHILD_GOES, CHILD_IS_GONE, CHILD_WENT] {
            let said = said(level, script, honest);
            assert!(oracles::is_decided(&said), "{level}: {script}\n{said}");
        }
    }
    let kind = |script, lie| oracles::kind(&said(RepeatableRead, script, lie)).to_owned();
    let refused = "refusal-without-cause";
    assert_eq!(kind(CHILD_IS_GONE, |run| refuses(run, (3, 1))), refused);
    assert_eq!(kind(CHILD_WENT, |run| refuses(run, (1, 3))), refused);
}

/// A child that references one partition of a table.
const OF_A_PARTITION: &str = "\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT) PARTITION BY LIST (pkey);\n\
    /* init */ CREATE TABLE t0_a PARTITION OF t0 FOR VALUES IN (1, 2);\n\
    /* init */ CREATE TABLE t0_b PARTITION OF t0 FOR VALUES IN (3, 4);\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 BIGINT REFERENCES t0_a);\n\
    /* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1), (3, 3);\n";

#[test]
fn what_references_a_partition_waits_for_its_table() {
    let Some(server) = server("what_references_a_partition") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let child = "INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1001, 1)";
    let waits = format!(
        "s1 BEGIN\ns2 BEGIN\ns1 DELETE FROM t0 WHERE pkey = 1\ns2 {child}\ns1 COMMIT\ns2 COMMIT"
    );
    let free =
        format!("s1 BEGIN\ns2 BEGIN\ns1 SELECT pkey FROM t0\ns2 {child}\ns1 COMMIT\ns2 COMMIT");
    for level in LEVELS {
        for script in [&waits, &free] {
            let case = scripted(&*server, level, OF_A_PARTITION, script);
            let said = hearing_of(&driver, &case, honest).verdict();
            let is_right = matches!(said, Verdict::Agree | Verdict::Known(_));
            assert!(is_right, "{level}: {script}: {said}");
        }
        let case = scripted(&*server, level, OF_A_PARTITION, &free);
        let said = hearing_of(&driver, &case, |run| {
            refuse(run, 2, "40001", ErrorClass::Serialization);
        });
        let said = said.verdict();
        assert!(matches!(said, Verdict::Violation(_)), "{level}: {said}");
    }
}

#[test]
fn a_child_under_another_key_is_the_same_child_when_its_parents_are_written() {
    let Some(server) = server("a_child_under_another_key") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let actions = TABLES.replace(
        "REFERENCES t0 (c0)",
        "REFERENCES t0 (c0) ON DELETE CASCADE ON UPDATE SET NULL",
    );
    let moves = "UPDATE t1 SET pkey = 7, vkey = 1000 WHERE pkey = 1";
    for parent in [
        "DELETE FROM t0 WHERE pkey = 9",
        "DELETE FROM t0 WHERE pkey = 1",
        "UPDATE t0 SET c0 = 80, vkey = 1001 WHERE pkey = 1",
        "UPDATE t0 SET c0 = 80, vkey = 1001 WHERE pkey = 2",
    ] {
        for level in LEVELS {
            for script in [
                format!("s1 BEGIN\ns1 {moves}\ns1 {parent}\ns1 COMMIT"),
                format!("s1 {moves}\ns2 BEGIN\ns2 {parent}\ns2 COMMIT"),
            ] {
                let case = scripted(&*server, level, &actions, &script);
                let said = hearing_of(&driver, &case, honest).verdict();
                // Which row has got another key is told from 18 on.
                let untold = matches!(
                    said,
                    Verdict::Undecided(UndecidedReason::WriteWithoutReturning)
                );
                assert!(
                    said == Verdict::Agree || untold,
                    "{level}: {script}: {said}"
                );
            }
        }
    }
}
