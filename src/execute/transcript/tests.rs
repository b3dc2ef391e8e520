//! What people read, as they read it.

use expect_test::{Expect, expect};

use super::*;
use crate::model::{
    Effect, ErrorClass, ExecutionEvent, IsolationLevel, SessionId, SqlError, StatementId,
    StatementKind, Tick, UndecidedReason,
};

/// Builds a case and its execution from lines `session | kind | sql | event..`, where an event is
/// `sent`, `waiting` or an outcome. Each line is one event, so that a statement that waits has two.
struct Script {
    lines: Vec<(SessionId, String, Effect)>,
    answers: Vec<(usize, EventKind, Option<Outcome>)>,
}

impl Script {
    fn new() -> Self {
        Self {
            lines: Vec::new(),
            answers: Vec::new(),
        }
    }

    fn send(mut self, session: u32, kind: StatementKind, sql: &str) -> Self {
        let effect = Effect::of_kind(kind);
        self.lines
            .push((SessionId(session), sql.to_owned(), effect));
        self.answers
            .push((self.lines.len() - 1, EventKind::Sent, None));
        self
    }

    fn answer(self, outcome: Outcome) -> Self {
        let line = self.lines.len();
        self.answer_of(line, outcome)
    }

    fn waits(mut self) -> Self {
        self.answers
            .push((self.lines.len() - 1, EventKind::Waiting, None));
        self
    }

    /// The answer of the n-th statement sent, counted from 1.
    fn answer_of(mut self, line: usize, outcome: Outcome) -> Self {
        self.answers
            .push((line - 1, EventKind::Answered, Some(outcome)));
        self
    }

    fn check(
        self,
        rest: &[(u32, StatementKind, &str)],
        more: impl FnOnce(&mut Execution),
        expect: &Expect,
    ) {
        let mut lines = self.lines;
        lines.extend(
            rest.iter()
                .map(|(s, kind, sql)| (SessionId(*s), (*sql).to_owned(), Effect::of_kind(*kind))),
        );
        let isolation = lines
            .iter()
            .map(|(session, _, _)| (*session, IsolationLevel::ReadCommitted))
            .collect();
        let case = TestCase::new(Vec::new(), Vec::new(), lines, isolation, None);
        let mut execution = Execution::default();
        let mut waiting: BTreeMap<StatementId, Tick> = BTreeMap::new();
        for (tick, (line, kind, outcome)) in (1..).map(Tick).zip(self.answers) {
            let statement = case.statements[line].id;
            execution.events.push(ExecutionEvent {
                tick,
                statement,
                kind,
            });
            if kind == EventKind::Waiting {
                waiting.insert(statement, tick);
            }
            if let Some(outcome) = outcome {
                let waiting = waiting.get(&statement).copied();
                let record = StatementRecord {
                    id: statement,
                    sent: tick,
                    waiting,
                    waited_for: waiting.map(|_| TransactionId(1)).into_iter().collect(),
                    answered: tick,
                    outcome,
                    transaction_survives: false,
                    counted: None,
                    reported: None,
                    command_tag: None,
                };
                execution.records.insert(statement, record);
            }
        }
        more(&mut execution);
        expect.assert_eq(&transcript(&case, &execution));
    }
}

fn rows(rows: &[&[i64]]) -> Vec<Row> {
    rows.iter()
        .map(|row| row.iter().map(|value| Value::Integer(*value)).collect())
        .collect()
}

const DONE: Outcome = Outcome::Affected(0);

