//! Forms of a statement by which findings are told apart, because engines special-case them.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, JoinConstraint, JoinOperator, Query, Select, SelectItem,
    SetExpr, Statement, TableFactor, TableWithJoins, UnaryOperator, Value as Literal,
};

use super::token::{SqlToken, stands};
use super::walk::{SyntaxNode, walk};
use crate::model::Form;

/// The forms of a statement that its words and its tree show.
pub(super) fn forms(words: &[SqlToken<'_>], tree: &Statement) -> BTreeSet<Form> {
    let mut forms = BTreeSet::new();
    if (0..words.len()).any(|at| stands(words, at, &["ORDER", "BY"]) && of_a_query(words, at)) {
        forms.insert(Form::OrderBy);
    }
    if words.iter().any(|word| word.is("LIMIT")) {
        forms.insert(Form::Limit);
    }
    if let Statement::Query(query) = tree
        && counts_a_whole_table(query)
    {
        forms.insert(Form::WholeCount);
    }
    let _ = walk(tree, &mut |node| {
        if let SyntaxNode::Expression(
            Expr::Exists { negated: false, .. } | Expr::InSubquery { negated: false, .. },
        ) = node
        {
            forms.insert(Form::Semijoin);
        }
        ControlFlow::Continue(())
    });
    forms
}

/// Whether an ORDER BY belongs to a query: it stands in no parentheses, or in those of a query, not
/// in those of a window or a function.
fn of_a_query(words: &[SqlToken<'_>], at: usize) -> bool {
    let mut depth = 0;
    for open in (0..at).rev() {
        if words[open].is_mark(')') {
            depth += 1;
        } else if words[open].is_mark('(') {
            if depth == 0 {
                let first = &words[open + 1];
                return first.is("SELECT") || first.is("WITH") || first.is_mark('(');
            }
            depth -= 1;
        }
    }
    true
}

fn counts_a_whole_table(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return false;
    };
    let [from] = select.from.as_slice() else {
        return false;
    };
    let no_groups = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let one_table = from.joins.is_empty() && matches!(from.relation, TableFactor::Table { .. });
    let items: Vec<Item> = select.projection.iter().map(item).collect();
    one_table
        && no_groups
        && select.selection.is_none()
        && items.contains(&Item::Count)
        && !items.contains(&Item::Else)
}

/// An item of a select list.
#[derive(PartialEq, Eq)]
enum Item {
    Count,
    Literal,
    Else,
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn item(item: &SelectItem) -> Item {
    let (SelectItem::UnnamedExpr(expression)
    | SelectItem::ExprWithAlias {
        expr: expression, ..
    }) = item
    else {
        return Item::Else;
    };
    match expression {
        Expr::Value(_) => Item::Literal,
        Expr::Function(call)
            if call.over.is_none() && call.name.to_string().eq_ignore_ascii_case("count") =>
        {
            Item::Count
        }
        _ => Item::Else,
    }
}

/// The columns, in lower case, for which a condition of the statement leaves no value: conditions of
/// WHERE and ON that all must hold, at any depth.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub(super) fn impossible_ranges(tree: &Statement) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut note = |condition: Option<&Expr>| {
        let mut bounds = Vec::new();
        if let Some(condition) = condition {
            collect(condition, &mut bounds);
        }
        found.extend(contradictions(&bounds));
    };
    match tree {
        Statement::Update(update) => {
            note(update.selection.as_ref());
            joined(std::slice::from_ref(&update.table)).for_each(|on| note(Some(on)));
        }
        Statement::Delete(delete) => note(delete.selection.as_ref()),
        _ => {}
    }
    let _ = walk(tree, &mut |node| {
        if let SyntaxNode::Query(query) = node {
            for select in selects(&query.body) {
                note(select.selection.as_ref());
                joined(&select.from).for_each(|on| note(Some(on)));
            }
        }
        ControlFlow::Continue(())
    });
    found
}

/// The SELECTs of a body that are no queries of their own.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn selects(body: &SetExpr) -> Vec<&Select> {
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

