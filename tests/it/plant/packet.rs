//! Packets of MySQL's protocol and the answers that they make up. Source: "MySQL Client/Server
//! Protocol", MySQL's source documentation; MariaDB's page of the same name.

use std::io::{self, Read, Write};

/// Flags of a client, as its handshake response states them.
pub(super) const CONNECT_WITH_DATABASE: u32 = 1 << 3;
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

/// How an answer to a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerEnd {
    Done { affected: u64 },
    Rows,
    Error { code: u16 },
}

/// The whole answer to one statement.
#[derive(Clone, Debug)]
pub(super) struct WireAnswer {
    pub(super) packets: Vec<Packet>,
    pub(super) end: AnswerEnd,
    /// Whether the server says that a transaction is open; an error says nothing.
    pub(super) in_transaction: Option<bool>,
    ending: Ending,
}

impl WireAnswer {
    /// Reads up to the last packet that belongs to the answer.
    pub(super) fn read(from: &mut impl Read, ending: Ending) -> io::Result<Self> {
        let mut packets = Vec::new();
        loop {
            let (end, status) = read_result(from, ending, &mut packets)?;
            if status.is_none_or(|status| status & MORE_RESULTS == 0) {
                return Ok(Self {
                    packets,
                    end,
                    in_transaction: status.map(|status| status & IN_TRANSACTION != 0),
                    ending,
                });
            }
        }
    }

    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let bytes: Vec<u8> = self.packets.iter().flat_map(Packet::bytes).collect();
        to.write_all(&bytes)
    }

    pub(super) fn affected(&self) -> Option<u64> {
        match self.end {
            AnswerEnd::Done { affected } => Some(affected),
            AnswerEnd::Rows | AnswerEnd::Error { .. } => None,
        }
    }

    pub(super) fn error(&self) -> Option<u16> {
        match self.end {
            AnswerEnd::Error { code } => Some(code),
            AnswerEnd::Done { .. } | AnswerEnd::Rows => None,
        }
    }

    /// The first column of every row, as text; nothing for other answers. NULL is left out.
    pub(super) fn first_column(&self) -> Vec<String> {
        if self.end != AnswerEnd::Rows {
            return Vec::new();
        }
        let rows = self.packets[..self.packets.len() - 1].iter();
        rows.skip(self.head())
            .filter_map(|row| {
                let mut rest = Cursor(&row.payload);
                let length = usize::try_from(rest.integer().ok()?).ok()?;
                let text = rest.0.get(..length)?;
                Some(String::from_utf8_lossy(text).into_owned())
            })
            .collect()
    }

    /// Packets before the first row.
    fn head(&self) -> usize {
        let columns = usize::try_from(Cursor(&self.packets[0].payload).integer().unwrap_or(0));
        1 + columns.unwrap_or(0) + usize::from(self.ending == Ending::Eof)
    }

    /// Whether it is a set of rows that is not empty.
    pub(super) fn has_rows(&self) -> bool {
        self.end == AnswerEnd::Rows && self.packets.len() > self.head() + 1
    }

    /// The same answer with its last row so many times.
    pub(super) fn with_last_row(mut self, times: usize) -> Self {
        let place = self.packets.len() - 2;
        let row = self.packets[place].clone();
        let rows = std::iter::repeat_n(row, times);
        self.packets.splice(place..=place, rows);
        self.numbered()
    }

    /// The same answer with another digit in the last value of its last row; None where that ends in none.
    pub(super) fn with_changed_value(&self) -> Option<Self> {
        if !self.has_rows() {
            return None;
        }
        let mut changed = self.clone();
        let row = changed.packets.len().checked_sub(2)?;
        let digit = changed.packets.get_mut(row)?.payload.last_mut()?;
        let is_digit = digit.is_ascii_digit();
        *digit = if *digit == b'9' { b'8' } else { *digit + 1 };
        is_digit.then_some(changed)
    }

    /// The same answer without a row.
    pub(super) fn without_rows(mut self) -> Self {
        let rows = self.head()..self.packets.len() - 1;
        self.packets.drain(rows);
        self.numbered()
    }

    fn numbered(mut self) -> Self {
        for (packet, number) in self.packets.iter_mut().zip(1..=u8::MAX) {
            packet.sequence = number;
        }
        self
    }

    /// The same answer, from a server that says this of its transaction.
    pub(super) fn in_transaction(mut self, is_open: Option<bool>) -> Self {
        let open = is_open.unwrap_or_default();
        if self.end == AnswerEnd::Rows
            && let Some(last) = self.packets.last_mut()
        {
            // Behind the header: an EOF packet has its warnings there, an OK packet two counts, which
            // are 0 and so of one byte each.
            if let Some(status) = last.payload.get_mut(3) {
                let bit = IN_TRANSACTION.to_le_bytes()[0];
                *status = if open { *status | bit } else { *status & !bit };
            }
        }
        self.in_transaction = is_open;
        self
    }

    /// An OK packet with this count, as the first answer to a command.
    pub(super) fn done(affected: u64, in_transaction: bool) -> Self {
        const AUTOCOMMIT: u16 = 2;
        let mut payload = vec![0];
        put_integer(&mut payload, affected);
        put_integer(&mut payload, 0);
        let status = AUTOCOMMIT | if in_transaction { IN_TRANSACTION } else { 0 };
        payload.extend(status.to_le_bytes());
        payload.extend(0_u16.to_le_bytes());
        Self {
            packets: vec![Packet {
                sequence: 1,
                payload,
            }],
            end: AnswerEnd::Done { affected },
            in_transaction: Some(in_transaction),
            ending: Ending::Ok,
        }
    }

    /// An ERR packet, as the first answer to a command.
    pub(super) fn failed(code: u16, sqlstate: &str, message: &str) -> Self {
        let mut payload = vec![0xff];
        payload.extend(code.to_le_bytes());
        payload.push(b'#');
        payload.extend(sqlstate.bytes().chain(message.bytes()));
        Self {
            packets: vec![Packet {
                sequence: 1,
                payload,
            }],
            end: AnswerEnd::Error { code },
            in_transaction: None,
            ending: Ending::Ok,
        }
    }
}

