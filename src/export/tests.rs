//! Every format over every case that we keep.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;
use crate::reproducer::{load, read};

/// The case files below a folder of the repository.
fn cases(folder: &str) -> Vec<(PathBuf, CaseFile)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let folders = std::fs::read_dir(root).unwrap();
    let folders = folders.map(|folder| folder.unwrap().path());
    let files = folders
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = files.map(|file| file.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|ending| ending == "sql"));
    let mut cases: Vec<_> = paths
        .map(|path| (path.clone(), load(&path).unwrap()))
        .collect();
    cases.sort_by(|one, other| one.0.cmp(&other.0));
    cases
}

fn every_case() -> Vec<(PathBuf, CaseFile)> {
    let mut every = cases("corpus/cases");
    every.extend(cases("reproducers"));
    assert!(every.len() >= 50, "{}", every.len());
    every
}

/// A text without blanks and the characters that formats escape, so that statements can be found in it.
fn bare(text: &str) -> String {
    let kept = |c: &char| !c.is_whitespace() && !matches!(c, '\\' | '"' | '`' | '|');
    text.chars().filter(kept).collect()
}

#[test]
fn every_format_has_its_own_names() {
    let mut names = BTreeSet::new();
    let mut extensions = BTreeSet::new();
    for format in FORMATS {
        assert!(names.insert(format.name()), "{}", format.name());
        assert!(extensions.insert(format.extension()), "{}", format.name());
        assert!(!format.about().is_empty(), "{}", format.name());
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        assert!(format.extension().chars().all(plain), "{}", format.name());
        assert!(format_named(format.name()).is_some_and(|found| found.name() == format.name()));
    }
}

/// Formats that tell what came of the statements, of a few kinds of cases: their own files test them.
const NO_STATEMENTS: &[&str] = &["dot", "edn"];

#[test]
fn an_export_holds_every_statement_or_says_why_there_is_none() {
    let every = every_case();
    for format in FORMATS {
        let mut applied = 0;
        for (path, file) in &every {
            let place = format!("{} {}", format.name(), path.display());
            let exported = match format.write(file) {
                Ok(exported) => exported,
                Err(reason) => {
                    assert!(reason.to_string().len() > 20, "{place}: {reason}");
                    continue;
                }
            };
            applied += 1;
            assert_eq!(Ok(&exported), format.write(file).as_ref(), "{place}");
            assert!(exported.text.ends_with('\n'), "{place}");
            if NO_STATEMENTS.contains(&format.name()) {
                continue;
            }
            let text = bare(&exported.text);
            for line in &file.lines {
                assert!(text.contains(&bare(&line.sql)), "{place}: {}", line.sql);
            }
        }
        let least = match format.name() {
            name if NO_STATEMENTS.contains(&name) => 0,
            // The corpus has few cases of PostgreSQL.
            "pgspec" => 3,
            "tidb-go" => 15,
            _ => 20,
        };
        assert!(applied >= least, "{}: {applied}", format.name());
    }
}

/// What a shell does with a text is its own: the script behind it must not end before its last line.
#[test]
fn the_script_inside_a_shell_script_ends_where_it_should() {
    let mut written = 0;
    for (path, file) in cases("reproducers") {
        let Ok(exported) = docker::Docker.write(&file) else {
            assert!(is_of(&file, "tidb"), "{}", path.display());
            continue;
        };
        written += 1;
        let text = exported.text;
        let python = python::Python.write(&file).unwrap().text;
        let (before, rest) = text.split_once(&python).expect("the script");
        assert!(
            before.ends_with("<<'END_OF_THE_SCRIPT'\n"),
            "{}",
            path.display()
        );
        assert_eq!(rest, "END_OF_THE_SCRIPT\n", "{}", path.display());
        assert!(!python.contains("END_OF_THE_SCRIPT"), "{}", path.display());
    }
    assert!(written > 0);
}

fn is_of(file: &CaseFile, engine: &str) -> bool {
    file.header.engine.as_deref() == Some(engine)
}

