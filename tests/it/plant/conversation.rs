//! One client's connection through the proxy: packets forwarded, and what is known of its
//! transaction.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread;

use super::packet::{Login, Packet, WireAnswer};
use super::text::{SavepointStep, executed_name, prepared_text, savepoint_step, write_kind};
use super::{Fault, Party, Plot, is_for_cases};

/// Commands of a client.
const QUIT: u8 = 1;
const INIT_DATABASE: u8 = 2;
const QUERY: u8 = 3;
const PING: u8 = 14;

/// The victim of a deadlock: the engine has ended the transaction.
const DEADLOCK: u16 = 1213;

/// One side of the conversation.
pub(super) struct Side {
    reader: BufReader<TcpStream>,
    stream: TcpStream,
}

impl Side {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            reader: BufReader::new(stream.try_clone()?),
            stream,
        })
    }

    fn read(&mut self) -> io::Result<Packet> {
        Packet::read(&mut self.reader)
    }

    fn write(&mut self, packet: &Packet) -> io::Result<()> {
        io::Write::write_all(&mut self.stream, &packet.bytes())
    }

    /// Sends a statement and reads the whole answer.
    fn ask(&mut self, sql: &str, login: &Login) -> io::Result<WireAnswer> {
        let mut payload = vec![QUERY];
        payload.extend(sql.bytes());
        self.write(&Packet {
            sequence: 0,
            payload,
        })?;
        WireAnswer::read(&mut self.reader, login.ending)
    }
}

/// What the transaction of a connection has done.
#[derive(Debug, Default)]
pub(super) struct OwnTransaction {
    pub(super) is_open: bool,
    pub(super) has_written: bool,
    pub(super) last_write: Option<String>,
    /// To plain reads, by text, since its last write.
    pub(super) answers: BTreeMap<String, WireAnswer>,
    /// Names in capitals, oldest first.
    pub(super) savepoints: Vec<String>,
}

/// A client, its connection to the server, and the fault of the plot.
pub(super) struct Conversation {
    pub(super) plot: Arc<Plot>,
    pub(super) transaction: OwnTransaction,
    client: TcpStream,
    server: TcpStream,
    address: String,
    number: u64,
    pub(super) is_mariadb: bool,
    /// It has had a transaction open, or written, beside another one's transaction: no observer.
    pub(super) is_session_of_case: bool,
    /// What the client has prepared, by name.
    prepared: BTreeMap<String, String>,
    line: Option<Line>,
}

/// The two sides after the login.
struct Line {
    login: Login,
    server: Side,
    /// A connection beside this one, logged in the same way; opened when first needed.
    beside: Option<Side>,
}

impl Conversation {
    pub(super) fn new(
        plot: Arc<Plot>,
        client: TcpStream,
        server: TcpStream,
        address: String,
    ) -> Self {
        Self {
            number: plot.number(),
            plot,
            transaction: OwnTransaction::default(),
            client,
            server,
            address,
            is_mariadb: false,
            is_session_of_case: false,
            prepared: BTreeMap::new(),
            line: None,
        }
    }

    /// Forwards until either side closes.
    pub(super) fn hold(mut self) -> io::Result<()> {
        let result = self.speak();
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
        if let Some(database) = self.database() {
            let number = self.number;
            self.plot
                .with_parties(&database, |parties| parties.remove(&number));
        }
        result
    }

    fn speak(&mut self) -> io::Result<()> {
        let mut client = Side::new(self.client.try_clone()?)?;
        let mut server = Side::new(self.server.try_clone()?)?;
        let greeting = server.read()?;
        self.is_mariadb = String::from_utf8_lossy(&greeting.payload).contains("MariaDB");
        client.write(&greeting)?;
        let login = log_in(&mut client, &mut server)?;
        self.line = Some(Line {
            login,
            server,
            beside: None,
        });
        loop {
            let command = client.read()?;
            match command.first() {
                Some(QUERY) => {
                    let sql = String::from_utf8_lossy(&command.payload[1..]).into_owned();
                    let answer = self.answer_of(&sql, &command)?;
                    answer.write(&mut client.stream)?;
                }
                Some(QUIT) => return self.line()?.server.write(&command),
                Some(PING | INIT_DATABASE) => {
                    let line = self.line()?;
                    line.server.write(&command)?;
                    let ending = line.login.ending;
                    WireAnswer::read(&mut line.server.reader, ending)?.write(&mut client.stream)?;
                    if command.first() == Some(INIT_DATABASE) {
                        let name = String::from_utf8_lossy(&command.payload[1..]).into_owned();
                        line.login.database = Some(name);
                    }
                }
                // Its answer has another form: from here on bytes travel, and no fault is planted.
                _ => {
                    self.line()?.server.write(&command)?;
                    return self.forward_the_rest(client);
                }
            }
        }
    }

    fn forward_the_rest(&mut self, client: Side) -> io::Result<()> {
        let line = self.line.take().ok_or(io::ErrorKind::NotConnected)?;
        let (mut there, mut back) = (line.server.stream.try_clone()?, client.stream.try_clone()?);
        let mut upward = client.reader;
        let copying = thread::spawn(move || {
            let copied = io::copy(&mut upward, &mut there);
            let _ = there.shutdown(Shutdown::Both);
            copied
        });
        let mut downward = line.server.reader;
        io::copy(&mut downward, &mut back)?;
        let _ = back.shutdown(Shutdown::Both);
        copying.join().map_or(Ok(()), |copied| copied.map(drop))
    }

