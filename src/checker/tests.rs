//! Every checker against the referee, on all small histories and on random ones; every witness is
//! replayed. The referee shares no code with the others, nor does the replayer.

mod enumeration;
mod told;

use super::evidence::replay::replay;
use super::*;
use crate::history::{Atom, Builder, Event, Head, Key, Kind, Span, Status};

/// A plain source of numbers, the same in every run (splitmix64).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(in crate::checker) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// A history in the making: sessions, shapes, and for every read its value.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    sessions: Vec<u32>,
    statuses: Vec<Status>,
    spans: Vec<Span>,
    events: Vec<Vec<(Kind, u32, u32)>>,
}

pub(super) fn build(draft: &Draft) -> History {
    fill(draft).finish()
}

fn fill(draft: &Draft) -> Builder {
    let mut builder = Builder::new(Atom::from(0));
    for (at, events) in draft.events.iter().enumerate() {
        let head = Head {
            session: draft.sessions[at].into(),
            label: (at as u32 + 1).into(),
            status: draft.statuses[at],
            timestamps: None,
            real_time: Some(draft.spans[at]),
        };
        let mut list = Vec::new();
        for (kind, key, value) in events {
            let key = builder.key((*key).into()).expect("few keys");
            let (kind, value) = (*kind, (*value).into());
            list.push(Event { kind, key, value });
        }
        builder.transaction(&head, list).expect("few transactions");
    }
    builder
}

/// Asks every checker of every model; returns how many violated.
fn compare(history: &History, shown: &dyn Fn() -> String) -> usize {
    let mut violated = 0;
    for model in ConsistencyModel::LADDER
        .into_iter()
        .chain([ConsistencyModel::Linearizable])
    {
        let referee = brute_force::decide(history, model, Budget::default());
        let mut expected = match &referee {
            Answer::Satisfied(witness) => {
                let replayed = replay(history, model, witness);
                assert_eq!(replayed, Ok(()), "{model}\n{}", shown());
                Some(true)
            }
            Answer::Violated(_) => Some(false),
            Answer::Unknown(reason) => {
                // Which of two writes a list means is not known, but what the others say agrees.
                let is_ambiguous = has_doubles(history) && !history.orders().is_empty();
                assert!(is_ambiguous, "the referee must know: {reason}\n{}", shown());
                None
            }
        };
        let is_known = expected.is_some();
        let mut answers = 0;
        for checker in CHECKERS
            .iter()
            .filter(|checker| checker.models().contains(&model) && checker.name() != "brute-force")
        {
            let name = checker.name();
            match checker.check(history, model, Budget::default()) {
                Answer::Satisfied(witness) => {
                    answers += 1;
                    let is_right = *expected.get_or_insert(true);
                    assert!(is_right, "{name} accepts under {model}\n{}", shown());
                    let replayed = replay(history, model, &witness);
                    assert_eq!(replayed, Ok(()), "{name}, {model}\n{}", shown());
                }
                Answer::Violated(counterexample) => {
                    answers += 1;
                    let words = in_words(history, &counterexample);
                    let is_wrong = *expected.get_or_insert(false);
                    assert!(
                        !is_wrong,
                        "{name} refuses under {model}: {words}\n{}",
                        shown()
                    );
                    if is_known {
                        let checked = rederive(history, model, &counterexample);
                        assert_eq!(checked, Ok(()), "{name}, {model}: {words}\n{}", shown());
                    }
                }
                Answer::Unknown(_) => {}
            }
        }
        // Whether a transaction took place may depend on which of several writes was read.
        let is_doubtful = has_doubles(history) && has_doubts(history);
        assert!(
            answers > 0 || is_doubtful || (has_doubles(history) && !history.orders().is_empty()),
            "nobody but the referee knows {model}\n{}",
            shown()
        );
        violated += usize::from(expected == Some(false));
    }
    violated
}

/// Whether it is not known of some transaction whether it took place.
fn has_doubts(history: &History) -> bool {
    let mut all = history.transactions();
    all.any(|t| history.status(t) == Status::Indeterminate)
}