#[test]
fn every_find_of_ours_can_be_exported_in_every_format_of_its_product() {
    let finds = cases("reproducers");
    assert!(!finds.is_empty());
    for (path, file) in &finds {
        // None of them is about a cycle, or of keys and values alone.
        let names = FORMATS.iter().map(|format| format.name());
        let mut of_product: Vec<&str> =
            names.filter(|name| !NO_STATEMENTS.contains(name)).collect();
        let of_others: &[&str] = match file.header.engine.as_deref() {
            // mysqltest is not TiDB's, and its image has no client.
            Some("tidb") => &["mtr", "docker", "pgspec"],
            Some("postgres") => &["mtr", "tidb-go"],
            _ => &["pgspec", "tidb-go"],
        };
        of_product.retain(|name| !of_others.contains(name));
        if slt::Slt.write(file).is_err() {
            of_product.retain(|name| *name != "slt");
        }
        assert_eq!(applicable(file), of_product, "{}", path.display());
    }
}

#[test]
fn what_others_read_has_no_word_of_our_internals() {
    let own = [
        "rashomon",
        "oracle",
        "txcheck",
        "troc",
        "signature",
        "T1.",
        "T2.",
        "@expect",
        "@got",
    ];
    for (path, file) in every_case() {
        for format in FORMATS.iter().filter(|format| format.name() != CASE_FILE) {
            let Ok(exported) = format.write(&file) else {
                continue;
            };
            for word in own {
                let place = path.display();
                let found = exported.text.contains(word);
                assert!(
                    !found,
                    "{} {place}: {word}\n{}",
                    format.name(),
                    exported.text
                );
            }
        }
    }
}

const CASE: &str = "--! format = 1\n--! engine = \"mariadb\"\n--! isolation = \"READ COMMITTED\"\n\
                    /* init */ CREATE TABLE t (a INT, b DECIMAL(5,2), c TEXT);\n\
                    /* s1 */ SELECT a, b, c FROM t; -- @got empty  @expect (-1, 1.50, 'it''s') (NULL, x'0a', 007)\n";

fn refusal(text: &str) -> String {
    let file = read(text, "x.sql").unwrap();
    python::Python.write(&file).unwrap_err().to_string()
}

#[test]
fn values_keep_their_spelling_in_python() {
    let file = read(CASE, "x.sql").unwrap();
    let script = python::Python.write(&file).unwrap().text;
    let step = "rows((-1, decimal.Decimal(\"1.50\"), \"it's\"), (None, b\"\\x0a\", decimal.Decimal(\"007\")))";
    assert!(script.contains(step), "{script}");
}

#[test]
fn a_case_that_cannot_be_told_is_refused_with_the_remedy() {
    let engine = "--! engine = \"mariadb\"\n";
    for (text, remedy) in [
        (CASE.replace(engine, ""), "--! engine = "),
        (
            CASE.replace("mariadb", "simulated"),
            "mariadb, mysql, postgres, sqlite, tidb",
        ),
        (CASE.replace("@expect", "@remark"), "@expect"),
        (
            CASE.replace("@expect", "@remark").replace("@got", "@was"),
            "@expect",
        ),
        (
            CASE.replace("/* init", "--! pace = \"free\"\n/* init"),
            "free pace",
        ),
        (
            CASE.replace("/* init", "--! kind = \"index-disagrees\"\n/* init")
                .replace("@expect", "@remark"),
            "rashomon replay",
        ),
    ] {
        let reason = refusal(&text);
        assert!(reason.contains(remedy), "{reason}");
    }
}

#[test]
fn under_nowait_a_rejection_is_right_and_nothing_else_where_a_row_is_locked() {
    let free = CASE.replace("FROM t;", "FROM t FOR UPDATE NOWAIT;");
    let locked = free.replace(
        "/* s1 */",
        "/* s2 */ BEGIN;\n/* s2 */ DELETE FROM t; -- @got affected 2\n/* s1 */",
    );
    for (text, answers) in [(free, 2), (locked, 1)] {
        let file = read(&text, "x.sql").unwrap();
        let scenario = scenario::Scenario::of(&file).unwrap();
        let right = &scenario.steps.last().unwrap().right;
        assert_eq!(right.len(), answers, "{right:?}");
        assert_eq!(right.last().unwrap().to_string(), "error lock-timeout");
    }
}

