//! Our own format: one transaction a line, in the order of its session.
//!
//! `docs/history-format.md` is the reference.

use std::io::{BufRead, Write};

use super::compressed::Compression;
use super::lines::{Line, Lines};
use super::list::{self, ListEvent};
use crate::history::atom::{is_plain_byte, spelled_text};
use crate::history::{
    Atom, Builder, Event, Head, History, HistoryError, Kind, NamedEvent, RecordedPromise, Span,
    Status, Texts, Txn,
};
use crate::model::{ConsistencyModel, UnknownModel};

/// The first line of every file; the number is raised when an older reader would misread a file.
pub const HEADER: &str = "#! rashomon history 1";

/// The number in it.
const VERSION: u64 = 1;

/// What the first line is before its number.
const MARK: &[u8] = b"#! rashomon history";

/// The number of a first line; nothing where it has none.
fn version(line: &[u8]) -> Option<u64> {
    let number = line.strip_prefix(MARK)?.strip_prefix(b" ")?;
    str::from_utf8(number.trim_ascii_end()).ok()?.parse().ok()
}

pub(super) fn detect(head: &[u8]) -> bool {
    head.starts_with(MARK)
}

pub(super) fn read(stream: &mut dyn BufRead) -> Result<History, HistoryError> {
    let mut builder = Builder::new(Atom::NIL);
    let mut lines = Lines::new(stream);
    let mut parser = LineParser::default();
    match lines.next()? {
        Some(mut line) => parser.header(&mut line)?,
        None => parser.header(&mut Line::new(b"", 1))?,
    }
    let mut events = Vec::new();
    let mut operations = Vec::new();
    let mut lists = list::Lists::default();
    let mut begun = Begun::default();
    while let Some(mut line) = lines.next()? {
        match parser.item(&mut line, builder.texts())? {
            None => {}
            Some(LineContent::Initial(value)) => builder.set_default_initial(value),
            Some(LineContent::InitialOf { key, value }) => {
                let key = builder.key(key)?;
                builder.set_initial(key, value);
            }
            Some(LineContent::Promised { model, by }) => {
                builder.promise(RecordedPromise { model, by })
            }
            Some(LineContent::Order { key, values }) => {
                let key = builder.key(key)?;
                builder.order(key, values.to_vec());
            }
            Some(LineContent::Transaction(told)) => {
                for event in told.events {
                    let NamedEvent { kind, key, value } = *event;
                    let key = builder.key(key)?;
                    events.push(Event { kind, key, value });
                }
                let transaction = if told.lists.is_empty() {
                    builder.transaction(&told.head, events.drain(..))?
                } else {
                    operations.extend(events.drain(..).map(operation));
                    for (at, list) in told.lists {
                        operations[*at] = ListEvent::ReadList(operations[*at].key(), list.clone());
                    }
                    let number = lists.transaction(&mut builder, &told.head, &operations)?;
                    operations.clear();
                    number
                };
                begun.check(&line, &builder, transaction)?;
            }
        }
    }
    lists.finish(&mut builder);
    Ok(builder.finish())
}

/// What a line says.
pub enum LineContent<'i> {
    /// What every key holds at first.
    Initial(Atom),
    /// What one key holds at first.
    InitialOf {
        key: Atom,
        value: Atom,
    },
    /// Versions of a key, oldest first.
    Order {
        key: Atom,
        values: &'i [Atom],
    },
    /// What the recorder was promised.
    Promised {
        /// None: nothing.
        model: Option<ConsistencyModel>,
        /// Who promised it, where the line says so.
        by: Option<Atom>,
    },
    Transaction(ToldTransaction<'i>),
}

/// A transaction as a line tells it.
pub struct ToldTransaction<'i> {
    pub head: Head,
    pub events: &'i [NamedEvent],
    /// The lists that were read, by the place of the event. Where there are any the line's writes
    /// are appends.
    pub lists: &'i [(usize, Vec<Atom>)],
}

/// Reads one line after the other.
#[derive(Debug, Default)]
pub(super) struct LineParser {
    transactions: i64,
    has_default: bool,
    has_promise: bool,
    names_keys: bool,
    events: Vec<NamedEvent>,
    lists: Vec<(usize, Vec<Atom>)>,
    values: Vec<Atom>,
}

