//! Single situations, told step by step; `random` has random cases in a small world of locks.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

mod random;

fn answered(noted: &[Noted]) -> Vec<(SessionStep, TransactionFate)> {
    noted
        .iter()
        .filter_map(|note| match note {
            Noted::Answered { step, fate, .. } => Some((*step, *fate)),
            Noted::Waiting { .. } => None,
        })
        .collect()
}

/// A line of a session: its transaction, position and kind.
fn line(session: u32, transaction: u32, position: u32, kind: StatementKind) -> ScheduledStatement {
    ScheduledStatement {
        id: StatementId {
            transaction: TransactionId(transaction),
            position,
        },
        session: SessionId(session),
        kind,
        explicit: true,
        chains: false,
        takes_locks: !kind.is_control(),
        before: 0,
        after: 0,
        observed: false,
        tables: BTreeSet::new(),
        is_plain_read: kind == StatementKind::Select,
        waits_for_table: None,
        may_wait_for_snapshot: false,
        session_lock: None,
    }
}

fn two_sessions() -> Scheduler {
    use StatementKind::{Begin, Commit, Update};
    Scheduler::new(
        Pace::Scheduled,
        vec![
            line(1, 1, 1, Begin),
            line(2, 2, 1, Begin),
            line(1, 1, 2, Update),
            line(2, 2, 2, Update),
            line(2, 2, 3, Commit),
            line(1, 1, 3, Commit),
        ],
    )
}

const OPEN: AnswerState = AnswerState {
    rejected: false,
    open: true,
    failed: false,
};
const ENDED: AnswerState = AnswerState {
    rejected: false,
    open: false,
    failed: false,
};

fn send(scheduler: &mut Scheduler, line: usize) {
    let action = scheduler.next();
    assert!(
        matches!(&action, DriverAction::Send(step) if step.work == Work::Statement { line }),
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
    assert_eq!(scheduler.next(), DriverAction::Settle);
    assert_eq!(scheduler.polled(&on(&[(2, 1)])).len(), 1);
    // s2's COMMIT is parked: the first line of a free session is s1's COMMIT.
    send(&mut scheduler, 5);
    scheduler
}

#[test]
fn a_commit_is_recorded_before_the_answer_that_it_released() {
    let mut scheduler = commit_under_way();
    assert_eq!(scheduler.answered(SessionId(2), OPEN), vec![]);
    assert_eq!(scheduler.next(), DriverAction::Settle);
    let noted = answered(&scheduler.answered(SessionId(1), ENDED));
    let sessions: Vec<u32> = noted.iter().map(|(step, _)| step.session.0).collect();
    assert_eq!(sessions, vec![1, 2]);
    assert_eq!(noted[0].1, TransactionFate::Committed);
    send(&mut scheduler, 4);
}

#[test]
fn a_released_session_must_answer_or_be_polled_before_the_next_send() {
    let mut scheduler = commit_under_way();
    assert_eq!(scheduler.answered(SessionId(1), ENDED).len(), 1);
    assert_eq!(scheduler.next(), DriverAction::Settle);
    assert_eq!(scheduler.polled(&on(&[])), vec![]);
    assert_eq!(scheduler.next(), DriverAction::Settle);
    assert_eq!(scheduler.answered(SessionId(2), OPEN).len(), 1);
    send(&mut scheduler, 4);
}

/// Up to the moment when s2 waits for s1's first UPDATE, and this line of s1 is answered.
fn beside_a_wait(next: ScheduledStatement, answer: AnswerState) -> DriverAction {
    use StatementKind::{Begin, Update};
    let lines = vec![
        line(1, 1, 1, Begin),
        line(1, 1, 2, Update),
        line(2, 2, 1, Begin),
        line(2, 2, 2, Update),
        next,
        line(1, 1, 4, Update),
    ];
    let mut scheduler = Scheduler::new(Pace::Scheduled, lines);
    for (line, session) in [(0, 1), (1, 1), (2, 2)] {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(session), OPEN);
    }
    send(&mut scheduler, 3);
    scheduler.polled(&on(&[(2, 1)]));
    send(&mut scheduler, 4);
    scheduler.answered(SessionId(1), answer);
    scheduler.next()
}

#[test]
fn a_statement_that_changes_no_lock_needs_no_poll() {
    use StatementKind::{ReleaseSavepoint, RollbackTo, Savepoint, Select, Update};
    let rejected = AnswerState {
        rejected: true,
        open: true,
        failed: false,
    };
    let of = |kind, takes_locks| ScheduledStatement {
        takes_locks,
        ..line(1, 1, 3, kind)
    };
    for kind in [Savepoint, ReleaseSavepoint, Select] {
        let next = beside_a_wait(of(kind, false), OPEN);
        assert!(matches!(next, DriverAction::Send(_)), "{kind:?}: {next:?}");
        let next = beside_a_wait(of(kind, false), rejected);
        assert_eq!(next, DriverAction::Settle, "{kind:?} rejected");
    }
    for kind in [Select, RollbackTo, Update] {
        let next = beside_a_wait(of(kind, true), OPEN);
        assert_eq!(next, DriverAction::Settle, "{kind:?}");
    }
}

