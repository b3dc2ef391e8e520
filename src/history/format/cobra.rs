//! Cobra's logs, which PolySI reads too: a folder with a file a session, big-endian.
//!
//! `S` transaction; `W` write id, key, value; `R` transaction, write id, key, value;
//! `C` transaction; a letter in one byte, numbers in eight. Write ids are unique and stand for the
//! values. A read of one of two reserved transactions is of what was there at first. A log that
//! ends within a transaction leaves it indeterminate.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::compressed::decompressed;
use super::seen::Seen;
use crate::history::{Atom, Builder, Event, Head, History, HistoryError, Kind, Status};

/// Who wrote what was there at first, and what was not there.
const FIRST: [i64; 2] = [0xbebe_ebee, 0xdead_beef];

/// Reads every `.log` of a folder, in the order of their names.
///
/// # Errors
/// When one cannot be read or is no such log, or there is none.
pub fn read_folder(folder: &Path) -> Result<History, HistoryError> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "log") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        let message = "a folder without .log files; a folder is read as the logs of Cobra";
        return Err(HistoryError::UnknownFormat(message.to_owned()));
    }
    let mut builder = Builder::new(Atom::NIL);
    let mut seen = Seen::default();
    for (session, path) in (0u32..).zip(&paths) {
        let mut stream = decompressed(BufReader::new(File::open(path)?))?;
        let read = read_session(&mut stream, &mut builder, session, &mut seen);
        read.map_err(|error| error.within(path))?;
    }
    Ok(builder.finish())
}

pub(super) fn detect(head: &[u8]) -> bool {
    head.len() > 9 && head[0] == b'S' && b"RWC".contains(&head[9])
}

/// Reads a single session.
pub(super) fn read(stream: &mut dyn BufRead) -> Result<History, HistoryError> {
    let mut builder = Builder::new(Atom::NIL);
    read_session(stream, &mut builder, 0, &mut Seen::default())?;
    Ok(builder.finish())
}

fn read_session(
    stream: &mut dyn BufRead,
    builder: &mut Builder,
    session: u32,
    seen: &mut Seen,
) -> Result<(), HistoryError> {
    let mut log = Log { stream, at: 0 };
    let mut open: Option<(Atom, Vec<Event>)> = None;
    while let Some(letter) = log.letter()? {
        let first = log.number()?;
        match (letter, &mut open) {
            (b'S', None) => {
                let label = log.atom(first)?;
                if !seen.insert(Atom::NIL, label) {
                    return Err(log.error("a transaction that was there before"));
                }
                open = Some((label, Vec::new()));
            }
            (b'W', Some((_, events))) => {
                let (key, _) = (log.number()?, log.number()?);
                let key = builder.key(log.atom(key)?)?;
                let (kind, value) = (Kind::Write, log.atom(first)?);
                events.push(Event { kind, key, value });
            }
            (b'R', Some((_, events))) => {
                let (write, key, _) = (log.number()?, log.number()?, log.number()?);
                let key = builder.key(log.atom(key)?)?;
                let is_first = FIRST.contains(&first);
                let value = if is_first {
                    Atom::NIL
                } else {
                    log.atom(write)?
                };
                let kind = Kind::Read;
                events.push(Event { kind, key, value });
            }
            (b'C', Some((label, _))) if *label == log.atom(first)? => {
                close(builder, session, open.take(), Status::Committed)?;
            }
            _ => {
                let letter = char::from(letter);
                return Err(log.error(&format!("{letter:?} has no place here")));
            }
        }
    }
    close(builder, session, open, Status::Indeterminate)
}

fn close(
    builder: &mut Builder,
    session: u32,
    open: Option<(Atom, Vec<Event>)>,
    status: Status,
) -> Result<(), HistoryError> {
    let Some((label, events)) = open else {
        return Ok(());
    };
    let head = Head {
        session: session.into(),
        label,
        status,
        timestamps: None,
        real_time: None,
    };
    builder.transaction(&head, events).map(|_| ())
}

struct Log<'s> {
    stream: &'s mut dyn BufRead,
    at: u64,
}

impl Log<'_> {
    fn error(&self, message: &str) -> HistoryError {
        HistoryError::at_byte(self.at + 1, message)
    }

    /// The letter of the next record; none at the end.
    fn letter(&mut self) -> Result<Option<u8>, HistoryError> {
        let letter = self.stream.fill_buf()?.first().copied();
        if letter.is_some() {
            self.stream.consume(1);
            self.at += 1;
        }
        Ok(letter)
    }

    fn number(&mut self) -> Result<i64, HistoryError> {
        let mut bytes = [0; 8];
        match self.stream.read_exact(&mut bytes) {
            Ok(()) => {
                self.at += 8;
                Ok(i64::from_be_bytes(bytes))
            }
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(self.error("the file ends too early"))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn atom(&self, number: i64) -> Result<Atom, HistoryError> {
        Atom::integer(number).ok_or_else(|| self.error("a number too small"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(letter: u8, numbers: &[i64]) -> Vec<u8> {
        let numbers = numbers.iter().flat_map(|number| number.to_be_bytes());
        [letter].into_iter().chain(numbers).collect()
    }

    #[test]
    fn a_folder_is_a_session_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let one = [
            record(b'S', &[1]),
            record(b'R', &[FIRST[0], FIRST[0], 7, 3]),
            record(b'W', &[50, 7, 1]),
            record(b'C', &[1]),
        ];
        let two = [record(b'S', &[2]), record(b'R', &[1, 50, 7, 1])];
        std::fs::write(folder.path().join("T0.log"), one.concat()).expect("written");
        std::fs::write(folder.path().join("T1.log"), two.concat()).expect("written");
        let history = read_folder(folder.path()).expect("a history");
        assert_eq!((history.len(), history.session_count()), (3, 2));
        let statuses = history.transactions().map(|t| history.status(t));
        assert!(statuses.eq([Status::Committed, Status::Indeterminate]));
        let values: Vec<String> = (0..3)
            .map(|at| history.show(history.event(at).value))
            .collect();
        assert_eq!(values, ["nil", "50", "50"]);
    }

    #[test]
    fn what_is_torn_or_out_of_place_is_an_error_with_its_byte() {
        let cases = [
            (
                record(b'S', &[1])[..5].to_vec(),
                "byte 2: the file ends too early",
            ),
            (record(b'C', &[1]), "byte 10: 'C' has no place here"),
            (
                [record(b'S', &[1]), record(b'C', &[2])].concat(),
                "byte 19: 'C' has no place here",
            ),
        ];
        for (bytes, message) in cases {
            let error = read(&mut &bytes[..]).expect_err(message);
            assert_eq!(error.to_string(), message);
        }
    }
}
