//! Runs written step by step, and a connection without concurrency that keeps its rows in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::dialect::{Dialect, ServerVersion, builtin, parse};
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{
    ErrorClass, EventKind, Execution, ExecutionEvent, IsolationLevel, Observation, Outcome, Row,
    SessionId, SqlError, StatementId, StatementRecord, TestCase, Tick, TransactionId,
    TransactionStatus, Value, Verdict,
};
use crate::observe::{Learner, Timeline, learn};
use crate::oracle::{Evidence, Oracle, Ruling};
use crate::reproducer::case_of;

use super::super::LockOracle;

/// `t (pkey, vkey)` as the set-up leaves it.
const INITIAL: &[(i64, i64)] = &[(1, 10), (2, 20), (3, 90)];

const TABLE: &str = "pkey INT PRIMARY KEY, vkey INT";

/// What a statement gave.
#[derive(Clone, Copy, Debug)]
pub(super) enum Got {
    Rows(&'static [(i64, i64)]),
    Affected(u64),
    /// For a lock, at once.
    Refused,
}

#[derive(Clone, Copy, Debug)]
enum Happens {
    Answered(Got),
    Waits,
    /// What the session waited for is gone.
    Resumes(Got),
    /// The session's transaction is a deadlock's victim.
    Victim,
}

/// One thing that happens in a run, and what the observer then saw of `t`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    session: u32,
    /// None where a statement that waited is answered.
    sql: Option<&'static str>,
    happens: Happens,
    then: Option<&'static [(i64, i64)]>,
    /// The session that it waits for, where the lock view says it.
    named: Option<u32>,
}

impl Step {
    pub(super) fn sent(session: u32, sql: &'static str, got: Got) -> Self {
        Self {
            session,
            sql: Some(sql),
            happens: Happens::Answered(got),
            then: None,
            named: None,
        }
    }

    /// A statement of control.
    pub(super) fn done(session: u32, sql: &'static str) -> Self {
        Self::sent(session, sql, Got::Affected(0))
    }

    /// A write of one row.
    pub(super) fn write(session: u32, sql: &'static str, then: &'static [(i64, i64)]) -> Self {
        Self {
            then: Some(then),
            ..Self::sent(session, sql, Got::Affected(1))
        }
    }

    pub(super) fn waits(session: u32, sql: &'static str) -> Self {
        Self {
            happens: Happens::Waits,
            ..Self::done(session, sql)
        }
    }

    pub(super) fn waits_for(session: u32, sql: &'static str, named: u32) -> Self {
        Self {
            named: Some(named),
            ..Self::waits(session, sql)
        }
    }

    /// The write that waited has changed every row that is another now.
    pub(super) fn resumes(session: u32, then: &'static [(i64, i64)]) -> Self {
        let changed = then.iter().filter(|(_, vkey)| *vkey == 1001).count();
        Self {
            session,
            sql: None,
            happens: Happens::Resumes(Got::Affected(changed as u64)),
            then: Some(then),
            named: None,
        }
    }

    /// A read that waited is answered.
    pub(super) fn answered(session: u32, got: Got) -> Self {
        Self {
            session,
            sql: None,
            happens: Happens::Resumes(got),
            then: None,
            named: None,
        }
    }

    pub(super) fn victim(session: u32, then: &'static [(i64, i64)]) -> Self {
        Self {
            session,
            sql: None,
            happens: Happens::Victim,
            then: Some(then),
            named: None,
        }
    }
}

fn rows(rows: &[(i64, i64)]) -> Vec<Row> {
    let row = |&(pkey, vkey): &(i64, i64)| vec![Value::Integer(pkey), Value::Integer(vkey)];
    rows.iter().map(row).collect()
}

fn outcome(got: Got) -> Outcome {
    match got {
        Got::Rows(found) => Outcome::Rows(rows(found)),
        Got::Affected(count) => Outcome::Affected(count),
        Got::Refused => rejected("3572", ErrorClass::LockTimeout),
    }
}

