//! Histories: sessions of transactions of events, an event being a read or a write of one key.
//!
//! A history comes from a file ([`mod@format`]) or from a recorded run, goes through a [`Builder`]
//! that is told one transaction after the other (the raw stage), and leaves it as a [`History`]
//! (the validated stage): every transaction has its place in a session, every identifier is
//! dense, and every key has an initial value. What the events say of each other is a checker's
//! business. This module knows no SQL.

mod atom;
mod batch;
mod builder;
mod error;
pub mod format;
mod intern;
mod key_index;
mod number;
mod recorded;
pub mod synthetic;

use crate::model::ConsistencyModel;

pub use atom::{Atom, Texts};
pub use batch::Batch;
pub use builder::{Builder, Head};
pub use error::{HistoryError, Place};
pub use intern::Interner;
pub(crate) use number::number;
pub use number::{Key, Txn};
pub use recorded::{Operation, Recorded};

/// How a transaction ended, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The commit was acknowledged.
    Committed,
    /// The engine or the client gave it up: nobody may see its writes.
    Aborted,
    /// The commit was sent and no answer came: its writes may be seen or not.
    Indeterminate,
}

/// What an event does to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Read,
    Write,
}

/// A read or a write of one key with one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub kind: Kind,
    /// Index of the key, see [`History::key`].
    pub key: Key,
    pub value: Atom,
}

/// An event whose key goes by its name: what a stream tells, before anything is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedEvent {
    pub kind: Kind,
    pub key: Atom,
    pub value: Atom,
}

/// Two points of one clock, in the clock's own unit. That the first is not after the second is
/// for a checker to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub from: i64,
    /// [`i64::MAX`] when the end is not known.
    pub to: i64,
}

/// A validated history.
///
/// Transaction 0 is the initial one: it precedes every session and gives every key its initial
/// value; it has no events of its own here. The others are counted from 1 in the order of the
/// file, and belong to sessions in that order.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(in crate::history) texts: Texts,
    pub(in crate::history) keys: Vec<Atom>,
    pub(in crate::history) initial: Vec<Atom>,
    /// Whether the file itself says what every key holds at first.
    pub(in crate::history) is_initial_told: bool,
    /// The keys of which it says so beside that.
    pub(in crate::history) initials_told: Vec<Key>,
    pub(in crate::history) sessions: Vec<Atom>,
    pub(in crate::history) labels: Vec<Atom>,
    pub(in crate::history) session_of: Vec<u32>,
    pub(in crate::history) status: Vec<Status>,
    /// Where the events of a transaction begin; one entry more than transactions.
    pub(in crate::history) begins: Vec<u32>,
    /// The key of each event, with [`WRITE`] set for a write.
    pub(in crate::history) event_keys: Vec<u32>,
    pub(in crate::history) event_values: Vec<Atom>,
    /// Start and commit timestamps; empty when no transaction has any.
    pub(in crate::history) timestamps: Vec<Span>,
    /// Invocation and completion in real time; empty when no transaction has any.
    pub(in crate::history) real_time: Vec<Span>,
    /// Version orders that the history itself shows, as lists do: per key, oldest first.
    pub(in crate::history) orders: Vec<(Key, Vec<Atom>)>,
    /// Whether reads were of whole lists; an empty list is read as [`Atom::NIL`].
    pub(in crate::history) has_lists: bool,
    /// Reads that contradict each other on the version order of a key: no order explains both.
    pub(in crate::history) order_conflicts: Vec<OrderConflict>,
    pub(in crate::history) promised: Option<RecordedPromise>,
}

/// What a recorder was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedPromise {
    /// None: nothing.
    pub model: Option<ConsistencyModel>,
    /// Who promised it: a text.
    pub by: Option<Atom>,
}

impl RecordedPromise {
    /// As files and machine-readable output spell it.
    pub fn slug(self) -> &'static str {
        self.model.map_or("nothing", ConsistencyModel::slug)
    }
}

/// Two transactions that read versions of one key in orders that exclude each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderConflict {
    pub key: Key,
    pub first: Txn,
    pub second: Txn,
    /// The lists that they read, where lists were read.
    pub lists: Option<[Vec<Atom>; 2]>,
}

/// Marks the key of a write among `event_keys`.
pub(in crate::history) const WRITE: u32 = 1 << 31;

/// Stands for a span that nobody gave.
pub(in crate::history) const NO_SPAN: Span = Span {
    from: i64::MIN,
    to: i64::MIN,
};

