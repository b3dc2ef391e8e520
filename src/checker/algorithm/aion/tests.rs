//! Aion against Chronos, whatever comes when, whatever goes to disk.

use std::cell::Cell;

use super::*;
use crate::checker::algorithm::chronos::tests::{Numbers, Plain, build, run};
use crate::checker::evidence::counterexample::Counterexample;
use crate::checker::explain::words::edge_in_words;
use crate::checker::{Answer, Budget, by_name};
use crate::history::synthetic::{Promise, Synthetic, SyntheticWorkload};
use crate::history::{Builder, Event, History, Texts};

fn aion(model: ConsistencyModel, timeout: Duration) -> Aion {
    let mut aion = Aion::new(Settings {
        model,
        timeout,
        memory: 1 << 30,
        folder: std::env::temp_dir(),
    });
    aion.set_initial(Atom::from(0));
    aion
}

/// A transaction as it is told.
type Told = (Head, Vec<NamedEvent>);

fn told(transactions: &[Plain]) -> Vec<Told> {
    let told = (1u32..).zip(transactions);
    let told = told.map(|(label, (session, span, events))| {
        let head = Head {
            session: (*session).into(),
            label: label.into(),
            status: Status::Committed,
            timestamps: Some(*span),
            real_time: None,
        };
        let events = events.iter().map(|(kind, key, value)| NamedEvent {
            kind: *kind,
            key: (*key).into(),
            value: (*value).into(),
        });
        (head, events.collect())
    });
    told.collect()
}

/// The same in another order that keeps each session's.
fn shuffled(mut told: Vec<Told>, numbers: &mut Numbers) -> Vec<Told> {
    let mut other = Vec::new();
    while !told.is_empty() {
        let drawn = numbers.below(told.len() as u64) as usize;
        let session = told[drawn].0.session;
        let first = told.iter().position(|t| t.0.session == session);
        other.push(told.remove(first.unwrap_or(drawn)));
    }
    other
}

/// What is told, each breach once: a read that is repeated is no second one.
type Words = BTreeSet<String>;

/// What Chronos found.
fn plainly(history: &History, found: &Counterexample) -> Words {
    let edges = found.edges.iter();
    edges.map(|edge| edge_in_words(history, edge)).collect()
}

fn breaches(aion: &mut Aion) -> Words {
    let taken = aion.take_breaches();
    let texts = Texts::default();
    taken.iter().map(|b| b.in_words(&texts)).collect()
}

fn chronos(history: &History, model: ConsistencyModel) -> Answer {
    let chronos = by_name("chronos").expect("a checker");
    chronos.check(history, model, Budget::default())
}

/// Feeds Aion, collecting now and then; nothing becomes final before the end.
fn judge(
    model: ConsistencyModel,
    told: &[Told],
    numbers: &mut Numbers,
    collect_one_in: u64,
) -> Aion {
    let mut aion = aion(model, Duration::from_secs(3600));
    for (at, (head, events)) in told.iter().enumerate() {
        let moment = Duration::from_millis(at as u64);
        aion.receive(head, events, moment).expect("a disk");
        if numbers.below(collect_one_in) == 0 {
            aion.collect().expect("a disk");
        }
    }
    aion.finish().expect("a disk");
    aion
}

/// Something is wrong with one of the transactions.
fn tamper(transactions: &mut [Plain], numbers: &mut Numbers) {
    let victim = numbers.below(transactions.len() as u64) as usize;
    let (_, span, events) = &mut transactions[victim];
    match numbers.below(5) {
        0 => span.from -= numbers.below(6) as i64,
        1 | 2 => {
            let reads = events.iter_mut().filter(|event| event.0 == Kind::Read);
            for event in reads.take(1) {
                event.2 = numbers.below(6) as u32;
            }
        }
        3 => span.from = (span.from + numbers.below(4) as i64).min(span.to - 1),
        _ => {
            // Half a unit between all moments, so that nobody takes another's.
            for (_, span, _) in transactions.iter_mut() {
                (span.from, span.to) = (span.from * 2, span.to * 2);
            }
            transactions[victim].1.to += numbers.below(4) as i64 * 2 + 1;
        }
    }
}

