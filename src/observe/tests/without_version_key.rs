//! Whose a change is, where no version key tells.

use super::clustered_key::{WideLine, learn_wide, wide_script};
use super::half_rows::wait_for;
use super::id;
use crate::model::{Outcome, StatementId, UndecidedReason};

const TABLE: &str = "CREATE TABLE t (pkey INT PRIMARY KEY, n0 INT, c0 INT)";

/// s1 runs `first` (T1.2) in a transaction that stays open and answers `counted`; s2's `second` (T2.1)
/// begins to wait before anybody looks. Then the rows are `seen`. Tells who changed how many, and whether
/// that is not known.
fn whose(first: &str, counted: u64, second: &str, seen: &[[i64; 3]]) -> ([usize; 2], bool) {
    let lines: [WideLine<'_>; 4] = [
        (1, "BEGIN", None),
        (1, first, None),
        (2, second, Some(seen)),
        (1, "COMMIT", None),
    ];
    let mut script = wide_script(TABLE, &lines);
    let looked = script.execution.observations[0].tick;
    wait_for(&mut script, id(2, 1), id(1, 3));
    let look = &mut script.execution.observations[0];
    (look.tick, look.active) = (looked, vec![id(1, 2), id(2, 1)]);
    let record = script.execution.records.get_mut(&id(1, 2));
    record.expect("it ran").outcome = Outcome::Affected(counted);
    let account = learn_wide(&script, &[[1, 10, 20], [2, 11, 21]]);
    let changes = |id: StatementId| account.changes.get(&id).map_or(0, Vec::len);
    let unsure = account.unsure.values();
    let several = unsure.filter(|r| **r == UndecidedReason::ChangeOfSeveralWriters);
    ([changes(id(1, 2)), changes(id(2, 1))], several.count() > 0)
}

#[test]
fn who_does_not_assign_a_column_has_not_changed_it() {
    let of_n0 = "UPDATE t SET n0 = n0 + 1 WHERE pkey = 1";
    let of_c0 = "UPDATE t SET c0 = c0 + 1 WHERE pkey <= 2";
    // MySQL counts two: the first has changed another row, too, and nobody has shown it.
    let seen = [[1, 11, 20], [2, 11, 21]];
    assert_eq!(whose(of_n0, 2, of_c0, &seen).0, [1, 0]);
    let seen = [[1, 10, 21], [2, 11, 21]];
    assert_eq!(whose(of_n0, 1, of_c0, &seen).0, [0, 1]);
}

#[test]
fn who_assigns_another_number_has_not_changed_it() {
    let first = "UPDATE t SET n0 = 7 WHERE pkey = 1";
    let second = "UPDATE t SET n0 = 8, c0 = c0 WHERE pkey <= 2";
    assert_eq!(
        whose(first, 2, second, &[[1, 7, 20], [2, 11, 21]]).0,
        [1, 0]
    );
    assert_eq!(
        whose(first, 2, second, &[[1, 8, 20], [2, 11, 21]]).0,
        [0, 1]
    );
}

/// A session whose mode is not strict gives a column the nearest number that fits it.
#[test]
fn who_assigns_a_number_that_does_not_fit_has_given_the_nearest() {
    let first = "UPDATE t SET n0 = 3000000000 WHERE pkey = 1";
    let second = "REPLACE INTO t (pkey) VALUES (1)";
    let whose = |given| whose(first, 1, second, &[[1, given, 20], [2, 11, 21]]);
    assert_eq!(whose(2_147_483_647), ([1, 0], false));
    assert_eq!(whose(8), ([0, 1], false));
}

#[test]
fn who_changed_as_many_rows_as_it_counted_changed_those_that_it_holds() {
    let update = "UPDATE t SET c0 = c0 + 1 WHERE pkey = 1";
    let seen = [[1, 10, 21], [2, 11, 21]];
    assert_eq!(whose(update, 1, update, &seen), ([1, 0], false));
    assert_eq!(whose(update, 0, update, &seen), ([0, 1], false));
    assert_eq!(whose(update, 2, update, &seen), ([0, 0], true));
}

