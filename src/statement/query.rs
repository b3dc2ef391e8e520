//! Tables of a query and the roles they stand in.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    Delete, Expr, FromTable, GroupByExpr, JoinOperator, ObjectName, Query, Select, SetExpr,
    Statement, TableFactor, TableWithJoins, Visit,
};

use super::walk::{SyntaxNode, walk};
use crate::model::{Role, TableUse};

/// The last part of a name, as written, without quotes.
pub(super) fn last_name(name: &ObjectName) -> Option<&str> {
    name.0
        .last()
        .and_then(|part| part.as_ident())
        .map(|ident| ident.value.as_str())
}

/// A table that a FROM clause names, and its name in the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedRelation {
    pub table: String,
    /// Its alias, or its own name.
    pub called: String,
}

/// The tables that an UPDATE or DELETE reads itself, and its WHERE. None of another statement: what an INSERT reads stands in
/// its query.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub(super) fn block_of_write(tree: &Statement) -> Option<(&[TableWithJoins], Option<&Expr>)> {
    match tree {
        Statement::Update(update) => Some((
            std::slice::from_ref(&update.table),
            update.selection.as_ref(),
        )),
        Statement::Delete(delete) => {
            let from = delete.using.as_deref().unwrap_or(deleted_from(delete));
            Some((from, delete.selection.as_ref()))
        }
        _ => None,
    }
}

/// The FROM of a DELETE, with the word or without.
pub(super) fn deleted_from(delete: &Delete) -> &[TableWithJoins] {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    from
}

/// The base tables and CTEs directly in FROM clauses, joins included; the second value says whether
/// a derived table, a function or the like is there too.
pub(super) fn relations(from: &[TableWithJoins]) -> (Vec<NamedRelation>, bool) {
    let mut found = Vec::new();
    let mut other = false;
    for item in from {
        relation(&item.relation, &mut found, &mut other);
        for join in &item.joins {
            relation(&join.relation, &mut found, &mut other);
        }
    }
    (found, other)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn relation(factor: &TableFactor, found: &mut Vec<NamedRelation>, other: &mut bool) {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } => {
            if let Some(table) = last_name(name) {
                found.push(NamedRelation {
                    table: table.to_owned(),
                    called: alias
                        .as_ref()
                        .map_or(table, |alias| alias.name.value.as_str())
                        .to_owned(),
                });
            }
        }
        TableFactor::NestedJoin {
            table_with_joins, ..
        } => {
            relation(&table_with_joins.relation, found, other);
            for join in &table_with_joins.joins {
                relation(&join.relation, found, other);
            }
        }
        _ => *other = true,
    }
}

/// The roles of tables in nested queries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roles {
    /// In a query without a lock clause.
    pub plain: Role,
    /// In the query at the outermost level, where that differs.
    pub outermost: Role,
}

/// A query around the current node.
struct AroundQuery {
    ctes: BTreeSet<String>,
    role: Role,
    /// The tables that its lock clauses name, in lower case; none where they mean all.
    locked: Option<BTreeSet<String>>,
}

/// Every table that queries inside a syntax tree read, with its role.
///
/// None when a CTE has the name of a table that its own definition reads, so that the name is ambiguous, and when a query
/// writes.
pub(super) fn uses_in<V: Visit>(tree: &V, roles: Roles) -> Option<BTreeSet<TableUse>> {
    let mut collector = Collector {
        roles,
        queries: Vec::new(),
        uses: BTreeSet::new(),
        unknown: false,
    };
    let _ = walk(tree, &mut |node| {
        match node {
            SyntaxNode::Query(query) => collector.enter(query),
            SyntaxNode::QueryEnd => {
                collector.queries.pop();
            }
            SyntaxNode::Table(factor) => collector.table(factor),
            SyntaxNode::Relation(_) | SyntaxNode::Expression(_) => {}
        }
        ControlFlow::Continue(())
    });
    (!collector.unknown).then_some(collector.uses)
}

/// The queries around the current node, outermost first.
struct Collector {
    roles: Roles,
    queries: Vec<AroundQuery>,
    uses: BTreeSet<TableUse>,
    unknown: bool,
}

impl Collector {
    fn enter(&mut self, query: &Query) {
        let ctes = cte_names(query);
        self.unknown |= shadows_itself(query, &ctes) || writes(&query.body);
        let role = if !query.locks.is_empty() {
            Role::LockingSelect
        } else if self.queries.is_empty() {
            self.roles.outermost
        } else {
            self.roles.plain
        };
        self.queries.push(AroundQuery {
            ctes,
            role,
            locked: locked_by_name(query),
        });
    }

    fn table(&mut self, factor: &TableFactor) {
        if let (TableFactor::Table { name, alias, .. }, Some(query)) = (factor, self.queries.last())
            && let Some(table) = last_name(name)
        {
            let called = alias.as_ref().map_or(table, |alias| &alias.name.value);
            let called = called.to_ascii_lowercase();
            let is_locked = query.locked.as_ref().is_none_or(|of| of.contains(&called));
            let role = if is_locked {
                query.role
            } else {
                self.roles.plain
            };
            let is_cte = name.0.len() == 1
                && self
                    .queries
                    .iter()
                    .any(|query| query.ctes.contains(&table.to_ascii_lowercase()));
            if !is_cte {
                self.uses.insert(TableUse {
                    table: table.to_owned(),
                    role,
                });
            }
        }
    }
}

