//! What is asked in the sessions themselves, and what is learned from it.

use super::clustered_key::{WideLine, learn_wide_by, wide_script};
use super::{Script, dialect, id};
use crate::model::{
    IsolationLevel, Outcome, ProbeAnswer, ProbeTag, Row, StatementId, UndecidedReason, Value,
};
use crate::observe::{Account, Learner, instrument};
use crate::reproducer::case_of;

const TABLE: &str = "CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c0 INT)";

/// The reads before and after one statement in an explicit transaction.
fn probes(level: IsolationLevel, sql: &str) -> [Vec<String>; 2] {
    let dialect = dialect();
    let text = format!(
        "--! isolation = \"{level}\"\n\
         /* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT);\n\
         /* init */ CREATE TABLE u (pkey INT PRIMARY KEY, vkey INT);\n\
         /* s1 */ BEGIN;\n/* s1 */ {sql};\n/* s1 */ COMMIT;\n"
    );
    let case = case_of(&text, &dialect);
    let plan = instrument(&case, &dialect, Learner::Probes);
    [plan.before, plan.after].map(|probes| {
        let of_statement = probes.get(&id(1, 2)).into_iter().flatten();
        of_statement.map(|probe| probe.sql.clone()).collect()
    })
}

#[test]
fn nothing_is_locked_but_the_rows_that_a_write_matches() {
    let whole = "SELECT `pkey`, `vkey` FROM `t`";
    let level = IsolationLevel::RepeatableRead;
    let table: [(&str, &[&str], &[&str]); 5] = [
        (
            "UPDATE t SET vkey = 9 WHERE pkey > 2 ORDER BY pkey LIMIT 1",
            &[
                "SELECT `pkey`, `vkey` FROM t WHERE pkey > 2 ORDER BY pkey LIMIT 1 FOR UPDATE NOWAIT",
            ],
            &[whole],
        ),
        ("INSERT INTO t SELECT pkey, 9 FROM u", &[], &[whole]),
        (
            "UPDATE t SET vkey = 9 WHERE EXISTS (SELECT 1 FROM u)",
            &[],
            &[whole],
        ),
        ("SELECT * FROM t FOR UPDATE", &[], &[]),
        ("SELECT * FROM t", &[whole], &[]),
    ];
    for (sql, before, after) in table {
        assert_eq!(probes(level, sql), [before, after], "{sql}");
    }
}

#[test]
fn where_plain_reads_lock_the_tables_are_locked_whole() {
    let [before, after] = probes(
        IsolationLevel::Serializable,
        "INSERT INTO t SELECT pkey, 9 FROM u",
    );
    let locked = |table, clause| format!("SELECT `pkey`, `vkey` FROM `{table}` {clause}");
    assert_eq!(
        before,
        [locked("t", "FOR UPDATE"), locked("u", "LOCK IN SHARE MODE")]
    );
    assert_eq!(after, [locked("t", "FOR UPDATE")]);
}

/// Adds a probe's answer right behind the answer of its statement.
fn answer(script: &mut Script, statement: StatementId, tag: ProbeTag, rows: &[[i64; 3]]) {
    let row = |row: &[i64; 3]| -> Row { row.iter().copied().map(Value::Integer).collect() };
    let record = &script.execution.records[&statement];
    let tick = match tag {
        ProbeTag::AfterWrite { .. } => record.answered,
        ProbeTag::FixSnapshot | ProbeTag::BeforeWrite { .. } | ProbeTag::VersionSet { .. } => {
            record.sent
        }
    };
    script.execution.probes.push(ProbeAnswer {
        statement,
        tag,
        sql: String::new(),
        tick,
        parted: false,
        outcome: Outcome::Rows(rows.iter().map(row).collect()),
    });
}

fn before_write() -> ProbeTag {
    ProbeTag::BeforeWrite {
        table: "t".to_owned(),
    }
}

fn after_write() -> ProbeTag {
    ProbeTag::AfterWrite {
        table: "t".to_owned(),
        locking: false,
    }
}

