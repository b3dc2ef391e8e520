//! How a statement looks for the rows of the tables that it names, as far as findings are told apart by it.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, GroupByExpr, JoinConstraint, JoinOperator, Query, SelectItem,
    SetExpr, Statement, TableWithJoins, WindowType,
};

use super::parse::Parsed;
use super::query::{NamedRelation, block_of_write, relations, selects};
use super::walk::{SyntaxNode, collect, walk};
use crate::dialect::Dialect;

/// A way in which a statement reads one table, at any depth. Tables and columns are spelled as the statement does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableRead {
    /// By one value of a column, with a further condition beside it: `t.k = 1 AND t.c > 0`. The value may come from a
    /// column that has to be equal: `u.k = 1 AND u.k IN (SELECT t.k FROM t WHERE t.c > 0)`.
    FilteredLookup { table: String, column: String },
    /// By a list of several values of a column: `t.k IN (1, 2)`.
    ListLookup { table: String, column: String },
    /// In a subquery that names a column of a query around it.
    Correlated { table: String },
    /// On the left of a LEFT JOIN, or around a NOT IN or NOT EXISTS, in whose condition a part names this side
    /// alone.
    LeftCondition { table: String },
    /// By groups of equal values of a column: GROUP BY, or PARTITION BY of a window.
    Grouped { table: String, column: String },
    /// By distinct values of a column: SELECT DISTINCT.
    Distinct { table: String, column: String },
}

impl TableRead {
    /// The table that is read so.
    pub fn table(&self) -> &str {
        match self {
            Self::FilteredLookup { table, .. }
            | Self::ListLookup { table, .. }
            | Self::Correlated { table }
            | Self::LeftCondition { table }
            | Self::Grouped { table, .. }
            | Self::Distinct { table, .. } => table,
        }
    }
}

/// How a statement reads its tables; nothing of one that is not understood.
pub fn table_reads(sql: &str, dialect: &Dialect) -> BTreeSet<TableRead> {
    let parsed = Parsed::of(sql, dialect);
    parsed
        .map(|parsed| of_tree(&parsed.tree))
        .unwrap_or_default()
}

/// How many tables a statement reads, at any depth, one that it reads twice counted twice.
pub fn tables_read(sql: &str, dialect: &Dialect) -> usize {
    let parsed = Parsed::of(sql, dialect);
    let is_table = |node: SyntaxNode<'_>| matches!(node, SyntaxNode::Table(_)).then_some(());
    parsed.map_or(0, |parsed| collect(&parsed.tree, is_table).len())
}

fn of_tree(tree: &Statement) -> BTreeSet<TableRead> {
    let mut reads = Reads::default();
    match block_of_write(tree) {
        Some((from, condition)) => reads.enter_block(from, condition),
        None => reads.scopes.push(Scope::default()),
    }
    let _ = walk(tree, &mut |node| {
        match node {
            SyntaxNode::Query(query) => reads.enter_query(query),
            SyntaxNode::QueryEnd => reads.leave(),
            SyntaxNode::Expression(expression) => reads.meet(expression),
            SyntaxNode::Table(_) | SyntaxNode::Relation(_) => {}
        }
        ControlFlow::Continue(())
    });
    reads.finish()
}

/// The tables of one query, and whether it names a column of one around it.
#[derive(Default)]
struct Scope {
    tables: Vec<NamedRelation>,
    correlated: bool,
}

impl Scope {
    fn has(&self, qualifier: &str) -> bool {
        let mut tables = self.tables.iter();
        tables.any(|table| table.called.eq_ignore_ascii_case(qualifier))
    }

    /// The table and the column that an expression names, where it names one of this query's.
    fn column(&self, expression: &Expr) -> Option<(String, String)> {
        let (qualifier, column) = named(expression)?;
        let table = match (qualifier, self.tables.as_slice()) {
            (Some(qualifier), tables) => tables
                .iter()
                .find(|table| table.called.eq_ignore_ascii_case(qualifier))?,
            (None, [only]) => only,
            (None, _) => return None,
        };
        Some((table.table.clone(), column.to_ascii_lowercase()))
    }
}

