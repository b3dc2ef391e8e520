//! Properties that every candidate must keep.
//!
//! A candidate must have each property that the original has; a hand-written statement without
//! it need not gain it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment, BinaryOperator, Delete, Expr, Function, GroupByExpr, Insert, Merge, MergeAction,
    MergeUpdateKind, OnConflictAction, OnInsert, OrderByKind, Query, Select, SelectItem, SetExpr,
    Statement, Update, UpdateTableFromKind,
};

use crate::statement::query::{ROW_KEY, column_name, relations};
use crate::statement::walk::{SyntaxNode, walk};

/// The properties of a statement that the oracles rely on.
#[derive(Debug)]
pub(super) struct Guards {
    keys: BTreeSet<String>,
    version_assignments: Vec<String>,
    determined: bool,
    narrow: Option<String>,
    joined: BTreeSet<String>,
}

impl Guards {
    pub(super) fn of(tree: &Statement) -> Self {
        Self {
            keys: keys(tree),
            version_assignments: version_assignments(tree),
            determined: is_determined(tree),
            narrow: narrow(tree),
            joined: join_conditions(tree),
        }
    }

    /// Whether a smaller statement keeps every property of this one.
    pub(super) fn hold(&self, tree: &Statement) -> bool {
        let keys = keys(tree);
        let keeps_keys = keys.is_subset(&self.keys) && keys.is_empty() == self.keys.is_empty();
        let versions = version_assignments(tree);
        let plain_insert = matches!(tree, Statement::Insert(Insert { on: None, .. }));
        let keeps_versions = plain_insert
            || (versions.is_empty() == self.version_assignments.is_empty()
                && versions
                    .iter()
                    .all(|text| self.version_assignments.contains(text))
                && (versions.is_empty() || every_target_is_versioned(tree)));
        keeps_keys
            && keeps_versions
            && (!self.determined || is_determined(tree))
            && self.narrow_holds(tree)
            && (join_conditions(tree) == self.joined || !has_from(tree))
    }

    /// An UPDATE of one row that assigns computed values must stay one of one row: with several,
    /// the order of updates could decide which one violates a unique key.
    fn narrow_holds(&self, tree: &Statement) -> bool {
        let Statement::Update(update) = tree else {
            return true;
        };
        let computes = update
            .assignments
            .iter()
            .any(|assignment| !matches!(assignment.value, Expr::Value(_)));
        self.narrow.is_none() || !computes || narrow(tree) == self.narrow
    }
}

/// Whether a select item is an aggregate and nothing else.
pub(super) fn is_aggregate(item: &SelectItem) -> bool {
    let (SelectItem::UnnamedExpr(expression)
    | SelectItem::ExprWithAlias {
        expr: expression, ..
    }) = item
    else {
        return false;
    };
    matches!(expression, Expr::Function(function) if aggregates(function))
}

fn aggregates(function: &Function) -> bool {
    const AGGREGATES: [&str; 6] = ["COUNT", "SUM", "AVG", "MIN", "MAX", "GROUP_CONCAT"];
    let name = function.name.to_string();
    function.over.is_none()
        && AGGREGATES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&name))
}

/// The values that an INSERT gives to `pkey` and `vkey`, row by row.
fn keys(tree: &Statement) -> BTreeSet<String> {
    let Statement::Insert(Insert {
        columns, source, ..
    }) = tree
    else {
        return BTreeSet::new();
    };
    let position = |wanted: &str| {
        columns.iter().position(|name| {
            let name = name.to_string();
            name.trim_matches(['`', '"']).eq_ignore_ascii_case(wanted)
        })
    };
    let places = [position("pkey"), position("vkey")];
    let row = |values: Vec<String>| -> Option<String> {
        let named: Vec<&str> = places
            .iter()
            .flatten()
            .filter_map(|at| values.get(*at).map(String::as_str))
            .collect();
        (!named.is_empty()).then(|| named.join(", "))
    };
    match source.as_ref().map(|query| query.body.as_ref()) {
        Some(SetExpr::Values(values)) => values
            .rows
            .iter()
            .filter_map(|values| row(values.content.iter().map(Expr::to_string).collect()))
            .collect(),
        Some(SetExpr::Select(select)) => {
            row(select.projection.iter().map(ToString::to_string).collect())
                .into_iter()
                .collect()
        }
        _ => BTreeSet::new(),
    }
}

