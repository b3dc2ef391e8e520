//! Random cases against a small world of exclusive locks: real waits, real deadlocks, answers and
//! polls that come in any order. No database.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::*;
use super::answered;

/// What one statement does in the lock world.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    /// Takes an exclusive lock and keeps it to the end of the transaction.
    Lock(u8),
}

/// One session of the world.
#[derive(Default)]
struct Client {
    open: bool,
    locks: BTreeSet<u8>,
    /// The lock its running step wants, while it waits for it.
    wants: Option<u8>,
    /// Answers not told yet.
    answer: Option<AnswerState>,
}

/// Exclusive locks, first come first served, with a deadlock detector that kills the latecomer.
#[derive(Default)]
struct World {
    clients: BTreeMap<SessionId, Client>,
    queue: Vec<SessionId>,
}

impl World {
    fn run(&mut self, line: Option<&ScheduledStatement>, session: SessionId, doing: Doing) {
        let client = self.clients.entry(session).or_default();
        assert!(
            client.wants.is_none() && client.answer.is_none(),
            "sent to a busy session"
        );
        let kind = line.map_or(StatementKind::Rollback, |line| line.kind);
        match doing {
            _ if kind.is_begin() => {
                client.open = true;
                self.answer(session, false);
            }
            _ if kind.is_end() => self.end(session, false),
            Doing::Nothing => self.answer(session, false),
            Doing::Lock(lock) => {
                client.wants = Some(lock);
                self.queue.push(session);
                self.grant();
                if self.holders_chain(session).contains(&session) {
                    self.queue.retain(|s| *s != session);
                    self.end(session, true);
                }
            }
        }
    }

    fn answer(&mut self, session: SessionId, rejected: bool) {
        if let Some(client) = self.clients.get_mut(&session) {
            let open = client.open;
            client.answer = Some(AnswerState {
                rejected,
                open,
                failed: false,
            });
        }
    }

    fn end(&mut self, session: SessionId, rejected: bool) {
        if let Some(client) = self.clients.get_mut(&session) {
            client.open = false;
            client.locks.clear();
            client.wants = None;
        }
        self.answer(session, rejected);
        self.grant();
    }

    fn holder(&self, lock: u8) -> Option<SessionId> {
        let holds = |(_, client): &(&SessionId, &Client)| client.locks.contains(&lock);
        self.clients.iter().find(holds).map(|(s, _)| *s)
    }

    fn holders_chain(&self, start: SessionId) -> BTreeSet<SessionId> {
        let mut reached = BTreeSet::new();
        let mut at = start;
        while let Some(holder) = self.clients[&at].wants.and_then(|lock| self.holder(lock)) {
            if !reached.insert(holder) {
                break;
            }
            at = holder;
        }
        reached
    }

    /// Gives free locks to who asked first. Outside a transaction the lock is let go at once.
    fn grant(&mut self) {
        while let Some(place) = self.queue.iter().position(|session| {
            let wanted = self.clients[session].wants;
            wanted.is_some_and(|lock| self.holder(lock).is_none_or(|holder| holder == *session))
        }) {
            let session = self.queue.remove(place);
            let Some(client) = self.clients.get_mut(&session) else {
                continue;
            };
            if let Some(lock) = client.wants.take().filter(|_| client.open) {
                client.locks.insert(lock);
            }
            self.answer(session, false);
        }
    }

    fn waiting(&self) -> BTreeMap<SessionId, BTreeSet<SessionId>> {
        self.clients
            .iter()
            .filter_map(|(session, client)| {
                let holder = client.wants.and_then(|lock| self.holder(lock))?;
                Some((*session, BTreeSet::from([holder])))
            })
            .collect()
    }
}

/// A statement as drawn: session, what it is, what it locks, probes before and after.
type Drawn = (u32, u8, u8, usize, usize);

