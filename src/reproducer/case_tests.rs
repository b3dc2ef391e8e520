//! What a file says of its run is checked before the case runs; what a run shows is written as fields.

use std::collections::BTreeMap;

use expect_test::expect;

use super::*;
use crate::dialect::{Dialect, dialect_of};
use crate::engine::Identity;
use crate::model::{
    Aspect, Difference, Direction, ErrorClass, Execution, Finding, FindingKind, IsolationLevel,
    Outcome, ProbeAnswer, ProbeTag, Signature, SqlError, StatementId, StatementRecord, TestCase,
    Tick, TransactionId, TransactionStatus, Value,
};

fn mysql() -> Dialect {
    dialect_of("mysql", "9.7.0")
}

fn server(dialect: &Dialect) -> Identity {
    Identity {
        engine: dialect.engine.clone(),
        version_text: "9.7.4".to_owned(),
        version: "9.7.4".parse().unwrap(),
        variables: BTreeMap::new(),
        session_setup: dialect.session_setup.clone(),
        isolation_setup: dialect.isolation_setup(),
    }
}

/// Two transactions on one table, behind a header that may say more than the level.
fn file(header: &str, sessions: &str) -> CaseFile {
    let text = format!(
        "--! format = 1\n--! engine = \"mysql\"\n--! isolation = \"REPEATABLE READ\"\n{header}\
         /* init */ CREATE TABLE t0 (c0 INT);\n/* init */ INSERT INTO t0 VALUES (1), (2);\n{sessions}"
    );
    read(&text, "x.sql").unwrap()
}

const SESSIONS: &str = "/* s1 T1.1 */ BEGIN;\n/* s2 T2.1 */ SELECT * FROM t0;\n\
                        /* s1 T1.2 */ DELETE FROM t0;\n/* s1 T1.3 */ COMMIT;\n";

#[test]
fn a_number_that_is_not_the_statements_own_is_refused_with_the_line() {
    let dialect = mysql();
    assert!(file("", SESSIONS).test_case(&dialect).is_ok());
    let unnumbered = SESSIONS.replace(" T2.1", "");
    assert!(file("", &unnumbered).test_case(&dialect).is_ok());
    let without_begin = SESSIONS.replace("/* s1 T1.1 */ BEGIN;\n", "");
    let error = file("", &without_begin).test_case(&dialect).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 6: the tag calls the statement T2.1, and it is T1.1: correct the number, or leave it out"
    );
}

#[test]
fn a_session_set_up_that_is_not_the_dialects_is_refused_on_the_engine_it_was_seen_on() {
    let dialect = mysql();
    let level = IsolationLevel::RepeatableRead;
    let mut own = dialect.session_setup.clone();
    own.extend(dialect.set_isolation(level));
    let with = |statements: Vec<String>| {
        let mut file = file("", SESSIONS);
        file.header.session_setup = Some(SessionSetup::All(statements));
        file
    };
    assert!(with(own.clone()).test_case(&dialect).is_ok());
    own.insert(0, "SET SESSION sql_mode = 'ANSI'".to_owned());
    let mut other = with(own);
    let error = other.test_case(&dialect).unwrap_err().to_string();
    assert!(
        error.starts_with("session_setup of s1 is [\"SET"),
        "{error}"
    );
    assert!(error.contains("make statements of the session"), "{error}");
    other.header.engine = Some("mariadb".to_owned());
    assert!(other.test_case(&dialect).is_ok());
}

fn record(case: &TestCase, at: usize, tick: u32, outcome: Outcome) -> StatementRecord {
    StatementRecord {
        id: case.statements[at].id,
        sent: Tick(tick),
        waiting: None,
        waited_for: Vec::new(),
        answered: Tick(tick),
        outcome,
        transaction_survives: true,
        counted: None,
        reported: None,
        command_tag: None,
    }
}

fn row(values: &[i64]) -> Vec<Value> {
    values.iter().copied().map(Value::Integer).collect()
}

/// A run of `SESSIONS`: the SELECT gives `selected`.
fn run(case: &TestCase, selected: Outcome) -> Execution {
    let outcomes = [
        Outcome::Affected(0),
        selected,
        Outcome::Affected(2),
        Outcome::Affected(0),
    ];
    let mut execution = Execution::default();
    for (at, outcome) in outcomes.into_iter().enumerate() {
        let record = record(case, at, u32::try_from(at).unwrap(), outcome);
        execution.records.insert(record.id, record);
    }
    // The oracle's own row key is the last column.
    let rows = vec![row(&[7, 100])];
    execution.final_state.insert("t0".to_owned(), rows);
    execution.probes.push(ProbeAnswer {
        statement: case.statements[2].id,
        tag: ProbeTag::FixSnapshot,
        sql: "SELECT 1 FROM `t0` LIMIT 1".to_owned(),
        tick: Tick(1),
        parted: false,
        outcome: Outcome::Rows(Vec::new()),
    });
    execution
}

