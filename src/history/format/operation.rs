//! Operations with their invocation and completion: Elle, Knossos, Jepsen, elle-cli; EDN or JSON.
//!
//! A process is a session and an operation a transaction; its place in the file is its real time.
//! `ok` committed, `fail` aborted, `info` and what never completed are indeterminate. Values are
//! transactions of `[f key value]` (append, r, w), or a register's value (read, write, cas), or a
//! mutex, which is a register that `acquire` takes from 0 to 1 and `release` back.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use super::form::{Form, FormPlace, Items, Tape};
use super::forms::Forms;
use super::head::first_line;
use super::list::{ListEvent, Lists};
use super::strings::Strings;
use crate::history::{
    Atom, Builder, Event, Head, History, HistoryError, Key, Kind, Span, Status, Txn,
};

pub(super) fn detect(head: &[u8]) -> bool {
    let line = first_line(head, b';').trim_ascii_start();
    let open = line.strip_prefix(b"[").or(line.strip_prefix(b"("));
    let line = open.unwrap_or(line).trim_ascii_start();
    let opens = line.is_empty() || line.starts_with(b"{") || line.starts_with(b"#");
    let names_type = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
    opens && (names_type(b":type") || names_type(b"\"type\""))
}

/// What stands in for a process that an operation does not name.
const NO_PROCESS: Form<'_> = Form::Nil;

/// An operation that was invoked and has not completed.
#[derive(Default)]
struct Pending {
    invoked: i64,
    tape: Tape,
    line: u64,
}

/// A process, as operations name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProcessName {
    /// What most logs have: no text is made of it.
    Integer(i64),
    /// Any other form, shown as text.
    Shown(String),
}

impl ProcessName {
    fn of(process: Form<'_>) -> Self {
        match process {
            Form::Integer(number) => Self::Integer(number),
            Form::Nil
            | Form::Bool(_)
            | Form::Text(_)
            | Form::Keyword(_)
            | Form::Symbol(_)
            | Form::List(_)
            | Form::Map(_)
            | Form::Number(_) => Self::Shown(format!("{process:?}")),
        }
    }

    /// The form, shown as text.
    fn shown(&self) -> String {
        match self {
            Self::Integer(number) => format!("{:?}", Form::Integer(*number)),
            Self::Shown(text) => text.clone(),
        }
    }
}

/// The fields of an operation, looked up once.
#[derive(Clone, Copy)]
struct Said<'t> {
    form: Form<'t>,
    kind: Option<FormPlace<'t>>,
    process: Option<FormPlace<'t>>,
    f: Option<FormPlace<'t>>,
    value: Option<FormPlace<'t>>,
}

impl<'t> Said<'t> {
    #[inline]
    fn of(form: Form<'t>) -> Self {
        let [kind, process, f, value] = form.fields(["type", "process", "f", "value"]);
        Self {
            form,
            kind,
            process,
            f,
            value,
        }
    }

    fn f(self) -> Option<&'t str> {
        self.f?.form().name()
    }

    fn value(self) -> Form<'t> {
        self.value.map_or(Form::Nil, FormPlace::form)
    }
}

pub(super) fn read(stream: &mut dyn BufRead) -> Result<History, HistoryError> {
    let mut forms = Forms::new(stream);
    let mut history = Operations::new();
    let mut position = 0i64;
    let mut tape = Tape::default();
    while let Some(line) = forms.next(&mut tape)? {
        position += 1;
        history.operation(line, position, &mut tape)?;
    }
    history.finish()
}

/// Collects operations; the log formats that are not EDN feed it too.
pub(super) struct Operations {
    builder: Builder,
    lists: Lists,
    strings: Strings,
    /// Whether operations are on texts; none before the first.
    are_on_texts: Option<bool>,
    /// Boxed, because they come and go with every operation.
    pending: BTreeMap<ProcessName, Box<Pending>>,
    /// Room for operations that are pending.
    #[expect(clippy::vec_box, reason = "each box goes into the map and comes back")]
    spare: Vec<Box<Pending>>,
    /// What the operation that is being read reads and writes.
    events: Vec<ListEvent>,
    label: u32,
    /// Sessions of operations that name no process, one each.
    anonymous: u32,
}

impl Operations {
    pub(super) fn new() -> Self {
        Self {
            builder: Builder::new(Atom::NIL),
            lists: Lists::default(),
            strings: Strings::default(),
            are_on_texts: None,
            pending: BTreeMap::new(),
            spare: Vec::new(),
            events: Vec::new(),
            label: 0,
            anonymous: 0,
        }
    }