/// A table and a column of it, in lower case.
type NamedColumn = (String, String);

#[derive(Default)]
struct Reads {
    /// Outermost first.
    scopes: Vec<Scope>,
    found: BTreeSet<TableRead>,
    /// Columns that have to be equal.
    equal: Vec<(NamedColumn, NamedColumn)>,
    /// Columns that have one value.
    single: BTreeSet<NamedColumn>,
    blocks: Vec<Block>,
}

/// The tables of a FROM, with the conditions on them.
struct Block {
    tables: BTreeSet<String>,
    /// Each condition that is more than an equality of columns: the column that it gives one value, where it does no
    /// more.
    conditions: Vec<Option<NamedColumn>>,
}

impl Reads {
    fn enter_query(&mut self, query: &Query) {
        self.scopes.push(Scope::default());
        for select in selects(&query.body) {
            self.add_block(&select.from, select.selection.as_ref());
            if let GroupByExpr::Expressions(by, _) = &select.group_by {
                by.iter().for_each(|by| self.grouped(by));
            }
            if matches!(select.distinct, Some(Distinct::Distinct)) {
                select
                    .projection
                    .iter()
                    .for_each(|item| self.distinct(item));
            }
        }
    }

    fn enter_block(&mut self, from: &[TableWithJoins], condition: Option<&Expr>) {
        self.scopes.push(Scope::default());
        self.add_block(from, condition);
    }

    /// Adds tables to the innermost scope, and what the condition on them says.
    fn add_block(&mut self, from: &[TableWithJoins], condition: Option<&Expr>) {
        let (tables, _) = relations(from);
        let block = Scope {
            tables: tables.clone(),
            correlated: false,
        };
        if let Some(scope) = self.scopes.last_mut() {
            scope.tables.extend(tables);
        }
        let mut parts = Vec::new();
        if let Some(condition) = condition {
            and_parts(condition, &mut parts);
        }
        for item in from {
            let (first, _) = relations(std::slice::from_ref(&TableWithJoins {
                relation: item.relation.clone(),
                joins: Vec::new(),
            }));
            let mut left = first;
            for join in &item.joins {
                let mut on = Vec::new();
                let (condition, is_left) = join_condition(&join.join_operator);
                if let Some(condition) = condition {
                    and_parts(condition, &mut on);
                }
                if is_left && on.iter().any(|part| names_only(part, &left)) {
                    self.left_condition(&left);
                }
                if !is_left {
                    parts.extend(on);
                }
                let (joined, _) = relations(std::slice::from_ref(&TableWithJoins {
                    relation: join.relation.clone(),
                    joins: Vec::new(),
                }));
                left.extend(joined);
            }
        }
        let mut conditions = Vec::new();
        for part in parts {
            if let Some((column, values)) = lookup(part)
                && let Some((table, column)) = block.column(column)
            {
                if values > 1 {
                    self.found.insert(TableRead::ListLookup { table, column });
                    conditions.push(None);
                } else {
                    self.single.insert((table.clone(), column.clone()));
                    conditions.push(Some((table, column)));
                }
            } else if !self.note_equal(part) {
                conditions.push(None);
            }
        }
        self.blocks.push(Block {
            tables: block.tables.into_iter().map(|table| table.table).collect(),
            conditions,
        });
    }

