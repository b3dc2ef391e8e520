//! History: the case as reads and writes of keys, checked against the consistency model that its
//! level promises (the dialect's `[promises]`).
//!
//! It needs no schedule, no probe and no second run: whatever the sessions were answered is a
//! history, and a checker decides. Every statement must read or write one value by its key.
//! `docs/oracle-history.md` says what this claims and what it may miss.

mod answers;
mod class;
mod orders;
mod stale;
mod unfinished;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use self::answers::only_number;
use self::orders::write_orders;
use self::stale::OutdatedRead;
use super::signature::finding_levels;
use super::{Evidence, Needs, Oracle, Ruling};
use crate::checker::{self, Answer, Budget, Counterexample};
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::history::{self, Atom, Builder, Event, Head, HistoryError, Kind, Span, Status};
use crate::model::{
    Anomaly, ConsistencyModel, Execution, Finding, FindingKind, Outcome, Pace, Row, Signature,
    StatementId, TestCase, TransactionId, TransactionStatus, UndecidedReason, Verdict,
};
use crate::statement::{self, KeyAccess};
use crate::workload::KeyAccesses;

/// How long a check may take. Cases are small and take milliseconds; a hand-written one need not be.
const CHECK_TIME: Duration = Duration::from_secs(5);

/// The oracle.
#[derive(Clone, Copy, Debug)]
pub struct HistoryOracle;

impl Oracle for HistoryOracle {
    fn name(&self) -> &'static str {
        "history"
    }

    fn about(&self) -> &'static str {
        "workloads of concurrent sessions, checked against the model that the level promises"
    }

    fn needs(&self) -> Needs {
        Needs::answers(Pace::Free)
    }

    fn excludes(&self, case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
        if promised(case, dialect).is_none() {
            return Some(UndecidedReason::LevelPromisesNothing);
        }
        if statement::has_trigger(case) {
            return Some(UndecidedReason::Trigger);
        }
        let keys = KeyAccesses::of(case, dialect);
        keys.is_none().then_some(UndecidedReason::NotKeysAndValues)
    }

    fn judge(&self, evidence: &Evidence, _: &mut dyn SerialRun) -> Result<Ruling, EngineError> {
        let (case, dialect, execution) = (&evidence.case, &*evidence.dialect, &evidence.execution);
        let (Some(model), Some(keys)) = (promised(case, dialect), KeyAccesses::of(case, dialect))
        else {
            return Ok(Ruling::undecided(UndecidedReason::NotKeysAndValues));
        };
        let Ok(recorded) = record(case, &keys, execution, &BTreeMap::new()) else {
            return Ok(Ruling::undecided(UndecidedReason::StrangeCell));
        };
        let unfinished = unfinished::judge(evidence, &keys);
        let mut tested = recorded.tested;
        tested.extend(unfinished.tested);
        if tested.is_empty() {
            return Ok(Ruling::undecided(UndecidedReason::NothingCommitted));
        }
        let beyond = || {
            let outdated = stale::find(evidence, &keys).map(|read| outdated_finding(case, read));
            let found = outdated.or(unfinished.finding)?;
            Some(Verdict::Violation(Box::new(found)))
        };
        let budget = Budget::of(Some(CHECK_TIME));
        let verdict = match checker::check(&recorded.history, model, budget).1 {
            Answer::Satisfied(_) => beyond().unwrap_or(Verdict::Agree),
            Answer::Violated(found) => {
                let known = with_last_writes(evidence, &keys, model);
                let (history, found) = known.unwrap_or((recorded.history, found));
                Verdict::Violation(Box::new(finding(case, &history, model, &found)))
            }
            Answer::Unknown(reason) => {
                tracing::debug!("{model}: {reason}");
                beyond().unwrap_or(Verdict::Undecided(UndecidedReason::CheckerDoesNotKnow))
            }
        };
        Ok(Ruling {
            verdict,
            untested: untested(case, execution, &tested),
            tested,
            acyclic: None,
        })
    }
}

