//! Making room: what is old goes to disk, what is final is dropped.

use std::io;

use super::Aion;
use super::entry::{Entry, Reading};
use super::keys::{KeyState, KeyStates};
use super::run::RunWriter;
use super::timeline::{List, Timelines};

/// One entry of so many is looked at to tell where the old part ends.
const SAMPLE: usize = 61;

/// The part that stays, in percent of the timestamps.
const KEPT_PERCENT: usize = 25;

/// A collection on its way.
struct Collection {
    /// What was committed, or read, at or before this moment goes to disk.
    cut: i64,
    /// What came before this epoch is final.
    open: u32,
    versions: RunWriter,
    reads: RunWriter,
    keys: KeyStates,
    timelines: Timelines,
}

impl Aion {
    /// Writes the older part of all versions and open reads to disk. A key without recent
    /// reads and writes goes there whole.
    pub(super) fn collect(&mut self) -> io::Result<()> {
        let cut = self.cut();
        let order = self.keys.sorted();
        let folder = self.spill.folder().to_owned();
        let late = self.spill.take_late();
        let keys = order.len() + late.len();
        let mut late = late.into_iter().peekable();
        let mut collection = Collection {
            cut,
            open: self.clock.open(),
            versions: RunWriter::new(&folder, keys)?,
            reads: RunWriter::new(&folder, keys)?,
            keys: KeyStates::default(),
            timelines: Timelines::default(),
        };
        for (name, number) in order {
            // What came late is older than what is in memory of its key.
            while let Some(((key, _), version)) = late.next_if(|((key, _), _)| *key <= name) {
                collection.versions.add(key, &version)?;
            }
            let key = self.keys.get(number);
            collection.take(key, &self.timelines)?;
        }
        for ((key, _), version) in late {
            collection.versions.add(key, &version)?;
        }
        let Collection {
            versions, reads, ..
        } = collection;
        (self.keys, self.timelines) = (collection.keys, collection.timelines);
        self.spill.add(versions, reads, keys)?;
        if self.sessions.bytes() as u64 > self.bound() / 8 {
            self.sessions.forget(cut);
        }
        Ok(())
    }

    /// The moment before which most entries lie.
    fn cut(&self) -> i64 {
        let newest = self.keys.newest(SAMPLE);
        let mut sample: Vec<i64> = self.timelines.sample(SAMPLE).chain(newest).collect();
        if sample.is_empty() {
            return i64::MAX;
        }
        let at = sample.len() * (100 - KEPT_PERCENT) / 100;
        let at = at.min(sample.len() - 1);
        *sample.select_nth_unstable(at).1
    }
}

impl Collection {
    /// Takes what stays of a key, and writes the rest.
    fn take(&mut self, key: &KeyState, timelines: &Timelines) -> io::Result<()> {
        let reads = timelines.entries(key.reads);
        let is_open = |read: &&Entry| Reading::of(read).epoch >= self.open;
        let old = reads.partition_point(|read| read.at <= self.cut);
        for read in reads[..old].iter().filter(is_open) {
            self.reads.note_epoch(Reading::of(read).epoch);
            self.reads.add(key.name, read)?;
        }
        let mut kept = KeyState {
            reads: List::default(),
            older: List::default(),
            ..*key
        };
        kept.older.flags = key.older.flags;
        for read in reads[old..].iter().filter(is_open) {
            self.timelines.insert(&mut kept.reads, *read);
        }
        let has_reads = !self.timelines.entries(kept.reads).is_empty();
        if !key.is(KeyState::HAS_VERSION) {
            if has_reads {
                self.keys.insert(kept);
            }
            return Ok(());
        }
        let older = timelines.entries(key.older);
        if key.newest.at <= self.cut && !has_reads {
            return self.write_whole(key, older);
        }
        // The last of the old ones stays: reads after the cut may see it.
        let old = match key.newest.at <= self.cut {
            true => older.len(),
            false => older.partition_point(|version| version.at <= self.cut),
        };
        let spilled = match key.newest.at <= self.cut {
            true => old,
            false => old.saturating_sub(1),
        };
        for version in &older[..spilled] {
            self.versions.add(key.name, version)?;
        }
        if spilled > 0 {
            kept.set(KeyState::SPILLED);
        }
        for version in &older[spilled..] {
            self.timelines.insert(&mut kept.older, *version);
        }
        self.keys.insert(kept);
        Ok(())
    }

    fn write_whole(&mut self, key: &KeyState, older: &[Entry]) -> io::Result<()> {
        for version in older {
            self.versions.add(key.name, version)?;
        }
        if key.is(KeyState::CLEAN) {
            return Ok(());
        }
        self.versions.add(key.name, &key.newest)
    }
}

impl KeyStates {
    /// When some of the keys were written last.
    fn newest(&self, every: usize) -> impl Iterator<Item = i64> + '_ {
        let all = (0..self.len() as u32).step_by(every);
        let written = all.map(|key| self.get(key));
        let written = written.filter(|key| key.is(KeyState::HAS_VERSION));
        written.map(|key| key.newest.at)
    }

    /// Adds a key that is not there.
    fn insert(&mut self, key: KeyState) {
        let (number, _) = self.find_or_insert(key.name);
        *self.get_mut(number) = key;
    }
}
