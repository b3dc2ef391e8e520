//! The data of one case: its rows, and the keys and values that its sessions contend for.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::entropy::Entropy;
use super::schema::{ColumnPlan, FIRST_UNIQUE, ReferencedKey, TablePlan};
use crate::dialect::TypeClass;

/// The first version key that a statement may give; the initial rows have smaller ones.
const FIRST_VERSION: i64 = 1000;

/// Keys drawn for rows stay below this; INSERT .. SELECT shifts by multiples of it.
const KEY_LIMIT: i64 = 4096;

/// How far beyond the last key of a counted table a new one is, so that the counter does not reach it first.
const COUNTED_ROOM: i64 = 16;

/// Unique values of a case, and its hot keys and literals.
#[derive(Debug)]
pub(super) struct Stock {
    /// For each table: keys most statements use, keys its rows have or will have, the next new one.
    keys: Vec<KeyStock>,
    next_version: i64,
    next_shift: u32,
    next_unique: u32,
    /// Literals of each class, the hot ones first.
    literals: BTreeMap<TypeClass, Vec<String>>,
    /// The table that statements prefer, by number.
    pub hot_table: usize,
}

#[derive(Debug)]
struct KeyStock {
    hot: Vec<i64>,
    known: Vec<i64>,
    next: i64,
    /// A counter gives rows their keys, too.
    counted: bool,
    /// The initial values of the columns that are a unique key by themselves, by the column's number.
    unique: BTreeMap<usize, Vec<String>>,
}

/// How many literals of a class are hot.
const HOT_LITERALS: usize = 3;

/// Draws the rows of every table, as one INSERT each, and the stock that goes with them.
pub(super) fn rows(
    entropy: &mut Entropy<'_>,
    tables: &[TablePlan],
    counts: &RangeInclusive<usize>,
) -> (Vec<String>, Stock) {
    let mut inserts = Vec::new();
    let mut keys: Vec<KeyStock> = Vec::new();
    let mut version = 0;
    for table in tables {
        let count = entropy.range(counts);
        let mut known = Vec::new();
        let mut key = 0;
        let mut texts = Vec::new();
        let mut unique: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for number in 0..count {
            key += if entropy.percent(15) { 2 } else { 1 };
            version += 1;
            known.push(key);
            let mut cells = vec![key.to_string(), version.to_string()];
            let columns = table.columns.iter().enumerate();
            for (at, column) in columns.filter(|(_, column)| column.generated.is_none()) {
                let cell = match column.references {
                    Some(key) => referenced(entropy, column, &keys[key.table], key.column),
                    None => initial(entropy, column, number),
                };
                if column.sole_key && cell != "NULL" {
                    unique.entry(at).or_default().push(cell.clone());
                }
                cells.push(cell);
            }
            texts.push(format!("({})", cells.join(", ")));
        }
        let names: Vec<&str> = ["pkey", table.version]
            .into_iter()
            .chain(
                table
                    .columns
                    .iter()
                    .filter(|c| c.generated.is_none())
                    .map(|c| c.name.as_str()),
            )
            .collect();
        if !texts.is_empty() {
            inserts.push(format!(
                "INSERT INTO {} ({}) VALUES {}",
                table.name,
                names.join(", "),
                texts.join(", ")
            ));
        }
        let hot = (0..2)
            .filter_map(|_| entropy.pick(&known).copied())
            .collect();
        keys.push(KeyStock {
            hot,
            known,
            next: key + 1,
            counted: table.counted,
            unique,
        });
    }
    let stock = Stock {
        keys,
        next_version: FIRST_VERSION,
        next_shift: 0,
        next_unique: 0,
        literals: literals(entropy, tables),
        hot_table: entropy.below(tables.len()),
    };
    (inserts, stock)
}

/// The literals of each class that the tables have, in an order drawn for the case.
fn literals(entropy: &mut Entropy<'_>, tables: &[TablePlan]) -> BTreeMap<TypeClass, Vec<String>> {
    let mut all: BTreeMap<TypeClass, Vec<String>> = BTreeMap::new();
    for column in tables.iter().flat_map(|table| &table.columns) {
        let known = all.entry(column.class).or_default();
        for literal in &column.literals {
            if !known.contains(literal) {
                known.push(literal.clone());
            }
        }
    }
    for known in all.values_mut() {
        for at in 0..known.len().min(HOT_LITERALS) {
            let other = at + entropy.below(known.len() - at);
            known.swap(at, other);
        }
    }
    all
}

