//! Rows that an upsert of PostgreSQL meets and leaves as they are, and a stand-in that does not lock them.

use std::sync::Arc;

use rashomon::dialect::Dialect;
use rashomon::engine::{EngineError, Server};
use rashomon::execute::{Driver, Executor, Instrumentation, SerialRun};
use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{Execution, IsolationLevel, TestCase, Verdict};
use rashomon::oracle::{ORACLES, hear};

use crate::lying::{SETUP, database, scripted};
use crate::oracles;
use crate::postgres_cases::server;

/// A driver that has an upsert pass over the rows which it meets, as an engine would that asks WHERE before it locks.
struct PassingDriver<'s> {
    driver: Driver<'s>,
}

/// The statement with DO NOTHING in place of a DO UPDATE that has a WHERE.
fn passing(sql: &str) -> String {
    match sql.split_once(" DO UPDATE ") {
        Some((head, action)) if action.contains(" WHERE ") => {
            let returning = action.find(" RETURNING ").map_or("", |at| &action[at..]);
            format!("{head} DO NOTHING{returning}")
        }
        _ => sql.to_owned(),
    }
}

impl Executor for PassingDriver<'_> {
    fn execute(
        &mut self,
        case: &TestCase,
        instrumentation: &Instrumentation,
    ) -> Result<Execution, EngineError> {
        let (mut sent, mut added) = (case.clone(), instrumentation.clone());
        for statement in &mut sent.statements {
            statement.sql = passing(&statement.sql);
        }
        for write in added.returning.values_mut() {
            write.probe.sql = passing(&write.probe.sql);
        }
        self.driver.execute(&sent, &added)
    }

    fn serial(&mut self, case: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        self.driver.serial(case)
    }

    fn dialect(&self) -> &Arc<Dialect> {
        self.driver.dialect()
    }
}

/// What all oracles say of a script, of the server and of the stand-in.
fn both(server: &dyn Server, level: IsolationLevel, script: &str) -> [Verdict; 2] {
    let case = scripted(server, level, SETUP, script);
    let name = database();
    let mut driver = Driver::open(server, &name).expect("a database of our own");
    let honest = hear(&case, &mut driver, ORACLES).expect("an answer");
    let mut driver = PassingDriver { driver };
    let lied = hear(&case, &mut driver, ORACLES).expect("an answer");
    driver.driver.close().expect("the database goes");
    [honest.verdict(), lied.verdict()]
}

/// T1 meets row 1 and leaves it as it is.
const LEFT: &str = "s1 BEGIN
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1000, 5) ON CONFLICT (pkey) DO UPDATE SET vkey = 1000 WHERE t0.c0 > 15
s2 UPDATE t0 SET vkey = 1001 WHERE pkey = 1
s1 COMMIT";

#[test]
fn a_row_that_an_upsert_leaves_out_is_locked() {
    let Some(server) = server("a_row_that_an_upsert_leaves_out") else {
        return;
    };
    let deleted = LEFT.replace("UPDATE t0 SET vkey = 1001 WHERE", "DELETE FROM t0 WHERE");
    let beside = LEFT.replace("(1, 1000, 5)", "(1, 1000, 5), (3, 1002, 7)");
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        for script in [LEFT, &deleted, &beside] {
            let [honest, lied] = both(&*server, level, script);
            assert_eq!(oracles::kind(&honest), "agree", "{level}: {script}");
            assert_eq!(oracles::kind(&lied), "unkept-row", "{level}: {script}");
        }
    }
    // It does not meet the row, or passes over it, or has gone back before it; and what has ended holds nothing.
    let other = LEFT.replace("WHERE pkey = 1", "WHERE pkey = 2");
    let nothing = LEFT.replace("DO UPDATE SET vkey = 1000 WHERE t0.c0 > 15", "DO NOTHING");
    let undone = LEFT
        .replace("s1 INSERT", "s1 SAVEPOINT a\ns1 INSERT")
        .replace("s2 UPDATE", "s1 ROLLBACK TO SAVEPOINT a\ns2 UPDATE");
    let alone = LEFT.replace("s1 BEGIN\n", "").replace("\ns1 COMMIT", "");
    for script in [&other, &nothing, &undone, &alone] {
        for said in both(&*server, ReadCommitted, script) {
            assert_eq!(oracles::kind(&said), "agree", "{script}");
        }
    }
}
