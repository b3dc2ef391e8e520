//! SERIALIZABLE READ ONLY DEFERRABLE on PostgreSQL: the first read waits until its snapshot is safe, for transactions and no lock.

use std::time::Duration;

use rashomon::engine::{self, OpenOptions, Server};
use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::model::IsolationLevel::Serializable;
use rashomon::model::Verdict;

use crate::lying::{OneDriver, SETUP, database, hearing_of, honest, id, scripted};
use crate::oracles;
use crate::servers::{self, Needs};

/// T1 makes the snapshot of T2 no worse: it is the one of before the wait.
const KEPT: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 BEGIN TRANSACTION READ ONLY DEFERRABLE
s2 SELECT * FROM t0
s1 UPDATE t0 SET vkey = 1000, c0 = 11 WHERE pkey = 1
s1 COMMIT
s2 SELECT * FROM t0
s2 COMMIT";

/// The same, and the session has every transaction begin so.
const BY_DEFAULT: &str = "s2 SET default_transaction_deferrable = on
s1 BEGIN
s1 SELECT * FROM t0
s2 BEGIN READ ONLY
s2 SELECT * FROM t0
s1 UPDATE t0 SET vkey = 1000, c0 = 11 WHERE pkey = 1
s1 COMMIT
s2 COMMIT";

/// T1 has read what another one overwrote before T2 began, and writes: T2 takes a new snapshot when T1 commits.
const TAKEN_ANEW: &str = "s1 BEGIN
s1 SELECT * FROM t0
s3 UPDATE t0 SET vkey = 1000, c0 = 21 WHERE pkey = 2
s2 BEGIN TRANSACTION READ ONLY DEFERRABLE
s2 SELECT * FROM t0
s1 UPDATE t0 SET vkey = 1001, c0 = 11 WHERE pkey = 1
s1 COMMIT
s2 COMMIT";

/// A server of which a statement may stay unanswered for long: the read waits for the SERIALIZABLE transactions of all other
/// tests, too, and begins anew where one of them spoils its snapshot.
fn server(test: &str) -> Option<Box<dyn Server>> {
    let url = servers::url(test, Needs::Postgres)?;
    let options = OpenOptions {
        allow_shared_server: true,
        deadline: Duration::from_secs(600),
        ..OpenOptions::default()
    };
    Some(engine::open(&url, &options).expect("the test server answers"))
}

#[test]
fn a_read_that_waits_for_a_safe_snapshot_is_seen_waiting_and_is_no_finding() {
    let Some(server) = server("a_read_that_waits_for_a_safe_snapshot") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for (script, wanted) in [
        (KEPT, Some("agree")),
        (BY_DEFAULT, None),
        (TAKEN_ANEW, None),
    ] {
        let case = scripted(&*server, Serializable, SETUP, script);
        let said = hearing_of(&driver, &case, honest).verdict();
        assert!(!matches!(said, Verdict::Violation(_)), "{script}: {said}");
        let kind = oracles::kind(&said);
        assert!(
            wanted.is_none_or(|wanted| kind == wanted),
            "{script}: {said}"
        );
    }
    let case = scripted(&*server, Serializable, SETUP, KEPT);
    let mut driver = Driver::open(&*server, &database()).expect("a database of our own");
    let run = driver.execute(&case, &Instrumentation::default());
    let run = run.expect("an answer");
    driver.close().expect("the database goes");
    assert_eq!(run.unreliable, None);
    assert!(run.records[&id(2, 2)].resumed(), "{run:?}");
}
