//! Histories with timestamps that are valid by construction, told in another order than that of
//! their timestamps: what the tests and benchmarks of checkers feed on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Atom, Head, Kind, NamedEvent, Span, Status};

/// What is drawn. The same workload is the same history in every run.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticWorkload {
    pub promise: Promise,
    pub transactions: u64,
    pub sessions: u32,
    pub keys: u32,
    /// Keys are drawn by Zipf's law, or else alike.
    pub is_skewed: bool,
    /// Events of a transaction.
    pub events: u32,
    pub reads_percent: u32,
    /// By how many transactions one may be told later than it committed.
    pub delay: u64,
    pub seed: u64,
}

/// What the engine keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Snapshots; the first of two overlapping writers of a key wins.
    Snapshot,
    /// One transaction after the other, in the order of the commits.
    Serial,
}

/// Versions of a key that are remembered. A read of an older one is left out.
const REMEMBERED: usize = 3;

/// The history, one transaction after the other.
#[derive(Debug)]
pub struct Synthetic {
    workload: SyntheticWorkload,
    numbers: u64,
    /// Sums of the weights of the keys.
    weights: Vec<f64>,
    /// The last versions of every key: commit and value, newest first.
    versions: Vec<[(i64, u32); REMEMBERED]>,
    /// When the transaction that runs in a session started.
    running: Vec<Option<i64>>,
    /// When the last transaction of a session is told.
    told: Vec<u64>,
    time: i64,
    value: u32,
    committed: u64,
    /// What waits to be told, by when, and where it lies.
    waiting: BinaryHeap<Reverse<(u64, u64, usize)>>,
    ready: Vec<(Head, Vec<NamedEvent>)>,
    free: Vec<usize>,
}

impl Synthetic {
    pub fn new(workload: SyntheticWorkload) -> Self {
        let mut sum = 0.0;
        let weights = (1..=workload.keys).map(|key| {
            sum += 1.0 / f64::from(key);
            sum
        });
        Self {
            numbers: workload.seed,
            weights: weights
                .take(if workload.is_skewed { usize::MAX } else { 0 })
                .collect(),
            versions: vec![[(0, 0); REMEMBERED]; workload.keys as usize],
            running: vec![None; workload.sessions as usize],
            told: vec![0; workload.sessions as usize],
            time: 0,
            value: 0,
            committed: 0,
            waiting: BinaryHeap::new(),
            ready: Vec::new(),
            free: Vec::new(),
            workload,
        }
    }

    /// What every key holds before anyone writes it.
    pub fn initial() -> Atom {
        Atom::from(0)
    }

    /// The next transaction to be told; its events replace those in `events`.
    pub fn tell(&mut self, events: &mut Vec<NamedEvent>) -> Option<Head> {
        loop {
            let is_done = self.committed == self.workload.transactions;
            if let Some(Reverse((due, _, place))) = self.waiting.peek().copied()
                && (is_done || due <= self.committed)
            {
                self.waiting.pop();
                self.free.push(place);
                let (head, told) = &self.ready[place];
                events.clear();
                events.extend_from_slice(told);
                return Some(*head);
            }
            if is_done {
                return None;
            }
            self.step();
        }
    }

    /// A session starts a transaction, or runs and commits the one it has started.
    fn step(&mut self) {
        let session = self.below(u64::from(self.workload.sessions)) as usize;
        self.time += 1;
        let Some(start) = self.running[session].take() else {
            self.running[session] = Some(self.time);
            return;
        };
        let place = self.free.pop().unwrap_or_else(|| {
            let head = Head {
                session: Atom::NIL,
                label: Atom::NIL,
                status: Status::Committed,
                timestamps: None,
                real_time: None,
            };
            self.ready.push((head, Vec::new()));
            self.ready.len() - 1
        });
        let mut events = std::mem::take(&mut self.ready[place].1);
        events.clear();
        for _ in 0..self.workload.events {
            self.event(start, &mut events);
        }
        for event in events.iter().filter(|event| event.kind == Kind::Write) {
            self.publish(event);
        }
        self.committed += 1;
        let span = Span {
            from: start,
            to: self.time,
        };
        let head = Head {
            session: (session as u32).into(),
            label: Atom::integer(self.committed.cast_signed()).unwrap_or(Atom::NIL),
            status: Status::Committed,
            timestamps: Some(span),
            real_time: None,
        };
        self.ready[place] = (head, events);
        let due = self.committed + self.below(self.workload.delay + 1);
        let due = due.max(self.told[session]);
        self.told[session] = due;
        self.waiting.push(Reverse((due, self.committed, place)));
    }

    fn event(&mut self, start: i64, events: &mut Vec<NamedEvent>) {
        let number = self.draw();
        let key = Atom::from(number);
        let known = self.versions[number as usize];
        let is_snapshot = self.workload.promise == Promise::Snapshot;
        let is_read = self.below(100) < u64::from(self.workload.reads_percent);
        let mut own = events.iter().rev();
        let own = own.find(|event| event.kind == Kind::Write && event.key == key);
        let seen = known
            .iter()
            .find(|version| !is_snapshot || version.0 <= start);
        // A second write of a key that somebody committed meanwhile would break the promise.
        let is_taken = is_snapshot && known[0].0 > start;
        let event = match (is_read || is_taken, own, seen) {
            (false, _, _) => {
                self.value += 1;
                (Kind::Write, self.value.into())
            }
            (true, Some(own), _) => (Kind::Read, own.value),
            (true, None, Some((_, value))) => (Kind::Read, (*value).into()),
            (true, None, None) => return,
        };
        let (kind, value) = event;
        events.push(NamedEvent { kind, key, value });
    }

    /// A write becomes what others read.
    fn publish(&mut self, event: &NamedEvent) {
        let number = |atom: Atom| {
            atom.as_integer()
                .and_then(|number| u32::try_from(number).ok())
        };
        let (Some(key), Some(value)) = (number(event.key), number(event.value)) else {
            return;
        };
        let versions = &mut self.versions[key as usize];
        if versions[0].0 != self.time {
            versions.rotate_right(1);
        }
        versions[0] = (self.time, value);
    }

    /// A key, from 0.
    fn draw(&mut self) -> u32 {
        let keys = self.workload.keys;
        let Some(total) = self.weights.last().copied() else {
            return self.below(u64::from(keys)) as u32;
        };
        let point = self.below(1 << 40) as f64 / (1u64 << 40) as f64 * total;
        let key = self.weights.partition_point(|sum| *sum < point) as u32;
        key.min(keys - 1)
    }

    /// A number below a bound (splitmix64).
    fn below(&mut self, bound: u64) -> u64 {
        self.numbers = self.numbers.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.numbers;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

impl SyntheticWorkload {
    /// The parameters of Aion's default workload: 24 sessions, 8 events, half of them reads, Zipf.
    pub fn general(promise: Promise, transactions: u64) -> Self {
        Self {
            promise,
            transactions,
            sessions: 24,
            keys: 10_000,
            is_skewed: true,
            events: 8,
            reads_percent: 50,
            delay: 0,
            seed: 1,
        }
    }
}
