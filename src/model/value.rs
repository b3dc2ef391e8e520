//! Typed cells. Two cells are equal only when the engine gave the same type and the same value.

use std::cmp::Ordering;
use std::fmt;

use super::printable;

/// One cell of a row.
#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Integer(i64),
    /// Above `i64::MAX`; smaller ones are [`Value::Integer`].
    Unsigned(u64),
    /// Compared by bits, so that `-0.0` and `0.0` differ and NaN equals itself.
    Real(f64),
    /// An exact decimal as the engine prints it: `1.50` is not `1.5`.
    Decimal(String),
    Text(String),
    /// Binary strings, and text that is not UTF-8.
    Bytes(Vec<u8>),
    /// Dates and times as the engine prints them.
    Temporal(String),
}

/// A row of a result or of a table, in column order.
pub type Row = Vec<Value>;

impl Value {
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Integer(_) => 1,
            Self::Unsigned(_) => 2,
            Self::Real(_) => 3,
            Self::Decimal(_) => 4,
            Self::Text(_) => 5,
            Self::Bytes(_) => 6,
            Self::Temporal(_) => 7,
        }
    }

    /// The integer in this cell, when it is one.
    pub fn as_integer(&self) -> Option<i64> {
        if let Self::Integer(value) = self {
            Some(*value)
        } else {
            None
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Unsigned(a), Self::Unsigned(b)) => a.cmp(b),
            (Self::Real(a), Self::Real(b)) => a.total_cmp(b),
            (Self::Decimal(a), Self::Decimal(b))
            | (Self::Text(a), Self::Text(b))
            | (Self::Temporal(a), Self::Temporal(b)) => a.cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

/// The one spelling of a value for people, in headlines, transcripts and case files: `NULL`, `12`,
/// `1.50`, `'text'`, `x'0aff'`. Quotes are doubled, a backslash stands for itself, and a text with
/// characters that a terminal obeys is given by its bytes. A dialect writes literals for engines.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Real(value) if value.is_finite() => write!(f, "{value:?}"),
            Self::Real(value) => write!(f, "'{value}'"),
            Self::Decimal(text) if text.parse::<f64>().is_ok_and(f64::is_finite) => {
                f.write_str(text)
            }
            Self::Decimal(text) | Self::Text(text) | Self::Temporal(text) => quoted(f, text),
            Self::Bytes(content) => bytes(f, content),
        }
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    if text.contains('\n') || printable(text) != text {
        bytes(f, text.as_bytes())
    } else {
        write!(f, "'{}'", text.replace('\'', "''"))
    }
}

fn bytes(f: &mut fmt::Formatter<'_>, content: &[u8]) -> fmt::Result {
    f.write_str("x'")?;
    content
        .iter()
        .try_for_each(|byte| write!(f, "{byte:02x}"))?;
    f.write_str("'")
}

/// The one spelling of rows: `(1, 'a') (2, NULL)`, or `empty`.
pub fn rows_text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "empty".to_owned();
    }
    let row_text = |row: &Row| {
        let cells: Vec<String> = row.iter().map(Value::to_string).collect();
        format!("({})", cells.join(", "))
    };
    let rows: Vec<String> = rows.iter().map(row_text).collect();
    rows.join(" ")
}
