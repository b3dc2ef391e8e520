//! Histories with known verdicts: those of a folder of public data, where it is there.
//!
//! `RASHOMON_HISTORIES` names the folder, or it lies beside the repository as
//! `../shared/histories`.

use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use rashomon::checker::{self, Anomaly, Answer, Budget, rederive, replay};
use rashomon::history::{Atom, History, Status, format};
use rashomon::model::ConsistencyModel;

/// The folder, or nothing after having said that the test did not run.
fn folder(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("RASHOMON_HISTORIES").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/histories");
    let folder = named.unwrap_or_else(beside);
    if folder.is_dir() {
        return Some(folder);
    }
    // Straight to the file descriptor: the test harness swallows what `eprintln!` prints.
    let _ = writeln!(
        std::io::stderr(),
        "NOT RUN: {test}: no folder of histories at {} (see RASHOMON_HISTORIES)",
        folder.display()
    );
    None
}

fn read(path: &Path) -> History {
    try_read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn try_read(path: &Path) -> Result<History, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let (format, mut stream) =
        format::detect(BufReader::new(file)).map_err(|error| error.to_string())?;
    (format.read)(&mut stream).map_err(|error| error.to_string())
}

/// Whether a history satisfies a model, its witness replayed, or its counterexample derived again.
fn satisfies(shown: &str, history: &History, model: ConsistencyModel) -> Result<(), String> {
    let (with, answer) = checker::check(history, model, Budget::default());
    match answer {
        Answer::Satisfied(witness) => {
            let replayed = replay::replay(history, model, &witness);
            assert_eq!(
                replayed,
                Ok(()),
                "{shown}: the witness of {with} under {model}"
            );
            Ok(())
        }
        Answer::Violated(found) => {
            let words = checker::in_words(history, &found);
            match rederive::rederive(history, model, &found) {
                Ok(()) => {}
                // Of a search that came to no end there is nothing smaller to show.
                Err(reason) if reason.contains("too many to try all orders") => {
                    assert_eq!(found.anomaly, Anomaly::NoSerialOrder, "{shown}: {words}");
                }
                Err(reason) => panic!("{shown}: {with} under {model}: {reason}: {words}"),
            }
            Err(words)
        }
        Answer::Unknown(reason) => panic!("{shown}: {model} is unknown: {reason}"),
    }
}

fn expect(
    shown: &str,
    history: &History,
    model: ConsistencyModel,
    expected: bool,
    wrong: &mut Vec<String>,
) {
    let found = satisfies(shown, history, model);
    if found.is_ok() != expected {
        wrong.push(format!(
            "{shown}: {model}: expected {expected}, found {found:?}"
        ));
    }
}

/// The fields of every line of a table but the first.
fn table(path: &Path) -> Vec<Vec<String>> {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let line = |line: &str| line.split('\t').map(str::to_owned).collect();
    text.lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(line)
        .collect()
}

