//! Writes that are refused for a row which another transaction has changed: an engine waits for that before it tells.

use rashomon::dialect::Capability;
use rashomon::model::{Execution, FindingKind, IsolationLevel, LockBreach, TransactionId, Verdict};

use crate::lying::{OneDriver, hearing_of, honest, scripted};
use crate::oracles;
use crate::servers::Needs;

const SETUP: &str = "\
    /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT UNIQUE);\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);\n\
    /* init */ CREATE TABLE t1 (pkey INT PRIMARY KEY, vkey INT, c0 INT, FOREIGN KEY (c0) REFERENCES t0 (pkey));\n";

/// What the first transaction leaves open, and what the second one has to wait for then: a duplicate.
const DUPLICATES: [(&str, &str); 4] = [
    (
        "DELETE FROM t0 WHERE pkey = 1",
        "INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1001, 30)",
    ),
    (
        "DELETE FROM t0 WHERE pkey = 1",
        "INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1001, 30), (4, 1001, 10)",
    ),
    (
        "UPDATE t0 SET c0 = 40, vkey = 1000 WHERE pkey = 1",
        "INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1001, 10)",
    ),
    (
        "DELETE FROM t0 WHERE pkey = 1",
        "UPDATE t0 SET c0 = 10, vkey = 1001 WHERE pkey = 2",
    ),
];

/// The same of keys that rows are called by.
const MOVED: [(&str, &str); 1] = [(
    "UPDATE t0 SET pkey = 5, vkey = 1000 WHERE pkey = 1",
    "UPDATE t0 SET pkey = 1, vkey = 1001 WHERE pkey = 2",
)];

/// The same for a foreign key.
const PARENTS: [(&str, &str); 2] = [
    (
        "INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 30)",
        "INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1001, 3)",
    ),
    (
        "UPDATE t0 SET pkey = 3, vkey = 1000 WHERE pkey = 1",
        "INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1001, 3)",
    ),
];

/// What is refused whether the first transaction commits or not, or refused for what is committed.
const NOT_FOR_IT: [(&str, &str); 3] = [
    (
        "DELETE FROM t0 WHERE pkey = 1",
        "INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 1001, 30)",
    ),
    (
        "UPDATE t0 SET c0 = 40, vkey = 1000 WHERE pkey = 1",
        "INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1001, 20)",
    ),
    (
        "INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1000, 30)",
        "INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1001, 9)",
    ),
];

/// The second transaction's write was refused when it was sent.
fn at_once(run: &mut Execution) {
    let is_it = |id: TransactionId| id == TransactionId(2);
    let mut records = run.records.values_mut();
    let waited = records.find(|r| is_it(r.id.transaction) && r.waiting.is_some());
    let waited = waited.expect("it waits on a stock server");
    assert!(waited.outcome.error_class().is_some(), "{}", waited.outcome);
    waited.answered = waited.waiting.take().expect("it waits");
}

fn said(
    driver: &OneDriver<'_>,
    level: IsolationLevel,
    (open, waits): (&str, &str),
    lie: fn(&mut Execution),
) -> Verdict {
    let script = format!("s1 BEGIN\ns1 {open}\ns2 BEGIN\ns2 {waits}\ns1 ROLLBACK\ns2 ROLLBACK");
    let case = scripted(driver.server, level, SETUP, &script);
    hearing_of(driver, &case, lie).verdict()
}

fn is_heard(verdict: &Verdict) -> bool {
    let kind = FindingKind::Lock(LockBreach::UnlockedWrite);
    matches!(verdict, Verdict::Violation(finding) if finding.signature.kind == kind)
}

#[test]
fn a_write_that_is_refused_at_once_for_what_is_not_committed_is_heard() {
    use IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
    for needs in [Needs::MariaDb, Needs::MySql, Needs::Postgres] {
        let Some(server) = oracles::server("a_write_that_is_refused_at_once", needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        // Foreign keys of PostgreSQL do not see what is not committed, and its snapshots say nothing of newer keys.
        let (parents, levels) = match needs == Needs::Postgres {
            true => (&PARENTS[..0], &[ReadCommitted][..]),
            false => (
                &PARENTS[..],
                &[ReadCommitted, RepeatableRead, Serializable][..],
            ),
        };
        // PostgreSQL tells which row a write has given another key from 18 on.
        let is_told =
            needs != Needs::Postgres || server.dialect().supports(Capability::ReturningOld);
        let moved = match is_told {
            true => &MOVED[..],
            false => &MOVED[..0],
        };
        for level in levels {
            for script in DUPLICATES.iter().chain(moved).chain(parents) {
                let verdict = said(&driver, *level, *script, honest);
                assert_eq!(verdict, Verdict::Agree, "{needs:?} {level}: {script:?}");
                let verdict = said(&driver, *level, *script, at_once);
                assert!(
                    is_heard(&verdict),
                    "{needs:?} {level}: {script:?}: {verdict}"
                );
            }
            for script in NOT_FOR_IT {
                let verdict = said(&driver, *level, script, honest);
                assert_eq!(verdict, Verdict::Agree, "{needs:?} {level}: {script:?}");
            }
        }
    }
}
