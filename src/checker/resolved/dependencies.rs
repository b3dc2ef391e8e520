//! Why one transaction comes before another: session, reads, version order and real time.

use crate::checker::resolved::resolve::Resolved;
use crate::checker::resolved::version::NONE;
use crate::checker::resolved::versions::ChainedVersions;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Txn;

/// Calls `edge` for every dependency: SO, WR, WW between neighbours, and, with `true`, RW to the
/// next version. Theorems 1 and 2 of the paper: the transitive ones are not needed.
pub(in crate::checker) fn dependencies(
    resolved: &Resolved<'_>,
    chains: &ChainedVersions,
    mut edge: impl FnMut(Txn, Txn, DependencyEdge),
) {
    let transactions = resolved.history.all_transactions();
    for (to, from) in transactions.zip(resolved.session_predecessors()) {
        if !to.is_initial() && resolved.is_live[to] {
            edge(from, to, DependencyEdge::Visible);
        }
    }
    for reader in resolved.live() {
        for version in resolved.reads(reader) {
            let writer = resolved.writer[*version];
            if !writer.is_initial() {
                edge(writer, reader, DependencyEdge::Visible);
            }
            let next = chains.next[*version];
            if next != NONE && resolved.writer[next] != reader {
                edge(reader, resolved.writer[next], DependencyEdge::Anti);
            }
        }
    }
    for (writer, next) in resolved.writer.iter().zip(&chains.next) {
        let writer = *writer;
        if *next != NONE && !writer.is_initial() {
            edge(writer, resolved.writer[*next], DependencyEdge::Visible);
        }
    }
}

/// How one transaction depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::checker) enum DependencyEdge {
    /// SO, WR, WW: the earlier is in the snapshot of the later.
    Visible,
    /// RW.
    Anti,
}

/// Real time as a chain of O(n) vertices behind the transactions instead of n^2 edges: vertex
/// `n + i` stands for the moment of the i-th completion.
pub(in crate::checker) fn real_time(
    resolved: &Resolved<'_>,
    mut edge: impl FnMut(Vertex, Vertex),
) -> usize {
    let history = resolved.history;
    let len = resolved.len();
    let mut ends: Vec<(i64, Txn)> = Vec::new();
    let mut begins: Vec<(i64, Txn)> = Vec::new();
    for transaction in resolved.live() {
        if let Some(span) = history.real_time(transaction) {
            begins.push((span.from, transaction));
            if span.to != i64::MAX {
                ends.push((span.to, transaction));
            }
        }
    }
    ends.sort_unstable();
    begins.sort_unstable();
    let mut passed = 0;
    for (begin, transaction) in begins {
        while passed < ends.len() && ends[passed].0 < begin {
            passed += 1;
        }
        if passed > 0 {
            edge(Vertex::at(len + passed - 1), Vertex::whole(transaction));
        }
    }
    for (moment, (_, transaction)) in (len..).zip(&ends) {
        edge(Vertex::whole(*transaction), Vertex::at(moment));
        if moment > len {
            edge(Vertex::at(moment - 1), Vertex::at(moment));
        }
    }
    len + ends.len()
}
