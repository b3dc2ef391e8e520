//! A write that says itself which rows it made or removed, and where the engine can, what they were before.

use sqlparser::ast::{
    Delete, Ident, MergeAction, ObjectName, OnConflictAction, OnInsert, Statement, TableFactor,
    TableObject, TableWithJoins,
};

use super::parse::Parsed;
use super::query::deleted_from;
use super::token::tokens;
use super::token::without_end;
use crate::dialect::{Capability, Dialect};
use crate::model::TableShape;

/// A write that returns every column of its target, at the end of what it returns by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturningText {
    pub sql: String,
    /// The write has a RETURNING of its own, which comes first.
    pub has_own: bool,
    /// The columns stand there once more, as they were before.
    pub has_old: bool,
    /// The word for what a MERGE did to the row stands at the end: `INSERT`, `UPDATE` or `DELETE`.
    pub has_action: bool,
}

/// The text of an INSERT, UPDATE, DELETE or MERGE with a RETURNING of every column of its target, behind what it
/// returns already; of what may update rows also as they were before, where the engine tells. None for any other statement.
pub fn with_returning(sql: &str, shape: &TableShape, dialect: &Dialect) -> Option<ReturningText> {
    let words = tokens(sql, dialect)?;
    let words = without_end(&words);
    let parsed = Parsed::new(sql, words, dialect)?;
    // A view is named as itself, not as its table.
    let (owner, has_own) = target(&parsed.tree)?;
    let columns = shape.columns.iter();
    let named = |of: &str| -> Vec<String> {
        let columns = columns.clone();
        let columns = columns.map(|column| format!("{of}.{}", dialect.quote(&column.name)));
        columns.collect()
    };
    let mut returned = named(&owner.to_string());
    // Another thing of that name would be meant by it.
    let has_old = updates(&parsed.tree)
        && dialect.supports(Capability::ReturningOld)
        && !words.iter().any(|word| word.is("OLD"));
    if has_old {
        returned.extend(named("old"));
    }
    let has_action = matches!(parsed.tree, Statement::Merge(_));
    if has_action && !dialect.supports(Capability::Merge) {
        return None;
    }
    returned.extend(has_action.then(|| "merge_action()".to_owned()));
    let text = &sql[..words.last()?.span.end];
    let before = if has_own { "," } else { " RETURNING" };
    Some(ReturningText {
        sql: format!("{text}{before} {}", returned.join(", ")),
        has_own,
        has_old,
        has_action,
    })
}

/// Whether a write may change rows that it finds, and leave them in the table.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn updates(tree: &Statement) -> bool {
    match tree {
        Statement::Update(_) => true,
        Statement::Merge(merge) => {
            let mut clauses = merge.clauses.iter();
            clauses.any(|clause| matches!(clause.action, MergeAction::Update(_)))
        }
        Statement::Insert(insert) => match &insert.on {
            Some(OnInsert::OnConflict(conflict)) => {
                matches!(conflict.action, OnConflictAction::DoUpdate(_))
            }
            _ => false,
        },
        _ => false,
    }
}

/// What a write calls its target, and whether it returns something. None for what is no such write.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn target(tree: &Statement) -> Option<(&Ident, bool)> {
    match tree {
        Statement::Insert(insert) => {
            let alias = insert.table_alias.as_ref().map(|alias| &alias.alias);
            let name = match &insert.table {
                TableObject::TableName(name) => last_part(name),
                _ => None,
            };
            Some((alias.or(name)?, insert.returning.is_some()))
        }
        Statement::Update(update) => Some((called(&update.table)?, update.returning.is_some())),
        Statement::Delete(delete) => Some((of_delete(delete)?, delete.returning.is_some())),
        Statement::Merge(merge) => Some((called_alone(&merge.table)?, merge.output.is_some())),
        _ => None,
    }
}

fn of_delete(delete: &Delete) -> Option<&Ident> {
    match deleted_from(delete) {
        [one] => called(one),
        _ => None,
    }
}

fn called(table: &TableWithJoins) -> Option<&Ident> {
    let name = called_alone(&table.relation)?;
    table.joins.is_empty().then_some(name)
}

/// The alias of a table, else its name without that of its schema.
fn called_alone(table: &TableFactor) -> Option<&Ident> {
    let TableFactor::Table { alias, name, .. } = table else {
        return None;
    };
    let alias = alias.as_ref().map(|alias| &alias.name);
    alias.or_else(|| last_part(name))
}

