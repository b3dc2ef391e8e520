//! The dialect files are right about the servers we have, and a wrong one is found out.

use std::collections::BTreeSet;

use rashomon::calibrate::{
    self, CalibrationError, CalibrationListener, CalibrationReport, PROBES_OF_A_WRONG_ENTRY,
    Unattended,
};
use rashomon::dialect::builtin;
use rashomon::engine::{self, OpenOptions, Server};
use rashomon::model::IsolationLevel;

use crate::servers::{Needs, url};

fn calibrated(url: &str, options: &OpenOptions) -> CalibrationReport {
    let server = engine::open(url, options).unwrap_or_else(|error| panic!("{error}"));
    let report = calibrate::run(&*server, &mut Unattended).expect("an answer");
    assert_nothing_is_left(&*server, options);
    report
}

fn assert_nothing_is_left(server: &dyn Server, options: &OpenOptions) {
    let left = server.leftovers().expect("leftovers");
    let run = left.iter().find(|left| {
        left.database.starts_with("rashomon_calibrate_")
            && left
                .marker
                .as_ref()
                .is_some_and(|m| m.run_id == options.run_id)
    });
    assert_eq!(run, None, "its database is still there");
}

/// Stops a calibration when it has been asked so many times.
struct StopAfter(std::cell::Cell<u32>);

impl CalibrationListener for StopAfter {
    fn probing(&mut self, _level: IsolationLevel, _subject: &str, _done: usize) {}

    fn is_stopped(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left == 0
    }
}

/// The question is asked before each experiment and while an answer is waited for, so these
/// numbers stop the calibration at its start, between statements and in the middle of waits.
#[test]
fn a_stopped_calibration_ends_and_leaves_no_database() {
    for url in targets("calibrate_stopped") {
        let options = options("calibrate_stopped");
        let server = engine::open(&url, &options).unwrap_or_else(|error| panic!("{error}"));
        for questions in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89] {
            let mut listener = StopAfter(questions.into());
            let result = calibrate::run(&*server, &mut listener);
            assert!(
                matches!(result, Err(CalibrationError::Interrupted)),
                "{url}, {questions}: {result:?}"
            );
            assert_nothing_is_left(&*server, &options);
        }
    }
}

/// Follows a calibration and keeps what it was told.
#[derive(Default)]
struct Follower(Vec<(IsolationLevel, String, usize)>);

impl CalibrationListener for Follower {
    fn probing(&mut self, level: IsolationLevel, subject: &str, done: usize) {
        self.0.push((level, subject.to_owned(), done));
    }

    fn is_stopped(&self) -> bool {
        false
    }
}

#[test]
fn a_calibration_tells_how_far_it_is() {
    let server = engine::open("sqlite:", &options("calibrate_progress")).expect("open");
    let mut follower = Follower::default();
    let report = calibrate::run(&*server, &mut follower).expect("a report");
    let told = follower.0;
    assert!(told.is_sorted_by_key(|(_, _, done)| *done), "{told:?}");
    let last = told.last().expect("something was told");
    assert_eq!(last.2 + 1, report.entries.len(), "{last:?}");
    assert!(told.iter().any(|(_, subject, _)| subject == "plain-select"));
}

#[test]
fn a_wrong_entry_is_probed_again_and_carries_its_statements() {
    let text = builtin("sqlite").expect("a file");
    let truth = "plain-select = \"transaction-snapshot\"";
    assert!(text.contains(truth));
    let lying = text.replacen(truth, "plain-select = \"anything\"", 1);
    let options = OpenOptions {
        dialect: Some(("lying.toml".to_owned(), lying)),
        ..options("calibrate_script")
    };
    let report = calibrated("sqlite:", &options);
    let entry = report.wrong().next().expect("the lie is found out");
    assert_eq!(entry.hits, PROBES_OF_A_WRONG_ENTRY, "{entry}");
    let sent = |line: &str| entry.script.iter().any(|sent| sent == line);
    assert!(
        sent("other UPDATE u SET c = 101 WHERE pkey = 1"),
        "{:#?}",
        entry.script
    );
    assert!(
        entry
            .script
            .iter()
            .any(|line| line.starts_with("tested SELECT")),
        "{:#?}",
        entry.script
    );
    let text = entry.how_to_tell();
    assert!(
        text.contains("the server has a bug") && text.contains("--dialect"),
        "{text}"
    );
}

fn options(run_id: &str) -> OpenOptions {
    OpenOptions {
        run_id: run_id.to_owned(),
        ..OpenOptions::default()
    }
}

fn targets(test: &str) -> Vec<String> {
    let servers = [Needs::MariaDb, Needs::MySql];
    ["sqlite:", "sqlite:?journal=delete"]
        .into_iter()
        .map(str::to_owned)
        .chain(servers.into_iter().filter_map(|needs| url(test, needs)))
        .collect()
}

#[test]
fn calibration_confirms_the_dialect_file_of_every_server() {
    for url in targets("calibrate_right") {
        let report = calibrated(&url, &options("calibrate_right"));
        let wrong: Vec<String> = report.wrong().map(ToString::to_string).collect();
        assert!(wrong.is_empty(), "{url}:\n{}", wrong.join("\n"));
        let (right, _, _) = report.counts();
        assert!(right >= 50, "{url}: only {right} entries were proved");
    }
}

