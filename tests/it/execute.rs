//! Interleaved and serial runs on real engines: waits, deadlocks, refusals, resets.

use rashomon::dialect::ServerVersion;
use rashomon::engine::{EngineError, OpenOptions, Server, open};
use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::model::{
    ErrorClass, Execution, IsolationLevel, Outcome, SessionId, SetupStatement, StatementId,
    TestCase, TransactionId, TransactionStatus, Value,
};
use rashomon::statement::{self, Catalog};

use crate::servers::{self, Needs};

/// The engines of these tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Sqlite,
    MariaDb,
    MySql,
}

/// Servers that lock rows and let statements wait.
const LOCKING: [On; 2] = [On::MariaDb, On::MySql];

/// Opens the server, or says that the test does not run on it.
pub(crate) fn server(test: &str, on: On) -> Option<Box<dyn Server>> {
    let url = match on {
        On::Sqlite => "sqlite:".to_owned(),
        On::MariaDb => servers::url(test, Needs::MariaDb)?,
        On::MySql => servers::url(test, Needs::MySql)?,
    };
    let options = OpenOptions {
        allow_shared_server: true,
        ..OpenOptions::default()
    };
    Some(open(&url, &options).unwrap_or_else(|error| panic!("{url}: {error}")))
}

/// A case from `init:` and `sN:` lines, every session at this level.
pub(crate) fn case(server: &dyn Server, level: IsolationLevel, text: &str) -> TestCase {
    let dialect = server.dialect();
    let mut setup = Vec::new();
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (tag, sql) = line.split_once(": ").expect("a tag");
        let sql = sql.to_owned();
        if tag == "init" {
            let kind = statement::setup_kind(&sql, dialect);
            setup.push(SetupStatement { sql, kind });
        } else {
            let session = SessionId(tag[1..].parse().expect("a session"));
            lines.push((session, sql));
        }
    }
    let catalog = Catalog::of(&setup, dialect);
    let isolation = lines.iter().map(|(session, _)| (*session, level)).collect();
    let lines = lines.into_iter().map(|(session, sql)| {
        let effect = catalog.effect(&sql, dialect);
        (session, sql, effect)
    });
    let lines: Vec<_> = lines.collect();
    TestCase::new(setup, catalog.tables, lines, isolation, None)
}

/// Runs one case on each of these engines that is there, and looks at the record.
fn check(test: &str, on: &[On], level: IsolationLevel, text: &str, look: impl Fn(On, &Execution)) {
    for on in on {
        let Some(server) = server(test, *on) else {
            continue;
        };
        let database = format!("rashomon_exec_{}", test.len() + text.len() * 100);
        let mut driver = Driver::open(server.as_ref(), &database).expect("a driver");
        let case = case(server.as_ref(), level, text);
        // Twice: the second time from an emptied table, not from a new one.
        for _ in 0..2 {
            let execution = driver
                .execute(&case, &Instrumentation::default())
                .expect("an execution");
            assert_eq!(execution.unreliable, None, "{on:?}: {execution:#?}");
            look(*on, &execution);
        }
        driver.close().expect("databases dropped");
    }
}

fn id(transaction: u32, position: u32) -> StatementId {
    StatementId {
        transaction: TransactionId(transaction),
        position,
    }
}

fn integers(rows: &[Vec<Value>]) -> Vec<Vec<i64>> {
    rows.iter()
        .map(|row| row.iter().map(|v| v.as_integer().unwrap_or(-1)).collect())
        .collect()
}

fn order(execution: &Execution) -> String {
    let ids: Vec<String> = execution
        .execution_order()
        .iter()
        .map(ToString::to_string)
        .collect();
    ids.join(" ")
}

const TWO_ROWS: &str = "
    init: CREATE TABLE t (pkey INT PRIMARY KEY, v INT)
    init: INSERT INTO t (pkey, v) VALUES (1, 10), (2, 20)
";

