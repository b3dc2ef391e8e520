//! Who wrote what a read saw: the first step of every checker but the referee.
//!
//! Also finds the intra-transactional anomalies, which every model forbids (MTC, Table I a to f;
//! Plume's and AWDIT's read consistency).

use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::resolved::value_index::{Holders, ValueIndex};
use crate::checker::resolved::version::{NONE, Version, Versions};
use crate::history::{Atom, Event, History, Key, Kind, Status, Txn};
use crate::model::Anomaly;

/// How many versions all open reads together may be of.
const CANDIDATES_MAX: usize = 1 << 21;

/// A history whose reads know their versions.
#[derive(Debug)]
pub(in crate::checker) struct Resolved<'h> {
    pub(in crate::checker) history: &'h History,
    /// Whether a transaction counts: committed, or indeterminate and seen.
    pub(in crate::checker) is_live: Vec<bool>,
    /// The writer of a version.
    pub(in crate::checker) writer: Vec<Txn>,
    /// The key of a version.
    pub(in crate::checker) key: Vec<Key>,
    /// Where the versions of a transaction begin; one entry more than transactions.
    version_begins: Vec<u32>,
    /// The versions that a transaction reads from others, in its own order.
    read_versions: Vec<Version>,
    read_begins: Vec<u32>,
    /// Reads of values that several transactions wrote; they are not among the others.
    pub(in crate::checker) open_reads: Vec<OpenRead>,
    /// How many versions they may be of, all together.
    candidates: usize,
    /// A transaction that reads two versions of one key: not below read committed.
    pub(in crate::checker) non_repeatable: Option<Counterexample>,
}

/// A read of a value that several transactions wrote.
#[derive(Clone, Debug)]
pub(in crate::checker) struct OpenRead {
    pub(in crate::checker) reader: Txn,
    /// Its place among all events.
    pub(in crate::checker) at: usize,
    pub(in crate::checker) key: Key,
    /// The versions that it may be of: two or more, oldest in the file first.
    pub(in crate::checker) candidates: Vec<Version>,
    /// The open read of the same transaction that read this value of the key before.
    pub(in crate::checker) repeats: Option<u32>,
    /// How many of the reads of the transaction that are no open ones stand before it.
    place: u32,
}

/// Why a history was not resolved.
#[derive(Debug)]
pub(in crate::checker) enum Unresolved {
    /// An anomaly that every model forbids.
    Violated(Counterexample),
    /// A value has several writers, so that reads of it may have several sources.
    Ambiguous { key: Key, value: Atom },
}

impl Unresolved {
    /// In words, when it is no violation.
    pub(in crate::checker) fn reason(history: &History, key: Key, value: Atom) -> String {
        format!(
            "the value {} of key {} was written more than once and read",
            history.spelled(value),
            history.spelled(history.key(key))
        )
    }
}

