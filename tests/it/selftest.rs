//! `selftest` finds planted faults, and nothing where none is planted.

use serde_json::Value as Json;

use crate::commands::assert_described_as;
use crate::program::{Ran, run};

fn summary(ran: &Ran) -> Json {
    let last = ran.out.lines().last().expect("a last line");
    let json: Json = serde_json::from_str(last).unwrap_or_else(|error| panic!("{last}: {error}"));
    assert_eq!(json["event"], "summary", "{last}");
    assert_described_as("selftest", &ran.out);
    json
}

/// One fault at one level, and an oracle that finds it.
fn check(fault: &str, level: &str, oracle: &str) {
    check_flavour("innodb", fault, level, oracle);
}

fn check_flavour(flavour: &str, fault: &str, level: &str, oracle: &str) {
    let ran = run(&[
        "selftest",
        "--flavour",
        flavour,
        "--cases",
        "60",
        "--fault",
        fault,
        "--isolation",
        level,
        "--format",
        "json",
    ]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let summary = summary(&ran);
    let found = &summary["flavours"][flavour]["faults"][fault][level][oracle];
    assert_eq!(found["found"], true, "{fault} at {level}: {summary}");
    assert!(
        found["cases_to_first"]
            .as_u64()
            .is_some_and(|cases| cases > 0)
    );
    assert_eq!(summary["cases_clean"], 0);
}

#[test]
fn selftest_finds_a_dirty_read() {
    check("dirty-read", "read-committed", "isolation");
}

#[test]
fn selftest_finds_a_lost_update() {
    check("lost-update", "repeatable-read", "txcheck");
}

#[test]
fn selftest_finds_a_missing_lock() {
    check("missing-row-lock", "serializable", "locks");
}

#[test]
fn selftest_finds_nowait_that_waits() {
    check("nowait-waits", "repeatable-read", "locks");
}

#[test]
fn selftest_finds_half_a_statement() {
    check("statement-error-leaves-half", "read-uncommitted", "troc");
}

#[test]
fn selftest_finds_an_update_that_is_not_the_first() {
    check_flavour("postgres", "lost-update", "repeatable-read", "txcheck");
}

#[test]
fn selftest_finds_write_skew_under_snapshots() {
    check_flavour("postgres", "write-skew", "serializable", "serial");
}

#[test]
fn selftest_finds_a_torn_snapshot_of_tidbs_kind() {
    check_flavour("tidb", "dirty-read", "read-committed", "txcheck");
}

#[test]
fn a_fault_that_needs_more_cases_than_there_are_is_missed_and_told() {
    let ran = run(&[
        "selftest",
        "--flavour",
        "innodb",
        "--cases",
        "1",
        "--fault",
        "phantom",
        "--isolation",
        "repeatable-read",
    ]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("not found up to case 1"), "{}", ran.out);
    assert!(ran.out.contains("0 of 1 found"), "{}", ran.out);
}

#[test]
fn selftest_names_what_it_does_not_know() {
    let unknown = run(&["selftest", "--fault", "dirty-reed"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
    assert!(
        unknown.err.contains("did you mean dirty-read?"),
        "{}",
        unknown.err
    );
    let elsewhere = run(&[
        "selftest",
        "--fault",
        "write-skew",
        "--isolation",
        "read-committed",
    ]);
    assert_eq!(elsewhere.code, Some(2), "{}", elsewhere.err);
    assert!(elsewhere.err.contains("serializable"), "{}", elsewhere.err);
    let target = run(&["fuzz", "simulated:?fault=x"]);
    assert_eq!(target.code, Some(2), "{}", target.err);
    assert!(target.err.contains("write-skew"), "{}", target.err);
    let rate = run(&["fuzz", "simulated:?fault=dirty-read&rate=2"]);
    assert_eq!(rate.code, Some(2), "{}", rate.err);
}

#[test]
fn the_simulated_engine_is_ready() {
    let doctor = run(&["doctor", "simulated:"]);
    assert_eq!(doctor.code, Some(0), "{}{}", doctor.out, doctor.err);
    let clean = run(&["clean", "simulated:"]);
    assert_eq!(clean.code, Some(0), "{}{}", clean.out, clean.err);
    assert!(
        clean.out.contains("nothing was left behind"),
        "{}",
        clean.out
    );
}

#[test]
fn every_flavour_is_what_its_dialect_says_and_agrees_with_itself() {
    for flavour in ["innodb", "postgres", "tidb"] {
        check_agrees(&format!("simulated:?flavour={flavour}"));
    }
}

fn check_agrees(target: &str) {
    let calibrate = run(&["calibrate", target]);
    let told = format!("{}{}", calibrate.out, calibrate.err);
    assert_eq!(calibrate.code, Some(0), "{target}: {told}");
    let folder = crate::program::folder();
    let out = crate::program::shown(folder.path());
    for level in ["all", "mixed"] {
        let fuzz = run(&[
            "fuzz",
            target,
            "--oracle",
            "all",
            "--isolation",
            level,
            "--cases",
            "50",
            "--seed",
            "3",
            "--out",
            &out,
        ]);
        assert_eq!(fuzz.code, Some(0), "{target}: {}{}", fuzz.out, fuzz.err);
    }
}
