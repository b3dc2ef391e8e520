//! UPDATEs and upserts of PostgreSQL 18 return a row as it was, too: which row has another key now, and which of two came first, is known
//! by that. Older servers leave both open.

use std::sync::atomic::{AtomicBool, Ordering};

use rashomon::dialect::Capability;
use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{
    ErrorClass, Execution, Outcome, ProbeTag, SqlError, UndecidedReason, Value, Verdict,
};

use crate::lying::{OneDriver, hearing_of, honest, id, scripted, verdict};
use crate::oracles;
use crate::postgres_cases::server;

/// A row gets another key while others look for it by the old one and by the new one.
const MOVES: [&str; 5] = [
    "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000, PKEY = 7 WHERE pkey = 2
s2 SELECT * FROM t0
s1 UPDATE t0 SET vkey = 1001, c0 = 5 WHERE pkey = 7
s1 COMMIT
s2 SELECT * FROM t0 WHERE pkey = 7",
    "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000, pkey = 7 WHERE pkey = 2
s2 BEGIN
s2 UPDATE t0 SET vkey = 1001 WHERE pkey = 2
s1 COMMIT
s2 SELECT * FROM t0
s2 COMMIT",
    "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000, pkey = 7 WHERE pkey = 2
s2 UPDATE t0 SET vkey = 1001, c0 = 5 WHERE vkey >= 1
s3 DELETE FROM t0 WHERE c0 >= 1
s1 COMMIT",
    "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000, pkey = 7 WHERE pkey = 2
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 1001, 30)
s1 ROLLBACK
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (7, 1002, 40)",
    "s1 UPDATE t0 SET vkey = 1000, pkey = 7 WHERE pkey = 2
s2 BEGIN
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 1001, 30)
s1 UPDATE t0 SET vkey = 1002, pkey = pkey + 10 WHERE pkey = 7
s2 UPDATE t0 SET vkey = 1003, pkey = 7 WHERE pkey = 2
s2 COMMIT
s1 DELETE FROM t0 WHERE pkey = 17",
];

#[test]
fn a_row_key_that_an_update_moves_is_judged_where_the_old_row_is_returned() {
    let Some(server) = server("a_row_key_that_an_update_moves") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let tells = server.dialect().supports(Capability::ReturningOld);
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        for script in MOVES {
            let said = verdict(&driver, level, None, script, honest);
            let is_open = matches!(said, Verdict::Undecided(_));
            let expected = oracles::is_decided(&said) || is_open && !tells;
            assert!(expected, "{} {script}: {said}", level.sql());
        }
    }
}

/// Either UPDATE has row 2 first.
const TWO_UPDATES: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000, c0 = 5 WHERE pkey = 2
s2 UPDATE t0 SET vkey = 1001, c0 = c0 + 1 WHERE pkey = 2
s3 UPDATE t0 SET vkey = 1002, c0 = c0 * 2 WHERE pkey <= 2
s1 COMMIT";

/// Runs: the order of the answers changes from one to the next.
const RUNS: usize = 40;

#[test]
fn of_two_updates_that_one_commit_wakes_the_old_rows_tell_the_order() {
    let Some(server) = server("of_two_updates_that_one_commit_wakes") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let tells = server.dialect().supports(Capability::ReturningOld);
    for _ in 0..RUNS {
        let said = verdict(&driver, ReadCommitted, None, TWO_UPDATES, honest);
        let is_open = said == Verdict::Undecided(UndecidedReason::WokenTogether);
        assert!(oracles::is_decided(&said) || is_open && !tells, "{said}");
    }
}

static LIED: AtomicBool = AtomicBool::new(false);

/// The second UPDATE returns that it found the row as T1 had left it, as if it had lost the other UPDATE.
fn finds_what_was_replaced(execution: &mut Execution) {
    let returned =
        execution
            .probes
            .iter_mut()
            .filter_map(|probe| match (&probe.tag, &mut probe.outcome) {
                (ProbeTag::Returned { .. }, Outcome::Rows(rows)) => rows.last_mut(),
                _ => None,
            });
    // Three columns as they are, and three as they were.
    for row in returned {
        if let Some(old @ Value::Integer(1001 | 1002)) = row.get_mut(4) {
            *old = Value::Integer(1000);
            LIED.store(true, Ordering::Relaxed);
        }
    }
}

