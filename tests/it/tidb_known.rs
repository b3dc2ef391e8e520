//! Faults of TiDB that the registry knows, each beside a case that differs little and comes out right.

use crate::servers::Needs;
use crate::tidb::{assert_known, turn_of};

/// Behind the text: the id, the case that is wrong, what of it changes, and into what.
const FAULTS: [(&str, &str, &str, &str); 2] = [
    (
        "TiDB#31286",
        "--! format = 1\n--! isolation = \"REPEATABLE READ\"\n\
        /* init */ CREATE TABLE t0 (pkey BIGINT PRIMARY KEY, vkey INT, c0 ENUM('a', 'b', 'ab'), INDEX (c0));\n\
        /* init */ INSERT INTO t0 VALUES (2, 2, 'ab'), (10, 7, 'ab');\n\
        /* s1 */ BEGIN;\n/* s1 */ UPDATE t0 SET vkey = 1000, c0 = 'b' WHERE pkey = 10;\n\
        /* s1 */ SELECT pkey, RANK() OVER (ORDER BY c0) FROM t0;\n/* s1 */ COMMIT;\n",
        ", INDEX (c0)",
        "",
    ),
    (
        "unfiled:tidb-absent-key-list",
        "--! format = 1\n--! isolation = \"READ COMMITTED\"\n\
        /* init */ CREATE TABLE t0 (pkey BIGINT PRIMARY KEY, vkey INT);\n\
        /* s1 */ BEGIN;\n/* s1 */ DELETE FROM t0 WHERE pkey = 1;\n\
        /* s2 */ INSERT INTO t0 VALUES (1, 1000);\n\
        /* s1 */ UPDATE t0 SET vkey = 1001 WHERE pkey IN (4, 1);\n/* s1 */ COMMIT;\n",
        "pkey IN (4, 1)",
        "pkey = 1",
    ),
];

#[test]
fn faults_of_tidb_are_known_beside_cases_that_are_right() {
    let Some((url, _turn)) = turn_of("tidb_known_faults", Needs::TiDb) else {
        return;
    };
    for (id, wrong, part, other) in FAULTS {
        assert_known(&url, id, wrong, &wrong.replace(part, other));
    }
}

const INSERT_OVER_A_LOCKED_ROW: &str = "\
    --! format = 1\n--! isolation = \"READ COMMITTED\"\n\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 FLOAT);\n\
    /* init */ CREATE INDEX i_t0_0 ON t0 (c0);\n/* init */ INSERT INTO t0 (pkey, c0) VALUES (6, 2.25);\n\
    /* s1 */ BEGIN;\n/* s1 */ SELECT * FROM t0 FOR UPDATE;\n/* s1 */ INSERT INTO t0 (pkey) VALUES (6);\n/* s1 */ COMMIT;\n";

#[test]
fn an_index_that_an_insert_over_a_locked_row_leaves_wrong_is_known() {
    let Some((url, _turn)) = turn_of("tidb_4_insert_over_locked_row", Needs::TiDb4) else {
        return;
    };
    let wrong = INSERT_OVER_A_LOCKED_ROW;
    let right = wrong.replace("VALUES (6);", "VALUES (8);");
    assert_known(&url, "unfiled:tidb-insert-over-locked-row", wrong, &right);
}
