//! The checkers on histories that a serial engine would leave: `cargo bench --bench checkers`.
//!
//! `shapes` says what they look like; `cargo bench --bench bars` holds them against the bars.

mod shapes;

use std::time::Duration;

use rashomon::checker::aion::{Aion, Settings, WatchVerdict};
use rashomon::checker::{self, Answer, Budget};
use rashomon::history::synthetic::{Promise, Synthetic, SyntheticWorkload};
use rashomon::history::{Batch, History};
use rashomon::model::ConsistencyModel;
use shapes::{Engine, Shape, history};

fn main() {
    divan::main();
}

fn run(bencher: divan::Bencher<'_, '_>, history: &History, with: &str, model: ConsistencyModel) {
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
    let history = history(Engine::Serial, Shape::Mini, 100_000);
    run(bencher, &history, "mtc", model.parse().expect("a model"));
}

/// The same through the general engine.
#[divan::bench(args = ["si", "ser"], sample_count = 10)]
fn mini_transactions_through_polysi(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(Engine::Serial, Shape::Mini, 100_000);
    run(bencher, &history, "polysi", model.parse().expect("a model"));
}

/// 10,000 transactions of eight events, blind writes among them; what engines with snapshots leave
/// need not be serializable, but is decided.
#[divan::bench(args = ["si", "ser"], sample_count = 5)]
fn general_transactions(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(Engine::Serial, Shape::General, 10_000);
    run(bencher, &history, "polysi", model.parse().expect("a model"));
}

#[divan::bench(args = ["si", "ser"], sample_count = 5)]
fn write_heavy_transactions(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(Engine::Serial, Shape::WriteHeavy, 10_000);
    run(bencher, &history, "polysi", model.parse().expect("a model"));
}

#[divan::bench(args = ["si"], sample_count = 5)]
fn blind_writes_in_snapshots(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(Engine::Snapshot, Shape::BlindWrite, 16_000);
    run(bencher, &history, "polysi", model.parse().expect("a model"));
}

/// 100,000 general transactions under the weak models.
#[divan::bench(args = ["rc", "ra", "cc"], sample_count = 5)]
fn weak_models(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(Engine::Serial, Shape::General, 100_000);
    run(bencher, &history, "weak", model.parse().expect("a model"));
}

/// 100,000 general transactions by their timestamps.
#[divan::bench(args = ["si", "ser"], sample_count = 5)]
fn timestamps(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(Engine::Serial, Shape::General, 100_000);
    run(
        bencher,
        &history,
        "chronos",
        model.parse().expect("a model"),
    );
}

/// 100,000 general transactions one by one, told up to 1,000 transactions late.
#[divan::bench(args = ["si", "ser"], sample_count = 5)]
fn online(bencher: divan::Bencher<'_, '_>, model: &str) {
    let model: ConsistencyModel = model.parse().expect("a model");
    let promise = match model {
        ConsistencyModel::Snapshot => Promise::Snapshot,
        ConsistencyModel::ReadCommitted
        | ConsistencyModel::ReadAtomic
        | ConsistencyModel::Causal
        | ConsistencyModel::Serializable
        | ConsistencyModel::StrictSerializable
        | ConsistencyModel::Linearizable => Promise::Serial,
    };
    let workload = SyntheticWorkload {
        delay: 1_000,
        ..SyntheticWorkload::general(promise, 100_000)
    };
    let mut synthetic = Synthetic::new(workload);
    let (mut batch, mut events) = (Batch::default(), Vec::new());
    while let Some(head) = synthetic.tell(&mut events) {
        batch.push(&head, &events);
    }
    bencher.bench_local(|| {
        let mut aion = Aion::new(Settings {
            model,
            timeout: Duration::from_secs(5),
            memory: 4 << 30,
            folder: std::env::temp_dir(),
        });
        aion.set_initial(Synthetic::initial());
        aion.receive_batch(&batch, Duration::ZERO).expect("memory");
        aion.finish().expect("memory");
        assert_eq!(aion.summary().verdict(), WatchVerdict::Satisfied);
    });
}

/// 100,000 mini-transactions of which a hundred read the version before.
#[divan::bench(args = ["si", "ser"], sample_count = 5)]
fn stale_reads(bencher: divan::Bencher<'_, '_>, model: &str) {
    let history = history(Engine::Faulty, Shape::Mini, 100_000);
    let model: ConsistencyModel = model.parse().expect("a model");
    bencher.bench_local(|| {
        let (_, answer) = checker::check(&history, model, Budget::default());
        assert!(matches!(answer, Answer::Violated(_)), "{model}");
    });
}