/// The ON conditions of inner joins: what an outer join demands is no condition on its result.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn joined(from: &[TableWithJoins]) -> impl Iterator<Item = &Expr> {
    let joins = from.iter().flat_map(|item| &item.joins);
    joins.filter_map(|join| match &join.join_operator {
        JoinOperator::Join(JoinConstraint::On(on))
        | JoinOperator::Inner(JoinConstraint::On(on)) => Some(on),
        _ => None,
    })
}

/// A bound on a column.
struct RangeBound<'a> {
    column: String,
    /// The column lies above it, below it, or (both) at it.
    above: bool,
    below: bool,
    /// The value itself is allowed.
    closed: bool,
    value: Bounding<'a>,
}

/// The value of a bound, where it is a literal.
#[derive(Clone, Copy)]
enum Bounding<'a> {
    Number(f64),
    Text(&'a str),
    Null,
}

impl Bounding<'_> {
    /// How two literals of one type compare.
    fn order(self, other: Self) -> Option<Ordering> {
        if let (Self::Number(a), Self::Number(b)) = (self, other) {
            a.partial_cmp(&b)
        } else if let (Self::Text(a), Self::Text(b)) = (self, other) {
            Some(a.cmp(b))
        } else {
            None
        }
    }
}

/// The bounds that all must hold.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn collect<'a>(condition: &'a Expr, bounds: &mut Vec<RangeBound<'a>>) {
    match condition {
        Expr::Nested(inner) => collect(inner, bounds),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            collect(left, bounds);
            collect(right, bounds);
        }
        Expr::Between {
            expr,
            negated: false,
            low,
            high,
        } => {
            for (above, value) in [(true, low), (false, high)] {
                if let (Some(column), Some(value)) = (column(expr), literal(value)) {
                    bounds.push(RangeBound {
                        column,
                        above,
                        below: !above,
                        closed: true,
                        value,
                    });
                }
            }
        }
        Expr::BinaryOp { left, op, right } => bounds.extend(comparison(left, op, right)),
        _ => {}
    }
}

/// `column < literal` and the like, in either order.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn comparison<'a>(left: &'a Expr, op: &BinaryOperator, right: &'a Expr) -> Option<RangeBound<'a>> {
    let (above, below, closed) = match op {
        BinaryOperator::Lt => (false, true, false),
        BinaryOperator::LtEq => (false, true, true),
        BinaryOperator::Gt => (true, false, false),
        BinaryOperator::GtEq => (true, false, true),
        BinaryOperator::Eq => (true, true, true),
        _ => return None,
    };
    let bound = |column, value, above, below| RangeBound {
        column,
        above,
        below,
        closed,
        value,
    };
    match (column(left), literal(right)) {
        (Some(column), Some(value)) => Some(bound(column, value, above, below)),
        _ => Some(bound(column(right)?, literal(left)?, below, above)),
    }
}

