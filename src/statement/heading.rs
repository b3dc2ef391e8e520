//! The headings that an engine of MySQL's protocol gives the columns of a SELECT, or of what a write returns.
//!
//! A column is called by its name, another expression by its text as it is written (MySQL manual,
//! "Problems with Column Aliases"; seen on MySQL 9.7 and MariaDB 10.11).

use std::ops::Range;

use sqlparser::ast::{JoinConstraint, JoinOperator, Select, Statement, TableObject};

use super::parse::Parsed;
use super::query::{deleted_from, last_name, relations};
use super::token::without_end;
use super::token::{SqlToken, TokenKind, items, outside_parentheses, tokens};
use crate::dialect::Dialect;
use crate::model::TableShape;

/// Engines cut longer texts, each at a length of its own.
const HEADING_CHARACTERS_MAX: usize = 60;

/// What ends the list of a SELECT.
const AFTER_LIST: [&str; 10] = [
    "FROM",
    "INTO",
    "WHERE",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "ORDER",
    "LIMIT",
    "FOR",
    "LOCK",
];

/// Words that an expression may end with.
const LAST_WORDS: [&str; 5] = ["END", "NULL", "TRUE", "FALSE", "UNKNOWN"];

/// Whether a statement is a write that returns rows.
pub fn returns(sql: &str, dialect: &Dialect) -> bool {
    tokens(sql, dialect).is_some_and(|words| returning(&words).is_some())
}

