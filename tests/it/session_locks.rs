//! LOCK TABLES of MariaDB and MySQL: a session holds those locks beyond its transactions, and until it lets them go.

use std::time::{Duration, Instant};

use rashomon::engine::Server;
use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::model::IsolationLevel::RepeatableRead;
use rashomon::model::{ErrorClass, Execution, Outcome, SessionId, StatementId, TestCase, Verdict};
use rashomon::oracle::{ORACLES, hear};

use crate::lying::{OneDriver, SETUP, database, hearing_of, honest, rejected, scripted};
use crate::oracles;
use crate::servers::Needs;

/// Less than the servers wait for the lock of a table in our sessions.
const AT_ONCE: Duration = Duration::from_secs(8);

fn on_each(test: &str, check: impl Fn(&dyn Server)) {
    for needs in [Needs::MariaDb, Needs::MySql] {
        if let Some(server) = oracles::server(test, needs) {
            check(&*server);
        }
    }
}

#[test]
fn tables_that_a_case_leaves_locked_are_free_for_its_end_and_for_the_next_case() {
    const LEFT: [&str; 3] = [
        "s1 LOCK TABLES t0 WRITE\ns2 SELECT 1",
        "s1 LOCK TABLES t0 READ\ns2 SELECT 1",
        "s1 FLUSH TABLES t0 WITH READ LOCK\ns2 SELECT 1",
    ];
    const OTHER: &str = "/* init */ CREATE TABLE t2 (pkey INT PRIMARY KEY, vkey INT);\n";
    on_each("tables_that_a_case_leaves_locked", |server| {
        let mut driver = Driver::open(server, &database()).expect("a database of our own");
        for left in LEFT {
            for (setup, script) in [
                (SETUP, left),
                (SETUP, "s1 UPDATE t0 SET vkey = 1000 WHERE pkey = 1"),
                (SETUP, left),
                (
                    OTHER,
                    "s1 SELECT * FROM t2\ns2 INSERT INTO t2 VALUES (1, 1000)",
                ),
            ] {
                let case = scripted(server, RepeatableRead, setup, script);
                let began = Instant::now();
                let hearing = hear(&case, &mut driver, ORACLES);
                let said = hearing.expect("an answer").verdict();
                assert!(!matches!(said, Verdict::Violation(_)), "{script}: {said}");
                assert!(began.elapsed() < AT_ONCE, "{script}: {:?}", began.elapsed());
            }
        }
        driver.close().expect("the databases go");
    });
}

/// A statement that waits for a table which the other session locks outside of a transaction.
const WAITS: [&str; 4] = [
    "s1 LOCK TABLES t0 READ\ns2 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 30)\ns1 UNLOCK TABLES",
    "s1 LOCK TABLES t0 WRITE\ns2 SELECT * FROM t0\ns1 UNLOCK TABLES",
    "s1 LOCK TABLES t0 WRITE\ns2 LOCK TABLES t0 READ\ns1 UNLOCK TABLES",
    // A transaction that begins lets them go as well.
    "s1 LOCK TABLES t0 READ\ns2 UPDATE t0 SET vkey = 1000 WHERE pkey = 1\ns1 BEGIN\ns1 COMMIT",
];

#[test]
fn who_waits_for_a_table_that_a_session_locks_is_seen_waiting() {
    on_each("who_waits_for_a_table_that_a_session_locks", |server| {
        for script in WAITS {
            let case = scripted(server, RepeatableRead, SETUP, script);
            let mut driver = Driver::open(server, &database()).expect("a database of our own");
            let run = driver.execute(&case, &Instrumentation::default());
            let run = run.expect("an answer");
            let said = hear(&case, &mut driver, ORACLES)
                .expect("an answer")
                .verdict();
            driver.close().expect("the databases go");
            assert_eq!(run.unreliable, None, "{script}");
            let record = &run.records[&of_s2(&case)];
            assert!(record.resumed(), "{script}: {record:?}");
            assert_eq!(record.outcome.error_class(), None, "{script}: {record:?}");
            assert!(!matches!(said, Verdict::Violation(_)), "{script}: {said}");
        }
    });
}

/// The first statement of the second session.
fn of_s2(case: &TestCase) -> StatementId {
    let mut statements = case.statements.iter();
    let found = statements.find(|s| s.session == SessionId(2));
    found.expect("the second session sends something").id
}

/// The INSERT was refused as if somebody had kept its table.
fn refuse_the_insert(run: &mut Execution) {
    let mut records = run.records.values_mut();
    let record = records.find(|record| record.outcome == Outcome::Affected(1));
    record.expect("it ran").outcome = rejected("1205", ErrorClass::LockTimeout);
}

/// Nobody locks the table when the INSERT is sent.
const FREE: [&str; 4] = [
    "s1 SELECT * FROM t0\n",
    "s1 LOCK TABLES t0 WRITE\ns1 UNLOCK TABLES\n",
    "s1 FLUSH TABLES t0 WITH READ LOCK\ns1 UNLOCK TABLES\n",
    "s1 LOCK TABLES t0 READ\ns1 BEGIN\ns1 COMMIT\n",
];

const INSERT: &str = "s2 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 30)";

#[test]
fn a_refusal_for_a_lock_needs_a_session_that_locks_tables_or_is_in_a_transaction() {
    on_each("a_refusal_for_a_lock_needs_a_session", |server| {
        let driver = OneDriver::of(server);
        for before in FREE {
            let script = format!("{before}{INSERT}");
            let case = scripted(server, RepeatableRead, SETUP, &script);
            let said = hearing_of(&driver, &case, refuse_the_insert).verdict();
            let kind = oracles::kind(&said);
            assert_eq!(kind, "refusal-without-cause", "{script}: {said}");
        }
        let script = format!("s2 SET lock_wait_timeout = 1\ns1 LOCK TABLES t0 READ\n{INSERT}");
        let case = scripted(server, RepeatableRead, SETUP, &script);
        let said = hearing_of(&driver, &case, honest).verdict();
        assert!(!matches!(said, Verdict::Violation(_)), "{script}: {said}");
    });
}
