//! A pure state machine: decides which statement is sent next, and which events are certain.
//!
//! It knows sessions, statements and answers; no clock, no thread, no text. The driver asks
//! [`Scheduler::next`] for an action, carries it out and reports the result
//! ([`Scheduler::answered`], [`Scheduler::polled`], ...). Each report returns the events that are
//! certain now, in the order in which they must be recorded.
//!
//! The rules. The next statement is the first unsent one, in submitted order, whose session is
//! free. Nothing is sent before the run is *at rest*: every sent statement has answered, or was
//! seen waiting in a poll taken after the last answer. A statement that was accepted and neither takes
//! nor releases a lock (BEGIN, SAVEPOINT, a plain read of a snapshot) leaves the others at rest: they
//! wait for locks, and those are as they were. Two sessions or more that wait may be a
//! deadlock that the engine has not resolved yet, so a second poll has to agree. An answer that
//! another statement caused is recorded after the answer of its cause. At the free pace
//! the lock view is not polled: a session gets its next statement when the last one has answered.

mod lane;
mod step;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Pace, SessionId, StatementId, StatementKind, TransactionId, UndecidedReason};

use super::fate::{AnswerState, TransactionFate, fate};
use super::scheduled_statement::ScheduledStatement;
use lane::{Flight, Lane};
pub(super) use step::{SessionStep, Work};

/// The driver's next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DriverAction {
    Send(SessionStep),
    /// Wait for an answer or poll the lock view: a sent step is not settled.
    Settle,
    /// Wait for an answer, a victim's or a timeout's: all sessions wait for locks.
    AwaitAnswer,
    /// Read the tables; these statements may have written since the last time.
    Observe(Vec<StatementId>),
    Finish,
}

/// An event that has become certain and must be recorded now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    /// Seen waiting, for these sessions if the engine names them. Repeated when they change.
    Waiting {
        step: SessionStep,
        on: BTreeSet<SessionId>,
    },
    Answered {
        step: SessionStep,
        fate: TransactionFate,
        /// Waited before it answered.
        resumed: bool,
    },
}

/// The state.
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    pace: Pace,
    lines: Vec<ScheduledStatement>,
    lanes: BTreeMap<SessionId, Lane>,
    /// The session of the last send, while its step has neither answered nor been seen waiting.
    current: Option<SessionId>,
    /// The session whose line is under way.
    turn: Option<SessionId>,
    /// Sessions whose answers are held back, in order of arrival.
    arrivals: Vec<SessionId>,
    /// Polls in a row, since the last answer and the last send that may have changed a lock, that
    /// showed everything at rest.
    agreeing_polls: u32,
    /// Statements that may have written since the last observation.
    active: Vec<StatementId>,
    /// One of `active` is to be observed.
    observation_due: bool,
}

impl Scheduler {
    pub(super) fn new(pace: Pace, lines: Vec<ScheduledStatement>) -> Self {
        let mut lanes: BTreeMap<SessionId, Lane> = BTreeMap::new();
        for (index, line) in lines.iter().enumerate() {
            lanes.entry(line.session).or_default().lines.push(index);
        }
        Self {
            pace,
            lines,
            lanes,
            current: None,
            turn: None,
            arrivals: Vec::new(),
            agreeing_polls: 0,
            active: Vec::new(),
            observation_due: false,
        }
    }

    /// The next action. A `Send` and an `Observe` count as done once they are returned.
    pub(super) fn next(&mut self) -> DriverAction {
        if self.pace == Pace::Scheduled && !self.settled() {
            return DriverAction::Settle;
        }
        if std::mem::take(&mut self.observation_due) {
            // A waiting write may have got its lock since and wait for the next row now.
            let under_way: Vec<Work> = self.flights().map(|flight| flight.step.work).collect();
            under_way.into_iter().for_each(|work| self.touch(work));
            self.observation_due = false;
            return DriverAction::Observe(std::mem::take(&mut self.active));
        }
        if let Some(step) = self.choose() {
            self.send(step);
            return DriverAction::Send(step);
        }
        if self.in_flight().next().is_some() {
            DriverAction::AwaitAnswer
        } else {
            DriverAction::Finish
        }
    }

