//! Deadlocks that the server tells of: whether a circle of waits can have closed.

use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{ErrorClass, Execution, TransactionStatus};

use crate::lying::{SETUP, hearing_of, honest, id, rejected, scripted};
use crate::oracles;
use crate::servers::Needs;

/// The third transaction waits for the first one at `t1`, and the second one meets `t0`.
const NO_CIRCLE: &str = "s1 BEGIN
s1 UPDATE t0 SET vkey = 1000 WHERE pkey = 2
s1 UPDATE t1 SET vkey = 1001 WHERE pkey = 1
s2 BEGIN
s3 BEGIN
s3 UPDATE t1 SET vkey = 1002 WHERE pkey = 1
s2 SELECT c0 FROM t0 WHERE pkey = 1 FOR UPDATE
s1 ROLLBACK
s3 ROLLBACK";

/// The second transaction is the victim of a deadlock.
fn victim(run: &mut Execution) {
    let last = run.records.keys().filter(|id| id.transaction.0 == 2).max();
    let last = *last.expect("it ran");
    let record = run.records.get_mut(&last).expect("it ran");
    record.outcome = rejected("1213", ErrorClass::Deadlock);
    record.transaction_survives = false;
    let ended = TransactionStatus::Aborted(record.answered);
    run.transactions.insert(id(2, 1).transaction, ended);
}

#[test]
fn a_deadlock_beside_a_wait_that_is_part_of_no_circle_has_no_cause() {
    let test = "a_deadlock_beside_a_wait";
    let setup = format!("{SETUP}{}", SETUP.replace("t0", "t1"));
    // It may hold what the third transaction waits for, which waits for the first one, too.
    let circle = NO_CIRCLE.replace(
        "s3 BEGIN",
        "s2 SELECT c0 FROM t1 WHERE pkey = 2 FOR UPDATE\ns3 BEGIN",
    );
    // The third transaction has used `t0`.
    let circle = circle.replace(
        "s3 UPDATE",
        "s3 SELECT c0 FROM t0 WHERE pkey = 2\ns3 UPDATE",
    );
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(server) = oracles::server(test, needs) else {
            continue;
        };
        for level in [ReadCommitted, RepeatableRead, Serializable] {
            let said = |script: &str, lie| {
                let case = scripted(&*server, level, &setup, script);
                oracles::kind(&hearing_of(&*server, &case, lie).verdict())
            };
            assert_eq!(said(NO_CIRCLE, honest), "agree", "{level}");
            assert_eq!(said(NO_CIRCLE, victim), "refusal-without-cause", "{level}");
            assert_ne!(said(&circle, victim), "refusal-without-cause", "{level}");
        }
    }
}