/// The upsert waits for row 2, or for the row 3 that is not there in the end.
const UPSERTS: [&str; 2] = [
    "s1 BEGIN
s1 UPDATE t0 SET vkey = 1001, c0 = 5 WHERE pkey = 2
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 1002, 7) ON CONFLICT (pkey) DO UPDATE SET vkey = 1003, c0 = t0.c0 + 1
s1 COMMIT",
    "s1 BEGIN
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1001, 5)
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1002, 7), (1, 1004, 8) ON CONFLICT (pkey) DO UPDATE SET vkey = t0.vkey + 2000
s1 ROLLBACK",
];

#[test]
fn an_upsert_returns_the_rows_that_it_found_and_none_for_those_that_it_put_in() {
    let Some(server) = server("an_upsert_returns_the_rows_that_it_found") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for script in UPSERTS {
        let said = verdict(&driver, ReadCommitted, None, script, honest);
        assert!(oracles::is_decided(&said), "{script}: {said}");
    }
}

#[test]
fn a_write_that_found_another_row_than_stood_is_heard() {
    let Some(server) = server("a_write_that_found_another_row") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let tells = server.dialect().supports(Capability::ReturningOld);
    for script in [TWO_UPDATES, UPSERTS[0]] {
        LIED.store(false, Ordering::Relaxed);
        let lie = finds_what_was_replaced;
        let said = verdict(&driver, ReadCommitted, None, script, lie);
        let lied = LIED.load(Ordering::Relaxed);
        assert_eq!(lied, tells, "{said}");
        assert!(!lied || oracles::kind(&said) == "wrong-rows", "{said}");
    }
}

const PARTITIONED: &str = "\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT) PARTITION BY RANGE (pkey);\n\
    /* init */ CREATE TABLE t0_0 PARTITION OF t0 FOR VALUES FROM (MINVALUE) TO (10);\n\
    /* init */ CREATE TABLE t0_1 PARTITION OF t0 FOR VALUES FROM (10) TO (MAXVALUE);\n\
    /* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1), (2, 2);\n";

/// T2.1 is refused: its row has left the partition.
const LEAVES: &str = "s1 BEGIN
s1 UPDATE t0 SET pkey = 20, vkey = 1000 WHERE pkey = 2
s2 UPDATE t0 SET vkey = 1001 WHERE vkey = 2
s1 COMMIT";

/// T2.1 does not find its row any more.
const STAYS: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000 WHERE pkey = 2
s2 UPDATE t0 SET vkey = 1001 WHERE vkey = 2
s1 COMMIT";

fn refused(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 1)).expect("it ran");
    record.outcome = Outcome::Rejected(SqlError {
        code: "40001".to_owned(),
        class: ErrorClass::Serialization,
        message: String::new(),
    });
    execution.probes.retain(|probe| probe.statement != id(2, 1));
}

#[test]
fn a_wait_for_a_row_that_leaves_its_partition_may_be_refused_and_no_other() {
    let Some(server) = server("a_wait_for_a_row_that_leaves") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = |script, lie| {
        let case = scripted(&*server, ReadCommitted, PARTITIONED, script);
        hearing_of(&driver, &case, lie).verdict()
    };
    let leaves = said(LEAVES, honest);
    let tells = server.dialect().supports(Capability::ReturningOld);
    let is_open = matches!(leaves, Verdict::Undecided(_));
    assert!(
        oracles::is_decided(&leaves) || is_open && !tells,
        "{leaves}"
    );
    assert!(oracles::is_decided(&said(STAYS, honest)));
    assert_eq!(
        oracles::kind(&said(STAYS, refused)),
        "refusal-without-cause"
    );
}
