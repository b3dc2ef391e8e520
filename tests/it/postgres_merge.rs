//! MERGE on PostgreSQL 17 and later: it finds its rows in a snapshot, says what it did to each, and holds keys against the
//! newest rows. Older servers do not say, and that is open.

use rashomon::dialect::Capability;
use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{ErrorClass, Execution, Outcome, ProbeTag, SqlError, Value, Verdict};

use crate::lying::{Lie, OneDriver, honest, id, verdict};
use crate::postgres_cases::server;

/// A MERGE by T2 of the key 2, or of 3, beside T1.
const MERGES: [&str; 6] = [
    // It finds the row, and one that is not there.
    "s1 BEGIN
s1 SELECT * FROM t0
s2 MERGE INTO t0 USING (VALUES (2)) AS v (k) ON t0.pkey = v.k WHEN MATCHED THEN UPDATE SET vkey = 1001, c0 = t0.c0 + 1 WHEN NOT MATCHED THEN INSERT (pkey, vkey, c0) VALUES (2, 1001, 5)
s2 MERGE INTO t0 USING (VALUES (3)) AS v (k) ON t0.pkey = v.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (pkey, vkey, c0) VALUES (v.k, 1002, 5)
s1 COMMIT",
    // It waits for the row, which is another one then; above READ COMMITTED it is refused.
    "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000, c0 = 7 WHERE pkey = 2
s2 MERGE INTO t0 USING (VALUES (2)) AS v (k) ON t0.pkey = v.k WHEN MATCHED AND t0.c0 = 7 THEN DELETE WHEN MATCHED THEN UPDATE SET vkey = 1001
s1 COMMIT",
    // It waits for the row, which is gone then.
    "s1 BEGIN
s1 DELETE FROM t0 WHERE pkey = 2
s2 MERGE INTO t0 USING (VALUES (2)) AS v (k) ON t0.pkey = v.k WHEN MATCHED THEN UPDATE SET vkey = 1001 WHEN NOT MATCHED THEN INSERT (pkey, vkey, c0) VALUES (2, 1002, 5)
s1 COMMIT",
    // It waits for a row that its snapshot does not show, and is refused as its duplicate.
    "s1 BEGIN
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 7)
s2 MERGE INTO t0 USING (VALUES (3)) AS v (k) ON t0.pkey = v.k WHEN MATCHED THEN UPDATE SET vkey = 1001 WHEN NOT MATCHED THEN INSERT (pkey, vkey, c0) VALUES (v.k, 1002, 5)
s1 COMMIT",
    // What another transaction put in after its snapshot is no row to it, and its key is taken.
    "s2 BEGIN
s2 SELECT * FROM t0
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 7)
s2 MERGE INTO t0 USING (VALUES (3)) AS v (k) ON t0.pkey = v.k WHEN MATCHED THEN UPDATE SET vkey = 1001 WHEN NOT MATCHED THEN INSERT (pkey, vkey, c0) VALUES (v.k, 1002, 5)
s2 ROLLBACK",
    // Rows that no source row matches.
    "s1 BEGIN
s1 SELECT * FROM t0
s2 MERGE INTO t0 USING (VALUES (2)) AS v (k) ON t0.pkey = v.k WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN MATCHED THEN UPDATE SET vkey = 1001 RETURNING merge_action(), t0.pkey
s1 COMMIT",
];

#[test]
fn a_merge_is_judged_by_what_it_returns() {
    let Some(server) = server("a_merge_is_judged") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let tells = server.dialect().supports(Capability::Merge);
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        for script in MERGES {
            let said = verdict(&driver, level, None, script, honest);
            let is_right = matches!(said, Verdict::Agree | Verdict::Known(_));
            let is_open = matches!(said, Verdict::Undecided(_));
            assert!(is_right || is_open && !tells, "{level}: {script}\n{said}");
        }
    }
}

/// What T2's first MERGE did to its row, by its own words.
fn told(execution: &mut Execution) -> Option<&mut Vec<Value>> {
    let mut probes = execution.probes.iter_mut();
    let of_merge = probes.find(|probe| {
        let returns = matches!(probe.tag, ProbeTag::Returned { .. });
        returns && probe.statement == id(2, 1)
    });
    match &mut of_merge?.outcome {
        Outcome::Rows(rows) => rows.first_mut(),
        Outcome::Affected(_) | Outcome::Rejected(_) => None,
    }
}

/// It says that it removed the row.
fn says_that_it_removed(execution: &mut Execution) {
    if let Some(cell) = told(execution).and_then(|row| row.last_mut()) {
        *cell = Value::Text("DELETE".to_owned());
    }
}

/// It gave the row another value than it says.
fn says_another_value(execution: &mut Execution) {
    if let Some(cell) = told(execution).and_then(|row| row.get_mut(2)) {
        *cell = Value::Integer(77);
    }
}

/// It counts a row too many.
fn counts_another_row(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 1)).expect("it ran");
    if record.outcome == Outcome::Affected(1) {
        record.outcome = Outcome::Affected(2);
    }
}

/// It is refused for a key that nobody has.
fn meets_nobody(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 1)).expect("it ran");
    record.outcome = Outcome::Rejected(SqlError {
        code: "23505".to_owned(),
        class: ErrorClass::Duplicate,
        message: String::new(),
    });
    execution.probes.retain(|probe| probe.statement != id(2, 1));
}

/// The row that T2 puts in beside another one.
const ALONE: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 MERGE INTO t0 USING (VALUES (3)) AS v (k) ON t0.pkey = v.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (pkey, vkey, c0) VALUES (v.k, 1002, 5)
s1 COMMIT";

#[test]
fn a_merge_that_does_something_else_is_heard() {
    let Some(server) = server("a_merge_that_does_something_else") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    if !server.dialect().supports(Capability::Merge) {
        // What an older server's MERGE did is not judged, honest or not.
        let said = verdict(&driver, ReadCommitted, None, ALONE, honest);
        assert!(matches!(said, Verdict::Undecided(_)), "{said}");
        return;
    }
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        for (script, lie) in [
            (MERGES[0], says_that_it_removed as Lie),
            (MERGES[0], says_another_value),
            (MERGES[0], counts_another_row),
            (ALONE, meets_nobody),
        ] {
            let said = verdict(&driver, level, None, script, lie);
            assert!(matches!(said, Verdict::Violation(_)), "{level}: {said}");
        }
    }
}