fn rejected(code: &str, class: ErrorClass) -> Outcome {
    Outcome::Rejected(SqlError {
        code: code.to_owned(),
        class,
        message: String::new(),
    })
}

fn mysql() -> Dialect {
    mysql_with(|text| text.to_owned())
}

/// MySQL by a dialect file that was changed.
fn mysql_with(change: impl Fn(&str) -> String) -> Dialect {
    let changed = change(builtin("mysql").expect("listed"));
    let version = "9.7.0".parse::<ServerVersion>().expect("never fails");
    parse("mysql", &changed, &version).expect("valid")
}

/// With one more capability.
fn also(text: &str, capability: &str) -> String {
    let list = "capabilities = [\n";
    text.replacen(
        list,
        &format!("{list}  {{ name = \"{capability}\" }},\n"),
        1,
    )
}

pub(super) fn case(level: IsolationLevel, steps: &[Step], dialect: &Dialect) -> TestCase {
    case_of_table(TABLE, level, steps, dialect)
}

fn case_of_table(
    table: &str,
    level: IsolationLevel,
    steps: &[Step],
    dialect: &Dialect,
) -> TestCase {
    let sent = steps
        .iter()
        .filter_map(|step| Some((step.session, step.sql?)));
    let lines: String = sent
        .map(|(s, sql)| format!("/* s{s} */ {sql};\n"))
        .collect();
    let text = format!(
        "--! isolation = \"{level}\"\n\
         /* init */ CREATE TABLE t ({table});\n{lines}"
    );
    case_of(&text, dialect)
}

/// The record of a run, written as its steps say.
#[derive(Default)]
struct Scribe {
    execution: Execution,
    tick: u32,
    /// The statement of each session that was sent last.
    last: BTreeMap<SessionId, (StatementId, Tick, Option<Tick>)>,
    /// Whom the statement under way in a session was seen waiting for.
    waited_for: BTreeMap<SessionId, TransactionId>,
}

impl Scribe {
    fn event(&mut self, statement: StatementId, kind: EventKind) -> Tick {
        self.tick += 1;
        let tick = Tick(self.tick);
        self.execution.events.push(ExecutionEvent {
            tick,
            statement,
            kind,
        });
        tick
    }

    fn answered(&mut self, session: SessionId, outcome: Outcome, sql: &str, explicit: bool) {
        let (id, sent, waiting) = self.last[&session];
        let answered = self.event(id, EventKind::Answered);
        let victim = outcome.error_class() == Some(ErrorClass::Deadlock);
        let status = match sql {
            "COMMIT" => Some(TransactionStatus::Committed(answered)),
            "ROLLBACK" => Some(TransactionStatus::Aborted(answered)),
            _ if victim => Some(TransactionStatus::Aborted(answered)),
            _ => (!explicit).then_some(TransactionStatus::Committed(answered)),
        };
        if let Some(status) = status {
            self.execution.transactions.insert(id.transaction, status);
        }
        let record = StatementRecord {
            id,
            sent,
            waiting,
            waited_for: self.waited_for.remove(&session).into_iter().collect(),
            answered,
            outcome,
            transaction_survives: !victim,
            counted: None,
            reported: None,
            command_tag: None,
        };
        self.execution.records.insert(id, record);
    }
}

fn play(case: &TestCase, steps: &[Step]) -> Execution {
    let mut scribe = Scribe::default();
    let mut statements = case.statements.iter();
    let mut active = Vec::new();
    for step in steps {
        let session = SessionId(step.session);
        if step.sql.is_some() {
            let id = statements.next().expect("a statement for each text").id;
            let sent = scribe.event(id, EventKind::Sent);
            scribe.last.insert(session, (id, sent, None));
        }
        let (id, sent, _) = scribe.last[&session];
        let explicit = case.is_explicit(id.transaction);
        let sql = step.sql.unwrap_or_default();
        active.push(id);
        match step.happens {
            Happens::Waits => {
                let waiting = scribe.event(id, EventKind::Waiting);
                scribe.last.insert(session, (id, sent, Some(waiting)));
                if let Some(named) = step.named {
                    let holder = scribe.last[&SessionId(named)].0.transaction;
                    scribe.waited_for.insert(session, holder);
                }
            }
            Happens::Answered(got) | Happens::Resumes(got) => {
                scribe.answered(session, outcome(got), sql, explicit);
            }
            Happens::Victim => {
                let deadlock = rejected("1213", ErrorClass::Deadlock);
                scribe.answered(session, deadlock, sql, explicit);
            }
        }
        if let Some(then) = step.then {
            scribe.tick += 1;
            scribe.execution.observations.push(Observation {
                tick: Tick(scribe.tick),
                active: std::mem::take(&mut active),
                tables: BTreeMap::from([("t".to_owned(), rows(then))]),
            });
        }
    }
    scribe.execution
}

