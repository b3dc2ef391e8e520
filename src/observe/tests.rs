//! The account of scripted runs, against what InnoDB documents.

mod clustered_key;
mod collations;
mod early_savepoint;
mod half_rows;
mod planned_snapshot;
mod probes;
mod read_only;
mod savepoints;
mod without_version_key;

use std::collections::BTreeMap;

use super::{Account, Learner, Timeline, learn};
use crate::dialect::{Dialect, dialect_of};
use crate::model::{
    ErrorClass, EventKind, Execution, ExecutionEvent, IsolationLevel, Observation, Outcome, Row,
    SqlError, StatementId, StatementRecord, TestCase, Tick, TransactionId, TransactionStatus,
    UndecidedReason, Value,
};
use crate::reproducer::case_of;

/// A run written line by line: session, SQL, and what the observer then saw of `t`.
struct Script {
    case: TestCase,
    execution: Execution,
    dialect: Dialect,
}

/// One line of a script.
type Line<'a> = (u32, &'a str, Option<&'a [(i64, i64)]>);

fn dialect() -> Dialect {
    dialect_of("mysql", "9.7.0")
}

fn rows(keys: &[(i64, i64)]) -> Vec<Row> {
    keys.iter()
        .map(|&(p, v)| vec![Value::Integer(p), Value::Integer(v)])
        .collect()
}

