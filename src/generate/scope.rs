//! Which tables and columns a place in a statement may name.

use super::schema::TablePlan;
use crate::dialect::TypeClass;

/// The columns that a relation shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    All,
    /// A derived table: `pkey`, `vkey` and these.
    Only(Vec<usize>),
}

/// A table, derived table or CTE in a FROM clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScopedRelation {
    /// The table it selects from, by number.
    pub table: usize,
    /// The name by which the statement calls it.
    pub alias: String,
    pub shown: Shown,
    /// Its columns cannot be named (the target of an INSERT).
    pub hidden: bool,
}

/// One level of queries.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    /// Outer levels cannot be named: a derived table or CTE.
    pub closed: bool,
    /// The relations of its FROM clause, in order.
    pub relations: Vec<ScopedRelation>,
}

/// A column of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnRef {
    /// The name of its relation.
    pub alias: String,
    /// The table of the relation, by number.
    pub table: usize,
    /// Its place in [`TablePlan::columns`].
    pub column: usize,
}

impl ScopedRelation {
    /// The columns it shows, `pkey` and `vkey` left out, of a class if one is asked for.
    pub(super) fn columns(&self, tables: &[TablePlan], class: Option<TypeClass>) -> Vec<ColumnRef> {
        let plan = &tables[self.table];
        (0..plan.columns.len())
            .filter(|at| match &self.shown {
                Shown::All => true,
                Shown::Only(only) => only.contains(at),
            })
            .filter(|at| class.is_none_or(|class| plan.column(*at).class == class))
            .map(|column| ColumnRef {
                alias: self.alias.clone(),
                table: self.table,
                column,
            })
            .collect()
    }
}

/// The relations that can be named at the innermost level, innermost level first.
pub(super) fn visible(frames: &[Frame]) -> impl Iterator<Item = &[ScopedRelation]> {
    let first_closed = frames.iter().rposition(|frame| frame.closed).unwrap_or(0);
    frames[first_closed..]
        .iter()
        .rev()
        .map(|frame| frame.relations.as_slice())
}

/// How an INSERT names the row key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyListing {
    /// Among its columns.
    Listed,
    /// Among its columns, and no row gives it a number.
    Counted,
    /// Not at all: the counter fills it in every row.
    LeftOut,
}
