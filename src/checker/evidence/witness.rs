//! What shows that a history satisfies a model.

use crate::history::Txn;

/// Shows that a history satisfies a model; [`super::replay`] can tell whether it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// The transactions that took place, in an order that explains every read. The initial
    /// transaction is not named.
    Order(Vec<Txn>),
    /// The same, and for reads of values that several transactions wrote whose they saw: the place
    /// of the event in the history, and the writer.
    Sourced {
        order: Vec<Txn>,
        sources: Vec<(usize, Txn)>,
    },
    /// Starts and commits in an order that explains every read from snapshots.
    Points(Vec<Point>),
}

/// The start or the commit of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    Start(Txn),
    Commit(Txn),
}
