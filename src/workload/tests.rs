//! What is drawn, and what runs on SQLite, which is always there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::draw::KeyWeights;
use super::*;
use crate::checker::{self, Answer, Budget};
use crate::engine;
use crate::history::{Kind, Operation, Recorded, Status, format};
use crate::model::{ConsistencyModel, IsolationLevel};

fn draws(settings: &WorkloadSettings, session: u32) -> Vec<TransactionPlan> {
    let keys = KeyWeights::new(settings.distribution, settings.keys);
    let mut draw = SessionDraws::new(settings.seed, session, keys);
    (0..300)
        .map(|number: u64| {
            // Up to more than any run can write.
            let written = number << (number % 56);
            settings.kind.plan(&mut draw, written, settings)
        })
        .collect()
}

#[test]
fn a_seed_decides_every_transaction_and_sessions_differ() {
    for kind in WORKLOADS {
        let settings = WorkloadSettings::of(*kind);
        assert_eq!(draws(&settings, 3), draws(&settings, 3), "{kind:?}");
        assert_ne!(draws(&settings, 3), draws(&settings, 4), "{kind:?}");
        let other = WorkloadSettings {
            seed: 2,
            ..settings.clone()
        };
        assert_ne!(draws(&settings, 3), draws(&other, 3), "{kind:?}");
    }
}

#[test]
fn planned_keys_exist_in_the_table() {
    for kind in WORKLOADS {
        let settings = WorkloadSettings {
            keys: 7,
            transactions: Some(3000),
            ..WorkloadSettings::of(*kind)
        };
        let rows = kind.rows(&settings);
        for plan in draws(&settings, 0) {
            for step in plan.steps {
                let (PlannedOperation::Read(key)
                | PlannedOperation::Write(key)
                | PlannedOperation::Append(key)
                | PlannedOperation::CompareAndSet(key)) = step;
                assert!(u64::from(key) < rows, "{kind:?}: {key} of {rows}");
            }
        }
    }
}

/// SQLite refuses most of what is sent at once, and so fast that no plan made room for it: the
/// sessions move on by what was committed.
#[test]
fn lists_keep_their_length_whatever_share_of_transactions_the_engine_refuses() {
    let settings = WorkloadSettings {
        sessions: 8,
        transactions: None,
        time: Some(Duration::from_millis(500)),
        keys: 1,
        ..WorkloadSettings::of(&list_append::ListAppend)
    };
    let (recorded, progress) = on_sqlite("lists", &settings);
    let mut elements: BTreeMap<u32, u32> = BTreeMap::new();
    for transaction in recorded.iter().filter(|t| t.status == Status::Committed) {
        for operation in &transaction.operations {
            if let Operation::Write { key, .. } = operation {
                *elements.entry(*key).or_default() += 1;
            }
        }
    }
    let longest = elements.values().copied().max().unwrap_or(0);
    assert!((50..=100).contains(&longest), "{longest}: {progress:?}");
    let read = recorded.iter().flat_map(|t| &t.operations);
    let read = read.map(|operation| match operation {
        Operation::ReadList { values, .. } => values.len(),
        Operation::Read { .. } | Operation::Write { .. } => 0,
    });
    assert!(
        read.max().unwrap_or(0) <= 100 + 4,
        "nor what was not committed"
    );
}

