//! Snapshot isolation and serializability online, from timestamps (Aion and Aion-SER, ICDE 2025).
//!
//! The axioms are those of the checker `chronos`, but transactions come one by one and in any order;
//! only those of one session keep theirs. SESSION and INT are decided when a transaction comes.
//! NOCONFLICT is decided when the second of two writers comes. EXT stays open: a version that comes
//! late changes what reads after it should have seen, up to the next version. These reads are
//! judged anew, each change of a verdict is a *flip*, and the verdict is final when the read has
//! waited for the timeout.
//!
//! The frontier and the ongoing transactions of the paper, both versioned by timestamps, are one
//! thing here: the versions of a key sorted by commit timestamp, each with its writer's start.
//! When memory is used up the older part of versions and reads goes to disk, in sorted runs, and
//! comes back where a straggler asks for it. The caller passes the time, so that a run can be
//! repeated.

mod axioms;
pub(in crate::checker) mod breach;
mod clock;
mod collect;
mod entry;
mod keys;
mod pool;
mod roles;
mod run;
mod sessions;
mod spill;
#[cfg(test)]
mod tests;
mod timeline;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use breach::{Breach, Summary, Unjudged, WatchVerdict};

use self::clock::Clock;
use self::entry::Entry;
use self::keys::KeyStates;
use self::roles::{EventRole, tell_roles};
use self::sessions::{SessionEnds, Succession};
use self::spill::Spill;
use self::timeline::Timelines;
use crate::history::{Atom, Batch, Head, Kind, NamedEvent, Span, Status};
use crate::model::Anomaly;
use crate::model::ConsistencyModel;

/// What to judge, and within which bounds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Snapshot isolation, or else serializability.
    pub model: ConsistencyModel,
    /// How long a read waits for versions that come late.
    pub timeout: Duration,
    /// How much memory the process may take, in bytes; what does not fit goes to disk.
    pub memory: u64,
    /// Where files may be made.
    pub folder: PathBuf,
}

