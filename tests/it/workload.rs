//! Workloads on live servers: what stock engines promise must hold, what they do not must show.

use std::collections::BTreeSet;
use std::io;

use rashomon::checker::{self, Anomaly, Answer, Budget};
use rashomon::engine::{self, OpenOptions, Server};
use rashomon::history::{History, Operation, Recorded, Span, Status, format};
use rashomon::model::{ConsistencyModel, IsolationLevel, Outcome, Value};
use rashomon::workload::{self, HistoryFile, Progress, Recorder, WorkloadSettings};

use crate::commands::assert_described_as;
use crate::program;
use crate::servers::{Needs, url};

fn open(url: &str, test: &str) -> Box<dyn Server> {
    let options = OpenOptions {
        run_id: test.to_owned(),
        ..OpenOptions::default()
    };
    engine::open(url, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Keeps everything, and may be asked to do something now and then.
struct Kept<'a> {
    all: Vec<Recorded>,
    tick: &'a mut dyn FnMut(),
}

impl Recorder for Kept<'_> {
    fn transaction(&mut self, transaction: Recorded) -> io::Result<()> {
        self.all.push(transaction);
        Ok(())
    }

    fn tick(&mut self, _: &Progress) -> bool {
        (self.tick)();
        true
    }
}

fn record(
    server: &dyn Server,
    name: &str,
    settings: &WorkloadSettings,
) -> (Vec<Recorded>, Progress) {
    let mut kept = Kept {
        all: Vec::new(),
        tick: &mut || {},
    };
    let database = format!("rashomon_{name}");
    let progress = workload::run(server, &database, settings, &mut kept, &|| false);
    (kept.all, progress.unwrap_or_else(|error| panic!("{error}")))
}

/// The history as a reader of the file finds it.
fn history(settings: &WorkloadSettings, recorded: &[Recorded]) -> History {
    let mut text = Vec::new();
    let mut file = HistoryFile::new(&mut text, settings, "a server", None).expect("a file");
    for transaction in recorded {
        file.transaction(transaction.clone()).expect("a line");
    }
    file.finish().expect("an end");
    let format = format::by_name("rashomon").expect("our format");
    (format.read)(&mut text.as_slice()).unwrap_or_else(|error| panic!("{error}"))
}

fn answer(history: &History, model: ConsistencyModel) -> Answer {
    checker::check(history, model, Budget::default()).1
}

fn settings(kind: &str, level: IsolationLevel, transactions: u64) -> WorkloadSettings {
    let mut settings = WorkloadSettings::of(workload::by_name(kind).expect("a kind"));
    settings.sessions = 8;
    settings.transactions = Some(transactions);
    settings.level = Some(level);
    settings
}

/// The servers that promise the same: one for each kind of test server.
fn on_servers(test: &str, check: impl Fn(&dyn Server, &str)) {
    for (needs, name) in [
        (Needs::MariaDb, "mariadb"),
        (Needs::MariaDbBinlog, "mariadb_binlog"),
        (Needs::MySql, "mysql"),
        (Needs::Postgres, "postgres"),
    ] {
        if let Some(url) = url(test, needs) {
            check(&*open(&url, test), name);
        }
    }
}

/// What the dialect file says of a level.
fn promise(server: &dyn Server, level: IsolationLevel) -> ConsistencyModel {
    server.dialect().promise(level).expect("a promise")
}

/// Records until a model is violated, and says by what. What is promised is checked each time.
fn until_violated(
    server: &dyn Server,
    name: &str,
    level: IsolationLevel,
    broken: ConsistencyModel,
) -> Anomaly {
    let promised = promise(server, level);
    for seed in 1..=20 {
        let mut settings = settings("mini-transaction", level, 4000);
        settings.seed = seed;
        settings.keys = 10;
        let (recorded, _) = record(server, name, &settings);
        let history = history(&settings, &recorded);
        let kept = answer(&history, promised);
        assert!(
            matches!(kept, Answer::Satisfied(_)),
            "{name} at {level}, seed {seed}: {promised} is promised: {kept:?}"
        );
        match answer(&history, broken) {
            Answer::Violated(found) => return found.anomaly,
            Answer::Satisfied(_) => {}
            Answer::Unknown(reason) => panic!("{name} at {level}: {reason}"),
        }
    }
    panic!("{name} at {level}: no violation of {broken} in 20 runs");
}

