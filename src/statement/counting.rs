//! Which rows of an INSERT or REPLACE take a number from the counter of a column.

use sqlparser::ast::{
    BinaryOperator, Expr, Insert, OnInsert, Query, SelectItem, SetExpr, Statement, TableObject,
    Value,
};

use super::effect::analyze;
use super::parse::{Parsed, number};
use super::query::{ROW_KEY, column_name, last_name};
use super::row_order::row_order;
use crate::dialect::Dialect;
use crate::model::{
    CaseStatement, Effect, RowOrder, SetupKind, StatementKind, TableShape, TestCase,
};

/// What one row of a VALUES list gives a column that has a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// No value, DEFAULT, NULL or 0: the counter fills it.
    Counted,
    /// This number.
    Given(i64),
    /// An expression, which may be NULL or 0.
    Either,
}

/// Which rows take a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counting {
    /// None.
    Never,
    /// Those of a VALUES list, in order.
    Rows(Vec<Filling>),
    /// Those of a query, or some of them.
    Query {
        /// A total order says which row takes which number.
        ordered: bool,
    },
    /// The text does not tell.
    Unknown,
}

/// An INSERT or REPLACE into a table with such a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedInsert {
    pub counting: Counting,
    /// A row may be left out: IGNORE.
    pub ignores: bool,
    /// A row may be changed instead: ON DUPLICATE KEY UPDATE.
    pub updates: bool,
    /// Rows that stand in the way go: REPLACE.
    pub replaces: bool,
    pub returns: Returned,
}

/// What an INSERT or REPLACE says of the numbers that its rows took. One that returns rows does not say which number
/// came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// It returns no rows.
    Nothing,
    /// The counted column is this one of the columns that it returns, counted from 0.
    Number(usize),
    /// Its rows do not show it, or the text does not tell where.
    Elsewhere,
}

/// How an INSERT or REPLACE fills the counted column of its target, by its text; `tables` are those of the case. None
/// where the target has no such column.
fn counting(
    sql: &str,
    target: &TableShape,
    tables: &[TableShape],
    dialect: &Dialect,
) -> Option<CountedInsert> {
    let place = target.columns.iter().position(|column| column.counted)?;
    let parsed = Parsed::of(sql, dialect).map(|parsed| parsed.tree);
    let Some(Statement::Insert(insert)) = parsed else {
        return Some(CountedInsert {
            counting: Counting::Unknown,
            ignores: false,
            updates: false,
            replaces: false,
            returns: Returned::Elsewhere,
        });
    };
    Some(CountedInsert {
        counting: of_insert(&insert, target, place, tables),
        ignores: insert.ignore,
        updates: matches!(insert.on, Some(OnInsert::DuplicateKeyUpdate(_))),
        replaces: insert.replace_into,
        returns: returned(&insert, target, place),
    })
}

/// Where the counted column stands, which is this one of the target, in what an INSERT returns.
fn returned(insert: &Insert, target: &TableShape, place: usize) -> Returned {
    let Some(items) = &insert.returning else {
        return Returned::Nothing;
    };
    let is_target = |name: &str| name.eq_ignore_ascii_case(&target.name);
    let by_its_name = match &insert.table {
        TableObject::TableName(name) => last_name(name).is_some_and(is_target),
        TableObject::TableFunction(_) | TableObject::TableQuery(_) => false,
    };
    let at = match items.as_slice() {
        [SelectItem::Wildcard(_)] => Some(place),
        items => items.iter().position(|item| {
            let SelectItem::UnnamedExpr(expression) = item else {
                return false;
            };
            column_name(expression)
                .is_some_and(|name| name.eq_ignore_ascii_case(&target.columns[place].name))
        }),
    };
    let has_other_wildcard = items.len() > 1 && !items.iter().all(is_one);
    match at.filter(|_| by_its_name && !has_other_wildcard) {
        Some(at) => Returned::Number(at),
        None => Returned::Elsewhere,
    }
}

/// How a statement of a session uses a counter, and whose; none where it takes no number.
pub fn counted_insert<'c>(
    case: &'c TestCase,
    statement: &CaseStatement,
    dialect: &Dialect,
) -> Option<(&'c TableShape, CountedInsert)> {
    of_text(case, &statement.sql, &statement.effect, dialect)
}

/// Whether a statement of the set-up may take a number from a counter.
pub fn set_up_counts(case: &TestCase, dialect: &Dialect) -> bool {
    let mut rows = case.setup.iter().filter(|s| s.kind == SetupKind::Rows);
    case.tables.iter().any(TableShape::has_counter)
        && rows.any(|statement| {
            let effect = analyze(&statement.sql, dialect);
            effect.kind == StatementKind::Opaque
                || of_text(case, &statement.sql, &effect, dialect).is_some()
        })
}

