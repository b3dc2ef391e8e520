//! All small histories: up to three transactions of a few events on two keys, up to symmetry.

use super::*;

/// Events of a transaction: a write or not, and the key.
type Shape = Vec<(Kind, u32)>;

/// Which transactions share a session: each alone, the first two, all. Every other way to spread
/// three over sessions is one of these with the transactions named otherwise.
const SESSIONS: [[u32; 3]; 3] = [[0, 1, 2], [0, 0, 1], [0, 0, 0]];

/// The orders of three transactions in time; the first three keep the first two of them in order.
const ORDERS: [[i64; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 2, 0],
    [1, 0, 2],
    [2, 0, 1],
    [2, 1, 0],
];

/// Which part of the histories is looked at: every `stride`-th, beginning with number `from`.
struct Part {
    from: u64,
    stride: u64,
}

/// A number from the environment.
fn wanted(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Every sequence of up to `events_max` reads and writes of two keys.
fn shapes(events_max: u64) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = vec![Vec::new()];
    let mut last = shapes.clone();
    for _ in 0..events_max {
        let mut longer = Vec::new();
        for shape in &last {
            for event in [
                (Kind::Read, 0),
                (Kind::Write, 0),
                (Kind::Read, 1),
                (Kind::Write, 1),
            ] {
                let mut shape = shape.clone();
                shape.push(event);
                longer.push(shape);
            }
        }
        shapes.extend(longer.iter().cloned());
        last = longer;
    }
    shapes
}

/// Whether no symmetry leads to three shapes that come earlier: the other names of the two keys,
/// and of transactions that are alone in their sessions. `swapped` is the shape with keys swapped.
fn is_first(sessions: [u32; 3], of: [usize; 3], swapped: &[usize]) -> bool {
    let mut other = of.map(|at| swapped[at]);
    if sessions[1] == 1 {
        other.sort_unstable();
        if !of.is_sorted() {
            return false;
        }
    }
    of <= other
}

/// Compares every history of the part; how many there were.
fn enumerate(events_max: u64, part: &Part) -> u64 {
    let shapes = shapes(events_max);
    let swap = |shape: &Shape| -> Shape { shape.iter().map(|(k, key)| (*k, 1 - key)).collect() };
    let place = |shape: &Shape| shapes.iter().position(|other| *other == swap(shape));
    let swapped: Vec<usize> = shapes.iter().filter_map(place).collect();
    let (mut at, mut looked) = (0u64, 0);
    for sessions in SESSIONS {
        for one in 0..shapes.len() {
            for two in 0..shapes.len() {
                for three in 0..shapes.len() {
                    if !is_first(sessions, [one, two, three], &swapped) {
                        continue;
                    }
                    let chosen = [&shapes[one], &shapes[two], &shapes[three]];
                    every_value(&sessions, &chosen, &mut |draft| {
                        at += 1;
                        if at % part.stride == part.from % part.stride {
                            looked += 1;
                            set_spans(draft, at / part.stride);
                            compare(&build(draft), &|| format!("{draft:?}"));
                        }
                    });
                }
            }
        }
    }
    looked
}

/// Real time does not multiply the histories: each gets one of the ways to overlap, in turn.
fn set_spans(draft: &mut Draft, turn: u64) {
    let alone = draft.sessions[1] == 1;
    let orders = match draft.sessions[2] {
        0 => &ORDERS[..1],
        _ if alone => &ORDERS[..],
        _ => &ORDERS[..3],
    };
    let order = orders[(turn % orders.len() as u64) as usize];
    // One after the other, each with the next, all at once.
    let length = [1, 4, 9][(turn / 6 % 3) as usize];
    draft.spans = order
        .map(|place| Span {
            from: place * 3,
            to: place * 3 + length,
        })
        .to_vec();
    // In one session transactions do not overlap, but a coarse clock may show one time for an end
    // and the beginning that follows.
    let gap = (turn / 18 % 2) as i64;
    for later in 1..3 {
        for earlier in 0..later {
            if draft.sessions[earlier] == draft.sessions[later] {
                let end = draft.spans[later].from - gap;
                draft.spans[earlier].to = draft.spans[earlier].to.min(end);
            }
        }
    }
}

/// Gives reads every value that they could return: the initial one, and all that are written to
/// their key anywhere.
fn every_value(sessions: &[u32; 3], shapes: &[&Shape; 3], look: &mut dyn FnMut(&mut Draft)) {
    let mut written: Vec<(u32, u32)> = vec![(0, 0), (1, 0)];
    let mut events: Vec<Vec<(Kind, u32, u32)>> = Vec::new();
    for shape in shapes {
        let mut list = Vec::new();
        for (kind, key) in shape.iter() {
            if *kind == Kind::Write {
                written.push((*key, written.len() as u32));
            }
            list.push((*kind, *key, written.len() as u32 - 1));
        }
        events.push(list);
    }
    let reads: Vec<(usize, usize)> = (0..3)
        .flat_map(|t| (0..events[t].len()).map(move |e| (t, e)))
        .filter(|(t, e)| events[*t][*e].0 == Kind::Read)
        .collect();
    let mut draft = Draft {
        sessions: sessions.to_vec(),
        statuses: vec![Status::Committed; 3],
        spans: Vec::new(),
        events,
    };
    choose(&reads, &written, &mut draft, look);
}

fn choose(
    reads: &[(usize, usize)],
    written: &[(u32, u32)],
    draft: &mut Draft,
    look: &mut dyn FnMut(&mut Draft),
) {
    let Some(((t, e), rest)) = reads.split_first() else {
        return look(draft);
    };
    let key = draft.events[*t][*e].1;
    for (_, value) in written.iter().filter(|(k, _)| *k == key) {
        draft.events[*t][*e].2 = *value;
        choose(rest, written, draft, look);
    }
}

/// By default every 29th history of up to two events a transaction. `CONTRIBUTING.md` has the
/// command for all of up to three.
#[test]
fn all_checkers_agree_with_the_referee_on_small_histories() {
    let events_max = wanted("RASHOMON_CHECKER_EVENTS", 2);
    let part = Part {
        from: wanted("RASHOMON_CHECKER_FROM", 0),
        stride: wanted("RASHOMON_CHECKER_STRIDE", 29).max(1),
    };
    let looked = enumerate(events_max, &part);
    let stride = part.stride;
    let told = format!("{looked} histories of up to {events_max} events, every {stride}th\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), told.as_bytes());
    assert!(looked > 1_000, "{looked}");
}