impl Resolved<'_> {
    pub(in crate::checker) fn len(&self) -> usize {
        self.history.len()
    }

    /// The versions that a transaction writes, by number; the initial transaction writes all keys.
    pub(in crate::checker) fn writes(&self, transaction: Txn) -> Versions {
        let at = transaction.index();
        Versions::new(self.version_begins[at], self.version_begins[at + 1])
    }

    /// The versions that a transaction reads from others, in its own order, repeats included.
    pub(in crate::checker) fn reads(&self, transaction: Txn) -> &[Version] {
        let at = transaction.index();
        &self.read_versions[self.read_begins[at] as usize..self.read_begins[at + 1] as usize]
    }

    /// The transactions that count, but for the initial one.
    pub(in crate::checker) fn live(&self) -> impl Iterator<Item = Txn> + '_ {
        self.history.transactions().filter(|t| self.is_live[*t])
    }

    /// Keeps a read open.
    fn leave_open(
        &mut self,
        reader: Txn,
        at: usize,
        candidates: Vec<Version>,
    ) -> Result<(), Unresolved> {
        let event = self.history.event(at);
        self.candidates += candidates.len();
        if self.candidates > CANDIDATES_MAX {
            let (key, value) = (event.key, event.value);
            return Err(Unresolved::Ambiguous { key, value });
        }
        let begin = self.read_begins.last().copied().unwrap_or(0);
        let is_same = |read: &OpenRead| {
            let value = self.history.event(read.at).value;
            (read.key, value) == (event.key, event.value)
        };
        let mine = self.open_reads.iter().rev();
        let mine = mine.take_while(|read| read.reader == reader).count();
        let first = self.open_reads.len() - mine;
        let repeats = self.open_reads[first..].iter().position(is_same);
        let repeats = repeats.map(|place| (first + place) as u32);
        self.open_reads.push(OpenRead {
            reader,
            at,
            key: event.key,
            candidates,
            repeats,
            place: self.read_versions.len() as u32 - begin,
        });
        Ok(())
    }

    /// The same with a version for every open read.
    pub(in crate::checker) fn with_versions(&self, versions: &[Version]) -> Self {
        let candidates: Vec<Vec<Version>> = versions.iter().map(|one| vec![*one]).collect();
        self.with_candidates(&candidates)
    }

    /// The same with fewer candidates for the open reads, one at least for each. A read with a
    /// single one is open no more.
    pub(in crate::checker) fn with_candidates(&self, candidates: &[Vec<Version>]) -> Self {
        let mut chosen = self
            .open_reads
            .iter()
            .zip(candidates)
            .enumerate()
            .peekable();
        let (mut read_versions, mut read_begins) = (Vec::new(), vec![0]);
        let mut open_reads: Vec<OpenRead> = Vec::new();
        // The new places of open reads, for those that repeat them.
        let mut moved = vec![None; self.open_reads.len()];
        for transaction in self.history.all_transactions() {
            let reads = self.reads(transaction);
            let begin = read_versions.len();
            for place in 0..=reads.len() {
                let is_here = |(_, (read, _)): &(usize, (&OpenRead, &Vec<Version>))| {
                    (read.reader, read.place as usize) == (transaction, place)
                };
                while let Some((at, (read, left))) = chosen.next_if(is_here) {
                    if let [version] = left[..] {
                        read_versions.push(version);
                        continue;
                    }
                    moved[at] = Some(open_reads.len() as u32);
                    open_reads.push(OpenRead {
                        candidates: left.clone(),
                        repeats: read.repeats.and_then(|first| moved[first as usize]),
                        place: (read_versions.len() - begin) as u32,
                        ..*read
                    });
                }
                read_versions.extend(reads.get(place));
            }
            read_begins.push(read_versions.len() as u32);
        }
        Self {
            history: self.history,
            is_live: self.is_live.clone(),
            writer: self.writer.clone(),
            key: self.key.clone(),
            version_begins: self.version_begins.clone(),
            read_versions,
            read_begins,
            candidates: open_reads.iter().map(|read| read.candidates.len()).sum(),
            open_reads,
            non_repeatable: self.non_repeatable.clone(),
        }
    }

    /// The likeliest version of every open read: the last in the file before the reader, if there
    /// is one, and otherwise the first after it.
    pub(in crate::checker) fn likely_versions(&self) -> Vec<Version> {
        let likely = |read: &OpenRead| {
            let is_before = |version: &&Version| self.writer[**version] < read.reader;
            let last = read.candidates.iter().rfind(is_before);
            last.copied().unwrap_or(read.candidates[0])
        };
        self.open_reads.iter().map(likely).collect()
    }

    /// For each transaction the one before it in its session that counts, or the initial one.
    pub(in crate::checker) fn session_predecessors(&self) -> Vec<Txn> {
        let mut last = vec![Txn::INITIAL; self.history.session_count()];
        let mut before = vec![Txn::INITIAL; self.len()];
        for transaction in self.live() {
            let session = self.history.session_of(transaction) as usize;
            before[transaction] = std::mem::replace(&mut last[session], transaction);
        }
        before
    }
}

/// What a transaction did to one key so far, without clearing anything between transactions; all of
/// it in one line of cache.
#[derive(Clone, Copy)]
struct OwnKey {
    /// The transaction that wrote the key last.
    writer: Txn,
    /// The transaction that read the key from others first.
    reader: Txn,
    wrote: Atom,
    read: Atom,
}

