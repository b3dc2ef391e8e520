//! Rows that refer to no row in the end, as one session's check looks past what another has not committed.

use rashomon::model::{FindingKind, Verdict};

use crate::heard::heard_in;
use crate::plant::Fault;
use crate::servers::{Needs, url};

/// A check that looks past another open transaction: each statement is right on what it sees, and the child has no
/// parent in the end.
#[test]
fn a_child_whose_parent_goes_meanwhile_is_heard() {
    const TABLES: &str = "\
        --! format = 1\n--! isolation = \"READ COMMITTED\"\n\
        /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
        /* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 BIGINT, \
        FOREIGN KEY (c0) REFERENCES t0 (pkey));\n\
        /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30);\n";
    const DELETION: &str = "DELETE FROM t0 WHERE pkey = 3";
    const CHILD: &str = "INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1001, 3)";
    for needs in [Needs::MariaDb, Needs::MySql, Needs::Postgres] {
        let Some(url) = url("a_child_whose_parent_goes_meanwhile", needs) else {
            continue;
        };
        for (first, second) in [(DELETION, CHILD), (CHILD, DELETION)] {
            let text = format!(
                "{TABLES}/* s1 */ BEGIN;\n/* s1 */ {first};\n/* s2 */ BEGIN;\n/* s2 */ {second};\n\
                 /* s1 */ COMMIT;\n/* s2 */ COMMIT;\n"
            );
            let said = |fault| heard_in(&url, fault, "rashomon_heard_orphan", &text);
            let stock = said(Fault::None);
            assert!(!matches!(stock, Verdict::Violation(_)), "{stock:?}");
            let orphan = said(Fault::ForeignKeysForgotten);
            let is_orphan = matches!(&orphan, Verdict::Violation(finding)
                if finding.signature.kind == FindingKind::TableCheckFailed);
            assert!(is_orphan, "{needs:?}: {first}: {orphan:?}");
        }
    }
}
