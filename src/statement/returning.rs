//! A write that says itself which rows it made or removed.

use sqlparser::ast::{Delete, FromTable, Ident, Statement, TableFactor, TableWithJoins};

use super::parse::Parsed;
use super::token::tokens;
use super::token::without_end;
use crate::dialect::Dialect;
use crate::model::TableShape;

/// The text of an INSERT, UPDATE or DELETE with a RETURNING of every column of its target. None for any
/// other statement, and for a write that has a RETURNING of its own.
pub fn with_returning(sql: &str, shape: &TableShape, dialect: &Dialect) -> Option<String> {
    let words = tokens(sql, dialect)?;
    let words = without_end(&words);
    let parsed = Parsed::new(sql, words, dialect)?;
    let alias = target_alias(&parsed.tree)?;
    let owner = alias.map_or_else(|| dialect.quote(&shape.name), |alias| alias.to_string());
    let columns = shape.columns.iter();
    let columns: Vec<String> = columns
        .map(|column| format!("{owner}.{}", dialect.quote(&column.name)))
        .collect();
    let text = &sql[..words.last()?.span.end];
    Some(format!("{text} RETURNING {}", columns.join(", ")))
}

/// The other name of a write's target, if it has one. The outer None for what is no such write.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn target_alias(tree: &Statement) -> Option<Option<&Ident>> {
    match tree {
        Statement::Insert(insert) if insert.returning.is_none() => {
            Some(insert.table_alias.as_ref().map(|alias| &alias.alias))
        }
        Statement::Update(update) if update.returning.is_none() => alias_of(&update.table),
        Statement::Delete(delete) if delete.returning.is_none() => of_delete(delete),
        _ => None,
    }
}

fn of_delete(delete: &Delete) -> Option<Option<&Ident>> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    match from.as_slice() {
        [one] => alias_of(one),
        _ => None,
    }
}

fn alias_of(table: &TableWithJoins) -> Option<Option<&Ident>> {
    let TableFactor::Table { alias, .. } = &table.relation else {
        return None;
    };
    let alias = alias.as_ref().map(|alias| &alias.name);
    table.joins.is_empty().then_some(alias)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SetupKind, SetupStatement};
    use crate::statement::shapes;
    use crate::statement::tests::dialect;

    #[test]
    fn a_write_returns_every_column_of_its_target() {
        let dialect = dialect("postgres");
        let setup = [SetupStatement {
            sql: "CREATE TABLE t (pkey INT PRIMARY KEY, a INT)".to_owned(),
            kind: SetupKind::Schema,
        }];
        let shape = &shapes(&setup, &dialect)[0];
        let table = [
            (
                "INSERT INTO t (pkey, a) VALUES (1, 2);",
                Some("INSERT INTO t (pkey, a) VALUES (1, 2) RETURNING \"t\".\"pkey\", \"t\".\"a\""),
            ),
            (
                "UPDATE t AS x SET a = u.a FROM u WHERE x.pkey = u.pkey",
                Some(
                    "UPDATE t AS x SET a = u.a FROM u WHERE x.pkey = u.pkey \
                      RETURNING x.\"pkey\", x.\"a\"",
                ),
            ),
            (
                "DELETE FROM t USING u WHERE t.pkey = u.pkey ;",
                Some(
                    "DELETE FROM t USING u WHERE t.pkey = u.pkey \
                      RETURNING \"t\".\"pkey\", \"t\".\"a\"",
                ),
            ),
            ("DELETE FROM t RETURNING a", None),
            ("SELECT a FROM t", None),
        ];
        for (sql, expected) in table {
            let returning = with_returning(sql, shape, &dialect);
            assert_eq!(returning.as_deref(), expected, "{sql}");
        }
    }
}
