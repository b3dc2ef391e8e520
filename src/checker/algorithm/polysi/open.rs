//! Reads that may be of several writers, as the solvers take them: the edges that each choice of a
//! writer means.

use std::collections::BTreeMap;

use super::polygraph::Polygraph;
use super::reach::Reach;
use super::writers::KeyWriters;
use crate::checker::resolved::dependencies::DependencyEdge;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Txn;

/// How many edges there may be.
const EDGES_MAX: usize = 1 << 25;

/// All choices that are open beside the orders of chains.
pub(super) struct OpenReads {
    pub(super) reads: Vec<OpenChoice>,
}

/// A read that saw one of several versions.
pub(super) struct OpenChoice {
    pub(super) reader: Txn,
    pub(super) sources: Vec<OpenSource>,
}

/// A version that a read may be of.
pub(super) struct OpenSource {
    pub(super) writer: Txn,
    /// The WR edge, and RW edges to what is known to follow the version.
    pub(super) edges: Vec<(Vertex, Vertex)>,
    /// The chain whose last version it is: chains that come to follow it follow the reader, too.
    pub(super) chain: Option<u32>,
}

impl OpenReads {
    /// None when there are too many.
    pub(super) fn new(polygraph: &Polygraph<'_>) -> Option<Self> {
        let Polygraph { resolved, view, .. } = polygraph;
        let order = polygraph.order().ok()?;
        let reach = Reach::new(polygraph, &order);
        let writers = KeyWriters::of(resolved);
        let chains = (0u32..).zip(&polygraph.chains);
        let of_last: BTreeMap<_, _> = chains.map(|(at, chain)| (chain.last_version, at)).collect();
        let mut count = 0;
        let mut reads = Vec::new();
        // What a transaction reads again it reads from the same snapshot.
        for read in resolved.open_reads.iter().filter(|r| r.repeats.is_none()) {
            let mut sources = Vec::new();
            for version in &read.candidates {
                let writer = resolved.writer[*version];
                let mut edges = Vec::new();
                if !writer.is_initial() {
                    edges.push(view.edge(writer, read.reader, DependencyEdge::Visible));
                }
                for follower in writers.followers(*view, &reach, read.key, writer) {
                    if follower.writer != read.reader {
                        let writer = follower.writer;
                        edges.push(view.edge(read.reader, writer, DependencyEdge::Anti));
                    }
                }
                edges.retain(|(from, to)| !reach.has(*from, *to));
                count += edges.len() + 1;
                sources.push(OpenSource {
                    writer,
                    edges,
                    chain: of_last.get(version).copied(),
                });
            }
            if count > EDGES_MAX {
                return None;
            }
            reads.push(OpenChoice {
                reader: read.reader,
                sources,
            });
        }
        Some(Self { reads })
    }
}
