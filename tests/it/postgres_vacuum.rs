//! VACUUM and other statements that change how a table is stored, on PostgreSQL: what they wait for, and what they must leave.

use std::sync::atomic::{AtomicBool, Ordering};

use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{Execution, Outcome, StatementRecord, Verdict};

use crate::lying::{OneDriver, id, verdict};
use crate::oracles;
use crate::postgres_cases::server;

/// A table is cleaned while a snapshot still sees a deleted row of it.
const VACUUM: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 DELETE FROM t0 WHERE pkey = 2
s2 VACUUM (TRUNCATE FALSE, INDEX_CLEANUP ON) t0
s1 SELECT * FROM t0 WHERE pkey = 2
s1 COMMIT";

fn was_sent_at_once(execution: &mut Execution) {
    assert!(execution.records[&id(3, 1)].answered < execution.records[&id(1, 3)].sent);
}

/// As if the row were gone for the snapshot, too.
fn cleaned_too_much(execution: &mut Execution) {
    was_sent_at_once(execution);
    let record = execution.records.get_mut(&id(1, 3)).expect("it ran");
    record.outcome = Outcome::Rows(Vec::new());
}

#[test]
fn a_vacuum_leaves_what_a_snapshot_sees_and_else_is_heard() {
    let Some(server) = server("a_vacuum_leaves_what_a_snapshot_sees") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = verdict(&driver, RepeatableRead, None, VACUUM, was_sent_at_once);
    assert_eq!(oracles::kind(&said), "agree");
    let said = verdict(&driver, RepeatableRead, None, VACUUM, cleaned_too_much);
    assert_eq!(oracles::kind(&said), "wrong-rows");
}

/// A table is stored anew, which waits for whoever has used it.
fn waited_its_turn(execution: &mut Execution) {
    assert!(execution.records[&id(3, 1)].sent > execution.records[&id(1, 4)].answered);
}

#[test]
fn ddl_that_waits_for_a_transaction_is_sent_when_that_has_ended() {
    let Some(server) = server("ddl_is_sent_when_a_transaction_has_ended") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for ddl in [
        "VACUUM FULL t0",
        "REINDEX TABLE t0",
        "CREATE INDEX x1 ON t0 (c0)",
    ] {
        let script = VACUUM.replace("VACUUM (TRUNCATE FALSE, INDEX_CLEANUP ON) t0", ddl);
        let said = verdict(&driver, Serializable, None, &script, waited_its_turn);
        assert_eq!(oracles::kind(&said), "agree", "{ddl}");
    }
}

/// The read stops early and looks at its page until its session sends the next statement.
const PINNED: &str = "s2 BEGIN
s2 SELECT pkey FROM t0 LIMIT 1
s1 VACUUM (TRUNCATE FALSE, FREEZE) t0
s2 COMMIT";

static WAITED: AtomicBool = AtomicBool::new(false);

fn waited_and_went_on(execution: &mut Execution) {
    assert_eq!(execution.unreliable, None);
    let mut records = execution.records.values();
    if records.any(StatementRecord::resumed) {
        WAITED.store(true, Ordering::Relaxed);
    }
}

/// It has to wait only where no transaction of any database is older than the rows: others run beside this test.
#[test]
fn a_vacuum_that_waits_for_a_page_is_seen_waiting() {
    let Some(server) = server("a_vacuum_that_waits_for_a_page") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        WAITED.store(false, Ordering::Relaxed);
        for _ in 0..300 {
            let said = verdict(&driver, level, None, PINNED, waited_and_went_on);
            assert_eq!(said, Verdict::Agree, "{level}");
            if WAITED.load(Ordering::Relaxed) {
                break;
            }
        }
        assert!(WAITED.load(Ordering::Relaxed), "{level}: no VACUUM waited");
    }
}
