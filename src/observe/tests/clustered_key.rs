//! Rows that are deleted and inserted again: one row to the engine only where the clustered key is the
//! same.

use std::collections::BTreeMap;

use super::{Line, READ, Script, id, script};
use crate::model::{IsolationLevel, Observation, Row, TransactionStatus, UndecidedReason, Value};
use crate::observe::{Account, Learner, Timeline, learn};
use crate::statement;

/// One line of a script whose rows have three columns.
pub(super) type WideLine<'a> = (u32, &'a str, Option<&'a [[i64; 3]]>);

/// A script on a table of this definition, whose rows have a third column: `c0`.
pub(super) fn wide_script(table: &str, lines: &[WideLine<'_>]) -> Script {
    let level = IsolationLevel::RepeatableRead;
    let narrow: Vec<Line<'_>> = lines.iter().map(|(s, sql, _)| (*s, *sql, None)).collect();
    let mut script = script(level, None, &narrow);
    script.case.setup[0].sql = table.to_owned();
    script.case.tables = statement::shapes(&script.case.setup, &script.dialect);
    let rows = |rows: &[[i64; 3]]| -> Vec<Row> {
        let row = |row: &[i64; 3]| row.iter().copied().map(Value::Integer).collect();
        rows.iter().map(row).collect()
    };
    for (statement, (_, _, seen)) in script.case.statements.iter().zip(lines) {
        if let Some(seen) = seen {
            // Between the answer and the next statement there is room for one tick.
            let answered = script.execution.records[&statement.id].answered;
            script.execution.observations.push(Observation {
                tick: answered,
                active: vec![statement.id],
                tables: BTreeMap::from([("t".to_owned(), rows(seen))]),
            });
        }
    }
    for transaction in script.case.statements.iter().map(|s| s.id.transaction) {
        let is_explicit = script.case.is_explicit(transaction);
        let record = script.execution.records.values();
        let mut answers = record.filter(|r| r.id.transaction == transaction);
        if let Some(answer) = answers.next().filter(|_| !is_explicit) {
            let status = TransactionStatus::Committed(answer.answered);
            script.execution.transactions.insert(transaction, status);
        }
    }
    script
}

pub(super) fn learn_wide(script: &Script, initial: &[[i64; 3]]) -> Account {
    learn_wide_by(Learner::Observer, script, initial)
}

pub(super) fn learn_wide_by(learner: Learner, script: &Script, initial: &[[i64; 3]]) -> Account {
    let row = |row: &[i64; 3]| row.iter().copied().map(Value::Integer).collect();
    let initial = BTreeMap::from([("t".to_owned(), initial.iter().map(row).collect())]);
    let timeline = Timeline::new(&script.case, &script.execution, &script.dialect);
    learn(
        &script.case,
        &script.execution,
        &timeline,
        &initial,
        &script.dialect,
        learner,
    )
}

/// s1 has a snapshot, s2 deletes the row, s1 inserts one with its row key and reads.
fn deleted_and_inserted_again(table: &str, c0: i64) -> Account {
    let insert = format!("INSERT INTO t (pkey, vkey, c0) VALUES (1, 1000, {c0})");
    let script = wide_script(
        table,
        &[
            (1, "START TRANSACTION WITH CONSISTENT SNAPSHOT", None),
            (2, "DELETE FROM t", Some(&[])),
            (1, &insert, Some(&[[1, 1000, c0]])),
            (1, READ, None),
            (1, "COMMIT", None),
        ],
    );
    learn_wide(&script, &[[1, 10, 20]])
}

#[test]
fn a_row_inserted_under_another_clustered_key_does_not_hide_the_deleted_one_of_the_snapshot() {
    let by_c0 = "CREATE TABLE t (pkey INT NOT NULL, vkey INT, c0 INT PRIMARY KEY)";
    let without_key = "CREATE TABLE t (pkey INT, vkey INT, c0 INT)";
    for (table, c0) in [(by_c0, 0), (without_key, 20)] {
        let account = deleted_and_inserted_again(table, c0);
        let seen: Vec<i64> = account.views[&id(1, 3)]["t"]
            .values()
            .flatten()
            .filter_map(|&version| account.chains.row(version)?[1].as_integer())
            .collect();
        assert_eq!(seen, [10, 1000], "{table}");
        assert_eq!(account.unsure, BTreeMap::new(), "{table}");
    }
}

#[test]
fn a_row_inserted_under_the_same_clustered_key_hides_the_deleted_one() {
    for table in [
        "CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c0 INT)",
        "CREATE TABLE t (pkey INT NOT NULL UNIQUE, vkey INT, c0 INT)",
    ] {
        let account = deleted_and_inserted_again(table, 0);
        let seen = account.views[&id(1, 3)]["t"].values().flatten();
        let rows: Vec<_> = seen.filter_map(|&v| account.chains.row(v)).collect();
        assert_eq!(rows.len(), 1, "{table}");
    }
}

#[test]
fn a_view_that_no_table_can_hold_is_given_up() {
    // MySQL's and MariaDB's answer is right: the snapshot's row and the own one, both with pkey 1.
    let table = "CREATE TABLE t (pkey INT NOT NULL UNIQUE, vkey INT, c0 INT PRIMARY KEY)";
    let account = deleted_and_inserted_again(table, 0);
    assert_eq!(
        account.unsure.get(&id(1, 3)),
        Some(&UndecidedReason::TwoRowsOfOneUniqueKey)
    );
}
