//! Merges of sessions into a submitted order.
//!
//! A schedule is written as the session of each step, in order. [`merge`] makes schedules with few
//! context switches, most of them at conflicts; [`uniform`] draws every interleaving with the same
//! probability; [`all`] enumerates them.

use std::collections::BTreeSet;

/// Draws a number below its argument, which is never 0.
pub type DrawBelow<'a> = dyn FnMut(usize) -> usize + 'a;

/// The tables that one statement uses, as far as a schedule depends on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableAccess {
    /// Tables it reads or locks.
    pub reads: BTreeSet<String>,
    /// Tables it writes.
    pub writes: BTreeSet<String>,
    /// After it, its session is inside a transaction.
    pub inside: bool,
}

impl TableAccess {
    /// Whether both use a table that at least one of them writes.
    pub fn conflicts(&self, other: &Self) -> bool {
        !self.writes.is_disjoint(&other.writes)
            || !self.writes.is_disjoint(&other.reads)
            || !self.reads.is_disjoint(&other.writes)
    }
}

/// The chance, in percent, of a context switch after a step.
const SWITCH_AFTER_CONFLICT: usize = 45;
const SWITCH_INSIDE: usize = 12;
const SWITCH_OUTSIDE: usize = 45;

/// A schedule with few context switches, most of them while a transaction is open that another
/// session's next statements conflict with. One in four is drawn uniformly instead, so that every
/// interleaving stays possible.
pub fn merge(sessions: &[Vec<TableAccess>], draw: &mut DrawBelow<'_>) -> Vec<usize> {
    if draw(4) == 0 {
        let lengths: Vec<usize> = sessions.iter().map(Vec::len).collect();
        return uniform(&lengths, draw);
    }
    let mut next = vec![0; sessions.len()];
    let mut order = Vec::with_capacity(sessions.iter().map(Vec::len).sum());
    let mut current = None;
    loop {
        let waiting: Vec<usize> = (0..sessions.len())
            .filter(|session| next[*session] < sessions[*session].len())
            .collect();
        if waiting.is_empty() {
            return order;
        }
        let session = match current {
            Some(session) if waiting.contains(&session) => session,
            _ => waiting[draw(waiting.len())],
        };
        let step = &sessions[session][next[session]];
        order.push(session);
        next[session] += 1;
        let rivals: Vec<usize> = waiting
            .iter()
            .copied()
            .filter(|other| *other != session)
            .filter(|other| {
                let pending = &sessions[*other][next[*other]..];
                pending
                    .iter()
                    .take(LOOKAHEAD)
                    .any(|step_of_other| step_of_other.conflicts(step))
            })
            .collect();
        let chance = if !step.inside {
            SWITCH_OUTSIDE
        } else if rivals.is_empty() {
            SWITCH_INSIDE
        } else {
            SWITCH_AFTER_CONFLICT
        };
        current = if draw(100) >= chance {
            Some(session)
        } else if rivals.is_empty() {
            None
        } else {
            Some(rivals[draw(rivals.len())])
        };
    }
}

/// How many of a session's next steps count as near: about one transaction.
const LOOKAHEAD: usize = 5;

/// An interleaving of sessions of these lengths, each with the same probability.
pub fn uniform(lengths: &[usize], draw: &mut DrawBelow<'_>) -> Vec<usize> {
    let mut left = lengths.to_vec();
    let mut order = Vec::with_capacity(lengths.iter().sum());
    loop {
        let total: usize = left.iter().sum();
        if total == 0 {
            return order;
        }
        // A session with twice as many steps left comes next twice as often: that is what makes
        // every interleaving equally likely.
        let mut at = draw(total);
        for (session, steps) in left.iter_mut().enumerate() {
            if at < *steps {
                *steps -= 1;
                order.push(session);
                break;
            }
            at -= *steps;
        }
    }
}

