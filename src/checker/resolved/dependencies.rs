//! Why one transaction comes before another: session, reads, version order and real time.

use crate::checker::resolved::resolve::{NONE, Resolved};
use crate::checker::resolved::versions::Chains;

/// Calls `edge` for every dependency: SO, WR, WW between neighbours, and, with `true`, RW to the
/// next version. Theorems 1 and 2 of the paper: the transitive ones are not needed.
pub(in crate::checker) fn dependencies(
    resolved: &Resolved<'_>,
    chains: &Chains,
    mut edge: impl FnMut(u32, u32, Dependency),
) {
    for (to, from) in (0u32..).zip(resolved.session_predecessors()) {
        if to > 0 && resolved.is_live[to as usize] {
            edge(from, to, Dependency::Visible);
        }
    }
    for reader in resolved.live() {
        for version in resolved.reads(reader) {
            let writer = resolved.writer[*version as usize];
            if writer != 0 {
                edge(writer, reader, Dependency::Visible);
            }
            let next = chains.next[*version as usize];
            if next != NONE && resolved.writer[next as usize] != reader {
                edge(reader, resolved.writer[next as usize], Dependency::Anti);
            }
        }
    }
    for (version, next) in chains.next.iter().enumerate() {
        let writer = resolved.writer[version];
        if *next != NONE && writer != 0 {
            edge(writer, resolved.writer[*next as usize], Dependency::Visible);
        }
    }
}

/// How one transaction depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::checker) enum Dependency {
    /// SO, WR, WW: the earlier is in the snapshot of the later.
    Visible,
    /// RW.
    Anti,
}

/// Real time as a chain of O(n) vertices behind the transactions instead of n^2 edges: vertex
/// `n + i` stands for the moment of the i-th completion.
pub(in crate::checker) fn real_time(
    resolved: &Resolved<'_>,
    mut edge: impl FnMut(u32, u32),
) -> u32 {
    let history = resolved.history;
    let len = resolved.len() as u32;
    let mut ends: Vec<(i64, u32)> = Vec::new();
    let mut begins: Vec<(i64, u32)> = Vec::new();
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
            edge(len + passed as u32 - 1, transaction);
        }
    }
    for (moment, (_, transaction)) in (len..).zip(&ends) {
        edge(*transaction, moment);
        if moment > len {
            edge(moment - 1, moment);
        }
    }
    len + ends.len() as u32
}