    /// The sessions that were sent something and have not answered.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = SessionId> {
        let unanswered = |flight: &&Flight| flight.answer.is_none();
        self.flights().filter(unanswered).map(|f| f.step.session)
    }

    /// The steps that have neither answered nor been seen waiting since a lock may last have changed.
    pub(super) fn restless(&self) -> impl Iterator<Item = SessionStep> {
        let running = |flight: &&Flight| flight.answer.is_none() && !flight.rests();
        self.flights().filter(running).map(|flight| flight.step)
    }

    /// Whether the step that was sent last has neither answered nor been seen waiting.
    pub(super) fn last_sent_is_unseen(&self) -> bool {
        self.current.is_some()
    }

    /// Whether a session other than this one is in a transaction or has a step under way, and so
    /// may hold locks.
    pub(super) fn others_busy(&self, session: SessionId) -> bool {
        self.lanes
            .iter()
            .any(|(other, lane)| *other != session && (lane.open || lane.flight.is_some()))
    }

    /// An answer came.
    pub(super) fn answered(&mut self, session: SessionId, answer: AnswerState) -> Vec<Noted> {
        if answer.rejected || !self.changes_no_wait(session) {
            self.disturb();
        }
        let Some(flight) = self.flight_mut(session) else {
            return Vec::new();
        };
        flight.answer = Some(answer);
        self.arrivals.push(session);
        self.release()
    }

    /// Takes a poll of the lock view, made after all reports so far: the waiting sessions, each
    /// with those it waits for.
    pub(super) fn polled(
        &mut self,
        waiting: &BTreeMap<SessionId, BTreeSet<SessionId>>,
    ) -> Vec<Noted> {
        let mut noted = Vec::new();
        for (session, lane) in &mut self.lanes {
            let Some(flight) = lane.flight.as_mut().filter(|f| f.answer.is_none()) else {
                continue;
            };
            let Some(on) = waiting.get(session) else {
                flight.at_rest = false;
                continue;
            };
            flight.at_rest = true;
            if !flight.waited || flight.on != *on {
                noted.push(Noted::Waiting {
                    step: flight.step,
                    on: on.clone(),
                });
            }
            flight.waited = true;
            flight.on.clone_from(on);
        }
        let all_rest = self.flights().all(Flight::rests);
        self.agreeing_polls = if all_rest { self.agreeing_polls + 1 } else { 0 };
        self.waiting_noted(&noted);
        noted.extend(self.release());
        noted
    }

    /// Takes steps that neither answered nor were seen waiting in time for waiting. The run is no
    /// evidence then.
    pub(super) fn gave_up(&mut self) -> Vec<Noted> {
        let mut noted = Vec::new();
        for lane in self.lanes.values_mut() {
            let Some(flight) = lane.flight.as_mut().filter(|f| f.answer.is_none()) else {
                continue;
            };
            flight.by_timer = true;
            if !flight.waited {
                noted.push(Noted::Waiting {
                    step: flight.step,
                    on: BTreeSet::new(),
                });
            }
            flight.waited = true;
        }
        self.waiting_noted(&noted);
        noted.extend(self.release());
        noted
    }

    /// Whether one poll showed the run at rest and a second one has to confirm it.
    pub(super) fn awaits_confirmation(&self) -> bool {
        self.agreeing_polls > 0
    }

    /// Whether everything that was sent has answered or rests.
    fn settled(&self) -> bool {
        let mut resting = 0;
        for flight in self.flights() {
            if !flight.rests() {
                return false;
            }
            resting += usize::from(!flight.by_timer);
        }
        resting < 2
            || self.flights().any(|f| f.by_timer)
            || (self.agreeing_polls >= 2 && !self.waits_in_circle())
    }

    /// Whether sessions wait for each other in a circle, and for no session outside it: the engine
    /// is about to choose a victim.
    ///
    /// If one of them waits for a running session too, there may be no victim yet: MySQL's deadlock
    /// check follows one of the transactions that a transaction waits for at a time.
    fn waits_in_circle(&self) -> bool {
        self.lanes.keys().any(|start| {
            let reached = self.waited_for(*start);
            let waits = |session: &SessionId| {
                let lane = self.lanes.get(session);
                lane.is_some_and(|lane| lane.flight.is_some())
            };
            reached.contains(start) && reached.iter().all(waits)
        })
    }

    /// Whether the engine may yet choose a victim by itself: sessions wait in a circle, whoever else
    /// they wait for, or several wait and it does not say for whom.
    fn may_choose_a_victim(&self) -> bool {
        let waits = || self.flights().filter(|flight| flight.waited);
        waits().count() > 1
            && (waits().any(|flight| flight.on.is_empty())
                || self
                    .lanes
                    .keys()
                    .any(|start| self.waited_for(*start).contains(start)))
    }

    /// The sessions that a session waits for, and those that these wait for, and so on.
    fn waited_for(&self, start: SessionId) -> BTreeSet<SessionId> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(session) = open.pop() {
            let flight = self.lanes.get(&session).and_then(|l| l.flight.as_ref());
            for on in flight.iter().flat_map(|f| &f.on) {
                if reached.insert(*on) {
                    open.push(*on);
                }
            }
        }
        reached
    }

    /// The next step, by the rules at the top of this page.
    fn choose(&self) -> Option<SessionStep> {
        let due = self.lanes.iter().find(|(_, lane)| lane.rollback_due);
        if let Some((session, _)) = due {
            return Some(SessionStep {
                session: *session,
                work: Work::Rollback,
            });
        }
        let begun = self
            .turn
            .filter(|session| self.lanes.get(session).is_some_and(|lane| lane.steps > 0));
        begun
            .and_then(|session| self.step_of(session))
            .or_else(|| self.first_free())
            .or_else(|| self.leftover())
    }

    /// The next step of the session that is free and whose line stands first in submitted order.
    fn first_free(&self) -> Option<SessionStep> {
        let heads = self.lanes.iter();
        let free =
            heads.filter_map(|(session, lane)| Some((lane.head()?, self.step_of(*session)?)));
        free.min_by_key(|(line, _)| *line).map(|(_, step)| step)
    }

    /// A ROLLBACK for a session that has sent all its statements and still has a transaction open,
    /// which others may wait for.
    fn leftover(&self) -> Option<SessionStep> {
        self.lanes
            .iter()
            .find(|(_, lane)| lane.open && lane.flight.is_none() && lane.head().is_none())
            .map(|(session, _)| SessionStep {
                session: *session,
                work: Work::Rollback,
            })
    }

    /// The next step of a session; none when it is busy or done.
    fn step_of(&self, session: SessionId) -> Option<SessionStep> {
        let lane = self.lanes.get(&session)?;
        if lane.flight.is_some() {
            return None;
        }
        let line = lane.head()?;
        if self.is_held_back(session, line) {
            return None;
        }
        let before = self.lines[line].before;
        let work = match lane.steps.cmp(&before) {
            std::cmp::Ordering::Less => Work::Before {
                line,
                probe: lane.steps,
            },
            std::cmp::Ordering::Equal => Work::Statement { line },
            std::cmp::Ordering::Greater => Work::After {
                line,
                probe: lane.steps - before - 1,
            },
        };
        Some(SessionStep { session, work })
    }

    /// Whether a line has to wait until no other session is in a transaction that has used a table. Sent before, it
    /// would wait for them inside the engine, and keep whoever observes the tables waiting behind it.
    fn is_held_back(&self, session: SessionId, line: usize) -> bool {
        let Some(table) = &self.lines[line].waits_for_table else {
            return false;
        };
        // What it does inside a transaction only the engine knows.
        let is_inside = self.lanes.get(&session).is_some_and(|lane| lane.open);
        let mut lanes = self.lanes.iter();
        !is_inside && lanes.any(|(other, lane)| *other != session && lane.tables.contains(table))
    }

    fn send(&mut self, step: SessionStep) {
        self.current = Some(step.session);
        self.turn = Some(step.session);
        if let Some(lane) = self.lanes.get_mut(&step.session) {
            lane.rollback_due = false;
            if let Work::Statement { line } = step.work {
                lane.tables.extend(self.lines[line].tables.iter().cloned());
            }
            lane.flight = Some(Flight {
                step,
                waited: false,
                at_rest: false,
                by_timer: false,
                on: BTreeSet::new(),
                answer: None,
            });
        }
        if !self.changes_no_wait(step.session) {
            self.disturb();
        }
    }

    /// Whether the step under way in a session, once accepted, leaves every wait as it was.
    fn changes_no_wait(&self, session: SessionId) -> bool {
        let lane = self.lanes.get(&session);
        let changes_no_lock = lane.is_some_and(|lane| {
            let flight = lane.flight.as_ref().filter(|flight| !flight.waited);
            flight.is_some_and(|flight| match flight.step.work {
                Work::Statement { line } => self.lines[line].changes_no_lock(lane.open),
                Work::Before { .. } | Work::After { .. } | Work::Rollback => false,
            })
        });
        changes_no_lock && !self.may_choose_a_victim()
    }

    fn flights(&self) -> impl Iterator<Item = &Flight> {
        self.lanes.values().filter_map(|lane| lane.flight.as_ref())
    }

    fn flight_mut(&mut self, session: SessionId) -> Option<&mut Flight> {
        self.lanes.get_mut(&session)?.flight.as_mut()
    }

    /// Forgets which steps rest, because the last event may have released them.
    fn disturb(&mut self) {
        self.agreeing_polls = 0;
        for lane in self.lanes.values_mut() {
            if let Some(flight) = lane.flight.as_mut() {
                flight.at_rest = false;
            }
        }
    }

    fn waiting_noted(&mut self, noted: &[Noted]) {
        for note in noted {
            if let Noted::Waiting { step, .. } = note {
                self.touch(step.work);
            }
        }
        let current = self.current.and_then(|session| self.lanes.get(&session));
        if current.is_some_and(|lane| lane.flight.as_ref().is_some_and(Flight::rests)) {
            self.current = None;
        }
    }

    /// Remembers that a statement may have written.
    fn touch(&mut self, work: Work) {
        let Work::Statement { line } = work else {
            return;
        };
        let line = &self.lines[line];
        let may_write = line.observed || line.kind.is_write() || line.kind == StatementKind::Opaque;
        if may_write && !self.active.contains(&line.id) {
            self.active.push(line.id);
        }
        self.observation_due |= line.observed;
    }

    /// Records the answers that need not follow another one.
    fn release(&mut self) -> Vec<Noted> {
        let mut noted = Vec::new();
        while let Some(place) = self.recordable() {
            let session = self.arrivals.remove(place);
            noted.extend(self.record(session));
        }
        noted
    }

    /// The first arrival whose causes are recorded, or rest and so are none.
    fn recordable(&self) -> Option<usize> {
        let free = |session: &SessionId| {
            let Some(flight) = self.lanes.get(session).and_then(|l| l.flight.as_ref()) else {
                return true;
            };
            // A victim's answer is a cause, never an effect.
            let victim = flight
                .answer
                .is_some_and(|a| a.rejected && (!a.open || a.failed));
            victim
                || !flight
                    .on
                    .iter()
                    .chain(flight.waited.then_some(&self.current).into_iter().flatten())
                    .filter(|cause| *cause != session)
                    .filter_map(|cause| self.lanes.get(cause)?.flight.as_ref())
                    .any(|cause| !cause.rests())
        };
        self.arrivals.iter().position(free).or_else(|| {
            // Answers that hold each other back are recorded in order of arrival.
            let all_answered = self.flights().all(|f| f.answer.is_some() || f.rests());
            (all_answered && !self.arrivals.is_empty()).then_some(0)
        })
    }

    /// Records one answer: the fate of its transaction, and the steps left to send.
    fn record(&mut self, session: SessionId) -> Option<Noted> {
        let lane = self.lanes.get_mut(&session)?;
        let flight = lane.flight.take()?;
        let answer = flight.answer?;
        let was_open = std::mem::replace(&mut lane.open, answer.open);
        if self.current == Some(session) {
            self.current = None;
        }
        let fate = match flight.step.work {
            Work::Rollback => {
                // Tried once: a second ROLLBACK would do no more than the first.
                lane.open = false;
                if answer.open {
                    TransactionFate::Strange(UndecidedReason::RollbackRefused)
                } else {
                    TransactionFate::Aborted
                }
            }
            Work::Statement { line } => self.statement_answered(line, answer, was_open),
            Work::Before { line, .. } | Work::After { line, .. } => {
                self.probe_answered(line, answer)
            }
        };
        self.touch(flight.step.work);
        if let Some(lane) = self.lanes.get_mut(&session).filter(|lane| !lane.open) {
            lane.tables.clear();
        }
        Some(Noted::Answered {
            step: flight.step,
            fate,
            resumed: flight.waited,
        })
    }

    fn statement_answered(
        &mut self,
        index: usize,
        answer: AnswerState,
        was_open: bool,
    ) -> TransactionFate {
        let line = self.lines[index].clone();
        let fate = fate(&line, answer, was_open);
        let refused_end = line.explicit && line.kind.is_end() && answer.rejected && answer.open;
        let Some(lane) = self.lanes.get_mut(&line.session) else {
            return fate;
        };
        lane.rollback_due = refused_end;
        if answer.rejected || line.after == 0 {
            lane.done += 1;
            lane.steps = 0;
        } else {
            lane.steps += 1;
        }
        if line.chains {
            lane.tables.clear();
        }
        if line.explicit && !line.kind.is_end() && !answer.open {
            self.drop_transaction(line.id.transaction, line.session);
        }
        if line.chains && (answer.rejected || !answer.open) {
            self.drop_chained(line.session);
        }
        fate
    }

    fn probe_answered(&mut self, index: usize, answer: AnswerState) -> TransactionFate {
        let line = self.lines[index].clone();
        let Some(lane) = self.lanes.get_mut(&line.session) else {
            return TransactionFate::Continues;
        };
        lane.steps += 1;
        if lane.steps > line.before + line.after {
            lane.done += 1;
            lane.steps = 0;
        }
        let inside = line.explicit && !line.kind.is_begin() && !line.kind.is_end();
        if !inside || answer.open {
            return TransactionFate::Continues;
        }
        self.drop_transaction(line.id.transaction, line.session);
        if answer.rejected {
            TransactionFate::Aborted
        } else {
            TransactionFate::Strange(UndecidedReason::TransactionEndedUnasked)
        }
    }

    /// Drops the remaining statements of a transaction that is gone: they would run outside of one.
    fn drop_transaction(&mut self, transaction: TransactionId, session: SessionId) {
        let Some(lane) = self.lanes.get_mut(&session) else {
            return;
        };
        let lines = &self.lines;
        let mut chains = false;
        while let Some(line) = lane.head()
            && lines[line].id.transaction == transaction
        {
            chains = lines[line].chains;
            lane.done += 1;
            lane.steps = 0;
        }
        if chains {
            self.drop_chained(session);
        }
    }

    /// Drops the next transaction of a session, which was to be begun by a chain that was refused or not sent.
    fn drop_chained(&mut self, session: SessionId) {
        let head = self.lanes.get(&session).and_then(Lane::head);
        let next = head.map(|line| &self.lines[line]);
        if let Some(next) = next.filter(|next| !next.kind.is_begin()) {
            self.drop_transaction(next.id.transaction, session);
        }
    }
}
