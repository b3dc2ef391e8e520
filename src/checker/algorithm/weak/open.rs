//! Weak models where written values repeat: which of several writes a read saw is a choice.
//!
//! A choice for every open read makes a history that the linear algorithms decide. What they find
//! violated rests on some of the choices; these together are excluded, and a SAT solver proposes
//! the next, until one satisfies or none is left. The first is the likeliest by the file.

use std::collections::{BTreeMap, BTreeSet};

use batsat::{BasicSolver, Lit, SolverInterface, Var, lbool};

use super::decide::decide;
use crate::checker::answer::Answer;
use crate::checker::budget::Budget;
use crate::checker::evidence::counterexample::{Counterexample, Reason};
use crate::checker::evidence::reduce::core;
use crate::checker::evidence::witness::Witness;
use crate::checker::resolved::resolve::{OpenRead, Resolved};
use crate::checker::resolved::version::Version;
use crate::history::{History, Key, Txn};
use crate::model::Anomaly;
use crate::model::ConsistencyModel;

/// How many choices are looked at.
const ROUNDS_MAX: usize = 2_000;

pub(super) fn check(
    resolved: &Resolved<'_>,
    model: ConsistencyModel,
    budget: Budget,
    violates: impl FnMut(&History) -> bool,
) -> Answer {
    let history = resolved.history;
    let unknown = |why: &str| {
        let count = resolved.open_reads.len();
        Answer::Unknown(format!(
            "{count} reads are of values that were written more than once, {why}"
        ))
    };
    if !history.orders().is_empty() {
        return unknown("and there are lists");
    }
    let mut choice = Choice::new(resolved, model);
    for _ in 0..ROUNDS_MAX {
        if budget.is_over() {
            return unknown(&format!("and {}", Budget::IS_OVER));
        }
        let versions = choice.versions();
        let chosen = resolved.with_versions(&versions);
        let found = match decide(&chosen, model) {
            Answer::Satisfied(Witness::Order(order)) => {
                let sources = sources(resolved, &versions);
                return Answer::Satisfied(Witness::Sourced { order, sources });
            }
            Answer::Violated(found) => found,
            answer @ (Answer::Satisfied(_) | Answer::Unknown(_)) => return answer,
        };
        let support = choice.support(&chosen, &versions, model, &found);
        if support.is_empty() {
            return Answer::Violated(found);
        }
        if !choice.exclude(&support) {
            return Answer::Violated(without_choice(history, budget, violates));
        }
    }
    unknown("and the choices are too many")
}

/// What the open reads are of: places of events, and writers.
fn sources(resolved: &Resolved<'_>, versions: &[Version]) -> Vec<(usize, Txn)> {
    let writers = versions.iter().map(|v| resolved.writer[*v]);
    let places = resolved.open_reads.iter().map(|read| read.at);
    places.zip(writers).collect()
}

/// The counterexample where every choice leads to a violation, but not to the same.
fn without_choice(
    history: &History,
    budget: Budget,
    violates: impl FnMut(&History) -> bool,
) -> Counterexample {
    let core = core(history, budget, violates);
    Counterexample {
        anomaly: Anomaly::NoVersionOrder,
        edges: Vec::new(),
        core,
    }
}

/// A version for every open read, and what is known of the choices.
struct Choice<'r> {
    resolved: &'r Resolved<'r>,
    /// The open read whose choice each follows: itself, or one of the same value before it in its
    /// transaction, except under read committed, where that may have changed in between.
    leader: Vec<usize>,
    /// The variable of the first candidate of each leader.
    first: Vec<u32>,
    /// The candidate that each leader has, by its place.
    chosen: Vec<usize>,
    solver: BasicSolver,
}

impl<'r> Choice<'r> {
    fn new(resolved: &'r Resolved<'r>, model: ConsistencyModel) -> Self {
        let mut solver = BasicSolver::default();
        let likely = resolved.likely_versions();
        let (mut leader, mut first, mut chosen) = (Vec::new(), Vec::new(), Vec::new());
        for (at, read) in resolved.open_reads.iter().enumerate() {
            let repeats = read
                .repeats
                .filter(|_| model > ConsistencyModel::ReadCommitted);
            leader.push(repeats.map_or(at, |place| place as usize));
            first.push(solver.num_vars());
            let place = read.candidates.iter().position(|v| *v == likely[at]);
            chosen.push(place.unwrap_or(0));
            if leader[at] != at {
                continue;
            }
            let mut one_of = Vec::new();
            for candidate in &read.candidates {
                let first_tried = lbool::new(*candidate == likely[at]);
                one_of.push(Lit::new(solver.new_var(first_tried, true), true));
            }
            solver.add_clause_reuse(&mut one_of);
        }
        Self {
            resolved,
            leader,
            first,
            chosen,
            solver,
        }
    }

