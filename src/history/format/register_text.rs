//! `r(KEY,VALUE,SESSION,TRANSACTION)`, one event a line: PolySI, Plume, MTC, VeriStrong, IsoVista.
//!
//! Keys hold 0 before anyone writes them. A write of transaction -1 was aborted. A first
//! transaction 0 that has session 0 to itself, only writes, and writes every key of the file is
//! the initial state (IsoVista, MTC's recorder), unless somebody reads a 0 that it excludes.

use std::io::{BufRead, Write};

use super::head::first_line;
use super::lines::Lines;
use super::seen::Seen;
use crate::history::{Atom, Builder, Event, Head, History, HistoryError, Kind, Status, Txn};

const ZERO: i64 = 0;

pub(super) fn detect(head: &[u8]) -> bool {
    let line = first_line(head, b'#');
    let Some(rest) = line.strip_prefix(b"r(").or(line.strip_prefix(b"w(")) else {
        return false;
    };
    // Our own format writes `r(x,1)` too, never with four parts.
    rest.split(|byte| *byte == b',').count() == 4
}

/// The transaction that is being read.
struct Open {
    session: Atom,
    label: Atom,
    events: Vec<Event>,
}

pub(super) fn read(stream: &mut dyn BufRead) -> Result<History, HistoryError> {
    let zero = Atom::from(0);
    let mut builder = Builder::new(zero);
    let mut seen = Seen::default();
    let mut open: Option<Open> = None;
    let mut lines = Lines::new(stream);
    while let Some(mut line) = lines.next()? {
        line.skip_spaces();
        if line.is_blank() || line.rest().starts_with(b"#") {
            continue;
        }
        let kind = line.kind()?;
        line.expect(b'(')?;
        let mut parts = [zero; 4];
        for (index, part) in parts.iter_mut().enumerate() {
            line.skip_spaces();
            if index > 0 {
                line.expect(b',')?;
                line.skip_spaces();
            }
            *part = line.atom()?;
            line.skip_spaces();
        }
        line.expect(b')')?;
        line.end()?;
        let [key, value, session, label] = parts;
        let key = builder.key(key)?;
        let event = Event { kind, key, value };
        let is_aborted = label.as_integer() == Some(-1);
        match &mut open {
            Some(open) if open.session == session && open.label == label && !is_aborted => {
                open.events.push(event);
            }
            _ => {
                if !is_aborted && !seen.insert(session, label) {
                    let message = "this transaction was over: its events must stand together";
                    return Err(HistoryError::at(line.number, 1, message));
                }
                let events = vec![event];
                let next = Open {
                    session,
                    label,
                    events,
                };
                close(&mut builder, open.replace(next))?;
            }
        }
    }
    close(&mut builder, open)?;
    promote_initial(&mut builder);
    Ok(builder.finish())
}

fn close(builder: &mut Builder, open: Option<Open>) -> Result<(), HistoryError> {
    let Some(open) = open else { return Ok(()) };
    let status = match open.label.as_integer() {
        Some(-1) => Status::Aborted,
        _ => Status::Committed,
    };
    let head = Head {
        session: open.session,
        label: open.label,
        status,
        timestamps: None,
        real_time: None,
    };
    builder.transaction(&head, open.events).map(|_| ())
}

/// Makes an explicit initial transaction the initial one.
fn promote_initial(builder: &mut Builder) {
    let history = builder.so_far();
    let zero = Some(ZERO);
    let one = Txn::new(1);
    let is_candidate = history.len() > 2
        && history.label(one).as_integer() == zero
        && history.session(0).as_integer() == zero
        && history.events(one).all(|event| event.kind == Kind::Write)
        && history
            .transactions()
            .all(|t| t == one || history.session_of(t) != 0);
    if !is_candidate {
        return;
    }
    let mut first: Vec<Option<Atom>> = vec![None; history.key_count()];
    for event in history.events(one) {
        first[event.key] = Some(event.value);
    }
    let reads_zero = |event: Event| {
        event.kind == Kind::Read
            && event.value.as_integer() == zero
            && first[event.key] != Some(event.value)
    };
    let writes_zero = |event: Event| event.kind == Kind::Write && event.value.as_integer() == zero;
    let later = || {
        history
            .transactions()
            .skip(1)
            .flat_map(|t| history.events(t))
    };
    let is_initial =
        first.iter().all(Option::is_some) && (!later().any(reads_zero) || later().any(writes_zero));
    if is_initial {
        builder.promote_first();
    }
}

/// Writes a history whose keys and values are integers and whose keys begin with 0.
///
/// # Errors
/// When it holds texts, indeterminate transactions, or other initial values, or the stream fails.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), HistoryError> {
    let cannot = |what| HistoryError::CannotHold {
        format: "text",
        what,
    };
    let integer = |atom: Atom| atom.as_integer().ok_or_else(|| cannot("texts or nil"));
    if let Some(zero) = Atom::integer(ZERO)
        && history.all_keys().any(|key| history.initial(key) != zero)
    {
        return Err(cannot("initial values other than 0"));
    }
    for transaction in history.transactions() {
        let label = match history.status(transaction) {
            Status::Committed => i64::from(transaction.number()),
            Status::Aborted => -1,
            Status::Indeterminate => return Err(cannot("indeterminate transactions")),
        };
        let session = history.session_of(transaction);
        for event in history.events(transaction) {
            let letter = match event.kind {
                Kind::Read if label == -1 => continue,
                Kind::Read => 'r',
                Kind::Write => 'w',
            };
            let key = integer(history.key(event.key))?;
            let value = integer(event.value)?;
            writeln!(out, "{letter}({key},{value},{session},{label})")?;
        }
    }
    Ok(())
}
