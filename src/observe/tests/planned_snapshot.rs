//! TiDB: a snapshot that BEGIN takes, and reads whose snapshot the plan of their statement chooses.

use super::clustered_key::{WideLine, learn_wide, wide_script};
use super::{AFTER, Line, READ, Script, UPDATE, id, script};
use crate::dialect::{Dialect, dialect_of};
use crate::execute::Instrumentation;
use crate::model::{Doubt, IsolationLevel, Tick, UndecidedReason};
use crate::observe::{Learner, Sight, instrument};
use crate::statement;

/// Reads `t` beside what it locks, which is nothing.
const SOURCE: &str = "SELECT * FROM (SELECT MAX(vkey) FROM t) d FOR UPDATE";

fn tidb() -> Dialect {
    dialect_of("tidb", "8.5.4")
}

/// s1 begins, s2 changes row 1 and commits where `changes` says so, s1 reads (T1.2).
fn read_after_begin(level: IsolationLevel, changes: bool, read: &str) -> Script {
    let mut lines: Vec<Line<'_>> = vec![(1, "BEGIN", None)];
    if changes {
        lines.extend([(2, "BEGIN", None), (2, UPDATE, AFTER), (2, "COMMIT", None)]);
    }
    lines.extend([(1, read, None), (1, "COMMIT", None)]);
    let mut script = script(level, None, &lines);
    script.dialect = tidb();
    script
}

#[test]
fn begin_takes_the_snapshot() {
    let repeatable = read_after_begin(IsolationLevel::RepeatableRead, true, READ);
    assert_eq!(repeatable.seen(id(1, 2)), [10, 20]);
    let committed = read_after_begin(IsolationLevel::ReadCommitted, true, READ);
    assert_eq!(committed.seen(id(1, 2)), [1000, 20]);
}

#[test]
fn a_source_is_given_up_only_where_the_two_snapshots_differ() {
    let unsure = |level, changes, read| {
        let account = read_after_begin(level, changes, read).learn();
        account.unsure.get(&id(1, 2)).copied()
    };
    let repeatable = IsolationLevel::RepeatableRead;
    let reason = Some(UndecidedReason::PlanChoosesTheSnapshot);
    assert_eq!(unsure(repeatable, true, SOURCE), reason);
    // Nothing changed meanwhile, one snapshot for both, or no source: whatever it gives is compared.
    assert_eq!(unsure(repeatable, false, SOURCE), None);
    assert_eq!(unsure(IsolationLevel::ReadCommitted, true, SOURCE), None);
    assert_eq!(unsure(repeatable, true, READ), None);
    assert_eq!(unsure(repeatable, true, "SELECT * FROM t FOR UPDATE"), None);
}

#[test]
fn a_source_of_a_statement_that_waited_is_given_up_where_it_changed_meanwhile() {
    // s2 sends its read, which waits until s1 has changed and committed.
    let unsure = |level, change, read| {
        let lines: &[Line<'_>] = &[
            (1, "BEGIN", None),
            (1, change, AFTER.filter(|_| change == UPDATE)),
            (1, "COMMIT", None),
            (2, "BEGIN", None),
            (2, read, None),
            (2, "COMMIT", None),
        ];
        let mut script = script(level, None, lines);
        script.dialect = tidb();
        let read = id(2, 2);
        let record = script.execution.records.get_mut(&read).expect("it ran");
        (record.sent, record.waiting) = (Tick(0), Some(Tick(0)));
        script.learn().unsure.get(&read).copied()
    };
    let committed = IsolationLevel::ReadCommitted;
    let reason = Some(UndecidedReason::PlanChoosesTheSnapshot);
    assert_eq!(unsure(committed, UPDATE, SOURCE), reason);
    assert_eq!(unsure(committed, "SELECT * FROM t", SOURCE), None);
    assert_eq!(
        unsure(committed, UPDATE, "SELECT * FROM t FOR UPDATE"),
        None
    );
}

#[test]
fn a_probe_reads_only_what_the_statement_would_read() {
    let probed = |level, read| {
        let script = read_after_begin(level, true, read);
        let plan: Instrumentation = instrument(&script.case, &tidb(), Learner::Probes);
        plan.before.get(&id(1, 2)).map_or(0, Vec::len)
    };
    assert_eq!(probed(IsolationLevel::ReadCommitted, SOURCE), 1);
    assert_eq!(probed(IsolationLevel::RepeatableRead, READ), 1);
    // A plain read shows the transaction's snapshot, and the source may be read in a newer one.
    assert_eq!(probed(IsolationLevel::RepeatableRead, SOURCE), 0);
}

