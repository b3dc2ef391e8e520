//! Which cases are done: ranges of indexes, and the handing out of blocks to workers.

use serde::{Deserialize, Serialize};

use super::settings::Cases;

/// Cases that share a schema: they go to one worker, which then need not change it.
pub(super) const BLOCK: u64 = 25;

/// Sorted, disjoint, half-open ranges of case indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    ranges: Vec<(u64, u64)>,
}

impl Done {
    /// Adds one index.
    pub fn insert(&mut self, index: u64) {
        let at = self.ranges.partition_point(|(_, end)| *end < index);
        match self.ranges.get_mut(at) {
            Some((start, end)) if *start <= index && index < *end => return,
            Some((_, end)) if *end == index => *end += 1,
            Some((start, _)) if *start == index + 1 => *start = index,
            _ => self.ranges.insert(at, (index, index + 1)),
        }
        if at + 1 < self.ranges.len() && self.ranges[at].1 == self.ranges[at + 1].0 {
            self.ranges[at].1 = self.ranges[at + 1].1;
            self.ranges.remove(at + 1);
        }
    }

    /// Whether an index is in.
    pub fn contains(&self, index: u64) -> bool {
        let at = self.ranges.partition_point(|(_, end)| *end <= index);
        self.ranges
            .get(at)
            .is_some_and(|(start, _)| *start <= index)
    }

    /// The lowest index that is not in.
    pub fn first_missing(&self) -> u64 {
        match self.ranges.first() {
            Some((0, end)) => *end,
            _ => 0,
        }
    }
}

/// Hands out blocks of case indexes, each index once.
#[derive(Debug)]
pub(super) struct Allotment {
    /// Indexes below this one are not wanted.
    first: u64,
    next_block: u64,
    /// No index from here on.
    limit: Option<u64>,
}

impl Allotment {
    /// Begins with the block of the first case that is not done.
    pub(super) fn new(done: &Done, cases: Cases) -> Self {
        match cases {
            Cases::Count(limit) => Self {
                first: 0,
                next_block: done.first_missing() / BLOCK,
                limit,
            },
            Cases::Only(index) => Self {
                first: index,
                next_block: index / BLOCK,
                limit: Some(index.saturating_add(1)),
            },
        }
    }

    /// The indexes of the next block that are not done yet; none when there is no more.
    pub(super) fn next(&mut self, done: &Done) -> Option<Vec<u64>> {
        loop {
            let start = self.next_block * BLOCK;
            let end = self
                .limit
                .map_or(start + BLOCK, |limit| limit.min(start + BLOCK));
            if start >= end {
                return None;
            }
            self.next_block += 1;
            let indexes: Vec<u64> = (start.max(self.first)..end)
                .filter(|index| !done.contains(*index))
                .collect();
            if !indexes.is_empty() {
                return Some(indexes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn done_is_a_set(indexes in proptest::collection::vec(0_u64..60, 0..80)) {
            let mut done = Done::default();
            let mut expected = BTreeSet::new();
            for index in indexes {
                done.insert(index);
                expected.insert(index);
                prop_assert!(done.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
            for index in 0..61 {
                prop_assert_eq!(done.contains(index), expected.contains(&index));
            }
            let missing = (0..).find(|index| !expected.contains(index));
            prop_assert_eq!(Some(done.first_missing()), missing);
        }

        #[test]
        fn every_index_is_handed_out_once(
            finished in proptest::collection::btree_set(0_u64..200, 0..150),
            limit in 0_u64..200,
        ) {
            let mut done = Done::default();
            finished.iter().for_each(|index| done.insert(*index));
            let mut allotment = Allotment::new(&done, Cases::Count(Some(limit)));
            let mut given = Vec::new();
            while let Some(block) = allotment.next(&done) {
                given.extend(block);
            }
            let mut alone = Allotment::new(&Done::default(), Cases::Only(limit));
            prop_assert_eq!(alone.next(&Done::default()), Some(vec![limit]));
            prop_assert_eq!(alone.next(&Done::default()), None);
            let expected: Vec<u64> = (0..limit).filter(|index| !finished.contains(index)).collect();
            prop_assert_eq!(given, expected);
        }
    }
}