/// Whether two writes, or a write and the initial value, are the same.
fn has_doubles(history: &History) -> bool {
    let mut seen: std::collections::BTreeSet<(Key, Atom)> = history
        .all_keys()
        .map(|key| (key, history.initial(key)))
        .collect();
    let events = history
        .transactions()
        .flat_map(|t| history.events(t).collect::<Vec<_>>());
    let mut writes = events.filter(|event| event.kind == Kind::Write);
    !writes.all(|event| seen.insert((event.key, event.value)))
}

/// Checks a counterexample against the events alone.
fn rederive(
    history: &History,
    model: ConsistencyModel,
    found: &Counterexample,
) -> Result<(), String> {
    super::evidence::rederive::rederive(history, model, found)
}

/// Random small histories, most of them near what an engine does: reads pick among the values that
/// are written at all, so that dependencies abound.
/// One write in `doubles` repeats a value.
pub(super) fn random(numbers: &mut Numbers, size: [u64; 3], doubles: u64) -> Draft {
    let [transactions, events, keys] = size;
    let count = 1 + numbers.below(transactions);
    let sessions = 1 + numbers.below(count);
    let has_doubts = numbers.below(4) == 0;
    let mut draft = Draft {
        sessions: Vec::new(),
        statuses: Vec::new(),
        spans: Vec::new(),
        events: Vec::new(),
    };
    let mut fresh = 0;
    let mut clocks = vec![0i64; sessions as usize];
    for _ in 0..count {
        let session = numbers.below(sessions);
        draft.sessions.push(session as u32);
        let status = match numbers.below(10) {
            0 if has_doubts => Status::Aborted,
            1 if has_doubts => Status::Indeterminate,
            _ => Status::Committed,
        };
        draft.statuses.push(status);
        let clock = &mut clocks[session as usize];
        // A coarse clock may give an end and the beginning that follows one time.
        let from = *clock + numbers.below(7) as i64;
        let to = from + 1 + numbers.below(12) as i64;
        *clock = to;
        // Our recorder knows no end of them; others may.
        let to = match status {
            Status::Indeterminate if numbers.below(2) == 0 => i64::MAX,
            Status::Committed | Status::Aborted | Status::Indeterminate => to,
        };
        draft.spans.push(Span { from, to });
        let mut list = Vec::new();
        for _ in 0..1 + numbers.below(events) {
            let key = numbers.below(keys) as u32;
            let is_double = fresh > 0 && numbers.below(doubles) == 0;
            if numbers.below(2) == 0 {
                fresh += u32::from(!is_double);
                let old = fresh
                    - if is_double {
                        numbers.below(2) as u32
                    } else {
                        0
                    };
                list.push((Kind::Write, key, old));
            } else {
                list.push((Kind::Read, key, u32::MAX));
            }
        }
        draft.events.push(list);
    }
    fill_reads(numbers, &mut draft);
    draft
}

fn fill_reads(numbers: &mut Numbers, draft: &mut Draft) {
    let written: Vec<(u32, u32)> = draft
        .events
        .iter()
        .flatten()
        .filter(|event| event.0 == Kind::Write)
        .map(|event| (event.1, event.2))
        .collect();
    let mostly_own = numbers.below(3) > 0;
    for list in &mut draft.events {
        let mut own: Vec<(u32, u32)> = Vec::new();
        for event in list.iter_mut() {
            if event.0 == Kind::Write || event.2 != u32::MAX {
                own.retain(|(key, _)| *key != event.1);
                own.push((event.1, event.2));
                continue;
            }
            let mine = own.iter().find(|(key, _)| *key == event.1);
            if let Some((_, value)) = mine.filter(|_| mostly_own || numbers.below(8) > 0) {
                event.2 = *value;
                continue;
            }
            let choices: Vec<u32> = written
                .iter()
                .filter(|(key, _)| *key == event.1)
                .map(|(_, value)| *value)
                .collect();
            let pick = numbers.below(choices.len() as u64 + 1) as usize;
            event.2 = choices.get(pick).copied().unwrap_or(0);
            own.push((event.1, event.2));
        }
    }
}

