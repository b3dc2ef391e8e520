//! Foreign keys between the tables of an epoch.

use super::entropy::Entropy;
use super::schema::{ColumnPlan, TablePlan};
use crate::dialect::{Capability, Dialect, TypeClass};

/// In how many tables, of a hundred, of a schema with foreign keys there is one, where another table can be
/// its parent.
const CHILD_PERCENT: usize = 70;

/// Gives tables a column that references the row key of an earlier one.
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
            .filter(|at| tables[*at].keyed && may_have_keys(&tables[*at]))
            .collect();
        let Some(parent) = entropy.pick(&parents).copied() else {
            continue;
        };
        if !entropy.percent(CHILD_PERCENT) || !may_have_keys(&tables[child]) {
            continue;
        }
        let nullable = entropy.percent(75);
        let key = format!(
            ", FOREIGN KEY (f0) REFERENCES {} (pkey){}{}",
            tables[parent].name,
            action(entropy, " ON DELETE", nullable),
            action(entropy, " ON UPDATE", nullable),
        );
        let table = &mut tables[child];
        let column = if nullable { "" } else { " NOT NULL" };
        // Behind the list stand options without parentheses.
        if let Some(end) = table.statements[0].rfind(')') {
            table.statements[0].insert_str(end, &format!(", f0 BIGINT{column}{key}"));
            table.columns.push(referencing(parent, nullable));
        }
    }
}

/// A partitioned table has no foreign keys (MySQL manual, "Restrictions and Limitations on
/// Partitioning").
fn may_have_keys(table: &TablePlan) -> bool {
    !table.statements[0].contains(" PARTITION BY ")
}

/// What becomes of the children; nothing is said in two of five.
fn action(entropy: &mut Entropy<'_>, on: &str, nullable: bool) -> String {
    match entropy.below(10) {
        0..4 => format!("{on} CASCADE"),
        4 | 5 if nullable => format!("{on} SET NULL"),
        4..7 => format!("{on} RESTRICT"),
        _ => String::new(),
    }
}

fn referencing(parent: usize, nullable: bool) -> ColumnPlan {
    ColumnPlan {
        name: "f0".to_owned(),
        class: TypeClass::Integer,
        sql_type: "BIGINT".to_owned(),
        literals: ["1", "2", "3", "5"].map(str::to_owned).into(),
        nullable,
        default: None,
        generated: None,
        unique: false,
        indexable: true,
        closed: false,
        refused: None,
        references: Some(parent),
    }
}
