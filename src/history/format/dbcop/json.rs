//! The JSON form of dbcop's histories, in the field names of its bincode.
//!
//! `{"params": .., "info": .., "start": .., "end": .., "data": [[{"events": [{"write", "variable",
//! "value", "success"}], "success"}]]}`; only `data` is needed. No transaction may be larger than a form
//! may be, the file may.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};

use crate::history::format::form::{Form, FormPlace, Tape};
use crate::history::format::forms::Forms;
use crate::history::{Atom, Builder, Event, Head, History, HistoryError, Kind, Status};

pub(in crate::history::format) fn detect(head: &[u8]) -> bool {
    let has = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
    head.trim_ascii_start().first() == Some(&b'{')
        && (has(b"\"data\"") || has(b"\"params\""))
        && !has(b"\"type\"")
}

pub(in crate::history::format) fn read(stream: &mut dyn BufRead) -> Result<History, HistoryError> {
    let mut forms = Forms::new(stream);
    let mut sessions = SessionsReader {
        builder: Builder::new(Atom::from(0)),
        label: 0,
        events: Vec::new(),
    };
    let mut tape = Tape::default();
    let mut fields = BTreeSet::new();
    forms.open(b'{')?;
    while !forms.is_closed(b'}')? {
        forms.key(&mut fields, &mut tape)?;
        if tape.form().name() == Some("data") {
            sessions.read(&mut forms, &mut tape)?;
        } else {
            forms.item(&mut tape)?;
        }
    }
    if !fields.contains("data") {
        return Err(forms.error("no list named data"));
    }
    forms.end()?;
    Ok(sessions.builder.finish())
}

/// The history as it comes, a transaction at a time.
struct SessionsReader {
    builder: Builder,
    label: u32,
    /// Those of the transaction that is being read.
    events: Vec<Event>,
}

impl SessionsReader {
    fn read(&mut self, forms: &mut Forms<'_>, tape: &mut Tape) -> Result<(), HistoryError> {
        forms.open(b'[')?;
        let mut session = 0u32;
        while !forms.is_closed(b']')? {
            forms.open(b'[')?;
            while !forms.is_closed(b']')? {
                let (line, column) = forms.item(tape)?;
                let error = |message: String| HistoryError::at(line, column, message);
                let status = self.transaction(tape.form()).map_err(error)?;
                self.label += 1;
                let head = Head {
                    session: session.into(),
                    label: self.label.into(),
                    status,
                    timestamps: None,
                    real_time: None,
                };
                self.builder.transaction(&head, self.events.drain(..))?;
            }
            let next = session.checked_add(1);
            session = next.ok_or_else(|| forms.error("too many sessions"))?;
        }
        Ok(())
    }

    /// Reads the events of a transaction; its status.
    fn transaction(&mut self, form: Form<'_>) -> Result<Status, String> {
        let status = match form.get("success") {
            Some(Form::Bool(true)) => Status::Committed,
            Some(Form::Bool(false)) => Status::Aborted,
            _ => return Err("a transaction without success".to_owned()),
        };
        let events = form.get("events").and_then(Form::list);
        for form in events.ok_or("a transaction without events")? {
            self.events.extend(event(&mut self.builder, form)?);
        }
        Ok(status)
    }
}

/// An event; none when the engine refused it.
fn event(builder: &mut Builder, form: Form<'_>) -> Result<Option<Event>, String> {
    let names = ["write", "variable", "value", "success"];
    let fields = form.fields(names).map(|place| place.map(FormPlace::form));
    let missing = |field: usize| format!("an event without {}", names[field]);
    let flag = |field: usize| match fields[field] {
        Some(Form::Bool(flag)) => Ok(flag),
        _ => Err(missing(field)),
    };
    let mut number = |field: usize| match fields[field] {
        Some(Form::Integer(value)) => Atom::integer(value).ok_or("a number too small".to_owned()),
        Some(Form::Number(digits)) => {
            let number = digits.parse().map_err(|_| {
                let (name, most) = (names[field], u64::MAX);
                format!("{name} is {digits}, which is no integer up to {most}")
            })?;
            builder.natural(number).map_err(|error| error.to_string())
        }
        _ => Err(missing(field)),
    };
    let kind = if flag(0)? { Kind::Write } else { Kind::Read };
    let (key, value) = (number(1)?, number(2)?);
    let key = builder.key(key).map_err(|error| error.to_string())?;
    Ok(flag(3)?.then_some(Event { kind, key, value }))
}

/// # Errors
/// When the history holds texts, negative numbers, indeterminate transactions or initial values
/// but 0, or the stream fails.
pub(in crate::history::format) fn write(
    history: &History,
    out: &mut dyn Write,
) -> Result<(), HistoryError> {
    let sessions = super::plain(history, "dbcop-json")?;
    let (nodes, keys) = (sessions.len(), history.key_count());
    let longest = sessions.iter().map(Vec::len).max().unwrap_or(0);
    let events = sessions.iter().flatten().map(|(events, _)| events.len());
    write!(
        out,
        "{{\"params\":{{\"id\":0,\"n_node\":{nodes},\"n_variable\":{keys},\
         \"n_transaction\":{longest},\"n_event\":{}}},\
         \"info\":\"\",\"start\":\"\",\"end\":\"\",\"data\":[",
        events.max().unwrap_or(0)
    )?;
    for (place, session) in sessions.iter().enumerate() {
        write!(out, "{}[", if place > 0 { "," } else { "" })?;
        for (place, (events, is_committed)) in session.iter().enumerate() {
            write!(out, "{}{{\"events\":[", if place > 0 { "," } else { "" })?;
            for (place, (is_write, key, value)) in events.iter().enumerate() {
                write!(
                    out,
                    "{}{{\"write\":{is_write},\"variable\":{key},\"value\":{value},\
                     \"success\":true}}",
                    if place > 0 { "," } else { "" }
                )?;
            }
            write!(out, "],\"success\":{is_committed}}}")?;
        }
        write!(out, "]")?;
    }
    writeln!(out, "]}}")?;
    Ok(())
}
