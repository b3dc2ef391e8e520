//! What is wrong with a history file, and where.

use std::fmt;
use std::io;
use std::path::Path;

/// Why a history cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file is not what its format says, at this place.
    #[error("{place}: {message}")]
    IllFormed { place: Place, message: String },
    /// No format knows this file.
    #[error("line 1, column 1: no known history format: {0}")]
    UnknownFormat(String),
    /// The file cannot be read to its end.
    #[error("cannot read the history")]
    Read(#[source] io::Error),
    /// The history is larger than our numbers: 2^31 keys, 2^32 events or transactions.
    #[error("the history has more {0} than can be counted here")]
    TooLarge(&'static str),
    /// The format cannot say what the history contains.
    #[error("{format} cannot hold {what}")]
    CannotHold {
        format: &'static str,
        what: &'static str,
    },
}

/// What is wrong with the bytes of a compressed file, handed on as an error of reading by the
/// stream that decompresses it.
#[derive(Debug, thiserror::Error)]
#[error("byte {byte}: {message}")]
pub(in crate::history) struct Damaged {
    /// In the compressed file, from 1.
    pub(in crate::history) byte: u64,
    pub(in crate::history) message: String,
}

impl From<io::Error> for HistoryError {
    fn from(error: io::Error) -> Self {
        match error.downcast::<Damaged>() {
            Ok(Damaged { byte, message }) => Self::at_byte(byte, message),
            Err(error) => Self::Read(error),
        }
    }
}

/// A place in a file: line and column in text, byte offset in binary, all counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Text { line: u64, column: u64 },
    Binary { byte: u64 },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { line, column } => write!(f, "line {line}, column {column}"),
            Self::Binary { byte } => write!(f, "byte {byte}"),
        }
    }
}

impl HistoryError {
    /// An error at a line and column, both from 1.
    pub fn at(line: u64, column: usize, message: impl Into<String>) -> Self {
        let column = column as u64;
        Self::IllFormed {
            place: Place::Text { line, column },
            message: message.into(),
        }
    }

    /// An error at a byte, from 1.
    pub fn at_byte(byte: u64, message: impl Into<String>) -> Self {
        Self::IllFormed {
            place: Place::Binary { byte },
            message: message.into(),
        }
    }

    /// Says in which of several files the place is.
    pub(in crate::history) fn within(self, file: &Path) -> Self {
        match self {
            Self::IllFormed { place, message } => Self::IllFormed {
                place,
                message: format!("{message} (in {})", file.display()),
            },
            other @ (Self::UnknownFormat(_)
            | Self::Read(_)
            | Self::TooLarge(_)
            | Self::CannotHold { .. }) => other,
        }
    }
}