/// The tables that the lock clauses of a query name (`FOR UPDATE OF t`), in lower case; none where it has
/// no lock clause, or one that means every table of its FROM.
fn locked_by_name(query: &Query) -> Option<BTreeSet<String>> {
    let named = query.locks.iter().map(|lock| last_name(lock.of.as_ref()?));
    let named: Option<BTreeSet<String>> = named
        .map(|name| name.map(str::to_ascii_lowercase))
        .collect();
    named.filter(|named| !named.is_empty())
}

fn cte_names(query: &Query) -> BTreeSet<String> {
    query
        .with
        .iter()
        .flat_map(|with| &with.cte_tables)
        .fold(BTreeSet::new(), |mut names, cte| {
            names.insert(cte.alias.name.value.to_ascii_lowercase());
            names
        })
}

/// Whether the definition of a CTE reads a relation of its own or a later CTE's name outside
/// WITH RECURSIVE: there the name means a table.
fn shadows_itself(query: &Query, ctes: &BTreeSet<String>) -> bool {
    let Some(with) = query.with.as_ref().filter(|with| !with.recursive) else {
        return false;
    };
    let mut pending = ctes.clone();
    with.cte_tables.iter().any(|cte| {
        let roles = Roles {
            plain: Role::PlainSelect,
            outermost: Role::PlainSelect,
        };
        let reads = uses_in(&*cte.query, roles);
        let clash = reads.is_none_or(|reads| {
            reads
                .iter()
                .any(|read| pending.contains(&read.table.to_ascii_lowercase()))
        });
        pending.remove(&cte.alias.name.value.to_ascii_lowercase());
        clash
    })
}

/// The column by which generated tables tell their rows apart.
pub(super) const ROW_KEY: &str = "pkey";

/// The name of the column that an expression is.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub(super) fn column_name(expression: &Expr) -> Option<&str> {
    let name = match expression {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    };
    name.map(|name| name.value.as_str())
}

/// Whether a SELECT groups its rows.
pub(super) fn grouped(select: &Select) -> bool {
    match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(keys, modifiers) => !keys.is_empty() || !modifiers.is_empty(),
    }
}

/// Whether a plain query surely reads a base table through the snapshot: no part of it can be
/// answered without reading.
pub(super) fn surely_reads(query: &Query) -> bool {
    let Some(select) = query.body.as_select() else {
        return false;
    };
    let (tables, other) = relations(&select.from);
    query.with.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty()
        && !tables.is_empty()
        && !other
        && select.selection.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && select.top.is_none()
        && !has_subquery(&select.projection)
        && select
            .from
            .iter()
            .flat_map(|item| &item.joins)
            .all(|join| matches!(join.join_operator, JoinOperator::CrossJoin(_)))
}

/// Whether each row of the result comes from rows of the tables alone, whatever other rows there are.
pub(super) fn row_by_row(query: &Query) -> bool {
    let Some(select) = query.body.as_select() else {
        return false;
    };
    let (tables, other) = relations(&select.from);
    let joins = || select.from.iter().flat_map(|item| &item.joins);
    let inner = |operator: &JoinOperator| {
        matches!(
            operator,
            JoinOperator::Join(_)
                | JoinOperator::Inner(_)
                | JoinOperator::CrossJoin(_)
                | JoinOperator::StraightJoin(_)
        )
    };
    keeps_rows_apart(query, select)
        && !tables.is_empty()
        && !other
        && joins().all(|join| inner(&join.join_operator))
        && !has_subquery_or_call(select)
}

/// Whether a query leaves the rows that FROM and WHERE give as they are, one by one: it puts none together and cuts none off.
pub(super) fn keeps_rows_apart(query: &Query, select: &Select) -> bool {
    query.with.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && !grouped(select)
        && select.distinct.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && select.top.is_none()
}

/// Whether a subquery stands in a SELECT, or a function, which may be an aggregate.
fn has_subquery_or_call(select: &Select) -> bool {
    let found = walk(select, &mut |node| match node {
        SyntaxNode::Query(_) | SyntaxNode::Expression(Expr::Function(_)) => ControlFlow::Break(()),
        SyntaxNode::QueryEnd
        | SyntaxNode::Table(_)
        | SyntaxNode::Relation(_)
        | SyntaxNode::Expression(_) => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn has_subquery<V: Visit>(tree: &V) -> bool {
    let found = walk(tree, &mut |node| match node {
        SyntaxNode::Query(_) => ControlFlow::Break(()),
        SyntaxNode::QueryEnd
        | SyntaxNode::Table(_)
        | SyntaxNode::Relation(_)
        | SyntaxNode::Expression(_) => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether a query's body is a write (`WITH .. UPDATE`, `WITH x AS (DELETE ..)`) or something else that is no SELECT.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn writes(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => select.into.is_some(),
        SetExpr::Values(_) => false,
        SetExpr::Query(query) => writes(&query.body),
        SetExpr::SetOperation { left, right, .. } => writes(left) || writes(right),
        _ => true,
    }
}

/// Whether a query locks the tables in its own FROM.
pub(super) fn locks(query: &Query) -> bool {
    !query.locks.is_empty() || matches!(query.body.as_ref(), SetExpr::Query(inner) if locks(inner))
}

/// Tables by their names in the statement.
pub(super) fn by_call(tables: &[NamedRelation]) -> BTreeMap<String, &str> {
    tables
        .iter()
        .map(|table| (table.called.to_ascii_lowercase(), table.table.as_str()))
        .collect()
}

/// The SELECTs of a body that are no queries of their own.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub(super) fn selects(body: &SetExpr) -> Vec<&Select> {
    match body {
        SetExpr::Select(select) => vec![select],
        SetExpr::SetOperation { left, right, .. } => {
            let mut all = selects(left);
            all.extend(selects(right));
            all
        }
        _ => Vec::new(),
    }
}
