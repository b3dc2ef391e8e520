//! Each way to decide a history with repeated values, alone, against the referee.

use std::fmt::Debug;

use super::anneal::anneal;
use super::deeds::Deeds;
use super::eager::solve_eagerly;
use super::judge::{Effort, Serial, as_it_is, narrowed_polygraph, serial_order, witness};
use super::narrow::{Narrowed, narrow};
use super::open::OpenReads;
use super::sat::Solved;
use super::schedule::schedule;
use super::solve::{solve, solve_only};
use crate::checker::algorithm::brute_force;
use crate::checker::answer::Answer;
use crate::checker::budget::Budget;
use crate::checker::evidence::replay::replay;
use crate::checker::resolved::resolve::resolve_openly;
use crate::checker::resolved::versions::chains;
use crate::checker::tests::{Numbers, build, random, rounds};
use crate::history::{Atom, Builder, Event, Head, History, Kind, Status};
use crate::model::ConsistencyModel;

/// What decides a history of a few transactions mostly.
const FEW: Effort = Effort {
    conflicts: 20,
    moves: 20,
};

/// What was decided of a history, and by which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// No writer is left for a read, or what is left contradicts itself.
    Narrowed,
    Scheduled,
    Annealed,
    /// Under snapshot isolation, with no transaction beside another.
    Serial,
    Greedy,
    /// By the solver that looks at what literals exclude after conflicts only, or from the beginning.
    Solved,
    Looking,
    /// By the solver that knows what leads to what.
    Eager,
}

/// Every way that decides a history, and whether it is satisfied; none where no read is open.
fn decided(history: &History, model: ConsistencyModel) -> Vec<(Way, bool)> {
    let budget = Budget::default();
    let resolved = match resolve_openly(history) {
        Ok(resolved) if !resolved.open_reads.is_empty() => resolved,
        _ => return Vec::new(),
    };
    if resolved.non_repeatable.is_some() {
        return Vec::new();
    }
    // As it is, too: of small histories that violate a model narrowing leaves nothing to choose.
    let mut decided = Vec::new();
    if let Ok(chains) = chains(&resolved) {
        let unchanged = Narrowed {
            resolved: as_it_is(&resolved),
            chains,
            derived: Vec::new(),
        };
        decided.extend(decided_of(history, &unchanged, model));
    }
    if model == ConsistencyModel::Snapshot {
        match serial_order(as_it_is(&resolved), FEW, budget) {
            Serial::Order(order) => {
                let witness = witness(&resolved, model, &order);
                assert_eq!(replay(history, model, &witness), Ok(()), "one by one");
                decided.push((Way::Serial, true));
            }
            Serial::Excluded => {
                let referee = brute_force::decide(history, ConsistencyModel::Serializable, budget);
                assert!(matches!(referee, Answer::Violated(_)), "{referee:?}");
            }
            Serial::Unknown => {}
        }
    }
    match narrow(resolved, model, budget) {
        Ok(narrowed) => decided.extend(decided_of(history, &narrowed, model)),
        Err(_) => decided.push((Way::Narrowed, false)),
    }
    decided
}

/// The same of what narrowing left.
fn decided_of(
    history: &History,
    narrowed: &Narrowed<'_>,
    model: ConsistencyModel,
) -> Vec<(Way, bool)> {
    let budget = Budget::default();
    let Ok(polygraph) = narrowed_polygraph(narrowed, model, budget) else {
        return vec![(Way::Narrowed, false)];
    };
    let mut decided = Vec::new();
    let at_first = polygraph.order().expect("no cycle");
    let deeds = Deeds::new(&narrowed.resolved);
    if let Some(order) = schedule(&polygraph, &deeds, &at_first, budget) {
        let witness = witness(&narrowed.resolved, model, &order);
        assert_eq!(replay(history, model, &witness), Ok(()), "the schedule");
        decided.push((Way::Scheduled, true));
    }
    let open = OpenReads::new(&polygraph).expect("few reads");
    let annealed = anneal(&polygraph, &deeds, &at_first, FEW.moves, budget);
    if annealed.wrong == 0 {
        let witness = witness(&narrowed.resolved, model, &annealed.order);
        assert_eq!(replay(history, model, &witness), Ok(()), "the moments");
        decided.push((Way::Annealed, true));
    }
    let order = polygraph.order().expect("no cycle");
    let sources = vec![None; open.reads.len()];
    let eager = solve_eagerly(&polygraph, &order, &open, &sources, u32::MAX, budget);
    let by_solver = [
        (Way::Eager, eager.expect("a small history")),
        (
            Way::Greedy,
            solve(&polygraph, &open, order.clone(), u32::MAX, budget),
        ),
        (Way::Solved, solve_only(&polygraph, &open, false)),
        (Way::Looking, solve_only(&polygraph, &open, true)),
    ];
    for (way, solved) in by_solver {
        match solved {
            Solved::Order(order) => {
                let witness = witness(&narrowed.resolved, model, &order);
                assert_eq!(replay(history, model, &witness), Ok(()), "{way:?}");
                decided.push((way, true));
            }
            Solved::Stuck => decided.push((way, false)),
            Solved::TimeIsOver => panic!("{way:?} has no limit"),
        }
    }
    decided
}

