//! DDL about an index that the server says it did, and did not.

use rashomon::model::IsolationLevel::ReadCommitted;

use crate::heard::open_planted;
use crate::lying::{OneDriver, SETUP, hearing_of, honest, scripted};
use crate::oracles;
use crate::plant::Fault;
use crate::servers::{Needs, url};

/// What all oracles say of DDL beside a transaction that uses another table.
fn said(url: &str, fault: Fault, script: &str) -> String {
    let (_planted, server) = open_planted(url, fault);
    let driver = OneDriver::of(&*server);
    let setup = format!(
        "{SETUP}{}    /* init */ CREATE INDEX old ON t0 (c0);\n",
        SETUP.replace("t0", "t1")
    );
    let script = format!("s2 BEGIN\ns2 SELECT c0 FROM t1 WHERE pkey = 2\n{script}\ns2 COMMIT");
    let case = scripted(&*server, ReadCommitted, &setup, &script);
    oracles::kind(&hearing_of(&driver, &case, honest).verdict())
}

#[test]
fn an_index_that_was_not_made_is_missed() {
    for needs in [Needs::MariaDb, Needs::MySql, Needs::Postgres] {
        let Some(url) = url("an_index_that_was_not_made_is_missed", needs) else {
            continue;
        };
        let create = "s1 CREATE INDEX X1 ON t0 (c0, vkey)";
        assert_eq!(said(&url, Fault::None, create), "agree", "{needs:?}");
        let kind = said(&url, Fault::DdlDoesNothing, create);
        assert_eq!(kind, "table-check-failed", "{needs:?}");
    }
}

#[test]
fn an_index_that_was_not_dropped_is_noticed() {
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url("an_index_that_was_not_dropped_is_noticed", needs) else {
            continue;
        };
        for script in [
            "s1 DROP INDEX old ON t0",
            "s1 CREATE INDEX x1 ON t0 (vkey)\ns1 DROP INDEX x1 ON t0\ns1 DROP INDEX old ON t0",
        ] {
            assert_eq!(said(&url, Fault::None, script), "agree", "{needs:?}");
            let kind = said(&url, Fault::DdlDoesNothing, script);
            assert_eq!(kind, "table-check-failed", "{needs:?}: {script}");
        }
    }
}

/// The server refuses to make an index twice, and to drop one that is not there.
#[test]
fn ddl_that_is_refused_has_to_leave_nothing() {
    for (needs, script) in [
        (
            Needs::Postgres,
            "s1 CREATE INDEX x1 ON t0 (c0)\ns1 CREATE INDEX x1 ON t0 (vkey)",
        ),
        (
            Needs::MariaDb,
            "s1 CREATE INDEX x1 ON t0 (c0)\ns1 CREATE INDEX x1 ON t0 (vkey)",
        ),
        (
            Needs::MySql,
            "s1 DROP INDEX old ON t0\ns1 DROP INDEX old ON t0",
        ),
    ] {
        let Some(url) = url("ddl_that_is_refused_has_to_leave_nothing", needs) else {
            continue;
        };
        assert_eq!(said(&url, Fault::None, script), "agree", "{needs:?}");
    }
}

/// PostgreSQL keeps 63 bytes of a name.
#[test]
fn a_name_that_the_server_cuts_is_not_missed() {
    let Some(url) = url("a_name_that_the_server_cuts_is_not_missed", Needs::Postgres) else {
        return;
    };
    let (kept, cut) = ("x".repeat(63), "y".repeat(64));
    let create = |name: &str| format!("s1 CREATE INDEX {name} ON t0 (c0)");
    assert_eq!(said(&url, Fault::None, &create(&kept)), "agree");
    assert_eq!(said(&url, Fault::None, &create(&cut)), "agree");
    let kind = said(&url, Fault::DdlDoesNothing, &create(&kept));
    assert_eq!(kind, "table-check-failed");
}
