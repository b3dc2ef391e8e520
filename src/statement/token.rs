//! The words of a statement with their places in the text.
//!
//! For statements that the SQL parser does not read (transaction control, lock clauses, CREATE
//! TABLE with everything an engine allows) and for cuts that leave the rest of a text as it was
//! written.

use std::ops::Range;

use crate::dialect::Dialect;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A bare word: keyword, name or function.
    Word,
    /// A name in quotes.
    Quoted,
    Text,
    Number,
    /// One character of punctuation.
    Mark,
}

/// One token; comments and white space are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SqlToken<'a> {
    pub kind: TokenKind,
    pub text: &'a str,
    /// Where it stands in the statement, in bytes.
    pub span: Range<usize>,
}

impl SqlToken<'_> {
    /// Whether it is this bare word, in any case.
    pub(super) fn is(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is one of these bare words, in any case.
    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// Whether it is this punctuation mark.
    pub(super) fn is_mark(&self, mark: char) -> bool {
        self.kind == TokenKind::Mark && self.text.starts_with(mark)
    }

    /// The name, quotes removed; None for literals and marks.
    pub(super) fn name(&self) -> Option<String> {
        match self.kind {
            TokenKind::Word => Some(self.text.to_owned()),
            TokenKind::Quoted => {
                let inner = self.text.get(1..self.text.len() - 1)?;
                let quote = &self.text[..1];
                Some(inner.replace(&quote.repeat(2), quote))
            }
            TokenKind::Text | TokenKind::Number | TokenKind::Mark => None,
        }
    }
}

/// Splits a statement into tokens; None when a quote or a comment does not end.
pub(super) fn tokens<'a>(sql: &'a str, dialect: &Dialect) -> Option<Vec<SqlToken<'a>>> {
    let bytes = sql.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &sql[at..];
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if rest.starts_with("--") || byte == b'#' {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if rest.starts_with("/*") {
            at += rest.find("*/")? + 2;
            continue;
        }
        let (kind, length) = token_at(rest, dialect)?;
        found.push(SqlToken {
            kind,
            text: &sql[at..at + length],
            span: at..at + length,
        });
        at += length;
    }
    Some(found)
}

/// The tokens without the semicolons at the end.
pub(super) fn without_end<'t, 'a>(mut words: &'t [SqlToken<'a>]) -> &'t [SqlToken<'a>] {
    while let Some((last, rest)) = words.split_last()
        && last.is_mark(';')
    {
        words = rest;
    }
    words
}

/// Kind and length in bytes of the token at the start of a non-empty text.
fn token_at(rest: &str, dialect: &Dialect) -> Option<(TokenKind, usize)> {
    let first = rest.chars().next()?;
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || c == '@';
    Some(match first {
        '\'' => (TokenKind::Text, quoted_length(rest, '\'', dialect)?),
        '`' => (TokenKind::Quoted, quoted_length(rest, '`', dialect)?),
        '"' => {
            let kind = if dialect.spelling.identifier_quote == '"' {
                TokenKind::Quoted
            } else {
                TokenKind::Text
            };
            (kind, quoted_length(rest, '"', dialect)?)
        }
        'x' | 'X' | 'b' | 'B' | 'n' | 'N' if rest[1..].starts_with('\'') => (
            TokenKind::Text,
            1 + quoted_length(&rest[1..], '\'', dialect)?,
        ),
        c if c.is_ascii_digit() => {
            let length = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
                .unwrap_or(rest.len());
            (TokenKind::Number, length)
        }
        c if word(c) => (
            TokenKind::Word,
            rest.find(|c: char| !word(c)).unwrap_or(rest.len()),
        ),
        c => (TokenKind::Mark, c.len_utf8()),
    })
}

/// The length of a quoted text, quotes included; a doubled quote stands for itself.
fn quoted_length(rest: &str, quote: char, dialect: &Dialect) -> Option<usize> {
    let escapes = dialect.spelling.backslash_escapes && quote == '\'';
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if escapes && c == '\\' {
            characters.next()?;
        } else if c == quote {
            if characters.peek().is_some_and(|(_, next)| *next == quote) {
                characters.next();
            } else {
                return Some(at + c.len_utf8());
            }
        }
    }
    None
}

/// The index of the mark that closes the parenthesis at `open`.
pub(super) fn closing(tokens: &[SqlToken<'_>], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if token.is_mark('(') {
            depth += 1;
        } else if token.is_mark(')') {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

/// The tokens that stand in no parentheses, each with its place; the parentheses are not among them.
pub(super) fn outside_parentheses<'t, 'a>(
    tokens: &'t [SqlToken<'a>],
) -> impl Iterator<Item = (usize, &'t SqlToken<'a>)> {
    let mut depth = 0_i32;
    tokens.iter().enumerate().filter(move |(_, token)| {
        let closes = token.is_mark(')');
        depth += i32::from(token.is_mark('(')) - i32::from(closes);
        depth == 0 && !closes
    })
}

/// The ranges of tokens between commas that stand outside parentheses.
pub(super) fn items(tokens: &[SqlToken<'_>], within: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut depth = 0i32;
    let mut start = within.start;
    for index in within.clone() {
        let token = &tokens[index];
        if token.is_mark('(') {
            depth += 1;
        } else if token.is_mark(')') {
            depth -= 1;
        } else if depth == 0 && token.is_mark(',') {
            found.push(start..index);
            start = index + 1;
        }
    }
    if start < within.end {
        found.push(start..within.end);
    }
    found
}

/// Whether the words stand at this place, one after another.
pub(super) fn stands(tokens: &[SqlToken<'_>], at: usize, words: &[&str]) -> bool {
    words
        .iter()
        .enumerate()
        .all(|(offset, word)| tokens.get(at + offset).is_some_and(|token| token.is(word)))
}

/// A name, its schema left out, and the index after it.
pub(super) fn object_name(words: &[SqlToken<'_>], at: usize) -> Option<(String, usize)> {
    let mut name = words.get(at)?.name()?;
    let mut at = at + 1;
    while words.get(at).is_some_and(|word| word.is_mark('.')) {
        name = words.get(at + 1)?.name()?;
        at += 2;
    }
    Some((name, at))
}

/// The table that a CREATE TABLE names, and the index after its name.
pub(super) fn created_table(words: &[SqlToken<'_>]) -> Option<(String, usize)> {
    words.first().filter(|word| word.is("CREATE"))?;
    let at = words.iter().take(4).position(|word| word.is("TABLE"))? + 1;
    object_name(words, behind_if_not_exists(words, at))
}

/// The place of the name behind TABLE: from this token on, or behind IF NOT EXISTS.
pub(super) fn behind_if_not_exists(words: &[SqlToken<'_>], at: usize) -> usize {
    match stands(words, at, &["IF", "NOT", "EXISTS"]) {
        true => at + 3,
        false => at,
    }
}
