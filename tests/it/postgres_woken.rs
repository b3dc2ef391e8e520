//! Writes of PostgreSQL that one COMMIT wakes, and that end with their own answers: who had a row first is known where one of
//! them removed it.

use std::sync::atomic::{AtomicBool, Ordering};

use rashomon::model::IsolationLevel::ReadCommitted;
use rashomon::model::{Execution, Outcome, ProbeTag, Value, Verdict};

use crate::lying::{honest, verdict};
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
    for script in [UPDATE_AND_DELETE, DELETE_AND_INSERT] {
        for _ in 0..RUNS {
            let said = verdict(&*server, ReadCommitted, None, script, honest);
            let is_decided = matches!(said, Verdict::Agree | Verdict::Known(_));
            assert!(is_decided, "{script}: {said}");
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
    let mut heard = 0;
    for _ in 0..RUNS {
        LIED.store(false, Ordering::Relaxed);
        let lie = removes_an_older_version;
        let said = verdict(&*server, ReadCommitted, None, UPDATE_AND_DELETE, lie);
        let is_violation = matches!(said, Verdict::Violation(_));
        assert_eq!(is_violation, LIED.load(Ordering::Relaxed), "{said}");
        heard += usize::from(is_violation);
    }
    assert!(heard > 0, "no run had the UPDATE first");
}
