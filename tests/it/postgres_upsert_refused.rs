//! Upserts of PostgreSQL that are refused as not serializable, for a newer row and for none.

use rashomon::model::IsolationLevel::RepeatableRead;

use crate::heard::open_planted;
use crate::lying::{OneDriver, hearing_of, honest, scripted};
use crate::oracles;
use crate::plant::Fault;
use crate::servers::{Needs, url};

const SETUP: &str = "\
    /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT UNIQUE);\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);\n";

/// The first transaction has its snapshot, the second one changes a row, and the first one's upsert meets it or another one.
fn kind(url: &str, fault: Fault, change: &str, upsert: &str) -> String {
    let (_planted, server) = open_planted(url, fault);
    let driver = OneDriver::of(&*server);
    let script = format!(
        "s3 BEGIN\ns3 SELECT c0 FROM t0\ns1 BEGIN\ns1 SELECT c0 FROM t0 WHERE pkey = 1\ns2 {change}\ns1 {upsert}\ns1 ROLLBACK\ns3 COMMIT"
    );
    let case = scripted(&*server, RepeatableRead, SETUP, &script);
    oracles::kind(&hearing_of(&driver, &case, honest).verdict())
}

#[test]
fn an_upsert_is_refused_for_a_newer_row_that_is_in_its_way_alone() {
    let Some(url) = url("an_upsert_is_refused_for_a_newer_row", Needs::Postgres) else {
        return;
    };
    let refused = Fault::UpsertConflictFromNowhere;
    let changes = "UPDATE t0 SET vkey = 1001 WHERE pkey = 2";
    let adds = "INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1001, 30)";
    let meets = |key: i64, c0: i64, column: &str, condition: &str| {
        format!(
            "INSERT INTO t0 (pkey, vkey, c0) VALUES ({key}, 1000, {c0}) ON CONFLICT ({column}) DO UPDATE SET vkey = 1000{condition}"
        )
    };
    let never = " WHERE t0.c0 < 0";
    for (change, upsert) in [
        (changes, meets(1, 40, "pkey", "")),
        (changes, meets(1, 40, "pkey", never)),
        (changes, meets(4, 40, "pkey", "")),
        (adds, meets(1, 40, "pkey", "")),
    ] {
        let heard = kind(&url, refused, change, &upsert);
        assert_eq!(heard, "unfounded-refusal", "{change}; {upsert}");
        let silent = kind(&url, Fault::None, change, &upsert);
        assert_eq!(silent, "agree", "{change}; {upsert}");
    }
    // A stock server refuses these: so it may say it of itself, too.
    for (change, upsert) in [
        (changes, meets(2, 40, "pkey", "")),
        (changes, meets(2, 40, "pkey", never)),
        (adds, meets(3, 40, "pkey", "")),
        (adds, meets(4, 30, "c0", "")),
    ] {
        let refusals = [Fault::None, refused];
        for fault in refusals {
            let silent = kind(&url, fault, change, &upsert);
            assert_eq!(silent, "agree", "{fault}: {change}; {upsert}");
        }
    }
}
