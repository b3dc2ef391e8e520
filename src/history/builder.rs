//! The raw stage: a history told one transaction after the other.

use super::key_index::KeyIndex;
use super::{
    Atom, Event, History, HistoryError, Interner, Key, Kind, NO_SPAN, OrderConflict,
    RecordedPromise, Span, Status, Texts, Txn, WRITE,
};

/// What a format says of a transaction beside its events.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// The name of its session.
    pub session: Atom,
    /// Its own name.
    pub label: Atom,
    pub status: Status,
    pub timestamps: Option<Span>,
    pub real_time: Option<Span>,
}

/// Collects transactions into a [`History`].
///
/// Keys, sessions and texts get dense numbers in the order of their first appearance.
#[derive(Debug)]
pub struct Builder {
    history: History,
    key_index: KeyIndex,
    session_index: Interner,
    default_initial: Atom,
}

impl Builder {
    /// An empty history whose keys hold `initial` before anyone writes them.
    pub fn new(initial: Atom) -> Self {
        let history = History {
            labels: vec![Atom::from(0)],
            session_of: vec![u32::MAX],
            status: vec![Status::Committed],
            begins: vec![0, 0],
            ..History::default()
        };
        Self {
            history,
            key_index: KeyIndex::default(),
            session_index: Interner::default(),
            default_initial: initial,
        }
    }

    /// What keys hold that nobody wrote, unless said otherwise for a key.
    pub fn default_initial(&self) -> Atom {
        self.default_initial
    }

    /// Says what keys hold that nobody wrote, those that were named already included.
    pub fn set_default_initial(&mut self, initial: Atom) {
        self.assume_initial(initial);
        self.history.is_initial_told = true;
    }

    /// As [`Builder::set_default_initial`], where the file does not say it itself.
    pub fn assume_initial(&mut self, initial: Atom) {
        self.default_initial = initial;
        self.history.initial.fill(initial);
    }

    /// Says what one key holds before anyone writes it.
    pub fn set_initial(&mut self, key: Key, value: Atom) {
        self.history.initial[key] = value;
        self.history.initials_told.push(key);
    }

    /// Says what the recorder was promised.
    pub fn promise(&mut self, promise: RecordedPromise) {
        self.history.promised = Some(promise);
    }

    /// The texts of the history, to make atoms of.
    pub fn texts(&mut self) -> &mut Texts {
        &mut self.history.texts
    }

    /// An atom of a text.
    ///
    /// # Errors
    /// When there are too many texts.
    pub fn text(&mut self, text: &str) -> Result<Atom, HistoryError> {
        let atom = self.history.texts.atom(text);
        atom.ok_or(HistoryError::TooLarge("texts"))
    }

    /// An atom of an unsigned integer of 64 bits.
    ///
    /// # Errors
    /// When there are too many texts, as which those from 2^63 on are kept.
    pub fn natural(&mut self, number: u64) -> Result<Atom, HistoryError> {
        let atom = self.history.texts.natural(number);
        atom.ok_or(HistoryError::TooLarge("texts"))
    }

    /// The number of a key.
    ///
    /// # Errors
    /// When there are too many keys.
    pub fn key(&mut self, name: Atom) -> Result<Key, HistoryError> {
        let keys = &mut self.history.keys;
        let fresh = count(keys.len(), "keys")?;
        if fresh >= WRITE {
            return Err(HistoryError::TooLarge("keys"));
        }
        let found = self.key_index.find_or_insert(name, keys);
        if found == fresh {
            keys.push(name);
            self.history.initial.push(self.default_initial);
        }
        Ok(Key::new(found))
    }

    /// Adds a transaction at the end of its session; its number.
    ///
    /// # Errors
    /// When there are too many transactions, sessions or events.
    pub fn transaction(
        &mut self,
        head: &Head,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<Txn, HistoryError> {
        let history = &mut self.history;
        let number = count(history.status.len(), "transactions")?;
        let sessions = &mut history.sessions;
        let fresh = count(sessions.len(), "sessions")?;
        let equal = |known: u32| sessions[known as usize] == head.session;
        let bits = head.session.bits();
        let session = self.session_index.find_or_insert(bits, fresh, equal);
        if session == fresh {
            sessions.push(head.session);
        }
        history.labels.push(head.label);
        history.session_of.push(session);
        history.status.push(head.status);
        set_span(&mut history.timestamps, number, head.timestamps);
        set_span(&mut history.real_time, number, head.real_time);
        for event in events {
            let flag = match event.kind {
                Kind::Read => 0,
                Kind::Write => WRITE,
            };
            history.event_keys.push(event.key.number() | flag);
            history.event_values.push(event.value);
        }
        let end = count(history.event_keys.len(), "events")?;
        history.begins.push(end);
        Ok(Txn::new(number))
    }

    /// Gives a transaction that was added its timestamps.
    pub fn set_timestamps(&mut self, transaction: Txn, span: Span) {
        let column = &mut self.history.timestamps;
        if column.len() <= transaction.index() {
            column.resize(transaction.index() + 1, NO_SPAN);
        }
        column[transaction] = span;
    }

    /// Says that the versions of a key follow each other like this, oldest first.
    pub fn order(&mut self, key: Key, values: Vec<Atom>) {
        self.history.orders.push((key, values));
    }

    /// Says that reads were of whole lists, each told by its last element.
    pub fn set_lists(&mut self) {
        self.history.has_lists = true;
    }

    /// Says that two transactions read versions of a key that no one order explains.
    pub fn order_conflict(&mut self, conflict: OrderConflict) {
        self.history.order_conflicts.push(conflict);
    }

    /// Makes the first transaction, which only writes and has its session to itself, the initial
    /// one: its values are what its keys hold at the beginning. No transaction may follow.
    pub fn promote_first(&mut self) {
        let history = &mut self.history;
        if history.status.len() < 2 {
            return;
        }
        history.is_initial_told = true;
        history.sessions.remove(0);
        for session in history.session_of.iter_mut().skip(2) {
            *session -= 1;
        }
        let range = history.event_range(Txn::new(1));
        for at in range.clone() {
            let event = history.event(at);
            history.initial[event.key] = event.value;
        }
        history.labels.remove(1);
        history.session_of.remove(1);
        history.status.remove(1);
        for spans in [&mut history.timestamps, &mut history.real_time] {
            if spans.len() > 1 {
                spans.remove(1);
            }
        }
        let gone = history.begins.remove(1 + 1);
        history.begins[1..]
            .iter_mut()
            .skip(1)
            .for_each(|begin| *begin -= gone);
        history.event_keys.drain(range.clone());
        history.event_values.drain(range);
    }

    /// The history so far.
    pub fn so_far(&self) -> &History {
        &self.history
    }

    /// The validated history.
    pub fn finish(self) -> History {
        let mut history = self.history;
        let len = history.status.len();
        for spans in [&mut history.timestamps, &mut history.real_time] {
            if !spans.is_empty() {
                spans.resize(len, NO_SPAN);
            }
        }
        history
    }
}

fn count(len: usize, what: &'static str) -> Result<u32, HistoryError> {
    match u32::try_from(len) {
        Ok(number) if number < u32::MAX - 1 => Ok(number),
        _ => Err(HistoryError::TooLarge(what)),
    }
}

/// Stores a span; the column stays empty as long as nobody gives one.
fn set_span(column: &mut Vec<Span>, number: u32, span: Option<Span>) {
    if let Some(span) = span {
        column.resize(number as usize, NO_SPAN);
        column.push(span);
    }
}
