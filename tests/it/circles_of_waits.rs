//! Deadlocks that the server tells of: whether a circle of waits can have closed.

use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{ErrorClass, Execution, Finding, FindingKind, Tick, TransactionStatus};

use crate::lying::{OneDriver, SETUP, hearing_of, honest, id, rejected, scripted};
use crate::oracles;
use crate::servers::Needs;

/// The third transaction waits for the first one at `t1`, and the second one meets `t0`.
const NO_CIRCLE: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000 WHERE pkey = 2
s1 UPDATE t1 SET vkey = 1001 WHERE pkey = 1
s2 BEGIN
s3 BEGIN
s3 UPDATE t1 SET vkey = 1002 WHERE pkey = 1
s2 SELECT c0 FROM t0 WHERE pkey = 1 FOR UPDATE
s1 ROLLBACK
s3 ROLLBACK";

/// The second transaction is the victim of a deadlock, which ends it.
fn victim(run: &mut Execution) {
    let ids = run.records.keys().filter(|id| id.transaction.0 == 2);
    let last = *ids.max().expect("it ran");
    let record = run.records.get_mut(&last).expect("it ran");
    record.outcome = rejected("1213", ErrorClass::Deadlock);
    record.transaction_survives = false;
    let ended = TransactionStatus::Aborted(record.answered);
    run.transactions.insert(id(2, 1).transaction, ended);
}

/// It is, and stays open until its ROLLBACK.
fn failed_victim(run: &mut Execution) {
    let record = run.records.get_mut(&id(2, 2)).expect("it ran");
    record.outcome = rejected("40P01", ErrorClass::Deadlock);
    record.command_tag = None;
}

#[test]
fn a_deadlock_beside_a_wait_that_is_part_of_no_circle_has_no_cause() {
    let test = "a_deadlock_beside_a_wait";
    let setup = format!("{SETUP}{}", SETUP.replace("t0", "t1"));
    // It may hold what the third transaction waits for, which waits for the first one, too.
    let circle = NO_CIRCLE.replace(
        "s3 BEGIN",
        "s2 SELECT c0 FROM t1 WHERE pkey = 2 FOR UPDATE\ns3 BEGIN",
    );
    // The third transaction has used `t0`.
    let circle = circle.replace(
        "s3 UPDATE",
        "s3 SELECT c0 FROM t0 WHERE pkey = 2\ns3 UPDATE",
    );
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(server) = oracles::server(test, needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        for level in [ReadCommitted, RepeatableRead, Serializable] {
            let said = |script: &str, lie| {
                let case = scripted(&*server, level, &setup, script);
                oracles::kind(&hearing_of(&driver, &case, lie).verdict())
            };
            assert_eq!(said(NO_CIRCLE, honest), "agree", "{level}");
            assert_eq!(said(NO_CIRCLE, victim), "refusal-without-cause", "{level}");
            assert_ne!(said(&circle, victim), "refusal-without-cause", "{level}");
        }
    }
}

/// The first and the second transaction wait for each other, the third for the second one.
const TWO_CIRCLES: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000 WHERE pkey = 1
s2 BEGIN
s2 UPDATE t1 SET vkey = 1001 WHERE pkey = 1
s2 UPDATE t2 SET vkey = 1002 WHERE pkey = 1
s3 BEGIN
s3 UPDATE t0 SET vkey = 1003 WHERE pkey = 2
s2 UPDATE t0 SET vkey = 1004 WHERE pkey = 1
s3 UPDATE t2 SET vkey = 1005 WHERE pkey = 1
s1 UPDATE t1 SET vkey = 1006 WHERE pkey = 1
s1 ROLLBACK
s2 ROLLBACK
s3 ROLLBACK";

/// The first two transactions are victims, of whom the second one is answered first.
fn two_victims(run: &mut Execution) {
    let (first, second) = (id(1, 3), id(2, 4));
    let at = [first, second].map(|id| run.records[&id].answered);
    for (id, at) in [(first, at[0].max(at[1])), (second, at[0].min(at[1]))] {
        let record = run.records.get_mut(&id).expect("it ran");
        record.answered = at;
        record.outcome = rejected("1213", ErrorClass::Deadlock);
        record.transaction_survives = false;
        let ended = TransactionStatus::Aborted(at);
        run.transactions.insert(id.transaction, ended);
    }
}

