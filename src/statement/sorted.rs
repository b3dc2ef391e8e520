//! A sorted read of one table, told so that each row of its result names the stored row it shows.

use sqlparser::ast::{Expr, Ident, LimitClause, Query, Select, SelectItem, SetExpr, Statement};

use super::parse::{Parsed, number};
use super::query::{ROW_KEY, relations};
use super::row_order::row_order;
use crate::dialect::Dialect;
use crate::model::RowOrder;

/// A sorted read without its LIMIT and its lock clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedRead {
    /// Gives every row in order, the row key before its cells.
    pub sql: String,
    /// How many rows the read passes over.
    pub offset: usize,
    /// How many rows it gives at most; none where there is no LIMIT.
    pub limit: Option<usize>,
}

/// A SELECT of one table whose ORDER BY is total; None for any other statement.
pub fn sorted_read(sql: &str, dialect: &Dialect) -> Option<SortedRead> {
    let parsed = Parsed::of(sql, dialect)?;
    let Statement::Query(query) = &parsed.tree else {
        return None;
    };
    let total = row_order(query) == RowOrder::Total;
    let (offset, limit) = cut(query).filter(|_| total)?;
    let mut whole = query.clone();
    whole.limit_clause = None;
    whole.locks.clear();
    let SetExpr::Select(select) = whole.body.as_mut() else {
        return None;
    };
    if !shows_rows_of_one_table(select) {
        return None;
    }
    let key = SelectItem::UnnamedExpr(Expr::Identifier(Ident::new(ROW_KEY)));
    select.projection.insert(0, key);
    let sql = parsed.print(&Statement::Query(whole), dialect)?;
    Some(SortedRead { sql, offset, limit })
}

/// Whether each row of the result shows a row of the one table in FROM.
fn shows_rows_of_one_table(select: &Select) -> bool {
    let (tables, other) = relations(&select.from);
    tables.len() == 1 && !other && select.distinct.is_none() && select.having.is_none()
}

/// OFFSET and LIMIT, as numbers that stand in the text; the outer None for any other limit.
fn cut(query: &Query) -> Option<(usize, Option<usize>)> {
    if query.fetch.is_some() {
        return None;
    }
    match &query.limit_clause {
        None => Some((0, None)),
        Some(LimitClause::LimitOffset {
            limit,
            offset,
            limit_by,
        }) if limit_by.is_empty() => {
            let offset = offset
                .as_ref()
                .map_or(Some(0), |offset| number(&offset.value))?;
            match limit {
                None => Some((offset, None)),
                Some(limit) => Some((offset, Some(number(limit)?))),
            }
        }
        Some(LimitClause::LimitOffset { .. }) => None,
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
            Some((number(offset)?, Some(number(limit)?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::tests::dialect;

    #[test]
    fn a_sorted_read_names_the_stored_row_of_each_row() {
        let dialect = dialect("postgres");
        let read = |sql: &str| {
            let read = sorted_read(sql, &dialect)?;
            Some((read.sql, read.offset, read.limit))
        };
        assert_eq!(
            read(
                "SELECT a.c FROM t AS a WHERE a.c > 1 ORDER BY a.c DESC, a.pkey LIMIT 2 FOR UPDATE"
            ),
            Some((
                "SELECT pkey, a.c FROM t AS a WHERE a.c > 1 ORDER BY a.c DESC, a.pkey".to_owned(),
                0,
                Some(2)
            ))
        );
        assert_eq!(
            read("SELECT * FROM t ORDER BY pkey OFFSET 1;"),
            Some(("SELECT pkey, * FROM t ORDER BY pkey".to_owned(), 1, None))
        );
        for other in [
            "SELECT c FROM t ORDER BY c FOR UPDATE",
            "SELECT DISTINCT pkey FROM t ORDER BY pkey",
            "SELECT t.pkey FROM t JOIN u ON t.pkey = u.pkey ORDER BY t.pkey, u.pkey",
            "SELECT c FROM t ORDER BY pkey LIMIT 1 + 1",
            "DELETE FROM t",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
