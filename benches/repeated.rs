//! Histories in which values are written more than once: how many are decided, and how soon.
//! `cargo bench --bench repeated -- --count 100 --transactions 2000 --seconds 60`.
//!
//! A made-up engine commits transactions one after the other (`serial`), or lets them read from
//! snapshots (`snapshot`). Sessions, keys, their law, events and the share of repeated values are
//! drawn anew for every history; in one of three, reads are spoilt. A file has the transactions
//! session by session, as those of most recorders do, so that their place in the file does not say
//! when they committed. `--write FOLDER` leaves the histories for `rashomon check`.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Parser;

use rashomon::checker::{self, Answer, Budget};
use rashomon::history::{Atom, Builder, Event, Head, History, Kind, Status, format};
use rashomon::model::ConsistencyModel;

#[derive(Parser, Debug)]
struct Arguments {
    /// The number of histories
    #[arg(long, default_value = "100")]
    count: u64,
    /// The first of them
    #[arg(long, default_value = "0")]
    first: u64,
    #[arg(long, default_value = "2000")]
    transactions: u64,
    /// So many at most: a hundredth of it, two hundredths and so on, in a mixed order
    #[arg(long)]
    spread: bool,
    /// Of processor time, for each history and model
    #[arg(long, default_value = "60")]
    seconds: u64,
    #[arg(long, default_values = ["ser", "si"])]
    model: Vec<String>,
    #[arg(long)]
    write: Option<PathBuf>,
    /// What cargo gives to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

impl Arguments {
    fn size(&self, seed: u64) -> u64 {
        // 37 and 100 have no divisor in common, so that a hundred seeds have a hundred sizes.
        let parts = if self.spread {
            37 * seed % 100 + 1
        } else {
            100
        };
        (self.transactions * parts / 100).max(1)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let mut tally = vec![Tally::default(); arguments.model.len()];
    for seed in arguments.first..arguments.first + arguments.count {
        let plan = Plan::draw(seed, arguments.size(seed));
        let history = plan.history();
        if let Some(folder) = &arguments.write {
            let write = format::by_name("rashomon").and_then(|format| format.write);
            let file = File::create(folder.join(format!("{seed}.txt")))?;
            let mut out = BufWriter::new(file);
            write.ok_or("our format has no writer")?(&history, &mut out)?;
            out.flush()?;
        }
        for (model, tally) in arguments.model.iter().zip(&mut tally) {
            let model: ConsistencyModel = model.parse()?;
            let begun = processor_time();
            LIMIT_NS.store(
                (begun + Duration::from_secs(arguments.seconds)).as_nanos() as u64,
                Ordering::Relaxed,
            );
            let budget = Budget {
                deadline: None,
                stop: Some(is_over),
            };
            let (with, answer) = checker::check(&history, model, budget);
            let taken = processor_time() - begun;
            let said = tally.count(&answer, taken);
            let seconds = taken.as_secs_f64();
            println!("{seed} {plan} | {model} {said} {with} {seconds:.2} s");
        }
    }
    for (model, tally) in arguments.model.iter().zip(&tally) {
        println!("{model}: {tally}");
    }
    Ok(())
}

/// When to give up a history, in nanoseconds of processor time of this thread.
static LIMIT_NS: AtomicU64 = AtomicU64::new(0);

fn is_over() -> bool {
    processor_time().as_nanos() as u64 >= LIMIT_NS.load(Ordering::Relaxed)
}

/// Processor time of this thread so far: a busy machine takes nothing away.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    let used = text.split_whitespace().next().expect("three numbers");
    Duration::from_nanos(used.parse().expect("a number"))
}

/// What became of all histories under one model.
#[derive(Clone, Debug, Default)]
struct Tally {
    satisfied: u32,
    violated: u32,
    unknown: u32,
    longest: Duration,
    all: Duration,
}

impl Tally {
    fn count(&mut self, answer: &Answer, taken: Duration) -> String {
        self.longest = self.longest.max(taken);
        self.all += taken;
        match answer {
            Answer::Satisfied(_) => {
                self.satisfied += 1;
                "satisfied".to_owned()
            }
            Answer::Violated(found) => {
                self.violated += 1;
                let size = found.core.len().max(found.edges.len());
                format!("{} of {size}", found.anomaly.slug())
            }
            Answer::Unknown(_) => {
                self.unknown += 1;
                "UNKNOWN".to_owned()
            }
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} satisfied, {} violated, {} unknown; longest {:.2} s, all {:.1} s",
            self.satisfied,
            self.violated,
            self.unknown,
            self.longest.as_secs_f64(),
            self.all.as_secs_f64()
        )
    }
}

