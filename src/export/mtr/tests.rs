//! The test and the result of small cases, as maintainers read them.

use expect_test::{Expect, expect};

use super::Mtr;
use crate::export::{CaseFormat as _, Exported};
use crate::reproducer::read;

pub(super) fn exported(case: &str) -> Exported {
    exported_on("mariadb", case)
}

fn exported_on(engine: &str, case: &str) -> Exported {
    let header = "--! isolation = \"READ COMMITTED\"\n\
                  --! session_setup = [\"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED\"]\n";
    let text = format!("--! format = 1\n--! engine = \"{engine}\"\n{header}{case}");
    let file = read(&text, "x.sql").unwrap();
    Mtr.write(&file).unwrap()
}

/// What stands behind the statements that make the table.
fn steps(text: &str) -> &str {
    let (_, steps) = text
        .split_once("INSERT INTO t VALUES (1, 10), (2, 20);\n")
        .unwrap();
    steps
}

fn check_test(case: &str, expected: &Expect) {
    expected.assert_eq(steps(&exported(&format!("{TABLE}{case}")).text));
}

pub(super) fn check_result(case: &str, expected: &Expect) {
    let (_, result) = exported(&format!("{TABLE}{case}")).beside.unwrap();
    expected.assert_eq(steps(&result));
}

pub(super) const TABLE: &str = "/* init */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
                     /* init */ INSERT INTO t VALUES (1, 10), (2, 20);\n";

const WAITING: &str = "/* s1 */ BEGIN;\n\
                 /* s1 */ UPDATE t SET v = v + 1 WHERE id = 1; -- @got affected 1\n\
                 /* s2 */ BEGIN;\n\
                 /* s2 */ UPDATE t SET v = v + 100 WHERE id = 1; -- @blocks s1  @got affected 1\n\
                 /* s2 */ SELECT v FROM t WHERE id = 1; -- @got (111)\n\
                 /* s2 */ COMMIT;\n\
                 /* s1 */ COMMIT; -- @resumes s2\n\
                 /* end */ SELECT * FROM t; -- @got (1, 111) (2, 20)\n";

