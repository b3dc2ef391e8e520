//! The order in which one process sends the statements of all clients and collects their answers.

use std::collections::{BTreeMap, BTreeSet};

use crate::export::client_step::ClientStep;
use crate::export::scenario::{Scenario, Symptom};
use crate::model::{IsolationLevel, SessionId, StatementId, StatementKind, TransactionId};
use crate::reproducer::Expectation;

/// What the test does next. A statement may be refused that the run had answered: the claimed level takes locks
/// that the level of the run does without, so that it may wait for a client whose next step comes after it, or
/// end in a deadlock.
#[derive(Debug)]
pub(super) enum Turn<'s> {
    /// Executes a statement and takes its answer.
    Run {
        step: &'s ClientStep,
        may_be_refused: bool,
    },
    /// Sends a statement and goes on when it waits for a lock; where it may, when it is answered, too.
    Send {
        step: &'s ClientStep,
        may_answer: bool,
        /// It was not seen waiting, and on an engine that is right it may wait for a transaction that changes what it
        /// reads: its answer is not known then.
        meets_changes: bool,
        /// The clients that wait, of which one or this one may become the victim of a deadlock at the claimed level.
        may_deadlock_with: Vec<u32>,
    },
    /// Goes on while a statement that was sent still waits, though it was seen going on.
    StillWaits(&'s ClientStep),
    /// Takes the answer of a statement that was sent.
    Reap {
        step: &'s ClientStep,
        may_be_refused: bool,
    },
    /// Closes the connection of a client.
    Disconnect(u32),
}

impl Turn<'_> {
    /// Whether an engine may refuse a statement for a lock that was in nobody's way when the case was seen.
    pub(super) fn may_be_refused(&self) -> bool {
        match self {
            Self::Run { may_be_refused, .. } | Self::Reap { may_be_refused, .. } => *may_be_refused,
            Self::Send { .. } | Self::StillWaits(_) | Self::Disconnect(_) => false,
        }
    }
}

/// The turns of a scenario, down to the last client that is closed.
pub(super) fn plan<'s>(scenario: &'s Scenario<'_>) -> Vec<Turn<'s>> {
    let mut planner = Planner {
        scenario,
        turns: Vec::new(),
        sent: BTreeMap::new(),
        deferred: BTreeMap::new(),
        open: BTreeSet::new(),
        used: BTreeSet::new(),
        begun: BTreeMap::new(),
        freed: BTreeSet::new(),
        held: BTreeMap::new(),
    };
    for step in &scenario.steps {
        planner.submit(step);
    }
    // What still waits goes on when everybody else has gone.
    let all = scenario.clients.keys().copied();
    let (waiting, gone): (Vec<u32>, Vec<u32>) = all.partition(|c| planner.sent.contains_key(c));
    planner.turns.extend(gone.into_iter().map(Turn::Disconnect));
    for client in waiting {
        planner.reap(client);
        planner.turns.push(Turn::Disconnect(client));
    }
    planner.turns
}

struct Planner<'s> {
    scenario: &'s Scenario<'s>,
    turns: Vec<Turn<'s>>,
    /// The statement of each client whose answer is still to be taken.
    sent: BTreeMap<u32, &'s ClientStep>,
    /// What a client that waits is to execute when it goes on.
    deferred: BTreeMap<u32, Vec<&'s ClientStep>>,
    /// The clients with an open transaction.
    open: BTreeSet<u32>,
    /// Those of them whose transaction has executed a statement, and so may have a snapshot.
    used: BTreeSet<u32>,
    /// The transaction that each client began last.
    begun: BTreeMap<u32, TransactionId>,
    /// The clients that wait, and locks of another one may be gone since.
    freed: BTreeSet<u32>,
    /// Clients that wait until the transaction of another one ends: the latter, and who waits for it.
    held: BTreeMap<u32, BTreeSet<u32>>,
}