#[test]
fn a_case_that_comes_seldom_is_run_until_it_shows_with_99_percent() {
    let header = "--! reproduced = \"1/2\"\n/* init";
    let file = read(&CASE.replace("/* init", header), "x.sql").unwrap();
    assert_eq!(scenario::Scenario::of(&file).unwrap().runs(), 7);
}

const POSTGRES: &str = "--! format = 1\n--! engine = \"postgres\"\n--! isolation = \"READ COMMITTED\"\n\
                        /* init */ CREATE TABLE t (a INT PRIMARY KEY, b INT);\n\
                        /* init */ INSERT INTO t VALUES (1, 10);\n\
                        /* s1 */ BEGIN;\n\
                        /* s1 */ UPDATE t SET b = 11 WHERE a = 1; -- @got affected 1\n\
                        /* s2 */ UPDATE t SET b = b + 1 WHERE a = 1; -- @waits  @got affected 1\n\
                        /* s2 */ SELECT b FROM t; -- @got (12)  @expect (13)\n\
                        /* s1 */ COMMIT; -- @resumes s2\n\
                        /* end */ SELECT * FROM t; -- @got (1, 12)\n";

#[test]
fn a_spec_starts_a_step_of_a_client_that_waits_when_the_client_goes_on() {
    let file = read(POSTGRES, "x.sql").unwrap();
    let spec = pgspec::PgSpec.write(&file).unwrap().text;
    assert!(spec.ends_with(" s1_1 s1_2 s2_3 s1_5 s2_4 end1\n"), "{spec}");
    for line in [
        "# (12); expected: (13)\nstep s2_4 { SELECT b FROM t; }\n",
        "    CREATE TABLE t (a INT PRIMARY KEY, b INT);\n",
        "    DROP TABLE IF EXISTS \"t\";\n",
        "    SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;\n",
    ] {
        assert!(spec.contains(line), "{spec}");
    }
}

#[test]
fn what_a_test_made_goes_views_first_and_a_table_that_is_referred_to_last() {
    let more = "/* init */ CREATE TABLE u (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES t (a));\n\
                /* init */ CREATE VIEW v AS SELECT a FROM u;\n\
                /* init */ CREATE OR REPLACE VIEW w AS SELECT a FROM v;\n\
                /* s1 */ BEGIN";
    let text = POSTGRES.replacen("/* s1 */ BEGIN", more, 1);
    let spec = pgspec::PgSpec.write(&read(&text, "x.sql").unwrap());
    let spec = spec.unwrap().text;
    let gone: Vec<&str> = spec.lines().filter(|l| l.contains("DROP")).collect();
    let due = [
        "VIEW IF EXISTS \"w\"",
        "VIEW IF EXISTS \"v\"",
        "TABLE IF EXISTS \"u\"",
        "TABLE IF EXISTS \"t\"",
    ];
    assert_eq!(gone, due.map(|what| format!("    DROP {what};")), "{spec}");
    let text = text.replace("postgres", "mysql");
    let test = mtr::Mtr.write(&read(&text, "x.sql").unwrap()).unwrap();
    let last = "DROP VIEW `w`, `v`;\nDROP TABLE `u`, `t`;\n";
    assert!(test.text.contains(last), "{}", test.text);
}

#[test]
fn a_spec_is_of_postgresql_and_holds_no_brace() {
    let refusal = |text: &str| {
        let file = read(text, "x.sql").unwrap();
        pgspec::PgSpec.write(&file).unwrap_err().to_string()
    };
    let brace = POSTGRES.replace("SELECT b FROM t", "SELECT '}' FROM t");
    assert!(refusal(&brace).contains("SELECT '}' FROM t"));
    assert!(refusal(CASE).contains("not of MariaDB"));
}

