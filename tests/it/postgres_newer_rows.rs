//! Rows that are newer than the snapshot of a transaction on PostgreSQL: above READ COMMITTED it may neither write nor lock them.

use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{
    ErrorClass, Execution, Outcome, ProbeAnswer, Row, SqlError, TransactionStatus, Value, Verdict,
};

use crate::lying::{OneDriver, honest, id, verdict};
use crate::oracles;
use crate::postgres_cases::server;
use crate::postgres_locks::{every_clause, verdict as forgetful};

/// T1 reads by a lock what T2 has changed and committed after its snapshot.
const NEWER_ROW: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 UPDATE t0 SET vkey = 1000, c0 = 11 WHERE pkey = 1
s1 SELECT c0 FROM t0 WHERE pkey = 1 FOR UPDATE
s1 COMMIT";

/// The same by an upsert.
const NEWER_ROW_UPSERT: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 UPDATE t0 SET vkey = 1000, c0 = 11 WHERE pkey = 1
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1001, 5) ON CONFLICT (pkey) DO UPDATE SET vkey = 1001, c0 = 12
s1 COMMIT";

/// T1 would insert what T2 has inserted and committed after its snapshot.
const UNSEEN_ROW: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 11)
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1001, 5) ON CONFLICT (pkey) DO NOTHING
s1 COMMIT";

/// T1.3 answered so, and its transaction committed.
fn answers(execution: &mut Execution, affected: u64, returned: Vec<Row>) {
    let written = id(1, 3);
    let record = execution.records.get_mut(&written).expect("it ran");
    let tick = record.answered;
    record.outcome = Outcome::Affected(affected);
    let probe = execution.probes.first().expect("T2.1 returned its row");
    let returned = ProbeAnswer {
        statement: written,
        tick,
        outcome: Outcome::Rows(returned),
        ..probe.clone()
    };
    execution.probes.push(returned);
    let end = execution.records.get_mut(&id(1, 4)).expect("it ran");
    end.outcome = Outcome::Affected(0);
    end.command_tag = Some("COMMIT".to_owned());
    let status = TransactionStatus::Committed(end.answered);
    execution.transactions.insert(written.transaction, status);
}

/// It inserted nothing.
fn passes_over(execution: &mut Execution) {
    answers(execution, 0, Vec::new());
}

/// It changed the row.
fn overwrites(execution: &mut Execution) {
    let row: Row = [1, 1001, 12].map(Value::Integer).to_vec();
    answers(execution, 1, vec![row.clone()]);
    let rows = execution.final_state.get_mut("t0").expect("the table");
    rows[0] = row;
}

/// What a stand-in that forgets lock clauses makes of a read of a row that is newer than its snapshot, and one that overwrites it.
#[test]
fn a_row_that_is_newer_than_the_snapshot_is_neither_locked_nor_written() {
    let Some(server) = server("a_row_that_is_newer_than_the_snapshot") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for level in [RepeatableRead, Serializable] {
        for script in [NEWER_ROW, NEWER_ROW_UPSERT, UNSEEN_ROW] {
            let said = verdict(&driver, level, None, script, honest);
            assert!(!matches!(said, Verdict::Violation(_)), "{level}: {said}");
        }
        let said = forgetful(&driver, level, NEWER_ROW, every_clause);
        assert_eq!(oracles::kind(&said), "unrefused-newer-row", "{level}");
        let said = verdict(&driver, level, None, NEWER_ROW_UPSERT, overwrites);
        assert_eq!(oracles::kind(&said), "unrefused-newer-row", "{level}");
    }
    let said = verdict(&driver, RepeatableRead, None, UNSEEN_ROW, passes_over);
    assert_eq!(oracles::kind(&said), "unrefused-newer-row");
    // A row that the snapshot shows may be passed over.
    let shown = UNSEEN_ROW.replace("VALUES (3, 1001", "VALUES (1, 1001");
    let said = verdict(&driver, RepeatableRead, None, &shown, honest);
    assert!(oracles::is_decided(&said), "{said}");
    // Where it is looked at again it is both, and a weak lock stands beside a change.
    let said = verdict(&driver, ReadCommitted, None, NEWER_ROW, honest);
    assert!(oracles::is_decided(&said), "{said}");
    let weak = NEWER_ROW.replace("FOR UPDATE", "FOR KEY SHARE");
    let said = verdict(&driver, RepeatableRead, None, &weak, honest);
    assert!(!matches!(said, Verdict::Violation(_)), "{said}");
}

