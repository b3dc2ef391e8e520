//! The parts of a CREATE TRIGGER, each as a statement that is checked by itself.

use super::super::scanner;
use super::token::{Token, split_at_commas, tokens, word_length};

/// What a trigger is about.
pub(super) struct TriggerParts {
    /// A read of the table that it stands on.
    pub(super) table: String,
    /// What it does for each row: a write of a table as it stands, an assignment to its row as an UPDATE.
    pub(super) body: String,
}

/// The parts of `CREATE TRIGGER name BEFORE|AFTER event ON table [FOR EACH ROW] body`, none for another statement.
///
/// # Errors
/// A trigger that is written otherwise.
pub(super) fn parts(sql: &str) -> Result<Option<TriggerParts>, String> {
    let words = tokens(sql)?;
    let is = |at: usize, text: &str| words.get(at).is_some_and(|word: &Token| word.is(text));
    if !is(0, "CREATE") || !is(1, "TRIGGER") {
        return Ok(None);
    }
    let refused = || "a trigger that is not of the form which cases have".to_owned();
    let times = ["BEFORE", "AFTER"];
    let events = ["INSERT", "UPDATE", "DELETE"];
    let fits = times.iter().any(|word| is(3, word))
        && events.iter().any(|word| is(4, word))
        && is(5, "ON");
    // SQLite does without these words (SQLite manual, "CREATE TRIGGER").
    let for_each_row = ["FOR", "EACH", "ROW"];
    let mut numbered = for_each_row.iter().zip(7..);
    let start = match numbered.all(|(word, at)| is(at, word)) {
        true => 10,
        false if is(7, "BEGIN") => 7,
        false => return Err(refused()),
    };
    let (name, table) = (
        words.get(2).and_then(Token::identifier),
        words.get(6).and_then(Token::identifier),
    );
    let (Some(_), Some(table), true) = (name, table, fits) else {
        return Err(refused());
    };
    let body = after_words(sql, start).ok_or_else(refused)?;
    let body = match (is(start, "BEGIN"), words.last()) {
        (true, Some(last)) if last.is("END") => {
            let inner = &body["BEGIN".len()..body.trim_end().len() - "END".len()];
            let inner = inner.trim_end();
            inner.strip_suffix(';').ok_or_else(refused)?
        }
        _ => body,
    };
    let mut body = body.trim().to_owned();
    let first = tokens(&body)?.first().cloned();
    let first = first.as_ref().and_then(Token::identifier);
    match first {
        Some("INSERT" | "UPDATE" | "DELETE") => {}
        Some("SET") => {
            let words = tokens(&body)?;
            let of_the_row = |part: &&[Token]| {
                let is = |at: usize, text| part.get(at).is_some_and(|word| word.is(text));
                is(0, "NEW") && is(1, ".") && is(3, "=")
            };
            let parts = split_at_commas(&words[1..]);
            if !parts.iter().all(of_the_row) {
                return Err(refused());
            }
            body = format!("UPDATE assigned SET{}", &body["SET".len()..]);
        }
        _ => return Err(refused()),
    }
    Ok(Some(TriggerParts {
        table: format!("SELECT 1 FROM \"{}\"", table.replace('"', "\"\"")),
        body,
    }))
}

/// The text from this word on, white space and comments before it left out.
fn after_words(sql: &str, count: usize) -> Option<&str> {
    let mut at = 0;
    let mut seen = 0;
    while at < sql.len() {
        let rest = &sql[at..];
        let word = word_length(rest);
        let length = match word {
            0 => scanner::token_length(sql, at)?,
            length => length,
        };
        let is_blank = rest.starts_with(char::is_whitespace)
            || rest.starts_with("/*")
            || (word == 0 && rest.starts_with("--"));
        if !is_blank {
            if seen == count {
                return Some(rest);
            }
            seen += 1;
        }
        at += length;
    }
    None
}
