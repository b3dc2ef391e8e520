//! Histories that engines would leave: valid by construction, or mutated so that they are not.
//!
//! A made-up engine commits one transaction after the other. A serializable one runs each alone;
//! a snapshot one lets it read what was committed up to `LAG_MAX` commits ago, and commit if nobody
//! has overwritten its keys since.

use rashomon::history::{Atom, Builder, Event, Head, History, Kind, Span, Status};

/// A plain source of numbers, the same in every run (splitmix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

const SESSIONS: u64 = 20;

/// How many commits a snapshot may be behind.
const LAG_MAX: u64 = 20;

/// Keys drawn by a law.
pub(crate) struct Keys {
    count: u64,
    /// Sums of the weights; empty when all weigh the same.
    sums: Vec<f64>,
}

impl Keys {
    fn uniform(count: u64) -> Self {
        let sums = Vec::new();
        Self { count, sums }
    }

    /// Zipf's law: the heavier the smaller.
    fn zipf(count: u64) -> Self {
        let mut sum = 0.0;
        let weights = (1..=count).map(|key| {
            sum += 1.0 / key as f64;
            sum
        });
        let sums = weights.collect();
        Self { count, sums }
    }

    fn draw(&self, numbers: &mut Numbers) -> u32 {
        let Some(total) = self.sums.last() else {
            return numbers.below(self.count) as u32;
        };
        let point = numbers.below(1 << 40) as f64 / (1u64 << 40) as f64 * total;
        self.sums.partition_point(|sum| *sum < point) as u32
    }
}

/// What transactions look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One or two keys read, and in 7 of 10 written (MTC).
    Mini,
    /// Eight events, half of them blind writes, keys by Zipf's law.
    General,
    /// The same, seven of ten events writes (PolySI's GeneralWH).
    WriteHeavy,
    /// Eight reads or eight blind writes, keys drawn evenly (Cobra's BlindW-RW, chengRW).
    BlindWrite,
}

impl Shape {
    pub(crate) fn keys(self, transactions: u64) -> Keys {
        match self {
            Self::Mini => Keys::uniform(transactions),
            Self::General | Self::WriteHeavy => Keys::zipf(transactions.clamp(10_000, 100_000)),
            Self::BlindWrite => Keys::uniform(10_000),
        }
    }

    /// The events of one transaction: kinds and keys.
    fn events(self, numbers: &mut Numbers, keys: &Keys) -> Vec<(Kind, u32)> {
        let eight = |numbers: &mut Numbers, writes: u64| {
            let kind = |numbers: &mut Numbers| match numbers.below(10) < writes {
                true => Kind::Write,
                false => Kind::Read,
            };
            (0..8)
                .map(|_| (kind(numbers), keys.draw(numbers)))
                .collect()
        };
        match self {
            Self::Mini => mini(numbers, keys),
            Self::General => eight(numbers, 5),
            Self::WriteHeavy => eight(numbers, 7),
            Self::BlindWrite => {
                let writes = numbers.below(2) * 10;
                eight(numbers, writes)
            }
        }
    }
}

fn mini(numbers: &mut Numbers, keys: &Keys) -> Vec<(Kind, u32)> {
    let first = keys.draw(numbers);
    let second = (first + 1) % keys.count as u32;
    let mut events = vec![(Kind::Read, first)];
    let has_two = numbers.below(2) == 0;
    if has_two {
        events.push((Kind::Read, second));
    }
    if numbers.below(10) >= 3 {
        events.push((Kind::Write, first));
        if has_two && numbers.below(2) == 0 {
            events.push((Kind::Write, second));
        }
    }
    events
}

/// Which engine left a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Serial,
    Snapshot,
    /// A snapshot engine that sometimes forgets a commit: one read in a thousand transactions is of
    /// the version before.
    Faulty,
}

/// The versions of each key: commits and values, oldest first.
struct Store(Vec<Vec<(u64, u32)>>);

impl Store {
    /// The value at a time, and the one before it.
    fn at(&self, key: u32, time: u64) -> (u32, u32) {
        let versions = &self.0[key as usize];
        let value = |count: usize| match count {
            0 => 0,
            count => versions[count - 1].1,
        };
        let count = versions.partition_point(|(commit, _)| *commit <= time);
        (value(count), value(count.saturating_sub(1)))
    }

    fn last_commit(&self, key: u32) -> u64 {
        self.0[key as usize].last().map_or(0, |version| version.0)
    }
}

/// What an engine leaves of this many transactions.
pub(crate) fn history(engine: Engine, shape: Shape, transactions: u64) -> History {
    let (mut numbers, keys) = (Numbers(1), shape.keys(transactions));
    let mut store = Store(vec![Vec::new(); keys.count as usize]);
    let mut last = vec![0u64; SESSIONS as usize];
    let mut builder = Builder::new(Atom::from(0));
    let mut fresh = 0;
    for commit in 1..=transactions {
        let session = numbers.below(SESSIONS) as usize;
        let drawn = shape.events(&mut numbers, &keys);
        let lag = numbers.below(LAG_MAX);
        let mut start = match engine {
            Engine::Serial => commit - 1,
            Engine::Snapshot | Engine::Faulty => commit.saturating_sub(1 + lag).max(last[session]),
        };
        let writes = drawn.iter().filter(|event| event.0 == Kind::Write);
        if writes
            .clone()
            .any(|(_, key)| store.last_commit(*key) > start)
        {
            start = commit - 1;
        }
        let is_faulty = engine == Engine::Faulty && numbers.below(1_000) == 0;
        let mut own: Vec<(u32, u32)> = Vec::new();
        let mut events = Vec::with_capacity(drawn.len());
        for (kind, key) in drawn {
            let mine = own.iter_mut().find(|(mine, _)| *mine == key);
            let value = match (kind, mine) {
                (Kind::Write, mine) => {
                    fresh += 1;
                    match mine {
                        Some(mine) => mine.1 = fresh,
                        None => own.push((key, fresh)),
                    }
                    fresh
                }
                (Kind::Read, Some((_, value))) => *value,
                (Kind::Read, None) => match store.at(key, start) {
                    (_, before) if is_faulty && events.is_empty() => before,
                    (value, _) => value,
                },
            };
            let key = builder.key(key.into()).expect("few keys");
            let value = value.into();
            events.push(Event { kind, key, value });
        }
        for (key, value) in own {
            store.0[key as usize].push((commit, value));
        }
        last[session] = commit;
        // A start stands right behind the commit that it sees last.
        let span = Span {
            from: start as i64 * 2 + 1,
            to: commit as i64 * 2,
        };
        let head = Head {
            session: (session as u32).into(),
            label: (commit as u32).into(),
            status: Status::Committed,
            timestamps: Some(span),
            real_time: Some(span),
        };
        builder.transaction(&head, events).expect("few enough");
    }
    builder.finish()
}
