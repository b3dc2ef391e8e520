//! Tables: columns, keys and indexes, drawn once for a run of consecutive cases.

use std::ops::RangeInclusive;

use super::entropy::Entropy;
use crate::dialect::{Capability, Dialect, TypeClass, TypeSpec};

/// The smallest number in a unique column that rows are given.
pub(super) const FIRST_UNIQUE: u8 = 20;

/// A column as the generator knows it.
#[derive(Clone, Debug)]
pub(super) struct ColumnPlan {
    pub name: String,
    pub class: TypeClass,
    /// Its type as the dialect spells it, with the collation.
    pub sql_type: String,
    /// The collation that it is declared with, where that is not its table's.
    pub collation: Option<String>,
    /// Values to draw from, as SQL.
    pub literals: Vec<String>,
    pub nullable: bool,
    /// The DEFAULT value, as SQL.
    pub default: Option<String>,
    /// The expression of a generated column.
    pub generated: Option<String>,
    /// Part of a unique key: values must not repeat.
    pub unique: bool,
    /// A unique key by itself, which a foreign key may reference.
    pub sole_key: bool,
    /// Its type may be part of an index.
    pub indexable: bool,
    /// Its type has no values but `literals`.
    pub closed: bool,
    /// A value that a CHECK constraint refuses, as SQL: none of `literals`.
    pub refused: Option<String>,
    /// A value that is too long for it, as SQL: a strict session refuses it, another one cuts it.
    pub too_long: Option<String>,
    /// The key whose values it has: a foreign key.
    pub references: Option<ReferencedKey>,
}

/// What a foreign key references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReferencedKey {
    /// The table, by number.
    pub table: usize,
    /// A column with a unique key, by number; the row key, where there is none.
    pub column: Option<usize>,
}

/// How the row key is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowKey {
    Primary,
    Unique,
    Indexed,
    Bare,
}

/// An index of stored columns, over all rows: one that a statement may ask for by its name.
#[derive(Clone, Debug)]
pub(super) struct IndexPlan {
    pub name: String,
    /// Its columns, by their places in [`TablePlan::columns`]; none where it is on the row key.
    pub columns: Vec<usize>,
}

/// A table as the generator knows it. `columns` does not include the first two: `pkey` and `version`.
#[derive(Clone, Debug)]
pub(super) struct TablePlan {
    pub name: String,
    pub columns: Vec<ColumnPlan>,
    /// The column that takes a fresh number: the version key `vkey` in each write, `n0` in most.
    pub version: &'static str,
    /// `pkey` is a primary or unique key.
    pub keyed: bool,
    /// `pkey` is the primary key.
    pub primary: bool,
    /// No unique key beside `pkey`.
    pub lonely: bool,
    /// A counter fills `pkey`.
    pub counted: bool,
    /// The indexes that a hint can name.
    pub indexes: Vec<IndexPlan>,
    /// The statements that create it.
    pub statements: Vec<String>,
}

impl TablePlan {
    /// The column at this place.
    pub(super) fn column(&self, index: usize) -> &ColumnPlan {
        &self.columns[index]
    }

    /// Its rows are spread over partitions.
    pub(super) fn is_partitioned(&self) -> bool {
        self.statements[0].contains(" PARTITION BY ")
    }

    /// A table with a primary key as its row key, no other index, and this column.
    pub(super) fn with_one_column(
        name: String,
        version: &'static str,
        column: ColumnPlan,
        dialect: &Dialect,
    ) -> Self {
        let create = format!(
            "CREATE TABLE {name} (pkey BIGINT NOT NULL PRIMARY KEY, {version} INT, {} {}){}",
            column.name, column.sql_type, dialect.spelling.table_options
        );
        Self {
            name,
            columns: vec![column],
            version,
            keyed: true,
            primary: true,
            lonely: true,
            counted: false,
            indexes: Vec::new(),
            statements: vec![create],
        }
    }

    /// Adds an element behind the others in the list of its CREATE TABLE.
    pub(super) fn declare(&mut self, element: &str) {
        let create = &mut self.statements[0];
        let end = list_end(create);
        create.insert_str(end, &format!(", {element}"));
    }
}

/// Where the list of a CREATE TABLE ends: at the parenthesis that closes the first one. None stands in a text.
fn list_end(create: &str) -> usize {
    let mut depth = 0;
    let closes = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ')' && depth == 0
    };
    create.find(closes).unwrap_or(create.len())
}

/// Draws the tables of an epoch.
pub(super) fn tables(
    entropy: &mut Entropy<'_>,
    count: &RangeInclusive<usize>,
    version_keys: bool,
    dialect: &Dialect,
) -> Vec<TablePlan> {
    let version = if version_keys { "vkey" } else { "n0" };
    (1..=entropy.range(count))
        .map(|number| table(entropy, format!("t{number}"), version, dialect))
        .collect()
}

