//! Indexes that few engines have: covering ones, block ranges, hashes, keys that are checked late, and keys that are
//! exclusion constraints. No answer may depend on them.

use super::entropy::Entropy;
use super::schema::TablePlan;
use crate::dialect::{Capability, Dialect};

/// How many tables in a hundred get one, where the engine has any.
const PERCENT: usize = 35;

/// How many unique keys in a hundred are checked when the statement ends.
const DEFERRABLE_PERCENT: usize = 30;

/// How many of the others are exclusion constraints.
const EXCLUSION_PERCENT: usize = 40;

/// What an index is beside its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpecialIndex {
    Covering,
    Brin,
    Hash,
}

/// Gives some tables such an index, and spells some unique keys in another way.
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
            respell_some(entropy, table, DEFERRABLE_PERCENT, |_, columns| {
                format!("UNIQUE ({columns}) DEFERRABLE")
            });
        }
        if dialect.supports(Capability::ExclusionConstraint) {
            respell_some(entropy, table, EXCLUSION_PERCENT, exclusion);
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

/// Declares some unique indexes as constraints of another kind.
fn respell_some(
    entropy: &mut Entropy<'_>,
    table: &mut TablePlan,
    percent: usize,
    constraint: fn(&mut Entropy<'_>, &str) -> String,
) {
    let name = table.name.clone();
    for statement in &mut table.statements {
        let Some(rest) = statement.strip_prefix("CREATE UNIQUE INDEX ") else {
            continue;
        };
        let parts = rest.split_once(&format!(" ON {name} "));
        let Some((index, columns)) = parts.filter(|_| entropy.percent(percent)) else {
            continue;
        };
        // A constraint has no order.
        let columns = columns.replace(" DESC", "");
        let columns = columns.trim_matches(['(', ')']);
        let spelt = constraint(entropy, columns);
        *statement = format!("ALTER TABLE {name} ADD CONSTRAINT {index} {spelt}");
        // No foreign key references one of these.
        for column in &mut table.columns {
            column.sole_key &= columns != column.name;
        }
    }
}

/// Two rows that are equal in these columns exclude each other. A hash has one column.
fn exclusion(entropy: &mut Entropy<'_>, columns: &str) -> String {
    let method = match columns.contains(',') || entropy.percent(40) {
        true => "btree",
        false => "hash",
    };
    let columns = columns.replace(", ", " WITH =, ");
    format!("EXCLUDE USING {method} ({columns} WITH =)")
}
