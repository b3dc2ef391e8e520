//! Refusals that a real server would have to give a cause for, planted beside a transaction that may seem to be one.

use rashomon::model::{FindingKind, Verdict};

use crate::heard::heard_in;
use crate::plant::Fault;
use crate::servers::{Needs, url};

/// T1 holds a row of the table; T2 writes another.
const BESIDE_A_HOLDER: &str = "\
    --! format = 1\n--! isolation = \"READ COMMITTED\"\n\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);\n\
    /* s1 */ BEGIN;\n\
    /* s1 */ SELECT pkey, vkey FROM t0 WHERE pkey = 1 FOR UPDATE;\n\
    /* s2 */ BEGIN;\n\
    /* s2 */ UPDATE t0 SET vkey = 1000 WHERE pkey = 2;\n\
    /* s2 */ COMMIT;\n\
    /* s1 */ COMMIT;\n";

#[test]
fn a_lock_timeout_without_a_wait_is_heard_beside_who_holds_another_row() {
    for needs in [Needs::MariaDb, Needs::MySql, Needs::Postgres] {
        let Some(url) = url("a_lock_timeout_without_a_wait", needs) else {
            continue;
        };
        let said = |fault| heard_in(&url, fault, "rashomon_heard_timeout", BESIDE_A_HOLDER);
        assert_eq!(said(Fault::None), Verdict::Agree, "{needs:?}");
        let Verdict::Violation(finding) = said(Fault::TimeoutFromNowhere) else {
            panic!("{needs:?}: not heard");
        };
        assert_eq!(finding.signature.kind, FindingKind::RefusalWithoutCause);
    }
}