/// `t` without concurrency; a SELECT finds by its condition, `column < number` or `column = number`, or
/// every row.
struct InMemory {
    now: Vec<Row>,
}

impl InMemory {
    fn found(&self, sql: &str) -> Vec<Row> {
        let condition = sql.split_once(" WHERE ").map(|(_, condition)| condition);
        let mut words = condition
            .unwrap_or_default()
            .split([' ', '(', ')'])
            .filter(|word| !word.is_empty());
        let place = if words.next() == Some("pkey") { 0 } else { 1 };
        let sign = words.next();
        let bound: Option<i64> = words.find_map(|word| word.parse().ok());
        let fits = |row: &&Row| {
            let value = row[place].as_integer();
            match sign {
                Some("<") => value < bound,
                Some("=") => value == bound,
                _ => true,
            }
        };
        self.now.iter().filter(fits).cloned().collect()
    }
}

impl SerialRun for InMemory {
    fn reset(&mut self) -> Result<(), EngineError> {
        self.now = rows(INITIAL);
        Ok(())
    }

    fn rest(&mut self, _: Duration) {}

    fn run(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        assert!(sql.starts_with("SELECT"), "{sql}");
        let found = self.found(sql);
        let count = i64::try_from(found.len()).expect("few");
        Ok(Outcome::Rows(if sql.contains("COUNT(*)") {
            vec![vec![Value::Integer(count)]]
        } else {
            found
        }))
    }

    fn run_without_foreign_keys(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        // The one table refers to none.
        self.run(sql)
    }

    fn adopt(&mut self, _: Option<&str>) -> Result<(), EngineError> {
        Ok(())
    }

    fn count_from(&mut self, _: i64) -> Result<(), EngineError> {
        // The one table has no counter.
        Ok(())
    }

    fn contents(&mut self, _: &str) -> Result<Vec<Row>, EngineError> {
        Ok(self.now.clone())
    }

    fn replace_rows(&mut self, _: &str, remove: &[Row], insert: &[Row]) -> Result<(), EngineError> {
        self.now.retain(|row| !remove.contains(row));
        self.now.extend_from_slice(insert);
        Ok(())
    }
}

/// The verdict about a run, in words, and the statements that were compared.
pub(super) fn judge(level: IsolationLevel, steps: &[Step]) -> (String, Vec<String>) {
    judge_by(mysql(), level, steps)
}

/// The verdict about a run on an engine that passes over rows whose committed version is unfit.
pub(super) fn run_passing_over(level: IsolationLevel, steps: &[Step]) -> String {
    let passing = |text: &str| also(text, "passes-over-unfit-rows");
    judge_by(mysql_with(passing), level, steps).0
}

/// The verdict about a run on an engine whose writes outside of a transaction lock what they change alone.
pub(super) fn run_with_light_writes(level: IsolationLevel, steps: &[Step]) -> String {
    let light = |text: &str| also(text, "lone-writes-lock-changes");
    judge_by(mysql_with(light), level, steps).0
}

/// The verdict about a run on an engine that locks keys which are looked up and not there, at READ COMMITTED.
pub(super) fn run_locking_absent_keys(level: IsolationLevel, steps: &[Step]) -> String {
    let list = "capabilities = [\n";
    let levels = "locks-absent-keys = [\"read-committed\"]";
    let locking = |text: &str| text.replacen(list, &format!("{levels}\n{list}"), 1);
    judge_by(mysql_with(locking), level, steps).0
}

