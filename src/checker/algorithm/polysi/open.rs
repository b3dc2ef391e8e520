//! The constraints of reads that may be of several writers (CHECKERS: repeated written values).
//!
//! A literal stands for each writer that a read may be of. It brings the WR edge, and the RW edge
//! to the version that is known to come next; where that depends on the order of two chains, a
//! third literal follows from the two and brings the RW edge.

use std::collections::BTreeMap;

use super::polygraph::Polygraph;
use super::prune::Reach;
use crate::checker::resolved::dependencies::DependencyEdge;
use crate::checker::resolved::resolve::OpenRead;
use crate::checker::resolved::version::{NONE, Version};
use crate::checker::resolved::versions::ChainedVersions;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Txn;

/// How many literals there may be.
const LITERALS_MAX: usize = 1 << 22;

/// What has to be decided of the open reads.
pub(super) struct OpenReads {
    /// For each variable the edges that it brings when it is true.
    pub(super) edges: Vec<Vec<(Vertex, Vertex)>>,
    /// Whether it is tried true first.
    pub(super) is_likely: Vec<bool>,
    /// Clauses: variables, or orders of chains as [`Term::Order`], negated or not.
    pub(super) clauses: Vec<Vec<Term>>,
}

/// A literal before there are any.
#[derive(Clone, Copy, Debug)]
pub(super) enum Term {
    /// A variable is true.
    Is(usize),
    /// A variable is false.
    IsNot(usize),
    /// The first chain of a constraint, by its place, does not come before the second.
    NotBefore(usize),
    /// The second does not come before the first.
    NotAfter(usize),
}

/// Where a version stands.
enum Follower {
    /// This version follows it.
    Known(Version),
    /// It is the last of the chain of the initial version.
    AllOthers,
    /// It is the last of this chain.
    ThoseAfter(u32),
}

impl OpenReads {
    /// None when there are too many.
    pub(super) fn new(polygraph: &Polygraph<'_>, chains: &ChainedVersions) -> Option<Self> {
        let resolved = polygraph.resolved;
        let order = polygraph.order().ok()?;
        let reach = Reach::new(polygraph, &order);
        let constraints: BTreeMap<(u32, u32), usize> = polygraph
            .constraints
            .iter()
            .enumerate()
            .map(|(place, c)| ((c.one, c.other), place))
            .collect();
        let chain_of = chains_of_last(polygraph);
        let likely = resolved.likely_versions();
        let mut open = Self {
            edges: Vec::new(),
            is_likely: Vec::new(),
            clauses: Vec::new(),
        };
        for (read, likely) in resolved.open_reads.iter().zip(likely) {
            // What a transaction reads again it reads from the same snapshot.
            if read.repeats.is_some() {
                continue;
            }
            let mut one_of = Vec::new();
            for version in &read.candidates {
                let writer = resolved.writer[*version];
                let visible = polygraph
                    .view
                    .edge(writer, read.reader, DependencyEdge::Visible);
                if !writer.is_initial() && reach.has(visible.1, visible.0) {
                    continue;
                }
                let var = open.variable(*version == likely);
                one_of.push(Term::Is(var));
                if !writer.is_initial() {
                    open.edges[var].push(visible);
                }
                let next = chains.next[*version];
                let follower = match chain_of.get(version) {
                    _ if next != NONE => Follower::Known(next),
                    Some(chain) => Follower::ThoseAfter(*chain),
                    None => Follower::AllOthers,
                };
                open.follow(polygraph, &reach, &constraints, read, var, &follower);
            }
            open.clauses.push(one_of);
            if open.edges.len() > LITERALS_MAX {
                return None;
            }
        }
        Some(open)
    }

    fn variable(&mut self, is_likely: bool) -> usize {
        self.edges.push(Vec::new());
        self.is_likely.push(is_likely);
        self.edges.len() - 1
    }

    /// The RW edges of a read that `var` says to be of a version.
    fn follow(
        &mut self,
        polygraph: &Polygraph<'_>,
        reach: &Reach,
        constraints: &BTreeMap<(u32, u32), usize>,
        read: &OpenRead,
        var: usize,
        follower: &Follower,
    ) {
        let resolved = polygraph.resolved;
        let anti = |open: &mut Self, var: usize, writer: Txn| {
            if writer != read.reader {
                let edge = polygraph
                    .view
                    .edge(read.reader, writer, DependencyEdge::Anti);
                open.edges[var].push(edge);
            }
        };
        let mine = match follower {
            Follower::Known(next) => {
                return anti(self, var, resolved.writer[*next]);
            }
            Follower::AllOthers => None,
            Follower::ThoseAfter(chain) => Some(*chain),
        };
        let begin = polygraph.chains.partition_point(|c| c.key < read.key);
        let of_key = polygraph.chains[begin..].iter();
        let of_key = of_key.take_while(|chain| chain.key == read.key);
        for (other, chain) in (begin as u32..).zip(of_key) {
            let Some(mine) = mine.filter(|mine| *mine != other) else {
                if mine.is_none() {
                    anti(self, var, chain.first);
                }
                continue;
            };
            let (term, place) = match mine < other {
                true => (Term::NotBefore as fn(usize) -> Term, (mine, other)),
                false => (Term::NotAfter as fn(usize) -> Term, (other, mine)),
            };
            if let Some(place) = constraints.get(&place) {
                let both = self.variable(false);
                anti(self, both, chain.first);
                let clause = vec![Term::IsNot(var), term(*place), Term::Is(both)];
                self.clauses.push(clause);
                continue;
            }
            let last = polygraph.chains[mine as usize].last;
            let edge = polygraph
                .view
                .edge(last, chain.first, DependencyEdge::Visible);
            if reach.has(edge.0, edge.1) {
                anti(self, var, chain.first);
            }
        }
    }
}

/// The chains by their last versions.
fn chains_of_last(polygraph: &Polygraph<'_>) -> BTreeMap<Version, u32> {
    let chains = (0u32..).zip(&polygraph.chains);
    chains
        .map(|(place, chain)| (chain.last_version, place))
        .collect()
}
