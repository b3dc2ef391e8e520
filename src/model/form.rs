//! Syntactic forms of statements that engines special-case.

use super::slug::slugged;

slugged! {
    /// What a statement is written with, as far as findings are told apart by it.
    pub enum Form {
        /// `NOWAIT`.
        Nowait = "nowait",
        /// `SKIP LOCKED`.
        SkipLocked = "skip-locked",
        /// An ORDER BY of a query, UPDATE or DELETE. One inside a window or an aggregate is another thing.
        OrderBy = "order-by",
        /// `LIMIT`, at any depth.
        Limit = "limit",
        /// `SELECT COUNT(..)` over one whole table: no WHERE, no GROUP BY, no join.
        WholeCount = "whole-count",
        /// `EXISTS (SELECT ..)` or `IN (SELECT ..)`, not negated, at any depth.
        Semijoin = "semijoin",
        /// `NOT IN` with a list that holds NULL, which is never true, at any depth.
        NotInNull = "not-in-null",
        /// `NOT EXISTS (SELECT ..)` or `NOT IN (SELECT ..)` in a statement with SELECT DISTINCT or GROUP BY, each at
        /// any depth.
        DistinctAntijoin = "distinct-antijoin",
        /// `OR` between two conditions, at any depth: what an index merge is made for.
        Disjunction = "or",
        /// An aggregate of DISTINCT values in a query with GROUP BY, at any depth: MariaDB sorts for it.
        DistinctInGroups = "distinct-in-groups",
        /// An aggregate with an ORDER BY of its own in a query with GROUP BY, at any depth: MariaDB sorts for it.
        OrderedInGroups = "ordered-in-groups",
        /// An aggregate whose ORDER BY names another table's column of the same name as its argument, at any depth:
        /// `GROUP_CONCAT(t.c ORDER BY u.c)`. MariaDB may take the one for the other.
        OrdersByNamesake = "orders-by-namesake",
        /// `ON CONFLICT .. DO NOTHING`.
        OnConflictDoNothing = "on-conflict-do-nothing",
        /// `INSERT .. VALUES (..), (..)`, REPLACE too: it may fail half-way.
        SeveralRows = "several-rows",
    }
}