/// The verdict about a run on an engine that does not say whom a statement waits for.
pub(super) fn run_without_names(level: IsolationLevel, steps: &[Step]) -> String {
    let nameless = |text: &str| text.replace("names-blockers", "replace");
    judge_by(mysql_with(nameless), level, steps).0
}

/// The verdict about a run on an engine whose locks may outlive the answer of the end.
pub(super) fn run_releasing_late(level: IsolationLevel, steps: &[Step]) -> String {
    let late = |text: &str| also(text, "locks-outlive-end");
    judge_by(mysql_with(late), level, steps).0
}

/// The verdict about a run on an engine that has PostgreSQL's locks of tables.
pub(super) fn run_with_table_locks(level: IsolationLevel, steps: &[Step]) -> String {
    let postgres = builtin("postgres").expect("listed");
    let rules = postgres.split("\n\n");
    let mut rules = rules.filter(|part| part.contains("\n[table-locks]\n"));
    let rules = rules.next().expect("a part of its own");
    let locking = |text: &str| format!("{}\n{rules}\n", also(text, "lock-table"));
    judge_by(mysql_with(locking), level, steps).0
}

/// The verdict about a run in which the table has an index beside its primary key.
pub(super) fn run_with_an_index(level: IsolationLevel, steps: &[Step]) -> String {
    let table = format!("{TABLE}, KEY (vkey)");
    judge_in(&table, mysql(), level, steps).0
}

fn judge_by(dialect: Dialect, level: IsolationLevel, steps: &[Step]) -> (String, Vec<String>) {
    judge_in(TABLE, dialect, level, steps)
}

fn judge_in(
    table: &str,
    dialect: Dialect,
    level: IsolationLevel,
    steps: &[Step],
) -> (String, Vec<String>) {
    let dialect = Arc::new(dialect);
    let case = case_of_table(table, level, steps, &dialect);
    let execution = play(&case, steps);
    let initial = BTreeMap::from([("t".to_owned(), rows(INITIAL))]);
    let timeline = Timeline::new(&case, &execution, &dialect);
    let account = learn(
        &case,
        &execution,
        &timeline,
        &initial,
        &dialect,
        Learner::Observer,
    );
    assert_eq!(account.unexplained, Vec::<String>::new());
    let evidence = Evidence {
        initial,
        account,
        ..Evidence::of_answers(case, execution, dialect)
    };
    let mut serial = InMemory { now: rows(INITIAL) };
    let Ruling {
        verdict, tested, ..
    } = LockOracle.judge(&evidence, &mut serial).expect("no engine");
    let text = match &verdict {
        Verdict::Violation(finding) => {
            let id = finding.differences[0].statement.expect("a statement");
            let waits = finding.differences[0].expected.strip_prefix("waits for ");
            let against = finding
                .signature
                .features
                .iter()
                .find_map(|f| f.strip_prefix("against:"));
            let holder = holder(&evidence.case, waits, against);
            format!("{} {id}{holder}", finding.signature.kind)
        }
        Verdict::Agree => "agree".to_owned(),
        other @ (Verdict::Known(_) | Verdict::Undecided(_) | Verdict::Flaky { .. }) => {
            other.to_string()
        }
    };
    (text, tested.iter().map(StatementId::to_string).collect())
}

/// The statement whose locks were missed, as far as the finding tells.
fn holder(case: &TestCase, waits: Option<&str>, against: Option<&str>) -> String {
    let Some(kind) = against else {
        return String::new();
    };
    let of = |s: &&crate::model::CaseStatement| {
        let transaction = s.id.transaction.to_string();
        s.effect.kind.slug() == kind && waits.is_none_or(|waits| waits == transaction)
    };
    let found = case.user_statements().find(of);
    found.map_or(String::new(), |s| format!(" against {}", s.id))
}

pub(super) fn run(level: IsolationLevel, steps: &[Step]) -> String {
    judge(level, steps).0
}
