//! Our own format: one transaction a line, in the order of its session.
//!
//! `docs/history-format.md` is the reference.

use std::io::{BufRead, Write};

use super::compressed::Compression;
use super::lines::{Line, Lines};
use super::list::{self, ListEvent};
use crate::history::atom::is_plain_byte;
use crate::history::{
    Atom, Builder, Event, Head, History, HistoryError, Kind, NamedEvent, Span, Status, Texts, Txn,
};

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
            b"committed" => self.transaction(line, texts, Status::Committed)?,
            b"aborted" => self.transaction(line, texts, Status::Aborted)?,
            b"indeterminate" => self.transaction(line, texts, Status::Indeterminate)?,
            _ => {
                let message = "expected committed, aborted, indeterminate, initial or order";
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
        let value = if kind == Kind::Read && line.take(b'[') {
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
        Kind::Read => ListEvent::Read(event.key, event.value),
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
fn atom(line: &mut Line<'_>, texts: &mut Texts) -> Result<Atom, HistoryError> {
    match line.rest().first() {
        Some(b'-' | b'0'..=b'9') => line.atom(),
        Some(b'"') => {
            let text = quoted(line)?;
            texts.atom(&text).ok_or(HistoryError::TooLarge("texts"))
        }
        _ => {
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
    }
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
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<History, String> {
        read(&mut text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        let text = "#! rashomon history 1\n\
                    initial(x) 0\n\
                    initial(\"a \\\"b\\\"\") w\n\
                    order(x) 1 2\n\
                    committed s1 @10..17 ~-5..1900 r(x,0) w(x,1)\n\
                    aborted 2 r(\"a \\\"b\\\"\",nil) w(x,-3)\n\
                    indeterminate s1 @12.. w(x,2)\n";
        let history = parse(text).expect("a history");
        let mut written = Vec::new();
        write(&history, &mut written).expect("written");
        assert_eq!(String::from_utf8_lossy(&written), text);
        assert_eq!((history.len(), history.session_count()), (4, 2));
    }

    #[test]
    fn what_is_ill_formed_is_an_error_with_its_line_and_column() {
        let cases = [
            ("", "line 1, column 1: the first line must be"),
            (
                "#! rashomon history 2\n",
                "line 1, column 1: the file is of version 2 of the format, which is newer than",
            ),
            (
                "#! rashomon history 0\n",
                "line 1, column 1: the first line must be",
            ),
            (
                "#! rashomon history one\n",
                "line 1, column 1: the first line must be",
            ),
            ("commited 1 r(1,1)", "line 2, column 1: expected committed"),
            ("committed 1 r(1,1", "line 2, column 18: expected ')'"),
            (
                "committed 1 q(1,1)",
                "line 2, column 13: expected 'r' or 'w'",
            ),
            (
                "committed 1 w(1,99999999999999999999)",
                "line 2, column 17: an integer too large",
            ),
            (
                "committed 1 w(1,-9223372036854775807)",
                "line 2, column 17: an integer too small",
            ),
            ("committed 1 @5 w(1,1)", "line 2, column 15: expected '.'"),
            (
                "\ncommitted",
                "line 3, column 10: expected an integer, a word",
            ),
            (
                "committed 1 w(\"x\\q\",1)",
                "line 2, column 18: an unknown escape",
            ),
            (
                "committed 1 w(1,1)\ninitial 3",
                "line 3, column 8: the initial value",
            ),
        ];
        for (body, message) in cases {
            let text = if body.is_empty() || body.starts_with('#') {
                body.to_owned()
            } else {
                format!("{HEADER}\n{body}\n")
            };
            let error = parse(&text).expect_err(body);
            assert!(error.starts_with(message), "{body:?}: {error}");
        }
    }

    #[test]
    fn the_first_line_holds_the_version_that_is_read() {
        assert_eq!(version(HEADER.as_bytes()), Some(VERSION));
    }

    #[test]
    fn a_last_line_that_was_cut_anywhere_says_so() {
        let line = "committed s1 @1..2 ~3..4 r(\"x\",[1 2]) w(y,-1)";
        for end in 1..=line.len() {
            let cut = &line[..end];
            let error = parse(&format!("{HEADER}\n{cut}")).expect_err(cut);
            let place = format!("line 2, column {}: the last line has no line feed", end + 1);
            assert!(error.starts_with(&place), "{cut:?}: {error}");
        }
        let whole = format!("{HEADER}\n{line}\n");
        assert_eq!(parse(&whole).map(|history| history.len()), Ok(2));
    }

    /// The first writes at the end of the list that the second reads; the third saw other elements.
    #[test]
    fn lists_are_read_by_their_last_element_and_give_the_version_order() {
        let text = "#! rashomon history 1\n\
                    committed 1 w(x,1)\n\
                    committed 2 r(x,[1]) w(x,2) r(x,[1 2])\n\
                    committed 3 r(x,[]) r(y,[])\n";
        let history = parse(text).expect("a history");
        let events = |t| history.events(Txn::new(t));
        let read = |t| events(t).map(|e| history.show(e.value)).collect();
        let (second, third): (Vec<_>, Vec<_>) = (read(2), read(3));
        assert_eq!(second, ["1", "2", "2"]);
        assert_eq!(third, ["nil", "nil"]);
        assert_eq!(history.orders().len(), 1);
        assert!(history.order_conflicts().is_empty());
        let torn = format!("{text}committed 4 r(x,[2 1])\n");
        let history = parse(&torn).expect("a history");
        assert_eq!(history.order_conflicts().len(), 1);
        // What was taken back stood in a read of its own transaction only.
        let aborted = format!("{text}aborted 4 w(x,3) r(x,[1 2 3])\ncommitted 4 r(x,[1 2 9])\n");
        let history = parse(&aborted).expect("a history");
        assert!(history.order_conflicts().is_empty());
        let error = parse("#! rashomon history 1\ncommitted 1 r(x,[1)\n").expect_err("no end");
        assert!(error.starts_with("line 2, column 19"), "{error}");
    }

    /// A stream of one line without an end: it is given up after a bounded part of it.
    #[test]
    fn an_endless_line_is_given_up() {
        let endless = std::io::Read::chain(HEADER.as_bytes(), std::io::repeat(b'x'));
        let error = read(&mut std::io::BufReader::new(endless)).expect_err("endless");
        assert!(error.to_string().contains("a line of more than"), "{error}");
    }
}
