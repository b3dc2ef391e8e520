//! From a key and a value to the versions that hold it.

use std::collections::BTreeMap;

use super::version::Version;
use crate::history::{Atom, History, Interner, Key, Kind};

/// The versions of every key by their values.
///
/// Values are mostly small integers, each written once: a table that is read at the place of the
/// value costs one cache miss where a hash costs two. What does not fit there, or finds its place
/// taken by another key, is found by a hash. What keys hold at first is not entered.
pub(in crate::checker) struct ValueIndex<'h> {
    history: &'h History,
    /// What all keys hold at first, if that is one value.
    initial: Option<Atom>,
    /// Entry plus one by value; zero where nothing is.
    table: Vec<u32>,
    others: Interner,
    /// Value, key, version: in one line of cache.
    entries: Vec<(Atom, Key, Version)>,
    /// Entries of values that several transactions wrote, with all their versions.
    shared: BTreeMap<u32, Vec<Version>>,
}

/// Which versions hold a value.
pub(in crate::checker) enum Holders<'i> {
    None,
    One(Version),
    /// Oldest in the file first.
    Several(&'i [Version]),
}

impl<'h> ValueIndex<'h> {
    pub(in crate::checker) fn new(history: &'h History) -> Self {
        let keys = history.all_keys();
        let mut initials = keys.map(|key| history.initial(key));
        let first = initials.next();
        let writes = (0..history.event_count()).map(|at| history.event(at));
        let values = writes.filter(|event| event.kind == Kind::Write);
        let count = values.clone().count();
        let room = (count * 2).next_power_of_two();
        let fits = |value: &Atom| value.as_place().is_some_and(|place| place < room);
        let is_dense = values.filter(|event| fits(&event.value)).count() * 2 > count;
        Self {
            history,
            initial: first.filter(|first| initials.all(|other| other == *first)),
            table: vec![0; if is_dense { room } else { 0 }],
            others: match is_dense {
                true => Interner::default(),
                false => Interner::with_capacity(count),
            },
            entries: Vec::with_capacity(count),
            shared: BTreeMap::new(),
        }
    }

    fn initial(&self, key: Key) -> Atom {
        self.initial.unwrap_or_else(|| self.history.initial(key))
    }

    /// Enters a version that a transaction wrote. The initial version of a key has the
    /// number of the key.
    pub(in crate::checker) fn insert(&mut self, key: Key, value: Atom, version: Version) {
        let first = match value == self.initial(key) {
            true => Version::initial(key),
            false => version,
        };
        let fresh = self.entries.len() as u32;
        let entry = self.find_or_insert(key, value, fresh);
        if entry == fresh {
            self.entries.push((value, key, first));
        }
        if entry != fresh || first != version {
            let first = self.entries[entry as usize].2;
            let all = self.shared.entry(entry).or_insert_with(|| vec![first]);
            all.push(version);
        }
    }

    fn find_or_insert(&mut self, key: Key, value: Atom, fresh: u32) -> u32 {
        let entries = &self.entries;
        let equal = |known: u32| is_at(entries, known, key, value);
        if let Some(slot) = value.as_place().and_then(|place| self.table.get_mut(place)) {
            match slot.checked_sub(1) {
                None => {
                    *slot = fresh + 1;
                    return fresh;
                }
                Some(known) if equal(known) => return known,
                Some(_) => {}
            }
        }
        self.others.find_or_insert(hash(key, value), fresh, equal)
    }

    /// The versions that hold this value, that from before everything included.
    pub(in crate::checker) fn find(&self, key: Key, value: Atom) -> Holders<'_> {
        let equal = |known: u32| is_at(&self.entries, known, key, value);
        let slot = value.as_place().and_then(|place| self.table.get(place));
        let known = slot.and_then(|slot| slot.checked_sub(1));
        let entry = known
            .filter(|known| equal(*known))
            .or_else(|| self.others.find(hash(key, value), equal));
        match entry {
            None if value == self.initial(key) => Holders::One(Version::initial(key)),
            None => Holders::None,
            Some(entry) => match self.shared.get(&entry) {
                None => Holders::One(self.entries[entry as usize].2),
                Some(all) => Holders::Several(all),
            },
        }
    }
}

fn is_at(entries: &[(Atom, Key, Version)], entry: u32, key: Key, value: Atom) -> bool {
    let entry = entries[entry as usize];
    (entry.0, entry.1) == (value, key)
}

fn hash(key: Key, value: Atom) -> u64 {
    value.bits() ^ u64::from(key.number()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Builder, Event, Head, Status};

    /// Few values on few keys, dense and sparse: every version is found under its value, in order.
    #[test]
    fn every_version_is_found_under_its_value() {
        for step in [1i64, 1_000_000_007] {
            let mut builder = Builder::new(Atom::from(0));
            let mut expected: BTreeMap<(Key, i64), Vec<Version>> = BTreeMap::new();
            let keys = (0..5u32).map(|key| builder.key(key.into()).expect("few"));
            let keys: Vec<Key> = keys.collect();
            for key in &keys {
                expected.insert((*key, 0), vec![Version::initial(*key)]);
            }
            let mut written = Vec::new();
            for at in 0..200u32 {
                let (key, value) = (Key::new(at * 7 % 5), i64::from(at * 31 % 97) * step);
                written.push((key, value));
                expected
                    .entry((key, value))
                    .or_default()
                    .push(Version::new(5 + at));
                let event = Event {
                    kind: Kind::Write,
                    key,
                    value: Atom::integer(value).expect("an atom"),
                };
                let head = Head {
                    session: Atom::from(1),
                    label: at.into(),
                    status: Status::Committed,
                    timestamps: None,
                    real_time: None,
                };
                builder.transaction(&head, [event]).expect("few");
            }
            let history = builder.finish();
            let mut index = ValueIndex::new(&history);
            for (version, (key, value)) in (5u32..).map(Version::new).zip(&written) {
                index.insert(*key, Atom::integer(*value).expect("an atom"), version);
            }
            for key in keys {
                for value in (-1..100).map(|value| value * step) {
                    let found = match index.find(key, Atom::integer(value).expect("an atom")) {
                        Holders::None => Vec::new(),
                        Holders::One(version) => vec![version],
                        Holders::Several(all) => all.to_vec(),
                    };
                    let expected = expected.get(&(key, value)).cloned().unwrap_or_default();
                    assert_eq!(found, expected, "{key:?} {value}");
                }
            }
        }
    }
}
