//! TiDB with foreign keys, which its dialect file leaves out.

use std::path::Path;

use crate::program::{folder, run, shown};
use crate::servers::Needs;
use crate::tidb::turn_of;

/// The dialect file of TiDB with foreign keys.
fn with_foreign_keys(folder: &Path) -> String {
    let text = rashomon::dialect::builtin("tidb").expect("listed");
    let list = "capabilities = [\n";
    let keys = "  { name = \"foreign-key\" },\n  { name = \"foreign-key-action\" },\n";
    let file = folder.join("foreign-keys.toml");
    std::fs::write(&file, text.replacen(list, &format!("{list}{keys}"), 1)).expect("a file");
    shown(&file)
}

/// A DELETE outside of a transaction that cascades waits while it commits, which `tidb_trx` does not show.
#[test]
fn calibrate_says_which_waits_no_view_shows_and_goes_on() {
    let Some((url, _turn)) = turn_of("tidb_unseen_waits", Needs::TiDb) else {
        return;
    };
    let folder = folder();
    let dialect = with_foreign_keys(folder.path());
    let arguments = ["calibrate", &url, "--allow-shared-server"];
    let calibrated = run(&[&arguments[..], &["--dialect", &dialect]].concat());
    let said = format!("{}{}", calibrated.out, calibrated.err);
    let unseen = "no view of the server had shown that it waits";
    assert!(said.contains(unseen), "{said}");
    assert!(said.contains("DELETE FROM kept_parent"), "{said}");
    assert!(said.contains(" entries hold, "), "{said}");
}

const CHILD_BESIDE_ITS_PARENT: &str = "\
    --! format = 1\n--! isolation = \"READ COMMITTED\"\n\
    /* init */ CREATE TABLE t0 (pkey BIGINT PRIMARY KEY, vkey INT);\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT PRIMARY KEY, vkey INT, c0 BIGINT, FOREIGN KEY (c0) REFERENCES t0 (pkey));\n\
    /* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1), (2, 2);\n\
    /* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (12, 3, 2);\n\
    /* s1 */ BEGIN;\n/* s1 */ UPDATE t1 SET vkey = 1000, c0 = 1 WHERE pkey = 12;\n\
    /* s2 */ BEGIN;\n/* s2 */ DELETE FROM t0 WHERE pkey = 1;\n/* s1 */ COMMIT;\n/* s2 */ COMMIT;\n";

#[test]
fn an_orphan_is_known_where_its_parent_waited_and_a_refused_parent_leaves_none() {
    let Some((url, _turn)) = turn_of("tidb_orphans", Needs::TiDb) else {
        return;
    };
    let folder = folder();
    let dialect = with_foreign_keys(folder.path());
    let path = folder.path().join("case.sql");
    let replayed = |text: &str| {
        std::fs::write(&path, text).expect("a file");
        let file = shown(&path);
        let arguments = ["replay", &file, &url, "--allow-shared-server"];
        let more = ["--dialect", &dialect, "--format", "json"];
        let replayed = run(&[&arguments[..], &more].concat());
        format!("{}{}", replayed.out, replayed.err)
    };
    let waited = CHILD_BESIDE_ITS_PARENT;
    let said = replayed(waited);
    let id = "\"known_id\":\"unfiled:tidb-unistore-orphan\"";
    assert!(said.contains(id), "{said}");

    let (deletion, commit) = (
        "/* s2 */ DELETE FROM t0 WHERE pkey = 1;",
        "/* s1 */ COMMIT;",
    );
    let refused = format!("{deletion} -- @error foreign-key");
    let after = waited.replace(
        &format!("{deletion}\n{commit}"),
        &format!("{commit}\n{refused}"),
    );
    assert_ne!(after, waited);
    let said = replayed(&after);
    assert!(said.contains("\"verdict\":\"agree\""), "{said}");
}
