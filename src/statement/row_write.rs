//! Statements that write rows which they name by their key: what each leaves is known without asking the
//! engine.
//!
//! Read by words, because the forms are few.

use super::rest::{Rest, words};
use super::token::without_end;
use crate::dialect::Dialect;
use crate::model::Value;

/// A write of rows by their key. Columns are in lower case; tables are as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowWrite {
    Insert {
        table: String,
        columns: Vec<String>,
        /// One value for each column.
        rows: Vec<Vec<Value>>,
    },
    Update {
        table: String,
        key_column: String,
        key: i64,
        /// The columns that it sets, the key not among them.
        assigned: Vec<(String, Value)>,
    },
    Delete {
        table: String,
        key_column: String,
        key: i64,
    },
}

/// `INSERT INTO table (columns) VALUES (1, 'a'), ..`, `UPDATE table SET column = 2, .. WHERE key_column =
/// 1` or `DELETE FROM table WHERE key_column = 1`; None for anything else.
pub fn row_write(sql: &str, dialect: &Dialect) -> Option<RowWrite> {
    let words = words(sql, dialect)?;
    let mut rest = Rest(without_end(&words));
    let write = if rest.word("INSERT").is_some() {
        insert(&mut rest)?
    } else if rest.word("UPDATE").is_some() {
        update(&mut rest)?
    } else {
        rest.word("DELETE")?;
        rest.word("FROM")?;
        let table = rest.name()?;
        let (key_column, key) = by_key(&mut rest)?;
        RowWrite::Delete {
            table,
            key_column,
            key,
        }
    };
    rest.0.is_empty().then_some(write)
}

fn insert(rest: &mut Rest<'_, '_>) -> Option<RowWrite> {
    rest.word("INTO")?;
    let table = rest.name()?;
    let columns = rest.list(Rest::column)?;
    rest.word("VALUES")?;
    let mut rows = vec![rest.list(Rest::value)?];
    while rest.mark(',').is_some() {
        rows.push(rest.list(Rest::value)?);
    }
    let is_whole = rows.iter().all(|row| row.len() == columns.len());
    is_whole.then_some(RowWrite::Insert {
        table,
        columns,
        rows,
    })
}

fn update(rest: &mut Rest<'_, '_>) -> Option<RowWrite> {
    let table = rest.name()?;
    rest.word("SET")?;
    let mut assigned = Vec::new();
    loop {
        let column = rest.column()?;
        rest.mark('=')?;
        assigned.push((column, rest.value()?));
        if rest.mark(',').is_none() {
            break;
        }
    }
    let (key_column, key) = by_key(rest)?;
    let keeps_key = assigned.iter().all(|(column, _)| *column != key_column);
    keeps_key.then_some(RowWrite::Update {
        table,
        key_column,
        key,
        assigned,
    })
}

fn by_key(rest: &mut Rest<'_, '_>) -> Option<(String, i64)> {
    rest.word("WHERE")?;
    let column = rest.column()?;
    rest.mark('=')?;
    Some((column, rest.integer()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::tests::dialect;

    #[test]
    fn writes_of_rows_by_their_key_are_read_and_nothing_else_is() {
        let mysql = dialect("mysql");
        let write = |sql: &str| row_write(sql, &mysql);
        let insert = write("INSERT INTO `r` (`pkey`, V) VALUES (1, 'a'), (-2, '');");
        let rows = vec![
            vec![Value::Integer(1), Value::Text("a".to_owned())],
            vec![Value::Integer(-2), Value::Text(String::new())],
        ];
        assert_eq!(
            insert,
            Some(RowWrite::Insert {
                table: "r".to_owned(),
                columns: vec!["pkey".to_owned(), "v".to_owned()],
                rows,
            })
        );
        let update = write("UPDATE r SET v = 7, pad = 'x' WHERE pkey = 3");
        assert!(
            matches!(update, Some(RowWrite::Update { key: 3, assigned, .. }) if assigned.len() == 2)
        );
        let delete = write("delete from r where pkey = 3");
        assert!(matches!(delete, Some(RowWrite::Delete { key: 3, .. })));
        for other in [
            "INSERT INTO r VALUES (1, 'a')",
            "INSERT INTO r (a, b) VALUES (1)",
            "INSERT INTO r (a) VALUES (1 + 1)",
            "INSERT INTO r (a) VALUES ('it''s')",
            "INSERT INTO r (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 2",
            "UPDATE r SET v = v + 1 WHERE k = 3",
            "UPDATE r SET k = 4 WHERE k = 3",
            "UPDATE r SET v = 1 WHERE k > 3",
            "UPDATE r SET v = 1 WHERE k = 3 LIMIT 1",
            "DELETE FROM r",
            "DELETE FROM r WHERE k = 3 /*! OR 1 = 1 */",
            "SELECT v FROM r WHERE k = 3",
        ] {
            assert_eq!(write(other), None, "{other}");
        }
    }
}
