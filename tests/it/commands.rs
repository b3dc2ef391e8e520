//! Lines of `--format json` of the commands beside `fuzz` against their schema in `docs/`.
//!
//! Tests of a command hold what it prints to [`assert_described_as`]; here stand those of lines that no
//! other test prints.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::program::{folder, run, shown, summary, write};
use crate::schemas::{LineSchema, optional, parsed};
use crate::triage::campaign_in;

const SCHEMA: &str = include_str!("../../docs/commands.schema.json");

/// Holds lines of a command to its definition in the schema, and to the schema as a whole. Returns their
/// events.
pub(crate) fn assert_described_as(command: &str, out: &str) -> BTreeSet<String> {
    assert!(!out.is_empty(), "{command} printed nothing");
    LineSchema::of(SCHEMA, None).assert_describes(out);
    LineSchema::of(SCHEMA, Some(command)).assert_describes(out)
}

/// Runs a command, ends with this code, and prints these events.
fn check(command: &str, arguments: &[&str], code: i32, events: &[&str]) -> Json {
    let ran = run(&[arguments, &["--format", "json"]].concat());
    assert_eq!(ran.code, Some(code), "{}{}", ran.out, ran.err);
    let told = assert_described_as(command, &ran.out);
    let events: BTreeSet<String> = events.iter().map(|event| (*event).to_owned()).collect();
    assert_eq!(told, events, "{}", ran.out);
    summary(&ran)
}

/// A case on SQLite: what stands behind its isolation level, and its last statement.
fn case(header: &str, line: &str) -> String {
    format!(
        "--! format = 1\n--! engine = \"sqlite\"\n--! isolation = \"SERIALIZABLE\"\n{header}\
         /* init */ CREATE TABLE t (a INT);\n/* init */ INSERT INTO t VALUES (1);\n\
         /* s1 */ UPDATE t SET a = 2;\n{line}\n"
    )
}

const WRONG: &str = "/* s2 */ SELECT a FROM t; -- @expect (3)";

#[test]
fn replay_prints_each_verdict_as_the_schema_says() {
    let place = folder();
    let known = "/* s2 */ SELECT a FROM t; -- @got (2)  @expect (3)";
    for (name, header, line) in [
        ("agree.sql", "", "/* s2 */ SELECT a FROM t; -- @expect (2)"),
        ("violation.sql", "", WRONG),
        ("known.sql", "--! known = \"K-1\"\n", known),
        ("rejected.sql", "", "/* s2 */ SELECT a FROM misspelt;"),
        ("unjudged.sql", "", "/* s2 */ UPDATE t SET a = random();"),
        (
            "not-run.sql",
            "/* init */ INSERT INTO misspelt VALUES (1);\n",
            WRONG,
        ),
        ("unreadable.sql", "", "/* s2 */ SELECT 1"),
    ] {
        write(&place, name, &case(header, line));
    }
    let path = shown(place.path());
    let events = ["replayed", "skipped", "summary"];
    let told = check("replay", &["replay", &path, "--times", "1"], 1, &events);
    let verdicts = json!({ "agree": 2, "known": 1, "undecided": 2, "flaky": 0, "violation": 1 });
    assert_eq!(told["verdicts"], verdicts, "{told}");
    assert_eq!([&told["could_not_run"], &told["skipped"]], [1, 1], "{told}");
}

#[test]
fn every_task_of_triage_prints_what_the_schema_says() {
    let (place, into) = (folder(), folder());
    campaign_in(place.path(), rashomon::reproducer::Registry::empty());
    let header = "--! seen_on = [\"3.50\"]\n--! kind = \"unexpected-outcome\"\n--! signature = \"0123abcd\"\n";
    write(&place, "sqlite/wrong.sql", &case(header, WRONG));
    write(&place, "sqlite/torn.sql", "SELECT 1");
    let path = shown(place.path());
    let done = |arguments: &[&str], code, events: &[&str]| {
        check("triage", &[&["triage"], arguments].concat(), code, events)
    };
    let list = ["group", "summary"];
    let told = done(&[&path], 0, &list);
    assert_eq!(told["groups"], 6, "{told}");
    assert_eq!(told["left_out"].as_array().map(Vec::len), Some(1), "{told}");
    let listed = run(&["triage", &path, "--format", "json"]);
    let first: Json =
        serde_json::from_str(listed.out.lines().next().unwrap_or_default()).expect("JSON");
    let id = first["signature"].as_str().expect("a signature");
    let why = ["--upstream", "https://bugs.mysql.com/1", "--note", "seen"];
    done(&[&[&path, "mark", id], &why[..]].concat(), 0, &["marked"]);
    let told = done(&[&path, "show", id], 0, &["group"]);
    assert_eq!([&told["state"], &told["note"]], ["known", "seen"], "{told}");
    let with_runs = ["shapes", "seen"].map(|field| told[field].as_array().map(Vec::len));
    assert!(with_runs.iter().all(|count| *count > Some(0)), "{told}");
    let merge = [&shown(into.path()), "merge", &path];
    done(&merge, 0, &["merged", "group", "summary"]);
    done(&[&path, "unmark", id], 0, &["unmarked"]);
    let events = ["rechecked", "group", "summary"];
    done(&[&path, "recheck", "sqlite:"], 0, &events);
    let told = done(&[&path, "show", "0123abcd"], 0, &["group"]);
    assert_eq!(told["rechecks"][0]["result"], "there", "{told}");
    assert_eq!(
        told["group"],
        Json::Null,
        "it has no JSON beside it: {told}"
    );
}

