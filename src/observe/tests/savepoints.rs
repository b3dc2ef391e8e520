//! Which savepoints stand, what a return to one undoes, and answers about them that are wrong.

use super::{Line, UPDATE, id, script};
use crate::dialect::dialect_of;
use crate::model::{ErrorClass, IsolationLevel, Outcome, SqlError, StatementId};
use crate::observe::Timeline;

/// The timeline of T1, of which the statements at these positions are refused for the lack of something.
fn timeline_of(lines: &[&str], dialect: &str, missing: &[u32]) -> (Timeline, Vec<StatementId>) {
    let lines: Vec<Line<'_>> = lines.iter().map(|sql| (1, *sql, None)).collect();
    let mut script = script(IsolationLevel::ReadCommitted, None, &lines);
    for position in missing {
        let record = script.execution.records.get_mut(&id(1, *position));
        let record = record.expect("a statement of the script");
        record.outcome = Outcome::Rejected(SqlError {
            code: "1305".to_owned(),
            class: ErrorClass::Missing,
            message: "SAVEPOINT does not exist".to_owned(),
        });
        record.transaction_survives = true;
    }
    let dialect = dialect_of(dialect, "9.7.0");
    let timeline = Timeline::new(&script.case, &script.execution, &dialect);
    let ids = script.case.statements.iter().map(|s| s.id);
    (timeline, ids.collect())
}

/// The positions in T1 of the statements whose work was undone.
fn undone_positions(lines: &[&str], dialect: &str) -> Vec<u32> {
    let (timeline, ids) = timeline_of(lines, dialect, &[]);
    let undone = ids.iter().filter(|id| timeline.undone(**id).is_some());
    undone.map(|id| id.position).collect()
}

/// The positions in T1 of the statements whose answers about savepoints are wrong.
fn misfound_positions(lines: &[&str], dialect: &str, missing: &[u32]) -> Vec<u32> {
    let (timeline, ids) = timeline_of(lines, dialect, missing);
    let misfound = ids.iter().filter(|id| timeline.misfound_savepoint(**id));
    misfound.map(|id| id.position).collect()
}

#[test]
fn a_savepoint_is_found_where_it_stands_and_nowhere_else() {
    let lines = [
        "BEGIN",
        "SAVEPOINT a",
        "SAVEPOINT b",
        "ROLLBACK TO a",
        "ROLLBACK TO a",
        "ROLLBACK TO b",
        "RELEASE SAVEPOINT a",
        "RELEASE SAVEPOINT a",
        "COMMIT",
    ];
    let none = Vec::<u32>::new();
    for dialect in ["mysql", "sqlite"] {
        // `b` went with the first return to `a`, which stays, and `a` with its release.
        assert_eq!(misfound_positions(&lines, dialect, &[6, 8]), none);
        assert_eq!(misfound_positions(&lines, dialect, &[]), [6, 8]);
        assert_eq!(misfound_positions(&lines, dialect, &[5, 6, 8]), [5]);
        assert_eq!(misfound_positions(&lines, dialect, &[6, 7]), [7]);
    }
    // Of two equal names MySQL keeps the later one, SQLite both.
    let lines = [
        "BEGIN",
        "SAVEPOINT a",
        "SAVEPOINT a",
        "RELEASE SAVEPOINT a",
        "ROLLBACK TO a",
        "COMMIT",
    ];
    assert_eq!(misfound_positions(&lines, "mysql", &[5]), none);
    assert_eq!(misfound_positions(&lines, "sqlite", &[5]), [5]);
}

#[test]
fn savepoints_are_found_whatever_the_case_of_their_letters() {
    let lines = ["BEGIN", "SAVEPOINT a", UPDATE, "ROLLBACK TO A", "COMMIT"];
    assert_eq!(undone_positions(&lines, "mysql"), [3]);
    assert_eq!(undone_positions(&lines, "sqlite"), [3]);
}

#[test]
fn a_released_savepoint_uncovers_the_one_of_the_same_name_where_they_nest() {
    let lines = [
        "BEGIN",
        "SAVEPOINT a",
        UPDATE,
        "SAVEPOINT a",
        UPDATE,
        "RELEASE SAVEPOINT a",
        "ROLLBACK TO a",
        "COMMIT",
    ];
    assert_eq!(undone_positions(&lines, "sqlite"), [3, 4, 5, 6]);
}

#[test]
fn a_second_savepoint_of_the_same_name_replaces_the_first_on_mysql() {
    let lines = [
        "BEGIN",
        "SAVEPOINT a",
        "SAVEPOINT b",
        UPDATE,
        "SAVEPOINT a",
        UPDATE,
        "ROLLBACK TO b",
        "COMMIT",
    ];
    assert_eq!(undone_positions(&lines, "mysql"), [4, 5, 6]);
}

#[test]
fn a_released_savepoint_takes_the_later_ones_with_it() {
    // MySQL rejects the last ROLLBACK TO: `b` is gone. The script answers it all the same, which
    // must undo nothing.
    let lines = [
        "BEGIN",
        "SAVEPOINT a",
        "SAVEPOINT b",
        UPDATE,
        "RELEASE SAVEPOINT a",
        "ROLLBACK TO b",
        "COMMIT",
    ];
    assert_eq!(undone_positions(&lines, "mysql"), Vec::<u32>::new());
}
