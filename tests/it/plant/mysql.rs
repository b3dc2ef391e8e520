//! A conversation by MySQL's protocol.

use std::io::{self, BufReader, Write};
use std::net::TcpStream;

use super::answer::{AnswerEnd, Product, Refusal, Wire, WireAnswer};
use super::line::{Line, Request, Side};
use super::packet::{Ending, Login, Packet, done, failed, read_answer};

/// Commands of a client.
const QUIT: u8 = 1;
const INIT_DATABASE: u8 = 2;
const QUERY: u8 = 3;
const PING: u8 = 14;

fn read(side: &mut Side) -> io::Result<Packet> {
    Packet::read(&mut side.reader)
}

fn send(side: &mut Side, packet: &Packet) -> io::Result<()> {
    side.stream.write_all(&packet.bytes())
}

/// Sends a statement and reads the whole answer.
fn ask(side: &mut Side, sql: &str, ending: Ending) -> io::Result<WireAnswer> {
    let mut payload = vec![QUERY];
    payload.extend(sql.bytes());
    send(
        side,
        &Packet {
            sequence: 0,
            payload,
        },
    )?;
    read_answer(&mut side.reader, ending)
}

/// The two sides after the login.
pub(super) struct MySqlLine {
    client: Side,
    server: Side,
    login: Login,
    product: Product,
    address: String,
    /// A connection beside this one, logged in in the same way; opened when first needed.
    beside: Option<Side>,
}

impl MySqlLine {
    /// Forwards the login.
    pub(super) fn open(client: TcpStream, server: TcpStream, address: String) -> io::Result<Self> {
        let (mut client, mut server) = (Side::new(client)?, Side::new(server)?);
        let greeting = read(&mut server)?;
        let product = if String::from_utf8_lossy(&greeting.payload).contains("MariaDB") {
            Product::MariaDb
        } else {
            Product::MySql
        };
        send(&mut client, &greeting)?;
        let login = log_in(&mut client, &mut server)?;
        Ok(Self {
            client,
            server,
            login,
            product,
            address,
            beside: None,
        })
    }

    fn answer_by(&self, payload: Vec<u8>, end: AnswerEnd) -> WireAnswer {
        WireAnswer {
            wire: Wire::MySql(self.login.ending),
            head: Vec::new(),
            rows: Vec::new(),
            tail: vec![payload],
            end,
            affected: None,
            in_transaction: None,
            is_failed: false,
        }
    }

    fn connect_beside(&self) -> io::Result<Side> {
        let mut beside = Side::new(TcpStream::connect(&self.address)?)?;
        read(&mut beside)?;
        send(&mut beside, &self.login.response)?;
        let mut reply = read(&mut beside)?;
        // Without a password there is nothing to exchange.
        while reply.first() == Some(1) {
            reply = read(&mut beside)?;
        }
        if reply.first() != Some(0) {
            let why = "the login of the client does not work twice: it must have no password";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let sets = [
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'",
            "SET SESSION time_zone = '+00:00'",
            "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        ];
        for sql in sets {
            ask(&mut beside, sql, self.login.ending)?;
        }
        Ok(beside)
    }
}

impl Line for MySqlLine {
    fn product(&self) -> Product {
        self.product
    }

    fn database(&self) -> Option<&str> {
        self.login.database.as_deref()
    }

    fn next(&mut self) -> io::Result<Request> {
        loop {
            let command = read(&mut self.client)?;
            match command.first() {
                Some(QUERY) => {
                    let sql = String::from_utf8_lossy(&command.payload[1..]).into_owned();
                    return Ok(Request::Statement(sql));
                }
                Some(QUIT) => {
                    send(&mut self.server, &command)?;
                    return Ok(Request::Over);
                }
                Some(PING | INIT_DATABASE) => {
                    send(&mut self.server, &command)?;
                    let answer = read_answer(&mut self.server.reader, self.login.ending)?;
                    self.reply(&answer)?;
                    if command.first() == Some(INIT_DATABASE) {
                        let name = String::from_utf8_lossy(&command.payload[1..]).into_owned();
                        self.login.database = Some(name);
                    }
                }
                // Its answer has another form: from here on bytes travel, and no fault is planted.
                _ => {
                    send(&mut self.server, &command)?;
                    return Ok(Request::Unknown);
                }
            }
        }
    }

    fn reply(&mut self, answer: &WireAnswer) -> io::Result<()> {
        self.client.stream.write_all(&answer.bytes())
    }

    fn ask(&mut self, sql: &str) -> io::Result<WireAnswer> {
        ask(&mut self.server, sql, self.login.ending)
    }

    fn ask_beside(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if self.beside.is_none() {
            self.beside = Some(self.connect_beside()?);
        }
        let beside = self.beside.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        ask(beside, sql, self.login.ending)
    }

    fn done(&self, _: &str, affected: u64, in_transaction: bool) -> WireAnswer {
        let mut answer = self.answer_by(done(affected, in_transaction), AnswerEnd::Done);
        answer.affected = Some(affected);
        answer.in_transaction = Some(in_transaction);
        answer
    }

    fn refused(&self, refusal: Refusal, _: bool) -> WireAnswer {
        let known = match (refusal, self.product) {
            (Refusal::LockedNowait, Product::MariaDb) => Refusal::LockTimeout,
            (other, _) => other,
        };
        let payload = failed(known).expect("a refusal that this product has");
        self.answer_by(payload, AnswerEnd::Error(known))
    }

    fn into_sides(self: Box<Self>) -> [(BufReader<TcpStream>, TcpStream); 2] {
        let Self { client, server, .. } = *self;
        [client, server].map(|side| (side.reader, side.stream))
    }
}

/// Forwards the login that follows the server's greeting.
fn log_in(client: &mut Side, server: &mut Side) -> io::Result<Login> {
    let response = read(client)?;
    send(server, &response)?;
    let login = Login::of(response)?;
    loop {
        let packet = read(server)?;
        send(client, &packet)?;
        match (packet.first(), packet.payload.get(1)) {
            (Some(0), _) => return Ok(login),
            (Some(0xff), _) | (None, _) => return Err(io::ErrorKind::PermissionDenied.into()),
            // The password was known already: the OK packet follows.
            (Some(1), Some(3)) => {}
            _ => send(server, &read(client)?)?,
        }
    }
}
