//! The JSON form of dbcop's histories, in the field names of its bincode.
//!
//! `{"params": .., "info": .., "start": .., "end": .., "data": [[{"events": [{"write", "variable",
//! "value", "success"}], "success"}]]}`; only `data` is needed.

use std::io::{BufRead, Write};

use crate::history::format::form::{Form, Forms};
use crate::history::{Atom, Builder, Event, Head, History, HistoryError, Kind, Status};

pub(in crate::history::format) fn detect(head: &[u8]) -> bool {
    let has = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
    head.trim_ascii_start().first() == Some(&b'{')
        && (has(b"\"data\"") || has(b"\"params\""))
        && !has(b"\"type\"")
}

pub(in crate::history::format) fn read(stream: &mut dyn BufRead) -> Result<History, HistoryError> {
    let mut forms = Forms::new(stream);
    let Some((line, form)) = forms.next()? else {
        return Err(HistoryError::at(1, 1, "the file is empty"));
    };
    let error = |message: &str| HistoryError::at(line, 1, message);
    let sessions = form.get("data").and_then(Form::list);
    let sessions = sessions.ok_or_else(|| error("no list named data"))?;
    let mut builder = Builder::new(Atom::from(0));
    let mut label = 0u32;
    for (session, transactions) in (0u32..).zip(sessions) {
        let transactions = transactions.list();
        for form in transactions.ok_or_else(|| error("a session that is no list"))? {
            label += 1;
            let head = Head {
                session: session.into(),
                label: label.into(),
                status: match form.get("success") {
                    Some(Form::Bool(true)) => Status::Committed,
                    Some(Form::Bool(false)) => Status::Aborted,
                    _ => return Err(error("a transaction without success")),
                },
                timestamps: None,
                real_time: None,
            };
            let events = form.get("events").and_then(Form::list);
            let events = events.ok_or_else(|| error("a transaction without events"))?;
            let events = events.iter().map(|form| event(&mut builder, form));
            let events = events.collect::<Result<Vec<_>, _>>();
            let events = events.map_err(|message| error(&message))?;
            builder.transaction(&head, events.into_iter().flatten())?;
        }
    }
    match forms.next()? {
        None => Ok(builder.finish()),
        Some((line, _)) => Err(HistoryError::at(line, 1, "more than one history")),
    }
}

/// An event; none when the engine refused it.
fn event(builder: &mut Builder, form: &Form) -> Result<Option<Event>, String> {
    let flag = |name: &str| match form.get(name) {
        Some(Form::Bool(flag)) => Ok(*flag),
        _ => Err(format!("an event without {name}")),
    };
    let number = |name: &str| match form.get(name) {
        Some(Form::Integer(value)) => Atom::integer(*value).ok_or("a number too small".to_owned()),
        _ => Err(format!("an event without {name}")),
    };
    let kind = if flag("write")? {
        Kind::Write
    } else {
        Kind::Read
    };
    let (key, value) = (number("variable")?, number("value")?);
    let key = builder.key(key).map_err(|error| error.to_string())?;
    Ok(flag("success")?.then_some(Event { kind, key, value }))
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