impl History {
    /// Changes what keys hold before anyone writes them, where the file does not say it.
    pub fn set_initial(&mut self, value: Atom) {
        if self.is_initial_told {
            return;
        }
        let told: Vec<(Key, Atom)> = self
            .initials_told
            .iter()
            .map(|key| (*key, self.initial(*key)))
            .collect();
        self.initial.fill(value);
        for (key, value) in told {
            self.initial[key] = value;
        }
    }

    /// Every key.
    pub fn all_keys(&self) -> impl DoubleEndedIterator<Item = Key> + Clone + use<> {
        (0..self.keys.len()).map(Key::at)
    }

    /// How many transactions there are, the initial one counted.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Whether there is no transaction but the initial one.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    pub fn event_count(&self) -> usize {
        self.event_keys.len()
    }

    pub fn key_count(&self) -> usize {
        self.keys.len()
    }

    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// The name that the file gives a key.
    pub fn key(&self, key: Key) -> Atom {
        self.keys[key]
    }

    /// The value that a key has before any transaction writes it.
    pub fn initial(&self, key: Key) -> Atom {
        self.initial[key]
    }

    /// The name that the file gives a session.
    pub fn session(&self, session: u32) -> Atom {
        self.sessions[session as usize]
    }

    /// The name that the file gives a transaction.
    pub fn label(&self, transaction: Txn) -> Atom {
        self.labels[transaction]
    }

    /// The session of a transaction; meaningless for the initial one.
    pub fn session_of(&self, transaction: Txn) -> u32 {
        self.session_of[transaction]
    }

    pub fn status(&self, transaction: Txn) -> Status {
        self.status[transaction]
    }

    /// The events of a transaction, in its own order.
    pub fn events(&self, transaction: Txn) -> impl ExactSizeIterator<Item = Event> + '_ {
        self.event_range(transaction).map(|at| self.event(at))
    }

    /// Where the events of a transaction lie, for [`History::event`].
    pub fn event_range(&self, transaction: Txn) -> std::ops::Range<usize> {
        let at = transaction.index();
        self.begins[at] as usize..self.begins[at + 1] as usize
    }

    /// An event by its place in the whole history.
    pub fn event(&self, at: usize) -> Event {
        let key = self.event_keys[at];
        Event {
            kind: if key & WRITE == 0 {
                Kind::Read
            } else {
                Kind::Write
            },
            key: Key::new(key & !WRITE),
            value: self.event_values[at],
        }
    }

    /// Every transaction but the initial one.
    pub fn transactions(&self) -> impl DoubleEndedIterator<Item = Txn> + Clone + use<> {
        (1..self.len()).map(Txn::at)
    }

    /// Every transaction, the initial one first.
    pub fn all_transactions(&self) -> impl DoubleEndedIterator<Item = Txn> + Clone + use<> {
        (0..self.len()).map(Txn::at)
    }

    /// Start and commit timestamp, where the history gives them.
    pub fn timestamps(&self, transaction: Txn) -> Option<Span> {
        let span = *self.timestamps.get(transaction.index())?;
        (span != NO_SPAN).then_some(span)
    }

    /// When the transaction was begun and when its end was known, where the history says so.
    pub fn real_time(&self, transaction: Txn) -> Option<Span> {
        let span = *self.real_time.get(transaction.index())?;
        (span != NO_SPAN).then_some(span)
    }

    /// Version orders that the history itself shows: key, values oldest first.
    pub fn orders(&self) -> &[(Key, Vec<Atom>)] {
        &self.orders
    }

    /// Whether reads were of whole lists.
    pub fn has_lists(&self) -> bool {
        self.has_lists
    }

    pub fn order_conflicts(&self) -> &[OrderConflict] {
        &self.order_conflicts
    }

    /// The texts among its atoms.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// An atom as people wrote it.
    pub fn show(&self, atom: Atom) -> String {
        self.texts.show(atom)
    }

    /// What the recorder was promised, where the file says so.
    pub fn promised(&self) -> Option<RecordedPromise> {
        self.promised
    }

    /// An atom as our own line format has it.
    pub fn spelled(&self, atom: Atom) -> String {
        self.texts.spelled(atom)
    }

    /// A transaction as people say it: `T7`, or `T0` for the initial one.
    pub fn name(&self, transaction: Txn) -> String {
        if transaction.is_initial() {
            return "T0".to_owned();
        }
        format!("T{}", self.show(self.label(transaction)))
    }
}
