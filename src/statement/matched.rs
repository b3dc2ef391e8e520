//! The rows that a write will touch, and what it looks at to find and make them, as queries of their own.

use sqlparser::ast::{
    Assignment, Expr, OrderByExpr, SetExpr, Statement, TableFactor, TableWithJoins,
};

use super::parse::Parsed;
use super::query::deleted_from;
use crate::dialect::Dialect;

/// A query with these columns for the rows that an UPDATE or DELETE of one table matches: its own
/// table, condition, order and limit. None for any other statement.
pub fn matched_rows(sql: &str, columns: &str, dialect: &Dialect) -> Option<String> {
    let parsed = Parsed::of(sql, dialect)?;
    Some(Matched::of(&parsed.tree)?.query(columns))
}

/// A query whose answer depends on each row that makes a difference to what a write does: the SELECT of an INSERT; of an
/// UPDATE or DELETE of one table how many rows match, or each of these with what its subqueries in SET give. None for
/// any other statement.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub fn search_of_write(sql: &str, dialect: &Dialect) -> Option<String> {
    let parsed = Parsed::of(sql, dialect)?;
    let assignments: &[Assignment] = match &parsed.tree {
        Statement::Insert(insert) => {
            let source = insert.source.as_ref()?;
            let is_query = !matches!(source.body.as_ref(), SetExpr::Values(_));
            return is_query.then(|| source.to_string());
        }
        Statement::Update(update) => &update.assignments,
        _ => &[],
    };
    let given = assignments.iter().map(|given| given.value.to_string());
    let subqueries: Vec<String> = given.filter(|value| value.contains("SELECT ")).collect();
    let columns = match subqueries.is_empty() {
        true => "COUNT(*)".to_owned(),
        false => format!("1, {}", subqueries.join(", ")),
    };
    Some(Matched::of(&parsed.tree)?.query(&columns))
}

/// What says which rows a write of one table touches.
struct Matched<'a> {
    table: &'a TableFactor,
    condition: Option<&'a Expr>,
    order: &'a [OrderByExpr],
    limit: Option<&'a Expr>,
}

impl<'a> Matched<'a> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "an enum of sqlparser, which grows with its releases"
    )]
    fn of(tree: &'a Statement) -> Option<Self> {
        match tree {
            Statement::Update(update) if update.from.is_none() => Some(Self {
                table: alone(std::slice::from_ref(&update.table))?,
                condition: update.selection.as_ref(),
                order: &update.order_by,
                limit: update.limit.as_ref(),
            }),
            Statement::Delete(delete) if delete.tables.is_empty() && delete.using.is_none() => {
                Some(Self {
                    table: alone(deleted_from(delete))?,
                    condition: delete.selection.as_ref(),
                    order: &delete.order_by,
                    limit: delete.limit.as_ref(),
                })
            }
            _ => None,
        }
    }
}

impl Matched<'_> {
    fn query(&self, columns: &str) -> String {
        let mut query = format!("SELECT {columns} FROM {}", self.table);
        if let Some(condition) = self.condition {
            query.push_str(&format!(" WHERE {condition}"));
        }
        if !self.order.is_empty() {
            let order: Vec<String> = self.order.iter().map(ToString::to_string).collect();
            query.push_str(&format!(" ORDER BY {}", order.join(", ")));
        }
        if let Some(limit) = self.limit {
            query.push_str(&format!(" LIMIT {limit}"));
        }
        query
    }
}

/// The one table that these name.
fn alone(tables: &[TableWithJoins]) -> Option<&TableFactor> {
    match tables {
        [one] if one.joins.is_empty() && matches!(one.relation, TableFactor::Table { .. }) => {
            Some(&one.relation)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::tests::dialect;

    #[test]
    fn a_write_of_one_table_tells_which_rows_it_matches() {
        let table = [
            (
                "UPDATE t SET a = 1 WHERE b > 2;",
                Some("SELECT k FROM t WHERE b > 2"),
            ),
            (
                "UPDATE t AS r SET r.a = 1 WHERE r.b IN (1, 2) ORDER BY r.k DESC LIMIT 3",
                Some("SELECT k FROM t AS r WHERE r.b IN (1, 2) ORDER BY r.k DESC LIMIT 3"),
            ),
            ("DELETE FROM t", Some("SELECT k FROM t")),
            (
                "DELETE FROM t WHERE a IS NULL LIMIT 1",
                Some("SELECT k FROM t WHERE a IS NULL LIMIT 1"),
            ),
            ("UPDATE t JOIN u ON t.a = u.a SET t.b = 1", None),
            ("DELETE t FROM t JOIN u ON t.a = u.a", None),
            ("INSERT INTO t VALUES (1)", None),
            ("SELECT * FROM t", None),
        ];
        for (sql, expected) in table {
            let query = matched_rows(sql, "k", &dialect("mysql"));
            assert_eq!(query.as_deref(), expected, "{sql}");
        }
    }

    #[test]
    fn a_write_tells_what_it_looks_at() {
        let table = [
            ("INSERT INTO t (k) VALUES (1)", None),
            (
                "INSERT INTO t (k, a) SELECT u.k + 4096, u.a FROM u WHERE u.a > 1",
                Some("SELECT u.k + 4096, u.a FROM u WHERE u.a > 1"),
            ),
            (
                "REPLACE INTO t (k) SELECT u.k FROM u",
                Some("SELECT u.k FROM u"),
            ),
            (
                "UPDATE t SET a = 1 WHERE b IN (SELECT u.b FROM u)",
                Some("SELECT COUNT(*) FROM t WHERE b IN (SELECT u.b FROM u)"),
            ),
            (
                "UPDATE t SET v = 7, a = (SELECT MAX(u.a) FROM u) WHERE k = 1",
                Some("SELECT 1, (SELECT MAX(u.a) FROM u) FROM t WHERE k = 1"),
            ),
            (
                "DELETE FROM t WHERE k = 1",
                Some("SELECT COUNT(*) FROM t WHERE k = 1"),
            ),
            ("UPDATE t JOIN u ON t.k = u.k SET t.a = 1", None),
            ("SELECT k FROM t", None),
        ];
        for (sql, expected) in table {
            let query = search_of_write(sql, &dialect("mysql"));
            assert_eq!(query.as_deref(), expected, "{sql}");
        }
    }
}