impl<'s> Planner<'s> {
    fn submit(&mut self, step: &'s ClientStep) {
        let client = step.client.unwrap_or_default();
        if let Some(sent) = self.sent.get(&client) {
            if waits(sent) {
                self.deferred.entry(client).or_default().push(step);
                return;
            }
            self.reap(client);
        }
        let kind = step.effect.kind;
        if kind.is_begin() {
            self.open.insert(client);
        } else if step.ends_transaction() {
            self.open.remove(&client);
            self.used.remove(&client);
        }
        let explicit = |id: &StatementId| self.scenario.case.is_explicit(id.transaction);
        if let Some(id) = step.id.filter(explicit) {
            self.begun.insert(client, id.transaction);
        }
        let may_wait = self.may_wait(step, client);
        if waits(step) || may_wait {
            self.turns.push(Turn::Send {
                step,
                may_answer: !waits(step),
                meets_changes: !waits(step) && self.meets_changes(step, client),
                may_deadlock_with: self.in_flight_beside(client),
            });
            self.sent.insert(client, step);
            self.freed.remove(&client);
        } else {
            let may_be_refused = self.scenario.claims_more(client)
                && (self.may_meet_lock(step, client) || self.may_be_refused_alone(step, client));
            self.turns.push(Turn::Run {
                step,
                may_be_refused,
            });
            self.go_on(step);
        }
        if self.open.contains(&client) && kind != StatementKind::Begin {
            self.used.insert(client);
        }
    }

    /// Takes an answer, and sends what waited for it.
    fn reap(&mut self, client: u32) {
        let Some(step) = self.sent.remove(&client) else {
            return;
        };
        // It was not seen waiting, and its answer was wrong: where a lock is in its way, that may go when nobody waits
        // for it any more, or never.
        self.turns.push(Turn::Reap {
            step,
            may_be_refused: self.scenario.claims_more(client) || !waits(step),
        });
        self.go_on(step);
        for step in self.deferred.remove(&client).unwrap_or_default() {
            self.submit(step);
        }
    }

    /// Takes the answers of the clients that this step lets go on.
    ///
    /// One that went on before the transaction in its way had ended, and should not have, is held until that
    /// ends.
    fn go_on(&mut self, step: &ClientStep) {
        let client = step.client.unwrap_or_default();
        let is_end = step.effect.kind.is_end();
        let keeps_locks = self.keeps_locks(step, client);
        for resumed in &step.resumes {
            let sent = self.sent.get(resumed).copied();
            let holders = match sent {
                Some(sent) if waits_too_short(sent) && !is_end && self.open.contains(&client) => {
                    vec![client]
                }
                Some(sent) if keeps_locks && !self.freed.contains(resumed) => {
                    self.holders(sent, client)
                }
                Some(_) | None => Vec::new(),
            };
            match sent {
                Some(sent) if !holders.is_empty() => {
                    self.turns.push(Turn::StillWaits(sent));
                    for holder in holders {
                        self.held.entry(holder).or_default().insert(*resumed);
                    }
                }
                Some(_) | None => self.reap(*resumed),
            }
        }
        if !keeps_locks {
            self.freed.extend(self.sent.keys());
        }
        if is_end {
            for waiting in self.held.remove(&client).unwrap_or_default() {
                let is_held = self.held.values().any(|held| held.contains(&waiting));
                if !is_held {
                    self.reap(waiting);
                }
            }
        }
    }

    /// Whether a client has after this step every lock that it had before: all engines keep them until the transaction
    /// ends, but for those of what is rolled back.
    fn keeps_locks(&self, step: &ClientStep, client: u32) -> bool {
        let kind = step.effect.kind;
        let is_refused = matches!(step.seen, Some(Expectation::Error(_)));
        let undoes = kind == StatementKind::RollbackTo || kind == StatementKind::PhysicalDdl;
        self.open.contains(&client) && !is_refused && !undoes
    }

