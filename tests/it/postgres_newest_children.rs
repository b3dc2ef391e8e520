//! A parent that goes at SERIALIZABLE of PostgreSQL: its children are looked for among the newest rows, and no dependency
//! shows what was found.

use rashomon::model::IsolationLevel::{self, RepeatableRead, Serializable};
use rashomon::model::{Execution, Outcome, Row, Value, Verdict};

use crate::lying::{Lie, OneDriver, SKEW, hearing_of, honest, id, scripted};
use crate::oracles;
use crate::postgres_cases::server;

const SETUP: &str = "\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, f0 BIGINT, \
    FOREIGN KEY (f0) REFERENCES t0 (pkey));\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30), (4, 4, 40);\n\
    /* init */ INSERT INTO t1 (pkey, vkey, f0) VALUES (11, 5, 3), (12, 6, 3);\n";

/// T1.3 takes the parent of the rows that T1.2 reads and T2 has deleted.
const GONE: &str = "s1 BEGIN
s1 SELECT pkey FROM t1
s2 DELETE FROM t1
s1 DELETE FROM t0 WHERE pkey = 3
s1 COMMIT";

/// One of two children goes, and T1 sees it still when its own DELETE has taken the other.
const ONE_OF_TWO: &str = "s1 BEGIN
s1 SELECT pkey FROM t1
s2 DELETE FROM t1 WHERE pkey = 11
s1 DELETE FROM t0 WHERE pkey = 3
s1 SELECT pkey FROM t1
s1 COMMIT";

const ID: &str = "unfiled:postgresql-newest-children";

fn said(
    driver: &OneDriver<'_>,
    (level, claim): (IsolationLevel, Option<IsolationLevel>),
    setup: &str,
    script: &str,
    lie: Lie,
) -> Verdict {
    let mut case = scripted(driver.server, level, setup, script);
    case.claim = claim;
    hearing_of(driver, &case, lie).verdict()
}

/// Another statement in a script in place of one.
fn with(script: &str, old: &str, new: &str) -> String {
    let changed = script.replace(old, new);
    assert_ne!(changed, script);
    changed
}

#[test]
fn a_parent_may_go_behind_children_that_its_transaction_still_reads() {
    let Some(server) = server("a_parent_may_go_behind_children") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let known = |setup: &str, script: &str| {
        let said = said(&driver, (Serializable, None), setup, script, honest);
        assert_eq!(said, Verdict::Known(ID.to_owned()), "{script}");
    };
    known(SETUP, GONE);
    let deletes = "DELETE FROM t0 WHERE pkey = 3";
    known(
        SETUP,
        &with(
            GONE,
            deletes,
            "UPDATE t0 SET pkey = 9, vkey = 1000 WHERE pkey = 3",
        ),
    );
    let upserts = "INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 1) \
                   ON CONFLICT (pkey) DO UPDATE SET pkey = 9, vkey = 1001";
    known(SETUP, &with(GONE, deletes, upserts));
    // The children stay, and refer to nothing.
    let reads_key = with(GONE, "SELECT pkey", "SELECT pkey, f0");
    let lets_go = "UPDATE t1 SET f0 = NULL, vkey = 1001";
    known(SETUP, &with(&reads_key, "DELETE FROM t1", lets_go));
    // Nor does what the key does with the other child show it.
    let cascades = with(SETUP, "t0 (pkey));", "t0 (pkey) ON DELETE CASCADE);");
    known(&cascades, ONE_OF_TWO);
    let nulls = with(SETUP, "t0 (pkey));", "t0 (pkey) ON DELETE SET NULL);");
    known(&nulls, &with(ONE_OF_TWO, "SELECT pkey", "SELECT pkey, f0"));
}

/// T1 reads the row 1 and writes the row 2, T2 the other way round. T2 deletes the children of row 3, T1 the row.
fn skew_beside() -> String {
    let gone = "s1 BEGIN\ns2 BEGIN\ns1 SELECT pkey FROM t1\ns2 DELETE FROM t1";
    let by_the_other = with(SKEW, "s1 COMMIT\n", "");
    let ends = "s1 DELETE FROM t0 WHERE pkey = 3\ns1 COMMIT";
    format!("{gone}\n{by_the_other}\n{ends}")
}

/// The parent was not found, though it is there.
fn took_none(run: &mut Execution) {
    let record = run.records.get_mut(&id(1, 3)).expect("it ran");
    record.outcome = Outcome::Affected(0);
    let row: Row = [3, 3, 30].map(Value::Integer).to_vec();
    let rows = run.final_state.get_mut("t0").expect("the table");
    rows.push(row);
    rows.sort();
}

/// One of the two children alone was read.
fn read_one(run: &mut Execution) {
    let record = run.records.get_mut(&id(1, 2)).expect("it ran");
    record.outcome = Outcome::Rows(vec![vec![Value::Integer(12)]]);
}

/// Another parent went in its place.
fn took_another(run: &mut Execution) {
    let rows = run.final_state.get_mut("t0").expect("the table");
    rows.retain(|row| row.first() != Some(&Value::Integer(4)));
}

#[test]
fn faults_beside_children_that_are_gone_are_heard() {
    let Some(server) = server("faults_beside_children_that_are_gone") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let heard = |setup: &str, script: &str, lie: Lie| {
        let said = said(&driver, (Serializable, None), setup, script, lie);
        assert!(matches!(said, Verdict::Violation(_)), "{script}: {said}");
    };
    for lie in [took_none as Lie, read_one, took_another] {
        heard(SETUP, GONE, lie);
    }
    let skew = skew_beside();
    let claimed = (RepeatableRead, Some(Serializable));
    let said_of_skew = said(&driver, claimed, SETUP, &skew, honest);
    assert_eq!(oracles::kind(&said_of_skew), "not-serializable");
    // At its own level the engine refuses one of the two.
    let refused = said(&driver, (Serializable, None), SETUP, &skew, honest);
    assert_eq!(refused, Verdict::Agree);
    // A child that nobody has taken away.
    let other = with(GONE, "DELETE FROM t1\n", "DELETE FROM t1 WHERE pkey = 11\n");
    let refused = said(&driver, (Serializable, None), SETUP, &other, honest);
    assert!(!matches!(
        refused,
        Verdict::Violation(_) | Verdict::Known(_)
    ));
}
