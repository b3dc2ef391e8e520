//! Replaying case files: the published cases on live servers, expectations on SQLite.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rashomon::engine::{self, OpenOptions, Server};
use rashomon::execute::Driver;
use rashomon::model::{FindingKind, UndecidedReason, Verdict};
use rashomon::oracle::ORACLES;
use rashomon::replay::{self, Confirmation, ReplayOptions, ReplayReport};
use rashomon::reproducer::{self, CaseFile, Registry, safety};

use crate::commands::assert_described_as;
use crate::program;
use crate::servers::{self, Needs};

fn open(url: &str) -> Box<dyn Server> {
    let options = OpenOptions {
        allow_shared_server: true,
        ..OpenOptions::default()
    };
    engine::open(url, &options).expect("the test server answers")
}

/// One replay, or one confirmation, of each file.
fn with_driver<T>(server: &dyn Server, name: &str, work: impl FnOnce(&mut Driver<'_>) -> T) -> T {
    let database = format!("rashomon_it_replay_{name}_{}", std::process::id());
    let mut driver = Driver::open(server, &database).expect("a database of our own");
    let result = work(&mut driver);
    driver.close().expect("the database goes");
    result
}

fn replayed(
    server: &dyn Server,
    driver: &mut Driver<'_>,
    file: &CaseFile,
    name: &str,
    times: u32,
) -> ReplayReport {
    let registry = Registry::builtin().expect("the registry reads");
    let options = ReplayOptions {
        oracles: ORACLES,
        registry: &registry,
        times,
        stop_at_first_hit: false,
    };
    replay::replay(file, name, driver, server.identity(), &options).expect("an answer")
}

/// Every published case, by path.
fn published() -> Vec<(PathBuf, CaseFile)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/cases");
    let mut paths = Vec::new();
    for folder in std::fs::read_dir(root).expect("the corpus is there") {
        let folder = folder.expect("a folder").path();
        for file in std::fs::read_dir(folder).expect("a folder of cases") {
            paths.push(file.expect("a file").path());
        }
    }
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let file = reproducer::load(&path).unwrap_or_else(|error| panic!("{error}"));
            (path, file)
        })
        .collect()
}

/// What the maintainers said: the first word of the header's comments.
fn class(file: &CaseFile) -> &str {
    let comment = file.header.comments.last.first().expect("a class");
    comment.split(';').next().unwrap_or_default()
}

#[test]
fn the_published_cases_are_canonical_and_safe() {
    let all = published();
    assert!(all.len() >= 46, "{} files", all.len());
    for (path, file) in all {
        let text = std::fs::read_to_string(&path).expect("a case");
        assert_eq!(reproducer::write(&file), text, "{}", path.display());
        assert_eq!(safety::check(&file), Ok(()), "{}", path.display());
        let classes = ["BUG", "DESIGN", "DUP", "FP", "OPEN"];
        assert!(classes.contains(&class(&file)), "{}", path.display());
    }
}

/// No published case comes to a violation, and one that a person types without any note comes to
/// none either where the engine is right.
fn published_cases_are_judged_rightly(server: &dyn Server, name: &str) -> Vec<(String, Verdict)> {
    with_driver(server, name, |driver| {
        let mut verdicts = Vec::new();
        for (path, file) in published() {
            let name = path
                .file_stem()
                .map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
            let report = replayed(server, driver, &file, &name, 1);
            let bad = matches!(
                report.verdict,
                Verdict::Violation(_) | Verdict::Flaky { .. }
            );
            assert!(!bad, "{name}: {:#?}", report.finding);
            assert_eq!(report.could_not_run, None, "{name}");

            let mut typed = file.clone();
            typed.header = reproducer::Header::new(file.header.isolation.clone());
            typed.lines.iter_mut().for_each(|line| line.notes.clear());
            let plain = replayed(server, driver, &typed, &name, 1);
            let bad = matches!(plain.verdict, Verdict::Violation(_) | Verdict::Flaky { .. });
            let right = ["DESIGN", "DUP", "FP"].contains(&class(&file));
            assert!(!(bad && right), "{name}, as typed: {:#?}", plain.finding);
            verdicts.push((name, report.verdict));
        }
        verdicts
    })
}

fn known(verdicts: &[(String, Verdict)], name: &str) -> Option<String> {
    let (_, verdict) = verdicts.iter().find(|(n, _)| n == name)?;
    match verdict {
        Verdict::Known(id) => Some(id.clone()),
        Verdict::Agree | Verdict::Undecided(_) | Verdict::Flaky { .. } | Verdict::Violation(_) => {
            None
        }
    }
}

