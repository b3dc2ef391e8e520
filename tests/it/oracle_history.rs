//! The history oracle on real engines: workloads agree with what their level promises, and claims
//! that do not hold are found and come down to a few statements.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rashomon::engine::{self, OpenOptions, Server};
use rashomon::execute::{Driver, Executor};
use rashomon::generate::LevelChoice;
use rashomon::model::{IsolationLevel, Pace, TestCase, UndecidedReason, Verdict};
use rashomon::oracle::{HistoryOracle, Oracle, Ruling, hear};
use rashomon::reproducer::Tag;
use rashomon::workload::{self, CaseLevels};

use crate::execute::case;
use crate::plant::{Fault, Plant, PlantedServer, Rate};
use crate::program::{folder, run, shown, summary};
use crate::servers::{self, Needs};

const SETUP: &str = "
    init: CREATE TABLE kv (k INT PRIMARY KEY, v INT)
    init: INSERT INTO kv (k, v) VALUES (1, 10), (2, 20)
";

const LOST_UPDATE: &str = "
    s1: BEGIN
    s1: SELECT v FROM kv WHERE k = 1
    s2: BEGIN
    s2: SELECT v FROM kv WHERE k = 1
    s1: UPDATE kv SET v = 11 WHERE k = 1
    s1: COMMIT
    s2: UPDATE kv SET v = 12 WHERE k = 1
    s2: COMMIT
";

const NON_REPEATABLE_READ: &str = "
    s1: BEGIN
    s1: SELECT v FROM kv WHERE k = 1
    s2: UPDATE kv SET v = 11 WHERE k = 1
    s1: SELECT v FROM kv WHERE k = 1
    s1: COMMIT
";

const WRITE_SKEW: &str = "
    s1: BEGIN
    s2: BEGIN
    s1: SELECT v FROM kv WHERE k = 1
    s2: SELECT v FROM kv WHERE k = 2
    s1: UPDATE kv SET v = 21 WHERE k = 2
    s2: UPDATE kv SET v = 11 WHERE k = 1
    s1: COMMIT
    s2: COMMIT
";

/// s2 writes both keys between the read and the write of s1. That 22 was written last is in the table only.
const READ_SKEW: &str = "
    s1: BEGIN
    s1: SELECT v FROM kv WHERE k = 1
    s2: BEGIN
    s2: UPDATE kv SET v = 21 WHERE k = 2
    s2: UPDATE kv SET v = 11 WHERE k = 1
    s2: COMMIT
    s1: UPDATE kv SET v = 22 WHERE k = 2
    s1: COMMIT
    s2: SELECT v FROM kv WHERE k = 2
";

/// s2 overwrites what s1 wrote after the read of s2. Were 11 the last, s1 would read a stale value at the end.
const OVERWRITTEN_UNSEEN: &str = "
    s1: BEGIN
    s1: UPDATE kv SET v = 11 WHERE k = 1
    s2: BEGIN
    s2: SELECT v FROM kv WHERE k = 1
    s2: UPDATE kv SET v = 12 WHERE k = 1
    s1: COMMIT
    s2: COMMIT
    s1: SELECT v FROM kv WHERE k = 1
";

/// Three write k = 1, and only who came second is read. That s3 was the last is in the table only; were it the first, the
/// violation would be another.
const THREE_WRITERS: &str = "
    s1: BEGIN
    s1: UPDATE kv SET v = 12 WHERE k = 1
    s1: UPDATE kv SET v = 21 WHERE k = 2
    s1: COMMIT
    s2: BEGIN
    s2: SELECT v FROM kv WHERE k = 1
    s2: UPDATE kv SET v = 22 WHERE k = 2
    s2: UPDATE kv SET v = 11 WHERE k = 1
    s3: BEGIN
    s3: SELECT v FROM kv WHERE k = 2
    s3: UPDATE kv SET v = 14 WHERE k = 1
    s2: COMMIT
    s3: COMMIT
";

/// s2 reads one key before s3 writes both, and the other behind it. s3 writes k = 1 twice: that both its writes came
/// behind 11 is in the table only, and were they before it, the last read of s1 would be stale.
const WRITTEN_TWICE: &str = "
    s1: UPDATE kv SET v = 11 WHERE k = 1
    s2: BEGIN
    s2: SELECT v FROM kv WHERE k = 1
    s3: BEGIN
    s3: UPDATE kv SET v = 21 WHERE k = 2
    s3: UPDATE kv SET v = 12 WHERE k = 1
    s3: UPDATE kv SET v = 15 WHERE k = 1
    s3: COMMIT
    s2: SELECT v FROM kv WHERE k = 2
    s2: COMMIT
    s1: SELECT v FROM kv WHERE k = 1