/// The assignments to `vkey`, wherever they stand.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn version_assignments(tree: &Statement) -> Vec<String> {
    let assignments: Vec<&Assignment> = match tree {
        Statement::Update(update) => update.assignments.iter().collect(),
        Statement::Insert(Insert {
            on: Some(OnInsert::DuplicateKeyUpdate(assignments)),
            ..
        }) => assignments.iter().collect(),
        Statement::Insert(Insert {
            on: Some(OnInsert::OnConflict(conflict)),
            ..
        }) => match &conflict.action {
            OnConflictAction::DoUpdate(update) => update.assignments.iter().collect(),
            OnConflictAction::DoNothing => return Vec::new(),
        },
        Statement::Merge(merge) => assigned_by(merge).flatten().collect(),
        // An INSERT without ON DUPLICATE KEY or ON CONFLICT assigns none, which is sound.
        _ => return Vec::new(),
    };
    let is_version = |assignment: &&&Assignment| assigns_version(assignment);
    let versions = assignments.iter().filter(is_version);
    versions.map(ToString::to_string).collect()
}

/// What each UPDATE of a MERGE assigns.
fn assigned_by(merge: &Merge) -> impl Iterator<Item = &[Assignment]> {
    merge
        .clauses
        .iter()
        .filter_map(|clause| match &clause.action {
            MergeAction::Update(update) => match &update.kind {
                MergeUpdateKind::Set(assignments) => Some(assignments.as_slice()),
                MergeUpdateKind::Wildcard => None,
            },
            MergeAction::Insert(_) | MergeAction::Delete { .. } | MergeAction::DoNothing { .. } => {
                None
            }
        })
}

fn assigns_version(assignment: &Assignment) -> bool {
    let target = assignment.target.to_string().to_ascii_lowercase();
    target.trim_matches(['`', '"']).ends_with("vkey")
}

/// Whether each table that an UPDATE assigns to gets a version key too, and each row that a MERGE updates.
fn every_target_is_versioned(tree: &Statement) -> bool {
    if let Statement::Merge(merge) = tree {
        return assigned_by(merge).all(|set| set.iter().any(assigns_version));
    }
    let Statement::Update(update) = tree else {
        return true;
    };
    let owner = |target: String| -> Option<String> {
        target.rsplit_once('.').map(|(owner, _)| owner.to_owned())
    };
    let versioned: BTreeSet<Option<String>> = version_assignments(tree)
        .iter()
        .map(|text| owner(text.split(' ').next().unwrap_or_default().to_owned()))
        .collect();
    update
        .assignments
        .iter()
        .all(|assignment| versioned.contains(&owner(assignment.target.to_string())))
}

/// The parts of a conjunction.
fn conjuncts(condition: Option<&Expr>) -> Vec<&Expr> {
    match condition {
        None => Vec::new(),
        Some(Expr::Nested(inner)) => conjuncts(Some(inner)),
        Some(Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        }) => [conjuncts(Some(left)), conjuncts(Some(right))].concat(),
        Some(other) => vec![other],
    }
}

fn is_row_key(expression: &Expr) -> bool {
    column_name(expression).is_some_and(|name| name.eq_ignore_ascii_case(ROW_KEY))
}

