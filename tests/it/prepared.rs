//! Sessions that send prepared statements, on real servers.

use rashomon::dialect::ServerVersion;
use rashomon::engine::{OpenOptions, open};
use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::model::{ErrorClass, Outcome, SessionId, Value};
use rashomon::reproducer::read;

use crate::servers::{self, Needs};

/// The statement that counts what its session has executed of prepared statements, on each server.
const COUNTS: [(Needs, &str, &str); 3] = [
    (
        Needs::MySql,
        "mysql",
        "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_by_thread_by_event_name \
         WHERE EVENT_NAME = 'statement/sql/execute_sql' AND THREAD_ID = PS_CURRENT_THREAD_ID()",
    ),
    (
        Needs::MariaDb,
        "mariadb",
        "SELECT VARIABLE_VALUE + 0 FROM information_schema.SESSION_STATUS \
         WHERE VARIABLE_NAME = 'COM_EXECUTE_SQL'",
    ),
    (
        Needs::Postgres,
        "postgres",
        "SELECT generic_plans + custom_plans FROM pg_prepared_statements WHERE name = 'p1'",
    ),
];

/// s1 prepares and s2 does not. The first and the last statement of s1 have one text.
fn text(engine: &str, count: &str) -> String {
    format!(
        "--! format = 1\n--! engine = \"{engine}\"\n--! isolation = \"READ COMMITTED\"\n\
         --! prepared = [\"s1\"]\n\
         /* init */ CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9));\n\
         /* init */ INSERT INTO t VALUES (1, 'it''s');\n\
         /* s1 */ {count};\n\
         /* s2 */ BEGIN;\n\
         /* s2 */ UPDATE t SET b = 'no' WHERE a = 1;\n\
         /* s1 */ BEGIN;\n\
         /* s1 */ UPDATE t SET b = 'that''s' WHERE b = 'it''s';\n\
         /* s2 */ ROLLBACK;\n\
         /* s1 */ COMMIT;\n\
         /* s1 */ SELECT nothing FROM t;\n\
         /* s1 */ SELECT nothing FROM t;\n\
         /* s1 */ SELECT b FROM t;\n\
         /* s1 */ {count};\n"
    )
}

fn as_number(value: &Value) -> i64 {
    let text = value.to_string();
    text.parse::<f64>().expect("a number").round() as i64
}

#[test]
fn a_prepared_session_executes_what_it_prepared_and_waits_and_fails_as_others_do() {
    const TEST: &str = "a_prepared_session_executes";
    for (needs, engine, count) in COUNTS {
        let Some(url) = servers::url(TEST, needs) else {
            continue;
        };
        let options = OpenOptions {
            allow_shared_server: true,
            ..OpenOptions::default()
        };
        let server = open(&url, &options).expect("a server");
        let dialect = server.dialect();
        // Where a statement counts its own executions, the version must have the columns.
        if needs == Needs::Postgres && server.identity().version < ServerVersion(vec![14]) {
            continue;
        }
        let case = read(&text(engine, count), "x.sql").expect("it reads");
        let case = case.test_case(dialect).expect("it runs");
        let mut driver = Driver::open(server.as_ref(), "rashomon_prepared").expect("a driver");
        // Twice: in the second run the session has had other statements of these names.
        for _ in 0..2 {
            let none = Instrumentation::default();
            let execution = driver.execute(&case, &none).expect("an execution");
            assert_eq!(execution.unreliable, None, "{engine}");
            let own = case.statements.iter().filter(|s| s.session == SessionId(1));
            let records: Vec<_> = own.map(|s| &execution.records[&s.id]).collect();
            let [first, _, update, _, failed, again, read, last] = records.as_slice() else {
                panic!("{engine}: {records:?}");
            };
            assert!(update.resumed(), "{engine}: {update:?}");
            assert_eq!(update.outcome, Outcome::Affected(1), "{engine}");
            for failed in [failed, again] {
                let class = failed.outcome.error_class();
                assert_eq!(class, Some(ErrorClass::Syntax), "{engine}: {failed:?}");
            }
            let Outcome::Rows(rows) = &read.outcome else {
                panic!("{engine}: {read:?}");
            };
            assert_eq!(rows[0][0], Value::Text("that's".to_owned()), "{engine}");
            let number = |outcome: &Outcome| match outcome {
                Outcome::Rows(rows) => as_number(&rows[0][0]),
                Outcome::Affected(_) | Outcome::Rejected(_) => panic!("{engine}: {outcome:?}"),
            };
            let (first, last) = (number(&first.outcome), number(&last.outcome));
            // The UPDATE, the SELECT, and the count itself; PostgreSQL counts executions of one text.
            let more = if needs == Needs::Postgres { 1 } else { 3 };
            assert_eq!(last - first, more, "{engine}");
        }
        driver.close().expect("the databases are dropped");
    }
}
