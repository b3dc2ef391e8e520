//! Packets of MySQL's protocol and the answers that they make up. Source: "MySQL Client/Server
//! Protocol", MySQL's source documentation; MariaDB's page of the same name.

use std::io::{self, Read};

use super::answer::{AnswerEnd, Refusal, Wire, WireAnswer};

/// Flags of a client, as its handshake response states them.
const CONNECT_WITH_DATABASE: u32 = 1 << 3;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_DATA_HAS_LENGTH: u32 = 1 << 21;
const DEPRECATE_EOF: u32 = 1 << 24;

/// Flags of the server's status.
const IN_TRANSACTION: u16 = 1;
const MORE_RESULTS: u16 = 8;

/// The longest payload of one packet, in bytes. Longer ones are split, which no case needs.
const PAYLOAD_BYTES_MAX: usize = 0xff_ff_ff;

/// One packet of either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// Counts the packets of one command, from 0.
    pub(super) sequence: u8,
    pub(super) payload: Vec<u8>,
}

impl Packet {
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut header = [0; 4];
        from.read_exact(&mut header)?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        if length == PAYLOAD_BYTES_MAX {
            return Err(malformed("a packet of more than 16 MiB"));
        }
        let mut payload = vec![0; length];
        from.read_exact(&mut payload)?;
        Ok(Self {
            sequence: header[3],
            payload,
        })
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).unwrap_or_default();
        let mut bytes = length.to_le_bytes()[..3].to_vec();
        bytes.push(self.sequence);
        bytes.extend(&self.payload);
        bytes
    }

    pub(super) fn first(&self) -> Option<u8> {
        self.payload.first().copied()
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// What a client said of itself when it logged in.
#[derive(Clone, Debug)]
pub(super) struct Login {
    /// The handshake response itself, so that another connection can log in the same way.
    pub(super) response: Packet,
    /// The database that it asked for.
    pub(super) database: Option<String>,
    /// How sets of rows end on this connection.
    pub(super) ending: Ending,
}

/// What ends columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// An EOF packet after the columns and after the rows.
    Eof,
    /// Nothing after the columns, an OK packet after the rows.
    Ok,
}

impl Login {
    pub(super) fn of(response: Packet) -> io::Result<Self> {
        let mut rest = Cursor(&response.payload);
        let flags = u32::from_le_bytes(rest.array()?);
        rest.skip(28)?;
        rest.text()?;
        let authentication = if flags & PLUGIN_DATA_HAS_LENGTH != 0 {
            usize::try_from(rest.integer()?).map_err(|_| malformed("a length"))?
        } else if flags & SECURE_CONNECTION != 0 {
            usize::from(rest.array::<1>()?[0])
        } else {
            rest.text()?;
            0
        };
        rest.skip(authentication)?;
        let database = if flags & CONNECT_WITH_DATABASE != 0 {
            Some(rest.text()?).filter(|name| !name.is_empty())
        } else {
            None
        };
        let ending = if flags & DEPRECATE_EOF != 0 {
            Ending::Ok
        } else {
            Ending::Eof
        };
        Ok(Self {
            response,
            database,
            ending,
        })
    }
}

/// Reads an answer up to the last packet that belongs to it.
pub(super) fn read_answer(from: &mut impl Read, ending: Ending) -> io::Result<WireAnswer> {
    let mut answer = WireAnswer {
        wire: Wire::MySql(ending),
        head: Vec::new(),
        rows: Vec::new(),
        tail: Vec::new(),
        end: AnswerEnd::Done,
        affected: None,
        in_transaction: None,
        is_failed: false,
    };
    loop {
        let status = read_result(from, ending, &mut answer)?;
        answer.in_transaction = status.map(|status| status & IN_TRANSACTION != 0);
        if status.is_none_or(|status| status & MORE_RESULTS == 0) {
            return Ok(answer);
        }
        // Of several results the last one is the answer.
        let WireAnswer {
            head, rows, tail, ..
        } = &mut answer;
        head.append(rows);
        head.append(tail);
    }
}

