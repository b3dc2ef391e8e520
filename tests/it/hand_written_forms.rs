//! Forms that a person writes and the generator does not: what is not understood is said to be, and is no violation on an
//! engine that is right. What stands beside it is heard as before.

use rashomon::engine::{self, OpenOptions};
use rashomon::model::IsolationLevel::{
    self, ReadCommitted, ReadUncommitted, RepeatableRead, Serializable,
};
use rashomon::model::{Execution, Outcome, UndecidedReason, Verdict};

use crate::lying::{Lie, OneDriver, hearing_of, honest, id, scripted};
use crate::oracles;
use crate::servers::Needs;

const TABLES: &str = "\
    /* init */ CREATE TABLE t (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ INSERT INTO t VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30);\n";

/// What all oracles say of a script, run by a driver that lies.
fn said(
    driver: &OneDriver<'_>,
    level: IsolationLevel,
    setup: &str,
    script: &str,
    lie: Lie,
) -> Verdict {
    let case = scripted(driver.server, level, setup, script);
    hearing_of(driver, &case, lie).verdict()
}

fn is_violation(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Violation(_))
}

/// A set-up of its own, or the usual one, and a script.
type Form = (Option<&'static str>, &'static str);

fn assert_no_alarm(driver: &OneDriver<'_>, levels: &[IsolationLevel], forms: &[Form]) {
    for level in levels {
        for (setup, script) in forms {
            let setup = setup.unwrap_or(TABLES);
            let verdict = said(driver, *level, setup, script, honest);
            assert!(
                !is_violation(&verdict),
                "{level}: {setup}{script}\n{verdict}"
            );
        }
    }
}

