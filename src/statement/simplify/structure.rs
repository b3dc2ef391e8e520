//! Removes clauses: conditions, orders, joins, CTEs, arms of set operations, columns, rows.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Insert, LimitClause, Merge, MergeAction, MergeUpdateKind,
    OrderByKind, Query, Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins,
    Update, UpdateTableFromKind, Visit,
};

use crate::statement::query::{deleted_from, relations};
use crate::statement::walk::{NodeMut, SyntaxNode, collect, replace, walk};

/// Every variant without one clause, or without one element of a clause.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub(super) fn candidates(tree: &Statement) -> Vec<Statement> {
    let mut found = match tree {
        Statement::Update(update) => updates(update),
        Statement::Delete(delete) => deletes(delete),
        Statement::Insert(insert) => inserts(insert),
        Statement::Merge(merge) => merges(merge),
        _ => Vec::new(),
    };
    for (at, query) in queries(tree).iter().enumerate() {
        for smaller in smaller_queries(query) {
            let mut candidate = tree.clone();
            replace(&mut candidate, place, at, smaller);
            found.push(candidate);
        }
    }
    found
}

/// A query as a place of the tree.
fn place(node: NodeMut<'_>) -> Option<&mut Query> {
    match node {
        NodeMut::Query(query) => Some(query),
        NodeMut::Expression(_) => None,
    }
}

/// The queries of a statement, in the order in which a walk meets them.
fn queries(tree: &Statement) -> Vec<Query> {
    collect(tree, |node| match node {
        SyntaxNode::Query(query) => Some(query.clone()),
        SyntaxNode::QueryEnd
        | SyntaxNode::Table(_)
        | SyntaxNode::Relation(_)
        | SyntaxNode::Expression(_) => None,
    })
}