#[test]
fn a_wait_shows_its_start_its_end_and_the_blocking_transaction() {
    use StatementKind::{Begin, Commit, Select, Update};
    Script::new()
        .send(1, Begin, "BEGIN")
        .answer(DONE)
        .send(1, Update, "UPDATE t SET v = v + 1 WHERE pkey = 1")
        .answer(Outcome::Affected(1))
        .send(2, Begin, "BEGIN")
        .answer(DONE)
        .send(2, Update, "UPDATE t SET v = v + 100, vkey = 1003 WHERE pkey = 1")
        .waits()
        .send(1, Commit, "COMMIT")
        .answer(DONE)
        .answer_of(4, Outcome::Affected(1))
        .send(2, Select, "SELECT pkey, v FROM t WHERE v IN (SELECT MAX(v) FROM t AS a JOIN u ON a.pkey = u.pkey) AND v > 3 ORDER BY pkey")
        .answer(Outcome::Rows(rows(&[&[1, 111], &[2, 20], &[3, 30], &[4, 40], &[5, 50], &[6, 60]])))
        .send(2, Commit, "COMMIT")
        .answer(DONE)
        .check(
            &[],
            |execution| {
                execution.final_state.insert("t".to_owned(), rows(&[&[1, 111], &[2, 20]]));
                execution.final_state.insert("long_name".to_owned(), Vec::new());
            },
            &expect![[r#"
                s1      T1.1  BEGIN
                s1      T1.2  UPDATE t SET v = v + 1 WHERE pkey = 1      -> 1 row affected
                    s2  T2.1  BEGIN
                    s2  T2.2  UPDATE t SET v = v + 100, vkey = 1003 WHERE pkey = 1  <waiting for T1>
                s1      T1.3  COMMIT
                    s2  T2.2  <resumed>                                  -> 1 row affected
                    s2  T2.3  SELECT pkey, v FROM t WHERE v IN (SELECT MAX(v) FROM t AS a JOIN u ON a.pkey = u.pkey)
                                AND v > 3 ORDER BY pkey               -> 6 rows: (1, 111) (2, 20) (3, 30) ... 3 more
                    s2  T2.4  COMMIT
                in the end
                  long_name  no rows
                  t          2 rows: (1, 111) (2, 20)
            "#]],
        );
}

#[test]
fn a_victim_shows_that_its_remaining_statements_were_not_sent() {
    use StatementKind::{Begin, Commit, Update};
    let deadlock = Outcome::Rejected(SqlError {
        code: "1213".to_owned(),
        class: ErrorClass::Deadlock,
        message: "Deadlock found when trying to get lock; try restarting transaction".to_owned(),
    });
    Script::new()
        .send(3, Begin, "BEGIN")
        .answer(DONE)
        .send(3, Update, "UPDATE t SET v = 1 WHERE pkey = 2")
        .waits()
        .answer(deadlock)
        .send(1, Begin, "START TRANSACTION")
        .answer(DONE)
        .check(
            &[(3, Update, "UPDATE t SET v = 2"), (3, Commit, "COMMIT")],
            |execution| {
                let aborted = TransactionStatus::Aborted(Tick(9));
                execution.transactions.insert(TransactionId(1), aborted);
                execution.transactions.insert(TransactionId(2), aborted);
                execution.unreliable = Some(UndecidedReason::BlockedByTimer);
            },
            &expect![[r#"
                    s3  T1.1  BEGIN
                    s3  T1.2  UPDATE t SET v = 1 WHERE pkey = 2          <waiting for T1>
                    s3  T1.2  <resumed>
                                -> deadlock (1213): Deadlock found when trying to get lock; try restarting transaction
                s1      T2.1  START TRANSACTION
                T1 was aborted by the engine; its last 2 statements were not sent
                T2 was left open and rolled back
                this run is no evidence: blocked-by-timer
            "#]],
        );
}

#[test]
fn a_transaction_whose_begin_was_refused_was_not_aborted() {
    use StatementKind::{BeginImmediate, Commit, Select};
    let busy = Outcome::Rejected(SqlError {
        code: "5".to_owned(),
        class: ErrorClass::Busy,
        message: "database is locked".to_owned(),
    });
    Script::new()
        .send(1, BeginImmediate, "BEGIN IMMEDIATE")
        .answer(busy)
        .check(
            &[(1, Select, "SELECT * FROM t"), (1, Commit, "COMMIT")],
            |execution| {
                let aborted = TransactionStatus::Aborted(Tick(2));
                execution.transactions.insert(TransactionId(1), aborted);
            },
            &expect![[r#"
                s1  T1.1  BEGIN IMMEDIATE                              -> busy (5): database is locked
                T1 did not begin; its last 2 statements were not sent
            "#]],
        );
}

#[test]
fn control_characters_in_answers_and_statements_are_escaped() {
    use StatementKind::{Select, Update};
    let text = Value::Text("\u{1b}[2Jx\u{202e}\u{7}".to_owned());
    Script::new()
        .send(1, Select, "SELECT 'a\u{1b}[31m'\n  FROM t")
        .answer(Outcome::Rows(vec![vec![text, Value::Null]]))
        .send(1, Update, "UPDATE t SET c0 = 'a long text that goes on and on' WHERE c1 = 'another one of them' OR c2 = 'and so on'")
        .check(&[], |_| {}, &expect![[r#"
            s1  T1.1  SELECT 'a\u{1b}[31m'   FROM t                -> 1 row: (x'1b5b324a78e280ae07', NULL)
            s1  T2.1  UPDATE t SET c0 = 'a long text that goes on and on' WHERE c1 = 'another one of them' OR c2
                        = 'and so on'                              <no answer>
        "#]]);
}
