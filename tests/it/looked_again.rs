//! Statements of several tables that waited on PostgreSQL at READ COMMITTED: rows that changed meanwhile are looked at
//! again, and what that leaves open covers nothing else.

use rashomon::dialect::Capability;
use rashomon::model::IsolationLevel::ReadCommitted;
use rashomon::model::{Execution, Outcome, ProbeAnswer, Value, Verdict};

use crate::heard::heard_in;
use crate::lying::{OneDriver, hearing_of, honest, id, scripted};
use crate::oracles;
use crate::plant::Fault;
use crate::servers::{Needs, url};

const TABLES: &str = "\
    --! format = 1\n--! isolation = \"READ COMMITTED\"\n\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30);\n\
    /* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 4, 10), (2, 5, 20), (3, 6, 30);\n";

/// T1 changes a row for which the statement waits, so that the row fits as before, or no more.
const CHANGES: [&str; 2] = [
    "UPDATE t0 SET vkey = 1000, c0 = 11 WHERE pkey = 1",
    "UPDATE t0 SET vkey = 1000, c0 = 50 WHERE pkey = 1",
];

const WRITES: [&str; 3] = [
    "UPDATE t0 SET vkey = 1001 WHERE t0.pkey IN (SELECT t1.pkey FROM t1 WHERE t1.c0 < 25) AND t0.c0 < 25",
    "UPDATE t0 SET vkey = 1001 FROM t1 WHERE t0.pkey = t1.pkey AND t1.c0 < 25 AND t0.c0 < 25",
    "DELETE FROM t0 USING t1 WHERE t0.pkey = t1.pkey AND t1.c0 < 25 AND t0.c0 < 25",
];

const JOIN: &str = "SELECT r1.pkey, r1.c0, r2.c0 FROM t0 AS r1 JOIN t1 AS r2 ON r1.pkey = r2.pkey \
    WHERE r1.c0 < 25 FOR UPDATE";

/// The clause locks the one of the two, and the other stays as the snapshot shows it.
const SELF_JOIN: &str = "SELECT r1.c0, r2.c0 FROM t0 AS r1 JOIN t0 AS r2 ON r1.pkey = r2.pkey \
    WHERE r1.c0 < 60 FOR UPDATE OF r1";

fn said(url: &str, fault: Fault, change: &str, waits: &str) -> Verdict {
    let text = format!(
        "{TABLES}/* s1 */ BEGIN;\n/* s1 */ {change};\n/* s2 */ BEGIN;\n/* s2 */ {waits};\n\
         /* s1 */ COMMIT;\n/* s2 */ COMMIT;\n"
    );
    heard_in(url, fault, "rashomon_heard_again", &text)
}

#[test]
fn rows_that_did_not_change_are_written_and_read_as_the_snapshot_says() {
    let Some(url) = url("rows_that_did_not_change", Needs::Postgres) else {
        return;
    };
    for change in CHANGES {
        for waits in WRITES.iter().chain([&JOIN, &SELF_JOIN]) {
            let said = said(&url, Fault::None, change, waits);
            let is_violation = matches!(said, Verdict::Violation(_));
            assert!(!is_violation, "{change}: {waits}: {said}");
        }
        // The proxy knows no write of several tables but one with a subquery.
        for (waits, fault) in [
            (WRITES[0], Fault::WaitedWritePassesOver),
            (JOIN, Fault::StaleLockingReadAfterWait),
        ] {
            let said = said(&url, fault, change, waits);
            let is_violation = matches!(said, Verdict::Violation(_));
            assert!(is_violation, "{fault}: {change}: {waits}: {said}");
        }
    }
}

