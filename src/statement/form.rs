//! Forms of a statement by which findings are told apart, because engines special-case them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, Ident, OnConflictAction, OnInsert, Query, SelectItem, SetExpr, Statement,
    TableFactor, TableWithJoins, UnaryOperator, Value,
};

use super::query::{NamedRelation, deleted_from, grouped, relations};
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
    let has_groups = (0..words.len()).any(|at| stands(words, at, &["GROUP", "BY"]));
    if has_groups && (1..words.len()).any(|at| is_distinct_argument(words, at)) {
        forms.insert(Form::DistinctInGroups);
    }
    if let Statement::Query(query) = tree
        && counts_a_whole_table(query)
    {
        forms.insert(Form::WholeCount);
    }
    if let Statement::Insert(insert) = tree
        && let Some(OnInsert::OnConflict(conflict)) = &insert.on
        && conflict.action == OnConflictAction::DoNothing
    {
        forms.insert(Form::OnConflictDoNothing);
    }
    if let Statement::Insert(insert) = tree
        && let Some(SetExpr::Values(values)) = insert.source.as_ref().map(|source| &*source.body)
        && values.rows.len() > 1
    {
        forms.insert(Form::SeveralRows);
    }
    let is_distinct = (0..words.len()).any(|at| stands(words, at, &["SELECT", "DISTINCT"]));
    let _ = walk(tree, &mut |node| {
        if let SyntaxNode::Expression(
            Expr::Exists { negated: false, .. } | Expr::InSubquery { negated: false, .. },
        ) = node
        {
            forms.insert(Form::Semijoin);
        }
        if (has_groups || is_distinct)
            && let SyntaxNode::Expression(
                Expr::Exists { negated: true, .. } | Expr::InSubquery { negated: true, .. },
            ) = node
        {
            forms.insert(Form::DistinctAntijoin);
        }
        if let SyntaxNode::Expression(Expr::InList {
            list,
            negated: true,
            ..
        }) = node
            && list.iter().any(is_null)
        {
            forms.insert(Form::NotInNull);
        }
        if let SyntaxNode::Expression(Expr::BinaryOp {
            op: BinaryOperator::Or,
            ..
        }) = node
        {
            forms.insert(Form::Disjunction);
        }
        if let SyntaxNode::Expression(Expr::Function(call)) = node {
            if orders_by_namesake(call) {
                forms.insert(Form::OrdersByNamesake);
            }
            if has_groups && orders(call).next().is_some() {
                forms.insert(Form::OrderedInGroups);
            }
        }
        ControlFlow::Continue(())
    });
    forms
}

/// Whether `NOT EXISTS (SELECT ..)` is a condition of an UPDATE's or DELETE's WHERE, alone or under AND, and asks for something of
/// the row, by the table's name: another one is looked for once.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub(super) fn is_antijoin(tree: &Statement) -> bool {
    let (mut open, written): (Vec<&Expr>, &[TableWithJoins]) = match tree {
        Statement::Update(update) => (
            update.selection.iter().collect(),
            std::slice::from_ref(&update.table),
        ),
        Statement::Delete(delete) => (delete.selection.iter().collect(), deleted_from(delete)),
        _ => return false,
    };
    let (tables, _) = relations(written);
    let mut found = false;
    while let Some(condition) = open.pop() {
        match condition {
            Expr::Exists {
                subquery,
                negated: true,
            } => found |= names_one_of(subquery, &tables),
            Expr::Nested(inner) => open.push(inner),
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr,
            } => {
                let query = existing(expr);
                found |= query.is_some_and(|query| names_one_of(query, &tables));
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => open.extend([&**left, &**right]),
            _ => {}
        }
    }
    found
}

/// The query of `EXISTS (SELECT ..)`, in whatever parentheses.
fn existing(condition: &Expr) -> Option<&Query> {
    let mut inner = condition;
    while let Expr::Nested(nested) = inner {
        inner = nested;
    }
    let Expr::Exists {
        subquery,
        negated: false,
    } = inner
    else {
        return None;
    };
    Some(subquery)
}

