//! The proxy that plants faults: it forwards unchanged without one, plants each where it should, and
//! nowhere else.

mod endings;
mod meanings;
mod own;
mod postgres;
mod refusals;
mod snapshots;
mod strays;
mod waits;

use rashomon::engine::{self, Connection, OpenOptions, Server, TransactionState};
use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::model::{IsolationLevel, Outcome, Row, Value};

use crate::execute::case;
use crate::plant::{Fault, Plant, PlantedServer, Rate, WriteKind};
use crate::servers::{Needs, url};

const SERVERS: [Needs; 2] = [Needs::MariaDb, Needs::MySql];

fn always(fault: Fault) -> Plant {
    Plant {
        fault,
        rate: Rate::Always,
    }
}

fn open(url: &str) -> Box<dyn Server> {
    let options = OpenOptions {
        allow_shared_server: true,
        ..OpenOptions::default()
    };
    engine::open(url, &options).unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// Two sessions in a database of a planted server.
struct Two {
    server: Box<dyn Server>,
    planted: PlantedServer,
    database: String,
    one: Box<dyn Connection>,
    other: Box<dyn Connection>,
}

impl Two {
    fn new(url: &str, plant: Plant, database: &str) -> Self {
        let planted = PlantedServer::before(url, plant);
        let server = open(&planted.url);
        server.create_database(database).expect("create");
        let mut two = Self {
            one: server.connect(database).expect("connect"),
            other: server.connect(database).expect("connect"),
            server,
            planted,
            database: database.to_owned(),
        };
        two.one("CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c INT)");
        two.one("INSERT INTO t VALUES (1, 1, 0), (2, 2, 0), (5, 5, 0)");
        two
    }

    /// Sessions at this level, the other with a transaction open.
    fn beside_a_transaction(&mut self, level: &str) {
        let level = level.parse().expect("a level");
        let dialect = self.server.dialect();
        let level = dialect.set_isolation(level).expect("more than one level");
        self.one(&level);
        self.other(&level);
        self.other("BEGIN");
        self.other("SELECT 1 FROM t WHERE pkey = 5");
    }

    fn one(&mut self, sql: &str) -> Outcome {
        self.one.execute(sql).expect("an answer")
    }

    fn other(&mut self, sql: &str) -> Outcome {
        self.other.execute(sql).expect("an answer")
    }

    fn state(&mut self) -> TransactionState {
        self.one.transaction_state().expect("an answer")
    }

    /// The row keys and counters of the table, as the first session sees them.
    fn rows(&mut self) -> Vec<(i64, i64)> {
        let outcome = self.one("SELECT pkey, c FROM t ORDER BY pkey");
        outcome.rows().iter().map(numbers).collect()
    }

    fn texts(&self) -> Vec<String> {
        self.planted.planted.try_iter().collect()
    }

    fn close(self) {
        drop((self.one, self.other));
        self.server.drop_database(&self.database).expect("drop");
    }
}

fn numbers(row: &Row) -> (i64, i64) {
    let number = |value: &Value| value.as_integer().expect("a number");
    (number(&row[0]), number(&row[1]))
}

fn is_timeout(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Rejected(error) if error.code == "1205")
}

/// Two sessions on each server of MySQL's protocol there is, in a database named after the test.
fn on_each(test: &str, plant: Plant, check: impl Fn(Two)) {
    on(&SERVERS, test, plant, check);
}

/// The same on PostgreSQL as well.
fn on_all(test: &str, plant: Plant, check: impl Fn(Two)) {
    on(&SERVERS, test, plant, &check);
    on(&[Needs::Postgres], test, plant, check);
}

fn on(servers: &[Needs], test: &str, plant: Plant, check: impl Fn(Two)) {
    for needs in servers.iter().copied() {
        if let Some(url) = url(test, needs) {
            let kind = format!("{needs:?}").to_lowercase();
            check(Two::new(&url, plant, &format!("rashomon_{test}_{kind}")));
        }
    }
}