#[test]
fn a_report_for_postgresql_is_pasted_into_psql() {
    let file = read(POSTGRES, "x.sql").unwrap();
    let report = issue::Issue.write(&file).unwrap().text;
    for part in [
        "Open 2 `psql` clients",
        "CREATE DATABASE bug_to_repeat;\n\\c bug_to_repeat\n",
        "Prepare client 2:\n\n```sql\n\\c bug_to_repeat\n",
        "sees only data committed before the query began",
    ] {
        assert!(report.contains(part), "{report}");
    }
}

const LOCKS: &str = "--! format = 1\n--! engine = \"mariadb\"\n--! isolation = \"SERIALIZABLE\"\n\
                     --! kind = \"unkept-row\"\n\
                     --! # T2.1 (update) at SERIALIZABLE: it should have waited for a row that was locked: of t\n\
                     /* init */ CREATE TABLE t (a INT PRIMARY KEY, b INT);\n\
                     /* s1 */ BEGIN;\n\
                     /* s1 */ SELECT a FROM t; -- @got (1)\n\
                     /* s2 */ UPDATE t SET b = 3; -- @got affected 1\n\
                     /* s1 */ SELECT b FROM t; -- @got (3)\n\
                     /* s1 */ COMMIT;\n";

#[test]
fn a_statement_that_should_have_waited_is_wrong_alone_in_every_format() {
    let file = read(LOCKS, "x.sql").unwrap();
    let report = issue::Issue.write(&file).unwrap().text;
    for part in [
        "# MariaDB: UPDATE does not wait for a lock at SERIALIZABLE\n",
        "In step 3 the UPDATE does not wait for a lock: a locked row that can be changed.\n",
        "UPDATE t SET b = 3;\n-- 1 row changed, without a wait\n",
        "UPDATE t SET b = 3;\n-- it waits for a lock\n",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let script = python::Python.write(&file).unwrap().text;
    let step = "(2, \"UPDATE t SET b = 3\", changed(1), [Waits(True)])";
    assert!(script.contains(step), "{script}");
    // The second read comes before the UPDATE on an engine that is right: it is not compared.
    let test = mtr::Mtr.write(&file).unwrap();
    let (_, result) = test.beside.unwrap();
    assert!(result.contains("SELECT a FROM t;\na\n1\n"), "{result}");
    assert!(!result.contains("b\n3"), "{result}");
    assert!(!test.text.contains("p.command = 'Sleep'"), "{}", test.text);
}

#[test]
fn a_statement_without_an_answer_is_named() {
    let kind = "--! kind = \"hang\"\n\
                --! # hang at T2.1 (update): no answer within 20 s to \"UPDATE t\"\n";
    let (head, lines) = LOCKS.split_once("--! kind").unwrap();
    let (_, lines) = lines.split_once("of t\n").unwrap();
    let file = read(&format!("{head}{kind}{lines}"), "x.sql").unwrap();
    let report = issue::Issue.write(&file).unwrap().text;
    for part in [
        "# MariaDB: UPDATE is never answered at SERIALIZABLE\n",
        "In step 3 the UPDATE is never answered, and waits for no lock.\n",
        "UPDATE t SET b = 3;\n-- never answered\n",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[test]
fn an_internal_error_is_wrong_alone_and_the_report_has_its_message() {
    let kind = "--! kind = \"internal-error\"\n\
                --! # internal-error at T1.1 (select): error 8133: data inconsistency in table: t\n/* init";
    let text = CASE.replace("mariadb", "tidb").replacen("/* init", kind, 1);
    let (text, _) = text.split_once("@got").unwrap();
    let file = read(&format!("{text}@error internal\n"), "x.sql").unwrap();
    let report = issue::Issue.write(&file).unwrap().text;
    for part in [
        "The SELECT is rejected with error 8133 (internal error).\n",
        "SELECT a, b, c FROM t;\n-- no error\n",
        "SELECT a, b, c FROM t;\n-- error 8133: data inconsistency in table: t\n",
    ] {
        assert!(report.contains(part), "{report}");
    }
}

#[test]
fn a_count_in_place_of_rows_is_not_held_against_a_sentence_about_the_count() {
    let issue = |text: &str| {
        let file = read(text, "x.sql").unwrap();
        format_named("issue").unwrap().write(&file).unwrap().text
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("reproducers/mariadb/wrong-error-5b68972e.sql");
    let text = std::fs::read_to_string(path).unwrap();
    let sentence = "returns a count of the number of deleted rows";
    let of_rows = issue(&text);
    assert!(!of_rows.contains(sentence), "{of_rows}");
    assert!(of_rows.contains("expected: an empty result"), "{of_rows}");
    let count = text
        .replace(" RETURNING t0.pkey", "")
        .replace("@expect empty", "@expect affected 1");
    assert!(issue(&count).contains(sentence));
}

/// The COMMIT lets the session write again, which it should be able to without.
#[test]
fn an_end_that_would_put_the_bug_right_is_not_sent_behind_a_rejection() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus/cases/innodb/unfiled-read-only-outlives-abort-serializable.sql");
    let text = std::fs::read_to_string(path).unwrap();
    let exported = |format: &dyn CaseFormat, text: &str| {
        let file = read(text, "x.sql").unwrap();
        format.write(&file).unwrap().text
    };
    let ends = |text: &str| text.matches("COMMIT").count();

    let script = exported(&python::Python, &text);
    assert_eq!(ends(&script), 2, "{script}");
    assert!(script.contains("1467), [], True)"), "{script}");
    let report = exported(&issue::Issue, &text);
    assert!(report.contains("start again"), "{report}");
    let test = exported(&mtr::Mtr, &text);
    assert_eq!(ends(&test), 2, "{test}");

    // Where nothing is wrong behind it, it ends the transaction of a client that another engine has go on.
    let right = text.replace("@error read-only  @expect affected 1", "@got affected 1");
    let test = exported(&mtr::Mtr, &right);
    assert_eq!(ends(&test), 3, "{test}");
    // So it does where the client begins another transaction in between.
    let begun = text.replace("/* s1 T3.1 */", "/* s1 */ BEGIN;\n/* s1 */");
    let script = exported(&python::Python, &begun);
    assert_eq!(ends(&script), 3, "{script}");
}

/// Whoever pastes them has a client that waits, and nothing to paste there before it goes on.
#[test]
fn a_report_has_what_is_behind_a_statement_that_waits_where_the_client_goes_on() {
    let case = "--! format = 1\n--! engine = \"mariadb\"\n--! isolation = \"READ COMMITTED\"\n\
                /* init */ CREATE TABLE t (a INT);\n\
                /* s1 */ BEGIN;\n/* s1 */ UPDATE t SET a = 1;\n\
                /* s2 */ UPDATE t SET a = 2; -- @waits  @got affected 1  @expect affected 0\n\
                /* s2 */ SELECT 3;\n/* s1 */ SELECT 4;\n/* s1 */ COMMIT; -- @resumes s2\n/* s1 */ SELECT 5;\n";
    let statements = |case: &str| {
        let file = read(case, "x.sql").unwrap();
        let report = issue::Issue.write(&file).unwrap().text;
        let (steps, _) = report.split_once("Side by side").unwrap();
        let (_, steps) = steps.split_once("Then paste").unwrap();
        let places = ["a = 2", "SELECT 4", "COMMIT", "SELECT 3", "SELECT 5"];
        let mut places: Vec<_> = places.map(|sql| (steps.find(sql), sql)).into();
        places.sort();
        places.into_iter().map(|(_, sql)| sql).collect::<Vec<_>>()
    };
    let typed = ["a = 2", "SELECT 4", "COMMIT", "SELECT 3", "SELECT 5"];
    assert_eq!(statements(case), typed);
    // Where it goes on is not told.
    let as_written = ["a = 2", "SELECT 3", "SELECT 4", "COMMIT", "SELECT 5"];
    assert_eq!(statements(&case.replace("@resumes s2", "")), as_written);
}
