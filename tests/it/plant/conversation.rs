//! One client's connection through the proxy: statements forwarded, and what is known of its
//! transaction.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::answer::{Product, Refusal, WireAnswer};
use super::line::{Line, Request};
use super::mysql::MySqlLine;
use super::postgres::PostgresLine;
use super::text::{
    SavepointStep, executed_name, is_plain_read, prepared_text, savepoint_step,
    without_lock_clause, write_kind,
};
use super::{Fault, Party, Plot, Protocol, is_for_cases};

/// How long to wait for another transaction's statement, at most.
const OUTLASTED: Duration = Duration::from_secs(1);

/// What the transaction of a connection has done.
#[derive(Debug, Default)]
pub(super) struct OwnTransaction {
    pub(super) is_open: bool,
    /// An error has ended it, and it is not rolled back yet (PostgreSQL).
    pub(super) is_failed: bool,
    pub(super) has_written: bool,
    pub(super) last_write: Option<String>,
    /// To plain reads, by text, since its last write.
    pub(super) answers: BTreeMap<String, WireAnswer>,
    /// Names in capitals, oldest first.
    pub(super) savepoints: Vec<String>,
    pub(super) is_read_only: bool,
    pub(super) done: Done,
    /// What it had done when it set a savepoint, by the savepoint's name.
    pub(super) marks: BTreeMap<String, Done>,
    /// It went back to a savepoint that it had set behind a plain read.
    pub(super) is_back: bool,
    /// The table and the new key of each row that it gave another key.
    pub(super) moved: Vec<(String, String)>,
    /// A savepoint of ours stands before its last write.
    pub(super) is_last_write_marked: bool,
}

/// How many statements of a transaction were answered and stand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) reads: u64,
    pub(super) locking_reads: u64,
    pub(super) writes: u64,
}

/// A client, its connection to the server, and the fault of the plot.
pub(super) struct Conversation {
    pub(super) plot: Arc<Plot>,
    pub(super) transaction: OwnTransaction,
    number: u64,
    /// It has had a transaction open, or written, beside another one's transaction: no observer.
    pub(super) is_session_of_case: bool,
    /// The client has an answer already to the statement that it sent last.
    has_replied: bool,
    /// What the client has prepared, by name.
    prepared: BTreeMap<String, String>,
    /// The isolation level that the client has set last, in capitals.
    level: String,
    /// COMMIT was answered, and the server has not heard of it yet.
    pub(super) is_commit_due: bool,
    line: Box<dyn Line>,
}

/// Forwards a client's connection until either side closes.
pub(super) fn hold(
    plot: Arc<Plot>,
    protocol: Protocol,
    client: &TcpStream,
    address: String,
) -> io::Result<()> {
    let server = TcpStream::connect(&address)?;
    let (near, far) = (client.try_clone()?, server.try_clone()?);
    let opened: io::Result<Option<Box<dyn Line>>> = match protocol {
        Protocol::MySql => {
            MySqlLine::open(near, far, address).map(|line| Some(Box::new(line) as _))
        }
        Protocol::Postgres => {
            PostgresLine::open(near, far, address).map(|line| Some(Box::new(line?) as _))
        }
    };
    let result =
        opened.and_then(|line| line.map_or(Ok(()), |line| Conversation::new(plot, line).speak()));
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
    result
}

impl Conversation {
    fn new(plot: Arc<Plot>, line: Box<dyn Line>) -> Self {
        Self {
            number: plot.number(),
            plot,
            transaction: OwnTransaction::default(),
            is_session_of_case: false,
            has_replied: false,
            prepared: BTreeMap::new(),
            level: String::new(),
            is_commit_due: false,
            line,
        }
    }

    fn speak(mut self) -> io::Result<()> {
        let result = self.answer_all();
        if let Some(database) = self.database() {
            let number = self.number;
            self.plot
                .with_parties(&database, |parties| parties.remove(&number));
        }
        if result? {
            return forward_the_rest(self.line);
        }
        Ok(())
    }

    /// Answers statements as long as the client sends some; says whether it goes on with something else.
    fn answer_all(&mut self) -> io::Result<bool> {
        loop {
            match self.line.next()? {
                Request::Statement(sql) => {
                    self.has_replied = false;
                    let answer = self.answer_of(&sql)?;
                    if !self.has_replied {
                        self.line.reply(&answer)?;
                    }
                }
                Request::Unknown => return Ok(true),
                Request::Over => return Ok(false),
            }
        }
    }

    pub(super) fn product(&self) -> Product {
        self.line.product()
    }

    fn database(&self) -> Option<String> {
        self.line.database().map(str::to_owned)
    }