impl LineParser {
    /// The first line.
    pub(super) fn header(&mut self, line: &mut Line<'_>) -> Result<(), HistoryError> {
        if line.rest().trim_ascii_end() == HEADER.as_bytes() {
            return Ok(());
        }
        let message = match version(line.rest()) {
            Some(version) if version > VERSION => format!(
                "the file is of version {version} of the format, which is newer than what this \
                 program reads ({VERSION})"
            ),
            _ => match Compression::of(line.rest()) {
                Some(compression) => {
                    let name = compression.name();
                    format!(
                        "the file is compressed by {name}: decompress it first, with {name} -dc"
                    )
                }
                None => format!("the first line must be {HEADER:?}"),
            },
        };
        Err(HistoryError::at(1, 1, message))
    }

    /// Any other line; nothing for a blank one or a comment.
    pub(super) fn item(
        &mut self,
        line: &mut Line<'_>,
        texts: &mut Texts,
    ) -> Result<Option<LineContent<'_>>, HistoryError> {
        // What seems wrong with the half of a line says nothing of the whole.
        self.said(line, texts)
            .map_err(|error| line.is_whole().err().unwrap_or(error))
    }

    fn said(
        &mut self,
        line: &mut Line<'_>,
        texts: &mut Texts,
    ) -> Result<Option<LineContent<'_>>, HistoryError> {
        line.skip_spaces();
        if line.is_blank() || line.rest().starts_with(b"#") {
            return Ok(None);
        }
        let word = line.word(is_letter);
        let item = match word {
            b"initial" if line.rest().starts_with(b"(") => {
                self.names_keys = true;
                let key = name_in_parentheses(line, texts)?;
                line.skip_spaces();
                let value = atom(line, texts)?;
                LineContent::InitialOf { key, value }
            }
            b"initial" => {
                if self.has_default || self.names_keys {
                    return Err(line.error("the initial value of all keys comes first, once"));
                }
                self.has_default = true;
                line.skip_spaces();
                LineContent::Initial(atom(line, texts)?)
            }
            b"order" => {
                self.names_keys = true;
                let key = name_in_parentheses(line, texts)?;
                self.values.clear();
                read_values(line, texts, &mut self.values)?;
                let values = &self.values;
                LineContent::Order { key, values }
            }
            b"promised" => {
                if std::mem::replace(&mut self.has_promise, true) {
                    return Err(line.error("what was promised is said once"));
                }
                promised(line, texts)?
            }
            b"committed" => self.transaction(line, texts, Status::Committed)?,
            b"aborted" => self.transaction(line, texts, Status::Aborted)?,
            b"indeterminate" => self.transaction(line, texts, Status::Indeterminate)?,
            _ => {
                let message =
                    "expected committed, aborted, indeterminate, initial, order or promised";
                return Err(HistoryError::at(line.number, 1, message));
            }
        };
        line.end()?;
        line.is_whole()?;
        Ok(Some(item))
    }

    fn transaction(
        &mut self,
        line: &mut Line<'_>,
        texts: &mut Texts,
        status: Status,
    ) -> Result<LineContent<'_>, HistoryError> {
        self.transactions += 1;
        let label = Atom::integer(self.transactions).unwrap_or(Atom::NIL);
        let head = head(line, texts, status, label)?;
        self.events.clear();
        self.lists.clear();
        read_events(line, texts, &mut self.events, &mut self.lists)?;
        self.names_keys |= !self.events.is_empty();
        Ok(LineContent::Transaction(ToldTransaction {
            head,
            events: &self.events,
            lists: &self.lists,
        }))
    }
}

/// When, in real time, the transactions of each session began at the latest.
#[derive(Default)]
struct Begun(Vec<i64>);

