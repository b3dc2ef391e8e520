//! Vertices of dependency graphs.

use crate::history::{Txn, number};

number!(
    /// A vertex: a transaction, its start, its commit, or a moment of real time.
    pub(in crate::checker) Vertex
);

impl Vertex {
    /// A transaction that is one vertex.
    #[inline]
    pub(in crate::checker) const fn whole(transaction: Txn) -> Self {
        Self::new(transaction.number())
    }

    /// The start of a transaction that is two vertices.
    #[inline]
    pub(in crate::checker) const fn start(transaction: Txn) -> Self {
        Self::new(transaction.number() * 2)
    }

    /// The commit of a transaction that is two vertices.
    #[inline]
    pub(in crate::checker) const fn commit(transaction: Txn) -> Self {
        Self::new(transaction.number() * 2 + 1)
    }

    /// The transaction of a vertex that is a whole one; none of a moment, since there are only
    /// `transactions`.
    pub(in crate::checker) fn as_whole(self, transactions: usize) -> Option<Txn> {
        (self.index() < transactions).then(|| Txn::new(self.number()))
    }

    /// The transaction of a start or a commit.
    pub(in crate::checker) const fn of_start_or_commit(self) -> Txn {
        Txn::new(self.number() / 2)
    }

    /// Whether it is a start, where transactions are two vertices.
    pub(in crate::checker) const fn is_start(self) -> bool {
        self.number().is_multiple_of(2)
    }
}