#[test]
fn published_cases_give_no_violation_on_mariadb() {
    let test = "published_cases_give_no_violation_on_mariadb";
    let Some(url) = servers::url(test, Needs::MariaDb) else {
        return;
    };
    let server = open(&url);
    let verdicts = published_cases_are_judged_rightly(&*server, "mariadb");
    let snapshot_isolation = server.identity().variables.get("innodb_snapshot_isolation");
    if snapshot_isolation.is_none_or(|value| value != "ON") {
        for (name, id) in [
            ("mdev-26642-repeatable-read", "MDEV-26642"),
            ("mdev-26643-read-committed", "MDEV-26643"),
            ("mysql-105042-read-committed", "MySQL#105042"),
            ("mdev-32898-repeatable-read", "MDEV-32898"),
        ] {
            assert_eq!(known(&verdicts, name).as_deref(), Some(id), "{name}");
        }
    }
}

#[test]
fn published_cases_give_no_violation_on_mysql() {
    let test = "published_cases_give_no_violation_on_mysql";
    let Some(url) = servers::url(test, Needs::MySql) else {
        return;
    };
    let server = open(&url);
    let verdicts = published_cases_are_judged_rightly(&*server, "mysql");
    for (name, id) in [
        ("mysql-104833-read-committed", "MySQL#104833"),
        ("mysql-119577-repeatable-read", "MySQL#119577"),
    ] {
        assert_eq!(known(&verdicts, name).as_deref(), Some(id), "{name}");
    }
}

/// A case that came to a violation once though the engine is right: an upsert that waits for the
/// unique index shows its row under another primary key, and takes that row back.
const HALF_WRITTEN_UPSERT: &str = "\
    --! format = 1\n\
    --! isolation = \"SERIALIZABLE\"\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL, c0 VARCHAR(16)) ENGINE=InnoDB;\n\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL \
               PRIMARY KEY) ENGINE=InnoDB;\n\
    /* init */ INSERT INTO t1 (pkey, c0) VALUES (7, 'ab'), (8, 'ab');\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (7, 14, 26);\n\
    /* s1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;\n\
    /* s1 */ SELECT t0.vkey FROM t0 JOIN t1 ON t0.pkey = t1.pkey LOCK IN SHARE MODE;\n\
    /* s2 */ INSERT INTO t0 (pkey, vkey, c0) VALUES (9, 1006, 2);\n\
    /* s2 */ SELECT LAG(t0.c0) OVER (ORDER BY t0.pkey) FROM t0;\n\
    /* s3 */ INSERT INTO t0 (pkey, vkey) VALUES (7, 1000) ON DUPLICATE KEY UPDATE c0 = 1, \
             vkey = 1000;\n\
    /* s1 */ COMMIT;\n";

#[test]
fn a_row_that_an_observer_sees_half_written_is_no_finding() {
    let test = "a_row_that_an_observer_sees_half_written_is_no_finding";
    let file = reproducer::read(HALF_WRITTEN_UPSERT, "test.sql").expect("a case");
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = servers::url(test, needs) else {
            continue;
        };
        let server = open(&url);
        let report = with_driver(&*server, "half", |driver| {
            replayed(&*server, driver, &file, "test.sql", 3)
        });
        assert_eq!(report.verdict, Verdict::Agree, "{:#?}", report.finding);
    }
}

/// Replays this body on SQLite, behind a header that asks for SERIALIZABLE.
fn on_sqlite(header: &str, body: &str) -> ReplayReport {
    let server = open("sqlite:");
    let level = if header.contains("isolation") {
        ""
    } else {
        "--! isolation = \"SERIALIZABLE\"\n"
    };
    let text = format!("--! format = 1\n{level}{header}{body}");
    let file = reproducer::read(&text, "test.sql").expect("a case");
    with_driver(&*server, "sqlite", |driver| {
        replayed(&*server, driver, &file, "test.sql", 2)
    })
}

const BODY: &str = "\
    /* init */ CREATE TABLE t (pkey INTEGER PRIMARY KEY, a TEXT);\n\
    /* init */ INSERT INTO t VALUES (1, 'x');\n\
    /* s1 */ BEGIN;\n\
    /* s2 */ INSERT INTO t VALUES (2, 'y'); -- @expect affected 1\n\
    /* s1 */ SELECT * FROM t; -- @expect (1, 'x') (2, 'y')\n\
    /* s1 */ INSERT INTO t VALUES (1, 'z'); -- @expect error duplicate\n\
    /* s1 */ INSERT INTO t VALUES (3, 'z');\n\
    /* end */ SELECT a FROM t; -- @expect ('y') ('x')\n";

