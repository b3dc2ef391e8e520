//! What InnoDB lets go when a transaction returns to a savepoint that was set before it touched a
//! table (MySQL#119490), and what it keeps.

use std::collections::BTreeMap;

use super::super::Timeline;
use super::{Line, READ, Script, id, script};
use crate::model::{
    CaseStatement, Doubt, ErrorClass, IsolationLevel, Outcome, SqlError, StatementKind,
    TransactionId, TransactionStatus,
};

/// T1 reads, T2 changes a row and commits, T1 returns to its savepoint and reads again.
fn returns(before: &[&'static str], after: &[&'static str]) -> Script {
    let line = |sql: &&'static str| -> Line<'_> { (1, sql, None) };
    let mut lines: Vec<Line<'_>> = vec![(1, "BEGIN", None)];
    lines.extend(before.iter().map(line));
    let change = "UPDATE t SET vkey = 1000 WHERE pkey = 1";
    lines.push((2, change, Some(&[(1, 1000), (2, 20)])));
    lines.extend(after.iter().map(line));
    lines.push((1, "COMMIT", None));
    let mut script = script(IsolationLevel::RepeatableRead, None, &lines);
    let tick = script.execution.records[&id(2, 1)].answered;
    let status = TransactionStatus::Committed(tick);
    script
        .execution
        .transactions
        .insert(TransactionId(2), status);
    script
}

/// What the last read of T1 sees, and the registered behaviour that lets it.
fn last_read(script: &Script) -> (Vec<i64>, Option<Doubt>) {
    let is_read = |s: &&CaseStatement| s.effect.kind == StatementKind::Select;
    let last = script.case.statements.iter().rfind(is_read);
    let id = last.map(|s| s.id).expect("it reads");
    let registered: BTreeMap<_, _> = script.learn().registered;
    (script.seen(id), registered.get(&id).copied())
}

#[test]
fn a_return_to_an_early_savepoint_lets_the_snapshot_go() {
    let script = returns(&["SAVEPOINT a", READ], &["ROLLBACK TO a", READ]);
    assert_eq!(
        last_read(&script),
        (vec![1000, 20], Some(Doubt::EarlySavepoint))
    );
}

#[test]
fn a_savepoint_after_the_first_table_keeps_it() {
    let script = returns(&[READ, "SAVEPOINT a", READ], &["ROLLBACK TO a", READ]);
    assert_eq!(last_read(&script), (vec![10, 20], None));
}

/// T1's first write was rejected, for this reason.
fn after_a_rejection(class: ErrorClass) -> (Vec<i64>, Option<Doubt>) {
    let write = "UPDATE t SET vkey = 1001 WHERE pkey = 2";
    let mut script = returns(&[write, "SAVEPOINT a", READ], &["ROLLBACK TO a", READ]);
    let record = script.execution.records.get_mut(&id(1, 2));
    record.expect("it ran").outcome = Outcome::Rejected(SqlError {
        code: String::new(),
        class,
        message: String::new(),
    });
    last_read(&script)
}

#[test]
fn a_write_that_the_server_refused_leaves_the_savepoint_early() {
    let let_go = (vec![1000, 20], Some(Doubt::EarlySavepoint));
    assert_eq!(after_a_rejection(ErrorClass::ReadOnly), let_go);
    assert_eq!(after_a_rejection(ErrorClass::Missing), let_go);
}

#[test]
fn a_write_that_was_refused_for_a_row_makes_the_savepoint_a_late_one() {
    assert_eq!(
        after_a_rejection(ErrorClass::Duplicate),
        (vec![10, 20], None)
    );
}

#[test]
fn a_later_savepoint_of_the_same_name_is_no_early_one() {
    let script = returns(
        &["SAVEPOINT a", READ, "SAVEPOINT a"],
        &["ROLLBACK TO a", READ],
    );
    assert_eq!(last_read(&script), (vec![10, 20], None));
}

#[test]
fn a_return_that_found_nothing_to_let_go_excuses_nothing() {
    let script = returns(&["SAVEPOINT a"], &["ROLLBACK TO a", READ]);
    assert_eq!(last_read(&script), (vec![1000, 20], None));
}

#[test]
fn what_was_done_before_the_return_is_let_go_and_nothing_after_it() {
    let script = returns(&["SAVEPOINT a", READ], &["ROLLBACK TO a", READ]);
    let timeline = Timeline::new(&script.case, &script.execution, &script.dialect);
    assert!(timeline.let_go(id(1, 3)).is_some());
    assert_eq!(timeline.let_go(id(1, 5)), None);
    assert_eq!(timeline.let_go(id(2, 1)), None);
}