/// A cell of an initial row.
fn initial(entropy: &mut Entropy<'_>, column: &ColumnPlan, number: usize) -> String {
    if column.nullable && entropy.percent(10) {
        return "NULL".to_owned();
    }
    if column.unique {
        return unique_value(column.class, usize::from(FIRST_UNIQUE) + number);
    }
    let literal = entropy.pick(&column.literals);
    literal.cloned().unwrap_or_else(|| "NULL".to_owned())
}

/// A cell of an initial row that references one of another table, by this column or by the row key.
fn referenced(
    entropy: &mut Entropy<'_>,
    column: &ColumnPlan,
    parent: &KeyStock,
    key: Option<usize>,
) -> String {
    let value = match key {
        Some(key) => parent.unique_value(entropy, key).cloned(),
        None => entropy.pick(&parent.known).map(i64::to_string),
    };
    value
        .filter(|_| !column.nullable || !entropy.percent(15))
        .unwrap_or_else(|| "NULL".to_owned())
}

/// A value for a unique column. Small, because the narrowest integer types are cut at 127, where
/// values would collide.
fn unique_value(class: TypeClass, number: usize) -> String {
    match class {
        TypeClass::Text => format!("'u{number}'"),
        TypeClass::Collated if number % 2 == 1 => format!("'U{number}'"),
        TypeClass::Collated => format!("'u{number}'"),
        TypeClass::Integer
        | TypeClass::Decimal
        | TypeClass::Real
        | TypeClass::Bytes
        | TypeClass::Temporal
        | TypeClass::Unsigned
        | TypeClass::Time
        | TypeClass::Json => number.to_string(),
    }
}

impl KeyStock {
    /// What a column that is a unique key had at first in some row.
    fn unique_value(&self, entropy: &mut Entropy<'_>, column: usize) -> Option<&String> {
        entropy.pick(self.unique.get(&column)?)
    }
}

impl Stock {
    /// A version key never used before.
    pub(super) fn version(&mut self) -> i64 {
        self.next_version += 1;
        self.next_version - 1
    }

    /// The number that an INSERT .. SELECT adds to row keys: a different power of two for each
    /// statement, so that no two sums are equal.
    pub(super) fn shift(&mut self) -> i64 {
        self.next_shift += 1;
        KEY_LIMIT << (self.next_shift - 1).min(40)
    }

    /// The row key that the counter of a table gives next, as far as that can be known: other sessions take some, too.
    pub(super) fn counted_key(&mut self, table: usize) {
        let stock = &mut self.keys[table];
        stock.known.push(stock.next);
        stock.next += 1;
    }

    /// A row key never used before.
    pub(super) fn fresh_key(&mut self, table: usize) -> i64 {
        let stock = &mut self.keys[table];
        if stock.counted {
            stock.next += COUNTED_ROOM;
        }
        stock.next += 1;
        stock.known.push(stock.next - 1);
        stock.next - 1
    }

    /// A row key to contend for: most are hot, some belong to rows that another session inserts, a
    /// few to no row.
    pub(super) fn hot_key(&self, entropy: &mut Entropy<'_>, table: usize) -> i64 {
        let stock = &self.keys[table];
        let from = if entropy.percent(65) {
            &stock.hot
        } else {
            &stock.known
        };
        match entropy.pick(from) {
            Some(key) if !entropy.percent(3) => *key,
            _ => stock.next + 7,
        }
    }

    /// A value that a row has or had in the key that a foreign key references.
    pub(super) fn referenced(
        &self,
        entropy: &mut Entropy<'_>,
        key: ReferencedKey,
    ) -> Option<String> {
        match key.column {
            Some(column) => self.keys[key.table].unique_value(entropy, column).cloned(),
            None => Some(self.hot_key(entropy, key.table).to_string()),
        }
    }

    /// A value that a unique column does not have yet.
    pub(super) fn unique(&mut self, class: TypeClass) -> String {
        self.next_unique += 1;
        unique_value(class, 40 + self.next_unique as usize)
    }

    /// The literal of a class on which writers agree: two transactions that assign the same value are the
    /// ones that change nothing.
    pub(super) fn agreed(&self, class: TypeClass) -> Option<String> {
        self.literals.get(&class)?.first().cloned()
    }

    /// A literal of a class; None when no column has that class.
    pub(super) fn literal(&self, entropy: &mut Entropy<'_>, class: TypeClass) -> Option<String> {
        let all = self.literals.get(&class)?;
        let hot = &all[..all.len().min(HOT_LITERALS)];
        let from = if entropy.percent(70) {
            hot
        } else {
            all.as_slice()
        };
        entropy.pick(from).cloned()
    }
}
