//! What happened to one key, sorted by timestamp and searchable by it.

use super::entry::Entry;
use super::pool::{CLASS_MAX, Pool};

/// How many entries of a sorted list are not later than a moment. What is asked for lies near the
/// end, as a rule, so that the search begins there with short steps.
#[inline]
pub(super) fn until(entries: &[Entry], at: i64) -> usize {
    let (mut high, mut step) = (entries.len(), 1);
    while let Some(low) = entries.len().checked_sub(step) {
        if entries[low].at <= at {
            let between = entries[low + 1..high].partition_point(|entry| entry.at <= at);
            return low + 1 + between;
        }
        high = low;
        step *= 2;
    }
    entries[..high].partition_point(|entry| entry.at <= at)
}

/// A sorted list of entries in [`Timelines`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct List {
    /// Its block, or its number among the long ones.
    place: u32,
    len: u16,
    /// A [`Class`] in a byte: 0 for an empty one, then the blocks, then the long ones.
    class: u8,
    /// What its owner wants to remember.
    pub(super) flags: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Empty,
    /// A block of so many entries as a power of two.
    Block(u8),
    Long,
}

impl List {
    #[inline]
    fn class(self) -> Class {
        match self.class {
            0 => Class::Empty,
            class if class <= CLASS_MAX + 1 => Class::Block(class - 1),
            _ => Class::Long,
        }
    }

    fn set_class(&mut self, class: Class) {
        self.class = match class {
            Class::Empty => 0,
            Class::Block(class) => class + 1,
            Class::Long => CLASS_MAX + 2,
        };
    }
}

/// All lists.
#[derive(Debug, Default)]
pub(super) struct Timelines {
    pool: Pool,
    /// Lists that are longer than the largest block.
    longs: Vec<Vec<Entry>>,
    long_bytes: usize,
}

impl Timelines {
    /// What they take of the memory.
    pub(super) fn bytes(&self) -> usize {
        self.pool.bytes() + self.long_bytes + self.longs.capacity() * size_of::<Vec<Entry>>()
    }

    /// See [`Pool::sample`].
    pub(super) fn sample(&self, every: usize) -> impl Iterator<Item = i64> + '_ {
        let longs = self.longs.iter().flatten().step_by(every);
        self.pool.sample(every).chain(longs.map(|entry| entry.at))
    }

    /// The entries of a list, oldest first.
    #[inline]
    pub(super) fn entries(&self, list: List) -> &[Entry] {
        match list.class() {
            Class::Empty => &[],
            Class::Block(class) => &self.pool.block(list.place, class)[..list.len as usize],
            Class::Long => &self.longs[list.place as usize],
        }
    }

    /// The same, to be changed; their timestamps stay.
    #[inline]
    pub(super) fn entries_mut(&mut self, list: List) -> &mut [Entry] {
        match list.class() {
            Class::Empty => &mut [],
            Class::Block(class) => &mut self.pool.block_mut(list.place, class)[..list.len as usize],
            Class::Long => &mut self.longs[list.place as usize],
        }
    }

    /// Whether the next insertion moves the list to a larger place.
    #[inline]
    pub(super) fn is_full(&self, list: List) -> bool {
        match list.class() {
            Class::Empty => false,
            Class::Block(class) => list.len == 1 << class,
            Class::Long => {
                let long = &self.longs[list.place as usize];
                long.len() == long.capacity()
            }
        }
    }

    /// Adds an entry after those that are not later.
    #[inline]
    pub(super) fn insert(&mut self, list: &mut List, entry: Entry) {
        if list.class() == Class::Empty || self.is_full(*list) {
            self.grow(list);
        }
        if list.class() == Class::Long {
            let long = &mut self.longs[list.place as usize];
            if long.last().is_none_or(|last| last.at <= entry.at) {
                long.push(entry);
            } else {
                long.insert(until(long, entry.at), entry);
            }
            return;
        }
        let len = list.len as usize;
        list.len += 1;
        let entries = self.entries_mut(*list);
        if len > 0 && entries[len - 1].at > entry.at {
            let at = until(&entries[..len], entry.at);
            entries.copy_within(at..len, at + 1);
            entries[at] = entry;
        } else {
            entries[len] = entry;
        }
    }

    #[cold]
    fn grow(&mut self, list: &mut List) {
        match list.class() {
            Class::Empty => {
                list.place = self.pool.take(0);
                list.set_class(Class::Block(0));
                list.len = 0;
            }
            Class::Block(class) if class < CLASS_MAX => {
                let mut kept = [Entry::default(); 1 << CLASS_MAX];
                let len = 1usize << class;
                kept[..len].copy_from_slice(self.pool.block(list.place, class));
                self.pool.give(list.place, class);
                list.place = self.pool.take(class + 1);
                list.set_class(Class::Block(class + 1));
                self.pool.block_mut(list.place, class + 1)[..len].copy_from_slice(&kept[..len]);
            }
            Class::Block(class) => {
                let mut long = Vec::with_capacity(4 << class);
                long.extend_from_slice(self.pool.block(list.place, class));
                self.pool.give(list.place, class);
                self.long_bytes += long.capacity() * size_of::<Entry>();
                list.place = self.longs.len() as u32;
                list.set_class(Class::Long);
                self.longs.push(long);
            }
            Class::Long => {
                let long = &mut self.longs[list.place as usize];
                let before = long.capacity();
                long.reserve_exact(before / 2);
                self.long_bytes += (long.capacity() - before) * size_of::<Entry>();
            }
        }
    }

    /// Drops what is not to be kept; the order stays.
    pub(super) fn retain(&mut self, list: &mut List, keep: impl Fn(&Entry) -> bool) {
        if list.class() == Class::Long {
            self.longs[list.place as usize].retain(keep);
            return;
        }
        let mut kept = 0;
        let entries = self.entries_mut(*list);
        for at in 0..entries.len() {
            if keep(&entries[at]) {
                entries[kept] = entries[at];
                kept += 1;
            }
        }
        list.len = kept as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_sorted_whatever_comes_when() {
        let mut timelines = Timelines::default();
        let mut lists = [List::default(); 3];
        let mut expected: [Vec<i64>; 3] = Default::default();
        let mut seed = 7u64;
        for _ in 0..3_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // The third list stays short, so that classes mix.
            let which = [0, 1, 0, 1, 2][(seed >> 40) as usize % 5];
            let at = (seed >> 50) as i64;
            if which == 2 && expected[2].len() > 40 {
                timelines.retain(&mut lists[2], |entry| entry.at % 2 == 0);
                expected[2].retain(|at| at % 2 == 0);
            }
            let entry = Entry {
                at,
                ..Entry::default()
            };
            timelines.insert(&mut lists[which], entry);
            let place = expected[which].partition_point(|known| *known <= at);
            assert_eq!(until(timelines.entries(lists[which]), at), place + 1);
            expected[which].insert(place, at);
        }
        for (list, expected) in lists.into_iter().zip(expected) {
            let found: Vec<i64> = timelines.entries(list).iter().map(|e| e.at).collect();
            assert_eq!(found, expected);
        }
    }
}