#[test]
fn without_a_fault_a_case_runs_as_it_does_on_the_server() {
    const SCRIPT: &str = "
        init: CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c VARCHAR(300))
        init: INSERT INTO t VALUES (1, 1, 'a'), (2, 2, NULL)
        s1: BEGIN
        s2: BEGIN
        s1: UPDATE t SET vkey = 1000, c = REPEAT('x', 300) WHERE pkey = 1
        s2: UPDATE t SET vkey = 1001 WHERE pkey = 1
        s1: SELECT * FROM t
        s1: INSERT INTO t VALUES (2, 1002, 'duplicate')
        s1: COMMIT
        s2: SELECT pkey, vkey, c FROM t ORDER BY pkey FOR UPDATE
        s2: COMMIT
    ";
    for needs in SERVERS.into_iter().chain([Needs::Postgres]) {
        let Some(url) = url("planted_nothing", needs) else {
            continue;
        };
        let planted = PlantedServer::before(&url, always(Fault::None));
        let run = |url: &str| {
            let server = open(url);
            let database = format!("rashomon_planted_nothing_{needs:?}").to_lowercase();
            let mut driver = Driver::open(server.as_ref(), &database).expect("a driver");
            let case = case(server.as_ref(), IsolationLevel::RepeatableRead, SCRIPT);
            let execution = driver.execute(&case, &Instrumentation::default());
            driver.close().expect("databases dropped");
            let mut execution = execution.expect("an execution");
            // How often the lock view was asked depends on the machine's load.
            execution.statements_sent = 0;
            execution
        };
        let (direct, through) = (run(&url), run(&planted.url));
        assert_eq!(direct.waits(), 1);
        assert_eq!(direct, through);
        assert_eq!(planted.planted.try_iter().count(), 0);
    }
}

#[test]
fn a_lying_write_keeps_its_answer_and_loses_its_effect_only_beside_another_transaction() {
    let fault = always(Fault::Lies(WriteKind::Update));
    on_all("planted_lies", fault, |mut two| {
        let update = "UPDATE t SET c = c + 1 WHERE pkey = 1";
        assert_eq!(two.one(update), Outcome::Affected(1));
        assert_eq!(two.rows()[0], (1, 1));
        two.beside_a_transaction("REPEATABLE READ");
        // In autocommit, and in a transaction, which stays what it was.
        assert_eq!(two.one(update), Outcome::Affected(1));
        assert_eq!(two.state(), TransactionState::None);
        two.one("BEGIN");
        assert_eq!(two.one(update), Outcome::Affected(1));
        two.one("DELETE FROM t WHERE pkey = 2");
        assert_eq!(two.rows(), [(1, 1), (5, 0)]);
        assert_eq!(two.state(), TransactionState::Open);
        two.one("COMMIT");
        two.other("COMMIT");
        assert_eq!(two.rows(), [(1, 1), (5, 0)]);
        assert_eq!(two.texts(), [update, update]);
        two.close();
    });
}

#[test]
fn a_lying_write_keeps_its_locks() {
    let fault = always(Fault::Lies(WriteKind::Delete));
    on_each("planted_locks", fault, |mut two| {
        two.beside_a_transaction("REPEATABLE READ");
        two.one("BEGIN");
        two.one("DELETE FROM t WHERE pkey = 1");
        two.other("SET SESSION innodb_lock_wait_timeout = 1");
        let blocked = two.other("UPDATE t SET c = 9 WHERE pkey = 1");
        assert!(is_timeout(&blocked), "{blocked}");
        two.close();
    });
}

#[test]
fn counts_and_rows_are_off_by_one() {
    on_all("planted_count", always(Fault::CountOffByOne), |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        let one_row = two.one("UPDATE t SET c = 1 WHERE pkey = 1");
        assert_eq!(one_row, Outcome::Affected(2));
        assert_eq!(two.rows(), [(1, 1), (2, 0), (5, 0)]);
        two.close();
    });
    on_all("planted_few", always(Fault::RowTooFew), |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.one("BEGIN");
        let both = two.one("UPDATE t SET c = 1 WHERE pkey < 5");
        assert_eq!(both, Outcome::Affected(1));
        assert_eq!(two.rows(), [(1, 1), (2, 0), (5, 0)]);
        two.close();
    });
    on_all("planted_many", always(Fault::RowTooMany), |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.one("BEGIN");
        let one_row = two.one("DELETE FROM t WHERE pkey = 1 OR pkey = 7");
        assert_eq!(one_row, Outcome::Affected(1));
        assert_eq!(two.rows(), [(5, 0)]);
        two.close();
    });
}

#[test]
fn a_duplicate_is_answered_as_one_row() {
    let fault = always(Fault::DuplicateAnsweredOk);
    on_all("planted_duplicate", fault, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        let insert = two.one("INSERT INTO t VALUES (1, 9, 9)");
        assert_eq!(insert, Outcome::Affected(1));
        assert_eq!(two.rows(), [(1, 0), (2, 0), (5, 0)]);
        two.close();
    });
}

