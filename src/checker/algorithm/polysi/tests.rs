//! Each way to decide a history with repeated values, alone, against the referee.

use super::judge::{narrowed_polygraph, witness};
use super::narrow::{Narrowed, narrow};
use super::open::OpenReads;
use super::schedule::schedule;
use super::solve::{Solved, solve, solve_only};
use crate::checker::algorithm::brute_force;
use crate::checker::answer::Answer;
use crate::checker::budget::Budget;
use crate::checker::evidence::replay::replay;
use crate::checker::resolved::resolve::resolve_openly;
use crate::checker::resolved::versions::chains;
use crate::checker::tests::{Numbers, build, random, rounds};
use crate::history::History;
use crate::model::ConsistencyModel;

/// What was decided of a history, and by which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// No writer is left for a read, or what is left contradicts itself.
    Narrowed,
    Scheduled,
    Greedy,
    /// By the solver that looks at what literals exclude after conflicts only, or from the beginning.
    Solved,
    Looking,
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
        let candidates = resolved.open_reads.iter();
        let candidates: Vec<_> = candidates.map(|read| read.candidates.clone()).collect();
        let as_it_is = Narrowed {
            resolved: resolved.with_candidates(&candidates),
            chains,
            derived: Vec::new(),
        };
        decided.extend(decided_of(history, &as_it_is, model));
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
    if let Some(order) = schedule(&polygraph, budget) {
        let witness = witness(&narrowed.resolved, model, &order);
        assert_eq!(replay(history, model, &witness), Ok(()), "the schedule");
        decided.push((Way::Scheduled, true));
    }
    let open = OpenReads::new(&polygraph).expect("few reads");
    let by_solver = [
        (Way::Greedy, solve(&polygraph, &open, budget)),
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

#[test]
fn every_way_to_decide_repeated_values_agrees_with_the_referee() {
    let mut numbers = Numbers(41);
    let mut counts = std::collections::BTreeMap::new();
    for round in 0..rounds(2_000) {
        let draft = random(&mut numbers, [6, 4, 2], 2);
        let history = build(&draft);
        for model in [
            ConsistencyModel::Snapshot,
            ConsistencyModel::Serializable,
            ConsistencyModel::StrictSerializable,
            ConsistencyModel::Linearizable,
        ] {
            let decided = decided(&history, model);
            if decided.is_empty() {
                continue;
            }
            let expected = match brute_force::decide(&history, model, Budget::default()) {
                Answer::Satisfied(_) => true,
                Answer::Violated(_) => false,
                Answer::Unknown(reason) => panic!("the referee must know: {reason}"),
            };
            for (way, is_satisfied) in decided {
                assert_eq!(
                    is_satisfied, expected,
                    "{way:?} under {model}, {round}: {draft:?}"
                );
                *counts.entry((way, is_satisfied)).or_insert(0) += 1;
            }
        }
    }
    // The solver is asked where it finds both.
    for way in [
        (Way::Narrowed, false),
        (Way::Scheduled, true),
        (Way::Greedy, true),
    ] {
        assert!(
            counts.get(&way).is_some_and(|count| *count > 50),
            "{counts:?}"
        );
    }
    for way in [Way::Solved, Way::Looking] {
        for is_satisfied in [true, false] {
            let count = counts.get(&(way, is_satisfied)).copied().unwrap_or(0);
            assert!(count > 5, "{way:?} {is_satisfied}: {counts:?}");
        }
    }
}
