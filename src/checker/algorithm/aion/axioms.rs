//! EXT and NOCONFLICT on the versions and reads of single keys.

use std::io;

use super::entry::{Entry, Reading};
use super::keys::KeyState;
use super::timeline::until;
use super::{Aion, Open};
use crate::checker::algorithm::aion::breach::{Breach, Unjudged};
use crate::history::{Atom, NamedEvent};

impl Aion {
    /// EXT, as far as one knows.
    pub(super) fn read(
        &mut self,
        event: &NamedEvent,
        at: usize,
        label: Atom,
        snapshot: i64,
    ) -> io::Result<()> {
        let key = self.key(event.key)?;
        let held = self.held(key, snapshot)?;
        let held = held.map_or(self.initial, |version| version.value);
        let (epoch, open) = (self.clock.now(), self.clock.open());
        let reading = Reading {
            epoch,
            event: at as u32,
            is_wrong: held != event.value,
        };
        let reads = &mut self.keys.get_mut(key).reads;
        if self.timelines.is_full(*reads) {
            // A list that is final up to its middle is halved, so that it need not grow.
            let entries = self.timelines.entries(*reads);
            let middle = entries.get(entries.len() / 2);
            if middle.is_some_and(|entry| Reading::of(entry).epoch < open) {
                let is_open = |entry: &Entry| Reading::of(entry).epoch >= open;
                self.timelines.retain(reads, is_open);
            }
        }
        let entry = Entry {
            at: snapshot,
            value: event.value,
            label,
            extra: reading.pack(),
        };
        self.timelines.insert(reads, entry);
        if reading.is_wrong {
            self.note_open(event.key, &entry);
        }
        Ok(())
    }

    /// Enters or strikes out a read among those that are wrong so far.
    pub(super) fn note_open(&mut self, key: Atom, read: &Entry) {
        let reading = Reading::of(read);
        let id = (reading.epoch, read.label, reading.event, key);
        if reading.is_wrong && self.open.len() >= self.open_max {
            self.summary.count(Unjudged::Crowded);
        } else if reading.is_wrong {
            let (snapshot, value) = (read.at, read.value);
            self.open.insert(id, Open { snapshot, value });
        } else {
            self.open.remove(&id);
        }
    }

    /// A version: NOCONFLICT with those around it, and reads after it are judged anew.
    pub(super) fn write(&mut self, name: Atom, version: Entry) -> io::Result<()> {
        let number = self.key(name)?;
        let key = self.keys.get(number);
        let has_version = key.is(KeyState::HAS_VERSION);
        let below = if !has_version || key.newest.at < version.at {
            if self.is_snapshot && has_version && key.newest.at > version.extra {
                self.tell_conflicts(number, &version)?;
            }
            let key = self.keys.get_mut(number);
            if has_version {
                let before = key.newest;
                self.timelines.insert(&mut key.older, before);
            }
            key.newest = version;
            key.set(KeyState::HAS_VERSION);
            key.unset(KeyState::CLEAN);
            i64::MAX
        } else {
            match self.write_between(number, &version)? {
                Some(below) => below,
                None => return Ok(()),
            }
        };
        let key = self.keys.get_mut(number);
        let took = version.at.saturating_sub(version.extra);
        key.longest = key.longest.max(took);
        self.judge_reads(number, &version, below)
    }

    /// Puts a version before the newest one; when the next one was committed. Nothing if the
    /// place is taken.
    pub(super) fn write_between(
        &mut self,
        number: u32,
        version: &Entry,
    ) -> io::Result<Option<i64>> {
        if self.version_at(number, version.at)?.is_some() {
            self.summary.count(Unjudged::Tie);
            let name = self.keys.get(number).name;
            self.doubt(name, version.value);
            return Ok(None);
        }
        if self.is_snapshot {
            self.tell_conflicts(number, version)?;
        }
        let key = *self.keys.get(number);
        let older = self.timelines.entries(key.older);
        let floor = older.first().unwrap_or(&key.newest).at;
        if key.is(KeyState::SPILLED) && version.at < floor {
            let next = self.spill.between(key.name, version.at, floor)?.first();
            let below = next.map_or(floor, |next| next.at);
            self.spill.insert_late(key.name, *version);
            return Ok(Some(below));
        }
        let next = until(older, version.at);
        let below = older.get(next).unwrap_or(&key.newest).at;
        let older = &mut self.keys.get_mut(number).older;
        self.timelines.insert(older, *version);
        Ok(Some(below))
    }