#[test]
fn status_prints_a_run_whose_numbers_cannot_be_read_as_the_schema_says() {
    let place = folder();
    campaign_in(place.path(), rashomon::reproducer::Registry::empty());
    write(&place, "runs/0000abcd/lock", "");
    let path = shown(place.path());
    let told = check("status", &["status", &path], 0, &["run", "summary"]);
    assert_eq!(told["runs"], 2, "{told}");
    let ran = run(&["status", &path, "--format", "json"]);
    assert_eq!(ran.out.matches("\"problem\":").count(), 1, "{}", ran.out);
}

#[test]
fn calibrate_prints_right_wrong_and_idle_entries_as_the_schema_says() {
    let place = folder();
    let truth = "plain-select = \"transaction-snapshot\"";
    let file = rashomon::dialect::builtin("sqlite").expect("a file");
    assert!(file.contains(truth));
    let lying = file.replacen(truth, "plain-select = \"anything\"", 1);
    let lying = write(&place, "lying.toml", &lying);
    let arguments = ["calibrate", "sqlite:", "--dialect", &lying];
    let told = check("calibrate", &arguments, 1, &["entry", "summary"]);
    for count in ["right", "wrong", "does_not_apply"] {
        assert!(told[count].as_u64() > Some(0), "{told}");
    }
}

#[test]
fn selftest_prints_a_fault_that_is_not_found_as_the_schema_says() {
    let trial = ["--fault", "phantom", "--isolation", "repeatable-read"];
    let once = ["selftest", "--flavour", "innodb", "--cases", "1"];
    let told = check("selftest", &[&once[..], &trial].concat(), 1, &["summary"]);
    let flavour = &told["flavours"]["innodb"];
    assert_eq!(flavour["median_cases_to_first"], Json::Null, "{told}");
}

#[test]
fn bench_prints_what_the_schema_says() {
    let once = ["bench", "sqlite:", "--rounds", "1"];
    check(
        "bench",
        &[&once[..], &["--cases", "1"]].concat(),
        0,
        &["bench"],
    );
    check(
        "bench",
        &[&once[..], &["--recording"]].concat(),
        0,
        &["recording"],
    );
}

/// The root of the schema names the definitions that consumers ask for, and all of them.
#[test]
fn the_root_of_the_schema_accepts_the_lines_of_every_command() {
    let schema = parsed(SCHEMA);
    let root = schema["anyOf"].as_array().expect("alternatives").iter();
    let named: BTreeSet<&str> = root.filter_map(|one| one["$ref"].as_str()).collect();
    let definitions = schema["$defs"].as_object().expect("definitions").iter();
    let of_commands = definitions.filter(|(_, of)| of["oneOf"].is_array());
    let due: BTreeSet<String> = of_commands
        .map(|(name, _)| format!("#/$defs/{name}"))
        .collect();
    assert_eq!(named, due.iter().map(String::as_str).collect());
}

#[test]
fn a_line_has_every_field_but_these() {
    let known = [
        // Where the verdict is unknown, and where it is violated with --explain.
        "checked.reason",
        "checked.counterexample",
        // Of `show` alone.
        "group.shapes",
        "group.seen",
        "group.rechecks",
    ];
    assert_eq!(optional(&parsed(SCHEMA)), known.map(str::to_owned).into());
}

#[test]
fn a_line_that_is_not_as_the_schema_says_is_caught() {
    let replay = LineSchema::of(SCHEMA, Some("replay"));
    let skipped = json!({ "v": 1, "event": "skipped", "file": "a.sql", "reason": "torn" });
    assert_eq!(replay.complaints(&skipped), [""; 0]);
    for (field, wrong) in [
        ("v", json!(2)),
        ("event", json!("merged")),
        ("file", Json::Null),
        ("more", json!(1)),
    ] {
        let mut line = skipped.clone();
        line[field] = wrong;
        assert_ne!(replay.complaints(&line), [""; 0], "{line}");
    }
    // A part of what `show` adds, and an unknown answer without its reason.
    let mut group = json!({
        "v": 1, "event": "group", "signature": "0123abcd", "group": null, "state": "new", "anomaly": "hang",
        "levels": "SERIALIZABLE", "engines": [], "sightings": 0, "first_unix_s": null, "last_unix_s": null,
        "statements": 2, "hits": null, "runs": null, "known_id": null, "url": null, "note": null,
        "headline": "it hangs", "files": [],
    });
    let triage = LineSchema::of(SCHEMA, Some("triage"));
    assert_eq!(triage.complaints(&group), [""; 0]);
    group["shapes"] = json!([]);
    assert_ne!(triage.complaints(&group), [""; 0]);
    let checked = json!({
        "v": 1, "event": "checked", "file": "-", "model": null, "with": null, "verdict": "unknown",
        "anomaly": null, "elle": null, "promised": null, "transactions": null, "events": null, "load_s": 0.5,
        "check_s": 0.0, "peak_rss_mb": null,
    });
    assert!(
        !LineSchema::of(SCHEMA, Some("check"))
            .open()
            .is_valid(&checked)
    );
}