#[test]
fn whatever_comes_when_and_whatever_is_on_disk_the_breaches_are_those_of_chronos() {
    let (violated, satisfied, flips) = (Cell::new(0), Cell::new(0), Cell::new(0));
    for seed in 0..3_000 {
        let numbers = &mut Numbers(seed);
        let mut transactions = run(numbers, 4 + seed as usize % 20);
        for _ in 0..seed % 3 {
            tamper(&mut transactions, numbers);
        }
        let history = build(&transactions);
        let told = shuffled(told(&transactions), numbers);
        for model in [ConsistencyModel::Snapshot, ConsistencyModel::Serializable] {
            let expected = match chronos(&history, model) {
                Answer::Satisfied(_) => Words::new(),
                Answer::Violated(found) if found.edges.len() < 20 => plainly(&history, &found),
                Answer::Violated(_) => continue,
                Answer::Unknown(reason) => {
                    assert!(
                        reason.contains("not commit after it starts"),
                        "{seed}: {reason}"
                    );
                    continue;
                }
            };
            let mut aion = judge(model, &told, numbers, 1 + seed % 7);
            let found = breaches(&mut aion);
            assert_eq!(
                found, expected,
                "{seed} {model}\n{transactions:?}\n{told:?}"
            );
            let verdict = match expected.is_empty() {
                true => (&satisfied, WatchVerdict::Satisfied),
                false => (&violated, WatchVerdict::Violated),
            };
            verdict.0.set(verdict.0.get() + 1);
            assert_eq!(aion.summary().verdict(), verdict.1, "{seed} {model}");
            flips.set(flips.get() + aion.summary().flips);
        }
    }
    let counts = [violated.get(), satisfied.get(), flips.get()];
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}

/// A larger history in the order of its commits, as its labels have it.
fn in_order(mut told: Vec<Told>) -> History {
    told.sort_by_key(|(head, _)| head.label);
    let mut builder = Builder::new(Synthetic::initial());
    for (head, events) in told {
        let mut numbered = Vec::new();
        for NamedEvent { kind, key, value } in events {
            let key = builder.key(key).expect("few keys");
            numbered.push(Event { kind, key, value });
        }
        builder
            .transaction(&head, numbered)
            .expect("few transactions");
    }
    builder.finish()
}

#[test]
fn delays_change_verdicts_on_the_way_and_none_at_the_end() {
    for (seed, promise, model) in [
        (1, Promise::Snapshot, ConsistencyModel::Snapshot),
        (2, Promise::Serial, ConsistencyModel::Serializable),
        (3, Promise::Snapshot, ConsistencyModel::Serializable),
    ] {
        let workload = SyntheticWorkload {
            keys: 300,
            delay: 400,
            seed,
            ..SyntheticWorkload::general(promise, 6_000)
        };
        let mut synthetic = Synthetic::new(workload);
        let (mut all, mut events) = (Vec::new(), Vec::new());
        while let Some(head) = synthetic.tell(&mut events) {
            all.push((head, events.clone()));
        }
        let mut aion = judge(model, &all, &mut Numbers(seed), 1_000);
        let summary = aion.summary();
        assert!(summary.flips > 1_000, "{summary:?}");
        assert!(
            summary.spilled > 10_000 && summary.reloads > 0,
            "{summary:?}"
        );
        let answer = chronos(&in_order(all), model);
        assert_eq!(
            matches!(answer, Answer::Satisfied(_)),
            summary.verdict() == WatchVerdict::Satisfied,
            "{seed}: {answer:?}"
        );
        let is_kept = (promise == Promise::Snapshot) == (model == ConsistencyModel::Snapshot);
        assert_eq!(breaches(&mut aion).is_empty(), is_kept, "{seed}");
    }
}

fn one(label: u32, session: u32, span: (i64, i64), events: &[(Kind, u32, u32)]) -> Told {
    let plain = (
        session,
        Span {
            from: span.0,
            to: span.1,
        },
        events.to_vec(),
    );
    let (mut head, events) = told(&[plain]).remove(0);
    head.label = label.into();
    (head, events)
}

