//! What the flavours do otherwise than the first: snapshots that choose rows, the first updater, failed
//! transactions, dependencies, and no locks of conditions.

use super::tests::{ALL, Stage};
use crate::model::Outcome;

const POSTGRES: &str = "simulated:?flavour=postgres";

#[test]
fn the_first_updater_wins_and_the_second_is_refused() {
    let mut stage = Stage::new(POSTGRES);
    let [mut one, mut two] = ["REPEATABLE READ"; 2].map(|level| stage.session(level));
    two.must("BEGIN");
    assert_eq!(two.numbers(ALL), [10, 20, 30]);
    one.must("UPDATE t SET c = 11 WHERE pkey = 1");
    assert_eq!(
        two.class("UPDATE t SET c = 12 WHERE pkey = 1"),
        "serialization"
    );
    assert_eq!(two.class(ALL), "failed-transaction");
    two.must("ROLLBACK");
    one.must("BEGIN");
    one.must("UPDATE t SET c = 21 WHERE pkey = 2");
    two.must("BEGIN");
    let sent = stage.send(&mut two, "UPDATE t SET c = 22 WHERE pkey = 2");
    one.must("ROLLBACK");
    assert_eq!(two.finish(sent), Outcome::Affected(1));
}

#[test]
fn a_lost_update_is_what_the_planted_fault_lets_through() {
    let stage = Stage::new("simulated:?flavour=postgres&fault=lost-update");
    let [mut one, mut two, mut third] = ["REPEATABLE READ"; 3].map(|level| stage.session(level));
    third.must("BEGIN");
    two.must("BEGIN");
    assert_eq!(two.numbers(ALL), [10, 20, 30]);
    one.must("UPDATE t SET c = c + 1 WHERE pkey = 1");
    two.must("UPDATE t SET c = c + 5 WHERE pkey = 1");
    two.must("COMMIT");
    assert_eq!(one.numbers(ALL), [15, 20, 30]);
}

#[test]
fn a_row_that_changed_is_looked_at_again_and_no_other_joins_it() {
    let mut stage = Stage::new(POSTGRES);
    let [mut one, mut two] = stage.two_sessions();
    one.must("BEGIN");
    one.must("UPDATE t SET c = 40 WHERE pkey = 1");
    one.must("UPDATE t SET c = 15 WHERE pkey = 3");
    one.must("UPDATE t SET c = 16 WHERE pkey = 2");
    let sent = stage.send(&mut two, "UPDATE t SET c = c + 100 WHERE c < 25");
    one.must("COMMIT");
    assert_eq!(two.finish(sent), Outcome::Affected(1));
    assert_eq!(one.numbers(ALL), [40, 116, 15]);
}

#[test]
fn write_skew_ends_in_a_refusal_at_serializable_only() {
    for (level, expected) in [
        ("REPEATABLE READ", "none"),
        ("SERIALIZABLE", "serialization"),
    ] {
        let stage = Stage::new(POSTGRES);
        let [mut one, mut two] = [level; 2].map(|level| stage.session(level));
        one.must("BEGIN");
        two.must("BEGIN");
        assert_eq!(one.numbers("SELECT c FROM t WHERE pkey = 2"), [20]);
        assert_eq!(two.numbers("SELECT c FROM t WHERE pkey = 1"), [10]);
        one.must("UPDATE t SET c = 11 WHERE pkey = 1");
        one.must("COMMIT");
        let class = match two.class("UPDATE t SET c = 21 WHERE pkey = 2").as_str() {
            "none" => two.class("COMMIT"),
            class => class.to_owned(),
        };
        assert_eq!(class, expected, "{level}");
    }
}

#[test]
fn an_error_leaves_the_transaction_failed_until_it_goes_back_to_a_savepoint() {
    let stage = Stage::new(POSTGRES);
    let [mut one, _] = stage.two_sessions();
    one.must("BEGIN");
    one.must("UPDATE t SET c = 11 WHERE pkey = 1");
    one.must("SAVEPOINT a");
    one.must("UPDATE t SET c = 12 WHERE pkey = 1");
    assert_eq!(one.class("INSERT INTO t VALUES (2, 1)"), "duplicate");
    assert_eq!(one.class(ALL), "failed-transaction");
    one.must("ROLLBACK TO SAVEPOINT a");
    assert_eq!(one.numbers(ALL), [11, 20, 30]);
    one.must("COMMIT");
    assert_eq!(one.numbers(ALL), [11, 20, 30]);
}

#[test]
fn an_insert_that_reads_its_own_table_reads_the_snapshot_and_meets_the_newest_keys() {
    let stage = Stage::new(POSTGRES);
    let [mut one, mut two] = ["REPEATABLE READ"; 2].map(|level| stage.session(level));
    two.must("BEGIN");
    assert_eq!(two.numbers(ALL), [10, 20, 30]);
    one.must("UPDATE t SET c = 11 WHERE pkey = 1");
    one.must("INSERT INTO t VALUES (11, 0)");
    two.must("SAVEPOINT a");
    let copy = "INSERT INTO t SELECT pkey + 10, c FROM t WHERE pkey = 1";
    assert_eq!(two.class(copy), "duplicate");
    two.must("ROLLBACK TO SAVEPOINT a");
    two.must("INSERT INTO t SELECT pkey + 20, c FROM t WHERE pkey = 1");
    two.must("COMMIT");
    assert_eq!(one.numbers("SELECT c FROM t WHERE pkey = 21"), [10]);
}

#[test]
fn in_tidbs_kind_begin_takes_the_snapshot_and_conditions_are_free() {
    let stage = Stage::new("simulated:?flavour=tidb");
    let [mut one, mut two] = ["REPEATABLE READ"; 2].map(|level| stage.session(level));
    two.must("BEGIN");
    one.must("UPDATE t SET c = 11 WHERE pkey = 1");
    assert_eq!(two.numbers(ALL), [10, 20, 30]);
    let locking = "SELECT c FROM t WHERE c < 25 FOR UPDATE";
    assert_eq!(two.numbers(locking), [11, 20]);
    one.must("INSERT INTO t VALUES (4, 14)");
    assert_eq!(two.numbers(locking), [11, 20, 14]);
}