    /// The clients whose open transactions are in the way of a statement that went on behind a step of `client`: it
    /// waited for them, and no lock has gone since. On an engine that is right it still waits; in a case whose answers
    /// are right, or where it was refused, there is another reason.
    fn holders(&self, sent: &ClientStep, client: u32) -> Vec<u32> {
        let is_refused = matches!(sent.seen, Some(Expectation::Error(_)));
        if !sent.waits || is_refused || self.scenario.symptom != Symptom::WrongAnswer {
            return Vec::new();
        }
        let known = sent.waits_for.as_slice();
        let named = match known.is_empty() {
            true => &[client],
            false => known,
        };
        let open = named.iter().copied().filter(|n| self.open.contains(n));
        open.collect()
    }

    /// Whether an engine that is right may have this step wait, though it was not seen waiting: it was
    /// answered wrongly, and a lock may be in its way.
    fn may_wait(&self, step: &ClientStep, client: u32) -> bool {
        let must_not = step.right.contains(&Expectation::DoesNotWait);
        step.is_disputed() && !must_not && self.may_meet_lock(step, client)
    }

    /// Whether a step takes locks at the level that its client is judged by, and another client has an open
    /// transaction.
    fn may_meet_lock(&self, step: &ClientStep, client: u32) -> bool {
        self.takes_locks(step, client) && self.open.iter().any(|other| *other != client)
    }

    /// Whether a step takes locks at the claimed level, and closes a deadlock with a client that waits outside any
    /// transaction, or finds a row that is newer than its snapshot.
    fn may_be_refused_alone(&self, step: &ClientStep, client: u32) -> bool {
        let refuses_newer_rows =
            self.scenario.refuses_newer_rows(client) && self.used.contains(&client);
        let is_beside_others = !self.in_flight_beside(client).is_empty();
        self.takes_locks(step, client) && (refuses_newer_rows || is_beside_others)
    }

    /// Whether a step takes locks at the level that its client is judged by.
    fn takes_locks(&self, step: &ClientStep, client: u32) -> bool {
        let level = self.scenario.case.judged_level(SessionId(client));
        let kind = step.effect.kind;
        let takes_locks = kind.is_write()
            || kind == StatementKind::LockingSelect
            || (kind == StatementKind::Select && level == IsolationLevel::Serializable);
        takes_locks && !step.effect.nowait
    }

    /// The other clients whose statements wait, where a client is judged by more than it runs at.
    fn in_flight_beside(&self, client: u32) -> Vec<u32> {
        if !self.scenario.claims_more(client) {
            return Vec::new();
        }
        let others = self.sent.iter();
        let others = others.filter(|(other, step)| **other != client && waits(step));
        others.map(|(other, _)| *other).collect()
    }

    /// Whether an open transaction of another client changes a table that a step names.
    fn meets_changes(&self, step: &ClientStep, client: u32) -> bool {
        let others = self.open.iter().filter(|other| **other != client);
        let others: Vec<&TransactionId> = others.filter_map(|o| self.begun.get(o)).collect();
        let used = step.effect.uses.iter();
        let used: BTreeSet<&str> = used.map(|used| used.table.as_str()).collect();
        let changes = |other: &ClientStep| {
            let is_theirs = other.id.is_some_and(|id| others.contains(&&id.transaction));
            let mut uses = other.effect.uses.iter();
            let shares = uses.any(|theirs| used.contains(theirs.table.as_str()));
            other.effect.kind.is_write() && is_theirs && shares
        };
        self.scenario.steps.iter().any(changes)
    }
}

/// Whether a step waited, and should have waited longer.
fn waits_too_short(step: &ClientStep) -> bool {
    step.waits && step.right.contains(&Expectation::Waits)
}

/// Whether a step waits: it was seen to, or it should.
fn waits(step: &ClientStep) -> bool {
    let should = step.right.contains(&Expectation::Waits);
    let should_not = step.right.contains(&Expectation::DoesNotWait);
    should || (step.waits && !should_not)
}