#[test]
fn workload_histories_at_serializable_satisfy_serializability() {
    on_servers("workload_serializable", |server, name| {
        for kind in ["mini-transaction", "register", "list-append"] {
            let mut settings = settings(kind, IsolationLevel::Serializable, 2000);
            settings.keys = settings.keys.min(50);
            let database = format!("workload_ser_{name}");
            let (recorded, progress) = record(server, &database, &settings);
            assert!(progress.committed > 200, "{name}: {progress:?}");
            assert_eq!(progress.indeterminate, 0, "{name}: {progress:?}");
            let found = answer(
                &history(&settings, &recorded),
                ConsistencyModel::Serializable,
            );
            assert!(
                matches!(found, Answer::Satisfied(_)),
                "{name}, {kind}: {found:?}"
            );
        }
    });
}

#[test]
fn repeatable_read_is_snapshot_isolation_on_postgres_and_loses_updates_on_innodb() {
    let level = IsolationLevel::RepeatableRead;
    on_servers("workload_repeatable_read", |server, name| {
        let database = format!("workload_rr_{name}");
        if name == "postgres" {
            assert_eq!(promise(server, level), ConsistencyModel::Snapshot);
            let found = until_violated(server, &database, level, ConsistencyModel::Serializable);
            assert_eq!(found, Anomaly::WriteSkew);
            return;
        }
        if promise(server, level) == ConsistencyModel::Snapshot {
            until_violated(server, &database, level, ConsistencyModel::Serializable);
            return;
        }
        let found = until_violated(server, &database, level, ConsistencyModel::Snapshot);
        assert_eq!(found, Anomaly::LostUpdate);
    });
}

#[test]
fn workload_histories_at_read_committed_satisfy_nothing_stronger() {
    let level = IsolationLevel::ReadCommitted;
    on_servers("workload_read_committed", |server, name| {
        let database = format!("workload_rc_{name}");
        until_violated(server, &database, level, ConsistencyModel::ReadAtomic);
    });
}

/// What the dialect promises of lists holds; where it promises nothing, appends that read the current
/// row beside plain reads of a snapshot show.
#[test]
fn list_histories_satisfy_the_model_of_their_level() {
    on_servers("workload_lists", |server, name| {
        for level in server.dialect().levels.clone() {
            let promised = server.dialect().promise_for_lists(level);
            let model = promised.unwrap_or(ConsistencyModel::ReadAtomic);
            let seeds = if promised.is_some() { 1..=1 } else { 1..=20 };
            let is_kept = seeds.into_iter().all(|seed| {
                let mut settings = settings("list-append", level, 1000);
                (settings.seed, settings.keys) = (seed, 10);
                let (recorded, _) = record(server, &format!("lists_{name}"), &settings);
                match answer(&history(&settings, &recorded), model) {
                    Answer::Satisfied(_) => true,
                    Answer::Violated(_) => false,
                    Answer::Unknown(reason) => panic!("{name} at {level}: {reason}"),
                }
            });
            assert_eq!(is_kept, promised.is_some(), "{name} at {level}: {model}");
        }
    });
}

#[test]
fn compare_and_set_is_linearizable_at_every_level() {
    on_servers("workload_lightweight", |server, name| {
        for level in server.dialect().levels.clone() {
            let settings = settings("lightweight", level, 2000);
            let database = format!("workload_lwt_{name}");
            let (recorded, progress) = record(server, &database, &settings);
            assert!(progress.committed > 200, "{name} at {level}: {progress:?}");
            let found = answer(
                &history(&settings, &recorded),
                ConsistencyModel::Linearizable,
            );
            assert!(
                matches!(found, Answer::Satisfied(_)),
                "{name} at {level}: {found:?}"
            );
        }
    });
}

