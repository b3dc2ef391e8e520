//! A conversation by PostgreSQL's protocol, version 3. Source: PostgreSQL manual, "Frontend/Backend
//! Protocol", "Message Formats".

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;

use super::answer::{AnswerEnd, Product, Refusal, Wire, WireAnswer};
use super::line::{Line, Request, Side};
use super::text::verb;

/// Codes where a version stands in the first message of a client.
const CANCEL: [u8; 4] = 80_877_102_u32.to_be_bytes();
const WITH_TLS: [u8; 4] = 80_877_103_u32.to_be_bytes();

/// In which form cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cells {
    Text,
    Binary,
}

/// SQLSTATEs that faults ask for or answer. `lock_not_available` is for NOWAIT and for a timeout.
const REFUSALS: [(Refusal, &str); 6] = [
    (Refusal::Duplicate, "23505"),
    (Refusal::NoParent, "23503"),
    (Refusal::Deadlock, "40P01"),
    (Refusal::LockedNowait, "55P03"),
    (Refusal::LockTimeout, "55P03"),
    (Refusal::Conflict, "40001"),
];

/// Messages, each its tag and its body, with their lengths.
pub(super) fn framed<'m>(messages: impl Iterator<Item = &'m Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        let length = u32::try_from(message.len() + 3).unwrap_or_default();
        bytes.push(message[0]);
        bytes.extend(length.to_be_bytes());
        bytes.extend(&message[1..]);
    }
    bytes
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// A message: its tag and its body.
fn read_message(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut tag = [0];
    from.read_exact(&mut tag)?;
    let mut message = tag.to_vec();
    message.append(&mut read_body(from)?);
    Ok(message)
}

/// What follows a length that counts itself.
fn read_body(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length)
        .checked_sub(4)
        .ok_or_else(|| malformed("a length"))?;
    let mut body = vec![0; length as usize];
    from.read_exact(&mut body)?;
    Ok(body)
}

/// Text up to a byte 0, and what follows it.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

/// Where the cells of a row lie in its message; None for NULL.
fn cells_of(row: &[u8]) -> Vec<Option<std::ops::Range<usize>>> {
    let mut cells = Vec::new();
    let mut at = 3;
    while let Some(length) = row.get(at..at + 4) {
        let length = i32::from_be_bytes(length.try_into().unwrap_or_default());
        at += 4;
        let cell = usize::try_from(length).ok().map(|length| at..at + length);
        at = cell.as_ref().map_or(at, |cell| cell.end);
        cells.push(cell);
    }
    cells
}

/// The first cell of a row, a number where its form is binary and as long as one is; None for NULL.
pub(super) fn first_cell(row: &[u8], form: Cells) -> Option<String> {
    let cell = row.get(cells_of(row).first()?.clone()?)?;
    let number = match (form, cell.len()) {
        (Cells::Text, _) => return Some(String::from_utf8_lossy(cell).into_owned()),
        (Cells::Binary, 2) => i16::from_be_bytes(cell.try_into().ok()?).into(),
        (Cells::Binary, 4) => i32::from_be_bytes(cell.try_into().ok()?).into(),
        (Cells::Binary, 8) => i64::from_be_bytes(cell.try_into().ok()?),
        // No number has another length: a text.
        (Cells::Binary, _) => return Some(String::from_utf8_lossy(cell).into_owned()),
    };
    Some(number.to_string())
}

/// Types whose binary form is an integer: `int8`, `int2`, `int4`.
const INTEGERS: [u32; 3] = [20, 21, 23];

/// The types of the columns that a RowDescription names.
fn column_types(head: &[Vec<u8>]) -> Vec<u32> {
    let Some(description) = head.iter().find(|message| message[0] == b'T') else {
        return Vec::new();
    };
    let (mut types, mut rest) = (Vec::new(), &description[3..]);
    while let Some((_, behind)) = text(rest) {
        // The table and the column there, the type, its size and modifier, the form.
        let (Some(number), Some(next)) = (behind.get(6..10), behind.get(18..)) else {
            break;
        };
        types.push(u32::from_be_bytes(number.try_into().unwrap_or_default()));
        rest = next;
    }
    types
}

