//! The checkers on histories that a serial engine would leave: `cargo bench --bench checkers`.
//!
//! Mini-transactions read one or two keys and write what they read; general ones have eight
//! events, half of them blind writes, on keys drawn by Zipf's law.

use rashomon::checker::{self, Answer, Budget, Model};
use rashomon::history::{Atom, Builder, Event, Head, History, Kind, Span, Status};

fn main() {
    divan::main();
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
}

const SESSIONS: u64 = 20;

/// Keys, the heavier the smaller.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(keys: u64) -> Self {
        let mut sum = 0.0;
        let weights = (1..=keys).map(|key| {
            sum += 1.0 / key as f64;
            sum
        });
        Self(weights.collect())
    }

    fn draw(&self, numbers: &mut Numbers) -> u32 {
        let total = self.0.last().copied().unwrap_or(1.0);
        let point = numbers.below(1 << 40) as f64 / (1u64 << 40) as f64 * total;
        self.0.partition_point(|sum| *sum < point) as u32
    }
}

/// The events of one transaction: whether it writes, and the key.
type Shape = fn(&mut Numbers, &Zipf) -> Vec<(Kind, u32)>;

fn mini(numbers: &mut Numbers, keys: &Zipf) -> Vec<(Kind, u32)> {
    let first = numbers.below(keys.0.len() as u64) as u32;
    let second = (first + 1) % keys.0.len() as u32;
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

fn general(numbers: &mut Numbers, keys: &Zipf) -> Vec<(Kind, u32)> {
    let kinds = [Kind::Read, Kind::Write];
    (0..8)
        .map(|_| (kinds[numbers.below(2) as usize], keys.draw(numbers)))
        .collect()
}

fn history(transactions: u64, shape: Shape) -> History {
    let (mut numbers, keys) = (Numbers(1), Zipf::new(transactions));
    let mut held = vec![0u32; transactions as usize];
    let mut builder = Builder::new(Atom::from(0));
    let mut value = 0;
    for at in 0..transactions {
        let span = Span {
            from: at as i64 * 2,
            to: at as i64 * 2 + 1,
        };
        let head = Head {
            session: (numbers.below(SESSIONS) as u32).into(),
            label: (at as u32).into(),
            status: Status::Committed,
            timestamps: Some(span),
            real_time: Some(span),
        };
        let mut events = Vec::new();
        for (kind, key) in shape(&mut numbers, &keys) {
            if kind == Kind::Write {
                value += 1;
                held[key as usize] = value;
            }
            let value = held[key as usize].into();
            let key = builder.key(key.into()).expect("few keys");
            events.push(Event { kind, key, value });
        }
        builder
            .transaction(&head, events)
            .expect("few transactions");
    }
    builder.finish()
}

fn run(bencher: divan::Bencher<'_, '_>, history: &History, with: &str, model: Model) {
    let checker = checker::by_name(with).expect("a checker");
    bencher.bench_local(|| {
        let answer = checker.check(history, model, Budget::default());
        assert!(
            matches!(answer, Answer::Satisfied(_)),
            "{with} under {model}"
        );
    });
}

/// 100,000 mini-transactions where every version order is known.
#[divan::bench(args = ["si", "ser", "sser"], sample_count = 10)]
fn mini_transactions(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(100_000, mini);
    run(bencher, &history, "mtc", model.parse().expect("a model"));
}

/// The same through the general engine.
#[divan::bench(args = ["si", "ser"], sample_count = 10)]
fn mini_transactions_through_polysi(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(100_000, mini);
    run(bencher, &history, "polysi", model.parse().expect("a model"));
}

/// 10,000 general transactions.
#[divan::bench(args = ["si", "ser"], sample_count = 5)]
fn general_transactions(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(10_000, general);
    run(bencher, &history, "polysi", model.parse().expect("a model"));
}

/// 100,000 general transactions under the weak models.
#[divan::bench(args = ["rc", "ra", "cc"], sample_count = 5)]
fn weak_models(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(100_000, general);
    run(bencher, &history, "weak", model.parse().expect("a model"));
}

/// 100,000 general transactions by their timestamps.
#[divan::bench(args = ["si", "ser"], sample_count = 5)]
fn timestamps(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(100_000, general);
    run(
        bencher,
        &history,
        "chronos",
        model.parse().expect("a model"),
    );
}
