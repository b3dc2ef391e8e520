//! Cases on PostgreSQL: what is documented is no violation, and what is not is heard: false claims, and
//! answers that are changed after the server gave them.

use std::collections::BTreeSet;

use rashomon::engine::{EngineError, Server};
use rashomon::execute::Driver;
use rashomon::generate::{GenerateOptions, LevelChoice, generate};
use rashomon::grammar::Grammar;
use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{
    ErrorClass, Execution, Outcome, ProbeTag, Row, SqlError, UndecidedReason, Value, Verdict,
};
use rashomon::oracle::{ORACLES, hear};

use crate::lying::{Lie, OneDriver, hearing, hearing_of, honest, id, scripted, verdict};
use crate::oracles;
use crate::program::run;
use crate::servers::{Needs, url};

pub(crate) fn server(test: &str) -> Option<Box<dyn Server>> {
    oracles::server(test, Needs::Postgres)
}

fn rejection(code: &str, class: ErrorClass) -> Outcome {
    Outcome::Rejected(SqlError {
        code: code.to_owned(),
        class,
        message: String::new(),
    })
}

/// T2.1 waits for row 1, which does not fit any more when it goes on.
const SECOND_LOOK: &str = "s1 BEGIN
s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s2 UPDATE t0 SET c0 = c0 + 100, vkey = 1001 WHERE c0 = 10
s1 COMMIT";

/// T2.1 took the row as its snapshot shows it, and so T1's update is lost.
fn took_the_old_row(execution: &mut Execution) {
    let row: Row = [1, 1001, 110].map(Value::Integer).to_vec();
    let record = execution.records.get_mut(&id(2, 1)).expect("it ran");
    record.outcome = Outcome::Affected(1);
    let probe = execution
        .probes
        .iter_mut()
        .find(|probe| probe.statement == id(2, 1));
    probe.expect("it returned rows").outcome = Outcome::Rows(vec![row.clone()]);
    let rows = execution.final_state.get_mut("t0").expect("the table");
    rows[0] = row;
}

#[test]
fn a_second_look_after_a_wait_is_documented_and_a_lost_update_is_not() {
    let Some(server) = server("a_second_look_after_a_wait") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = verdict(&driver, ReadCommitted, None, SECOND_LOOK, honest);
    let known = "known (documented:read-committed-looks-again)";
    assert_eq!(oracles::kind(&said), known);
    let said = verdict(&driver, ReadCommitted, None, SECOND_LOOK, took_the_old_row);
    assert!(matches!(said, Verdict::Violation(_)), "{said}");
}

/// T2.2 goes on with the row that T1 committed.
const WAITING_UPDATE: &str = "s1 BEGIN
s1 UPDATE t0 SET c0 = c0 + 1, vkey = 1000 WHERE pkey = 1
s2 BEGIN
s2 UPDATE t0 SET c0 = c0 + 100, vkey = 1001 WHERE pkey = 1
s1 COMMIT
s2 SELECT * FROM t0
s2 COMMIT";

fn does_not_serialize(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 2)).expect("it ran");
    record.outcome = rejection("40001", ErrorClass::Serialization);
}

#[test]
fn a_waiting_update_agrees_and_a_serialization_failure_at_read_committed_does_not() {
    let Some(server) = server("a_waiting_update_agrees") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = verdict(&driver, ReadCommitted, None, WAITING_UPDATE, honest);
    assert_eq!(oracles::kind(&said), "agree");
    let said = verdict(&driver, RepeatableRead, None, WAITING_UPDATE, honest);
    assert_eq!(oracles::kind(&said), "agree");
    let said = verdict(
        &driver,
        ReadCommitted,
        None,
        WAITING_UPDATE,
        does_not_serialize,
    );
    assert_eq!(oracles::kind(&said), "refusal-without-cause");
}

/// T2.1 waits for row 1, which its snapshot sorts first and which then has the greater value.
const SORTED: &str = "s1 BEGIN
s1 UPDATE t0 SET c0 = 30, vkey = 1000 WHERE pkey = 1
s2 SELECT c0 FROM t0 ORDER BY c0, pkey FOR UPDATE
s1 COMMIT";

