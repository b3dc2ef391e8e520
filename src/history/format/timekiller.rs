//! TimeKiller's JSON: transactions with start and commit timestamps, for Chronos and Aion.
//!
//! A list of `{"sid", "tid", "sts", "cts", "ops"}`; a timestamp is `{"p": physical, "l": logical}`,
//! either of them a number or digits in quotes; an operation is `{"t": "r"|"w"|"a", "k", "v"}`.
//! The order of a session is that of the file. Keys hold nil, or 0 where somebody reads a 0 that
//! nobody writes.

use std::io::{BufRead, Write};

use super::form::{Form, FormPlace, Tape};
use super::forms::Forms;
use super::list::{ListEvent, Lists};
use super::seen::Seen;
use crate::history::{Atom, Builder, Head, History, HistoryError, Kind, Span, Status, Txn};

pub(super) fn detect(head: &[u8]) -> bool {
    let has = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
    let first = head.trim_ascii_start().first();
    match first {
        Some(b'[') => has(b"\"ops\"") || has(b"\"cts\""),
        Some(b'{') => has(b"\"ops\""),
        _ => false,
    }
}

/// A timestamp as it comes: physical and logical part, too wide for 64 bits together.
type Wide = (i64, i64);

pub(super) fn read(stream: &mut dyn BufRead) -> Result<History, HistoryError> {
    let mut forms = Forms::new(stream);
    let mut builder = Builder::new(Atom::NIL);
    let mut lists = Lists::default();
    let mut spans = Vec::new();
    let mut seen = Seen::default();
    let zero = Atom::from(0);
    let mut reads_zero = false;
    let (mut tape, mut events) = (Tape::default(), Vec::new());
    while let Some(line) = forms.next(&mut tape)? {
        let form = tape.form();
        let error = |message| HistoryError::at(line, 1, message);
        let head = head(form).map_err(error)?;
        if !seen.insert(Atom::NIL, head.label) {
            return Err(error("a tid that another transaction has".to_owned()));
        }
        spans.push((
            wide(form.get("sts")).map_err(error)?,
            wide(form.get("cts")).map_err(error)?,
        ));
        operations(&mut builder, form, &mut events).map_err(error)?;
        reads_zero |= events
            .iter()
            .any(|event| matches!(event, ListEvent::Register(event) if event.kind == Kind::Read && event.value == zero));
        lists.transaction(&mut builder, &head, &events)?;
    }
    lists.finish(&mut builder);
    if reads_zero {
        builder.assume_initial(zero);
    }
    set_timestamps(&mut builder, &spans);
    Ok(builder.finish())
}

/// Tells the builder the timestamps: physical parts as they are where no logical part counts, and
/// otherwise the places of the timestamps among all.
fn set_timestamps(builder: &mut Builder, spans: &[(Wide, Wide)]) {
    let all = || spans.iter().flat_map(|(from, to)| [*from, *to]);
    let mut ranks: Vec<Wide> = Vec::new();
    if all().any(|(_, logical)| logical != 0) {
        ranks.extend(all());
        ranks.sort_unstable();
        ranks.dedup();
    }
    let point = |wide: Wide| match ranks.binary_search(&wide) {
        Ok(rank) => rank as i64,
        Err(_) => wide.0,
    };
    for (number, (from, to)) in (1..).zip(spans) {
        let transaction = Txn::new(number);
        let (from, to) = (point(*from), point(*to));
        builder.set_timestamps(transaction, Span { from, to });
    }
}

fn wide(form: Option<Form<'_>>) -> Result<Wide, String> {
    let form = form.ok_or("a transaction without sts or cts")?;
    let part = |name: &str| match form.get(name) {
        None => Ok(0),
        Some(form) => integer(form, name),
    };
    if let Form::Integer(value) = form {
        return Ok((value, 0));
    }
    Ok((part("p")?, part("l")?))
}