#[test]
fn an_update_waits_for_the_row_and_resumes_at_the_commit() {
    let text = format!(
        "{TWO_ROWS}
        s1: BEGIN
        s1: UPDATE t SET v = v + 1 WHERE pkey = 1
        s2: BEGIN
        s2: UPDATE t SET v = v + 100 WHERE pkey = 1
        s2: COMMIT
        s1: COMMIT"
    );
    let level = IsolationLevel::ReadCommitted;
    check("update_waits", &LOCKING, level, &text, |on, execution| {
        assert_eq!(order(execution), "T1.1 T1.2 T2.1 T1.3 T2.2 T2.3", "{on:?}");
        let record = &execution.records[&id(2, 2)];
        assert!(record.resumed());
        assert_eq!(record.outcome, Outcome::Affected(1));
        let final_state = integers(&execution.final_state["t"]);
        assert_eq!(final_state, vec![vec![1, 111], vec![2, 20]]);
        // MariaDB's lock view says who waits, not for whom.
        if on == On::MySql {
            assert_eq!(record.waited_for, vec![TransactionId(1)]);
        }
    });
}

#[test]
fn sqlite_answers_busy_and_the_refused_commit_is_rolled_back() {
    let text = format!(
        "{TWO_ROWS}
        s1: BEGIN
        s1: UPDATE t SET v = v + 1 WHERE pkey = 1
        s2: BEGIN
        s2: SELECT v FROM t WHERE pkey = 1
        s2: UPDATE t SET v = v + 100 WHERE pkey = 1
        s1: COMMIT
        s2: UPDATE t SET v = v + 100 WHERE pkey = 1
        s2: COMMIT
        s3: BEGIN IMMEDIATE
        s4: BEGIN IMMEDIATE
        s4: UPDATE t SET v = 0
        s4: COMMIT
        s3: ROLLBACK"
    );
    let level = IsolationLevel::Serializable;
    check("busy", &[On::Sqlite], level, &text, |_, execution| {
        let class = |at| execution.records[&at].outcome.error_class();
        assert_eq!(class(id(2, 3)), Some(ErrorClass::Busy));
        assert_eq!(class(id(2, 4)), Some(ErrorClass::Serialization));
        assert!(execution.records[&id(2, 4)].transaction_survives);
        // Nothing of a transaction that never began is sent.
        assert_eq!(class(id(4, 1)), Some(ErrorClass::Busy));
        assert!(!execution.records.contains_key(&id(4, 2)));
        assert!(matches!(
            execution.transactions[&TransactionId(4)],
            TransactionStatus::Aborted(_)
        ));
        let final_state = integers(&execution.final_state["t"]);
        assert_eq!(final_state, vec![vec![1, 11], vec![2, 20]]);
    });
}

/// Two sessions change the two rows, each in the other's order.
const DEADLOCK: &str = "
    s1: BEGIN
    s1: UPDATE t SET v = v + 1 WHERE pkey = 1
    s2: BEGIN
    s2: UPDATE t SET v = v + 100 WHERE pkey = 2
    s1: UPDATE t SET v = v + 1 WHERE pkey = 2
    s2: UPDATE t SET v = v + 100 WHERE pkey = 1
    s1: COMMIT
    s2: COMMIT
";

#[test]
fn a_deadlock_has_a_victim_whose_rest_is_not_sent() {
    let text = format!("{TWO_ROWS}{DEADLOCK}");
    let level = IsolationLevel::RepeatableRead;
    check("deadlock", &LOCKING, level, &text, |on, execution| {
        assert_eq!(execution.deadlocks(), 1, "{on:?}");
        let aborted = execution
            .transactions
            .iter()
            .filter(|(_, status)| matches!(status, TransactionStatus::Aborted(_)))
            .count();
        assert_eq!(aborted, 1);
        // Neither the victim's COMMIT nor anything else of it is there.
        assert_eq!(execution.records.len(), 7);
    });
}

/// MySQL 5.6 begins another transaction with the next statement of the victim.
#[test]
fn what_the_victim_of_a_deadlock_does_next_is_a_transaction_of_its_own() {
    let text = format!(
        "{TWO_ROWS}{DEADLOCK}
        s1: INSERT INTO t VALUES (11, 0)
        s2: INSERT INTO t VALUES (12, 0)
        s3: SELECT pkey FROM t WHERE pkey > 10 ORDER BY pkey"
    );
    let level = IsolationLevel::RepeatableRead;
    check("victim-next", &LOCKING, level, &text, |on, execution| {
        assert_eq!(execution.deadlocks(), 1, "{on:?}");
        let seen = execution.records.values().find_map(|record| {
            let rows = record.outcome.rows();
            (!rows.is_empty()).then(|| integers(rows))
        });
        assert_eq!(seen, Some(vec![vec![11], vec![12]]), "{on:?}");
    });
}

