//! What is asked in the sessions themselves, and what is learned from it.

use std::collections::BTreeMap;

use super::clustered_key::{WideLine, learn_wide_by, wide_script};
use super::{Script, dialect, id};
use crate::dialect::{MODES, ServerVersion, dialect_of, parse};
use crate::model::{
    IsolationLevel, Outcome, ProbeAnswer, ProbeTag, Row, StatementId, Tick, UndecidedReason, Value,
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

/// The probe before a write answers these rows, right when the write is sent.
fn answer_before(script: &mut Script, statement: StatementId, rows: &[[i64; 3]]) {
    let table = "t".to_owned();
    let tick = script.execution.records[&statement].sent;
    answer(
        script,
        statement,
        ProbeTag::BeforeWrite { table },
        tick,
        rows,
    );
}

/// The probe after a write answers these rows, right behind the write's own answer.
fn answer_after(script: &mut Script, statement: StatementId, rows: &[[i64; 3]]) {
    let plan = instrument(&script.case, &script.dialect, Learner::Probes);
    let tag = plan.after[&statement][0].tag.clone();
    let tick = script.execution.records[&statement].answered;
    answer(script, statement, tag, tick, rows);
}

fn answer(
    script: &mut Script,
    statement: StatementId,
    tag: ProbeTag,
    tick: Tick,
    rows: &[[i64; 3]],
) {
    let row = |row: &[i64; 3]| -> Row { row.iter().copied().map(Value::Integer).collect() };
    script.execution.probes.push(ProbeAnswer {
        statement,
        tag,
        sql: String::new(),
        tick,
        parted: false,
        outcome: Outcome::Rows(rows.iter().map(row).collect()),
    });
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
    answer_after(&mut script, id(2, 1), &[[1, 10, 5], [2, 1000, 7]]);
    answer_before(&mut script, id(1, 2), matched);
    answer_after(&mut script, id(1, 2), shown);
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

/// Its count holds the row that it puts in, too.
#[test]
fn a_replace_leaves_rows_newer_than_its_snapshot_that_have_other_keys() {
    let replace = "REPLACE INTO t (pkey, vkey, c0) VALUES (1, 1001, 8)";
    let account = past_the_snapshot(replace, 2, &[], &[[1, 1001, 8]]);
    let expected = vec![(vec![1, 10, 5], vec![1, 1001, 8])];
    assert_eq!(changes(&account, id(1, 2)), expected);
    assert_eq!(account.gap, None);
}

/// In a table without a primary key, a row that was replaced lies elsewhere: a snapshot shows the old one beside what
/// its transaction made of the new one.
#[test]
fn a_row_that_was_replaced_since_the_snapshot_is_not_the_one_that_the_snapshot_shows() {
    let lines: [WideLine<'_>; 5] = [
        (1, "START TRANSACTION WITH CONSISTENT SNAPSHOT", None),
        (
            2,
            "REPLACE INTO t (pkey, vkey, c0) VALUES (1, 1000, 6)",
            None,
        ),
        (1, "UPDATE t SET vkey = 1001", None),
        (1, "DELETE FROM t", None),
        (1, "COMMIT", None),
    ];
    let table = "CREATE TABLE t (pkey INT UNIQUE, vkey INT, c0 INT)";
    let mut script = wide_script(table, &lines);
    answer_after(&mut script, id(2, 1), &[[1, 1000, 6]]);
    answer_before(&mut script, id(1, 2), &[[1, 1000, 6]]);
    answer_after(&mut script, id(1, 2), &[[1, 10, 5], [1, 1001, 6]]);
    answer_before(&mut script, id(1, 3), &[[1, 1001, 6]]);
    answer_after(&mut script, id(1, 3), &[[1, 10, 5]]);
    for write in [id(1, 2), id(1, 3)] {
        let record = script.execution.records.get_mut(&write);
        record.expect("it ran").outcome = Outcome::Affected(1);
    }
    let account = learn_by_probes(&script, &[[1, 10, 5]]);
    let expected = vec![(vec![1, 1000, 6], vec![1, 1001, 6])];
    assert_eq!(changes(&account, id(1, 2)), expected);
    assert_eq!(changes(&account, id(1, 3)), [(vec![1, 1001, 6], vec![])]);
    assert_eq!(account.gap, None);
}

/// s1 has a snapshot; s2 changes the row (1, 10, 5) to (1, 10, 6) and commits; s1 runs `sql` (T1.2), which counts
/// `affected` rows, and its plain read afterwards shows the row as the snapshot has it. No column tells versions apart.
fn back_to_the_snapshot(sql: &str, affected: u64, matched: &[[i64; 3]]) -> Account {
    let lines: [WideLine<'_>; 4] = [
        (1, "START TRANSACTION WITH CONSISTENT SNAPSHOT", None),
        (2, "UPDATE t SET c0 = 6", None),
        (1, sql, None),
        (1, "COMMIT", None),
    ];
    let table = "CREATE TABLE t (pkey INT PRIMARY KEY, c1 INT, c0 INT)";
    let mut script = wide_script(table, &lines);
    answer_after(&mut script, id(2, 1), &[[1, 10, 6]]);
    answer_before(&mut script, id(1, 2), matched);
    answer_after(&mut script, id(1, 2), &[[1, 10, 5]]);
    let record = script.execution.records.get_mut(&id(1, 2));
    record.expect("it ran").outcome = Outcome::Affected(affected);
    learn_by_probes(&script, &[[1, 10, 5]])
}

#[test]
fn a_row_that_gets_back_what_the_snapshot_shows_of_it_is_told_by_the_count() {
    let update = "UPDATE t SET c0 = 5";
    let stood = [[1, 10, 6]];
    let account = back_to_the_snapshot(update, 1, &stood);
    assert_eq!(
        changes(&account, id(1, 2)),
        [(vec![1, 10, 6], vec![1, 10, 5])]
    );
    assert_eq!(account.gap, None);
    let account = back_to_the_snapshot("UPDATE t SET c0 = c0", 0, &stood);
    assert_eq!(changes(&account, id(1, 2)), []);
    assert_eq!(account.gap, None);
    // It counts a row that it did not match; a count that holds rows put in, too.
    let unclear = Some(UndecidedReason::ChangeBackToTheSnapshot);
    assert_eq!(back_to_the_snapshot(update, 1, &[]).gap, unclear);
    let replace = "REPLACE INTO t (pkey, c1, c0) VALUES (1, 10, 5)";
    assert_eq!(back_to_the_snapshot(replace, 2, &stood).gap, unclear);
}

/// An optimistic transaction of TiDB: what it writes over is what its snapshot shows, whatever stands there now.
#[test]
fn an_optimistic_write_changes_the_row_of_its_snapshot_though_another_has_deleted_or_changed_it() {
    let (name, text) = MODES[0];
    let version = ServerVersion(vec![8, 5, 4]);
    let optimistic = parse(name, text, &version).expect("valid");
    for (others, stands) in [
        ("DELETE FROM t", &[][..]),
        ("UPDATE t SET vkey = 1000", &[[1, 1000, 5]]),
    ] {
        for (own, left) in [
            ("UPDATE t SET vkey = 1001", Some([1, 1001, 5])),
            ("DELETE FROM t", None),
        ] {
            let lines: [WideLine<'_>; 4] = [
                (1, "BEGIN", None),
                (2, others, None),
                (1, own, None),
                (1, "ROLLBACK", None),
            ];
            let mut script = wide_script(TABLE, &lines);
            script.dialect = optimistic.clone();
            answer_after(&mut script, id(2, 1), stands);
            answer_after(&mut script, id(1, 2), left.as_slice());
            let account = learn_by_probes(&script, &[[1, 10, 5]]);
            let after = left.map(Vec::from).unwrap_or_default();
            assert_eq!(changes(&account, id(1, 2)), [(vec![1, 10, 5], after)]);
            assert_eq!(account.gap, None);
        }
    }
}

/// What s2 reads while s1's transaction is open, or behind its end, and its probe with it: the view of it.
fn read_beside(end: &str, is_behind: bool, shown: [i64; 3]) -> Vec<i64> {
    let read = (2, "SELECT * FROM t", None);
    let mut lines: Vec<WideLine<'_>> = vec![
        (1, "BEGIN", None),
        (1, "UPDATE t SET vkey = 1000", None),
        (1, end, None),
    ];
    lines.insert(if is_behind { 3 } else { 2 }, read);
    let mut script = wide_script(TABLE, &lines);
    script.dialect = dialect_of("tidb", "8.5.4");
    answer_after(&mut script, id(1, 2), &[[1, 1000, 5]]);
    let tag = ProbeTag::VersionSet {
        table: "t".to_owned(),
        locking: false,
    };
    // Before a statement is sent there is room for one tick.
    let before = Tick(script.execution.records[&id(2, 1)].sent.0 - 1);
    answer(&mut script, id(2, 1), tag, before, &[shown]);
    let account = learn_by_probes(&script, &[[1, 10, 5]]);
    let seen = account.views[&id(2, 1)]["t"].values().flatten();
    let rows = seen.filter_map(|version| account.chains.row(*version));
    rows.flatten().filter_map(Value::as_integer).collect()
}

/// Where nothing but probes tells, a probe may read as wrongly as its statement does.
#[test]
fn what_a_probe_shows_of_an_uncommitted_write_is_no_view() {
    let (old, new) = ([1, 10, 5], [1, 1000, 5]);
    assert_eq!(read_beside("COMMIT", true, new), new);
    for end in ["COMMIT", "ROLLBACK"] {
        assert_eq!(read_beside(end, false, new), old, "{end}");
        assert_eq!(read_beside(end, false, old), old, "{end}");
    }
    assert_eq!(read_beside("ROLLBACK", true, new), old);
}

/// A write, the row that it matches, how many rows it counts, and what a plain read shows afterwards.
type ProbedWrite<'a> = (&'a str, Option<[i64; 3]>, u64, &'a [[i64; 3]]);

/// s1 has a snapshot; s2 moves the row (1, 10, 5) to (1, 1000, 6) and commits; s1 runs these writes, T1.2
/// and on.
fn after_a_move(statements: &[ProbedWrite<'_>]) -> Account {
    let mut lines: Vec<WideLine<'_>> = vec![
        (1, "START TRANSACTION WITH CONSISTENT SNAPSHOT", None),
        (2, "UPDATE t SET vkey = 1000, c0 = 6", None),
    ];
    lines.extend(statements.iter().map(|(sql, ..)| (1, *sql, None)));
    lines.push((1, "COMMIT", None));
    let by_c0 = "CREATE TABLE t (pkey INT NOT NULL, vkey INT, c0 INT PRIMARY KEY)";
    let mut script = wide_script(by_c0, &lines);
    answer_after(&mut script, id(2, 1), &[[1, 1000, 6]]);
    for (position, (_, matched, counted, shown)) in (2..).zip(statements) {
        let statement = id(1, position);
        answer_before(&mut script, statement, matched.as_slice());
        answer_after(&mut script, statement, shown);
        let record = script.execution.records.get_mut(&statement);
        record.expect("it ran").outcome = Outcome::Affected(*counted);
    }
    learn_by_probes(&script, &[[1, 10, 5]])
}

#[test]
fn a_row_that_was_moved_since_the_snapshot_is_not_the_one_that_the_snapshot_shows() {
    let account = after_a_move(&[("DELETE FROM t", Some([1, 1000, 6]), 1, &[[1, 10, 5]])]);
    assert_eq!(changes(&account, id(1, 2)), [(vec![1, 1000, 6], vec![])]);
}

#[test]
fn a_snapshot_may_show_a_row_at_its_old_place_beside_the_readers_own_version() {
    let account = after_a_move(&[
        (
            "UPDATE t SET vkey = 1001",
            Some([1, 1000, 6]),
            1,
            &[[1, 10, 5], [1, 1001, 6]],
        ),
        (
            "UPDATE t SET vkey = 1002, c0 = 7",
            Some([1, 1001, 6]),
            1,
            &[[1, 10, 5], [1, 1002, 7]],
        ),
    ]);
    let expected = vec![(vec![1, 1000, 6], vec![1, 1001, 6])];
    assert_eq!(changes(&account, id(1, 2)), expected);
    let expected = vec![(vec![1, 1001, 6], vec![1, 1002, 7])];
    assert_eq!(changes(&account, id(1, 3)), expected);
}

#[test]
fn a_snapshot_may_show_a_row_at_its_old_place_that_the_reader_has_deleted_at_the_new_one() {
    let account = after_a_move(&[
        ("DELETE FROM t", Some([1, 1000, 6]), 1, &[[1, 10, 5]]),
        ("DELETE FROM t", None, 0, &[[1, 10, 5]]),
    ]);
    assert_eq!(changes(&account, id(1, 2)), [(vec![1, 1000, 6], vec![])]);
    assert_eq!(changes(&account, id(1, 3)), []);
    assert_eq!(account.gap, None);
}

/// In whatever order the two places come, the read sees its own version; the old place is the doubt's.
#[test]
fn a_read_whose_probe_shows_both_places_of_a_row_sees_the_readers_own_version() {
    for shown in [[[1, 10, 5], [1, 1001, 6]], [[1, 1001, 6], [1, 10, 5]]] {
        let lines: [WideLine<'_>; 5] = [
            (1, "START TRANSACTION WITH CONSISTENT SNAPSHOT", None),
            (2, "UPDATE t SET vkey = 1000, c0 = 6", None),
            (1, "UPDATE t SET vkey = 1001", None),
            (1, "SELECT * FROM t", None),
            (1, "COMMIT", None),
        ];
        let by_c0 = "CREATE TABLE t (pkey INT NOT NULL, vkey INT, c0 INT PRIMARY KEY)";
        let mut script = wide_script(by_c0, &lines);
        answer_after(&mut script, id(2, 1), &[[1, 1000, 6]]);
        answer_before(&mut script, id(1, 2), &[[1, 1000, 6]]);
        answer_after(&mut script, id(1, 2), &[[1, 10, 5], [1, 1001, 6]]);
        let (read, table) = (id(1, 3), "t".to_owned());
        let tick = script.execution.records[&read].sent;
        let locking = false;
        let whole = ProbeTag::VersionSet { table, locking };
        answer(&mut script, read, whole, tick, &shown);
        let account = learn_by_probes(&script, &[[1, 10, 5]]);
        let seen = account.views[&read]["t"].values().flatten();
        let seen: Vec<_> = seen.map(|v| account.chains.version(*v).writer).collect();
        assert_eq!(seen, [id(1, 2)]);
        assert_eq!(account.unsure, BTreeMap::new());
    }
}

/// Two statements that one release woke may answer in another order than they wrote: of a read that came
/// after the answer of the other nobody knows whose row replaced whose.
#[test]
fn a_read_after_a_write_that_another_session_parts_from_it_leaves_a_gap_at_every_level() {
    let lines: [WideLine<'_>; 3] = [
        (1, "BEGIN", None),
        (1, "UPDATE t SET vkey = 1000", None),
        (1, "COMMIT", None),
    ];
    let mut script = wide_script(TABLE, &lines);
    answer_after(&mut script, id(1, 2), &[[1, 1000, 5]]);
    assert_eq!(learn_by_probes(&script, &[[1, 10, 5]]).gap, None);
    script.execution.probes[0].parted = true;
    assert!(script.execution.probes[0].is_lost());
    let account = learn_by_probes(&script, &[[1, 10, 5]]);
    assert_eq!(account.gap, Some(UndecidedReason::PartedProbe));
}