/// The place of a RETURNING outside of parentheses.
fn returning(words: &[SqlToken<'_>]) -> Option<usize> {
    let mut top = outside_parentheses(words);
    top.find(|(_, word)| word.is("RETURNING"))
        .map(|(place, _)| place)
}

/// The headings of a SELECT or of a RETURNING; none where they cannot be told from its text.
pub fn headings(sql: &str, tables: &[TableShape], dialect: &Dialect) -> Option<Vec<String>> {
    let words = tokens(sql, dialect)?;
    let words = without_end(&words);
    let mut found = Vec::new();
    let list = match returning(words) {
        Some(place) => place + 1..words.len(),
        None if is_read(words) => list(words)?,
        None => return None,
    };
    for item in items(words, list) {
        let item = &words[item];
        match star(item) {
            None => found.push(heading(sql, item)?),
            Some(table) => found.extend(columns(sql, words, table.as_deref(), tables, dialect)?),
        }
    }
    let all_short = found
        .iter()
        .all(|name| name.chars().count() <= HEADING_CHARACTERS_MAX && !name.contains('\n'));
    (all_short && !found.is_empty()).then_some(found)
}

fn is_read(words: &[SqlToken<'_>]) -> bool {
    let first = words.first();
    first.is_some_and(|first| first.is("SELECT") || first.is("WITH") || first.is_mark('('))
}

/// The tokens of the list of the first SELECT outside of parentheses.
fn list(words: &[SqlToken<'_>]) -> Option<Range<usize>> {
    let is_option = |word: &SqlToken<'_>| word.is_any(&["DISTINCT", "ALL", "STRAIGHT_JOIN"]);
    let mut top = outside_parentheses(words);
    let (select, _) = top.find(|(_, word)| word.is("SELECT"))?;
    let options = words[select + 1..]
        .iter()
        .take_while(|word| is_option(word));
    let start = select + 1 + options.count();
    let end = top.find(|(_, word)| word.is_any(&AFTER_LIST));
    Some(start..end.map_or(words.len(), |(place, _)| place))
}

/// `*` is every column, `t.*` those of one table.
fn star(item: &[SqlToken<'_>]) -> Option<Option<String>> {
    match item {
        [star] if star.is_mark('*') => Some(None),
        [table, dot, star] if dot.is_mark('.') && star.is_mark('*') => Some(table.name()),
        _ => None,
    }
}

/// The heading of one item of the list.
fn heading(sql: &str, item: &[SqlToken<'_>]) -> Option<String> {
    let (first, last) = (item.first()?, item.last()?);
    if let [.., word, alias] = item
        && word.is("AS")
    {
        return alias.name();
    }
    if let [text] = item
        && text.kind == TokenKind::Text
    {
        return None;
    }
    let is_column = item.iter().enumerate().all(|(at, token)| match at % 2 {
        0 => token.name().is_some(),
        _ => token.is_mark('.'),
    });
    if is_column && item.len() % 2 == 1 {
        return last.name();
    }
    if first.is_mark('(') || has_bare_alias(item) {
        return None;
    }
    Some(sql[first.span.start..last.span.end].to_owned())
}

/// Whether the last token may be an alias without AS.
fn has_bare_alias(item: &[SqlToken<'_>]) -> bool {
    let [.., before, last] = item else {
        return false;
    };
    let is_value_end = before.is_mark(')')
        || before.kind == TokenKind::Number
        || before.kind == TokenKind::Text
        || before.kind == TokenKind::Quoted;
    let is_word = last.kind == TokenKind::Word && !LAST_WORDS.iter().any(|word| last.is(word));
    (is_word && (is_value_end || before.kind == TokenKind::Word))
        || last.kind == TokenKind::Text && is_value_end
}

/// The columns of the tables that a FROM clause joins, or of the one that is called so, or of the one that a write returns
/// rows of.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn columns(
    sql: &str,
    words: &[SqlToken<'_>],
    called: Option<&str>,
    tables: &[TableShape],
    dialect: &Dialect,
) -> Option<Vec<String>> {
    let of_table = |name: &str| {
        let is_it = |table: &&TableShape| table.name.eq_ignore_ascii_case(name);
        let columns = tables.iter().find(is_it)?.columns.iter();
        Some(columns.map(|column| column.name.clone()))
    };
    let (relations, other) = match Parsed::new(sql, words, dialect)?.tree {
        Statement::Query(query) => {
            let select = query
                .body
                .as_select()
                .filter(|select| !merges_columns(select))?;
            relations(&select.from)
        }
        Statement::Insert(insert) => {
            let TableObject::TableName(name) = &insert.table else {
                return None;
            };
            return Some(of_table(last_name(name)?)?.collect());
        }
        Statement::Delete(delete) => relations(deleted_from(&delete)),
        _ => return None,
    };
    if other {
        return None;
    }
    let mut found = Vec::new();
    for relation in &relations {
        if called.is_some_and(|called| !called.eq_ignore_ascii_case(&relation.called)) {
            continue;
        }
        found.extend(of_table(&relation.table)?);
    }
    Some(found)
}

/// Whether a join gives columns of the same name once: USING and NATURAL.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn merges_columns(select: &Select) -> bool {
    let mut joins = select.from.iter().flat_map(|from| &from.joins);
    joins.any(|join| match &join.join_operator {
        JoinOperator::Join(on)
        | JoinOperator::Inner(on)
        | JoinOperator::Left(on)
        | JoinOperator::LeftOuter(on)
        | JoinOperator::CrossJoin(on)
        | JoinOperator::StraightJoin(on) => {
            !matches!(on, JoinConstraint::On(_) | JoinConstraint::None)
        }
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SetupKind, SetupStatement};
    use crate::statement::shapes;
    use crate::statement::tests::dialect;

    fn told(sql: &str) -> Option<String> {
        let dialect = dialect("mysql");
        let setup = [
            "CREATE TABLE t (a INT, `b c` INT)",
            "CREATE TABLE u (d INT)",
        ];
        let setup = setup.map(|sql| SetupStatement {
            sql: sql.to_owned(),
            kind: SetupKind::Schema,
        });
        let tables = shapes(&setup, &dialect);
        headings(sql, &tables, &dialect).map(|names| names.join("|"))
    }

    #[test]
    fn a_column_is_called_by_its_name_and_an_expression_by_its_text() {
        for (sql, expected) in [
            ("SELECT a FROM t", "a"),
            ("SELECT t.a, `t`.`b c` FROM t", "a|b c"),
            ("SELECT COUNT( *), MAX(a+1) FROM t", "COUNT( *)|MAX(a+1)"),
            ("SELECT a + 1 AS x FROM t", "x"),
            ("SELECT DISTINCT a FROM t ORDER BY a", "a"),
            ("SELECT * FROM t", "a|b c"),
            ("SELECT u.*, a FROM t JOIN u ON a = d", "d|a"),
            ("SELECT * FROM t AS x, u FOR UPDATE", "a|b c|d"),
            ("WITH w AS (SELECT a FROM t) SELECT a FROM w", "a"),
            (
                "SELECT CASE WHEN a = 1 THEN 2 END FROM t",
                "CASE WHEN a = 1 THEN 2 END",
            ),
            ("SELECT EXTRACT(YEAR FROM a), 1", "EXTRACT(YEAR FROM a)|1"),
            ("INSERT INTO t (a) VALUES (1) RETURNING *", "a|b c"),
            ("INSERT INTO t (a) SELECT d FROM u RETURNING a + 1", "a + 1"),
            ("REPLACE INTO u VALUES (1) RETURNING d AS x", "x"),
            ("DELETE FROM t WHERE a = 1 RETURNING t.*", "a|b c"),
        ] {
            assert_eq!(told(sql).as_deref(), Some(expected), "{sql}");
        }
    }

    #[test]
    fn headings_that_the_text_does_not_tell_are_none() {
        for sql in [
            "SELECT a x FROM t",
            "SELECT MAX(a) x FROM t",
            "SELECT * FROM t NATURAL JOIN u",
            "SELECT * FROM (SELECT a FROM t) AS w",
            "SELECT (a) FROM t",
            "UPDATE t SET a = 1",
            "INSERT INTO t SELECT d, d FROM u",
        ] {
            assert_eq!(told(sql), None, "{sql}");
        }
    }
}