/// Of MySQL and MariaDB.
const OF_MYSQL: [Form; 22] = [
    (None, OWN_TABLE),
    // An update that changes nothing may bring what another session wrote into the snapshot of its own.
    (
        None,
        "s1 BEGIN\ns1 SELECT * FROM t\ns2 UPDATE t SET c0 = 5 WHERE pkey = 1\ns1 UPDATE t SET c0 = 5 WHERE pkey = 1\n\
         s1 SELECT * FROM t\ns1 COMMIT",
    ),
    (
        None,
        "s1 UPDATE IGNORE t SET vkey = 1000 WHERE pkey = 1\ns2 SELECT * FROM t",
    ),
    (
        None,
        "s1 UPDATE LOW_PRIORITY t SET vkey = 1000\ns2 SELECT * FROM t",
    ),
    (
        None,
        "s1 DELETE QUICK FROM t WHERE pkey = 1\ns2 SELECT * FROM t",
    ),
    (
        None,
        "s1 DELETE LOW_PRIORITY IGNORE FROM t WHERE pkey = 1\ns2 SELECT * FROM t",
    ),
    (
        None,
        "s1 START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT\n\
         s2 UPDATE t SET vkey = 1000 WHERE pkey = 1\ns1 SELECT * FROM t\ns1 COMMIT",
    ),
    (
        None,
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000 WHERE pkey = 1\ns1 COMMIT AND CHAIN\n\
         s2 SELECT * FROM t WHERE pkey = 1\ns1 ROLLBACK",
    ),
    // Two rows of one key, which nothing tells apart.
    (
        Some(
            "/* init */ CREATE TABLE t (pkey INT NOT NULL, vkey INT, c INT, PRIMARY KEY (pkey, c));\n\
             /* init */ INSERT INTO t VALUES (1, 1, 1), (1, 2, 2);\n",
        ),
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000 WHERE c = 2\ns2 SELECT * FROM t\ns1 COMMIT",
    ),
    // Versions that no text names, beside a write that waits.
    (
        None,
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000 WHERE pkey = 1\n\
         s2 INSERT INTO t VALUES (1, 1003, 7) ON DUPLICATE KEY UPDATE vkey = 1004\n\
         s1 UPDATE t SET vkey = vkey + 1100 WHERE pkey = 2\ns1 COMMIT",
    ),
    (
        None,
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000 WHERE pkey = 1\ns2 UPDATE t SET vkey = 1001 WHERE pkey = 1\n\
         s1 INSERT INTO t SELECT pkey + 10, vkey + 1100, c0 FROM t WHERE pkey = 3\ns1 COMMIT",
    ),
    // A search of words finds what is committed only.
    (
        Some(
            "/* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c VARCHAR(40), FULLTEXT (c)) ENGINE=InnoDB;\n\
             /* init */ INSERT INTO t VALUES (1, 1, 'hello world');\n",
        ),
        "s1 BEGIN\ns1 INSERT INTO t VALUES (3, 1000, 'hello fox')\n\
         s1 SELECT * FROM t WHERE MATCH (c) AGAINST ('hello')\ns1 COMMIT",
    ),
    // What lies behind a view with a table of its own is not locked, nor read as it is now.
    (
        Some(
            "/* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
             /* init */ CREATE ALGORITHM=TEMPTABLE VIEW v AS SELECT pkey, vkey, c0 FROM t;\n\
             /* init */ INSERT INTO t VALUES (1, 1, 10), (2, 2, 20);\n",
        ),
        "s1 BEGIN\ns1 SELECT * FROM t\ns2 UPDATE t SET vkey = 1000 WHERE pkey = 1\n\
         s1 SELECT * FROM v FOR UPDATE\ns1 COMMIT",
    ),
    (None, "s1 CHECK TABLE t\ns2 UPDATE t SET vkey = 1000"),
    // A trigger takes the number.
    (
        Some(
            "/* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT);\n\
             /* init */ CREATE TABLE g (id INT AUTO_INCREMENT PRIMARY KEY, k INT);\n\
             /* init */ CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW INSERT INTO g (k) VALUES (NEW.pkey);\n",
        ),
        "s1 BEGIN\ns1 INSERT INTO t VALUES (1, 1000)\ns2 INSERT INTO t VALUES (2, 1001)\ns1 ROLLBACK\n\
         s2 INSERT INTO t VALUES (3, 1002)\ns1 SELECT * FROM g",
    ),
    (Some(QUEUE), INSERTS_WHAT_IS_FREE),
    (Some(QUEUE), FREE_OF_ONE_TABLE),
    (Some(QUEUE), WAITS_BY_ONE_CLAUSE),
    // A text that an ENUM does not have is the empty one to an index, and to a SELECT alone.
    (
        Some(
            "/* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c0 ENUM('a', 'b') NOT NULL, INDEX (c0));\n\
             /* init */ INSERT INTO t VALUES (1, 4, 'b');\n",
        ),
        "s1 UPDATE t SET vkey = 1000, c0 = ''\ns2 BEGIN\ns2 DELETE FROM t WHERE c0 = 'x_y'\n\
         s1 UPDATE t SET vkey = 1001\ns2 COMMIT",
    ),
    // What the clause leaves out is locked by the level alone: shared, and where an index has all that is asked for, there.
    (
        Some(
            "/* init */ CREATE TABLE u (pkey INT PRIMARY KEY);\n\
             /* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c0 CHAR(2), INDEX (c0));\n\
             /* init */ INSERT INTO u VALUES (1), (7);\n/* init */ INSERT INTO t VALUES (1, 4, 'b');\n",
        ),
        "s1 BEGIN\ns1 SELECT t.c0 FROM u JOIN t ON u.pkey = t.pkey FOR UPDATE OF u\n\
         s2 UPDATE t SET c0 = 'b'\ns1 COMMIT",
    ),
    // An index of our own would answer the count, and nothing in it is locked.
    (
        Some(KEYED),
        "s1 BEGIN\ns1 UPDATE t SET c0 = 5\ns2 SELECT COUNT(*) FROM t LOCK IN SHARE MODE\ns1 COMMIT",
    ),
    // The subquery counts by the other index, in which nothing has changed; the row is not one that is locked.
    (
        Some(
            "/* init */ CREATE TABLE t (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT, INDEX (c0));\n\
             /* init */ INSERT INTO t VALUES (2, 2, 1), (3, 3, 2), (4, 4, 3), (5, 5, 4), (6, 6, 5);\n",
        ),
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000 WHERE pkey = 4\ns2 BEGIN\n\
         s2 SELECT t.vkey FROM t WHERE (SELECT COUNT(*) FROM t AS r) < t.pkey FOR UPDATE\ns2 ROLLBACK\ns1 ROLLBACK",
    ),
];