#[test]
fn locking_reads_lock_nothing_or_no_gap() {
    let read = "SELECT pkey, c FROM t WHERE pkey < 5 FOR UPDATE";
    let insert = "INSERT INTO t VALUES (3, 3, 3)";
    let update = "UPDATE t SET c = 7 WHERE pkey = 1";
    let is_timeout =
        |outcome: &Outcome| matches!(outcome, Outcome::Rejected(error) if error.code == "1205");
    let faults = [
        (Fault::None, true, true),
        (Fault::PhantomUnderLock, false, true),
        (Fault::MissingRowLocks, false, false),
    ];
    for (fault, locks_gap, locks_row) in faults {
        on_each("planted_read", always(fault), |mut two| {
            two.beside_a_transaction("REPEATABLE READ");
            two.one("BEGIN");
            let rows: Vec<_> = two.one(read).rows().iter().map(numbers).collect();
            assert_eq!(rows, [(1, 0), (2, 0)]);
            two.other("SET SESSION innodb_lock_wait_timeout = 1");
            assert_eq!(is_timeout(&two.other(insert)), locks_gap, "{fault}");
            assert_eq!(is_timeout(&two.other(update)), locks_row, "{fault}");
            two.close();
        });
    }
}

#[test]
fn a_failed_statement_ends_its_transaction_unsaid() {
    let fault = always(Fault::ErrorEndsTransaction);
    on_all("planted_end", fault, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.one("BEGIN");
        two.one("UPDATE t SET c = 1 WHERE pkey = 1");
        let insert = two.one("INSERT INTO t VALUES (1, 9, 9)");
        assert!(matches!(insert, Outcome::Rejected(_)));
        assert_eq!(two.state(), TransactionState::None);
        assert_eq!(two.rows()[0], (1, 0));
        two.close();
    });
}

#[test]
fn a_rollback_goes_one_savepoint_too_far_and_leaves_the_names_as_they_were() {
    let fault = always(Fault::RollbackToOneTooMany);
    on_all("planted_savepoint", fault, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.one("BEGIN");
        two.one("SAVEPOINT a");
        two.one("UPDATE t SET c = 1 WHERE pkey = 1");
        two.one("SAVEPOINT b");
        two.one("UPDATE t SET c = 2 WHERE pkey = 1");
        assert_eq!(two.one("ROLLBACK TO SAVEPOINT b"), Outcome::Affected(0));
        assert_eq!(two.rows()[0], (1, 0));
        assert_eq!(two.one("RELEASE SAVEPOINT b"), Outcome::Affected(0));
        two.close();
    });
}

#[test]
fn a_write_forgets_foreign_keys_and_others_keep_them() {
    let fault = always(Fault::ForeignKeysForgotten);
    on_all("planted_foreign_keys", fault, |mut two| {
        two.one(
            "CREATE TABLE u (pkey INT PRIMARY KEY, f INT, FOREIGN KEY (f) REFERENCES t (pkey))",
        );
        two.one("INSERT INTO u VALUES (1, 1)");
        let delete = "DELETE FROM t WHERE pkey = 1";
        assert!(matches!(two.one(delete), Outcome::Rejected(_)));
        two.beside_a_transaction("READ COMMITTED");
        assert_eq!(two.one(delete), Outcome::Affected(1));
        assert_eq!(two.one("INSERT INTO u VALUES (2, 7)"), Outcome::Affected(1));
        two.other("COMMIT");
        let orphan = two.one("INSERT INTO u VALUES (3, 7)");
        assert!(matches!(orphan, Outcome::Rejected(_)), "{orphan}");
        two.close();
    });
}

#[test]
fn transactions_end_without_a_cause_or_not_at_all() {
    let update = "UPDATE t SET c = 1 WHERE pkey = 1";
    let rejected = |outcome: Outcome| match outcome {
        Outcome::Rejected(error) => error.code,
        other @ (Outcome::Rows(_) | Outcome::Affected(_)) => panic!("{other}"),
    };
    on_each(
        "planted_deadlock",
        always(Fault::DeadlockFromNowhere),
        |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            two.one("BEGIN");
            assert_eq!(rejected(two.one(update)), "1213");
            assert_eq!(two.state(), TransactionState::None);
            two.close();
        },
    );
    on_each(
        "planted_timeout",
        always(Fault::TimeoutFromNowhere),
        |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            two.one("BEGIN");
            assert_eq!(rejected(two.one(update)), "1205");
            assert_eq!(two.state(), TransactionState::Open);
            two.close();
        },
    );
    on_each("planted_ddl", always(Fault::DdlFromNowhere), |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.one("BEGIN");
        assert_eq!(rejected(two.one("SELECT * FROM t")), "1412");
        assert_eq!(two.state(), TransactionState::Open);
        two.close();
    });
    on_each(
        "planted_commit",
        always(Fault::CommitLeavesOpen),
        |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            two.one("BEGIN");
            assert_eq!(two.one("COMMIT"), Outcome::Affected(0));
            assert_eq!(two.state(), TransactionState::Open);
            two.close();
        },
    );
}

