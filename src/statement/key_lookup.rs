//! Rows that a statement looks up by the values of a column.

use std::collections::BTreeSet;

use sqlparser::ast::{BinaryOperator, Expr, Statement, TableWithJoins};

use super::parse::{Parsed, number};
use super::query::{column_name, deleted_from, grouped};
use super::table_reads::{and_parts, tables_read};
use super::walk::{SyntaxNode, collect};
use super::words::mentions;
use crate::dialect::Dialect;
use crate::model::{TableShape, nearest_held};

/// A lookup of rows by integers that one column may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLookup {
    /// In lower case.
    pub column: String,
    pub values: BTreeSet<i64>,
    /// They stand in a list, which may have one alone: `column IN (1)`.
    pub listed: bool,
    /// Nothing else chooses the rows: no further condition, ORDER BY, LIMIT, group, function or hint.
    pub alone: bool,
}

/// The lookups of a SELECT, UPDATE or DELETE of one table and without a subquery: each part `column = 1` or `column IN (1, 2)`
/// of its condition. None of any other statement.
pub fn key_lookups(sql: &str, dialect: &Dialect) -> Vec<KeyLookup> {
    lookups(sql, dialect).unwrap_or_default()
}

/// The column by whose value a SELECT, UPDATE or DELETE looks up a row of its one table, where nothing else chooses the row: a
/// unique key by itself, and a whole number, for a text is compared with a number row by row.
pub fn row_lookup<'s>(sql: &str, shape: &'s TableShape, dialect: &Dialect) -> Option<&'s str> {
    let lookups = lookups(sql, dialect)?;
    let [only] = lookups.as_slice() else {
        return None;
    };
    let column = &shape.columns[shape.column(&only.column)?];
    let held = |value: &i64| nearest_held(&column.sql_type, *value) == Some(*value);
    let is_unique = |key: &Vec<String>| matches!(key.as_slice(), [one] if one.eq_ignore_ascii_case(&column.name));
    let is_one = only.alone && only.values.len() == 1 && only.values.iter().all(held);
    (is_one && shape.unique_keys.iter().any(is_unique)).then_some(column.name.as_str())
}

fn lookups(sql: &str, dialect: &Dialect) -> Option<Vec<KeyLookup>> {
    let parsed = Parsed::of(sql, dialect)?;
    let source = Source::of(&parsed.tree)?;
    let [TableWithJoins { relation: _, joins }] = source.from else {
        return None;
    };
    if !joins.is_empty() || tables_read(sql, dialect) != 1 {
        return None;
    }
    let hints = ["INDEX", "KEY", "PARTITION"];
    let has_hint = sql.contains("/*") || hints.iter().any(|word| mentions(sql, word, dialect));
    let calls = |node: SyntaxNode<'_>| {
        matches!(node, SyntaxNode::Expression(Expr::Function(_))).then_some(())
    };
    let mut parts = Vec::new();
    and_parts(source.condition, &mut parts);
    let alone =
        parts.len() == 1 && source.is_whole && !has_hint && collect(&parsed.tree, calls).is_empty();
    let found = parts.into_iter().filter_map(lookup);
    let found = found.map(|(column, values, listed)| KeyLookup {
        column: column.to_ascii_lowercase(),
        values,
        listed,
        alone,
    });
    Some(found.collect())
}

/// Where a statement looks for rows.
struct Source<'s> {
    from: &'s [TableWithJoins],
    condition: &'s Expr,
    /// It takes every row that fits its condition, each by itself.
    is_whole: bool,
}

