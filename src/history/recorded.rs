//! Transactions as their clients saw them, handed over one by one while a run goes on.

use std::io::{self, Write};

use super::{Kind, Span, Status};

/// A transaction that has ended, as its client saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The connection: a client that lost its connection goes on in a new session.
    pub session: u32,
    pub status: Status,
    /// The engine's own timestamps, where they were asked for.
    pub timestamps: Option<Span>,
    /// Nanoseconds since the run began: when the first statement was sent, when the last answer
    /// had come.
    pub real_time: Option<Span>,
    pub operations: Vec<Operation>,
}

/// What a client did to one key, and what it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// None where the key was not there.
    Read {
        key: u32,
        value: Option<i64>,
    },
    /// A write of a register, or of an element at the end of a list.
    Write {
        key: u32,
        value: i64,
    },
    ReadList {
        key: u32,
        values: Vec<i64>,
    },
}

impl Operation {
    /// Whether it reads or writes; an append is a write.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Read { .. } | Self::ReadList { .. } => Kind::Read,
            Self::Write { .. } => Kind::Write,
        }
    }
}

impl Recorded {
    /// Whether anything was written.
    pub fn writes(&self) -> bool {
        self.operations.iter().any(|op| op.kind() == Kind::Write)
    }

    /// The line of our format, with its end.
    ///
    /// # Errors
    /// When the stream fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let status = match self.status {
            Status::Committed => "committed",
            Status::Aborted => "aborted",
            Status::Indeterminate => "indeterminate",
        };
        write!(out, "{status} {}", self.session)?;
        for (mark, span) in [('@', self.timestamps), ('~', self.real_time)] {
            match span {
                Some(Span { from, to: i64::MAX }) => write!(out, " {mark}{from}..")?,
                Some(Span { from, to }) => write!(out, " {mark}{from}..{to}")?,
                None => {}
            }
        }
        for operation in &self.operations {
            match operation {
                Operation::Read { key, value: None } => write!(out, " r({key},nil)")?,
                Operation::Read {
                    key,
                    value: Some(value),
                } => write!(out, " r({key},{value})")?,
                Operation::Write { key, value } => write!(out, " w({key},{value})")?,
                Operation::ReadList { key, values } => {
                    write!(out, " r({key},[")?;
                    for (index, value) in values.iter().enumerate() {
                        let space = if index == 0 { "" } else { " " };
                        write!(out, "{space}{value}")?;
                    }
                    out.write_all(b"])")?;
                }
            }
        }
        out.write_all(b"\n")
    }
}