fn table(
    entropy: &mut Entropy<'_>,
    name: String,
    version: &'static str,
    dialect: &Dialect,
) -> TablePlan {
    let mut columns: Vec<ColumnPlan> = (0..=entropy.below(4))
        .filter_map(|number| column(entropy, number, dialect))
        .collect();
    let row_key = match entropy.below(100) {
        0..60 => RowKey::Primary,
        60..72 => RowKey::Unique,
        72..84 => RowKey::Indexed,
        _ => RowKey::Bare,
    };
    // Where the row key is not the primary key, another column may be.
    let other_primary = (row_key != RowKey::Primary && entropy.percent(40))
        .then(|| columns.iter().position(|c| c.class == TypeClass::Integer))
        .flatten();
    if let Some(column) = other_primary.map(|at| &mut columns[at]) {
        column.sql_type = "BIGINT".to_owned();
        column.nullable = false;
        column.default = None;
        column.unique = true;
        column.sole_key = true;
    }
    if dialect.supports(Capability::GeneratedColumn) && entropy.percent(15) {
        columns.extend(generated(entropy, &columns, dialect));
    }
    let mut statements = vec![create(
        entropy,
        (&name, version),
        &columns,
        row_key,
        other_primary,
        dialect,
    )];
    let mut indexes = Vec::new();
    if row_key == RowKey::Indexed {
        let index = format!("i_{name}_pkey");
        statements.push(format!("CREATE INDEX {index} ON {name} (pkey)"));
        indexes.push(IndexPlan {
            name: index,
            columns: Vec::new(),
        });
    }
    for number in 0..entropy.below(4) {
        let (statement, plan) = index(entropy, &name, &mut columns, number, dialect);
        statements.push(statement);
        indexes.extend(plan);
    }
    let lonely = columns.iter().all(|column| !column.unique);
    if lonely
        && row_key == RowKey::Primary
        && dialect.supports(Capability::Partition)
        && entropy.percent(8)
    {
        spread(&name, &mut statements, dialect);
    }
    TablePlan {
        name,
        version,
        primary: row_key == RowKey::Primary,
        keyed: matches!(row_key, RowKey::Primary | RowKey::Unique),
        lonely,
        counted: false,
        columns,
        indexes,
        statements,
    }
}

/// Spreads the rows of a table, which the first statement makes, over three partitions.
fn spread(name: &str, statements: &mut Vec<String>, dialect: &Dialect) {
    let partition = &dialect.spelling.partition;
    statements[0].push_str(" PARTITION BY HASH (pkey)");
    if partition.is_empty() {
        statements[0].push_str(" PARTITIONS 3");
        return;
    }
    let of_table = partition.replace("{table}", name);
    let partitions = (0..3).map(|number: u8| of_table.replace("{number}", &number.to_string()));
    statements.splice(1..1, partitions);
}

fn column(entropy: &mut Entropy<'_>, number: usize, dialect: &Dialect) -> Option<ColumnPlan> {
    let weights: Vec<u32> = dialect.types.iter().map(|spec| spec.weight).collect();
    let spec: &TypeSpec = &dialect.types[entropy.weighted(&weights)?];
    let nullable = !entropy.percent(25);
    // Types that carry no index carry no default either (TEXT, in MySQL).
    let mut literals = spec.literals.clone();
    let checked = spec.class == TypeClass::Integer
        && dialect.supports(Capability::CheckConstraint)
        && entropy.percent(12);
    let refused = if checked {
        refused(entropy, &mut literals)
    } else {
        None
    };
    let default = (spec.indexable && entropy.percent(if nullable { 12 } else { 50 }))
        .then(|| entropy.pick(&literals).cloned())
        .flatten();
    Some(ColumnPlan {
        name: format!("c{number}"),
        class: spec.class,
        sql_type: spec.sql.clone(),
        collation: None,
        literals,
        nullable,
        default,
        generated: None,
        unique: false,
        sole_key: false,
        indexable: spec.indexable,
        closed: spec.closed,
        refused,
        too_long: spec.too_long.clone(),
        references: None,
    })
}

/// A value for a CHECK constraint to refuse, taken out of the values to draw from: the rows of the set-up do without it,
/// and some statements are given it. No value of a unique column is as small.
fn refused(entropy: &mut Entropy<'_>, literals: &mut Vec<String>) -> Option<String> {
    let is_small = |text: &String| {
        let value = text.parse::<i64>();
        value.is_ok_and(|value| value < i64::from(FIRST_UNIQUE))
    };
    let small = literals.iter().filter(|text| is_small(text));
    let small: Vec<String> = small.cloned().collect();
    let refused = entropy.pick(&small).filter(|_| literals.len() > 2)?;
    literals.retain(|literal| literal != refused);
    Some(refused.clone())
}

/// A column computed from an integer one.
fn generated(
    entropy: &mut Entropy<'_>,
    columns: &[ColumnPlan],
    dialect: &Dialect,
) -> Option<ColumnPlan> {
    let base = columns.iter().find(|c| c.class == TypeClass::Integer)?;
    let is_stored = entropy.percent(50) || !dialect.supports(Capability::VirtualColumn);
    let storage = if is_stored { "STORED" } else { "VIRTUAL" };
    Some(ColumnPlan {
        name: "g0".to_owned(),
        class: TypeClass::Integer,
        sql_type: "BIGINT".to_owned(),
        collation: None,
        literals: base.literals.clone(),
        nullable: true,
        default: None,
        generated: Some(format!("({} + 1) {storage}", base.name)),
        unique: false,
        sole_key: false,
        indexable: is_stored || dialect.supports(Capability::VirtualColumnIndex),
        closed: false,
        refused: None,
        too_long: None,
        references: None,
    })
}

