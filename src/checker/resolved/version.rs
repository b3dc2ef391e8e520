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

/// Versions with numbers that follow each other.
#[derive(Clone, Debug)]
pub(in crate::checker) struct Versions {
    next: u32,
    end: u32,
}

impl Versions {
    /// From one number to before another.
    pub(in crate::checker) fn new(next: u32, end: u32) -> Self {
        Self { next, end }
    }

    pub(in crate::checker) fn is_empty(&self) -> bool {
        self.next == self.end
    }

    pub(in crate::checker) fn has(&self, version: Version) -> bool {
        (self.next..self.end).contains(&version.number())
    }
}

impl Iterator for Versions {
    type Item = Version;

    #[inline]
    fn next(&mut self) -> Option<Version> {
        let version = (self.next < self.end).then_some(Version::new(self.next))?;
        self.next += 1;
        Some(version)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = (self.end - self.next) as usize;
        (len, Some(len))
    }
}

impl ExactSizeIterator for Versions {}
