//! Statements that read or write one value by its key, as the events of a history do.
//!
//! Read by words, because the forms are few.

use super::rest::{Rest, words};
use super::token::without_end;
use super::token::{SqlToken, tokens};
use crate::dialect::Dialect;

/// A statement on one value, named by table, column and row key. Columns are in lower case, because
/// no engine here distinguishes their case; tables are as written, because some servers do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAccess {
    pub table: String,
    pub key_column: String,
    /// The column of the value.
    pub column: String,
    pub key: i64,
    /// The value it writes; None for a read.
    pub written: Option<i64>,
}

/// `SELECT column FROM table WHERE key_column = 1` or `UPDATE table SET column = 2 WHERE key_column
/// = 1`; None for anything else.
pub fn key_access(sql: &str, dialect: &Dialect) -> Option<KeyAccess> {
    let words = words(sql, dialect)?;
    let mut rest = Rest(without_end(&words));
    let (table, column, written) = if rest.word("SELECT").is_some() {
        let column = rest.column()?;
        rest.word("FROM")?;
        (rest.name()?, column, None)
    } else {
        rest.word("UPDATE")?;
        let table = rest.name()?;
        rest.word("SET")?;
        let column = rest.column()?;
        rest.mark('=')?;
        (table, column, Some(rest.integer()?))
    };
    rest.word("WHERE")?;
    let key_column = rest.column()?;
    rest.mark('=')?;
    let key = rest.integer()?;
    (rest.0.is_empty() && column != key_column).then_some(KeyAccess {
        table,
        key_column,
        column,
        key,
        written,
    })
}

/// Rows of integers that an INSERT names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertedRows {
    pub table: String,
    /// In lower case.
    pub columns: Vec<String>,
    /// One value for each column.
    pub rows: Vec<Vec<i64>>,
}

/// `INSERT INTO table (columns) VALUES (1, 2), ..`; None for anything else.
pub fn inserted_rows(sql: &str, dialect: &Dialect) -> Option<InsertedRows> {
    let words = words(sql, dialect)?;
    let mut rest = Rest(without_end(&words));
    rest.word("INSERT")?;
    rest.word("INTO")?;
    let table = rest.name()?;
    let columns = rest.list(Rest::column)?;
    rest.word("VALUES")?;
    let mut rows = vec![rest.list(Rest::integer)?];
    while rest.mark(',').is_some() {
        rows.push(rest.list(Rest::integer)?);
    }
    let whole = rest.0.is_empty() && rows.iter().all(|row| row.len() == columns.len());
    whole.then_some(InsertedRows {
        table,
        columns,
        rows,
    })
}

/// A table of two integer columns, the first of which is the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTable {
    pub table: String,
    /// In lower case.
    pub key_column: String,
    /// The column of the value, in lower case.
    pub column: String,
    /// The largest key and the largest value that it holds on every engine; the smallest are about
    /// their negatives.
    pub largest: (i64, i64),
}

