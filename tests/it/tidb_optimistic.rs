//! TiDB in its optimistic mode: COMMIT locks and compares.

use rashomon::model::{Execution, IsolationLevel, Outcome, TransactionStatus, Verdict};
use serde_json::Value as Json;

use crate::lying::{self, OneDriver, id};
use crate::oracles;
use crate::program::{folder, run, shown};
use crate::servers::Needs;
use crate::tidb::{fuzzed, opened, optimistic_options, turn, turn_of};

/// Optimistic transactions wait nowhere, so that they are judged on versions that show no waits, too.
#[test]
fn the_optimistic_mode_of_tidb_is_right_and_runs_in_it_find_nothing() {
    let Some((url, _turn)) = turn("tidb_optimistic") else {
        return;
    };
    let optimistic = ["--dialect", "tidb-optimistic", "--allow-shared-server"];
    let calibrated = run(&[&["calibrate", &url][..], &optimistic].concat());
    let said = format!("{}{}", calibrated.out, calibrated.err);
    assert_eq!(calibrated.code, Some(0), "{said}");
    assert!(said.contains("entries hold, 0 do not"), "{said}");

    let folder = folder();
    let out = shown(folder.path());
    let more = ["--dialect", "tidb-optimistic", "--cases", "40"];
    let (code, summary) = fuzzed(&url, &out, &more);
    assert_eq!(code, Some(0), "{summary}");
    assert_eq!(summary["verdicts"]["agree"].as_u64(), Some(40), "{summary}");
    assert_eq!(summary["blocked"].as_u64(), Some(0), "{summary}");
    let refused = summary["rejected"]["serialization"].as_u64().unwrap_or(0);
    assert!(refused > 0, "{summary}");
}

/// T1's COMMIT is refused for the row that T2 has put in under the same key.
const ONE_ROW_TWICE: &str = "s1 BEGIN
s2 BEGIN
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (9, 1000, 1)
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (9, 1001, 2)
s2 COMMIT
s1 COMMIT
s1 SELECT * FROM t0";

/// The server says that T1's COMMIT, its third statement, was done.
fn says_that_it_committed(run: &mut Execution) {
    let record = run.records.get_mut(&id(1, 3)).expect("it ran");
    record.outcome = Outcome::Affected(0);
    let end = TransactionStatus::Committed(record.answered);
    run.transactions.insert(id(1, 3).transaction, end);
}

#[test]
fn of_two_optimistic_transactions_that_put_in_one_row_the_second_may_not_commit() {
    let Some((url, _turn)) = turn("tidb_one_row_twice") else {
        return;
    };
    let server = opened(&url, &optimistic_options("tidb_one_row_twice"));
    let driver = OneDriver::of(&*server);
    let said = |script: &str, lie| {
        let level = IsolationLevel::RepeatableRead;
        lying::hearing(&driver, level, None, script, lie).verdict()
    };
    assert_eq!(said(ONE_ROW_TWICE, lying::honest), Verdict::Agree);
    let verdict = said(ONE_ROW_TWICE, says_that_it_committed);
    assert_eq!(oracles::kind(&verdict), "unrefused-newer-row");
    // What T2 has taken out again is nobody's.
    let undone = ONE_ROW_TWICE.replace("s2 COMMIT", "s2 DELETE FROM t0 WHERE pkey = 9\ns2 COMMIT");
    let verdict = said(&undone, lying::honest);
    assert!(!matches!(verdict, Verdict::Violation(_)), "{verdict}");
}

/// T1's COMMIT is refused for a row that it has read FOR UPDATE.
const READ_FOR_UPDATE: &str = "s1 BEGIN
s1 SELECT c0 FROM t0 WHERE pkey = 2 FOR UPDATE
s2 UPDATE t0 SET vkey = 1000, c0 = 21 WHERE pkey = 2
s1 COMMIT
s1 SELECT * FROM t0";

