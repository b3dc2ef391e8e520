//! One walk over syntax trees for every question asked of them.
//!
//! A visitor is compiled anew over every type of the syntax tree, which is most of the time this
//! package takes to build. So there is one visitor that reads and one that writes, and questions
//! come as closures.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectName, Query, Statement, TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};

/// What a walk meets.
pub(crate) enum Node<'a> {
    Query(&'a Query),
    /// The end of the innermost query.
    QueryEnd,
    Table(&'a TableFactor),
    /// The name of a table or another relation.
    Relation(&'a ObjectName),
    Expression(&'a Expr),
}

/// What a walk that changes the tree meets.
pub(crate) enum NodeMut<'a> {
    Query(&'a mut Query),
    Expression(&'a mut Expr),
}

/// Shows every node, outermost first, until told to break.
pub(crate) fn walk<T: Visit>(
    tree: &T,
    meet: &mut dyn FnMut(Node<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    tree.visit(&mut Walker(meet))
}

/// The same with nodes that may be changed.
pub(crate) fn walk_mut(
    tree: &mut Statement,
    meet: &mut dyn FnMut(NodeMut<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    VisitMut::visit(tree, &mut WalkerMut(meet))
}

struct Walker<'f>(&'f mut dyn FnMut(Node<'_>) -> ControlFlow<()>);

impl Visitor for Walker<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        (self.0)(Node::Query(query))
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        (self.0)(Node::QueryEnd)
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        (self.0)(Node::Relation(relation))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        (self.0)(Node::Table(factor))
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        (self.0)(Node::Expression(expression))
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
