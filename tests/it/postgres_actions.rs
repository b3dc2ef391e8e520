//! What foreign keys do to children on PostgreSQL, and writes through views: neither is returned by the write under the
//! name of its table.

use rashomon::model::IsolationLevel::{self, ReadCommitted, RepeatableRead, Serializable};
use rashomon::model::{
    ErrorClass, Execution, Outcome, ProbeAnswer, ProbeTag, SqlError, UndecidedReason, Verdict,
};

use crate::heard::heard_in;
use crate::lying::{OneDriver, case_text, hearing_of, honest, id, scripted};
use crate::oracles;
use crate::plant::Fault;
use crate::postgres_cases::server;
use crate::servers::{Needs, url};

const LEVELS: [IsolationLevel; 3] = [ReadCommitted, RepeatableRead, Serializable];

const FAMILY: &str = "\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 BIGINT UNIQUE);\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 BIGINT, \
    FOREIGN KEY (c0) REFERENCES t0 (c0) ON DELETE CASCADE ON UPDATE CASCADE);\n\
    /* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 BIGINT, \
    FOREIGN KEY (c0) REFERENCES t1 (pkey) ON DELETE SET NULL);\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30);\n\
    /* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 11, 10), (2, 12, 10), (3, 13, 20);\n\
    /* init */ INSERT INTO t2 (pkey, vkey, c0) VALUES (1, 21, 1), (2, 22, 3), (3, 23, NULL);\n";

/// Each sends a write that reaches its children, beside another transaction.
const REACHES: [&str; 8] = [
    "s1 BEGIN\ns1 SELECT pkey FROM t2\ns2 DELETE FROM t0 WHERE pkey = 1\ns1 SELECT pkey, c0 FROM t1\ns1 COMMIT",
    "s1 BEGIN\ns1 SELECT pkey FROM t2\ns2 BEGIN\ns2 UPDATE t0 SET vkey = 1000, c0 = 70 WHERE pkey = 1\n\
     s2 SELECT pkey, c0 FROM t1\ns2 ROLLBACK\ns1 SELECT pkey, c0 FROM t1\ns1 COMMIT",
    // A child is changed meanwhile, and waited for.
    "s1 BEGIN\ns1 UPDATE t1 SET vkey = 1000, c0 = 20 WHERE pkey = 1\ns2 BEGIN\ns2 DELETE FROM t0 WHERE pkey = 1\n\
     s1 COMMIT\ns2 SELECT pkey, c0 FROM t2\ns2 COMMIT",
    "s1 BEGIN\ns1 DELETE FROM t1 WHERE pkey = 1\ns2 BEGIN\n\
     s2 UPDATE t0 SET vkey = 1001, c0 = 70 WHERE pkey = 1\ns1 ROLLBACK\ns2 SELECT pkey, c0 FROM t1\ns2 COMMIT",
    // A child comes meanwhile, which its parent keeps.
    "s1 BEGIN\ns1 INSERT INTO t1 (pkey, vkey, c0) VALUES (9, 1000, 10)\ns2 DELETE FROM t0 WHERE pkey = 1\n\
     s1 COMMIT",
    // A child that is newer than the snapshot refuses its parent above READ COMMITTED.
    "s2 BEGIN\ns2 SELECT pkey FROM t0\ns1 INSERT INTO t1 (pkey, vkey, c0) VALUES (9, 1000, 10)\n\
     s2 DELETE FROM t0 WHERE pkey = 1\ns2 COMMIT",
    // A savepoint takes the children back with their parent.
    "s1 BEGIN\ns1 SELECT pkey FROM t2\ns2 BEGIN\ns2 SAVEPOINT a\ns2 DELETE FROM t0\ns2 ROLLBACK TO SAVEPOINT a\n\
     s2 SELECT pkey, c0 FROM t1\ns2 UPDATE t0 SET vkey = 1001, c0 = 71 WHERE pkey = 2\ns2 COMMIT\ns1 COMMIT",
    // Two deletions are let go by one COMMIT.
    "s1 BEGIN\ns1 UPDATE t1 SET vkey = 1000 WHERE pkey IN (1, 3)\ns2 DELETE FROM t0 WHERE pkey = 1\n\
     s3 DELETE FROM t0 WHERE pkey = 2\ns1 COMMIT",
];

/// What all oracles say of a script at a level, through a server with a fault.
fn said(url: &str, fault: Fault, level: IsolationLevel, script: &str) -> Verdict {
    // Tests run at once, one for a server without a fault.
    let database = format!("rashomon_action_{fault:?}");
    let text = case_text(level, FAMILY, script);
    heard_in(url, fault, &database, &text)
}

#[test]
fn what_a_key_does_to_children_is_learned_and_right() {
    let Some(url) = url("what_a_key_does_to_children", Needs::Postgres) else {
        return;
    };
    for level in LEVELS {
        for script in REACHES {
            let verdict = said(&url, Fault::None, level, script);
            // One COMMIT lets two statements go, and the children are read while the other is answered.
            let parted = Verdict::Undecided(UndecidedReason::PartedProbe);
            let is_right = matches!(&verdict, Verdict::Agree | Verdict::Known(_))
                || verdict == parted && script.contains("s3 ");
            assert!(is_right, "{level}: {script}\n{verdict:?}");
        }
    }
}