";

/// The second transaction of s1 begins when s2 has been answered. Faults show while another transaction is open.
const READ_AFTER_A_COMMIT: &str = "
    s3: BEGIN
    s3: SELECT v FROM kv WHERE k = 2
    s1: BEGIN
    s1: SELECT v FROM kv WHERE k = 1
    s1: COMMIT
    s2: UPDATE kv SET v = 11 WHERE k = 1
    s1: BEGIN
    s1: SELECT v FROM kv WHERE k = 1
    s1: COMMIT
    s3: COMMIT
";

/// The snapshot of s1 is older than what s2 writes: s1 comes first.
const READ_OF_A_SNAPSHOT: &str = "
    s1: BEGIN
    s1: SELECT v FROM kv WHERE k = 1
    s2: UPDATE kv SET v = 21 WHERE k = 2
    s1: SELECT v FROM kv WHERE k = 2
    s1: COMMIT
";

const ABORTED_READ: &str = "
    s1: BEGIN
    s1: UPDATE kv SET v = 11 WHERE k = 1
    s2: SELECT v FROM kv WHERE k = 1
    s1: ROLLBACK
";

fn server(test: &str, needs: Needs) -> Option<Box<dyn Server>> {
    let url = servers::url(test, needs)?;
    Some(open(&url))
}

fn open(url: &str) -> Box<dyn Server> {
    let options = OpenOptions {
        allow_shared_server: true,
        ..OpenOptions::default()
    };
    engine::open(url, &options).expect("the test server answers")
}

/// A name of its own for each call: tests that run at once may use one server.
fn database() -> String {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    format!("rashomon_it_history_{}_{call}", std::process::id())
}

fn judge(server: &dyn Server, cases: impl IntoIterator<Item = TestCase>) -> Vec<Ruling> {
    let mut driver = Driver::open(server, &database()).expect("a database of our own");
    let judgements = cases.into_iter().map(|case| {
        let mut hearing = hear(&case, &mut driver, &[&HistoryOracle]).expect("an answer");
        assert_eq!(hearing.inapplicable, []);
        hearing.rulings.swap_remove(0).ruling
    });
    let judgements = judgements.collect();
    driver.close().expect("the database goes");
    judgements
}

fn kind(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Violation(finding) => finding.signature.kind.to_string(),
        other @ (Verdict::Agree
        | Verdict::Known(_)
        | Verdict::Undecided(_)
        | Verdict::Flaky { .. }) => other.to_string(),
    }
}

#[test]
fn an_anomaly_is_a_finding_where_the_level_or_the_claim_forbids_it() {
    use IsolationLevel::{ReadCommitted, ReadUncommitted, RepeatableRead, Serializable};
    let test = "an_anomaly_is_a_finding_where_the_level_or_the_claim_forbids_it";
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(server) = server(test, needs) else {
            continue;
        };
        let table = [
            (LOST_UPDATE, RepeatableRead, None, "agree"),
            (
                LOST_UPDATE,
                RepeatableRead,
                Some(Serializable),
                "lost-update",
            ),
            (LOST_UPDATE, Serializable, None, "agree"),
            (NON_REPEATABLE_READ, ReadCommitted, None, "agree"),
            (NON_REPEATABLE_READ, RepeatableRead, None, "agree"),
            (
                NON_REPEATABLE_READ,
                ReadCommitted,
                Some(RepeatableRead),
                "non-repeatable-read",
            ),
            (
                READ_OF_A_SNAPSHOT,
                RepeatableRead,
                Some(Serializable),
                "agree",
            ),
            (WRITE_SKEW, RepeatableRead, None, "agree"),
            (WRITE_SKEW, RepeatableRead, Some(Serializable), "write-skew"),
            (READ_SKEW, RepeatableRead, Some(Serializable), "read-skew"),
            (
                OVERWRITTEN_UNSEEN,
                ReadCommitted,
                Some(Serializable),
                "lost-update",
            ),
            (
                THREE_WRITERS,
                RepeatableRead,
                Some(Serializable),
                "read-skew",
            ),
            (
                WRITTEN_TWICE,
                ReadCommitted,
                Some(Serializable),
                "fractured-read",
            ),
            (WRITTEN_TWICE, RepeatableRead, Some(Serializable), "agree"),
            (ABORTED_READ, ReadCommitted, None, "agree"),
            (
                ABORTED_READ,
                ReadUncommitted,
                Some(ReadCommitted),
                "aborted-read",
            ),
        ];
        for (script, level, claim, expected) in table {
            let mut case = case(&*server, level, &format!("{SETUP}{script}"));
            case.claim = claim;
            let judgements = judge(&*server, [case]);
            let found = kind(&judgements[0].verdict);
            assert_eq!(found, expected, "{needs:?} {level} {claim:?} {script}");
        }
    }
}

