//! Random draws: numbers decided by the seed, and keys by a distribution.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// How keys are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Each as often as the other.
    Uniform,
    /// Key k in proportion to 1/(k+1).
    Zipf,
    /// 80 % of the choices fall on the first 20 % of the keys (Chronos, Table I).
    Hotspot,
    /// Every key a little less often than the one before: 95 % of the choices fall on the first
    /// 86 % of the keys, as in YCSB.
    Exponential,
}

/// The text names no distribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown distribution {0:?}: one of uniform, zipf, hotspot, exponential")]
pub struct UnknownDistribution(pub String);

impl Distribution {
    const ALL: [Self; 4] = [Self::Uniform, Self::Zipf, Self::Hotspot, Self::Exponential];

    /// As the command line spells it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipf => "zipf",
            Self::Hotspot => "hotspot",
            Self::Exponential => "exponential",
        }
    }

    /// Sums of the weights of the first keys. Only divisions, products and sums, which are the
    /// same on every machine.
    fn sums(self, keys: u32) -> Vec<f64> {
        let count = f64::from(keys.max(1));
        let hot = (keys.max(1)).div_ceil(5);
        let mut power = 1.0;
        let mut sum = 0.0;
        let weights = (0..keys.max(1)).map(|key| {
            sum += match self {
                Self::Uniform => 1.0,
                Self::Zipf => 1.0 / f64::from(key + 1),
                Self::Hotspot if key < hot => 0.8 / f64::from(hot),
                Self::Hotspot => 0.2 / f64::from(keys.max(1) - hot),
                Self::Exponential => {
                    let weight = power;
                    power *= (1.0 - 2.0 / count).max(0.1);
                    weight
                }
            };
            sum
        });
        weights.collect()
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

impl FromStr for Distribution {
    type Err = UnknownDistribution;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|distribution| distribution.slug() == text)
            .ok_or_else(|| UnknownDistribution(text.to_owned()))
    }
}

/// Keys with their weights, shared by all sessions.
#[derive(Clone, Debug)]
pub(super) struct KeyWeights(Arc<Vec<f64>>);

impl KeyWeights {
    pub(super) fn new(distribution: Distribution, keys: u32) -> Self {
        Self(Arc::new(distribution.sums(keys)))
    }
}

/// The draws of one session.
#[derive(Debug)]
pub struct SessionDraws {
    generator: ChaCha8Rng,
    keys: KeyWeights,
}

impl SessionDraws {
    /// The draws of a session of a run, the same in every version of the program.
    pub(super) fn new(seed: u64, session: u32, keys: KeyWeights) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"workload\0");
        hasher.update(&seed.to_le_bytes());
        hasher.update(&session.to_le_bytes());
        Self {
            generator: ChaCha8Rng::from_seed(*hasher.finalize().as_bytes()),
            keys,
        }
    }

    /// A number below the limit; 0 when the limit is 0.
    pub fn below(&mut self, limit: u32) -> u32 {
        // 32 bits of a product: the bias is below 2^-32 of the limit.
        let wide = u64::from(self.generator.next_u32()) * u64::from(limit);
        (wide >> 32) as u32
    }

    /// True with this probability, in percent.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// Draws a key by the distribution.
    pub fn key(&mut self) -> u32 {
        let sums = &self.keys.0;
        let total = sums.last().copied().unwrap_or(1.0);
        // 53 bits are what the mantissa holds.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let point = (self.generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * total;
        let at = sums.partition_point(|sum| *sum <= point);
        at.min(sums.len().saturating_sub(1)) as u32
    }

    /// A second key for a transaction: four times in five the one that is fixed for the first, so
    /// that transactions which share the first key share the second, else any other.
    pub fn partner(&mut self, key: u32) -> u32 {
        let count = self.keys.0.len() as u32;
        if count < 2 {
            return key;
        }
        let neighbour = key ^ 1;
        if neighbour < count && self.percent(80) {
            return neighbour;
        }
        let other = self.key();
        if other == key {
            (key + 1) % count
        } else {
            other
        }
    }
}