#[test]
fn plain_reads_in_a_transaction_are_spoilt_and_others_are_not() {
    let read = "SELECT pkey, c FROM t ORDER BY pkey DESC";
    let in_order = |order: &str| format!("SELECT pkey, c FROM t ORDER BY {order}");
    let cases: [(&str, Fault, &[i64]); 4] = [
        ("planted_missing", Fault::ReadMissesRow, &[5, 2]),
        ("planted_twice", Fault::ReadRepeatsRow, &[5, 2, 1, 1]),
        ("planted_order", Fault::OrderForgotten, &[1, 2, 5]),
        ("planted_own", Fault::OwnWriteInvisible, &[5, 2, 1]),
    ];
    for (test, fault, keys) in cases {
        on_each(test, always(fault), |mut two| {
            two.beside_a_transaction("REPEATABLE READ");
            let of = |outcome: &Outcome| -> Vec<i64> {
                let rows = outcome.rows().iter();
                rows.map(|row| numbers(row).0).collect()
            };
            // In autocommit, and with a lock clause, nothing is spoilt.
            assert_eq!(of(&two.one(read)), [5, 2, 1], "{fault}");
            two.one("BEGIN");
            let locking = format!("{} FOR UPDATE", in_order("pkey"));
            assert_eq!(of(&two.one(&locking)), [1, 2, 5], "{fault}");
            two.one("DELETE FROM t WHERE pkey = 2");
            two.one("INSERT INTO t VALUES (2, 2, 0)");
            two.one("UPDATE t SET c = 7 WHERE pkey = 1");
            let seen = two.one(read);
            assert_eq!(of(&seen), keys, "{fault}");
            assert_eq!(two.state(), TransactionState::Open, "{fault}");
            let own: Vec<i64> = seen.rows().iter().map(|row| numbers(row).1).collect();
            let is_there = own.contains(&7);
            let misses = [Fault::OwnWriteInvisible, Fault::ReadMissesRow].contains(&fault);
            assert_eq!(is_there, !misses, "{fault}");
            two.close();
        });
    }
}

#[test]
fn reads_see_what_is_not_committed_or_was_committed_later() {
    let read = "SELECT pkey, c FROM t ORDER BY pkey";
    let both = [
        ("planted_dirty", Fault::DirtyRead, false),
        ("planted_later", Fault::ReadOutsideSnapshot, true),
    ];
    for (test, fault, commits) in both {
        on_each(test, always(fault), |mut two| {
            two.beside_a_transaction("REPEATABLE READ");
            two.one("BEGIN");
            assert_eq!(two.rows()[0], (1, 0), "{fault}");
            two.other("UPDATE t SET c = 9 WHERE pkey = 1");
            if commits {
                two.other("COMMIT");
                two.other("BEGIN");
                two.other("SELECT 1 FROM t");
            }
            assert_eq!(numbers(&two.one(read).rows()[0]), (1, 9), "{fault}");
            two.close();
        });
    }
}

#[test]
fn transactions_and_savepoints_end_the_other_way() {
    let cases: [(&str, Fault, &[&str], i64); 4] = [
        ("planted_commit", Fault::CommitRollsBack, &["COMMIT"], 0),
        ("planted_rollback", Fault::RollbackCommits, &["ROLLBACK"], 2),
        (
            "planted_ignored",
            Fault::RollbackToIgnored,
            &["ROLLBACK TO SAVEPOINT s", "COMMIT"],
            2,
        ),
        (
            "planted_release",
            Fault::ReleaseRollsBack,
            &["RELEASE SAVEPOINT s", "COMMIT"],
            1,
        ),
    ];
    for (test, fault, end, left) in cases {
        on_all(test, always(fault), |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            two.one("BEGIN");
            two.one("UPDATE t SET c = 1 WHERE pkey = 1");
            two.one("SAVEPOINT s");
            two.one("UPDATE t SET c = 2 WHERE pkey = 1");
            for sql in end {
                let answer = two.one(sql);
                assert_eq!(answer, Outcome::Affected(0), "{fault}");
            }
            assert_eq!(two.state(), TransactionState::None, "{fault}");
            assert_eq!(two.rows()[0], (1, left), "{fault}");
            two.close();
        });
    }
}

