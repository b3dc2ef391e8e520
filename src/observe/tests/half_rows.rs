//! Rows that a waiting statement has put into the clustered index, or removed from it, before it waits
//! for another index.

use super::clustered_key::{WideLine, learn_wide, wide_script};
use super::{Script, id};
use crate::dialect::dialect_with;
use crate::model::{
    ErrorClass, EventKind, ExecutionEvent, IsolationLevel, Outcome, SqlError, StatementId,
    TransactionStatus, UndecidedReason, Value,
};
use crate::observe::{Account, Sight};

/// By `c0`, with a unique index on the row key.
const BY_C0: &str = "CREATE TABLE t (pkey INT NOT NULL UNIQUE, vkey INT, c0 INT PRIMARY KEY)";

/// Has one statement wait until another is answered: its own answer comes right behind.
pub(super) fn wait_for(script: &mut Script, waiter: StatementId, release: StatementId) {
    let execution = &mut script.execution;
    let answered = execution.records[&release].answered;
    let record = execution.records.get_mut(&waiter).expect("it ran");
    let waits = std::mem::replace(&mut record.answered, answered);
    record.waiting = Some(waits);
    let is_answer = |e: &ExecutionEvent| e.statement == waiter && e.kind == EventKind::Answered;
    execution.events.retain(|event| !is_answer(event));
    for (tick, kind) in [(waits, EventKind::Waiting), (answered, EventKind::Answered)] {
        execution.events.push(ExecutionEvent {
            tick,
            statement: waiter,
            kind,
        });
    }
    let committed = TransactionStatus::Committed(answered);
    execution.transactions.insert(waiter.transaction, committed);
    for look in &mut execution.observations {
        look.active.retain(|id| *id != waiter);
        if look.active.contains(&release) {
            look.active.push(waiter);
        }
    }
}

fn refused_duplicate() -> Outcome {
    Outcome::Rejected(SqlError {
        code: "1062".to_owned(),
        class: ErrorClass::Duplicate,
        message: String::new(),
    })
}

/// The rows that stand when everything is over, by the chains.
fn standing(account: &Account) -> Vec<Vec<i64>> {
    let newest = |chain: &[_]| {
        let stands = chain.iter().rev().find(|id| {
            let version = account.chains.version(**id);
            version.undone.is_none()
        });
        account.chains.row(*stands?).cloned()
    };
    let rows = account.chains.table("t");
    let rows = rows.filter_map(|(_, chain)| newest(chain));
    rows.map(|row| row.iter().filter_map(Value::as_integer).collect())
        .collect()
}

