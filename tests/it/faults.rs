//! A server that dies, stops or cuts connections in the middle of cases: an error within the
//! deadline, no statement sent twice, and the next cases run as if nothing had been.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rashomon::engine::{EngineError, OpenOptions, Server, open};
use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::model::{Execution, IsolationLevel, TestCase};
use rustix::process::Signal;

use crate::engine_faults::OwnServer;
use crate::execute::case;
use crate::servers::{Needs, url};

/// The statement deadline in these tests.
const DEADLINE: Duration = Duration::from_secs(2);

/// How often each fault strikes; `RASHOMON_FAULT_ROUNDS` says otherwise.
pub(crate) fn rounds() -> u32 {
    let wanted = std::env::var("RASHOMON_FAULT_ROUNDS").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// Waits, a deadlock and a sleep: somewhere in it every fault strikes.
const TEXT: &str = "
    init: CREATE TABLE t (pkey INT PRIMARY KEY, v INT) ENGINE=InnoDB
    init: INSERT INTO t (pkey, v) VALUES (1, 10), (2, 20), (3, 30)
    s1: BEGIN
    s1: UPDATE t SET v = v + 1 WHERE pkey = 1
    s2: BEGIN
    s2: UPDATE t SET v = v + 100 WHERE pkey = 2
    s2: UPDATE t SET v = v + 100 WHERE pkey = 1
    s3: UPDATE t SET v = v + 1000 WHERE pkey = 2
    s1: SELECT SLEEP(0.03)
    s1: COMMIT
    s2: COMMIT
    s3: SELECT * FROM t
";

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// What two runs of a case have in common when nothing is wrong.
fn gist(execution: &Execution) -> BTreeMap<String, String> {
    let mut gist: BTreeMap<String, String> = execution
        .records
        .values()
        .map(|record| (record.id.to_string(), format!("{:?}", record.outcome)))
        .collect();
    gist.insert("end".to_owned(), format!("{:?}", execution.final_state));
    gist
}

/// Runs the case until the fault shows, then until the server is back.
fn strike(
    driver: &mut Driver<'_>,
    (case, expected): (&TestCase, &BTreeMap<String, String>),
    round: u32,
    fault: impl FnOnce() + Send,
    repair: impl FnOnce(),
) -> EngineError {
    let plain = Instrumentation::default();
    let struck = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Another moment of the case each time.
            std::thread::sleep(Duration::from_millis(u64::from(5 + round * 7 % 60)));
            struck.store(true, Ordering::SeqCst);
            fault();
        });
        loop {
            let began = Instant::now();
            match driver.execute(case, &plain) {
                Ok(execution) => {
                    assert_eq!(&gist(&execution), expected, "a wrong record");
                    assert!(
                        began.elapsed() < Duration::from_secs(30),
                        "the fault does not show"
                    );
                }
                Err(error) => {
                    assert!(struck.load(Ordering::SeqCst), "no fault yet: {error}");
                    return error;
                }
            }
        }
    });
    repair();
    let began = Instant::now();
    loop {
        match driver.execute(case, &plain) {
            Ok(execution) => {
                assert_eq!(
                    &gist(&execution),
                    expected,
                    "a wrong record after the fault"
                );
                return error;
            }
            Err(again) => assert!(began.elapsed() < Duration::from_secs(60), "{again}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A server of one test, a driver on it, and the case as it runs undisturbed.
fn with_driver(
    instance: &'static str,
    run: impl FnOnce(&OwnServer, &dyn Server, &mut Driver<'_>, &TestCase, &BTreeMap<String, String>),
) {
    // The URL is not used: it tells that tests with servers are wanted on this machine.
    if url(instance, Needs::MariaDb).is_none() {
        return;
    }
    let own = OwnServer { instance };
    let options = OpenOptions {
        deadline: DEADLINE,
        ..OpenOptions::default()
    };
    let server = open(&own.script("up"), &options).expect("a server");
    let case = case(server.as_ref(), IsolationLevel::ReadCommitted, TEXT);
    let mut driver = Driver::open(server.as_ref(), "rashomon_faults").expect("a driver");
    let execution = driver
        .execute(&case, &Instrumentation::default())
        .expect("a run");
    assert!(execution.waits() >= 2, "{execution:#?}");
    run(&own, server.as_ref(), &mut driver, &case, &gist(&execution));
    driver.close().expect("databases dropped");
}

#[test]
fn a_killed_server_ends_the_case_and_the_next_ones_run_when_it_is_back() {
    with_driver("-kill", |own, _, driver, case, expected| {
        for round in 0..rounds() {
            let fault = || own.signal(Signal::KILL);
            let repair = || drop(own.script("up"));
            let error = strike(driver, (case, expected), round, fault, repair);
            assert!(
                matches!(
                    error,
                    EngineError::ConnectionLost { .. } | EngineError::Connect { .. }
                ),
                "{error}"
            );
        }
    });
}

#[test]
fn a_stopped_server_is_a_hang_and_leaves_no_thread_behind() {
    with_driver("-stop", |own, _, driver, case, expected| {
        let before = threads();
        for round in 0..rounds() {
            let fault = || own.signal(Signal::STOP);
            let repair = || own.signal(Signal::CONT);
            let error = strike(driver, (case, expected), round, fault, repair);
            assert!(
                matches!(
                    error,
                    EngineError::Hang { .. }
                        | EngineError::Connect { .. }
                        | EngineError::ConnectionLost { .. }
                ),
                "{error}"
            );
        }
        // What was under way ends by its deadline. Other tests have threads of their own.
        let began = Instant::now();
        while threads() >= before + 30 {
            let waited = began.elapsed();
            assert!(
                waited < Duration::from_secs(60),
                "{before} -> {}",
                threads()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    });
}

#[test]
fn a_connection_that_is_cut_costs_one_case() {
    with_driver("-cut", |_, server, driver, case, expected| {
        server
            .create_database("rashomon_faults_cutter")
            .expect("a database");
        let mut cutter = server
            .connect("rashomon_faults_cutter")
            .expect("a connection");
        for round in 0..rounds() {
            let fault = || {
                let list = "SELECT id FROM information_schema.processlist \
                            WHERE db = 'rashomon_faults' AND command <> 'Daemon' ORDER BY id";
                let answer = cutter.execute(list).expect("a list");
                for row in answer.rows() {
                    let id = row[0].as_integer().expect("a number");
                    cutter.execute(&format!("KILL {id}")).expect("an answer");
                }
            };
            let error = strike(driver, (case, expected), round, fault, || {});
            assert!(
                matches!(
                    error,
                    EngineError::ConnectionLost { .. } | EngineError::Hang { .. }
                ),
                "{error}"
            );
        }
        server
            .drop_database("rashomon_faults_cutter")
            .expect("dropped");
    });
}

#[test]
fn the_interrupted_statement_is_reported_when_the_server_dies() {
    with_driver("-told", |own, server, driver, case, _| {
        let plain = Instrumentation::default();
        let watching = "rashomon_faults_watching";
        server.create_database(watching).expect("a database");
        let mut watching = server.connect(watching).expect("a connection");
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                // However slow the machine is: when the statement runs, and not before.
                let list = "SELECT id FROM information_schema.processlist \
                            WHERE info LIKE '%SLEEP(1)%' AND id <> CONNECTION_ID()";
                while watching.execute(list).expect("a list").rows().is_empty() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                own.signal(Signal::KILL);
            });
            let mut case = case.clone();
            for statement in &mut case.statements {
                statement.sql = statement.sql.replace("0.03", "1");
            }
            driver.execute(&case, &plain).expect_err("no answer")
        });
        let interrupted = driver.interrupted().expect("a record").clone();
        let sleeping = case.statements.iter().find(|s| s.sql.contains("SLEEP"));
        assert_eq!(
            interrupted.statement,
            sleeping.map(|s| s.id),
            "{error}: {interrupted:#?}"
        );
        assert_eq!(interrupted.execution.waits(), 0);
        assert!(interrupted.execution.records.len() >= 4);
        own.script("up");
        driver.execute(case, &plain).expect("it is back");
        assert_eq!(driver.interrupted(), None);
    });
}