/// Reads one result; gives how it ended and the server's status, unless it is an error.
fn read_result(
    from: &mut impl Read,
    ending: Ending,
    packets: &mut Vec<Packet>,
) -> io::Result<(AnswerEnd, Option<u16>)> {
    let first = Packet::read(from)?;
    let head = first.first();
    packets.push(first.clone());
    match head {
        Some(0) => {
            let (affected, status) = ok_of(&first.payload)?;
            return Ok((AnswerEnd::Done { affected }, Some(status)));
        }
        Some(0xff) => return error_of(&first.payload).map(|end| (end, None)),
        Some(0xfb) | None => return Err(malformed("the server asks for a file")),
        Some(_) => {}
    }
    let columns = Cursor(&first.payload).integer()?;
    let more = columns + u64::from(ending == Ending::Eof);
    for _ in 0..more {
        packets.push(Packet::read(from)?);
    }
    loop {
        let packet = Packet::read(from)?;
        let payload = packet.payload.clone();
        packets.push(packet);
        match (payload.first(), ending) {
            (Some(0xff), _) => return error_of(&payload).map(|end| (end, None)),
            (Some(0xfe), Ending::Eof) if payload.len() < 9 => {
                let status = Cursor(&payload[3..]).array()?;
                return Ok((AnswerEnd::Rows, Some(u16::from_le_bytes(status))));
            }
            (Some(0xfe), Ending::Ok) => {
                let (_, status) = ok_of(&payload)?;
                return Ok((AnswerEnd::Rows, Some(status)));
            }
            (_, Ending::Eof | Ending::Ok) => {}
        }
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
    let code = Cursor(payload.get(1..).unwrap_or_default()).array()?;
    Ok(AnswerEnd::Error {
        code: u16::from_le_bytes(code),
    })
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
