//! A run written line by line, judged by `troc` with SQLite for the serial run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::dialect::{Dialect, dialect_of};
use crate::engine::{self, EngineError, OpenOptions};
use crate::execute::{Driver, Executor, SerialRun};
use crate::model::{
    EventKind, Execution, ExecutionEvent, IsolationLevel, Observation, Outcome, Row, SessionId,
    SqlError, StatementId, StatementRecord, TestCase, Tick, TransactionStatus, Value, Verdict,
};
use crate::observe::Learner;
use crate::oracle::{Evidence, Oracle, Troc};
use crate::reproducer::case_of;

/// Rows of `t`.
pub(in crate::oracle) type Rows = &'static [[i64; 3]];

/// One line of a script.
pub(in crate::oracle) enum Line {
    /// A statement of this session that is answered at once: rows affected.
    Answers(u32, &'static str, u64),
    /// The same with rows.
    Reads(u32, &'static str, Rows),
    /// The same with an error.
    Fails(u32, &'static str, SqlError),
    /// A statement that is seen waiting.
    Waits(u32, &'static str),
    /// The answer of the statement of this session that waits: rows affected.
    Resumes(u32, u64),
    /// The same with rows.
    Returns(u32, Rows),
    /// The same with an error.
    Refused(u32, SqlError),
    /// What the observer sees of `t`.
    Stands(Rows),
}

/// A run under judgement.
pub(in crate::oracle) struct Script {
    case: TestCase,
    execution: Execution,
    dialect: Dialect,
    /// The same set-up for SQLite.
    serial: TestCase,
}

fn rows(rows: &[[i64; 3]]) -> Vec<Row> {
    rows.iter()
        .map(|row| row.iter().copied().map(Value::Integer).collect())
        .collect()
}

impl Script {
    pub(in crate::oracle) fn new(
        level: IsolationLevel,
        table: &str,
        initial: &[[i64; 3]],
        lines: &[Line],
    ) -> Self {
        Self::on(dialect_of("mysql", "9.7.0"), level, table, initial, lines)
    }

    /// As an engine of this dialect would have run it.
    pub(super) fn on(
        dialect: Dialect,
        level: IsolationLevel,
        table: &str,
        initial: &[[i64; 3]],
        lines: &[Line],
    ) -> Self {
        let values: Vec<String> = initial
            .iter()
            .map(|[p, v, c]| format!("({p}, {v}, {c})"))
            .collect();
        let mut text = format!(
            "--! isolation = \"{level}\"\n/* init */ {table};\n/* init */ INSERT INTO t VALUES {};\n",
            values.join(", ")
        );
        for line in lines {
            if let Line::Answers(session, sql, _)
            | Line::Reads(session, sql, _)
            | Line::Fails(session, sql, _)
            | Line::Waits(session, sql) = line
            {
                text.push_str(&format!("/* s{session} */ {sql};\n"));
            }
        }
        let case = case_of(&text, &dialect);
        let mut player = Player::default();
        let mut statements = case.statements.iter();
        for line in lines {
            player.play(line, &mut statements);
        }
        let mut execution = player.execution;
        for statement in &case.statements {
            let record = &execution.records[&statement.id];
            let accepted = record.outcome.error_class().is_none();
            if accepted && !case.is_explicit(statement.id.transaction) {
                let status = TransactionStatus::Committed(record.answered);
                execution
                    .transactions
                    .insert(statement.id.transaction, status);
            }
        }
        let last = lines.iter().rev().find_map(|line| match line {
            Line::Stands(seen) => Some(rows(seen)),
            Line::Answers(..)
            | Line::Reads(..)
            | Line::Fails(..)
            | Line::Waits(..)
            | Line::Resumes(..)
            | Line::Returns(..)
            | Line::Refused(..) => None,
        });
        let last = last.unwrap_or_else(|| rows(initial));
        execution.final_state.insert("t".to_owned(), last);
        Self {
            serial: case.clone(),
            case,
            execution,
            dialect,
        }
    }

    /// Judged by this level.
    pub(super) fn claimed(mut self, claim: IsolationLevel) -> Self {
        self.case.claim = Some(claim);
        self
    }

    pub(super) fn verdict(self) -> Verdict {
        self.learned(|evidence, serial| {
            let troc = Troc {
                learner: Learner::Observer,
            };
            troc.judge(evidence, serial).expect("an answer").verdict
        })
    }

    /// What comes of the run once everything is learned of it, and nothing left in doubt.
    pub(in crate::oracle) fn learned<T>(
        self,
        judge: impl FnOnce(&Evidence, &mut dyn SerialRun) -> T,
    ) -> T {
        let server = engine::open("sqlite:", &OpenOptions::default()).expect("it comes along");
        let mut driver = Driver::open(&*server, "rashomon_view_tests").expect("a driver");
        let result = {
            let inner = driver.serial(&self.serial).expect("a serial run");
            let mut serial = LikeMySql { inner };
            let evidence = Evidence::of_answers(self.case, self.execution, Arc::new(self.dialect));
            let learned = evidence.learn(Learner::Observer, &mut serial);
            let evidence = learned.expect("rows");
            assert_eq!(evidence.account.unexplained, Vec::<String>::new());
            assert_eq!(evidence.account.unsure, BTreeMap::new());
            judge(&evidence, &mut serial)
        };
        driver.close().expect("the database goes");
        result
    }
}

#[derive(Default)]
struct Player {
    execution: Execution,
    tick: u32,
    waiting: BTreeMap<SessionId, (StatementId, Tick, Tick)>,
    active: BTreeSet<StatementId>,
}

impl Player {
    fn next(&mut self) -> Tick {
        self.tick += 1;
        Tick(self.tick)
    }

    fn play<'c>(
        &mut self,
        line: &Line,
        statements: &mut impl Iterator<Item = &'c crate::model::CaseStatement>,
    ) {
        match line {
            Line::Answers(_, sql, count) => {
                let statement = statements.next().expect("as many as lines");
                let sent = self.sent(statement.id);
                let at = self.answered(statement.id, sent, None, Outcome::Affected(*count));
                let transaction = statement.id.transaction;
                if *sql == "COMMIT" {
                    let status = TransactionStatus::Committed(at);
                    self.execution.transactions.insert(transaction, status);
                }
            }
            Line::Reads(_, _, seen) => {
                let statement = statements.next().expect("as many as lines");
                let sent = self.sent(statement.id);
                self.answered(statement.id, sent, None, Outcome::Rows(rows(seen)));
            }
            Line::Fails(_, _, error) => {
                let statement = statements.next().expect("as many as lines");
                let sent = self.sent(statement.id);
                self.answered(statement.id, sent, None, Outcome::Rejected(error.clone()));
            }
            Line::Waits(session, _) => {
                let statement = statements.next().expect("as many as lines");
                let sent = self.sent(statement.id);
                let at = self.next();
                self.event(at, statement.id, EventKind::Waiting);
                let wait = (statement.id, sent, at);
                self.waiting.insert(SessionId(*session), wait);
            }
            Line::Resumes(session, count) => self.resumes(*session, Outcome::Affected(*count)),
            Line::Returns(session, seen) => self.resumes(*session, Outcome::Rows(rows(seen))),
            Line::Refused(session, error) => {
                self.resumes(*session, Outcome::Rejected(error.clone()));
            }
            Line::Stands(seen) => {
                let tick = self.next();
                self.execution.observations.push(Observation {
                    tick,
                    active: std::mem::take(&mut self.active).into_iter().collect(),
                    tables: BTreeMap::from([("t".to_owned(), rows(seen))]),
                });
            }
        }
    }

    fn resumes(&mut self, session: u32, outcome: Outcome) {
        let wait = self.waiting.remove(&SessionId(session));
        let (id, sent, waiting) = wait.expect("it waits");
        self.answered(id, sent, Some(waiting), outcome);
    }

    fn sent(&mut self, id: StatementId) -> Tick {
        let tick = self.next();
        self.event(tick, id, EventKind::Sent);
        self.active.insert(id);
        tick
    }

    fn answered(
        &mut self,
        id: StatementId,
        sent: Tick,
        waiting: Option<Tick>,
        outcome: Outcome,
    ) -> Tick {
        let answered = self.next();
        self.event(answered, id, EventKind::Answered);
        self.active.insert(id);
        let record = StatementRecord {
            id,
            sent,
            waiting,
            waited_for: Vec::new(),
            answered,
            outcome,
            transaction_survives: true,
            counted: None,
            reported: None,
            command_tag: None,
        };
        self.execution.records.insert(id, record);
        answered
    }

    fn event(&mut self, tick: Tick, statement: StatementId, kind: EventKind) {
        self.execution.events.push(ExecutionEvent {
            tick,
            statement,
            kind,
        });
    }
}

/// SQLite, which has no lock clauses, counting rows that changed, as MySQL does, not rows that an UPDATE
/// found.
struct LikeMySql<'s> {
    inner: Box<dyn SerialRun + 's>,
}

impl SerialRun for LikeMySql<'_> {
    fn reset(&mut self) -> Result<(), EngineError> {
        self.inner.reset()
    }

    fn rest(&mut self, time: Duration) {
        self.inner.rest(time);
    }

    fn run(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        if !sql.starts_with("UPDATE") {
            return self.inner.run(sql.trim_end_matches(" FOR UPDATE"));
        }
        let before = self.inner.contents("t")?;
        let outcome = self.inner.run(sql)?;
        if outcome.error_class().is_some() {
            return Ok(outcome);
        }
        let after = self.inner.contents("t")?;
        let changed = before.iter().filter(|row| !after.contains(row)).count();
        Ok(Outcome::Affected(changed as u64))
    }

    fn run_without_foreign_keys(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.inner.run_without_foreign_keys(sql)
    }

    fn adopt(&mut self, mode: Option<&str>) -> Result<(), EngineError> {
        self.inner.adopt(mode)
    }

    fn count_from(&mut self, first: i64) -> Result<(), EngineError> {
        self.inner.count_from(first)
    }

    fn contents(&mut self, table: &str) -> Result<Vec<Row>, EngineError> {
        self.inner.contents(table)
    }

    fn replace_rows(
        &mut self,
        table: &str,
        remove: &[Row],
        insert: &[Row],
    ) -> Result<(), EngineError> {
        self.inner.replace_rows(table, remove, insert)
    }
}
