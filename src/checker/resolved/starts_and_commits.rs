//! Transactions as two vertices of a graph, their start and their commit.

use crate::checker::evidence::witness::Point;
use crate::checker::resolved::resolve::Resolved;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Txn;

/// The transactions on a cycle of starts and commits, each once.
pub(in crate::checker) fn transactions_of(cycle: &[Vertex]) -> Vec<Txn> {
    let transactions = cycle.iter().map(|vertex| vertex.of_start_or_commit());
    let mut transactions: Vec<Txn> = transactions.collect();
    transactions.dedup();
    if transactions.len() > 1 && transactions.first() == transactions.last() {
        transactions.pop();
    }
    transactions
}

pub(in crate::checker) fn points(resolved: &Resolved<'_>, order: &[Vertex]) -> Vec<Point> {
    let point = |vertex: &Vertex| {
        let transaction = vertex.of_start_or_commit();
        let is_real = !transaction.is_initial() && resolved.is_live[transaction];
        is_real.then_some(match vertex.is_start() {
            true => Point::Start(transaction),
            false => Point::Commit(transaction),
        })
    };
    order.iter().filter_map(point).collect()
}