/// Definition 8 of the paper, and every shape that its Table I needs.
#[test]
fn mini_transactions_have_the_shapes_of_the_paper() {
    let settings = WorkloadSettings::of(&mini_transaction::MiniTransaction);
    let mut shapes = BTreeSet::new();
    for plan in draws(&settings, 0).into_iter().chain(draws(&settings, 1)) {
        let mut read = BTreeSet::new();
        let (mut reads, mut writes) = (0, 0);
        let mut keys = Vec::new();
        let mut shape = String::new();
        for step in &plan.steps {
            let (letter, key) = match step {
                PlannedOperation::Read(key) => {
                    reads += 1;
                    read.insert(*key);
                    ('r', *key)
                }
                PlannedOperation::Write(key) => {
                    writes += 1;
                    assert!(read.contains(key), "{plan:?}: a write without a read");
                    ('w', *key)
                }
                other @ (PlannedOperation::Append(_) | PlannedOperation::CompareAndSet(_)) => {
                    panic!("{other:?} in a mini-transaction")
                }
            };
            if !keys.contains(&key) {
                keys.push(key);
            }
            shape.push(letter);
            shape.push(if keys[0] == key { 'x' } else { 'y' });
        }
        assert!((1..=2).contains(&reads) && writes <= 2, "{plan:?}");
        shapes.insert(shape);
    }
    for needed in [
        "rx", "rxry", "rxrx", "rxwx", "rxrywx", "rxrywy", "rxrywxwy", "rxwxrywy", "rxwxrx",
        "rxwxwx", "rxwxwxrx",
    ] {
        assert!(shapes.contains(needed), "{needed} of {shapes:?}");
    }
}

#[test]
fn distributions_have_their_documented_skew() {
    let share_of_first = |distribution, first: u32| {
        let mut draw = SessionDraws::new(1, 0, KeyWeights::new(distribution, 100));
        let hits = (0..20_000).filter(|_| draw.key() < first).count();
        hits as f64 / 20_000.0
    };
    let near = |share: f64, expected: f64| (share - expected).abs() < 0.02;
    assert!(near(share_of_first(Distribution::Uniform, 20), 0.2));
    assert!(near(share_of_first(Distribution::Hotspot, 20), 0.8));
    // 1/1 of the sum of 1/k up to 100, which is 5.187.
    assert!(near(share_of_first(Distribution::Zipf, 1), 0.193));
    // (1 - q^86) / (1 - q^100), where q = 1 - 2/100: each key is drawn q times as often as the one
    // before.
    assert!(near(share_of_first(Distribution::Exponential, 86), 0.95));
}

/// Keeps everything.
#[derive(Default)]
struct Kept(Vec<Recorded>);

impl Recorder for Kept {
    fn transaction(&mut self, transaction: Recorded) -> std::io::Result<()> {
        self.0.push(transaction);
        Ok(())
    }
}

fn on_sqlite(name: &str, settings: &WorkloadSettings) -> (Vec<Recorded>, Progress) {
    let server = engine::open("sqlite:", &engine::OpenOptions::default()).expect("SQLite");
    let mut kept = Kept::default();
    let database = format!("rashomon_workload_{name}");
    let progress = run(&*server, &database, settings, &mut kept, &|| false).expect("a run");
    assert!(server.leftovers().expect("a list").is_empty(), "dropped");
    (kept.0, progress)
}

fn text(settings: &WorkloadSettings, recorded: &[Recorded]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut file = HistoryFile::new(&mut text, settings, "sqlite", None).expect("a file");
    for transaction in recorded {
        file.transaction(transaction.clone()).expect("a line");
    }
    file.finish().expect("an end");
    text
}

/// SQLite is strictly serializable, so every kind's history must be; the file must say the same as
/// what was handed over.
#[test]
fn recorded_sqlite_histories_satisfy_strict_serializability() {
    for kind in WORKLOADS {
        let settings = WorkloadSettings {
            sessions: 3,
            transactions: Some(300),
            keys: 10,
            ..WorkloadSettings::of(*kind)
        };
        let (recorded, progress) = on_sqlite(&kind.name().replace('-', "_"), &settings);
        assert_eq!(progress.indeterminate, 0);
        // SQLite refuses whoever finds it busy: how many that are is a matter of luck.
        assert!(progress.committed > 0, "{kind:?}: {progress:?}");
        let committed = recorded.iter().filter(|t| t.status == Status::Committed);
        assert_eq!(committed.count() as u64, progress.committed, "{kind:?}");
        let text = text(&settings, &recorded);
        let stream: &mut dyn std::io::BufRead = &mut text.as_slice();
        let format = format::by_name("rashomon").expect("our format");
        let history = (format.read)(stream).expect("a history");
        assert_eq!(history.len() - 1, recorded.len());
        let model = match kind.name() {
            "lightweight" => ConsistencyModel::Linearizable,
            _ => ConsistencyModel::StrictSerializable,
        };
        let (with, answer) = checker::check(&history, model, Budget::default());
        assert!(
            matches!(answer, Answer::Satisfied(_)),
            "{kind:?} by {with}: {answer:?}"
        );
    }
}