fn last_part(name: &ObjectName) -> Option<&Ident> {
    name.0.last()?.as_ident()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;
    use crate::model::{SetupKind, SetupStatement};
    use crate::statement::shapes;

    #[test]
    fn a_write_returns_every_column_of_its_target() {
        let dialect = dialect_of("postgres", "17");
        let setup = [SetupStatement {
            sql: "CREATE TABLE t (pkey INT PRIMARY KEY, a INT)".to_owned(),
            kind: SetupKind::Schema,
        }];
        let shape = &shapes(&setup, &dialect)[0];
        let table = [
            (
                "INSERT INTO t (pkey, a) VALUES (1, 2);",
                Some("INSERT INTO t (pkey, a) VALUES (1, 2) RETURNING t.\"pkey\", t.\"a\""),
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
                      RETURNING t.\"pkey\", t.\"a\"",
                ),
            ),
            (
                "DELETE FROM t RETURNING a;",
                Some("DELETE FROM t RETURNING a, t.\"pkey\", t.\"a\""),
            ),
            (
                "UPDATE public.v SET a = 1",
                Some("UPDATE public.v SET a = 1 RETURNING v.\"pkey\", v.\"a\""),
            ),
            ("SELECT a FROM t", None),
        ];
        for (sql, expected) in table {
            let returning = with_returning(sql, shape, &dialect);
            let has_old = returning.as_ref().is_some_and(|text| text.has_old);
            assert!(!has_old, "{sql}");
            let has_own = returning.as_ref().is_some_and(|text| text.has_own);
            assert_eq!(has_own, sql.contains("RETURNING"), "{sql}");
            let text = returning.map(|text| text.sql);
            assert_eq!(text.as_deref(), expected, "{sql}");
        }
    }

    #[test]
    fn an_update_or_upsert_returns_what_its_target_was_before_too() {
        let setup = [SetupStatement {
            sql: "CREATE TABLE t (pkey INT PRIMARY KEY, a INT)".to_owned(),
            kind: SetupKind::Schema,
        }];
        let dialect = dialect_of("postgres", "18");
        let shape = &shapes(&setup, &dialect)[0];
        let text = |sql| with_returning(sql, shape, &dialect).map(|text| (text.sql, text.has_old));
        let update = "UPDATE t AS x SET pkey = 5 WHERE a = 2";
        let expected = format!("{update} RETURNING x.\"pkey\", x.\"a\", old.\"pkey\", old.\"a\"");
        assert_eq!(text(update), Some((expected, true)));
        let upsert = "INSERT INTO t (pkey, a) VALUES (1, 2) ON CONFLICT (pkey) DO UPDATE SET a = 3";
        assert_eq!(text(upsert).map(|(_, has_old)| has_old), Some(true));
        for sql in [
            "UPDATE t AS old SET a = 1 WHERE old.a = 2",
            "DELETE FROM t",
            "INSERT INTO t VALUES (1, 2)",
            "INSERT INTO t VALUES (1, 2) ON CONFLICT (pkey) DO NOTHING",
        ] {
            let has_old = text(sql).map(|(_, has_old)| has_old);
            assert_eq!(has_old, Some(false), "{sql}");
        }
    }

    #[test]
    fn a_merge_says_what_it_did_to_each_row_where_the_engine_tells() {
        let setup = [SetupStatement {
            sql: "CREATE TABLE t (pkey INT PRIMARY KEY, a INT)".to_owned(),
            kind: SetupKind::Schema,
        }];
        let merge =
            "MERGE INTO t AS x USING (VALUES (1)) AS v (k) ON x.pkey = v.k WHEN MATCHED THEN";
        for (version, end, returned) in [
            ("16", "DELETE", None),
            (
                "17",
                "DELETE",
                Some("RETURNING x.\"pkey\", x.\"a\", merge_action()"),
            ),
            (
                "18",
                "DELETE",
                Some("RETURNING x.\"pkey\", x.\"a\", merge_action()"),
            ),
            (
                "18",
                "UPDATE SET a = 1",
                Some("RETURNING x.\"pkey\", x.\"a\", old.\"pkey\", old.\"a\", merge_action()"),
            ),
            (
                "17",
                "DELETE RETURNING v.k",
                Some(", x.\"pkey\", x.\"a\", merge_action()"),
            ),
        ] {
            let dialect = dialect_of("postgres", version);
            let shape = &shapes(&setup, &dialect)[0];
            let sql = format!("{merge} {end}");
            let text = with_returning(&sql, shape, &dialect).map(|text| text.sql);
            let comma = end.contains("RETURNING");
            let expected = returned.map(|r| format!("{sql}{}{r}", if comma { "" } else { " " }));
            assert_eq!(text, expected, "{version}: {sql}");
        }
    }
}
