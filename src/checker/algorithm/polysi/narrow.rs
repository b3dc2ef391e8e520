//! Fewer writers for reads of values that were written more than once, by what is known to reach
//! what, until nothing more follows.
//!
//! A writer is none that a read saw if the reader comes before it, or if another version of the key
//! comes after it and before the reader. A read of which one writer is left is a read like every
//! other. What all writers that are left have in common holds of the read: what comes before all of
//! them comes before the reader, and a writer of the key that comes after all of them comes after it.

use super::outcome::{PolygraphOutcome, pruned};
use super::polygraph::Polygraph;
use super::prune::{self, Stopped};
use super::reach::{Reach, Reached};
use super::writers::{KeyWrite, KeyWriters};
use crate::checker::budget::Budget;
use crate::checker::resolved::dependencies::DependencyEdge;
use crate::checker::resolved::resolve::{OpenRead, Resolved};
use crate::checker::resolved::version::{NONE, Version};
use crate::checker::resolved::versions::{ChainedVersions, chains};
use crate::checker::resolved::vertex::Vertex;
use crate::history::Txn;
use crate::model::ConsistencyModel;

/// Rounds at most; each builds the polygraph anew.
const ROUNDS_MAX: usize = 64;

/// A history whose open reads have fewer candidates.
pub(super) struct Narrowed<'h> {
    pub(super) resolved: Resolved<'h>,
    pub(super) chains: ChainedVersions,
    /// Edges that follow from all candidates of a read together.
    pub(super) derived: Vec<(Vertex, Vertex)>,
}

/// Leaves out candidates and derives edges until nothing more follows.
pub(super) fn narrow<'h>(
    resolved: Resolved<'h>,
    model: ConsistencyModel,
    budget: Budget,
) -> Result<Narrowed<'h>, PolygraphOutcome> {
    let mut resolved = resolved;
    let mut derived = Vec::new();
    for _ in 0..ROUNDS_MAX {
        if resolved.open_reads.is_empty() {
            break;
        }
        // From here on a cycle is one of the choices that were left, and no evidence by itself.
        let Ok(chains) = chains(&resolved) else {
            return Err(PolygraphOutcome::Stuck);
        };
        let polygraph = match pruned(&resolved, &chains, &derived, model, budget) {
            Err(PolygraphOutcome::Cycle(_)) => return Err(PolygraphOutcome::Stuck),
            pruned => pruned?,
        };
        if !prune::fits(&polygraph) {
            return Err(PolygraphOutcome::of(Stopped::TooLarge));
        }
        let look = Look::at(&polygraph, &chains).and_then(|look| look.all(budget));
        let (left, fresh) = look.map_err(PolygraphOutcome::of)?;
        let is_narrower =
            |(read, left): (&OpenRead, &Vec<Version>)| left.len() < read.candidates.len();
        if fresh.is_empty() && !resolved.open_reads.iter().zip(&left).any(is_narrower) {
            break;
        }
        derived.extend(fresh);
        let narrower = resolved.with_candidates(&left);
        resolved = narrower;
    }
    match chains(&resolved) {
        Ok(chains) => Ok(Narrowed {
            resolved,
            chains,
            derived,
        }),
        Err(_) => Err(PolygraphOutcome::Stuck),
    }
}

/// What is left of each open read, and edges that are new.
type Left = (Vec<Vec<Version>>, Vec<(Vertex, Vertex)>);

/// A look at all open reads.
struct Look<'p> {
    polygraph: &'p Polygraph<'p>,
    chains: &'p ChainedVersions,
    reach: Reach,
    reached: Reached,
    writers: KeyWriters,
}

impl<'p> Look<'p> {
    /// Fails where the known edges close a cycle.
    fn at(polygraph: &'p Polygraph<'p>, chains: &'p ChainedVersions) -> Result<Self, Stopped> {
        let order = polygraph.order().map_err(|_| Stopped::Violated)?;
        Ok(Self {
            polygraph,
            chains,
            reach: Reach::new(polygraph, &order),
            reached: Reached::new(polygraph, &order),
            writers: KeyWriters::of(polygraph.resolved),
        })
    }