#[test]
fn a_lock_timeout_undoes_the_statement_and_leaves_the_transaction() {
    let text = format!(
        "{TWO_ROWS}
        s1: BEGIN
        s1: UPDATE t SET v = v + 1 WHERE pkey = 1
        s2: SET innodb_lock_wait_timeout = 1
        s2: BEGIN
        s2: UPDATE t SET v = v + 100 WHERE pkey = 2
        s2: UPDATE t SET v = v + 100 WHERE pkey = 1
        s1: SELECT SLEEP(9)
        s2: COMMIT
        s1: COMMIT"
    );
    let level = IsolationLevel::ReadCommitted;
    check("lock_timeout", &LOCKING, level, &text, |on, execution| {
        // A timeout of 1 s has 9 s to come in: a loaded server may look for it seconds late.
        let record = &execution.records[&id(3, 3)];
        let class = record.outcome.error_class();
        assert_eq!(class, Some(ErrorClass::LockTimeout), "{on:?}");
        assert!(record.resumed() && record.transaction_survives);
        let final_state = integers(&execution.final_state["t"]);
        assert_eq!(final_state, vec![vec![1, 11], vec![2, 120]]);
    });
}

#[test]
fn three_sessions_queue_for_one_row() {
    let text = format!(
        "{TWO_ROWS}
        s1: BEGIN
        s2: BEGIN
        s3: BEGIN
        s1: UPDATE t SET v = 11 WHERE pkey = 1
        s2: UPDATE t SET v = v * 2 WHERE pkey = 1
        s3: UPDATE t SET v = v * 3 WHERE pkey = 1
        s1: COMMIT
        s2: COMMIT
        s3: COMMIT"
    );
    let level = IsolationLevel::RepeatableRead;
    check("three", &LOCKING, level, &text, |on, execution| {
        assert_eq!(execution.waits(), 2, "{on:?}");
        let v = integers(&execution.final_state["t"])[0][1];
        assert_eq!(v, 66);
    });
}

#[test]
fn savepoints_undo_a_part_and_open_transactions_are_rolled_back_at_the_end() {
    let text = format!(
        "{TWO_ROWS}
        s1: BEGIN
        s1: UPDATE t SET v = 11 WHERE pkey = 1
        s1: SAVEPOINT a
        s1: UPDATE t SET v = 12 WHERE pkey = 1
        s1: ROLLBACK TO SAVEPOINT a
        s1: COMMIT
        s1: BEGIN
        s1: UPDATE t SET v = 13 WHERE pkey = 1"
    );
    let level = IsolationLevel::Serializable;
    let on = [On::Sqlite, On::MariaDb, On::MySql];
    check("savepoints", &on, level, &text, |on, execution| {
        let final_state = integers(&execution.final_state["t"]);
        assert_eq!(final_state[0], vec![1, 11], "{on:?}");
        assert!(matches!(
            execution.transactions[&TransactionId(2)],
            TransactionStatus::Aborted(_)
        ));
    });
}

#[test]
fn sessions_run_at_the_levels_of_the_case() {
    let text = format!(
        "{TWO_ROWS}
        s1: BEGIN
        s1: SELECT v FROM t WHERE pkey = 1
        s2: UPDATE t SET v = 11 WHERE pkey = 1
        s1: SELECT v FROM t WHERE pkey = 1
        s1: COMMIT"
    );
    for (level, seen) in [
        (IsolationLevel::ReadCommitted, 11),
        (IsolationLevel::RepeatableRead, 10),
    ] {
        check("levels", &LOCKING, level, &text, |on, execution| {
            let rows = execution.records[&id(1, 3)].outcome.rows();
            assert_eq!(integers(rows), vec![vec![seen]], "{on:?} {level}");
        });
    }
}