/// Entries of the MariaDB file and what they are changed to; each is a lie at every version.
const LIES: [(&str, &str, &str, &str); 8] = [
    (
        "read-uncommitted",
        "plain-select",
        "anything",
        "statement-snapshot",
    ),
    (
        "read-committed",
        "plain-select",
        "statement-snapshot",
        "transaction-snapshot",
    ),
    (
        "read-committed",
        "update-source",
        "statement-snapshot",
        "current",
    ),
    (
        "read-committed",
        "delete-source",
        "current",
        "statement-snapshot",
    ),
    (
        "repeatable-read",
        "plain-select",
        "transaction-snapshot",
        "statement-snapshot",
    ),
    (
        "repeatable-read",
        "update-source",
        "current",
        "transaction-snapshot",
    ),
    (
        "repeatable-read",
        "locking-select-source",
        "transaction-snapshot",
        "current",
    ),
    (
        "serializable",
        "plain-select",
        "current",
        "transaction-snapshot",
    ),
];

#[test]
fn calibration_reports_a_wrong_entry_and_no_other() {
    let Some(url) = url("calibrate_lies", Needs::MariaDb) else {
        return;
    };
    let mut lying = builtin("mariadb").expect("a file").to_owned();
    for (level, role, truth, lie) in LIES {
        let header = format!("[read-modes.{level}]\n");
        let start = lying.find(&header).expect("the level") + header.len();
        let line = format!("{role} = \"{truth}\"");
        let at = start + lying[start..].find(&line).expect("the entry");
        lying.replace_range(at..at + line.len(), &format!("{role} = \"{lie}\""));
    }
    let lying = lying.replace(
        "mixes-after-wait = [\"read-uncommitted\", \"read-committed\"]",
        "mixes-after-wait = [\"read-uncommitted\", \"repeatable-read\"]",
    );
    let options = OpenOptions {
        dialect: Some(("lying.toml".to_owned(), lying)),
        ..options("calibrate_lies")
    };
    let report = calibrated(&url, &options);
    let found: BTreeSet<String> = report
        .wrong()
        .map(|entry| entry.subject.clone())
        .filter(|subject| !subject.starts_with("autocommit"))
        .collect();
    let mut expected: BTreeSet<String> = LIES
        .iter()
        .map(|(level, role, _, _)| format!("read-modes.{level}.{role}"))
        .collect();
    expected.insert("mixes-after-wait at read-committed".to_owned());
    expected.insert("mixes-after-wait at repeatable-read".to_owned());
    // Where plain reads are claimed to have a transaction snapshot, its moment is probed too, and what
    // a return to a savepoint does to it.
    let claimed = |(_, role, _, lie): &&(&str, &str, &str, &str)| {
        *role == "plain-select" && *lie == "transaction-snapshot"
    };
    let moments = ["snapshot-point", "known.early-savepoint"];
    let of_the_claims: BTreeSet<String> = LIES
        .iter()
        .filter(claimed)
        .flat_map(|(level, ..)| moments.map(|moment| format!("{moment} at {level}")))
        .collect();
    let found: BTreeSet<String> = found.difference(&of_the_claims).cloned().collect();
    assert_eq!(found, expected);
}

/// A file that says which rejections end their transaction, and what it says instead of the truth.
const FALSE_ENDINGS: [(&str, &str, &str, &str); 3] = [
    (
        "sqlite",
        "ends-transaction = []",
        "ends-transaction = [{ class = \"duplicate\", end = \"always\" }]",
        "ends-transaction.duplicate",
    ),
    (
        "mariadb",
        "{ class = \"deadlock\", end = \"always\" }",
        "{ class = \"deadlock\", end = \"never\" }",
        "ends-transaction.deadlock",
    ),
    (
        "mariadb",
        "{ class = \"deadlock\", end = \"always\" }",
        "{ class = \"read-only\", end = \"always\" }, { class = \"deadlock\", end = \"always\" }",
        "ends-transaction.read-only",
    ),
];

#[test]
fn a_file_that_is_wrong_about_what_ends_a_transaction_is_found_out() {
    for (name, truth, lie, subject) in FALSE_ENDINGS {
        let test = "calibrate_endings";
        let target = match name {
            "mariadb" => url(test, Needs::MariaDb),
            _ => Some("sqlite:".to_owned()),
        };
        let Some(target) = target else {
            continue;
        };
        let text = builtin(name).expect("a file");
        assert!(text.contains(truth), "{name}");
        let options = OpenOptions {
            dialect: Some(("lying.toml".to_owned(), text.replacen(truth, lie, 1))),
            ..options(test)
        };
        let report = calibrated(&target, &options);
        let wrong: Vec<&str> = report.wrong().map(|entry| entry.subject.as_str()).collect();
        assert_eq!(wrong, [subject], "{name}");
    }
}

#[test]
fn a_run_in_which_nothing_is_known_finds_the_dialect_right() {
    let test = "calibrate_unknown";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    let options = OpenOptions {
        nothing_is_known: true,
        ..options(test)
    };
    let report = calibrated(&url, &options);
    assert!(report.is_right(), "{report:?}");
}
