//! Sessions that say themselves at which level they run.

use rashomon::model::Verdict;
use rashomon::reproducer::read;

use crate::lying::{OneDriver, SETUP, hearing_of, honest};
use crate::oracles;
use crate::servers::Needs;

/// A write skew whose sessions say themselves at which level they run.
#[test]
fn a_level_that_the_statements_of_a_session_set_is_the_level_of_the_session() {
    const SKEW: [&str; 6] = [
        "/* s1 */ SELECT c0 FROM t0 WHERE pkey = 1;",
        "/* s2 */ SELECT c0 FROM t0 WHERE pkey = 2;",
        "/* s1 */ UPDATE t0 SET c0 = 21, vkey = 1001 WHERE pkey = 2;",
        "/* s2 */ UPDATE t0 SET c0 = 11, vkey = 1002 WHERE pkey = 1;",
        "/* s1 */ COMMIT;",
        "/* s2 */ COMMIT;",
    ];
    let begins: [(Needs, &str); 5] = [
        (Needs::Postgres, "BEGIN ISOLATION LEVEL REPEATABLE READ;"),
        (
            Needs::Postgres,
            "BEGIN; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;",
        ),
        (
            Needs::MySql,
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN;",
        ),
        (
            Needs::MariaDb,
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN;",
        ),
        (
            Needs::MariaDb,
            "SET SESSION tx_isolation = 'REPEATABLE-READ'; BEGIN;",
        ),
    ];
    for (needs, begin) in begins {
        let Some(server) = oracles::server("a_level_that_the_statements_of_a_session_set", needs)
        else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        let sent = |session: &str| -> String {
            let statements = begin.split_inclusive(';');
            statements
                .map(|sql| format!("/* {session} */ {}\n", sql.trim()))
                .collect()
        };
        // The header says another level, and once one that the case is judged by in its stead.
        for (header, is_skew) in [
            ("--! isolation = \"SERIALIZABLE\"\n", false),
            ("--! isolation = \"READ COMMITTED\"\n", false),
            (
                "--! isolation = \"READ COMMITTED\"\n--! claim = \"SERIALIZABLE\"\n",
                true,
            ),
        ] {
            let text = format!(
                "--! format = 1\n{header}{}{}{}{}\n",
                SETUP,
                sent("s1"),
                sent("s2"),
                SKEW.join("\n")
            );
            let file = read(&text, "test.sql").expect("a case file");
            let case = file.test_case(server.dialect()).expect("a case");
            let hearing = hearing_of(&driver, &case, honest);
            let said = hearing.verdict();
            let is_heard = matches!(said, Verdict::Violation(_));
            let is_right = is_heard == is_skew && (is_heard || said == Verdict::Agree);
            assert!(is_right, "{needs:?} {begin} {header:?}: {said}");
        }
    }
}