#[test]
fn an_action_that_is_left_out_is_heard_at_each_level() {
    let Some(url) = url("an_action_that_is_left_out", Needs::Postgres) else {
        return;
    };
    for level in LEVELS {
        // Nothing is read behind a write at SERIALIZABLE, and of what is rolled back the serial run knows nothing.
        let rolled_back = (level != Serializable).then_some(REACHES[1]);
        let scripts = [REACHES[0], REACHES[6]].into_iter().chain(rolled_back);
        for script in scripts {
            let verdict = said(&url, Fault::ForeignKeysForgotten, level, script);
            let is_heard = matches!(verdict, Verdict::Violation(_));
            assert!(is_heard, "{level}: {script}\n{verdict:?}");
        }
    }
}

fn refusal(code: &str, class: ErrorClass) -> Outcome {
    Outcome::Rejected(SqlError {
        code: code.to_owned(),
        class,
        message: String::new(),
    })
}

/// The read of T2's children, added behind its first write, is refused, and what follows in T2 is refused for that.
fn refuses_the_added_read(run: &mut Execution) {
    let is_added = |probe: &&mut ProbeAnswer| matches!(probe.tag, ProbeTag::AfterWrite { .. });
    for probe in run.probes.iter_mut().filter(is_added) {
        probe.outcome = refusal("40P01", ErrorClass::Deadlock);
    }
    let record = run.records.get_mut(&id(2, 3)).expect("it ran");
    record.outcome = refusal("25P02", ErrorClass::FailedTransaction);
}

/// A read that was added fails its transaction as one of its own would, and no other one.
#[test]
fn a_refused_read_behind_a_write_is_no_evidence_against_what_follows() {
    let Some(server) = server("a_refused_read_behind_a_write") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let script = "s1 BEGIN\ns1 SELECT pkey FROM t2\ns2 BEGIN\ns2 DELETE FROM t0 WHERE pkey = 1\n\
        s2 SELECT pkey FROM t1\ns2 ROLLBACK\ns1 SELECT pkey FROM t2\ns1 COMMIT";
    let case = scripted(&*server, RepeatableRead, FAMILY, script);
    let said = |lie| hearing_of(&driver, &case, lie).verdict();
    let open = Verdict::Undecided(UndecidedReason::RejectedProbe);
    assert_eq!(said(refuses_the_added_read), open);
    let refuses_another_too = |run: &mut Execution| {
        refuses_the_added_read(run);
        let record = run.records.get_mut(&id(1, 3)).expect("it ran");
        record.outcome = refusal("25P02", ErrorClass::FailedTransaction);
    };
    assert_eq!(
        oracles::kind(&said(refuses_another_too)),
        "refusal-without-cause"
    );
}

const SEEN_THROUGH: &str = "\
    /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ CREATE VIEW v0 AS SELECT c0, vkey, pkey FROM t0 WHERE c0 < 40;\n\
    /* init */ CREATE VIEW v1 AS SELECT * FROM v0 WHERE pkey > 1;\n\
    /* init */ CREATE VIEW narrow AS SELECT pkey, vkey FROM t0;\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);\n";

/// Writes through views, of which one waits and one leaves a row out of its view.
const THROUGH: [&str; 3] = [
    "s1 BEGIN\ns1 UPDATE v0 SET vkey = 1000, c0 = 50 WHERE pkey = 2\ns2 UPDATE v1 SET vkey = 1001, c0 = 30\n\
     s1 COMMIT",
    "s1 BEGIN\ns1 SELECT * FROM v1\ns2 INSERT INTO v0 (pkey, vkey, c0) VALUES (3, 1001, 30)\n\
     s2 DELETE FROM v0 AS d WHERE d.pkey = 1\ns1 SELECT * FROM t0\ns1 COMMIT",
    "s1 BEGIN\ns1 SELECT * FROM v1 FOR UPDATE\ns2 DELETE FROM public.v0\ns1 COMMIT",
];

#[test]
fn a_write_through_a_view_is_judged_by_the_rows_of_its_table() {
    let Some(server) = server("a_write_through_a_view") else {
        return;
    };
    let driver = OneDriver::of(&*server);
    let said = |level, script: &str, lie| {
        let case = scripted(&*server, level, SEEN_THROUGH, script);
        hearing_of(&driver, &case, lie).verdict()
    };
    for level in LEVELS {
        for script in THROUGH {
            let verdict = said(level, script, honest);
            assert!(
                oracles::is_decided(&verdict),
                "{level}: {script}\n{verdict}"
            );
            let is_right = !matches!(verdict, Verdict::Violation(_));
            assert!(is_right, "{level}: {script}\n{verdict}");
        }
        // T2.1 counts a row that it did not write.
        let counts_two = |run: &mut Execution| {
            let record = run.records.get_mut(&id(2, 1)).expect("it ran");
            record.outcome = Outcome::Affected(2);
        };
        let verdict = said(level, THROUGH[1], counts_two);
        assert!(
            matches!(verdict, Verdict::Violation(_)),
            "{level}\n{verdict}"
        );
    }
    // The view lacks a column, and RETURNING cannot name it.
    let narrow = "s1 BEGIN\ns1 UPDATE narrow SET vkey = 1000 WHERE pkey = 1\ns1 COMMIT";
    for level in [ReadCommitted, RepeatableRead] {
        let verdict = said(level, narrow, honest);
        let open = Verdict::Undecided(UndecidedReason::WriteWithoutReturning);
        assert_eq!(verdict, open, "{level}");
    }
}