/// Connections are killed while the run goes on: it goes on in new sessions, what was not answered
/// is indeterminate or aborted, and the history still is what the level promises.
#[test]
fn histories_with_lost_connections_stay_valid() {
    let test = "workload_lost";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    let server = open(&url, test);
    let database = "rashomon_workload_lost";
    let mut killer = server.watcher().expect("a watcher");
    let mut looker = None;
    let mut rounds = 0;
    let mut kill = || {
        let looker = looker.get_or_insert_with(|| server.connect(database).expect("connect"));
        let sql = format!(
            "SELECT id FROM information_schema.processlist WHERE db = '{database}' AND id <> {}",
            looker.id()
        );
        let Outcome::Rows(rows) = looker.execute(&sql).expect("an answer") else {
            panic!("no rows");
        };
        rounds += 1;
        if rounds % 3 != 0 {
            return;
        }
        for row in rows.iter().take(2) {
            let id = match row.first() {
                Some(Value::Integer(id)) => u64::try_from(*id).expect("a number"),
                Some(Value::Unsigned(id)) => *id,
                other => panic!("{other:?}"),
            };
            killer.kill(id).expect("killed");
        }
    };
    let mut settings = settings("register", IsolationLevel::Serializable, 100_000);
    settings.keys = 100;
    settings.time = Some(std::time::Duration::from_secs(3));
    let mut kept = Kept {
        all: Vec::new(),
        tick: &mut kill,
    };
    let progress = workload::run(&*server, database, &settings, &mut kept, &|| false)
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(progress.lost > 3, "{progress:?}");
    let sessions = kept.all.iter().map(|t| t.session).max().unwrap_or(0);
    assert!(sessions >= 8 + 3, "new connections are new sessions");
    assert!(kept.all.iter().all(|transaction| {
        let is_open = transaction
            .real_time
            .is_some_and(|span| span.to == i64::MAX);
        is_open == (transaction.status == Status::Indeterminate)
    }));
    let found = answer(
        &history(&settings, &kept.all),
        ConsistencyModel::Serializable,
    );
    assert!(matches!(found, Answer::Satisfied(_)), "{found:?}");
}

fn chronos(history: &History) -> Answer {
    let chronos = checker::by_name("chronos").expect("chronos");
    chronos.check(history, ConsistencyModel::Snapshot, Budget::default())
}

/// The binary log's account of snapshots and commits explains every read, and an account with one
/// number changed does not.
#[test]
fn timestamps_of_the_binary_log_explain_every_read() {
    let test = "workload_timestamps";
    let Some(url) = url(test, Needs::MariaDbBinlog) else {
        return;
    };
    let server = open(&url, test);
    let mut settings = settings("register", IsolationLevel::RepeatableRead, 3000);
    settings.keys = 40;
    settings.operations = 4;
    settings.timestamps = true;
    let (recorded, progress) = record(&*server, "workload_timestamps", &settings);
    assert!(progress.committed > 1000, "{progress:?}");
    let found = chronos(&history(&settings, &recorded));
    assert!(matches!(found, Answer::Satisfied(_)), "{found:?}");
    let planted = planted_faults(&recorded);
    assert!(planted.len() >= 3, "{} faults", planted.len());
    for (what, faulty) in planted {
        let found = chronos(&history(&settings, &faulty));
        assert!(matches!(found, Answer::Violated(_)), "{what}: {found:?}");
    }
}