/// Payloads as the packets of one answer.
pub(super) fn numbered<'p>(payloads: impl Iterator<Item = &'p Vec<u8>>) -> Vec<u8> {
    // The count of packets begins again after 255.
    let numbers = (1..=u8::MAX).chain((0..=u8::MAX).cycle());
    let packets = payloads.zip(numbers).map(|(payload, sequence)| Packet {
        sequence,
        payload: payload.clone(),
    });
    packets.flat_map(|packet| packet.bytes()).collect()
}

/// The first cell of a row; None for NULL.
pub(super) fn first_cell(row: &[u8]) -> Option<String> {
    let mut rest = Cursor(row);
    let length = usize::try_from(rest.integer().ok()?).ok()?;
    let text = rest.0.get(..length)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Changes the last digit of a row that ends in one.
pub(super) fn change_last_cell(row: &mut [u8]) -> Option<()> {
    let digit = row.last_mut().filter(|digit| digit.is_ascii_digit())?;
    *digit = if *digit == b'9' { b'8' } else { *digit + 1 };
    Some(())
}

/// Has the packet behind the rows say this of the transaction.
pub(super) fn put_status(tail: &mut [Vec<u8>], open: bool) {
    // Behind the header: an EOF packet has its warnings there, an OK packet two counts, which are 0 and
    // so of one byte each.
    if let Some(status) = tail.last_mut().and_then(|last| last.get_mut(3)) {
        let bit = IN_TRANSACTION.to_le_bytes()[0];
        *status = if open { *status | bit } else { *status & !bit };
    }
}

/// An OK packet with this count.
pub(super) fn done(affected: u64, in_transaction: bool) -> Vec<u8> {
    const AUTOCOMMIT: u16 = 2;
    let mut payload = vec![0];
    put_integer(&mut payload, affected);
    put_integer(&mut payload, 0);
    let status = AUTOCOMMIT | if in_transaction { IN_TRANSACTION } else { 0 };
    payload.extend(status.to_le_bytes());
    payload.extend(0_u16.to_le_bytes());
    payload
}

/// Has an OK packet name the number behind the one that a row took from its counter; None where it names none,
/// or one that is written in several bytes.
pub(super) fn raise_taken_number(payload: &mut [u8]) -> Option<()> {
    let [0, 0..=250, number @ 1..=249, ..] = payload else {
        return None;
    };
    *number += 1;
    Some(())
}

/// Error numbers that faults ask for or answer, with their SQLSTATEs: `ER_DUP_ENTRY`,
/// `ER_NO_REFERENCED_ROW_2`, `ER_LOCK_DEADLOCK`, `ER_LOCK_WAIT_TIMEOUT`, `ER_LOCK_NOWAIT`,
/// `ER_TABLE_DEF_CHANGED`.
const REFUSALS: [(Refusal, u16, &str); 6] = [
    (Refusal::Duplicate, 1062, "23000"),
    (Refusal::NoParent, 1452, "23000"),
    (Refusal::Deadlock, 1213, "40001"),
    (Refusal::LockTimeout, 1205, "HY000"),
    (Refusal::LockedNowait, 3572, "HY000"),
    (Refusal::TableChanged, 1412, "HY000"),
];

/// An ERR packet; None for a refusal that this protocol does not know.
pub(super) fn failed(refusal: Refusal) -> Option<Vec<u8>> {
    let (_, code, state) = REFUSALS.iter().find(|known| known.0 == refusal)?;
    let mut payload = vec![0xff];
    payload.extend(code.to_le_bytes());
    payload.push(b'#');
    payload.extend(state.bytes().chain(b"not what happened".iter().copied()));
    Some(payload)
}

/// Reads one result; gives the server's status, unless it is an error.
fn read_result(
    from: &mut impl Read,
    ending: Ending,
    answer: &mut WireAnswer,
) -> io::Result<Option<u16>> {
    let first = Packet::read(from)?.payload;
    match first.first() {
        Some(0) => {
            let (affected, status) = ok_of(&first)?;
            (answer.end, answer.affected) = (AnswerEnd::Done, Some(affected));
            answer.tail.push(first);
            return Ok(Some(status));
        }
        Some(0xff) => {
            answer.end = error_of(&first)?;
            answer.tail.push(first);
            return Ok(None);
        }
        Some(0xfb) | None => return Err(malformed("the server asks for a file")),
        Some(_) => {}
    }
    let columns = Cursor(&first).integer()?;
    answer.head.push(first);
    for _ in 0..columns + u64::from(ending == Ending::Eof) {
        answer.head.push(Packet::read(from)?.payload);
    }
    (answer.end, answer.affected) = (AnswerEnd::Rows, None);
    loop {
        let payload = Packet::read(from)?.payload;
        let status = match (payload.first(), ending) {
            (Some(0xff), _) => {
                answer.end = error_of(&payload)?;
                None
            }
            (Some(0xfe), Ending::Eof) if payload.len() < 9 => {
                Some(u16::from_le_bytes(Cursor(&payload[3..]).array()?))
            }
            (Some(0xfe), Ending::Ok) => Some(ok_of(&payload)?.1),
            (_, Ending::Eof | Ending::Ok) => {
                answer.rows.push(payload);
                continue;
            }
        };
        answer.tail.push(payload);
        return Ok(status);
    }
}

/// Affected rows and status of an OK packet.
fn ok_of(payload: &[u8]) -> io::Result<(u64, u16)> {
    let mut rest = Cursor(&payload[1..]);
    let affected = rest.integer()?;
    rest.integer()?;
    Ok((affected, u16::from_le_bytes(rest.array()?)))
}

fn error_of(payload: &[u8]) -> io::Result<AnswerEnd> {
    let code = u16::from_le_bytes(Cursor(payload.get(1..).unwrap_or_default()).array()?);
    let known = REFUSALS.iter().find(|known| known.1 == code);
    Ok(AnswerEnd::Error(
        known.map_or(Refusal::Other, |known| known.0),
    ))
}

/// An integer with its length.
fn put_integer(to: &mut Vec<u8>, value: u64) {
    match u8::try_from(value) {
        Ok(small) if small < 251 => to.push(small),
        _ => {
            to.push(0xfe);
            to.extend(value.to_le_bytes());
        }
    }
}

/// Bytes not read yet.
struct Cursor<'p>(&'p [u8]);

impl Cursor<'_> {
    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (head, rest) = self
            .0
            .split_first_chunk::<N>()
            .ok_or_else(|| malformed("a packet that ends early"))?;
        self.0 = rest;
        Ok(*head)
    }

    fn skip(&mut self, length: usize) -> io::Result<()> {
        self.0 = self
            .0
            .get(length..)
            .ok_or_else(|| malformed("a packet that ends early"))?;
        Ok(())
    }

    /// Text up to a byte 0.
    fn text(&mut self) -> io::Result<String> {
        let length = self.0.iter().position(|byte| *byte == 0);
        let length = length.ok_or_else(|| malformed("text without an end"))?;
        let text = String::from_utf8_lossy(&self.0[..length]).into_owned();
        self.skip(length + 1)?;
        Ok(text)
    }

    /// An integer with its length.
    fn integer(&mut self) -> io::Result<u64> {
        Ok(match self.array::<1>()?[0] {
            0xfc => u64::from(u16::from_le_bytes(self.array()?)),
            0xfd => {
                let [a, b, c] = self.array()?;
                u64::from(u32::from_le_bytes([a, b, c, 0]))
            }
            0xfe => u64::from_le_bytes(self.array()?),
            small => u64::from(small),
        })
    }
}