/// An old snapshot in a new transaction satisfies every model that knows no real time.
#[test]
fn a_snapshot_shows_what_was_committed_before_it_was_taken() {
    let level = IsolationLevel::RepeatableRead;
    for needs in [Needs::MariaDb, Needs::MySql, Needs::Postgres] {
        let Some(url) = servers::url("a_snapshot_shows_what_was_committed", needs) else {
            continue;
        };
        for (fault, expected) in [
            (Fault::None, "agree"),
            (Fault::TransactionKeepsSnapshot, "stale-read"),
        ] {
            let rate = Rate::Always;
            let planted = PlantedServer::before(&url, Plant { fault, rate });
            let server = open(&planted.url);
            let script = format!("{SETUP}{READ_AFTER_A_COMMIT}");
            let judgements = judge(&*server, [case(&*server, level, &script)]);
            let found = kind(&judgements[0].verdict);
            assert_eq!(found, expected, "{needs:?} {fault}");
        }
    }
}

#[test]
fn the_history_oracle_does_not_apply_to_other_statements_or_levels_without_a_promise() {
    let server = open("sqlite:");
    let driver = Driver::open(&*server, &database()).expect("a database");
    let reason = |script: &str| {
        let case = case(&*server, IsolationLevel::Serializable, script);
        HistoryOracle.excludes(&case, driver.dialect())
    };
    assert_eq!(reason(&format!("{SETUP}{LOST_UPDATE}")), None);
    let schema = |from: &str, to: &str| format!("{}{LOST_UPDATE}", SETUP.replace(from, to));
    let other = [
        schema("PRIMARY KEY", ""),
        schema("v INT", "v TINYINT"),
        schema("v INT", "v INT, w INT"),
        schema("v INT)", "v INT) WITHOUT ROWID"),
        // The values of the rows do not fit everywhere.
        schema("(1, 10)", "(1, 3000000000)"),
        // Written twice, or there at first: some engines make no version of it.
        format!("{SETUP}s1: UPDATE kv SET v = 5 WHERE k = 1\ns2: UPDATE kv SET v = 5 WHERE k = 1"),
        format!("{SETUP}s1: UPDATE kv SET v = 10 WHERE k = 1"),
        format!("{SETUP}s1: UPDATE kv SET v = v + 1 WHERE k = 1"),
        // What is written may be taken back, or a level may mean something else.
        format!(
            "{SETUP}s1: BEGIN\ns1: SAVEPOINT a\ns1: UPDATE kv SET v = 5 WHERE k = 1\ns1: COMMIT"
        ),
        format!("{SETUP}s1: SET x = 1\ns1: UPDATE kv SET v = 5 WHERE k = 1"),
        format!("{SETUP}s1: DELETE FROM kv WHERE k = 1"),
    ];
    for script in other {
        let told = reason(&script);
        assert_eq!(told, Some(UndecidedReason::NotKeysAndValues), "{script}");
    }
    driver.close().expect("the database goes");

    let test = "the_history_oracle_does_not_apply_to_other_statements_or_levels_without_a_promise";
    let Some(server) = self::server(test, Needs::MariaDb) else {
        return;
    };
    let driver = Driver::open(&*server, &database()).expect("a database");
    let case = case(
        &*server,
        IsolationLevel::ReadUncommitted,
        &format!("{SETUP}{ABORTED_READ}"),
    );
    let reason = HistoryOracle.excludes(&case, driver.dialect());
    assert_eq!(reason, Some(UndecidedReason::LevelPromisesNothing));
    driver.close().expect("the database goes");
}

#[test]
fn free_sessions_satisfy_the_model_of_their_level() {
    let test = "free_sessions_satisfy_the_model_of_their_level";
    let servers = [Needs::MariaDb, Needs::MySql].map(|needs| server(test, needs));
    for server in servers.into_iter().flatten().chain([open("sqlite:")]) {
        let cases = (0..40).map(|index| {
            let levels = if index % 4 == 0 {
                LevelChoice::Mixed
            } else {
                LevelChoice::AnyOne
            };
            let claim = None;
            workload::case(11, index, CaseLevels { levels, claim }, server.dialect())
        });
        let mut refused = 0;
        for (index, judgement) in judge(&*server, cases).iter().enumerate() {
            let engine = &server.dialect().engine;
            assert_eq!(kind(&judgement.verdict), "agree", "{engine}, case {index}");
            assert!(!judgement.tested.is_empty());
            refused += judgement
                .untested
                .values()
                .filter(|r| **r == UndecidedReason::Rejected)
                .count();
        }
        // Sessions that never met would have shown nothing.
        assert!(refused > 0, "nobody was in anybody's way");
    }
}

