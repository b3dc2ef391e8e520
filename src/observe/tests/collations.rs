//! Rows whose unique keys differ by their bytes alone.

use crate::dialect::{Dialect, dialect_of};
use crate::model::{Column, SetupKind, SetupStatement, Value};
use crate::observe::holds_a_key_twice;
use crate::statement::shapes;

fn dialect(engine: &str) -> Dialect {
    dialect_of(engine, "99")
}

#[test]
fn a_column_has_the_collation_that_it_or_its_table_names() {
    let folding = |sql: &str, engine: &str| {
        let setup = [SetupStatement {
            sql: sql.to_owned(),
            kind: SetupKind::Schema,
        }];
        let tables = shapes(&setup, &dialect(engine));
        let folding = |column: &Column| (column.folding.case, column.folding.trailing_blanks);
        tables[0].columns.iter().map(folding).collect::<Vec<_>>()
    };
    let (both, case, blanks, none) = ((true, true), (true, false), (false, true), (false, false));
    for (sql, engine, expected) in [
        (
            "CREATE TABLE t (a CHAR(8) COLLATE `utf8mb4_general_ci` NOT NULL, b TEXT, c TEXT collate utf8mb4_nopad_bin) \
             ENGINE=InnoDB COLLATE=utf8mb4_bin",
            "mariadb",
            vec![both, blanks, none],
        ),
        (
            "CREATE TABLE t (a TEXT, b INT) COLLATE utf8mb4_0900_ai_ci",
            "mysql",
            vec![case, case],
        ),
        (
            "CREATE TABLE t (a TEXT COLLATE swe7_bin)",
            "mysql",
            vec![none],
        ),
        (
            "CREATE TABLE t (a TEXT COLLATE \"NOCASE\", b TEXT COLLATE RTRIM)",
            "sqlite",
            vec![case, blanks],
        ),
        (
            "CREATE TABLE t (a TEXT COLLATE \"C\")",
            "postgres",
            vec![none],
        ),
    ] {
        assert_eq!(folding(sql, engine), expected, "{sql}");
    }
}

/// Two rows stand side by side where the engine tells their keys apart, and there alone.
#[test]
fn rows_of_one_unique_key_are_told_by_its_collation() {
    let setup = [SetupStatement {
        sql: "CREATE TABLE t (pkey INT PRIMARY KEY, a CHAR(8) COLLATE utf8mb4_general_ci, \
              b CHAR(8) COLLATE utf8mb4_nopad_bin, n INT, UNIQUE (a, n), UNIQUE (b))"
            .to_owned(),
        kind: SetupKind::Schema,
    }];
    let shape = &shapes(&setup, &dialect("mariadb"))[0];
    let row = |key: i64, a: &str, b: &str, n: Value| {
        let text = |text: &str| Value::Text(text.to_owned());
        vec![Value::Integer(key), text(a), text(b), n]
    };
    let one = row(1, "a ", "x", Value::Integer(5));
    for (other, stands) in [
        (row(2, "A", "X", Value::Integer(5)), false),
        (row(2, "A", "X", Value::Integer(6)), true),
        (row(2, "A", "X", Value::Null), true),
        (row(2, "\u{e4}", "X", Value::Integer(5)), true),
        (row(2, "b", "x ", Value::Integer(5)), true),
        (row(2, "b", "x", Value::Integer(5)), false),
        (row(1, "b", "X", Value::Integer(5)), false),
    ] {
        let twice = holds_a_key_twice(shape, [&one, &other].into_iter());
        assert_eq!(twice, !stands, "{other:?}");
    }
}
