//! Versions and reads of one key, as memory and disk hold them.

use crate::history::Atom;

/// A version of a key, or a read of it that may still be judged anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// When the version was committed; for a read, the last moment that it sees.
    pub(super) at: i64,
    pub(super) value: Atom,
    /// The name of the transaction.
    pub(super) label: Atom,
    /// When the writer started; for a read a [`Reading`].
    pub(super) extra: i64,
}

/// What is known of a read, in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// When it came, in the unit of [`super::clock::Clock`].
    pub(super) epoch: u32,
    /// The place of the event in its transaction.
    pub(super) event: u32,
    /// Whether another value was there, as far as one knows.
    pub(super) is_wrong: bool,
}

impl Reading {
    pub(super) fn of(entry: &Entry) -> Self {
        let bits = entry.extra.cast_unsigned();
        Self {
            epoch: (bits >> 32) as u32,
            event: (bits as u32) >> 1,
            is_wrong: bits & 1 == 1,
        }
    }

    pub(super) fn pack(self) -> i64 {
        let low = self.event << 1 | u32::from(self.is_wrong);
        (u64::from(self.epoch) << 32 | u64::from(low)).cast_signed()
    }
}

impl Entry {
    /// Judges a read that sees a version of this value; whether its verdict changed. Final ones do
    /// not.
    pub(super) fn judge(&mut self, value: Atom, open: u32) -> bool {
        let reading = Reading::of(self);
        let is_wrong = self.value != value;
        if reading.epoch < open || reading.is_wrong == is_wrong {
            return false;
        }
        self.extra = Reading {
            is_wrong,
            ..reading
        }
        .pack();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_survives_its_packing() {
        for is_wrong in [false, true] {
            let reading = Reading {
                epoch: u32::MAX - 1,
                event: 77,
                is_wrong,
            };
            let extra = reading.pack();
            let entry = Entry {
                extra,
                ..Entry::default()
            };
            assert_eq!(Reading::of(&entry), reading);
        }
    }
}
