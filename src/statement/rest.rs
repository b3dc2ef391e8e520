//! The words of a statement of few forms, read from left to right.

use super::token::{SqlToken, TokenKind, tokens};
use crate::dialect::Dialect;
use crate::model::Value;

/// The words; None where a comment may hide some that the engine executes.
pub(super) fn words<'a>(sql: &'a str, dialect: &Dialect) -> Option<Vec<SqlToken<'a>>> {
    if sql.contains("/*") {
        return None;
    }
    tokens(sql, dialect)
}

/// The words that have not been read.
pub(super) struct Rest<'t, 'a>(pub(super) &'t [SqlToken<'a>]);

impl Rest<'_, '_> {
    fn take(&mut self, is_it: impl Fn(&SqlToken<'_>) -> bool) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        is_it(first).then(|| self.0 = rest)
    }

    pub(super) fn word(&mut self, word: &str) -> Option<()> {
        self.take(|token| token.is(word))
    }

    pub(super) fn mark(&mut self, mark: char) -> Option<()> {
        self.take(|token| token.is_mark(mark))
    }

    pub(super) fn name(&mut self) -> Option<String> {
        let (first, rest) = self.0.split_first()?;
        let name = first.name()?;
        self.0 = rest;
        Some(name)
    }

    pub(super) fn column(&mut self) -> Option<String> {
        Some(self.name()?.to_lowercase())
    }

    /// Reads an integer type, with or without NOT NULL; returns its largest value.
    pub(super) fn integer_type(&mut self) -> Option<i64> {
        let largest = match self.name()?.to_uppercase().as_str() {
            "INT" | "INTEGER" => i64::from(i32::MAX),
            "BIGINT" => i64::MAX,
            _ => return None,
        };
        if self.word("NOT").is_some() {
            self.word("NULL")?;
        }
        Some(largest)
    }

    pub(super) fn integer(&mut self) -> Option<i64> {
        let sign = if self.mark('-').is_some() { -1 } else { 1 };
        let (first, rest) = self.0.split_first()?;
        let number: i64 = match first.kind {
            TokenKind::Number => first.text.parse().ok()?,
            TokenKind::Word | TokenKind::Quoted | TokenKind::Text | TokenKind::Mark => return None,
        };
        self.0 = rest;
        number.checked_mul(sign)
    }

    /// Reads a number without a point, or a text without quotes and backslashes in it.
    pub(super) fn value(&mut self) -> Option<Value> {
        let (first, rest) = self.0.split_first()?;
        let inner = first
            .text
            .strip_prefix('\'')
            .and_then(|t| t.strip_suffix('\''));
        match inner.filter(|_| first.kind == TokenKind::Text) {
            None => self.integer().map(Value::Integer),
            Some(inner) if inner.contains(['\'', '\\']) => None,
            Some(inner) => {
                self.0 = rest;
                Some(Value::Text(inner.to_owned()))
            }
        }
    }

    pub(super) fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.mark('(')?;
        let mut items = vec![item(self)?];
        while self.mark(',').is_some() {
            items.push(item(self)?);
        }
        self.mark(')')?;
        Some(items)
    }
}
