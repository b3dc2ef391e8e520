//! Known edges, and constraints between chains of versions.

use crate::checker::resolved::arcs::{Arcs, Rows};
use crate::checker::resolved::dependencies::{DependencyEdge, dependencies, real_time};
use crate::checker::resolved::resolve::Resolved;
use crate::checker::resolved::version::Version;
use crate::checker::resolved::versions::{ChainedVersions, last_of};
use crate::checker::resolved::vertex::Vertex;
use crate::history::{Key, Txn};
use crate::model::ConsistencyModel;

/// How transactions become vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VertexView {
    /// A transaction `t` is the vertices `2t`, its start, and `2t + 1`, its commit.
    Split,
    /// A transaction is a vertex.
    Whole,
    /// So it is, and moments of real time follow.
    Strict,
}

impl VertexView {
    pub(super) fn of(model: ConsistencyModel) -> Self {
        match model {
            ConsistencyModel::Snapshot => Self::Split,
            ConsistencyModel::StrictSerializable | ConsistencyModel::Linearizable => Self::Strict,
            ConsistencyModel::ReadCommitted
            | ConsistencyModel::ReadAtomic
            | ConsistencyModel::Causal
            | ConsistencyModel::Serializable => Self::Whole,
        }
    }

    /// Where a transaction sees what others wrote.
    pub(super) fn begin(self, transaction: Txn) -> Vertex {
        match self {
            Self::Split => Vertex::start(transaction),
            Self::Whole | Self::Strict => Vertex::whole(transaction),
        }
    }

    /// Where others see what a transaction wrote.
    pub(super) fn end(self, transaction: Txn) -> Vertex {
        match self {
            Self::Split => Vertex::commit(transaction),
            Self::Whole | Self::Strict => Vertex::whole(transaction),
        }
    }

    /// The edge of a dependency.
    pub(super) fn edge(self, from: Txn, to: Txn, kind: DependencyEdge) -> (Vertex, Vertex) {
        match (self, kind) {
            (Self::Split, DependencyEdge::Visible) => (Vertex::commit(from), Vertex::start(to)),
            (Self::Split, DependencyEdge::Anti) => (Vertex::start(from), Vertex::commit(to)),
            (Self::Whole | Self::Strict, _) => (Vertex::whole(from), Vertex::whole(to)),
        }
    }
}

/// Versions that follow each other immediately: where they begin and end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub(super) key: Key,
    /// The transaction that wrote the first version.
    pub(super) first: Txn,
    /// The last version and its transaction.
    pub(super) last: Txn,
    pub(super) last_version: Version,
}

/// Two chains of one key whose order is open, by their places in [`Polygraph::chains`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Constraint {
    pub(super) one: u32,
    pub(super) other: u32,
}

/// The known part of the dependencies and what is open.
#[derive(Debug)]
pub(super) struct Polygraph<'r> {
    pub(super) resolved: &'r Resolved<'r>,
    pub(super) view: VertexView,
    /// How many vertices there are.
    pub(super) len: usize,
    pub(super) edges: Vec<(Vertex, Vertex)>,
    /// All chains but those of the initial versions, by key.
    pub(super) chains: Vec<Chain>,
    pub(super) constraints: Vec<Constraint>,
    readers: Rows<Version, Txn>,
}

impl<'r> Polygraph<'r> {
    /// `derived` are edges that follow from more than the dependencies.
    pub(super) fn new(
        resolved: &'r Resolved<'r>,
        chains: &ChainedVersions,
        view: VertexView,
        derived: &[(Vertex, Vertex)],
    ) -> Self {
        let mut edges = derived.to_vec();
        let mut len = resolved.len();
        if view == VertexView::Split {
            len *= 2;
            let all = resolved.history.all_transactions();
            edges.extend(all.map(|t| (Vertex::start(t), Vertex::commit(t))));
        }
        if view == VertexView::Strict {
            len = real_time(resolved, |from, to| edges.push((from, to)));
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
        let chain = |(key, head): &(Key, Version)| {
            let last_version = last_of(&chains.next, *head);
            Chain {
                key: *key,
                first: resolved.writer[*head],
                last: resolved.writer[last_version],
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
            let last_version = last_of(&chains.next, Version::initial(chain.key));
            let initial = Chain {
                key: chain.key,
                first: Txn::INITIAL,
                last: resolved.writer[last_version],
                last_version,
            };
            polygraph.between(&initial, &chain, |edge| known.push(edge));
        }
        polygraph.edges.append(&mut known);
        polygraph
    }

    /// Who reads the last version of a chain.
    pub(super) fn readers_of(&self, chain: &Chain) -> &[Txn] {
        self.readers.row(chain.last_version)
    }

    /// The edges that one chain before another means.
    pub(super) fn between(
        &self,
        one: &Chain,
        other: &Chain,
        mut edge: impl FnMut((Vertex, Vertex)),
    ) {
        if !one.last.is_initial() {
            edge(
                self.view
                    .edge(one.last, other.first, DependencyEdge::Visible),
            );
        }
        for reader in self.readers_of(one) {
            if *reader != other.first {
                edge(self.view.edge(*reader, other.first, DependencyEdge::Anti));
            }
        }
    }

    /// A topological order of the known edges, or a short cycle.
    pub(super) fn order(&self) -> Result<Vec<Vertex>, Vec<Vertex>> {
        let mut arcs = Arcs::new(self.len, self.edges.len());
        self.edges
            .iter()
            .for_each(|(from, to)| arcs.add(*from, *to));
        arcs.order()
    }

    /// The session and the place in it of a vertex; every session is a path of known edges.
    pub(super) fn lines(&self) -> SessionLines {
        let history = self.resolved.history;
        let mut line = vec![NO_LINE; self.len];
        let mut place = vec![0; self.len];
        let sessions = history.session_count();
        let mut free = vec![0u32; sessions];
        for transaction in self.resolved.live() {
            let session = history.session_of(transaction);
            let both = [Vertex::start(transaction), Vertex::commit(transaction)];
            let vertices = match self.view {
                VertexView::Split => &both[..],
                VertexView::Whole | VertexView::Strict => &[Vertex::whole(transaction)],
            };
            for vertex in vertices {
                line[*vertex] = session;
                place[*vertex] = free[session as usize];
                free[session as usize] += 1;
            }
        }
        SessionLines {
            line,
            place,
            count: sessions,
        }
    }
}

/// The line of a vertex that is in no session.
pub(super) const NO_LINE: u32 = u32::MAX;

/// Where vertices stand on the paths of their sessions.
#[derive(Debug)]
pub(super) struct SessionLines {
    /// The session of each vertex, or [`NO_LINE`].
    pub(super) line: Vec<u32>,
    /// The place of each vertex in its session, from 0.
    pub(super) place: Vec<u32>,
    /// The number of sessions.
    pub(super) count: usize,
}