#[test]
fn two_waits_need_a_second_poll_and_a_deadlock_awaits_its_victim() {
    use StatementKind::{Begin, Update};
    let mut scheduler = Scheduler::new(
        Pace::Scheduled,
        vec![
            line(1, 1, 1, Begin),
            line(2, 2, 1, Begin),
            line(3, 3, 1, Begin),
            line(1, 1, 2, Update),
            line(2, 2, 2, Update),
            line(3, 3, 2, Update),
            line(1, 1, 3, Update),
        ],
    );
    for (line, session) in [(0, 1), (1, 2), (2, 3), (3, 1)] {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(session), OPEN);
    }
    send(&mut scheduler, 4);
    scheduler.polled(&on(&[(2, 1)]));
    send(&mut scheduler, 5);
    scheduler.polled(&on(&[(2, 1), (3, 1)]));
    assert_eq!(scheduler.next(), DriverAction::Settle);
    scheduler.polled(&on(&[(2, 1), (3, 1)]));
    send(&mut scheduler, 6);
    let circle = on(&[(1, 2), (2, 1), (3, 1)]);
    for _ in 0..5 {
        scheduler.polled(&circle);
        assert_eq!(scheduler.next(), DriverAction::Settle);
    }
    let victim = AnswerState {
        rejected: true,
        open: false,
        failed: false,
    };
    let noted = scheduler.answered(SessionId(1), victim);
    assert_eq!(answered(&noted)[0].1, TransactionFate::Aborted);
    assert_eq!(scheduler.next(), DriverAction::Settle);
}

#[test]
fn a_wait_cycle_awaits_no_victim_while_a_blocker_can_go_on() {
    use StatementKind::{Begin, Commit, Update};
    let mut scheduler = Scheduler::new(
        Pace::Scheduled,
        vec![
            line(1, 1, 1, Begin),
            line(2, 2, 1, Begin),
            line(3, 3, 1, Begin),
            line(2, 2, 2, Update),
            line(1, 1, 2, Update),
            line(3, 3, 2, Commit),
        ],
    );
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
        assert_eq!(scheduler.next(), DriverAction::Settle);
        scheduler.polled(&waits);
    }
    send(&mut scheduler, 5);
    scheduler.answered(SessionId(3), ENDED);
    for _ in 0..5 {
        scheduler.polled(&on(&[(1, 2), (2, 1)]));
        assert_eq!(scheduler.next(), DriverAction::Settle);
    }
}

#[test]
fn a_waiting_write_is_observed_at_every_rest() {
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
    let mut scheduler = Scheduler::new(Pace::Scheduled, lines);
    for line in 0..2 {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(1), OPEN);
    }
    assert_eq!(scheduler.next(), DriverAction::Observe(vec![ids[1]]));
    send(&mut scheduler, 2);
    scheduler.polled(&on(&[(2, 1)]));
    assert_eq!(scheduler.next(), DriverAction::Observe(vec![ids[2]]));
    send(&mut scheduler, 3);
    for _ in 0..2 {
        scheduler.polled(&on(&[(2, 1), (3, 1)]));
    }
    assert_eq!(
        scheduler.next(),
        DriverAction::Observe(vec![ids[3], ids[2]])
    );
    send(&mut scheduler, 4);
    scheduler.answered(SessionId(1), ENDED);
    // s2 goes on; s3 got past its first row and waits again, seen exactly as before.
    scheduler.answered(SessionId(2), ENDED);
    scheduler.polled(&on(&[(3, 1)]));
    assert_eq!(
        scheduler.next(),
        DriverAction::Observe(vec![ids[2], ids[3]])
    );
}

#[test]
fn a_refused_commit_that_leaves_the_transaction_open_is_rolled_back_at_once() {
    let mut scheduler = two_sessions();
    for (line, session) in [(0, 1), (1, 2), (2, 1), (3, 2)] {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(session), OPEN);
    }
    send(&mut scheduler, 4);
    let busy = AnswerState {
        rejected: true,
        open: true,
        failed: false,
    };
    let noted = scheduler.answered(SessionId(2), busy);
    assert_eq!(answered(&noted)[0].1, TransactionFate::Continues);
    let rollback = SessionStep {
        session: SessionId(2),
        work: Work::Rollback,
    };
    assert_eq!(scheduler.next(), DriverAction::Send(rollback));
    let noted = scheduler.answered(SessionId(2), ENDED);
    assert_eq!(answered(&noted)[0].1, TransactionFate::Aborted);
    send(&mut scheduler, 5);
}