#[test]
fn the_state_of_a_transaction_is_asked_for_where_no_answer_gives_it() {
    for on in LOCKING {
        let Some(server) = server("transaction_state", on) else {
            continue;
        };
        let script = format!(
            "{TWO_ROWS}
            s1: BEGIN
            s1: UPDATE t SET v = 11 WHERE pkey = 1
            s2: BEGIN
            s2: SELECT v FROM t
            s1: COMMIT
            s2: ROLLBACK
            s2: BEGIN
            s2: COMMIT
            s2: INSERT INTO t (pkey, v) VALUES (1, 3)"
        );
        let case = case(server.as_ref(), IsolationLevel::RepeatableRead, &script);
        let mut driver = Driver::open(server.as_ref(), "rashomon_it_state").expect("a driver");
        driver.start_recording().expect("new connections");
        let execution = driver.execute(&case, &Instrumentation::default());
        assert_eq!(execution.expect("an answer").unreliable, None);
        // MySQL 5.6 says nothing of it, so that each end is asked for, too.
        let answers_tell = server.identity().version >= ServerVersion(vec![5, 7, 8]);
        let expected = if answers_tell { 1 } else { 4 };
        assert_eq!(driver.take_recording().questions, expected, "{on:?}");
        driver.close().expect("databases dropped");
    }
}

/// A READ ONLY transaction that lost a deadlock and was ended by nobody else refuses the next writes of
/// its session: not those of another case, even where the dialect registers nothing.
#[test]
fn no_case_reaches_into_the_next_by_a_read_only_transaction() {
    let setup = "init: CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INTEGER)
        init: INSERT INTO t (pkey, vkey) VALUES (1, 1), (2, 2)";
    let victim = format!(
        "{setup}
        s1: START TRANSACTION READ ONLY
        s1: SELECT * FROM t WHERE pkey = 1
        s2: BEGIN
        s2: INSERT INTO t (pkey, vkey) VALUES (5, 1000), (6, 1000), (7, 1000)
        s2: UPDATE t SET vkey = 1001 WHERE pkey = 2
        s2: UPDATE t SET vkey = 1002 WHERE pkey = 1
        s1: SELECT * FROM t WHERE pkey = 2
        s1: COMMIT
        s2: COMMIT"
    );
    let next = format!("{setup}\ns1: INSERT INTO t (pkey, vkey) VALUES (3, 1003)");
    let level = IsolationLevel::Serializable;
    for needs in [Needs::MariaDb, Needs::MySql] {
        let test = "no_case_reaches_into_the_next_by_a_read_only_transaction";
        let Some(url) = servers::url(test, needs) else {
            continue;
        };
        let options = OpenOptions {
            allow_shared_server: true,
            nothing_is_known: true,
            ..OpenOptions::default()
        };
        let server = open(&url, &options).expect("the test server answers");
        let mut driver = Driver::open(&*server, "rashomon_exec_read_only").expect("a driver");
        let mut play = |text: &str| {
            let case = case(&*server, level, text);
            let execution = driver.execute(&case, &Instrumentation::default());
            execution.expect("an execution").records
        };
        let lost = play(&victim)[&id(1, 3)].outcome.error_class();
        assert_eq!(lost, Some(ErrorClass::Deadlock), "{needs:?}");
        let after = &play(&next)[&id(1, 1)].outcome;
        assert_eq!(*after, Outcome::Affected(1), "{needs:?}");
        driver.close().expect("databases dropped");
    }
}

/// Alone it cannot be set up, and so it cannot behind a case with the same table.
#[test]
fn no_case_finds_a_table_that_only_the_case_before_made() {
    let test = "no_case_finds_a_table_that_only_the_case_before_made";
    for on in [On::Sqlite, On::MariaDb, On::MySql] {
        let Some(server) = server(test, on) else {
            continue;
        };
        let database = format!("rashomon_exec_before_{}", std::process::id());
        let mut driver = Driver::open(server.as_ref(), &database).expect("a driver");
        let [table, row] = [
            "init: CREATE TABLE t (pkey INT PRIMARY KEY, c INT)",
            "init: INSERT INTO t (pkey, c) VALUES (1, 10)",
        ];
        let read = "s1: SELECT * FROM t";
        let mut runs = |text: String| {
            let case = case(server.as_ref(), IsolationLevel::Serializable, &text);
            driver.execute(&case, &Instrumentation::default())
        };
        for _ in 0..2 {
            runs(format!("{table}\n{row}\n{read}")).expect("an execution");
            let ran = runs(format!("{row}\n{table}\n{read}"));
            assert!(matches!(ran, Err(EngineError::Setup { .. })), "{ran:?}");
        }
        driver.close().expect("closed");
    }
}
