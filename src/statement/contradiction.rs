//! Columns that a condition leaves no value: where a table is partitioned by one, every partition is
//! pruned.

mod region;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Cte, Expr, JoinConstraint, JoinOperator, Query, Select, SelectItem, SetExpr,
    Statement, TableFactor, TableWithJoins, UnaryOperator, Value as Literal,
};

use self::region::{Bounding, Region};
use super::query::{column_name, deleted_from, grouped, selects};
use super::walk::{SyntaxNode, walk};

/// The columns of a statement, in lower case, whose conditions leave few values: those of WHERE and ON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contradictions {
    /// No value at all.
    pub(super) impossible: BTreeSet<String>,
    /// No value but NULL.
    pub(super) null_only: BTreeSet<String>,
}

/// What a condition leaves each column that it names; a column that is not here may have any value.
pub(super) type Regions = BTreeMap<String, Region>;

/// What the conditions of a relation of this name, which is a view, leave the columns that it shows.
type LeftByViews<'v> = &'v dyn Fn(&str) -> Option<Regions>;

/// The contradictions of a statement, at any depth, with the conditions of the views that it names: engines merge
/// them with those of the statement.
///
/// A query whose condition fixes the column by an equality prunes nothing: a contradiction is found
/// before its ranges are looked at. An UPDATE or DELETE prunes by an equality, too, and by a mere IS NULL,
/// as does a query with a window function.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub(super) fn contradictions(tree: &Statement, views: LeftByViews<'_>) -> Contradictions {
    let mut found = Contradictions::default();
    match tree {
        Statement::Update(update) => {
            let table = std::slice::from_ref(&update.table);
            found.of_a_write(both(
                of_a_condition(update.selection.as_ref()),
                merged(&[], table, views),
            ));
            joined(table).for_each(|on| found.of_a_write(regions(on)));
        }
        Statement::Delete(delete) => {
            found.of_a_write(both(
                of_a_condition(delete.selection.as_ref()),
                merged(&[], deleted_from(delete), views),
            ));
        }
        _ => {}
    }
    let _ = walk(tree, &mut |node| {
        if let SyntaxNode::Query(query) = node {
            for select in selects(&query.body) {
                let inner = merged(named(query), &select.from, views);
                let own = of_a_condition(select.selection.as_ref());
                found.of_a_query(both(own, inner), has_window(select));
                joined(&select.from)
                    .for_each(|on| found.of_a_query(regions(on), has_window(select)));
            }
        }
        ControlFlow::Continue(())
    });
    found
}

impl Contradictions {
    fn of_a_write(&mut self, regions: Regions) {
        for (column, region) in regions {
            if region.is_empty() {
                self.impossible.insert(column);
            } else if region.is_null_only() {
                self.null_only.insert(column);
            }
        }
    }

    fn of_a_query(&mut self, regions: Regions, has_window: bool) {
        for (column, region) in regions {
            if region.is_empty() && !region.is_by_equality() {
                self.impossible.insert(column);
            } else if region.is_null_only() && has_window {
                self.null_only.insert(column);
            }
        }
    }
}

fn of_a_condition(condition: Option<&Expr>) -> Regions {
    condition.map(regions).unwrap_or_default()
}

/// The common table expressions of a query.
fn named(query: &Query) -> &[Cte] {
    query.with.as_ref().map_or(&[], |with| &with.cte_tables)
}

/// What the conditions of derived tables, common table expressions and views leave the columns that they pass on:
/// engines merge such a query with the one that names it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn merged(named: &[Cte], from: &[TableWithJoins], views: LeftByViews<'_>) -> Regions {
    let inner = from.iter().filter_map(|item| match &item.relation {
        TableFactor::Derived { subquery, .. } => passed_on_by(subquery, views),
        TableFactor::Table { name, .. } => {
            let name = name.to_string();
            let is_it = |other: &&Cte| other.alias.name.value.eq_ignore_ascii_case(&name);
            match named.iter().find(is_it) {
                Some(table) => passed_on_by(&table.query, views),
                None => views(&name),
            }
        }
        _ => None,
    });
    inner.reduce(both).unwrap_or_default()
}