/// A table that one session sees in the place of the other.
const OWN_TABLE: &str = "s1 CREATE TEMPORARY TABLE t (pkey INT PRIMARY KEY, vkey INT, c0 INT)\ns1 BEGIN\n\
    s1 INSERT INTO t VALUES (9, 1000, 9)\ns1 SELECT * FROM t\ns2 SELECT * FROM t\ns1 COMMIT";

/// Jobs, and a table for those that are taken.
const QUEUE: &str = "\
    /* init */ CREATE TABLE q (id INT PRIMARY KEY, topic INT, c0 INT);\n\
    /* init */ CREATE TABLE r (id INT PRIMARY KEY, c0 INT);\n\
    /* init */ INSERT INTO q VALUES (1, 1, 0), (2, 1, 0);\n\
    /* init */ INSERT INTO r VALUES (1, 0);\n";

/// What it puts in depends on locks: another serial order has it put in something else.
const INSERTS_WHAT_IS_FREE: &str = "s1 BEGIN\ns1 SELECT id FROM q WHERE id = 1 FOR UPDATE\ns2 BEGIN\n\
    s2 INSERT INTO r SELECT id + 10, c0 FROM q ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED\ns2 COMMIT\ns1 COMMIT";

/// At SERIALIZABLE InnoDB reads the other table with a shared lock.
const FREE_OF_ONE_TABLE: &str = "s1 BEGIN\ns1 UPDATE r SET c0 = 1 WHERE id = 1\ns2 BEGIN\n\
    s2 SELECT q.id FROM q JOIN r ON r.id = q.topic FOR UPDATE OF q SKIP LOCKED\ns1 COMMIT\ns2 COMMIT";

/// The other clause waits.
const WAITS_BY_ONE_CLAUSE: &str = "s1 BEGIN\ns1 UPDATE r SET c0 = 1 WHERE id = 1\n\
    s2 SELECT q.id FROM q JOIN r ON r.id = q.topic FOR UPDATE OF r FOR SHARE OF q NOWAIT\ns1 COMMIT";

#[test]
fn forms_of_mysql_that_are_not_understood_are_no_violation() {
    let levels = [ReadCommitted, RepeatableRead, Serializable];
    for needs in [Needs::MySql, Needs::MariaDb] {
        if let Some(server) = oracles::server("forms_of_mysql", needs) {
            assert_no_alarm(&OneDriver::of(&*server), &levels, &OF_MYSQL);
        }
    }
}

const SERIAL: &str = "\
    /* init */ CREATE TABLE t (pkey SERIAL PRIMARY KEY, vkey INT);\n\
    /* init */ INSERT INTO t (vkey) VALUES (1);\n";

const DEFERRED: &str = "\
    /* init */ CREATE TABLE p (pkey INT PRIMARY KEY);\n\
    /* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, f INT REFERENCES p (pkey) DEFERRABLE INITIALLY DEFERRED);\n\
    /* init */ INSERT INTO p VALUES (1);\n";

