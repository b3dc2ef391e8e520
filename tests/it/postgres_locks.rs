//! Locks on PostgreSQL: which strengths meet, and a stand-in that forgets the lock clause of a statement.

use std::cell::RefMut;
use std::sync::Arc;

use rashomon::dialect::Dialect;
use rashomon::engine::EngineError;
use rashomon::execute::{Driver, Executor, Instrumentation, SerialRun};
use rashomon::generate::{GenerateOptions, LevelChoice, generate};
use rashomon::grammar::Grammar;
use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{Execution, IsolationLevel, TestCase, Verdict};
use rashomon::oracle::{ORACLES, Oracle, hear};

use crate::lying::{OneDriver, scripted};
use crate::oracles;
use crate::postgres_cases::server;

/// Whether the stand-in forgets the lock clause of this text.
pub(crate) type Forgets = fn(&str) -> bool;

/// A driver that sends some statements without their last lock clause, and LOCK TABLE with the weakest mode, as an engine would run
/// them that forgets it.
struct ForgetfulDriver<'d, 's> {
    driver: RefMut<'d, Driver<'s>>,
    forgets: Forgets,
}

impl Executor for ForgetfulDriver<'_, '_> {
    fn execute(
        &mut self,
        case: &TestCase,
        instrumentation: &Instrumentation,
    ) -> Result<Execution, EngineError> {
        let mut sent = case.clone();
        for statement in &mut sent.statements {
            let clause = statement.sql.rfind(" FOR ");
            let locks = statement.effect.lock.is_some() && (self.forgets)(&statement.sql);
            if let Some(at) = clause.filter(|_| locks) {
                statement.sql.truncate(at);
            }
            // The weakest lock that the statement can ask for.
            let mode = statement.sql.find(" IN ");
            let locks = statement.effect.table_lock.is_some() && (self.forgets)(&statement.sql);
            if let Some(at) = mode.filter(|_| locks) {
                statement.sql.truncate(at);
                statement.sql.push_str(" IN ACCESS SHARE MODE");
            }
        }
        self.driver.execute(&sent, instrumentation)
    }

    fn serial(&mut self, case: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        self.driver.serial(case)
    }

    fn dialect(&self) -> &Arc<Dialect> {
        self.driver.dialect()
    }
}

pub(crate) fn nothing(_: &str) -> bool {
    false
}

pub(crate) fn every_clause(_: &str) -> bool {
    true
}

/// One text in seven, always the same ones.
fn one_in_seven(sql: &str) -> bool {
    let sum = sql.bytes().fold(0_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    sum.is_multiple_of(7)
}

/// `t0` has a key that an UPDATE can move beside the one that names its rows, and one that no foreign key can reference.
const SETUP: &str = "\
    /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT UNIQUE, c1 INT);\n\
    /* init */ ALTER TABLE t0 ADD CONSTRAINT x0 EXCLUDE USING hash (c1 WITH =);\n\
    /* init */ CREATE TABLE t1 (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);\n\
    /* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 3, 10), (2, 4, 20);\n";

/// What all oracles together say of a script at a level.
pub(crate) fn verdict(
    driver: &OneDriver<'_>,
    level: IsolationLevel,
    script: &str,
    forgets: Forgets,
) -> Verdict {
    let case = scripted(driver.server, level, SETUP, script);
    let driver = driver.borrow();
    let hearing = hear(&case, &mut ForgetfulDriver { driver, forgets }, ORACLES);
    hearing.expect("an answer").verdict()
}

const CHANGE: &str = "UPDATE t0 SET vkey = 1000 WHERE pkey = 1";
const KEY_CHANGE: &str = "UPDATE t0 SET vkey = 1000, c0 = 11 WHERE pkey = 1";
const EXCLUDED_CHANGE: &str = "UPDATE t0 SET vkey = 1000, c1 = 11 WHERE pkey = 1";
const DELETION: &str = "DELETE FROM t0 WHERE pkey = 1";

/// Each lock clause and each change of a row that it finds: whether they exclude each other. PostgreSQL
/// manual, "Row-Level Locks".
const MEETINGS: [(&str, &str, bool); 14] = [
    ("FOR UPDATE", CHANGE, true),
    ("FOR UPDATE", KEY_CHANGE, true),
    ("FOR UPDATE", DELETION, true),
    ("FOR NO KEY UPDATE", CHANGE, true),
    ("FOR NO KEY UPDATE", KEY_CHANGE, true),
    ("FOR NO KEY UPDATE", DELETION, true),
    ("FOR SHARE", CHANGE, true),
    ("FOR SHARE", EXCLUDED_CHANGE, true),
    ("FOR SHARE", KEY_CHANGE, true),
    ("FOR SHARE", DELETION, true),
    ("FOR KEY SHARE", CHANGE, false),
    ("FOR KEY SHARE", EXCLUDED_CHANGE, false),
    ("FOR KEY SHARE", KEY_CHANGE, true),
    ("FOR KEY SHARE", DELETION, true),
];

/// The lock that a read should have taken is missed, whichever of the two comes first; and where they do
/// not exclude each other nothing is.
#[test]
fn a_forgotten_lock_clause_is_heard_where_strengths_exclude_each_other() {
    let Some(server) = server("a_forgotten_lock_clause_is_heard") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for (clause, change, exclude) in MEETINGS {
        let read = format!("SELECT pkey, vkey, c0 FROM t0 WHERE c0 < 15 {clause}");
        let read_first =
            format!("s1 BEGIN\ns1 {read}\ns2 BEGIN\ns2 {change}\ns1 COMMIT\ns2 COMMIT");
        let write_first =
            format!("s2 BEGIN\ns2 {change}\ns1 BEGIN\ns1 {read}\ns2 COMMIT\ns1 COMMIT");
        for (script, kind) in [(read_first, "unkept-row"), (write_first, "unlocked-read")] {
            for level in [ReadCommitted, RepeatableRead] {
                let told = format!("{clause}, {change}, {level}");
                let said = verdict(&driver, level, &script, nothing);
                assert!(!matches!(said, Verdict::Violation(_)), "{told}: {said}");
                let said = verdict(&driver, level, &script, every_clause);
                match exclude {
                    true => assert_eq!(oracles::kind(&said), kind, "{told}: {said}"),
                    false => assert_eq!(oracles::kind(&said), "agree", "{told}: {said}"),
                }
            }
        }
    }
}

/// Only the table that the clause names is locked.
const OF_ONE_TABLE: &str = "s1 BEGIN
s1 SELECT a.vkey, b.vkey FROM t0 AS a JOIN t1 AS b ON a.pkey = b.pkey FOR UPDATE OF a
s2 UPDATE t1 SET vkey = 1000 WHERE pkey = 1
s3 UPDATE t0 SET vkey = 1001 WHERE pkey = 1
s1 COMMIT";

#[test]
fn a_clause_with_of_locks_the_tables_that_it_names() {
    let Some(server) = server("a_clause_with_of") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = verdict(&driver, ReadCommitted, OF_ONE_TABLE, nothing);
    assert!(!matches!(said, Verdict::Violation(_)), "{said}");
    let Verdict::Violation(finding) = verdict(&driver, ReadCommitted, OF_ONE_TABLE, every_clause)
    else {
        panic!("not heard");
    };
    let told = finding.explanation.join("\n");
    assert!(finding.explanation.is_empty(), "{told}");
    assert!(finding.headline.starts_with("T3.1"), "{}", finding.headline);
}

/// A failed transaction keeps no lock, although it is open still.
const FAILED: &str = "s1 BEGIN
s1 SELECT * FROM t0 WHERE pkey = 1 FOR UPDATE
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 1001, 7)
s2 UPDATE t0 SET vkey = 1000 WHERE pkey = 1
s1 ROLLBACK";

