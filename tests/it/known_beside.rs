//! Registered faults of an engine, and others in the same statements and tables that no entry may explain.

use rashomon::model::IsolationLevel::ReadCommitted;
use rashomon::model::{ErrorClass, Execution, Outcome, Value};
use rashomon::reproducer::Registry;

use crate::lying::{Lie, OneDriver, hearing_of, honest, id, rejected, scripted};
use crate::oracles::server;
use crate::servers::Needs;

/// What the registry says of each finding about a script: the id of the entry that explains it, or its whole text.
fn told(driver: &OneDriver<'_>, setup: &str, script: &str, lie: Lie) -> Vec<String> {
    let registry = Registry::builtin().expect("the registry reads");
    let case = scripted(driver.server, ReadCommitted, setup, script);
    let hearing = hearing_of(driver, &case, lie);
    let findings = hearing.rulings.iter().filter_map(|heard| heard.finding());
    let explained = findings.map(|finding| {
        let known = registry.find(&finding.signature, driver.server.identity());
        known.map_or_else(|| finding.signature.text(), |known| known.id.clone())
    });
    explained.collect()
}

/// Every finding is explained by this entry.
fn is_known(found: &[String], id: &str) {
    assert!(!found.is_empty(), "{id} is not found");
    assert!(found.iter().all(|told| told == id), "{found:?}");
}

/// A finding is explained by no entry.
fn is_heard(found: &[String]) {
    assert!(found.iter().any(|told| told.contains(' ')), "{found:?}");
}

const THREE: &str = "\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT UNIQUE);\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, f0 INT, \
    FOREIGN KEY (f0) REFERENCES t0 (c0) ON DELETE CASCADE);\n\
    /* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, f0 BIGINT, \
    FOREIGN KEY (f0) REFERENCES t1 (pkey));\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 20), (2, 2, 23);\n\
    /* init */ INSERT INTO t1 (pkey, vkey, f0) VALUES (3, 3, 20), (4, 4, 23);\n\
    /* init */ INSERT INTO t2 (pkey, vkey, f0) VALUES (6, 6, 4);\n";

/// What is run alone looks for the rows of t2 by the key that T1.1 read.
const SEVERAL: &str = "s2 UPDATE t1 SET vkey = 1000, f0 = 23 WHERE pkey = 4
s1 REPLACE INTO t0 (pkey, vkey, c0) VALUES (1, 1001, 41), (2, 9223372036854775807 + 5, 42)";

/// Nothing was read in t1 before.
const ONE: &str = "s1 REPLACE INTO t0 (pkey, vkey, c0) VALUES (1, 1001, 41)";

/// Nobody refers to row 3.
const DELETE: &str = "s1 DELETE FROM t0 WHERE pkey = 1";

fn outcome(run: &mut Execution, outcome: Outcome) {
    run.records.get_mut(&id(1, 1)).expect("it ran").outcome = outcome;
}

fn duplicate(run: &mut Execution) {
    outcome(run, rejected("1062", ErrorClass::Duplicate));
}

fn child_in_use(run: &mut Execution) {
    outcome(run, rejected("1451", ErrorClass::ForeignKey));
}

fn miscounted(run: &mut Execution) {
    outcome(run, Outcome::Affected(3));
}

/// The row of the second table stays.
fn child_stays(run: &mut Execution) {
    let rows = run.final_state.get_mut("t1").expect("the table");
    rows.insert(0, [3, 3, 20].map(Value::Integer).to_vec());
}

#[test]
fn a_replace_above_two_keys_is_known_by_what_they_do_and_other_faults_of_it_are_heard() {
    let Some(server) = server("a_replace_above_two_keys", Needs::MySql) else {
        return;
    };
    // Foreign keys are carried out by the server since 9.6.
    if server.identity().version < "9.6".parse().expect("a version") {
        return;
    }
    // The key that it has not read is one that an open table has kept from a case before.
    let told =
        |setup: &str, script: &str, lie: Lie| told(&OneDriver::of(&*server), setup, script, lie);
    let by_replace = "unfiled:mysql-replace-cascade";
    is_known(&told(THREE, SEVERAL, honest), by_replace);
    assert!(told(THREE, ONE, honest).is_empty());
    for lie in [duplicate as Lie, miscounted, child_stays] {
        is_heard(&told(THREE, ONE, lie));
    }
    is_heard(&told(THREE, DELETE, child_in_use));
    // Without a third table, and where the second keeps its rows.
    let two = THREE.replace(", FOREIGN KEY (f0) REFERENCES t1 (pkey)", "");
    let keeps = THREE.replace("ON DELETE CASCADE", "ON DELETE SET NULL");
    for setup in [two, keeps] {
        assert_ne!(setup, THREE);
        is_heard(&told(&setup, ONE, child_in_use));
    }
}