/// Whether a query names a column of one of these tables by what the statement calls the table.
fn names_one_of(query: &Query, tables: &[NamedRelation]) -> bool {
    let mut names = false;
    let _ = walk(query, &mut |node| {
        if let SyntaxNode::Expression(Expr::CompoundIdentifier(name)) = node
            && let [.., table, _] = name.as_slice()
        {
            let is_it = |one: &NamedRelation| one.called.eq_ignore_ascii_case(&table.value);
            names |= tables.iter().any(is_it);
        }
        ControlFlow::Continue(())
    });
    names
}

/// Whether DISTINCT stands before the argument of a function here.
fn is_distinct_argument(words: &[SqlToken<'_>], at: usize) -> bool {
    words[at].is("DISTINCT") && words[at - 1].is_mark('(')
}

/// What the ORDER BY of a call names.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn orders(call: &Function) -> impl Iterator<Item = &Expr> {
    let clauses = match &call.args {
        FunctionArguments::List(list) => list.clauses.as_slice(),
        FunctionArguments::None | FunctionArguments::Subquery(_) => &[],
    };
    let by = clauses.iter().flat_map(|clause| match clause {
        FunctionArgumentClause::OrderBy(order) => order.as_slice(),
        _ => &[],
    });
    by.map(|by| &by.expr)
}

/// Whether the ORDER BY of a call names a column that has the name of an argument and another table.
fn orders_by_namesake(call: &Function) -> bool {
    let FunctionArguments::List(list) = &call.args else {
        return false;
    };
    let arguments = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::CompoundIdentifier(name))) => Some(name),
        FunctionArg::Unnamed(_) | FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => None,
    });
    let arguments: Vec<&Vec<Ident>> = arguments.collect();
    orders(call).any(|by| {
        let Expr::CompoundIdentifier(by) = by else {
            return false;
        };
        arguments.iter().any(|own| are_namesakes(own, by))
    })
}

/// Whether two columns have one name and other tables.
fn are_namesakes(one: &[Ident], other: &[Ident]) -> bool {
    let same = |a: &Ident, b: &Ident| a.value.eq_ignore_ascii_case(&b.value);
    match (one, other) {
        ([.., table, column], [.., other_table, other_column]) => {
            same(column, other_column) && !same(table, other_table)
        }
        _ => false,
    }
}

