//! Sessions side by side: snapshots, waits, deadlocks, savepoints, conditions, keys, faults.

use std::thread::JoinHandle;
use std::time::Duration;

use crate::engine::{Connection, OpenOptions, Server, Watcher, open};
use crate::model::Outcome;

/// A server with one database, and what its lock view says.
pub(super) struct Stage {
    server: Box<dyn Server>,
    watcher: Box<dyn Watcher>,
}

/// A statement that runs in a thread of its own, and the connection that it comes back with.
pub(super) type Sent = JoinHandle<(Box<dyn Connection>, Outcome)>;

const DATABASE: &str = "rashomon_test";

impl Stage {
    /// A table `t` with the rows (1, 10), (2, 20), (3, 30).
    pub(super) fn new(target: &str) -> Self {
        let server = open(target, &OpenOptions::default()).expect(target);
        server.create_database(DATABASE).expect("a database");
        let watcher = server.watcher().expect("a watcher");
        let stage = Self { server, watcher };
        let mut keeper = stage.session("READ COMMITTED");
        keeper.must("CREATE TABLE t (pkey INTEGER PRIMARY KEY, c INT)");
        keeper.must("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
        stage
    }

    pub(super) fn session(&self, level: &str) -> Actor {
        let connection = self.server.connect(DATABASE).expect("a connection");
        let mut actor = Actor(Some(connection));
        actor.must(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        actor
    }

    pub(super) fn two_sessions(&self) -> [Actor; 2] {
        ["READ COMMITTED"; 2].map(|level| self.session(level))
    }

    /// Sends a statement and comes back when it is seen waiting.
    pub(super) fn send(&mut self, actor: &mut Actor, sql: &str) -> Sent {
        let mut connection = actor.0.take().expect("idle");
        let (id, sql) = (connection.id(), sql.to_owned());
        let sent = std::thread::spawn(move || {
            let outcome = connection.execute(&sql).expect("an answer");
            (connection, outcome)
        });
        while !self.waits(id) {
            assert!(!sent.is_finished(), "it does not wait");
            std::thread::sleep(Duration::from_millis(1));
        }
        sent
    }

    fn waits(&mut self, id: u64) -> bool {
        self.watcher
            .waiting(&[id])
            .expect("a view")
            .contains_key(&id)
    }
}

pub(super) struct Actor(Option<Box<dyn Connection>>);

impl Actor {
    fn run(&mut self, sql: &str) -> Outcome {
        let connection = self.0.as_mut().expect("idle");
        connection.execute(sql).expect("an answer")
    }

    pub(super) fn must(&mut self, sql: &str) {
        let outcome = self.run(sql);
        assert!(!matches!(outcome, Outcome::Rejected(_)), "{sql}: {outcome}");
    }

    pub(super) fn finish(&mut self, sent: Sent) -> Outcome {
        let (connection, outcome) = sent.join().expect("the thread");
        self.0 = Some(connection);
        outcome
    }

    pub(super) fn class(&mut self, sql: &str) -> String {
        let outcome = self.run(sql);
        outcome
            .error_class()
            .map_or("none".to_owned(), |c| c.to_string())
    }

    /// The first column of the answer.
    pub(super) fn numbers(&mut self, sql: &str) -> Vec<i64> {
        let outcome = self.run(sql);
        let cells = outcome.rows().iter().map(|row| row[0].as_integer());
        cells.map(|cell| cell.expect("a number")).collect()
    }
}

pub(super) const ALL: &str = "SELECT c FROM t ORDER BY pkey";

#[test]
fn a_write_waits_for_the_row_and_sees_it_as_it_is_then() {
    let mut stage = Stage::new("simulated:");
    let [mut one, mut two] = stage.two_sessions();
    one.must("BEGIN");
    one.must("UPDATE t SET c = 11 WHERE pkey = 1");
    let sent = stage.send(&mut two, "UPDATE t SET c = c + 100 WHERE c < 15");
    one.must("COMMIT");
    assert_eq!(two.finish(sent), Outcome::Affected(1));
    assert_eq!(one.numbers(ALL), [111, 20, 30]);
}

#[test]
fn levels_differ_in_what_a_plain_read_sees() {
    let stage = Stage::new("simulated:");
    let mut writer = stage.session("READ COMMITTED");
    let mut readers =
        ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ"].map(|level| stage.session(level));
    for reader in &mut readers {
        reader.must("BEGIN");
        assert_eq!(reader.numbers(ALL), [10, 20, 30]);
    }
    writer.must("BEGIN");
    writer.must("UPDATE t SET c = 11 WHERE pkey = 1");
    let firsts = readers.each_mut().map(|reader| reader.numbers(ALL)[0]);
    assert_eq!(firsts, [11, 10, 10]);
    writer.must("COMMIT");
    let firsts = readers.each_mut().map(|reader| reader.numbers(ALL)[0]);
    assert_eq!(firsts, [11, 11, 10]);
}

#[test]
fn the_one_who_closes_a_circle_is_rolled_back_and_the_other_goes_on() {
    let mut stage = Stage::new("simulated:");
    let [mut one, mut two] = stage.two_sessions();
    one.must("BEGIN");
    two.must("BEGIN");
    one.must("UPDATE t SET c = 11 WHERE pkey = 1");
    two.must("UPDATE t SET c = 22 WHERE pkey = 2");
    let sent = stage.send(&mut one, "UPDATE t SET c = 12 WHERE pkey = 2");
    assert_eq!(two.class("UPDATE t SET c = 21 WHERE pkey = 1"), "deadlock");
    assert_eq!(one.finish(sent), Outcome::Affected(1));
    one.must("COMMIT");
    assert_eq!(two.numbers(ALL), [11, 12, 30]);
}

#[test]
fn a_condition_is_locked_from_repeatable_read_on() {
    let mut stage = Stage::new("simulated:");
    let mut writer = stage.session("READ COMMITTED");
    let mut reader = stage.session("READ COMMITTED");
    reader.must("BEGIN");
    reader.must("SELECT * FROM t WHERE c < 15 FOR SHARE");
    writer.must("INSERT INTO t VALUES (4, 14)");
    reader.must("COMMIT");
    let mut reader = stage.session("REPEATABLE READ");
    reader.must("BEGIN");
    reader.must("SELECT * FROM t WHERE c < 15 FOR SHARE");
    writer.must("INSERT INTO t VALUES (5, 50)");
    let sent = stage.send(&mut writer, "UPDATE t SET c = 1 WHERE pkey = 3");
    reader.must("COMMIT");
    assert_eq!(writer.finish(sent), Outcome::Affected(1));
}

#[test]
fn savepoints_undo_rows_and_keep_locks() {
    let mut stage = Stage::new("simulated:");
    let [mut one, mut two] = stage.two_sessions();
    one.must("BEGIN");
    one.must("UPDATE t SET c = 11 WHERE pkey = 1");
    one.must("SAVEPOINT a");
    one.must("UPDATE t SET c = 21 WHERE pkey = 2");
    one.must("ROLLBACK TO SAVEPOINT a");
    assert_eq!(one.numbers(ALL), [11, 20, 30]);
    let sent = stage.send(&mut two, "DELETE FROM t WHERE pkey = 2");
    one.must("COMMIT");
    assert_eq!(two.finish(sent), Outcome::Affected(1));
    assert_eq!(one.numbers(ALL), [11, 30]);
}

#[test]
fn a_key_that_another_transaction_is_about_to_insert_is_waited_for() {
    let mut stage = Stage::new("simulated:");
    let [mut one, mut two] = stage.two_sessions();
    one.must("BEGIN");
    one.must("INSERT INTO t VALUES (4, 40)");
    let sent = stage.send(&mut two, "INSERT INTO t VALUES (4, 41)");
    one.must("COMMIT");
    let class = two
        .finish(sent)
        .error_class()
        .map(|class| class.to_string());
    assert_eq!(class.as_deref(), Some("duplicate"));
    assert_eq!(two.class("INSERT INTO t VALUES (4, 42)"), "duplicate");
}

#[test]
fn nowait_is_refused_and_skip_locked_leaves_out() {
    let stage = Stage::new("simulated:");
    let [mut one, mut two] = stage.two_sessions();
    one.must("BEGIN");
    one.must("UPDATE t SET c = 11 WHERE pkey = 1");
    let nowait = "SELECT c FROM t WHERE c < 25 FOR UPDATE NOWAIT";
    assert_eq!(two.class(nowait), "lock-timeout");
    let skips = "SELECT c FROM t WHERE c < 25 FOR UPDATE SKIP LOCKED";
    assert_eq!(two.numbers(skips), [20]);
}

#[test]
fn a_kill_ends_a_wait() {
    let mut stage = Stage::new("simulated:");
    let [mut one, mut two] = stage.two_sessions();
    one.must("BEGIN");
    one.must("DELETE FROM t");
    let id = two.0.as_ref().expect("idle").id();
    let sent = stage.send(&mut two, "DELETE FROM t");
    stage.watcher.kill(id).expect("a kill");
    let class = two
        .finish(sent)
        .error_class()
        .map(|class| class.to_string());
    assert_eq!(class.as_deref(), Some("interrupted"));
}

#[test]
fn a_fault_bites_beside_another_transaction_only() {
    let stage = Stage::new("simulated:?fault=commit-lost");
    let mut one = stage.session("READ COMMITTED");
    one.must("UPDATE t SET c = 11 WHERE pkey = 1");
    one.must("BEGIN");
    one.must("UPDATE t SET c = 12 WHERE pkey = 1");
    one.must("COMMIT");
    assert_eq!(one.numbers(ALL), [12, 20, 30]);
    let mut two = stage.session("READ COMMITTED");
    two.must("BEGIN");
    one.must("BEGIN");
    one.must("UPDATE t SET c = 13 WHERE pkey = 1");
    one.must("COMMIT");
    assert_eq!(one.numbers(ALL), [12, 20, 30]);
}

#[test]
fn a_changed_schema_keeps_rows_and_reaches_open_sessions() {
    let stage = Stage::new("simulated:");
    let [mut one, mut two] = stage.two_sessions();
    assert_eq!(two.numbers(ALL), [10, 20, 30]);
    one.must("ALTER TABLE t ADD COLUMN d INT DEFAULT 7");
    one.must("CREATE VIEW v AS SELECT d FROM t WHERE c > 15");
    assert_eq!(two.numbers("SELECT d FROM v"), [7, 7]);
    two.must("UPDATE t SET d = 8 WHERE pkey = 3");
    assert_eq!(one.numbers("SELECT d FROM v ORDER BY d"), [7, 8]);
}