#[test]
fn an_optimistic_commit_over_a_row_that_was_read_for_update_is_heard() {
    let Some((url, _turn)) = turn("tidb_read_for_update") else {
        return;
    };
    let server = opened(&url, &optimistic_options("tidb_read_for_update"));
    let driver = OneDriver::of(&*server);
    let said = |script: &str, lie| {
        let level = IsolationLevel::RepeatableRead;
        oracles::kind(&lying::hearing(&driver, level, None, script, lie).verdict())
    };
    let joined = "SELECT a.c0 FROM t0 AS a JOIN t0 AS b ON a.pkey = b.pkey FOR UPDATE";
    let read = "SELECT c0 FROM t0 WHERE pkey = 2 FOR UPDATE";
    for form in [
        read,
        "SELECT COUNT(*) FROM t0 WHERE c0 > 15 FOR UPDATE",
        joined,
    ] {
        let script = READ_FOR_UPDATE.replace(read, form);
        assert_eq!(said(&script, lying::honest), "agree", "{form}");
        assert_eq!(
            said(&script, says_that_it_committed),
            "unrefused-newer-row",
            "{form}"
        );
    }
    // A row that it did not find, or read without a lock, is compared with nothing: both are accepted.
    for form in [
        "SELECT c0 FROM t0 WHERE pkey = 1 FOR UPDATE",
        "SELECT c0 FROM t0",
    ] {
        let script = READ_FOR_UPDATE.replace(read, form);
        assert_eq!(said(&script, lying::honest), "agree", "{form}");
    }
}

const VIEWED: &str = "\
    /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ CREATE VIEW v0 AS SELECT pkey, vkey, c0 FROM t0;\n\
    /* init */ INSERT INTO t0 VALUES (1, 1, 10), (2, 2, 20);\n";

/// TiDB#21335.
#[test]
fn for_update_of_a_view_locks_nothing_in_the_optimistic_mode() {
    let Some((url, _turn)) = turn("tidb_view_for_update") else {
        return;
    };
    let server = opened(&url, &optimistic_options("tidb_view_for_update"));
    let driver = OneDriver::of(&*server);
    for (read, is_locked) in [("v0", false), ("t0", true)] {
        let script = format!(
            "s1 BEGIN\ns1 SELECT c0 FROM {read} FOR UPDATE\n\
             s2 UPDATE t0 SET vkey = 1000, c0 = 21 WHERE pkey = 2\ns1 COMMIT"
        );
        let level = IsolationLevel::RepeatableRead;
        let case = lying::scripted(&*server, level, VIEWED, &script);
        let said = |lie| oracles::kind(&lying::hearing_of(&driver, &case, lie).verdict());
        assert_eq!(said(lying::honest), "agree", "{read}");
        let lied = said(says_that_it_committed);
        assert_eq!(lied == "unrefused-newer-row", is_locked, "{read}: {lied}");
    }
}

/// TiDB before 8.0 can be told to carry out a refused transaction again, over what others have committed (TiDB manual,
/// "System Variables", `tidb_disable_txn_auto_retry`).
#[test]
fn optimistic_transactions_that_are_carried_out_again_lose_updates() {
    let Some((url, _turn)) = turn_of("tidb_lost_update", Needs::TiDb4) else {
        return;
    };
    let (name, text) = rashomon::dialect::MODES[0];
    let version = "4.0".parse().expect("a version");
    let mut setup = rashomon::dialect::parse(name, text, &version)
        .expect("the file")
        .session_setup;
    setup.push("SET SESSION tidb_disable_txn_auto_retry = OFF".to_owned());
    let folder = folder();
    let file = folder.path().join("carried-out-again.toml");
    let again = format!("base = {name:?}\nsession-setup = {setup:?}\n");
    std::fs::write(&file, again).expect("a file");
    let file = shown(&file);
    for (dialect, loses) in [(name, false), (file.as_str(), true)] {
        let out = shown(&folder.path().join(loses.to_string()));
        let more = [
            "--dialect",
            dialect,
            "--oracle",
            "isolation",
            "--cases",
            "6",
        ];
        let (code, summary) = fuzzed(&url, &out, &more);
        assert_eq!(code, Some(i32::from(loses)), "{dialect}: {summary}");
        let found = summary["reproducers"].as_array().into_iter().flatten();
        let named = found.filter_map(Json::as_str);
        let lost = named.filter(|path| path.contains("lost-update-")).count();
        assert_eq!(lost > 0, loses, "{dialect}: {summary}");
    }
}