/// Stands for no transaction.
const NO_TXN: Txn = Txn::new(u32::MAX);

const UNTOUCHED: OwnKey = OwnKey {
    writer: NO_TXN,
    reader: NO_TXN,
    wrote: Atom::NIL,
    read: Atom::NIL,
};

/// Finds the version of every read.
///
/// # Errors
/// When it finds an anomaly, or a read that may be of several versions.
pub(in crate::checker) fn resolve(history: &History) -> Result<Resolved<'_>, Unresolved> {
    let resolved = resolve_openly(history)?;
    match resolved.open_reads.first() {
        None => Ok(resolved),
        Some(read) => {
            let event = history.event(read.at);
            let (key, value) = (event.key, event.value);
            Err(Unresolved::Ambiguous { key, value })
        }
    }
}

/// Finds the version of every read that can be of one only; the others stay open.
///
/// # Errors
/// When it finds an anomaly, or whether a transaction took place depends on an open read, or on
/// which write a list means.
pub(in crate::checker) fn resolve_openly(history: &History) -> Result<Resolved<'_>, Unresolved> {
    if let Some(conflict) = history.order_conflicts().first() {
        return Err(Unresolved::Violated(Counterexample {
            anomaly: Anomaly::IncompatibleOrder,
            edges: vec![Edge {
                from: conflict.first,
                to: conflict.second,
                reason: Reason::Lists(conflict.key),
            }],
            core: Vec::new(),
        }));
    }
    let (mut resolved, index) = versions(history);
    let mut own = vec![UNTOUCHED; history.key_count()];
    // Reads of an indeterminate transaction count only if another transaction saw its writes: hence
    // two passes.
    seen_in_lists(&mut resolved)?;
    let is_certain = history
        .transactions()
        .all(|t| history.status(t) == Status::Committed);
    if !is_certain {
        mark_live(&mut resolved, &index, &mut own)?;
        own.fill(UNTOUCHED);
    }
    resolved.read_versions.reserve(history.event_count());
    for transaction in history.all_transactions() {
        if !transaction.is_initial() && resolved.is_live[transaction] {
            read_transaction(&mut resolved, &index, &mut own, transaction)?;
        }
        resolved
            .read_begins
            .push(resolved.read_versions.len() as u32);
    }
    Ok(resolved)
}

/// Numbers the versions and indexes them by value.
fn versions(history: &History) -> (Resolved<'_>, ValueIndex<'_>) {
    let keys = history.key_count();
    let mut index = ValueIndex::new(history);
    let mut resolved = Resolved {
        history,
        is_live: vec![true],
        writer: vec![Txn::INITIAL; keys],
        key: history.all_keys().collect(),
        version_begins: vec![0, keys as u32],
        read_versions: Vec::new(),
        read_begins: vec![0],
        open_reads: Vec::new(),
        candidates: 0,
        non_repeatable: None,
    };
    // The place of the last write to each key among the versions of the current transaction.
    let mut latest = vec![NONE; keys];
    let mut values: Vec<Atom> = Vec::new();
    for transaction in history.transactions() {
        let status = history.status(transaction);
        resolved.is_live.push(status == Status::Committed);
        let begin = Version::at(resolved.writer.len());
        values.clear();
        if status != Status::Aborted {
            for event in history
                .events(transaction)
                .filter(|e| e.kind == Kind::Write)
            {
                let slot = &mut latest[event.key];
                if *slot != NONE && *slot >= begin {
                    values[slot.index() - begin.index()] = event.value;
                    continue;
                }
                *slot = Version::at(resolved.writer.len());
                resolved.writer.push(transaction);
                resolved.key.push(event.key);
                values.push(event.value);
            }
        }
        let versions = (begin.number()..).map(Version::new);
        for (version, value) in versions.zip(&values) {
            index.insert(resolved.key[version], *value, version);
        }
        resolved.version_begins.push(resolved.writer.len() as u32);
    }
    (resolved, index)
}

/// What a read of another's version may come from.
enum Source {
    One(Version),
    Several(Vec<Version>),
    NoTransaction,
}

