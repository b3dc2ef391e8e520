//! Made-up runs: every anomaly, and the run beside it that the level allows.

mod mixed;
mod told;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ItemAnomaly, ItemGraph, JudgedBy, anomalies, item_queries};
use crate::dialect::{Dialect, dialect_with};
use crate::model::{
    Anomaly, CaseStatement, EventKind, Execution, ExecutionEvent, Observation, Outcome,
    ProbeAnswer, ProbeTag, Row, StatementKind, StatementRecord, TestCase, Tick, TransactionStatus,
    Value,
};
use crate::observe::{Learner, learn};
use crate::oracle::Evidence;
use crate::reproducer::case_of;

/// What a line of a script leads to.
#[derive(Clone, Copy)]
enum Then {
    /// Nothing is known of it.
    Nothing,
    /// The query shows these rows of `t`.
    Shows(&'static [(i64, i64)]),
    /// A probe before the statement shows these rows of `t`.
    ProbeShows(&'static [(i64, i64)]),
    /// These rows stand in `t` afterwards.
    Stands(&'static [(i64, i64)]),
    /// The same, though the engine counted no row.
    CountsNone(&'static [(i64, i64)]),
}
use Then::{CountsNone, Nothing, ProbeShows, Shows, Stands};

/// Session, statement and what it leads to.
type Line = (u32, &'static str, Then);

const ROW_1: &str = "UPDATE t SET vkey = 1000 WHERE pkey = 1";
const ROW_1_AGAIN: &str = "UPDATE t SET vkey = 1001 WHERE pkey = 1";
const ROW_2: &str = "UPDATE t SET vkey = 2000 WHERE pkey = 2";
const ROW_2_AGAIN: &str = "UPDATE t SET vkey = 2001 WHERE pkey = 2";
const READ: &str = "SELECT * FROM t";
const READ_1: &str = "SELECT pkey, vkey FROM t WHERE pkey = 1";
const READ_2: &str = "SELECT vkey, pkey FROM t WHERE pkey = 2";

fn mariadb(variables: &[(&str, &str)]) -> Dialect {
    dialect_with("mariadb", "10.11.2", variables)
}

fn rows(keys: &[(i64, i64)]) -> Vec<Row> {
    keys.iter()
        .map(|&(p, v)| vec![Value::Integer(p), Value::Integer(v)])
        .collect()
}

/// The ticks of a run that is written line by line.
struct Play {
    execution: Execution,
    tick: u32,
}

impl Play {
    fn tick(&mut self) -> Tick {
        self.tick += 1;
        Tick(self.tick)
    }
}

impl Play {
    /// Plays one statement: a probe before it, its events, its record and what is observed after it.
    fn play(&mut self, case: &TestCase, statement: &CaseStatement, then: Then) {
        let id = statement.id;
        if let ProbeShows(shown) = then {
            let tick = self.tick();
            self.execution.probes.push(ProbeAnswer {
                statement: id,
                tag: ProbeTag::VersionSet {
                    table: "t".to_owned(),
                    locking: false,
                },
                sql: READ.to_owned(),
                tick,
                parted: false,
                outcome: Outcome::Rows(rows(shown)),
            });
        }
        let (sent, answered) = (self.tick(), self.tick());
        for (tick, kind) in [(sent, EventKind::Sent), (answered, EventKind::Answered)] {
            self.execution.events.push(ExecutionEvent {
                tick,
                statement: id,
                kind,
            });
        }
        let record = StatementRecord {
            id,
            sent,
            waiting: None,
            waited_for: Vec::new(),
            answered,
            outcome: outcome(&statement.sql, then),
            transaction_survives: true,
            counted: None,
            reported: None,
            command_tag: None,
        };
        self.execution.records.insert(id, record);
        let kind = statement.effect.kind;
        let committed = kind == StatementKind::Commit || !case.is_explicit(id.transaction);
        let transactions = &mut self.execution.transactions;
        if kind == StatementKind::Rollback {
            transactions.insert(id.transaction, TransactionStatus::Aborted(answered));
        } else if committed {
            transactions.insert(id.transaction, TransactionStatus::Committed(answered));
        }
        if let Stands(standing) | CountsNone(standing) = then {
            let tick = self.tick();
            self.execution.observations.push(Observation {
                tick,
                active: vec![id],
                tables: BTreeMap::from([("t".to_owned(), rows(standing))]),
            });
        }
    }
}

fn outcome(sql: &str, then: Then) -> Outcome {
    match then {
        Shows(shown) if sql == READ_2 => {
            let turned: Vec<(i64, i64)> = shown.iter().map(|(p, v)| (*v, *p)).collect();
            Outcome::Rows(rows(&turned))
        }
        Shows(shown) => Outcome::Rows(rows(shown)),
        CountsNone(_) => Outcome::Affected(0),
        Nothing | ProbeShows(_) | Stands(_) => Outcome::Affected(1),
    }
}

/// A run whose statements are answered at once, in the order of the lines. `header` is that of a case
/// file.
fn run(header: &str, dialect: Dialect, lines: &[Line]) -> Evidence {
    let script: String = lines
        .iter()
        .map(|(session, sql, _)| format!("/* s{session} */ {sql};\n"))
        .collect();
    let text =
        format!("{header}\n/* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT);\n{script}");
    let case = case_of(&text, &dialect);
    let mut play = Play {
        execution: Execution::default(),
        tick: 0,
    };
    for (statement, (_, _, then)) in case.statements.iter().zip(lines) {
        play.play(&case, statement, *then);
    }
    let evidence = Evidence::of_answers(case, play.execution, Arc::new(dialect));
    let initial = BTreeMap::from([("t".to_owned(), rows(&[(1, 10), (2, 20)]))]);
    let account = learn(
        &evidence.case,
        &evidence.execution,
        &evidence.timeline,
        &initial,
        &evidence.dialect,
        Learner::Observer,
    );
    Evidence {
        initial,
        account,
        ..evidence
    }
}

fn at(level: &str) -> String {
    format!("--! isolation = \"{level}\"")
}

fn worst(evidence: &Evidence) -> Option<Anomaly> {
    worst_found(evidence).map(|found| found.anomaly)
}

fn worst_found(evidence: &Evidence) -> Option<ItemAnomaly> {
    let queries = item_queries(evidence);
    let graph = ItemGraph::of(evidence, &queries, &JudgedBy::ByLevel);
    anomalies::worst(evidence, &queries, &graph)
}

/// The anomaly of a run at a level of MariaDB as it is set up by default.
fn heard(level: &str, lines: &[Line]) -> Option<Anomaly> {
    worst(&run(&at(level), mariadb(&[]), lines))
}

/// The same where REPEATABLE READ is snapshot isolation.
fn heard_at_snapshot(lines: &[Line]) -> Option<Anomaly> {
    let dialect = mariadb(&[("innodb_snapshot_isolation", "ON")]);
    worst(&run(&at("REPEATABLE READ"), dialect, lines))
}

#[test]
fn g0_two_transactions_replace_each_others_rows() {
    let crossed: &[Line] = &[
        (1, "BEGIN", Nothing),
        (2, "BEGIN", Nothing),
        (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
        (2, ROW_1_AGAIN, Stands(&[(1, 1001), (2, 20)])),
        (2, ROW_2, Stands(&[(1, 1001), (2, 2000)])),
        (1, ROW_2_AGAIN, Stands(&[(1, 1001), (2, 2001)])),
        (1, "COMMIT", Nothing),
        (2, "COMMIT", Nothing),
    ];
    // Long write locks are promised to nobody in particular, and kept at every level.
    for level in ["READ UNCOMMITTED", "READ COMMITTED", "SERIALIZABLE"] {
        let header = format!("{}\n", at(level));
        let evidence = run(&header, mariadb(&[]), crossed);
        assert_eq!(worst(&evidence), Some(Anomaly::DirtyWrite), "{level}");
    }
    let one_row: &[Line] = &[
        (1, "BEGIN", Nothing),
        (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
        (2, ROW_1_AGAIN, Stands(&[(1, 1001), (2, 20)])),
        (
            1,
            "UPDATE t SET vkey = 1002 WHERE pkey = 1",
            Stands(&[(1, 1002), (2, 20)]),
        ),
        (1, "COMMIT", Nothing),
    ];
    assert_eq!(heard("READ COMMITTED", one_row), Some(Anomaly::DirtyWrite));
    let one_after_the_other: &[Line] = &[
        (1, "BEGIN", Nothing),
        (2, "BEGIN", Nothing),
        (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
        (1, ROW_2_AGAIN, Stands(&[(1, 1000), (2, 2001)])),
        (1, "COMMIT", Nothing),
        (2, ROW_1_AGAIN, Stands(&[(1, 1001), (2, 2001)])),
        (2, ROW_2, Stands(&[(1, 1001), (2, 2000)])),
        (2, "COMMIT", Nothing),
    ];
    assert_eq!(heard("READ COMMITTED", one_after_the_other), None);
    let undone: &[Line] = &[
        (1, "BEGIN", Nothing),
        (2, "BEGIN", Nothing),
        (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
        (1, "ROLLBACK", Stands(&[(1, 10), (2, 20)])),
        (2, ROW_1_AGAIN, Stands(&[(1, 1001), (2, 20)])),
        (2, "COMMIT", Nothing),
    ];
    assert_eq!(heard("READ COMMITTED", undone), None);
}

/// T2 reads row 1 after T1 wrote it; then T1 ends.
fn read_between(shown: &'static [(i64, i64)], end: &'static str) -> [Line; 6] {
    [
        (1, "BEGIN", Nothing),
        (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
        (2, "BEGIN", Nothing),
        (2, READ_1, Shows(shown)),
        (2, "COMMIT", Nothing),
        (1, end, Nothing),
    ]
}

#[test]
fn g1a_a_committed_transaction_read_what_was_undone() {
    let aborted = read_between(&[(1, 1000)], "ROLLBACK");
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        assert_eq!(
            heard(level, &aborted),
            Some(Anomaly::AbortedRead),
            "{level}"
        );
    }
    assert_eq!(heard("READ UNCOMMITTED", &aborted), None);
    let before = read_between(&[(1, 10)], "ROLLBACK");
    assert_eq!(heard("READ COMMITTED", &before), None);
    let mut reader_aborts = aborted;
    reader_aborts[4].1 = "ROLLBACK";
    assert_eq!(heard("READ COMMITTED", &reader_aborts), None);
}

#[test]
fn g1a_a_return_to_a_savepoint_undoes_rows_as_well() {
    let lines = |shown: &'static [(i64, i64)]| -> [Line; 7] {
        [
            (1, "BEGIN", Nothing),
            (1, "SAVEPOINT a", Nothing),
            (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
            (2, READ_1, Shows(shown)),
            (1, "ROLLBACK TO a", Nothing),
            (1, ROW_2, Stands(&[(1, 10), (2, 2000)])),
            (1, "COMMIT", Nothing),
        ]
    };
    let undone = lines(&[(1, 1000)]);
    assert_eq!(heard("READ COMMITTED", &undone), Some(Anomaly::AbortedRead));
    assert_eq!(heard("READ COMMITTED", &lines(&[(1, 10)])), None);
}

#[test]
fn g1b_a_transaction_read_what_its_writer_replaced() {
    let lines = |shown: &'static [(i64, i64)]| -> [Line; 5] {
        [
            (1, "BEGIN", Nothing),
            (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
            (1, ROW_1_AGAIN, Stands(&[(1, 1001), (2, 20)])),
            (1, "COMMIT", Nothing),
            (2, READ_1, Shows(shown)),
        ]
    };
    let between = lines(&[(1, 1000)]);
    assert_eq!(
        heard("READ COMMITTED", &between),
        Some(Anomaly::IntermediateRead)
    );
    assert_eq!(heard("READ UNCOMMITTED", &between), None);
    assert_eq!(heard("READ COMMITTED", &lines(&[(1, 1001)])), None);
}

#[test]
fn a_row_is_read_before_its_writer_commits() {
    let dirty = read_between(&[(1, 1000)], "COMMIT");
    assert_eq!(heard("READ COMMITTED", &dirty), Some(Anomaly::DirtyRead));
    assert_eq!(heard("READ UNCOMMITTED", &dirty), None);
    assert_eq!(
        heard("READ COMMITTED", &read_between(&[(1, 10)], "COMMIT")),
        None
    );
    let mut after = dirty;
    after.swap(5, 3);
    after.swap(5, 4);
    assert_eq!(heard("READ COMMITTED", &after), None, "T1 commits first");
    let claimed = format!("{}\n--! claim = \"READ COMMITTED\"", at("READ UNCOMMITTED"));
    assert_eq!(
        worst(&run(&claimed, mariadb(&[]), &dirty)),
        Some(Anomaly::DirtyRead)
    );
}

#[test]
fn g1c_information_flows_in_a_circle() {
    let lines = |level_2: &'static str, shown: &'static [(i64, i64)]| -> (String, [Line; 8]) {
        let header = format!("--! isolation = {{ s1 = \"READ COMMITTED\", s2 = \"{level_2}\" }}");
        let lines = [
            (1, "BEGIN", Nothing),
            (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
            (2, "BEGIN", Nothing),
            (2, ROW_1_AGAIN, Stands(&[(1, 1001), (2, 20)])),
            (2, ROW_2, Stands(&[(1, 1001), (2, 2000)])),
            (2, "COMMIT", Nothing),
            (1, READ_2, Shows(shown)),
            (1, "COMMIT", Nothing),
        ];
        (header, lines)
    };
    for level in ["READ UNCOMMITTED", "READ COMMITTED"] {
        // T2 replaced the row of T1, and T1 read another row of T2.
        let (header, circle) = lines(level, &[(2, 2000)]);
        let found = worst(&run(&header, mariadb(&[]), &circle));
        assert_eq!(found, Some(Anomaly::CircularInformationFlow), "{level}");
        let (header, one_way) = lines(level, &[(2, 20)]);
        assert_eq!(
            worst(&run(&header, mariadb(&[]), &one_way)),
            None,
            "{level}"
        );
    }
}

/// T1 reads one row, T2 writes both and commits, T1 reads the other.
fn reads_around_a_writer(
    first: (&'static str, &'static [(i64, i64)]),
    second: (&'static str, &'static [(i64, i64)]),
) -> [Line; 8] {
    [
        (1, "BEGIN", Nothing),
        (1, first.0, Shows(first.1)),
        (2, "BEGIN", Nothing),
        (2, ROW_1, Stands(&[(1, 1000), (2, 20)])),
        (2, ROW_2, Stands(&[(1, 1000), (2, 2000)])),
        (2, "COMMIT", Nothing),
        (1, second.0, Shows(second.1)),
        (1, "COMMIT", Nothing),
    ]
}

#[test]
fn g_single_read_skew_is_forbidden_by_a_snapshot_and_allowed_at_read_committed() {
    let skewed = reads_around_a_writer((READ_1, &[(1, 10)]), (READ_2, &[(2, 2000)]));
    assert_eq!(heard("READ COMMITTED", &skewed), None);
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        assert_eq!(heard(level, &skewed), Some(Anomaly::ReadSkew), "{level}");
    }
    let steady = reads_around_a_writer((READ_1, &[(1, 10)]), (READ_2, &[(2, 20)]));
    assert_eq!(heard("REPEATABLE READ", &steady), None);
    let again = reads_around_a_writer((READ_1, &[(1, 10)]), (READ_1, &[(1, 1000)]));
    assert_eq!(
        heard("REPEATABLE READ", &again),
        Some(Anomaly::NonRepeatableRead)
    );
    assert_eq!(heard("READ COMMITTED", &again), None);
    // A locking read shows what is current, beside the snapshot.
    let mut locking = again;
    locking[6].1 = "SELECT pkey, vkey FROM t WHERE pkey = 1 FOR UPDATE";
    assert_eq!(heard("REPEATABLE READ", &locking), None);
}

#[test]
fn g_single_one_statement_at_read_committed_reads_one_moment() {
    let lines = |shown: &'static [(i64, i64)]| -> [Line; 5] {
        [
            (2, "BEGIN", Nothing),
            (2, ROW_1, Stands(&[(1, 1000), (2, 20)])),
            (2, ROW_2, Stands(&[(1, 1000), (2, 2000)])),
            (2, "COMMIT", Nothing),
            (1, READ, Shows(shown)),
        ]
    };
    let torn = lines(&[(1, 1000), (2, 20)]);
    assert_eq!(heard("READ COMMITTED", &torn), Some(Anomaly::ReadSkew));
    assert_eq!(
        heard("READ COMMITTED", &lines(&[(1, 1000), (2, 2000)])),
        None
    );
    assert_eq!(heard("READ COMMITTED", &lines(&[(1, 10), (2, 20)])), None);
}

#[test]
fn g_single_reads_at_read_committed_do_not_go_back() {
    let lines = |first: Line, second: Line| -> [Line; 8] {
        [
            (2, "BEGIN", Nothing),
            (2, ROW_1, Stands(&[(1, 1000), (2, 20)])),
            (2, ROW_2, Stands(&[(1, 1000), (2, 2000)])),
            (2, "COMMIT", Nothing),
            (1, "BEGIN", Nothing),
            first,
            second,
            (1, "COMMIT", Nothing),
        ]
    };
    let (new, old) = (
        (1, READ_1, Shows(&[(1, 1000)])),
        (1, READ_2, Shows(&[(2, 20)])),
    );
    let back = lines(new, old);
    assert_eq!(
        heard("READ COMMITTED", &back),
        Some(Anomaly::NonMonotonicRead)
    );
    assert_eq!(heard("READ COMMITTED", &lines(old, new)), None);
}

#[test]
fn g_single_lost_update_is_allowed_where_writes_do_not_look_at_the_snapshot() {
    let lost: &[Line] = &[
        (1, "BEGIN", Nothing),
        (1, READ_1, Shows(&[(1, 10)])),
        (2, "BEGIN", Nothing),
        (2, READ_1, Shows(&[(1, 10)])),
        (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
        (1, "COMMIT", Nothing),
        (2, ROW_1_AGAIN, Stands(&[(1, 1001), (2, 20)])),
        (2, "COMMIT", Nothing),
    ];
    assert_eq!(heard("READ COMMITTED", lost), None);
    assert_eq!(heard("REPEATABLE READ", lost), None);
    assert_eq!(heard_at_snapshot(lost), Some(Anomaly::LostUpdate));
    assert_eq!(heard("SERIALIZABLE", lost), Some(Anomaly::LostUpdate));
    let mut fresh = lost.to_vec();
    // T2 reads after T1 committed.
    let read = fresh.remove(3);
    fresh.insert(5, (2, read.1, Shows(&[(1, 1000)])));
    assert_eq!(heard("SERIALIZABLE", &fresh), None);
    assert_eq!(heard_at_snapshot(&fresh), None);
}

#[test]
fn g2_item_write_skew_is_forbidden_by_serializability_only() {
    let lines = |second: &'static [(i64, i64)]| -> [Line; 8] {
        [
            (1, "BEGIN", Nothing),
            (2, "BEGIN", Nothing),
            (1, READ, Shows(&[(1, 10), (2, 20)])),
            (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
            (1, "COMMIT", Nothing),
            (2, READ, Shows(second)),
            (2, ROW_2, Stands(&[(1, 1000), (2, 2000)])),
            (2, "COMMIT", Nothing),
        ]
    };
    let skewed = lines(&[(1, 10), (2, 20)]);
    assert_eq!(heard("SERIALIZABLE", &skewed), Some(Anomaly::WriteSkew));
    assert_eq!(heard("REPEATABLE READ", &skewed), None);
    assert_eq!(heard_at_snapshot(&skewed), None);
    assert_eq!(heard("SERIALIZABLE", &lines(&[(1, 1000), (2, 20)])), None);
    let claimed = format!("{}\n--! claim = \"SERIALIZABLE\"", at("READ COMMITTED"));
    let claimed = run(&claimed, mariadb(&[]), &skewed);
    assert_eq!(worst(&claimed), Some(Anomaly::WriteSkew));
}

#[test]
fn a_long_fork_is_forbidden_by_snapshots() {
    let lines = |fourth: &'static [(i64, i64)]| -> [Line; 4] {
        [
            (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
            (2, ROW_2, Stands(&[(1, 1000), (2, 2000)])),
            (3, READ, Shows(&[(1, 1000), (2, 20)])),
            (4, READ, Shows(fourth)),
        ]
    };
    let fork = lines(&[(1, 10), (2, 2000)]);
    assert_eq!(heard("REPEATABLE READ", &fork), Some(Anomaly::LongFork));
    assert_eq!(heard("REPEATABLE READ", &lines(&[(1, 10), (2, 20)])), None);
}

#[test]
fn a_session_sees_what_it_committed() {
    let lines = |reader: u32, shown: &'static [(i64, i64)]| -> [Line; 6] {
        [
            (1, "BEGIN", Nothing),
            (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
            (1, "COMMIT", Nothing),
            (reader, "BEGIN", Nothing),
            (reader, READ_1, Shows(shown)),
            (reader, "COMMIT", Nothing),
        ]
    };
    let forgotten = lines(1, &[(1, 10)]);
    let violation = Some(Anomaly::SessionGuaranteeViolation);
    assert_eq!(heard("REPEATABLE READ", &forgotten), violation);
    assert_eq!(heard("REPEATABLE READ", &lines(1, &[(1, 1000)])), None);
    // Another session may read an older state: no dependency says more.
    assert_eq!(heard("REPEATABLE READ", &lines(2, &[(1, 10)])), None);
}

/// Both reads are of one snapshot, and that of what the session wrote first came first: it was right until the other.
#[test]
fn a_read_that_a_later_read_puts_in_the_wrong_is_not_stale() {
    use crate::model::AnomalyClass::{ReadSkew, StaleRead};
    let lines = |first: (&'static str, &'static [(i64, i64)]),
                 second: (&'static str, &'static [(i64, i64)])|
     -> [Line; 6] {
        [
            (1, "BEGIN", Nothing),
            (1, first.0, Shows(first.1)),
            (2, ROW_1, Stands(&[(1, 1000), (2, 20)])),
            (2, ROW_2, Stands(&[(1, 1000), (2, 2000)])),
            (1, second.0, Shows(second.1)),
            (1, "COMMIT", Nothing),
        ]
    };
    let (old, new) = ((READ_1, &[(1, 10)][..]), (READ_2, &[(2, 2000)][..]));
    let class = |lines: &[Line]| {
        let header = "--! isolation = \"REPEATABLE READ\"";
        worst_found(&run(header, mariadb(&[]), lines)).map(|found| (found.anomaly, found.class))
    };
    let violation = Anomaly::SessionGuaranteeViolation;
    assert_eq!(class(&lines(old, new)), Some((violation, ReadSkew)));
    assert_eq!(class(&lines(new, old)), Some((violation, StaleRead)));
}
