//! Savepoints that are gone: the server must refuse their names, and where equal names nest, the name means the older one.

use rashomon::model::IsolationLevel::ReadCommitted;

use crate::heard::open_planted;
use crate::lying::{OneDriver, SETUP, hearing_of, honest, scripted};
use crate::oracles;
use crate::plant::Fault;
use crate::servers::{Needs, url};

/// A savepoint that is released and named again.
const RELEASED: &str = "s1 SAVEPOINT a
s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s1 RELEASE SAVEPOINT a
s1 ROLLBACK TO SAVEPOINT a";

/// The newer of two savepoints of one name is released, and the name used again.
const NESTED: &str = "s1 SAVEPOINT a
s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s1 SAVEPOINT a
s1 UPDATE t0 SET c0 = 12, vkey = 1001 WHERE pkey = 1
s1 RELEASE SAVEPOINT a
s1 ROLLBACK TO SAVEPOINT a";

/// The return to `b` drops the newer `a`. The older one is gone where equal names replace, and open where they nest.
const REPLACED: &str = "s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s1 SAVEPOINT a
s1 SAVEPOINT b
s1 UPDATE t0 SET c0 = 12, vkey = 1001 WHERE pkey = 1
s1 SAVEPOINT a
s1 ROLLBACK TO SAVEPOINT b
s1 RELEASE SAVEPOINT a";

/// What the oracles say behind a fault of a transaction that does this beside an open one.
fn said(url: &str, fault: Fault, script: &str) -> String {
    let (_planted, server) = open_planted(url, fault);
    let driver = OneDriver::of(&*server);
    let script = format!(
        "s2 BEGIN\ns2 SELECT c0 FROM t0 WHERE pkey = 2\ns1 BEGIN\n{script}\ns1 COMMIT\ns2 COMMIT"
    );
    let case = scripted(&*server, ReadCommitted, SETUP, &script);
    oracles::kind(&hearing_of(&driver, &case, honest).verdict()).to_owned()
}

#[test]
fn a_savepoint_that_stays_when_it_is_released_is_found() {
    let test = "a_savepoint_that_stays_when_it_is_released_is_found";
    for needs in [Needs::MariaDb, Needs::MySql, Needs::Postgres] {
        let Some(url) = url(test, needs) else {
            continue;
        };
        assert_eq!(said(&url, Fault::None, RELEASED), "agree", "{needs:?}");
        for fault in [Fault::ReleaseIgnored, Fault::GoneSavepointFound] {
            let kind = said(&url, fault, RELEASED);
            assert_eq!(kind, "wrong-savepoint", "{fault}, {needs:?}");
        }
    }
}

#[test]
fn a_savepoint_that_was_replaced_does_not_come_back() {
    let test = "a_savepoint_that_was_replaced_does_not_come_back";
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url(test, needs) else {
            continue;
        };
        assert_eq!(said(&url, Fault::None, REPLACED), "agree", "{needs:?}");
        let kind = said(&url, Fault::GoneSavepointFound, REPLACED);
        assert_eq!(kind, "wrong-savepoint", "{needs:?}");
    }
}

#[test]
fn an_older_savepoint_of_the_same_name_stays() {
    let Some(url) = url("an_older_savepoint_of_the_same_name_stays", Needs::Postgres) else {
        return;
    };
    for script in [NESTED, REPLACED] {
        assert_eq!(said(&url, Fault::None, script), "agree", "{script}");
    }
    let kind = said(&url, Fault::EqualSavepointsAreOne, NESTED);
    assert_eq!(kind, "wrong-savepoint");
    // The newer one is undone alone.
    assert_ne!(said(&url, Fault::ReleaseIgnored, NESTED), "agree");
}