/// A plain source of numbers, the same in every run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn one_of(&mut self, choices: &[u64]) -> u64 {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// What one history looks like.
#[derive(Clone, Copy, Debug)]
struct Plan {
    seed: u64,
    transactions: u64,
    sessions: u64,
    keys: u64,
    /// Keys are drawn by Zipf's law, or else alike.
    is_skewed: bool,
    events: u64,
    reads_percent: u64,
    /// Of the writes so many repeat a value of a small set of their key.
    repeated_percent: u64,
    /// The size of this set.
    pool: u64,
    is_snapshot: bool,
    /// Reads that are of an older version than they should be.
    spoilt: u64,
}

impl Plan {
    fn draw(seed: u64, transactions: u64) -> Self {
        let mut numbers = Numbers(seed);
        numbers.below(1);
        let of_keys = numbers.one_of(&[10, 25, 50, 100, 400]);
        Self {
            seed,
            transactions,
            sessions: numbers.one_of(&[5, 10, 20, 50]),
            keys: (transactions * of_keys / 100).max(2),
            is_skewed: numbers.below(2) == 0,
            events: numbers.one_of(&[4, 8, 12]),
            reads_percent: numbers.one_of(&[30, 50, 70, 90]),
            repeated_percent: numbers.one_of(&[5, 10, 25, 50, 100]),
            pool: numbers.one_of(&[2, 4, 10, 50]),
            is_snapshot: numbers.below(2) == 0,
            spoilt: numbers.one_of(&[0, 0, 3]),
        }
    }

    fn history(self) -> History {
        let mut engine = MadeUp::new(self);
        let mut of_sessions = vec![Vec::new(); self.sessions as usize];
        for commit in 1..=self.transactions {
            let (session, events) = engine.transaction(commit);
            of_sessions[session as usize].push(events);
        }
        let mut builder = Builder::new(Atom::from(0));
        let mut label = 0u32;
        for (session, transactions) in (0u32..).zip(of_sessions) {
            for drawn in transactions {
                label += 1;
                let head = Head {
                    session: session.into(),
                    label: label.into(),
                    status: Status::Committed,
                    timestamps: None,
                    real_time: None,
                };
                let mut events = Vec::new();
                for (kind, key, value) in drawn {
                    let key = builder.key(key.into()).expect("few keys");
                    let value = value.into();
                    events.push(Event { kind, key, value });
                }
                builder.transaction(&head, events).expect("few enough");
            }
        }
        builder.finish()
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "n{} s{} k{}{} e{} r{} d{}/{} {}{}",
            self.transactions,
            self.sessions,
            self.keys,
            if self.is_skewed { "z" } else { "u" },
            self.events,
            self.reads_percent,
            self.repeated_percent,
            self.pool,
            if self.is_snapshot { "snap" } else { "serial" },
            if self.spoilt > 0 { " spoilt" } else { "" },
        )
    }
}