fn create(
    entropy: &mut Entropy<'_>,
    (name, version): (&str, &str),
    columns: &[ColumnPlan],
    row_key: RowKey,
    other_primary: Option<usize>,
    dialect: &Dialect,
) -> String {
    // In an engine with row ids, an INTEGER PRIMARY KEY is the row id and a BIGINT PRIMARY KEY is
    // not.
    let has_row_ids = dialect.supports(Capability::WithoutRowid);
    let integer = if has_row_ids && entropy.percent(60) {
        "INTEGER"
    } else {
        "BIGINT"
    };
    let key = match row_key {
        RowKey::Primary => " NOT NULL PRIMARY KEY",
        RowKey::Unique => " NOT NULL UNIQUE",
        RowKey::Indexed | RowKey::Bare => " NOT NULL",
    };
    let mut elements = vec![format!("pkey {integer}{key}"), format!("{version} INT")];
    for (at, column) in columns.iter().enumerate() {
        let mut element = format!("{} {}", column.name, column.sql_type);
        if let Some(expression) = &column.generated {
            element.push_str(&format!(" GENERATED ALWAYS AS {expression}"));
        }
        if !column.nullable {
            element.push_str(" NOT NULL");
        }
        if let Some(default) = &column.default {
            element.push_str(&format!(" DEFAULT {default}"));
        }
        if other_primary == Some(at) {
            element.push_str(" PRIMARY KEY");
        }
        if let Some(refused) = &column.refused {
            element.push_str(&format!(" CHECK ({} <> {refused})", column.name));
        }
        elements.push(element);
    }
    let has_primary = row_key == RowKey::Primary || other_primary.is_some();
    let suffix = if has_row_ids && has_primary && entropy.percent(25) {
        " WITHOUT ROWID"
    } else {
        ""
    };
    let options = &dialect.spelling.table_options;
    format!(
        "CREATE TABLE {name} ({}){options}{suffix}",
        elements.join(", ")
    )
}

/// One index, perhaps unique, and what a hint may know of it.
fn index(
    entropy: &mut Entropy<'_>,
    table: &str,
    columns: &mut [ColumnPlan],
    number: usize,
    dialect: &Dialect,
) -> (String, Option<IndexPlan>) {
    // Of a text that has no index an index holds the beginning; of a column that is computed, nothing.
    let candidates = columns.iter().enumerate();
    let candidates: Vec<usize> = candidates
        .filter(|(_, column)| column.indexable || column.generated.is_none())
        .map(|(at, _)| at)
        .collect();
    let first = candidates[entropy.below(candidates.len())];
    let second = candidates[entropy.below(candidates.len())];
    let mut chosen = vec![first];
    if second != first && entropy.percent(40) {
        chosen.push(second);
    }
    // Fresh values are known for integers and texts only; NULL may repeat, so unique columns of
    // INSERT .. SELECT can be left NULL.
    let may_be_unique = chosen.iter().all(|at| {
        let column = &columns[*at];
        matches!(column.class, TypeClass::Integer | TypeClass::Text)
            && column.indexable
            && !column.closed
            && column.nullable
            && column.default.is_none()
            && column.generated.is_none()
    });
    let unique = may_be_unique && entropy.percent(30);
    let parts: Vec<String> = chosen
        .iter()
        .map(|at| {
            let column = &columns[*at];
            let length = if column.indexable { "" } else { "(4)" };
            let descending = dialect.supports(Capability::DescendingIndex) && entropy.percent(20);
            format!(
                "{}{length}{}",
                column.name,
                if descending { " DESC" } else { "" }
            )
        })
        .collect();
    let first_plan = &columns[first];
    let mut whole = true;
    let (parts, tail) =
        if !unique && dialect.supports(Capability::PartialIndex) && entropy.percent(15) {
            let condition = format!(" WHERE {} IS NOT NULL", first_plan.name);
            whole = false;
            (parts.join(", "), condition)
        } else if !unique
            && dialect.supports(Capability::ExpressionIndex)
            && first_plan.class == TypeClass::Integer
            && entropy.percent(15)
        {
            whole = false;
            (format!("({} + 1)", first_plan.name), String::new())
        } else {
            (parts.join(", "), String::new())
        };
    if unique {
        for at in &chosen {
            columns[*at].unique = true;
            columns[*at].sole_key |= chosen.len() == 1;
        }
    }
    let kind = if unique { "UNIQUE INDEX" } else { "INDEX" };
    let name = format!("i_{table}_{number}");
    let statement = format!("CREATE {kind} {name} ON {table} ({parts}){tail}");
    let plan = whole.then_some(IndexPlan {
        name,
        columns: chosen,
    });
    (statement, plan)
}
