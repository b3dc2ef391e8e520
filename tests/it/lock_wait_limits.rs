//! MariaDB's `WAIT n` behind a lock clause: a read that locks, and waits for no longer than that.

use rashomon::model::IsolationLevel::{self, ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{ErrorClass, Execution, Outcome, Value, Verdict};

use crate::lying::{Lie, OneDriver, SETUP, hearing_of, honest, id, refuse, scripted};
use crate::oracles;
use crate::servers::Needs;

/// What all oracles say of a read with a limit, beside a transaction that has written a row of its table.
fn said(driver: &OneDriver<'_>, level: IsolationLevel, read: &str, lie: Lie) -> Verdict {
    let script = format!(
        "s1 BEGIN\ns1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1\ns2 BEGIN\ns2 {read}\ns1 COMMIT\ns2 COMMIT"
    );
    hearing_of(driver, &scripted(driver.server, level, SETUP, &script), lie).verdict()
}

/// The row as it was before.
fn reads_the_old_row(run: &mut Execution) {
    let record = run.records.get_mut(&id(2, 2)).expect("it ran");
    let row = [1, 1, 10].map(Value::Integer);
    record.outcome = Outcome::Rows(vec![row.to_vec()]);
}

fn times_out(run: &mut Execution) {
    refuse(run, 2, "1205", ErrorClass::LockTimeout);
}

#[test]
fn a_read_that_says_how_long_it_waits_is_judged_as_one_that_waits() {
    let test = "a_read_that_says_how_long_it_waits";
    let Some(server) = oracles::server(test, Needs::MariaDb) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        for clause in ["FOR UPDATE WAIT 9", "LOCK IN SHARE MODE WAIT 9"] {
            let read = format!("SELECT * FROM t0 WHERE pkey = 1 {clause}");
            let right = said(&driver, level, &read, honest);
            assert_eq!(right, Verdict::Agree, "{level}: {read}");
            let wrong = said(&driver, level, &read, reads_the_old_row);
            assert!(
                matches!(wrong, Verdict::Violation(_)),
                "{level}: {read}: {wrong}"
            );
        }
    }
}

#[test]
fn a_read_that_waits_for_no_time_is_judged_as_nowait() {
    let test = "a_read_that_waits_for_no_time";
    let Some(server) = oracles::server(test, Needs::MariaDb) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let locked = "SELECT * FROM t0 WHERE pkey = 1 FOR UPDATE WAIT 0";
        assert_eq!(said(&driver, level, locked, honest), Verdict::Agree);
        let wrong = said(&driver, level, locked, reads_the_old_row);
        assert!(matches!(wrong, Verdict::Violation(_)), "{level}: {wrong}");
    }
    // Nothing is locked: there is no cause for a refusal, whatever the limit.
    for (level, limit) in [(ReadCommitted, 0), (RepeatableRead, 0), (ReadCommitted, 9)] {
        let script = format!(
            "s1 BEGIN\ns1 SELECT c0 FROM t0 WHERE pkey = 2\ns2 BEGIN\n\
             s2 SELECT * FROM t0 WHERE pkey = 1 FOR UPDATE WAIT {limit}\ns1 COMMIT\ns2 COMMIT"
        );
        let case = scripted(&*server, level, SETUP, &script);
        let heard = |lie| hearing_of(&driver, &case, lie).verdict();
        assert_eq!(heard(honest), Verdict::Agree);
        let wrong = heard(times_out);
        assert!(matches!(wrong, Verdict::Violation(_)), "{level}: {wrong}");
    }
}
