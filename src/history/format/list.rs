//! List-append histories as register histories, exactly.
//!
//! A list names all versions of its key that came before, so every read of a list is a read of
//! its last element, and the longest list read is the version order. What the order does not name
//! comes after it: it would have been in the list otherwise. An append to a list that the same
//! transaction reads afterwards also says which version it found. Reads of transactions that did
//! not commit say nothing of the order: their own appends stand in them.

use std::collections::BTreeMap;

use crate::history::{
    Atom, Builder, Event, Head, History, HistoryError, Key, Kind, OrderConflict, Status, Txn,
};

/// An event of a transaction on lists or registers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ListEvent {
    /// A read or write of a register. Which of the two is not asked on the way, because the
    /// processor would guess it wrongly half of the time.
    Register(Event),
    Append(Key, Atom),
    ReadList(Key, Vec<Atom>),
}

impl ListEvent {
    /// The number of its key.
    pub(super) fn key(&self) -> Key {
        match *self {
            Self::Register(Event { key, .. }) | Self::Append(key, _) | Self::ReadList(key, _) => {
                key
            }
        }
    }

    pub(super) fn is_write(&self) -> bool {
        match self {
            Self::Register(event) => event.kind == Kind::Write,
            Self::Append(..) => true,
            Self::ReadList(..) => false,
        }
    }

    pub(super) fn read(key: Key, value: Atom) -> Self {
        Self::Register(read(key, value))
    }

    pub(super) fn write(key: Key, value: Atom) -> Self {
        Self::Register(write(key, value))
    }
}

/// Turns transactions on lists into transactions on registers while they are added to a builder.
#[derive(Default)]
pub(super) struct Lists {
    /// Per key the longest list that was read, and by whom.
    longest: Vec<(Vec<Atom>, Txn)>,
    /// Room for the events of a transaction.
    events: Vec<Event>,
}

impl Lists {
    /// Adds a transaction; its number.
    ///
    /// # Errors
    /// When the history grows too large.
    pub(super) fn transaction(
        &mut self,
        builder: &mut Builder,
        head: &Head,
        operations: &[ListEvent],
    ) -> Result<Txn, HistoryError> {
        let mut own: Vec<(Key, Vec<Atom>)> = Vec::new();
        let mut events = std::mem::take(&mut self.events);
        let mut lists = Vec::new();
        for operation in operations {
            match operation {
                ListEvent::Register(event) => events.push(*event),
                ListEvent::Append(key, value) => {
                    match own.iter_mut().find(|(own, _)| own == key) {
                        Some((_, values)) => values.push(*value),
                        None => own.push((*key, vec![*value])),
                    }
                    events.push(write(*key, *value));
                }
                ListEvent::ReadList(key, list) => {
                    let mine = own.iter().find(|(own, _)| own == key);
                    read_list(&mut events, *key, list, mine.map(|(_, values)| &values[..]));
                    lists.push((*key, list));
                }
            }
        }
        let number = builder.transaction(head, events.drain(..))?;
        self.events = events;
        // What a transaction appended that did not commit is in its own reads and in no version.
        if head.status == Status::Committed {
            for (key, list) in lists {
                self.compare(builder, number, key, list);
            }
        }
        Ok(number)
    }

    /// Keeps the longer of two lists; one must begin with the other.
    fn compare(&mut self, builder: &mut Builder, number: Txn, key: Key, list: &[Atom]) {
        let at = key.index();
        if self.longest.len() <= at {
            self.longest.resize(at + 1, (Vec::new(), number));
        }
        let (longest, first) = &mut self.longest[at];
        let is_prefix = longest.iter().zip(list.iter()).all(|(a, b)| a == b);
        if !is_prefix {
            let conflict = OrderConflict {
                key,
                first: *first,
                second: number,
                lists: Some([longest.clone(), list.to_vec()]),
            };
            builder.order_conflict(conflict);
        } else if list.len() > longest.len() {
            *longest = list.to_vec();
            *first = number;
        }
    }

    /// Tells the builder the version orders.
    ///
    /// A value that was appended twice may stand in a list twice; which of the appends the list
    /// means is for a checker to say. A value that stands there more often than it was appended is
    /// a contradiction, and every list that shows it is a beginning of the longest.
    pub(super) fn finish(self, builder: &mut Builder) {
        if !self.longest.is_empty() {
            builder.set_lists();
        }
        let twice = self.longest.iter().map(|(longest, _)| has_twice(longest));
        let twice: Vec<bool> = twice.collect();
        let appended = appended(builder.so_far(), &twice);
        for (key, (longest, reader)) in self.longest.into_iter().enumerate() {
            if twice[key]
                && counts(&longest).iter().any(|(value, count)| {
                    let appends = appended.get(&(Key::at(key), *value));
                    appends.copied().unwrap_or(0) < *count
                })
            {
                builder.order_conflict(OrderConflict {
                    key: Key::at(key),
                    first: reader,
                    second: reader,
                    lists: Some([longest.clone(), longest.clone()]),
                });
            }
            if !longest.is_empty() {
                builder.order(Key::at(key), longest);
            }
        }
    }
}

fn read(key: Key, value: Atom) -> Event {
    let kind = Kind::Read;
    Event { kind, key, value }
}

fn write(key: Key, value: Atom) -> Event {
    let kind = Kind::Write;
    Event { kind, key, value }
}

/// A read of a list is a read of its last element. When the list ends with what the transaction
/// itself appended, what comes before is what it found when it appended first.
fn read_list(events: &mut Vec<Event>, key: Key, list: &[Atom], own: Option<&[Atom]>) {
    let last = |list: &[Atom]| list.last().copied().unwrap_or(Atom::NIL);
    if let Some(found) = own.and_then(|own| list.strip_suffix(own)) {
        let is_first_write = |event: &Event| event.kind == Kind::Write && event.key == key;
        if let Some(at) = events.iter().position(is_first_write) {
            let event = read(key, last(found));
            // One that is there already says it; one that says otherwise is an anomaly.
            if !events[..at].contains(&event) {
                events.insert(at, event);
            }
        }
    }
    events.push(read(key, last(list)));
}

/// How often each value stands in a list.
fn counts(list: &[Atom]) -> BTreeMap<Atom, usize> {
    let mut counts = BTreeMap::new();
    for value in list {
        *counts.entry(*value).or_default() += 1;
    }
    counts
}

/// How often each value was written to the keys that are marked, by transactions that may have
/// taken place.
fn appended(history: &History, of_key: &[bool]) -> BTreeMap<(Key, Atom), usize> {
    let mut appended = BTreeMap::new();
    if !of_key.contains(&true) {
        return appended;
    }
    let real = history.transactions();
    let real = real.filter(|t| history.status(*t) != Status::Aborted);
    for event in real.flat_map(|t| history.events(t)) {
        let is_marked = of_key.get(event.key.index()) == Some(&true);
        if is_marked && event.kind == Kind::Write {
            *appended.entry((event.key, event.value)).or_default() += 1;
        }
    }
    appended
}

fn has_twice(list: &[Atom]) -> bool {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}