/// T2.1 gives the rows in the order of what they hold now.
fn sorted_again(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 1)).expect("it ran");
    let Outcome::Rows(rows) = &mut record.outcome else {
        panic!("rows: {:?}", record.outcome);
    };
    assert_eq!(rows.concat(), [30, 20].map(Value::Integer));
    rows.sort();
}

/// T2.1 loses the row that did not change.
fn lost_a_row(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 1)).expect("it ran");
    record.outcome = Outcome::Rows(vec![vec![Value::Integer(30)]]);
}

#[test]
fn a_locking_read_that_waited_keeps_the_order_of_its_snapshot() {
    let Some(server) = server("a_locking_read_that_waited_keeps_the_order") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let known = "known (documented:read-committed-looks-again)";
    let said = verdict(&driver, ReadCommitted, None, SORTED, honest);
    assert_eq!(oracles::kind(&said), known);
    let limited = SORTED.replace("FOR UPDATE", "LIMIT 1 FOR UPDATE");
    let said = verdict(&driver, ReadCommitted, None, &limited, honest);
    assert_eq!(oracles::kind(&said), known);
    for lie in [sorted_again as Lie, lost_a_row] {
        let said = verdict(&driver, ReadCommitted, None, SORTED, lie);
        assert_eq!(oracles::kind(&said), "wrong-rows");
    }
}

/// Writes that return rows by themselves: what they changed, beside what they answer.
const RETURNING: &str = "s1 BEGIN
s1 UPDATE t0 SET c0 = c0 + 1, vkey = 1000 WHERE pkey = 1 RETURNING c0
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1001, 7) RETURNING *
s2 SELECT * FROM t0
s1 COMMIT
s2 DELETE FROM t0 WHERE c0 < 15 RETURNING pkey + 10
s2 SELECT * FROM t0";

/// T1.2 returns the value from before.
fn returns_the_old_value(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(1, 2)).expect("it ran");
    assert_eq!(record.outcome.rows(), [[Value::Integer(11)]]);
    record.outcome = Outcome::Rows(vec![vec![Value::Integer(10)]]);
}

/// The DELETE returns one row of two.
fn returns_too_few_rows(execution: &mut Execution) {
    let mut records = execution.records.values_mut();
    let deletes = |rows: &[Row]| rows.len() == 2 && rows.iter().all(|row| row.len() == 1);
    let record = records.find(|record| deletes(record.outcome.rows()));
    let record = record.expect("the DELETE ran");
    record.outcome = Outcome::Rows(vec![vec![Value::Integer(11)]]);
}

#[test]
fn what_writes_return_by_themselves_is_judged() {
    let Some(server) = server("what_writes_return") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let said = verdict(&driver, level, None, RETURNING, honest);
        assert_eq!(oracles::kind(&said), "agree", "{level}");
        for lie in [returns_the_old_value as Lie, returns_too_few_rows] {
            let said = verdict(&driver, level, None, RETURNING, lie);
            assert!(matches!(said, Verdict::Violation(_)), "{level}: {said}");
        }
    }
}

/// No other session writes what T2 wants.
const OTHER_ROWS: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 BEGIN
s2 UPDATE t0 SET c0 = 21, vkey = 1001 WHERE pkey = 2
s2 COMMIT
s1 COMMIT";

/// T1 has gone on, and nobody else is there to wait in a circle with.
fn is_a_victim_without_a_circle(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 2)).expect("it ran");
    record.outcome = rejection("40P01", ErrorClass::Deadlock);
}

/// T1 has ended, and with it the lock.
fn ran_out_of_time_behind_the_end(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 2)).expect("it ran");
    record.outcome = rejection("55P03", ErrorClass::LockTimeout);
}

/// The same in a run that needed a timer: which of the two came first is not known.
fn ran_out_of_time_in_a_run_by_timer(execution: &mut Execution) {
    ran_out_of_time_behind_the_end(execution);
    execution.unreliable = Some(UndecidedReason::BlockedByTimer);
}

#[test]
fn a_deadlock_needs_somebody_who_may_wait_and_a_timeout_somebody_who_holds() {
    let Some(server) = server("a_deadlock_needs_somebody_who_may_wait") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        for lie in [is_a_victim_without_a_circle, ran_out_of_time_behind_the_end] {
            let said = verdict(&driver, level, None, WAITING_UPDATE, lie);
            assert_eq!(oracles::kind(&said), "refusal-without-cause", "{level}");
        }
        let by_timer = ran_out_of_time_in_a_run_by_timer;
        let said = verdict(&driver, level, None, WAITING_UPDATE, by_timer);
        assert_ne!(oracles::kind(&said), "refusal-without-cause", "{level}");
    }
}