const OF_POSTGRES: [Form; 25] = [
    (None, OWN_TABLE),
    // Whose rows come with it, and have to come back with it.
    (
        Some("/* init */ CREATE TABLE t AS SELECT 1 AS a;\n"),
        "s1 SELECT * FROM t\ns2 SELECT * FROM t",
    ),
    (
        None,
        "s1 BEGIN\ns1 SELECT * FROM ONLY t FOR UPDATE\ns2 SELECT * FROM t FOR UPDATE NOWAIT\ns1 COMMIT",
    ),
    (
        None,
        "s1 BEGIN\ns1 SELECT * FROM (SELECT * FROM t FOR UPDATE) d\ns2 SELECT * FROM t FOR UPDATE NOWAIT\ns1 COMMIT",
    ),
    (
        None,
        "s1 BEGIN\ns1 SAVEPOINT a\ns1 UPDATE t SET vkey = 1000 WHERE pkey = 1\ns1 SAVEPOINT \"A\"\n\
         s1 UPDATE t SET vkey = 1001 WHERE pkey = 2\ns1 ROLLBACK TO a\ns1 SELECT * FROM t\ns1 COMMIT",
    ),
    (
        None,
        "s1 BEGIN\ns1 SELECT pg_try_advisory_xact_lock(1)\ns2 SELECT pg_try_advisory_xact_lock(1)\ns1 COMMIT",
    ),
    (
        None,
        "s1 BEGIN\ns1 SELECT pg_advisory_xact_lock(1)\ns2 SELECT pg_advisory_xact_lock(1)\ns1 COMMIT",
    ),
    // The subquery keeps to its snapshot, the row that was waited for is the newest.
    (
        None,
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000, c0 = 99 WHERE pkey = 1\n\
         s2 UPDATE t SET vkey = 1001, c0 = (SELECT MAX(c0) + 1 FROM t) WHERE pkey = 1\ns1 COMMIT",
    ),
    (
        None,
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000, c0 = 99 WHERE pkey = 1\n\
         s2 DELETE FROM t WHERE pkey IN (SELECT pkey FROM t WHERE c0 < 15)\ns1 COMMIT",
    ),
    (
        None,
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000, c0 = 99 WHERE pkey = 1\n\
         s2 SELECT * FROM t ORDER BY c0 LIMIT 2 FOR UPDATE\ns1 COMMIT",
    ),
    (
        None,
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000, c0 = 99 WHERE pkey = 1\n\
         s2 SELECT * FROM t ORDER BY c0 FETCH FIRST 2 ROWS ONLY FOR UPDATE\ns1 COMMIT",
    ),
    (
        Some(SERIAL),
        "s1 BEGIN\ns1 INSERT INTO t (vkey) VALUES (1000)\ns1 ROLLBACK\ns2 INSERT INTO t (vkey) VALUES (1001)",
    ),
    (
        Some(DEFERRED),
        "s1 BEGIN\ns1 INSERT INTO t VALUES (1, 1000, 7)\ns1 INSERT INTO p VALUES (7)\ns1 COMMIT",
    ),
    (
        Some(
            "/* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c0 DOUBLE PRECISION);\n\
             /* init */ INSERT INTO t VALUES (1, 1, random());\n",
        ),
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000\ns2 SELECT * FROM t\ns1 COMMIT",
    ),
    (
        None,
        "s1 UPDATE t SET vkey = 1000 WHERE pkey = 1\ns2 SELECT ctid, * FROM t\ns2 SELECT current_database()",
    ),
    (
        Some(
            "/* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
             /* init */ CREATE VIEW v AS SELECT * FROM t;\n/* init */ INSERT INTO t VALUES (1, 1, 10);\n",
        ),
        "s1 BEGIN\ns1 LOCK TABLE v\ns2 SELECT * FROM t\ns1 COMMIT",
    ),
    (
        None,
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000 WHERE pkey = 1\n\
         s2 WITH q AS (SELECT pkey FROM t FOR UPDATE SKIP LOCKED) SELECT * FROM q\ns1 COMMIT",
    ),
    // A query that writes.
    (
        None,
        "s1 WITH d AS (DELETE FROM t WHERE pkey > 1 RETURNING c0) SELECT COUNT(*) FROM d\ns2 SELECT * FROM t",
    ),
    (
        None,
        "s1 BEGIN\ns1 WITH d AS (UPDATE t SET vkey = 1000 RETURNING *) SELECT SUM(c0) FROM d\ns2 SELECT * FROM t\ns1 COMMIT",
    ),
    (
        None,
        "s1 WITH d AS (INSERT INTO t VALUES (4, 1000, 1) RETURNING *) SELECT * FROM d\ns2 SELECT * FROM t",
    ),
    (Some(QUEUE), INSERTS_WHAT_IS_FREE),
    (
        Some(QUEUE),
        "s1 BEGIN\ns1 SELECT id FROM q WHERE id = 1 FOR UPDATE\ns2 BEGIN\ns2 UPDATE q SET c0 = 7 WHERE id = \
         (SELECT id FROM q WHERE c0 = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)\ns2 COMMIT\ns1 COMMIT",
    ),
    (Some(QUEUE), WAITS_BY_ONE_CLAUSE),
    // No row can be put in place with its number.
    (
        Some(
            "/* init */ CREATE TABLE t (id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, c0 INT);\n\
             /* init */ INSERT INTO t (c0) VALUES (10), (20), (30);\n/* init */ DELETE FROM t WHERE c0 = 20;\n",
        ),
        "s1 BEGIN\ns1 UPDATE t SET c0 = 11 WHERE id = 1\ns2 UPDATE t SET c0 = 12 WHERE id = 3\ns1 COMMIT\ns1 DELETE FROM t WHERE id = 3",
    ),
    // The key follows another column.
    (
        Some(
            "/* init */ CREATE TABLE t (a INT NOT NULL, k INT GENERATED ALWAYS AS (a * 2) STORED PRIMARY KEY);\n\
             /* init */ INSERT INTO t (a) VALUES (1), (2);\n",
        ),
        "s1 UPDATE t SET a = 10 WHERE k = 2\ns2 SELECT * FROM t",
    ),
];