    fn line(&mut self) -> io::Result<&mut Line> {
        self.line
            .as_mut()
            .ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn database(&self) -> Option<String> {
        self.line.as_ref()?.login.database.clone()
    }

    /// The answer that the client gets to a statement.
    fn answer_of(&mut self, sql: &str, command: &Packet) -> io::Result<WireAnswer> {
        let Some(database) = self.database().filter(|name| is_for_cases(name)) else {
            let line = self.line()?;
            line.server.write(command)?;
            return WireAnswer::read(&mut line.server.reader, line.login.ending);
        };
        let number = self.number;
        self.plot.with_parties(&database, |parties| {
            parties.entry(number).or_default().sent += 1
        });
        if let Some((name, text)) = prepared_text(sql) {
            self.prepared.insert(name, text);
        }
        // Faults are planted in what a prepared statement says.
        let executed = executed_name(sql).and_then(|name| self.prepared.get(name).cloned());
        let has_fault = self.plot.plant.fault != Fault::None;
        let sql = executed
            .filter(|_| has_fault)
            .unwrap_or_else(|| sql.to_owned());
        let answer = self.sabotage(&sql)?;
        self.heed(&sql, &answer);
        let in_transaction = self.transaction.is_open;
        self.plot.with_parties(&database, |parties| {
            parties.entry(number).or_default().in_transaction = in_transaction;
        });
        Ok(answer)
    }

    /// Learns from a statement of the client and its answer.
    fn heed(&mut self, sql: &str, answer: &WireAnswer) {
        let failed = answer.error();
        if let Some(is_open) = answer.in_transaction {
            self.transaction.is_open = is_open;
        }
        if failed == Some(DEADLOCK) {
            self.transaction.is_open = false;
        }
        if !self.transaction.is_open {
            self.transaction = OwnTransaction::default();
            return;
        }
        let is_write = write_kind(sql).is_some();
        self.transaction.has_written |= is_write;
        if failed.is_some() {
            return;
        }
        if is_write {
            self.transaction.last_write = Some(sql.to_owned());
            self.transaction.answers.clear();
        }
        let names = &mut self.transaction.savepoints;
        let place =
            |names: &Vec<String>, name: &String| names.iter().rposition(|other| other == name);
        match savepoint_step(sql) {
            Some(SavepointStep::Set(name)) => {
                names.retain(|other| *other != name);
                names.push(name);
            }
            Some(SavepointStep::RollbackTo(name)) => {
                names.truncate(place(names, &name).map_or(names.len(), |place| place + 1));
            }
            Some(SavepointStep::Release(name)) => {
                names.truncate(place(names, &name).unwrap_or(names.len()));
            }
            None => {}
        }
    }

    /// Sends a statement on the client's own connection to the server.
    pub(super) fn ask(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let line = self.line()?;
        line.server.ask(sql, &line.login)
    }

    /// Sends a statement on a connection beside it, in autocommit at READ COMMITTED: it sees what is
    /// committed and locks nothing.
    pub(super) fn ask_beside(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let address = self.address.clone();
        let line = self.line()?;
        if line.beside.is_none() {
            let mut beside = Side::new(TcpStream::connect(address)?)?;
            beside.read()?;
            beside.write(&line.login.response)?;
            let mut reply = beside.read()?;
            // Without a password there is nothing to exchange.
            while reply.first() == Some(1) {
                reply = beside.read()?;
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
                beside.ask(sql, &line.login)?;
            }
            line.beside = Some(beside);
        }
        let beside = line.beside.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        beside.ask(sql, &line.login)
    }

    /// Statements that the other connections of the database have sent.
    pub(super) fn sent_by_others(&self) -> u64 {
        self.others().iter().map(|party| party.sent).sum()
    }

    /// Whether another connection of the database has a transaction open.
    pub(super) fn others_in_transaction(&self) -> bool {
        self.others().iter().any(|party| party.in_transaction)
    }

    fn others(&self) -> Vec<Party> {
        let database = self.database().unwrap_or_default();
        self.plot.with_parties(&database, |parties| {
            let others = parties.iter().filter(|(number, _)| **number != self.number);
            others.map(|(_, party)| *party).collect()
        })
    }
}

/// Forwards the login that follows the server's greeting.
fn log_in(client: &mut Side, server: &mut Side) -> io::Result<Login> {
    let response = client.read()?;
    server.write(&response)?;
    let login = Login::of(response)?;
    loop {
        let packet = server.read()?;
        client.write(&packet)?;
        match (packet.first(), packet.payload.get(1)) {
            (Some(0), _) => return Ok(login),
            (Some(0xff), _) | (None, _) => return Err(io::ErrorKind::PermissionDenied.into()),
            // The password was known already: the OK packet follows.
            (Some(1), Some(3)) => {}
            _ => server.write(&client.read()?)?,
        }
    }
}