/// The first has changed or removed another row, too, and nobody has shown it: its count does not tell.
#[test]
fn who_looks_for_another_row_key_has_not_touched_it() {
    let seen = [[1, 10, 21], [2, 11, 21]];
    let update = |wanted: &str| format!("UPDATE t SET c0 = c0 + 1 WHERE {wanted}");
    let whose_update = |second: &str| whose(&update("c0 = 20"), 2, &update(second), &seen);
    for second in ["pkey = 2", "pkey IN (2, 3)", "n0 = 10 AND pkey = 2"] {
        assert_eq!(whose_update(second), ([1, 0], false), "{second}");
    }
    for second in [
        "pkey = 1",
        "pkey IN (1, 2)",
        "n0 = 10",
        "pkey = 2 OR n0 = 10",
    ] {
        assert_eq!(whose_update(second), ([0, 0], true), "{second}");
    }
    let delete = |wanted: &str| format!("DELETE FROM t WHERE {wanted}");
    let whose_delete = |second: &str| whose(&delete("c0 = 20"), 2, second, &seen[1..]);
    assert_eq!(whose_delete(&delete("pkey = 2")), ([1, 0], false));
    assert_eq!(whose_delete(&delete("pkey = 1")), ([0, 0], true));
    // The row may have had the other key when it was looked for.
    let first = "UPDATE t SET pkey = 2 WHERE pkey = 1";
    let moved = |second: &str| whose(first, 2, second, &seen[1..]).1;
    assert!(moved(&delete("pkey = 2")));
}

/// s2's UPDATE waits for row 1, as it has for a while, and changes row 2 when purge wakes it, without a
/// release by anybody. Meanwhile s1's `beside` is answered, and row 2 holds `seen`.
fn beside_a_waiting_update(beside: &str, seen: i64) -> [usize; 2] {
    let lines: [WideLine<'_>; 6] = [
        (1, "BEGIN", None),
        (
            1,
            "UPDATE t SET c0 = 5 WHERE pkey = 1",
            Some(&[[1, 10, 5], [2, 11, 21]]),
        ),
        (2, "UPDATE t SET n0 = 7 WHERE pkey <= 2", None),
        (
            1,
            "UPDATE t SET c0 = 6 WHERE pkey = 1",
            Some(&[[1, 10, 6], [2, 11, 21]]),
        ),
        (1, beside, Some(&[[1, 10, 6], [2, seen, 21], [3, 8, 22]])),
        (1, "COMMIT", None),
    ];
    let mut script = wide_script(TABLE, &lines);
    wait_for(&mut script, id(2, 1), id(1, 5));
    let account = learn_wide(&script, &[[1, 10, 20], [2, 11, 21]]);
    let changes = |id: StatementId| account.changes.get(&id).map_or(0, Vec::len);
    [changes(id(1, 4)), changes(id(2, 1))]
}

#[test]
fn a_row_that_only_a_waiting_update_can_have_made_is_its_work() {
    let insert = "INSERT INTO t (pkey, n0, c0) VALUES (3, 8, 22)";
    assert_eq!(beside_a_waiting_update(insert, 7), [1, 1]);
    let upsert = format!("{insert} ON DUPLICATE KEY UPDATE n0 = 8");
    assert_eq!(beside_a_waiting_update(&upsert, 7), [1, 1]);
    // Nobody can have made it: the statement that was answered is asked.
    assert_eq!(beside_a_waiting_update(insert, 9), [2, 0]);
}

/// An UPDATE of the clustered key removes its row from the old place, and waits before it puts it to the
/// new one, while a DELETE beside it runs.
#[test]
fn a_row_on_its_way_to_another_place_is_no_work_of_a_delete_beside() {
    let table = "CREATE TABLE t (pkey INT NOT NULL UNIQUE, n0 INT, c0 INT PRIMARY KEY)";
    let lines: [WideLine<'_>; 5] = [
        (1, "BEGIN", None),
        (1, "SELECT * FROM t WHERE c0 <= 3 FOR UPDATE", None),
        (2, "UPDATE t SET c0 = 3 WHERE pkey = 1", None),
        (1, "DELETE FROM t WHERE pkey = 0", Some(&[])),
        (1, "COMMIT", Some(&[[1, 10, 3]])),
    ];
    let mut script = wide_script(table, &lines);
    wait_for(&mut script, id(2, 1), id(1, 4));
    let account = learn_wide(&script, &[[1, 10, 20]]);
    let changes = |id: StatementId| account.changes.get(&id).map_or(0, Vec::len);
    assert_eq!([changes(id(1, 3)), changes(id(2, 1))], [0, 1]);
}