#[test]
fn a_statement_that_waits_is_sent_and_its_answer_taken_when_it_goes_on() {
    check_test(
        WAITING,
        &expect![[r#"

        --connect (c2,localhost,root)
        --let $c2_id= `SELECT CONNECTION_ID()`
        SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;

        --connection c1
        BEGIN;
        UPDATE t SET v = v + 1 WHERE id = 1;
        SELECT ROW_COUNT();

        --connection c2
        BEGIN;
        --send UPDATE t SET v = v + 100 WHERE id = 1

        --connection default
        # Until c2 waits for a lock.
        --let $wait_timeout= 10
        let $wait_condition=
          SELECT COUNT(*) = 1 FROM information_schema.processlist p
          LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id
          WHERE p.id = $c2_id
          AND (x.trx_state = 'LOCK WAIT' OR p.state LIKE 'Waiting for %');
        --source include/wait_condition.inc

        --connection c1
        COMMIT;

        --connection c2
        --reap
        SELECT ROW_COUNT();
        --sorted_result
        SELECT v FROM t WHERE id = 1;
        COMMIT;

        --connection default
        --disconnect c1
        --disconnect c2

        let $wait_condition=
          SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE id IN ($c1_id, $c2_id);
        --source include/wait_condition.inc
        --sorted_result
        SELECT * FROM t;
        DROP TABLE `t`;
    "#]],
    );
}

#[test]
fn the_result_has_an_answer_where_it_is_taken() {
    check_result(
        WAITING,
        &expect![[r#"
        SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
        BEGIN;
        UPDATE t SET v = v + 1 WHERE id = 1;
        SELECT ROW_COUNT();
        ROW_COUNT()
        1
        BEGIN;
        UPDATE t SET v = v + 100 WHERE id = 1;
        COMMIT;
        SELECT ROW_COUNT();
        ROW_COUNT()
        1
        SELECT v FROM t WHERE id = 1;
        v
        111
        COMMIT;
        SELECT * FROM t;
        id	v
        1	111
        2	20
        DROP TABLE `t`;
    "#]],
    );
}

const WRONG_WRITE: &str = "/* s1 */ BEGIN;\n\
                 /* s1 */ SELECT v FROM t WHERE id = 1 FOR UPDATE; -- @got (10)\n\
                 /* s2 */ UPDATE t SET v = 7 WHERE id = 1; -- @got affected 0  @expect affected 1\n\
                 /* s1 */ COMMIT;\n\
                 /* s2 */ SELECT v FROM t; -- @got (10) (20)\n\
                 /* end */ SELECT * FROM t; -- @got (1, 10) (2, 20)\n";

#[test]
fn a_wrong_write_that_should_perhaps_wait_is_sent_and_what_follows_is_not_compared() {
    let test = exported(&format!("{TABLE}{WRONG_WRITE}")).text;
    let (_, from_first_step) = test.split_once("\n\n--connection c1\n").unwrap();
    expect![[r#"
            BEGIN;
            --sorted_result
            SELECT v FROM t WHERE id = 1 FOR UPDATE;

            --connection default
            # How the server numbers the statements of a client.
            --let $number= p.query_id
            if (`SELECT VERSION() NOT LIKE '%MariaDB%'`)
            {
              --let $number= (SELECT MAX(s.end_event_id) FROM performance_schema.events_statements_current s JOIN performance_schema.threads t ON t.thread_id = s.thread_id WHERE t.processlist_id = p.id)
            }
            --let $c2_last= `SELECT IFNULL($number, -1) FROM information_schema.processlist p WHERE p.id = $c2_id`

            --connection c2
            # The bug: the answer was 0 rows changed.
            --send UPDATE t SET v = 7 WHERE id = 1

            --connection default
            # Until c2 waits for a lock or is answered.
            --let $wait_timeout= 10
            let $wait_condition=
              SELECT COUNT(*) = 1 FROM information_schema.processlist p
              LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id
              WHERE p.id = $c2_id
              AND ((p.command = 'Sleep' AND ($c2_last = -1 OR $number <> $c2_last))
                   OR x.trx_state = 'LOCK WAIT' OR p.state LIKE 'Waiting for %');
            --source include/wait_condition.inc

            --connection c1
            COMMIT;

            --connection c2
            --error 0,ER_LOCK_DEADLOCK,ER_LOCK_WAIT_TIMEOUT
            --reap
            if ($mysql_errno != 0)
            {
              --connection default
              --disconnect c1
              --disconnect c2
              DROP TABLE `t`;
              --skip A lock is in the way of this statement, as it may be at READ COMMITTED
            }
            SELECT ROW_COUNT();
            # What follows depends on the answer above, and is not compared.
            --disable_abort_on_error
            --disable_result_log
            SELECT v FROM t;

            --connection default
            --disconnect c1
            --disconnect c2

            let $wait_condition=
              SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE id IN ($c1_id, $c2_id);
            --source include/wait_condition.inc
            --enable_result_log
            --enable_abort_on_error
            --disable_result_log
            SELECT * FROM t;
            --enable_result_log
            DROP TABLE `t`;
        "#]]
    .assert_eq(from_first_step);
}

#[test]
fn the_result_ends_with_the_right_answer_in_place_of_the_wrong_one() {
    check_result(
        WRONG_WRITE,
        &expect![[r#"
            SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
            SET SESSION innodb_lock_wait_timeout = 5;
            BEGIN;
            SELECT v FROM t WHERE id = 1 FOR UPDATE;
            v
            10
            UPDATE t SET v = 7 WHERE id = 1;
            COMMIT;
            SELECT ROW_COUNT();
            ROW_COUNT()
            1
            SELECT v FROM t;
            SELECT * FROM t;
            DROP TABLE `t`;
        "#]],
    );
}

#[test]
fn with_the_other_victim_of_a_deadlock_the_test_is_skipped() {
    let steps = "/* s1 */ BEGIN;\n\
                 /* s2 */ BEGIN;\n\
                 /* s1 */ DELETE FROM t WHERE id = 1; -- @got affected 1\n\
                 /* s2 */ DELETE FROM t WHERE id = 2; -- @got affected 1\n\
                 /* s1 */ DELETE FROM t WHERE id = 2; -- @waits  @got affected 1\n\
                 /* s2 */ DELETE FROM t WHERE id = 1; -- @error deadlock  @resumes s1\n\
                 /* s1 */ COMMIT;\n\
                 /* end */ SELECT * FROM t; -- @got empty\n";
    let victim_closes = exported(&format!("{TABLE}{steps}")).text;
    let check = "--error 0,ER_LOCK_DEADLOCK\nDELETE FROM t WHERE id = 1;\nif ($mysql_errno == 0)\n{\n  --connection default\n  \
                 --disconnect c1\n  --disconnect c2\n  DROP TABLE `t`;\n  --skip";
    assert!(victim_closes.contains(check), "{victim_closes}");
    // It may have been seen waiting for the victim: the engine takes that back at once.
    let waits_too = steps
        .replace("@error deadlock  @resumes", "@seen")
        .replace("@waits  @got affected 1", "@waits  @error deadlock")
        .replace("@seen", "@waits  @got affected 1  @resumes");
    let text = exported(&format!("{TABLE}{waits_too}")).text;
    assert!(
        text.contains("# Until c2 waits for a lock or is answered."),
        "{text}"
    );
    let steps = steps
        .replace("@waits  @got affected 1", "@waits  @error deadlock")
        .replace("@error deadlock  @resumes", "@got affected 1  @resumes");
    let victim_waits = exported(&format!("{TABLE}{steps}")).text;
    let closing = "--error 0,ER_LOCK_DEADLOCK\nDELETE FROM t WHERE id = 1;\nif ($mysql_errno != 0)\n{\n  --connection ";
    assert!(victim_waits.contains(closing), "{victim_waits}");
    let waiting = "--error 0,ER_LOCK_DEADLOCK\n--reap\nif ($mysql_errno == 0)\n{\n  --connection ";
    assert!(victim_waits.contains(waiting), "{victim_waits}");
}

const CLAIM: &str = "--! claim = \"SERIALIZABLE\"\n";

#[test]
fn what_only_a_claimed_level_has_wait_is_not_waited_for_and_ends_the_test_as_skipped() {
    let steps = "/* s1 */ BEGIN;\n\
                 /* s1 */ SELECT v FROM t WHERE id = 1; -- @got (10)\n\
                 /* s2 */ BEGIN;\n\
                 /* s2 */ UPDATE t SET v = 11 WHERE id = 1; -- @got affected 1\n\
                 /* s2 */ COMMIT;\n\
                 /* s1 */ SELECT v FROM t WHERE id = 1; -- @got (11)  @expect (10)\n\
                 /* s1 */ COMMIT;\n";
    let case = format!("{CLAIM}{TABLE}{steps}");
    let exported = exported(&case);
    expect![[r#"

        --connect (c2,localhost,root)
        --let $c2_id= `SELECT CONNECTION_ID()`
        SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
        SET SESSION innodb_lock_wait_timeout = 5;

        --connection c1
        BEGIN;
        --sorted_result
        SELECT v FROM t WHERE id = 1;

        --connection c2
        BEGIN;
        --error 0,ER_LOCK_DEADLOCK,ER_LOCK_WAIT_TIMEOUT,ER_CHECKREAD
        UPDATE t SET v = 11 WHERE id = 1;
        if ($mysql_errno != 0)
        {
          --connection default
          --disconnect c1
          --disconnect c2
          DROP TABLE `t`;
          --skip A lock or a newer row is in the way of this statement, as it may be at SERIALIZABLE
        }
        SELECT ROW_COUNT();
        COMMIT;

        --connection c1
        # The bug: the answer was (11).
        --sorted_result
        --error 0,ER_LOCK_DEADLOCK,ER_LOCK_WAIT_TIMEOUT,ER_CHECKREAD
        SELECT v FROM t WHERE id = 1;
        if ($mysql_errno != 0)
        {
          --connection default
          --disconnect c1
          --disconnect c2
          DROP TABLE `t`;
          --skip A lock or a newer row is in the way of this statement, as it may be at SERIALIZABLE
        }
        COMMIT;

        --connection default
        --disconnect c1
        --disconnect c2

        let $wait_condition=
          SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE id IN ($c1_id, $c2_id);
        --source include/wait_condition.inc
        DROP TABLE `t`;
    "#]]
    .assert_eq(self::steps(&exported.text));
    let (_, result) = exported.beside.unwrap();
    assert!(
        result
            .ends_with("COMMIT;\nSELECT v FROM t WHERE id = 1;\nv\n10\nCOMMIT;\nDROP TABLE `t`;\n"),
        "{result}"
    );
}

#[test]
fn the_count_of_a_write_that_waited_may_be_another_one_at_a_claimed_level() {
    let steps = "/* s1 */ BEGIN;\n\
                 /* s1 */ UPDATE t SET v = 11 WHERE id = 1; -- @got affected 1\n\
                 /* s2 */ BEGIN;\n\
                 /* s2 */ DELETE FROM t WHERE v = 11; -- @blocks s1  @got affected 0\n\
                 /* s1 */ COMMIT; -- @resumes s2\n\
                 /* s2 */ SELECT v FROM t WHERE id = 1; -- @got (11)  @expect (10)\n\
                 /* s2 */ COMMIT;\n";
    let counted = "--let $changed= `SELECT ROW_COUNT()`\nif ($changed != 0)\n{\n";
    let skipped =
        "--skip This statement waited, and changes another number of rows than in the run";
    let claimed = exported(&format!("{CLAIM}{TABLE}{steps}")).text;
    assert!(claimed.contains(counted), "{claimed}");
    assert!(claimed.contains(skipped), "{claimed}");
    // The count is compared where it is the wrong answer, where nothing stronger is claimed, and where nothing waited.
    let wrong = steps.replace("affected 0", "affected 0  @expect affected 1");
    let wrong = format!("{CLAIM}{TABLE}{wrong}");
    for case in [wrong.clone(), format!("{TABLE}{steps}")] {
        let text = exported(&case).text;
        assert!(text.contains("--reap\n"), "{text}");
        assert!(!text.contains("$changed"), "{text}");
    }
    assert_eq!(claimed.matches("SELECT ROW_COUNT();\n").count(), 1);
    let text = exported(&wrong).text;
    assert_eq!(text.matches("SELECT ROW_COUNT();\n").count(), 2, "{text}");
}

#[test]
fn a_rejection_that_is_due_is_no_detour_of_a_claim() {
    let steps = "/* s2 */ BEGIN;\n\
                 /* s1 */ INSERT INTO t VALUES (1, 1); -- @error duplicate\n\
                 /* s1 */ DELETE FROM t; -- @error lock-timeout\n\
                 /* s1 */ INSERT INTO t VALUES (3, 1 / 0); -- @error data\n";
    let text = exported(&format!("{CLAIM}{TABLE}{steps}")).text;
    let duplicate = "--error 1062,1586,0,ER_LOCK_DEADLOCK,ER_LOCK_WAIT_TIMEOUT,ER_CHECKREAD\nINSERT INTO t VALUES (1, 1);\n\
                     if ($mysql_errno == 1213)\n";
    assert!(text.contains(duplicate), "{text}");
    let (_, timeout) = text.split_once("DELETE FROM t;\n").unwrap();
    assert!(timeout.starts_with("if ($mysql_errno == 1213)\n"), "{text}");
}

/// c2 waits for c1 in no transaction of its own, and what c1 does next may close a deadlock at the claimed level.
#[test]
fn a_deadlock_of_the_claimed_level_ends_the_test_as_skipped() {
    let steps = "/* s1 */ BEGIN;\n\
                 /* s1 */ UPDATE t SET v = 11 WHERE id = 1;\n\
                 /* s2 */ UPDATE t SET v = v + 1; -- @waits\n";
    let reads = "/* s1 */ SELECT v FROM t; -- @got (11) (21)  @expect (11) (20)\n\
                 /* s1 */ COMMIT; -- @resumes s2\n";
    let text = exported(&format!("{CLAIM}{TABLE}{steps}{reads}")).text;
    let borne = "--error 0,ER_LOCK_DEADLOCK,ER_LOCK_WAIT_TIMEOUT,ER_CHECKREAD\nSELECT v FROM t;\n\
                 if ($mysql_errno != 0)\n";
    assert!(text.contains(borne), "{text}");
    // A statement that has to wait, and is answered: as the victim, or because c2 is, or by the bug.
    let passes = "/* s1 */ UPDATE t SET v = 22 WHERE id = 2; -- @got affected 1  @expect waits\n\
                  /* s1 */ COMMIT; -- @resumes s2\n";
    let text = exported(&format!("{CLAIM}{TABLE}{steps}{passes}")).text;
    let (_, behind) = text.split_once("--send UPDATE t SET v = 22").unwrap();
    let place = |part: &str| {
        behind
            .find(part)
            .unwrap_or_else(|| panic!("{part}: {text}"))
    };
    let skipped = "--skip This statement closes a deadlock, as it may at SERIALIZABLE\n";
    let in_order = [
        "if ($answered)\n",
        "p.id = $c2_id AND p.command = 'Sleep'`\nif ($answered)\n",
        "--connection c1\n--error 0,ER_LOCK_DEADLOCK\n--reap\nif ($mysql_errno != 0)\n",
        "--die The statement did not wait\n}\n",
    ]
    .map(place);
    assert!(in_order.is_sorted(), "{text}");
    assert_eq!(behind.matches(skipped).count(), 2, "{text}");
    // Without a claim the levels are those of the run, which had no deadlock.
    let text = exported(&format!("{TABLE}{steps}{passes}")).text;
    assert!(!text.contains("closes a deadlock"), "{text}");
}

/// With `innodb_snapshot_isolation` MariaDB refuses what locks a row that changed after the snapshot, and MySQL has no
/// such thing.
#[test]
fn a_newer_row_that_the_claimed_level_refuses_ends_the_test_as_skipped() {
    let steps = "/* s1 */ BEGIN;\n\
                 /* s1 */ SELECT v FROM t WHERE id = 1;\n\
                 /* s2 */ UPDATE t SET v = 11 WHERE id = 1;\n\
                 /* s1 */ UPDATE t SET v = v + 1 WHERE id = 1; -- @got affected 0  @expect affected 1\n";
    let case = format!("{CLAIM}{TABLE}{steps}");
    let borne = ",ER_CHECKREAD\nUPDATE t SET v = v + 1 WHERE id = 1;\nif ($mysql_errno != 0)\n";
    let text = exported(&case).text;
    assert!(text.contains(borne), "{text}");
    // The first statement of a transaction has no snapshot before it.
    assert!(!text.contains("ER_CHECKREAD\nSELECT"), "{text}");
    let mysql = exported_on("mysql", &case).text;
    assert!(!mysql.contains("ER_CHECKREAD"), "{mysql}");
    let unclaimed = exported(&format!("{TABLE}{steps}")).text;
    assert!(!unclaimed.contains("ER_CHECKREAD"), "{unclaimed}");
}

#[test]
fn rows_in_an_order_that_the_statement_forbids_are_wrong() {
    let steps = "/* s1 */ SELECT v FROM t ORDER BY id; -- @got (20) (10)  @expect (10) (20)\n";
    let (_, result) = exported(&format!("{TABLE}{steps}")).beside.unwrap();
    assert!(result.contains("ORDER BY id;\nv\n10\n20\n"), "{result}");
}

#[test]
fn a_statement_that_names_what_is_missing_is_not_prepared() {
    let steps =
        "/* s1 */ UPDATE t FORCE INDEX (i) SET v = 1; -- @error syntax  @expect error missing\n";
    let prepared = "--! prepared = [\"s1\"]\n";
    let text = exported(&format!("{prepared}{TABLE}{steps}")).text;
    assert!(!text.contains("PREPARE"), "{text}");
}

#[test]
fn values_are_written_as_mysqltest_prints_them() {
    let steps = "/* s1 */ SELECT v, 1.50, 2.0 AS f, 'x' AS t, NULL FROM t; \
                 -- @got empty  @expect (2, 1.50, 2.0, 'b', NULL) (1, 1.50, 2.0, x'61', NULL)\n";
    let (_, result) = exported(&format!("{TABLE}{steps}")).beside.unwrap();
    let table = "v\t1.50\tf\tt\tNULL\n1\t1.50\t2\ta\tNULL\n2\t1.50\t2\tb\tNULL\n";
    assert!(result.contains(table), "{result}");
}

#[test]
fn an_answer_that_cannot_be_written_is_left_out_unless_it_is_the_wrong_one() {
    let bare_alias = "/* s1 */ SELECT v x FROM t; -- @got (10) (20)\n\
                      /* s1 */ SELECT v FROM t; -- @got empty  @expect (10) (20)\n";
    let exported_text = exported(&format!("{TABLE}{bare_alias}")).text;
    let hidden = "--disable_result_log\nSELECT v x FROM t;\n--enable_result_log\n";
    assert!(exported_text.contains(hidden), "{exported_text}");
    let header = "--! format = 1\n--! engine = \"mysql\"\n--! isolation = \"SERIALIZABLE\"\n";
    let wrong = "/* s1 */ SELECT v x FROM t; -- @got empty  @expect (10) (20)\n";
    let file = read(&format!("{header}{TABLE}{wrong}"), "x.sql").unwrap();
    let reason = Mtr.write(&file).unwrap_err().to_string();
    assert!(reason.contains("with AS"), "{reason}");
}

#[test]
fn a_rejection_with_more_codes_than_mysqltest_takes_is_checked_by_its_number() {
    let steps = "/* s1 */ INSERT INTO t VALUES (3, 1 / 0); -- @error data\n\
                 /* s1 */ INSERT INTO t VALUES (1, 1); -- @error duplicate\n";
    let text = exported(&format!("{TABLE}{steps}")).text;
    let many = "--disable_abort_on_error\n--disable_result_log\nINSERT INTO t VALUES (3, 1 / 0);\n\
                --enable_result_log\n--enable_abort_on_error\nif ($mysql_errno == 0)\n{\n  --die ";
    assert!(text.contains(many), "{text}");
    assert!(
        text.contains("--error 1062,1586,0\nINSERT INTO t VALUES (1, 1);\n"),
        "{text}"
    );
}

/// Outside of a transaction there is no savepoint, and a write takes effect at once.
#[test]
fn what_was_never_sent_behind_a_deadlock_is_left_out() {
    let steps = "/* s1 */ BEGIN;\n\
                 /* s2 */ BEGIN;\n\
                 /* s1 */ DELETE FROM t WHERE id = 1; -- @got affected 1\n\
                 /* s2 */ DELETE FROM t WHERE id = 2; -- @got affected 1\n\
                 /* s1 */ DELETE FROM t WHERE id = 2; -- @waits  @got affected 1\n\
                 /* s2 */ DELETE FROM t WHERE id = 1; -- @error deadlock  @resumes s1\n\
                 /* s2 */ SAVEPOINT p;\n\
                 /* s2 */ UPDATE t SET v = 7;\n\
                 /* s2 */ COMMIT;\n\
                 /* s2 */ UPDATE t SET v = 8 WHERE id = 9; -- @got affected 0\n\
                 /* s1 */ COMMIT;\n";
    let text = exported(&format!("{TABLE}{steps}")).text;
    assert!(
        !text.contains("SAVEPOINT p") && !text.contains("v = 7"),
        "{text}"
    );
    assert!(text.contains("UPDATE t SET v = 8"), "{text}");
    // A rejection of one statement ends nothing.
    let alone = steps.replace("@error deadlock", "@error duplicate");
    let text = exported(&format!("{TABLE}{alone}")).text;
    assert!(
        text.contains("SAVEPOINT p") && text.contains("v = 7"),
        "{text}"
    );
}

/// The fault committed with the second write of s1, and let s2 go on.
#[test]
fn a_statement_that_should_have_waited_longer_is_held_until_the_lock_is_gone() {
    let steps = "/* s1 */ BEGIN;\n\
                 /* s1 */ UPDATE t SET v = 1 WHERE id = 1; -- @got affected 1\n\
                 /* s2 */ BEGIN;\n\
                 /* s2 */ DELETE FROM t WHERE id = 1; -- @waits  @got affected 1  @expect waits\n\
                 /* s1 */ UPDATE t SET v = 2 WHERE id = 2; -- @resumes s2  @got affected 1\n\
                 /* s1 */ COMMIT;\n\
                 /* s2 */ COMMIT;\n";
    let text = exported(&format!("{TABLE}{steps}")).text;
    let (_, behind) = text.split_once("UPDATE t SET v = 2").unwrap();
    let place = |part: &str| {
        behind
            .find(part)
            .unwrap_or_else(|| panic!("{part}: {text}"))
    };
    let still = place("# The bug: c2 went on here.");
    let (wait, end, reap) = (
        place("# Until c2 waits for a lock.\n"),
        place("--connection c1\nCOMMIT;"),
        place("--reap"),
    );
    assert!(still < wait && wait < end && end < reap, "{text}");
}

/// Who waits then is not known, and a test that waited for it in vain would print so.
#[test]
fn behind_a_wrong_write_a_statement_that_was_seen_waiting_may_be_answered() {
    let steps = "/* s1 */ BEGIN;\n\
                 /* s1 */ UPDATE t SET v = 1 WHERE id = 1; -- @got affected 0  @expect affected 1\n\
                 /* s2 */ UPDATE t SET v = 2 WHERE id = 1; -- @waits  @got affected 1\n\
                 /* s1 */ COMMIT; -- @resumes s2\n";
    let text = exported(&format!("{TABLE}{steps}")).text;
    assert!(
        text.contains("# Until c2 waits for a lock or is answered."),
        "{text}"
    );
}

#[test]
fn ddl_that_a_run_holds_back_comes_after_the_transactions_that_used_its_table() {
    let ddl = "/* s3 */ CREATE INDEX i ON t (v);\n/* s3 */ DELETE FROM t WHERE id = 2; -- @got affected 1\n";
    let (before, after) = WAITING.split_once("/* s2 */ BEGIN").unwrap();
    let text = exported(&format!("{TABLE}{before}{ddl}/* s2 */ BEGIN{after}")).text;
    let place = |text: &str, part: &str| text.rfind(part).unwrap();
    // The transaction of s2 goes on, and ends, when that of s1 has ended.
    let ends = place(&text, "COMMIT;");
    let (index, delete) = (
        place(&text, "CREATE INDEX"),
        place(&text, "DELETE FROM t WHERE id = 2"),
    );
    assert!(ends < index && index < delete, "{text}");
    // Where nobody has used the table yet it stays where it is.
    let first = exported(&format!("{TABLE}{ddl}{WAITING}")).text;
    assert!(
        place(&first, "CREATE INDEX") < place(&first, "BEGIN;"),
        "{first}"
    );
}

#[test]
fn what_a_write_returns_is_printed_under_its_headings() {
    check_result(
        "/* s1 */ INSERT INTO t VALUES (3, 30) RETURNING *; -- @got (3, 31)  @expect (3, 30)\n\
         /* s1 */ DELETE FROM t WHERE id = 1 RETURNING v + 1; -- @got (11)\n\
         /* end */ SELECT * FROM t; -- @got (2, 20) (3, 30)\n",
        &expect![[r#"
            INSERT INTO t VALUES (3, 30) RETURNING *;
            id	v
            3	30
            DELETE FROM t WHERE id = 1 RETURNING v + 1;
            SELECT * FROM t;
            DROP TABLE `t`;
        "#]],
    );
}
