//! Transactions on their way from a recorder to a checker.

use super::format::LineContent;
use super::{Atom, Head, NamedEvent};

/// Some transactions, in the order in which they are told, in flat arrays that can be used again.
#[derive(Debug, Default)]
pub struct Batch {
    heads: Vec<(Head, usize)>,
    events: Vec<NamedEvent>,
    initial: Option<Atom>,
    initials: Vec<(Atom, Atom)>,
    has_lists: bool,
}

impl Batch {
    /// Adds a transaction.
    pub fn push(&mut self, head: &Head, events: &[NamedEvent]) {
        self.events.extend_from_slice(events);
        self.heads.push((*head, self.events.len()));
    }

    /// Adds what a line of our own format says.
    pub fn take(&mut self, item: LineContent<'_>) {
        match item {
            LineContent::Transaction(told) => {
                self.has_lists |= !told.lists.is_empty();
                self.push(&told.head, told.events);
            }
            LineContent::Initial(value) => self.initial = Some(value),
            LineContent::InitialOf { key, value } => self.initials.push((key, value)),
            LineContent::Order { .. } => self.has_lists = true,
            // Who watches has named the model.
            LineContent::Promised { .. } => {}
        }
    }

    /// The transactions.
    pub fn transactions(&self) -> impl ExactSizeIterator<Item = (&Head, &[NamedEvent])> {
        let mut begin = 0;
        self.heads.iter().map(move |(head, end)| {
            let events = &self.events[begin..*end];
            begin = *end;
            (head, events)
        })
    }

    /// What every key holds at first, if that is said here.
    pub fn initial(&self) -> Option<Atom> {
        self.initial
    }

    /// What single keys hold at first.
    pub fn initials(&self) -> &[(Atom, Atom)] {
        &self.initials
    }

    /// Whether lists were told, which a batch does not hold.
    pub fn has_lists(&self) -> bool {
        self.has_lists
    }

    /// Whether it says nothing at all.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.initial.is_none() && self.initials.is_empty()
    }

    /// Forgets everything but the room.
    pub fn clear(&mut self) {
        self.heads.clear();
        self.events.clear();
        self.initial = None;
        self.initials.clear();
        self.has_lists = false;
    }
}