    /// Notes that a condition makes two columns equal; false where it does not.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "an enum of sqlparser, which grows with its releases"
    )]
    fn note_equal(&mut self, part: &Expr) -> bool {
        let pair = match part {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq,
                right,
            } => self.place(left).zip(self.place(right)),
            Expr::InSubquery {
                expr,
                subquery,
                negated: false,
            } => self.place(expr).zip(shown(subquery)),
            _ => None,
        };
        self.equal.extend(pair.clone());
        pair.is_some()
    }

    /// The column of this query, or of the nearest one around it, that an expression names.
    fn place(&self, expression: &Expr) -> Option<NamedColumn> {
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.column(expression))
    }

    /// The lookups, once all conditions are known.
    fn finish(mut self) -> BTreeSet<TableRead> {
        let pairs = self.equal.iter();
        let known: BTreeSet<NamedColumn> = pairs
            .flat_map(|(one, other)| [one.clone(), other.clone()])
            .chain(self.single.iter().cloned())
            .collect();
        for (table, column) in known {
            let class = self.equal_to((table.clone(), column.clone()));
            let is_other = |condition: &Option<NamedColumn>| {
                condition.as_ref().is_none_or(|p| !class.contains(p))
            };
            let is_filtered = |block: &Block| {
                block.tables.contains(&table) && block.conditions.iter().any(is_other)
            };
            if !class.is_disjoint(&self.single) && self.blocks.iter().any(is_filtered) {
                self.found
                    .insert(TableRead::FilteredLookup { table, column });
            }
        }
        self.found
    }

    /// The columns that have to be equal to one, itself among them.
    fn equal_to(&self, place: NamedColumn) -> BTreeSet<NamedColumn> {
        let mut class = BTreeSet::from([place]);
        loop {
            let before = class.len();
            for (one, other) in &self.equal {
                if class.contains(one) || class.contains(other) {
                    class.extend([one.clone(), other.clone()]);
                }
            }
            if class.len() == before {
                return class;
            }
        }
    }

    fn left_condition(&mut self, left: &[NamedRelation]) {
        let tables = left.iter().map(|table| table.table.clone());
        self.found
            .extend(tables.map(|table| TableRead::LeftCondition { table }));
    }

    fn grouped(&mut self, by: &Expr) {
        let column = self.scopes.last().and_then(|scope| scope.column(by));
        if let Some((table, column)) = column {
            self.found.insert(TableRead::Grouped { table, column });
        }
    }

    fn distinct(&mut self, item: &SelectItem) {
        let (SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }) = item
        else {
            return;
        };
        let column = self.scopes.last().and_then(|scope| scope.column(value));
        if let Some((table, column)) = column {
            self.found.insert(TableRead::Distinct { table, column });
        }
    }

    /// Leaves a query; one that names a column of a query around it passes that on to those in between.
    fn leave(&mut self) {
        if let Some(scope) = self.scopes.pop().filter(|scope| scope.correlated) {
            let tables = scope.tables.into_iter();
            self.found
                .extend(tables.map(|table| TableRead::Correlated { table: table.table }));
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "an enum of sqlparser, which grows with its releases"
    )]
    fn meet(&mut self, expression: &Expr) {
        match expression {
            Expr::CompoundIdentifier(_) => {
                let Some((Some(qualifier), _)) = named(expression) else {
                    return;
                };
                let owner = self.scopes.iter().rposition(|scope| scope.has(qualifier));
                if let Some(owner) = owner {
                    self.scopes[owner + 1..]
                        .iter_mut()
                        .for_each(|scope| scope.correlated = true);
                }
            }
            Expr::InSubquery {
                subquery,
                negated: true,
                ..
            }
            | Expr::Exists {
                subquery,
                negated: true,
            } => self.negated(subquery),
            Expr::Function(call) => {
                if let Some(WindowType::WindowSpec(window)) = &call.over {
                    window.partition_by.iter().for_each(|by| self.grouped(by));
                }
            }
            _ => {}
        }
    }

    /// A subquery whose rows drop rows of the query around it.
    fn negated(&mut self, subquery: &Query) {
        let Some(around) = self.scopes.last().map(|scope| scope.tables.clone()) else {
            return;
        };
        for select in selects(&subquery.body) {
            let (inner, _) = relations(&select.from);
            let mut parts = Vec::new();
            if let Some(condition) = &select.selection {
                and_parts(condition, &mut parts);
            }
            let is_inner = |name: &str| {
                let mut inner = inner.iter();
                inner.any(|table| table.called.eq_ignore_ascii_case(name))
            };
            let outer: Vec<NamedRelation> = around
                .iter()
                .filter(|table| !is_inner(&table.called))
                .cloned()
                .collect();
            if parts.iter().any(|part| names_only(part, &outer)) {
                self.left_condition(&outer);
            }
        }
    }
}

