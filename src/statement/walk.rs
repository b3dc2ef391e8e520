//! Walks over syntax trees.
//!
//! The compiler instantiates each visitor for every type of the syntax tree, which is most of this
//! crate's build time. So there is one visitor that reads and one that writes, and callers pass
//! closures.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectName, Query, Statement, TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};

/// A node of a walk.
pub(crate) enum SyntaxNode<'a> {
    Query(&'a Query),
    /// The end of the innermost query.
    QueryEnd,
    Table(&'a TableFactor),
    /// The name of a table or another relation.
    Relation(&'a ObjectName),
    Expression(&'a Expr),
}

/// A node of a walk that changes the tree.
pub(crate) enum NodeMut<'a> {
    Query(&'a mut Query),
    Expression(&'a mut Expr),
}

/// Passes every node to `meet`, outermost first, until it breaks.
pub(crate) fn walk<T: Visit>(
    tree: &T,
    meet: &mut dyn FnMut(SyntaxNode<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    tree.visit(&mut Walker(meet))
}

/// [`walk`] with nodes that may be changed.
fn walk_mut(
    tree: &mut Statement,
    meet: &mut dyn FnMut(NodeMut<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    VisitMut::visit(tree, &mut WalkerMut(meet))
}

/// The picked nodes of a statement, in the order of a walk.
pub(crate) fn collect<T>(
    tree: &Statement,
    mut pick: impl FnMut(SyntaxNode<'_>) -> Option<T>,
) -> Vec<T> {
    let mut found = Vec::new();
    let _ = walk(tree, &mut |node| {
        found.extend(pick(node));
        ControlFlow::Continue(())
    });
    found
}

/// Replaces the place that a walk meets after `left` others of its kind.
pub(crate) fn replace<T>(
    tree: &mut Statement,
    place: impl Fn(NodeMut<'_>) -> Option<&mut T>,
    mut left: usize,
    by: T,
) {
    let mut by = Some(by);
    let _ = walk_mut(tree, &mut |node| {
        let Some(place) = place(node) else {
            return ControlFlow::Continue(());
        };
        if left > 0 {
            left -= 1;
            return ControlFlow::Continue(());
        }
        if let Some(by) = by.take() {
            *place = by;
        }
        ControlFlow::Break(())
    });
}

struct Walker<'f>(&'f mut dyn FnMut(SyntaxNode<'_>) -> ControlFlow<()>);

impl Visitor for Walker<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        (self.0)(SyntaxNode::Query(query))
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        (self.0)(SyntaxNode::QueryEnd)
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        (self.0)(SyntaxNode::Relation(relation))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        (self.0)(SyntaxNode::Table(factor))
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        (self.0)(SyntaxNode::Expression(expression))
    }
}

struct WalkerMut<'f>(&'f mut dyn FnMut(NodeMut<'_>) -> ControlFlow<()>);

impl VisitorMut for WalkerMut<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        (self.0)(NodeMut::Query(query))
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        (self.0)(NodeMut::Expression(expression))
    }
}