#[test]
fn met_expectations_agree_and_open_transactions_are_rolled_back() {
    let report = on_sqlite("", BODY);
    assert_eq!(report.verdict, Verdict::Agree, "{:#?}", report.finding);
    assert_eq!((report.hits, report.runs), (0, 2));
}

#[test]
fn an_unexpected_answer_is_a_violation_unless_it_is_the_known_one() {
    let wrong = BODY.replace("('y') ('x')", "('y')");
    let report = on_sqlite("", &wrong);
    let Verdict::Violation(finding) = &report.verdict else {
        panic!("{:?}", report.verdict);
    };
    assert_eq!(finding.signature.kind, FindingKind::UnexpectedOutcome);
    assert_eq!((report.hits, report.runs), (2, 2));
    assert_eq!(
        finding.headline,
        "line 10, SELECT a FROM t: expected ('y'), got ('x') ('y')"
    );

    let known = "--! known = \"X-1\"\n";
    assert_eq!(on_sqlite(known, &wrong).known_id(), Some("X-1"));
    let observed = wrong.replace("@expect ('y')", "@got ('y') ('x')  @expect ('y')");
    assert_eq!(on_sqlite(known, &observed).known_id(), Some("X-1"));
    let other = wrong.replace("@expect ('y')", "@got ('z')  @expect ('y')");
    assert_eq!(on_sqlite(known, &other).verdict.word(), "violation");
}

#[test]
fn a_case_that_could_not_run_is_not_reported_as_not_reproduced() {
    let level = "--! isolation = \"READ COMMITTED\"\n";
    let report = on_sqlite(level, "/* s1 */ SELECT 1;\n");
    assert_eq!(report.verdict.word(), "undecided");
    let reason = report.could_not_run.expect("a reason");
    assert!(reason.contains("no isolation level"), "{reason}");

    let setup = "/* init */ CREATE TABEL t (a INT);\n/* s1 */ SELECT 1;\n";
    let report = on_sqlite("", setup);
    let reason = report.could_not_run.expect("a reason");
    assert!(reason.contains("set-up is rejected"), "{reason}");
}

#[test]
fn a_fix_is_confirmed_by_clean_runs_only() {
    let server = open("sqlite:");
    let registry = Registry::builtin().expect("the registry reads");
    let confirm = |body: &str, level: &str| {
        let text = format!(
            "--! format = 1\n--! isolation = \"{level}\"\n--! reproduced = \"8/10\"\n{body}"
        );
        let file = reproducer::read(&text, "test.sql").expect("a case");
        let options = ReplayOptions {
            oracles: ORACLES,
            registry: &registry,
            times: 1,
            stop_at_first_hit: true,
        };
        with_driver(&*server, "confirm", |driver| {
            replay::confirm_fixed(&file, "test.sql", driver, server.identity(), &options)
                .expect("an answer")
        })
    };
    let version = &server.identity().version_text;
    let (confirmation, line, _) = confirm(BODY, "SERIALIZABLE");
    assert_eq!(confirmation, Confirmation::Fixed);
    let expected = format!(
        "0/9 on {version}; recorded 8/10, a rate of at least 0.44 => fixed with 99 % confidence"
    );
    assert_eq!(line, expected);

    let (confirmation, line, report) =
        confirm(&BODY.replace("('y') ('x')", "('y')"), "SERIALIZABLE");
    assert_eq!((confirmation, report.runs), (Confirmation::StillThere, 1));
    assert!(
        line.contains("1/1 on") && line.contains("not fixed"),
        "{line}"
    );

    let (confirmation, line, _) = confirm(BODY, "READ COMMITTED");
    assert_eq!(confirmation, Confirmation::Inconclusive);
    assert!(line.starts_with("could not run"), "{line}");

    // The statement that was answered wrongly is now rejected: that is another defect, no fix.
    let rejected = "/* init */ CREATE TABLE t (a INTEGER PRIMARY KEY);\n\
                    /* s1 */ SELECT b FROM t; -- @got (1)\n";
    let (confirmation, line, report) = confirm(rejected, "SERIALIZABLE");
    assert_eq!(confirmation, Confirmation::Inconclusive, "{line}");
    assert_eq!(report.runs, 9);
    assert!(line.contains("not confirmed: line 5, T1.1"), "{line}");
    assert!(line.contains("no such column: b"), "{line}");
}