const VIRTUAL: &str = "\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, f0 BIGINT, c0 INT, \
    g0 BIGINT GENERATED ALWAYS AS (c0 + 1) VIRTUAL, KEY (c0, g0), \
    FOREIGN KEY (f0) REFERENCES t0 (pkey) ON DELETE SET NULL);\n\
    /* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1), (2, 2);\n\
    /* init */ INSERT INTO t1 (pkey, vkey, f0, c0) VALUES (11, 3, 2, 7);\n";

/// The first three do not name the virtual column, and the last one not its table. The writes change nothing, as one that is
/// refused.
const READERS: [&str; 4] = [
    "s1 SELECT c0 FROM t1 WHERE c0 <> 1",
    "s1 DELETE FROM t1 WHERE c0 = 3",
    "s1 INSERT INTO t0 (pkey, vkey) SELECT c0, 1000 FROM t1 WHERE c0 = 99",
    "s1 DELETE FROM t0 WHERE pkey = 9",
];

fn corrupted(run: &mut Execution) {
    outcome(run, rejected("1712", ErrorClass::Internal));
}

fn marked_as_corrupted(run: &mut Execution) {
    outcome(run, rejected("180", ErrorClass::Internal));
}

fn broken_otherwise(run: &mut Execution) {
    outcome(run, rejected("1030", ErrorClass::Internal));
}

#[test]
fn an_index_on_a_virtual_column_that_purge_corrupts_is_known_and_other_broken_indexes_are_heard() {
    let Some(server) = server("an_index_on_a_virtual_column", Needs::MariaDb) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let told = |setup: &str, script: &str, lie: Lie| told(&driver, setup, script, lie);
    let without_action = VIRTUAL.replace(" ON DELETE SET NULL", "");
    let stored = VIRTUAL.replace("VIRTUAL", "STORED");
    for script in READERS {
        for lie in [corrupted as Lie, marked_as_corrupted] {
            let by_purge = "unfiled:mariadb-purge-corrupts-virtual-index";
            is_known(&told(VIRTUAL, script, lie), by_purge);
            is_heard(&told(&without_action, script, lie));
            is_heard(&told(&stored, script, lie));
        }
        is_heard(&told(VIRTUAL, script, broken_otherwise));
        assert!(told(VIRTUAL, script, honest).is_empty(), "{script}");
    }
}

const SORTED: &str = "\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT, c1 INT, \
    c2 BIGINT GENERATED ALWAYS AS (c0 + 1) VIRTUAL) PARTITION BY HASH (pkey) PARTITIONS 3;\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT, vkey INT);\n\
    /* init */ CREATE INDEX i0 ON t0 (c1, c2);\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0, c1) VALUES (1, 5, -3, 7), (2, 6, 1, 8), (4, 8, 5, 9);\n";

/// The first column of the index stands in the condition.
const BY_FIRST: &str = "SELECT t0.pkey FROM t0 WHERE t0.c1 < 100 ORDER BY t0.vkey, t0.pkey";

/// It stands elsewhere, or nothing is sorted, or what is read is locked.
const OTHERWISE: [&str; 4] = [
    "SELECT t0.pkey FROM t0 WHERE t0.vkey < 100 ORDER BY t0.c1, t0.pkey",
    "SELECT t0.pkey, t0.c1 FROM t0 WHERE t0.c0 < 100 ORDER BY t0.vkey, t0.pkey",
    "SELECT t0.pkey FROM t0 WHERE t0.c1 < 100",
    "SELECT t0.pkey FROM t0 WHERE t0.c1 = 8 AND t0.pkey = 2 ORDER BY t0.vkey FOR UPDATE",
];

const SOURCE: &str = "INSERT INTO t1 (pkey, vkey) SELECT t0.pkey, 1005 FROM t0 WHERE t0.c2 < 100 AND t0.c0 < 100 \
    AND t0.c1 < 100 ORDER BY t0.vkey, t0.pkey";

/// A statement of another session while row 1 is changed.
fn beside_a_change(sql: &str) -> String {
    format!("s1 BEGIN\ns1 UPDATE t0 SET vkey = 1001 WHERE t0.pkey = 1\ns2 {sql}\ns1 COMMIT")
}

fn finds_nothing(run: &mut Execution) {
    let record = run.records.get_mut(&id(2, 1)).expect("it ran");
    record.outcome = match record.outcome {
        Outcome::Affected(_) => Outcome::Affected(0),
        Outcome::Rows(_) | Outcome::Rejected(_) => Outcome::Rows(Vec::new()),
    };
}

