//! Runs before a crash and the tables after it, judged.

use std::collections::BTreeMap;

use super::judgement::Judgement;
use super::ledger::RowLedger;
use crate::dialect::{Dialect, dialect_of};
use crate::model::{
    ErrorClass, EventKind, Execution, ExecutionEvent, FindingKind, IsolationLevel, Outcome, Pace,
    Row, SessionId, SetupKind, SetupStatement, SqlError, StatementKind, StatementRecord, TestCase,
    Tick, TransactionStatus, UndecidedReason, Value,
};
use crate::statement::{analyze, shapes};

/// What a statement was answered before the crash.
#[derive(Clone, Copy)]
enum Answer {
    Rows(u64),
    Refused(ErrorClass),
    /// It was sent, and the server was killed.
    Lost,
}
use Answer::{Lost, Refused, Rows};

/// Keys and values of the rows of a table.
type KeyValues = &'static [(i64, i64)];

/// The rows of `a` and of `b`.
type Tables = (KeyValues, KeyValues);

const ONE: Answer = Rows(1);
const OK: Answer = Rows(0);

fn dialect() -> Dialect {
    dialect_of("mariadb", "10.11.0")
}

/// A case on tables `a` and `b`, each with row 1 of value 0, and its run.
fn run(lines: &[(u32, &str, Answer)]) -> (TestCase, Execution) {
    let case = case_of(lines);
    let mut execution = Execution::default();
    for ((_, _, answer), statement) in lines.iter().zip(&case.statements) {
        let sent = Tick(execution.events.len() as u32 * 2 + 1);
        let (id, answered) = (statement.id, Tick(sent.0 + 1));
        execution.events.push(ExecutionEvent {
            tick: sent,
            statement: id,
            kind: EventKind::Sent,
        });
        let kind = statement.effect.kind;
        let commits = kind == StatementKind::Commit || !case.is_explicit(id.transaction);
        let status = match answer {
            Rows(_) if commits => TransactionStatus::Committed(answered),
            Lost if commits => TransactionStatus::Indeterminate,
            Rows(_) | Refused(_) | Lost => TransactionStatus::Aborted(answered),
        };
        execution.transactions.insert(id.transaction, status);
        let Some(outcome) = outcome(*answer) else {
            continue;
        };
        let record = StatementRecord {
            id,
            sent,
            waiting: None,
            waited_for: Vec::new(),
            answered,
            outcome,
            transaction_survives: true,
            counted: None,
            reported: None,
            command_tag: None,
        };
        execution.records.insert(id, record);
    }
    (case, execution)
}

fn outcome(answer: Answer) -> Option<Outcome> {
    match answer {
        Rows(count) => Some(Outcome::Affected(count)),
        Refused(class) => Some(Outcome::Rejected(SqlError {
            code: "1".to_owned(),
            class,
            message: String::new(),
        })),
        Lost => None,
    }
}

fn case_of(lines: &[(u32, &str, Answer)]) -> TestCase {
    let dialect = dialect();
    let mut setup = Vec::new();
    for table in ["a", "b"] {
        let create = format!("CREATE TABLE {table} (k INT PRIMARY KEY, v INT)");
        let fill = format!("INSERT INTO {table} (k, v) VALUES (1, 0)");
        for (sql, kind) in [(create, SetupKind::Schema), (fill, SetupKind::Rows)] {
            setup.push(SetupStatement { sql, kind });
        }
    }
    let own = |(session, sql, _): &(u32, &str, Answer)| {
        let effect = analyze(sql, &dialect);
        (SessionId(*session), (*sql).to_owned(), effect)
    };
    let statements: Vec<_> = lines.iter().map(own).collect();
    let levels: BTreeMap<SessionId, IsolationLevel> = statements
        .iter()
        .map(|(session, ..)| (*session, IsolationLevel::ReadCommitted))
        .collect();
    let tables = shapes(&setup, &dialect);
    TestCase::new(setup, tables, statements, levels, None).at_pace(Pace::Free)
}

/// What is found wrong with these rows of `a` and `b`.
fn judged(
    lines: &[(u32, &str, Answer)],
    a: &[(i64, i64)],
    b: &[(i64, i64)],
) -> Result<Option<(FindingKind, String)>, UndecidedReason> {
    let (case, mut execution) = run(lines);
    for (table, rows) in [("a", a), ("b", b)] {
        let row = |(key, value): &(i64, i64)| -> Row {
            vec![Value::Integer(*key), Value::Integer(*value)]
        };
        let rows = rows.iter().map(row).collect();
        execution.final_state.insert(table.to_owned(), rows);
    }
    let ledger = RowLedger::of(&case, &dialect()).expect("writes of rows by their key");
    let judgement = Judgement::of(&case, &execution, &ledger)?;
    Ok(judgement.loss().map(|loss| (loss.kind, loss.headline)))
}