fn of_text<'c>(
    case: &'c TestCase,
    sql: &str,
    effect: &Effect,
    dialect: &Dialect,
) -> Option<(&'c TableShape, CountedInsert)> {
    let inserts = matches!(
        effect.kind,
        StatementKind::Insert | StatementKind::InsertSelect | StatementKind::Replace
    );
    if !inserts {
        return None;
    }
    let mut targets = effect.targets().filter_map(|name| case.table(name));
    targets.find_map(|table| {
        let insert = counting(sql, table, &case.tables, dialect)?;
        (insert.counting != Counting::Never).then_some((table, insert))
    })
}

fn of_insert(
    insert: &Insert,
    target: &TableShape,
    place: usize,
    tables: &[TableShape],
) -> Counting {
    let is_it = |name: &str| name.eq_ignore_ascii_case(&target.columns[place].name);
    if !insert.assignments.is_empty() {
        return Counting::Unknown;
    }
    let Some(source) = insert.source.as_deref() else {
        return Counting::Unknown;
    };
    let listed = insert
        .columns
        .iter()
        .position(|name| last_name(name).is_some_and(is_it));
    let at = match insert.columns.is_empty() {
        true => Some(place),
        false => listed,
    };
    match source.body.as_ref() {
        SetExpr::Values(values) => {
            let rows = values.rows.iter();
            let fillings = rows.map(|row| {
                at.and_then(|at| row.get(at))
                    .map_or(Filling::Counted, filling)
            });
            let fillings: Vec<Filling> = fillings.collect();
            let given = |filling: &Filling| matches!(filling, Filling::Given(_));
            match fillings.iter().all(given) {
                true => Counting::Never,
                false => Counting::Rows(fillings),
            }
        }
        SetExpr::Select(select) => match at.map(|at| (at, select.projection.get(at))) {
            Some((at, Some(item)))
                if gives_each_a_value(select.projection.iter().take(at), item, tables) =>
            {
                Counting::Never
            }
            Some(_) | None => of_query(source),
        },
        SetExpr::Query(_)
        | SetExpr::SetOperation { .. }
        | SetExpr::Insert(_)
        | SetExpr::Update(_)
        | SetExpr::Delete(_)
        | SetExpr::Merge(_)
        | SetExpr::Table(_) => of_query(source),
    }
}

fn of_query(source: &Query) -> Counting {
    Counting::Query {
        ordered: row_order(source) == RowOrder::Total,
    }
}

/// Whether a projection gives every row a number that is neither NULL nor 0: a number, or a row key and a number,
/// where row keys are never NULL. One behind an asterisk has an unknown place.
fn gives_each_a_value<'i>(
    mut before: impl Iterator<Item = &'i SelectItem>,
    item: &SelectItem,
    tables: &[TableShape],
) -> bool {
    let (SelectItem::UnnamedExpr(expression)
    | SelectItem::ExprWithAlias {
        expr: expression, ..
    }) = item
    else {
        return false;
    };
    let keys_are_sure = || {
        tables.iter().all(|table| {
            let key = table.row_key.as_deref().and_then(|key| table.column(key));
            key.is_none_or(|at| table.columns[at].not_null)
        })
    };
    let is_given = if let Expr::BinaryOp {
        left,
        op: BinaryOperator::Plus,
        right,
    } = expression
    {
        is_row_key(left) && number::<i64>(right).is_some_and(|n| n > 0) && keys_are_sure()
    } else {
        matches!(filling(expression), Filling::Given(_))
    };
    before.all(is_one) && is_given
}

/// An item of a select list that gives one column.
fn is_one(item: &SelectItem) -> bool {
    matches!(
        item,
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
    )
}

