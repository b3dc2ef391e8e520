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