/// The versions of a value that `reader` may see.
fn source(resolved: &Resolved<'_>, index: &ValueIndex<'_>, reader: Txn, event: Event) -> Source {
    // Its own versions are next to each other: no look at who wrote which.
    let own = resolved.writes(reader);
    let all = match index.find(event.key, event.value) {
        Holders::None => return Source::NoTransaction,
        Holders::One(version) if own.has(version) => return Source::NoTransaction,
        Holders::One(version) => return Source::One(version),
        Holders::Several(all) => all,
    };
    let others = all.iter().copied().filter(|version| !own.has(*version));
    let others: Vec<Version> = others.collect();
    match others[..] {
        [] => Source::NoTransaction,
        [one] => Source::One(one),
        _ => Source::Several(others),
    }
}

/// Reads the events of a transaction: internal reads must agree, others find their version.
fn read_transaction(
    resolved: &mut Resolved<'_>,
    index: &ValueIndex<'_>,
    own: &mut [OwnKey],
    transaction: Txn,
) -> Result<(), Unresolved> {
    let history = resolved.history;
    for at in history.event_range(transaction) {
        let event = history.event(at);
        let key = event.key;
        if event.kind == Kind::Write {
            (own[key].writer, own[key].wrote) = (transaction, event.value);
            continue;
        }
        let before = own[key];
        if before.writer == transaction {
            if before.wrote != event.value {
                return Err(internal(history, transaction, at));
            }
            continue;
        }
        let found = source(resolved, index, transaction, event);
        let version = match &found {
            Source::One(version) => *version,
            Source::Several(candidates) => candidates[0],
            Source::NoTransaction => return Err(unwritten(history, transaction, at)),
        };
        if before.reader != transaction {
            (own[key].reader, own[key].read) = (transaction, event.value);
        } else if before.read != event.value && resolved.non_repeatable.is_none() {
            let reason = Reason::Event(at);
            let from = resolved.writer[version];
            let counterexample = event_anomaly(Anomaly::NonRepeatableRead, from, transaction);
            resolved.non_repeatable = Some(counterexample(reason));
        }
        match found {
            Source::Several(candidates) => resolved.leave_open(transaction, at, candidates)?,
            Source::One(_) | Source::NoTransaction => resolved.read_versions.push(version),
        }
    }
    Ok(())
}

fn event_anomaly(anomaly: Anomaly, from: Txn, to: Txn) -> impl Fn(Reason) -> Counterexample {
    move |reason| Counterexample {
        anomaly,
        edges: vec![Edge { from, to, reason }],
        core: Vec::new(),
    }
}

/// Names a read that contradicts the transaction's own write.
fn internal(history: &History, transaction: Txn, at: usize) -> Unresolved {
    let event = history.event(at);
    let earlier = history
        .event_range(transaction)
        .take_while(|earlier| *earlier < at);
    let is_same_write =
        |e: Event| e.kind == Kind::Write && (e.key, e.value) == (event.key, event.value);
    let mut later = history.event_range(transaction).skip_while(|e| *e <= at);
    let anomaly = if earlier.into_iter().any(|e| is_same_write(history.event(e))) {
        Anomaly::NotMyLastWrite
    } else if later.any(|e| is_same_write(history.event(e))) {
        Anomaly::FutureRead
    } else {
        Anomaly::NotMyOwnWrite
    };
    Unresolved::Violated(event_anomaly(anomaly, transaction, transaction)(
        Reason::Event(at),
    ))
}

/// The anomaly of a read whose value no committed transaction left.
fn unwritten(history: &History, transaction: Txn, at: usize) -> Unresolved {
    let event = history.event(at);
    let wrote = |t: Txn| {
        let same = |e: Event| e.kind == Kind::Write && (e.key, e.value) == (event.key, event.value);
        history.events(t).any(same)
    };
    let (anomaly, from) = if wrote(transaction) {
        (Anomaly::FutureRead, transaction)
    } else {
        let mut writers = history.transactions().filter(|t| wrote(*t));
        let committed = writers
            .clone()
            .find(|t| history.status(*t) != Status::Aborted);
        match (committed, writers.next()) {
            (Some(writer), _) => (Anomaly::IntermediateRead, writer),
            (None, Some(writer)) => (Anomaly::AbortedRead, writer),
            (None, None) => (Anomaly::ThinAirRead, transaction),
        }
    };
    Unresolved::Violated(event_anomaly(anomaly, from, transaction)(Reason::Event(at)))
}

