//! A map from hashes to dense numbers, the same on every machine.

/// Finds a number by a hash and an equality of the caller's; open addressing, linear probing.
///
/// The standard hash map draws its hasher at random, and an ordered map costs 20 cache misses an
/// event on histories of millions of events. Nothing ever iterates over this one, so that its
/// layout decides no order.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    /// Number plus one in the upper half, hash in the lower; zero where nothing is. A power of
    /// two long, or empty.
    slots: Vec<u64>,
    len: usize,
}

/// Spreads a key over 64 bits (the finalizer of MurmurHash3).
fn spread(mut bits: u64) -> u64 {
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

/// The half of a slot that is compared with a hash.
const TAG: u64 = 0xffff_ffff;

impl Interner {
    /// Room for as many entries without growing.
    pub fn with_capacity(entries: usize) -> Self {
        Self {
            slots: vec![0; (entries * 2).next_power_of_two().max(16)],
            len: 0,
        }
    }

    /// What it takes of the memory.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }

    /// The number that was stored under an equal key, or `fresh` after having stored it.
    ///
    /// `fresh` must be less than [`u32::MAX`].
    pub fn find_or_insert(&mut self, hash: u64, fresh: u32, equal: impl Fn(u32) -> bool) -> u32 {
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let tag = spread(hash) & TAG;
        match self.probe(tag, equal) {
            Ok(known) => known,
            Err(at) => {
                self.slots[at] = (u64::from(fresh) + 1) << 32 | tag;
                self.len += 1;
                fresh
            }
        }
    }

    /// The number that was stored under an equal key.
    pub fn find(&self, hash: u64, equal: impl Fn(u32) -> bool) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        self.probe(spread(hash) & TAG, equal).ok()
    }

    /// The number under an equal key, or the free slot where it would stand.
    fn probe(&self, tag: u64, equal: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = tag as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            let known = (slot >> 32) as u32 - 1;
            if slot & TAG == tag && equal(known) {
                return Ok(known);
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let room = (self.slots.len() * 2).max(16);
        let old = std::mem::replace(&mut self.slots, vec![0; room]);
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            let mut at = (slot & TAG) as usize & (room - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (room - 1);
            }
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_is_found_and_nothing_else() {
        let keys: Vec<u64> = (0..10_000u64)
            .map(|i| i.wrapping_mul(i) ^ (i << 40))
            .collect();
        let mut interner = Interner::default();
        for (number, key) in keys.iter().enumerate() {
            let fresh = number as u32;
            let found = interner.find_or_insert(*key, fresh, |known| keys[known as usize] == *key);
            assert_eq!(keys[found as usize], *key);
        }
        for key in 0..300u64 {
            let found = interner.find(key, |known| keys[known as usize] == key);
            assert_eq!(found.is_some(), keys.contains(&key), "{key}");
        }
    }

    /// The same hash for all keys: only the equality tells them apart.
    #[test]
    fn equal_hashes_do_not_merge_different_keys() {
        let mut interner = Interner::default();
        for number in 0..50 {
            assert_eq!(
                interner.find_or_insert(7, number, |known| known == number),
                number
            );
        }
        assert_eq!(interner.find(7, |known| known == 31), Some(31));
        assert_eq!(interner.find(8, |_| true), None);
    }
}
