//! A write of PostgreSQL that changes a row beside another transaction's uncommitted version, which nobody sees.

use rashomon::model::IsolationLevel::ReadCommitted;
use rashomon::model::{
    EventKind, Execution, Outcome, ProbeTag, TransactionId, TransactionStatus, Value,
};

use crate::lying::{OneDriver, honest, id, verdict};
use crate::oracles;
use crate::postgres_cases::server;

/// Writes of the second session that find row 1 by another way than a condition on the table itself.
const WRITES: &[&str] = &[
    "INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1001, 5) ON CONFLICT (pkey) DO UPDATE SET vkey = 1001",
    "UPDATE t0 SET vkey = 1001 FROM t0 AS r WHERE r.pkey = t0.pkey AND r.pkey = 1",
    "UPDATE t0 SET vkey = 1001 WHERE pkey IN (SELECT r.pkey FROM t0 AS r WHERE r.pkey = 1)",
];

/// The second session's write did not wait: it was answered, and worked on the row as it was committed before.
fn does_not_wait(execution: &mut Execution) {
    let id = id(2, 1);
    let record = execution.records.get_mut(&id).expect("it ran");
    let answered = record.waiting.take().expect("it waited");
    record.waited_for.clear();
    record.answered = answered;
    let committed = TransactionStatus::Committed(answered);
    execution.transactions.insert(TransactionId(2), committed);
    let waits = |kind: EventKind| kind == EventKind::Waiting;
    execution
        .events
        .retain(|event| event.statement != id || !waits(event.kind));
    for event in &mut execution.events {
        if event.statement == id && event.kind == EventKind::Answered {
            event.tick = answered;
        }
    }
    execution.events.sort_by_key(|event| event.tick);
    for probe in &mut execution.probes {
        let is_returned = matches!(probe.tag, ProbeTag::Returned { .. });
        if probe.statement != id || !is_returned {
            continue;
        }
        probe.tick = answered;
        if let Outcome::Rows(rows) = &mut probe.outcome {
            rows.iter_mut().for_each(|row| as_committed_before(row));
        }
    }
    let rows = execution.final_state.get_mut("t0").expect("it was read");
    rows.iter_mut().for_each(|row| as_committed_before(row));
}

/// The row without what the first session's UPDATE gave it.
fn as_committed_before(row: &mut [Value]) {
    for value in row.iter_mut().filter(|value| **value == Value::Integer(7)) {
        *value = Value::Integer(10);
    }
}

#[test]
fn a_write_that_passes_over_an_uncommitted_version_that_nobody_sees_is_heard() {
    let Some(server) = server("a_write_that_passes_over_an_uncommitted_version") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for write in WRITES {
        let script = format!(
            "s1 BEGIN\ns1 UPDATE t0 SET c0 = 7, vkey = 1000 WHERE pkey = 1\ns2 {write}\ns1 COMMIT"
        );
        let said = verdict(&driver, ReadCommitted, None, &script, honest);
        assert_eq!(oracles::kind(&said), "agree", "{write}");
        let said = verdict(&driver, ReadCommitted, None, &script, does_not_wait);
        assert_eq!(oracles::kind(&said), "unlocked-write", "{write}: {said}");
    }
}