/// Finds the indeterminate transactions that were seen by one that counts: they took place.
/// The others can be left out of any order, so they are.
fn mark_live(
    resolved: &mut Resolved<'_>,
    index: &ValueIndex<'_>,
    own: &mut [OwnKey],
) -> Result<(), Unresolved> {
    let history = resolved.history;
    let mut pending: Vec<Txn> = resolved.live().collect();
    let mut open: Vec<(Event, Vec<Version>)> = Vec::new();
    while let Some(transaction) = pending.pop() {
        for event in history.events(transaction) {
            let key = event.key;
            if event.kind == Kind::Write {
                own[key].writer = transaction;
                continue;
            }
            if own[key].writer == transaction {
                continue;
            }
            match source(resolved, index, transaction, event) {
                Source::One(version) => {
                    let writer = resolved.writer[version];
                    if !resolved.is_live[writer] {
                        resolved.is_live[writer] = true;
                        pending.push(writer);
                    }
                }
                Source::Several(candidates) => open.push((event, candidates)),
                // Named when the reads are resolved for good.
                Source::NoTransaction => {}
            }
        }
    }
    // Whether a transaction took place must not depend on which of several writes was read.
    let is_live = |version: &Version| resolved.is_live[resolved.writer[*version]];
    match open
        .iter()
        .find(|(_, versions)| !versions.iter().all(is_live))
    {
        None => Ok(()),
        Some((event, _)) => {
            let (key, value) = (event.key, event.value);
            Err(Unresolved::Ambiguous { key, value })
        }
    }
}

/// What a list names was seen, wherever in the list it stands.
fn seen_in_lists(resolved: &mut Resolved<'_>) -> Result<(), Unresolved> {
    let history = resolved.history;
    if history.orders().is_empty() {
        return Ok(());
    }
    let mut writes: Vec<(Key, Atom, Txn)> = Vec::new();
    for transaction in history.transactions() {
        let events = history
            .events(transaction)
            .filter(|e| e.kind == Kind::Write);
        writes.extend(events.map(|event| (event.key, event.value, transaction)));
    }
    writes.sort_unstable();
    for (key, values) in history.orders() {
        for (place, value) in values.iter().enumerate() {
            let begin = writes.partition_point(|(k, v, _)| (*k, *v) < (*key, *value));
            let writers = writes[begin..].iter();
            let mut writers = writers.take_while(|(k, v, _)| (*k, *v) == (*key, *value));
            let (first, more) = (writers.next().map(|write| write.2), writers.next());
            match first {
                Some(_) if more.is_some() => {
                    let (key, value) = (*key, *value);
                    return Err(Unresolved::Ambiguous { key, value });
                }
                Some(writer) if history.status(writer) != Status::Aborted => {
                    resolved.is_live[writer] = true;
                }
                None if *value == history.initial(*key) => {}
                writer => return Err(listed_wrongly(resolved, *key, &values[place..], writer)),
            }
        }
    }
    Ok(())
}

/// The anomaly of a list with a value that no transaction committed.
fn listed_wrongly(
    resolved: &Resolved<'_>,
    key: Key,
    values: &[Atom],
    writer: Option<Txn>,
) -> Unresolved {
    let history = resolved.history;
    let shows = |at: &usize| {
        let event = history.event(*at);
        event.kind == Kind::Read && event.key == key && values.contains(&event.value)
    };
    let found = resolved
        .live()
        .find(|t| history.event_range(*t).any(|at| shows(&at)));
    let reader = found.unwrap_or(Txn::INITIAL);
    let reason = Reason::Listed {
        key,
        value: values[0],
    };
    let (anomaly, from) = match writer {
        Some(writer) => (Anomaly::AbortedRead, writer),
        None => (Anomaly::ThinAirRead, reader),
    };
    Unresolved::Violated(event_anomaly(anomaly, from, reader)(reason))
}
