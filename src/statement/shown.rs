//! Which stored rows a query's result shows: columns that stand in it as they are.

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Statement, TableWithJoins,
};

use super::parse::Parsed;
use super::query::{NamedRelation, last_name, relations};
use crate::dialect::Dialect;
use crate::model::TableShape;

/// ShownColumns of one table in the rows of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownTable {
    pub table: String,
    /// The place in the result's row, from 0, and the column of the table, by its place in the shape.
    pub columns: Vec<(usize, usize)>,
}

/// What the rows of a result show of stored rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownRows {
    /// Cells of a row.
    pub width: usize,
    /// A table that stands twice in FROM is listed twice.
    pub tables: Vec<ShownTable>,
}

/// What each row of a query's result shows of a stored row of the tables in its FROM; None where a row
/// may stand for several stored ones or for none (groups, aggregates, set operations, CTEs, derived
/// tables), and for other statements.
pub fn shown_rows(sql: &str, dialect: &Dialect, tables: &[TableShape]) -> Option<ShownRows> {
    let parsed = Parsed::of(sql, dialect)?;
    let Statement::Query(query) = &parsed.tree else {
        return None;
    };
    let select = plain_select(query)?;
    let (named, other) = relations(&select.from);
    if other || named.is_empty() {
        return None;
    }
    let mut shown = Vec::new();
    for relation in &named {
        let shape = tables
            .iter()
            .find(|shape| shape.name.eq_ignore_ascii_case(&relation.table))?;
        shown.push((relation, shape, Vec::new()));
    }
    let mut width = 0;
    for item in &select.projection {
        project(item, &select.from, &mut shown, &mut width)?;
    }
    let tables = shown
        .into_iter()
        .map(|(_, shape, columns)| ShownTable {
            table: shape.name.clone(),
            columns,
        })
        .collect();
    Some(ShownRows { width, tables })
}

/// The SELECT of a query whose rows are joined stored rows.
fn plain_select(query: &Query) -> Option<&Select> {
    let select = query.body.as_select()?;
    let grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(keys, modifiers) => !keys.is_empty() || !modifiers.is_empty(),
    };
    let partly_locked = query.locks.iter().any(|lock| lock.of.is_some());
    let plain = query.with.is_none() && !grouped && select.having.is_none() && !partly_locked;
    plain.then_some(select)
}

type ShownColumns<'a> = (&'a NamedRelation, &'a TableShape, Vec<(usize, usize)>);

/// Adds the columns of one item of the select list; None where it cannot be told how many cells it
/// has, or where it may be an aggregate.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn project(
    item: &SelectItem,
    from: &[TableWithJoins],
    shown: &mut [ShownColumns<'_>],
    width: &mut usize,
) -> Option<()> {
    let expression = match item {
        SelectItem::Wildcard(_) => {
            // USING and NATURAL show the columns that they compare once.
            if from.iter().flat_map(|item| &item.joins).any(merges_columns) {
                return None;
            }
            shown.iter_mut().for_each(|table| whole(table, width));
            return Some(());
        }
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            let owner = last_name(name)?;
            let mut owners = shown.iter_mut().filter(|(r, ..)| is_called(r, owner));
            whole(owners.next()?, width);
            return Some(());
        }
        SelectItem::UnnamedExpr(expression)
        | SelectItem::ExprWithAlias {
            expr: expression, ..
        } => expression,
        _ => return None,
    };
    let place = *width;
    *width += 1;
    match expression {
        Expr::Identifier(column) => {
            let having =
                |(_, shape, _): &&mut ShownColumns<'_>| shape.column(&column.value).is_some();
            let mut owners = shown.iter_mut().filter(having);
            let (Some(owner), None) = (owners.next(), owners.next()) else {
                return Some(());
            };
            add(owner, column, place);
        }
        Expr::CompoundIdentifier(parts) => {
            if let [.., owner, column] = parts.as_slice() {
                let mut owners = shown.iter_mut();
                if let Some(owner) = owners.find(|(r, ..)| is_called(r, &owner.value)) {
                    add(owner, column, place);
                }
            }
        }
        Expr::Value(_) => {}
        // It may hold an aggregate, and the row then stand for many.
        _ => return None,
    }
    Some(())
}

