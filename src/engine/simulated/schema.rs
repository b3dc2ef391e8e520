//! The schema of a database: its text, a copy without constraints, and what SQLite says of its tables.

use std::collections::BTreeSet;

use super::token::{Lexeme, stands, tokens};
use super::version::UniqueKey;

/// A schema, as the statements that build it.
#[derive(Clone, Debug, Default)]
pub(super) struct SchemaText {
    /// Changes with every statement that changes the schema.
    pub(super) edition: u64,
    /// CREATE statements, in an order in which they can run.
    pub(super) statements: Vec<String>,
    pub(super) views: BTreeSet<String>,
}

/// A table as SQLite describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableDescription {
    pub(super) name: String,
    /// The stored columns.
    pub(super) columns: Vec<String>,
    pub(super) unique: Vec<UniqueKey>,
}

/// A statement of the schema as the scratch database takes it: no column is SQLite's own row number.
pub(super) fn with_own_row_numbers(sql: &str) -> String {
    rewritten(sql, |words, at| {
        (words[at].is("INTEGER") && words[0].is("CREATE")).then_some((1, "INT"))
    })
}

/// The same without what refuses rows: a reader may see two rows under one key, when an old snapshot
/// shows one and the reader has written the other.
pub(super) fn without_constraints(sql: &str) -> String {
    rewritten(sql, |words, at| {
        let is_column = |length: usize| !words.get(at + length).is_some_and(|w| w.is_mark("("));
        if !words[0].is("CREATE") {
            return None;
        }
        if words[at].is("INTEGER") {
            return Some((1, "INT"));
        }
        if stands(words, at, &["UNIQUE", "INDEX"]) {
            return Some((1, ""));
        }
        if stands(words, at, &["PRIMARY", "KEY"]) && is_column(2) {
            return Some((2, ""));
        }
        if words[at].is("UNIQUE") && is_column(1) {
            return Some((1, ""));
        }
        if stands(words, at, &["NOT", "NULL"]) && words[at].depth == 1 {
            return Some((2, ""));
        }
        if words[at].is_any(&["AUTOINCREMENT"]) {
            return Some((1, ""));
        }
        key_of_table(words, at).map(|length| (length, ""))
    })
}

/// The statement that makes a temporary table of a table's columns; none where it makes no table.
pub(super) fn as_seen(sql: &str) -> Option<String> {
    let words = tokens(sql);
    let is_table = stands(&words, 0, &["CREATE", "TABLE"]);
    let bare = is_table.then(|| without_constraints(sql))?;
    let at = tokens(&bare).get(1)?.at;
    Some(format!("{}TEMP {}", &bare[..at], &bare[at..]))
}

