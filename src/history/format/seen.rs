//! Names that may stand in a file once only.

use crate::history::{Atom, Interner};

/// The names that were seen so far, each within something else: a label within a session.
///
/// Files tell the transactions of a session in their order, so that a name is mostly larger than
/// all before it: it is compared with the largest, and kept in a row that is in order.
#[derive(Default)]
pub(super) struct Seen {
    index: Interner,
    within: Vec<Names>,
    /// What came after a larger name, and in what.
    others: Vec<(Atom, Atom)>,
    others_index: Interner,
}

/// The names within one thing.
struct Names {
    of: Atom,
    /// Each larger than the one before it.
    rising: Vec<Atom>,
}

impl Seen {
    /// Whether the name is new.
    pub(super) fn insert(&mut self, within: Atom, name: Atom) -> bool {
        let fresh = u32::try_from(self.within.len()).unwrap_or(u32::MAX - 1);
        let known = &self.within;
        let equal = |at: u32| known[at as usize].of == within;
        let found = self.index.find_or_insert(within.bits(), fresh, equal);
        if found == fresh {
            self.within.push(Names {
                of: within,
                rising: Vec::new(),
            });
        }
        let names = &mut self.within[found as usize];
        if names.rising.last().is_none_or(|last| *last < name) {
            names.rising.push(name);
            return true;
        }
        names.rising.binary_search(&name).is_err() && self.insert_other(within, name)
    }

    fn insert_other(&mut self, within: Atom, name: Atom) -> bool {
        let fresh = u32::try_from(self.others.len()).unwrap_or(u32::MAX - 1);
        let others = &self.others;
        let hash = within.bits().rotate_left(32) ^ name.bits();
        let equal = |known: u32| others[known as usize] == (within, name);
        let found = self.others_index.find_or_insert(hash, fresh, equal);
        if found == fresh {
            self.others.push((within, name));
        }
        found == fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_new_once_in_whatever_order_names_come() {
        let mut seen = Seen::default();
        for (at, name) in [5u32, 7, 6, 9, 1, 8].into_iter().enumerate() {
            for within in [1u32, 2] {
                assert!(seen.insert(within.into(), name.into()), "{at}");
                assert!(!seen.insert(within.into(), name.into()), "{at}");
            }
        }
        assert!(!seen.insert(2u32.into(), 7u32.into()));
    }
}