    /// Takes one line of the log; the tape holds something else afterwards.
    ///
    /// # Errors
    /// When it is no operation, comes out of order, or has no exact meaning as reads and writes.
    pub(super) fn operation(
        &mut self,
        line: u64,
        position: i64,
        tape: &mut Tape,
    ) -> Result<(), HistoryError> {
        let error = |message: &str| HistoryError::at(line, 1, message);
        let said = Said::of(tape.form());
        let kind = said.kind.and_then(FormPlace::name);
        let kind = kind.ok_or_else(|| error("an operation without a :type"))?;
        let process = said.process.map_or(NO_PROCESS, FormPlace::form);
        if process.name() == Some("nemesis") {
            return Ok(());
        }
        let is_named = process != NO_PROCESS;
        let process = ProcessName::of(process);
        let status = match kind {
            b"invoke" => return self.invocation(line, position, tape, (process, is_named)),
            b"ok" => Status::Committed,
            b"fail" => Status::Aborted,
            b"info" => Status::Indeterminate,
            _ => return Err(error("the :type is none of invoke, ok, fail, info")),
        };
        let Some(pending) = self.pending.remove(&process) else {
            return self.add(line, said, said, status, None);
        };
        let real_time = Span {
            from: pending.invoked,
            to: match status {
                Status::Indeterminate => i64::MAX,
                Status::Committed | Status::Aborted => position,
            },
        };
        let asked = Said::of(pending.tape.form());
        // An `ok` tells what was read; the others may say less than the invocation did.
        let says = match status {
            Status::Aborted | Status::Indeterminate => asked,
            Status::Committed => said,
        };
        self.add(line, asked, says, status, Some(real_time))?;
        self.spare.push(pending);
        Ok(())
    }

    /// Keeps an operation until it completes.
    fn invocation(
        &mut self,
        line: u64,
        invoked: i64,
        tape: &mut Tape,
        (process, is_named): (ProcessName, bool),
    ) -> Result<(), HistoryError> {
        let mut pending = self.spare.pop().unwrap_or_default();
        pending.invoked = invoked;
        pending.line = line;
        std::mem::swap(&mut pending.tape, tape);
        let message = match self.pending.insert(process, pending) {
            None => return Ok(()),
            Some(_) if is_named => "this process has not completed its last operation",
            Some(_) => "a second :invoke without a :process, before the first has completed",
        };
        Err(HistoryError::at(line, 1, message))
    }

    fn add(
        &mut self,
        line: u64,
        asked: Said<'_>,
        says: Said<'_>,
        status: Status,
        real_time: Option<Span>,
    ) -> Result<(), HistoryError> {
        let f = asked.f.or(says.f).and_then(|f| f.form().name());
        let is_on_text = Strings::are_meant(f, asked.form);
        // What a text was made of is known at the end only, when the others have their places.
        if self.are_on_texts.replace(is_on_text) == Some(!is_on_text) {
            let message = "operations on texts (put, append, get of a :key) beside others";
            return Err(HistoryError::at(line, 1, message));
        }
        if is_on_text {
            return self.add_text(line, asked, says, f, status, real_time);
        }
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        self.meaning(f, says.value(), &mut events)
            .map_err(|message| HistoryError::at(line, 1, message))?;
        let is_cas = || says.f().is_some_and(is_conditional);
        if status != Status::Committed && !is_cas() {
            // What was asked to be read is not what was read.
            events.retain(ListEvent::is_write);
        }
        self.label += 1;
        let session = self.session(line, asked)?;
        let head = Head {
            session,
            label: self.label.into(),
            status,
            timestamps: None,
            real_time,
        };
        self.lists.transaction(&mut self.builder, &head, &events)?;
        self.events = events;
        Ok(())
    }

    /// Takes an operation on a text, whose meaning is known at the end only.
    fn add_text(
        &mut self,
        line: u64,
        asked: Said<'_>,
        says: Said<'_>,
        f: Option<&str>,
        status: Status,
        real_time: Option<Span>,
    ) -> Result<(), HistoryError> {
        let key = asked.form.get("key").unwrap_or(Form::Nil);
        let key = self
            .atom(key)
            .map_err(|message| HistoryError::at(line, 1, message))?;
        let key = self.builder.key(key)?;
        self.label += 1;
        let head = Head {
            session: self.session(line, asked)?,
            label: self.label.into(),
            status,
            timestamps: None,
            real_time,
        };
        let value = says.value();
        self.strings.push(line, head, f, key, value)
    }