/// A changed copy.
fn with<T: Clone>(of: &T, change: impl FnOnce(&mut T)) -> T {
    let mut copy = of.clone();
    change(&mut copy);
    copy
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn smaller_queries(query: &Query) -> Vec<Query> {
    let mut found = Vec::new();
    if query.limit_clause.is_some() {
        found.push(with(query, |q| {
            q.limit_clause = None;
            q.order_by = None;
        }));
        found.push(with(query, |q| q.limit_clause = None));
        if let Some(LimitClause::LimitOffset {
            offset: Some(_), ..
        }) = &query.limit_clause
        {
            found.push(with(query, |q| {
                if let Some(LimitClause::LimitOffset { offset, .. }) = &mut q.limit_clause {
                    *offset = None;
                }
            }));
        }
    } else if query.order_by.is_some() {
        found.push(with(query, |q| q.order_by = None));
    }
    if let Some(with_clause) = &query.with {
        found.push(with(query, |q| q.with = None));
        for cte in &with_clause.cte_tables {
            found.push(with(query, |q| {
                q.with = None;
                q.order_by = None;
                q.limit_clause = None;
                q.body.clone_from(&cte.query.body);
            }));
        }
    }
    match query.body.as_ref() {
        SetExpr::SetOperation { left, right, .. } => {
            for arm in [left, right] {
                found.push(with(query, |q| {
                    q.order_by = None;
                    q.limit_clause = None;
                    q.body.clone_from(arm);
                }));
            }
        }
        SetExpr::Query(inner) if query.locks.is_empty() => found.push((**inner).clone()),
        SetExpr::Select(select) => {
            found.extend(
                smaller_selects(select)
                    .into_iter()
                    .map(|smaller| with(query, |q| *q.body = SetExpr::Select(Box::new(smaller)))),
            );
            found.extend(without_relations(query, select));
        }
        _ => {}
    }
    found
}

fn smaller_selects(select: &Select) -> Vec<Select> {
    let mut found = Vec::new();
    if select.selection.is_some() {
        found.push(with(select, |s| s.selection = None));
    }
    if select.having.is_some() {
        found.push(with(select, |s| s.having = None));
    }
    if matches!(select.distinct, Some(Distinct::Distinct)) {
        found.push(with(select, |s| s.distinct = None));
    }
    if let GroupByExpr::Expressions(keys, _) = &select.group_by
        && !keys.is_empty()
    {
        // Without GROUP BY only the aggregates have one value.
        let aggregates: Vec<SelectItem> = select
            .projection
            .iter()
            .filter(|item| super::sound::is_aggregate(item))
            .cloned()
            .collect();
        if !aggregates.is_empty() {
            found.push(with(select, |s| {
                s.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
                s.having = None;
                s.projection = aggregates;
            }));
        }
    }
    if select.projection.len() > 1 {
        for gone in 0..select.projection.len() {
            found.push(with(select, |s| drop(s.projection.remove(gone))));
        }
    }
    for (at, item) in select.from.iter().enumerate() {
        if let Some(plain) = plain_factor(&item.relation) {
            found.push(with(select, |s| s.from[at].relation = plain));
        }
        for (joined, join) in item.joins.iter().enumerate() {
            if let Some(plain) = plain_factor(&join.relation) {
                found.push(with(select, |s| s.from[at].joins[joined].relation = plain));
            }
        }
    }
    found
}

/// A table without its index hints; the base table that a derived table selects from, under the derived
/// table's name.
fn plain_factor(factor: &TableFactor) -> Option<TableFactor> {
    if let TableFactor::Table { index_hints, .. } = factor
        && !index_hints.is_empty()
    {
        return Some(with(factor, |f| {
            if let TableFactor::Table { index_hints, .. } = f {
                index_hints.clear();
            }
        }));
    }
    let TableFactor::Derived {
        subquery, alias, ..
    } = factor
    else {
        return None;
    };
    let from = &subquery.body.as_select()?.from;
    let [TableWithJoins { relation, joins }] = from.as_slice() else {
        return None;
    };
    let mut plain = relation.clone();
    if let TableFactor::Table { alias: own, .. } = &mut plain
        && joins.is_empty()
    {
        own.clone_from(alias);
        return Some(plain);
    }
    None
}

/// The query without one of its tables and without the expressions that name it.
fn without_relations(query: &Query, select: &Select) -> Vec<Query> {
    let (tables, other) = relations(&select.from);
    if other || tables.len() < 2 {
        return Vec::new();
    }
    tables
        .iter()
        .filter_map(|table| {
            let called = table.called.as_str();
            let from = without_relation(&select.from, called)?;
            let mut projection: Vec<SelectItem> = select
                .projection
                .iter()
                .filter(|item| !mentions(*item, called))
                .cloned()
                .collect();
            if projection.is_empty() {
                projection = vec![SelectItem::Wildcard(
                    sqlparser::ast::WildcardAdditionalOptions::default(),
                )];
            }
            let smaller = with(select, |s| {
                s.from = from;
                s.projection = projection;
                s.selection = s.selection.take().and_then(|c| without_mentions(c, called));
            });
            Some(with(query, |q| {
                *q.body = SetExpr::Select(Box::new(smaller));
                let mut emptied = false;
                if let Some(order) = &mut q.order_by
                    && let OrderByKind::Expressions(keys) = &mut order.kind
                {
                    keys.retain(|key| !mentions(&key.expr, called));
                    emptied = keys.is_empty();
                }
                if emptied {
                    q.order_by = None;
                }
            }))
        })
        .collect()
}

/// FROM without the table of this name; None when it cannot be removed.
fn without_relation(from: &[TableWithJoins], called: &str) -> Option<Vec<TableWithJoins>> {
    let is = |factor: &TableFactor| {
        let alone = TableWithJoins {
            relation: factor.clone(),
            joins: Vec::new(),
        };
        let (tables, _) = relations(&[alone]);
        tables.len() == 1 && tables[0].called.eq_ignore_ascii_case(called)
    };
    let mut found = Vec::new();
    for item in from {
        let mut item = item.clone();
        if is(&item.relation) {
            if item.joins.is_empty() {
                continue;
            }
            item.relation = item.joins.remove(0).relation;
        } else {
            item.joins.retain(|join| !is(&join.relation));
        }
        found.push(item);
    }
    (!found.is_empty()).then_some(found)
}

/// A condition without the parts of its conjunction that name a table.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn without_mentions(condition: Expr, called: &str) -> Option<Expr> {
    if !mentions(&condition, called) {
        return Some(condition);
    }
    match condition {
        Expr::BinaryOp {
            left,
            op: sqlparser::ast::BinaryOperator::And,
            right,
        } => match (
            without_mentions(*left, called),
            without_mentions(*right, called),
        ) {
            (Some(left), Some(right)) => Some(Expr::BinaryOp {
                left: Box::new(left),
                op: sqlparser::ast::BinaryOperator::And,
                right: Box::new(right),
            }),
            (one, other) => one.or(other),
        },
        Expr::Nested(inner) => {
            without_mentions(*inner, called).map(|inner| Expr::Nested(Box::new(inner)))
        }
        _ => None,
    }
}