#[test]
fn a_rejection_that_the_file_does_not_mention_is_never_agreement() {
    let body = "/* init */ CREATE TABLE t (a INTEGER PRIMARY KEY);\n\
                /* init */ INSERT INTO t VALUES (1);\n\
                /* s1 */ INSERT INTO t VALUES (1);\n";
    let with = |note: &str| {
        let sessions = "/* s1 */ INSERT INTO t VALUES (1);";
        body.replace(sessions, &format!("{sessions} -- {note}"))
    };
    let report = on_sqlite("", body);
    let reason = UndecidedReason::UnexpectedRejection;
    assert_eq!(report.verdict, Verdict::Undecided(reason));
    let rejections: Vec<String> = report.rejections.iter().map(ToString::to_string).collect();
    assert_eq!(rejections.len(), 1, "{rejections:?}");
    let told =
        "line 5, T1.1 (INSERT INTO t VALUES (1)) was rejected: UNIQUE constraint failed: t.a";
    assert!(rejections[0].starts_with(told), "{rejections:?}");
    let remedy = "write `-- @expect error duplicate` behind the statement";
    assert!(rejections[0].contains(remedy), "{rejections:?}");

    for note in ["@expect error duplicate", "@error duplicate"] {
        assert_eq!(on_sqlite("", &with(note)).verdict, Verdict::Agree, "{note}");
    }
    let of_another_class = on_sqlite("", &with("@error missing"));
    assert_eq!(of_another_class.verdict.word(), "undecided");
    let answered = on_sqlite("", &with("@expect affected 1"));
    assert_eq!(answered.verdict.word(), "violation");
}

#[test]
fn an_unmet_expectation_is_undecided_at_and_behind_a_statement_that_the_engine_does_not_have() {
    let verdict = |first: &str, last: &str| {
        let body = format!(
            "/* init */ CREATE TABLE t (a INTEGER PRIMARY KEY);\n\
            /* init */ INSERT INTO t VALUES (1);\n\
            /* s1 */ {first};\n/* s1 */ SELECT a FROM t; -- @expect (2)\n/* s1 */ {last};\n"
        );
        on_sqlite("", &body).verdict
    };
    let lacking = "SELECT a FROM t FOR UPDATE";
    let reason = UndecidedReason::UnexpectedRejection;
    assert_eq!(verdict(lacking, "SELECT 1"), Verdict::Undecided(reason));
    let at = verdict(
        &format!("{lacking}; -- @expect (2)\n/* s1 */ SELECT 1"),
        "SELECT 1",
    );
    assert_eq!(at, Verdict::Undecided(reason));
    for (first, last) in [
        ("SELECT 1", "SELECT 1"),
        ("SELECT 1", lacking),
        // The file says that it was refused so: that is what is wrong.
        (
            &format!("{lacking}; -- @error syntax  @expect (1)\n/* s1 */ SELECT 1"),
            "SELECT 1",
        ),
        // The engine has this statement, and refuses it.
        ("INSERT INTO t VALUES (1)", "SELECT 1"),
    ] {
        assert_eq!(verdict(first, last).word(), "violation", "{first}; {last}");
    }
}

const HEADER: &str = "--! format = 1\n--! engine = \"sqlite\"\n--! isolation = \"SERIALIZABLE\"\n";

