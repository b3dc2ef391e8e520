//! Versions of keys by their number.

use crate::history::{Key, number};

number!(
    /// A version: the last write of a transaction to a key. First come the initial versions, each
    /// with the number of its key, then those of transaction 1, and so on.
    pub(in crate::checker) Version
);

/// Stands for no version.
pub(in crate::checker) const NONE: Version = Version::new(u32::MAX);

impl Version {
    /// The initial version of a key.
    #[inline]
    pub(in crate::checker) const fn initial(key: Key) -> Self {
        Self::new(key.number())
    }
}