#[test]
fn forms_of_postgres_that_are_not_understood_are_no_violation() {
    let levels = [ReadCommitted, RepeatableRead, Serializable];
    if let Some(server) = oracles::server("forms_of_postgres", Needs::Postgres) {
        assert_no_alarm(&OneDriver::of(&*server), &levels, &OF_POSTGRES);
    }
}

const OF_SQLITE: [Form; 11] = [
    (None, OWN_TABLE),
    (
        None,
        "s1 SAVEPOINT a\ns1 UPDATE t SET vkey = 1000\ns2 SELECT * FROM t\ns1 RELEASE a",
    ),
    (
        None,
        "s1 INSERT OR FAIL INTO t VALUES (4, 1000, 1), (1, 1001, 2)\ns2 SELECT * FROM t",
    ),
    (
        Some(
            "/* init */ CREATE TABLE p (pkey INTEGER PRIMARY KEY);\n\
             /* init */ CREATE TABLE t (pkey INTEGER PRIMARY KEY, f INT REFERENCES p (pkey) DEFERRABLE INITIALLY DEFERRED);\n",
        ),
        "s1 BEGIN\ns1 INSERT INTO t VALUES (1, 7)\ns1 INSERT INTO p VALUES (7)\ns1 COMMIT",
    ),
    // What cannot be prepared takes no snapshot.
    (
        None,
        "s2 BEGIN\ns2 UPDATE t SET vkey = 1001 ORDER BY c0 LIMIT 1\ns1 UPDATE t SET vkey = 1000, c0 = 99 WHERE pkey = 1\n\
         s2 SELECT * FROM t\ns2 COMMIT",
    ),
    (
        None,
        "s1 SELECT strftime('%f'), julianday()\ns2 SELECT datetime('now', 'subsec')",
    ),
    (
        None,
        "s2 BEGIN\ns2 UPDATE t a JOIN t b ON b.pkey = a.pkey SET a.vkey = 1001\n\
         s1 UPDATE t SET vkey = 1000, c0 = 99 WHERE pkey = 1\ns2 SELECT * FROM t\ns2 COMMIT",
    ),
    // It deletes the row in its way.
    (
        Some(
            "/* init */ CREATE TABLE t (k TEXT PRIMARY KEY, v INT);\n/* init */ INSERT INTO t VALUES ('a', 1), ('b', 2);\n",
        ),
        "s1 UPDATE OR REPLACE t SET k = 'b' WHERE k = 'a'\ns2 SELECT * FROM t",
    ),
    (
        Some(
            "/* init */ CREATE TABLE t (id INTEGER PRIMARY KEY, v INT UNIQUE ON CONFLICT REPLACE);\n\
             /* init */ INSERT INTO t VALUES (1, 1), (2, 2);\n",
        ),
        "s1 INSERT INTO t VALUES (5, 2)\ns2 SELECT * FROM t",
    ),
    (
        Some(
            "/* init */ CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT REPLACE, v INT);\n\
             /* init */ INSERT INTO t VALUES (1, 1), (2, 2);\n",
        ),
        "s1 INSERT INTO t VALUES (1, 9)\ns2 SELECT * FROM t",
    ),
    (
        None,
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000 WHERE pkey = 2\ns1 INSERT OR ROLLBACK INTO t VALUES (1, 1001, 2)\n\
         s2 SELECT * FROM t\ns1 COMMIT",
    ),
];

