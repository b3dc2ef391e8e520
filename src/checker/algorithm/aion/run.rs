//! Entries on disk: a file of records sorted by key and timestamp, with a small index in memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::entry::Entry;
use crate::history::Atom;

/// A record: the key's name and its entry.
const RECORD_BYTES: usize = 40;

/// Records of a block, which is read as a whole.
const BLOCK: usize = 128;

/// Bits of the filter for each key, of which [`PROBES`] are set: one wrong yes among fifty keys.
const FILTER_BITS: usize = 10;

const PROBES: u32 = 5;

/// A sorted file without a name in the file system: it is gone once it is closed, even by a crash.
#[derive(Debug)]
pub(super) struct SortedRun {
    file: File,
    records: u64,
    /// The first record of every block.
    firsts: Vec<(Atom, i64)>,
    filter: Filter,
    /// The earliest and the latest timestamp.
    pub(super) earliest: i64,
    pub(super) latest: i64,
    /// The latest epoch, for reads.
    pub(super) last_epoch: u32,
    block: Vec<u8>,
}

impl SortedRun {
    /// What it takes of the memory.
    pub(super) fn bytes(&self) -> usize {
        self.firsts.capacity() * size_of::<(Atom, i64)>()
            + self.filter.words.capacity() * 8
            + BLOCK * RECORD_BYTES
    }

    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Whether it may have a record of the key.
    #[inline]
    pub(super) fn may_have(&self, key: Atom) -> bool {
        self.filter.may_have(key)
    }

    /// The last entry of a key at or before a moment.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn newest(&mut self, key: Atom, at: i64) -> io::Result<Option<Entry>> {
        if at < self.earliest || !self.may_have(key) {
            return Ok(None);
        }
        let after = self.firsts.partition_point(|first| *first <= (key, at));
        let Some(block) = after.checked_sub(1) else {
            return Ok(None);
        };
        self.load(block)?;
        let records = self.block.chunks_exact(RECORD_BYTES).map(decode);
        let last = records.take_while(|record| (record.0, record.1.at) <= (key, at));
        let last = last.last().filter(|record| record.0 == key);
        Ok(last.map(|(_, entry)| entry))
    }

    /// Shows every entry of a key from one moment up to another, both included. What `change`
    /// makes of an entry's last field is kept.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(super) fn visit(
        &mut self,
        key: Atom,
        (from, to): (i64, i64),
        change: &mut dyn FnMut(&Entry) -> Option<i64>,
    ) -> io::Result<()> {
        if from > to || to < self.earliest || from > self.latest || !self.may_have(key) {
            return Ok(());
        }
        let first = self.firsts.partition_point(|first| *first < (key, from));
        for block in first.saturating_sub(1)..self.firsts.len() {
            if self.firsts[block] > (key, to) {
                break;
            }
            self.load(block)?;
            for (at, record) in self.block.chunks_exact(RECORD_BYTES).enumerate() {
                let (name, entry) = decode(record);
                let is_asked = name == key && from <= entry.at && entry.at <= to;
                if let Some(extra) = is_asked.then(|| change(&entry)).flatten() {
                    let place = (block * BLOCK + at + 1) * RECORD_BYTES - size_of::<i64>();
                    self.file.write_all_at(&extra.to_le_bytes(), place as u64)?;
                }
            }
        }
        Ok(())
    }

    fn load(&mut self, block: usize) -> io::Result<()> {
        let begin = (block * BLOCK) as u64;
        let records = self.records.saturating_sub(begin).min(BLOCK as u64);
        self.block.resize(records as usize * RECORD_BYTES, 0);
        self.file
            .read_exact_at(&mut self.block, begin * RECORD_BYTES as u64)
    }

    /// Everything, in order.
    fn cursor(&self) -> Cursor<'_> {
        Cursor {
            run: self,
            next: 0,
            buffer: Vec::new(),
            at: 0,
        }
    }
}

fn decode(record: &[u8]) -> (Atom, Entry) {
    let field = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&record[at * 8..][..8]);
        u64::from_le_bytes(bytes)
    };
    let entry = Entry {
        at: field(1).cast_signed(),
        value: Atom::from_bits(field(2)),
        label: Atom::from_bits(field(3)),
        extra: field(4).cast_signed(),
    };
    (Atom::from_bits(field(0)), entry)
}