/// Tells each transaction at its second, with a timeout of eight.
fn at_seconds(told: &[(u64, Told)]) -> Aion {
    let mut aion = aion(ConsistencyModel::Snapshot, Duration::from_secs(8));
    for (second, (head, events)) in told {
        let moment = Duration::from_secs(*second);
        aion.receive(head, events, moment).expect("a disk");
    }
    aion
}

#[test]
fn a_version_that_comes_within_the_timeout_clears_the_read_that_saw_it() {
    let write = one(1, 1, (1, 2), &[(Kind::Write, 7, 5)]);
    let read = one(2, 2, (3, 4), &[(Kind::Read, 7, 5)]);
    let mut aion = at_seconds(&[(0, read), (7, write)]);
    assert_eq!((aion.summary().flips, aion.open_breaches()), (1, 0));
    aion.advance(Duration::from_secs(30)).expect("a disk");
    assert_eq!(aion.summary().verdict(), WatchVerdict::Satisfied);
    assert!(aion.take_breaches().is_empty());
}

#[test]
fn a_version_that_comes_after_the_timeout_clears_nothing_and_is_called_late() {
    let write = one(1, 1, (1, 2), &[(Kind::Write, 7, 5)]);
    let read = one(2, 2, (3, 4), &[(Kind::Read, 7, 5)]);
    let mut aion = at_seconds(&[(0, read.clone())]);
    assert_eq!(aion.open_breaches(), 1);
    aion.advance(Duration::from_secs(7)).expect("a disk");
    assert!(aion.take_breaches().is_empty());
    aion.advance(Duration::from_secs(10)).expect("a disk");
    let told = aion.take_breaches();
    let texts = crate::history::Texts::default();
    let words: Vec<String> = told.iter().map(|breach| breach.in_words(&texts)).collect();
    assert_eq!(words, ["T2 reads 5 for 7, where T0 had left 0"]);
    let (head, events) = write.clone();
    aion.receive(&head, &events, Duration::from_secs(11))
        .expect("a disk");
    aion.finish().expect("a disk");
    let summary = aion.summary();
    assert_eq!((summary.late, summary.violation_count()), (1, 0));
    assert!(aion.take_breaches().is_empty(), "nothing is told twice");
    // A late writer alone leaves nothing certain.
    let blind = one(2, 2, (3, 4), &[(Kind::Read, 7, 0)]);
    let aion = at_seconds(&[(0, blind), (11, write)]);
    assert_eq!(aion.summary().verdict(), WatchVerdict::Unknown);
}

#[test]
fn a_read_that_is_right_becomes_wrong_when_a_version_slips_in_before_it() {
    let write = one(1, 1, (1, 2), &[(Kind::Write, 7, 5)]);
    let between = one(2, 2, (3, 4), &[(Kind::Write, 7, 6)]);
    let read = one(3, 3, (5, 6), &[(Kind::Read, 7, 5)]);
    let mut aion = at_seconds(&[(0, write), (1, read), (2, between)]);
    assert_eq!((aion.summary().flips, aion.open_breaches()), (1, 1));
    aion.finish().expect("a disk");
    let told = aion.take_breaches();
    let expected = Breach::External {
        transaction: Atom::from(3),
        key: Atom::from(7),
        read: Atom::from(5),
        held: Atom::from(6),
        writer: Some(Atom::from(2)),
    };
    assert_eq!(told, [expected]);
}

#[test]
fn what_is_told_twice_counts_once() {
    let write = one(1, 1, (1, 2), &[(Kind::Write, 7, 5), (Kind::Write, 8, 5)]);
    let next = one(2, 1, (3, 4), &[(Kind::Write, 7, 6)]);
    let read = one(3, 2, (5, 9), &[(Kind::Read, 7, 6)]);
    let again = [&write, &next, &write, &read, &read, &next];
    let told: Vec<(u64, Told)> = again.into_iter().map(|t| (0, t.clone())).collect();
    let mut aion = at_seconds(&told);
    aion.collect().expect("a disk");
    let (head, events) = write;
    aion.receive(&head, &events, Duration::ZERO)
        .expect("a disk");
    aion.finish().expect("a disk");
    let summary = aion.summary();
    assert_eq!((summary.duplicates, summary.transactions), (4, 7));
    assert_eq!(summary.verdict(), WatchVerdict::Satisfied, "{summary:?}");
}