    /// The answer that the client gets to a statement.
    fn answer_of(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let Some(database) = self.database().filter(|name| is_for_cases(name)) else {
            return self.ask(sql);
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
            let party = parties.entry(number).or_default();
            party.in_transaction = in_transaction;
            party.answered = party.sent;
            party.victims += u64::from(answer.error() == Some(Refusal::Deadlock));
        });
        Ok(answer)
    }

    /// Learns from a statement of the client and its answer.
    fn heed(&mut self, sql: &str, answer: &WireAnswer) {
        let failed = answer.error();
        if let Some((_, level)) = sql.split_once("TRANSACTION ISOLATION LEVEL ") {
            self.level = level.trim().to_ascii_uppercase();
        }
        if let Some(is_open) = answer.in_transaction {
            self.transaction.is_open = is_open;
        }
        if failed == Some(Refusal::Deadlock) && self.product() != Product::Postgres {
            self.transaction.is_open = false;
        }
        self.transaction.is_failed = answer.is_failed;
        if !self.transaction.is_open {
            self.transaction = OwnTransaction::default();
            return;
        }
        let is_write = write_kind(sql).is_some();
        self.transaction.has_written |= is_write;
        if failed.is_some() {
            return;
        }
        self.transaction.is_read_only |= sql.ends_with(" READ ONLY");
        let done = &mut self.transaction.done;
        done.reads += u64::from(is_plain_read(sql));
        done.locking_reads += u64::from(without_lock_clause(sql).is_some());
        done.writes += u64::from(is_write);
        if is_write {
            self.transaction.last_write = Some(sql.to_owned());
            self.transaction.answers.clear();
        }
        if let Some(step) = savepoint_step(sql) {
            self.heed_savepoint(step);
        }
    }

    fn heed_savepoint(&mut self, step: SavepointStep) {
        let nests = self.product() == Product::Postgres;
        let OwnTransaction {
            savepoints: names,
            done,
            marks,
            is_back,
            ..
        } = &mut self.transaction;
        let place =
            |names: &Vec<String>, name: &String| names.iter().rposition(|other| other == name);
        match step {
            SavepointStep::Set(name) => {
                names.retain(|other| nests || *other != name);
                marks.insert(name.clone(), *done);
                names.push(name);
            }
            SavepointStep::RollbackTo(name) => {
                names.truncate(place(names, &name).map_or(names.len(), |place| place + 1));
                if let Some(mark) = marks.get(&name) {
                    done.writes = mark.writes;
                    *is_back |= mark.reads > 0;
                }
            }
            SavepointStep::Release(name) => {
                names.truncate(place(names, &name).unwrap_or(names.len()));
            }
        }
    }

    /// Whether the session is at this level.
    pub(super) fn is_at(&self, level: &str) -> bool {
        self.level == level
    }

    /// Whether the plain reads of a transaction keep to one snapshot.
    pub(super) fn has_snapshot(&self) -> bool {
        match self.product() {
            Product::Postgres => !self.is_at("READ COMMITTED"),
            Product::MariaDb | Product::MySql => self.is_at("REPEATABLE READ"),
        }
    }

    /// Sends a statement on the client's own connection to the server.
    pub(super) fn ask(&mut self, sql: &str) -> io::Result<WireAnswer> {
        self.line.ask(sql)
    }

    /// Sends a statement on a connection beside it, in autocommit at READ COMMITTED: it sees what is
    /// committed and locks nothing.
    pub(super) fn ask_beside(&mut self, sql: &str) -> io::Result<WireAnswer> {
        self.line.ask_beside(sql)
    }

    /// The same at another level, where the product has one that sees more or less.
    pub(super) fn ask_beside_at(&mut self, level: &str, sql: &str) -> io::Result<WireAnswer> {
        if self.product() != Product::Postgres {
            self.ask_beside(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))?;
        }
        self.ask_beside(sql)
    }

    /// Sends a statement; says whether another connection sent something before it was answered.
    pub(super) fn ask_waiting(&mut self, sql: &str) -> io::Result<(WireAnswer, bool)> {
        let sent = self.sent_by_others();
        let answer = self.ask(sql)?;
        Ok((answer, self.sent_by_others() > sent))
    }

    /// Answers the client before the server has done what it asked for.
    pub(super) fn reply_early(&mut self, answer: &WireAnswer) -> io::Result<()> {
        self.has_replied = true;
        self.line.reply(answer)
    }

    /// An answer that the server never gave: the statement was done.
    pub(super) fn done(&self, sql: &str, affected: u64, in_transaction: bool) -> WireAnswer {
        self.line.done(sql, affected, in_transaction)
    }

    /// An answer that the server never gave: a refusal. Its transaction is what that leaves of it.
    pub(super) fn refuse(&mut self, refusal: Refusal) -> io::Result<WireAnswer> {
        let open = self.transaction.is_open;
        match (self.product(), refusal) {
            (Product::Postgres, _) if open && !self.transaction.is_failed => {
                self.ask("SELECT 1 / 0")?;
            }
            (Product::MariaDb | Product::MySql, Refusal::Deadlock) => {
                self.ask("ROLLBACK")?;
            }
            _ => {}
        }
        Ok(self.line.refused(refusal, open))
    }

    /// Statements that the other connections of the database have sent.
    pub(super) fn sent_by_others(&self) -> u64 {
        self.others().iter().map(|party| party.sent).sum()
    }

    /// Victims of deadlocks among the other connections of the database.
    pub(super) fn victims_among_others(&self) -> u64 {
        self.others().iter().map(|party| party.victims).sum()
    }

    /// Waits until a statement was answered that another transaction sent from now on; not for ever, as none
    /// may come, or one that waits for this connection.
    pub(super) fn outlast_a_statement(&self) {
        let begun = Instant::now();
        let before = self.others();
        let in_transaction = |other: &&Party| other.in_transaction;
        let sent: u64 = before.iter().filter(in_transaction).map(|p| p.sent).sum();
        while begun.elapsed() < OUTLASTED {
            let now = self.others();
            let answered: u64 = now.iter().filter(in_transaction).map(|p| p.answered).sum();
            if answered > sent {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
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

/// Forwards bytes both ways.
fn forward_the_rest(line: Box<dyn Line>) -> io::Result<()> {
    let [(mut upward, mut back), (mut downward, mut there)] = line.into_sides();
    let copying = thread::spawn(move || {
        let copied = io::copy(&mut upward, &mut there);
        let _ = there.shutdown(Shutdown::Both);
        copied
    });
    io::copy(&mut downward, &mut back)?;
    let _ = back.shutdown(Shutdown::Both);
    copying.join().map_or(Ok(()), |copied| copied.map(drop))
}