/// Reads a run from the beginning to its end, a megabyte at a time.
struct Cursor<'r> {
    run: &'r SortedRun,
    next: u64,
    buffer: Vec<u8>,
    at: usize,
}

/// Records that a cursor reads at once.
const READ_AHEAD: u64 = 1 << 14;

impl Cursor<'_> {
    fn next(&mut self) -> io::Result<Option<(Atom, Entry)>> {
        if self.at == self.buffer.len() {
            let records = (self.run.records - self.next).min(READ_AHEAD);
            if records == 0 {
                return Ok(None);
            }
            self.buffer.resize(records as usize * RECORD_BYTES, 0);
            let place = self.next * RECORD_BYTES as u64;
            self.run.file.read_exact_at(&mut self.buffer, place)?;
            self.next += records;
            self.at = 0;
        }
        let record = decode(&self.buffer[self.at..][..RECORD_BYTES]);
        self.at += RECORD_BYTES;
        Ok(Some(record))
    }
}

/// Writes a run; records come in order.
pub(super) struct RunWriter {
    stream: BufWriter<File>,
    run: SortedRun,
    last_key: Option<Atom>,
}

impl RunWriter {
    /// A run of at most so many keys, in a file of a folder.
    ///
    /// # Errors
    /// When no file can be made there.
    pub(super) fn new(folder: &Path, keys: usize) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        Ok(Self {
            stream: BufWriter::with_capacity(1 << 18, file.try_clone()?),
            run: SortedRun {
                file,
                records: 0,
                firsts: Vec::new(),
                filter: Filter::new(keys),
                earliest: i64::MAX,
                latest: i64::MIN,
                last_epoch: 0,
                block: Vec::new(),
            },
            last_key: None,
        })
    }

    /// Adds a record, which is not before the one added last.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub(super) fn add(&mut self, key: Atom, entry: &Entry) -> io::Result<()> {
        let run = &mut self.run;
        if run.records.is_multiple_of(BLOCK as u64) {
            run.firsts.push((key, entry.at));
        }
        if self.last_key != Some(key) {
            run.filter.add(key);
            self.last_key = Some(key);
        }
        run.records += 1;
        run.earliest = run.earliest.min(entry.at);
        run.latest = run.latest.max(entry.at);
        let mut record = [0; RECORD_BYTES];
        let fields = [
            key.bits(),
            entry.at.cast_unsigned(),
            entry.value.bits(),
            entry.label.bits(),
            entry.extra.cast_unsigned(),
        ];
        for (bytes, field) in record.chunks_exact_mut(8).zip(fields) {
            bytes.copy_from_slice(&field.to_le_bytes());
        }
        self.stream.write_all(&record)
    }

    /// Remembers an epoch of a read.
    pub(super) fn note_epoch(&mut self, epoch: u32) {
        self.run.last_epoch = self.run.last_epoch.max(epoch);
    }

    /// The run, unless nothing was added.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub(super) fn finish(mut self) -> io::Result<Option<SortedRun>> {
        self.stream.flush()?;
        self.run.firsts.shrink_to_fit();
        Ok((self.run.records > 0).then_some(self.run))
    }
}

/// One run of several; an entry that stands in two of them stands in it once.
///
/// # Errors
/// When the disk does not take it.
pub(super) fn merge(
    folder: &Path,
    runs: &[SortedRun],
    keys: usize,
) -> io::Result<Option<SortedRun>> {
    let mut writer = RunWriter::new(folder, keys)?;
    let mut cursors: Vec<Cursor<'_>> = runs.iter().map(SortedRun::cursor).collect();
    let mut heads = Vec::new();
    for cursor in &mut cursors {
        heads.push(cursor.next()?);
    }
    let mut last = None;
    loop {
        let standing = heads.iter().enumerate();
        let standing = standing.filter_map(|(at, head)| Some((head.as_ref()?, at)));
        let Some((&(key, entry), at)) = standing.min_by_key(|((key, entry), _)| (*key, entry.at))
        else {
            break;
        };
        if last != Some((key, entry.at)) {
            writer.add(key, &entry)?;
            last = Some((key, entry.at));
        }
        heads[at] = cursors[at].next()?;
    }
    writer.finish()
}