#[test]
fn what_cannot_be_judged_is_unknown_and_says_why() {
    let untimed = |label, status| {
        let (mut head, events) = one(label, 1, (1, 2), &[(Kind::Write, 7, 5)]);
        (head.status, head.timestamps) = (status, None);
        (head, events)
    };
    let read = one(9, 2, (3, 4), &[(Kind::Read, 7, 5)]);
    let cases = [
        (vec![untimed(1, Status::Committed)], Some(Unjudged::Untimed)),
        (vec![untimed(1, Status::Aborted)], None),
        (vec![untimed(1, Status::Indeterminate)], None),
        (
            vec![untimed(1, Status::Indeterminate), read.clone()],
            Some(Unjudged::Doubtful),
        ),
        (
            vec![one(1, 1, (4, 4), &[(Kind::Write, 7, 5)])],
            Some(Unjudged::Backwards),
        ),
        (
            vec![
                one(1, 1, (1, 4), &[(Kind::Write, 7, 5)]),
                one(2, 2, (2, 4), &[(Kind::Write, 7, 6)]),
            ],
            Some(Unjudged::Tie),
        ),
    ];
    for (told, expected) in cases {
        let told: Vec<(u64, Told)> = told.into_iter().map(|told| (0, told)).collect();
        let mut aion = at_seconds(&told);
        aion.finish().expect("a disk");
        let summary = aion.summary();
        let verdict = match expected {
            Some(_) => WatchVerdict::Unknown,
            None => WatchVerdict::Satisfied,
        };
        assert_eq!(summary.unjudged.keys().next().copied(), expected);
        assert_eq!(summary.verdict(), verdict, "{told:?}");
    }
    let aborted = at_seconds(&[(0, untimed(1, Status::Aborted)), (0, read)]);
    assert_eq!(
        aborted.open_breaches(),
        1,
        "nobody may see an aborted write"
    );
}

/// Told too early: what was said is taken back in the account, and nothing is called violated.
#[test]
fn a_writer_that_comes_after_its_reader_was_told_withdraws_it() {
    let read = one(1, 1, (3, 3), &[(Kind::Read, 7, 5)]);
    let in_time = one(2, 2, (1, 2), &[(Kind::Write, 7, 5)]);
    let too_new = one(2, 2, (1, 4), &[(Kind::Write, 7, 5)]);
    let indeterminate = {
        let (mut head, events) = in_time.clone();
        head.status = Status::Indeterminate;
        (head, events)
    };
    for (write, verdict) in [
        (in_time, WatchVerdict::Unknown),
        (indeterminate, WatchVerdict::Unknown),
        (too_new, WatchVerdict::Violated),
    ] {
        let mut aion = at_seconds(&[(0, read.clone()), (20, write)]);
        aion.finish().expect("a disk");
        assert_eq!(aion.take_breaches().len(), 1);
        let summary = aion.summary();
        assert_eq!(summary.verdict(), verdict, "{summary:?}");
        let is_withdrawn = summary.unjudged.contains_key(&Unjudged::Withdrawn);
        assert_eq!(
            is_withdrawn,
            verdict == WatchVerdict::Unknown,
            "{summary:?}"
        );
    }
}

#[test]
fn whoever_reads_one_of_two_writers_of_one_time_is_not_judged() {
    for model in [ConsistencyModel::Snapshot, ConsistencyModel::Serializable] {
        let mut aion = aion(model, Duration::from_secs(5));
        for (head, events) in [
            one(1, 1, (1, 4), &[(Kind::Write, 7, 5)]),
            one(2, 2, (2, 4), &[(Kind::Write, 7, 6)]),
            one(3, 3, (5, 5), &[(Kind::Read, 7, 6)]),
        ] {
            let received = aion.receive(&head, &events, Duration::ZERO);
            received.expect("a disk");
        }
        aion.finish().expect("a disk");
        let summary = aion.summary();
        assert_eq!(summary.verdict(), WatchVerdict::Unknown, "{summary:?}");
    }
}