fn learn_by_probes(script: &Script, initial: &[[i64; 3]]) -> Account {
    learn_wide_by(Learner::Probes, script, initial)
}

/// What a statement changed: rows before and after.
fn changes(account: &Account, by: StatementId) -> Vec<(Vec<i64>, Vec<i64>)> {
    let row = |version| {
        let row = account.chains.row(version).into_iter().flatten();
        row.filter_map(Value::as_integer).collect()
    };
    let changes = account.changes.get(&by).into_iter().flatten();
    changes
        .map(|change| {
            let before = change.before.map(row).unwrap_or_default();
            (before, row(change.after))
        })
        .collect()
}

/// s1 has a snapshot; s2 inserts row 2 and commits; s1 runs `sql` (T1.2), which counts `affected`
/// rows, and its plain read afterwards shows `shown`.
fn past_the_snapshot(
    sql: &str,
    affected: u64,
    matched: &[[i64; 3]],
    shown: &[[i64; 3]],
) -> Account {
    let lines: [WideLine<'_>; 4] = [
        (1, "START TRANSACTION WITH CONSISTENT SNAPSHOT", None),
        (
            2,
            "INSERT INTO t (pkey, vkey, c0) VALUES (2, 1000, 7)",
            None,
        ),
        (1, sql, None),
        (1, "COMMIT", None),
    ];
    let mut script = wide_script(TABLE, &lines);
    answer(
        &mut script,
        id(2, 1),
        after_write(),
        &[[1, 10, 5], [2, 1000, 7]],
    );
    answer(&mut script, id(1, 2), before_write(), matched);
    answer(&mut script, id(1, 2), after_write(), shown);
    let record = script.execution.records.get_mut(&id(1, 2));
    record.expect("it ran").outcome = Outcome::Affected(affected);
    learn_by_probes(&script, &[[1, 10, 5]])
}

#[test]
fn a_write_past_the_snapshot_of_its_transaction_replaces_what_stands() {
    let update = "UPDATE t SET vkey = 1001 WHERE pkey = 2";
    let account = past_the_snapshot(update, 1, &[[2, 1000, 7]], &[[1, 10, 5], [2, 1001, 7]]);
    let expected = vec![(vec![2, 1000, 7], vec![2, 1001, 7])];
    assert_eq!(changes(&account, id(1, 2)), expected);
    assert_eq!(account.gap, None);
}

#[test]
fn a_row_newer_than_the_snapshot_is_deleted_by_whom_matched_and_counted_it() {
    let delete = "DELETE FROM t WHERE c0 = 7";
    let account = past_the_snapshot(delete, 1, &[[2, 1000, 7]], &[[1, 10, 5]]);
    assert_eq!(changes(&account, id(1, 2)), [(vec![2, 1000, 7], vec![])]);
    assert_eq!(account.gap, None);
    let account = past_the_snapshot(delete, 0, &[], &[[1, 10, 5]]);
    assert_eq!(changes(&account, id(1, 2)), []);
    assert_eq!(account.gap, None);
}

#[test]
fn where_nothing_tells_whether_such_a_row_is_gone_the_run_is_given_up() {
    let beyond = Some(UndecidedReason::DeletionBeyondTheSnapshot);
    // It counts a row that it did not match.
    let account = past_the_snapshot("DELETE FROM t WHERE c0 = 9", 1, &[], &[[1, 10, 5]]);
    assert_eq!(account.gap, beyond);
    // Any number of rows may have been moved.
    let account = past_the_snapshot("UPDATE t SET pkey = 2, vkey = 9", 0, &[], &[[1, 10, 5]]);
    assert_eq!(account.gap, beyond);
}

#[test]
fn a_replace_removes_whoever_has_its_key() {
    let replace = "REPLACE INTO t (pkey, vkey, c0) VALUES (2, 1001, 8)";
    let account = past_the_snapshot(replace, 2, &[], &[[1, 10, 5], [2, 1001, 8]]);
    let expected = vec![(vec![2, 1000, 7], vec![2, 1001, 8])];
    assert_eq!(changes(&account, id(1, 2)), expected);
}