/// T2 waits for T1, which goes on in a table that nobody else has used.
const ANOTHER_TABLE: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000 WHERE pkey = 1
s2 UPDATE t0 SET vkey = 1001 WHERE pkey = 1
s1 UPDATE t1 SET vkey = 1002 WHERE pkey = 1
s1 ROLLBACK";

#[test]
fn who_asks_for_what_nobody_has_used_is_no_victim() {
    let Some(server) = server("who_asks_for_what_nobody_has_used") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let setup = "/* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT);\n\
        /* init */ CREATE TABLE t1 (pkey INT PRIMARY KEY, vkey INT);\n\
        /* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1);\n\
        /* init */ INSERT INTO t1 (pkey, vkey) VALUES (1, 2);\n";
    let is_a_victim: Lie = |execution| {
        let record = execution.records.get_mut(&id(1, 3)).expect("it ran");
        record.outcome = rejection("40P01", ErrorClass::Deadlock);
    };
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let case = scripted(&*server, level, setup, ANOTHER_TABLE);
        let said = hearing_of(&driver, &case, is_a_victim).verdict();
        assert_eq!(oracles::kind(&said), "refusal-without-cause", "{level}");
        // A foreign key between the two would have it ask for a row of the other table.
        let key =
            "/* init */ CREATE TABLE t1 (pkey INT PRIMARY KEY REFERENCES t0 (pkey), vkey INT);";
        let joined = setup.replace(
            "/* init */ CREATE TABLE t1 (pkey INT PRIMARY KEY, vkey INT);",
            key,
        );
        assert_ne!(joined, setup);
        let case = scripted(&*server, level, &joined, ANOTHER_TABLE);
        let said = hearing_of(&driver, &case, is_a_victim).verdict();
        assert_ne!(oracles::kind(&said), "refusal-without-cause", "{level}");
    }
}

/// T2 closes a circle and is its victim; T1 goes on then.
const CIRCLE: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000 WHERE pkey = 1
s2 BEGIN
s2 UPDATE t0 SET vkey = 1001 WHERE pkey = 2
s1 UPDATE t0 SET vkey = 1002 WHERE pkey = 2
s2 UPDATE t0 SET vkey = 1003 WHERE pkey = 1
s1 ROLLBACK
s2 ROLLBACK";

/// Whoever of the two went on.
fn both_are_victims(execution: &mut Execution) {
    for statement in [id(1, 3), id(2, 3)] {
        let record = execution.records.get_mut(&statement).expect("it ran");
        record.outcome = rejection("40P01", ErrorClass::Deadlock);
    }
}

#[test]
fn a_circle_has_one_victim() {
    let Some(server) = server("a_circle_has_one_victim") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let said = verdict(&driver, level, None, CIRCLE, honest);
        assert!(!matches!(said, Verdict::Violation(_)), "{level}: {said}");
        let said = verdict(&driver, level, None, CIRCLE, both_are_victims);
        assert_eq!(oracles::kind(&said), "refusal-without-cause", "{level}");
    }
}

/// T2 waits for row 2, and its snapshot does not show row 3.
const NEW_ROW: &str = "s1 BEGIN
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 20)
s1 UPDATE t0 SET vkey = 1002 WHERE pkey = 2
s2 BEGIN
s2 UPDATE t0 SET vkey = 1001 WHERE c0 = 20
s1 COMMIT
s2 COMMIT";

fn changes_the_new_row_too(execution: &mut Execution) {
    let row = [3, 1001, 20].map(Value::Integer).to_vec();
    let returned = execution.probes.iter_mut().find(|probe| {
        probe.statement == id(2, 2) && matches!(probe.tag, ProbeTag::Returned { .. })
    });
    let Some(Outcome::Rows(rows)) = returned.map(|probe| &mut probe.outcome) else {
        panic!("it returned rows");
    };
    rows.push(row.clone());
    let record = execution.records.get_mut(&id(2, 2)).expect("it ran");
    record.outcome = Outcome::Affected(2);
    let rows = execution.final_state.get_mut("t0").expect("it was read");
    rows.retain(|other| other[0] != row[0]);
    rows.push(row);
}

