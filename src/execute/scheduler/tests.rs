//! Random cases against a small world of exclusive locks: real waits, real deadlocks, answers and
//! polls that come in any order. No database.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

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
    answer: Option<Answer>,
}

/// Exclusive locks, first come first served, with a deadlock detector that kills the latecomer.
#[derive(Default)]
struct World {
    clients: BTreeMap<SessionId, Client>,
    queue: Vec<SessionId>,
}

impl World {
    fn run(&mut self, line: Option<&Line>, session: SessionId, doing: Doing) {
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
            client.answer = Some(Answer { rejected, open });
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
fn lines(drawn: &[Drawn]) -> (Vec<Line>, Vec<Doing>) {
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
        lines.push(Line {
            id,
            session: SessionId(*session),
            kind,
            explicit: inside || kind.is_begin(),
            before: if plain { 0 } else { *before },
            after: if plain { 0 } else { *after },
            observed: kind.is_write(),
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
fn run(drawn: &[Drawn], choices: &[u8]) -> (Vec<Line>, Vec<Step>, Vec<Noted>) {
    let (lines, doings) = lines(drawn);
    let mut scheduler = Scheduler::new(lines.clone());
    let mut world = World::default();
    let (mut sent, mut noted) = (Vec::new(), Vec::new());
    let mut choices = choices.iter().cycle();
    let mut looks = 0;
    for _ in 0..20_000 {
        match scheduler.next() {
            Action::Finish => return (lines, sent, noted),
            Action::Observe(active) => assert!(!active.is_empty()),
            Action::Send(step) => {
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
            Action::Settle | Action::AwaitAnswer => {
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

fn answered(noted: &[Noted]) -> Vec<(Step, Fate)> {
    noted
        .iter()
        .filter_map(|note| match note {
            Noted::Answered { step, fate, .. } => Some((*step, *fate)),
            Noted::Waiting { .. } => None,
        })
        .collect()
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
        let (lines, sent, noted) = run(&drawn, &choices);
        let mut last: BTreeMap<SessionId, usize> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for step in &sent {
            if let Work::Statement { line } = step.work {
                prop_assert!(seen.insert(line), "sent twice");
                prop_assert!(last.insert(step.session, line).is_none_or(|before| before < line));
            }
        }
        // Everything sent is answered and recorded, once and in the session's order.
        let answered = answered(&noted);
        for session in lines.iter().map(|line| line.session).collect::<BTreeSet<_>>() {
            let of = |step: &&Step| step.session == session;
            let sent: Vec<&Step> = sent.iter().filter(of).collect();
            let back: Vec<&Step> = answered.iter().map(|(step, _)| step).filter(of).collect();
            prop_assert_eq!(sent, back);
        }
        // What was not sent belongs to a transaction that the engine aborted.
        let gone: BTreeSet<TransactionId> = answered
            .iter()
            .filter(|(_, fate)| *fate == Fate::Aborted)
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
        let strange = answered.iter().any(|(_, fate)| matches!(fate, Fate::Strange(_)));
        prop_assert!(!strange);
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
                    if *fate != Fate::Aborted {
                        prop_assert!(on.iter().all(|session| !open.contains(session)));
                    }
                    match (step.work, fate) {
                        (Work::Statement { line }, Fate::Continues) if lines[line].explicit => {
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

/// A line of a session: its transaction, position and kind.
fn line(session: u32, transaction: u32, position: u32, kind: StatementKind) -> Line {
    Line {
        id: StatementId {
            transaction: TransactionId(transaction),
            position,
        },
        session: SessionId(session),
        kind,
        explicit: true,
        before: 0,
        after: 0,
        observed: false,
    }
}

fn two_sessions() -> Scheduler {
    use StatementKind::{Begin, Commit, Update};
    Scheduler::new(vec![
        line(1, 1, 1, Begin),
        line(2, 2, 1, Begin),
        line(1, 1, 2, Update),
        line(2, 2, 2, Update),
        line(2, 2, 3, Commit),
        line(1, 1, 3, Commit),
    ])
}

const OPEN: Answer = Answer {
    rejected: false,
    open: true,
};
const ENDED: Answer = Answer {
    rejected: false,
    open: false,
};

fn send(scheduler: &mut Scheduler, line: usize) {
    let action = scheduler.next();
    assert!(
        matches!(&action, Action::Send(step) if step.work == Work::Statement { line }),
        "{action:?}"
    );
}

fn on(waits: &[(u32, u32)]) -> BTreeMap<SessionId, BTreeSet<SessionId>> {
    waits
        .iter()
        .map(|(waiter, holder)| (SessionId(*waiter), BTreeSet::from([SessionId(*holder)])))
        .collect()
}

/// Up to the moment when s2 waits for s1, whose COMMIT has just been sent.
fn commit_under_way() -> Scheduler {
    let mut scheduler = two_sessions();
    for (line, session) in [(0, 1), (1, 2), (2, 1)] {
        send(&mut scheduler, line);
        assert_eq!(scheduler.answered(SessionId(session), OPEN).len(), 1);
    }
    send(&mut scheduler, 3);
    assert_eq!(scheduler.next(), Action::Settle);
    assert_eq!(scheduler.polled(&on(&[(2, 1)])).len(), 1);
    // s2's COMMIT is parked: the first line of a free session is s1's COMMIT.
    send(&mut scheduler, 5);
    scheduler
}

#[test]
fn a_commit_is_recorded_before_the_answer_it_released_even_if_that_comes_first() {
    let mut scheduler = commit_under_way();
    assert_eq!(scheduler.answered(SessionId(2), OPEN), vec![]);
    assert_eq!(scheduler.next(), Action::Settle);
    let noted = answered(&scheduler.answered(SessionId(1), ENDED));
    let sessions: Vec<u32> = noted.iter().map(|(step, _)| step.session.0).collect();
    assert_eq!(sessions, vec![1, 2]);
    assert_eq!(noted[0].1, Fate::Committed);
    send(&mut scheduler, 4);
}

#[test]
fn after_a_release_the_blocked_session_has_to_answer_or_be_seen_waiting_again() {
    let mut scheduler = commit_under_way();
    assert_eq!(scheduler.answered(SessionId(1), ENDED).len(), 1);
    assert_eq!(scheduler.next(), Action::Settle);
    assert_eq!(scheduler.polled(&on(&[])), vec![]);
    assert_eq!(scheduler.next(), Action::Settle);
    assert_eq!(scheduler.answered(SessionId(2), OPEN).len(), 1);
    send(&mut scheduler, 4);
}

#[test]
fn two_that_wait_are_looked_at_twice_and_a_circle_awaits_its_victim() {
    use StatementKind::{Begin, Update};
    let mut scheduler = Scheduler::new(vec![
        line(1, 1, 1, Begin),
        line(2, 2, 1, Begin),
        line(3, 3, 1, Begin),
        line(1, 1, 2, Update),
        line(2, 2, 2, Update),
        line(3, 3, 2, Update),
        line(1, 1, 3, Update),
    ]);
    for (line, session) in [(0, 1), (1, 2), (2, 3), (3, 1)] {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(session), OPEN);
    }
    send(&mut scheduler, 4);
    scheduler.polled(&on(&[(2, 1)]));
    send(&mut scheduler, 5);
    scheduler.polled(&on(&[(2, 1), (3, 1)]));
    assert_eq!(scheduler.next(), Action::Settle);
    scheduler.polled(&on(&[(2, 1), (3, 1)]));
    send(&mut scheduler, 6);
    let circle = on(&[(1, 2), (2, 1), (3, 1)]);
    for _ in 0..5 {
        scheduler.polled(&circle);
        assert_eq!(scheduler.next(), Action::Settle);
    }
    let victim = Answer {
        rejected: true,
        open: false,
    };
    let noted = scheduler.answered(SessionId(1), victim);
    assert_eq!(answered(&noted)[0].1, Fate::Aborted);
    assert_eq!(scheduler.next(), Action::Settle);
}

#[test]
fn a_circle_with_a_way_out_has_no_victim_yet() {
    use StatementKind::{Begin, Commit, Update};
    let mut scheduler = Scheduler::new(vec![
        line(1, 1, 1, Begin),
        line(2, 2, 1, Begin),
        line(3, 3, 1, Begin),
        line(2, 2, 2, Update),
        line(1, 1, 2, Update),
        line(3, 3, 2, Commit),
    ]);
    for (line, session) in [(0, 1), (1, 2), (2, 3)] {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(session), OPEN);
    }
    send(&mut scheduler, 3);
    scheduler.polled(&on(&[(2, 1)]));
    send(&mut scheduler, 4);
    let mut waits = on(&[(1, 2), (2, 1)]);
    waits.insert(SessionId(1), BTreeSet::from([SessionId(2), SessionId(3)]));
    for _ in 0..2 {
        assert_eq!(scheduler.next(), Action::Settle);
        scheduler.polled(&waits);
    }
    send(&mut scheduler, 5);
    scheduler.answered(SessionId(3), ENDED);
    for _ in 0..5 {
        scheduler.polled(&on(&[(1, 2), (2, 1)]));
        assert_eq!(scheduler.next(), Action::Settle);
    }
}

#[test]
fn a_write_that_still_waits_is_active_in_every_observation() {
    use StatementKind::{Begin, Commit, Update};
    let mut lines = vec![
        line(1, 1, 1, Begin),
        line(1, 1, 2, Update),
        line(2, 2, 1, Update),
        line(3, 3, 1, Update),
        line(1, 1, 3, Commit),
    ];
    for line in &mut lines[2..4] {
        line.explicit = false;
    }
    for line in &mut lines {
        line.observed = line.kind == Update;
    }
    let ids: Vec<StatementId> = lines.iter().map(|line| line.id).collect();
    let mut scheduler = Scheduler::new(lines);
    for line in 0..2 {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(1), OPEN);
    }
    assert_eq!(scheduler.next(), Action::Observe(vec![ids[1]]));
    send(&mut scheduler, 2);
    scheduler.polled(&on(&[(2, 1)]));
    assert_eq!(scheduler.next(), Action::Observe(vec![ids[2]]));
    send(&mut scheduler, 3);
    for _ in 0..2 {
        scheduler.polled(&on(&[(2, 1), (3, 1)]));
    }
    assert_eq!(scheduler.next(), Action::Observe(vec![ids[3], ids[2]]));
    send(&mut scheduler, 4);
    scheduler.answered(SessionId(1), ENDED);
    // s2 goes on; s3 got past its first row and waits again, seen exactly as before.
    scheduler.answered(SessionId(2), ENDED);
    scheduler.polled(&on(&[(3, 1)]));
    assert_eq!(scheduler.next(), Action::Observe(vec![ids[2], ids[3]]));
}

#[test]
fn a_refused_commit_that_leaves_the_transaction_open_is_rolled_back_at_once() {
    let mut scheduler = two_sessions();
    for (line, session) in [(0, 1), (1, 2), (2, 1), (3, 2)] {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(session), OPEN);
    }
    send(&mut scheduler, 4);
    let busy = Answer {
        rejected: true,
        open: true,
    };
    let noted = scheduler.answered(SessionId(2), busy);
    assert_eq!(answered(&noted)[0].1, Fate::Continues);
    let rollback = Step {
        session: SessionId(2),
        work: Work::Rollback,
    };
    assert_eq!(scheduler.next(), Action::Send(rollback));
    let noted = scheduler.answered(SessionId(2), ENDED);
    assert_eq!(answered(&noted)[0].1, Fate::Aborted);
    send(&mut scheduler, 5);
}

#[test]
fn what_the_case_leaves_open_is_rolled_back_and_releases_who_waits_for_it() {
    use StatementKind::{Begin, Commit, Update};
    let mut scheduler = Scheduler::new(vec![
        line(1, 1, 1, Begin),
        line(1, 1, 2, Update),
        line(2, 2, 1, Begin),
        line(2, 2, 2, Update),
        line(2, 2, 3, Commit),
    ]);
    for (line, session) in [(0, 1), (1, 1), (2, 2)] {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(session), OPEN);
    }
    send(&mut scheduler, 3);
    scheduler.polled(&on(&[(2, 1)]));
    let rollback = Step {
        session: SessionId(1),
        work: Work::Rollback,
    };
    assert_eq!(scheduler.next(), Action::Send(rollback));
    scheduler.answered(SessionId(1), ENDED);
    scheduler.answered(SessionId(2), OPEN);
    send(&mut scheduler, 4);
    scheduler.answered(SessionId(2), ENDED);
    assert_eq!(scheduler.next(), Action::Finish);
}

#[test]
fn a_statement_that_the_timer_gave_up_counts_as_waiting_until_it_answers() {
    let mut scheduler = two_sessions();
    for (line, session) in [(0, 1), (1, 2), (2, 1)] {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(session), OPEN);
    }
    send(&mut scheduler, 3);
    scheduler.polled(&on(&[]));
    assert_eq!(scheduler.next(), Action::Settle);
    assert_eq!(scheduler.gave_up().len(), 1);
    send(&mut scheduler, 5);
    scheduler.answered(SessionId(1), ENDED);
    assert_eq!(scheduler.next(), Action::AwaitAnswer);
    scheduler.answered(SessionId(2), OPEN);
    send(&mut scheduler, 4);
}