#[test]
fn an_indeterminate_writer_is_not_missed_whatever_its_time() {
    let mut write = one(1, 1, (12, 15), &[(Kind::Write, 7, 7)]);
    write.0.status = Status::Indeterminate;
    let unseen = one(2, 2, (16, 16), &[(Kind::Read, 7, 0)]);
    let seen = one(3, 3, (17, 17), &[(Kind::Read, 7, 7)]);
    let mut aion = at_seconds(&[(0, write.clone()), (0, unseen)]);
    aion.finish().expect("a disk");
    assert_eq!(aion.summary().verdict(), WatchVerdict::Satisfied);
    let mut aion = at_seconds(&[(0, write), (0, seen)]);
    aion.finish().expect("a disk");
    assert_eq!(aion.summary().verdict(), WatchVerdict::Unknown);
}

#[test]
fn many_events_have_the_roles_that_few_have() {
    let numbers = &mut Numbers(5);
    for _ in 0..200 {
        let events: Vec<NamedEvent> = (0..60)
            .map(|_| NamedEvent {
                kind: [Kind::Read, Kind::Write][numbers.below(2) as usize],
                key: (numbers.below(9) as u32).into(),
                value: Atom::NIL,
            })
            .collect();
        let mut roles = Vec::new();
        tell_roles(&events, &mut roles);
        for (at, role) in roles.iter().enumerate() {
            let key = events[at].key;
            let is_write =
                |other: &usize| events[*other].kind == Kind::Write && events[*other].key == key;
            let expected = match events[at].kind {
                Kind::Read => match (0..at).rev().find(is_write) {
                    Some(own) => EventRole::Internal(own),
                    None => EventRole::External,
                },
                Kind::Write if (at + 1..60).any(|other| is_write(&other)) => EventRole::Overwritten,
                Kind::Write => EventRole::Final,
            };
            assert_eq!(*role, expected, "{at}: {events:?}");
        }
    }
}

/// A small limit on many keys: most goes to disk, and everything is found again.
#[test]
fn within_a_small_limit_the_verdict_is_the_same() {
    for (promise, model) in [
        (Promise::Snapshot, ConsistencyModel::Snapshot),
        (Promise::Serial, ConsistencyModel::Serializable),
    ] {
        let mut aion = Aion::new(Settings {
            model,
            timeout: Duration::from_secs(5),
            memory: 1 << 20,
            folder: std::env::temp_dir(),
        });
        aion.set_initial(Synthetic::initial());
        let mut synthetic = Synthetic::new(SyntheticWorkload {
            keys: 60_000,
            delay: 300,
            ..SyntheticWorkload::general(promise, 60_000)
        });
        let mut events = Vec::new();
        let mut moment = Duration::ZERO;
        while let Some(head) = synthetic.tell(&mut events) {
            moment += Duration::from_millis(1);
            aion.receive(&head, &events, moment).expect("a disk");
        }
        aion.finish().expect("a disk");
        let summary = aion.summary();
        assert!(
            summary.spilled > 100_000 && summary.reloads > 10_000,
            "{summary:?}"
        );
        assert_eq!(summary.verdict(), WatchVerdict::Satisfied, "{summary:?}");
    }
}

/// Everything is wrong, and only so much of it is remembered: the rest is not judged.
#[test]
fn too_many_open_reads_are_not_judged_rather_than_judged_early() {
    let mut aion = Aion::new(Settings {
        model: ConsistencyModel::Snapshot,
        timeout: Duration::from_secs(5),
        memory: 64 << 10,
        folder: std::env::temp_dir(),
    });
    for at in 0..1_000u32 {
        let at_time = i64::from(at);
        let (head, events) = one(at, at % 7, (at_time, at_time), &[(Kind::Read, at, 9)]);
        aion.receive(&head, &events, Duration::ZERO)
            .expect("a disk");
    }
    aion.finish().expect("a disk");
    let summary = aion.summary();
    assert_eq!(summary.violation_count(), 128, "{summary:?}");
    assert_eq!(summary.unjudged.get(&Unjudged::Crowded), Some(&872));
}