#[test]
fn levels_snapshots_and_failed_inserts_are_not_what_they_say() {
    let weaker = always(Fault::RepeatableReadWithoutSnapshot);
    on_all("planted_weaker", weaker, |mut two| {
        two.beside_a_transaction("REPEATABLE READ");
        two.one("BEGIN");
        assert_eq!(two.rows()[0], (1, 0));
        two.other("UPDATE t SET c = 9 WHERE pkey = 1");
        two.other("COMMIT");
        assert_eq!(two.rows()[0], (1, 9));
        two.close();
    });
    on_each(
        "planted_late",
        always(Fault::SnapshotTakenLate),
        |mut two| {
            two.beside_a_transaction("REPEATABLE READ");
            two.one("START TRANSACTION WITH CONSISTENT SNAPSHOT");
            two.other("UPDATE t SET c = 9 WHERE pkey = 1");
            two.other("COMMIT");
            assert_eq!(two.rows()[0], (1, 9));
            two.close();
        },
    );
    let leaves = always(Fault::FailedInsertLeavesRows);
    on_each("planted_half", leaves, |mut two| {
        two.beside_a_transaction("REPEATABLE READ");
        two.one("BEGIN");
        let refused = two.one("INSERT INTO t VALUES (7, 7, 0), (1, 1, 0)");
        assert!(matches!(refused, Outcome::Rejected(_)), "{refused}");
        assert_eq!(two.rows(), [(1, 0), (2, 0), (5, 0), (7, 0)]);
        two.close();
    });
}

#[test]
fn a_serial_run_is_left_alone() {
    let fault = always(Fault::Lies(WriteKind::Update));
    on_all("planted_serial", fault, |two| {
        let name = format!("{}_serial", two.database);
        two.server.create_database(&name).expect("create");
        let mut one = two.server.connect(&name).expect("connect");
        let mut other = two.server.connect(&name).expect("connect");
        let mut run = |sql: &str| one.execute(sql).expect("an answer");
        run("CREATE TABLE t (c INT)");
        run("INSERT INTO t VALUES (1)");
        other.execute("BEGIN").expect("an answer");
        run("UPDATE t SET c = 2");
        assert_eq!(run("SELECT c FROM t").rows(), [vec![Value::Integer(2)]]);
        other.execute("COMMIT").expect("an answer");
        drop((one, other));
        two.server.drop_database(&name).expect("drop");
        two.close();
    });
}

#[test]
fn a_rate_by_text_repeats_and_a_rate_by_turn_does_not() {
    let lies = |rate| Plant {
        fault: Fault::Lies(WriteKind::Update),
        rate,
    };
    let turns_of = |mut two: Two| {
        two.beside_a_transaction("READ COMMITTED");
        let shown: Vec<Vec<bool>> = (0..40)
            .map(|number| {
                let sql = format!("UPDATE t SET c = {number} WHERE pkey = 1");
                (0..4)
                    .map(|_| {
                        two.one(&sql);
                        two.texts() == [sql.as_str()]
                    })
                    .collect()
            })
            .collect();
        two.close();
        shown
    };
    on_each("planted_texts", lies(Rate::OneTextIn(4)), |two| {
        let shown = turns_of(two);
        let lying = shown.iter().filter(|turns| turns[0]).count();
        assert!((4..=16).contains(&lying), "{lying}");
        assert!(
            shown
                .iter()
                .all(|turns| turns.iter().all(|shows| *shows == turns[0]))
        );
    });
    on_each("planted_turns", lies(Rate::OneTurnIn(4)), |two| {
        let shown = turns_of(two);
        let lying = shown.iter().flatten().filter(|shows| **shows).count();
        assert!((20..=60).contains(&lying), "{lying}");
        assert!(
            shown
                .iter()
                .any(|turns| turns.iter().any(|shows| *shows != turns[0]))
        );
    });
}

#[test]
fn every_fault_has_a_name_of_its_own() {
    for (name, fault) in Fault::ALL {
        assert_eq!(Fault::from_name(name), Some(fault));
        assert_eq!(fault.to_string(), name);
    }
}
