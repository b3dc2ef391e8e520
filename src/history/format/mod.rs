//! The file formats of histories: ours, and those of the peers.
//!
//! `docs/history-format.md` describes them all. A reader keeps no more of a malformed file than
//! one line or one form of [`FORM_BYTES_MAX`], and says where it went wrong.

#[cfg(test)]
mod byte_by_byte;
mod cobra;
mod compressed;
mod dbcop;
mod form;
mod forms;
mod head;
#[cfg(test)]
mod ill_formed;
mod jepsen;
mod line;
mod lines;
mod list;
mod operation;
mod parser;
mod register_text;
mod sections;
mod seen;
mod stream;
mod strings;
mod swar;
#[cfg(test)]
mod tests;
mod timekiller;

use std::io::{BufRead, Cursor, Read, Write};

pub use cobra::read_folder;
pub use compressed::{Compression, decompressed};
pub use line::{HEADER, LineContent, ToldTransaction, write_promise};
pub use lines::FORM_BYTES_MAX;
pub use stream::Stream;

use super::{History, HistoryError};

/// How much of a file is looked at to tell its format, in bytes.
const HEAD_BYTES: u64 = 4096;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a whole history.
type ReadHistory = fn(&mut dyn BufRead) -> Result<History, HistoryError>;

/// Writes a whole history.
type WriteHistory = fn(&History, &mut dyn Write) -> Result<(), HistoryError>;

/// A file format of histories.
pub struct Format {
    /// As `--input` takes it.
    pub name: &'static str,
    /// Whose format it is, in a line.
    pub about: &'static str,
    /// Whether a file that begins like this is one.
    pub detect: fn(&[u8]) -> bool,
    pub read: ReadHistory,
    pub write: Option<WriteHistory>,
}

/// Every format, in the order in which `auto` asks them.
pub const FORMATS: &[Format] = &[
    Format {
        name: "rashomon",
        about: "our own line format",
        detect: line::detect,
        read: line::read,
        write: Some(line::write),
    },
    Format {
        name: "text",
        about: "r(KEY,VALUE,SESSION,TRANSACTION), of PolySI, Plume, MTC, VeriStrong, IsoVista",
        detect: register_text::detect,
        read: register_text::read,
        write: Some(register_text::write),
    },
    Format {
        name: "sections",
        about: "r KEY VALUE, ----- between transactions, ===== between sessions, of AWDIT's tests",
        detect: sections::detect,
        read: sections::read,
        write: Some(sections::write),
    },
    Format {
        name: "jepsen-log",
        about: "INFO jepsen.util lines, of Porcupine's test data",
        detect: jepsen::detect,
        read: jepsen::read,
        write: None,
    },
    Format {
        name: "timekiller",
        about: "JSON with start and commit timestamps, of Chronos and Aion",
        detect: timekiller::detect,
        read: timekiller::read,
        write: Some(timekiller::write),
    },
    Format {
        name: "dbcop-json",
        about: "the JSON form of dbcop's histories",
        detect: dbcop::json::detect,
        read: dbcop::json::read,
        write: Some(dbcop::json::write),
    },
    Format {
        name: "elle",
        about: "EDN, JSON or JSON lines of operations, of Elle, Knossos, Jepsen and elle-cli",
        detect: operation::detect,
        read: operation::read,
        write: Some(operation::write),
    },
    Format {
        name: "cobra",
        about: "Cobra's log of one session; a folder of them is one history",
        detect: cobra::detect,
        read: cobra::read,
        write: None,
    },
    Format {
        name: "dbcop",
        about: "dbcop's bincode of 2019, which PolySI reads too",
        detect: dbcop::detect,
        read: dbcop::read,
        write: Some(dbcop::write),
    },
];

/// The format of this name.
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Tells the format of a stream by its beginning; the stream with its beginning back in it.
///
/// # Errors
/// When the stream cannot be read, or no format knows it.
pub fn detect<R: BufRead>(
    mut stream: R,
) -> Result<(&'static Format, impl BufRead + use<R>), HistoryError> {
    let mut head = Vec::new();
    // As many reads as it takes: a pipe may give a few bytes at a time.
    stream.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    // Some editors put a byte order mark in front.
    if head.starts_with(BYTE_ORDER_MARK) {
        head.drain(..BYTE_ORDER_MARK.len());
    }
    match FORMATS.iter().find(|format| (format.detect)(&head)) {
        Some(format) => Ok((format, Cursor::new(head).chain(stream))),
        None => {
            let shown: String = String::from_utf8_lossy(&head).chars().take(40).collect();
            Err(HistoryError::UnknownFormat(match head.is_empty() {
                true => "the file is empty".to_owned(),
                false => format!("the file begins with {shown:?}"),
            }))
        }
    }
}