/// The same, and the first one was seen waiting when the second one had been answered.
fn two_victims_in_order(run: &mut Execution) {
    two_victims(run);
    let before = run.records[&id(2, 4)].answered;
    let record = run.records.get_mut(&id(1, 3)).expect("it ran");
    record.waiting = Some(Tick(before.0 + 1));
    record.answered = Tick(before.0 + 2);
}

#[test]
fn of_two_victims_of_two_circles_either_may_have_been_the_first() {
    let test = "of_two_victims";
    let setup = ["t0", "t1", "t2"]
        .map(|table| SETUP.replace("t0", table))
        .concat();
    // The third transaction has nothing that the second one waits for.
    let one_circle = TWO_CIRCLES.replace("s3 UPDATE t0 SET vkey = 1003 WHERE pkey = 2\n", "");
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(server) = oracles::server(test, needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        // Other oracles say what else is wrong of a run with victims that were none.
        let is_told = |script: &str, lie| {
            let case = scripted(&*server, ReadCommitted, &setup, script);
            let hearing = hearing_of(&driver, &case, lie);
            let is_causeless =
                |finding: &Finding| finding.signature.kind == FindingKind::RefusalWithoutCause;
            hearing.violation(is_causeless).is_some()
        };
        assert!(!is_told(TWO_CIRCLES, honest));
        assert!(!is_told(TWO_CIRCLES, two_victims));
        assert!(is_told(TWO_CIRCLES, two_victims_in_order));
        assert!(is_told(&one_circle, two_victims));
    }
}

const PARTITIONED: &str = "\
    /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT) PARTITION BY RANGE (pkey);\n\
    /* init */ CREATE TABLE low PARTITION OF t0 FOR VALUES FROM (0) TO (10);\n\
    /* init */ CREATE TABLE high PARTITION OF t0 FOR VALUES FROM (10) TO (20);\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20), (12, 3, 30);\n";

/// The first transaction names the partitions, the second one their table.
const BY_PARTITIONS: [&str; 3] = [
    "s1 BEGIN
s1 UPDATE low SET vkey = 1000 WHERE pkey = 1
s2 BEGIN
s2 UPDATE t0 SET vkey = 1001 WHERE pkey = 12
s1 UPDATE high SET vkey = 1002 WHERE pkey = 12
s2 UPDATE t0 SET vkey = 1003 WHERE pkey = 1
s1 ROLLBACK
s2 ROLLBACK",
    // The second one is refused at REPEATABLE READ (40001).
    "s2 BEGIN
s2 SELECT c0 FROM t0 WHERE pkey = 2
s1 UPDATE high SET vkey = 1002 WHERE pkey = 12
s2 UPDATE t0 SET vkey = 1003 WHERE pkey = 12
s2 ROLLBACK",
    // The second one comes behind the third and before the INSERT.
    "s3 BEGIN
s3 SELECT COUNT(*) FROM high
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (13, 4, 40)
s2 BEGIN
s2 SELECT COUNT(*) FROM t0
s2 SELECT COUNT(*) FROM high
s3 COMMIT
s2 COMMIT",
];

#[test]
fn who_names_a_partition_is_not_judged_by_names_of_tables() {
    let Some(server) = oracles::server("who_names_a_partition", Needs::Postgres) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = |level, setup: &str, script: &str, lie| {
        let case = scripted(&*server, level, setup, script);
        oracles::kind(&hearing_of(&driver, &case, lie).verdict())
    };
    for script in BY_PARTITIONS {
        for level in [ReadCommitted, RepeatableRead, Serializable] {
            let silent = said(level, PARTITIONED, script, honest);
            assert_eq!(silent, "undecided (no-oracle-applies)", "{level}: {script}");
        }
    }
    // Beside it a deadlock that no circle explains is heard, partitions or not.
    let setup = format!("{PARTITIONED}{}", SETUP.replace("t0", "t1"));
    let script = format!("{NO_CIRCLE}\ns2 ROLLBACK");
    let heard = said(ReadCommitted, &setup, &script, failed_victim);
    assert_eq!(heard, "refusal-without-cause");
}