fn kind(lines: &[(u32, &str, Answer)], a: &[(i64, i64)], b: &[(i64, i64)]) -> Option<FindingKind> {
    judged(lines, a, b).expect("decided").map(|(kind, _)| kind)
}

/// T1 inserts a row into each table and changes row 1 of `a`; its COMMIT comes to this.
fn one(commit: Answer) -> [(u32, &'static str, Answer); 5] {
    [
        (1, "BEGIN", OK),
        (1, "INSERT INTO a (k, v) VALUES (2, 10), (3, 11)", Rows(2)),
        (1, "INSERT INTO b (k, v) VALUES (2, 12)", ONE),
        (1, "UPDATE a SET v = 13 WHERE k = 1", ONE),
        (1, "COMMIT", commit),
    ]
}

const WHOLE: Tables = (&[(1, 13), (2, 10), (3, 11)], &[(1, 0), (2, 12)]);
const NOTHING: Tables = (&[(1, 0)], &[(1, 0)]);

#[test]
fn an_acknowledged_commit_has_to_be_there() {
    assert_eq!(kind(&one(OK), WHOLE.0, WHOLE.1), None);
    let lost = judged(&one(OK), NOTHING.0, NOTHING.1).expect("decided");
    let (kind, headline) = lost.expect("it is lost");
    assert_eq!(kind, FindingKind::LostCommit);
    assert_eq!(headline, "acknowledged commits are lost: T1 (s1)");
}

#[test]
fn a_commit_without_an_answer_may_be_there_or_not() {
    assert_eq!(kind(&one(Lost), WHOLE.0, WHOLE.1), None);
    assert_eq!(kind(&one(Lost), NOTHING.0, NOTHING.1), None);
    let refused = Refused(ErrorClass::Other);
    assert_eq!(kind(&one(refused), WHOLE.0, WHOLE.1), None);
    assert_eq!(kind(&one(refused), NOTHING.0, NOTHING.1), None);
}

#[test]
fn a_part_of_a_transaction_is_torn_whatever_its_commit_was_answered() {
    let without_b: Tables = (WHOLE.0, &[(1, 0)]);
    let only_b: Tables = (&[(1, 0)], WHOLE.1);
    let one_row_less: Tables = (&[(1, 13), (2, 10)], WHOLE.1);
    for (a, b) in [without_b, only_b, one_row_less] {
        for commit in [OK, Lost] {
            assert_eq!(kind(&one(commit), a, b), Some(FindingKind::TornTransaction));
        }
    }
}

#[test]
fn nothing_may_be_there_of_a_transaction_that_was_not_committed() {
    let open = &one(OK)[..4];
    let mut rolled_back = one(OK);
    rolled_back[4].1 = "ROLLBACK";
    let deadlock = one(Refused(ErrorClass::Deadlock));
    for lines in [open, &rolled_back[..], &deadlock[..]] {
        assert_eq!(kind(lines, NOTHING.0, NOTHING.1), None);
        let all = kind(lines, WHOLE.0, WHOLE.1);
        assert_eq!(all, Some(FindingKind::UncommittedSurvives));
        let a_part = kind(lines, NOTHING.0, WHOLE.1);
        assert_eq!(a_part, Some(FindingKind::UncommittedSurvives));
    }
}

#[test]
fn a_row_that_no_statement_left_is_unexplained() {
    let strange = kind(&one(OK), &[(1, 13), (2, 10), (3, 11), (9, 9)], WHOLE.1);
    assert_eq!(strange, Some(FindingKind::UnexplainedRow));
}

/// Two sessions change row 1 of `a`, one after the other, and T1 row 1 of `b` as well.
fn two(first: Answer, second: Answer) -> [(u32, &'static str, Answer); 7] {
    [
        (1, "BEGIN", OK),
        (1, "UPDATE b SET v = 20 WHERE k = 1", ONE),
        (1, "UPDATE a SET v = 21 WHERE k = 1", ONE),
        (2, "BEGIN", OK),
        (1, "COMMIT", first),
        (2, "UPDATE a SET v = 22 WHERE k = 1", ONE),
        (2, "COMMIT", second),
    ]
}

#[test]
fn the_last_writer_of_a_row_is_there_and_not_the_one_before() {
    assert_eq!(kind(&two(OK, OK), &[(1, 22)], &[(1, 20)]), None);
    let older = kind(&two(OK, OK), &[(1, 21)], &[(1, 20)]);
    assert_eq!(older, Some(FindingKind::LostCommit));
    // Without an answer to T2 both are right.
    assert_eq!(kind(&two(OK, Lost), &[(1, 21)], &[(1, 20)]), None);
    assert_eq!(kind(&two(OK, Lost), &[(1, 22)], &[(1, 20)]), None);
    let neither = kind(&two(OK, Lost), &[(1, 0)], &[(1, 20)]);
    assert_eq!(neither, Some(FindingKind::TornTransaction));
}

#[test]
fn every_choice_of_two_commits_in_doubt_is_tried() {
    let lines = [
        (1, "BEGIN", OK),
        (1, "UPDATE a SET v = 31 WHERE k = 1", ONE),
        (2, "BEGIN", OK),
        (2, "UPDATE b SET v = 32 WHERE k = 1", ONE),
        (1, "COMMIT", Lost),
        (2, "COMMIT", Lost),
    ];
    for a in [0, 31] {
        for b in [0, 32] {
            assert_eq!(kind(&lines, &[(1, a)], &[(1, b)]), None, "{a} {b}");
        }
    }
    assert!(kind(&lines, &[(1, 32)], &[(1, 0)]).is_some());
}

#[test]
fn a_deleted_row_is_gone_and_one_of_the_same_key_is_another() {
    let lines = |end: Answer| {
        [
            (1, "BEGIN", OK),
            (1, "DELETE FROM a WHERE k = 1", ONE),
            (1, "INSERT INTO a (k, v) VALUES (1, 41)", ONE),
            (1, "DELETE FROM b WHERE k = 1", ONE),
            (1, "COMMIT", end),
        ]
    };
    assert_eq!(kind(&lines(OK), &[(1, 41)], &[]), None);
    assert_eq!(kind(&lines(Lost), &[(1, 0)], &[(1, 0)]), None);
    let back = kind(&lines(OK), &[(1, 41)], &[(1, 0)]);
    assert_eq!(back, Some(FindingKind::TornTransaction));
}

#[test]
fn a_statement_that_changed_nothing_or_was_refused_leaves_nothing() {
    let lines = [
        (1, "BEGIN", OK),
        (1, "UPDATE a SET v = 51 WHERE k = 7", Rows(0)),
        (
            1,
            "INSERT INTO a (k, v) VALUES (1, 52)",
            Refused(ErrorClass::Duplicate),
        ),
        (1, "UPDATE b SET v = 53 WHERE k = 1", ONE),
        (1, "COMMIT", OK),
    ];
    assert_eq!(kind(&lines, &[(1, 0)], &[(1, 53)]), None);
    let refused = kind(&lines, &[(1, 52)], &[(1, 53)]);
    assert!(refused.is_some(), "a refused row is there");
}

#[test]
fn a_statement_without_an_answer_and_without_begin_is_in_doubt() {
    let lines = [(1, "INSERT INTO a (k, v) VALUES (2, 61), (3, 62)", Lost)];
    assert_eq!(kind(&lines, &[(1, 0)], &[(1, 0)]), None);
    assert_eq!(kind(&lines, &[(1, 0), (2, 61), (3, 62)], &[(1, 0)]), None);
    let half = kind(&lines, &[(1, 0), (2, 61)], &[(1, 0)]);
    assert_eq!(half, Some(FindingKind::TornTransaction));
}

#[test]
fn where_such_a_statement_took_place_among_others_is_not_guessed() {
    let lines = [
        (1, "UPDATE a SET v = 71 WHERE k = 1", Lost),
        (2, "UPDATE a SET v = 72 WHERE k = 1", ONE),
    ];
    let undecided = judged(&lines, &[(1, 71)], &[(1, 0)]);
    assert_eq!(undecided, Err(UndecidedReason::ChangeOfSeveralWriters));
}

#[test]
fn an_acknowledged_change_of_a_row_proves_that_the_row_was_there() {
    let lines = [
        (1, "BEGIN", OK),
        (1, "INSERT INTO a (k, v) VALUES (2, 81)", ONE),
        (1, "COMMIT", Lost),
        (2, "UPDATE a SET v = 82 WHERE k = 2", ONE),
    ];
    assert_eq!(kind(&lines, &[(1, 0), (2, 82)], &[(1, 0)]), None);
    // Without T1 there is no row 2, and T2 was told that it changed one.
    let gone = kind(&lines, &[(1, 0)], &[(1, 0)]);
    assert_eq!(gone, Some(FindingKind::LostCommit));
}

#[test]
fn statements_that_are_no_writes_by_key_are_not_judged() {
    for sql in [
        "UPDATE a SET v = v + 1 WHERE k = 1",
        "SAVEPOINT s",
        "INSERT INTO a (k) VALUES (5)",
        "DELETE FROM a WHERE v = 0",
        "INSERT INTO other (k, v) VALUES (1, 1)",
    ] {
        let (case, _) = run(&[(1, "BEGIN", OK), (1, sql, ONE), (1, "COMMIT", OK)]);
        assert_eq!(RowLedger::of(&case, &dialect()), None, "{sql}");
    }
}