#[test]
fn forms_of_sqlite_that_are_not_understood_are_no_violation() {
    let server = engine::open("sqlite:", &OpenOptions::default()).expect("no server is needed");
    assert_no_alarm(&OneDriver::of(&*server), &[Serializable], &OF_SQLITE);
}

/// T2's write counts a row that it did not write.
fn counts_another(run: &mut Execution) {
    let record = run.records.get_mut(&id(2, 1)).expect("it ran");
    if let Outcome::Affected(count) = &mut record.outcome {
        *count += 1;
    }
}

/// Each stands beside something that is not understood, and is heard all the same.
#[test]
fn what_stands_beside_such_a_form_is_heard() {
    let Some(server) = oracles::server("what_stands_beside_such_a_form", Needs::Postgres) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for script in [
        // A subquery of the same table, and no wait.
        "s1 BEGIN\ns1 SELECT * FROM t\ns2 UPDATE t SET vkey = 1001, c0 = (SELECT MAX(c0) + 1 FROM t) WHERE pkey = 1\ns1 COMMIT",
        // A wait, and no subquery.
        "s1 BEGIN\ns1 UPDATE t SET vkey = 1000, c0 = 99 WHERE pkey = 1\ns2 UPDATE t SET vkey = 1001, c0 = c0 + 1 WHERE pkey = 1\n\
         s1 COMMIT",
        // Columns that are called as functions are.
        "s1 BEGIN\ns1 SELECT t.c0 AS now FROM t\ns2 UPDATE t SET vkey = 1001 WHERE pkey = 1\ns1 COMMIT",
    ] {
        let verdict = said(&driver, ReadCommitted, TABLES, script, counts_another);
        assert!(is_violation(&verdict), "{script}\n{verdict}");
    }
    // A subquery of the same table, and a wait: the engine alone knows.
    let script = "s1 BEGIN\ns1 UPDATE t SET vkey = 1000, c0 = 99 WHERE pkey = 1\n\
        s2 UPDATE t SET vkey = 1001, c0 = (SELECT MAX(c0) + 1 FROM t) WHERE pkey = 1\ns1 COMMIT";
    let verdict = said(&driver, RepeatableRead, TABLES, script, honest);
    assert!(!matches!(
        verdict,
        Verdict::Undecided(UndecidedReason::OneTableInTwoReadModes)
    ));
}

const TRIGGERS_LAST: &str = "\
    /* init */ CREATE TABLE t (id INT PRIMARY KEY, g INT);\n\
    /* init */ CREATE TABLE n (g INT PRIMARY KEY, c0 INT NOT NULL);\n\
    /* init */ INSERT INTO n VALUES (1, 0);\n\
    /* init */ CREATE TRIGGER a AFTER INSERT ON t FOR EACH ROW UPDATE n SET c0 = c0 + 1 WHERE g = NEW.g;\n";

const TRIGGERS_FIRST: &str = "\
    /* init */ CREATE TABLE t (id INT PRIMARY KEY, a INT, c0 INT);\n\
    /* init */ CREATE TRIGGER i BEFORE INSERT ON t FOR EACH ROW SET NEW.c0 = NEW.a * 2;\n\
    /* init */ CREATE TRIGGER u BEFORE UPDATE ON t FOR EACH ROW SET NEW.c0 = NEW.a * 3;\n\
    /* init */ INSERT INTO t (id, a) VALUES (1, 1), (2, 2);\n";

