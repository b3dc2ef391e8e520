//! Tables that are kept from case to case: what a case leaves in them that emptying does not take away.

use rashomon::engine::{EngineError, OpenOptions};
use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::model::{Execution, IsolationLevel, TestCase, Verdict};
use rashomon::oracle::{ORACLES, hear};

use crate::execute::case;
use crate::oracles;
use crate::servers::Needs;
use crate::tidb::{opened, options, turn_of};

const ROWS: &str = "
    init: CREATE TABLE t0 (pkey BIGINT PRIMARY KEY, vkey INT)
    init: INSERT INTO t0 VALUES (1, 1)
    s1: SELECT * FROM t0
";

/// Fires for rows that any later set-up inserts; TRUNCATE and DELETE leave it.
const NO_MORE_ROWS: &str =
    "CREATE TRIGGER keeps_out BEFORE INSERT ON t0 FOR EACH ROW SIGNAL SQLSTATE '45000'";

#[test]
fn tables_that_refuse_the_rows_of_a_case_are_built_anew() {
    for (needs, name) in [
        (Needs::MariaDb, "rashomon_kept_maria"),
        (Needs::MySql, "rashomon_kept_mysql"),
    ] {
        let Some(server) = oracles::server("tables_that_refuse_rows", needs) else {
            continue;
        };
        let mut driver = Driver::open(&*server, name).expect("a driver");
        let level = IsolationLevel::ReadCommitted;
        let mut ran = |text: &str| -> Result<Execution, EngineError> {
            let case = case(&*server, level, text);
            driver.execute(&case, &Instrumentation::default())
        };
        let first = ran(ROWS).expect("an execution");
        let mut aside = server.connect(name).expect("a connection");
        let made = aside.execute(NO_MORE_ROWS).expect("an answer");
        assert_eq!(made.error_class(), None, "{made:?}");
        let second = ran(ROWS).expect("tables without the trigger");
        assert_eq!(second.final_state, first.final_state, "{needs:?}");
        // Rows that new tables refuse, too, are the case's own fault.
        let twice = ROWS.replace("(1, 1)", "(1, 1), (1, 2)");
        let refused = ran(&twice);
        assert!(
            matches!(refused, Err(EngineError::Setup { .. })),
            "{refused:?}"
        );
        drop(aside);
        driver.close().expect("the databases go");
    }
}

/// A key that is not there is locked by a transaction that commits.
const LOCKS_A_KEY: &str = "
    s1: BEGIN
    s1: UPDATE t0 SET vkey = 1000 WHERE pkey = 9
    s1: COMMIT
";

const TAKES_THE_KEY: &str = "
    s1: BEGIN
    s1: INSERT INTO t0 VALUES (9, 1001)
    s1: COMMIT
";

const TABLE: &str = "
    init: CREATE TABLE t0 (pkey BIGINT PRIMARY KEY, vkey INT)
    init: INSERT INTO t0 VALUES (1, 1)
";

/// TiDB 4.0 refuses such a key from then on, and a DELETE of all rows does not end that.
#[test]
fn no_case_meets_what_the_case_before_it_has_locked_in_tidb_4() {
    let test = "tidb_4_kept_tables";
    let Some((url, _turn)) = turn_of(test, Needs::TiDb4) else {
        return;
    };
    let dialect = include_str!("../../dialects/tidb.toml");
    let known = "{ name = \"delete-leaves-locks\", until = \"5.0\" },";
    assert!(dialect.contains(known));
    let without = dialect.replace(known, "");
    for (text, is_met) in [(dialect, false), (without.as_str(), true)] {
        let options = OpenOptions {
            dialect: Some(("tidb".to_owned(), text.to_owned())),
            ..options(test)
        };
        let server = opened(&url, &options);
        let mut driver = Driver::open(&*server, "rashomon_kept_tidb").expect("a driver");
        let mut said = |script: &str| {
            let level = IsolationLevel::RepeatableRead;
            let case: TestCase = case(&*server, level, &format!("{TABLE}{script}"));
            hear(&case, &mut driver, ORACLES)
                .expect("an answer")
                .verdict()
        };
        assert_eq!(said(LOCKS_A_KEY), Verdict::Agree);
        let second = said(TAKES_THE_KEY);
        assert_eq!(
            matches!(second, Verdict::Violation(_)),
            is_met,
            "{second:?}"
        );
        driver.close().expect("the databases go");
    }
}
