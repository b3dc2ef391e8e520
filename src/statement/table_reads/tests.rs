//! What is told of statements, and what is not.

use super::*;
use crate::statement::tests::dialect;

fn reads(sql: &str) -> String {
    let word = |read: TableRead| match read {
        TableRead::FilteredLookup { table, column } => format!("filtered {table}.{column}"),
        TableRead::ListLookup { table, column } => format!("list {table}.{column}"),
        TableRead::Correlated { table } => format!("correlated {table}"),
        TableRead::LeftCondition { table } => format!("left {table}"),
        TableRead::Grouped { table, column } => format!("grouped {table}.{column}"),
        TableRead::Distinct { table, column } => format!("distinct {table}.{column}"),
    };
    let all: Vec<String> = table_reads(sql, &dialect("mysql"))
        .into_iter()
        .map(word)
        .collect();
    all.join(", ")
}

fn check(table: &[(&str, &str)]) {
    for (sql, expected) in table {
        assert_eq!(reads(sql), *expected, "{sql}");
    }
}

#[test]
fn lookups_are_told_where_all_conditions_have_to_hold() {
    check(&[
        ("SELECT * FROM t WHERE k = 1", ""),
        ("SELECT * FROM t WHERE k = 1 AND c > 0", "filtered t.k"),
        ("SELECT * FROM t WHERE (c > 0 AND 1 = t.K)", "filtered t.k"),
        ("SELECT * FROM t WHERE k = 1 OR c > 0", ""),
        (
            "SELECT * FROM t AS x WHERE x.k IN (-1) AND x.c > 0",
            "filtered t.k",
        ),
        (
            "SELECT * FROM t WHERE k IN (1, 1) AND c > 0",
            "filtered t.k",
        ),
        ("SELECT * FROM t WHERE k IN (1, 2)", "list t.k"),
        ("SELECT * FROM t WHERE k NOT IN (1, 2)", ""),
        ("SELECT * FROM t WHERE k IN (1, c)", ""),
        ("SELECT * FROM t JOIN u ON t.a = u.a AND u.k = 3", ""),
        ("SELECT * FROM t LEFT JOIN u ON t.a = u.a AND u.k = 3", ""),
        ("SELECT * FROM t JOIN u ON t.a = u.a WHERE k = 3", ""),
        (
            "UPDATE t SET c = 1 WHERE t.k = 3 AND EXISTS (SELECT 1 FROM u WHERE t.c = 1)",
            "filtered t.k, correlated u",
        ),
        ("DELETE FROM t WHERE k IN (4, 5) LIMIT 1", "list t.k"),
        (
            "SELECT * FROM t WHERE t.k = 2 AND t.k IN (SELECT u.k FROM u WHERE u.c < 0)",
            "filtered u.k",
        ),
        ("SELECT * FROM t JOIN u ON t.k = u.a WHERE t.k = 2", ""),
        (
            "SELECT * FROM t JOIN u ON t.k = u.a WHERE t.k = 2 AND u.c > 0",
            "filtered t.k, filtered u.a",
        ),
        (
            "INSERT INTO t (a) SELECT a FROM u WHERE u.k = 1 AND u.c > 2",
            "filtered u.k",
        ),
    ]);
}

#[test]
fn correlated_queries_are_those_between_a_column_and_its_table() {
    check(&[
        ("SELECT * FROM t WHERE a IN (SELECT u.a FROM u)", ""),
        (
            "SELECT * FROM t WHERE a IN (SELECT u.a FROM u WHERE t.c > 0)",
            "correlated u",
        ),
        (
            "SELECT * FROM t WHERE a IN (SELECT t.a FROM t WHERE t.c > 0)",
            "",
        ),
        (
            "SELECT * FROM t WHERE a IN (SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.a = t.a))",
            "correlated u, correlated w",
        ),
        (
            "SELECT * FROM t WHERE a IN (SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.a = u.a))",
            "correlated w",
        ),
        (
            "UPDATE t SET c = (SELECT COUNT(*) FROM u WHERE u.a < t.a)",
            "correlated u",
        ),
    ]);
}

#[test]
fn conditions_of_the_left_side_and_groups_are_told() {
    check(&[
        (
            "SELECT * FROM t LEFT JOIN u ON t.a = u.a AND t.c > 0",
            "left t",
        ),
        ("SELECT * FROM t LEFT JOIN u ON t.a = u.a AND u.c > 0", ""),
        ("SELECT * FROM t JOIN u ON t.a = u.a AND t.c > 0", ""),
        (
            "SELECT * FROM t WHERE t.a NOT IN (SELECT u.a FROM u WHERE t.c > 0)",
            "correlated u, left t",
        ),
        (
            "SELECT * FROM t WHERE t.a NOT IN (SELECT u.a FROM u WHERE u.c > t.c)",
            "correlated u",
        ),
        (
            "SELECT * FROM t WHERE t.a IN (SELECT u.a FROM u WHERE t.c > 0)",
            "correlated u",
        ),
        (
            "DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND t.c > 0)",
            "correlated u, left t",
        ),
        ("SELECT c, COUNT(*) FROM t GROUP BY c", "grouped t.c"),
        (
            "SELECT DISTINCT x.c AS a, d, 1 FROM t AS x",
            "distinct t.c, distinct t.d",
        ),
        ("SELECT COUNT(DISTINCT c) FROM t", ""),
        (
            "SELECT COUNT(*) OVER (PARTITION BY x.c ORDER BY x.a) FROM t AS x",
            "grouped t.c",
        ),
        ("SELECT COUNT(*) OVER (ORDER BY c) FROM t ORDER BY c", ""),
    ]);
}

#[test]
fn a_table_that_is_read_twice_counts_twice() {
    let count = |sql: &str| tables_read(sql, &dialect("mysql"));
    for (sql, expected) in [
        ("SELECT 1", 0),
        ("SELECT * FROM t", 1),
        ("SELECT * FROM t LEFT JOIN t AS x ON t.a = x.a", 2),
        ("UPDATE t SET a = (SELECT MAX(a) FROM t AS x)", 2),
        ("DELETE FROM t WHERE a IN (SELECT a FROM u, w)", 3),
        ("INSERT INTO t (a) SELECT a FROM u", 1),
    ] {
        assert_eq!(count(sql), expected, "{sql}");
    }
}
