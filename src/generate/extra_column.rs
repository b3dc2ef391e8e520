//! Columns of rarer types and collations, and indexes on them.

use super::entropy::Entropy;
use super::schema::{ColumnPlan, IndexPlan, TablePlan};
use crate::dialect::{Dialect, TypeClass, TypeSpec};

/// In how many tables, of a hundred, of a schema with such columns there is one; in how many of these there is
/// a second.
const COLUMN_PERCENT: usize = 75;

/// How many such columns, of a hundred, have an index, where their type can; how many of these indexes are
/// unique, where that leaves values to draw; how many have a second column.
const INDEX_PERCENT: usize = 70;
const UNIQUE_PERCENT: usize = 45;
const SECOND_PERCENT: usize = 35;

/// Gives tables columns of types that the others do not have.
pub(super) fn add_extra_columns(
    entropy: &mut Entropy<'_>,
    percent: usize,
    tables: &mut [TablePlan],
    dialect: &Dialect,
) {
    if dialect.extra_types.is_empty() || !entropy.percent(percent) {
        return;
    }
    for table in tables {
        let mut number = 0;
        while number < 2 && entropy.percent(COLUMN_PERCENT) {
            add_column(entropy, number, table, dialect);
            number += 1;
        }
    }
}

fn add_column(
    entropy: &mut Entropy<'_>,
    number: usize,
    table: &mut TablePlan,
    dialect: &Dialect,
) -> Option<()> {
    let weights: Vec<u32> = dialect.extra_types.iter().map(|spec| spec.weight).collect();
    let spec = &dialect.extra_types[entropy.weighted(&weights)?];
    let column = column(entropy, number, spec, dialect);
    let mut element = format!("{} {}", column.name, column.sql_type);
    if !column.nullable {
        element.push_str(" NOT NULL");
    }
    if let Some(default) = &column.default {
        element.push_str(&format!(" DEFAULT {default}"));
    }
    table.declare(&element);
    table.columns.push(column);
    if spec.indexable && entropy.percent(INDEX_PERCENT) {
        add_index(entropy, number, table);
    }
    Some(())
}

fn column(
    entropy: &mut Entropy<'_>,
    number: usize,
    spec: &TypeSpec,
    dialect: &Dialect,
) -> ColumnPlan {
    let nullable = spec.always_nullable || !entropy.percent(20);
    let default = (spec.indexable && entropy.percent(if nullable { 8 } else { 50 }))
        .then(|| entropy.pick(&spec.literals).cloned())
        .flatten();
    let sql_type = match &spec.collation {
        Some(collation) => format!("{} COLLATE {}", spec.sql, dialect.quote(collation)),
        None => spec.sql.clone(),
    };
    ColumnPlan {
        name: format!("x{number}"),
        class: spec.class,
        sql_type,
        collation: spec.collation.clone(),
        literals: spec.literals.clone(),
        nullable,
        default,
        generated: None,
        unique: false,
        sole_key: false,
        indexable: spec.indexable,
        closed: spec.closed,
        refused: None,
        too_long: None,
        references: None,
    }
}

/// An index on the last column, perhaps a unique one, perhaps with another column.
fn add_index(entropy: &mut Entropy<'_>, number: usize, table: &mut TablePlan) {
    let at = table.columns.len() - 1;
    let others: Vec<usize> = (0..at).filter(|at| table.column(*at).indexable).collect();
    let second = entropy.pick(&others).copied();
    let second = second.filter(|_| entropy.percent(SECOND_PERCENT));
    let plan = table.column(at);
    // A unique key of a partitioned table has the partition's column; NULL may repeat, and fresh values are
    // known for these classes.
    let may_be_unique = plan.nullable
        && plan.default.is_none()
        && matches!(plan.class, TypeClass::Unsigned | TypeClass::Collated)
        && !table.is_partitioned()
        && second.is_none();
    let unique = may_be_unique && entropy.percent(UNIQUE_PERCENT);
    let columns: Vec<usize> = [at].into_iter().chain(second).collect();
    let names: Vec<&str> = columns
        .iter()
        .map(|at| table.column(*at).name.as_str())
        .collect();
    let name = format!("i_{}_x{number}", table.name);
    let kind = if unique { "UNIQUE INDEX" } else { "INDEX" };
    let statement = format!(
        "CREATE {kind} {name} ON {} ({})",
        table.name,
        names.join(", ")
    );
    table.statements.push(statement);
    table.indexes.push(IndexPlan { name, columns });
    if unique {
        let column = &mut table.columns[at];
        column.unique = true;
        column.sole_key = true;
        table.lonely = false;
    }
}