/// Every row, and one that is not there.
fn finds_one_more(run: &mut Execution) {
    let record = run.records.get_mut(&id(2, 1)).expect("it ran");
    match &mut record.outcome {
        Outcome::Affected(count) => *count += 5,
        Outcome::Rows(rows) => *rows = [1, 2, 4, 9].map(|key| vec![Value::Integer(key)]).to_vec(),
        Outcome::Rejected(_) => {}
    }
}

#[test]
fn a_read_sorted_through_an_index_on_a_virtual_column_is_known_and_other_lost_rows_are_heard() {
    let Some(server) = server("a_read_sorted_through_an_index", Needs::MariaDb) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let told = |setup: &str, sql: &str, lie: Lie| {
        let script = beside_a_change(sql);
        told(&driver, setup, &script, lie)
    };
    let by_filesort = "unfiled:mariadb-filesort-virtual-column";
    is_known(&told(SORTED, BY_FIRST, honest), by_filesort);
    is_known(&told(SORTED, BY_FIRST, finds_nothing), by_filesort);
    is_known(&told(SORTED, SOURCE, finds_nothing), by_filesort);
    for sql in [BY_FIRST, SOURCE] {
        is_heard(&told(SORTED, sql, finds_one_more));
    }
    for sql in OTHERWISE {
        assert!(told(SORTED, sql, honest).is_empty(), "{sql}");
        is_heard(&told(SORTED, sql, finds_nothing));
    }
    let whole = SORTED.replace(" PARTITION BY HASH (pkey) PARTITIONS 3", "");
    let other_index = SORTED.replace("(c1, c2)", "(c0, c2)");
    let stored = SORTED.replace("VIRTUAL", "STORED");
    for setup in [&whole, &other_index, &stored] {
        assert_ne!(setup, SORTED);
        assert!(told(setup, BY_FIRST, honest).is_empty(), "{setup}");
        is_heard(&told(setup, BY_FIRST, finds_nothing));
    }
    // Of a write: nothing is sorted, the column is stored, no other transaction changes a row.
    let unsorted = SOURCE.replace(" ORDER BY t0.vkey, t0.pkey", "");
    is_heard(&told(SORTED, &unsorted, finds_nothing));
    is_heard(&told(&stored, SOURCE, finds_nothing));
    let beside_nothing = format!("s1 SELECT 1 FROM t1\ns2 {SOURCE}");
    is_heard(&self::told(&driver, SORTED, &beside_nothing, finds_nothing));
}

const DEDUPLICATED: &str = "\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT, c1 INT);\n\
    /* init */ INSERT INTO t0 (pkey, c0, c1) VALUES (3, 3, 7), (4, 30, 8), (5, NULL, 8);\n";

const ANTIJOIN: &str = "SELECT DISTINCT t0.c1 FROM t0 WHERE t0.pkey NOT IN \
    (SELECT r1.pkey FROM t0 AS r1 WHERE r1.c0 > 0)";

/// An index that the case makes itself, which the serial run has not. What the server's statistics make of it is not asked:
/// the answers are planted.
#[test]
fn a_distinct_value_lost_beside_an_antijoin_is_known_where_nobody_else_is_about_and_nothing_else_is()
 {
    let Some(server) = server("a_distinct_value_lost_beside_an_antijoin", Needs::MySql) else {
        return;
    };
    if server.identity().version < "9.7".parse().expect("a version") {
        return;
    }
    let driver = OneDriver::of(&*server);
    let told = |behind: &str, sql: &str, lie: Lie| {
        let script = format!("s1 CREATE INDEX x1 ON t0 (c1)\ns2 {sql}{behind}");
        told(&driver, DEDUPLICATED, &script, lie)
    };
    let by_skip_scan = "unfiled:mysql-distinct-antijoin";
    is_known(&told("", ANTIJOIN, finds_nothing), by_skip_scan);
    is_heard(&told("", ANTIJOIN, finds_one_more));
    let plain = ANTIJOIN.replace("DISTINCT ", "");
    let semijoin = ANTIJOIN.replace("NOT IN", "IN");
    let locking = format!("{ANTIJOIN} FOR UPDATE");
    for sql in [plain, semijoin, locking] {
        is_heard(&told("", &sql, finds_nothing));
    }
    let without_index = ANTIJOIN.replace("DISTINCT t0.c1", "DISTINCT t0.c0");
    is_heard(&told("", &without_index, finds_nothing));
    let beside_a_change = "\ns3 UPDATE t0 SET c0 = 1 WHERE pkey = 3";
    is_heard(&told(beside_a_change, ANTIJOIN, finds_nothing));
}
