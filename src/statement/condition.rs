//! Which columns stand in the conditions of a statement.

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Statement, TableWithJoins};

use super::parse::Parsed;
use super::query::{NamedRelation, block_of_write, relations, selects};
use super::table_reads::{join_condition, named};
use super::walk::{SyntaxNode, walk};
use crate::dialect::Dialect;

/// Whether a WHERE or ON of the statement, at any depth, names this column of this table. A column without a table before it
/// is of each table that the statement reads. False for a statement that is not understood.
pub fn names_in_condition(sql: &str, table: &str, column: &str, dialect: &Dialect) -> bool {
    let parsed = Parsed::of(sql, dialect);
    parsed.is_some_and(|parsed| {
        let conditions = Conditions::of(&parsed.tree);
        conditions.name(table, column)
    })
}

/// Every condition of a statement, and every table that it reads, at any depth.
#[derive(Default)]
struct Conditions {
    tables: Vec<NamedRelation>,
    all: Vec<Expr>,
}

impl Conditions {
    fn of(tree: &Statement) -> Self {
        let mut found = Self::default();
        if let Some((from, condition)) = block_of_write(tree) {
            found.add(from, condition);
        }
        let _ = walk(tree, &mut |node| {
            if let SyntaxNode::Query(query) = node {
                for select in selects(&query.body) {
                    found.add(&select.from, select.selection.as_ref());
                }
            }
            ControlFlow::Continue(())
        });
        found
    }

    fn add(&mut self, from: &[TableWithJoins], condition: Option<&Expr>) {
        self.tables.extend(relations(from).0);
        let joins = from.iter().flat_map(|item| &item.joins);
        let on = joins.filter_map(|join| join_condition(&join.join_operator).0);
        self.all.extend(condition.into_iter().chain(on).cloned());
    }

    fn name(&self, table: &str, column: &str) -> bool {
        let is_of_table = |qualifier: Option<&str>| {
            let mut tables = self.tables.iter();
            tables.any(|read| {
                read.table.eq_ignore_ascii_case(table)
                    && qualifier.is_none_or(|name| read.called.eq_ignore_ascii_case(name))
            })
        };
        let is_it = |expression: &Expr| {
            named(expression).is_some_and(|(qualifier, name)| {
                name.eq_ignore_ascii_case(column) && is_of_table(qualifier)
            })
        };
        self.all.iter().any(|condition| holds(condition, is_it))
    }
}

/// Whether such an expression stands in the condition itself: a query within it has conditions of its own.
fn holds(condition: &Expr, is_it: impl Fn(&Expr) -> bool) -> bool {
    let mut depth = 0_usize;
    walk(condition, &mut |node| {
        match node {
            SyntaxNode::Query(_) => depth += 1,
            SyntaxNode::QueryEnd => depth -= 1,
            SyntaxNode::Expression(expression) if depth == 0 && is_it(expression) => {
                return ControlFlow::Break(());
            }
            SyntaxNode::Expression(_) | SyntaxNode::Table(_) | SyntaxNode::Relation(_) => {}
        }
        ControlFlow::Continue(())
    })
    .is_break()
}
