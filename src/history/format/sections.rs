//! `r KEY VALUE` and `w KEY VALUE`, `-----` between transactions, `=====` between sessions: the
//! format of AWDIT's tests. There is no initial value: a read has a writer, or comes from nowhere.

use std::io::{BufRead, Write};

use super::head::first_line;
use super::lines::Lines;
use crate::history::{Atom, Builder, Event, Head, History, HistoryError, Kind, Status, Txn};

pub(super) fn detect(head: &[u8]) -> bool {
    let line = first_line(head, b'#');
    line.starts_with(b"r ") || line.starts_with(b"w ")
}

pub(super) fn read(stream: &mut dyn BufRead) -> Result<History, HistoryError> {
    let mut builder = Builder::new(Atom::NIL);
    let mut lines = Lines::new(stream);
    let mut events = Vec::new();
    let (mut session, mut label) = (1u32, 1u32);
    while let Some(mut line) = lines.next()? {
        line.skip_spaces();
        if line.is_blank() || line.rest().starts_with(b"#") {
            continue;
        }
        let is_end = match line.rest().trim_ascii() {
            b"-----" => Some(0),
            b"=====" => Some(1),
            _ => None,
        };
        if let Some(next_session) = is_end {
            close(&mut builder, session, &mut label, &mut events)?;
            session += next_session;
            continue;
        }
        let kind = line.kind()?;
        line.expect(b' ')?;
        line.skip_spaces();
        let key = line.atom()?;
        line.expect(b' ')?;
        line.skip_spaces();
        let value = line.atom()?;
        line.end()?;
        let key = builder.key(key)?;
        events.push(Event { kind, key, value });
    }
    close(&mut builder, session, &mut label, &mut events)?;
    Ok(builder.finish())
}

fn close(
    builder: &mut Builder,
    session: u32,
    label: &mut u32,
    events: &mut Vec<Event>,
) -> Result<(), HistoryError> {
    let head = Head {
        session: session.into(),
        label: (*label).into(),
        status: Status::Committed,
        timestamps: None,
        real_time: None,
    };
    if !events.is_empty() {
        builder.transaction(&head, events.drain(..))?;
        *label += 1;
    }
    Ok(())
}

/// Writes a history of committed transactions whose keys and values are integers.
///
/// # Errors
/// When it holds anything else, or the stream fails.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), HistoryError> {
    let cannot = |what| HistoryError::CannotHold {
        format: "sections",
        what,
    };
    let mut sessions: Vec<Vec<Txn>> = vec![Vec::new(); history.session_count()];
    for transaction in history.transactions() {
        if history.status(transaction) != Status::Committed {
            return Err(cannot("transactions that did not commit"));
        }
        sessions[history.session_of(transaction) as usize].push(transaction);
    }
    for (index, session) in sessions.iter().filter(|s| !s.is_empty()).enumerate() {
        if index > 0 {
            writeln!(out, "=====")?;
        }
        for (index, transaction) in session.iter().enumerate() {
            if index > 0 {
                writeln!(out, "-----")?;
            }
            for event in history.events(*transaction) {
                let letter = match event.kind {
                    Kind::Read => 'r',
                    Kind::Write => 'w',
                };
                let key = history.key(event.key).as_integer();
                let value = event.value.as_integer();
                let (Some(key), Some(value)) = (key, value) else {
                    return Err(cannot("texts or nil"));
                };
                writeln!(out, "{letter} {key} {value}")?;
            }
        }
    }
    Ok(())
}