/// T2 wants to keep a row whose key T1 has moved, and waits.
const MOVED_KEY: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000, c0 = 11 WHERE pkey = 1
s2 SELECT * FROM t0 FOR KEY SHARE
s1 ROLLBACK";

/// No foreign key can reference what T1 has changed, and T2 does not wait.
const EXCLUDED: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000, c1 = 11 WHERE pkey = 1
s2 SELECT * FROM t0 FOR KEY SHARE
s1 ROLLBACK";

/// T2 wants a row that nobody has locked.
const FREE: &str = "s1 BEGIN
s1 SELECT * FROM t0 WHERE pkey = 1 FOR UPDATE
s2 SELECT * FROM t0 WHERE pkey = 2 FOR SHARE NOWAIT
s2 SELECT pkey, c0 FROM t0 FOR NO KEY UPDATE SKIP LOCKED
s1 COMMIT";

#[test]
fn a_failed_transaction_keys_and_free_rows_are_no_finding() {
    let Some(server) = server("a_failed_transaction_and_free_rows") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        for script in [FAILED, MOVED_KEY, EXCLUDED, FREE] {
            let said = verdict(&driver, level, script, nothing);
            assert_eq!(oracles::kind(&said), "agree", "{level}: {script}");
        }
    }
}

/// NOWAIT and SKIP LOCKED that are forgotten with their clause read a row that another transaction holds.
#[test]
fn a_read_past_a_held_row_is_heard_under_nowait_and_skip_locked() {
    let Some(server) = server("a_read_past_a_held_row") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for (clause, kind) in [
        ("FOR SHARE NOWAIT", "unlocked-read"),
        ("FOR UPDATE SKIP LOCKED", "wrong-skip"),
    ] {
        let script = format!(
            "s1 BEGIN\ns1 {CHANGE}\ns2 BEGIN\ns2 SELECT pkey, vkey FROM t0 {clause}\n\
             s2 COMMIT\ns1 COMMIT"
        );
        for level in [ReadCommitted, RepeatableRead, Serializable] {
            let said = verdict(&driver, level, &script, nothing);
            assert_eq!(oracles::kind(&said), "agree", "{clause} at {level}");
            let said = verdict(&driver, level, &script, every_clause);
            assert_eq!(oracles::kind(&said), kind, "{clause} at {level}: {said}");
        }
    }
}

/// Within so many cases a clause that is forgotten in one text of seven must show.
const CASES: u64 = 400;

#[test]
fn a_clause_forgotten_in_one_text_of_seven_is_heard_in_generated_cases() {
    let Some(server) = server("a_clause_forgotten_in_one_text_of_seven") else {
        return;
    };
    let grammar = Grammar::builtin(&server.dialect().engine).expect("built-in grammars are whole");
    let driver = OneDriver::of(&*server);
    let mut forgetful = ForgetfulDriver {
        driver: driver.borrow(),
        forgets: one_in_seven,
    };
    let locks = ORACLES.iter().filter(|oracle| oracle.name() == "locks");
    let locks: Vec<&dyn Oracle> = locks.copied().collect();
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let shape = GenerateOptions {
            levels: LevelChoice::One(level),
            ..GenerateOptions::default()
        };
        let found = (0..CASES).find(|index| {
            let case = generate(5, *index, &shape, &grammar, server.dialect()).case;
            match hear(&case, &mut forgetful, &locks) {
                Ok(hearing) => matches!(hearing.verdict(), Verdict::Violation(_)),
                Err(EngineError::Setup { .. }) => false,
                Err(error) => panic!("{error}"),
            }
        });
        assert!(found.is_some(), "{level}: not heard");
    }
}
