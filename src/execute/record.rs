//! The record of one run, written as events become certain.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    CaseStatement, ErrorClass, EventKind, Execution, ExecutionEvent, Observation, Outcome,
    ProbeAnswer, Row, SessionId, StatementId, StatementKind, StatementRecord, TableFault, TestCase,
    Tick, TransactionId, TransactionStatus, UndecidedReason,
};

use super::fate::TransactionFate;
use super::scheduled_statement::ScheduledStatement;
use super::scheduler::{SessionStep, Work};
use super::{Instrumentation, Probe, ReturningWrite};

/// A probe's answer and its statement.
struct Probed {
    answer: ProbeAnswer,
    session: SessionId,
}

/// What a session's step was answered.
pub(super) struct SessionAnswer {
    pub(super) outcome: Outcome,
    /// A transaction is open now.
    pub(super) open: bool,
    /// As [`StatementRecord::counted`].
    pub(super) counted: Option<i64>,
    /// As [`StatementRecord::reported`].
    pub(super) reported: Option<u64>,
    /// As [`StatementRecord::command_tag`].
    pub(super) command_tag: Option<String>,
}

/// An execution under way.
pub(super) struct Record<'a> {
    case: &'a TestCase,
    instrumentation: &'a Instrumentation,
    lines: &'a [ScheduledStatement],
    sessions: BTreeMap<TransactionId, SessionId>,
    execution: Execution,
    ticks: u32,
    /// When the step under way in a session was sent.
    sent: BTreeMap<SessionId, Tick>,
    /// When it was first seen waiting, and for which transactions.
    waits: BTreeMap<SessionId, (Tick, BTreeSet<TransactionId>)>,
    /// The transaction of the statement last sent in a session.
    last: BTreeMap<SessionId, TransactionId>,
    probes: Vec<Probed>,
}

impl<'a> Record<'a> {
    pub(super) fn new(
        case: &'a TestCase,
        instrumentation: &'a Instrumentation,
        lines: &'a [ScheduledStatement],
    ) -> Self {
        Self {
            case,
            instrumentation,
            lines,
            sessions: lines
                .iter()
                .map(|line| (line.id.transaction, line.session))
                .collect(),
            execution: Execution::default(),
            ticks: 0,
            sent: BTreeMap::new(),
            waits: BTreeMap::new(),
            last: BTreeMap::new(),
            probes: Vec::new(),
        }
    }

