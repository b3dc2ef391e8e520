//! The keys that were read or written recently.

use super::entry::Entry;
use super::timeline::List;
use crate::history::{Atom, Interner};

/// A key: a cache line, so that a read or a write that comes in order touches one.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct KeyState {
    pub(super) name: Atom,
    /// Its last version by commit timestamp, if it has [`KeyState::HAS_VERSION`].
    pub(super) newest: Entry,
    /// The versions before it; its flags are the key's.
    pub(super) older: List,
    /// Recent reads; final ones stay among them until the list is next cleaned.
    pub(super) reads: List,
    /// How long its writers took at most, in the unit of the timestamps.
    pub(super) longest: i64,
}

impl KeyState {
    /// Whether a transaction wrote it.
    pub(super) const HAS_VERSION: u8 = 1;
    /// Whether versions older than those in memory are on disk.
    pub(super) const SPILLED: u8 = 2;
    /// Whether its newest version is on disk as well.
    pub(super) const CLEAN: u8 = 4;

    #[inline]
    pub(super) fn is(&self, flag: u8) -> bool {
        self.older.flags & flag != 0
    }

    pub(super) fn set(&mut self, flag: u8) {
        self.older.flags |= flag;
    }

    pub(super) fn unset(&mut self, flag: u8) {
        self.older.flags &= !flag;
    }
}

/// Keys of a chunk, half a megabyte: a growing table of all of them would be there twice at times.
const CHUNK: usize = 1 << 13;

/// The keys by name.
#[derive(Debug, Default)]
pub(super) struct KeyStates {
    chunks: Vec<Vec<KeyState>>,
    index: Interner,
    len: usize,
}

impl KeyStates {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// What they take of the memory. The index is there twice while it grows.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<KeyState>() + self.index.bytes() * 3 / 2
    }

    /// The number of a key, and whether it is new.
    #[inline]
    pub(super) fn find_or_insert(&mut self, name: Atom) -> (u32, bool) {
        let fresh = self.len as u32;
        let chunks = &self.chunks;
        let equal =
            |known: u32| chunks[known as usize / CHUNK][known as usize % CHUNK].name == name;
        let found = self.index.find_or_insert(name.bits(), fresh, equal);
        if found == fresh {
            self.push(KeyState {
                name,
                ..KeyState::default()
            });
        }
        (found, found == fresh)
    }

    /// The number of a key that is here.
    pub(super) fn find(&self, name: Atom) -> Option<u32> {
        let equal = |known: u32| self.get(known).name == name;
        self.index.find(name.bits(), equal)
    }

    fn push(&mut self, key: KeyState) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(key);
        }
        self.len += 1;
    }

    #[inline]
    pub(super) fn get(&self, key: u32) -> &KeyState {
        &self.chunks[key as usize / CHUNK][key as usize % CHUNK]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: u32) -> &mut KeyState {
        &mut self.chunks[key as usize / CHUNK][key as usize % CHUNK]
    }

    /// All keys with their numbers, by name.
    pub(super) fn sorted(&self) -> Vec<(Atom, u32)> {
        let keys = self.chunks.iter().flatten();
        let mut all: Vec<(Atom, u32)> = keys.map(|key| key.name).zip(0..).collect();
        all.sort_unstable();
        all
    }
}