/// The columns for which two bounds contradict each other, or one holds for nothing.
fn contradictions(bounds: &[RangeBound<'_>]) -> BTreeSet<String> {
    let null = |bound: &&RangeBound<'_>| matches!(bound.value, Bounding::Null);
    let mut found: BTreeSet<String> = bounds
        .iter()
        .filter(null)
        .map(|bound| bound.column.clone())
        .collect();
    // Two equalities contradict each other, too, but leave no range to look at.
    let of = |above: bool| move |b: &&RangeBound<'_>| if above { b.above } else { b.below };
    for low in bounds.iter().filter(of(true)) {
        for high in bounds.iter().filter(of(false)) {
            if low.column != high.column || (low.below && high.above) {
                continue;
            }
            let none = match low.value.order(high.value) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => !(low.closed && high.closed),
                Some(Ordering::Less) | None => false,
            };
            if none {
                found.insert(low.column.clone());
            }
        }
    }
    found
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn column(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Identifier(name) => Some(name.value.to_ascii_lowercase()),
        Expr::CompoundIdentifier(parts) => Some(parts.last()?.value.to_ascii_lowercase()),
        Expr::Nested(inner) => column(inner),
        _ => None,
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn literal(expression: &Expr) -> Option<Bounding<'_>> {
    match expression {
        Expr::Nested(inner) => literal(inner),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match literal(expr)? {
            Bounding::Number(value) => Some(Bounding::Number(-value)),
            Bounding::Text(_) | Bounding::Null => None,
        },
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
    use crate::statement::analyze;
    use crate::statement::tests::dialect;

    #[test]
    fn forms_are_those_of_the_statement_and_not_of_strings_or_windows() {
        let forms = |sql: &str| {
            let effect = analyze(sql, &dialect("mysql"));
            effect
                .forms
                .iter()
                .map(|form| form.slug())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let table = [
            ("SELECT * FROM t ORDER BY a LIMIT 3", "order-by limit"),
            ("SELECT 'order by limit' FROM t", ""),
            ("SELECT 1 FROM (SELECT a FROM t LIMIT 1) AS q", "limit"),
            (
                "SELECT 1 FROM (SELECT a FROM t ORDER BY a) AS q",
                "order-by",
            ),
            ("DELETE FROM t ORDER\nBY a", "order-by"),
            ("SELECT ROW_NUMBER() OVER (ORDER BY a) FROM t", ""),
            ("SELECT LAG(a) OVER (PARTITION BY b ORDER BY a) FROM t", ""),
            ("SELECT GROUP_CONCAT(a ORDER BY a) FROM t", ""),
            ("SELECT a FROM t FOR UPDATE NOWAIT", "nowait"),
            (
                "SELECT COUNT(*) FROM t FOR UPDATE NOWAIT",
                "nowait whole-count",
            ),
            ("SELECT COUNT(a), 1 FROM t AS x", "whole-count"),
            ("SELECT COUNT(*), SUM(a) FROM t", ""),
            ("SELECT COUNT(*) FROM t WHERE a > 0", ""),
            ("SELECT COUNT(*) FROM t GROUP BY a", ""),
            ("SELECT COUNT(*) FROM t JOIN u ON t.a = u.a", ""),
            (
                "UPDATE t SET a = 1 WHERE EXISTS (SELECT 1 FROM u)",
                "semijoin",
            ),
            (
                "UPDATE t SET a = 1 WHERE a IN (SELECT b FROM u)",
                "semijoin",
            ),
            ("UPDATE t SET a = 1 WHERE NOT EXISTS (SELECT 1 FROM u)", ""),
            ("UPDATE t SET a = 1 WHERE a NOT IN (SELECT b FROM u)", ""),
            ("UPDATE t SET a = 1 WHERE a IN (1, 2)", ""),
        ];
        for (sql, expected) in table {
            assert_eq!(forms(sql), expected, "{sql}");
        }
    }

    #[test]
    fn a_range_without_any_value_is_found_with_its_column() {
        let columns = |condition: &str| {
            let effect = analyze(
                &format!("SELECT 1 FROM t WHERE {condition}"),
                &dialect("mysql"),
            );
            effect
                .impossible_ranges
                .into_iter()
                .collect::<Vec<_>>()
                .join(" ")
        };
        let table = [
            ("a BETWEEN 1 AND 0", "a"),
            ("t.A BETWEEN 1 AND -1", "a"),
            ("a BETWEEN 0 AND 1", ""),
            ("a NOT BETWEEN 1 AND 0", ""),
            ("a > 5 AND b = 1 AND a < 3", "a"),
            ("a > 3 AND a < 5", ""),
            ("a >= 3 AND a <= 3", ""),
            ("a > 3 AND a <= 3", "a"),
            ("a > 5 OR a < 3", ""),
            ("5 < a AND a < 3", "a"),
            ("a < NULL", "a"),
            ("a = NULL", "a"),
            ("a <=> NULL", ""),
            ("a IN (SELECT b FROM u WHERE c BETWEEN 9 AND 8)", "c"),
            ("a BETWEEN 'b' AND 'a'", "a"),
        ];
        for (condition, expected) in table {
            assert_eq!(columns(condition), expected, "{condition}");
        }
    }
}