impl<'s> Source<'s> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "an enum of sqlparser, which grows with its releases"
    )]
    fn of(tree: &'s Statement) -> Option<Self> {
        match tree {
            Statement::Update(update) => Some(Self {
                from: std::slice::from_ref(&update.table),
                condition: update.selection.as_ref()?,
                is_whole: update.order_by.is_empty() && update.limit.is_none(),
            }),
            Statement::Delete(delete) => Some(Self {
                from: deleted_from(delete),
                condition: delete.selection.as_ref()?,
                is_whole: delete.order_by.is_empty() && delete.limit.is_none(),
            }),
            Statement::Query(query) => {
                let select = query.body.as_select()?;
                let is_whole = query.with.is_none()
                    && query.order_by.is_none()
                    && query.limit_clause.is_none()
                    && select.distinct.is_none()
                    && select.having.is_none()
                    && !grouped(select);
                Some(Self {
                    from: &select.from,
                    condition: select.selection.as_ref()?,
                    is_whole,
                })
            }
            _ => None,
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn lookup(part: &Expr) -> Option<(&str, BTreeSet<i64>, bool)> {
    match part {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => Some((column_name(left)?, BTreeSet::from([number(right)?]), false)),
        Expr::InList {
            expr,
            list,
            negated: false,
        } => {
            let values: Option<BTreeSet<i64>> = list.iter().map(number).collect();
            Some((column_name(expr)?, values?, true))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SetupKind, SetupStatement};
    use crate::statement::shapes;
    use crate::statement::tests::dialect;

    #[test]
    fn a_row_is_looked_up_by_one_value_of_a_unique_whole_number_alone() {
        let mysql = dialect("mysql");
        let sql =
            "CREATE TABLE t (a INT PRIMARY KEY, b SMALLINT UNIQUE, c VARCHAR(4) UNIQUE, d INT)";
        let setup = [SetupStatement {
            sql: sql.to_owned(),
            kind: SetupKind::Schema,
        }];
        let shape = &shapes(&setup, &mysql)[0];
        let column = |sql| row_lookup(sql, shape, &mysql);
        assert_eq!(column("UPDATE t SET d = 1 WHERE t.a = 7"), Some("a"));
        assert_eq!(column("DELETE FROM t WHERE B = 7"), Some("b"));
        for other in [
            "DELETE FROM t WHERE b = 70000",
            "DELETE FROM t WHERE c = 7",
            "DELETE FROM t WHERE d = 7",
            "DELETE FROM t WHERE a IN (7, 8)",
            "DELETE FROM t WHERE a = 7 AND d = 1",
            "DELETE FROM t WHERE a = 7 OR d = 1",
            "DELETE FROM t",
        ] {
            assert_eq!(column(other), None, "{other}");
        }
    }

    #[test]
    fn a_lookup_is_alone_where_nothing_else_chooses_rows() {
        let tidb = dialect("tidb");
        let alone = |values: &[i64]| vec![(values.to_vec(), true)];
        let beside = |values: &[i64]| vec![(values.to_vec(), false)];
        for (sql, expected) in [
            ("SELECT c FROM t WHERE PKEY = 7 FOR UPDATE", alone(&[7])),
            (
                "SELECT * FROM t AS x WHERE x.pkey IN (8, 7)",
                alone(&[7, 8]),
            ),
            ("UPDATE t SET c = 1 WHERE (pkey = 7)", alone(&[7])),
            ("DELETE FROM t WHERE pkey IN (7);", alone(&[7])),
            ("SELECT c FROM t WHERE pkey = 7 AND c > 1", beside(&[7])),
            ("SELECT MAX(c) FROM t WHERE pkey = 7", beside(&[7])),
            ("SELECT c FROM t WHERE pkey = 7 LIMIT 1", beside(&[7])),
            (
                "SELECT c FROM t FORCE INDEX (c) WHERE pkey = 7",
                beside(&[7]),
            ),
            ("DELETE FROM t WHERE pkey = 7 LIMIT 0", beside(&[7])),
            ("SELECT c FROM t WHERE pkey > 7 FOR UPDATE", vec![]),
            ("SELECT c FROM t WHERE pkey = 7 OR pkey = 8", vec![]),
            ("SELECT c FROM t WHERE pkey NOT IN (7) FOR UPDATE", vec![]),
            ("SELECT c FROM t WHERE pkey = c FOR UPDATE", vec![]),
            ("SELECT c FROM t, u WHERE pkey = 7 FOR UPDATE", vec![]),
            ("SELECT c FROM t JOIN u ON true WHERE pkey = 7", vec![]),
            ("SELECT (SELECT 1 FROM u) FROM t WHERE pkey = 7", vec![]),
            ("INSERT INTO t VALUES (7)", vec![]),
        ] {
            let found = key_lookups(sql, &tidb).into_iter();
            let found: Vec<(Vec<i64>, bool)> = found
                .map(|found| (found.values.into_iter().collect(), found.alone))
                .collect();
            assert_eq!(found, expected, "{sql}");
        }
    }
}