#[test]
fn a_row_that_was_moved_since_the_snapshot_is_not_the_one_that_the_snapshot_shows() {
    let lines: [WideLine<'_>; 4] = [
        (1, "START TRANSACTION WITH CONSISTENT SNAPSHOT", None),
        (2, "UPDATE t SET vkey = 1000, c0 = 6", None),
        (1, "DELETE FROM t", None),
        (1, "COMMIT", None),
    ];
    let by_c0 = "CREATE TABLE t (pkey INT NOT NULL, vkey INT, c0 INT PRIMARY KEY)";
    let mut script = wide_script(by_c0, &lines);
    answer(&mut script, id(2, 1), after_write(), &[[1, 1000, 6]]);
    answer(&mut script, id(1, 2), before_write(), &[[1, 1000, 6]]);
    answer(&mut script, id(1, 2), after_write(), &[[1, 10, 5]]);
    let record = script.execution.records.get_mut(&id(1, 2));
    record.expect("it ran").outcome = Outcome::Affected(1);
    let account = learn_by_probes(&script, &[[1, 10, 5]]);
    assert_eq!(changes(&account, id(1, 2)), [(vec![1, 1000, 6], vec![])]);
}

#[test]
fn a_snapshot_may_show_a_row_at_its_old_place_beside_the_readers_own_version() {
    let lines: [WideLine<'_>; 5] = [
        (1, "START TRANSACTION WITH CONSISTENT SNAPSHOT", None),
        (2, "UPDATE t SET vkey = 1000, c0 = 6", None),
        (1, "UPDATE t SET vkey = 1001", None),
        (1, "UPDATE t SET vkey = 1002, c0 = 7", None),
        (1, "COMMIT", None),
    ];
    let by_c0 = "CREATE TABLE t (pkey INT NOT NULL, vkey INT, c0 INT PRIMARY KEY)";
    let mut script = wide_script(by_c0, &lines);
    answer(&mut script, id(2, 1), after_write(), &[[1, 1000, 6]]);
    answer(
        &mut script,
        id(1, 2),
        after_write(),
        &[[1, 10, 5], [1, 1001, 6]],
    );
    answer(
        &mut script,
        id(1, 3),
        after_write(),
        &[[1, 10, 5], [1, 1002, 7]],
    );
    let account = learn_by_probes(&script, &[[1, 10, 5]]);
    let expected = vec![(vec![1, 1000, 6], vec![1, 1001, 6])];
    assert_eq!(changes(&account, id(1, 2)), expected);
    let expected = vec![(vec![1, 1001, 6], vec![1, 1002, 7])];
    assert_eq!(changes(&account, id(1, 3)), expected);
}

#[test]
fn a_snapshot_may_show_a_row_at_its_old_place_that_the_reader_has_deleted_at_the_new_one() {
    let lines: [WideLine<'_>; 5] = [
        (1, "START TRANSACTION WITH CONSISTENT SNAPSHOT", None),
        (2, "UPDATE t SET vkey = 1000, c0 = 6", None),
        (1, "DELETE FROM t", None),
        (1, "DELETE FROM t", None),
        (1, "COMMIT", None),
    ];
    let by_c0 = "CREATE TABLE t (pkey INT NOT NULL, vkey INT, c0 INT PRIMARY KEY)";
    let mut script = wide_script(by_c0, &lines);
    answer(&mut script, id(2, 1), after_write(), &[[1, 1000, 6]]);
    for (statement, deleted) in [(id(1, 2), 1), (id(1, 3), 0)] {
        answer(&mut script, statement, after_write(), &[[1, 10, 5]]);
        let record = script.execution.records.get_mut(&statement);
        record.expect("it ran").outcome = Outcome::Affected(deleted);
    }
    let account = learn_by_probes(&script, &[[1, 10, 5]]);
    assert_eq!(changes(&account, id(1, 2)), [(vec![1, 1000, 6], vec![])]);
    assert_eq!(changes(&account, id(1, 3)), []);
    assert_eq!(account.gap, None);
}
