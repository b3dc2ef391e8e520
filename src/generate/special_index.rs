//! Indexes that few engines have: covering ones, block ranges, hashes, and keys that are checked late. No
//! answer may depend on them.

use super::entropy::Entropy;
use super::schema::TablePlan;
use crate::dialect::{Capability, Dialect};

/// How many tables in a hundred get one, where the engine has any.
const PERCENT: usize = 35;

/// How many unique keys in a hundred are checked when the statement ends.
const DEFERRABLE_PERCENT: usize = 30;

/// What an index is beside its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpecialIndex {
    Covering,
    Brin,
    Hash,
}

/// Gives some tables such an index, and has some unique keys checked late.
pub(super) fn add_special_indexes(
    entropy: &mut Entropy<'_>,
    tables: &mut [TablePlan],
    dialect: &Dialect,
) {
    let all = [
        (Capability::CoveringIndex, SpecialIndex::Covering),
        (Capability::BrinIndex, SpecialIndex::Brin),
        (Capability::HashIndex, SpecialIndex::Hash),
    ];
    let there = all.iter().filter(|(needed, _)| dialect.supports(*needed));
    let kinds: Vec<SpecialIndex> = there.map(|(_, kind)| *kind).collect();
    for table in tables {
        if dialect.supports(Capability::DeferrableKey) {
            defer_some(entropy, table);
        }
        if kinds.is_empty() || !entropy.percent(PERCENT) {
            continue;
        }
        if let Some(kind) = entropy.pick(&kinds).copied() {
            let statement = index(entropy, table, kind);
            table.statements.push(statement);
        }
    }
}

/// One index on the row key, the version or a stored column.
fn index(entropy: &mut Entropy<'_>, table: &TablePlan, kind: SpecialIndex) -> String {
    let stored = table.columns.iter().filter(|column| column.indexable);
    let stored = stored.map(|column| column.name.as_str());
    let columns: Vec<&str> = ["pkey", table.version].into_iter().chain(stored).collect();
    let first = entropy.below(columns.len());
    let column = columns[first];
    let name = format!("i_{}_special", table.name);
    let on = &table.name;
    match kind {
        SpecialIndex::Brin => format!("CREATE INDEX {name} ON {on} USING BRIN ({column})"),
        SpecialIndex::Hash => format!("CREATE INDEX {name} ON {on} USING HASH ({column})"),
        SpecialIndex::Covering => {
            let mut others = columns.clone();
            others.remove(first);
            others.truncate(1 + entropy.below(others.len()));
            let included = others.join(", ");
            let partial = match entropy.percent(30) {
                true => format!(" WHERE {column} IS NOT NULL"),
                false => String::new(),
            };
            let unique = column == "pkey" && table.keyed && partial.is_empty();
            let unique = if unique { "UNIQUE " } else { "" };
            format!("CREATE {unique}INDEX {name} ON {on} ({column}) INCLUDE ({included}){partial}")
        }
    }
}

/// Declares some unique indexes as constraints that are checked when the statement ends.
fn defer_some(entropy: &mut Entropy<'_>, table: &mut TablePlan) {
    let name = table.name.clone();
    for statement in &mut table.statements {
        let Some(rest) = statement.strip_prefix("CREATE UNIQUE INDEX ") else {
            continue;
        };
        let parts = rest.split_once(&format!(" ON {name} "));
        let Some((index, columns)) = parts.filter(|_| entropy.percent(DEFERRABLE_PERCENT)) else {
            continue;
        };
        // A constraint has no order.
        let columns = columns.replace(" DESC", "");
        *statement =
            format!("ALTER TABLE {name} ADD CONSTRAINT {index} UNIQUE {columns} DEFERRABLE");
        // No foreign key references one of these.
        for column in &mut table.columns {
            let alone = columns == format!("({})", column.name);
            column.sole_key &= !alone;
        }
    }
}
