//! `fuzz --against`: the same cases on two servers.

use std::path::Path;

use serde_json::Value as Json;

use crate::program::{Ran, folder, run, shown};

/// Runs cases on two targets; the events, the summary last.
fn against(out: &Path, first: &str, second: &str, options: &[&str]) -> (Ran, Vec<Json>) {
    let out = shown(out);
    let common = [
        "fuzz",
        first,
        "--against",
        second,
        "--seed",
        "5",
        "--out",
        &out,
        "--format",
        "json",
    ];
    let ran = run(&[&common, options].concat());
    let lines = ran.out.lines();
    let events = lines.map(|line| serde_json::from_str(line).expect("a line of JSON"));
    let events = events.collect();
    (ran, events)
}

fn named<'e>(events: &'e [Json], name: &str) -> Vec<&'e Json> {
    events.iter().filter(|e| e["event"] == name).collect()
}

#[test]
fn two_servers_that_do_the_same_are_alike_in_every_case() {
    for target in ["sqlite:", "simulated:"] {
        let folder = folder();
        let (ran, events) = against(folder.path(), target, target, &["--cases", "40"]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        let summary = events.last().expect("a summary");
        let compared = &summary["compared"];
        let scheduled = compared["alike"].as_u64().expect("a number");
        // A quarter of the cases run at the free pace, which nobody compares.
        assert!((25..=40).contains(&scheduled), "{summary}");
        assert_eq!(compared["differences"], serde_json::json!({}), "{summary}");
        assert_eq!(compared["explained"], 0, "{summary}");
        assert!(named(&events, "differs").is_empty());
    }
}

#[test]
fn a_fault_of_the_second_server_is_a_finding_about_it() {
    let folder = folder();
    let faulty = "simulated:?fault=stale-snapshot";
    let options = ["--cases", "25", "--isolation", "read-committed"];
    let (ran, events) = against(folder.path(), "simulated:", faulty, &options);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let found = named(&events, "finding");
    assert!(!found.is_empty(), "{}", ran.out);
    for event in &found {
        assert_eq!(event["target"], faulty, "{event}");
    }
    // The reproducer is of that server.
    let path = found[0]["path"].as_str().expect("a path");
    assert_eq!(run(&["replay", path, faulty]).code, Some(1));
    assert_eq!(run(&["replay", path, "simulated:"]).code, Some(0));
    let summary = events.last().expect("a summary");
    assert!(
        summary["compared"]["explained"]
            .as_u64()
            .is_some_and(|n| n > 0)
    );
}

#[test]
fn a_difference_that_no_oracle_explains_is_undecided_and_kept_once_minimized() {
    let folder = folder();
    let faulty = "simulated:?fault=stale-snapshot";
    let options = [
        "--cases",
        "25",
        "--isolation",
        "read-committed",
        "--oracle",
        "locks",
    ];
    let (ran, events) = against(folder.path(), "simulated:", faulty, &options);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let summary = events.last().expect("a summary");
    let differences = summary["compared"]["differences"]
        .as_object()
        .expect("an object");
    let counted: u64 = differences.values().filter_map(Json::as_u64).sum();
    assert!(counted > 0, "{summary}");
    assert_eq!(summary["undecided"]["engines-differ"], counted, "{summary}");
    let told = named(&events, "differs");
    let mut shapes: Vec<&str> = told.iter().filter_map(|e| e["shape"].as_str()).collect();
    shapes.sort_unstable();
    let kept: Vec<&str> = differences.keys().map(String::as_str).collect();
    assert_eq!(shapes, kept);
    for event in told {
        let text = std::fs::read_to_string(event["path"].as_str().expect("a path"));
        let text = text.expect("it is on disk");
        assert!(text.contains("@counterpart") || event["shape"] == "final-state");
        assert!(
            text.contains(event["difference"].as_str().expect("a text")),
            "{text}"
        );
        // Two transactions are enough to read a row too old.
        assert!(text.matches("/* s").count() <= 12, "{text}");
    }
}

#[test]
fn servers_with_nothing_to_compare_are_refused_by_what_parts_them() {
    let folder = folder();
    for (second, options, said) in [
        (
            "simulated:",
            &[][..],
            "promise the same at no isolation level",
        ),
        ("sqlite", &[][..], "--against"),
    ] {
        let (ran, _) = against(folder.path(), "sqlite:", second, options);
        assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains(said), "{}", ran.err);
    }
}

#[test]
fn a_run_goes_on_against_the_same_server() {
    let folder = folder();
    let options = ["--cases", "10", "--oracle", "locks"];
    let (ran, events) = against(folder.path(), "simulated:", "simulated:", &options);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let id = events[0]["run"].as_str().expect("an id");
    let runs = shown(&folder.path().join("runs").join(id));
    let more = run(&[
        "fuzz", "--resume", &runs, "--cases", "20", "--format", "json",
    ]);
    assert_eq!(more.code, Some(0), "{}{}", more.out, more.err);
    let last = more.out.lines().last().expect("a summary");
    let summary: Json = serde_json::from_str(last).expect("JSON");
    assert_eq!(summary["cases"], 20, "{summary}");
    assert_eq!(summary["compared"]["alike"], 20, "{summary}");
    let other = run(&["fuzz", "--resume", &runs, "--against", "sqlite:"]);
    assert_eq!(other.code, Some(2), "{}", other.err);
    assert!(other.err.contains("another target"), "{}", other.err);
}
