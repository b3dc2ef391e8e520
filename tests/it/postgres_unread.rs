//! What SERIALIZABLE of PostgreSQL keeps no trace of, and what is heard beside that.

use rashomon::model::IsolationLevel::{RepeatableRead, Serializable};
use rashomon::model::Verdict;
use rashomon::reproducer::read;

use crate::lying::{OneDriver, SKEW, UNDONE, hearing_of, honest, verdict};
use crate::oracles;
use crate::postgres_cases::server;

/// T2.1 deletes the row that T1.2 met: were T2 first, T1.2 would insert; were T1 first, T1.3 would be refused.
const UNREAD_CONFLICT: &str = "s1 BEGIN
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1000, 1) ON CONFLICT (pkey) DO NOTHING
s2 DELETE FROM t0 WHERE pkey = 1
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1001, 2)
s1 COMMIT";

/// T2.3 leaves the row alone that it met and T1 deletes; T1 does not see the row 30.
const UNREAD_UPSERT: &str = "s1 BEGIN
s1 SELECT pkey, c0 FROM t0
s2 BEGIN
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (30, 1001, 1)
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1000, 1) ON CONFLICT (pkey) DO UPDATE SET vkey = 1000 WHERE t0.pkey = 9
s2 COMMIT
s1 DELETE FROM t0 WHERE pkey = 1
s1 COMMIT";

/// T1.4 found the key 11 free, and is undone; T2 does not see the row 10.
const UNDONE_INSERT: &str = "s1 BEGIN
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (10, 1000, 1)
s1 SAVEPOINT a
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (11, 1001, 1)
s2 BEGIN
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (11, 1002, 2)
s2 SELECT pkey, c0 FROM t0
s2 COMMIT
s1 ROLLBACK TO SAVEPOINT a
s1 COMMIT";

/// T1.3 is refused for the row that T2 deletes; T2 reads the row that T1 deletes.
const REFUSED_INSERT: &str = "s1 BEGIN
s1 SAVEPOINT a
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1000, 1)
s1 ROLLBACK TO SAVEPOINT a
s1 DELETE FROM t0 WHERE pkey = 2
s2 BEGIN
s2 SELECT pkey, c0 FROM t0
s2 DELETE FROM t0 WHERE pkey = 1
s2 COMMIT
s1 COMMIT";

/// A refused INSERT whose row nobody changes.
const REFUSED: &str = "s1 SAVEPOINT a
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1000, 1)
s1 ROLLBACK TO SAVEPOINT a";

/// A row that is met and that nobody changes.
const CONFLICT: &str =
    "s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1000, 1) ON CONFLICT (pkey) DO NOTHING";

#[test]
fn what_serializable_does_not_note_is_known_and_a_skew_beside_it_is_heard() {
    let Some(server) = server("what_serializable_does_not_note") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    // The same by an UPDATE.
    let refused_update = REFUSED_INSERT.replace(
        "INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1000, 1)",
        "UPDATE t0 SET pkey = 1 WHERE pkey = 2",
    );
    assert_ne!(refused_update, REFUSED_INSERT);
    for (unread, id, beside) in [
        (
            UNREAD_CONFLICT,
            "unfiled:postgresql-on-conflict-unread",
            CONFLICT,
        ),
        (
            UNREAD_UPSERT,
            "unfiled:postgresql-on-conflict-unread",
            CONFLICT,
        ),
        (
            UNDONE_INSERT,
            "unfiled:postgresql-undone-insert-unread",
            UNDONE,
        ),
        (
            REFUSED_INSERT,
            "documented:unique-violation-at-serializable",
            REFUSED,
        ),
        (
            &refused_update,
            "documented:unique-violation-at-serializable",
            REFUSED,
        ),
    ] {
        let said = verdict(&driver, Serializable, None, unread, honest);
        assert_eq!(said, Verdict::Known(id.to_owned()), "{unread}");
        let skew = format!("s1 BEGIN\ns2 BEGIN\n{beside}\n{SKEW}");
        let said = verdict(&driver, RepeatableRead, Some(Serializable), &skew, honest);
        assert_eq!(oracles::kind(&said), "not-serializable", "{beside}");
    }
}

/// SERIALIZABLE looks at transactions of its own level alone.
#[test]
fn a_serializable_transaction_is_promised_its_snapshot_beside_weaker_ones() {
    const SETUP: &str = "\
        /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT);\n\
        /* init */ INSERT INTO t0 VALUES (1, 1), (2, 2);\n";
    const SCRIPT: &str = "\
        /* s1 */ BEGIN;\n/* s1 */ UPDATE t0 SET vkey = 1000 WHERE pkey = 2;\n/* s1 */ SELECT * FROM t0;\n\
        /* s2 */ UPDATE t0 SET vkey = 1001 WHERE pkey = 1;\n/* s3 */ SELECT * FROM t0;\n/* s1 */ COMMIT;\n";
    let Some(server) = server("a_serializable_transaction_beside") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = |header: &str| {
        let text = format!("--! format = 1\n{header}\n{SETUP}{SCRIPT}");
        let file = read(&text, "test.sql").expect("a case file");
        let case = file.test_case(server.dialect()).expect("a case");
        hearing_of(&driver, &case, honest).verdict()
    };
    let mixed =
        r#"--! isolation = { s1 = "SERIALIZABLE", s2 = "READ COMMITTED", s3 = "REPEATABLE READ" }"#;
    assert_eq!(said(mixed), Verdict::Agree);
    let claimed = "--! isolation = \"REPEATABLE READ\"\n--! claim = \"SERIALIZABLE\"";
    let claimed = said(claimed);
    assert!(matches!(claimed, Verdict::Violation(_)), "{claimed}");
}