/// Half of the writes repeat a value, so that most reads may be of several writers.
#[test]
fn all_checkers_agree_with_the_referee_on_repeated_values() {
    let mut numbers = Numbers(23);
    let (mut satisfied, mut violated) = (0, 0);
    for round in 0..rounds(2_000) {
        let draft = random(&mut numbers, [5, 3, 2], 2);
        let history = build(&draft);
        if compare(&history, &|| format!("round {round}: {draft:?}")) == 0 {
            satisfied += 1;
        } else {
            violated += 1;
        }
    }
    assert!(
        satisfied > 50 && violated > 50,
        "{satisfied} and {violated}"
    );
}

/// How many random histories a test looks at; the variable raises it for a longer run.
pub(super) fn rounds(usual: u64) -> u64 {
    let wanted = std::env::var("RASHOMON_CHECKER_ROUNDS").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Says of some keys in which order their versions follow each other, as lists do: mostly as they
/// were written down, sometimes shuffled. What aborted is in no list.
fn with_lists(numbers: &mut Numbers, draft: &Draft) -> History {
    let mut builder = fill(draft);
    for key in builder.so_far().all_keys() {
        let history = builder.so_far();
        let real = history
            .transactions()
            .filter(|t| history.status(*t) != Status::Aborted);
        let events = real.flat_map(|t| history.events(t).collect::<Vec<_>>());
        let writes = events.filter(|event| event.kind == Kind::Write && event.key == key);
        let mut values: Vec<Atom> = writes.map(|event| event.value).collect();
        values.dedup();
        values.truncate(numbers.below(values.len() as u64 + 1) as usize);
        if numbers.below(3) == 0 && values.len() > 1 {
            let (one, other) = (numbers.below(values.len() as u64), values.len() - 1);
            values.swap(one as usize, other);
        }
        if !values.is_empty() {
            builder.order(key, values);
        }
    }
    builder.finish()
}

#[test]
fn all_checkers_agree_with_the_referee_on_lists() {
    let mut numbers = Numbers(11);
    let (mut satisfied, mut violated) = (0, 0);
    for round in 0..rounds(2_000) {
        let draft = random(&mut numbers, [4, 3, 2], 20);
        let history = with_lists(&mut numbers, &draft);
        let shown = || format!("round {round}: {draft:?} {:?}", history.orders());
        if compare(&history, &shown) == 0 {
            satisfied += 1;
        } else {
            violated += 1;
        }
    }
    assert!(
        satisfied > 50 && violated > 50,
        "{satisfied} and {violated}"
    );
}

#[test]
fn all_checkers_agree_with_the_referee_on_random_histories() {
    let mut numbers = Numbers(7);
    let mut violated = [0usize; 8];
    for round in 0..rounds(3_000) {
        let draft = random(&mut numbers, [5, 4, 3], 40);
        let history = build(&draft);
        violated[compare(&history, &|| format!("round {round}: {draft:?}"))] += 1;
    }
    // Neither all satisfied nor all violated: the ladder's steps all occur.
    for (models, count) in violated.iter().enumerate() {
        let is_step = [0, 2, 3, 4, 5, 7].contains(&models) || models == 6;
        assert!(
            *count > 0 || !is_step,
            "none violates exactly {models} models: {violated:?}"
        );
    }
}

/// Transactions that read one key and write it, whose linearizability takes linear time.
#[test]
fn all_checkers_agree_with_the_referee_on_lightweight_transactions() {
    let mut numbers = Numbers(5);
    let (mut satisfied, mut violated) = (0, 0);
    for round in 0..rounds(2_000) {
        let mut draft = random(&mut numbers, [5, 1, 1], 40);
        for (fresh, list) in (1u32..).zip(&mut draft.events) {
            *list = vec![(Kind::Read, 0, fresh - 1), (Kind::Write, 0, fresh)];
        }
        // As they were written down, but for two that change places.
        let last = draft.events.len() as u64;
        let (one, other) = (numbers.below(last), numbers.below(last));
        draft.events.swap(one as usize, other as usize);
        let history = build(&draft);
        match compare(&history, &|| format!("round {round}: {draft:?}")) {
            0 => satisfied += 1,
            _ => violated += 1,
        }
    }
    assert!(
        satisfied > 50 && violated > 50,
        "{satisfied} and {violated}"
    );
}