/// Histories with one timestamp changed, each so that it contradicts what was read or written.
fn planted_faults(recorded: &[Recorded]) -> Vec<(&'static str, Vec<Recorded>)> {
    let is_writer = |t: &Recorded| t.status == Status::Committed && t.writes();
    let span = |t: &Recorded| t.timestamps.unwrap_or(Span { from: 0, to: 0 });
    let mut planted = Vec::new();
    let with = |at: usize, span: Span| {
        let mut faulty = recorded.to_vec();
        faulty[at].timestamps = Some(span);
        faulty
    };
    // A reader whose value is newer than a start far in the past.
    let reader = (0..recorded.len()).rev().find(|at| {
        let t = &recorded[*at];
        t.status == Status::Committed && !t.writes() && t.operations.len() > 2
    });
    if let Some(at) = reader {
        let early = Span { from: 1, to: 1 };
        planted.push(("a start in the past", with(at, early)));
    }
    // A writer that began before its session's last transaction had committed, and before others
    // wrote what it wrote.
    let writer = (0..recorded.len())
        .rev()
        .find(|at| is_writer(&recorded[*at]));
    if let Some(at) = writer {
        let to = span(&recorded[at]).to;
        planted.push(("a writer that overlaps all", with(at, Span { from: 1, to })));
    }
    // A commit later than it was: whoever read it in between read the future.
    let late = (0..recorded.len()).find(|at| is_writer(&recorded[*at]));
    if let Some(at) = late {
        let far = recorded.iter().map(|t| span(t).to).max().unwrap_or(0) + 10;
        let from = span(&recorded[at]).from;
        planted.push(("a commit in the future", with(at, Span { from, to: far })));
    }
    planted
}

#[test]
fn timestamps_on_an_engine_without_them_are_refused_with_a_remedy() {
    let test = "workload_no_timestamps";
    for needs in [Needs::MariaDb, Needs::Postgres] {
        let Some(url) = url(test, needs) else {
            continue;
        };
        let server = open(&url, test);
        let mut settings = settings("register", IsolationLevel::RepeatableRead, 10);
        settings.timestamps = true;
        let mut kept = Kept {
            all: Vec::new(),
            tick: &mut || {},
        };
        let result = workload::run(
            &*server,
            "rashomon_workload_no",
            &settings,
            &mut kept,
            &|| false,
        );
        let error = result.expect_err("no timestamps").to_string();
        assert!(error.contains("--log-bin"), "{error}");
    }
}