fn found(kind: &str, differences: Vec<Difference>) -> Finding {
    Finding {
        signature: Signature::new(
            "txcheck",
            FindingKind::from_slug(kind).unwrap(),
            vec!["REPEATABLE READ".to_owned()],
            Vec::new(),
        ),
        headline: "T2.1 (select): rows differ".to_owned(),
        differences,
        explanation: vec!["T2.1 must see both rows".to_owned()],
    }
}

fn difference(statement: Option<StatementId>, texts: [&str; 3]) -> Difference {
    Difference {
        statement,
        aspect: Aspect::from_slug(texts[0]).unwrap(),
        direction: Direction::Other,
        expected: texts[1].to_owned(),
        got: texts[2].to_owned(),
    }
}

fn reproducer(kind: &str, selected: Outcome, texts: &[(Option<u32>, [&str; 3])]) -> String {
    let dialect = mysql();
    let case = file("", SESSIONS).test_case(&dialect).unwrap();
    let execution = run(&case, selected);
    let of = |transaction| StatementId {
        transaction: TransactionId(transaction),
        position: 1,
    };
    let differences = texts
        .iter()
        .map(|(statement, texts)| difference(statement.map(of), *texts))
        .collect();
    let reproduced = Reproduced { hits: 3, runs: 3 };
    let finding = found(kind, differences);
    let file = CaseFile::of_finding(
        &case,
        &finding,
        &execution,
        &server(&dialect),
        "1:80",
        reproduced,
    );
    let text = write(&file);
    let back = read(&text, "x.sql").unwrap();
    assert_eq!(write(&back), text);
    assert!(back.test_case(&dialect).is_ok());
    text
}

