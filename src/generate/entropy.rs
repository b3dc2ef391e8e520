//! The source of randomness: bytes decided by a seed.

use arbitrary::Unstructured;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Random bytes of one case. The largest of 2,600 cases used 1,522; when they run
/// out, every draw takes its first choice and the case ends small.
const BYTES: usize = 8 * 1024;

/// The bytes for a purpose, a run seed and an index: the same on every machine and in every
/// version.
pub(super) fn bytes(purpose: &str, run_seed: u64, index: u64) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(purpose.as_bytes());
    hasher.update(&[0]);
    hasher.update(&run_seed.to_le_bytes());
    hasher.update(&index.to_le_bytes());
    let mut generator = ChaCha8Rng::from_seed(*hasher.finalize().as_bytes());
    let mut bytes = vec![0; BYTES];
    generator.fill_bytes(&mut bytes);
    bytes
}

/// Draws from bytes.
#[derive(Debug)]
pub(super) struct Entropy<'a>(Unstructured<'a>);

impl<'a> Entropy<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// A number below the limit; 0 when the limit is 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        if limit <= 1 {
            return 0;
        }
        self.0.int_in_range(0..=limit - 1).unwrap_or(0)
    }

    /// A number in a range, both ends included.
    pub(super) fn range(&mut self, range: &std::ops::RangeInclusive<usize>) -> usize {
        range.start() + self.below(range.end().saturating_sub(*range.start()) + 1)
    }

    /// True with this probability, in percent.
    pub(super) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// An element of a list; None when it is empty.
    pub(super) fn pick<'t, T>(&mut self, of: &'t [T]) -> Option<&'t T> {
        of.get(self.below(of.len()))
    }

    /// The index of a weight, drawn in proportion to it; None when all are 0.
    pub(super) fn weighted(&mut self, weights: &[u32]) -> Option<usize> {
        let total: usize = weights.iter().map(|weight| *weight as usize).sum();
        if total == 0 {
            return None;
        }
        let mut at = self.below(total);
        weights.iter().position(|weight| {
            let weight = *weight as usize;
            if at < weight {
                true
            } else {
                at -= weight;
                false
            }
        })
    }
}