#[test]
fn workload_records_a_history_that_check_reads() {
    let folder = program::folder();
    let file = program::shown(&folder.path().join("run.hist"));
    let arguments = [
        "workload",
        "sqlite:",
        "--kind",
        "register",
        "--sessions",
        "3",
        "--txns",
        "200",
        "--keys",
        "20",
        "--keys-dist",
        "zipf",
        "--seed",
        "7",
        "--format",
        "json",
        "-o",
        &file,
    ];
    let ran = program::run(&arguments);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let summary: serde_json::Value =
        serde_json::from_str(ran.out.trim()).expect("one line of JSON");
    assert_eq!(summary["event"], "recorded");
    assert_eq!(summary["seed"], 7);
    let text = std::fs::read_to_string(&file).expect("the file");
    let lines = text.lines().filter(|line| line.contains('~')).count() as u64;
    assert_eq!(summary["transactions"], lines, "{summary}");
    let ran = program::run(&["check", &file, "--model", "sser"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    // The same seed draws the same transactions: with one session nothing else differs either.
    let alone = |seed: &str, name: &str| {
        let file = program::shown(&folder.path().join(name));
        let ran = program::run(&[
            "workload",
            "sqlite:",
            "--kind",
            "mini-transaction",
            "--sessions",
            "1",
            "--txns",
            "50",
            "--seed",
            seed,
            "-o",
            &file,
        ]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let text = std::fs::read_to_string(&file).expect("the file");
        let events = text.lines().map(|line| {
            let words = line.split(' ').filter(|word| !word.starts_with('~'));
            words.collect::<Vec<_>>().join(" ")
        });
        events.collect::<Vec<_>>()
    };
    assert_eq!(alone("5", "a"), alone("5", "b"));
    assert_ne!(alone("5", "d"), alone("6", "c"));
}

#[test]
fn the_workload_summary_names_the_model_promised_for_lists() {
    let folder = program::folder();
    let file = program::shown(&folder.path().join("lists.hist"));
    let kind = ["--kind", "list-append", "--isolation", "serializable"];
    let rest = ["--txns", "20", "--format", "json", "-o", &file];
    let ran = program::run(&[&["workload", "sqlite:"], &kind[..], &rest].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told: serde_json::Value = serde_json::from_str(ran.out.trim()).expect("JSON");
    assert_eq!(told["promised"], "sser", "{told}");
    assert_described_as("workload", &ran.out);
}

/// Whatever a reader finds in a file that still grows, or that a killed run left: every prefix of
/// what is told names the writers of what it reads.
#[test]
fn a_truncated_history_contains_the_writer_of_every_read() {
    let test = "workload_cut";
    let check = |server: &dyn Server, name: &str, level, transactions| {
        for kind in ["register", "list-append"] {
            let mut settings = settings(kind, level, transactions);
            (settings.sessions, settings.keys) = (16, 30);
            let (recorded, _) = record(server, &format!("cut_{name}"), &settings);
            assert_reads_follow_their_writes(&recorded, name);
        }
    };
    // Where an answer is there soonest, a thread that waits for its turn is outrun most.
    let sqlite = open("sqlite:", test);
    check(&*sqlite, "sqlite", IsolationLevel::Serializable, 4000);
    on_servers(test, |server, name| {
        check(server, name, IsolationLevel::ReadCommitted, 500);
    });
}

fn assert_reads_follow_their_writes(recorded: &[Recorded], name: &str) {
    let mut written = BTreeSet::from([0]);
    for (at, transaction) in recorded.iter().enumerate() {
        let values = |writes: bool| {
            let operations = transaction.operations.iter();
            operations.flat_map(move |operation| match operation {
                Operation::Write { value, .. } if writes => vec![*value],
                Operation::Read { value, .. } if !writes => value.iter().copied().collect(),
                Operation::ReadList { values, .. } if !writes => values.clone(),
                Operation::Read { .. } | Operation::Write { .. } | Operation::ReadList { .. } => {
                    Vec::new()
                }
            })
        };
        written.extend(values(true));
        let nobodys: Vec<i64> = values(false).filter(|v| !written.contains(v)).collect();
        assert!(nobodys.is_empty(), "{name}, line {at}: {nobodys:?}");
    }
}

#[test]
fn a_piped_workload_prints_its_summary_to_standard_error() {
    let ran = program::run(&[
        "workload", "sqlite:", "--kind", "register", "--txns", "20", "--format", "json", "-o", "-",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.starts_with("#! rashomon history 1"), "{}", ran.out);
    let last = ran.err.lines().last().expect("a summary");
    let told: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(told["event"], "recorded");
    assert_described_as("workload", last);
}

#[test]
fn workload_usage_errors_exit_2_and_name_the_remedy() {
    let folder = program::folder();
    let file = program::shown(&folder.path().join("no.hist"));
    let wrong: &[(&[&str], &str)] = &[
        (&["--kind", "bank"], "list-append"),
        (&["--kind", "register", "--keys-dist", "normal"], "hotspot"),
        (&["--kind", "register", "--reads", "101"], "0..=100"),
        (&["--kind", "register", "--sessions", "0"], "from 1"),
        (&["--kind", "register", "--sessions", "2000"], "1 to 1,000"),
        (
            &["--kind", "register", "--keys", "2000000"],
            "1 to 1,000,000",
        ),
        (
            &["--kind", "lightweight", "--ops", "4"],
            "decides its operations",
        ),
        (&["--kind", "lightweight", "--timestamps"], "no start"),
        (&["--kind", "register", "--timestamps"], "--log-bin"),
        (
            &["--kind", "register", "--isolation", "read-committed"],
            "serializable",
        ),
        (&["--kind", "register", "--isolation", "all"], "name one"),
        (&[], "--kind"),
    ];
    for (arguments, says) in wrong {
        let mut all = vec!["workload", "sqlite:", "--force", "-o", &file];
        all.extend_from_slice(arguments);
        std::fs::write(&file, "what was there").expect("written");
        let ran = program::run(&all);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
        let kept = std::fs::read_to_string(&file).expect("it is there");
        assert_eq!(kept, "what was there", "{arguments:?}");
    }
    let ran = program::run(&[
        "workload",
        "sqlite:",
        "--kind",
        "register",
        "-o",
        "/nowhere/run.hist",
    ]);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    let ran = program::run(&[
        "workload",
        "mariadb://root@127.0.0.1:1",
        "--kind",
        "register",
        "--force",
        "-o",
        &file,
    ]);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
}