/// How many reads of a case file are of transactions that its counterexample does not name, and are needed all the
/// same: the table at the end says which of two writes came last, and by these alone the sessions know it. Without them,
/// the case written to `place` shows nothing.
fn not_named(text: &str, place: &Path, url: &str) -> usize {
    let told = text
        .lines()
        .filter_map(|line| line.split_once(" of session "));
    let named = told.filter_map(|(head, _)| head.rsplit(' ').next());
    let named: BTreeSet<&str> = named.collect();
    let is_other = |line: &&str| {
        let words: Vec<&str> = line.split([' ', '.']).collect();
        matches!(words[..], ["/*", _, transaction, _, "*/", "SELECT", ..]
            if !named.contains(transaction))
    };
    let (others, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(is_other);
    if !others.is_empty() {
        // What follows a statement that is gone has another number.
        let bare = |line: &str| match line.split(' ').collect::<Vec<&str>>()[..] {
            ["/*", session, _, "*/", ref rest @ ..] => {
                format!("/* {session} */ {}\n", rest.join(" "))
            }
            _ => format!("{line}\n"),
        };
        let without: String = rest.into_iter().map(bare).collect();
        std::fs::write(place, without).expect("it is writable");
        let judged_by = ["--allow-shared-server", "--oracle", "history"];
        let ran = run(&[&["replay", &shown(place), url][..], &judged_by].concat());
        assert_eq!(ran.code, Some(0), "{text}{}{}", ran.out, ran.err);
    }
    others.len()
}

#[test]
fn a_run_of_workloads_finds_a_false_claim_and_publishes_a_schedule_that_shows_it() {
    let test = "a_run_of_workloads_finds_a_false_claim_and_publishes_a_schedule_that_shows_it";
    let Some(url) = servers::url(test, Needs::MariaDb) else {
        return;
    };
    let out = folder();
    let fuzz = [
        "fuzz",
        &url,
        "--oracle",
        "history",
        "--isolation",
        "repeatable-read",
    ];
    let rest = [
        "--claim",
        "serializable",
        "--seed",
        "3",
        // Of ten such cases some eight are shown by a schedule.
        "--cases",
        "5",
        "--format",
        "json",
    ];
    let place = ["--allow-shared-server", "--out", &shown(out.path())];
    let ran = run(&[&fuzz[..], &rest[..], &place[..]].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let summary = summary(&ran);
    let files = summary["reproducers"].as_array().expect("a list").clone();
    assert!(!files.is_empty(), "{summary}");
    for file in files {
        let path = file.as_str().expect("a path");
        let file = rashomon::reproducer::load(path.as_ref()).expect("a case file");
        assert_eq!(file.header.oracle.as_deref(), Some("history"));
        // A schedule was found, so nothing is left to chance.
        assert_eq!(file.header.pace, Pace::Scheduled);
        let text = std::fs::read_to_string(path).expect("a file");
        let on_keys = |sql: &str| sql.contains("kv") || sql.contains("t0");
        let of_case = file.lines.iter().filter(|line| line.tag != Tag::End);
        let statements = of_case.filter(|line| on_keys(&line.sql)).count();
        // Which races are lost is not ours to say: mostly two updates of two transactions, at times
        // five transactions that no version order explains. Whatever it is, beside the two
        // statements of the set-up nothing is left but what the counterexample names.
        let told = text.lines().filter(|line| line.contains(" of session "));
        let statements = statements - not_named(&text, &out.path().join("without.sql"), &url);
        let events = told.map(|line| line.matches("r(").count() + line.matches("w(").count());
        assert_eq!(statements, 2 + events.sum::<usize>(), "{text}");
        if file.header.kind.as_deref() == Some("lost-update") {
            assert!(statements <= 2 + 4, "{text}");
        }
        let again = run(&[
            "replay",
            path,
            &url,
            "--allow-shared-server",
            "--times",
            "10",
        ]);
        assert_eq!(again.code, Some(1), "{}{}", again.out, again.err);
        assert!(again.out.contains("10 of 10 runs"), "{}", again.out);
    }
}