/// A transaction that was refused and one that runs again are two, with values of their own.
#[test]
fn recorded_values_are_unique_and_times_increase() {
    let settings = WorkloadSettings {
        sessions: 4,
        transactions: Some(400),
        keys: 2,
        ..WorkloadSettings::of(&register::Register)
    };
    let (recorded, _) = on_sqlite("values", &settings);
    let mut written = BTreeSet::new();
    let mut last: BTreeMap<u32, i64> = BTreeMap::new();
    for transaction in &recorded {
        for operation in &transaction.operations {
            if let Operation::Write { value, .. } = operation {
                assert_eq!(operation.kind(), Kind::Write);
                assert!(written.insert(*value), "{value} twice");
            }
        }
        let span = transaction.real_time.expect("a real time");
        assert!(span.from <= span.to);
        let before = last.insert(transaction.session, span.to).unwrap_or(0);
        assert!(before <= span.from, "sessions do one thing at a time");
    }
}

/// Eight sessions that asked a busy engine again at once had one attempt in thirty committed.
#[test]
fn sessions_pause_after_busy_so_that_others_can_commit() {
    let settings = WorkloadSettings {
        sessions: 8,
        transactions: None,
        time: Some(Duration::from_millis(500)),
        ..WorkloadSettings::of(&register::Register)
    };
    let (_, progress) = on_sqlite("busy", &settings);
    let share = progress.committed as f64 / progress.transactions() as f64;
    assert!(share > 0.25, "{share}: {progress:?}");
}

#[test]
fn a_run_without_recording_records_nothing_and_stops_on_request() {
    let settings = WorkloadSettings {
        records: false,
        sessions: 2,
        transactions: Some(50),
        ..WorkloadSettings::of(&register::Register)
    };
    let (recorded, progress) = on_sqlite("silent", &settings);
    assert!(recorded.is_empty());
    assert!(progress.committed > 0);
    let endless = WorkloadSettings {
        transactions: None,
        sessions: 2,
        ..settings
    };
    let server = engine::open("sqlite:", &engine::OpenOptions::default()).expect("SQLite");
    // It is asked a hundred times a second.
    let asked = std::cell::Cell::new(0);
    let stop = || asked.replace(asked.get() + 1) > 100;
    let mut kept = Kept::default();
    let progress = run(
        &*server,
        "rashomon_workload_stop",
        &endless,
        &mut kept,
        &stop,
    );
    assert!(progress.expect("a run").committed > 0);
}

#[test]
fn settings_that_cannot_be_run_are_refused() {
    let server = engine::open("sqlite:", &engine::OpenOptions::default()).expect("SQLite");
    let refused = |settings: WorkloadSettings| {
        let mut kept = Kept::default();
        let result = run(
            &*server,
            "rashomon_workload_no",
            &settings,
            &mut kept,
            &|| false,
        );
        result.expect_err("refused").to_string()
    };
    let settings = WorkloadSettings::of(&register::Register);
    let with = |change: fn(&mut WorkloadSettings)| {
        let mut settings = settings.clone();
        change(&mut settings);
        refused(settings)
    };
    assert!(with(|s| s.sessions = 0).contains("sessions"));
    assert!(with(|s| s.keys = 2_000_000).contains("keys"));
    assert!(with(|s| s.operations = 20_000).contains("operations"));
    assert!(with(|s| s.reads_percent = 101).contains("percent"));
    let level = with(|s| s.level = Some(IsolationLevel::ReadCommitted));
    assert!(level.contains("it has serializable"), "{level}");
    let timestamps = with(|s| s.timestamps = true);
    assert!(timestamps.contains("--log-bin"), "{timestamps}");
}