fn learned(lines: &[WideLine<'_>], waiter: StatementId, release: StatementId) -> Account {
    let mut script = wide_script(BY_C0, lines);
    wait_for(&mut script, waiter, release);
    learn_wide(&script, &[[1, 10, 20]])
}

#[test]
fn an_upsert_that_goes_on_with_the_row_of_another_takes_back_its_own() {
    let upsert =
        "INSERT INTO t (pkey, vkey, c0) VALUES (1, 1000, 41) ON DUPLICATE KEY UPDATE vkey = 1000";
    let account = learned(
        &[
            (1, "BEGIN", None),
            (1, "DELETE FROM t", Some(&[])),
            (2, upsert, Some(&[[1, 1000, 41]])),
            (1, "ROLLBACK", Some(&[[1, 1000, 20]])),
        ],
        id(2, 1),
        id(1, 3),
    );
    assert_eq!(standing(&account), [[1, 1000, 20]]);
    assert_eq!(account.unexplained, Vec::<String>::new());
}

#[test]
fn an_upsert_that_gives_the_row_of_another_a_place_takes_back_its_own() {
    let upsert = "INSERT INTO t (pkey, vkey, c0) VALUES (1, 1000, 41) \
                  ON DUPLICATE KEY UPDATE vkey = 1000, c0 = 50";
    let account = learned(
        &[
            (1, "BEGIN", None),
            (1, "SELECT * FROM t FOR UPDATE", None),
            (2, upsert, Some(&[[1, 10, 20], [1, 1000, 41]])),
            (1, "ROLLBACK", Some(&[[1, 1000, 50]])),
        ],
        id(2, 1),
        id(1, 3),
    );
    assert_eq!(standing(&account), [[1, 1000, 50]]);
    assert_eq!(account.unexplained, Vec::<String>::new());
}

#[test]
fn an_upsert_may_have_moved_the_row_of_another_and_wait_again() {
    let upsert = "INSERT INTO t (pkey, vkey, c0) VALUES (1, 1000, 44) \
                  ON DUPLICATE KEY UPDATE vkey = 1000, c0 = 45";
    let account = learned(
        &[
            (1, "BEGIN", None),
            (1, "SELECT * FROM t WHERE pkey = 9 FOR UPDATE", None),
            (2, upsert, Some(&[[1, 1000, 45]])),
            (1, "COMMIT", Some(&[[1, 1000, 45]])),
        ],
        id(2, 1),
        id(1, 3),
    );
    assert_eq!(standing(&account), [[1, 1000, 45]]);
    assert_eq!(account.unexplained, Vec::<String>::new());
}

#[test]
fn an_insert_that_ignores_the_row_in_its_way_takes_back_its_own() {
    let account = learned(
        &[
            (1, "BEGIN", None),
            (1, "SELECT * FROM t FOR UPDATE", None),
            (
                2,
                "INSERT IGNORE INTO t (pkey, vkey, c0) VALUES (1, 1000, 41)",
                Some(&[[1, 10, 20], [1, 1000, 41]]),
            ),
            (1, "ROLLBACK", Some(&[[1, 10, 20]])),
        ],
        id(2, 1),
        id(1, 3),
    );
    assert_eq!(standing(&account), [[1, 10, 20]]);
    assert_eq!(account.unexplained, Vec::<String>::new());
}

#[test]
fn a_replace_that_counted_its_new_row_alone_removed_no_other() {
    let delete = "DELETE FROM t WHERE c0 = 20";
    let lines: &[WideLine<'_>] = &[
        (1, "BEGIN", None),
        (1, "SELECT * FROM t WHERE pkey = 9 FOR UPDATE", None),
        (2, delete, Some(&[[1, 10, 20]])),
        (
            1,
            "REPLACE INTO t (pkey, vkey, c0) VALUES (5, 1000, 50)",
            Some(&[[5, 1000, 50]]),
        ),
        (1, "COMMIT", Some(&[[5, 1000, 50]])),
    ];
    for (counted, removed) in [(1, [0, 1]), (2, [1, 0])] {
        let mut script = wide_script(BY_C0, lines);
        wait_for(&mut script, id(2, 1), id(1, 4));
        let record = script.execution.records.get_mut(&id(1, 3));
        record.expect("it ran").outcome = Outcome::Affected(counted);
        let account = learn_wide(&script, &[[1, 10, 20]]);
        let gone = |id: StatementId| {
            let changes = account.changes.get(&id).into_iter().flatten();
            changes
                .filter(|c| account.chains.row(c.after).is_none())
                .count()
        };
        assert_eq!([id(1, 3), id(2, 1)].map(gone), removed, "{counted}");
    }
}

#[test]
fn the_row_of_the_holder_stands_beside_the_one_that_a_waiting_insert_put_in() {
    let account = learned(
        &[
            (1, "BEGIN", None),
            (1, "DELETE FROM t", Some(&[])),
            (
                2,
                "INSERT INTO t (pkey, vkey, c0) VALUES (1, 1000, 41)",
                Some(&[[1, 1000, 41]]),
            ),
            (
                1,
                "INSERT INTO t (pkey, vkey, c0) VALUES (1, 1001, 42)",
                Some(&[[1, 1000, 41], [1, 1001, 42]]),
            ),
            (1, "DELETE FROM t WHERE pkey = 1", Some(&[[1, 1000, 41]])),
            (1, "COMMIT", Some(&[[1, 1000, 41]])),
        ],
        id(2, 1),
        id(1, 5),
    );
    assert_eq!(standing(&account), [[1, 1000, 41]]);
    assert_eq!(account.unexplained, Vec::<String>::new());
    let changes = |id| account.changes.get(&id).map_or(0, Vec::len);
    assert_eq!(
        [id(1, 3), id(1, 4), id(2, 1)].map(changes),
        [1, 1, 1],
        "{:?}",
        account.changes
    );
}

#[test]
fn a_row_that_is_gone_while_its_place_changes_is_no_work_of_a_delete_beside() {
    for (end, removed) in [(&[[1, 10, 20]][..], 0), (&[][..], 1)] {
        let account = learned(
            &[
                (1, "BEGIN", None),
                (1, "SELECT * FROM t WHERE pkey = 9 FOR UPDATE", None),
                (2, "UPDATE t SET c0 = 3, vkey = 1000 WHERE pkey = 1", None),
                (1, "DELETE FROM t WHERE pkey = 0", Some(&[])),
                (1, "COMMIT", Some(end)),
            ],
            id(2, 1),
            id(1, 4),
        );
        let changes = account.changes.get(&id(1, 3)).map_or(0, Vec::len);
        assert_eq!(changes, removed, "{end:?}");
    }
}

#[test]
fn a_delete_that_a_purge_woke_has_removed_what_is_gone() {
    let account = learned(
        &[
            (1, "BEGIN", None),
            (1, "SELECT * FROM t WHERE pkey = 9 FOR UPDATE", None),
            (2, "DELETE FROM t", Some(&[[1, 10, 20]])),
            (1, "SELECT 1 FROM t WHERE pkey = 9", None),
            (1, "UPDATE t SET vkey = 1000 WHERE pkey = 9", Some(&[])),
            (1, "COMMIT", Some(&[])),
        ],
        id(2, 1),
        id(1, 5),
    );
    assert_eq!(account.changes.get(&id(2, 1)).map_or(0, Vec::len), 1);
    assert_eq!(account.unexplained, Vec::<String>::new());
}

#[test]
fn what_a_rejected_statement_wrote_may_be_gone_before_its_answer_comes() {
    let lines: &[WideLine<'_>] = &[
        (1, "BEGIN", None),
        (1, "SELECT * FROM t WHERE pkey = 9 FOR UPDATE", None),
        (
            2,
            "INSERT INTO t (pkey, vkey, c0) VALUES (2, 1000, 3), (1, 1000, 4)",
            Some(&[[1, 10, 20], [2, 1000, 3]]),
        ),
        (
            1,
            "UPDATE t SET vkey = 1001 WHERE pkey = 9",
            Some(&[[1, 10, 20]]),
        ),
        (1, "COMMIT", Some(&[[1, 10, 20]])),
    ];
    let (waiter, release) = (id(2, 1), id(1, 4));
    let mut script = wide_script(BY_C0, lines);
    wait_for(&mut script, waiter, release);
    let accepted = learn_wide(&script, &[[1, 10, 20]]);
    assert_ne!(accepted.unexplained, Vec::<String>::new());

    let record = script.execution.records.get_mut(&waiter).expect("it ran");
    record.outcome = refused_duplicate();
    let rejected = learn_wide(&script, &[[1, 10, 20]]);
    assert_eq!(rejected.unexplained, Vec::<String>::new());
}

/// Two DELETEs between two looks, of which each can have removed the row; the counts that they were
/// answered; and which of them removed it.
#[test]
fn answered_counts_tell_whose_a_change_is() {
    let table = [
        (1, 0, [1, 0]),
        (0, 1, [0, 1]),
        (1, 1, [0, 0]),
        // Somebody has removed it: the self-check hears the count.
        (0, 0, [0, 1]),
    ];
    for (first, second, removed) in table {
        let mut script = wide_script(
            BY_C0,
            &[
                (1, "BEGIN", None),
                (1, "SELECT * FROM t WHERE pkey = 9 FOR UPDATE", None),
                (2, "DELETE FROM t WHERE pkey = 1", None),
                (3, "DELETE FROM t WHERE c0 = 20", None),
                (1, "COMMIT", Some(&[])),
            ],
        );
        for (waiter, count) in [(id(2, 1), first), (id(3, 1), second)] {
            wait_for(&mut script, waiter, id(1, 3));
            let record = script.execution.records.get_mut(&waiter).expect("it ran");
            record.outcome = Outcome::Affected(count);
        }
        let account = learn_wide(&script, &[[1, 10, 20]]);
        let changes = |id| account.changes.get(&id).map_or(0, Vec::len);
        assert_eq!([changes(id(2, 1)), changes(id(3, 1))], removed);
        assert_eq!(account.unexplained, Vec::<String>::new());
        let several = Some(&UndecidedReason::ChangeOfSeveralWriters);
        let unsure = [id(2, 1), id(3, 1)].map(|id| account.unsure.get(&id) == several);
        assert_eq!(unsure.contains(&true), (first, second) == (1, 1));
    }
}

/// The row is out of the table while it waits for its new place, and comes back there beside the row
/// that a later INSERT has half-way in.
#[test]
fn a_moved_row_is_known_beside_a_row_that_is_half_way_in() {
    let both: &[[i64; 3]] = &[[1, 1000, 22], [1, 1001, 24]];
    let lines: &[WideLine<'_>] = &[
        (1, "BEGIN", None),
        (1, "SELECT * FROM t WHERE c0 > 20 FOR UPDATE", None),
        (
            2,
            "UPDATE t SET vkey = 1000, c0 = 22 WHERE pkey = 1",
            Some(&[]),
        ),
        (
            3,
            "INSERT INTO t (pkey, vkey, c0) VALUES (1, 1001, 24)",
            Some(&[]),
        ),
        (1, "COMMIT", Some(both)),
        (4, "SELECT * FROM t FOR UPDATE", Some(&both[..1])),
    ];
    let mut script = wide_script(BY_C0, lines);
    wait_for(&mut script, id(2, 1), id(1, 3));
    wait_for(&mut script, id(3, 1), id(4, 1));
    let record = script.execution.records.get_mut(&id(3, 1));
    record.expect("it ran").outcome = refused_duplicate();
    let account = learn_wide(&script, &[[1, 10, 20]]);
    assert_eq!(account.unexplained, Vec::<String>::new());
    assert_eq!(standing(&account), [[1, 1000, 22]]);
    let by_update = &account.changes[&id(2, 1)];
    assert_eq!(by_update.len(), 1, "{by_update:?}");
    assert!(by_update[0].before.is_some(), "{by_update:?}");
}

/// Whoever waits has moved row 1 and not come to its other rows; the DELETE beside it has removed the one
/// row that it counted, whose key may come before or after.
#[test]
fn a_delete_has_not_removed_the_row_that_a_waiting_upsert_has_moved() {
    let upsert = "INSERT INTO t (pkey, vkey, c0) VALUES (1, 1000, 44), (3, 1000, 45) \
                  ON DUPLICATE KEY UPDATE vkey = 1000, c0 = 46";
    for other in [0, 2] {
        let delete = format!("DELETE FROM t WHERE pkey = {other}");
        let lines: &[WideLine<'_>] = &[
            (1, "BEGIN", None),
            (1, "SELECT * FROM t WHERE pkey = 3 FOR UPDATE", None),
            (2, upsert, None),
            (1, &delete, Some(&[[1, 1000, 46]])),
            (1, "COMMIT", Some(&[[1, 1000, 46], [3, 1000, 45]])),
        ];
        let mut script = wide_script(BY_C0, lines);
        wait_for(&mut script, id(2, 1), id(1, 4));
        let record = script.execution.records.get_mut(&id(1, 3));
        record.expect("it ran").outcome = Outcome::Affected(1);
        let account = learn_wide(&script, &[[1, 10, 20], [other, 20, 30]]);
        assert_eq!(account.unexplained, Vec::<String>::new());
        let changes = |id| account.changes.get(&id).map_or(0, Vec::len);
        assert_eq!([id(1, 3), id(2, 1)].map(changes), [1, 2], "{other}");
        assert_eq!(standing(&account).len(), 2, "{other}");
    }
}

/// The rows that a statement may not have seen as promised at READ UNCOMMITTED of MariaDB with
/// innodb_snapshot_isolation, where a locking UPDATE reads whatever stands. s2's transaction `moves`, and waits
/// for s1 half-way; s3's UPDATE waits for s2.
fn latitude_of_the_third(
    table: &str,
    initial: &[[i64; 3]],
    [delete, moves, update]: [&str; 3],
    [deleted, half_way, all]: [&[[i64; 3]]; 3],
) -> Vec<(i64, Vec<Sight>)> {
    let lines: [WideLine<'_>; 7] = [
        (1, "BEGIN", None),
        (1, delete, Some(deleted)),
        (2, "BEGIN", None),
        (2, moves, Some(half_way)),
        (3, update, None),
        (1, "COMMIT", Some(all)),
        (2, "COMMIT", None),
    ];
    let mut script = wide_script(table, &lines);
    script.dialect = dialect_with("mariadb", "11.8.0", &[("innodb_snapshot_isolation", "ON")]);
    for level in script.case.isolation.values_mut() {
        *level = IsolationLevel::ReadUncommitted;
    }
    let writer = id(2, 2).transaction;
    let committed = script.execution.transactions[&writer];
    wait_for(&mut script, id(2, 2), id(1, 3));
    script.execution.transactions.insert(writer, committed);
    wait_for(&mut script, id(3, 1), id(2, 3));
    let account = learn_wide(&script, initial);
    let rows = account.latitudes.get(&id(3, 1)).into_iter();
    let rows = rows.flat_map(|latitude| &latitude.rows).map(|row| {
        let sights = row.sights.iter().map(|(sight, _)| *sight).collect();
        (row.row.key.as_integer().expect("a number"), sights)
    });
    rows.collect()
}

/// s1 deletes row 5, s2's INSERT puts row 6 and waits for the unique key of row 5 with its own row 5 in
/// the clustered index.
fn rows_beside_a_half_row(table: &str) -> Vec<(i64, Vec<Sight>)> {
    let insert =
        "INSERT INTO t (pkey, vkey, c0) VALUES (6, 1000, 41), (5, 1000, 42), (7, 1000, 43)";
    let update = "UPDATE t SET vkey = 1001 WHERE pkey > 1 ORDER BY pkey LIMIT 1";
    latitude_of_the_third(
        table,
        &[[1, 10, 20], [5, 11, 21]],
        ["DELETE FROM t WHERE pkey = 5", insert, update],
        [
            &[[1, 10, 20]],
            &[[1, 10, 20], [6, 1000, 41], [5, 1000, 42]],
            &[[1, 10, 20], [6, 1000, 41], [5, 1000, 42], [7, 1000, 43]],
        ],
    )
}

#[test]
fn a_cursor_on_an_index_may_pass_before_a_half_row_is_there() {
    let nothing = |key| (key, vec![Sight::Nothing]);
    assert_eq!(rows_beside_a_half_row(BY_C0), [nothing(5), nothing(7)]);
    // Row 5 waits for no index here, and is in all of them.
    let by_pkey = "CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c0 INT)";
    assert_eq!(rows_beside_a_half_row(by_pkey), [nothing(7)]);
}

/// s2 has changed row 2 and waits for row 4; whoever comes by the index waits at the old place of row 2.
#[test]
fn a_row_that_was_moved_before_the_wait_may_be_missed() {
    let third = |moves: &str, moved: [i64; 3]| {
        latitude_of_the_third(
            BY_C0,
            &[[2, 2, 21], [4, 3, 22]],
            [
                "DELETE FROM t WHERE pkey = 4",
                moves,
                "UPDATE t SET vkey = 1013 WHERE pkey = 2",
            ],
            [&[[2, 2, 21]], &[moved], &[moved]],
        )
    };
    let missed = third("UPDATE t SET vkey = 1009, c0 = 0", [2, 1009, 0]);
    assert_eq!(missed, [(2, vec![Sight::Nothing])]);
    assert_eq!(third("UPDATE t SET vkey = 1009", [2, 1009, 21]), []);
}

/// s2 waits for the row that s1 has put in and then writes once more.
#[test]
fn a_row_that_its_own_inserter_moves_during_the_wait_may_be_missed() {
    let missed = |write: &str, written: [i64; 3]| {
        let lines: [WideLine<'_>; 6] = [
            (1, "BEGIN", None),
            (
                1,
                "INSERT INTO t (pkey, vkey, c0) VALUES (2, 1000, 50)",
                Some(&[[2, 1000, 50]]),
            ),
            (2, "UPDATE t SET vkey = 1001 WHERE pkey = 2", None),
            (1, write, Some(&[written])),
            (1, "COMMIT", Some(&[written])),
            (3, "SELECT * FROM t", None),
        ];
        let mut script = wide_script(BY_C0, &lines);
        wait_for(&mut script, id(2, 1), id(3, 1));
        let account = learn_wide(&script, &[]);
        let latitude = account.latitudes.get(&id(2, 1));
        latitude.map_or(0, |latitude| latitude.rows.len())
    };
    assert_eq!(
        missed("UPDATE t SET vkey = 1002, c0 = 40", [2, 1002, 40]),
        1
    );
    assert_eq!(missed("UPDATE t SET vkey = 1002", [2, 1002, 50]), 0);
}
