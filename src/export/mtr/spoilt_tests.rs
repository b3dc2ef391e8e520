//! Tests of cases in which what went wrong is in the answers behind it.

use expect_test::expect;

use super::tests::{TABLE, check_result, exported};

/// Rows that a write left wrongly are in what is read behind it: it is run, and only what the case expects is compared.
#[test]
fn what_follows_a_wrong_effect_is_not_compared() {
    let steps = "/* s1 */ BEGIN;\n\
                 /* s1 */ UPDATE t SET v = 1 WHERE id = 1; -- @got affected 1  @wrong-effect t\n\
                 /* s1 */ SELECT v FROM t WHERE id = 1; -- @got (10)\n\
                 /* s1 */ COMMIT;\n\
                 /* end */ SELECT * FROM t; -- @got (1, 10) (2, 20)  @expect (1, 1) (2, 20)\n";
    let (_, result) = exported(&format!("{TABLE}{steps}")).beside.unwrap();
    assert!(!result.contains("\nv\n10\n"), "{result}");
    assert!(result.contains("1\t1\n2\t20\n"), "{result}");
}

/// s2 has changed the row: an engine that is right has s1 wait, and COMMIT of s2 comes behind the next statement of s1.
#[test]
fn a_wrong_answer_for_which_a_lock_is_missing_is_skipped_where_the_lock_is() {
    let steps = "/* s1 */ BEGIN;\n\
                 /* s2 */ BEGIN;\n\
                 /* s2 */ DELETE FROM t WHERE id = 1; -- @got affected 1\n\
                 /* s1 */ UPDATE t SET v = 0 WHERE id = 1; -- @got affected 0  @expect affected 1\n\
                 /* s1 */ COMMIT;\n\
                 /* s2 */ COMMIT;\n";
    let text = exported(&format!("{TABLE}{steps}")).text;
    for part in [
        "SET SESSION innodb_lock_wait_timeout = 5;\n",
        "--error 0,ER_LOCK_DEADLOCK,ER_LOCK_WAIT_TIMEOUT\n--reap",
        "--skip A lock is in the way of this statement, as it may be at READ COMMITTED",
        "# Where an engine has a statement wait that did not wait when the bug was",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Nothing of the kind where nobody else has a lock.
    let alone = steps.replace("/* s2 */ BEGIN;\n", "");
    let text = exported(&format!("{TABLE}{alone}")).text;
    assert!(!text.contains("innodb_lock_wait_timeout"), "{text}");
}

/// At READ COMMITTED s1 reads what s2 has done at once, and the run had not.
#[test]
fn what_is_answered_while_a_wrong_write_is_in_flight_is_not_compared() {
    let steps = "/* s1 */ BEGIN;\n\
                 /* s1 */ SELECT v FROM t WHERE id = 2 FOR UPDATE; -- @got (20)\n\
                 /* s2 */ UPDATE t SET v = 7 WHERE id = 1; -- @got affected 0  @expect affected 1  @wrong-effect t\n\
                 /* s1 */ SELECT v FROM t WHERE id = 1; -- @got (10)\n\
                 /* s1 */ COMMIT;\n\
                 /* end */ SELECT * FROM t; -- @got (1, 10) (2, 20)\n";
    check_result(
        steps,
        &expect![[r#"
            SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
            SET SESSION innodb_lock_wait_timeout = 5;
            BEGIN;
            SELECT v FROM t WHERE id = 2 FOR UPDATE;
            v
            20
            UPDATE t SET v = 7 WHERE id = 1;
            SELECT v FROM t WHERE id = 1;
            COMMIT;
            SELECT ROW_COUNT();
            ROW_COUNT()
            1
            SELECT * FROM t;
            DROP TABLE `t`;
        "#]],
    );
}

/// The INSERT ended the transaction of s1, and the answer of s2 was judged as if it had not.
#[test]
fn one_that_went_on_while_the_transaction_in_its_way_was_open_is_to_wait_until_that_ends() {
    let steps = |line: &str| {
        format!(
            "/* s1 */ BEGIN;\n\
             /* s1 */ SAVEPOINT p;\n\
             /* s1 */ DELETE FROM t WHERE id = 1; -- @got affected 1\n\
             /* s2 */ UPDATE t SET v = 7 WHERE id = 1; -- @waits  @got affected 0  @expect affected 1  @wrong-effect t\n\
             /* s1 */ {line} -- @resumes s2\n\
             /* s1 */ COMMIT;\n\
             /* end */ SELECT * FROM t; -- @got (2, 20)\n"
        )
    };
    let place = |text: &str, part: &str| {
        let place = text.find(part);
        place.unwrap_or_else(|| panic!("{part}: {text}"))
    };
    let held = exported(&format!("{TABLE}{}", steps("INSERT INTO t VALUES (3, 3);"))).text;
    let waits = place(&held, "# The bug: c2 went on here.\n");
    assert!(waits < place(&held, "\nCOMMIT;\n"), "{held}");
    assert!(
        place(&held, "\nCOMMIT;\n") < place(&held, "--reap"),
        "{held}"
    );
    assert!(!held.contains("--error 0"), "{held}");
    // What takes a lock back may let it go on.
    let free = exported(&format!("{TABLE}{}", steps("ROLLBACK TO SAVEPOINT p;"))).text;
    assert!(!free.contains("went on here"), "{free}");
    assert!(
        place(&free, "--reap") < place(&free, "\nCOMMIT;\n"),
        "{free}"
    );
}

#[test]
fn bytes_that_have_no_certain_text_are_read_by_hex_at_the_end() {
    let table = "/* init */ CREATE TABLE b (k INT PRIMARY KEY, v VARBINARY(8));\n";
    let steps = "/* s1 */ BEGIN;\n\
                 /* s1 */ INSERT INTO b VALUES (1, X'FF00'), (2, 'ab'); -- @got affected 2  @wrong-effect b\n\
                 /* s1 */ COMMIT;\n\
                 /* end */ SELECT * FROM b; -- @got empty  @expect (1, x'ff00') (2, 'ab') (3, NULL)\n";
    let (_, result) = exported(&format!("{table}{steps}")).beside.unwrap();
    let end =
        "SELECT * FROM b;\nSELECT `k`, HEX(`v`) AS `v` FROM b;\nk\tv\n1\tFF00\n2\t6162\n3\tNULL\n";
    assert!(result.contains(end), "{result}");
}

/// The refusal came when s1 had committed, and the oracle judged what was behind it. An engine that is right executes the DELETE.
#[test]
fn a_refusal_for_a_lock_that_has_gone_is_not_expected_nor_what_was_predicted_behind_it() {
    let steps = |other: &str| {
        format!(
            "/* s1 */ BEGIN;\n\
             /* s1 */ UPDATE t SET v = 7 WHERE id = 1; -- @got affected 1\n\
             {other}\
             /* s2 */ DELETE FROM t WHERE id = 1; -- @waits  @error lock-timeout\n\
             /* s1 */ COMMIT; -- @resumes s2\n\
             /* s2 */ DELETE FROM t WHERE id = 5; -- @got affected 0  @wrong-effect t\n\
             /* end */ SELECT * FROM t; -- @got (2, 20)  @expect (1, 7) (2, 20)\n"
        )
    };
    let gone = exported(&format!("{TABLE}{}", steps("")));
    let refused = "# The bug: it was refused, and no lock was in its way any more.\n--disable_result_log\n--reap\n";
    assert!(gone.text.contains(refused), "{}", gone.text);
    let (_, result) = gone.beside.unwrap();
    assert!(!result.contains("1\t7\n"), "{result}");
    // Of another transaction it may be the lock.
    let held = exported(&format!("{TABLE}{}", steps("/* s3 */ BEGIN;\n")));
    assert!(!held.text.contains("it was refused"), "{}", held.text);
    let (_, result) = held.beside.unwrap();
    assert!(result.contains("1\t7\n"), "{result}");
}

/// At REPEATABLE READ s1 keeps the lock of row 2 while it waits for row 1, and s2 closes a deadlock. At READ COMMITTED it gave that
/// lock back.
#[test]
fn a_statement_that_closes_a_deadlock_with_a_wrong_write_in_flight_is_skipped() {
    let steps = "/* s2 */ BEGIN;\n\
                 /* s2 */ DELETE FROM t WHERE id = 1; -- @got affected 1\n\
                 /* s1 */ UPDATE t SET v = 7 WHERE v = 10; -- @waits  @got affected 0  @expect affected 1  @wrong-effect t\n\
                 /* s2 */ UPDATE t SET v = 10 WHERE id = 2; -- @got affected 1\n\
                 /* s2 */ COMMIT; -- @resumes s1\n";
    let claimed = format!("--! claim = \"REPEATABLE READ\"\n{TABLE}{steps}");
    let text = exported(&claimed).text;
    let skipped = "UPDATE t SET v = 10 WHERE id = 2;\nif ($mysql_errno == 1213)\n";
    assert!(text.contains(skipped), "{text}");
    // COMMIT is refused for no lock.
    assert!(text.contains("}\nCOMMIT;\n\n--connection c1"), "{text}");
    // Where the run was refused so, that is no other interleaving.
    let refused = claimed.replace(
        "WHERE id = 2; -- @got affected 1",
        "WHERE id = 2; -- @error deadlock",
    );
    let text = exported(&refused).text;
    assert!(
        !text.contains("WHERE id = 2;\nif ($mysql_errno == 1213)"),
        "{text}"
    );
    assert!(
        text.contains("WHERE id = 2;\nif ($mysql_errno == 1205)"),
        "{text}"
    );
    // At the level of the run nothing else comes.
    let text = exported(&format!("{TABLE}{steps}")).text;
    assert!(!text.contains("$mysql_errno == 1213"), "{text}");
}