    /// Fails where a read has no candidate left.
    fn all(&self, budget: Budget) -> Result<Left, Stopped> {
        let mut all: Vec<Vec<Version>> = Vec::new();
        let mut derived = Vec::new();
        for (at, read) in self.polygraph.resolved.open_reads.iter().enumerate() {
            if let Some(first) = read.repeats {
                all.push(all[first as usize].clone());
                continue;
            }
            if at.is_multiple_of(256) && budget.is_over() {
                return Err(Stopped::TimeIsOver);
            }
            let left = self.candidates(read);
            if left.is_empty() {
                return Err(Stopped::Violated);
            }
            if left.len() > 1 {
                self.before_all(read, &left, &mut derived);
                self.after_all(read, &left, &mut derived);
            }
            all.push(left);
        }
        Ok((all, derived))
    }

    /// The versions that a read may still be of.
    fn candidates(&self, read: &OpenRead) -> Vec<Version> {
        let view = self.polygraph.view;
        let (reach, reached) = (&self.reach, &self.reached);
        let seen = self
            .writers
            .last_seen(view, reach, reached, read.key, read.reader);
        let is_possible = |version: &Version| self.is_possible(read, *version, &seen);
        let candidates = read.candidates.iter().copied();
        candidates.filter(is_possible).collect()
    }

    fn is_possible(&self, read: &OpenRead, version: Version, seen: &[Txn]) -> bool {
        let Polygraph { resolved, view, .. } = self.polygraph;
        let writer = resolved.writer[version];
        if writer.is_initial() {
            return seen.is_empty();
        }
        let (from, to) = view.edge(writer, read.reader, DependencyEdge::Visible);
        if self.reach.has(to, from) {
            return false;
        }
        // Two transactions that overwrite one version: a lost update.
        let next = self.chains.next[version];
        let is_writing = || {
            resolved
                .writes(read.reader)
                .any(|mine| resolved.key[mine] == read.key)
        };
        if next != NONE && resolved.writer[next] != read.reader {
            let (from, to) = view.edge(read.reader, resolved.writer[next], DependencyEdge::Anti);
            if self.reach.has(to, from) || is_writing() {
                return false;
            }
        }
        seen.iter().all(|between| {
            let (from, to) = view.edge(writer, *between, DependencyEdge::Visible);
            *between == writer || !self.reach.has(from, to)
        })
    }

    /// What comes before all candidates of a read comes before its reader.
    fn before_all(&self, read: &OpenRead, left: &[Version], derived: &mut Vec<(Vertex, Vertex)>) {
        let Polygraph { resolved, view, .. } = self.polygraph;
        let mut writers = left.iter().map(|version| resolved.writer[*version]);
        if writers.clone().any(|writer| writer.is_initial()) {
            return;
        }
        let Some(first) = writers.next() else {
            return;
        };
        let mut common = self.reached.row(view.end(first)).to_vec();
        for writer in writers {
            let row = self.reached.row(view.end(writer));
            for (common, place) in common.iter_mut().zip(row) {
                *common = (*common).min(*place);
            }
        }
        let begin = view.begin(read.reader);
        for (line, (place, known)) in common.iter().zip(self.reached.row(begin)).enumerate() {
            if place > known
                && let Some(vertex) = self.reached.before(line, *place)
            {
                derived.push((vertex, begin));
            }
        }
    }

    /// A writer of the key that follows all candidates of a read follows its reader.
    fn after_all(&self, read: &OpenRead, left: &[Version], derived: &mut Vec<(Vertex, Vertex)>) {
        let Polygraph { resolved, view, .. } = self.polygraph;
        // By session: how many candidates have a follower there, and the last of them.
        let mut last: Vec<(u32, usize, KeyWrite)> = Vec::new();
        for version in left {
            let writer = resolved.writer[*version];
            let followers = self.writers.followers(*view, &self.reach, read.key, writer);
            for follower in followers {
                let place = last.binary_search_by_key(&follower.session, |entry| entry.0);
                match place {
                    Ok(at) => {
                        last[at].1 += 1;
                        if last[at].2.writer < follower.writer {
                            last[at].2 = follower;
                        }
                    }
                    Err(at) => last.insert(at, (follower.session, 1, follower)),
                }
            }
        }
        for (_, count, follower) in last {
            if count == left.len() && follower.writer != read.reader {
                let (from, to) = view.edge(read.reader, follower.writer, DependencyEdge::Anti);
                if !self.reach.has(from, to) {
                    derived.push((from, to));
                }
            }
        }
    }
}
