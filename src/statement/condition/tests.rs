use super::*;
use crate::statement::tests::dialect;

#[test]
fn a_column_in_a_condition_is_told_from_one_elsewhere() {
    let dialect = dialect("mariadb");
    let names = |sql: &str| names_in_condition(sql, "t0", "c1", &dialect);
    for sql in [
        "SELECT c0 FROM t0 WHERE c1 < 1 ORDER BY c0",
        "SELECT t0.c0 FROM t0 WHERE t0.c0 = 1 OR NOT (t0.C1 IS NULL)",
        "SELECT a.c0 FROM t1 JOIN t0 AS a ON a.c1 = t1.c0",
        "SELECT 1 FROM t1 LEFT JOIN `T0` ON t1.c0 > 0 AND T0.c1 > 0",
        "SELECT 1 FROM t1 WHERE EXISTS (SELECT 1 FROM t0 WHERE t0.c1 = 1)",
        "SELECT 1 FROM t0 WHERE c0 IN (SELECT c0 FROM t1 WHERE t1.c0 = t0.c1)",
        "SELECT * FROM t1 UNION SELECT * FROM t0 WHERE c1 = 1",
        "INSERT INTO t1 (c0) SELECT c0 FROM t0 WHERE c1 BETWEEN 1 AND 2 ORDER BY c0",
        "UPDATE t1 SET c0 = (SELECT c0 FROM t0 WHERE c1 IN (1, 2) ORDER BY c0 LIMIT 1)",
        "UPDATE t0 SET c0 = 1 WHERE c1 = 1",
        "DELETE FROM t0 WHERE c1 = 1",
    ] {
        assert!(names(sql), "{sql}");
    }
    for sql in [
        "SELECT c1 FROM t0 WHERE c0 < 1",
        "SELECT c0 FROM t0 ORDER BY c1",
        "SELECT c0 FROM t0 GROUP BY c1 HAVING MAX(c1) > 1",
        "SELECT t0.c0 FROM t0 JOIN t1 ON t1.c1 = t0.c0 WHERE t1.c1 > 0",
        "SELECT a.c0 FROM t1 AS a WHERE a.c1 = 1",
        "SELECT c1 FROM t1 WHERE c1 = 1",
        "SELECT 1 FROM t0 WHERE c0 = (SELECT t0.c1 FROM t0 ORDER BY t0.c1 LIMIT 1)",
        "INSERT INTO t1 (c1) SELECT c1 FROM t0 WHERE c0 = 1 ORDER BY c1",
        "INSERT INTO t0 (c1) VALUES (1)",
        "UPDATE t0 SET c1 = 1 WHERE c0 = 1",
        "SELECT c0 FROM t0 WHERE 'c1' = 'c1'",
    ] {
        assert!(!names(sql), "{sql}");
    }
}