impl Begun {
    /// Refuses a transaction that was over before an earlier one of its session began: session
    /// and real time would go round in a circle, which is nobody's violation but the recorder's.
    fn check(
        &mut self,
        line: &Line<'_>,
        builder: &Builder,
        transaction: Txn,
    ) -> Result<(), HistoryError> {
        let history = builder.so_far();
        let Some(span) = history.real_time(transaction) else {
            return Ok(());
        };
        let session = history.session_of(transaction) as usize;
        if self.0.len() <= session {
            self.0.resize(session + 1, i64::MIN);
        }
        let latest = &mut self.0[session];
        if span.to < *latest {
            let message = "it ended before an earlier transaction of its session began";
            return Err(HistoryError::at(line.number, 1, message));
        }
        *latest = span.from.max(*latest);
        Ok(())
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic()
}

/// `(KEY)`.
fn name_in_parentheses(line: &mut Line<'_>, texts: &mut Texts) -> Result<Atom, HistoryError> {
    line.expect(b'(')?;
    let name = atom(line, texts)?;
    line.expect(b')')?;
    Ok(name)
}

/// `VALUE..` up to the end of the line.
fn read_values(
    line: &mut Line<'_>,
    texts: &mut Texts,
    values: &mut Vec<Atom>,
) -> Result<(), HistoryError> {
    loop {
        line.skip_spaces();
        if line.rest().is_empty() {
            return Ok(());
        }
        values.push(atom(line, texts)?);
    }
}

/// ` SESSION [@START..COMMIT] [~INVOKED..COMPLETED]`.
fn head(
    line: &mut Line<'_>,
    texts: &mut Texts,
    status: Status,
    label: Atom,
) -> Result<Head, HistoryError> {
    line.skip_spaces();
    let session = atom(line, texts)?;
    let mut head = Head {
        session,
        label,
        status,
        timestamps: None,
        real_time: None,
    };
    loop {
        line.skip_spaces();
        if line.take(b'@') {
            head.timestamps = Some(span(line)?);
        } else if line.take(b'~') {
            let span = span(line)?;
            if span.to < span.from {
                return Err(line.error("a transaction that ends before it begins"));
            }
            head.real_time = Some(span);
        } else {
            return Ok(head);
        }
    }
}

/// `FROM..TO`, or `FROM..` when the end is not known.
fn span(line: &mut Line<'_>) -> Result<Span, HistoryError> {
    let from = line.integer()?;
    line.expect(b'.')?;
    line.expect(b'.')?;
    let is_open = line.rest().first().is_none_or(u8::is_ascii_whitespace);
    let to = if is_open { i64::MAX } else { line.integer()? };
    Ok(Span { from, to })
}

/// `r(KEY,VALUE)` and `w(KEY,VALUE)` up to the end of the line.
///
/// A list that was read, `r(KEY,[VALUE..])`, is left in `lists`, with the place of its event.
fn read_events(
    line: &mut Line<'_>,
    texts: &mut Texts,
    events: &mut Vec<NamedEvent>,
    lists: &mut Vec<(usize, Vec<Atom>)>,
) -> Result<(), HistoryError> {
    loop {
        line.skip_spaces();
        if line.rest().is_empty() {
            return Ok(());
        }
        let kind = line.kind()?;
        line.expect(b'(')?;
        let key = atom(line, texts)?;
        line.expect(b',')?;
        // Nobody can guess which events are reads, and few have a list: that is asked first.
        let value = if line.rest().starts_with(b"[") && kind == Kind::Read {
            line.expect(b'[')?;
            lists.push((events.len(), elements(line, texts)?));
            Atom::NIL
        } else {
            atom(line, texts)?
        };
        line.expect(b')')?;
        events.push(NamedEvent { kind, key, value });
    }
}

/// An event of a line on which lists are read.
fn operation(event: Event) -> ListEvent {
    match event.kind {
        Kind::Read => ListEvent::Register(event),
        Kind::Write => ListEvent::Append(event.key, event.value),
    }
}

/// `VALUE..]`: the elements of a list, first to last.
fn elements(line: &mut Line<'_>, texts: &mut Texts) -> Result<Vec<Atom>, HistoryError> {
    let mut list = Vec::new();
    loop {
        line.skip_spaces();
        if line.take(b']') {
            return Ok(list);
        }
        list.push(atom(line, texts)?);
    }
}

/// An integer, `nil`, a plain word, or a text in quotes.
#[inline]
fn atom(line: &mut Line<'_>, texts: &mut Texts) -> Result<Atom, HistoryError> {
    match line.rest().first() {
        Some(b'-' | b'0'..=b'9') => line.atom(),
        _ => text_atom(line, texts),
    }
}

/// `nil`, a plain word, or a text in quotes.
#[inline(never)]
fn text_atom(line: &mut Line<'_>, texts: &mut Texts) -> Result<Atom, HistoryError> {
    if line.rest().first() == Some(&b'"') {
        let text = quoted(line)?;
        return texts.atom(&text).ok_or(HistoryError::TooLarge("texts"));
    }
    let word = line.word(is_plain_byte);
    if word.is_empty() {
        return Err(line.error("expected an integer, a word, a text in quotes or nil"));
    }
    if word == b"nil" {
        return Ok(Atom::NIL);
    }
    // Plain words are ASCII.
    let text = String::from_utf8_lossy(word);
    texts.atom(&text).ok_or(HistoryError::TooLarge("texts"))
}

/// A text in quotes; `\"` and `\\` stand for themselves, `\n` for a line feed.
fn quoted(line: &mut Line<'_>) -> Result<String, HistoryError> {
    line.expect(b'"')?;
    let mut bytes = Vec::new();
    loop {
        bytes.extend_from_slice(line.word(|byte| byte != b'"' && byte != b'\\'));
        if line.take(b'"') {
            break;
        }
        line.expect(b'\\')?;
        let escaped = [(b'"', b'"'), (b'\\', b'\\'), (b'n', b'\n')];
        let known = escaped.into_iter().find(|(letter, _)| line.take(*letter));
        let (_, byte) = known.ok_or_else(|| line.error("an unknown escape"))?;
        bytes.push(byte);
    }
    String::from_utf8(bytes).map_err(|_| line.error("a text that is not UTF-8"))
}

/// `si "MariaDB 11.8.9 at REPEATABLE READ"`, or `nothing`.
fn promised<'i>(line: &mut Line<'_>, texts: &mut Texts) -> Result<LineContent<'i>, HistoryError> {
    line.skip_spaces();
    let word = line.word(is_letter);
    let model = match str::from_utf8(word).unwrap_or_default() {
        "nothing" => None,
        word => {
            let model: Result<ConsistencyModel, UnknownModel> = word.parse();
            Some(model.map_err(|error| line.error(error.to_string()))?)
        }
    };
    line.skip_spaces();
    let is_told = !line.rest().trim_ascii_end().is_empty();
    let by = is_told.then(|| atom(line, texts)).transpose()?;
    Ok(LineContent::Promised { model, by })
}