/// Changes the last cell of a row that is an integer.
pub(super) fn change_last_cell(row: &mut [u8], head: &[Vec<u8>], form: Cells) -> Option<()> {
    let types = column_types(head);
    let mut cells = types.iter().zip(cells_of(row)).rev();
    let is_number = |number: &u32| INTEGERS.contains(number);
    let cell = cells.find_map(|(number, cell)| cell.filter(|_| is_number(number)))?;
    let digit = row.get_mut(cell.end - 1)?;
    *digit = match form {
        Cells::Binary => *digit ^ 1,
        Cells::Text if *digit == b'9' => b'8',
        Cells::Text => *digit + 1,
    };
    Some(())
}

/// The words of a CommandComplete.
fn tag_words(message: &[u8]) -> Option<Vec<&str>> {
    let (words, _) = text(message.strip_prefix(b"C")?)?;
    Some(words.split(' ').collect())
}

/// The rows that a CommandComplete says were changed.
fn count_of(message: &[u8]) -> Option<u64> {
    let words = tag_words(message)?;
    let is_write = ["INSERT", "UPDATE", "DELETE", "MERGE"].contains(words.first()?);
    words.last()?.parse().ok().filter(|_| is_write)
}

/// Has a CommandComplete say that so many rows were changed.
pub(super) fn put_count(tail: &mut [Vec<u8>], affected: u64) {
    for message in tail {
        let Some(words) = tag_words(message) else {
            continue;
        };
        let kept = words[..words.len() - 1].join(" ");
        *message = complete(&format!("{kept} {affected}"));
    }
}

fn complete(tag: &str) -> Vec<u8> {
    let mut message = vec![b'C'];
    message.extend(tag.bytes());
    message.push(0);
    message
}

/// Has a CommandComplete say that this was done.
pub(super) fn put_tag(tail: &mut [Vec<u8>], tag: &str) {
    let mut messages = tail.iter_mut();
    if let Some(message) = messages.find(|message| message[0] == b'C') {
        *message = complete(tag);
    }
}

/// Has the CommandComplete of a SELECT count these rows: what it counts is no fault of its own.
fn put_row_count(tail: &mut [Vec<u8>], rows: usize) {
    let is_of_a_read =
        |message: &[u8]| tag_words(message).is_some_and(|words| words.first() == Some(&"SELECT"));
    if tail.iter().any(|message| is_of_a_read(message)) {
        put_tag(tail, &format!("SELECT {rows}"));
    }
}

/// What ReadyForQuery says of a transaction.
const NONE: u8 = b'I';
const OPEN: u8 = b'T';
const FAILED: u8 = b'E';

/// Has ReadyForQuery say this of the transaction.
pub(super) fn put_status(tail: &mut [Vec<u8>], open: bool) {
    if let Some(last) = tail.last_mut().filter(|last| last[0] == b'Z') {
        *last = ready(open, OPEN);
    }
}

/// ReadyForQuery, beside an open transaction with this status.
fn ready(in_transaction: bool, status: u8) -> Vec<u8> {
    vec![b'Z', if in_transaction { status } else { NONE }]
}

/// The field of an ErrorResponse.
fn field(message: &[u8], wanted: u8) -> Option<&str> {
    let mut rest = message.strip_prefix(b"E")?;
    while let Some((kind, behind)) = rest.split_first() {
        let (value, next) = text(behind)?;
        if *kind == wanted {
            return Some(value);
        }
        rest = next;
    }
    None
}

/// Reads an answer up to ReadyForQuery.
fn read_answer(from: &mut impl Read, cells: Cells) -> io::Result<WireAnswer> {
    let mut answer = empty(cells);
    loop {
        let message = read_message(from)?;
        match message[0] {
            b'D' => {
                answer.rows.push(message);
                continue;
            }
            b'T' => answer.end = AnswerEnd::Rows,
            b'C' => answer.affected = count_of(&message),
            b'E' => {
                let state = field(&message, b'C').unwrap_or_default();
                let known = REFUSALS.iter().find(|(_, known)| *known == state);
                let refusal = known.map_or(Refusal::Other, |(refusal, _)| *refusal);
                answer.end = AnswerEnd::Error(refusal);
            }
            b'Z' => {
                answer.in_transaction = message.get(1).map(|status| *status != NONE);
                answer.is_failed = message.get(1) == Some(&FAILED);
                answer.tail.push(message);
                return Ok(answer);
            }
            _ => {}
        }
        let is_behind = !answer.rows.is_empty() || message[0] == b'C' || message[0] == b'E';
        if is_behind {
            answer.tail.push(message);
        } else {
            answer.head.push(message);
        }
    }
}

