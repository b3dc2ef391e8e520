//! The lock view on live servers: every wait is seen, and none after its end.

use std::io::Write;
use std::time::{Duration, Instant};

use rashomon::engine::{self, Connection, OpenOptions, Server, Watcher};
use rashomon::model::Outcome;

use crate::servers::{Needs, url};

/// Real two-session waits per kind and server.
const WAITS: usize = 25;

/// What the first session does and holds, and what the second then waits for.
const KINDS: [(&str, &str, &str); 6] = [
    (
        "update",
        "UPDATE t SET c = c + 1 WHERE pkey = 1",
        "UPDATE t SET c = 0 WHERE pkey = 1",
    ),
    (
        "shared lock of a transaction that has written nothing",
        "UPDATE t SET c = c + 1 WHERE pkey = 1",
        "SELECT * FROM t WHERE pkey = 1 LOCK IN SHARE MODE",
    ),
    (
        "read behind a read",
        "SELECT * FROM t WHERE pkey = 2 LOCK IN SHARE MODE",
        "DELETE FROM t WHERE pkey = 2",
    ),
    (
        "duplicate key",
        "INSERT INTO t VALUES (9, 9)",
        "INSERT INTO t VALUES (9, 8)",
    ),
    (
        "scan that meets another's insert",
        "INSERT INTO t VALUES (9, 9)",
        "SELECT COUNT(*) FROM t WHERE c > 5 FOR UPDATE",
    ),
    (
        "metadata lock",
        "SELECT * FROM t WHERE pkey = 1",
        "ALTER TABLE t ADD COLUMN d INT",
    ),
];

struct Scene {
    holder: Box<dyn Connection>,
    waiter: Option<Box<dyn Connection>>,
    watcher: Box<dyn Watcher>,
}

impl Scene {
    fn new(server: &dyn Server, database: &str) -> Self {
        server.create_database(database).expect("create");
        let mut holder = server.connect(database).expect("connect");
        for sql in [
            "CREATE TABLE t (pkey INT PRIMARY KEY, c INT) ENGINE=InnoDB",
            "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
        ] {
            run(&mut *holder, sql);
        }
        Self {
            holder,
            waiter: Some(server.connect(database).expect("connect")),
            watcher: server.watcher().expect("watcher"),
        }
    }

    /// One wait: how long until it was seen, and what the poll cost.
    fn wait(&mut self, kind: &str, hold: &str, wait: &str) -> Duration {
        run(&mut *self.holder, "BEGIN");
        run(&mut *self.holder, hold);
        let mut waiter = self.waiter.take().expect("a waiter");
        let id = waiter.id();
        run(&mut *waiter, "BEGIN");
        let polled = self.watcher.waiting(&[id]).expect("poll");
        assert!(
            polled.is_empty(),
            "{kind}: idle, and said to wait: {polled:?}"
        );
        let sql = wait.to_owned();
        let began = Instant::now();
        let thread = std::thread::spawn(move || {
            let outcome = waiter.execute(&sql).expect("an answer");
            (waiter, outcome)
        });
        let seen = loop {
            let polled = self.watcher.waiting(&[id]).expect("poll");
            if let Some(waited_for) = polled.get(&id) {
                assert!(
                    waited_for.iter().all(|other| *other == self.holder.id()),
                    "{kind}: {waited_for:?}"
                );
                break began.elapsed();
            }
            // A wait that is never seen ends by the server's own lock timeout.
            assert!(
                !thread.is_finished(),
                "{kind}: it did not wait, or was not seen"
            );
            std::thread::sleep(Duration::from_micros(300));
        };
        run(&mut *self.holder, "ROLLBACK");
        let (mut waiter, outcome) = thread.join().expect("the waiter");
        assert!(
            !matches!(outcome, Outcome::Rejected(_)),
            "{kind}: {outcome:?}"
        );
        let stale = self.watcher.waiting(&[id]).expect("poll");
        assert!(stale.is_empty(), "{kind}: seen after its end: {stale:?}");
        run(&mut *waiter, "ROLLBACK");
        if wait.starts_with("ALTER") {
            run(&mut *waiter, "ALTER TABLE t DROP COLUMN d");
        }
        self.waiter = Some(waiter);
        seen
    }
}

fn run(connection: &mut dyn Connection, sql: &str) {
    let outcome = connection
        .execute(sql)
        .unwrap_or_else(|e| panic!("{sql}: {e}"));
    assert!(
        !matches!(outcome, Outcome::Rejected(_)),
        "{sql}: {outcome:?}"
    );
}

fn every_wait_is_seen(test: &str, needs: Needs) {
    let Some(url) = url(test, needs) else { return };
    let server = engine::open(&url, &OpenOptions::default()).expect("open");
    let database = format!("rashomon_{test}");
    for (kind, hold, wait) in KINDS {
        let mut scene = Scene::new(&*server, &database);
        let mut latencies: Vec<Duration> =
            (0..WAITS).map(|_| scene.wait(kind, hold, wait)).collect();
        latencies.sort_unstable();
        let _ = writeln!(
            std::io::stderr(),
            "{test}: {kind}: seen {WAITS} of {WAITS}, median {:?}, worst {:?}",
            latencies[WAITS / 2],
            latencies[WAITS - 1]
        );
    }
    server.drop_database(&database).expect("drop");
}

#[test]
fn every_wait_is_seen_on_mariadb() {
    every_wait_is_seen("waits_mariadb", Needs::MariaDb);
}

#[test]
fn every_wait_is_seen_on_mysql() {
    every_wait_is_seen("waits_mysql", Needs::MySql);
}

#[test]
fn a_killed_connection_is_a_lost_one() {
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url("killed_connection", needs) else {
            continue;
        };
        let server = engine::open(&url, &OpenOptions::default()).expect("open");
        let mut scene = Scene::new(&*server, "rashomon_killed");
        let mut waiter = scene.waiter.take().expect("a waiter");
        let id = waiter.id();
        run(&mut *scene.holder, "BEGIN");
        run(&mut *scene.holder, "UPDATE t SET c = 5 WHERE pkey = 1");
        let thread = std::thread::spawn(move || {
            let answer = waiter.execute("UPDATE t SET c = 6 WHERE pkey = 1");
            let again = waiter.execute("SELECT 1");
            (answer, again)
        });
        while scene.watcher.waiting(&[id]).expect("poll").is_empty() {
            std::thread::sleep(Duration::from_micros(300));
        }
        scene.watcher.kill(id).expect("kill");
        let (answer, again) = thread.join().expect("the waiter");
        for answer in [answer, again] {
            assert!(
                matches!(answer, Err(engine::EngineError::ConnectionLost { .. })),
                "{answer:?}"
            );
        }
        scene.watcher.kill(id).expect("killing twice is nothing");
        drop(scene);
        server.drop_database("rashomon_killed").expect("drop");
    }
}
