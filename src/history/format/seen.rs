//! Names that may stand in a file once only.

use crate::history::{Atom, Interner};

/// The names that were seen so far, each within something else: a label within a session.
#[derive(Default)]
pub(super) struct Seen {
    index: Interner,
    names: Vec<(Atom, Atom)>,
}

impl Seen {
    /// Whether the name is new.
    pub(super) fn insert(&mut self, within: Atom, name: Atom) -> bool {
        let fresh = u32::try_from(self.names.len()).unwrap_or(u32::MAX - 1);
        let names = &self.names;
        let hash = within.bits().rotate_left(32) ^ name.bits();
        let equal = |known: u32| names[known as usize] == (within, name);
        let found = self.index.find_or_insert(hash, fresh, equal);
        if found == fresh {
            self.names.push((within, name));
        }
        found == fresh
    }
}