    fn session(&mut self, line: u64, asked: Said<'_>) -> Result<Atom, HistoryError> {
        match asked.process.map(FormPlace::form) {
            None | Some(Form::Nil) => {
                self.anonymous += 1;
                let name = format!("unnamed-{}", self.anonymous);
                self.builder.text(&name)
            }
            Some(process) => process.atom(&mut self.builder).map_err(|message| {
                let message = format!("a :process that names no session: {message}");
                HistoryError::at(line, 1, message)
            }),
        }
    }

    /// What an operation reads and writes.
    fn meaning(
        &mut self,
        f: Option<&str>,
        value: Form<'_>,
        events: &mut Vec<ListEvent>,
    ) -> Result<(), String> {
        match f {
            Some("acquire") => return self.swap("mutex", [0, 1], events),
            Some("release") => return self.swap("mutex", [1, 0], events),
            None | Some("txn") => return self.micro_operations(value, events),
            _ => {}
        }
        if let Some(mut items) = value.list()
            && items.len() > 0
            && items.all(|item| item.list().is_some_and(|item| item.len() == 3))
        {
            return self.micro_operations(value, events);
        }
        let key = self.register("register")?;
        match (f, value) {
            (Some("read"), value) => events.push(ListEvent::read(key, self.atom(value)?)),
            (Some("write"), value) => events.push(ListEvent::write(key, self.atom(value)?)),
            (Some("cas"), Form::List(pair)) if pair.len() == 2 => {
                let [old, new] = pair.exactly().unwrap_or([Form::Nil; 2]);
                let (old, new) = (self.atom(old)?, self.atom(new)?);
                events.extend([ListEvent::read(key, old), ListEvent::write(key, new)]);
            }
            (f, _) => {
                return Err(format!(
                    "the operation {:?} is no read or write of a key",
                    f.unwrap_or("(none)")
                ));
            }
        }
        Ok(())
    }

    fn register(&mut self, name: &str) -> Result<Key, String> {
        let name = self.builder.text(name).map_err(|error| error.to_string())?;
        self.builder.key(name).map_err(|error| error.to_string())
    }

    fn swap(
        &mut self,
        name: &str,
        [old, new]: [u32; 2],
        events: &mut Vec<ListEvent>,
    ) -> Result<(), String> {
        let key = self.register(name)?;
        self.builder.set_initial(key, Atom::from(0));
        events.extend([
            ListEvent::read(key, old.into()),
            ListEvent::write(key, new.into()),
        ]);
        Ok(())
    }

    fn micro_operations(
        &mut self,
        value: Form<'_>,
        events: &mut Vec<ListEvent>,
    ) -> Result<(), String> {
        let items = value
            .list()
            .ok_or("a transaction must be a list of [f key value]")?;
        for item in items {
            self.micro_operation(item, events)?;
        }
        Ok(())
    }

    /// Adds what an item of a transaction reads or writes. It is made where it stays: handed back
    /// it would be copied before it has come to memory as a whole, which the processor waits for.
    fn micro_operation(
        &mut self,
        item: Form<'_>,
        events: &mut Vec<ListEvent>,
    ) -> Result<(), String> {
        let Some((f, key, value)) = item.list().and_then(Items::named_pair) else {
            return Err("expected [f key value]".to_owned());
        };
        let key = key.atom(&mut self.builder)?;
        let key = self.builder.key(key).map_err(|error| error.to_string())?;
        let is_read = matches!(f, Some(b"r" | b"read"));
        if !is_read && !matches!(f, Some(b"w" | b"write")) || is_read && value.list().is_some() {
            return self.list_operation(f, key, value, events);
        }
        let kinds = [Kind::Write, Kind::Read];
        let kind = kinds[usize::from(is_read)];
        let value = value.atom(&mut self.builder)?;
        events.push(ListEvent::Register(Event { kind, key, value }));
        Ok(())
    }

