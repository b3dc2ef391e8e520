//! The order of a result, where ORDER BY fixes it by row keys: those of tables, or those that a CTE or a view passes on.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, OrderByKind, Query, Select, SelectItem, Statement, TableFactor, TableWithJoins,
};

use super::query::{
    NamedRelation, ROW_KEY, column_name, grouped, keeps_rows_apart, last_name, relations,
};
use super::walk::{SyntaxNode, walk};
use crate::model::RowOrder;

/// Whether ORDER BY fixes a total order: it names the row key of every table in FROM, or of the one CTE there that passes
/// such a key on.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
pub(super) fn row_order(query: &Query) -> RowOrder {
    let total = || {
        let select = query.body.as_select()?;
        if grouped(select) || (query.with.is_some() && !reads_one_cte(query, select)) {
            return None;
        }
        let (tables, other) = relations(&select.from);
        if tables.is_empty() || other {
            return None;
        }
        let OrderByKind::Expressions(keys) = &query.order_by.as_ref()?.kind else {
            return None;
        };
        let named = |table: &NamedRelation| {
            keys.iter().any(|key| match &key.expr {
                Expr::Identifier(column) => tables.len() == 1 && is_row_key(column),
                Expr::CompoundIdentifier(parts) => {
                    matches!(parts.as_slice(), [.., owner, column] if is_row_key(column)
                        && owner.value.eq_ignore_ascii_case(&table.called))
                }
                _ => false,
            })
        };
        // A select list may give the name `pkey` to another expression, and ORDER BY would mean it.
        let renamed = select.projection.iter().any(
            |item| matches!(item, SelectItem::ExprWithAlias { alias, .. } if is_row_key(alias)),
        );
        (!renamed && tables.iter().all(named)).then_some(())
    };
    if total().is_some() {
        RowOrder::Total
    } else {
        RowOrder::Unordered
    }
}

fn is_row_key(column: &Ident) -> bool {
    column.value.eq_ignore_ascii_case(ROW_KEY)
}

/// The table of a query each of whose rows is a row of that table, with its row key under its own name: no two have the same.
fn passes_row_key(query: &Query) -> Option<&str> {
    let select = query.body.as_select()?;
    let is_plain = keeps_rows_apart(query, select) && query.locks.is_empty();
    // A function may be an aggregate or a window function, or give several rows for one.
    let calls = select.projection.iter().any(|item| {
        let met = walk(item, &mut |node| match node {
            SyntaxNode::Query(_) | SyntaxNode::Expression(Expr::Function(_)) => {
                ControlFlow::Break(())
            }
            SyntaxNode::QueryEnd
            | SyntaxNode::Table(_)
            | SyntaxNode::Relation(_)
            | SyntaxNode::Expression(_) => ControlFlow::Continue(()),
        });
        met.is_break()
    });
    let table = only_table(&select.from)?;
    (is_plain && !calls && shows_row_key(select)).then_some(table)
}

/// The same of a statement.
pub(super) fn table_passed_on(tree: &Statement) -> Option<&str> {
    let Statement::Query(query) = tree else {
        return None;
    };
    passes_row_key(query)
}

/// Whether a query has one CTE, which is all of its FROM and passes the row key of a table on.
fn reads_one_cte(query: &Query, select: &Select) -> bool {
    let Some(with) = query.with.as_ref().filter(|with| !with.recursive) else {
        return false;
    };
    let [cte] = with.cte_tables.as_slice() else {
        return false;
    };
    let name = &cte.alias.name.value;
    query.locks.is_empty()
        && cte.alias.columns.is_empty()
        && only_table(&select.from).is_some_and(|table| table.eq_ignore_ascii_case(name))
        && passes_row_key(&cte.query).is_some()
}

/// The one table of a FROM clause, under its own column names.
fn only_table(from: &[TableWithJoins]) -> Option<&str> {
    let [
        TableWithJoins {
            relation:
                TableFactor::Table {
                    name,
                    alias,
                    args: None,
                    ..
                },
            joins,
        },
    ] = from
    else {
        return None;
    };
    let renames = alias
        .as_ref()
        .is_some_and(|alias| !alias.columns.is_empty());
    (joins.is_empty() && !renames)
        .then(|| last_name(name))
        .flatten()
}