/// The tokens of `, PRIMARY KEY (a)` and `, UNIQUE (a)` from their comma on, with a name before.
fn key_of_table(words: &[Lexeme<'_>], at: usize) -> Option<usize> {
    if !words[at].is_mark(",") || words[at].depth != 1 {
        return None;
    }
    let mut next = at + 1;
    if words.get(next)?.is("CONSTRAINT") {
        next += 2;
    }
    if stands(words, next, &["PRIMARY", "KEY"]) {
        next += 2;
    } else if words.get(next)?.is("UNIQUE") {
        next += 1;
    } else {
        return None;
    }
    words.get(next).filter(|word| word.is_mark("("))?;
    let close = |word: &Lexeme<'_>| word.is_mark(")") && word.depth == 1;
    let length = words.get(next..)?.iter().position(close)?;
    Some(next + length + 1 - at)
}

/// The statement with some tokens replaced: at each place the choice says how many, and by what.
fn rewritten(
    sql: &str,
    choice: impl Fn(&[Lexeme<'_>], usize) -> Option<(usize, &'static str)>,
) -> String {
    let words = tokens(sql);
    let (mut text, mut kept, mut at) = (String::new(), 0, 0);
    while at < words.len() {
        match choice(&words, at) {
            Some((length, other)) => {
                text.push_str(&sql[kept..words[at].at]);
                text.push_str(other);
                kept = words[at + length - 1].end();
                at += length;
            }
            None => at += 1,
        }
    }
    text.push_str(&sql[kept..]);
    text
}

/// The tables of a scratch database.
pub(super) fn tables(raw: &rusqlite::Connection) -> rusqlite::Result<Vec<TableDescription>> {
    names(raw, "table")?
        .into_iter()
        .map(|name| {
            Ok(TableDescription {
                columns: stored_columns(raw, &name)?,
                unique: unique_keys(raw, &name)?,
                name,
            })
        })
        .collect()
}

/// The names of all objects of a kind.
pub(super) fn names(raw: &rusqlite::Connection, kind: &str) -> rusqlite::Result<Vec<String>> {
    let sql =
        "SELECT name FROM sqlite_master WHERE type = ?1 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut statement = raw.prepare(sql)?;
    let rows = statement.query_map([kind], |row| row.get(0))?;
    rows.collect()
}

/// The statements that build the schema, tables first.
pub(super) fn statements(raw: &rusqlite::Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
               ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 ELSE 2 END, rowid";
    let mut statement = raw.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

fn stored_columns(raw: &rusqlite::Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        raw.prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0 ORDER BY cid")?;
    let rows = statement.query_map([table], |row| row.get(0))?;
    rows.collect()
}

fn unique_keys(raw: &rusqlite::Connection, table: &str) -> rusqlite::Result<Vec<UniqueKey>> {
    let columns = stored_columns(raw, table)?;
    let sql = "SELECT name FROM pragma_index_list(?1) WHERE \"unique\" = 1 \
               ORDER BY origin <> 'pk', seq";
    let mut statement = raw.prepare(sql)?;
    let indexes = statement.query_map([table], |row| row.get(0))?;
    let indexes: Vec<String> = indexes.collect::<rusqlite::Result<_>>()?;
    let mut keys = Vec::new();
    for index in indexes {
        let mut statement = raw.prepare("SELECT name FROM pragma_index_info(?1) ORDER BY seqno")?;
        let parts = statement.query_map([index], |row| row.get::<_, Option<String>>(0))?;
        let parts: Vec<Option<String>> = parts.collect::<rusqlite::Result<_>>()?;
        let place = |part: Option<String>| {
            columns
                .iter()
                .position(|known| Some(known) == part.as_ref())
        };
        keys.push(parts.into_iter().map(place).collect());
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_not_null_go_and_columns_stay() {
        for (sql, expected) in [
            (
                "CREATE TABLE t (a INTEGER PRIMARY KEY, b INT NOT NULL UNIQUE, c INT)",
                "CREATE TABLE t (a INT , b INT  , c INT)",
            ),
            (
                "CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b), CONSTRAINT k UNIQUE (b), CHECK (a > 0))",
                "CREATE TABLE t (a INT, b INT, CHECK (a > 0))",
            ),
            ("CREATE UNIQUE INDEX i ON t (a)", "CREATE  INDEX i ON t (a)"),
            (
                "CREATE INDEX i ON t (a) WHERE a IS NOT NULL",
                "CREATE INDEX i ON t (a) WHERE a IS NOT NULL",
            ),
        ] {
            assert_eq!(without_constraints(sql), expected);
        }
        assert_eq!(
            as_seen("CREATE TABLE t (a INT PRIMARY KEY)").as_deref(),
            Some("CREATE TEMP TABLE t (a INT )")
        );
        assert_eq!(as_seen("CREATE UNIQUE INDEX i ON t (a)"), None);
    }

    #[test]
    fn unique_keys_are_places_of_stored_columns() {
        let raw = rusqlite::Connection::open_in_memory().expect("memory");
        let sql = "CREATE TABLE t (a INT PRIMARY KEY, g INT AS (a + 1), b INT UNIQUE);
                   CREATE UNIQUE INDEX i ON t (a + b); CREATE UNIQUE INDEX j ON t (b, a)";
        raw.execute_batch(sql).expect("a schema");
        let [table] = tables(&raw).expect("tables").try_into().expect("one");
        assert_eq!(table.columns, ["a", "b"]);
        let mut keys = table.unique;
        keys.sort();
        assert_eq!(keys, [None, Some(vec![0]), Some(vec![1]), Some(vec![1, 0])]);
    }
}