/// The model that the levels by which the sessions are judged promise together: the weakest.
fn promised(case: &TestCase, dialect: &Dialect) -> Option<ConsistencyModel> {
    let sessions = case.sessions().into_iter();
    let promises = sessions.map(|session| dialect.promise(case.judged_level(session)));
    promises
        .collect::<Option<Vec<ConsistencyModel>>>()?
        .into_iter()
        .min()
}

/// A history, and the statements that gave its committed events.
struct RecordedRun {
    history: history::History,
    tested: BTreeSet<StatementId>,
}

/// An answer holds what no statement wrote, and no number.
#[derive(Debug)]
struct StrangeCell;

impl From<HistoryError> for StrangeCell {
    fn from(_: HistoryError) -> Self {
        Self
    }
}

/// The events of a run. Ticks are its real time: the driver ticks before it sends and after it was
/// answered.
fn record(
    case: &TestCase,
    keys: &KeyAccesses,
    execution: &Execution,
    orders: &BTreeMap<i64, Vec<i64>>,
) -> Result<RecordedRun, StrangeCell> {
    let mut builder = Builder::new(Atom::NIL);
    let mut tested = BTreeSet::new();
    let mut number_of = BTreeMap::new();
    for access in keys.accesses.values() {
        let number = builder.key(Atom::integer(access.key).ok_or(StrangeCell)?)?;
        if let Some(value) = keys.initial.get(&access.key) {
            builder.set_initial(number, Atom::integer(*value).ok_or(StrangeCell)?);
        }
        if let Some(values) = orders.get(&access.key)
            && !number_of.contains_key(&access.key)
        {
            let values = values.iter().map(|value| Atom::integer(*value));
            let values: Option<Vec<Atom>> = values.collect();
            builder.order(number, values.ok_or(StrangeCell)?);
        }
        number_of.insert(access.key, number);
    }
    // Transactions of a session are numbered in its order.
    for (transaction, status) in &execution.transactions {
        let statements = case.statements.iter();
        let records = statements
            .filter(|s| s.id.transaction == *transaction)
            .filter_map(|s| execution.records.get(&s.id));
        let mut span = Span {
            from: i64::MAX,
            to: 0,
        };
        let mut events = Vec::new();
        for record in records {
            span.from = span.from.min(i64::from(record.sent.0));
            span.to = span.to.max(i64::from(record.answered.0));
            let Some(access) = keys.accesses.get(&record.id) else {
                continue;
            };
            let is_there = keys.initial.contains_key(&access.key);
            if let Some((kind, value)) = event(access, &record.outcome, is_there)? {
                let key = number_of[&access.key];
                events.push(Event { kind, key, value });
                if matches!(status, TransactionStatus::Committed(_)) {
                    tested.insert(record.id);
                }
            }
        }
        builder.transaction(&head(case, *transaction, *status, span), events)?;
    }
    Ok(RecordedRun {
        history: builder.finish(),
        tested,
    })
}

/// What the violation is where more is known than the sessions were answered: of the writes of a key, the one that
/// the table holds at the end was the last. Without it the checker may have to say that no order will do, or choose
/// the order that did not happen. Only a violation is looked at again: nothing becomes one by this.
fn with_last_writes(
    evidence: &Evidence,
    keys: &KeyAccesses,
    model: ConsistencyModel,
) -> Option<(history::History, Counterexample)> {
    let (case, execution) = (&evidence.case, &evidence.execution);
    let orders = write_orders(case, keys, execution);
    if orders.is_empty() {
        return None;
    }
    let history = record(case, keys, execution, &orders).ok()?.history;
    match checker::check(&history, model, Budget::of(Some(CHECK_TIME))).1 {
        Answer::Violated(found) => Some((history, found)),
        Answer::Satisfied(_) | Answer::Unknown(_) => None,
    }
}