/// T2 has changed another row of the table than T1 writes.
const NEIGHBOUR: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 UPDATE t0 SET vkey = 1000, c0 = 11 WHERE pkey = 1
s1 UPDATE t0 SET vkey = 1001, c0 = 21 WHERE pkey = 2
s1 ROLLBACK";

/// T1.3 was refused.
fn is_refused(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(1, 3)).expect("it ran");
    record.outcome = Outcome::Rejected(SqlError {
        code: "40001".to_owned(),
        class: ErrorClass::Serialization,
        message: String::new(),
    });
    execution.probes.retain(|probe| probe.statement != id(1, 3));
}

#[test]
fn a_change_of_another_row_refuses_nobody() {
    let Some(server) = server("a_change_of_another_row") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = |script: &str, lie| verdict(&driver, RepeatableRead, None, script, lie);
    assert!(oracles::is_decided(&said(NEIGHBOUR, honest)));
    let refused = said(NEIGHBOUR, is_refused);
    assert_eq!(oracles::kind(&refused), "unfounded-refusal", "{refused}");
    // By the row itself it is refused, and so by the server.
    for condition in ["pkey = 1", "vkey < 9"] {
        let script = NEIGHBOUR.replace("WHERE pkey = 2", &format!("WHERE {condition}"));
        let said = said(&script, honest);
        assert!(!matches!(said, Verdict::Violation(_)), "{said}");
    }
    // What SERIALIZABLE refuses need not be a newer row.
    let said = verdict(&driver, Serializable, None, NEIGHBOUR, is_refused);
    assert!(!matches!(said, Verdict::Violation(_)), "{said}");
}

/// T2 has changed another row than T1 locks.
const LOCKED_NEIGHBOUR: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 UPDATE t0 SET vkey = 1000, c0 = 11 WHERE pkey = 1
s1 SELECT pkey, c0 FROM t0 WHERE pkey = 2 FOR UPDATE
s1 ROLLBACK";

#[test]
fn a_read_that_locks_is_refused_for_a_newer_row_that_it_finds_alone() {
    let Some(server) = server("a_read_that_locks_is_refused") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = |script: &str, lie| verdict(&driver, RepeatableRead, None, script, lie);
    for clause in ["FOR UPDATE", "FOR SHARE", "FOR UPDATE SKIP LOCKED"] {
        let script = LOCKED_NEIGHBOUR.replace("FOR UPDATE", clause);
        assert_eq!(oracles::kind(&said(&script, honest)), "agree", "{clause}");
        let refused = said(&script, is_refused);
        assert_eq!(oracles::kind(&refused), "unfounded-refusal", "{clause}");
        let nothing = script.replace("WHERE pkey = 2 FOR", "WHERE pkey = 7 FOR");
        let refused = said(&nothing, is_refused);
        assert_eq!(oracles::kind(&refused), "unfounded-refusal", "{clause}");
    }
    // It finds the row, or may by its LIMIT: so the server refuses it.
    for condition in [
        "WHERE pkey = 1 FOR",
        "WHERE vkey < 9 FOR",
        "ORDER BY pkey LIMIT 1 FOR",
    ] {
        let script = LOCKED_NEIGHBOUR.replace("WHERE pkey = 2 FOR", condition);
        let said = said(&script, honest);
        assert!(
            !matches!(said, Verdict::Violation(_)),
            "{condition}: {said}"
        );
    }
    let limited = LOCKED_NEIGHBOUR.replace("WHERE pkey = 2 FOR", "ORDER BY pkey DESC LIMIT 1 FOR");
    assert!(!matches!(said(&limited, is_refused), Verdict::Violation(_)));
}

/// The snapshot is older than the first statement that names a table.
const EARLY_SNAPSHOT: &str = "s1 BEGIN
s1 SELECT 1
s2 UPDATE t0 SET vkey = 1000, c0 = 11 WHERE pkey = 1
s1 SELECT c0 FROM t0 WHERE pkey = 1 FOR UPDATE
s1 ROLLBACK";

#[test]
fn a_snapshot_of_a_statement_without_a_table_counts() {
    let Some(server) = server("a_snapshot_without_a_table") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let write = "UPDATE t0 SET vkey = 1001 WHERE pkey = 1";
    let by_write = EARLY_SNAPSHOT.replace("SELECT c0 FROM t0 WHERE pkey = 1 FOR UPDATE", write);
    for script in [EARLY_SNAPSHOT, &by_write] {
        let said = verdict(&driver, RepeatableRead, None, script, honest);
        assert!(!matches!(said, Verdict::Violation(_)), "{script}: {said}");
    }
}
