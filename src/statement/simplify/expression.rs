//! Expressions cut down: to one side of AND and OR, to a branch, to an argument, to a literal.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Statement,
    UnaryOperator, Value, ValueWithSpan, Visit, VisitMut, Visitor, VisitorMut,
};

/// Every statement that differs from this one in one expression.
pub(super) fn candidates(tree: &Statement) -> Vec<Statement> {
    let mut found = Vec::new();
    for (at, expression) in expressions(tree).iter().enumerate() {
        for smaller in smaller(expression) {
            let mut candidate = tree.clone();
            let mut replacer = Replacer {
                left: at,
                by: Some(smaller),
            };
            let _ = VisitMut::visit(&mut candidate, &mut replacer);
            found.push(candidate);
        }
    }
    found
}

/// The expressions of a statement, in the order in which a visitor meets them.
fn expressions(tree: &Statement) -> Vec<Expr> {
    struct Collector(Vec<Expr>);
    impl Visitor for Collector {
        type Break = ();
        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            self.0.push(expression.clone());
            ControlFlow::Continue(())
        }
    }
    let mut collector = Collector(Vec::new());
    let _ = Visit::visit(tree, &mut collector);
    collector.0
}

/// Puts an expression in the place of the one that is met after `left` others.
struct Replacer {
    left: usize,
    by: Option<Expr>,
}

impl VisitorMut for Replacer {
    type Break = ();
    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if self.left > 0 {
            self.left -= 1;
            return ControlFlow::Continue(());
        }
        if let Some(by) = self.by.take() {
            *expression = by;
        }
        ControlFlow::Break(())
    }
}

/// What may stand in the place of an expression, of the same class of type.
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

/// The arguments of functions whose value is of their arguments' class. Never those of an
/// aggregate: which row's value that would be is chance.
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
