//! Foreign keys between the tables of an epoch.

use super::entropy::Entropy;
use super::schema::{ColumnPlan, ReferencedKey, TablePlan};
use crate::dialect::{Capability, Dialect, TypeClass};

/// In how many tables, of a hundred, of a schema with foreign keys there is one, where another table can be
/// its parent.
const CHILD_PERCENT: usize = 70;

/// In how many foreign keys, of a hundred, another unique key of the parent takes the place of its row key,
/// where there is one.
const UNIQUE_KEY_PERCENT: usize = 60;

/// Gives tables a column that references a key of an earlier one.
pub(super) fn add_foreign_keys(
    entropy: &mut Entropy<'_>,
    percent: usize,
    tables: &mut [TablePlan],
    dialect: &Dialect,
) {
    if !dialect.supports(Capability::ForeignKey) || !entropy.percent(percent) {
        return;
    }
    for child in 1..tables.len() {
        let parents: Vec<usize> = (0..child)
            .filter(|at| has_a_key(&tables[*at]) && may_have_keys(&tables[*at]))
            .collect();
        let Some(parent) = entropy.pick(&parents).copied() else {
            continue;
        };
        if !entropy.percent(CHILD_PERCENT) || !may_have_keys(&tables[child]) {
            continue;
        }
        let nullable = entropy.percent(75);
        let referenced = referenced(entropy, parent, &tables[parent]);
        let (name, sql_type) = described(referenced, &tables[parent]);
        let key = format!(
            "FOREIGN KEY (f0) REFERENCES {} ({name}){}{}",
            tables[parent].name,
            action(entropy, " ON DELETE", nullable, dialect),
            action(entropy, " ON UPDATE", nullable, dialect),
        );
        let column = referencing(referenced, &tables[parent], nullable);
        let table = &mut tables[child];
        let required = if nullable { "" } else { " NOT NULL" };
        table.declare(&format!("f0 {sql_type}{required}"));
        table.declare(&key);
        table.columns.push(column);
    }
}

fn has_a_key(table: &TablePlan) -> bool {
    table.keyed || table.columns.iter().any(|column| column.sole_key)
}

/// A partitioned table has no foreign keys (MySQL manual, "Restrictions and Limitations on
/// Partitioning").
fn may_have_keys(table: &TablePlan) -> bool {
    !table.is_partitioned()
}

/// What becomes of the children; nothing is said in two of five.
fn action(entropy: &mut Entropy<'_>, on: &str, nullable: bool, dialect: &Dialect) -> String {
    let action = match entropy.below(10) {
        0..4 => "CASCADE",
        4 | 5 if nullable => "SET NULL",
        4..7 => "RESTRICT",
        _ => return String::new(),
    };
    let is_drawn = action == "RESTRICT" || dialect.supports(Capability::ForeignKeyAction);
    let action = if is_drawn { action } else { "NO ACTION" };
    format!("{on} {action}")
}

/// A key of the parent: mostly its row key.
fn referenced(entropy: &mut Entropy<'_>, table: usize, parent: &TablePlan) -> ReferencedKey {
    let keys = parent.columns.iter().enumerate();
    let keys: Vec<usize> = keys
        .filter(|(_, column)| column.sole_key)
        .map(|(at, _)| at)
        .collect();
    let column = match !parent.keyed || entropy.percent(UNIQUE_KEY_PERCENT) {
        true => entropy.pick(&keys).copied(),
        false => None,
    };
    ReferencedKey { table, column }
}

/// The name and the type of a key.
fn described(key: ReferencedKey, table: &TablePlan) -> (String, String) {
    match key.column.map(|at| table.column(at)) {
        Some(column) => (column.name.clone(), column.sql_type.clone()),
        None => ("pkey".to_owned(), "BIGINT".to_owned()),
    }
}

fn referencing(key: ReferencedKey, parent: &TablePlan, nullable: bool) -> ColumnPlan {
    let (_, sql_type) = described(key, parent);
    let column = key.column.map(|at| parent.column(at));
    let (class, literals) = match column {
        Some(column) => (column.class, column.literals.clone()),
        None => (
            TypeClass::Integer,
            ["1", "2", "3", "5"].map(str::to_owned).into(),
        ),
    };
    ColumnPlan {
        name: "f0".to_owned(),
        class,
        sql_type,
        collation: column.and_then(|column| column.collation.clone()),
        literals,
        nullable,
        default: None,
        generated: None,
        unique: false,
        sole_key: false,
        indexable: true,
        closed: false,
        refused: None,
        too_long: None,
        references: Some(key),
    }
}
