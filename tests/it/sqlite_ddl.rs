//! DDL beside transactions on SQLite: a snapshot keeps what it sees, and what was committed since is in the way of writing.

use rashomon::engine::{self, OpenOptions};
use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::generate::{GenerateOptions, generate};
use rashomon::grammar::Grammar;
use rashomon::model::IsolationLevel::Serializable;
use rashomon::model::{ErrorClass, Execution, Outcome, Pace, StatementKind};

use crate::lying::{Lie, OneDriver, honest, id, verdict};
use crate::oracles::kind;

fn said(url: &str, script: &str, lie: Lie) -> String {
    let server = engine::open(url, &OpenOptions::default()).expect("SQLite is built in");
    let driver = OneDriver::of(&*server);
    kind(&verdict(&driver, Serializable, None, script, lie))
}

/// A table is stored anew while a snapshot still sees a deleted row of it.
const BESIDE_A_SNAPSHOT: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 DELETE FROM t0 WHERE pkey = 2
s2 CREATE INDEX x1 ON t0 (c0)
s2 REINDEX t0
s1 SELECT * FROM t0 WHERE c0 = 20
s1 COMMIT";

fn was_done(execution: &mut Execution) {
    for ddl in [id(3, 1), id(4, 1)] {
        let outcome = &execution.records[&ddl].outcome;
        assert_eq!(outcome.error_class(), None, "{ddl}: {outcome}");
    }
}

/// As if the row were gone for the snapshot, too.
fn forgot_the_row(execution: &mut Execution) {
    was_done(execution);
    let record = execution.records.get_mut(&id(1, 3)).expect("it ran");
    record.outcome = Outcome::Rows(Vec::new());
}

#[test]
fn a_snapshot_keeps_its_rows_beside_ddl_and_else_is_heard() {
    assert_eq!(said("sqlite:", BESIDE_A_SNAPSHOT, was_done), "agree");
    let lies = said("sqlite:", BESIDE_A_SNAPSHOT, forgot_the_row);
    assert_eq!(lies, "wrong-rows");
    // There a reader keeps DDL out.
    let refused = said("sqlite:?journal=delete", BESIDE_A_SNAPSHOT, honest);
    assert_eq!(refused, "agree");
}

fn came_too_late(execution: &mut Execution) {
    let class = execution.records[&id(1, 3)].outcome.error_class();
    assert_eq!(class, Some(ErrorClass::Serialization));
}

#[test]
fn a_write_is_refused_for_ddl_that_came_since_its_snapshot() {
    let script = "s1 BEGIN
s1 SELECT * FROM t0
s2 REINDEX t0
s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s1 COMMIT";
    assert_eq!(said("sqlite:", script, came_too_late), "agree");
}

/// It is drawn where nobody has written, so that it is seldom in vain.
#[test]
fn ddl_that_is_drawn_is_seldom_refused() {
    let server = engine::open("sqlite:", &OpenOptions::default()).expect("SQLite is built in");
    let grammar = Grammar::builtin("sqlite").expect("built-in grammars are whole");
    let options = GenerateOptions {
        physical_ddl_percent: 100,
        ..GenerateOptions::default()
    };
    let name = format!("rashomon_it_sqlite_ddl_{}", std::process::id());
    let mut driver = Driver::open(&*server, &name).expect("a database of our own");
    let (mut sent, mut refused) = (0, Vec::new());
    for index in 0..150 {
        let case = generate(7, index, &options, &grammar, server.dialect()).case;
        // At the free pace a writer may come before it.
        if case.pace != Pace::Scheduled {
            continue;
        }
        let run = driver.execute(&case, &Instrumentation::default());
        let execution = run.expect("SQLite answers");
        let ddl = case.statements.iter();
        for statement in ddl.filter(|s| s.effect.kind == StatementKind::PhysicalDdl) {
            sent += 1;
            let outcome = &execution.records[&statement.id].outcome;
            if outcome.error_class().is_some() {
                refused.push(format!("{index}: {}: {outcome}", statement.sql));
            }
        }
    }
    driver.close().expect("the database goes");
    assert!(sent > 50, "{sent}");
    assert!(refused.len() * 10 <= sent, "{sent}, refused {refused:#?}");
}
