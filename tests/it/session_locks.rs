//! LOCK TABLES of MariaDB and MySQL: a session holds those locks beyond its transactions, and until it lets them go.

use std::time::{Duration, Instant};

use rashomon::engine::Server;
use rashomon::execute::Driver;
use rashomon::model::IsolationLevel::RepeatableRead;
use rashomon::model::Verdict;
use rashomon::oracle::{ORACLES, hear};

use crate::lying::{SETUP, database, scripted};
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
