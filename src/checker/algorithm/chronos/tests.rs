//! Runs of a small engine with timestamps, and runs that were tampered with, against a judge that
//! takes the axioms literally.

use super::*;
use crate::checker::explain::words::in_words;
use crate::checker::replay::replay;
use crate::history::{Builder, Event, Head};

/// A plain source of numbers, the same in every run (splitmix64).
pub(in crate::checker) struct Numbers(pub(in crate::checker) u64);

impl Numbers {
    pub(in crate::checker) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Session, timestamps, events.
pub(in crate::checker) type Plain = (u32, Span, Vec<(Kind, u32, u32)>);

pub(in crate::checker) fn build(transactions: &[Plain]) -> History {
    let mut builder = Builder::new(Atom::from(0));
    for (at, (session, span, events)) in (1u32..).zip(transactions) {
        let head = Head {
            session: (*session).into(),
            label: at.into(),
            status: Status::Committed,
            timestamps: Some(*span),
            real_time: None,
        };
        let mut list = Vec::new();
        for (kind, key, value) in events {
            let key = builder.key((*key).into()).expect("few keys");
            let (kind, value) = (*kind, (*value).into());
            list.push(Event { kind, key, value });
        }
        builder.transaction(&head, list).expect("few transactions");
    }
    builder.finish()
}

/// A transaction that has begun: who, when, and its events so far.
type Open = (u32, i64, Vec<(Kind, u32, u32)>);

/// A run under snapshot isolation: transactions overlap, the second committer of a key gives up.
pub(in crate::checker) fn run(numbers: &mut Numbers, count: usize) -> Vec<Plain> {
    const KEYS: usize = 4;
    let mut done: Vec<Plain> = Vec::new();
    let mut versions: Vec<Vec<(i64, u32)>> = vec![vec![(0, 0)]; KEYS];
    let mut open: Vec<Open> = Vec::new();
    let (mut time, mut value) = (0, 0);
    while done.len() < count {
        time += 1;
        let session = numbers.below(3) as u32;
        let Some(place) = open.iter().position(|(of, ..)| *of == session) else {
            open.push((session, time, Vec::new()));
            continue;
        };
        if open[place].2.len() < 3 && numbers.below(3) > 0 {
            let key = numbers.below(KEYS as u64) as u32;
            let (_, start, events) = &mut open[place];
            let own = events
                .iter()
                .rev()
                .find(|e| e.0 == Kind::Write && e.1 == key);
            let seen = versions[key as usize].iter().rev().find(|v| v.0 <= *start);
            let held = own.map(|e| e.2).or(seen.map(|v| v.1)).unwrap_or(0);
            if numbers.below(2) == 0 {
                events.push((Kind::Read, key, held));
            } else {
                value += 1;
                events.push((Kind::Write, key, value));
            }
            continue;
        }
        let (session, from, events) = open.remove(place);
        let writes = || events.iter().filter(|e| e.0 == Kind::Write);
        if writes().any(|e| versions[e.1 as usize].last().is_some_and(|v| v.0 > from)) {
            continue;
        }
        for (_, key, value) in writes() {
            versions[*key as usize].retain(|v| v.0 != time);
            versions[*key as usize].push((time, *value));
        }
        done.push((session, Span { from, to: time }, events));
    }
    done
}

/// The axioms by pairs of transactions.
fn literal(transactions: &[Plain]) -> bool {
    let writes = |t: &Plain, key: u32| {
        t.2.iter()
            .rev()
            .find(|e| e.0 == Kind::Write && e.1 == key)
            .map(|e| e.2)
    };
    let mut holds = true;
    for (at, one) in transactions.iter().enumerate() {
        for other in &transactions[..at] {
            holds &= one.0 != other.0 || other.1.to <= one.1.from;
            let overlap = one.1.from < other.1.to && other.1.from < one.1.to;
            holds &= !overlap
                || (0..4).all(|key| writes(one, key).is_none() || writes(other, key).is_none());
        }
        for (place, event) in one.2.iter().enumerate().filter(|(_, e)| e.0 == Kind::Read) {
            let mut before = one.2[..place].iter().rev();
            let own = before
                .find(|e| e.0 == Kind::Write && e.1 == event.1)
                .map(|e| e.2);
            let seen = transactions
                .iter()
                .filter(|t| t.1.to <= one.1.from && writes(t, event.1).is_some());
            let last = seen.max_by_key(|t| t.1.to).and_then(|t| writes(t, event.1));
            holds &= own.or(last).unwrap_or(0) == event.2;
        }
    }
    holds
}

fn judge(transactions: &[Plain]) -> Answer {
    Chronos.check(
        &build(transactions),
        ConsistencyModel::Snapshot,
        Budget::default(),
    )
}

#[test]
fn what_a_correct_engine_records_is_satisfied_and_its_witness_replays() {
    for seed in 0..300 {
        let transactions = run(&mut Numbers(seed), 12);
        let history = build(&transactions);
        match Chronos.check(&history, ConsistencyModel::Snapshot, Budget::default()) {
            Answer::Satisfied(witness) => {
                assert_eq!(
                    replay(&history, ConsistencyModel::Snapshot, &witness),
                    Ok(()),
                    "{seed}"
                );
            }
            other @ (Answer::Violated(_) | Answer::Unknown(_)) => {
                panic!("{seed}: {other:?}\n{transactions:?}")
            }
        }
    }
}

#[test]
fn what_was_tampered_with_is_judged_as_the_axioms_say() {
    let mut violated = 0;
    let mut numbers = Numbers(99);
    for seed in 0..2_000 {
        let mut transactions = run(&mut Numbers(seed), 8);
        let victim = numbers.below(8) as usize;
        let (_, span, events) = &mut transactions[victim];
        match numbers.below(3) {
            0 => span.from -= numbers.below(6) as i64,
            1 => {
                let reads = events.iter_mut().filter(|e| e.0 == Kind::Read);
                for event in reads.take(1) {
                    event.2 = numbers.below(6) as u32;
                }
            }
            _ => span.from = (span.from + numbers.below(4) as i64).min(span.to - 1),
        }
        let expected = literal(&transactions);
        violated += usize::from(!expected);
        match judge(&transactions) {
            Answer::Satisfied(_) => assert!(expected, "{seed}: {transactions:?}"),
            Answer::Violated(found) => assert!(!expected, "{seed}: {found:?}\n{transactions:?}"),
            Answer::Unknown(reason) => panic!("{seed}: {reason}"),
        }
    }
    assert!(violated > 200, "{violated}");
}

#[test]
fn each_axiom_has_its_breach() {
    use Kind::{Read, Write};
    let t = |session, from, to, events: &[(Kind, u32, u32)]| {
        (session, Span { from, to }, events.to_vec())
    };
    let cases = [
        (
            Anomaly::TimestampExternal,
            vec![t(1, 1, 2, &[(Write, 1, 5)]), t(2, 3, 3, &[(Read, 1, 0)])],
        ),
        (
            Anomaly::TimestampConflict,
            vec![t(1, 1, 4, &[(Write, 1, 5)]), t(2, 2, 5, &[(Write, 1, 6)])],
        ),
        (
            Anomaly::TimestampSession,
            vec![t(1, 1, 4, &[(Write, 1, 5)]), t(1, 2, 5, &[(Write, 2, 6)])],
        ),
        (
            Anomaly::NotMyOwnWrite,
            vec![t(1, 1, 4, &[(Write, 1, 5), (Read, 1, 0)])],
        ),
    ];
    for (anomaly, transactions) in cases {
        match judge(&transactions) {
            Answer::Violated(found) => assert_eq!(found.anomaly, anomaly),
            other @ (Answer::Satisfied(_) | Answer::Unknown(_)) => panic!("{anomaly}: {other:?}"),
        }
    }
    let untimed = [t(1, 4, 4, &[(Write, 1, 5)])];
    assert!(matches!(judge(&untimed), Answer::Unknown(_)));
}

/// The second transaction of the session has its start in the past, of the first one and of a writer
/// whose value it reads twice.
#[test]
fn what_is_wrong_is_told_once_with_its_values_and_its_timestamps() {
    let span = |from, to| Span { from, to };
    let history = build(&[
        (1, span(8, 9), vec![(Kind::Write, 1, 5)]),
        (2, span(3, 4), vec![(Kind::Write, 2, 6)]),
        (1, span(2, 2), vec![(Kind::Read, 2, 6), (Kind::Read, 2, 6)]),
    ]);
    let answer = Chronos.check(&history, ConsistencyModel::Snapshot, Budget::default());
    let Answer::Violated(found) = answer else {
        panic!("{answer:?}");
    };
    let told = "session\n  \
        T3 begins before T1 of its own session has ended\n  \
        T3 reads 6 for 2, where T0 had left 0\n  \
        T1 of session 1 @8..9: w(1,5)\n  \
        T3 of session 1 @2..2: r(2,6) r(2,6)\n";
    assert_eq!(in_words(&history, &found), told);
    let own = build(&[(1, span(1, 4), vec![(Kind::Write, 1, 5), (Kind::Read, 1, 0)])]);
    let answer = Chronos.check(&own, ConsistencyModel::Snapshot, Budget::default());
    let Answer::Violated(found) = answer else {
        panic!("{answer:?}");
    };
    let told = in_words(&own, &found);
    let says = "T1 reads 0 for 1, where it had written 5";
    assert!(told.contains(says), "{told}");
}

/// The reader stands first in the file; both ended at 3, and it saw what was committed then.
#[test]
fn serially_a_reader_sees_the_commit_of_its_own_time_wherever_it_stands_in_the_file() {
    let span = |from, to| Span { from, to };
    let history = build(&[
        (1, span(3, 3), vec![(Kind::Read, 0, 1)]),
        (2, span(1, 3), vec![(Kind::Write, 0, 1)]),
    ]);
    for model in [ConsistencyModel::Serializable, ConsistencyModel::Snapshot] {
        let answer = Chronos.check(&history, model, Budget::default());
        assert!(
            matches!(answer, Answer::Satisfied(_)),
            "{model}: {answer:?}"
        );
    }
}
