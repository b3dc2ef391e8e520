//! The last transaction of every session.

use crate::history::{Atom, Interner, NamedEvent, Span};

/// What a session did last.
#[derive(Clone, Copy, Debug)]
struct Session {
    name: Atom,
    /// The latest commit, and whose it is.
    ended: i64,
    label: Atom,
    /// The transaction that came last.
    span: Span,
    digest: u64,
}

/// The sessions by name.
#[derive(Debug, Default)]
pub(super) struct SessionEnds {
    sessions: Vec<Session>,
    index: Interner,
    /// Sessions whose last commit was not later than this may have been forgotten.
    forgotten: Option<i64>,
}

/// What a session says of its next transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Succession {
    /// It follows what came before.
    Follows,
    /// It begins before this transaction of its session ended.
    Before(Atom),
    /// It is the transaction that came last, once more.
    Again,
    /// The session may have been forgotten.
    Forgotten,
}

impl SessionEnds {
    /// What they take of the memory.
    pub(super) fn bytes(&self) -> usize {
        self.sessions.capacity() * size_of::<Session>() + self.index.bytes()
    }

    /// Adds a transaction to its session. It must not begin, which is when it reads, before the
    /// latest commit of its session.
    pub(super) fn add(
        &mut self,
        name: Atom,
        label: Atom,
        span: Span,
        begins: i64,
        events: &[NamedEvent],
    ) -> Succession {
        let fresh = self.sessions.len() as u32;
        let sessions = &self.sessions;
        let equal = |known: u32| sessions[known as usize].name == name;
        let found = self.index.find_or_insert(name.bits(), fresh, equal);
        let digest = digest(events);
        let told = Session {
            name,
            ended: span.to,
            label,
            span,
            digest,
        };
        if found == fresh {
            self.sessions.push(told);
            return match self.forgotten {
                Some(ended) if begins < ended => Succession::Forgotten,
                _ => Succession::Follows,
            };
        }
        let session = &mut self.sessions[found as usize];
        let is_longer = span.from < span.to;
        if is_longer && (session.span, session.digest) == (span, digest) {
            return Succession::Again;
        }
        (session.span, session.digest) = (span, digest);
        let (ended, before) = (session.ended, session.label);
        if span.to >= ended {
            (session.ended, session.label) = (span.to, label);
        }
        if begins < ended {
            Succession::Before(before)
        } else {
            Succession::Follows
        }
    }

    /// Forgets sessions that ended at or before a moment.
    pub(super) fn forget(&mut self, until: i64) {
        self.sessions.retain(|session| session.ended > until);
        self.sessions.shrink_to_fit();
        self.forgotten = self.forgotten.max(Some(until));
        self.index = Interner::with_capacity(self.sessions.len());
        for (number, session) in (0..).zip(&self.sessions) {
            self.index
                .find_or_insert(session.name.bits(), number, |_| false);
        }
    }
}

/// Tells the events of two transactions apart (FNV-1a by words).
fn digest(events: &[NamedEvent]) -> u64 {
    let words = events.iter().flat_map(|event| {
        let kind = event.kind as u64;
        [event.key.bits() ^ kind << 63, event.value.bits()]
    });
    words.fold(0xcbf2_9ce4_8422_2325, |digest: u64, word| {
        (digest ^ word)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(29)
    })
}