/// What a statement did to its key; nothing when it was refused, or there is no row to write.
fn event(
    access: &KeyAccess,
    outcome: &Outcome,
    is_there: bool,
) -> Result<Option<(Kind, Atom)>, StrangeCell> {
    match (access.written, outcome) {
        (_, Outcome::Rejected(_)) => Ok(None),
        // The row is there, and the value is another: it read that the row is gone.
        (Some(_), outcome) if is_there && outcome.row_count() == Some(0) => {
            Ok(Some((Kind::Read, Atom::NIL)))
        }
        (Some(value), _) => {
            let value = Atom::integer(value).ok_or(StrangeCell)?;
            Ok(is_there.then_some((Kind::Write, value)))
        }
        (None, Outcome::Rows(rows)) => Ok(Some((Kind::Read, cell(rows)?))),
        (None, Outcome::Affected(_)) => Err(StrangeCell),
    }
}

/// The only value of an answer; nil when there was no row.
fn cell(rows: &[Row]) -> Result<Atom, StrangeCell> {
    match rows {
        [] => Ok(Atom::NIL),
        rows => only_number(rows).and_then(Atom::integer).ok_or(StrangeCell),
    }
}

fn head(case: &TestCase, id: TransactionId, status: TransactionStatus, mut span: Span) -> Head {
    let session = case.session_of(id).map_or(0, |session| session.0);
    let status = match status {
        TransactionStatus::Committed(_) => Status::Committed,
        TransactionStatus::Aborted(_) => Status::Aborted,
        TransactionStatus::Indeterminate => {
            span.to = i64::MAX;
            Status::Indeterminate
        }
    };
    Head {
        session: session.into(),
        label: id.0.into(),
        status,
        timestamps: None,
        real_time: Some(span),
    }
}

/// Why statements that were answered say nothing.
fn untested(
    case: &TestCase,
    execution: &Execution,
    tested: &BTreeSet<StatementId>,
) -> BTreeMap<StatementId, UndecidedReason> {
    let records = case
        .user_statements()
        .filter_map(|s| execution.records.get(&s.id));
    records
        .filter(|record| !tested.contains(&record.id))
        .map(|record| {
            let reason = match record.outcome {
                Outcome::Rejected(_) => UndecidedReason::Rejected,
                Outcome::Rows(_) | Outcome::Affected(_) => UndecidedReason::NotCommitted,
            };
            (record.id, reason)
        })
        .collect()
}

fn outdated_finding(case: &TestCase, outdated: OutdatedRead) -> Finding {
    let OutdatedRead {
        read,
        key,
        value,
        missed,
    } = outdated;
    let (reader, writer) = (read.transaction, missed.transaction);
    let levels = finding_levels(case);
    let anomaly = Anomaly::StaleRead;
    let signature = Signature::new("history", FindingKind::Anomaly(anomaly), levels, Vec::new());
    Finding {
        headline: format!(
            "{read} reads {value} of the key {key}, which {missed} had replaced before"
        ),
        signature: signature.with_anomaly(anomaly.into()),
        differences: Vec::new(),
        explanation: vec![format!(
            "{writer} had been answered its end before {reader} took its snapshot; a snapshot shows what was committed before"
        )],
    }
}

fn finding(
    case: &TestCase,
    history: &history::History,
    model: ConsistencyModel,
    found: &Counterexample,
) -> Finding {
    let words = checker::in_words(history, found);
    let mut words = words.lines().map(|line| line.trim().to_owned());
    let name = words.next().unwrap_or_default();
    let levels = finding_levels(case);
    Finding {
        headline: format!(
            "the history violates the {model} that is promised at {}: {name}",
            levels.join(", ")
        ),
        signature: Signature::new(
            "history",
            FindingKind::Anomaly(found.anomaly),
            levels,
            vec![format!("violates-{}", model.slug())],
        )
        .with_anomaly(class::class(
            history,
            model,
            found,
            Budget::of(Some(CHECK_TIME)),
        )),
        differences: Vec::new(),
        explanation: words.collect(),
    }
}
