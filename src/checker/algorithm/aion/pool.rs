//! Room for the entries of all keys: large chunks, cut into blocks.
//!
//! Blocks that were outgrown wait in free lists. Nothing else is given back one by one: a
//! collection copies what is alive into a pool of its own and drops the old one whole.

use super::entry::Entry;

/// Entries of a chunk, a megabyte; no block crosses its border.
const CHUNK: usize = 1 << 15;

/// The largest block has `1 << CLASS_MAX` entries.
pub(super) const CLASS_MAX: u8 = 6;

/// Chunks of entries, cut into blocks of powers of two.
#[derive(Debug, Default)]
pub(super) struct Pool {
    chunks: Vec<Box<[Entry]>>,
    /// How much of the last chunk is in use.
    used: usize,
    /// Blocks that were outgrown, by class.
    free: [Vec<u32>; CLASS_MAX as usize + 1],
}

impl Pool {
    /// What it takes of the memory.
    pub(super) fn bytes(&self) -> usize {
        let free: usize = self.free.iter().map(Vec::capacity).sum();
        self.chunks.len() * CHUNK * size_of::<Entry>() + free * size_of::<u32>()
    }

    /// A block of `1 << class` entries, by the place of its first.
    pub(super) fn take(&mut self, class: u8) -> u32 {
        if let Some(block) = self.free[class as usize].pop() {
            return block;
        }
        let size = 1usize << class;
        if self.chunks.is_empty() || self.used + size > CHUNK {
            self.chunks.push(vec![Entry::default(); CHUNK].into());
            self.used = 0;
        }
        let place = (self.chunks.len() - 1) * CHUNK + self.used;
        self.used += size;
        // 2^32 entries are 128 GiB: a collection comes long before.
        place as u32
    }

    /// Gives a block back.
    pub(super) fn give(&mut self, block: u32, class: u8) {
        self.free[class as usize].push(block);
    }

    /// The entries of a block.
    #[inline]
    pub(super) fn block(&self, block: u32, class: u8) -> &[Entry] {
        let at = block as usize;
        &self.chunks[at / CHUNK][at % CHUNK..][..1 << class]
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn block_mut(&mut self, block: u32, class: u8) -> &mut [Entry] {
        let at = block as usize;
        &mut self.chunks[at / CHUNK][at % CHUNK..][..1 << class]
    }

    /// One of so many timestamps, those of dead entries among them: enough to tell what is old.
    pub(super) fn sample(&self, every: usize) -> impl Iterator<Item = i64> + '_ {
        let last = self.chunks.len().saturating_sub(1);
        let whole = self.chunks.iter().take(last).flat_map(|chunk| chunk.iter());
        let part = self.chunks.last().into_iter();
        let part = part.flat_map(|chunk| chunk[..self.used].iter());
        whole.chain(part).step_by(every).map(|entry| entry.at)
    }
}
