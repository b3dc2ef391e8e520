//! The SQL parser, trusted only after a round trip.
//!
//! A statement that does not parse to the same tree after printing is opaque.
//! `LOCK IN SHARE MODE`, which the parser does not read, goes in as `FOR SHARE` and comes out as
//! it was written.

use std::str::FromStr;

use sqlparser::ast::{Expr, Statement, Value};
use sqlparser::dialect::{
    Dialect as ParserDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect,
};
use sqlparser::parser::{Parser, ParserOptions};

use super::token::{SqlToken, stands, tokens};
use crate::dialect::{Dialect, ParserKind};

/// A statement that survived the round trip.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    /// Its syntax tree.
    pub tree: Statement,
    /// Its shared locks were written `LOCK IN SHARE MODE`.
    old_share: bool,
}

impl Parsed {
    /// Parses one statement; None when it does not parse or does not round-trip.
    pub(super) fn new(sql: &str, words: &[SqlToken<'_>], dialect: &Dialect) -> Option<Self> {
        let (text, old_share) = modern_share(sql, words);
        let tree = read(&text, dialect)?;
        let again = read(&tree.to_string(), dialect)?;
        (again == tree).then_some(Self { tree, old_share })
    }

    /// The text of another tree in the spelling of this one.
    pub(super) fn print(&self, tree: &Statement, dialect: &Dialect) -> Option<String> {
        let text = tree.to_string();
        if !self.old_share {
            return Some(text);
        }
        let mut printed = String::new();
        let mut at = 0;
        let words = tokens(&text, dialect)?;
        for index in 0..words.len() {
            if stands(&words, index, &["FOR", "SHARE"]) {
                printed.push_str(&text[at..words[index].span.start]);
                printed.push_str("LOCK IN SHARE MODE");
                at = words[index + 1].span.end;
            }
        }
        printed.push_str(&text[at..]);
        Some(printed)
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

/// The text with `LOCK IN SHARE MODE` written `FOR SHARE`, and whether there was one.
fn modern_share(sql: &str, words: &[SqlToken<'_>]) -> (String, bool) {
    let mut text = String::new();
    let mut at = 0;
    for index in 0..words.len() {
        if stands(words, index, &["LOCK", "IN", "SHARE", "MODE"]) {
            text.push_str(&sql[at..words[index].span.start]);
            text.push_str("FOR SHARE");
            at = words[index + 3].span.end;
        }
    }
    text.push_str(&sql[at..]);
    (text, at > 0)
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
