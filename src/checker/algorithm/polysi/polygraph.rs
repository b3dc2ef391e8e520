//! Known edges, and constraints between chains of versions.

use crate::checker::resolved::arcs::{Arcs, Rows};
use crate::checker::resolved::dependencies::{Dependency, dependencies, real_time};
use crate::checker::resolved::resolve::{NONE, Resolved};
use crate::checker::resolved::versions::{Chains, last_of};
use crate::model::ConsistencyModel;

/// How transactions become vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// A transaction `t` is the vertices `2t`, its start, and `2t + 1`, its commit.
    Split,
    /// A transaction is a vertex.
    Whole,
    /// So it is, and moments of real time follow.
    Strict,
}

impl View {
    pub(super) fn of(model: ConsistencyModel) -> Self {
        match model {
            ConsistencyModel::Snapshot => Self::Split,
            ConsistencyModel::StrictSerializable | ConsistencyModel::Linearizable => Self::Strict,
            _ => Self::Whole,
        }
    }

    /// The edge of a dependency.
    pub(super) fn edge(self, from: u32, to: u32, kind: Dependency) -> (u32, u32) {
        match (self, kind) {
            (Self::Split, Dependency::Visible) => (from * 2 + 1, to * 2),
            (Self::Split, Dependency::Anti) => (from * 2, to * 2 + 1),
            (Self::Whole | Self::Strict, _) => (from, to),
        }
    }
}

/// Versions that follow each other immediately: where they begin and end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub(super) key: u32,
    /// The transaction that wrote the first version.
    pub(super) first: u32,
    /// The last version and its transaction.
    pub(super) last: u32,
    pub(super) last_version: u32,
}

/// Two chains of one key whose order is open: the one first, or the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constraint {
    pub(super) one: u32,
    pub(super) other: u32,
}

/// The known part of the dependencies and what is open.
#[derive(Debug)]
pub(super) struct Polygraph<'r> {
    pub(super) resolved: &'r Resolved<'r>,
    pub(super) view: View,
    /// How many vertices there are.
    pub(super) len: usize,
    pub(super) edges: Vec<(u32, u32)>,
    /// All chains but those of the initial versions, by key.
    pub(super) chains: Vec<Chain>,
    pub(super) constraints: Vec<Constraint>,
    readers: Rows,
}

impl<'r> Polygraph<'r> {
    pub(super) fn new(resolved: &'r Resolved<'r>, chains: &Chains, view: View) -> Self {
        let mut edges = Vec::new();
        let mut len = resolved.len();
        if view == View::Split {
            len *= 2;
            edges.extend((0..resolved.len() as u32).map(|t| (t * 2, t * 2 + 1)));
        }
        if view == View::Strict {
            len = real_time(resolved, |from, to| edges.push((from, to))) as usize;
        }
        dependencies(resolved, chains, |from, to, kind| {
            edges.push(view.edge(from, to, kind))
        });
        let mut pairs = Vec::new();
        for reader in resolved.live() {
            pairs.extend(
                resolved
                    .reads(reader)
                    .iter()
                    .map(|version| (*version, reader)),
            );
        }
        let readers = Rows::of(resolved.writer.len(), &pairs);
        let chain = |(key, head): &(u32, u32)| {
            let last_version = last_of(&chains.next, *head);
            Chain {
                key: *key,
                first: resolved.writer[*head as usize],
                last: resolved.writer[last_version as usize],
                last_version,
            }
        };
        let mut polygraph = Self {
            resolved,
            view,
            len,
            edges,
            chains: chains.heads.iter().map(chain).collect(),
            constraints: Vec::new(),
            readers,
        };
        // The chain of the initial version precedes the others.
        let mut known = Vec::new();
        for at in 0..polygraph.chains.len() {
            let chain = polygraph.chains[at];
            let last_version = last_of(&chains.next, chain.key);
            let initial = Chain {
                key: chain.key,
                first: 0,
                last: resolved.writer[last_version as usize],
                last_version,
            };
            polygraph.between(&initial, &chain, |edge| known.push(edge));
        }
        polygraph.edges.append(&mut known);
        polygraph
    }

    /// Who reads the last version of a chain.
    pub(super) fn readers_of(&self, chain: &Chain) -> &[u32] {
        self.readers.row(chain.last_version)
    }

    /// The edges that one chain before another means.
    pub(super) fn between(&self, one: &Chain, other: &Chain, mut edge: impl FnMut((u32, u32))) {
        if one.last != 0 {
            edge(self.view.edge(one.last, other.first, Dependency::Visible));
        }
        for reader in self.readers_of(one) {
            if *reader != other.first {
                edge(self.view.edge(*reader, other.first, Dependency::Anti));
            }
        }
    }

    /// A topological order of the known edges, or a short cycle.
    pub(super) fn order(&self) -> Result<Vec<u32>, Vec<u32>> {
        let mut arcs = Arcs::new(self.len, self.edges.len());
        self.edges
            .iter()
            .for_each(|(from, to)| arcs.add(*from, *to));
        arcs.order()
    }

    /// The session and the place in it of a vertex; every session is a path of known edges.
    pub(super) fn lines(&self) -> Lines {
        let history = self.resolved.history;
        let mut line = vec![NONE; self.len];
        let mut place = vec![0; self.len];
        let sessions = history.session_count();
        let mut free = vec![0u32; sessions];
        for transaction in self.resolved.live() {
            let session = history.session_of(transaction);
            let vertices = match self.view {
                View::Split => transaction * 2..transaction * 2 + 2,
                View::Whole | View::Strict => transaction..transaction + 1,
            };
            for vertex in vertices {
                line[vertex as usize] = session;
                place[vertex as usize] = free[session as usize];
                free[session as usize] += 1;
            }
        }
        Lines {
            line,
            place,
            count: sessions,
        }
    }
}

/// Where vertices stand on the paths of their sessions.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) line: Vec<u32>,
    pub(super) place: Vec<u32>,
    pub(super) count: usize,
}