/// `CREATE TABLE table (key_column INT PRIMARY KEY, column INT)`, the types INT, INTEGER or BIGINT,
/// NOT NULL or not, with the dialect's table options or none; None for anything else.
pub fn key_table(sql: &str, dialect: &Dialect) -> Option<KeyTable> {
    let words = words(sql, dialect)?;
    let mut rest = Rest(without_end(&words));
    rest.word("CREATE")?;
    rest.word("TABLE")?;
    let table = rest.name()?;
    rest.mark('(')?;
    let key_column = rest.column()?;
    let largest_key = rest.integer_type()?;
    rest.word("PRIMARY")?;
    rest.word("KEY")?;
    rest.mark(',')?;
    let column = rest.column()?;
    let largest_value = rest.integer_type()?;
    rest.mark(')')?;
    let options = tokens(&dialect.spelling.table_options, dialect)?;
    let texts = |tokens: &[SqlToken<'_>]| -> Vec<String> {
        tokens
            .iter()
            .map(|token| token.text.to_lowercase())
            .collect()
    };
    let is_plain = rest.0.is_empty() || texts(rest.0) == texts(&options);
    (is_plain && key_column != column).then_some(KeyTable {
        table,
        key_column,
        column,
        largest: (largest_key, largest_value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::tests::dialect;

    #[test]
    fn key_access_reads_single_value_selects_and_updates_only() {
        let mysql = dialect("mysql");
        let access = |sql: &str| key_access(sql, &mysql);
        let read = access("select `V` from KV where k = 3;").expect("a read");
        assert_eq!((read.table.as_str(), read.column.as_str()), ("KV", "v"));
        assert_eq!((read.key, read.written), (3, None));
        let write = access("UPDATE kv SET v = -7 WHERE k=12").expect("a write");
        assert_eq!((write.key, write.written), (12, Some(-7)));
        for other in [
            "SELECT v FROM kv WHERE k = 3 FOR UPDATE",
            "SELECT v, w FROM kv WHERE k = 3",
            "SELECT v FROM kv WHERE k > 3",
            "SELECT v FROM kv WHERE k = 3 OR 1 = 1",
            "SELECT v FROM a.kv WHERE k = 3",
            "SELECT v FROM kv WHERE k = '3'",
            "SELECT v FROM kv WHERE k = 3.5",
            "SELECT k FROM kv WHERE k = 3",
            "UPDATE kv SET v = v + 1 WHERE k = 3",
            "UPDATE kv SET v = 1, w = 2 WHERE k = 3",
            "UPDATE kv SET v = 1 WHERE k = 3 LIMIT 1",
            "UPDATE kv SET k = 4 WHERE k = 3",
            "UPDATE kv SET v = 1 /*! + 1 */ WHERE k = 3",
            "DELETE FROM kv WHERE k = 3",
        ] {
            assert_eq!(access(other), None, "{other}");
        }
    }

    #[test]
    fn key_table_reads_tables_of_one_key_and_one_value_only() {
        let mysql = dialect("mysql");
        let options = &mysql.spelling.table_options;
        let own = format!(
            "CREATE TABLE `kv` (`k` INTEGER NOT NULL PRIMARY KEY, `v` BIGINT NOT NULL){options}"
        );
        let table = key_table(&own, &mysql).expect("a table of ours");
        assert_eq!(
            (table.key_column.as_str(), table.column.as_str()),
            ("k", "v")
        );
        assert_eq!(table.largest, (i64::from(i32::MAX), i64::MAX));
        assert!(key_table("create table t (a int primary key, b int)", &mysql).is_some());
        for other in [
            "CREATE TABLE t (a INT PRIMARY KEY, b TINYINT)",
            "CREATE TABLE t (a INT PRIMARY KEY, b YEAR)",
            "CREATE TABLE t (a INT PRIMARY KEY, b INT UNSIGNED)",
            "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)",
            "CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT)",
            "CREATE TABLE t (a INT PRIMARY KEY, b INT REFERENCES u (a) ON UPDATE CASCADE)",
            "CREATE TABLE t (a INT PRIMARY KEY, b INT AS (a + 1))",
            "CREATE TABLE t (a INT, b INT)",
            "CREATE TABLE t (a INT PRIMARY KEY, b INT) ENGINE=MyISAM",
            "CREATE TABLE t (a INT PRIMARY KEY, b INT) AS SELECT 1, 2",
            "CREATE TEMPORARY TABLE t (a INT PRIMARY KEY, b INT)",
        ] {
            assert_eq!(key_table(other, &mysql), None, "{other}");
        }
    }

    #[test]
    fn inserted_rows_reads_integer_rows_only() {
        let mysql = dialect("mysql");
        let rows = inserted_rows("INSERT INTO kv (k, v) VALUES (0, 0), (1, -5)", &mysql);
        let rows = rows.expect("rows");
        assert_eq!(rows.rows, [[0, 0], [1, -5]]);
        for other in [
            "INSERT INTO kv VALUES (0, 0)",
            "INSERT INTO kv (k, v) VALUES (0, NULL)",
            "INSERT INTO kv (k, v) VALUES (0)",
            "INSERT INTO kv (k, v) SELECT 1, 2",
            "INSERT IGNORE INTO kv (k, v) VALUES (0, 1)",
            "INSERT INTO kv (k, v) VALUES (0, 1) ON DUPLICATE KEY UPDATE v = 2",
        ] {
            assert_eq!(inserted_rows(other, &mysql), None, "{other}");
        }
    }
}
