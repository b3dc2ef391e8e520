//! What is to be looked at when one vertex comes to lead to another.

use crate::checker::resolved::arcs::Rows;
use crate::checker::resolved::vertex::Vertex;

/// What it means that one vertex leads to another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Watch {
    /// An edge of this literal would close a cycle.
    Edge(u32),
    /// A chain precedes the reader of an open read.
    Precedes { chain: u32, read: u32 },
    /// A chain, of whose last version an open read may be, precedes another.
    Follows { chain: u32, other: u32 },
}

/// Watches by the two vertices.
#[derive(Debug)]
pub(super) struct Watches {
    /// Words in a row.
    width: usize,
    /// Row `v`: the vertices of which it matters whether `v` leads to them, as bits.
    mask: Vec<u64>,
    /// For each word of it how many bits come before.
    rank: Vec<u32>,
    /// By pair of vertices, in the order of the bits.
    of_pair: Rows<usize, Watch>,
}

impl Watches {
    pub(super) fn new(len: usize, watches: &[(Vertex, Vertex, Watch)]) -> Self {
        let width = len.div_ceil(64);
        let mut mask = vec![0u64; width * len];
        for (from, to, _) in watches {
            mask[from.index() * width + to.index() / 64] |= 1 << (to.index() % 64);
        }
        let mut count = 0;
        let before = |word: &u64| {
            let before = count;
            count += word.count_ones();
            before
        };
        let rank = mask.iter().map(before).collect();
        let mut all = Self {
            width,
            mask,
            rank,
            of_pair: Rows::of(0, &[]),
        };
        let watches: Vec<(usize, Watch)> = watches
            .iter()
            .map(|(from, to, watch)| (all.pair(*from, *to), *watch))
            .collect();
        all.of_pair = Rows::of(count as usize, &watches);
        all
    }

    /// Those of a word of vertices that are watched.
    pub(super) fn watched(&self, from: Vertex, place: usize, word: u64) -> u64 {
        word & self.mask[from.index() * self.width + place]
    }

    /// What is to be looked at for a pair that is watched.
    pub(super) fn of(&self, from: Vertex, to: Vertex) -> &[Watch] {
        self.of_pair.row(self.pair(from, to))
    }

    fn pair(&self, from: Vertex, to: Vertex) -> usize {
        let at = from.index() * self.width + to.index() / 64;
        let below = self.mask[at] & ((1 << (to.index() % 64)) - 1);
        (self.rank[at] + below.count_ones()) as usize
    }
}