/// Lines that are numbered as a case numbers them, and what each does.
fn lines(drawn: &[Drawn]) -> (Vec<ScheduledStatement>, Vec<Doing>) {
    let mut open: BTreeMap<u32, StatementId> = BTreeMap::new();
    let mut transactions = 0;
    let mut lines = Vec::new();
    let mut doings = Vec::new();
    for (session, what, lock, before, after) in drawn {
        let inside = open.contains_key(session);
        let kind = match (what % 8, inside) {
            (0 | 1, false) => StatementKind::Begin,
            (0, true) => StatementKind::Commit,
            (1, true) => StatementKind::Rollback,
            (2, _) => StatementKind::Select,
            _ => StatementKind::Update,
        };
        let id = match open.get(session) {
            Some(last) => StatementId {
                position: last.position + 1,
                ..*last
            },
            None => {
                transactions += 1;
                StatementId {
                    transaction: TransactionId(transactions),
                    position: 1,
                }
            }
        };
        if kind.is_begin() || (inside && !kind.is_end()) {
            open.insert(*session, id);
        } else {
            open.remove(session);
        }
        let plain = kind.is_control();
        lines.push(ScheduledStatement {
            id,
            session: SessionId(*session),
            kind,
            explicit: inside || kind.is_begin(),
            chains: false,
            takes_locks: kind.is_write(),
            before: if plain { 0 } else { *before },
            after: if plain { 0 } else { *after },
            observed: kind.is_write(),
            tables: BTreeSet::new(),
            is_plain_read: false,
            waits_for_table: None,
            may_wait_for_snapshot: false,
            session_lock: None,
        });
        doings.push(if kind.is_write() {
            Doing::Lock(lock % 3)
        } else {
            Doing::Nothing
        });
    }
    (lines, doings)
}

/// Runs the lines in the world; `choices` decides which answer or poll comes first. Returns what
/// was sent and what was noted, in order.
fn run(drawn: &[Drawn], choices: &[u8]) -> (Vec<ScheduledStatement>, Vec<SessionStep>, Vec<Noted>) {
    run_at(Pace::Scheduled, drawn, choices)
}

fn run_at(
    pace: Pace,
    drawn: &[Drawn],
    choices: &[u8],
) -> (Vec<ScheduledStatement>, Vec<SessionStep>, Vec<Noted>) {
    let (lines, doings) = lines(drawn);
    let mut scheduler = Scheduler::new(pace, lines.clone());
    let mut world = World::default();
    let (mut sent, mut noted) = (Vec::new(), Vec::new());
    let mut choices = choices.iter().cycle();
    let mut looks = 0;
    for _ in 0..20_000 {
        match scheduler.next() {
            DriverAction::Finish => return (lines, sent, noted),
            DriverAction::Observe(active) => assert!(!active.is_empty()),
            DriverAction::Send(step) => {
                sent.push(step);
                let doing = |line: usize| (Some(&lines[line]), doings[line]);
                let probe = |line: usize| {
                    let mut at = lines[line].clone();
                    at.kind = StatementKind::LockingSelect;
                    (at, doings[line])
                };
                match step.work {
                    Work::Rollback => world.run(None, step.session, Doing::Nothing),
                    Work::Statement { line } => {
                        let (line, doing) = doing(line);
                        world.run(line, step.session, doing);
                    }
                    Work::Before { line, .. } | Work::After { line, .. } => {
                        let (line, doing) = probe(line);
                        world.run(Some(&line), step.session, doing);
                    }
                }
            }
            DriverAction::Settle if pace == Pace::Free => panic!("nothing rests at the free pace"),
            DriverAction::Settle | DriverAction::AwaitAnswer => {
                let choice = usize::from(*choices.next().unwrap_or(&0));
                looks += 1;
                let ready: Vec<SessionId> = world
                    .clients
                    .iter()
                    .filter(|(_, client)| client.answer.is_some())
                    .map(|(session, _)| *session)
                    .collect();
                // However the dice fall, an answer does come.
                if (choice % 3 == 0 && looks % 4 != 3) || ready.is_empty() {
                    noted.extend(scheduler.polled(&world.waiting()));
                } else {
                    let session = ready[choice % ready.len()];
                    let answer = world
                        .clients
                        .get_mut(&session)
                        .and_then(|client| client.answer.take());
                    noted.extend(scheduler.answered(session, answer.unwrap()));
                }
            }
        }
    }
    panic!("the run does not end: {drawn:?}");
}