    /// The text to send in a step; None for a ROLLBACK, which the dialect spells.
    pub(super) fn text(&self, work: Work) -> Option<&'a str> {
        match work {
            Work::Statement { line } => Some(match self.returning(line) {
                Some(returning) => &returning.probe.sql,
                None => &self.case.statements[line].sql,
            }),
            Work::Before { .. } | Work::After { .. } => Some(&self.probe(work)?.sql),
            Work::Rollback => None,
        }
    }

    /// What is sent instead of the statement of a line, if anything is.
    fn returning(&self, line: usize) -> Option<&'a ReturningWrite> {
        self.instrumentation.returning.get(&self.lines[line].id)
    }

    /// The probe that is sent in a step.
    fn probe(&self, work: Work) -> Option<&'a Probe> {
        let instrumentation = self.instrumentation;
        let (probes, line, place) = match work {
            Work::Before { line, probe } => (&instrumentation.before, line, probe),
            Work::After { line, probe } => (&instrumentation.after, line, probe),
            Work::Statement { .. } | Work::Rollback => return None,
        };
        probes.get(&self.lines[line].id)?.get(place)
    }

    /// The statement of the case that is sent in a step.
    pub(super) fn statement(&self, step: SessionStep) -> Option<StatementId> {
        match step.work {
            Work::Statement { line } => Some(self.lines[line].id),
            Work::Before { .. } | Work::After { .. } | Work::Rollback => None,
        }
    }

    /// How many statements of the case were answered.
    pub(super) fn answers(&self) -> usize {
        self.execution.records.len()
    }

    /// The last point in the order of events.
    pub(super) fn now(&self) -> Tick {
        Tick(self.ticks)
    }

    /// The class of a statement's rejection, when it was rejected.
    pub(super) fn error_class(&self, id: StatementId) -> Option<ErrorClass> {
        self.execution.records.get(&id)?.outcome.error_class()
    }

    pub(super) fn sent(&mut self, step: SessionStep) {
        let tick = self.tick();
        self.sent.insert(step.session, tick);
        self.waits.remove(&step.session);
        // A probe before a transaction's first statement may hold the first of its locks.
        if let Work::Statement { line } | Work::Before { line, .. } | Work::After { line, .. } =
            step.work
        {
            let transaction = self.lines[line].id.transaction;
            self.last.insert(step.session, transaction);
        }
        if let Some(statement) = self.statement(step) {
            self.event(tick, statement, EventKind::Sent);
        }
    }

    pub(super) fn waiting(&mut self, step: SessionStep, on: &BTreeSet<SessionId>) {
        let holders: BTreeSet<TransactionId> = on
            .iter()
            .filter_map(|session| self.last.get(session).copied())
            .collect();
        if let Some((_, known)) = self.waits.get_mut(&step.session) {
            known.extend(holders);
            return;
        }
        let tick = self.tick();
        self.waits.insert(step.session, (tick, holders));
        if let Some(statement) = self.statement(step) {
            self.event(tick, statement, EventKind::Waiting);
        }
    }

    pub(super) fn answered(
        &mut self,
        step: SessionStep,
        fate: TransactionFate,
        answer: SessionAnswer,
    ) {
        let SessionAnswer {
            outcome,
            open,
            counted,
            reported,
            command_tag,
        } = answer;
        let tick = self.tick();
        let sent = self.sent.remove(&step.session).unwrap_or(tick);
        let wait = self.waits.remove(&step.session);
        let line = match step.work {
            Work::Statement { line } => {
                let id = self.lines[line].id;
                self.event(tick, id, EventKind::Answered);
                let outcome = self.without_returned(line, step.session, outcome, reported, tick);
                // What is open behind a chain is the next one.
                let is_next = self.lines[line].chains && outcome.error_class().is_none();
                let record = StatementRecord {
                    id,
                    sent,
                    waiting: wait.as_ref().map(|(tick, _)| *tick),
                    waited_for: wait.into_iter().flat_map(|(_, on)| on).collect(),
                    answered: tick,
                    transaction_survives: self.lines[line].explicit && open && !is_next,
                    counted,
                    reported,
                    command_tag,
                    outcome,
                };
                self.execution.records.insert(id, record);
                Some(line)
            }
            Work::Before { line, .. } | Work::After { line, .. } => {
                if let Some(probe) = self.probe(step.work) {
                    let answer = ProbeAnswer {
                        statement: self.lines[line].id,
                        tag: probe.tag.clone(),
                        sql: probe.sql.clone(),
                        tick,
                        parted: wait.is_some(),
                        outcome,
                    };
                    let session = step.session;
                    self.probes.push(Probed { answer, session });
                }
                Some(line)
            }
            Work::Rollback => None,
        };
        let transaction = line.map_or_else(
            || self.last.get(&step.session).copied(),
            |line| Some(self.lines[line].id.transaction),
        );
        if let Some(transaction) = transaction {
            let statement = line.map(|line| self.lines[line].id);
            self.ended(transaction, statement, fate, tick);
            // The next one has done nothing yet, and what ends it ends no other.
            if line.is_some_and(|line| self.lines[line].chains) {
                self.last.remove(&step.session);
            }
        }
    }

    /// Keeps the rows that a write was made to return, and gives the answer that it gives by itself.
    fn without_returned(
        &mut self,
        line: usize,
        session: SessionId,
        outcome: Outcome,
        reported: Option<u64>,
        tick: Tick,
    ) -> Outcome {
        let (Some(returning), Outcome::Rows(rows)) = (self.returning(line), &outcome) else {
            return outcome;
        };
        let parts = rows.iter().map(|row| {
            let own = row.len().saturating_sub(returning.columns);
            (row[..own].to_vec(), row[own..].to_vec())
        });
        let (own, returned): (Vec<Row>, Vec<Row>) = parts.unzip();
        let answer = ProbeAnswer {
            statement: self.lines[line].id,
            tag: returning.probe.tag.clone(),
            sql: returning.probe.sql.clone(),
            tick,
            parted: false,
            outcome: Outcome::Rows(returned),
        };
        self.probes.push(Probed { answer, session });
        match returning.has_own {
            true => Outcome::Rows(own),
            // The rows that came are judged by themselves: what the client is told is the count.
            false => Outcome::Affected(reported.unwrap_or(own.len() as u64)),
        }
    }

    /// Records that a transaction goes on after the answer to its end, as where that is asked for at once.
    pub(super) fn left_open(&mut self, id: StatementId) {
        if let Some(record) = self.execution.records.get_mut(&id) {
            record.transaction_survives = true;
        }
        self.contradicted(Some(id), UndecidedReason::TransactionOpenAfterItsEnd);
    }

    /// Records that the server's state contradicts what it answered to a statement.
    fn contradicted(&mut self, statement: Option<StatementId>, reason: UndecidedReason) {
        if self.execution.unreliable.is_none() {
            self.execution.contradicted = statement;
        }
        self.unreliable(reason);
    }

    /// Records rows that were read while no statement was running.
    pub(super) fn observed(
        &mut self,
        active: Vec<StatementId>,
        tables: BTreeMap<String, Vec<Row>>,
    ) {
        let tick = self.tick();
        self.execution.observations.push(Observation {
            tick,
            active,
            tables,
        });
    }

    /// Says why the run is no evidence; the first reason stays.
    pub(super) fn unreliable(&mut self, reason: UndecidedReason) {
        self.execution.unreliable.get_or_insert(reason);
    }

    /// Whether the run is no evidence already.
    pub(super) fn is_unreliable(&self) -> bool {
        self.execution.unreliable.is_some()
    }

    /// Records that a table could not be read, which leaves the run no evidence, and whose fault it is where that is the
    /// engine's.
    pub(super) fn table_not_read(&mut self, fault: Option<TableFault>) {
        self.unreliable(UndecidedReason::TableNotRead);
        let faults = &mut self.execution.table_faults;
        // The observer reads the same table again and again.
        faults.extend(fault.filter(|fault| !faults.contains(fault)));
    }

    /// The statements that were answered.
    pub(super) fn ran(&self) -> impl Iterator<Item = &'a CaseStatement> {
        let records = &self.execution.records;
        let case = self.case.statements.iter();
        case.filter(|statement| records.contains_key(&statement.id))
    }

    /// The finished record.
    pub(super) fn finish(
        mut self,
        final_state: BTreeMap<String, Vec<Row>>,
        table_faults: Vec<TableFault>,
    ) -> Execution {
        self.execution.final_state = final_state;
        self.execution.table_faults.extend(table_faults);
        self.closed()
    }

    /// The record of a run that did not finish.
    ///
    /// A transaction whose COMMIT got no answer is indeterminate; any other that was open died
    /// with its connection.
    pub(super) fn abandon(mut self) -> Execution {
        let now = self.tick();
        let events = self.execution.events.iter();
        let sent: BTreeSet<StatementId> = events.map(|event| event.statement).collect();
        for line in self.lines.iter().filter(|line| sent.contains(&line.id)) {
            let in_doubt = !self.execution.records.contains_key(&line.id)
                && (line.kind == StatementKind::Commit || !line.explicit);
            let status = if in_doubt {
                TransactionStatus::Indeterminate
            } else {
                TransactionStatus::Aborted(now)
            };
            let transactions = &mut self.execution.transactions;
            let known = transactions.entry(line.id.transaction).or_insert(status);
            if in_doubt {
                *known = status;
            }
        }
        self.closed()
    }

    fn closed(mut self) -> Execution {
        let probes = std::mem::take(&mut self.probes);
        self.execution.probes = probes
            .into_iter()
            .map(|probed| self.judge_parting(probed))
            .collect();
        self.execution
    }

    fn tick(&mut self) -> Tick {
        self.ticks += 1;
        Tick(self.ticks)
    }

    fn event(&mut self, tick: Tick, statement: StatementId, kind: EventKind) {
        self.execution.events.push(ExecutionEvent {
            tick,
            statement,
            kind,
        });
    }

    /// Sets `parted` where another session's event lies between a probe and its statement.
    fn judge_parting(&self, probed: Probed) -> ProbeAnswer {
        let mut answer = probed.answer;
        // A statement that never answered is as far from its probe as can be.
        let statement = self
            .execution
            .records
            .get(&answer.statement)
            .map_or(Tick(u32::MAX), |record| record.answered);
        let (first, last) = (answer.tick.min(statement), answer.tick.max(statement));
        answer.parted |= self.execution.events.iter().any(|event| {
            event.tick > first
                && event.tick < last
                && self.sessions.get(&event.statement.transaction) != Some(&probed.session)
        });
        answer
    }

    /// Records what the answer of a step, of this statement if it is one's, made of a transaction.
    fn ended(
        &mut self,
        transaction: TransactionId,
        statement: Option<StatementId>,
        fate: TransactionFate,
        tick: Tick,
    ) {
        let status = match fate {
            TransactionFate::Continues => return,
            TransactionFate::Committed => TransactionStatus::Committed(tick),
            TransactionFate::Aborted => TransactionStatus::Aborted(tick),
            TransactionFate::Strange(reason) => return self.contradicted(statement, reason),
        };
        self.execution.transactions.insert(transaction, status);
    }
}
