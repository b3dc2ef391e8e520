//! dbcop's bincode of 2019, which PolySI reads too: little-endian, lengths in 8 bytes.
//!
//! Five numbers (id, nodes, variables, transactions, events), three texts (what, begin, end), then
//! sessions of transactions of events; an event is (write, variable, value, success), a transaction
//! ends with its success. Variables hold 0 before anyone writes them.

pub(super) mod json;

use std::io::{BufRead, Read, Write};

use super::FORM_BYTES_MAX;
use crate::history::{Atom, Builder, Event, Head, History, HistoryError, Kind, Status};

/// A file that begins with a small number, not with text.
pub(super) fn detect(head: &[u8]) -> bool {
    head.len() >= 40 && (0..5).all(|field| head[field * 8 + 5..field * 8 + 8] == [0, 0, 0])
}

struct Source<'s> {
    stream: &'s mut dyn BufRead,
    at: u64,
}

impl Source<'_> {
    fn error(&self, message: &str) -> HistoryError {
        HistoryError::at_byte(self.at + 1, message)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], HistoryError> {
        let mut bytes = [0; N];
        match self.stream.read_exact(&mut bytes) {
            Ok(()) => {
                self.at += N as u64;
                Ok(bytes)
            }
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(self.error("the file ends too early"))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn number(&mut self) -> Result<u64, HistoryError> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn flag(&mut self) -> Result<bool, HistoryError> {
        match self.bytes()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.error(&format!("expected 0 or 1, found {other}"))),
        }
    }

    fn skip_text(&mut self) -> Result<(), HistoryError> {
        let len = self.number()?;
        if len > FORM_BYTES_MAX as u64 {
            return Err(self.error(&format!("a text of {len} bytes")));
        }
        let skipped = std::io::copy(&mut (&mut *self.stream).take(len), &mut std::io::sink())?;
        self.at += skipped;
        if skipped < len {
            return Err(self.error("the file ends too early"));
        }
        Ok(())
    }
}

pub(super) fn read(stream: &mut dyn BufRead) -> Result<History, HistoryError> {
    let mut source = Source { stream, at: 0 };
    for _ in 0..5 {
        source.number()?;
    }
    for _ in 0..3 {
        source.skip_text()?;
    }
    let mut builder = Builder::new(Atom::from(0));
    let sessions = source.number()?;
    let mut label = 0u32;
    for session in 0..sessions {
        for _ in 0..source.number()? {
            label += 1;
            let session = u32::try_from(session).map_err(|_| source.error("too many sessions"))?;
            transaction(&mut source, &mut builder, session, label)?;
        }
    }
    if !source.stream.fill_buf()?.is_empty() {
        return Err(source.error("more bytes than the history has"));
    }
    Ok(builder.finish())
}

fn transaction(
    source: &mut Source<'_>,
    builder: &mut Builder,
    session: u32,
    label: u32,
) -> Result<(), HistoryError> {
    let mut events = Vec::new();
    for _ in 0..source.number()? {
        let kind = if source.flag()? {
            Kind::Write
        } else {
            Kind::Read
        };
        let key = builder.natural(source.number()?)?;
        let key = builder.key(key)?;
        let value = builder.natural(source.number()?)?;
        // What the engine refused has neither read nor written.
        if source.flag()? {
            events.push(Event { kind, key, value });
        }
    }
    let status = if source.flag()? {
        Status::Committed
    } else {
        Status::Aborted
    };
    let head = Head {
        session: session.into(),
        label: label.into(),
        status,
        timestamps: None,
        real_time: None,
    };
    builder.transaction(&head, events).map(|_| ())
}

/// A transaction as dbcop has it: events as (is a write, variable, value), and success.
type Plain = (Vec<(bool, u64, u64)>, bool);

/// The history as dbcop has it: sessions of transactions.
///
/// # Errors
/// When it holds texts, negative numbers, indeterminate transactions or initial values but 0.
fn plain(history: &History, format: &'static str) -> Result<Vec<Vec<Plain>>, HistoryError> {
    let cannot = |what| HistoryError::CannotHold { format, what };
    let natural = |atom: Atom| {
        let natural = history.texts().as_natural(atom);
        natural.ok_or_else(|| cannot("texts, nil or negative numbers"))
    };
    let mut keys = Vec::with_capacity(history.key_count());
    for key in history.all_keys() {
        if history.initial(key).as_integer() != Some(0) {
            return Err(cannot("initial values other than 0"));
        }
        keys.push(natural(history.key(key))?);
    }
    let mut sessions = vec![Vec::new(); history.session_count()];
    for transaction in history.transactions() {
        let is_committed = match history.status(transaction) {
            Status::Committed => true,
            Status::Aborted => false,
            Status::Indeterminate => return Err(cannot("indeterminate transactions")),
        };
        let events = history
            .events(transaction)
            .map(|event| {
                let is_write = event.kind == Kind::Write;
                Ok((is_write, keys[event.key], natural(event.value)?))
            })
            .collect::<Result<_, HistoryError>>()?;
        sessions[history.session_of(transaction) as usize].push((events, is_committed));
    }
    Ok(sessions)
}

/// # Errors
/// As [`plain`], and when the stream fails.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), HistoryError> {
    let sessions = plain(history, "dbcop")?;
    let longest = |lens: &mut dyn Iterator<Item = usize>| lens.max().unwrap_or(0) as u64;
    let transactions = longest(&mut sessions.iter().map(Vec::len));
    let events = longest(&mut sessions.iter().flatten().map(|(events, _)| events.len()));
    let numbers = [
        0,
        sessions.len() as u64,
        history.key_count() as u64,
        transactions,
        events,
    ];
    let mut number = |value: u64| out.write_all(&value.to_le_bytes());
    numbers.into_iter().try_for_each(&mut number)?;
    // Three empty texts.
    [0; 3].into_iter().try_for_each(&mut number)?;
    out.write_all(&(sessions.len() as u64).to_le_bytes())?;
    for session in &sessions {
        out.write_all(&(session.len() as u64).to_le_bytes())?;
        for (events, is_committed) in session {
            out.write_all(&(events.len() as u64).to_le_bytes())?;
            for (is_write, key, value) in events {
                out.write_all(&[u8::from(*is_write)])?;
                out.write_all(&key.to_le_bytes())?;
                out.write_all(&value.to_le_bytes())?;
                out.write_all(&[1])?;
            }
            out.write_all(&[u8::from(*is_committed)])?;
        }
    }
    Ok(())
}
