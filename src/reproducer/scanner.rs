//! Cuts the text of a case file into header lines, comments and tagged statements.
//!
//! A statement ends at the first semicolon outside of strings, quoted identifiers and comments; a CREATE TRIGGER with
//! BEGIN, as SQLite has it, at the one behind END.
//! Quotes are doubled to stand for themselves; a backslash escapes nothing, as in the sessions
//! that run the case. `--` begins a comment where white space or the end of the line follows, as
//! in MySQL, so that `5--3` is an expression everywhere.

use super::error::FormatError;
use super::tag::{self, Tag, session};
use crate::model::StatementId;

/// One piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// The text behind `--!`, and the byte it begins at.
    Header { text: &'a str, at: usize },
    /// The text of a comment line, dashes stripped.
    Comment { text: &'a str, at: usize },
    /// A statement, and the comment behind it on its line.
    Statement {
        tag: Tag,
        /// The statement's number, where the tag gives one.
        number: Option<StatementId>,
        sql: &'a str,
        at: usize,
        trailing: Option<(&'a str, usize)>,
    },
}

/// The place of a byte: line and column, from 1.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.len() - before.rfind('\n').map_or(0, |i| i + 1) + 1;
    (line, column)
}

/// Walks over the pieces of a file.
pub(super) struct Scanner<'a> {
    file: &'a str,
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, at: 0 }
    }

    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> FormatError {
        let (line, column) = place(self.text, at);
        FormatError {
            file: self.file.to_owned(),
            line,
            column,
            message: message.into(),
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Takes the rest of the line, without its end.
    fn line(&mut self) -> (&'a str, usize) {
        let at = self.at;
        let rest = self.rest();
        let length = rest.find('\n').unwrap_or(rest.len());
        self.at += length;
        (&rest[..length], at)
    }

    /// The next piece, or none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Piece<'a>>, FormatError> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        let rest = self.rest();
        if rest.is_empty() {
            return Ok(None);
        }
        if rest.starts_with("--!") {
            let (line, at) = self.line();
            return Ok(Some(Piece::Header {
                text: &line[3..],
                at: at + 3,
            }));
        }
        if let Some(marker) = comment_marker(rest, true) {
            let (line, at) = self.line();
            return Ok(Some(Piece::Comment {
                text: line[marker..].trim(),
                at: at + marker,
            }));
        }
        if rest.starts_with("/*") {
            return self.tagged().map(Some);
        }
        Err(self.error(
            self.at,
            "expected a session tag before the statement: /* init */, /* s1 */, ... or /* end */",
        ))
    }

    /// A tag and its statement, up to the semicolon and the comment behind it.
    fn tagged(&mut self) -> Result<Piece<'a>, FormatError> {
        let start = self.at;
        let rest = self.rest();
        let Some(close) = rest.find("*/") else {
            return Err(self.error(start, "expected */ at the end of the tag"));
        };
        let (tag, number) =
            tag::parse(rest[2..close].trim()).map_err(|message| self.error(start, message))?;
        self.at += close + 2;
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        let at = self.at;
        let length = self.statement_length(at)?;
        let sql = without_trailing_comments(&self.text[at..], length);
        if sql.is_empty() {
            return Err(self.error(at, "expected a statement behind the tag"));
        }
        self.at = at + length + 1;
        Ok(Piece::Statement {
            tag,
            number,
            sql,
            at,
            trailing: self.trailing(),
        })
    }

    /// The comment behind a statement, on the same line.
    fn trailing(&mut self) -> Option<(&'a str, usize)> {
        let rest = self.rest();
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let marker = comment_marker(&rest[blank..], true)?;
        self.at += blank + marker;
        let (text, at) = self.line();
        Some((text.trim(), at))
    }

    /// Bytes up to the semicolon that ends the statement.
    fn statement_length(&self, start: usize) -> Result<usize, FormatError> {
        let text = &self.text[start..];
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            if c == ';' && !is_inside_a_trigger(&text[..at]) {
                return Ok(at);
            }
            if let Some(tag) = tag_within(&text[at..]) {
                let (line, _) = place(self.text, start);
                return Err(self.error(
                    start + at,
                    format!(
                        "the statement that begins in line {line} has no semicolon before this \
                         tag {tag}: end that statement with ;"
                    ),
                ));
            }
            at += token_length(text, at)
                .ok_or_else(|| self.error(start + at, format!("expected an end of this {c}")))?;
        }
        Err(self.error(start, "expected ; at the end of the statement"))
    }
}

