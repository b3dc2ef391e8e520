//! Statements of PostgreSQL that one COMMIT wakes, and that end with their own answers. Of two writes it is known who had a
//! row first where one of them removed it; a read that locks the row returns what it met.

use std::sync::atomic::{AtomicBool, Ordering};

use rashomon::model::IsolationLevel::ReadCommitted;
use rashomon::model::{Execution, Outcome, ProbeTag, Value, Verdict};

use crate::lying::{OneDriver, honest, verdict};
use crate::oracles;
use crate::postgres_cases::server;

/// Either answers first, whichever had row 2 first.
const UPDATE_AND_DELETE: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000 WHERE pkey <= 2
s2 UPDATE t0 SET vkey = 1001 WHERE pkey = 2
s3 DELETE FROM t0 WHERE pkey >= 1
s1 COMMIT";

/// The INSERT is refused, or the DELETE was there before it.
const DELETE_AND_INSERT: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000 WHERE pkey <= 2
s2 DELETE FROM t0 WHERE pkey >= 1
s3 INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 1001, 7)
s1 COMMIT";

/// Runs of each: the order of the answers changes from one to the next.
const RUNS: usize = 40;

#[test]
fn two_writes_that_one_commit_wakes_are_judged_in_the_order_of_their_locks() {
    let Some(server) = server("two_writes_that_one_commit_wakes") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for script in [UPDATE_AND_DELETE, DELETE_AND_INSERT] {
        for _ in 0..RUNS {
            let said = verdict(&driver, ReadCommitted, None, script, honest);
            assert!(oracles::is_decided(&said), "{script}: {said}");
        }
    }
}

static LIED: AtomicBool = AtomicBool::new(false);

/// The DELETE returns the row as T1 left it, though T2 has changed it since.
fn removes_an_older_version(execution: &mut Execution) {
    for probe in &mut execution.probes {
        let (ProbeTag::Returned { .. }, Outcome::Rows(rows)) = (&probe.tag, &mut probe.outcome)
        else {
            continue;
        };
        let is_deletes = rows.len() == 2;
        for row in rows.iter_mut().filter(|_| is_deletes) {
            if let Some(version_key @ Value::Integer(1001)) = row.get_mut(1) {
                *version_key = Value::Integer(1000);
                LIED.store(true, Ordering::Relaxed);
            }
        }
    }
}

#[test]
fn a_delete_that_removes_another_version_than_the_write_before_it_made_is_heard() {
    let Some(server) = server("a_delete_that_removes_another_version") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let mut heard = 0;
    for _ in 0..RUNS {
        LIED.store(false, Ordering::Relaxed);
        let lie = removes_an_older_version;
        let said = verdict(&driver, ReadCommitted, None, UPDATE_AND_DELETE, lie);
        let is_violation = matches!(said, Verdict::Violation(_));
        assert_eq!(is_violation, LIED.load(Ordering::Relaxed), "{said}");
        heard += usize::from(is_violation);
    }
    assert!(heard > 0, "no run had the UPDATE first");
}

/// The read waits behind the UPDATE, and either has row 2 first once T1 has ended.
const UPDATE_AND_READ: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000 WHERE pkey = 2
s2 UPDATE t0 SET vkey = 1001 WHERE pkey = 2
s3 SELECT * FROM t0 WHERE pkey = 2 FOR UPDATE
s1 COMMIT";

/// The UPDATE has row 1 before the read or after it, and then waits for row 2, which another transaction holds.
const UPDATE_OF_TWO_AND_READ: &str = "s4 BEGIN
s4 UPDATE t0 SET vkey = 1000 WHERE pkey = 1
s1 BEGIN
s1 UPDATE t0 SET vkey = 1002 WHERE pkey = 2
s2 UPDATE t0 SET vkey = 1001 WHERE pkey <= 2
s3 SELECT * FROM t0 WHERE pkey = 1 FOR UPDATE
s4 COMMIT
s1 COMMIT";

/// The version key of the row that the only read returned.
fn read_version_key(execution: &mut Execution) -> Option<&mut Value> {
    let mut records = execution.records.values_mut();
    records.find_map(|record| match &mut record.outcome {
        Outcome::Rows(rows) => rows.first_mut()?.get_mut(1),
        Outcome::Affected(_) | Outcome::Rejected(_) => None,
    })
}

static READS_FIRST: AtomicBool = AtomicBool::new(false);

fn note_who_was_first(execution: &mut Execution) {
    let is_first = read_version_key(execution) == Some(&mut Value::Integer(1000));
    READS_FIRST.fetch_or(is_first, Ordering::Relaxed);
}

#[test]
fn a_read_that_one_commit_wakes_with_an_update_may_lock_a_row_before_it() {
    let Some(server) = server("a_read_that_one_commit_wakes") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for run in 0..20 * RUNS {
        if run >= RUNS && READS_FIRST.load(Ordering::Relaxed) {
            break;
        }
        let lie = note_who_was_first;
        let said = verdict(&driver, ReadCommitted, None, UPDATE_AND_READ, lie);
        assert!(oracles::is_decided(&said), "{said}");
    }
    let was_first = READS_FIRST.load(Ordering::Relaxed);
    assert!(was_first, "no run had the read first");
}

/// The read returns the row as it was before the transaction changed it that woke it.
fn reads_what_was_replaced(execution: &mut Execution) {
    if let Some(version_key) = read_version_key(execution) {
        *version_key = Value::Integer(2);
    }
}

static READ_LIED: AtomicBool = AtomicBool::new(false);

/// The read returns the row as it was before the UPDATE, which had written it when the read was woken.
fn reads_what_the_update_had_replaced(execution: &mut Execution) {
    if let Some(version_key) = read_version_key(execution)
        && *version_key == Value::Integer(1001)
    {
        *version_key = Value::Integer(1000);
        READ_LIED.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_read_that_waited_and_returns_a_version_that_was_replaced_before_is_heard() {
    let Some(server) = server("a_read_that_waited_and_returns_a_version") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let lie = reads_what_was_replaced;
    let said = verdict(&driver, ReadCommitted, None, UPDATE_AND_READ, lie);
    assert!(matches!(said, Verdict::Violation(_)), "{said}");
    let mut heard = 0;
    for _ in 0..RUNS {
        READ_LIED.store(false, Ordering::Relaxed);
        let lie = reads_what_the_update_had_replaced;
        let said = verdict(&driver, ReadCommitted, None, UPDATE_OF_TWO_AND_READ, lie);
        let is_violation = matches!(said, Verdict::Violation(_));
        assert_eq!(is_violation, READ_LIED.load(Ordering::Relaxed), "{said}");
        heard += usize::from(is_violation);
    }
    assert!(heard > 0, "no run had the UPDATE first");
}