/// Why the checker cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the disk for what does not fit into memory")]
pub struct SpillError(#[from] pub io::Error);

/// A read whose verdict is open and, as far as one knows, wrong.
#[derive(Clone, Copy, Debug)]
struct Open {
    snapshot: i64,
    value: Atom,
}

/// Which read: its epoch, its transaction, the place of its event, its key.
type ReadId = (u32, Atom, u32, Atom);

/// The checker.
#[derive(Debug)]
pub struct Aion {
    settings: Settings,
    is_snapshot: bool,
    initial: Atom,
    clock: Clock,
    keys: KeyStates,
    timelines: Timelines,
    spill: Spill,
    sessions: SessionEnds,
    /// Reads that are wrong so far, and not final.
    open: BTreeMap<ReadId, Open>,
    /// The most entries of `open`: unlike the rest they do not go to disk.
    open_max: usize,
    /// Values written by transactions whose commit timestamp is not known, by key and value.
    doubtful: BTreeSet<(Atom, Atom)>,
    /// Reported EXT breaches by key and value read: the latest snapshot among the reads, and their
    /// number.
    told: BTreeMap<(Atom, Atom), (i64, u64)>,
    /// Per epoch the latest snapshot of its reads, in the unit of the timestamps.
    seen: VecDeque<(u32, i64)>,
    /// The latest snapshot of a final read, in the unit of the timestamps.
    final_mark: i64,
    last_commit: i64,
    /// The longest time from start to commit of a writer, in the unit of the timestamps.
    longest: i64,
    breaches: Vec<Breach>,
    summary: Summary,
    roles: Vec<EventRole>,
    changed: Vec<Entry>,
}

/// How many doubtful writes are remembered.
const DOUBTFUL_MAX: usize = 1 << 20;

/// How many values are remembered that were told to be read wrongly.
const TOLD_MAX: usize = 1 << 16;

/// One read that is open and wrong is remembered for so many bytes of memory: a seventh of it, in
/// an ordered map.
const OPEN_SHARE: u64 = 512;

/// How much of the memory the program itself takes, what it reads and writes included.
const PROGRAM_BYTES: u64 = 32 << 20;

impl Aion {
    pub fn new(settings: Settings) -> Self {
        Self {
            is_snapshot: settings.model == ConsistencyModel::Snapshot,
            initial: Atom::NIL,
            clock: Clock::new(settings.timeout),
            keys: KeyStates::default(),
            timelines: Timelines::default(),
            spill: Spill::new(settings.folder.clone()),
            sessions: SessionEnds::default(),
            open: BTreeMap::new(),
            open_max: usize::try_from(settings.memory / OPEN_SHARE).unwrap_or(usize::MAX),
            doubtful: BTreeSet::new(),
            told: BTreeMap::new(),
            seen: VecDeque::new(),
            final_mark: i64::MIN,
            last_commit: i64::MIN,
            longest: 0,
            breaches: Vec::new(),
            summary: Summary::default(),
            roles: Vec::new(),
            changed: Vec::new(),
            settings,
        }
    }

    /// Sets the initial value of all keys. To be called before the first transaction.
    pub fn set_initial(&mut self, value: Atom) {
        self.initial = value;
    }

    /// Sets the initial value of one key.
    ///
    /// # Errors
    /// When the disk is needed and does not do.
    pub fn set_initial_of(&mut self, key: Atom, value: Atom) -> Result<(), SpillError> {
        let entry = Entry {
            at: i64::MIN,
            value,
            label: Atom::NIL,
            extra: i64::MIN,
        };
        Ok(self.write(key, entry)?)
    }

    /// Receives transactions that arrived together, `moment` after the start of the watch.
    ///
    /// # Errors
    /// When the disk is needed and does not do.
    pub fn receive_batch(&mut self, batch: &Batch, moment: Duration) -> Result<(), SpillError> {
        if let Some(initial) = batch.initial() {
            self.set_initial(initial);
        }
        for (key, value) in batch.initials() {
            self.set_initial_of(*key, *value)?;
        }
        for (head, events) in batch.transactions() {
            self.receive(head, events, moment)?;
        }
        Ok(())
    }

    /// Receives a transaction that arrived `moment` after the start of the watch.
    ///
    /// # Errors
    /// When the disk is needed and does not do.
    pub fn receive(
        &mut self,
        head: &Head,
        events: &[NamedEvent],
        moment: Duration,
    ) -> Result<(), SpillError> {
        self.advance(moment)?;
        self.summary.transactions += 1;
        self.summary.events += events.len() as u64;
        if let Some(span) = self.admit(head, events) {
            self.judge(head, span, events)?;
        }
        // Looking costs as much as a few events.
        if self.summary.transactions.is_multiple_of(64) && self.is_over() {
            self.collect()?;
        }
        Ok(())
    }

    /// The timestamps to judge a transaction by, unless there is nothing to judge.
    fn admit(&mut self, head: &Head, events: &[NamedEvent]) -> Option<Span> {
        let writes = events.iter().filter(|event| event.kind == Kind::Write);
        let why = match (head.status, head.timestamps) {
            (Status::Aborted, _) => return None,
            // It is not known whether it took place, and so not when.
            (Status::Indeterminate, _) => None,
            (Status::Committed, None | Some(Span { to: i64::MAX, .. })) => Some(Unjudged::Untimed),
            (_, Some(span)) => {
                let is_writer = writes.clone().next().is_some();
                if span.from < span.to || span.from == span.to && !is_writer {
                    return Some(span);
                }
                Some(Unjudged::Backwards)
            }
        };
        // It is not known when its writes became visible: a read of them is no breach.
        for event in writes {
            self.doubt(event.key, event.value);
            self.withdraw(event, i64::MIN);
        }
        if let Some(why) = why {
            self.summary.count(why);
        }
        None
    }

    fn judge(&mut self, head: &Head, span: Span, events: &[NamedEvent]) -> io::Result<()> {
        let mut roles = std::mem::take(&mut self.roles);
        tell_roles(events, &mut roles);
        let mut told = events.iter().zip(&roles);
        let first = told.find(|(_, role)| **role == EventRole::Final);
        let is_again = match first {
            Some((event, _)) => self.is_written_again(event, span)?,
            None => false,
        };
        let (is_writer, is_snapshot) = (first.is_some(), self.is_snapshot);
        if is_again || !self.follows_its_session(head, span, events) {
            self.summary.duplicates += 1;
        } else {
            // Serially a writer sees what was committed before itself.
            let snapshot = match is_snapshot {
                true => span.from,
                false => span.to - i64::from(is_writer),
            };
            if roles.contains(&EventRole::External) {
                self.note_snapshot(snapshot);
            }
            if is_writer {
                self.last_commit = self.last_commit.max(span.to);
                self.longest = self.longest.max(span.to.saturating_sub(span.from));
                self.summary.late += u64::from(span.to <= self.final_mark);
            }
            for (at, (event, role)) in events.iter().zip(&roles).enumerate() {
                match *role {
                    EventRole::External => self.read(event, at, head.label, snapshot)?,
                    EventRole::Internal(own) if events[own].value == event.value => {}
                    EventRole::Internal(own) => self.tell(Breach::Internal {
                        transaction: head.label,
                        key: event.key,
                        read: event.value,
                        wrote: events[own].value,
                    }),
                    EventRole::Final => {
                        if !self.told.is_empty() {
                            self.withdraw(event, span.to);
                        }
                        let entry = Entry {
                            at: span.to,
                            value: event.value,
                            label: head.label,
                            extra: span.from,
                        };
                        self.write(event.key, entry)?;
                    }
                    EventRole::Overwritten => {}
                }
            }
        }
        self.roles = roles;
        Ok(())
    }

    /// Whether a transaction that writes this, and nothing later to the key, was there before.
    fn is_written_again(&mut self, event: &NamedEvent, span: Span) -> io::Result<bool> {
        if span.to > self.last_commit {
            return Ok(false);
        }
        let key = self.key(event.key)?;
        let known = self.version_at(key, span.to)?;
        Ok(known.is_some_and(|known| known.extra == span.from && known.value == event.value))
    }

    /// SESSION. Whether the transaction was not there before.
    fn follows_its_session(&mut self, head: &Head, span: Span, events: &[NamedEvent]) -> bool {
        let begins = if self.is_snapshot { span.from } else { span.to };
        let place = self
            .sessions
            .add(head.session, head.label, span, begins, events);
        match place {
            Succession::Follows => {}
            Succession::Again => return false,
            Succession::Forgotten => self.summary.count(Unjudged::Session),
            Succession::Before(before) => self.tell(Breach::Session {
                transaction: head.label,
                before,
            }),
        }
        true
    }

    fn note_snapshot(&mut self, snapshot: i64) {
        let now = self.clock.now();
        match self.seen.back_mut() {
            Some((epoch, seen)) if *epoch == now => *seen = snapshot.max(*seen),
            _ => self.seen.push_back((now, snapshot)),
        }
    }

    /// Remembers a value that became visible at an unknown time.
    fn doubt(&mut self, key: Atom, value: Atom) {
        if self.doubtful.len() < DOUBTFUL_MAX {
            self.doubtful.insert((key, value));
        }
    }

    /// Withdraws breaches that were reported for reads of a value whose writer arrived only now.
    fn withdraw(&mut self, event: &NamedEvent, commit: i64) {
        let name = (event.key, event.value);
        let Some((snapshot, reads)) = self.told.get(&name).copied() else {
            return;
        };
        if commit > snapshot {
            return;
        }
        self.told.remove(&name);
        let violations = &mut self.summary.violations;
        if let Some(count) = violations.get_mut(&Anomaly::TimestampExternal) {
            *count = count.saturating_sub(reads);
            if *count == 0 {
                violations.remove(&Anomaly::TimestampExternal);
            }
        }
        for _ in 0..reads {
            self.summary.count(Unjudged::Withdrawn);
        }
    }

    fn tell(&mut self, breach: Breach) {
        *self.summary.violations.entry(breach.anomaly()).or_default() += 1;
        self.breaches.push(breach);
    }

    /// Goes on to a moment; what has waited long enough becomes final.
    ///
    /// # Errors
    /// When the disk is needed and does not do.
    pub fn advance(&mut self, moment: Duration) -> Result<(), SpillError> {
        if self.clock.advance(moment) {
            self.settle()?;
        }
        Ok(())
    }

    /// Nothing more comes: everything is final.
    ///
    /// # Errors
    /// When the disk is needed and does not do.
    pub fn finish(&mut self) -> Result<(), SpillError> {
        self.clock.end();
        Ok(self.settle()?)
    }

    fn settle(&mut self) -> io::Result<()> {
        let open = self.clock.open();
        while let Some(first) = self.open.first_entry() {
            if first.key().0 >= open {
                break;
            }
            let (id, read) = first.remove_entry();
            self.tell_external(id, read)?;
        }
        while let Some((epoch, seen)) = self.seen.front().copied() {
            if epoch >= open {
                break;
            }
            self.final_mark = self.final_mark.max(seen);
            self.seen.pop_front();
        }
        self.spill.settle(open);
        Ok(())
    }

    fn tell_external(&mut self, (_, label, _, name): ReadId, read: Open) -> io::Result<()> {
        let is_lost = self.doubtful.len() >= DOUBTFUL_MAX;
        if is_lost || self.doubtful.contains(&(name, read.value)) {
            self.summary.count(Unjudged::Doubtful);
            return Ok(());
        }
        let at = read.snapshot;
        let (held, next) = match self.keys.find(name) {
            Some(key) => (self.held(key, at)?, self.version_at(key, at + 1)?),
            None => {
                let next = self.spill.newest(name, at + 1)?;
                let next = next.filter(|version| version.at == at + 1);
                (self.spill.newest(name, at)?, next)
            }
        };
        // Serially, two writers that commit at one time may have followed each other either way.
        if let (false, Some(next)) = (self.is_snapshot, next)
            && (next.value, next.label != label) == (read.value, true)
        {
            self.summary.count(Unjudged::Tie);
            return Ok(());
        }
        if self.told.len() < TOLD_MAX {
            let told = self.told.entry((name, read.value)).or_insert((i64::MIN, 0));
            *told = (told.0.max(at), told.1 + 1);
        }
        self.tell(Breach::External {
            transaction: label,
            key: name,
            read: read.value,
            held: held.map_or(self.initial, |version| version.value),
            writer: held.map(|version| version.label),
        });
        Ok(())
    }

    /// What became certain since the last call, in the order in which it did.
    pub fn take_breaches(&mut self) -> Vec<Breach> {
        std::mem::take(&mut self.breaches)
    }

    /// How many reads are wrong so far without being final.
    pub fn open_breaches(&self) -> usize {
        self.open.len()
    }

    /// The account so far.
    pub fn summary(&self) -> Summary {
        Summary {
            spilled: self.spill.spilled,
            reloads: self.spill.reloads,
            ..self.summary.clone()
        }
    }

    fn open_bytes(&self) -> usize {
        // An entry of an ordered map takes about half as much again as what it holds.
        self.open.len() * (size_of::<ReadId>() + size_of::<Open>()) * 3 / 2
    }

    /// When to collect: a collection takes a third of what there is in addition, for a while.
    fn bound(&self) -> u64 {
        let room = self.settings.memory.saturating_sub(PROGRAM_BYTES);
        room.max(PROGRAM_BYTES / 4) / 20 * 12
    }

    fn is_over(&self) -> bool {
        let used = self.keys.bytes()
            + self.timelines.bytes()
            + self.spill.bytes()
            + self.sessions.bytes()
            + self.open_bytes()
            + self.doubtful.len() * 24;
        used as u64 > self.bound()
    }
}