const IDENTITY: &str = "\
    /* init */ CREATE TABLE t (id INT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, c0 INT);\n\
    /* init */ INSERT INTO t (id, c0) VALUES (1, 10), (3, 20);\n";

const COPIED: &str = "\
    /* init */ CREATE TABLE t (id INT PRIMARY KEY, c0 INT);\n\
    /* init */ CREATE TABLE u LIKE t;\n\
    /* init */ INSERT INTO t VALUES (1, 1), (2, 2);\n";

const ADDED_AS_A_LIST: &str = "\
    /* init */ CREATE TABLE t (id INT PRIMARY KEY);\n\
    /* init */ ALTER TABLE t ADD (b INT, c0 INT);\n\
    /* init */ INSERT INTO t VALUES (1, 1, 0), (2, 2, 0);\n";

const KEYED: &str = "\
    /* init */ CREATE TABLE t (id INT PRIMARY KEY, c0 INT);\n\
    /* init */ INSERT INTO t VALUES (1, 1), (2, 2);\n";

/// Columns whose names are key words of MySQL.
const KEY_WORDS: &str = "\
    /* init */ CREATE TABLE t (id INT PRIMARY KEY, key INT, index INT, period INT, c0 INT);\n\
    /* init */ INSERT INTO t VALUES (1, 1, 1, 1, 0), (2, 2, 2, 2, 0);\n";

const PARTITIONED: &str = "\
    /* init */ CREATE TABLE t (id INT PRIMARY KEY, c0 INT) PARTITION BY HASH (id) PARTITIONS 3;\n\
    /* init */ INSERT INTO t VALUES (1, 1), (2, 2);\n";

/// Of MySQL and MariaDB: two inserts of which the second waits for the counter; a row whose trigger gives it another value
/// when it is put in; tables that the text does not describe by itself.
const TWO_TABLES: &str = "\
    /* init */ CREATE TABLE t (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ CREATE TABLE u (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);\n\
    /* init */ INSERT INTO t VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30);\n\
    /* init */ INSERT INTO u VALUES (1, 5), (2, 6);\n";

const JUDGED_BY_MYSQL: [(&str, &str); 6] = [
    (
        TWO_TABLES,
        "s1 BEGIN\ns1 UPDATE t AS a, u b SET a.vkey = 1001, a.c0 = b.vkey WHERE a.pkey = b.pkey\n\
         s2 UPDATE t SET vkey = 1002, c0 = 7 WHERE pkey = 1\ns1 COMMIT\ns2 SELECT * FROM t",
    ),
    (
        TRIGGERS_LAST,
        "s1 BEGIN\ns1 INSERT INTO t VALUES (1, 1)\ns2 INSERT INTO t VALUES (3, 1)\ns1 COMMIT\ns1 SELECT * FROM n",
    ),
    (
        TRIGGERS_FIRST,
        "s1 BEGIN\ns1 INSERT INTO t (id, a) VALUES (3, 3)\ns2 UPDATE t SET a = 10 WHERE id = 2\ns2 SELECT * FROM t\ns1 ROLLBACK",
    ),
    (
        COPIED,
        "s1 SELECT * FROM u\ns2 INSERT INTO u SELECT * FROM t\ns1 SELECT * FROM u",
    ),
    (
        PARTITIONED,
        "s1 SELECT * FROM t\ns2 UPDATE t SET c0 = 15 WHERE id = 1\ns1 SELECT * FROM t",
    ),
    (
        ADDED_AS_A_LIST,
        "s1 BEGIN\ns1 UPDATE t SET c0 = 1 WHERE b = 1\ns2 UPDATE t SET c0 = b + 5 WHERE b = 2\ns1 COMMIT\ns2 SELECT * FROM t",
    ),
];

fn assert_judged(driver: &OneDriver<'_>, level: IsolationLevel, setup: &str, script: &str) {
    let verdict = said(driver, level, setup, script, honest);
    assert_eq!(verdict, Verdict::Agree, "{setup}{script}");
    let verdict = said(driver, level, setup, script, counts_another);
    assert!(is_violation(&verdict), "{setup}{script}\n{verdict}");
}