#[test]
fn a_write_that_waited_leaves_rows_alone_that_its_snapshot_does_not_show() {
    let Some(server) = server("a_write_that_waited_leaves_rows_alone") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = verdict(&driver, ReadCommitted, None, NEW_ROW, honest);
    assert!(!matches!(said, Verdict::Violation(_)), "{said}");
    let lie = changes_the_new_row_too;
    let said = verdict(&driver, ReadCommitted, None, NEW_ROW, lie);
    assert!(matches!(said, Verdict::Violation(_)), "{said}");
}

fn refused_beside_a_reader(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 2)).expect("it ran");
    record.outcome = rejection("40001", ErrorClass::Serialization);
}

#[test]
fn a_serialization_failure_at_repeatable_read_needs_a_newer_row() {
    let Some(server) = server("a_serialization_failure_needs_a_newer_row") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = verdict(&driver, RepeatableRead, None, OTHER_ROWS, honest);
    assert_eq!(oracles::kind(&said), "agree");
    let said = verdict(
        &driver,
        RepeatableRead,
        None,
        OTHER_ROWS,
        refused_beside_a_reader,
    );
    assert_eq!(oracles::kind(&said), "refusal-without-cause");
}

/// A failed transaction: T1.4 is refused, and T1.5 goes back before the error.
const FAILED: &str = "s1 BEGIN
s1 SAVEPOINT a
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 1000, 1)
s1 SELECT * FROM t0
s1 ROLLBACK TO SAVEPOINT a
s1 UPDATE t0 SET c0 = 12, vkey = 1001 WHERE pkey = 1
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 1002, 1)
s1 COMMIT
s2 SELECT * FROM t0";

fn answers_in_a_failed_transaction(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(1, 4)).expect("it ran");
    record.outcome = Outcome::Rows(Vec::new());
}

fn refuses_without_an_error(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(1, 3)).expect("it ran");
    record.outcome = rejection("25P02", ErrorClass::FailedTransaction);
}

#[test]
fn a_failed_transaction_refuses_until_it_goes_back_and_commits_nothing() {
    let Some(server) = server("a_failed_transaction_refuses") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = hearing(&driver, ReadCommitted, None, FAILED, honest);
    assert_eq!(oracles::kind(&said.verdict()), "agree");
    assert_eq!(said.rightly_refused, BTreeSet::from([id(1, 4)]));
    let lies: [(Lie, &str); 2] = [
        (answers_in_a_failed_transaction, "wrong-transaction-end"),
        (refuses_without_an_error, "refusal-without-cause"),
    ];
    for (lie, kind) in lies {
        let said = hearing(&driver, ReadCommitted, None, FAILED, lie);
        assert_eq!(oracles::kind(&said.verdict()), kind);
        assert_eq!(said.rightly_refused, BTreeSet::new());
    }
}

/// T1's snapshot is taken by a statement that fails, and stays.
const SNAPSHOT_OF_A_FAILURE: &str = "s1 BEGIN
s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s2 BEGIN
s2 SAVEPOINT a
s2 UPDATE t0 SET c0 = 12, vkey = 1001 WHERE pkey = 1
s1 COMMIT
s2 ROLLBACK TO SAVEPOINT a
s2 SELECT * FROM t0
s2 COMMIT";

#[test]
fn a_snapshot_outlives_the_refusal_of_the_statement_that_took_it() {
    let Some(server) = server("a_snapshot_outlives_a_refusal") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for level in [RepeatableRead, Serializable] {
        let said = verdict(&driver, level, None, SNAPSHOT_OF_A_FAILURE, honest);
        assert_eq!(oracles::kind(&said), "agree", "{level}");
    }
}

/// An old snapshot shows a deleted row beside the one that its reader put under the same key.
const KEY_TAKEN_OVER: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 DELETE FROM t0 WHERE pkey = 2
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 1000, 7)
s1 SELECT * FROM t0
s1 COMMIT";

#[test]
fn a_key_that_an_old_snapshot_still_shows_can_be_taken_over() {
    let Some(server) = server("a_key_can_be_taken_over") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = verdict(&driver, RepeatableRead, None, KEY_TAKEN_OVER, honest);
    assert_eq!(oracles::kind(&said), "agree");
}