fn empty(cells: Cells) -> WireAnswer {
    WireAnswer {
        wire: Wire::Postgres(cells),
        head: Vec::new(),
        rows: Vec::new(),
        tail: Vec::new(),
        end: AnswerEnd::Done,
        affected: None,
        in_transaction: None,
        is_failed: false,
    }
}

fn send(side: &mut Side, messages: &[Vec<u8>]) -> io::Result<()> {
    side.stream.write_all(&framed(messages.iter()))
}

/// A client's messages up to the point where it waits for an answer.
#[derive(Clone, Debug)]
struct Batch(Vec<Vec<u8>>);

impl Batch {
    fn message(&self, tag: u8) -> Option<&Vec<u8>> {
        self.0.iter().find(|message| message[0] == tag)
    }

    /// The statement that it executes: by a query, or as it parses it.
    fn statement(&self) -> Option<&str> {
        if let Some(query) = self.message(b'Q') {
            return Some(text(&query[1..])?.0);
        }
        self.message(b'E')?;
        let (_, behind) = text(&self.message(b'P')?[1..])?;
        Some(text(behind)?.0)
    }

    /// The same for another statement.
    fn of(&self, sql: &str) -> Self {
        let mut messages = self.0.clone();
        for message in &mut messages {
            let body = message[1..].to_vec();
            let (begin, rest) = match message[0] {
                b'Q' => (Vec::new(), Vec::new()),
                b'P' => {
                    let named =
                        text(&body).and_then(|(name, behind)| Some((name, text(behind)?.1)));
                    let Some((name, rest)) = named else {
                        continue;
                    };
                    let mut begin = name.as_bytes().to_vec();
                    begin.push(0);
                    (begin, rest.to_vec())
                }
                _ => continue,
            };
            message.truncate(1);
            message.extend(begin);
            message.extend(sql.bytes());
            message.push(0);
            message.extend(rest);
        }
        Self(messages)
    }

    fn cells(&self) -> Cells {
        match self.message(b'Q') {
            Some(_) => Cells::Text,
            None => Cells::Binary,
        }
    }
}

/// The two sides after the login.
pub(super) struct PostgresLine {
    client: Side,
    server: Side,
    /// The client's first message, with its length.
    startup: Vec<u8>,
    database: Option<String>,
    address: String,
    /// What the client sent last.
    batch: Batch,
    beside: Option<Side>,
}

impl PostgresLine {
    /// Forwards the login; None where the client only asked for a statement to be given up.
    pub(super) fn open(
        client: TcpStream,
        server: TcpStream,
        address: String,
    ) -> io::Result<Option<Self>> {
        let (mut client, mut server) = (Side::new(client)?, Side::new(server)?);
        let mut body = read_body(&mut client.reader)?;
        if body.starts_with(&WITH_TLS) {
            client.stream.write_all(b"N")?;
            body = read_body(&mut client.reader)?;
        }
        let length = u32::try_from(body.len() + 4).map_err(|_| malformed("a length"))?;
        let startup = [&length.to_be_bytes()[..], &body].concat();
        server.stream.write_all(&startup)?;
        if body.starts_with(&CANCEL) {
            // The server answers by closing.
            let _ = server.reader.read(&mut [0])?;
            return Ok(None);
        }
        loop {
            let message = read_message(&mut server.reader)?;
            send(&mut client, std::slice::from_ref(&message))?;
            match message[0] {
                b'Z' => break,
                b'E' => return Err(io::ErrorKind::PermissionDenied.into()),
                // All but "OK" and the last word of an exchange ask for something.
                b'R' if !matches!(message.get(4), Some(0 | 12)) => {
                    let response = read_message(&mut client.reader)?;
                    send(&mut server, &[response])?;
                }
                _ => {}
            }
        }
        Ok(Some(Self {
            client,
            server,
            database: parameter(&body[4..], "database").map(str::to_owned),
            startup,
            address,
            batch: Batch(vec![vec![b'Q', 0]]),
            beside: None,
        }))
    }

    fn connect_beside(&self) -> io::Result<Side> {
        let mut beside = Side::new(TcpStream::connect(&self.address)?)?;
        beside.stream.write_all(&self.startup)?;
        let login = read_answer(&mut beside.reader, Cells::Text)?;
        if login.error().is_some() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        for sql in ["SET TIME ZONE 'UTC'", "SET client_min_messages = 'warning'"] {
            let mut query = vec![b'Q'];
            query.extend(sql.bytes());
            query.push(0);
            send(&mut beside, &[query])?;
            read_answer(&mut beside.reader, Cells::Text)?;
        }
        Ok(beside)
    }