/// Whether a column of this table is named.
fn mentions<V: Visit>(tree: &V, called: &str) -> bool {
    let found = walk(tree, &mut |node| match node {
        SyntaxNode::Expression(Expr::CompoundIdentifier(parts))
            if parts.len() > 1 && parts[parts.len() - 2].value.eq_ignore_ascii_case(called) =>
        {
            ControlFlow::Break(())
        }
        SyntaxNode::Query(_)
        | SyntaxNode::QueryEnd
        | SyntaxNode::Table(_)
        | SyntaxNode::Relation(_)
        | SyntaxNode::Expression(_) => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn merges(merge: &Merge) -> Vec<Statement> {
    let mut found = Vec::new();
    if merge.output.is_some() {
        found.push(with(merge, |m| m.output = None));
    }
    for (at, clause) in merge.clauses.iter().enumerate() {
        if merge.clauses.len() > 1 {
            found.push(with(merge, |m| {
                m.clauses.remove(at);
            }));
        }
        if clause.predicate.is_some() {
            found.push(with(merge, |m| m.clauses[at].predicate = None));
        }
        let MergeAction::Update(update) = &clause.action else {
            continue;
        };
        let MergeUpdateKind::Set(assignments) = &update.kind else {
            continue;
        };
        for gone in (0..assignments.len()).filter(|_| assignments.len() > 1) {
            found.push(with(merge, |m| {
                if let MergeAction::Update(update) = &mut m.clauses[at].action
                    && let MergeUpdateKind::Set(assignments) = &mut update.kind
                {
                    assignments.remove(gone);
                }
            }));
        }
    }
    found.into_iter().map(Statement::Merge).collect()
}

fn updates(update: &Update) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut push = |change: &dyn Fn(&mut Update)| {
        let mut copy = update.clone();
        change(&mut copy);
        found.push(Statement::Update(copy));
    };
    if update.selection.is_some() {
        push(&|u| u.selection = None);
    }
    if update.limit.is_some() || !update.order_by.is_empty() {
        push(&|u| {
            u.limit = None;
            u.order_by.clear();
        });
    }
    for fewer in returning_less(update.returning.as_deref()) {
        push(&|u| u.returning.clone_from(&fewer));
    }
    if update.assignments.len() > 1 {
        for gone in 0..update.assignments.len() {
            push(&|u| drop(u.assignments.remove(gone)));
        }
    }
    if let Some(plain) = plain_factor(&update.table.relation) {
        push(&|u| u.table.relation.clone_from(&plain));
    }
    let (tables, other) = relations(std::slice::from_ref(&update.table));
    for table in tables.iter().filter(|_| !other && tables.len() > 1) {
        let called = table.called.as_str();
        let from = without_relation(std::slice::from_ref(&update.table), called);
        if let Some(only) = from.and_then(|mut from| from.pop()) {
            push(&|u| {
                u.table = only.clone();
                u.selection = u.selection.take().and_then(|c| without_mentions(c, called));
                u.assignments.retain(|a| {
                    !mentions(&a.value, called)
                        && !a.target.to_string().starts_with(&format!("{called}."))
                });
            });
        }
    }
    if let Some(UpdateTableFromKind::AfterSet(from)) = &update.from {
        let (tables, other) = relations(from);
        if !other {
            push(&|u| {
                u.from = None;
                for table in &tables {
                    let called = table.called.as_str();
                    u.selection = u.selection.take().and_then(|c| without_mentions(c, called));
                    u.assignments.retain(|a| !mentions(&a.value, called));
                }
            });
        }
    }
    found.retain(|tree| matches!(tree, Statement::Update(u) if !u.assignments.is_empty()));
    found
}

fn deletes(delete: &sqlparser::ast::Delete) -> Vec<Statement> {
    let mut found = Vec::new();
    if delete.selection.is_some() {
        found.push(Statement::Delete(with(delete, |d| d.selection = None)));
    }
    if delete.limit.is_some() || !delete.order_by.is_empty() {
        found.push(Statement::Delete(with(delete, |d| {
            d.limit = None;
            d.order_by.clear();
        })));
    }
    let fewer = returning_less(delete.returning.as_deref()).into_iter();
    found.extend(fewer.map(|fewer| Statement::Delete(with(delete, |d| d.returning = fewer))));
    let [target] = delete.tables.as_slice() else {
        return found;
    };
    // A DELETE over a join becomes one of its target alone.
    let called = target.to_string();
    let from = deleted_from(delete);
    let (tables, other) = relations(from);
    let own = tables.iter().find(|table| table.called == called);
    if let Some(own) = own.filter(|own| !other && own.table == own.called) {
        let mut rest = from.to_vec();
        for table in tables.iter().filter(|table| table.called != own.called) {
            rest = without_relation(&rest, &table.called).unwrap_or_default();
        }
        found.push(Statement::Delete(with(delete, |d| {
            d.tables.clear();
            d.from = sqlparser::ast::FromTable::WithFromKeyword(rest);
            for table in tables.iter().filter(|table| table.called != own.called) {
                let selection = d.selection.take();
                d.selection = selection.and_then(|c| without_mentions(c, &table.called));
            }
        })));
    }
    found
}

fn inserts(insert: &Insert) -> Vec<Statement> {
    let mut found = Vec::new();
    if insert.on.is_some() {
        found.push(with(insert, |i| i.on = None));
    }
    if insert.ignore {
        found.push(with(insert, |i| i.ignore = false));
    }
    let fewer = returning_less(insert.returning.as_deref()).into_iter();
    found.extend(fewer.map(|fewer| with(insert, |i| i.returning = fewer)));
    let columns = insert.columns.len();
    let rows = match insert.source.as_ref().map(|query| query.body.as_ref()) {
        Some(SetExpr::Values(values)) => values.rows.len(),
        _ => 0,
    };
    if rows > 1 {
        for gone in 0..rows {
            found.push(with(insert, |i| {
                if let Some(SetExpr::Values(values)) =
                    i.source.as_mut().map(|query| query.body.as_mut())
                {
                    values.rows.remove(gone);
                }
            }));
        }
    }
    if columns > 1 {
        found.extend((0..columns).filter_map(|gone| without_position(insert, gone)));
    }
    found.into_iter().map(Statement::Insert).collect()
}

/// What a write may return less: nothing, or all but one of several items.
fn returning_less(items: Option<&[SelectItem]>) -> Vec<Option<Vec<SelectItem>>> {
    let Some(items) = items else {
        return Vec::new();
    };
    let mut found = vec![None];
    if items.len() > 1 {
        found.extend((0..items.len()).map(|gone| {
            let mut fewer = items.to_vec();
            fewer.remove(gone);
            Some(fewer)
        }));
    }
    found
}

/// The INSERT without the column at this place of its list, and without its values.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub(in crate::statement) fn without_position(insert: &Insert, gone: usize) -> Option<Insert> {
    let mut smaller = insert.clone();
    if gone < smaller.columns.len() {
        smaller.columns.remove(gone);
    }
    match smaller.source.as_mut()?.body.as_mut() {
        SetExpr::Values(values) => {
            for row in &mut values.rows {
                if gone >= row.content.len() || row.content.len() == 1 {
                    return None;
                }
                row.content.remove(gone);
            }
        }
        SetExpr::Select(select) => {
            let plain = |item: &SelectItem| {
                matches!(
                    item,
                    SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
                )
            };
            let removable = select.projection.iter().all(plain)
                && gone < select.projection.len()
                && select.projection.len() > 1;
            if !removable {
                return None;
            }
            select.projection.remove(gone);
        }
        _ => return None,
    }
    Some(smaller)
}
