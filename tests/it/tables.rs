//! Tables at the end of a case: read by each index, and checked by the engine itself.

use rashomon::engine::{OpenOptions, open};
use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::minimize::{MinimizeBudget, minimize};
use rashomon::model::{FindingKind, IsolationLevel, TableFault, TestCase, Verdict};
use rashomon::oracle::{Hearing, Oracle, SerialOracle, hear};

use crate::execute::{On, case, server};
use crate::plant::{Fault, Plant, PlantedServer, Rate};
use crate::servers::{Needs, url};

const SESSIONS: &str = "
    s1: BEGIN
    s1: UPDATE t SET vkey = 1000 WHERE pkey = 1
    s1: SELECT * FROM t
    s1: COMMIT
    s2: SELECT pkey, vkey FROM t
    s2: INSERT INTO t (pkey, vkey, c0) VALUES (4, 1001, 1)
";

/// An index on SQLite that was made by one definition and is read by another.
fn redefined(first: &str, then: &str) -> String {
    format!(
        "init: CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INTEGER, c0 INTEGER, c1 INTEGER)
        init: INSERT INTO t (pkey, vkey, c0, c1) VALUES (1, 1, 3, 6), (2, 2, 9, 5), (3, 3, NULL, 4)
        init: CREATE INDEX i {first}
        init: PRAGMA writable_schema = ON
        init: UPDATE sqlite_master SET sql = 'CREATE INDEX i {then}' WHERE name = 'i'
        init: PRAGMA writable_schema = RESET
        {SESSIONS}"
    )
}

fn heard_by(executor: &mut dyn Executor, case: &TestCase) -> Hearing {
    let oracles: [&dyn Oracle; 1] = [&SerialOracle];
    hear(case, executor, &oracles).expect("an answer")
}

fn on_sqlite(script: &str) -> Hearing {
    let server = server("tables", On::Sqlite).expect("it comes with the program");
    let mut driver = Driver::open(&*server, "rashomon_it_tables").expect("a driver");
    let case = case(&*server, IsolationLevel::Serializable, script);
    let hearing = heard_by(&mut driver, &case);
    driver.close().expect("the database goes");
    hearing
}

fn finding_kind(hearing: &Hearing) -> Option<FindingKind> {
    match hearing.verdict() {
        Verdict::Violation(finding) => {
            assert_eq!(finding.signature.oracle, "tables", "{finding:?}");
            Some(finding.signature.kind)
        }
        Verdict::Agree | Verdict::Known(_) | Verdict::Undecided(_) | Verdict::Flaky { .. } => None,
    }
}

#[test]
fn an_index_that_misses_rows_is_told_with_its_rows() {
    let hearing = on_sqlite(&redefined("ON t (c0) WHERE c0 > 5", "ON t (c0)"));
    assert_eq!(finding_kind(&hearing), Some(FindingKind::IndexDisagrees));
    let worst = hearing.worst().expect("a ruling");
    let finding = worst.finding().expect("a finding");
    assert_eq!(
        finding.headline,
        "index i of t disagrees with a scan: missing (1, 1000, 3, 6) (3, 3, NULL, 4); extra empty"
    );
    assert_eq!(finding.signature.features, ["insert", "update"]);
}

#[test]
fn an_index_with_every_row_at_the_wrong_place_fails_the_engines_own_check() {
    let hearing = on_sqlite(&redefined("ON t (c0)", "ON t (c0 DESC)"));
    assert_eq!(finding_kind(&hearing), Some(FindingKind::TableCheckFailed));
}

#[test]
fn a_sound_index_of_the_same_case_is_silent() {
    let hearing = on_sqlite(&redefined("ON t (c0)", "ON t (c0)"));
    assert_eq!(hearing.verdict(), Verdict::Agree);
}

