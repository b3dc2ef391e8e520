//! A client and its connection to the server, after the login, whatever they speak.

use std::io::{self, BufReader};
use std::net::TcpStream;

use super::answer::{Product, Refusal, WireAnswer};

/// What a client sends.
pub(super) enum Request {
    Statement(String),
    /// Its answer has a form that is not known here; it was forwarded.
    Unknown,
    /// It has said goodbye.
    Over,
}

/// One side of a conversation.
pub(super) struct Side {
    pub(super) reader: BufReader<TcpStream>,
    pub(super) stream: TcpStream,
}

impl Side {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            reader: BufReader::new(stream.try_clone()?),
            stream,
        })
    }
}

/// The two sides of a conversation.
pub(super) trait Line {
    fn product(&self) -> Product;

    fn database(&self) -> Option<&str>;

    /// The next statement of the client. What is none is forwarded, with its answer.
    fn next(&mut self) -> io::Result<Request>;

    fn reply(&mut self, answer: &WireAnswer) -> io::Result<()>;

    /// Sends a statement on the client's own connection to the server.
    fn ask(&mut self, sql: &str) -> io::Result<WireAnswer>;

    /// Sends a statement on a connection beside it, in autocommit at READ COMMITTED.
    fn ask_beside(&mut self, sql: &str) -> io::Result<WireAnswer>;

    /// An answer to this statement that the server never gave: it was done.
    fn done(&self, sql: &str, affected: u64, in_transaction: bool) -> WireAnswer;

    /// An answer that the server never gave: a refusal.
    fn refused(&self, refusal: Refusal, in_transaction: bool) -> WireAnswer;

    /// The client and the server, to forward what is left.
    fn into_sides(self: Box<Self>) -> [(BufReader<TcpStream>, TcpStream); 2];
}