#[test]
fn a_source_that_may_be_the_snapshot_shows_a_moved_row_at_its_old_place_too() {
    let table = "CREATE TABLE t (pkey INT, vkey INT, c0 INT PRIMARY KEY)";
    let beside = |moves: i64| {
        let lines: &[WideLine<'_>] = &[
            (1, "BEGIN", None),
            (2, "BEGIN", None),
            (2, "UPDATE t SET vkey = 1, c0 = 0", Some(&[[4, 1, moves]])),
            (2, "COMMIT", None),
            (1, "UPDATE t SET vkey = 2", Some(&[[4, 2, moves]])),
            (1, SOURCE, None),
            (1, "COMMIT", None),
        ];
        let mut script = wide_script(table, lines);
        script.dialect = tidb();
        let account = learn_wide(&script, &[[4, 13, 22]]);
        let latitude = account.latitudes.get(&id(1, 3)).cloned();
        let rows = latitude.map(|latitude| latitude.rows).unwrap_or_default();
        let sights = rows.iter().flat_map(|row| &row.sights);
        let moved = sights.filter(|(sight, doubt)| {
            matches!(sight, Sight::Beside(_)) && *doubt == Doubt::MovedKey
        });
        moved.count()
    };
    assert_eq!(beside(0), 1);
    // A row that stays where it was is seen once: a second one is heard.
    assert_eq!(beside(22), 0);
}

#[test]
fn a_row_of_the_snapshot_may_be_missing_by_a_key_that_its_reader_took_over_and_by_no_other() {
    // s1's snapshot has pkey 1; s2 puts another row in its place, which s1 deletes or leaves.
    let missing = |key: &str, taken: i64, deletes: bool| {
        let table = format!("CREATE TABLE t (pkey INT NOT NULL{key}, vkey INT, c0 INT)");
        let inserts = format!("INSERT INTO t (pkey, vkey, c0) VALUES ({taken}, 1000, 0)");
        let new = [[taken, 1000, 0]];
        let lines: &[WideLine<'_>] = &[
            (1, "BEGIN", None),
            (2, "BEGIN", None),
            (2, "DELETE FROM t", Some(&[])),
            (2, &inserts, Some(&new)),
            (2, "COMMIT", None),
            (
                1,
                if deletes { "DELETE FROM t" } else { READ },
                Some(if deletes { &[] } else { &new }),
            ),
            (1, READ, None),
            (1, "COMMIT", None),
        ];
        let mut script = wide_script(&table, lines);
        script.dialect = tidb();
        script.case.tables = statement::shapes(&script.case.setup, &script.dialect);
        let account = learn_wide(&script, &[[1, 10, 20]]);
        let seen = account.views[&id(1, 3)]["t"].values().flatten();
        let seen = seen.filter_map(|&version| account.chains.row(version)?[1].as_integer());
        assert_eq!(seen.collect::<Vec<_>>(), [10], "{key} {taken} {deletes}");
        let latitude = account.latitudes.get(&id(1, 3)).cloned();
        let rows = latitude.map(|latitude| latitude.rows).unwrap_or_default();
        let sights: Vec<_> = rows.into_iter().flat_map(|row| row.sights).collect();
        sights == [(Sight::Nothing, Doubt::TakenOverKey)]
    };
    assert!(missing(" UNIQUE", 1, true));
    assert!(!missing(" UNIQUE", 2, true), "another key");
    assert!(!missing("", 1, true), "no key");
    assert!(!missing(" UNIQUE", 1, false), "not written by the reader");
}

#[test]
fn a_unique_key_clusters_no_rows_of_tidb() {
    let clustered = |table: &str| {
        let mut script = wide_script(table, &[(1, READ, None)]);
        script.dialect = tidb();
        let tables = statement::shapes(&script.case.setup, &script.dialect);
        tables[0].clustered_key().is_some()
    };
    let unique = "CREATE TABLE t (pkey INT NOT NULL UNIQUE, vkey INT, c0 INT)";
    assert!(clustered(
        "CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c0 INT)"
    ));
    assert!(!clustered(unique));
    let innodb = wide_script(unique, &[(1, READ, None)]);
    assert!(innodb.case.tables[0].clustered_key().is_some());
}