    /// NOCONFLICT between a version that is about to be put in and those of transactions that
    /// overlap its writer.
    pub(super) fn tell_conflicts(&mut self, number: u32, version: &Entry) -> io::Result<()> {
        let (start, commit) = (version.extra, version.at);
        let key = *self.keys.get(number);
        let overlaps = |other: &&Entry| {
            start < other.at && other.at != commit && (other.at < commit || other.extra < commit)
        };
        // A transaction that commits later than this has started after the commit.
        let reach = commit.saturating_add(key.longest);
        let older = self.timelines.entries(key.older);
        let first = until(older, start);
        let floor = older.first().unwrap_or(&key.newest).at;
        let known = older[first..].iter().chain([&key.newest]);
        let known = known.take_while(|known| known.at < commit || known.at < reach);
        let mut others: Vec<Entry> = known.filter(overlaps).copied().collect();
        if key.is(KeyState::SPILLED) && start < floor {
            let known = self.spill.between(key.name, start, floor.min(reach))?;
            others.extend(known.iter().filter(overlaps));
        }
        for other in others {
            let (earlier, later) = match other.at < commit {
                true => (other.label, version.label),
                false => (version.label, other.label),
            };
            self.tell(Breach::Conflict {
                transaction: later,
                other: earlier,
                key: key.name,
            });
        }
        Ok(())
    }

    /// EXT for the reads that see a new version, up to the next one.
    pub(super) fn judge_reads(
        &mut self,
        number: u32,
        version: &Entry,
        below: i64,
    ) -> io::Result<()> {
        let key = self.keys.get(number);
        let (name, reads) = (key.name, key.reads);
        let (from, open) = (version.at, self.clock.open());
        let entries = self.timelines.entries_mut(reads);
        if entries.last().is_some_and(|last| last.at >= from) {
            let first = until(entries, from.saturating_sub(1));
            let seeing = entries[first..].iter_mut();
            for read in seeing.take_while(|read| read.at < below) {
                if read.judge(version.value, open) {
                    self.changed.push(*read);
                }
            }
        }
        let (to, changed) = (below.saturating_sub(1), &mut self.changed);
        let value = version.value;
        self.spill
            .judge_reads(name, (from, to), value, open, changed)?;
        while let Some(read) = self.changed.pop() {
            self.summary.flips += 1;
            self.note_open(name, &read);
        }
        Ok(())
    }

    /// The number of a key; its newest version is loaded if the key is on disk only.
    #[inline]
    pub(super) fn key(&mut self, name: Atom) -> io::Result<u32> {
        let (number, is_fresh) = self.keys.find_or_insert(name);
        if is_fresh && self.spill.has_versions() {
            self.load(number, name)?;
        }
        Ok(number)
    }

    pub(super) fn load(&mut self, number: u32, name: Atom) -> io::Result<()> {
        if let Some(newest) = self.spill.newest(name, i64::MAX)? {
            let key = self.keys.get_mut(number);
            key.newest = newest;
            key.longest = self.longest;
            key.set(KeyState::HAS_VERSION | KeyState::SPILLED | KeyState::CLEAN);
        }
        Ok(())
    }

    /// The version of a key that was there at a moment.
    #[inline]
    pub(super) fn held(&mut self, number: u32, at: i64) -> io::Result<Option<Entry>> {
        let key = self.keys.get(number);
        if !key.is(KeyState::HAS_VERSION) {
            return Ok(None);
        }
        if key.newest.at <= at {
            return Ok(Some(key.newest));
        }
        let older = self.timelines.entries(key.older);
        let after = until(older, at);
        if let Some(before) = after.checked_sub(1) {
            return Ok(Some(older[before]));
        }
        if key.is(KeyState::SPILLED) {
            return self.spill.newest(key.name, at);
        }
        Ok(None)
    }

    /// The version of a key that was committed at a moment.
    pub(super) fn version_at(&mut self, number: u32, at: i64) -> io::Result<Option<Entry>> {
        let held = self.held(number, at)?;
        Ok(held.filter(|version| version.at == at))
    }
}