    fn versions(&self) -> Vec<Version> {
        let reads = self.resolved.open_reads.iter().zip(&self.leader);
        let version = |(read, leader): (&OpenRead, &usize)| {
            // Reads of one value by one transaction have the same candidates.
            read.candidates[self.chosen[*leader]]
        };
        reads.map(version).collect()
    }

    /// The open reads on whose choice a violation rests.
    fn support(
        &self,
        chosen: &Resolved<'_>,
        versions: &[Version],
        model: ConsistencyModel,
        found: &Counterexample,
    ) -> BTreeSet<usize> {
        let open = Open::of(self.resolved, versions);
        let mut support = BTreeSet::new();
        for edge in &found.edges {
            match edge.reason {
                Reason::WriteRead(key) => support.extend(open.of_key(edge.to, key)),
                Reason::SeenBy { key, reader } => {
                    support.extend(open.of_key(reader, key));
                    match model {
                        ConsistencyModel::Causal => {
                            open.path(chosen, edge.from, reader, &mut support)
                        }
                        ConsistencyModel::ReadCommitted
                        | ConsistencyModel::ReadAtomic
                        | ConsistencyModel::Snapshot
                        | ConsistencyModel::Serializable
                        | ConsistencyModel::StrictSerializable
                        | ConsistencyModel::Linearizable => {
                            support.extend(open.from(reader, edge.from))
                        }
                    }
                }
                Reason::Session
                | Reason::RealTime
                | Reason::WriteWrite(_)
                | Reason::ReadWrite(_)
                | Reason::Event(_)
                | Reason::Listed { .. }
                | Reason::Lists(_)
                | Reason::Early
                | Reason::Missed(_)
                | Reason::Overlap(_) => {}
            }
        }
        support.into_iter().map(|at| self.leader[at]).collect()
    }

    /// Excludes that these all stay as they are; whether another choice is left, which it takes.
    fn exclude(&mut self, support: &BTreeSet<usize>) -> bool {
        let literal = |leader: &usize| {
            let var = self.first[*leader] + self.chosen[*leader] as u32;
            Lit::new(Var::unsafe_from_idx(var), false)
        };
        let mut clause: Vec<Lit> = support.iter().map(literal).collect();
        if !self.solver.add_clause_reuse(&mut clause)
            || self.solver.solve_limited(&[]) != lbool::TRUE
        {
            return false;
        }
        for (at, read) in self.resolved.open_reads.iter().enumerate() {
            if self.leader[at] != at {
                continue;
            }
            let is_true = |place: &usize| {
                let var = Var::unsafe_from_idx(self.first[at] + *place as u32);
                self.solver.value_var(var) == lbool::TRUE
            };
            if !is_true(&self.chosen[at]) {
                let other = (0..read.candidates.len()).find(is_true);
                self.chosen[at] = other.unwrap_or(self.chosen[at]);
            }
        }
        true
    }
}

/// The open reads of each transaction: their numbers, keys and the writers chosen.
struct Open(BTreeMap<Txn, Vec<(usize, Key, Txn)>>);

impl Open {
    fn of(resolved: &Resolved<'_>, versions: &[Version]) -> Self {
        let mut open: BTreeMap<Txn, Vec<(usize, Key, Txn)>> = BTreeMap::new();
        for (at, (read, version)) in resolved.open_reads.iter().zip(versions).enumerate() {
            let writer = resolved.writer[*version];
            open.entry(read.reader)
                .or_default()
                .push((at, read.key, writer));
        }
        Self(open)
    }

    fn of_key(&self, reader: Txn, key: Key) -> impl Iterator<Item = usize> + '_ {
        let reads = self.0.get(&reader).into_iter().flatten();
        reads.filter(move |read| read.1 == key).map(|read| read.0)
    }

    fn from(&self, reader: Txn, writer: Txn) -> impl Iterator<Item = usize> + '_ {
        let reads = self.0.get(&reader).into_iter().flatten();
        reads
            .filter(move |read| read.2 == writer)
            .map(|read| read.0)
    }

    /// The open reads on a path of SO and WR from one transaction to another.
    fn path(&self, chosen: &Resolved<'_>, from: Txn, to: Txn, support: &mut BTreeSet<usize>) {
        let before = chosen.session_predecessors();
        let mut next_of: BTreeMap<Txn, Txn> = BTreeMap::new();
        let mut reached = vec![to];
        while let Some(at) = reached.pop() {
            let writers = chosen.reads(at).iter();
            let writers = writers.map(|version| chosen.writer[*version]);
            for earlier in writers.chain([before[at]]).filter(|t| !t.is_initial()) {
                if earlier != to && !next_of.contains_key(&earlier) {
                    next_of.insert(earlier, at);
                    reached.push(earlier);
                }
            }
        }
        let mut at = from;
        while let Some(next) = next_of.get(&at) {
            support.extend(self.from(*next, at));
            at = *next;
        }
    }
}
