//! What lies on disk, and the few versions that came so late that they belong among it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::entry::Entry;
use super::run::{RunWriter, SortedRun, merge};
use crate::history::Atom;

/// So many runs of about one size are merged into one.
const FAN: usize = 8;

/// The part of the history that is not in memory.
#[derive(Debug)]
pub(super) struct Spill {
    folder: PathBuf,
    /// Versions, in runs with the number of keys that each was made for.
    versions: Vec<(SortedRun, usize)>,
    /// Reads that may still be judged anew.
    reads: Vec<SortedRun>,
    /// Versions older than those of their key that are in memory.
    late: BTreeMap<(Atom, i64), Entry>,
    /// How many entries were written to disk.
    pub(super) spilled: u64,
    /// How many times entries were read from it.
    pub(super) reloads: u64,
    found: Vec<Entry>,
}

impl Spill {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            versions: Vec::new(),
            reads: Vec::new(),
            late: BTreeMap::new(),
            spilled: 0,
            reloads: 0,
            found: Vec::new(),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it takes of the memory.
    pub(super) fn bytes(&self) -> usize {
        let versions = self.versions.iter().map(|(run, _)| run.bytes());
        let reads = self.reads.iter().map(SortedRun::bytes);
        // An entry of an ordered map takes about half as much again as what it holds.
        versions.chain(reads).sum::<usize>() + self.late.len() * 72
    }

    /// Whether there are versions that are not in memory.
    #[inline]
    pub(super) fn has_versions(&self) -> bool {
        !self.versions.is_empty()
    }

    /// The last version of a key at or before a moment.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub(super) fn newest(&mut self, key: Atom, at: i64) -> io::Result<Option<Entry>> {
        let late = self.late.range((key, i64::MIN)..=(key, at)).next_back();
        let mut newest = late.map(|(_, entry)| *entry);
        for (run, _) in &mut self.versions {
            if let Some(entry) = run.newest(key, at)? {
                self.reloads += 1;
                if newest.is_none_or(|newest| newest.at < entry.at) {
                    newest = Some(entry);
                }
            }
        }
        Ok(newest)
    }

    /// The versions of a key after one moment and before another, oldest first.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub(super) fn between(&mut self, key: Atom, after: i64, before: i64) -> io::Result<&[Entry]> {
        self.found.clear();
        let (Some(from), Some(to)) = (after.checked_add(1), before.checked_sub(1)) else {
            return Ok(&[]);
        };
        if from > to {
            return Ok(&[]);
        }
        let late = self.late.range((key, from)..=(key, to));
        self.found.extend(late.map(|(_, entry)| *entry));
        for (run, _) in &mut self.versions {
            run.visit(key, (from, to), &mut |entry| {
                self.found.push(*entry);
                None
            })?;
        }
        self.reloads += self.found.len() as u64;
        // A version that was loaded and spilled again stands in two runs.
        self.found.sort_unstable_by_key(|entry| entry.at);
        self.found.dedup_by_key(|entry| entry.at);
        Ok(&self.found)
    }

    /// Keeps a version that is older than those of its key in memory.
    pub(super) fn insert_late(&mut self, key: Atom, entry: Entry) {
        self.late.insert((key, entry.at), entry);
    }

    /// The versions that came late, for the next run; none are left.
    pub(super) fn take_late(&mut self) -> BTreeMap<(Atom, i64), Entry> {
        std::mem::take(&mut self.late)
    }

    /// Judges reads of a key anew that see a version of this value, where they are not final.
    /// `changed` collects those whose verdict changed.
    ///
    /// # Errors
    /// When the disk cannot be read or written.
    pub(super) fn judge_reads(
        &mut self,
        key: Atom,
        (from, to): (i64, i64),
        value: Atom,
        open: u32,
        changed: &mut Vec<Entry>,
    ) -> io::Result<()> {
        for run in &mut self.reads {
            run.visit(key, (from, to), &mut |entry| {
                let mut entry = *entry;
                self.reloads += 1;
                if !entry.judge(value, open) {
                    return None;
                }
                changed.push(entry);
                Some(entry.extra)
            })?;
        }
        Ok(())
    }

    /// Forgets reads that are final.
    pub(super) fn settle(&mut self, open: u32) {
        self.reads.retain(|run| run.last_epoch >= open);
    }

    /// Takes what a collection has written.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub(super) fn add(
        &mut self,
        versions: RunWriter,
        reads: RunWriter,
        keys: usize,
    ) -> io::Result<()> {
        if let Some(run) = reads.finish()? {
            self.spilled += run.records();
            self.reads.push(run);
        }
        if let Some(run) = versions.finish()? {
            self.spilled += run.records();
            self.versions.push((run, keys));
            self.merge()?;
        }
        Ok(())
    }

    /// Merges the last runs as long as there are [`FAN`] of them of about one size, so that the
    /// number of runs grows with the logarithm of what was spilled.
    fn merge(&mut self) -> io::Result<()> {
        while let Some(first) = self.versions.len().checked_sub(FAN) {
            let records = |at: usize| self.versions[at].0.records();
            if records(first) > records(self.versions.len() - 1).saturating_mul(FAN as u64 / 2) {
                return Ok(());
            }
            let (runs, keys): (Vec<SortedRun>, Vec<usize>) = self.versions.drain(first..).unzip();
            let keys = keys.iter().sum();
            if let Some(run) = merge(&self.folder, &runs, keys)? {
                self.versions.push((run, keys));
            }
        }
        Ok(())
    }
}
