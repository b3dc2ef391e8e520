//! Statements that read or write one value by its key: what the events of a history are.
//!
//! Read by words: the forms are few, and whatever is none of them is left to others.

use super::effect::without_end;
use super::token::{Token, TokenKind, tokens};
use crate::dialect::Dialect;

/// A statement on one value, which a table, a column and the key of a row name. Names are in lower
/// case, as no engine here tells columns by case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAccess {
    pub table: String,
    pub key_column: String,
    pub column: String,
    pub key: i64,
    /// What is written; none for a read.
    pub written: Option<i64>,
}

/// `SELECT column FROM table WHERE key_column = 1` or `UPDATE table SET column = 2 WHERE key_column
/// = 1`; nothing for everything else.
pub fn key_access(sql: &str, dialect: &Dialect) -> Option<KeyAccess> {
    let words = words(sql, dialect)?;
    let mut rest = Rest(without_end(&words));
    let access = if rest.word("SELECT").is_some() {
        let column = rest.name()?;
        rest.word("FROM")?;
        let table = rest.name()?;
        let (key_column, key) = rest.condition()?;
        KeyAccess {
            table,
            key_column,
            column,
            key,
            written: None,
        }
    } else {
        rest.word("UPDATE")?;
        let table = rest.name()?;
        rest.word("SET")?;
        let column = rest.name()?;
        rest.mark('=')?;
        let written = rest.integer()?;
        let (key_column, key) = rest.condition()?;
        KeyAccess {
            table,
            key_column,
            column,
            key,
            written: Some(written),
        }
    };
    (rest.0.is_empty() && access.column != access.key_column).then_some(access)
}

/// Rows of integers that an INSERT names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertedRows {
    /// In lower case, as the columns are.
    pub table: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<i64>>,
}

/// `INSERT INTO table (columns) VALUES (1, 2), ..`; nothing for everything else.
pub fn inserted_rows(sql: &str, dialect: &Dialect) -> Option<InsertedRows> {
    let words = words(sql, dialect)?;
    let mut rest = Rest(without_end(&words));
    rest.word("INSERT")?;
    rest.word("INTO")?;
    let table = rest.name()?;
    let columns = rest.list(Rest::name)?;
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

/// The words; nothing where a comment may hide some that the engine executes.
fn words<'a>(sql: &'a str, dialect: &Dialect) -> Option<Vec<Token<'a>>> {
    if sql.contains("/*") {
        return None;
    }
    tokens(sql, dialect)
}

/// The words that have not been read.
struct Rest<'t, 'a>(&'t [Token<'a>]);

impl Rest<'_, '_> {
    fn take(&mut self, is_it: impl Fn(&Token<'_>) -> bool) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        is_it(first).then(|| self.0 = rest)
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.take(|token| token.is(word))
    }

    fn mark(&mut self, mark: char) -> Option<()> {
        self.take(|token| token.is_mark(mark))
    }

    fn name(&mut self) -> Option<String> {
        let (first, rest) = self.0.split_first()?;
        let name = first.name()?.to_lowercase();
        self.0 = rest;
        Some(name)
    }

    fn integer(&mut self) -> Option<i64> {
        let sign = if self.mark('-').is_some() { -1 } else { 1 };
        let (first, rest) = self.0.split_first()?;
        let number: i64 = match first.kind {
            TokenKind::Number => first.text.parse().ok()?,
            _ => return None,
        };
        self.0 = rest;
        number.checked_mul(sign)
    }

    fn condition(&mut self) -> Option<(String, i64)> {
        self.word("WHERE")?;
        let column = self.name()?;
        self.mark('=')?;
        Some((column, self.integer()?))
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.mark('(')?;
        let mut items = vec![item(self)?];
        while self.mark(',').is_some() {
            items.push(item(self)?);
        }
        self.mark(')')?;
        Some(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mysql() -> Dialect {
        let (name, text) = crate::dialect::BUILTIN[1];
        crate::dialect::parse(name, text, &"9.7.0".parse().unwrap()).unwrap()
    }

    #[test]
    fn one_value_by_its_key_and_nothing_else() {
        let dialect = mysql();
        let access = |sql: &str| key_access(sql, &dialect);
        let read = access("select `V` from KV where k = 3;").expect("a read");
        assert_eq!((read.table.as_str(), read.column.as_str()), ("kv", "v"));
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
    fn rows_of_integers_are_read_and_no_others() {
        let dialect = mysql();
        let rows = inserted_rows("INSERT INTO kv (k, v) VALUES (0, 0), (1, -5)", &dialect);
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
            assert_eq!(inserted_rows(other, &dialect), None, "{other}");
        }
    }
}