/// The row 2 is waited for, and the row 1 is not, whose key stays: one is as of the end of the wait, the other as of the snapshot.
#[test]
fn a_read_that_waited_for_one_of_two_rows_shows_two_moments() {
    let Some(url) = url("a_read_that_waited_for_one_of_two_rows", Needs::Postgres) else {
        return;
    };
    let one = "SELECT * FROM t0 FOR KEY SHARE";
    let join = "SELECT r1.pkey, r1.c0, r2.c0 FROM t0 AS r1 JOIN t1 AS r2 ON r1.pkey = r2.pkey FOR KEY SHARE";
    for read in [one, join] {
        let text = format!(
            "{TABLES}/* s1 */ BEGIN;\n/* s1 */ SELECT * FROM t0 WHERE pkey = 2 FOR UPDATE;\n\
             /* s1 */ UPDATE t0 SET vkey = 1000 WHERE pkey = 2;\n\
             /* s1 */ UPDATE t0 SET vkey = 1001, c0 = 7 WHERE pkey = 1;\n/* s2 */ {read};\n/* s1 */ COMMIT;\n"
        );
        let said = heard_in(&url, Fault::None, "rashomon_heard_moments", &text);
        assert!(!matches!(said, Verdict::Violation(_)), "{read}: {said}");
        // What the snapshot shows, and nothing to explain.
        assert!(read == one || said == Verdict::Agree, "{read}: {said}");
    }
}

/// A row was moved away from a key, and another one stands under it, which is deleted while a DELETE of it waits: it finds none,
/// beside the one that was moved. One that finds it all the same is heard.
#[test]
fn a_row_under_a_key_that_another_one_left_is_gone_for_who_waited_for_it() {
    let Some(url) = url("a_row_under_a_key_that_another_one_left", Needs::Postgres) else {
        return;
    };
    let text = format!(
        "{TABLES}/* s1 */ UPDATE t0 SET pkey = 7, vkey = 1000 WHERE pkey = 1;\n\
         /* s1 */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1001);\n/* s1 */ BEGIN;\n\
         /* s1 */ DELETE FROM t0 WHERE pkey = 1;\n/* s2 */ DELETE FROM t0 WHERE pkey = 1;\n/* s1 */ COMMIT;\n"
    );
    let said = |fault| heard_in(&url, fault, "rashomon_heard_moved", &text);
    let honest = said(Fault::None);
    assert!(!matches!(honest, Verdict::Violation(_)), "{honest}");
    let lied = said(Fault::CountOffByOne);
    assert!(matches!(lied, Verdict::Violation(_)), "{lied}");
}

/// The two tables of a join, whose rows with one key belong together.
const PAIRED: &str = "\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30);\n\
    /* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 4, 10), (2, 5, 20), (3, 6, 30);\n";

/// T2.2 has waited for the row 1 of t0 and gives nothing of it.
fn passes_over_in_a_read(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 2)).expect("it ran");
    let Outcome::Rows(rows) = &mut record.outcome else {
        panic!("rows: {:?}", record.outcome);
    };
    rows.retain(|row| row[0] != Value::Integer(1));
}

/// T2.2 has waited for the row 1 of t0 and leaves it as T1 did.
fn passes_over_in_a_write(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 2)).expect("it ran");
    record.outcome = Outcome::Affected(1);
    let of_it = |probe: &&mut ProbeAnswer| probe.statement == id(2, 2);
    for probe in execution.probes.iter_mut().filter(of_it) {
        if let Outcome::Rows(rows) = &mut probe.outcome {
            rows.retain(|row| row[0] != Value::Integer(1));
        }
    }
    let rows = execution.final_state.get_mut("t0").expect("the table");
    rows.retain(|row| row[0] != Value::Integer(1));
    rows.insert(0, [1, 1000, 11].map(Value::Integer).to_vec());
}