/// The number of interleavings; None above `u128::MAX`.
pub fn count(lengths: &[usize]) -> Option<u128> {
    let mut ways: u128 = 1;
    let mut placed: u128 = 0;
    for length in lengths {
        for step in 1..=*length as u128 {
            placed += 1;
            // The product of these fractions is a binomial coefficient at every step.
            ways = ways.checked_mul(placed)? / step;
        }
    }
    Some(ways)
}

/// Every interleaving of sessions of these lengths, in lexical order.
pub fn all(lengths: &[usize]) -> All {
    let first = lengths
        .iter()
        .enumerate()
        .flat_map(|(session, length)| std::iter::repeat_n(session, *length))
        .collect();
    All { next: Some(first) }
}

/// The iterator of [`all`].
#[derive(Clone, Debug)]
pub struct All {
    next: Option<Vec<usize>>,
}

impl Iterator for All {
    type Item = Vec<usize>;

    fn next(&mut self) -> Option<Vec<usize>> {
        let current = self.next.take()?;
        let mut following = current.clone();
        // The next arrangement of a multiset: the last rise grows by the least it can.
        if let Some(rise) = (1..following.len())
            .rev()
            .find(|at| following[at - 1] < following[*at])
        {
            let pivot = rise - 1;
            let larger = (rise..following.len())
                .rev()
                .find(|at| following[*at] > following[pivot])
                .unwrap_or(rise);
            following.swap(pivot, larger);
            following[rise..].reverse();
            self.next = Some(following);
        }
        Some(current)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{TableAccess, all, count, merge, uniform};

    /// A plain generator, so that the tests need no other part of the program.
    fn draws(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = seed;
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % below
        }
    }

    #[test]
    fn all_yields_each_interleaving_once_and_count_agrees() {
        for lengths in [vec![], vec![3], vec![2, 3], vec![2, 2, 2], vec![0, 1, 4]] {
            let found: Vec<Vec<usize>> = all(&lengths).collect();
            let distinct: BTreeSet<&Vec<usize>> = found.iter().collect();
            assert_eq!(found.len(), distinct.len());
            assert_eq!(Some(found.len() as u128), count(&lengths), "{lengths:?}");
            for order in found {
                for (session, length) in lengths.iter().enumerate() {
                    assert_eq!(order.iter().filter(|s| **s == session).count(), *length);
                }
            }
        }
        assert_eq!(count(&[5, 5]), Some(252));
        assert_eq!(count(&[200, 200]), None);
    }

    #[test]
    fn uniform_draws_every_interleaving_about_equally_often() {
        let mut draw = draws(7);
        let mut seen: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        for _ in 0..20_000 {
            *seen.entry(uniform(&[2, 3], &mut draw)).or_default() += 1;
        }
        assert_eq!(seen.len(), 10);
        assert!(
            seen.values().all(|times| (1_700..2_300).contains(times)),
            "{seen:?}"
        );
    }

    fn step(table: &str, inside: bool) -> TableAccess {
        TableAccess {
            reads: BTreeSet::new(),
            writes: [table.to_owned()].into(),
            inside,
        }
    }

    #[test]
    fn merge_keeps_every_step_and_switches_more_at_conflicts() {
        let rivals = vec![vec![step("t", true); 6], vec![step("t", true); 6]];
        let strangers = vec![vec![step("t", true); 6], vec![step("u", true); 6]];
        let switches = |sessions: &[Vec<TableAccess>]| {
            let mut draw = draws(11);
            let mut total = 0;
            for _ in 0..2_000 {
                let order = merge(sessions, &mut draw);
                assert_eq!(order.iter().filter(|s| **s == 0).count(), 6);
                assert_eq!(order.iter().filter(|s| **s == 1).count(), 6);
                total += order.windows(2).filter(|pair| pair[0] != pair[1]).count();
            }
            total
        };
        let (with, without) = (switches(&rivals), switches(&strangers));
        assert!(with > without * 3 / 2, "{with} {without}");
        // A uniform draw of 6 + 6 has 6 switches on average.
        assert!(with < 6 * 2_000, "{with}");
    }
}