    /// Messages that confirm what an executed batch asked before it is run.
    fn confirmed(&self) -> Vec<Vec<u8>> {
        match self.batch.cells() {
            Cells::Text => Vec::new(),
            // Parsed, bound, described: no parameters.
            Cells::Binary => vec![vec![b'1'], vec![b'2'], vec![b't', 0, 0]],
        }
    }
}

/// A parameter of the first message: names and values, each ended by a byte 0.
fn parameter<'b>(mut rest: &'b [u8], wanted: &str) -> Option<&'b str> {
    loop {
        let (name, behind) = text(rest)?;
        let (value, next) = text(behind)?;
        if name == wanted {
            return Some(value);
        }
        rest = next;
    }
}

impl Line for PostgresLine {
    fn product(&self) -> Product {
        Product::Postgres
    }

    fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    fn next(&mut self) -> io::Result<Request> {
        loop {
            let mut messages = Vec::new();
            loop {
                let message = read_message(&mut self.client.reader)?;
                let tag = message[0];
                messages.push(message);
                match tag {
                    b'S' | b'Q' => break,
                    b'X' => {
                        send(&mut self.server, &messages)?;
                        return Ok(Request::Over);
                    }
                    _ => {}
                }
            }
            self.batch = Batch(messages);
            if let Some(sql) = self.batch.statement() {
                return Ok(Request::Statement(sql.to_owned()));
            }
            send(&mut self.server, &self.batch.0)?;
            let answer = read_answer(&mut self.server.reader, self.batch.cells())?;
            self.reply(&answer)?;
        }
    }

    fn reply(&mut self, answer: &WireAnswer) -> io::Result<()> {
        let mut answer = answer.clone();
        put_row_count(&mut answer.tail, answer.rows.len());
        self.client.stream.write_all(&answer.bytes())
    }

    fn ask(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let batch = self.batch.of(sql);
        send(&mut self.server, &batch.0)?;
        read_answer(&mut self.server.reader, batch.cells())
    }

    fn ask_beside(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if self.beside.is_none() {
            self.beside = Some(self.connect_beside()?);
        }
        let batch = self.batch.of(sql);
        let beside = self.beside.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        send(beside, &batch.0)?;
        read_answer(&mut beside.reader, batch.cells())
    }

    fn done(&self, sql: &str, affected: u64, in_transaction: bool) -> WireAnswer {
        let verb = verb(sql);
        let tag = match verb.as_str() {
            "INSERT" => format!("INSERT 0 {affected}"),
            "UPDATE" | "DELETE" | "MERGE" => format!("{verb} {affected}"),
            "START" => "START TRANSACTION".to_owned(),
            "LOCK" => "LOCK TABLE".to_owned(),
            _ => verb,
        };
        let mut answer = empty(self.batch.cells());
        answer.head = self.confirmed();
        if self.batch.cells() == Cells::Binary {
            // There are no columns.
            answer.head.push(vec![b'n']);
        }
        answer.tail = vec![complete(&tag), ready(in_transaction, OPEN)];
        answer.affected = Some(affected);
        answer.in_transaction = Some(in_transaction);
        answer
    }

    fn refused(&self, refusal: Refusal, in_transaction: bool) -> WireAnswer {
        let known = REFUSALS.iter().find(|(known, _)| *known == refusal);
        let (_, state) = known.expect("a refusal that this product has");
        let mut message = vec![b'E'];
        let fields = [
            ('S', "ERROR"),
            ('V', "ERROR"),
            ('C', state),
            ('M', "not what happened"),
        ];
        for (kind, value) in fields {
            message.extend(format!("{kind}{value}\0").bytes());
        }
        message.push(0);
        let mut answer = empty(self.batch.cells());
        answer.head = self.confirmed();
        answer.tail = vec![message, ready(in_transaction, FAILED)];
        answer.end = AnswerEnd::Error(refusal);
        answer.in_transaction = Some(in_transaction);
        answer.is_failed = in_transaction;
        answer
    }

    fn into_sides(self: Box<Self>) -> [(BufReader<TcpStream>, TcpStream); 2] {
        let Self { client, server, .. } = *self;
        [client, server].map(|side| (side.reader, side.stream))
    }
}