/// Whether a condition holds for one row at most: `pkey = constant` is part of it.
fn selects_one(condition: Option<&Expr>) -> bool {
    conjuncts(condition).into_iter().any(|part| {
        matches!(part, Expr::BinaryOp { left, op: BinaryOperator::Eq, right }
            if is_row_key(left) && matches!(**right, Expr::Value(_)))
    })
}

/// The condition that restricts a single-table UPDATE to one row.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn narrow(tree: &Statement) -> Option<String> {
    match tree {
        Statement::Update(update) if selects_one(update.selection.as_ref()) => {
            Some("pkey".to_owned())
        }
        _ => None,
    }
}

fn has_from(tree: &Statement) -> bool {
    matches!(tree, Statement::Update(Update { from: Some(_), .. }))
}

/// The equalities of columns in an UPDATE .. FROM; without them a row could match several.
fn join_conditions(tree: &Statement) -> BTreeSet<String> {
    let Statement::Update(Update {
        from: Some(UpdateTableFromKind::AfterSet(_)),
        selection,
        ..
    }) = tree
    else {
        return BTreeSet::new();
    };
    conjuncts(selection.as_ref())
        .into_iter()
        .filter(|part| {
            matches!(part, Expr::BinaryOp { left, op: BinaryOperator::Eq, right }
                if matches!(**left, Expr::CompoundIdentifier(_))
                    && matches!(**right, Expr::CompoundIdentifier(_)))
        })
        .map(ToString::to_string)
        .collect()
}

/// Whether the data alone decides the effect of a statement: LIMIT only under a total order, one
/// row from every scalar subquery, one value for every item of a grouped query.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn is_determined(tree: &Statement) -> bool {
    let limited = match tree {
        Statement::Update(Update {
            limit: Some(_),
            order_by,
            ..
        })
        | Statement::Delete(Delete {
            limit: Some(_),
            order_by,
            ..
        }) => order_by.iter().any(|key| is_row_key(&key.expr)),
        _ => true,
    };
    let mut determined = limited;
    let _ = walk(tree, &mut |node| {
        determined &= match node {
            SyntaxNode::Query(query) => limit_is_ordered(query) && groups_are_whole(query),
            SyntaxNode::Expression(Expr::Subquery(query)) => gives_one_row(query),
            SyntaxNode::QueryEnd
            | SyntaxNode::Table(_)
            | SyntaxNode::Relation(_)
            | SyntaxNode::Expression(_) => true,
        };
        ControlFlow::Continue(())
    });
    determined
}

fn limit_is_ordered(query: &Query) -> bool {
    if query.limit_clause.is_none() {
        return true;
    }
    let Some(select) = query.body.as_select() else {
        return false;
    };
    let keys = match query.order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(keys)) => {
            keys.iter().filter(|key| is_row_key(&key.expr)).count()
        }
        _ => 0,
    };
    keys >= relations(&select.from).0.len().max(1)
}

fn group_keys(select: &Select) -> Vec<String> {
    match &select.group_by {
        GroupByExpr::Expressions(keys, _) => keys.iter().map(ToString::to_string).collect(),
        GroupByExpr::All(_) => Vec::new(),
    }
}

fn groups_are_whole(query: &Query) -> bool {
    let Some(select) = query.body.as_select() else {
        return true;
    };
    let keys = group_keys(select);
    let aggregated = select.projection.iter().any(is_aggregate);
    if keys.is_empty() && !aggregated {
        return true;
    }
    select
        .projection
        .iter()
        .all(|item| is_aggregate(item) || keys.contains(&item.to_string()))
}

/// Whether a scalar subquery returns at most one row for any data: an aggregate without groups, a
/// row by its key, or no table.
fn gives_one_row(query: &Query) -> bool {
    let Some(select) = query.body.as_select() else {
        return false;
    };
    let single = select.from.len() == 1 && select.from[0].joins.is_empty();
    select.from.is_empty()
        || (group_keys(select).is_empty() && select.projection.iter().all(is_aggregate))
        || (single && selects_one(select.selection.as_ref()))
}
