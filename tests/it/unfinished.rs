//! What the history oracle says of transactions that do not commit, and of how many rows a write changes. A driver
//! changes one answer of each run.

use rashomon::engine::{self, OpenOptions};
use rashomon::model::IsolationLevel::{ReadCommitted, ReadUncommitted, Serializable};
use rashomon::model::{Execution, Outcome, Value, Verdict};
use rashomon::oracle::Hearing;

use crate::lying::{Lie, OneDriver, hearing_of, honest, id, scripted};
use crate::oracles::server;
use crate::servers::Needs;

const KEYS: &str = "\
    /* init */ CREATE TABLE kv (k INT PRIMARY KEY, v INT);\n\
    /* init */ INSERT INTO kv (k, v) VALUES (1, 10), (2, 20);\n";

/// T1 commits 12, T2 takes 21 back, T3 reads and takes all back, T4 commits 22.
const SCRIPT: &str = "s1 BEGIN
s1 UPDATE kv SET v = 11 WHERE k = 1
s1 UPDATE kv SET v = 12 WHERE k = 1
s1 COMMIT
s2 BEGIN
s2 UPDATE kv SET v = 21 WHERE k = 2
s2 ROLLBACK
s3 BEGIN
s3 SELECT v FROM kv WHERE k = 1
s3 SELECT v FROM kv WHERE k = 2
s3 UPDATE kv SET v = 13 WHERE k = 1
s3 SELECT v FROM kv WHERE k = 1
s3 UPDATE kv SET v = 14 WHERE k = 1
s3 SELECT v FROM kv WHERE k = 1
s3 ROLLBACK
s1 BEGIN
s1 UPDATE kv SET v = 22 WHERE k = 2
s1 COMMIT";

fn reads(run: &mut Execution, position: u32, values: &[i64]) {
    let rows = values.iter().map(|value| vec![Value::Integer(*value)]);
    let read = run.records.get_mut(&id(3, position));
    read.expect("it ran").outcome = Outcome::Rows(rows.collect());
}

fn changes(run: &mut Execution, transaction: u32, position: u32, count: u64) {
    let write = run.records.get_mut(&id(transaction, position));
    write.expect("it ran").outcome = Outcome::Affected(count);
}

/// What the history oracle says: the kind of its finding, or its verdict.
fn by_history(hearing: &Hearing) -> String {
    let history = hearing.rulings.iter().find(|one| one.oracle == "history");
    let history = history.expect("it judges the case");
    match (history.finding(), &history.ruling.verdict) {
        (Some(finding), _) => finding.signature.kind.to_string(),
        (None, verdict) => verdict.to_string(),
    }
}

#[test]
fn a_transaction_that_does_not_commit_reads_what_was_committed_and_what_it_wrote_itself() {
    let server = engine::open("sqlite:", &OpenOptions::default()).expect("it opens");
    let driver = OneDriver::of(&*server);
    let case = scripted(&*server, Serializable, KEYS, SCRIPT);
    let table: &[(Lie, &str)] = &[
        (honest, "agree"),
        (|run| reads(run, 2, &[11]), "intermediate-read"),
        (|run| reads(run, 2, &[99]), "thin-air-read"),
        (|run| reads(run, 2, &[]), "thin-air-read"),
        (|run| reads(run, 2, &[13]), "future-read"),
        (|run| reads(run, 3, &[21]), "aborted-read"),
        (|run| reads(run, 3, &[22]), "dirty-read"),
        (|run| reads(run, 5, &[12]), "not-my-own-write"),
        (|run| reads(run, 5, &[]), "thin-air-read"),
        (|run| reads(run, 7, &[13]), "not-my-last-write"),
        (|run| changes(run, 3, 4, 0), "wrong-affected"),
        (|run| changes(run, 3, 4, 2), "wrong-affected"),
        (|run| changes(run, 2, 2, 0), "wrong-affected"),
        // Of a transaction that commits.
        (|run| changes(run, 4, 2, 2), "wrong-affected"),
    ];
    for (at, (lie, expected)) in table.iter().enumerate() {
        let heard = by_history(&hearing_of(&driver, &case, *lie));
        assert_eq!(heard, *expected, "lie {at}");
    }
}

#[test]
fn the_answers_of_a_transaction_that_does_not_commit_count_as_tested() {
    let server = engine::open("sqlite:", &OpenOptions::default()).expect("it opens");
    let driver = OneDriver::of(&*server);
    let case = scripted(&*server, Serializable, KEYS, SCRIPT);
    let hearing = hearing_of(&driver, &case, honest);
    let history = hearing.rulings.iter().find(|one| one.oracle == "history");
    let ruling = &history.expect("it judges the case").ruling;
    assert!(matches!(ruling.verdict, Verdict::Agree));
    let own = (2..=7).map(|position| id(3, position));
    for statement in own.chain([id(2, 2), id(1, 2), id(4, 2)]) {
        assert!(ruling.tested.contains(&statement), "{statement}");
    }
    assert!(ruling.untested.is_empty(), "{:?}", ruling.untested);
}

const READ_AND_TAKEN_BACK: &str = "s1 BEGIN
s1 UPDATE kv SET v = 11 WHERE k = 1
s2 BEGIN
s2 SELECT v FROM kv WHERE k = 1
s2 ROLLBACK
s1 ROLLBACK";

/// At READ UNCOMMITTED it may read anything, unless more is claimed.
#[test]
fn a_read_of_what_is_not_committed_is_a_finding_where_the_claim_forbids_it() {
    let test = "a_read_of_what_is_not_committed_is_a_finding_where_the_claim_forbids_it";
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(server) = server(test, needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        let committed = READ_AND_TAKEN_BACK.replace("s1 ROLLBACK", "s1 COMMIT");
        let claim = Some(ReadCommitted);
        for (script, level, claim, expected) in [
            (READ_AND_TAKEN_BACK, ReadCommitted, None, "agree"),
            (&committed, ReadCommitted, None, "agree"),
            (READ_AND_TAKEN_BACK, ReadUncommitted, claim, "aborted-read"),
            (&committed, ReadUncommitted, claim, "dirty-read"),
        ] {
            let mut case = scripted(&*server, level, KEYS, script);
            case.claim = claim;
            let heard = by_history(&hearing_of(&driver, &case, honest));
            assert_eq!(heard, expected, "{needs:?} {level} {script}");
        }
    }
}