#[test]
fn what_differs_is_an_expectation_on_the_line_where_it_differs() {
    let rows = Outcome::Rows(vec![row(&[2])]);
    let differences = [
        (Some(2), ["rows", "(1) (2)", "(2)"]),
        (Some(1), ["effect", "t0: (1)", "t0: (2)"]),
        (None, ["final-state", "t0: (8)", "t0: (7)"]),
    ];
    let text = reproducer("wrong-rows", rows, &differences);
    expect![[r#"
        --! format = 1
        --! engine = "mysql"
        --! seen_on = ["9.7.4"]
        --! isolation = "REPEATABLE READ"
        --! session_setup = [
        --!   "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'",
        --!   "SET SESSION time_zone = '+00:00'",
        --!   "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        --!   "SET SESSION autocommit = 1",
        --!   "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        --! ]
        --! anomaly = "wrong-row"
        --! oracle = "txcheck"
        --! kind = "wrong-rows"
        --! seed = "1:80"
        --! reproduced = "3/3"
        --! signature = "2b4340f4"
        --! # T2.1 (select): rows differ
        --! # T1.1, effect: expected t0: (1), got t0: (2)
        --! # the end of t0, but for the effects above: expected (8)
        /* init */ CREATE TABLE t0 (c0 INT);
        /* init */ INSERT INTO t0 VALUES (1), (2);
        /* s1 T1.1 */ BEGIN;                        -- @wrong-effect t0
        /* s2 T2.1 */ SELECT * FROM t0;             -- @got (2)  @expect (1) (2)
        /* s1 T1.2 */ DELETE FROM t0;               -- @snapshot-read SELECT 1 FROM `t0` LIMIT 1  @got affected 2
        /* s1 T1.3 */ COMMIT;
        /* end */ SELECT * FROM t0;                 -- @got (7)
    "#]].assert_eq(&text);
}

#[test]
fn a_rejection_is_expected_by_its_class() {
    let rejected = Outcome::Rejected(SqlError {
        code: "1062".to_owned(),
        class: crate::model::ErrorClass::Duplicate,
        message: "Duplicate entry".to_owned(),
    });
    let differences = [(
        Some(2),
        ["error", "error deadlock (1213)", "error duplicate (1062)"],
    )];
    let text = reproducer("wrong-error", rejected, &differences);
    let line = text.lines().find(|line| line.contains("T2.1 */")).unwrap();
    assert!(
        line.ends_with("-- @error duplicate  @expect error deadlock"),
        "{line}"
    );
}

/// One refuted order of several is no answer that every correct engine gives.
#[test]
fn a_run_without_a_serial_order_expects_nothing_of_its_statements() {
    let rows = Outcome::Rows(vec![row(&[2])]);
    let differences = [(Some(2), ["rows", "(1) (2)", "(2)"])];
    let text = reproducer("not-serializable", rows, &differences);
    assert!(!text.contains("@expect"), "{text}");
    assert!(!text.contains("expected (1) (2)"), "{text}");
    let evidence = "--! # T2.1 must see both rows\n/* init */";
    assert!(text.contains(evidence), "{text}");
}

#[test]
fn a_file_that_ran_keeps_what_a_person_wrote_and_has_the_answers_of_this_run() {
    let dialect = mysql();
    let written = file(
        "--! known = \"MySQL#1\"\n--! # found by hand\n",
        "/* s1 */ BEGIN;\n-- sees both\n/* s2 */ SELECT * FROM t0; -- why  @got (9)  @expect (1) (2)\n\
         /* s1 */ DELETE FROM t0;\n/* s1 */ COMMIT;\n/* end */ SELECT COUNT(*) FROM t0; -- @expect (0)\n",
    );
    let case = written.test_case(&dialect).unwrap();
    let execution = run(&case, Outcome::Rows(vec![row(&[2])]));
    let ran = CaseFile::of_run(&case, &execution, &server(&dialect));
    let answered = written.answered_by(ran);
    assert_eq!(
        read(&write(&answered), "x.sql").unwrap().header,
        answered.header
    );
    assert_eq!(answered.header.known.as_deref(), Some("MySQL#1"));
    let text = write(&answered);
    let body = text.split_once("--! # ").expect("the comment").1;
    expect![[r#"
        found by hand
        /* init */ CREATE TABLE t0 (c0 INT);
        /* init */ INSERT INTO t0 VALUES (1), (2);
        /* s1 T1.1 */ BEGIN;
        -- sees both
        /* s2 T2.1 */ SELECT * FROM t0;             -- why  @got (2)  @expect (1) (2)
        /* s1 T1.2 */ DELETE FROM t0;               -- @snapshot-read SELECT 1 FROM `t0` LIMIT 1  @got affected 2
        /* s1 T1.3 */ COMMIT;
        /* end */ SELECT * FROM t0;                 -- @got (7)
        /* end */ SELECT COUNT(*) FROM t0;          -- @expect (0)
    "#]]
    .assert_eq(body);
}

/// The finding of a run says what is right on its line; what a person expected there is about another answer.
#[test]
fn what_a_finding_expects_replaces_what_a_person_expected_of_that_line() {
    let dialect = mysql();
    let written = file(
        "",
        &SESSIONS.replace(
            "FROM t0;\n/* s1 T1.2",
            "FROM t0; -- @expect (5)\n/* s1 T1.2",
        ),
    );
    let case = written.test_case(&dialect).unwrap();
    let execution = run(&case, Outcome::Rows(vec![row(&[2])]));
    let differs = difference(Some(case.statements[1].id), ["rows", "(1) (2)", "(2)"]);
    let finding = found("wrong-rows", vec![differs]);
    let reproduced = Reproduced { hits: 3, runs: 3 };
    let ran = CaseFile::of_finding(
        &case,
        &finding,
        &execution,
        &server(&dialect),
        "",
        reproduced,
    );
    let text = write(&written.answered_by(ran));
    let line = text.lines().find(|line| line.contains("T2.1 */")).unwrap();
    assert!(line.ends_with("-- @got (2)  @expect (1) (2)"), "{line}");
}

/// The write of T1.2 left other rows than it should: the end of the case is certain only where it shows them.
#[test]
fn a_wrong_effect_is_noted_and_the_end_expects_nothing_that_does_not_follow() {
    let dialect = mysql();
    let case = file("", SESSIONS).test_case(&dialect).unwrap();
    let execution = run(&case, Outcome::Rows(vec![row(&[2])]));
    let written = |effect: [&str; 2], end: [&str; 2]| {
        let delete = Some(case.statements[2].id);
        let differences = vec![
            difference(delete, ["effect", effect[0], effect[1]]),
            difference(None, ["final-state", end[0], end[1]]),
        ];
        let finding = found("wrong-effect", differences);
        let reproduced = Reproduced { hits: 3, runs: 3 };
        let server = server(&dialect);
        write(&CaseFile::of_finding(
            &case, &finding, &execution, &server, "", reproduced,
        ))
    };
    let line = |text: &str, part: &str| {
        let line = text.lines().find(|line| line.contains(part)).unwrap();
        line.to_owned()
    };
    let told = written(["t0: (1)", "t0: (7)"], ["t0: (1)", "t0: (7)"]);
    assert!(
        line(&told, "T1.2 */").ends_with("@wrong-effect t0"),
        "{told}"
    );
    assert!(
        line(&told, "end */").ends_with("-- @got (7)  @expect (1)"),
        "{told}"
    );
    // The end has a row that the write should have left out, or lacks one that it should have left.
    for effect in [["t0: (5)", "t0: (7)"], ["t0: empty", "t0: (1)"]] {
        let untold = written(effect, ["t0: (1)", "t0: (7)"]);
        assert!(
            line(&untold, "T1.2 */").ends_with("@wrong-effect t0"),
            "{untold}"
        );
        assert!(line(&untold, "end */").ends_with("-- @got (7)"), "{untold}");
        let said = "--! # the end of t0, but for the effects above: expected (1)";
        assert!(untold.contains(said), "{untold}");
    }
}

#[test]
fn the_end_behind_the_last_write_of_a_table_expects_what_it_should_have_left() {
    let dialect = mysql();
    let end_with = |column: &str, later: &str, status: TransactionStatus| {
        let sessions = format!("{SESSIONS}{later}");
        let text = write(&file("", &sessions)).replace("c0 INT", column);
        let case = read(&text, "x.sql").unwrap();
        let case = case.test_case(&dialect).unwrap();
        let mut execution = run(&case, Outcome::Rows(vec![row(&[2])]));
        let delete = case.statements[2].id;
        execution.transactions.insert(delete.transaction, status);
        if case.statements.len() > 4 {
            let later = record(&case, 4, 4, Outcome::Affected(1));
            execution.records.insert(later.id, later);
        }
        let effect = difference(Some(delete), ["effect", "t0: (1)", "t0: (7)"]);
        let finding = found("wrong-effect", vec![effect]);
        let reproduced = Reproduced { hits: 3, runs: 3 };
        let server = server(&dialect);
        let text = write(&CaseFile::of_finding(
            &case, &finding, &execution, &server, "", reproduced,
        ));
        let end = text.lines().find(|line| line.contains("end */"));
        end.unwrap().to_owned()
    };
    let end_of = |later: &str, status| end_with("c0 INT", later, status);
    let committed = TransactionStatus::Committed(Tick(9));
    let certain = end_of("", committed);
    assert!(certain.ends_with("-- @got (7)  @expect (1)"), "{certain}");
    let read_later = end_of("/* s2 T3.1 */ SELECT * FROM t0;\n", committed);
    assert_eq!(read_later, certain);
    // Another write may have met what was left, the write was undone, or a counter gives other numbers where nothing is wrong.
    for uncertain in [
        end_with("c0 INT AUTO_INCREMENT PRIMARY KEY", "", committed),
        end_of("/* s2 T3.1 */ UPDATE t0 SET c0 = 3;\n", committed),
        end_of("", TransactionStatus::Aborted(Tick(9))),
    ] {
        assert!(uncertain.ends_with("-- @got (7)"), "{uncertain}");
    }
}

/// InnoDB tells the victim first, and the statement that closed the deadlock is answered when that has gone.
#[test]
fn the_victim_of_a_deadlock_goes_on_by_the_statement_that_is_sent_last_before() {
    let text = "--! format = 1\n--! isolation = \"REPEATABLE READ\"\n\
                /* init */ CREATE TABLE t0 (c0 INT);\n\
                /* s1 T1.1 */ BEGIN;\n\
                /* s2 T2.1 */ BEGIN;\n\
                /* s2 T2.2 */ DELETE FROM t0 WHERE c0 = 1;\n\
                /* s1 T1.2 */ SELECT * FROM t0 WHERE c0 = 3;\n\
                /* s1 T1.3 */ DELETE FROM t0 WHERE c0 = 2;\n";
    let dialect = mysql();
    let case = read(text, "x.sql").unwrap().test_case(&dialect).unwrap();
    let resumed_by = |class: ErrorClass, code: &str| {
        let mut execution = Execution::default();
        for (at, sent, answered) in [(0, 1, 2), (1, 3, 4), (2, 5, 10), (3, 7, 8), (4, 9, 11)] {
            let mut record = record(&case, at, sent, Outcome::Affected(0));
            record.answered = Tick(answered);
            execution.records.insert(record.id, record);
        }
        let waiter = execution.records.get_mut(&case.statements[2].id).unwrap();
        waiter.waiting = Some(Tick(6));
        waiter.outcome = Outcome::Rejected(SqlError {
            code: code.to_owned(),
            class,
            message: String::new(),
        });
        let server = server(&dialect);
        let file = CaseFile::of_run(&case, &execution, &server);
        let text = write(&file);
        let line = text.lines().find(|line| line.contains("@resumes s2"));
        line.map(|line| line[..13].to_owned())
    };
    let victim = resumed_by(ErrorClass::Deadlock, "1213");
    assert_eq!(victim.as_deref(), Some("/* s1 T1.3 */"));
    let timeout = resumed_by(ErrorClass::LockTimeout, "1205");
    assert_eq!(timeout.as_deref(), Some("/* s1 T1.2 */"));
}