#[test]
fn the_recorded_histories_of_cockroach_and_galera_have_their_verdicts() {
    let test = "the_recorded_histories_of_cockroach_and_galera_have_their_verdicts";
    let Some(folder) = folder(test).map(|folder| folder.join("dbcop-corpus")) else {
        return;
    };
    let mut wrong = Vec::new();
    let labels = table(&folder.join("labels.tsv"));
    assert_eq!(labels.len(), 136);
    for label in labels {
        let history = read(&folder.join(&label[0]));
        expect(
            &label[0],
            &history,
            ConsistencyModel::Serializable,
            label[1] == "true",
            &mut wrong,
        );
        expect(
            &label[0],
            &history,
            ConsistencyModel::Snapshot,
            label[2] == "true",
            &mut wrong,
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A history, models that it satisfies, models that it violates.
const PUBLISHED: &[(&str, &[ConsistencyModel], &[ConsistencyModel])] = &[
    (
        "mtc/causality-violation.txt",
        &[
            ConsistencyModel::ReadCommitted,
            ConsistencyModel::ReadAtomic,
        ],
        &[
            ConsistencyModel::Causal,
            ConsistencyModel::Snapshot,
            ConsistencyModel::Serializable,
        ],
    ),
    (
        "mtc/causality-violation.orig.txt",
        &[],
        &[ConsistencyModel::Snapshot, ConsistencyModel::Serializable],
    ),
    (
        "mtc/long-fork.txt",
        &[ConsistencyModel::Causal],
        &[ConsistencyModel::Snapshot, ConsistencyModel::Serializable],
    ),
    (
        "mtc/session-guarantee.txt",
        &[ConsistencyModel::ReadCommitted],
        &[
            ConsistencyModel::ReadAtomic,
            ConsistencyModel::Snapshot,
            ConsistencyModel::Serializable,
        ],
    ),
    (
        "mtc/write-skew.txt",
        &[ConsistencyModel::Snapshot],
        &[ConsistencyModel::Serializable],
    ),
    (
        "mtc/fractured-reads.txt",
        &[],
        &[
            ConsistencyModel::ReadAtomic,
            ConsistencyModel::Snapshot,
            ConsistencyModel::Serializable,
        ],
    ),
    (
        "mtc/lost-update.txt",
        &[ConsistencyModel::Causal],
        &[ConsistencyModel::Snapshot, ConsistencyModel::Serializable],
    ),
    (
        "mtc/maria-galera-lost-update.txt",
        &[],
        &[ConsistencyModel::Snapshot, ConsistencyModel::Serializable],
    ),
    (
        "adversarial/fractured-init-read-RA-violation.txt",
        &[],
        &[ConsistencyModel::ReadAtomic],
    ),
    (
        "adversarial/g1b-intermediate-read.txt",
        &[],
        &[
            ConsistencyModel::ReadCommitted,
            ConsistencyModel::Snapshot,
            ConsistencyModel::Serializable,
        ],
    ),
    (
        "adversarial/rmw-double-write-VALID.txt",
        &[
            ConsistencyModel::ReadCommitted,
            ConsistencyModel::Causal,
            ConsistencyModel::Snapshot,
            ConsistencyModel::Serializable,
        ],
        &[],
    ),
    (
        "polysi/violations/dgraph/history.bincode",
        &[],
        &[ConsistencyModel::Snapshot],
    ),
    (
        "polysi/violations/galera/galera.txt",
        &[],
        &[ConsistencyModel::Snapshot],
    ),
    (
        "polysi/violations/yugabyte/yugabyte.txt",
        &[],
        &[ConsistencyModel::Snapshot],
    ),
    (
        "isovista/bugs/dgraph_si.txt",
        &[],
        &[ConsistencyModel::Causal, ConsistencyModel::Snapshot],
    ),
    (
        "isovista/bugs/pg_ser_bug.txt",
        &[ConsistencyModel::Snapshot],
        &[ConsistencyModel::Serializable],
    ),
    (
        "isovista/bugs/yugabyte_tcc.txt",
        &[],
        &[ConsistencyModel::Causal],
    ),
    (
        "elle/paper-example.edn",
        &[],
        &[ConsistencyModel::Serializable],
    ),
    // Elle judges with real time, where this one is wrong; a serial order of it exists.
    (
        "elle/huge-scc.edn",
        &[ConsistencyModel::Serializable],
        &[ConsistencyModel::StrictSerializable],
    ),
    // Elle rejects this one under snapshot isolation with real time. Without, it has starts and
    // commits that explain every read, and is a write skew.
    (
        "elle/si-without-g-single.edn",
        &[ConsistencyModel::Causal, ConsistencyModel::Snapshot],
        &[
            ConsistencyModel::Serializable,
            ConsistencyModel::StrictSerializable,
        ],
    ),
    (
        "elle-cli/elle/paper-example.edn",
        &[],
        &[ConsistencyModel::Serializable],
    ),
    (
        "elle-cli/elle/paper-example.json",
        &[],
        &[ConsistencyModel::Serializable],
    ),
    (
        "elle-cli/elle/list-append-gh-30.edn",
        &[],
        &[ConsistencyModel::Serializable],
    ),
    // Elle calls these two valid: it does not look for the writer of a value. Nobody wrote
    // the 3 that is read here.
    (
        "elle-cli/elle/rw-register.edn",
        &[],
        &[ConsistencyModel::ReadCommitted],
    ),
    (
        "elle-cli/elle/rw-register.json",
        &[],
        &[ConsistencyModel::ReadCommitted],
    ),
    (
        "elle-cli/jepsen/long-fork.edn",
        &[],
        &[ConsistencyModel::Snapshot],
    ),
];

#[test]
fn published_anomalies_violate_their_models() {
    let test = "published_anomalies_violate_their_models";
    let Some(folder) = folder(test) else { return };
    let mut wrong = Vec::new();
    for (name, satisfied, violated) in PUBLISHED {
        let history = read(&folder.join(name));
        for model in *satisfied {
            expect(name, &history, *model, true, &mut wrong);
        }
        for model in *violated {
            expect(name, &history, *model, false, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn awdit_histories_satisfy_the_model_of_their_folder_and_none_stronger() {
    let test = "awdit_histories_satisfy_the_model_of_their_folder_and_none_stronger";
    let Some(folder) = folder(test) else { return };
    let mut wrong = Vec::new();
    let weak = [
        ConsistencyModel::ReadCommitted,
        ConsistencyModel::ReadAtomic,
        ConsistencyModel::Causal,
    ];
    let cases = table(&folder.join("awdit/manifest.tsv"));
    assert!(cases.len() > 20);
    for case in cases {
        let history = read(&folder.join(&case[0]));
        let strongest = case[3].rsplit(' ').next().unwrap_or_default();
        let count = match strongest {
            "none" => 0,
            "read-committed" => 1,
            "read-atomic" => 2,
            "causal" => 3,
            other => panic!("{}: an unknown level {other}", case[0]),
        };
        for (at, model) in weak.into_iter().enumerate() {
            expect(&case[0], &history, model, at < count, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn knossos_and_porcupine_histories_have_their_published_linearizability() {
    let test = "knossos_and_porcupine_histories_have_their_published_linearizability";
    let Some(folder) = folder(test) else { return };
    let mut wrong = Vec::new();
    let mut looked = 0;
    for manifest in ["knossos", "elle-cli"] {
        for case in table(&folder.join(manifest).join("manifest.tsv")) {
            let is_log = case[0].ends_with(".edn") || case[0].ends_with(".json");
            if !case[0].contains("knossos/") || !is_log {
                continue;
            }
            let mut history = read(&folder.join(&case[0]));
            if case[0].contains("multi-register") {
                // "A multi-register with x=0 and y=0", as its first line says.
                history.set_initial(Atom::from(0));
            }
            looked += 1;
            expect(
                &case[0],
                &history,
                ConsistencyModel::Linearizable,
                case[3] == "valid",
                &mut wrong,
            );
        }
    }
    for case in table(&folder.join("porcupine/expected.tsv")) {
        let path = folder.join("porcupine").join(&case[0]);
        // One log is empty.
        if fs::metadata(&path).is_ok_and(|file| file.len() == 0) {
            continue;
        }
        // Four of the six stores of texts write a text to a key twice: whose of the two a get saw
        // the register alone cannot say.
        if case[0].starts_with("kv/c10") || case[0].starts_with("kv/c50") {
            let error = try_read(&path).err().unwrap_or_default();
            assert!(error.contains("was written to this key before"), "{error}");
            continue;
        }
        looked += 1;
        expect(
            &case[0],
            &read(&path),
            ConsistencyModel::Linearizable,
            case[1] == "true",
            &mut wrong,
        );
    }
    assert!(looked > 200, "{looked}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_written_format_reads_back_the_same_history() {
    let test = "every_written_format_reads_back_the_same_history";
    let Some(folder) = folder(test) else { return };
    let mut files = vec![
        folder.join("mtc/write-skew.txt"),
        folder.join("polysi/violations/galera/galera.txt"),
        folder.join("awdit/tests/causal/long-fork.txt"),
        folder.join("elle/paper-example.edn"),
        folder.join("timekiller/format-kv.json"),
        folder.join("timekiller/format-list.json"),
    ];
    files.push(folder.join("dbcop-corpus/014-ser.bincode"));
    let mut written = std::collections::BTreeSet::new();
    for path in files {
        let history = read(&path);
        for format in format::FORMATS {
            let Some(write) = format.write else { continue };
            let mut bytes = Vec::new();
            if write(&history, &mut bytes).is_err() {
                continue;
            }
            let found = format::detect(&bytes[..]).map(|(format, _)| format.name);
            assert_eq!(found.ok(), Some(format.name), "{}", path.display());
            let again = (format.read)(&mut &bytes[..]);
            let again = again
                .unwrap_or_else(|error| panic!("{} as {}: {error}", path.display(), format.name));
            let sizes = |history: &History| {
                let mut sizes: Vec<usize> = history
                    .transactions()
                    .filter(|t| history.status(*t) == Status::Committed)
                    .map(|t| history.events(t).len())
                    .filter(|events| *events > 0)
                    .collect();
                // Formats by session put the transactions into another order, and `text` knows
                // the writes of aborted ones one by one.
                sizes.sort_unstable();
                sizes
            };
            assert_eq!(
                sizes(&again),
                sizes(&history),
                "{} as {}",
                path.display(),
                format.name
            );
            written.insert(format.name);
        }
    }
    let all: std::collections::BTreeSet<&str> = format::FORMATS
        .iter()
        .filter(|format| format.write.is_some())
        .map(|format| format.name)
        .collect();
    assert_eq!(written, all, "every writer wrote something");
}

/// The fourteen anomalies of MTC's Table I as mini-transaction histories, the models that each
/// satisfies, and its name. One line a transaction: session, `!` if it aborted, events.
const TABLE_ONE: &[(&str, &str, usize)] = &[
    ("thin-air-read", "1 r(x,9)", 0),
    ("aborted-read", "1! r(x,0) w(x,1); 2 r(x,1)", 0),
    ("future-read", "1 r(x,1) w(x,1)", 0),
    ("not-my-last-write", "1 r(x,0) w(x,1) w(x,2) r(x,1)", 0),
    (
        "not-my-own-write",
        "1 r(x,0) w(x,1); 2 r(x,1) w(x,2) r(x,1)",
        0,
    ),
    ("intermediate-read", "1 r(x,0) w(x,1) w(x,2); 2 r(x,1)", 0),
    ("non-repeatable-read", "1 r(x,0) w(x,1); 2 r(x,0) r(x,1)", 1),
    (
        "session-guarantee-violation",
        "1 r(x,0) w(x,1); 1 r(x,0)",
        1,
    ),
    (
        "non-monotonic-read",
        "1 r(x,0) w(x,1); 2 r(x,1) w(x,2) r(y,0) w(y,1); 3 r(y,1) r(x,1)",
        0,
    ),
    (
        "fractured-read",
        "1 r(x,0) r(y,0) w(x,1) w(y,1); 2 r(x,0) r(y,1)",
        1,
    ),
    (
        "causality-violation",
        "1 r(x,0) w(x,1); 2 r(x,1) r(y,0) w(y,1); 3 r(x,0) r(y,1)",
        2,
    ),
    (
        "long-fork",
        "1 r(x,0) w(x,1); 2 r(y,0) w(y,1); 3 r(x,1) r(y,0); 4 r(x,0) r(y,1)",
        3,
    ),
    ("lost-update", "1 r(x,0) w(x,1); 2 r(x,0) w(x,2)", 3),
    (
        "write-skew",
        "1 r(x,0) r(y,0) w(x,1); 2 r(x,0) r(y,0) w(y,1)",
        4,
    ),
];

#[test]
fn the_fourteen_anomalies_have_their_names_and_violate_their_models() {
    let ladder = [
        ConsistencyModel::ReadCommitted,
        ConsistencyModel::ReadAtomic,
        ConsistencyModel::Causal,
        ConsistencyModel::Snapshot,
        ConsistencyModel::Serializable,
    ];
    for (name, text, satisfied) in TABLE_ONE {
        let mut lines = String::from("#! rashomon history 1\ninitial 0\n");
        for transaction in text.split("; ") {
            let (session, events) = transaction.split_once(' ').expect("session and events");
            let status = if session.ends_with('!') {
                "aborted"
            } else {
                "committed"
            };
            let session = session.trim_end_matches('!');
            lines.push_str(&format!("{status} {session} {events}\n"));
        }
        let format = format::by_name("rashomon").expect("our own");
        let history = (format.read)(&mut lines.as_bytes()).expect("a history");
        for (at, model) in ladder.into_iter().enumerate() {
            match checker::check(&history, model, Budget::default()).1 {
                Answer::Satisfied(_) => assert!(at < *satisfied, "{name} satisfies {model}"),
                Answer::Violated(found) => {
                    assert!(at >= *satisfied, "{name} violates {model}");
                    assert_eq!(found.anomaly.slug(), *name, "{model}");
                }
                Answer::Unknown(reason) => panic!("{name}: {model}: {reason}"),
            }
        }
    }
}