fn is_null(item: &Expr) -> bool {
    matches!(item, Expr::Value(value) if value.value == Value::Null)
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
    let one_table = from.joins.is_empty() && matches!(from.relation, TableFactor::Table { .. });
    let items: Vec<Item> = select.projection.iter().map(item).collect();
    one_table
        && !grouped(select)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::model::Form;
    use crate::statement::analyze;
    use crate::statement::tests::dialect;

    fn forms(sql: &str) -> String {
        let effect = analyze(sql, &dialect("mysql"));
        let forms: Vec<&str> = effect.forms.iter().map(|form| form.slug()).collect();
        forms.join(" ")
    }

    #[test]
    fn forms_are_those_of_the_statement_and_not_of_strings_or_windows() {
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
            ("SELECT a FROM t FOR UPDATE SKIP LOCKED", "skip-locked"),
            (
                "SELECT COUNT(*) FROM t FOR UPDATE NOWAIT",
                "nowait whole-count",
            ),
            ("SELECT COUNT(a), 1 FROM t AS x", "whole-count"),
            ("SELECT COUNT(*), SUM(a) FROM t", ""),
            ("SELECT COUNT(*) FROM t WHERE a > 0", ""),
            ("SELECT COUNT(*) FROM t GROUP BY a", ""),
            (
                "SELECT DISTINCT a FROM t WHERE b NOT IN (SELECT b FROM u)",
                "distinct-antijoin",
            ),
            (
                "SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u) GROUP BY a",
                "distinct-antijoin",
            ),
            ("SELECT a FROM t WHERE b NOT IN (SELECT b FROM u)", ""),
            (
                "SELECT COUNT(DISTINCT a) FROM t WHERE NOT EXISTS (SELECT 1 FROM u)",
                "",
            ),
            (
                "SELECT COUNT(DISTINCT b) FROM t GROUP BY a",
                "distinct-in-groups",
            ),
            ("SELECT DISTINCT a, COUNT(b) FROM t GROUP BY a", ""),
            ("SELECT SUM(DISTINCT b), a > 0 FROM t WHERE a > 0", ""),
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
            ("UPDATE t SET a = 1 WHERE a NOT IN (1, NULL)", "not-in-null"),
            (
                "SELECT 1 FROM t WHERE b OR a NOT IN (NULL)",
                "not-in-null or",
            ),
            (
                "DELETE FROM t WHERE a IN (1, NULL) OR b NOT IN (1, 'NULL')",
                "or",
            ),
        ];
        for (sql, expected) in table {
            assert_eq!(forms(sql), expected, "{sql}");
        }
    }

    #[test]
    fn namesakes_and_rows_of_values_are_told() {
        let table = [
            (
                "SELECT GROUP_CONCAT(t.a ORDER BY t.b, u.A DESC) FROM t JOIN u",
                "orders-by-namesake",
            ),
            (
                "SELECT GROUP_CONCAT(t.a ORDER BY t.a, u.b) FROM t JOIN u",
                "",
            ),
            ("SELECT GROUP_CONCAT(a ORDER BY a) FROM t", ""),
            (
                "SELECT GROUP_CONCAT(a ORDER BY b) FROM t GROUP BY c",
                "ordered-in-groups",
            ),
            ("SELECT GROUP_CONCAT(a) FROM t GROUP BY c", ""),
            ("INSERT INTO t (a) VALUES (1), (2)", "several-rows"),
            ("REPLACE INTO t (a) VALUES (1), (2)", "several-rows"),
            ("INSERT INTO t (a, b) VALUES (1, 2)", ""),
            ("INSERT INTO t (a) SELECT a FROM u", ""),
        ];
        for (sql, expected) in table {
            assert_eq!(forms(sql), expected, "{sql}");
        }
    }

    #[test]
    fn an_antijoin_is_a_condition_of_a_write_by_itself() {
        let table = [
            (
                "UPDATE t SET a = 1 WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
                true,
            ),
            (
                "DELETE FROM t AS x WHERE b > 1 AND (NOT (EXISTS (SELECT 1 FROM u WHERE u.a = X.a)) AND b < 9)",
                true,
            ),
            (
                "UPDATE t SET a = 1 WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = 7)",
                false,
            ),
            (
                "UPDATE t SET a = 1 WHERE b = 1 OR NOT EXISTS (SELECT 1 FROM u)",
                false,
            ),
            ("UPDATE t SET a = 1 WHERE EXISTS (SELECT 1 FROM u)", false),
            ("UPDATE t SET a = 1 WHERE a NOT IN (SELECT a FROM u)", false),
            (
                "UPDATE t SET a = 1 WHERE EXISTS (SELECT 1 FROM u WHERE NOT EXISTS (SELECT 1 FROM v))",
                false,
            ),
            (
                "UPDATE t SET a = (SELECT 1 FROM u WHERE NOT EXISTS (SELECT 1 FROM v))",
                false,
            ),
            ("SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u)", false),
        ];
        for (sql, expected) in table {
            assert_eq!(
                analyze(sql, &dialect("postgres")).antijoin,
                expected,
                "{sql}"
            );
        }
    }

    #[test]
    fn an_insert_that_passes_over_its_conflict_is_told() {
        let forms = |action: &str| {
            let sql = format!("INSERT INTO t (a) VALUES (1) ON CONFLICT (a) {action}");
            analyze(&sql, &dialect("postgres")).forms
        };
        assert_eq!(
            forms("DO NOTHING"),
            BTreeSet::from([Form::OnConflictDoNothing])
        );
        assert_eq!(forms("DO UPDATE SET a = 2"), BTreeSet::new());
    }
}