/// The qualifier and the name of a column.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub(super) fn named(expression: &Expr) -> Option<(Option<&str>, &str)> {
    match expression {
        Expr::Identifier(column) => Some((None, column.value.as_str())),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., table, column] => Some((Some(table.value.as_str()), column.value.as_str())),
            _ => None,
        },
        Expr::Nested(inner) => named(inner),
        _ => None,
    }
}

/// The column that a query of one column shows.
fn shown(query: &Query) -> Option<NamedColumn> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let [SelectItem::UnnamedExpr(column)] = select.projection.as_slice() else {
        return None;
    };
    let (tables, _) = relations(&select.from);
    let scope = Scope {
        tables,
        correlated: false,
    };
    scope.column(column)
}

/// Whether an expression names columns, and each with the name of one of these tables.
fn names_only(part: &Expr, tables: &[NamedRelation]) -> bool {
    let (mut own, mut other) = (false, false);
    let _ = walk(part, &mut |node| {
        if let SyntaxNode::Expression(
            column @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_)),
        ) = node
        {
            let qualifier = named(column).and_then(|(qualifier, _)| qualifier);
            let is_own = qualifier.is_some_and(|qualifier| {
                let mut tables = tables.iter();
                tables.any(|table| table.called.eq_ignore_ascii_case(qualifier))
            });
            *(if is_own { &mut own } else { &mut other }) = true;
        }
        ControlFlow::Continue(())
    });
    own && !other
}

/// The conditions that have to hold together.
pub(super) fn and_parts<'a>(condition: &'a Expr, parts: &mut Vec<&'a Expr>) {
    if let Expr::BinaryOp {
        left,
        op: BinaryOperator::And,
        right,
    } = condition
    {
        and_parts(left, parts);
        and_parts(right, parts);
    } else if let Expr::Nested(inner) = condition {
        and_parts(inner, parts);
    } else {
        parts.push(condition);
    }
}

/// What a condition compares with constants, and with how many different ones.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn lookup(part: &Expr) -> Option<(&Expr, usize)> {
    match part {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => match (is_constant(left), is_constant(right)) {
            (false, true) => Some((left, 1)),
            (true, false) => Some((right, 1)),
            _ => None,
        },
        Expr::InList {
            expr,
            list,
            negated: false,
        } if list.iter().all(is_constant) => {
            let values: BTreeSet<String> = list.iter().map(ToString::to_string).collect();
            Some((expr, values.len()))
        }
        _ => None,
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn is_constant(expression: &Expr) -> bool {
    match expression {
        Expr::Value(_) => true,
        Expr::UnaryOp { expr, .. } | Expr::Nested(expr) => is_constant(expr),
        _ => false,
    }
}

/// The condition of a join, and whether it is a LEFT one.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub(super) fn join_condition(operator: &JoinOperator) -> (Option<&Expr>, bool) {
    match operator {
        JoinOperator::Join(JoinConstraint::On(on))
        | JoinOperator::Inner(JoinConstraint::On(on))
        | JoinOperator::StraightJoin(JoinConstraint::On(on)) => (Some(on), false),
        JoinOperator::Left(JoinConstraint::On(on))
        | JoinOperator::LeftOuter(JoinConstraint::On(on)) => (Some(on), true),
        _ => (None, true),
    }
}