/// Whether this is a CREATE TRIGGER up to a semicolon between its BEGIN and END.
fn is_inside_a_trigger(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let mut is_next = |word: &str| words.next().is_some_and(|w| w.eq_ignore_ascii_case(word));
    if !is_next("CREATE") || !is_next("TRIGGER") {
        return false;
    }
    let mut before = "";
    let mut begun = false;
    for word in words {
        // SQLite does without FOR EACH ROW.
        begun |= word.eq_ignore_ascii_case("BEGIN");
        before = word;
    }
    begun && !before.eq_ignore_ascii_case("END")
}

/// The session tag that begins here, inside a statement: the semicolon before it is missing, and the
/// tagged statement would be read as part of the one before. Letter case does not matter: `/* S1 */`
/// is a misspelt tag more often than a comment.
fn tag_within(rest: &str) -> Option<&str> {
    let close = rest.strip_prefix("/*")?.find("*/")? + 4;
    let name = rest[2..close - 2].trim().to_ascii_lowercase();
    let first = name.split_whitespace().next()?;
    let lone = first == name && (first == "init" || first == "end");
    (lone || session(first).is_some()).then_some(&rest[..close])
}

/// Whether a comment to the end of the line begins here, and how long its marker is.
///
/// Between statements `--@` is a note that lacks its space; inside one it is two minus signs.
fn comment_marker(rest: &str, between_statements: bool) -> Option<usize> {
    let ends = |rest: &str| rest.chars().next().is_none_or(|c| c.is_whitespace());
    if let Some(rest) = rest.strip_prefix("--") {
        let comment = ends(rest) || (between_statements && rest.starts_with('@'));
        return comment.then_some(2);
    }
    let rest = rest.strip_prefix('#')?;
    ends(rest).then_some(1)
}

/// The length of the string, quoted identifier, comment or single character that begins at a byte;
/// none when it has no end.
pub(super) fn token_length(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let first = rest.chars().next()?;
    match first {
        '\'' | '"' | '`' => quoted_length(rest, first),
        '/' if rest.starts_with("/*") => rest[2..].find("*/").map(|length| length + 4),
        '-' | '#' if comment_marker(rest, false).is_some() => {
            Some(rest.find('\n').unwrap_or(rest.len()))
        }
        _ => Some(first.len_utf8()),
    }
}

/// A quoted text with its quotes; a doubled quote stands for itself.
fn quoted_length(rest: &str, quote: char) -> Option<usize> {
    let mut at = 1;
    loop {
        at += rest[at..].find(quote)? + 1;
        if !rest[at..].starts_with(quote) {
            return Some(at);
        }
        at += 1;
    }
}

/// The statement up to its last word: a comment behind it would swallow the semicolon when it is
/// written on one line. The text goes on with the semicolon: a `#` before it begins no comment.
fn without_trailing_comments(text: &str, length: usize) -> &str {
    let mut end = 0;
    let mut at = 0;
    while at < length {
        let rest = &text[at..];
        let length = token_length(text, at).unwrap_or(length - at);
        let blank = rest.starts_with(char::is_whitespace);
        let executable = rest.starts_with("/*!") || rest.starts_with("/*M!");
        let comment = comment_marker(rest, false).is_some() || rest.starts_with("/*");
        at += length;
        if executable || !(blank || comment) {
            end = at;
        }
    }
    &text[..end]
}