fn merges_columns(join: &sqlparser::ast::Join) -> bool {
    let (JoinOperator::Join(constraint)
    | JoinOperator::Inner(constraint)
    | JoinOperator::Left(constraint)
    | JoinOperator::LeftOuter(constraint)
    | JoinOperator::CrossJoin(constraint)) = &join.join_operator
    else {
        return true;
    };
    matches!(
        constraint,
        JoinConstraint::Using(_) | JoinConstraint::Natural
    )
}

fn is_called(relation: &NamedRelation, name: &str) -> bool {
    relation.called.eq_ignore_ascii_case(name)
}

fn whole((_, shape, columns): &mut ShownColumns<'_>, width: &mut usize) {
    columns.extend((0..shape.columns.len()).map(|column| (*width + column, column)));
    *width += shape.columns.len();
}

fn add((_, shape, columns): &mut ShownColumns<'_>, column: &Ident, place: usize) {
    columns.extend(shape.column(&column.value).map(|column| (place, column)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SetupStatement;
    use crate::statement::tests::dialect;
    use crate::statement::{setup_kind, shapes};

    type Places = Vec<(usize, usize)>;

    fn shown(sql: &str) -> Option<Vec<(String, Places)>> {
        let mysql = dialect("mysql");
        let setup: Vec<SetupStatement> = ["t", "u"]
            .iter()
            .map(|name| format!("CREATE TABLE {name} (pkey INT PRIMARY KEY, vkey INT, c INT)"))
            .map(|sql| SetupStatement {
                kind: setup_kind(&sql, &mysql),
                sql,
            })
            .collect();
        let rows = shown_rows(sql, &mysql, &shapes(&setup, &mysql))?;
        let tables = rows.tables.into_iter();
        Some(tables.map(|t| (t.table, t.columns)).collect())
    }

    #[test]
    fn stars_and_plain_columns_show_stored_rows() {
        let t = |columns: &[(usize, usize)]| Some(vec![("t".to_owned(), columns.to_vec())]);
        assert_eq!(shown("SELECT * FROM t"), t(&[(0, 0), (1, 1), (2, 2)]));
        assert_eq!(
            shown("SELECT c, a.pkey FROM t AS a WHERE c > 1 ORDER BY pkey LIMIT 2 FOR UPDATE"),
            t(&[(0, 2), (1, 0)])
        );
        assert_eq!(shown("SELECT 7, vkey FROM t"), t(&[(1, 1)]));
        assert_eq!(
            shown("SELECT a.*, b.vkey FROM t AS a LEFT JOIN u AS b ON a.pkey = b.pkey"),
            Some(vec![
                ("t".to_owned(), vec![(0, 0), (1, 1), (2, 2)]),
                ("u".to_owned(), vec![(3, 1)]),
            ])
        );
        assert_eq!(
            shown("SELECT * FROM t AS a JOIN t AS b ON a.pkey = b.c").map(|tables| tables.len()),
            Some(2)
        );
    }

    #[test]
    fn a_row_that_may_stand_for_several_stored_rows_shows_none() {
        for sql in [
            "SELECT COUNT(*), pkey FROM t",
            "SELECT pkey, vkey FROM t GROUP BY pkey, vkey",
            "SELECT pkey FROM t UNION SELECT pkey FROM u",
            "WITH w AS (SELECT * FROM t) SELECT * FROM w",
            "SELECT * FROM (SELECT * FROM t) AS w",
            "SELECT * FROM t JOIN u USING (pkey)",
            "SELECT * FROM t NATURAL JOIN u",
            "UPDATE t SET vkey = 1",
        ] {
            assert_eq!(shown(sql), None, "{sql}");
        }
    }

    #[test]
    fn a_column_that_two_tables_have_is_of_neither() {
        let columns = shown("SELECT pkey, a.vkey FROM t AS a JOIN u AS b ON a.pkey = b.pkey");
        let columns = columns.expect("a join of stored rows");
        assert_eq!(columns[0].1, [(1, 1)]);
        assert_eq!(columns[1].1, []);
    }
}
