//! Transactions as two vertices of a graph, their start and their commit.

use crate::checker::evidence::witness::Point;
use crate::checker::resolved::resolve::Resolved;

/// The transactions on a cycle of starts and commits, each once.
pub(in crate::checker) fn transactions_of(cycle: &[u32]) -> Vec<u32> {
    let mut transactions: Vec<u32> = cycle.iter().map(|point| point / 2).collect();
    transactions.dedup();
    if transactions.len() > 1 && transactions.first() == transactions.last() {
        transactions.pop();
    }
    transactions
}

pub(in crate::checker) fn points(resolved: &Resolved<'_>, order: &[u32]) -> Vec<Point> {
    let is_real = |p: &&u32| **p > 1 && resolved.is_live[(**p / 2) as usize];
    let point = |p: &u32| match p % 2 {
        0 => Point::Start(p / 2),
        _ => Point::Commit(p / 2),
    };
    order.iter().filter(is_real).map(point).collect()
}