#[test]
fn forms_that_are_judged_are_right_and_heard() {
    for needs in [Needs::MySql, Needs::MariaDb] {
        let Some(server) = oracles::server("forms_that_are_judged", needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        for level in [ReadUncommitted, ReadCommitted] {
            for (setup, script) in JUDGED_BY_MYSQL {
                assert_judged(&driver, level, setup, script);
            }
        }
    }
    if let Some(server) = oracles::server("forms_that_are_judged", Needs::Postgres) {
        let driver = OneDriver::of(&*server);
        let script = "s1 BEGIN\ns1 UPDATE t SET c0 = 11 WHERE id = 1\ns2 UPDATE t SET c0 = 12 WHERE id = 3\n\
            s1 COMMIT\ns1 DELETE FROM t WHERE id = 3";
        assert_judged(&driver, ReadCommitted, IDENTITY, script);
        let script = script.replace("BEGIN", "BEGIN READ WRITE");
        assert_judged(&driver, ReadCommitted, IDENTITY, &script);
        let script = "s1 BEGIN\ns1 UPDATE t SET c0 = 1 WHERE id = 1\ns2 UPDATE t SET c0 = key + index WHERE key = 2\n\
            s2 UPDATE t SET c0 = period + 5 WHERE index = 1\ns1 COMMIT\ns2 SELECT * FROM t WHERE key = 1";
        assert_judged(&driver, ReadCommitted, KEY_WORDS, script);
    }
    let server = engine::open("sqlite:", &OpenOptions::default()).expect("no server is needed");
    let driver = OneDriver::of(&*server);
    let setup = "/* init */ CREATE TABLE t (id INTEGER PRIMARY KEY, b INT);\n\
        /* init */ INSERT INTO t VALUES (1, 10), (2, 20);\n";
    let script =
        "s1 SELECT * FROM t\ns2 UPDATE t SET id = id + 10 WHERE id = 1\ns1 SELECT * FROM t";
    assert_judged(&driver, Serializable, setup, script);
    let setup = format!(
        "{TABLES}/* init */ CREATE TABLE u (pkey INTEGER PRIMARY KEY, vkey INT);\n\
         /* init */ CREATE TRIGGER g AFTER UPDATE ON t BEGIN INSERT INTO u VALUES (NEW.vkey, NEW.vkey); END;\n"
    );
    let script =
        "s1 SELECT * FROM t\ns2 UPDATE t SET vkey = 1000 WHERE pkey = 1\ns1 SELECT * FROM u";
    assert_judged(&driver, Serializable, &setup, script);
}

/// A table as a tutorial has it: no column `pkey`, and a number that the engine gives.
#[test]
fn a_table_without_a_row_key_is_judged_by_its_primary_key() {
    for (needs, column) in [
        (Needs::MySql, "id INT AUTO_INCREMENT PRIMARY KEY"),
        (Needs::MariaDb, "id INT AUTO_INCREMENT PRIMARY KEY"),
        (Needs::Postgres, "id SERIAL PRIMARY KEY"),
    ] {
        let Some(server) = oracles::server("a_table_without_a_row_key", needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        let setup = format!(
            "/* init */ CREATE TABLE t (ID_OF_ALL INT, {column}, c0 INT);\n\
             /* init */ INSERT INTO t (id, c0) VALUES (1, 10), (2, 20);\n"
        );
        let script = "s1 BEGIN\ns1 SELECT * FROM t\ns2 UPDATE t SET c0 = 5 WHERE id = 1\n\
            s1 SELECT * FROM t\ns1 COMMIT";
        let honestly = said(&driver, ReadCommitted, &setup, script, honest);
        assert_eq!(honestly, Verdict::Agree, "{column}");
        let verdict = said(&driver, ReadCommitted, &setup, script, counts_another);
        assert!(is_violation(&verdict), "{column}\n{verdict}");
    }
}