/// Which keys may be there: a Bloom filter, all bits of a key in one cache line.
#[derive(Debug)]
struct Filter {
    words: Vec<u64>,
}

/// Words of a cache line.
const LINE: usize = 8;

impl Filter {
    fn new(keys: usize) -> Self {
        let lines = (keys * FILTER_BITS).div_ceil(LINE * 64).max(1);
        Self {
            words: vec![0; lines * LINE],
        }
    }

    /// The line of a key, and the bits that choose within it.
    fn line(&self, key: Atom) -> (usize, u64) {
        let mut hash = key.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash ^= hash >> 32;
        let lines = (self.words.len() / LINE) as u64;
        let line = ((hash >> 32) * lines) >> 32;
        let choice = hash.wrapping_mul(0x2545_f491_4f6c_dd1d);
        (line as usize * LINE, choice)
    }

    fn add(&mut self, key: Atom) {
        let (line, choice) = self.line(key);
        for probe in 0..PROBES {
            let bit = choice >> (probe * 9 + 16) & 511;
            self.words[line + bit as usize / 64] |= 1 << (bit % 64);
        }
    }

    fn may_have(&self, key: Atom) -> bool {
        let (line, choice) = self.line(key);
        (0..PROBES).all(|probe| {
            let bit = choice >> (probe * 9 + 16) & 511;
            self.words[line + bit as usize / 64] >> (bit % 64) & 1 == 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at: i64) -> Entry {
        Entry {
            at,
            value: Atom::from(at as u32),
            label: Atom::NIL,
            extra: -at,
        }
    }

    /// Keys 0, 3, 6, .. with versions at 10, 20, .. up to 10 times the key.
    fn run(keys: u32) -> SortedRun {
        let mut writer = RunWriter::new(&std::env::temp_dir(), keys as usize).expect("a file");
        for key in (0..keys).step_by(3) {
            for at in 1..=i64::from(key) {
                writer.add(key.into(), &entry(at * 10)).expect("written");
            }
        }
        writer.finish().expect("flushed").expect("not empty")
    }

    #[test]
    fn what_was_written_is_found_and_nothing_else() {
        let mut run = run(100);
        for key in 0..100u32 {
            for at in [5, 10, 11, 333, 5_000] {
                let found = run.newest(key.into(), at).expect("readable");
                let last = (at / 10).min(i64::from(key)) * 10;
                let expected = (key.is_multiple_of(3) && last > 0).then(|| entry(last));
                assert_eq!(found, expected, "{key} {at}");
            }
            let mut seen = Vec::new();
            let visited = run.visit(key.into(), (11, 300), &mut |entry| {
                seen.push(entry.at);
                None
            });
            visited.expect("readable");
            let versions = (2..=30.min(i64::from(key))).map(|at| at * 10);
            let expected: Vec<i64> = versions.filter(|_| key.is_multiple_of(3)).collect();
            assert_eq!(seen, expected, "{key}");
        }
    }

    #[test]
    fn what_was_changed_is_read_as_changed() {
        let mut run = run(100);
        let key = Atom::from(99);
        run.visit(key, (500, 500), &mut |_| Some(7))
            .expect("writable");
        let found = run.newest(key, 505).expect("readable").expect("there");
        assert_eq!((found.at, found.extra), (500, 7));
        let found = run.newest(key, 495).expect("readable").expect("there");
        assert_eq!((found.at, found.extra), (490, -490));
    }

    #[test]
    fn runs_merge_into_one_without_doubles() {
        let (whole, part) = (run(90), run(40));
        let records = whole.records();
        let merged = merge(&std::env::temp_dir(), &[part, whole], 90);
        let mut merged = merged.expect("written").expect("not empty");
        assert_eq!(merged.records(), records);
        let found = merged.newest(Atom::from(87), 205).expect("readable");
        assert_eq!(found, Some(entry(200)));
    }
}