    /// Adds an append to a list, or a read of one; anything else is none of what a transaction does.
    #[inline(never)]
    fn list_operation(
        &mut self,
        f: Option<&[u8]>,
        key: Key,
        value: FormPlace<'_>,
        events: &mut Vec<ListEvent>,
    ) -> Result<(), String> {
        match (f, value.list()) {
            (Some(b"append"), _) => {
                let value = value.atom(&mut self.builder)?;
                events.push(ListEvent::Append(key, value));
                Ok(())
            }
            (Some(b"r" | b"read"), Some(list)) => {
                let list = list.map(|item| self.atom(item));
                events.push(ListEvent::ReadList(key, list.collect::<Result<_, _>>()?));
                Ok(())
            }
            _ => Err("expected append, r or w in a transaction".to_owned()),
        }
    }

    fn atom(&mut self, form: Form<'_>) -> Result<Atom, String> {
        form.atom(&mut self.builder)
    }

    /// The history; what never completed is indeterminate.
    ///
    /// # Errors
    /// As [`Operations::operation`].
    pub(super) fn finish(mut self) -> Result<History, HistoryError> {
        // By the text of their processes: this order alone decides where unfinished operations stand.
        let pending = std::mem::take(&mut self.pending).into_iter();
        let mut pending: Vec<_> = pending.map(|(process, p)| (process.shown(), p)).collect();
        pending.sort_by(|one, other| one.0.cmp(&other.0));
        for (_, pending) in pending {
            let span = Span {
                from: pending.invoked,
                to: i64::MAX,
            };
            let said = Said::of(pending.tape.form());
            self.add(pending.line, said, said, Status::Indeterminate, Some(span))?;
        }
        self.strings.finish(&mut self.builder)?;
        self.lists.finish(&mut self.builder);
        Ok(self.builder.finish())
    }
}

/// Operations whose reads are a condition: they hold if the operation took place at all.
fn is_conditional(f: &str) -> bool {
    matches!(f, "cas" | "acquire" | "release")
}

/// Writes a history as EDN operations of Elle's rw-register, in an order of the real time where
/// the history has one, and otherwise one operation after the other.
///
/// # Errors
/// When the history holds texts that are no form of EDN, or the stream fails.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), HistoryError> {
    // (time, is a completion, transaction): at one instant invocations come first, or else two
    // operations that overlap by a touch would follow each other.
    let mut lines: Vec<(i64, bool, Txn)> = Vec::new();
    for (place, transaction) in (0i64..).zip(history.transactions()) {
        let span = history.real_time(transaction).unwrap_or(Span {
            from: place,
            to: place,
        });
        lines.push((span.from, false, transaction));
        lines.push((span.to, true, transaction));
    }
    lines.sort_unstable_by_key(|&(time, is_end, transaction)| (time, is_end, transaction));
    for (index, (_, is_end, transaction)) in lines.into_iter().enumerate() {
        let kind = match (is_end, history.status(transaction)) {
            (false, _) => "invoke",
            (true, Status::Committed) => "ok",
            (true, Status::Aborted) => "fail",
            (true, Status::Indeterminate) => "info",
        };
        let process = history.session_of(transaction);
        write!(
            out,
            "{{:index {index}, :type :{kind}, :process {process}, :f :txn, :value ["
        )?;
        for (place, event) in history.events(transaction).enumerate() {
            let space = if place > 0 { " " } else { "" };
            let letter = match event.kind {
                Kind::Read => 'r',
                Kind::Write => 'w',
            };
            let value = match event.kind {
                Kind::Read if !is_end => "nil".to_owned(),
                Kind::Read | Kind::Write => edn(history, event.value)?,
            };
            let key = edn(history, history.key(event.key))?;
            write!(out, "{space}[:{letter} {key} {value}]")?;
        }
        writeln!(out, "]}}")?;
    }
    Ok(())
}

/// A key or a value as EDN has it, so that reading it gives the same text.
///
/// # Errors
/// When no keyword, symbol or string of EDN is read as this text.
fn edn(history: &History, atom: Atom) -> Result<String, HistoryError> {
    let Some(text) = history.texts().text(atom) else {
        return Ok(history.show(atom));
    };
    match Form::of_text(text) {
        Some(Form::Keyword(name)) => Ok(format!(":{name}")),
        Some(Form::Symbol(name)) => Ok(name.to_owned()),
        Some(Form::Text(text)) => Ok(quoted(text)),
        _ => Err(HistoryError::CannotHold {
            format: "elle",
            what: "texts that begin with ':', '\'' or '\"' and are no keyword or symbol",
        }),
    }
}

/// A string of EDN. Only what would end it or begin an escape is escaped.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