/// Whether the row key, and nothing else, has its name in the result.
fn shows_row_key(select: &Select) -> bool {
    let is_key = |name: &str| name.eq_ignore_ascii_case(ROW_KEY);
    let is_other = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => is_key(&alias.value),
        SelectItem::ExprWithAliases { .. } => true,
        SelectItem::UnnamedExpr(_)
        | SelectItem::Wildcard(_)
        | SelectItem::QualifiedWildcard(..) => false,
    };
    let is_it = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(shown) => column_name(shown).is_some_and(is_key),
        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => true,
        SelectItem::ExprWithAlias { .. } | SelectItem::ExprWithAliases { .. } => false,
    };
    let items = &select.projection;
    items.iter().any(is_it) && !items.iter().any(is_other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SetupStatement;
    use crate::statement::tests::dialect;
    use crate::statement::{Catalog, analyze, setup_kind};

    #[test]
    fn a_cte_that_passes_the_row_key_on_is_sorted_by_it() {
        let is_total = |body: &str, read: &str| {
            let sql = format!("WITH w AS ({body}) {read}");
            analyze(&sql, &dialect("mysql")).row_order == RowOrder::Total
        };
        let sorted = "SELECT * FROM w ORDER BY w.pkey";
        for body in [
            "SELECT pkey, c FROM t",
            "SELECT a.pkey, a.c AS d FROM t AS a WHERE a.c IN (SELECT c FROM u)",
            "SELECT * FROM t",
        ] {
            assert!(is_total(body, sorted), "{body}");
        }
        for read in [
            "SELECT x.c FROM w AS x WHERE x.c > 1 ORDER BY x.pkey DESC LIMIT 2",
            "SELECT c FROM W ORDER BY pkey",
        ] {
            assert!(is_total("SELECT pkey, c FROM t", read), "{read}");
        }
        for body in [
            "SELECT c AS pkey FROM t",
            "SELECT pkey AS d, c AS pkey FROM t",
            "SELECT c FROM t",
            "SELECT DISTINCT pkey FROM t",
            "SELECT pkey, COUNT(*) FROM t GROUP BY pkey, c",
            "SELECT pkey, ROW_NUMBER() OVER (ORDER BY c) FROM t",
            "SELECT pkey FROM t LIMIT 2",
            "SELECT pkey FROM t UNION ALL SELECT pkey FROM u",
            "SELECT t.pkey FROM t JOIN u ON t.c = u.c",
            "SELECT pkey FROM (SELECT pkey FROM t) AS d",
        ] {
            assert!(!is_total(body, sorted), "{body}");
        }
        for read in [
            "SELECT * FROM w ORDER BY w.c",
            "SELECT w.c FROM w JOIN t ON w.c = t.c ORDER BY w.pkey, t.pkey",
            "SELECT * FROM w AS a, w AS b ORDER BY a.pkey",
            "SELECT c FROM w GROUP BY c ORDER BY pkey",
            "SELECT c AS pkey FROM w ORDER BY pkey",
        ] {
            assert!(!is_total("SELECT pkey, c FROM t", read), "{read}");
        }
        let renamed = "WITH w (c, pkey) AS (SELECT pkey, c FROM t) SELECT * FROM w ORDER BY w.pkey";
        assert_eq!(
            analyze(renamed, &dialect("mysql")).row_order,
            RowOrder::Unordered
        );
    }

    #[test]
    fn a_view_that_passes_the_row_key_on_is_sorted_by_it() {
        let setup = [
            "CREATE TABLE t (pkey INT PRIMARY KEY, c INT)",
            "CREATE TABLE u (pkey INT PRIMARY KEY, c INT)",
            "CREATE VIEW v AS SELECT pkey, c FROM t WHERE c > 1",
            "CREATE VIEW over_v AS SELECT * FROM v",
            "CREATE VIEW renamed (c, pkey) AS SELECT pkey, c FROM t",
            "CREATE VIEW called AS SELECT c AS pkey FROM t",
            "CREATE VIEW over_called AS SELECT * FROM called",
            "CREATE VIEW joined AS SELECT t.pkey FROM t JOIN u ON t.c = u.c",
            "CREATE VIEW cut AS SELECT pkey, c FROM t LIMIT 2",
        ];
        let dialect = dialect("mysql");
        let setup = setup.map(|sql| SetupStatement {
            sql: sql.to_owned(),
            kind: setup_kind(sql, &dialect),
        });
        let catalog = Catalog::of(&setup, &dialect);
        let is_total = |sql: &str| catalog.effect(sql, &dialect).row_order == RowOrder::Total;
        for sql in [
            "SELECT * FROM v ORDER BY v.pkey",
            "SELECT c FROM over_v AS x ORDER BY x.pkey LIMIT 1",
            "WITH w AS (SELECT pkey FROM v) SELECT * FROM w ORDER BY w.pkey",
        ] {
            assert!(is_total(sql), "{sql}");
        }
        for view in ["renamed", "called", "over_called", "joined", "cut"] {
            let sql = format!("SELECT * FROM {view} ORDER BY pkey");
            assert!(!is_total(&sql), "{sql}");
        }
        for sql in [
            "SELECT * FROM v ORDER BY v.c",
            "SELECT v.c FROM v JOIN u ON v.c = u.c ORDER BY v.pkey, u.pkey",
            "SELECT * FROM v ORDER BY v.pkey FOR UPDATE",
        ] {
            assert!(!is_total(sql), "{sql}");
        }
    }
}
