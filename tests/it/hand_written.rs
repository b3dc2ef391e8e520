//! Cases that a person typed: judged, written with their answers, exported.

use crate::commands::assert_described_as;
use crate::program::{assert_documented_in, folder, run, shown, summary, write};
use crate::servers::{self, Needs};

#[test]
fn a_hand_written_case_replays_on_sqlite() {
    let folder = folder();
    let text = "--! format = 1\n--! engine = \"sqlite\"\n--! isolation = \"SERIALIZABLE\"\n\
                /* init */ CREATE TABLE t (a INT);\n/* init */ INSERT INTO t VALUES (1);\n\
                /* s1 */ BEGIN;\n/* s2 */ SELECT * FROM t;\n/* s1 */ UPDATE t SET a = 2;\n\
                /* s1 */ COMMIT;\n/* s2 */ SELECT * FROM t; -- @expect (2)\n";
    let case = write(&folder, "case.sql", text);
    let ran = run(&["replay", &case, "--times", "2", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(summary(&ran)["verdicts"]["agree"], 1, "{}", ran.out);
    let wrong = write(
        &folder,
        "wrong.sql",
        &text.replace("@expect (2)", "@expect (3)"),
    );
    let ran = run(&["replay", &wrong, "--times", "2", "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert_eq!(summary(&ran)["verdicts"]["violation"], 1, "{}", ran.out);
    for (case, code, word) in [(&wrong, 1, "still-there"), (&case, 0, "fixed")] {
        let ran = run(&["replay", case, "--confirm-fixed", "--format", "json"]);
        assert_eq!(ran.code, Some(code), "{}{}", ran.out, ran.err);
        let first: serde_json::Value =
            serde_json::from_str(ran.out.lines().next().unwrap_or_default()).expect("JSON");
        assert_eq!(first["confirmation"], word, "{first}");
        let page = include_str!("../../docs/reproducer-format.md");
        assert_documented_in(&ran, page, "## A replay in lines of JSON");
        assert_described_as("replay", &ran.out);
    }
}

/// A person who typed the case has to see which statement is not understood, and not only that one is.
#[test]
fn the_statement_that_keeps_a_case_from_being_judged_is_named() {
    let folder = folder();
    let text = "--! format = 1\n--! engine = \"sqlite\"\n--! isolation = \"SERIALIZABLE\"\n\
                /* init */ CREATE TABLE t (a INT);\n/* s1 */ BEGIN;\n\
                /* s1 */ INSERT INTO t VALUES (abs(random()));\n\
                /* s1 */ COMMIT;\n";
    let case = write(&folder, "case.sql", text);
    let ran = run(&["replay", &case, "--times", "1"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let random = "  T1.2 (INSERT INTO t VALUES (abs(random()))), unrepeatable-function: ";
    assert!(ran.out.contains(random), "{}", ran.out);
    let json = ["replay", &case, "--times", "1", "--format", "json"];
    let told = run(&json);
    let first = told.out.lines().next().unwrap_or_default();
    let first: serde_json::Value = serde_json::from_str(first).expect("a line of JSON");
    let page = include_str!("../../docs/reproducer-format.md");
    assert_documented_in(&told, page, "## A replay in lines of JSON");
    assert_described_as("replay", &told.out);
    assert_eq!(
        first["oracles"]["txcheck"]["reason"],
        "unrepeatable-function"
    );
    let named = first["obstacles"][0].as_str().unwrap_or_default();
    assert!(named.starts_with("T1.2 (INSERT"), "{first}");
}

#[test]
fn what_a_case_was_answered_is_written_without_our_column() {
    const TEST: &str = "what_a_case_was_answered_is_written_without_our_column";
    let Some(url) = servers::url(TEST, Needs::MariaDb) else {
        return;
    };
    let folder = folder();
    let answered = shown(&folder.path().join("answered.sql"));
    let text = "--! format = 1\n--! engine = \"mariadb\"\n--! isolation = \"REPEATABLE READ\"\n\
                /* init */ CREATE TABLE t (a INT, b INT);\n/* init */ INSERT INTO t VALUES (1, 2);\n\
                /* s1 */ BEGIN;\n/* s1 */ SELECT * FROM t;\n/* s2 */ UPDATE t SET a = 3;\n\
                /* s1 */ SELECT * FROM t;\n/* s1 */ COMMIT;\n/* end */ SELECT * FROM t;\n";
    let case = write(&folder, "case.sql", text);
    let out = ["-o", &answered, "--allow-shared-server"];
    let ran = run(&[&["replay", &case, &url][..], &out].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    // An oracle of versions has judged it, and needs the column for that.
    let judged = ran
        .out
        .lines()
        .any(|line| line.contains("txcheck") && line.contains("agree"));
    assert!(judged, "{}", ran.out);
    let written = std::fs::read_to_string(&answered).expect("it is written");
    assert!(!written.contains("rashomon_row"), "{written}");
    let ends: Vec<&str> = written
        .lines()
        .filter(|line| line.starts_with("/* end */"))
        .collect();
    assert_eq!(
        ends,
        ["/* end */ SELECT * FROM t;                  -- @got (3, 2)"]
    );
}

#[test]
fn a_hand_written_case_is_written_with_its_answers_and_exported() {
    let folder = folder();
    let text = "--! format = 1\n--! engine = \"sqlite\"\n--! isolation = \"SERIALIZABLE\"\n\
                --! # what I wonder about\n\
                /* init */ CREATE TABLE t (a INT);\n/* init */ INSERT INTO t VALUES (1);\n\
                /* s1 */ BEGIN;\n/* s1 */ UPDATE t SET a = 2; -- mine\n/* s2 */ SELECT * FROM t; -- @expect (2)\n\
                /* s1 */ COMMIT;\n";
    let case = write(&folder, "case.sql", text);
    let answered = shown(&folder.path().join("answered.sql"));
    let replay = |more: &[&str]| {
        let plain = ["replay", &case, "--times", "2", "-o", &answered];
        run(&[&plain[..], more].concat())
    };
    let ran = replay(&[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let written = std::fs::read_to_string(&answered).expect("it is written");
    for part in [
        "--! # what I wonder about\n/* init */",
        "UPDATE t SET a = 2;           -- mine  @got affected 1\n",
        "SELECT * FROM t;              -- @got (1)  @expect (2)\n",
        "/* end */ SELECT * FROM t;                  -- @got (2)\n",
    ] {
        assert!(written.contains(part), "{part}{written}");
    }
    let ran = run(&["export", &answered, "--to", "issue"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    // What is there is kept, before anything runs; several cases do not fit into one file.
    let ran = replay(&[]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("--force"), "{}", ran.err);
    assert!(ran.out.is_empty(), "{}", ran.out);
    assert_eq!(replay(&["--force"]).code, Some(1));
    let both = shown(folder.path());
    let ran = run(&[
        "replay",
        &both,
        "-o",
        &shown(&folder.path().join("new.sql")),
    ]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("name one file"), "{}", ran.err);
}

/// The end of the run cannot read such a table: what was answered before is held against the file all the same.
#[test]
fn a_statement_that_takes_a_table_away_is_named_and_answers_are_held_against_the_file() {
    const TEST: &str = "a_statement_that_takes_a_table_away";
    let sqlite = ("sqlite", "sqlite:".to_owned());
    let of = |engine, needs| Some((engine, servers::url(TEST, needs)?));
    let servers = [
        Some(sqlite),
        of("mariadb", Needs::MariaDb),
        of("mysql", Needs::MySql),
        of("postgres", Needs::Postgres),
    ];
    let folder = folder();
    for (engine, url) in servers.into_iter().flatten() {
        for taken in ["DROP TABLE t", "ALTER TABLE t RENAME TO u"] {
            for (expected, code) in [(2, 0), (1, 1)] {
                let text = format!(
                    "--! format = 1\n--! engine = \"{engine}\"\n--! isolation = \"SERIALIZABLE\"\n\
                     /* init */ CREATE TABLE t (a INT PRIMARY KEY, b INT);\n/* init */ INSERT INTO t VALUES (1, 1);\n\
                     /* s1 */ UPDATE t SET b = 2;\n/* s2 */ SELECT b FROM t; -- @expect ({expected})\n/* s1 */ {taken};\n"
                );
                let case = write(&folder, "taken.sql", &text);
                let json = ["--times", "1", "--format", "json", "--allow-shared-server"];
                let ran = run(&[&["replay", &case, &url][..], &json].concat());
                assert_eq!(
                    ran.code,
                    Some(code),
                    "{engine}: {taken}: {}{}",
                    ran.out,
                    ran.err
                );
                assert_described_as("replay", &ran.out);
                let first = ran.out.lines().next().unwrap_or_default();
                let first: serde_json::Value = serde_json::from_str(first).expect("JSON");
                assert_eq!(first["could_not_run"], serde_json::Value::Null, "{first}");
                let named = first["obstacles"][0].as_str().unwrap_or_default();
                assert!(
                    named.starts_with(&format!("T3.1 ({taken})")),
                    "{engine}: {first}"
                );
                let is_refused = first["oracles"]["txcheck"]["reason"] == "opaque-statement";
                assert!(
                    is_refused || first["oracles"]["txcheck"]["reason"] == "table-not-read",
                    "{engine}: {first}"
                );
            }
        }
    }
}

#[test]
fn a_statement_that_commits_its_transaction_is_named() {
    const TEST: &str = "a_statement_that_commits_its_transaction_is_named";
    let folder = folder();
    for (needs, engine) in [(Needs::MySql, "mysql"), (Needs::MariaDb, "mariadb")] {
        let Some(url) = servers::url(TEST, needs) else {
            continue;
        };
        let text = format!(
            "--! format = 1\n--! engine = \"{engine}\"\n--! isolation = \"REPEATABLE READ\"\n\
             /* init */ CREATE TABLE t (a INT PRIMARY KEY);\n/* init */ INSERT INTO t VALUES (1);\n\
             /* s1 */ BEGIN;\n/* s1 */ UPDATE t SET a = 2;\n/* s1 */ ANALYZE TABLE t;\n/* s1 */ COMMIT;\n"
        );
        let case = write(&folder, "commits.sql", &text);
        let json = ["--times", "1", "--format", "json", "--allow-shared-server"];
        let ran = run(&[&["replay", &case, &url][..], &json].concat());
        let first = ran.out.lines().next().unwrap_or_default();
        let first: serde_json::Value = serde_json::from_str(first).expect("JSON");
        assert_eq!(first["verdict"], "undecided", "{first}");
        let reason = &first["oracles"]["isolation"]["reason"];
        assert_eq!(reason, "opaque-statement", "{engine}: {first}");
        let named = first["obstacles"][0].as_str().unwrap_or_default();
        let expected = "T1.3 (ANALYZE TABLE t), opaque-statement: ";
        assert!(named.starts_with(expected), "{engine}: {first}");
    }
}
