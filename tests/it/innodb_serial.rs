//! What InnoDB does at SERIALIZABLE that no serial order explains, and what is heard beside it.

use rashomon::model::IsolationLevel::{RepeatableRead, Serializable};
use rashomon::model::{Execution, Outcome, Verdict};

use crate::lying::{Lie, OneDriver, SKEW, UNDONE, hearing_of, honest, scripted, verdict};
use crate::oracles::{self, kind};
use crate::servers::Needs;

const TABLES: &str = "\
    /* init */ CREATE TABLE u (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ INSERT INTO u VALUES (1, 1, 1), (2, 2, 2);\n\
    /* init */ CREATE TABLE t (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);\n\
    /* init */ INSERT INTO t VALUES (5, 3, 20), (6, 4, 21);\n";

/// Two writers resume together, and nobody sees whose change is whose.
const BLIND: &str = "s3 BEGIN\ns3 UPDATE u SET vkey = 1000\ns1 UPDATE u SET c0 = 9 WHERE c0 = 1\ns2 UPDATE u SET c0 = 8 WHERE c0 = 2\ns3 COMMIT\n";

/// The DELETE finds no row: the one it waited for lies before the place where it waited.
const MOVED: &str = "s1 BEGIN\ns1 UPDATE t SET vkey = 1001 WHERE pkey = 5\ns2 DELETE FROM t WHERE pkey = 5\n\
    s1 UPDATE t SET c0 = 10 WHERE pkey = 5\ns1 COMMIT\n";

/// The same wait, without a move.
const STAYED: &str = "s1 BEGIN\ns1 UPDATE t SET vkey = 1001 WHERE pkey = 5\ns2 DELETE FROM t WHERE pkey = 5\ns1 COMMIT\n";

/// The last write that was sent to wait is said to have found nothing.
fn found_nothing(run: &mut Execution) {
    let waited = run.records.values_mut().filter(|record| record.resumed());
    if let Some(last) = waited.max_by_key(|record| record.sent) {
        last.outcome = Outcome::Affected(0);
    }
}

#[test]
fn a_row_that_moved_while_it_was_waited_for_is_known_without_its_versions_and_one_that_stayed_is_heard()
 {
    let Some(server) = oracles::server("moved_keys", Needs::MySql) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = |script: &str, lie: Lie| {
        let case = scripted(&*server, Serializable, TABLES, &format!("{BLIND}{script}"));
        hearing_of(&driver, &case, lie).verdict()
    };
    assert_eq!(said(MOVED, honest), Verdict::Known("MDEV-27992".to_owned()));
    assert_eq!(kind(&said(STAYED, found_nothing)), "not-serializable");
}

/// The row 11 is locked as long as it is there, and a ROLLBACK TO takes it back: s2 inserts the same, which s1 reads.
const TAKEN_BACK: &str = "s1 BEGIN
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (10, 1000, 1)
s1 SAVEPOINT a
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (11, 1001, 1)
s1 ROLLBACK TO SAVEPOINT a
s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (11, 1002, 2)
s1 SELECT pkey, c0 FROM t0
s1 COMMIT";

#[test]
fn a_key_that_a_rollback_to_lets_go_is_known_and_a_skew_beside_it_is_heard() {
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(server) = oracles::server("rollback_to_lets_go", needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        // MySQL keeps the gap, in which s2 waits.
        let said = verdict(&driver, Serializable, None, TAKEN_BACK, honest);
        let known = Verdict::Known("documented:rollback-to-lets-new-rows-go".to_owned());
        assert!(said == known || said == Verdict::Agree, "{said}");
        assert!(needs != Needs::MariaDb || said == known, "{said}");
        let skew = format!("s1 BEGIN\ns2 BEGIN\n{UNDONE}\n{SKEW}");
        let said = verdict(&driver, RepeatableRead, Some(Serializable), &skew, honest);
        assert!(matches!(said, Verdict::Violation(_)), "{said}");
    }
}
