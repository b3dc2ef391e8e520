//! Writes that return rows on MariaDB, whose answer has no count beside them: what is right is no finding and
//! judged, and what is planted in the rows is heard and comes down to a few lines.

use rashomon::campaign::{self, StopFlag};
use rashomon::execute::Driver;
use rashomon::generate::{GenerateOptions, LevelChoice, generate};
use rashomon::grammar::Grammar;
use rashomon::model::{IsolationLevel, TestCase, Verdict};
use rashomon::observe::Learner;
use rashomon::oracle::{ORACLES, hear};
use rashomon::reproducer;

use crate::heard::{first_finding, open_planted};
use crate::minimize::PATIENT;
use crate::plant::Fault;
use crate::servers::{Needs, url};

const LEVELS: [IsolationLevel; 2] = [
    IsolationLevel::ReadCommitted,
    IsolationLevel::RepeatableRead,
];

const FAULTS: [Fault; 3] = [
    Fault::ReturningMissesRow,
    Fault::ReturningHidesRow,
    Fault::ReturningChangesValue,
];

/// One of each way in which a row comes to be returned: put in, changed, replaced, removed, numbered by a counter.
const WRITES: [&str; 10] = [
    "INSERT INTO t0 VALUES (3, 1000, 1), (4, 1001, 2) RETURNING *",
    "INSERT INTO t0 SELECT pkey + 16, vkey + 1000, c0 FROM t1 RETURNING pkey, c0",
    "INSERT INTO t0 VALUES (1, 1000, 1) ON DUPLICATE KEY UPDATE vkey = 1000, c0 = 5 RETURNING *",
    "INSERT IGNORE INTO t0 VALUES (1, 1000, 1), (5, 1000, 1) RETURNING pkey, c0",
    "REPLACE INTO t0 VALUES (1, 1000, 1), (3, 1001, 3) RETURNING *",
    "DELETE FROM t0 WHERE pkey < 5 RETURNING pkey, c0 + 1",
    "DELETE FROM t0 WHERE pkey < 5 ORDER BY pkey DESC LIMIT 1 RETURNING *",
    "INSERT INTO n0 (c0) VALUES (5) RETURNING c0, pkey",
    "INSERT INTO n0 (c0) VALUES (5), (6) RETURNING *",
    "REPLACE INTO n0 (c0) VALUES (5), (6) RETURNING pkey",
];

/// The write beside another session's open transaction. Nobody reads its rows afterwards.
fn case_text(write: &str, level: IsolationLevel) -> String {
    format!(
        "--! format = 1\n--! isolation = \"{level}\"\n\
         /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
         /* init */ CREATE TABLE t1 (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
         /* init */ CREATE TABLE n0 (pkey BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, c0 INT);\n\
         /* init */ INSERT INTO t0 VALUES (1, 1, 10), (2, 2, 20), (7, 7, 70);\n\
         /* init */ INSERT INTO t1 VALUES (1, 3, 30), (2, 4, 40);\n\
         /* init */ INSERT INTO n0 (pkey, c0) VALUES (1, 1);\n\
         /* s2 */ BEGIN;\n/* s2 */ SELECT vkey FROM t1 WHERE pkey = 1;\n\
         /* s1 */ BEGIN;\n/* s1 */ {write};\n/* s1 */ COMMIT;\n/* s2 */ COMMIT;\n"
    )
}

#[test]
fn returned_rows_are_judged_and_what_is_planted_in_them_is_heard() {
    let test = "returned_rows_are_judged_and_what_is_planted_in_them_is_heard";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    for fault in [Fault::None].into_iter().chain(FAULTS) {
        let (planted, server) = open_planted(&url, fault);
        let mut driver = Driver::open(&*server, "rashomon_heard_rows").expect("a database");
        for (write, level) in WRITES
            .iter()
            .flat_map(|write| LEVELS.map(|level| (write, level)))
        {
            let file = reproducer::read(&case_text(write, level), "returning.sql").expect("reads");
            let case = file.test_case(server.dialect()).expect("a case");
            let verdict = hear(&case, &mut driver, ORACLES)
                .expect("an answer")
                .verdict();
            if planted.planted.try_iter().count() == 0 {
                assert_eq!(verdict, Verdict::Agree, "{fault} at {level}: {write}");
                assert_eq!(fault, Fault::None, "nothing was planted in {write}");
            } else {
                let is_heard = matches!(verdict, Verdict::Violation(_));
                assert!(is_heard, "{fault} at {level}: {write}: {verdict:?}");
            }
        }
        driver.close().expect("the database goes");
    }
}

#[test]
fn returned_rows_that_lie_are_heard_in_generated_cases() {
    let test = "returned_rows_that_lie_are_heard_in_generated_cases";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    for fault in FAULTS {
        for level in LEVELS {
            let shape = GenerateOptions::default();
            let found = first_finding(&url, fault, level, Learner::Observer, shape);
            assert!(found.is_some(), "{fault} at {level}: not heard");
        }
    }
}

/// The first case of a seed in which the fault is planted and heard.
fn first_heard(
    url: &str,
    fault: Fault,
    check: impl Fn(&TestCase, &mut Driver<'_>),
) -> Option<TestCase> {
    let (planted, server) = open_planted(url, fault);
    let mut driver = Driver::open(&*server, "rashomon_heard_smaller").expect("a database");
    let grammar = Grammar::builtin(&server.dialect().engine).expect("a grammar");
    let shape = GenerateOptions {
        levels: LevelChoice::One(IsolationLevel::ReadCommitted),
        ..GenerateOptions::default()
    };
    let found = (0..140).map(|index| generate(12, index, &shape, &grammar, server.dialect()).case);
    let found = found.into_iter().find(|case| {
        let hearing = hear(case, &mut driver, ORACLES).expect("an answer");
        planted.planted.try_iter().count() > 0 && hearing.violation(|_| true).is_some()
    });
    if let Some(case) = &found {
        check(case, &mut driver);
    }
    driver.close().expect("the database goes");
    found
}

#[test]
fn a_returned_row_that_is_missing_comes_down_to_its_statement() {
    let test = "a_returned_row_that_is_missing_comes_down_to_its_statement";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    let found = first_heard(&url, Fault::ReturningMissesRow, |case, driver| {
        let sighting =
            campaign::minimize_case(case, driver, ORACLES, 3, PATIENT, &StopFlag::default())
                .expect("an answer")
                .expect("the violation again");
        let small = sighting.case.statements.iter();
        let work: Vec<&str> = small
            .filter(|s| !s.effect.kind.is_begin() && !s.effect.kind.is_end())
            .map(|s| s.sql.as_str())
            .collect();
        assert!(work.len() <= 2, "{work:#?}");
        let returning: Vec<_> = work
            .iter()
            .filter(|sql| sql.contains("RETURNING"))
            .collect();
        assert_eq!(returning.len(), 1, "{work:#?}");
    });
    assert!(found.is_some(), "not heard");
}
