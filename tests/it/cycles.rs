//! Runs without a serial order on real servers: told by the cycle of their transactions, and named by it.

use rashomon::execute::Driver;
use rashomon::model::{AnomalyClass, Finding, IsolationLevel};
use rashomon::observe::Learner;
use rashomon::oracle::{Heard, IsolationOracle, SerialOracle, hear};

use crate::execute::{On, case, server};

const ISOLATION: IsolationOracle = IsolationOracle {
    learner: Learner::Observer,
};

#[test]
fn a_case_that_is_not_serializable_is_told_by_its_cycle() {
    let test = "a_case_that_is_not_serializable_is_told_by_its_cycle";
    let Some(server) = server(test, On::MariaDb) else {
        return;
    };
    let name = format!("rashomon_it_cycle_{}", std::process::id());
    let mut driver = Driver::open(&*server, &name).expect("a driver");
    let write_skew = "
        init: CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT)
        init: CREATE TABLE t1 (pkey INT PRIMARY KEY, vkey INT)
        init: INSERT INTO t0 (pkey, vkey) VALUES (1, 1)
        init: INSERT INTO t1 (pkey, vkey) VALUES (1, 1)
        s1: BEGIN
        s2: BEGIN
        s1: SELECT vkey FROM t0
        s2: SELECT vkey FROM t1
        s1: UPDATE t1 SET vkey = 1000
        s2: UPDATE t0 SET vkey = 1001
        s1: COMMIT
        s2: COMMIT
    ";
    let mut case = case(&*server, IsolationLevel::ReadCommitted, write_skew);
    case.claim = Some(IsolationLevel::Serializable);
    let hearing = hear(&case, &mut driver, &[&SerialOracle]).expect("an answer");
    driver.close().expect("the database goes");
    let heard = hearing.violation(|_| true).expect("write skew");
    let finding = heard.finding().expect("a violation");
    assert_eq!(
        finding.headline,
        "no serial order of T1, T2 explains the run: \
         cycle: T1 -rw(t0 row 1)-> T2 -rw(t1 row 1)-> T1"
    );
    assert_eq!(
        finding.explanation[..2],
        [
            "T1 before T2 (rw): T1.2 ranges over (1, 1), which T2.3 replaced by (1, 1001)",
            "T2 before T1 (rw): T2.2 ranges over (1, 1), which T1.3 replaced by (1, 1000)"
        ]
    );
}

#[test]
fn the_cycle_of_three_transactions_has_a_reason_for_each_edge() {
    let test = "the_cycle_of_three_transactions_has_a_reason_for_each_edge";
    let Some(server) = server(test, On::MariaDb) else {
        return;
    };
    let name = format!("rashomon_it_cycle_of_three_{}", std::process::id());
    let mut driver = Driver::open(&*server, &name).expect("a driver");
    let around = "
        init: CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT)
        init: INSERT INTO t (pkey, vkey) VALUES (1, 1), (2, 2), (3, 3)
        s1: BEGIN
        s2: BEGIN
        s3: BEGIN
        s1: SELECT * FROM t WHERE pkey = 1
        s2: SELECT vkey, pkey FROM t WHERE pkey = 2
        s3: SELECT * FROM t WHERE pkey = 3
        s2: UPDATE t SET vkey = 1000 WHERE pkey = 1
        s3: UPDATE t SET vkey = 1001 WHERE pkey = 2
        s1: UPDATE t SET vkey = 1002 WHERE pkey = 3
        s1: COMMIT
        s2: COMMIT
        s3: COMMIT
    ";
    let mut case = case(&*server, IsolationLevel::ReadCommitted, around);
    case.claim = Some(IsolationLevel::Serializable);
    let hearing = hear(&case, &mut driver, &[&SerialOracle, &ISOLATION]).expect("an answer");
    driver.close().expect("the database goes");
    assert_eq!(hearing.runs.len(), 1);
    let findings: Vec<&Finding> = hearing.rulings.iter().filter_map(Heard::finding).collect();
    let [serial, isolation] = findings.as_slice() else {
        panic!("two findings: {findings:?}");
    };
    let cycle = "T1 -rw(t row 1)-> T2 -rw(t row 2)-> T3 -rw(t row 3)-> T1";
    let reasons = [
        "T1 before T2 (rw): T1.2 shows (1, 1), which T2.3 replaced by (1, 1000)",
        "T2 before T3 (rw): T2.2 shows (2, 2), which T3.3 replaced by (2, 1001)",
        "T3 before T1 (rw): T3.2 shows (3, 3), which T1.3 replaced by (3, 1002)",
    ];
    assert_eq!(
        serial.headline,
        format!("no serial order of T1, T2, T3 explains the run: cycle: {cycle}")
    );
    assert_eq!(serial.explanation[..3], reasons);
    assert_eq!(
        isolation.headline,
        format!("write skew (G2-item) at READ COMMITTED claimed SERIALIZABLE: {cycle}")
    );
    assert_eq!(isolation.explanation[..3], reasons);
}

/// Two UPDATEs wait for a row, and pass over another one, which is moved meanwhile behind where they stand. Who changed which
/// row is not known, because both had changed rows before anyone looked.
#[test]
fn the_cycle_of_two_of_three_transactions_names_what_they_show() {
    let test = "the_cycle_of_two_of_three_transactions_names_what_they_show";
    let Some(server) = server(test, On::MySql) else {
        return;
    };
    let name = format!("rashomon_it_two_of_three_{}", std::process::id());
    let mut driver = Driver::open(&*server, &name).expect("a driver");
    let passed_over = "
        init: CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c INT)
        init: INSERT INTO t (pkey, vkey, c) VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0)
        s1: BEGIN
        s1: UPDATE t SET vkey = 1001, c = 5 WHERE pkey = 2
        s2: UPDATE t SET vkey = 1002, c = c + 1
        s3: UPDATE t SET vkey = 1004, c = c + 7 WHERE pkey > 1
        s1: UPDATE t SET vkey = 1003, pkey = 0 WHERE pkey = 3
        s1: COMMIT
    ";
    let mut case = case(&*server, IsolationLevel::ReadCommitted, passed_over);
    case.claim = Some(IsolationLevel::Serializable);
    let hearing = hear(&case, &mut driver, &[&SerialOracle]).expect("an answer");
    driver.close().expect("the database goes");
    let heard = hearing.violation(|_| true).expect("a row is passed over");
    let finding = heard.finding().expect("a violation");
    assert_eq!(finding.signature.anomaly, AnomalyClass::ReadSkew);
    assert_eq!(
        finding.headline,
        "no serial order of T1, T2, T3 explains the run: cycle: T1 -wr(t)-> T2 -rw(t)-> T1"
    );
    assert_eq!(
        finding.explanation[2],
        "no order explains the answers of T1 and T2, wherever the others stand"
    );
}
