//! The SQL parser, trusted only after a round trip.
//!
//! A statement that does not parse to the same tree after printing is opaque. Lock clauses that the parser
//! does not read come out as they were written.

use std::str::FromStr;

use sqlparser::ast::{Expr, Statement, Value};
use sqlparser::dialect::{
    Dialect as ParserDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect,
};
use sqlparser::parser::{Parser, ParserOptions};

use super::comma_tables;
use super::lock_clause::LockClauses;
use super::returning_place;
use super::token::{SqlToken, tokens, without_end};
use crate::dialect::{Dialect, ParserKind};

/// A statement that survived the round trip.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    /// Its syntax tree.
    pub tree: Statement,
    /// Its lock clauses, as they were written.
    pub locks: LockClauses,
}

impl Parsed {
    /// Parses the text of one statement, with a semicolon at its end or without; None as for [`Parsed::new`], and for a text
    /// that is not made of tokens.
    pub(super) fn of(sql: &str, dialect: &Dialect) -> Option<Self> {
        let words = tokens(sql, dialect)?;
        Self::new(sql, without_end(&words), dialect)
    }

    /// Parses one statement; None when it does not parse or does not round-trip.
    pub(super) fn new(sql: &str, words: &[SqlToken<'_>], dialect: &Dialect) -> Option<Self> {
        let (text, locks) = LockClauses::take(sql, words, dialect);
        let text = returning_place::as_read(&text, dialect);
        let tree = read(&comma_tables::as_read(&text, dialect), dialect)?;
        let again = read(&tree.to_string(), dialect)?;
        (again == tree).then_some(Self { tree, locks })
    }

    /// The text of another tree in the spelling of this one.
    pub(super) fn print(&self, tree: &Statement, dialect: &Dialect) -> Option<String> {
        let text = self.locks.put_back(&tree.to_string(), dialect)?;
        Some(returning_place::as_written(&text, dialect))
    }
}

/// A number that stands in the text as it is; none for any other expression, and beyond the type.
pub(super) fn number<T: FromStr>(expression: &Expr) -> Option<T> {
    let Expr::Value(value) = expression else {
        return None;
    };
    let Value::Number(digits, _) = &value.value else {
        return None;
    };
    digits.parse().ok()
}

fn read(sql: &str, dialect: &Dialect) -> Option<Statement> {
    let parser: &dyn ParserDialect = match dialect.spelling.parser {
        ParserKind::MySql => &MySqlDialect {},
        ParserKind::PostgreSql => &PostgreSqlDialect {},
        ParserKind::Sqlite => &SQLiteDialect {},
    };
    // Literals stay as they are written: the session's settings decide whether a backslash escapes.
    let options = ParserOptions::new().with_unescape(false);
    let mut statements = Parser::new(parser)
        .with_options(options)
        .try_with_sql(sql)
        .ok()?
        .parse_statements()
        .ok()?;
    (statements.len() == 1).then(|| statements.pop()).flatten()
}