fn is_row_key(expression: &Expr) -> bool {
    column_name(expression).is_some_and(|name| name.eq_ignore_ascii_case(ROW_KEY))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn filling(expression: &Expr) -> Filling {
    if let Some(given) = number::<i64>(expression) {
        return match given {
            0 => Filling::Counted,
            given => Filling::Given(given),
        };
    }
    match expression {
        Expr::Value(value) if value.value == Value::Null => Filling::Counted,
        Expr::Identifier(name)
            if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("DEFAULT") =>
        {
            Filling::Counted
        }
        _ => Filling::Either,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SetupKind, SetupStatement};
    use crate::statement::shapes;
    use crate::statement::tests::dialect;

    fn read(sql: &str) -> CountedInsert {
        let mysql = dialect("mysql");
        let setup = [
            "CREATE TABLE t (c INT, pkey BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY)",
            "CREATE TABLE u (pkey BIGINT NOT NULL PRIMARY KEY, c INT)",
        ]
        .map(|sql| SetupStatement {
            sql: sql.to_owned(),
            kind: SetupKind::Schema,
        });
        let tables = shapes(&setup, &mysql);
        assert_eq!(
            counting(sql, &tables[1], &tables, &mysql),
            None,
            "u counts nothing"
        );
        counting(sql, &tables[0], &tables, &mysql).expect("t has a counted column")
    }

    #[test]
    fn a_row_is_counted_where_it_names_no_number() {
        use Filling::{Counted, Either, Given};
        let rows = |sql: &str| match read(sql).counting {
            Counting::Rows(rows) => rows,
            other @ (Counting::Never | Counting::Query { .. } | Counting::Unknown) => {
                panic!("{sql}: {other:?}")
            }
        };
        assert_eq!(
            rows("INSERT INTO t (c) VALUES (1), (2)"),
            [Counted, Counted]
        );
        assert_eq!(rows("INSERT INTO t VALUES (1, NULL)"), [Counted]);
        assert_eq!(
            rows("REPLACE INTO t (PKEY, c) VALUES (DEFAULT, 1), (0, 1), (7, 1), (1 + 1, 1)"),
            [Counted, Counted, Given(7), Either]
        );
        assert_eq!(rows("INSERT INTO t VALUES ()"), [Counted]);
    }

    #[test]
    fn what_every_row_is_given_is_not_counted() {
        for sql in [
            "INSERT INTO t VALUES (1, 2), (1, 3)",
            "INSERT INTO t (c, pkey) SELECT 1, u.pkey + 4096 FROM u",
            "INSERT INTO t (pkey) SELECT 5 FROM u LIMIT 1",
        ] {
            assert_eq!(read(sql).counting, Counting::Never, "{sql}");
        }
    }

    #[test]
    fn a_query_is_ordered_by_the_row_key_alone() {
        for (sql, ordered) in [
            ("INSERT INTO t (c) SELECT u.c FROM u ORDER BY u.pkey", true),
            ("INSERT INTO t (c) SELECT u.c FROM u ORDER BY u.c", false),
            ("INSERT INTO t (pkey, c) SELECT u.c, 1 FROM u", false),
            ("INSERT INTO t (pkey, c) SELECT u.pkey - 1, 1 FROM u", false),
            ("INSERT INTO t SELECT u.*, u.pkey + 1 FROM u", false),
            ("INSERT INTO t (c) SELECT 1 UNION SELECT 2", false),
        ] {
            assert_eq!(read(sql).counting, Counting::Query { ordered }, "{sql}");
        }
    }

    #[test]
    fn a_text_that_is_not_read_counts_in_a_way_that_is_not_known() {
        assert_eq!(read("INSERT INTO t SET c = 1").counting, Counting::Unknown);
        assert_eq!(
            read("INSERT INTO t (c VALUES (1)").counting,
            Counting::Unknown
        );
    }

    #[test]
    fn what_may_keep_a_row_out_is_told() {
        let insert = read("INSERT IGNORE INTO t (c) VALUES (1)");
        assert!(insert.ignores && !insert.updates && !insert.replaces);
        let insert = read("INSERT INTO t (c) VALUES (1) ON DUPLICATE KEY UPDATE c = 2");
        assert!(!insert.ignores && insert.updates);
        assert!(read("REPLACE INTO t (c) VALUES (1)").replaces);
    }

    #[test]
    fn the_place_of_the_number_in_what_is_returned_is_told() {
        let table = [
            ("INSERT INTO t (c) VALUES (1)", Returned::Nothing),
            (
                "INSERT INTO t (c) VALUES (1) RETURNING *",
                Returned::Number(1),
            ),
            (
                "REPLACE INTO t (c) VALUES (1) RETURNING c + 1, t.PKEY",
                Returned::Number(1),
            ),
            (
                "INSERT INTO t (c) VALUES (1) RETURNING pkey",
                Returned::Number(0),
            ),
            (
                "INSERT INTO t (c) VALUES (1) RETURNING c, pkey + 1",
                Returned::Elsewhere,
            ),
            (
                "INSERT INTO t (c) VALUES (1) RETURNING t.*, pkey",
                Returned::Elsewhere,
            ),
            (
                "INSERT INTO a_view (c) VALUES (1) RETURNING *",
                Returned::Elsewhere,
            ),
        ];
        for (sql, expected) in table {
            assert_eq!(read(sql).returns, expected, "{sql}");
        }
    }
}
