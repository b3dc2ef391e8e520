//! Reduces expressions: to one side of AND and OR, to a branch, to an argument, to a literal.

use crate::statement::walk::{NodeMut, SyntaxNode, collect, replace};
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Statement,
    UnaryOperator, Value, ValueWithSpan,
};

/// Every variant with one expression reduced.
pub(super) fn candidates(tree: &Statement) -> Vec<Statement> {
    let mut found = Vec::new();
    for (at, expression) in expressions(tree).iter().enumerate() {
        for smaller in smaller(expression) {
            let mut candidate = tree.clone();
            replace(&mut candidate, place, at, smaller);
            found.push(candidate);
        }
    }
    found
}

/// An expression as a place of the tree.
fn place(node: NodeMut<'_>) -> Option<&mut Expr> {
    match node {
        NodeMut::Expression(expression) => Some(expression),
        NodeMut::Query(_) => None,
    }
}

/// The expressions of a statement, in the order in which a walk meets them.
fn expressions(tree: &Statement) -> Vec<Expr> {
    collect(tree, |node| match node {
        SyntaxNode::Expression(expression) => Some(expression.clone()),
        SyntaxNode::Query(_)
        | SyntaxNode::QueryEnd
        | SyntaxNode::Table(_)
        | SyntaxNode::Relation(_) => None,
    })
}

/// Smaller expressions of the same class of type.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn smaller(expression: &Expr) -> Vec<Expr> {
    match expression {
        Expr::BinaryOp {
            left,
            op:
                BinaryOperator::And
                | BinaryOperator::Or
                | BinaryOperator::Xor
                | BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Modulo,
            right,
        } => vec![(**left).clone(), (**right).clone()],
        Expr::UnaryOp {
            op: UnaryOperator::Not | UnaryOperator::Minus,
            expr,
        }
        | Expr::Nested(expr) => vec![(**expr).clone()],
        Expr::InList {
            expr,
            list,
            negated,
        } if list.len() > 1 => (0..list.len())
            .map(|gone| {
                let mut list = list.clone();
                list.remove(gone);
                Expr::InList {
                    expr: expr.clone(),
                    list,
                    negated: *negated,
                }
            })
            .collect(),
        Expr::Between { expr, low, .. } => vec![Expr::BinaryOp {
            left: expr.clone(),
            op: BinaryOperator::Eq,
            right: low.clone(),
        }],
        Expr::InSubquery { expr, .. } => vec![Expr::IsNotNull(expr.clone())],
        Expr::Exists { .. } => vec![number("1")],
        Expr::Case {
            conditions,
            else_result,
            ..
        } => conditions
            .iter()
            .map(|when| when.result.clone())
            .chain(else_result.as_deref().cloned())
            .collect(),
        Expr::Function(function) => arguments(function),
        Expr::Subquery(_) => vec![number("1"), Expr::value(ValueWithSpan::from(Value::Null))],
        Expr::Value(value) => constants(&value.value),
        _ => Vec::new(),
    }
}

/// The arguments of functions whose value has their arguments' class. Not those of an aggregate:
/// without it the value of an arbitrary row would remain.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn arguments(function: &Function) -> Vec<Expr> {
    const TRANSPARENT: [&str; 6] = ["ABS", "UPPER", "LOWER", "COALESCE", "IFNULL", "NULLIF"];
    let name = function.name.to_string();
    let transparent = TRANSPARENT
        .iter()
        .any(|known| known.eq_ignore_ascii_case(&name));
    match &function.args {
        FunctionArguments::List(list) if transparent => list
            .args
            .iter()
            .filter_map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => Some(expression.clone()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Smaller constants: 0, 1 and half of a number, the empty text.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn constants(value: &Value) -> Vec<Expr> {
    match value {
        Value::Number(text, _) => match text.parse::<i64>() {
            Ok(known) if known > 1 => {
                vec![number("0"), number("1"), number(&(known / 2).to_string())]
            }
            _ => Vec::new(),
        },
        Value::SingleQuotedString(text) if !text.is_empty() && !text.contains('-') => {
            vec![Expr::value(ValueWithSpan::from(Value::SingleQuotedString(
                String::new(),
            )))]
        }
        _ => Vec::new(),
    }
}

fn number(text: &str) -> Expr {
    Expr::value(ValueWithSpan::from(Value::Number(text.to_owned(), false)))
}