const NON_REPEATABLE_READ: &str = "s1 BEGIN
s1 SELECT * FROM t0
s2 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s1 SELECT * FROM t0
s1 COMMIT";

const WRITE_SKEW: &str = "s1 BEGIN
s2 BEGIN
s1 SELECT * FROM t0
s2 SELECT * FROM t0
s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s2 UPDATE t0 SET c0 = 12, vkey = 1001 WHERE pkey = 2
s1 COMMIT
s2 COMMIT";

#[test]
fn a_level_that_is_weaker_than_its_claim_is_heard() {
    let Some(server) = server("a_weaker_level_is_heard") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for (script, run, claim) in [
        (NON_REPEATABLE_READ, ReadCommitted, RepeatableRead),
        (WRITE_SKEW, RepeatableRead, Serializable),
    ] {
        let said = verdict(&driver, run, None, script, honest);
        assert_eq!(oracles::kind(&said), "agree", "{run}");
        let said = verdict(&driver, run, Some(claim), script, honest);
        assert!(matches!(said, Verdict::Violation(_)), "{run}: {said}");
        // The level that is claimed keeps the promise.
        let said = verdict(&driver, claim, None, script, honest);
        assert_eq!(oracles::kind(&said), "agree", "{claim}");
    }
}

/// Within so many cases a false claim must show.
const CASES: u64 = 200;

#[test]
fn false_claims_are_heard_in_generated_cases() {
    let Some(server) = server("false_claims_are_heard") else {
        return;
    };
    let grammar = Grammar::builtin(&server.dialect().engine).expect("built-in grammars are whole");
    let name = format!("rashomon_it_pg_claims_{}", std::process::id());
    let mut driver = Driver::open(&*server, &name).expect("a database of our own");
    for (run, claim) in [
        (ReadCommitted, RepeatableRead),
        (RepeatableRead, Serializable),
    ] {
        let shape = GenerateOptions {
            levels: LevelChoice::One(run),
            claim: Some(claim),
            ..GenerateOptions::default()
        };
        let found = (0..CASES).find(|index| {
            let case = generate(5, *index, &shape, &grammar, server.dialect()).case;
            match hear(&case, &mut driver, ORACLES) {
                Ok(hearing) => matches!(hearing.verdict(), Verdict::Violation(_)),
                Err(EngineError::Setup { .. }) => false,
                Err(error) => panic!("{error}"),
            }
        });
        assert!(found.is_some(), "{run} claimed {claim}: not heard");
    }
    driver.close().expect("the database goes");
}

#[test]
fn fuzz_is_ready_for_postgres_and_the_dialect_holds() {
    let Some(url) = url("fuzz_is_ready_for_postgres", Needs::Postgres) else {
        return;
    };
    let ran = run(&["doctor", &url]);
    assert!(ran.out.contains("ready to fuzz"), "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("not ready"), "{}", ran.out);
    let ran = run(&["calibrate", &url, "--allow-shared-server"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("re-evaluates-after-wait"), "{}", ran.out);
}

/// T2 waits for T1 and locks the row that T1 changed.
const LOCKED_AFTER_A_WAIT: &str = "s1 BEGIN
s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s2 BEGIN
s2 SELECT * FROM t0 WHERE pkey = 1 FOR UPDATE
s1 COMMIT
s2 COMMIT";

fn locks_the_old_row(execution: &mut Execution) {
    let record = execution.records.get_mut(&id(2, 2)).expect("it ran");
    record.outcome = Outcome::Rows(vec![vec![
        Value::Integer(1),
        Value::Integer(1),
        Value::Integer(10),
    ]]);
}

#[test]
fn a_locking_read_of_old_rows_after_a_wait_is_heard() {
    let Some(server) = server("a_locking_read_of_old_rows") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = verdict(&driver, ReadCommitted, None, LOCKED_AFTER_A_WAIT, honest);
    assert_eq!(
        said,
        Verdict::Known("documented:read-committed-looks-again".to_owned())
    );
    let said = verdict(
        &driver,
        ReadCommitted,
        None,
        LOCKED_AFTER_A_WAIT,
        locks_the_old_row,
    );
    assert_eq!(oracles::kind(&said), "wrong-rows");
}
