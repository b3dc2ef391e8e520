//! Runs written line by line, and what their records say by themselves.

mod busy;
mod ddl;
mod newer_versions;
mod open_end;
mod refused_control;
mod unwaited;

use std::sync::Arc;

use super::of_transactions;
use crate::dialect::{Dialect, dialect_of};
use crate::model::{
    ErrorClass, Execution, FindingKind, IsolationLevel, Outcome, SqlError, StatementKind,
    StatementRecord, TestCase, Tick, TransactionStatus,
};
use crate::oracle::Evidence;
use crate::reproducer::case_of;
use Got::{Done, DoneAtLast, Ends, Refused, WaitsTooLong};

/// How a statement is answered.
#[derive(Clone, Copy, Debug)]
enum Got {
    Done,
    /// It is refused, and its transaction goes on.
    Refused(ErrorClass),
    /// It is refused, and its transaction is gone.
    Ends(ErrorClass),
    /// It is seen waiting, and is refused for the time.
    WaitsTooLong,
    /// It is seen waiting, and is done when all others have been answered.
    DoneAtLast,
}

/// A statement of a session and its answer, which comes before the next statement is sent.
type Line = (u32, &'static str, Got);

const TABLES: &str = "\
    /* init */ CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT);\n\
    /* init */ CREATE TABLE u (pkey INTEGER PRIMARY KEY, vkey INT);\n\
    /* init */ INSERT INTO t VALUES (1, 1), (2, 2);\n\
    /* init */ INSERT INTO u VALUES (1, 1), (2, 2);\n";

/// Where a run is made.
struct Place {
    dialect: Dialect,
    level: IsolationLevel,
    setup: String,
}

impl Place {
    fn new(dialect: Dialect, level: IsolationLevel) -> Self {
        Self {
            dialect,
            level,
            setup: TABLES.to_owned(),
        }
    }

    /// The kind of what a run is told for, if it is.
    fn said(&self, lines: &[Line]) -> Option<FindingKind> {
        let (level, setup) = (self.level, &self.setup);
        let mut text = format!("--! isolation = \"{level}\"\n{setup}");
        for (session, sql, _) in lines {
            text.push_str(&format!("/* s{session} */ {sql};\n"));
        }
        let case = case_of(&text, &self.dialect);
        let answers = lines.iter().map(|(.., got)| *got);
        let execution = execution_of(&case, answers);
        let evidence = Evidence::of_answers(case, execution, Arc::new(self.dialect.clone()));
        of_transactions(&evidence).map(|finding| finding.signature.kind)
    }
}

fn execution_of(case: &TestCase, answers: impl Iterator<Item = Got>) -> Execution {
    let mut execution = Execution::default();
    let mut tick = 0;
    for (statement, got) in case.statements.iter().zip(answers) {
        let (id, explicit) = (statement.id, case.is_explicit(statement.id.transaction));
        let sent = Tick(tick + 1);
        let answered = match got {
            DoneAtLast => Tick(u32::MAX),
            Done | Refused(_) | Ends(_) | WaitsTooLong => Tick(tick + 2),
        };
        tick += 2;
        let status = match (statement.effect.kind, got) {
            (_, Ends(_)) => Some(TransactionStatus::Aborted(answered)),
            (StatementKind::Commit, Done | DoneAtLast) => {
                Some(TransactionStatus::Committed(answered))
            }
            (StatementKind::Rollback, Done | DoneAtLast) => {
                Some(TransactionStatus::Aborted(answered))
            }
            (_, Done | DoneAtLast) => (!explicit).then_some(TransactionStatus::Committed(answered)),
            (_, Refused(_) | WaitsTooLong) => {
                (!explicit).then_some(TransactionStatus::Aborted(answered))
            }
        };
        let class = match got {
            Done | DoneAtLast => None,
            Refused(class) | Ends(class) => Some(class),
            WaitsTooLong => Some(ErrorClass::LockTimeout),
        };
        let rejected = |class| {
            Outcome::Rejected(SqlError {
                code: "1".to_owned(),
                class,
                message: String::new(),
            })
        };
        let outcome = class.map_or(Outcome::Affected(0), rejected);
        let record = StatementRecord {
            id,
            sent,
            waiting: matches!(got, WaitsTooLong | DoneAtLast).then_some(sent),
            waited_for: Vec::new(),
            answered,
            outcome,
            transaction_survives: explicit && status.is_none(),
            counted: None,
            reported: None,
            command_tag: None,
        };
        execution.records.insert(id, record);
        if let Some(status) = status {
            execution.transactions.insert(id.transaction, status);
        }
    }
    execution
}

fn innodb() -> Place {
    let level = IsolationLevel::RepeatableRead;
    Place::new(dialect_of("mysql", "9.7.0"), level)
}

fn sqlite() -> Place {
    let level = IsolationLevel::Serializable;
    Place::new(dialect_of("sqlite", "3.50.0"), level)
}

const WRONG_END: Option<FindingKind> = Some(FindingKind::WrongTransactionEnd);

#[test]
fn a_refused_return_to_a_savepoint_does_not_end_its_transaction() {
    let run = |got| {
        innodb().said(&[
            (1, "BEGIN", Done),
            (1, "UPDATE t SET vkey = 3 WHERE pkey = 1", Done),
            (1, "ROLLBACK TO SAVEPOINT gone", got),
        ])
    };
    assert_eq!(run(Refused(ErrorClass::Missing)), None);
    assert_eq!(run(Ends(ErrorClass::Missing)), WRONG_END);
}

#[test]
fn a_write_that_says_or_rollback_ends_its_transaction_when_it_fails() {
    let run = |sql, got| sqlite().said(&[(1, "BEGIN", Done), (1, sql, got)]);
    let ends = Ends(ErrorClass::Duplicate);
    let inserts = "INSERT OR ROLLBACK INTO t VALUES (1, 3)";
    assert_eq!(run(inserts, ends), None);
    assert_eq!(run("INSERT INTO t VALUES (1, 3)", ends), WRONG_END);
}