/// A table with every kind of index that the generator draws there, and what of it the engine names.
fn every_index(on: On) -> (&'static str, usize) {
    match on {
        On::Sqlite => (
            "init: CREATE TABLE t (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INTEGER, c1 TEXT NOT NULL DEFAULT 'a', g0 BIGINT GENERATED ALWAYS AS (c0 + 1) VIRTUAL)
            init: CREATE INDEX i0 ON t (c0, c1)
            init: CREATE UNIQUE INDEX i1 ON t (c0)
            init: CREATE INDEX i2 ON t (c0) WHERE c0 IS NOT NULL
            init: CREATE INDEX i3 ON t (c0 + 1)
            init: CREATE INDEX i4 ON t (g0)
            init: CREATE INDEX i5 ON t (c1) WHERE c1 IS NOT NULL",
            // Not the last: SQLite drops the condition of a NOT NULL column. The key has one, too.
            6,
        ),
        On::MariaDb | On::MySql => (
            "init: CREATE TABLE t (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 INT, c1 VARCHAR(16) NOT NULL DEFAULT 'a', c2 TEXT, g0 BIGINT GENERATED ALWAYS AS (c0 + 1) VIRTUAL, g1 BIGINT GENERATED ALWAYS AS (c0 + 1) STORED) ENGINE=InnoDB
            init: CREATE INDEX i0 ON t (c0, c1)
            init: CREATE UNIQUE INDEX i1 ON t (c0)
            init: CREATE INDEX i2 ON t (c1)
            init: CREATE INDEX i3 ON t (c2(4))
            init: CREATE INDEX i4 ON t (c2(4), c0)
            init: CREATE INDEX i5 ON t (g0)
            init: CREATE INDEX i6 ON t (g1)",
            8,
        ),
    }
}

#[test]
fn every_kind_of_index_is_read_and_agrees() {
    for on in [On::Sqlite, On::MariaDb, On::MySql] {
        let Some(server) = server("tables_indexes", on) else {
            continue;
        };
        let (tables, count) = every_index(on);
        let script = format!(
            "{tables}
            init: INSERT INTO t (pkey, vkey, c0) VALUES (1, 1, 3), (2, 2, NULL), (3, 3, -1)
            {SESSIONS}"
        );
        let mut driver = Driver::open(&*server, "rashomon_it_indexes").expect("a driver");
        driver.start_recording().expect("new connections");
        let case = case(&*server, IsolationLevel::Serializable, &script);
        let execution = driver.execute(&case, &Instrumentation::default());
        assert_eq!(execution.expect("an answer").table_faults, []);
        let recording = driver.take_recording();
        let sent = |words: &[&str]| {
            let has = |sql: &str| words.iter().any(|word| sql.contains(word));
            recording
                .stream
                .iter()
                .filter(|sent| has(&sent.sql))
                .count()
        };
        assert_eq!(
            sent(&["INDEXED BY \"", "FORCE INDEX (`"]),
            count + 1,
            "{on:?}"
        );
        assert_eq!(sent(&["CHECK TABLE", "integrity_check"]), 1, "{on:?}");
        driver.close().expect("the database goes");
    }
}

#[test]
fn a_planted_index_that_loses_rows_is_heard_and_minimized() {
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url("tables_planted", needs) else {
            continue;
        };
        let plant = Plant {
            fault: Fault::IndexLosesRows,
            rate: Rate::Always,
        };
        let planted = PlantedServer::before(&url, plant);
        let options = OpenOptions {
            allow_shared_server: true,
            ..OpenOptions::default()
        };
        let server = open(&planted.url, &options).expect("the proxy answers");
        let name = format!("rashomon_tables_{needs:?}").to_lowercase();
        let mut driver = Driver::open(&*server, &name).expect("a driver");
        let script = format!(
            "init: CREATE TABLE t (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT) ENGINE=InnoDB
            init: CREATE INDEX i0 ON t (c0)
            init: INSERT INTO t (pkey, vkey, c0) VALUES (1, 1, 3), (2, 2, NULL), (3, 3, -1)
            {SESSIONS}"
        );
        let case = case(&*server, IsolationLevel::Serializable, &script);
        let hearing = heard_by(&mut driver, &case);
        assert_eq!(finding_kind(&hearing), Some(FindingKind::IndexDisagrees));
        let fault = &hearing.runs[0].execution.table_faults[0];
        assert!(
            matches!(fault, TableFault::Index { missing, extra, .. } if missing.len() == 3 && extra.is_empty()),
            "{fault:?}"
        );
        let mut shows = |candidate: &TestCase| -> Result<bool, std::convert::Infallible> {
            // A candidate may be no case at all.
            let heard = hear(candidate, &mut driver, &[&SerialOracle as &dyn Oracle]);
            let kind = heard.ok().as_ref().and_then(finding_kind);
            Ok(kind == Some(FindingKind::IndexDisagrees))
        };
        let small = minimize(
            &case,
            server.dialect(),
            &mut shows,
            MinimizeBudget::default(),
        );
        assert_eq!(small.case.statements.len(), 1, "{:?}", small.case);
        driver.close().expect("the databases go");
    }
}
