//! `COMMIT AND CHAIN`: the end of a transaction that begins the next one.

use rashomon::dialect::Capability;
use rashomon::model::IsolationLevel::{self, ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{Execution, Outcome, StatementId, Value, Verdict};

use crate::heard::open_planted;
use crate::lying::{Lie, OneDriver, SETUP, hearing_of, honest, id, scripted};
use crate::oracles;
use crate::plant::Fault;
use crate::servers::{Needs, url};

/// T1 ends and T2 begins; T3 is beside both.
const ROLLED_BACK: &str = "s1 BEGIN
s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s1 COMMIT AND CHAIN
s1 UPDATE t0 SET c0 = 12, vkey = 1001 WHERE pkey = 1
s2 SELECT * FROM t0 WHERE pkey = 2
s1 ROLLBACK
s2 SELECT * FROM t0";

/// T2 takes its snapshot behind the first change and before the second.
const SNAPSHOTS: &str = "s1 BEGIN
s1 SELECT * FROM t0
s1 COMMIT AND CHAIN
s2 UPDATE t0 SET c0 = 21, vkey = 1000 WHERE pkey = 2
s1 SELECT * FROM t0
s2 UPDATE t0 SET c0 = 22, vkey = 1001 WHERE pkey = 2
s1 SELECT * FROM t0
s1 COMMIT";

/// The first lock is free behind the chain, the second is held until T3, the last of the chain, begins.
const LOCKS: &str = "s1 BEGIN
s1 SELECT * FROM t0 WHERE pkey = 1 FOR UPDATE
s1 COMMIT AND CHAIN
s2 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s1 UPDATE t0 SET c0 = 21, vkey = 1001 WHERE pkey = 2
s2 UPDATE t0 SET c0 = c0 + 1, vkey = 1002 WHERE pkey = 2
s1 ROLLBACK AND CHAIN
s1 SELECT * FROM t0 WHERE pkey = 1
s1 COMMIT";

/// Nothing of a chain is left behind a deadlock.
const VICTIM: &str = "s1 BEGIN
s2 BEGIN
s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s2 UPDATE t0 SET c0 = 21, vkey = 1001 WHERE pkey = 2
s1 UPDATE t0 SET c0 = 22, vkey = 1002 WHERE pkey = 2
s2 UPDATE t0 SET c0 = 12, vkey = 1003 WHERE pkey = 1
s1 COMMIT AND CHAIN
s2 COMMIT AND CHAIN
s1 UPDATE t0 SET c0 = c0 + 1, vkey = vkey + 1010 WHERE pkey = 2
s2 UPDATE t0 SET c0 = c0 + 1, vkey = vkey + 1020 WHERE pkey = 2
s1 ROLLBACK
s2 ROLLBACK";

const READ_ONLY: &str = "s1 START TRANSACTION READ ONLY
s1 SELECT * FROM t0
s1 COMMIT WORK AND CHAIN
s1 UPDATE t0 SET c0 = 11, vkey = 1000
s1 ROLLBACK AND NO CHAIN
s1 UPDATE t0 SET c0 = 12, vkey = vkey + 1000
s2 SELECT * FROM t0";

/// A transaction of a chain in which nothing is done, and one that nothing ends.
const EMPTY: &str = "s1 BEGIN
s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1
s1 COMMIT AND CHAIN
s1 ROLLBACK AND CHAIN
s2 UPDATE t0 SET c0 = 22, vkey = 1001 WHERE pkey = 2
s1 COMMIT AND CHAIN";

const EACH: [Needs; 3] = [Needs::MariaDb, Needs::MySql, Needs::Postgres];

fn said(driver: &OneDriver<'_>, level: IsolationLevel, script: &str, lie: Lie) -> Verdict {
    hearing_of(driver, &scripted(driver.server, level, SETUP, script), lie).verdict()
}

#[test]
fn a_chain_of_transactions_is_judged() {
    for needs in EACH {
        let Some(server) = oracles::server("a_chain_of_transactions_is_judged", needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        assert!(server.dialect().supports(Capability::Chain));
        for level in [ReadCommitted, RepeatableRead, Serializable] {
            for script in [ROLLED_BACK, SNAPSHOTS, LOCKS, VICTIM, READ_ONLY, EMPTY] {
                let verdict = said(&driver, level, script, honest);
                assert!(
                    matches!(verdict, Verdict::Agree | Verdict::Known(_)),
                    "{needs:?}, {level}: {script}\n{verdict}"
                );
            }
        }
    }
}

/// Gives a read the rows that another one of the run had, or some other.
fn answer(run: &mut Execution, read: StatementId, second: i64) {
    let record = run.records.get_mut(&read).expect("it ran");
    let row = |cells: [i64; 3]| cells.map(Value::Integer).to_vec();
    let version = match second {
        20 => 2,
        21 => 1000,
        _ => 1001,
    };
    record.outcome = Outcome::Rows(vec![row([1, 1, 10]), row([2, version, second])]);
}

/// T2 is the UPDATE of the other session, T3 the second transaction of the chain.
fn chain_keeps_snapshot(run: &mut Execution) {
    answer(run, id(3, 1), 20);
    answer(run, id(3, 2), 20);
}

fn chain_begins_no_snapshot(run: &mut Execution) {
    answer(run, id(3, 2), 22);
}

#[test]
fn the_snapshot_of_a_chained_transaction_is_its_own() {
    let test = "the_snapshot_of_a_chained_transaction_is_its_own";
    for server in EACH
        .iter()
        .filter_map(|needs| oracles::server(test, *needs))
    {
        let driver = OneDriver::of(&*server);
        for lie in [chain_keeps_snapshot, chain_begins_no_snapshot] {
            let verdict = said(&driver, RepeatableRead, SNAPSHOTS, lie);
            assert!(matches!(verdict, Verdict::Violation(_)), "{verdict}");
        }
        // Each statement has a snapshot there, in a chain as elsewhere.
        let verdict = said(&driver, ReadCommitted, SNAPSHOTS, |run| {
            answer(run, id(3, 2), 21);
        });
        assert!(matches!(verdict, Verdict::Violation(_)), "{verdict}");
    }
}

#[test]
fn a_chain_that_ends_or_begins_nothing_is_heard() {
    let test = "a_chain_that_ends_or_begins_nothing_is_heard";
    for needs in EACH {
        let Some(url) = url(test, needs) else {
            continue;
        };
        for (script, fault) in [
            (ROLLED_BACK, Fault::ChainBeginsNone),
            (ROLLED_BACK, Fault::CommitLeavesOpen),
            (ROLLED_BACK, Fault::CommitLosesLastWrite),
            (LOCKS, Fault::ChainBeginsNone),
            (LOCKS, Fault::CommitLeavesOpen),
        ] {
            // Faults are beside an open transaction, and states are asked for of every second one.
            for first in ["", "s4 SELECT * FROM t0 WHERE pkey = 2\n"] {
                let script = format!(
                    "{first}s3 BEGIN\ns3 SELECT c0 FROM t0 WHERE pkey = 2\n{script}\ns3 COMMIT"
                );
                let heard = |fault| {
                    let (_planted, server) = open_planted(&url, fault);
                    let driver = OneDriver::of(&*server);
                    said(&driver, ReadCommitted, &script, honest)
                };
                let right = heard(Fault::None);
                assert!(
                    !matches!(right, Verdict::Violation(_)),
                    "{needs:?}: {right}"
                );
                let wrong = heard(fault);
                assert!(
                    matches!(wrong, Verdict::Violation(_)),
                    "{needs:?}, {fault}: {script}\n{wrong}"
                );
            }
        }
    }
}