/// Every line is sent once, in its session's order, and what was sent is answered.
fn ends_in_order(pace: Pace, drawn: &[Drawn], choices: &[u8]) -> Result<(), TestCaseError> {
    let (lines, sent, noted) = run_at(pace, drawn, choices);
    let mut last: BTreeMap<SessionId, usize> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for step in &sent {
        if let Work::Statement { line } = step.work {
            prop_assert!(seen.insert(line), "sent twice");
            prop_assert!(
                last.insert(step.session, line)
                    .is_none_or(|before| before < line)
            );
        }
    }
    // Everything sent is answered and recorded, once and in the session's order.
    let answered = answered(&noted);
    for session in lines
        .iter()
        .map(|line| line.session)
        .collect::<BTreeSet<_>>()
    {
        let of = |step: &&SessionStep| step.session == session;
        let sent: Vec<&SessionStep> = sent.iter().filter(of).collect();
        let back: Vec<&SessionStep> = answered.iter().map(|(step, _)| step).filter(of).collect();
        prop_assert_eq!(sent, back);
    }
    // What was not sent belongs to a transaction that the engine aborted.
    let gone: BTreeSet<TransactionId> = answered
        .iter()
        .filter(|(_, fate)| *fate == TransactionFate::Aborted)
        .filter_map(|(step, _)| match step.work {
            Work::Before { line, .. } | Work::Statement { line } | Work::After { line, .. } => {
                Some(lines[line].id.transaction)
            }
            Work::Rollback => None,
        })
        .collect();
    for (index, line) in lines.iter().enumerate() {
        prop_assert!(seen.contains(&index) || gone.contains(&line.id.transaction));
    }
    let strange = answered
        .iter()
        .any(|(_, fate)| matches!(fate, TransactionFate::Strange(_)));
    prop_assert!(!strange);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_case_ends_and_each_statement_is_sent_once_in_its_sessions_order(
        drawn in prop::collection::vec((1_u32..5, any::<u8>(), any::<u8>(), 0_usize..3, 0_usize..2), 1..24),
        choices in prop::collection::vec(any::<u8>(), 1..64),
    ) {
        ends_in_order(Pace::Scheduled, &drawn, &choices)?;
        let plain: Vec<Drawn> = drawn.iter().map(|(s, k, l, _, _)| (*s, *k, *l, 0, 0)).collect();
        ends_in_order(Pace::Free, &plain, &choices)?;
    }

    #[test]
    fn what_a_session_waited_for_is_recorded_before_its_resume(
        drawn in prop::collection::vec((1_u32..4, any::<u8>(), any::<u8>(), Just(0_usize), Just(0_usize)), 1..24),
        choices in prop::collection::vec(any::<u8>(), 1..64),
    ) {
        let (lines, _, noted) = run(&drawn, &choices);
        // The transaction last waited for has ended, by the record, when the waiter resumes.
        let mut waits: BTreeMap<SessionId, BTreeSet<SessionId>> = BTreeMap::new();
        let mut open: BTreeSet<SessionId> = BTreeSet::new();
        for note in &noted {
            match note {
                Noted::Waiting { step, on } => {
                    waits.insert(step.session, on.clone());
                }
                Noted::Answered { step, fate, resumed } => {
                    let on = waits.remove(&step.session).unwrap_or_default();
                    prop_assert_eq!(*resumed, !on.is_empty());
                    if *fate != TransactionFate::Aborted {
                        prop_assert!(on.iter().all(|session| !open.contains(session)));
                    }
                    match (step.work, fate) {
                        (Work::Statement { line }, TransactionFate::Continues) if lines[line].explicit => {
                            open.insert(step.session);
                        }
                        _ => {
                            open.remove(&step.session);
                        }
                    }
                }
            }
        }
    }
}