#[test]
fn two_rows_that_still_fit_stay_joined_after_a_wait() {
    let Some(server) = oracles::server("two_rows_that_still_fit", Needs::Postgres) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = |change: &str, waits: &str, lie| {
        let script = format!("s1 BEGIN\ns1 {change}\ns2 BEGIN\ns2 {waits}\ns1 COMMIT\ns2 COMMIT");
        let case = scripted(&*server, ReadCommitted, PAIRED, &script);
        hearing_of(&driver, &case, lie).verdict()
    };
    let of_one = JOIN.replace("FOR UPDATE", "FOR UPDATE OF r1");
    let of_other = CHANGES[0].replace("t0", "t1");
    for (change, waits) in [
        (CHANGES[0], JOIN),
        (CHANGES[0], of_one.as_str()),
        (of_other.as_str(), JOIN),
        (CHANGES[0], WRITES[1]),
        (CHANGES[0], WRITES[2]),
    ] {
        let honest = said(change, waits, honest);
        assert!(
            !matches!(honest, Verdict::Violation(_)),
            "{waits}: {honest}"
        );
        let lie = match waits.starts_with("SELECT") {
            true => passes_over_in_a_read,
            false => passes_over_in_a_write,
        };
        let lied = said(change, waits, lie);
        assert!(
            matches!(lied, Verdict::Violation(_)),
            "{change}: {waits}: {lied}"
        );
    }
    // It does not fit any more, is joined with another row than before, or is another row: so the server passes over it.
    let moved = "UPDATE t0 SET vkey = 1000, c0 = 20 WHERE pkey = 1";
    let by_value = JOIN.replace("ON r1.pkey = r2.pkey", "ON r1.c0 = r2.c0");
    let replaced =
        "DELETE FROM t0 WHERE pkey = 1\ns1 INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1000, 11)";
    for (change, waits) in [
        (replaced, JOIN),
        (replaced, WRITES[1]),
        (CHANGES[1], JOIN),
        (CHANGES[1], WRITES[1]),
        (
            "UPDATE t0 SET pkey = 7, vkey = 1000 WHERE pkey = 1",
            WRITES[1],
        ),
        (moved, by_value.as_str()),
        (
            moved,
            "UPDATE t0 SET vkey = 1001 FROM t1 WHERE t0.c0 = t1.c0 AND t1.c0 < 25",
        ),
    ] {
        let honest = said(change, waits, honest);
        assert!(
            !matches!(honest, Verdict::Violation(_)),
            "{waits}: {honest}"
        );
    }
}

const MERGE: &str = "MERGE INTO t0 USING t1 ON t0.pkey = t1.pkey \
    WHEN MATCHED AND t0.c0 < 25 THEN UPDATE SET vkey = 1001 WHEN MATCHED THEN DO NOTHING";

/// T2.2 has waited for the row 1 of t0, and leaves row 2 as it was.
fn passes_over_the_other(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 2)).expect("it ran");
    let count = record.outcome.row_count().expect("it counts");
    record.outcome = Outcome::Affected(count - 1);
    record.reported = record.reported.map(|count| count - 1);
    let tag = record.command_tag.take();
    record.command_tag = tag.map(|_| format!("MERGE {}", count - 1));
    let of_it = |probe: &&mut ProbeAnswer| probe.statement == id(2, 2);
    for probe in execution.probes.iter_mut().filter(of_it) {
        if let Outcome::Rows(rows) = &mut probe.outcome {
            rows.retain(|row| row[0] != Value::Integer(2));
        }
    }
    let rows = execution.final_state.get_mut("t0").expect("the table");
    rows.retain(|row| row[0] != Value::Integer(2));
    rows.insert(1, [2, 2, 20].map(Value::Integer).to_vec());
}

#[test]
fn a_merge_that_waited_changes_the_other_rows_as_its_snapshot_says() {
    let Some(server) = oracles::server("a_merge_that_waited", Needs::Postgres) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    // Older servers do not say what a MERGE did.
    let tells = server.dialect().supports(Capability::Merge);
    for change in CHANGES {
        let script = format!("s1 BEGIN\ns1 {change}\ns2 BEGIN\ns2 {MERGE}\ns1 COMMIT\ns2 COMMIT");
        let case = scripted(&*server, ReadCommitted, PAIRED, &script);
        let said = |lie| hearing_of(&driver, &case, lie).verdict();
        let (right, wrong) = (said(honest), said(passes_over_the_other));
        assert!(!matches!(right, Verdict::Violation(_)), "{change}: {right}");
        let is_heard = matches!(wrong, Verdict::Violation(_));
        assert!(is_heard || !tells, "{change}: {wrong}");
    }
}
