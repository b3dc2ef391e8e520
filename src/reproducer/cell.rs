//! Cells and rows as notes spell them: `(10, 'a', NULL, x'0aff')`.

use std::fmt;

use crate::model::{Row, Value};

/// A cell as a person writes it. The type is the engine's business: `10` is met by any number that
/// equals it, a quoted text by any text, date or bytes of that content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    Null,
    /// A decimal number as it is written: `1.50` is met by `1.5`, too.
    Number(String),
    Text(String),
    Bytes(Vec<u8>),
}

impl Cell {
    /// Whether an engine's value is what this cell asks for.
    pub fn meets(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Null, Value::Null) => true,
            (Self::Null, _) | (_, Value::Null) => false,
            (Self::Number(expected), Value::Real(got)) => expected
                .parse::<f64>()
                .is_ok_and(|expected| expected == *got),
            (Self::Number(expected), got) => {
                let number = normalized(&plain_text(got));
                number.is_some() && number == normalized(expected)
            }
            (Self::Text(expected), Value::Bytes(got)) => expected.as_bytes() == got,
            (Self::Text(expected), got) => *expected == plain_text(got),
            (Self::Bytes(expected), Value::Bytes(got)) => expected == got,
            (Self::Bytes(expected), got) => expected == plain_text(got).as_bytes(),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Number(text) => f.write_str(text),
            Self::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Self::Bytes(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
        }
    }
}

/// A value's text without quotes.
fn plain_text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Decimal(text) | Value::Text(text) | Value::Temporal(text) => text.clone(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// A decimal number in one spelling, or none when the text is no such number.
fn normalized(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.trim_end_matches('0');
    let number = if fraction.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{fraction}")
    };
    let sign = if number == "0" { "" } else { sign };
    Some(format!("{sign}{number}"))
}

/// Reads rows: `(1, 'a') (2, NULL)`, or `empty` for none.
///
/// # Errors
/// What was expected, with the byte it was expected at.
pub(super) fn rows(text: &str) -> Result<Vec<Vec<Cell>>, (usize, String)> {
    let mut parser = RowsParser { text, at: 0 };
    parser.blank();
    if parser.rest() == "empty" {
        return Ok(Vec::new());
    }
    let mut rows = Vec::new();
    loop {
        parser.blank();
        if parser.rest().is_empty() {
            break;
        }
        rows.push(parser.row()?);
    }
    if rows.is_empty() {
        return Err((
            0,
            "expected rows such as (1, 'a') (2, NULL), or empty".into(),
        ));
    }
    Ok(rows)
}

/// Whether a row is the one that these cells ask for.
pub(super) fn row_meets(cells: &[Cell], row: &Row) -> bool {
    row.len() == cells.len() && cells.iter().zip(row).all(|(cell, value)| cell.meets(value))
}

/// A decimal number with an exponent, as engines print large and small ones.
fn has_exponent(word: &str) -> bool {
    let number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    word.contains(['e', 'E'])
        && word.chars().all(number)
        && word.parse::<f64>().is_ok_and(f64::is_finite)
}

struct RowsParser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> RowsParser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn fail<T>(&self, expected: &str) -> Result<T, (usize, String)> {
        Err((self.at, format!("expected {expected}")))
    }

    fn row(&mut self) -> Result<Vec<Cell>, (usize, String)> {
        if !self.rest().starts_with('(') {
            return self.fail("a row in parentheses");
        }
        self.at += 1;
        let mut cells = Vec::new();
        loop {
            self.blank();
            cells.push(self.cell()?);
            self.blank();
            let rest = self.rest();
            self.at += 1;
            match rest.chars().next() {
                Some(',') => {}
                Some(')') => return Ok(cells),
                _ => {
                    self.at -= 1;
                    return self.fail("a comma or a closing parenthesis");
                }
            }
        }
    }

    fn cell(&mut self) -> Result<Cell, (usize, String)> {
        let rest = self.rest();
        if rest.starts_with('\'') {
            return Ok(Cell::Text(self.quoted()?));
        }
        if rest.starts_with("x'") || rest.starts_with("X'") {
            self.at += 1;
            let at = self.at;
            let digits = self.quoted()?;
            return bytes(&digits).map_or_else(
                || Err((at, "expected pairs of hexadecimal digits".into())),
                |bytes| Ok(Cell::Bytes(bytes)),
            );
        }
        let length = rest.find([',', ')']).unwrap_or(rest.len());
        let word = rest[..length].trim_end();
        let cell = if word.eq_ignore_ascii_case("null") {
            Cell::Null
        } else if normalized(word).is_some() || has_exponent(word) {
            Cell::Number(word.to_owned())
        } else {
            return self.fail("NULL, a number, 'text' or x'bytes'");
        };
        self.at += word.len();
        Ok(cell)
    }

    fn quoted(&mut self) -> Result<String, (usize, String)> {
        let rest = self.rest();
        match super::scanner::token_length(rest, 0) {
            Some(length) if length >= 2 => {
                self.at += length;
                Ok(rest[1..length - 1].replace("''", "'"))
            }
            _ => self.fail("a closing quote"),
        }
    }
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok())
        .collect()
}