/// The engine: versions of each key with their commits, oldest first.
struct MadeUp {
    plan: Plan,
    numbers: Numbers,
    versions: Vec<Vec<(u64, u32)>>,
    /// The last commit of each session.
    last: Vec<u64>,
    /// Sums of the weights of the keys; empty when all weigh the same.
    sums: Vec<f64>,
    fresh: u32,
    /// Commits of which a read is spoilt.
    spoilt: Vec<u64>,
}

/// How many commits a snapshot may be behind.
const LAG_MAX: u64 = 20;

/// Fresh values begin above all that are repeated.
const FRESH: u32 = 1_000;

impl MadeUp {
    fn new(plan: Plan) -> Self {
        let mut numbers = Numbers(plan.seed ^ 0x5eed);
        let mut sum = 0.0;
        let weights = (1..=plan.keys).map(|key| {
            sum += 1.0 / key as f64;
            sum
        });
        let sums = weights.filter(|_| plan.is_skewed).collect();
        let late = |_| plan.transactions / 4 + numbers.below(plan.transactions * 3 / 4);
        let spoilt = (0..plan.spoilt).map(late).collect();
        Self {
            plan,
            numbers,
            versions: vec![Vec::new(); plan.keys as usize],
            last: vec![0; plan.sessions as usize],
            sums,
            fresh: FRESH,
            spoilt,
        }
    }

    fn key(&mut self) -> u32 {
        let Some(total) = self.sums.last() else {
            return self.numbers.below(self.plan.keys) as u32;
        };
        let point = self.numbers.below(1 << 40) as f64 / (1u64 << 40) as f64 * total;
        self.sums.partition_point(|sum| *sum < point) as u32
    }

    fn value(&mut self) -> u32 {
        if self.numbers.below(100) < self.plan.repeated_percent {
            return 1 + self.numbers.below(self.plan.pool) as u32;
        }
        self.fresh += 1;
        self.fresh
    }

    /// The value that a key had after a commit, or the one so many versions before.
    fn at(&self, key: u32, commit: u64, back: usize) -> u32 {
        let versions = &self.versions[key as usize];
        let count = versions.partition_point(|version| version.0 <= commit);
        match count.saturating_sub(back) {
            0 => 0,
            count => versions[count - 1].1,
        }
    }

    /// The next transaction: its session and its events.
    fn transaction(&mut self, commit: u64) -> (u64, Vec<(Kind, u32, u32)>) {
        let session = self.numbers.below(self.plan.sessions);
        let mut drawn = Vec::new();
        for _ in 0..self.plan.events {
            let is_read = self.numbers.below(100) < self.plan.reads_percent;
            drawn.push((is_read, self.key()));
        }
        let lag = self.numbers.below(LAG_MAX);
        let mut start = match self.plan.is_snapshot {
            true => (commit - 1)
                .saturating_sub(lag)
                .max(self.last[session as usize]),
            false => commit - 1,
        };
        let is_overwritten = |key: u32| {
            let last = self.versions[key as usize].last();
            last.is_some_and(|version| version.0 > start)
        };
        if drawn
            .iter()
            .any(|(read, key)| !read && is_overwritten(*key))
        {
            start = commit - 1;
        }
        let mut is_spoilt = self.spoilt.contains(&commit);
        let mut own: Vec<(u32, u32)> = Vec::new();
        let mut events = Vec::new();
        for (is_read, key) in drawn {
            let mine = own.iter().rev().find(|(mine, _)| *mine == key);
            let read = mine.map(|(_, value)| *value).unwrap_or_else(|| {
                let back = usize::from(is_spoilt) * 2;
                is_spoilt &= !is_read;
                self.at(key, start, back)
            });
            if is_read {
                events.push((Kind::Read, key, read));
                continue;
            }
            let value = self.value();
            own.push((key, value));
            events.push((Kind::Write, key, value));
        }
        for (key, value) in own {
            let versions = &mut self.versions[key as usize];
            versions.retain(|version| version.0 != commit);
            versions.push((commit, value));
        }
        self.last[session as usize] = commit;
        (session, events)
    }
}
