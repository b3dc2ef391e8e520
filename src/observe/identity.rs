//! Row identity for tables that were typed without one.
//!
//! Generated tables carry a row key. A hand-written table is given a hidden one, so that the same
//! SQL text means the same: an invisible column where the engine has them, SQLite's `rowid`. Where there is none to
//! give, its primary key of one column names its rows.

use std::borrow::Cow;

use crate::dialect::{Capability, Dialect};
use crate::model::{
    CaseStatement, Clustering, Column, Folding, Role, SetupKind, SetupStatement, StatementKind,
    TableShape, TestCase,
};

/// The hidden column, where we add one.
const HIDDEN_COLUMN: &str = "rashomon_row";

/// SQLite's own name of a row's identity.
const ROWID: &str = "rowid";

/// Whether the row key of this table is one that statements of the case cannot name.
pub fn is_hidden_row_key(table: &TableShape) -> bool {
    table
        .row_key
        .as_deref()
        .is_some_and(|key| key == HIDDEN_COLUMN || key == ROWID)
}

/// The primary key of a table, where it is one column.
fn primary_key(table: &TableShape) -> Option<String> {
    match table.primary_key.as_deref()? {
        [only] => Some(table.columns[table.column(only)?].name.clone()),
        _ => None,
    }
}

/// Whether a key names each row as long as it lives: nothing in the case gives a row another value of it.
fn is_kept(table: &TableShape, key: &str, statements: &[CaseStatement]) -> bool {
    let mut refers = table.foreign_keys.iter().flat_map(|key| &key.columns);
    if refers.any(|column| column.eq_ignore_ascii_case(key)) {
        return false;
    }
    statements.iter().all(|statement| {
        let effect = &statement.effect;
        let mut uses = effect.uses.iter();
        let writes = uses.any(|used| used.table == table.name && used.role.is_target());
        let by_trigger = effect
            .uses
            .iter()
            .any(|used| used.table == table.name && used.role == Role::TriggerTarget);
        effect.kind != StatementKind::Opaque
            && !by_trigger
            && !(writes && effect.assigns(&table.name, key))
    })
}

/// Whether `rowid` is a name of its own there: it is another one of an INTEGER PRIMARY KEY, which statements may change, and a
/// table that lies by its primary key has none (SQLite, "Rowid Tables").
fn has_own_rowid(table: &TableShape, dialect: &Dialect) -> bool {
    dialect.supports(Capability::Rowid) && table.clustering != Clustering::PrimaryKey
}

/// Whether the hidden column can be added. An engine numbers the rows of a table in one column only, and every unique key of a
/// partitioned table has the columns that it is partitioned by (MySQL manual, "Partitioning Keys, Primary Keys, and Unique Keys").
fn takes_another_column(table: &TableShape, dialect: &Dialect) -> bool {
    let suits = !table.has_counter() && table.partitioning.is_none();
    dialect.supports(Capability::InvisibleColumn) && suits
}

/// The same case with a row key in every table; none where the engine has no hidden one to give, and the table no
/// primary key of one column.
pub fn with_row_identity<'c>(case: &'c TestCase, dialect: &Dialect) -> Option<Cow<'c, TestCase>> {
    if case.tables.iter().all(|table| table.row_key.is_some()) {
        return Some(Cow::Borrowed(case));
    }
    let mut case = case.clone();
    for table in case
        .tables
        .iter_mut()
        .filter(|table| table.row_key.is_none())
    {
        // A column of our own would bring an index of its own, by which the engine may read, and lock, less than the case says.
        let kept = primary_key(table).filter(|key| is_kept(table, key, &case.statements));
        let column = if has_own_rowid(table, dialect) {
            ROWID
        } else if let Some(key) = kept {
            table.row_key = Some(key);
            continue;
        } else if takes_another_column(table, dialect) {
            let definition = dialect
                .spelling
                .hidden_row_key
                .replace("{column}", &dialect.quote(HIDDEN_COLUMN));
            let sql = format!(
                "ALTER TABLE {} ADD COLUMN {definition}",
                dialect.quote(&table.name)
            );
            case.setup.push(SetupStatement {
                sql,
                kind: SetupKind::Schema,
            });
            HIDDEN_COLUMN
        } else {
            table.row_key = Some(primary_key(table)?);
            continue;
        };
        table.columns.push(Column {
            name: column.to_owned(),
            sql_type: "BIGINT".to_owned(),
            generated: false,
            stored: false,
            not_null: true,
            // Our own: no statement of the case can name it.
            counted: false,
            collation: None,
            folding: Folding::default(),
        });
        if column == HIDDEN_COLUMN && table.clustered_key().is_some() {
            table.indexes.push(vec![column.to_owned()]);
        }
        table.row_key = Some(column.to_owned());
    }
    Some(Cow::Owned(case))
}
