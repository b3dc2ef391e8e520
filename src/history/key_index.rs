//! From the names of keys to their numbers.

use super::{Atom, Interner};

/// Finds the number of a key.
///
/// Most histories name their keys by small integers: a table that is read at the place of the name
/// costs one cache miss where a hash costs two, and most of what reading a large history takes is
/// cache misses. The table is kept only where most names lie in it.
#[derive(Debug, Default)]
pub(super) struct KeyIndex {
    /// Number plus one of the integer at this place; zero where there is none. Every integer key
    /// that lies within it is in it, and in it alone.
    table: Vec<u32>,
    others: Interner,
    /// How many keys there are when the table is looked at again.
    next_look: usize,
}

/// So many places for each key.
const PLACES: usize = 8;

/// Fewer keys are found soon enough.
const KEYS_MIN: usize = 1024;

impl KeyIndex {
    /// The number of a name, or the one after all `names`, which is its own from now on.
    pub(super) fn find_or_insert(&mut self, name: Atom, names: &[Atom]) -> u32 {
        let fresh = names.len() as u32;
        if let Some(place) = self.place(name) {
            let found = &mut self.table[place];
            if *found == 0 {
                *found = fresh + 1;
                self.grow(name, names);
                return fresh;
            }
            return *found - 1;
        }
        let equal = |known: u32| names[known as usize] == name;
        let found = self.others.find_or_insert(name.bits(), fresh, equal);
        if found == fresh {
            self.grow(name, names);
        }
        found
    }

    fn place(&self, name: Atom) -> Option<usize> {
        name.as_place().filter(|place| *place < self.table.len())
    }

    /// Each time that there are twice as many keys, enlarges the table if most keys lie in it then.
    fn grow(&mut self, newest: Atom, names: &[Atom]) {
        if names.len() < self.next_look.max(KEYS_MIN) {
            return;
        }
        self.next_look = names.len() * 2;
        let room = (names.len() * PLACES).next_power_of_two();
        let all = || names.iter().chain([&newest]);
        let place = |name: &Atom| name.as_place().filter(|place| *place < room);
        if room <= self.table.len() || all().filter_map(place).count() * 2 < names.len() {
            return;
        }
        self.table = vec![0; room];
        self.others = Interner::default();
        for (number, name) in (0u32..).zip(all()) {
            match place(name) {
                Some(place) => self.table[place] = number + 1,
                None => {
                    let differs = |_: u32| false;
                    self.others.find_or_insert(name.bits(), number, differs);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the names are like, each has the number of its first appearance.
    #[test]
    fn every_name_has_one_number() {
        const DENSE: fn(u64) -> i64 = |at| (at * 7919 % 5000) as i64;
        const SPARSE: fn(u64) -> i64 = |at| DENSE(at) * 1_000_000_007;
        const SIGNED: fn(u64) -> i64 = |at| DENSE(at) - 2500;
        const MIXED: fn(u64) -> i64 = |at| [DENSE, SPARSE][usize::from(at % 3 == 0)](at);
        for draw in [DENSE, SPARSE, SIGNED, MIXED] {
            let mut index = KeyIndex::default();
            let mut names: Vec<Atom> = Vec::new();
            for at in 0..20_000 {
                let name = Atom::integer(draw(at)).expect("an atom");
                let expected = names.iter().position(|known| *known == name);
                let found = index.find_or_insert(name, &names) as usize;
                assert_eq!(found, expected.unwrap_or(names.len()), "{at}");
                if found == names.len() {
                    names.push(name);
                }
            }
        }
    }

    #[test]
    fn a_table_is_kept_where_most_names_lie_in_it() {
        let table = |step: u32| {
            let (mut index, mut names) = (KeyIndex::default(), Vec::new());
            for at in 0..5000u32 {
                let name = Atom::from(at * step);
                index.find_or_insert(name, &names);
                names.push(name);
            }
            index.table.len()
        };
        assert!(table(1) >= 5000);
        assert_eq!(table(1000), 0);
    }
}