#[test]
fn an_unreadable_file_does_not_keep_the_others_of_its_folder_from_being_replayed() {
    let folder = program::folder();
    let path = program::shown(folder.path());
    program::write(&folder, "a.sql", &format!("{HEADER}/* s1 */ SELECT 1;\n"));
    let broken = program::write(&folder, "b.sql", &format!("{HEADER}/* s1 */ SELECT 1\n"));
    program::write(&folder, "c.sql", &format!("{HEADER}/* s1 */ SELECT 2;\n"));

    let ran = program::run(&["replay", &path, "--times", "1", "--brief"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    let skipped = format!("skipped: {broken}:4:10: expected ; at the end");
    assert!(ran.out.contains(&skipped), "{}", ran.out);
    assert!(ran.out.contains("2 files: agree 2"), "{}", ran.out);
    assert!(ran.out.contains("skipped 1"), "{}", ran.out);

    // What shows outranks what cannot be read; what is unsafe outranks it, too.
    let wrong = format!("{HEADER}/* s1 */ SELECT 1; -- @expect (2)\n");
    let wrong = program::write(&folder, "d.sql", &wrong);
    let ran = program::run(&["replay", &path, "--times", "1", "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert_described_as("replay", &ran.out);
    let summary = program::summary(&ran);
    assert_eq!(summary["files"], 3);
    assert_eq!(summary["skipped"], 1);
    std::fs::remove_file(wrong).expect("the file goes");
    let unsafe_one = format!("{HEADER}/* s1 */ ATTACH 'x.db' AS x;\n");
    program::write(&folder, "e.sql", &unsafe_one);
    let ran = program::run(&["replay", &path, "--times", "1"]);
    assert_eq!(ran.code, Some(6), "{}{}", ran.out, ran.err);

    for good in ["a.sql", "c.sql", "e.sql"] {
        std::fs::remove_file(folder.path().join(good)).expect("the file goes");
    }
    let ran = program::run(&["replay", &path]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("no case file in"), "{}", ran.err);
}

#[test]
fn a_case_is_read_from_standard_input() {
    let with_input = |text: &[u8]| {
        let mut command = program::program(&["replay", "-", "--times", "1"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text).expect("it reads");
        drop(stdin);
        program::ran(&child.wait_with_output().expect("it ends"))
    };
    let ran = with_input(format!("{HEADER}/* s1 */ SELECT 1;\n").as_bytes());
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("-: agree"), "{}", ran.out);
    let ran = with_input(b"");
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    let error = "standard input:1:1: expected a header";
    assert!(ran.err.contains(error), "{}", ran.err);
}

#[test]
fn a_compressed_file_is_named_as_such() {
    let folder = program::folder();
    let path = program::shown(&folder.path().join("case.sql"));
    std::fs::write(&path, b"\x1f\x8b\x08\0\0\0\0\0").expect("the file is written");
    let ran = program::run(&["replay", &path, "sqlite:"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    let error = "case.sql:1:1: compressed by gzip: decompress it first, as with gzip -dk";
    assert!(ran.err.contains(error), "{}", ran.err);
}

/// What `troc` alone says of a published case.
fn by_troc_alone(server: &dyn Server, driver: &mut Driver<'_>, name: &str) -> Verdict {
    let published = published();
    let is_named = |(path, _): &&(PathBuf, CaseFile)| path.file_stem().is_some_and(|n| n == name);
    let (_, file) = published.iter().find(is_named).expect("a published case");
    // As a person types it: what the header explains must not help.
    let mut typed = file.clone();
    typed.header = reproducer::Header::new(file.header.isolation.clone());
    typed.lines.iter_mut().for_each(|line| line.notes.clear());
    let registry = Registry::builtin().expect("the registry reads");
    let troc = ORACLES.iter().copied().filter(|o| o.name() == "troc");
    let options = ReplayOptions {
        oracles: &troc.collect::<Vec<_>>(),
        registry: &registry,
        times: 1,
        stop_at_first_hit: false,
    };
    let report = replay::replay(&typed, name, driver, server.identity(), &options);
    report.expect("an answer").verdict
}

#[test]
fn troc_alone_finds_the_published_cases_that_live_on_the_servers() {
    let test = "troc_alone_finds_the_published_cases_that_live_on_the_servers";
    // Of the paper's table V and of its successors; the ids as each dialect gives them.
    let cases: [(Needs, &[(&str, &str)]); 2] = [
        (
            Needs::MariaDb,
            &[
                ("mdev-26643-read-committed", "MDEV-26643"),
                ("mdev-26643-read-uncommitted", "MDEV-26643"),
                ("mdev-27992-read-committed", "MDEV-27992"),
                ("mdev-32898-repeatable-read", "MDEV-32898"),
                ("mysql-119801-read-committed", "MySQL#119801"),
            ],
        ),
        (
            Needs::MySql,
            &[
                ("mysql-104833-read-committed", "MySQL#104833"),
                ("mysql-104833-read-uncommitted", "MySQL#104833"),
                ("mdev-27992-read-committed", "MDEV-27992"),
                ("mysql-119801-read-committed", "MySQL#119801"),
                ("mdev-32898-repeatable-read", "MDEV-32898"),
            ],
        ),
    ];
    for (needs, cases) in cases {
        let Some(url) = servers::url(test, needs) else {
            continue;
        };
        let server = open(&url);
        let variables = &server.identity().variables;
        if variables
            .get("innodb_snapshot_isolation")
            .is_some_and(|value| value == "ON")
        {
            let _ = writeln!(
                std::io::stderr(),
                "NOT RUN: {test}: innodb_snapshot_isolation refuses what these cases need"
            );
            continue;
        }
        with_driver(
            &*server,
            &format!("troc_{needs:?}").to_lowercase(),
            |driver| {
                for (name, id) in cases {
                    let verdict = by_troc_alone(&*server, driver, name);
                    assert_eq!(
                        verdict,
                        Verdict::Known((*id).to_owned()),
                        "{needs:?}: {name}"
                    );
                }
            },
        );
    }
}