/// An integer, or its digits in quotes.
fn integer(form: Form<'_>, name: &str) -> Result<i64, String> {
    match form {
        Form::Integer(value) => Ok(value),
        Form::Text(digits) => digits
            .parse()
            .map_err(|_| format!("{name} is no integer: {digits:?}")),
        Form::Nil
        | Form::Bool(_)
        | Form::Keyword(_)
        | Form::Symbol(_)
        | Form::List(_)
        | Form::Map(_)
        | Form::Number(_) => Err(format!("{name} is no integer")),
    }
}

fn head(form: Form<'_>) -> Result<Head, String> {
    let name = |name: &str| {
        let form = form
            .get(name)
            .ok_or_else(|| format!("a transaction without {name}"))?;
        let value = integer(form, name)?;
        Atom::integer(value).ok_or_else(|| format!("{name} is too small"))
    };
    Ok(Head {
        session: name("sid")?,
        label: name("tid")?,
        status: Status::Committed,
        timestamps: None,
        real_time: None,
    })
}

/// Replaces the events by those of a transaction.
fn operations(
    builder: &mut Builder,
    form: Form<'_>,
    events: &mut Vec<ListEvent>,
) -> Result<(), String> {
    let operations = form.get("ops").and_then(Form::list);
    let operations = operations.ok_or("a transaction without ops")?;
    events.clear();
    for form in operations {
        events.push(operation(builder, form)?);
    }
    Ok(())
}

fn operation(builder: &mut Builder, form: Form<'_>) -> Result<ListEvent, String> {
    let [kind, key, value] = form.fields(["t", "k", "v"]);
    let key = atom(builder, key)?;
    let key = builder.key(key).map_err(|error| error.to_string())?;
    match (kind.and_then(FormPlace::name), value) {
        (Some(b"w"), value) => Ok(ListEvent::write(key, atom(builder, value)?)),
        (Some(b"a"), value) => Ok(ListEvent::Append(key, atom(builder, value)?)),
        (Some(b"r"), value) => match value.and_then(FormPlace::list) {
            Some(list) => {
                let list = list.map(|item| item.atom(builder));
                Ok(ListEvent::ReadList(key, list.collect::<Result<_, _>>()?))
            }
            None => Ok(ListEvent::read(key, atom(builder, value)?)),
        },
        _ => Err("an operation whose t is none of r, w, a".to_owned()),
    }
}

fn atom(builder: &mut Builder, form: Option<FormPlace<'_>>) -> Result<Atom, String> {
    form.map_or(Ok(Atom::NIL), |form| form.atom(builder))
}

/// Writes a history whose transactions all committed with timestamps.
///
/// # Errors
/// When it holds others, texts, or nil as a value that was written, or the stream fails.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), HistoryError> {
    let cannot = |what| HistoryError::CannotHold {
        format: "timekiller",
        what,
    };
    let integer = |atom: Atom| atom.as_integer().ok_or_else(|| cannot("texts"));
    writeln!(out, "[")?;
    for transaction in history.transactions() {
        if history.status(transaction) != Status::Committed {
            return Err(cannot("transactions that did not commit"));
        }
        let span = history.timestamps(transaction);
        let span = span.ok_or_else(|| cannot("transactions without timestamps"))?;
        let (session, number) = (history.session_of(transaction), transaction.number());
        let (from, to) = (span.from, span.to);
        write!(out, "{}", if number > 1 { ",\n" } else { "" })?;
        write!(
            out,
            "{{\"sid\":{session},\"tid\":{number},\"sts\":{{\"p\":{from},\"l\":0}},"
        )?;
        write!(out, "\"cts\":{{\"p\":{to},\"l\":0}},\"ops\":[")?;
        for (place, event) in history.events(transaction).enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let letter = match event.kind {
                Kind::Read => 'r',
                Kind::Write => 'w',
            };
            let key = integer(history.key(event.key))?;
            let value = match event.value {
                Atom::NIL => "null".to_owned(),
                value => integer(value)?.to_string(),
            };
            write!(
                out,
                "{comma}{{\"t\":\"{letter}\",\"k\":{key},\"v\":{value}}}"
            )?;
        }
        write!(out, "]}}")?;
    }
    writeln!(out, "\n]")?;
    Ok(())
}
