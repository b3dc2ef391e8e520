//! PostgreSQL's connections: what stops a transaction, what ends a connection, who waits for whom.

use std::time::Duration;

use rashomon::engine::{self, Connection, EngineError, OpenOptions, Server, TransactionState};
use rashomon::model::{ErrorClass, Outcome, Value};

use crate::program::{folder, run, shown};
use crate::servers::{Needs, url};

/// A server and a database of its own, dropped at the end.
fn with_database(test: &str, check: impl Fn(&dyn Server, &str)) {
    let Some(url) = url(test, Needs::Postgres) else {
        return;
    };
    let options = OpenOptions {
        run_id: test.to_owned(),
        ..OpenOptions::default()
    };
    let server = engine::open(&url, &options).unwrap_or_else(|error| panic!("{error}"));
    let name = format!("rashomon_{test}");
    server.create_database(&name).expect("create");
    check(&*server, &name);
    server.drop_database(&name).expect("drop");
}

fn send(connection: &mut dyn Connection, sql: &str) -> Outcome {
    connection
        .execute(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn class(connection: &mut dyn Connection, sql: &str) -> Option<ErrorClass> {
    send(connection, sql).error_class()
}

/// Two sessions in transactions of this level, on a table with the rows 1 and 2.
fn two(server: &dyn Server, name: &str, level: &str) -> [Box<dyn Connection>; 2] {
    let mut sessions = [(); 2].map(|()| server.connect(name).expect("connect"));
    send(
        &mut *sessions[0],
        "CREATE TABLE t (k INTEGER PRIMARY KEY, v BIGINT)",
    );
    send(&mut *sessions[0], "INSERT INTO t VALUES (1, 0), (2, 0)");
    for session in &mut sessions {
        send(&mut **session, &format!("BEGIN ISOLATION LEVEL {level}"));
    }
    sessions
}

#[test]
fn an_update_of_a_changed_row_is_a_serialization_failure() {
    with_database("postgres_40001", |server, name| {
        let [mut one, mut other] = two(server, name, "REPEATABLE READ");
        send(&mut *one, "SELECT v FROM t WHERE k = 1");
        send(&mut *other, "UPDATE t SET v = 1 WHERE k = 1");
        send(&mut *other, "COMMIT");
        let failed = class(&mut *one, "UPDATE t SET v = 2 WHERE k = 1");
        assert_eq!(failed, Some(ErrorClass::Serialization));
        let after = class(&mut *one, "SELECT 1");
        assert_eq!(after, Some(ErrorClass::FailedTransaction));
        let state = one.transaction_state().expect("state");
        assert_eq!(state, TransactionState::Open);
        send(&mut *one, "ROLLBACK");
        let state = one.transaction_state().expect("state");
        assert_eq!(state, TransactionState::None);
    });
}

#[test]
fn a_waiting_session_is_seen_and_a_deadlock_has_its_class() {
    with_database("postgres_40p01", |server, name| {
        let [mut one, mut other] = two(server, name, "READ COMMITTED");
        let mut watcher = server.watcher().expect("watcher");
        let ids = [one.id(), other.id()];
        send(&mut *one, "UPDATE t SET v = 1 WHERE k = 1");
        send(&mut *other, "UPDATE t SET v = 1 WHERE k = 2");
        assert!(watcher.waiting(&ids).expect("poll").is_empty());
        let thread = std::thread::spawn(move || {
            let outcome = send(&mut *one, "UPDATE t SET v = 2 WHERE k = 2");
            (one, outcome)
        });
        let waits = loop {
            let waits = watcher.waiting(&ids).expect("poll");
            if !waits.is_empty() {
                break waits;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert_eq!(waits.get(&ids[0]), Some(&vec![ids[1]]));
        let theirs = class(&mut *other, "UPDATE t SET v = 2 WHERE k = 1");
        send(&mut *other, "ROLLBACK");
        let (_one, ours) = thread.join().expect("the other session");
        let victims = [ours.error_class(), theirs];
        let deadlocks = victims.iter().filter(|v| **v == Some(ErrorClass::Deadlock));
        assert_eq!(deadlocks.count(), 1, "{victims:?}");
    });
}

#[test]
fn a_killed_connection_reports_its_loss_at_every_statement() {
    with_database("postgres_lost", |server, name| {
        let mut connection = server.connect(name).expect("connect");
        let mut watcher = server.watcher().expect("watcher");
        watcher.kill(connection.id()).expect("kill");
        for _ in 0..2 {
            let lost = connection.execute("SELECT 1");
            let is_lost = matches!(lost, Err(EngineError::ConnectionLost { .. }));
            assert!(is_lost, "{lost:?}");
        }
    });
}

#[test]
fn a_statement_without_an_answer_is_given_up_at_the_deadline() {
    with_database("postgres_hang", |server, name| {
        let impatient = OpenOptions {
            deadline: Duration::from_secs(4),
            ..OpenOptions::default()
        };
        let url = url("postgres_hang", Needs::Postgres).expect("it was there");
        let hasty = engine::open(&url, &impatient).expect("open");
        let mut connection = hasty.connect(name).expect("connect");
        let answer = connection.execute("SELECT pg_sleep(600)");
        assert!(
            matches!(answer, Err(EngineError::Hang { .. })),
            "{answer:?}"
        );
        let mut watcher = server.watcher().expect("watcher");
        watcher.kill(connection.id()).expect("kill");
    });
}

#[test]
fn rows_counts_and_empty_answers_are_distinguished() {
    with_database("postgres_answers", |server, name| {
        let mut connection = server.connect(name).expect("connect");
        let mut run = |sql: &str| send(&mut *connection, sql);
        assert_eq!(
            run("CREATE TABLE t (k INTEGER, n NUMERIC)"),
            Outcome::Affected(0)
        );
        assert_eq!(run("SELECT k FROM t"), Outcome::Rows(Vec::new()));
        assert_eq!(run("UPDATE t SET k = 1"), Outcome::Affected(0));
        assert_eq!(
            run("UPDATE t SET k = 1 RETURNING k"),
            Outcome::Rows(Vec::new())
        );
        let with = "WITH gone AS (DELETE FROM t RETURNING k) SELECT * FROM gone";
        assert_eq!(run(with), Outcome::Rows(Vec::new()));
        assert_eq!(run("INSERT INTO t VALUES (7, 1.50)"), Outcome::Affected(1));
        let number = Value::Decimal("1.50".to_owned());
        assert_eq!(
            run("SELECT k, n, k > 1, NULL FROM t"),
            Outcome::Rows(vec![vec![
                Value::Integer(7),
                number,
                Value::Text("t".to_owned()),
                Value::Null
            ]])
        );
    });
}

#[test]
fn a_wrong_password_or_address_is_reported() {
    let ran = run(&["doctor", "postgres://nobody@127.0.0.1:1"]);
    assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
    let ran = run(&["doctor", "postgres://nobody@127.0.0.1:1?sokket=/x"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
}

/// Foreign keys are taken out of force by what a superuser alone may set, or who is granted it.
#[test]
fn an_account_that_may_not_take_foreign_keys_out_of_force_gets_cases_without_them() {
    with_database("postgres_plain", |server, name| {
        let mut root = server.connect(name).expect("connect");
        send(&mut *root, "DROP ROLE IF EXISTS rashomon_plain");
        let made = send(&mut *root, "CREATE ROLE rashomon_plain LOGIN CREATEDB");
        assert_eq!(made, Outcome::Affected(0));
        let url = url("postgres_plain", Needs::Postgres).expect("it was there");
        let (_, address) = url.split_once('@').expect("an account");
        let target = format!("postgres://rashomon_plain@{address}");
        let told = run(&["doctor", &target]);
        assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
        let line = "the account may not set session_replication_role: cases have no foreign keys";
        assert!(told.out.contains(line), "{}", told.out);
        let folder = folder();
        let out = shown(folder.path());
        let fuzz = [
            "fuzz", &target, "--seed", "51", "--cases", "60", "--out", &out, "--format", "json",
        ];
        let fuzzed = run(&fuzz);
        assert_eq!(fuzzed.code, Some(0), "{}{}", fuzzed.out, fuzzed.err);
        assert!(!fuzzed.out.contains("set-up-rejected"), "{}", fuzzed.out);
        assert!(!fuzzed.err.contains("set-up"), "{}", fuzzed.err);
        send(&mut *root, "DROP ROLE rashomon_plain");
    });
}