fn script(level: IsolationLevel, claim: Option<IsolationLevel>, lines: &[Line<'_>]) -> Script {
    let dialect = dialect();
    let claim = claim.map_or(String::new(), |claim| format!("--! claim = \"{claim}\"\n"));
    let lines_of_case = lines
        .iter()
        .map(|(s, sql, _)| format!("/* s{s} */ {sql};\n"));
    let text = format!(
        "--! isolation = \"{level}\"\n{claim}\
         /* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT);\n{}",
        lines_of_case.collect::<String>()
    );
    let case = case_of(&text, &dialect);
    let execution = play(&case, lines);
    Script {
        case,
        execution,
        dialect,
    }
}

/// Every statement is answered at once; an observation follows where the line has one.
fn play(case: &TestCase, lines: &[Line<'_>]) -> Execution {
    let mut execution = Execution::default();
    let mut tick = 0;
    let mut next = || {
        tick += 1;
        Tick(tick)
    };
    for (statement, (_, _, seen)) in case.statements.iter().zip(lines) {
        let (sent, answered) = (next(), next());
        let id = statement.id;
        execution.events.push(ExecutionEvent {
            tick: sent,
            statement: id,
            kind: EventKind::Sent,
        });
        execution.events.push(ExecutionEvent {
            tick: answered,
            statement: id,
            kind: EventKind::Answered,
        });
        execution.records.insert(id, record(id, sent, answered));
        if statement.sql == "COMMIT" {
            let status = TransactionStatus::Committed(answered);
            execution.transactions.insert(id.transaction, status);
        } else if statement.sql == "ROLLBACK" {
            let status = TransactionStatus::Aborted(answered);
            execution.transactions.insert(id.transaction, status);
        }
        if let Some(seen) = seen {
            let tables = BTreeMap::from([("t".to_owned(), rows(seen))]);
            execution.observations.push(Observation {
                tick: next(),
                active: vec![id],
                tables,
            });
        }
    }
    execution
}

fn record(id: StatementId, sent: Tick, answered: Tick) -> StatementRecord {
    StatementRecord {
        id,
        sent,
        waiting: None,
        waited_for: Vec::new(),
        answered,
        outcome: Outcome::Affected(0),
        transaction_survives: true,
        counted: None,
        reported: None,
        command_tag: None,
    }
}

fn id(transaction: u32, position: u32) -> StatementId {
    StatementId {
        transaction: TransactionId(transaction),
        position,
    }
}

impl Script {
    fn learn(&self) -> Account {
        let initial = BTreeMap::from([("t".to_owned(), rows(&[(1, 10), (2, 20)]))]);
        let timeline = Timeline::new(&self.case, &self.execution, &self.dialect);
        learn(
            &self.case,
            &self.execution,
            &timeline,
            &initial,
            &self.dialect,
            Learner::Observer,
        )
    }

    /// The version keys that a statement sees in `t`, in row order.
    fn seen(&self, by: StatementId) -> Vec<i64> {
        let account = self.learn();
        assert_eq!(account.unexplained, Vec::<String>::new());
        account.views[&by]["t"]
            .values()
            .flatten()
            .filter_map(|&version| account.chains.row(version)?[1].as_integer())
            .collect()
    }
}

const UPDATE: &str = "UPDATE t SET vkey = 1000 WHERE pkey = 1";
const READ: &str = "SELECT * FROM t";
const AFTER: Option<&[(i64, i64)]> = Some(&[(1, 1000), (2, 20)]);

/// s1 reads, s2 changes row 1 and commits, s1 reads again (T1.3) and updates row 2 (T1.4).
fn read_twice(level: IsolationLevel, claim: Option<IsolationLevel>) -> Script {
    let lines: &[Line<'_>] = &[
        (1, "BEGIN", None),
        (1, READ, None),
        (2, "BEGIN", None),
        (2, UPDATE, AFTER),
        (2, "COMMIT", None),
        (1, READ, None),
        (
            1,
            "UPDATE t SET vkey = 1001 WHERE pkey = 2",
            Some(&[(1, 1000), (2, 1001)]),
        ),
        (1, READ, None),
        (1, "COMMIT", None),
    ];
    script(level, claim, lines)
}

#[test]
fn at_repeatable_read_a_select_keeps_its_snapshot_and_an_update_reads_current_rows() {
    let script = read_twice(IsolationLevel::RepeatableRead, None);
    assert_eq!(script.seen(id(1, 3)), [10, 20]);
    assert_eq!(script.seen(id(1, 4)), [1000, 20]);
    assert_eq!(script.seen(id(1, 5)), [10, 1001]);
}

/// Of a table that is not there nothing is read, and no snapshot is taken; a value out of range comes up
/// among the rows.
#[test]
fn a_select_that_is_refused_by_its_names_takes_no_snapshot() {
    for (class, sees) in [
        (ErrorClass::Missing, [1000, 20]),
        (ErrorClass::ReadOnly, [1000, 20]),
        (ErrorClass::Data, [10, 20]),
    ] {
        let mut script = read_twice(IsolationLevel::RepeatableRead, None);
        let refused = script.execution.records.get_mut(&id(1, 2));
        refused.expect("it ran").outcome = Outcome::Rejected(SqlError {
            code: String::new(),
            class,
            message: String::new(),
        });
        assert_eq!(script.seen(id(1, 3)), sees, "{class}");
    }
}

#[test]
fn at_read_committed_every_select_sees_what_is_committed() {
    let script = read_twice(IsolationLevel::ReadCommitted, None);
    assert_eq!(script.seen(id(1, 3)), [1000, 20]);
}

#[test]
fn a_claim_is_what_views_are_computed_by() {
    let claim = Some(IsolationLevel::RepeatableRead);
    let script = read_twice(IsolationLevel::ReadCommitted, claim);
    assert_eq!(script.seen(id(1, 3)), [10, 20]);
}

#[test]
fn uncommitted_rows_are_seen_by_their_writer_and_at_read_uncommitted_only() {
    let lines: &[Line<'_>] = &[
        (1, "BEGIN", None),
        (2, "BEGIN", None),
        (2, UPDATE, AFTER),
        (1, READ, None),
        (2, READ, None),
        (2, "ROLLBACK", None),
        (1, READ, None),
        (1, "COMMIT", None),
    ];
    let uncommitted = script(IsolationLevel::ReadUncommitted, None, lines);
    assert_eq!(uncommitted.seen(id(1, 2)), [1000, 20]);
    assert_eq!(uncommitted.seen(id(1, 3)), [10, 20]);
    let committed = script(IsolationLevel::ReadCommitted, None, lines);
    assert_eq!(committed.seen(id(1, 2)), [10, 20]);
    assert_eq!(committed.seen(id(2, 3)), [1000, 20]);
}

#[test]
fn a_return_to_a_savepoint_undoes_what_came_after_it() {
    let lines: &[Line<'_>] = &[
        (1, "BEGIN", None),
        (
            1,
            "UPDATE t SET vkey = 1001 WHERE pkey = 2",
            Some(&[(1, 10), (2, 1001)]),
        ),
        (1, "SAVEPOINT a", None),
        (1, UPDATE, Some(&[(1, 1000), (2, 1001)])),
        (1, "ROLLBACK TO SAVEPOINT a", None),
        (1, READ, None),
        (1, "COMMIT", None),
    ];
    let script = script(IsolationLevel::ReadCommitted, None, lines);
    assert_eq!(script.seen(id(1, 6)), [10, 1001]);
}

#[test]
fn deletes_and_inserts_have_their_own_place_in_the_chain() {
    let lines: &[Line<'_>] = &[
        (1, "BEGIN", None),
        (1, READ, None),
        (2, "DELETE FROM t WHERE pkey = 1", Some(&[(2, 20)])),
        (
            2,
            "INSERT INTO t (pkey, vkey) VALUES (3, 1002)",
            Some(&[(2, 20), (3, 1002)]),
        ),
        (1, READ, None),
        (1, "COMMIT", None),
    ];
    let mut script = script(IsolationLevel::RepeatableRead, None, lines);
    for transaction in [2, 3] {
        let tick = script.execution.records[&id(transaction, 1)].answered;
        script.execution.transactions.insert(
            TransactionId(transaction),
            TransactionStatus::Committed(tick),
        );
    }
    assert_eq!(script.seen(id(1, 3)), [10, 20]);
    let changes = script.learn().changes;
    assert_eq!(changes.len(), 2);
    assert_eq!(changes[&id(3, 1)][0].before, None);
}

#[test]
fn a_row_that_changes_though_nobody_wrote_it_is_told() {
    let lines: &[Line<'_>] = &[
        (1, "BEGIN", None),
        (1, UPDATE, Some(&[(1, 1000)])),
        (1, "COMMIT", None),
    ];
    let account = script(IsolationLevel::ReadCommitted, None, lines).learn();
    assert_eq!(
        account.unexplained,
        ["t: (2, 20) became no row, and no statement wrote it"]
    );
}

#[test]
fn a_row_seen_half_written_is_one_change_from_the_first_to_the_last() {
    let upsert = "INSERT INTO t (pkey, vkey) VALUES (1, 1000) ON DUPLICATE KEY UPDATE vkey = 1001";
    let lines: &[Line<'_>] = &[
        (1, "BEGIN", None),
        // It waits for the unique index, its row stands in the primary one: pkey 1 twice.
        (1, upsert, Some(&[(1, 10), (1, 1000), (2, 20)])),
        (1, READ, Some(&[(1, 1001), (2, 20)])),
        (1, "COMMIT", None),
    ];
    let mut script = script(IsolationLevel::RepeatableRead, None, lines);
    for observation in &mut script.execution.observations {
        observation.active = vec![id(1, 2)];
    }
    let account = script.learn();
    assert_eq!(account.unexplained, Vec::<String>::new());
    // Its own row came and went.
    let [_, change] = account.changes[&id(1, 2)].as_slice() else {
        panic!("{:?}", account.changes);
    };
    let version_key = |version| account.chains.row(version).map(|row| row[1].clone());
    assert_eq!(
        change.before.and_then(version_key),
        Some(Value::Integer(10))
    );
    assert_eq!(version_key(change.after), Some(Value::Integer(1001)));
}

#[test]
fn a_table_read_in_two_modes_by_a_statement_that_woke_with_a_write_is_given_up() {
    // The outer table is current, the subquery's the transaction's snapshot: only the former hangs
    // on whether the INSERT that woke at the same COMMIT went first.
    let lines: &[Line<'_>] = &[
        (3, "BEGIN", None),
        (3, "SELECT * FROM t WHERE pkey = 1 FOR UPDATE", None),
        (1, "BEGIN", None),
        (1, READ, None),
        (
            1,
            "SELECT pkey FROM t WHERE pkey NOT IN (SELECT r1.pkey FROM t AS r1 WHERE 'a' > 'a') FOR UPDATE",
            None,
        ),
        (2, "INSERT INTO t (pkey, vkey) VALUES (3, 1000)", None),
        (3, "COMMIT", None),
        (1, "COMMIT", None),
    ];
    let mut script = script(IsolationLevel::RepeatableRead, None, lines);
    // T3's COMMIT wakes both: the INSERT's answer comes first.
    let (select, insert, commit) = (id(2, 3), id(3, 1), id(1, 3));
    let at = |script: &Script, id| script.execution.records[&id].answered;
    let (woken, end) = (at(&script, commit), at(&script, id(2, 4)));
    for (late, statement) in [(1, insert), (2, select)] {
        let record = script.execution.records.get_mut(&statement).expect("sent");
        record.waiting = Some(record.answered);
        record.answered = Tick(woken.0 + late);
        for event in &mut script.execution.events {
            if event.statement == statement && event.kind == EventKind::Answered {
                event.tick = Tick(woken.0 + late);
            }
        }
    }
    // The last COMMIT comes after both.
    for event in &mut script.execution.events {
        if event.statement == id(2, 4) {
            event.tick = Tick(event.tick.0 + 4);
        }
    }
    let status = TransactionStatus::Committed(Tick(woken.0 + 1));
    script
        .execution
        .transactions
        .insert(TransactionId(3), status);
    script.execution.transactions.insert(
        TransactionId(2),
        TransactionStatus::Committed(Tick(end.0 + 4)),
    );
    script.execution.observations.push(Observation {
        tick: Tick(woken.0 + 3),
        active: vec![insert],
        tables: BTreeMap::from([("t".to_owned(), rows(&[(1, 10), (2, 20), (3, 1000)]))]),
    });
    script.execution.events.sort_by_key(|event| event.tick);
    let account = script.learn();
    assert_eq!(
        account.unsure.get(&select),
        Some(&UndecidedReason::WokenTogether)
    );
}

/// T1 (s1) holds row 1; T2 (s2, autocommit) updates it and waits; T3 (s3) reads; then T1 commits, or T2
/// resumes by itself before that. In front of it all, s4 runs `before` as one transaction.
fn reads_while_another_waits(resumes_by_itself: bool, before: &[&'static str]) -> Account {
    let mut lines: Vec<Line<'_>> = before.iter().map(|sql| (4, *sql, None)).collect();
    lines.extend([
        (1, "BEGIN", None),
        (1, "SELECT * FROM t WHERE pkey = 1 FOR UPDATE", None),
        (2, UPDATE, None),
        (3, READ, None),
        (1, "COMMIT", None),
    ]);
    let mut script = script(IsolationLevel::ReadCommitted, None, &lines);
    let shift = u32::from(!before.is_empty());
    let id = |transaction: u32, statement: u32| id(transaction + shift, statement);
    for record in script.execution.records.values_mut() {
        if shift > 0 && record.id.transaction == TransactionId(1) {
            record.outcome = Outcome::Affected(1);
        }
    }
    let (write, read) = (id(2, 1), id(3, 1));
    let end = script.execution.records[&id(1, 3)].answered;
    let read_at = script.execution.records[&read].answered;
    // Between the read's answer and the COMMIT, or after the COMMIT.
    let resumes = if resumes_by_itself { read_at } else { end };
    let shift = |tick: &mut Tick| {
        if *tick > resumes {
            tick.0 += 1;
        }
    };
    for event in &mut script.execution.events {
        shift(&mut event.tick);
    }
    for record in script.execution.records.values_mut() {
        shift(&mut record.sent);
        shift(&mut record.answered);
    }
    for status in script.execution.transactions.values_mut() {
        if let TransactionStatus::Committed(tick) = status {
            shift(tick);
        }
    }
    let resumed = Tick(resumes.0 + 1);
    let record = script.execution.records.get_mut(&write).expect("sent");
    record.waiting = Some(record.answered);
    record.waited_for = vec![id(1, 1).transaction];
    record.answered = resumed;
    for event in &mut script.execution.events {
        if event.statement == write && event.kind == EventKind::Answered {
            event.tick = resumed;
        }
    }
    let committed = TransactionStatus::Committed(resumed);
    script
        .execution
        .transactions
        .insert(write.transaction, committed);
    script.execution.events.sort_by_key(|event| event.tick);
    script.learn()
}

#[test]
fn a_read_beside_a_wait_that_nothing_released_is_given_up() {
    let reason = UndecidedReason::CommitAtAnUnknownMoment;
    let account = reads_while_another_waits(true, &[]);
    assert_eq!(account.unsure.get(&id(3, 1)), Some(&reason));
}

#[test]
fn a_read_beside_a_wait_that_a_commit_released_is_judged() {
    let account = reads_while_another_waits(false, &[]);
    assert_eq!(account.unsure.get(&id(3, 1)), None);
}

/// Purge of the row may have woken the waiter before the COMMIT that would have.
#[test]
fn a_read_beside_a_wait_in_a_table_that_lost_a_row_is_given_up() {
    let reason = UndecidedReason::CommitAtAnUnknownMoment;
    let removal = ["BEGIN", "DELETE FROM t WHERE pkey = 2", "COMMIT"];
    let account = reads_while_another_waits(false, &removal);
    assert_eq!(account.unsure.get(&id(4, 1)), Some(&reason));
}

#[test]
fn a_read_beside_a_wait_in_a_table_that_lost_no_row_is_judged() {
    for before in [
        "INSERT INTO t VALUES (5, 50)",
        "UPDATE t SET vkey = 50 WHERE pkey = 2",
        "SELECT * FROM t WHERE pkey = 2",
    ] {
        let account = reads_while_another_waits(false, &["BEGIN", before, "COMMIT"]);
        assert_eq!(account.unsure.get(&id(4, 1)), None, "{before}");
    }
}