/// The line of a promise.
///
/// # Errors
/// When the stream fails.
pub fn write_promise(
    out: &mut dyn Write,
    model: Option<ConsistencyModel>,
    by: &str,
) -> std::io::Result<()> {
    let slug = model.map_or("nothing", ConsistencyModel::slug);
    writeln!(out, "promised {slug} {}", spelled_text(by))
}

/// Writes any history.
///
/// # Errors
/// When its lists contradict each other, or the stream fails.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), HistoryError> {
    if !history.order_conflicts().is_empty() {
        return Err(HistoryError::CannotHold {
            format: "rashomon",
            what: "lists that contradict each other",
        });
    }
    writeln!(out, "{HEADER}")?;
    if let Some(promise) = history.promised() {
        let by = promise.by.map(|by| format!(" {}", history.spelled(by)));
        writeln!(out, "promised {}{}", promise.slug(), by.unwrap_or_default())?;
    }
    for key in history.all_keys() {
        let initial = history.initial(key);
        if initial != Atom::NIL {
            let name = history.spelled(history.key(key));
            writeln!(out, "initial({name}) {}", history.spelled(initial))?;
        }
    }
    for (key, values) in history.orders() {
        write!(out, "order({})", history.spelled(history.key(*key)))?;
        for value in values {
            write!(out, " {}", history.spelled(*value))?;
        }
        writeln!(out)?;
    }
    for transaction in history.transactions() {
        let status = match history.status(transaction) {
            Status::Committed => "committed",
            Status::Aborted => "aborted",
            Status::Indeterminate => "indeterminate",
        };
        let session = history.session(history.session_of(transaction));
        write!(out, "{status} {}", history.spelled(session))?;
        for (mark, span) in [
            ('@', history.timestamps(transaction)),
            ('~', history.real_time(transaction)),
        ] {
            match span {
                Some(Span { from, to: i64::MAX }) => write!(out, " {mark}{from}..")?,
                Some(Span { from, to }) => write!(out, " {mark}{from}..{to}")?,
                None => {}
            }
        }
        for event in history.events(transaction) {
            let letter = match event.kind {
                Kind::Read => 'r',
                Kind::Write => 'w',
            };
            let key = history.spelled(history.key(event.key));
            write!(out, " {letter}({key},{})", history.spelled(event.value))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
