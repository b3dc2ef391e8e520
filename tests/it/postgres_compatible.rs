//! Locks of PostgreSQL that do not exclude each other, and servers that take stronger ones.

use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};

use crate::heard::open_planted;
use crate::lying::{OneDriver, SETUP, hearing_of, honest, scripted};
use crate::oracles;
use crate::plant::Fault;
use crate::servers::{Needs, url};

const CHANGED: &str = "UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1";
const MOVED: &str = "UPDATE t0 SET pkey = 5, vkey = 1000 WHERE pkey = 1";
const DELETED: &str = "DELETE FROM t0 WHERE pkey = 1";
const LOCKED: &str = "SELECT pkey FROM t0 WHERE pkey = 1";

/// What the first transaction does, and then the second one before the first has ended.
fn kind(url: &str, fault: Fault, first: &str, second: &str) -> Vec<String> {
    kind_in(url, fault, SETUP, first, second)
}

/// The same with tables of its own.
fn kind_in(url: &str, fault: Fault, setup: &str, first: &str, second: &str) -> Vec<String> {
    let (_planted, server) = open_planted(url, fault);
    let driver = OneDriver::of(&*server);
    let script = format!("s1 BEGIN\ns2 BEGIN\ns1 {first}\ns2 {second}\ns1 ROLLBACK\ns2 ROLLBACK");
    let levels = [ReadCommitted, RepeatableRead, Serializable].into_iter();
    let said = levels.map(|level| {
        let case = scripted(&*server, level, setup, &script);
        oracles::kind(&hearing_of(&driver, &case, honest).verdict())
    });
    said.collect()
}

#[test]
fn a_lock_that_is_stronger_than_the_one_asked_for_is_heard_by_who_waits() {
    let Some(url) = url("a_lock_that_is_stronger", Needs::Postgres) else {
        return;
    };
    let key_share = format!("{LOCKED} FOR KEY SHARE");
    let no_key_update = format!("{LOCKED} FOR NO KEY UPDATE");
    let share = format!("{LOCKED} FOR SHARE");
    for (fault, first, second) in [
        (Fault::UpdateLocksKey, CHANGED, key_share.as_str()),
        (Fault::KeyShareIsExclusive, &key_share, CHANGED),
        (Fault::KeyShareIsExclusive, &key_share, &no_key_update),
    ] {
        let heard = kind(&url, fault, first, second);
        assert_eq!(heard, ["waited"; 3], "{first}; {second}");
        let silent = kind(&url, Fault::None, first, second);
        assert_eq!(silent, ["agree"; 3], "{first}; {second}");
    }
    // These wait for each other on a stock server.
    for (first, second) in [
        (share.as_str(), CHANGED),
        (&key_share, MOVED),
        (&key_share, DELETED),
        (MOVED, &key_share),
        (DELETED, &key_share),
        (CHANGED, &share),
        (&no_key_update, &share),
    ] {
        // Before PostgreSQL 18 a row that gets another key is not told from another row.
        let moves = [first, second].contains(&MOVED);
        for silent in kind(&url, Fault::None, first, second) {
            let is_untold = moves && silent == "undecided (write-without-returning)";
            assert!(
                silent == "agree" || is_untold,
                "{first}; {second}: {silent}"
            );
        }
    }
}

/// Two rows that an exclusion keeps apart wait for each other, whatever locks of rows are held.
#[test]
fn who_waits_for_a_row_that_is_excluded_beside_its_own_waits_for_a_reason() {
    let Some(url) = url("who_waits_for_a_row_that_is_excluded", Needs::Postgres) else {
        return;
    };
    let key_share = format!("{LOCKED} FOR KEY SHARE");
    let added = "INSERT INTO t0 VALUES (3, 3, 11)";
    let excluded = |constraint: &str| {
        let constraint = format!("CONSTRAINT apart EXCLUDE {constraint}");
        format!("{SETUP}/* init */ ALTER TABLE t0 ADD {constraint};\n")
    };
    for constraint in [
        "USING btree (c0 WITH =) WHERE (pkey > 0)",
        "USING gist (int4range(c0, c0 + 1) WITH &&)",
    ] {
        let setup = excluded(constraint);
        let silent = kind_in(&url, Fault::None, &setup, added, CHANGED);
        assert_eq!(silent, ["agree"; 3], "{constraint}");
    }
    // An exclusion whose columns are left alone gives nobody a reason.
    let setup = SETUP.replace("c0 INT)", "c0 INT, EXCLUDE USING btree (pkey WITH =))");
    let fault = Fault::KeyShareIsExclusive;
    let heard = kind_in(&url, fault, &setup, &key_share, CHANGED);
    assert_eq!(heard, ["waited"; 3]);
}

/// A row that its own transaction has written has its parent asked for again, though the UPDATE leaves the key alone.
#[test]
fn who_asks_for_its_parent_again_waits_for_a_reason() {
    let Some(url) = url("who_asks_for_its_parent_again", Needs::Postgres) else {
        return;
    };
    let parent = "/* init */ CREATE TABLE p0 (pkey INT PRIMARY KEY, vkey INT);\n\
                  /* init */ INSERT INTO p0 VALUES (1, 1), (2, 2);\n";
    let child = SETUP.replace("c0 INT)", "c0 INT, f0 INT DEFAULT 1 REFERENCES p0 (pkey))");
    let setup = format!("{parent}{child}");
    let first = "SELECT pkey FROM p0 WHERE pkey = 1 FOR UPDATE";
    let again = format!("{CHANGED}\ns2 UPDATE t0 SET c0 = 12, vkey = 1001 WHERE pkey = 1");
    let silent = kind_in(&url, Fault::None, &setup, first, &again);
    assert_eq!(silent, ["agree"; 3]);
    // What is written once does not ask for it.
    let beside = format!("{LOCKED} FOR KEY SHARE");
    let fault = Fault::KeyShareIsExclusive;
    let heard = kind_in(&url, fault, &setup, &beside, CHANGED);
    assert_eq!(heard, ["waited"; 3]);
}