/// What the query of a view leaves the columns that it shows under their own names; nothing is said of one that
/// cannot be merged.
pub(super) fn passed_on(tree: &Statement, views: LeftByViews<'_>) -> Regions {
    let Statement::Query(query) = tree else {
        return Regions::new();
    };
    passed_on_by(query, views).unwrap_or_default()
}

/// What a query leaves the columns that it shows under their own names, where it can be merged.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn passed_on_by(query: &Query, views: LeftByViews<'_>) -> Option<Regions> {
    let SetExpr::Select(select) = &*query.body else {
        return None;
    };
    if grouped(select)
        || select.distinct.is_some()
        || query.limit_clause.is_some()
        || has_window(select)
    {
        return None;
    }
    let shows = |wanted: &str| {
        select.projection.iter().any(|item| match item {
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => true,
            SelectItem::UnnamedExpr(shown) => column(shown).is_some_and(|name| name == wanted),
            _ => false,
        })
    };
    let mut left = both(
        of_a_condition(select.selection.as_ref()),
        merged(named(query), &select.from, views),
    );
    left.retain(|column, _| shows(column));
    Some(left)
}

/// Whether a window function is among what a SELECT shows.
fn has_window(select: &Select) -> bool {
    let found = walk(&select.projection, &mut |node| match node {
        SyntaxNode::Expression(Expr::Function(call)) if call.over.is_some() => {
            ControlFlow::Break(())
        }
        SyntaxNode::Expression(_)
        | SyntaxNode::Query(_)
        | SyntaxNode::QueryEnd
        | SyntaxNode::Table(_)
        | SyntaxNode::Relation(_) => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The ON conditions of inner joins: what an outer join demands is no condition on its result.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn joined(from: &[TableWithJoins]) -> impl Iterator<Item = &Expr> {
    let joins = from.iter().flat_map(|item| &item.joins);
    joins.filter_map(|join| match &join.join_operator {
        JoinOperator::Join(JoinConstraint::On(on))
        | JoinOperator::Inner(JoinConstraint::On(on))
        | JoinOperator::StraightJoin(JoinConstraint::On(on)) => Some(on),
        _ => None,
    })
}

/// What a condition leaves of each column.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn regions(condition: &Expr) -> Regions {
    let of = |name: &Expr, region: Option<Region>| -> Regions {
        column(name).zip(region).into_iter().collect()
    };
    match condition {
        Expr::Nested(inner) => regions(inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => both(regions(left), regions(right)),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Or,
            right,
        } => either(regions(left), regions(right)),
        Expr::Between {
            expr,
            negated: false,
            low,
            high,
        } => {
            let low = literal(low).map(|value| Region::above(value, true));
            let high = literal(high).map(|value| Region::below(value, true));
            both(of(expr, low), of(expr, high))
        }
        Expr::InList {
            expr,
            list,
            negated: false,
        } => {
            let values: Option<Vec<Bounding<'_>>> = list.iter().map(literal).collect();
            of(expr, values.map(|values| Region::of_values(&values)))
        }
        Expr::InList {
            expr,
            list,
            negated: true,
        } => {
            let values: Option<Vec<Bounding<'_>>> = list.iter().map(literal).collect();
            let others = values.into_iter().flatten().map(Region::other_than);
            let regions = others.map(|region| of(expr, Some(region)));
            regions.reduce(both).unwrap_or_default()
        }
        Expr::IsNull(name) => of(name, Some(Region::null())),
        Expr::BinaryOp { left, op, right } => comparison(left, op, right)
            .map_or_else(Regions::new, |(name, region)| {
                Regions::from([(name, region)])
            }),
        _ => Regions::new(),
    }
}

/// What is left where both conditions hold.
fn both(mut one: Regions, other: Regions) -> Regions {
    for (column, region) in other {
        let region = match one.remove(&column) {
            Some(first) => first.and(&region),
            None => region,
        };
        one.insert(column, region);
    }
    one
}

/// What is left where one of two conditions holds.
fn either(one: Regions, other: Regions) -> Regions {
    let holds_never = |regions: &Regions| regions.values().any(Region::is_empty);
    if holds_never(&one) && !holds_never(&other) {
        return other;
    }
    if holds_never(&other) && !holds_never(&one) {
        return one;
    }
    one.into_iter()
        .filter_map(|(column, region)| {
            let region = region.or(other.get(&column)?);
            Some((column, region))
        })
        .collect()
}

/// `column < literal` and the like, in either order.
fn comparison(left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<(String, Region)> {
    let (name, value, turned) = match (column(left), literal(right)) {
        (Some(name), Some(value)) => (name, value, false),
        _ => (column(right)?, literal(left)?, true),
    };
    let region = match (op, turned) {
        (BinaryOperator::Lt, false) | (BinaryOperator::Gt, true) => Region::below(value, false),
        (BinaryOperator::LtEq, false) | (BinaryOperator::GtEq, true) => Region::below(value, true),
        (BinaryOperator::Gt, false) | (BinaryOperator::Lt, true) => Region::above(value, false),
        (BinaryOperator::GtEq, false) | (BinaryOperator::LtEq, true) => Region::above(value, true),
        (BinaryOperator::Eq, _) => Region::of_values(&[value]),
        (BinaryOperator::NotEq, _) => Region::other_than(value),
        _ => return None,
    };
    Some((name, region))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn column(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Nested(inner) => column(inner),
        _ => column_name(expression).map(str::to_ascii_lowercase),
    }
}

/// The value of a constant, where we can tell it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn literal(expression: &Expr) -> Option<Bounding<'_>> {
    let number = |expression| match literal(expression)? {
        Bounding::Number(value) => Some(value),
        Bounding::Text(_) | Bounding::Null => None,
    };
    match expression {
        Expr::Nested(inner) => literal(inner),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => Some(Bounding::Number(-number(expr)?)),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Plus,
            right,
        } => Some(Bounding::Number(number(left)? + number(right)?)),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Minus,
            right,
        } => Some(Bounding::Number(number(left)? - number(right)?)),
        Expr::Value(value) => match &value.value {
            Literal::Number(text, _) => text.parse().ok().map(Bounding::Number),
            Literal::SingleQuotedString(text) => Some(Bounding::Text(text)),
            Literal::Null => Some(Bounding::Null),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::statement::analyze;
    use crate::statement::tests::dialect;

    fn words(columns: &BTreeSet<String>) -> String {
        columns.iter().cloned().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_range_without_any_value_is_found_with_its_column() {
        let table = [
            ("a BETWEEN 1 AND 0", "a"),
            ("t.A BETWEEN 1 AND -1", "a"),
            ("a BETWEEN 5 AND (2 + 2)", "a"),
            ("a BETWEEN 0 AND 1", ""),
            ("a NOT BETWEEN 1 AND 0", ""),
            ("a > 5 AND b = 1 AND a < 3", "a"),
            ("a > 3 AND a < 5", ""),
            ("a >= 3 AND a <= 3", ""),
            ("a > 3 AND a <= 3", "a"),
            ("a > 5 OR a < 3", ""),
            ("a > 5 OR b < 3", ""),
            ("(a IN (1, 2) OR a = 1) AND a <= 0", "a"),
            ("a > 5 AND (a < 3 OR a < 4)", "a"),
            ("a > 5 AND (a < 3 OR a < 9)", ""),
            ("5 < a AND a < 3", "a"),
            ("a IN (1, 2) AND a > 5", "a"),
            ("a IN (1, 2) AND a IN (3, 4)", "a"),
            ("a NOT IN (1, 2) AND a IN (1, 2)", "a"),
            ("a < NULL", "a"),
            ("a = NULL", "a"),
            ("a IN (NULL)", "a"),
            ("a IS NULL AND a <> 1", "a"),
            ("a <=> NULL", ""),
            ("a IN (SELECT b FROM u WHERE c BETWEEN 9 AND 8)", "c"),
            ("a BETWEEN 'b' AND 'a'", "a"),
        ];
        for (condition, expected) in table {
            for statement in ["SELECT 1 FROM t", "UPDATE t SET a = 1"] {
                let sql = format!("{statement} WHERE {condition}");
                let effect = analyze(&sql, &dialect("mysql"));
                assert_eq!(words(&effect.impossible_ranges), expected, "{sql}");
            }
        }
    }

    #[test]
    fn conditions_of_a_query_that_is_merged_count_with_those_around_it() {
        for (sql, expected) in [
            (
                "WITH q AS (SELECT t.a, t.b FROM t WHERE t.a IN (0, 1)) SELECT * FROM q WHERE q.a IN (4, 2)",
                "a",
            ),
            (
                "SELECT b FROM (SELECT * FROM t WHERE a > 5) AS q WHERE q.a < 3",
                "a",
            ),
            (
                "SELECT b FROM (SELECT * FROM t WHERE a > 5) AS q WHERE q.a < 9",
                "",
            ),
            // Another column under the name, and queries that are not merged.
            (
                "SELECT 1 FROM (SELECT b AS a FROM t WHERE a > 5) AS q WHERE q.a < 3",
                "",
            ),
            (
                "SELECT 1 FROM (SELECT a FROM t WHERE a > 5 LIMIT 1) AS q WHERE q.a < 3",
                "",
            ),
            (
                "SELECT 1 FROM (SELECT a FROM t WHERE a > 5 GROUP BY a) AS q WHERE q.a < 3",
                "",
            ),
            (
                "WITH q AS (SELECT a FROM t WHERE a > 5) SELECT 1 FROM t WHERE a < 3",
                "",
            ),
        ] {
            let effect = analyze(sql, &dialect("mysql"));
            assert_eq!(words(&effect.impossible_ranges), expected, "{sql}");
        }
    }

    #[test]
    fn an_equality_prunes_nothing_in_a_query_and_does_in_a_write() {
        let table = [
            ("a = 0 AND a = 1", "a", ""),
            ("a = 0 AND a IN (1)", "a", ""),
            ("a IN (1, 3) AND a = 2", "a", ""),
            ("a = 1 AND a <> 1", "a", ""),
            ("a = 1 AND a > 5", "a", ""),
            ("a IS NULL AND a = 3", "a", ""),
            ("a IS NULL", "", "a"),
            ("a IN (2, 3) AND a = 2", "", ""),
        ];
        for (condition, impossible, null_only) in table {
            let sql = format!("DELETE FROM t WHERE {condition}");
            let effect = analyze(&sql, &dialect("mysql"));
            assert_eq!(words(&effect.impossible_ranges), impossible, "{sql}");
            assert_eq!(words(&effect.null_only), null_only, "{sql}");
            let sql = format!("SELECT 1 FROM t WHERE {condition}");
            let effect = analyze(&sql, &dialect("mysql"));
            assert_eq!(words(&effect.impossible_ranges), "", "{sql}");
            assert_eq!(words(&effect.null_only), "", "{sql}");
            let sql = format!("SELECT ROW_NUMBER() OVER (ORDER BY b) FROM t WHERE {condition}");
            let effect = analyze(&sql, &dialect("mysql"));
            assert_eq!(words(&effect.impossible_ranges), "", "{sql}");
            assert_eq!(words(&effect.null_only), null_only, "{sql}");
        }
    }
}