#[test]
fn an_open_transaction_is_rolled_back_at_the_end_and_releases_waiters() {
    use StatementKind::{Begin, Commit, Update};
    let mut scheduler = Scheduler::new(
        Pace::Scheduled,
        vec![
            line(1, 1, 1, Begin),
            line(1, 1, 2, Update),
            line(2, 2, 1, Begin),
            line(2, 2, 2, Update),
            line(2, 2, 3, Commit),
        ],
    );
    for (line, session) in [(0, 1), (1, 1), (2, 2)] {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(session), OPEN);
    }
    send(&mut scheduler, 3);
    scheduler.polled(&on(&[(2, 1)]));
    let rollback = SessionStep {
        session: SessionId(1),
        work: Work::Rollback,
    };
    assert_eq!(scheduler.next(), DriverAction::Send(rollback));
    scheduler.answered(SessionId(1), ENDED);
    scheduler.answered(SessionId(2), OPEN);
    send(&mut scheduler, 4);
    scheduler.answered(SessionId(2), ENDED);
    assert_eq!(scheduler.next(), DriverAction::Finish);
}

#[test]
fn a_timed_out_statement_counts_as_waiting_until_it_answers() {
    let mut scheduler = two_sessions();
    for (line, session) in [(0, 1), (1, 2), (2, 1)] {
        send(&mut scheduler, line);
        scheduler.answered(SessionId(session), OPEN);
    }
    send(&mut scheduler, 3);
    scheduler.polled(&on(&[]));
    assert_eq!(scheduler.next(), DriverAction::Settle);
    assert_eq!(scheduler.gave_up().len(), 1);
    send(&mut scheduler, 5);
    scheduler.answered(SessionId(1), ENDED);
    assert_eq!(scheduler.next(), DriverAction::AwaitAnswer);
    scheduler.answered(SessionId(2), OPEN);
    send(&mut scheduler, 4);
}

#[test]
fn a_failed_transaction_commits_nothing() {
    let accepted = |failed| AnswerState {
        rejected: false,
        open: false,
        failed,
    };
    let commit = line(1, 1, 2, StatementKind::Commit);
    assert_eq!(
        fate(&commit, accepted(false), true),
        TransactionFate::Committed
    );
    assert_eq!(
        fate(&commit, accepted(true), true),
        TransactionFate::Aborted
    );
    let refused = AnswerState {
        rejected: true,
        open: true,
        failed: true,
    };
    let update = line(1, 1, 2, StatementKind::Update);
    assert_eq!(fate(&update, refused, true), TransactionFate::Continues);
}

#[test]
fn a_chain_commits_and_takes_the_next_transaction_with_it_where_it_is_refused() {
    use StatementKind::{Begin, Commit, Update};
    let chain = ScheduledStatement {
        chains: true,
        ..line(1, 1, 2, Commit)
    };
    let failed = AnswerState {
        failed: true,
        ..OPEN
    };
    let refused = AnswerState {
        rejected: true,
        ..ENDED
    };
    let contradicted = TransactionFate::Strange(UndecidedReason::BeginContradicted);
    for (answer, fate_of_it) in [
        (OPEN, TransactionFate::Committed),
        (failed, TransactionFate::Aborted),
        (refused, TransactionFate::Aborted),
        (ENDED, contradicted),
    ] {
        assert_eq!(fate(&chain, answer, true), fate_of_it, "{answer:?}");
    }
    let alone = ScheduledStatement {
        explicit: false,
        ..line(1, 3, 1, Update)
    };
    let lines = [
        line(1, 1, 1, Begin),
        chain,
        line(1, 2, 1, Update),
        line(1, 2, 2, Commit),
        alone,
    ];
    for (answer, next) in [(OPEN, 2), (refused, 4)] {
        let mut scheduler = Scheduler::new(Pace::Scheduled, lines.to_vec());
        send(&mut scheduler, 0);
        scheduler.answered(SessionId(1), OPEN);
        send(&mut scheduler, 1);
        scheduler.answered(SessionId(1), answer);
        send(&mut scheduler, next);
    }
}

#[test]
fn ddl_is_held_back_while_another_transaction_has_used_its_table() {
    use StatementKind::{Begin, Commit, PhysicalDdl, Select};
    let using = |line: ScheduledStatement, table: &str| ScheduledStatement {
        tables: BTreeSet::from([table.to_owned()]),
        ..line
    };
    let ddl = |transaction| ScheduledStatement {
        explicit: false,
        is_plain_read: false,
        waits_for_table: Some("t0".to_owned()),
        ..line(2, transaction, 1, PhysicalDdl)
    };
    let mut scheduler = Scheduler::new(
        Pace::Scheduled,
        vec![
            line(1, 1, 1, Begin),
            using(line(1, 1, 2, Select), "t1"),
            ddl(2),
            using(line(1, 1, 3, Select), "t0"),
            ddl(3),
            line(1, 1, 4, Commit),
        ],
    );
    // The first goes: nobody has used t0. The second comes behind the COMMIT.
    for (line, session) in [(0, 1), (1, 1), (2, 2), (3, 1), (5, 1), (4, 2)] {
        send(&mut scheduler, line);
        let open = session == 1 && line != 5;
        let state = if open { OPEN } else { ENDED };
        scheduler.answered(SessionId(session), state);
    }
    assert_eq!(scheduler.next(), DriverAction::Finish);
}