/// How often a way gave an answer.
type Counts = std::collections::BTreeMap<(Way, bool), u32>;

/// Compares every way with the referee.
fn compare(history: &History, model: ConsistencyModel, counts: &mut Counts, what: &dyn Debug) {
    let decided = decided(history, model);
    if decided.is_empty() {
        return;
    }
    let expected = match brute_force::decide(history, model, Budget::default()) {
        Answer::Satisfied(_) => true,
        Answer::Violated(_) => false,
        Answer::Unknown(reason) => panic!("the referee must know: {reason}"),
    };
    for (way, is_satisfied) in decided {
        assert_eq!(is_satisfied, expected, "{way:?} under {model}: {what:?}");
        *counts.entry((way, is_satisfied)).or_insert(0) += 1;
    }
}

/// What transactions do, each with its session.
type Sessions = Vec<(u32, Vec<(Kind, u32, u32)>)>;

fn built(sessions: &Sessions) -> History {
    let mut builder = Builder::new(Atom::from(0));
    for (label, (session, list)) in (1u32..).zip(sessions) {
        let head = Head {
            session: (*session).into(),
            label: label.into(),
            status: Status::Committed,
            timestamps: None,
            real_time: None,
        };
        let mut events = Vec::new();
        for (kind, key, value) in list {
            let key = builder.key((*key).into()).expect("few keys");
            let (kind, value) = (*kind, (*value).into());
            events.push(Event { kind, key, value });
        }
        builder.transaction(&head, events).expect("few");
    }
    builder.finish()
}

/// T6 sees T5, which overwrites what T2 and T4 read before they committed: their starts lead to the
/// start of T6, their commits need not, and it may still read what T1 or T3 wrote.
#[test]
fn a_start_before_a_read_is_no_commit_before_it() {
    use Kind::{Read, Write};
    let (x, y) = (0, 1);
    let base: Sessions = vec![
        (0, vec![(Write, x, 1)]),
        (0, vec![(Read, y, 0), (Write, x, 2)]),
        (1, vec![(Write, x, 1)]),
        (1, vec![(Read, y, 0), (Write, x, 3)]),
        (2, vec![(Write, y, 5)]),
        (2, vec![(Read, y, 5), (Read, x, 1)]),
    ];
    let snapshot = ConsistencyModel::Snapshot;
    let ways = decided(&built(&base), snapshot);
    assert!(ways.contains(&(Way::Eager, true)), "{ways:?}");
    let (mut numbers, mut counts) = (Numbers(7), Counts::new());
    for _ in 0..rounds(2_000) {
        let mut sessions = base.clone();
        for _ in 0..numbers.below(3) {
            let events = &mut sessions[numbers.below(6) as usize].1;
            let key = numbers.below(2) as u32;
            match numbers.below(4) {
                0 => events.insert(0, (Read, key, numbers.below(4) as u32)),
                1 => events.push((Write, key, 1 + numbers.below(3) as u32)),
                2 => events[0].2 = numbers.below(4) as u32,
                _ => {
                    let other = numbers.below(6) as usize;
                    sessions[other].0 = numbers.below(3) as u32;
                }
            }
        }
        for model in [snapshot, ConsistencyModel::Serializable] {
            compare(&built(&sessions), model, &mut counts, &sessions);
        }
    }
    for is_satisfied in [true, false] {
        assert!(counts[&(Way::Eager, is_satisfied)] > 50, "{counts:?}");
    }
}

#[test]
fn every_way_to_decide_repeated_values_agrees_with_the_referee() {
    let mut numbers = Numbers(41);
    let mut counts = Counts::new();
    for _ in 0..rounds(2_000) {
        let draft = random(&mut numbers, [6, 4, 2], 2);
        let history = build(&draft);
        for model in [
            ConsistencyModel::Snapshot,
            ConsistencyModel::Serializable,
            ConsistencyModel::StrictSerializable,
            ConsistencyModel::Linearizable,
        ] {
            compare(&history, model, &mut counts, &draft);
        }
    }
    // The solver is asked where it finds both.
    for way in [
        (Way::Narrowed, false),
        (Way::Scheduled, true),
        (Way::Annealed, true),
        (Way::Serial, true),
        (Way::Greedy, true),
    ] {
        assert!(
            counts.get(&way).is_some_and(|count| *count > 50),
            "{counts:?}"
        );
    }
    for way in [Way::Solved, Way::Looking, Way::Eager] {
        for is_satisfied in [true, false] {
            let count = counts.get(&(way, is_satisfied)).copied().unwrap_or(0);
            assert!(count > 5, "{way:?} {is_satisfied}: {counts:?}");
        }
    }
}
