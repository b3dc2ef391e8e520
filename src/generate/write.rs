//! Values that writes assign: SET lists, rows of INSERT, the projection of INSERT .. SELECT.

use super::expand::Expander;
use super::schema::ColumnPlan;
use super::scope::{ColumnRef, Frame, KeyListing, ScopedRelation};
use crate::dialect::{Capability, TypeClass};
use crate::grammar::{AssignedRows, NewRow, class_word};

/// How many SET lists, of a hundred, of tables without a version key give one column the value that it has: what
/// makes no version hides a newer one (MDEV-26642).
const IDLE_PERCENT: usize = 15;

/// How many values, of a hundred, of a column with a CHECK constraint are the one that it refuses.
const REFUSED_PERCENT: usize = 6;

/// How many values, of a hundred, of a column for which the dialect names one that is too long are that one.
const TOO_LONG_PERCENT: usize = 4;

/// How many values, of a hundred, that a new row has in a unique column no row had before. More rows meet where
/// equal values are told apart by their bytes.
fn fresh_percent(column: &ColumnPlan) -> usize {
    if column.class == TypeClass::Collated {
        70
    } else {
        94
    }
}

impl Expander<'_, '_, '_> {
    /// The version key of this statement, the same for every row it touches.
    pub(super) fn version(&mut self) -> i64 {
        let version = self.version.unwrap_or_else(|| self.stock.version());
        self.version = Some(version);
        version
    }

    /// The list after SET.
    pub(super) fn assignments(
        &mut self,
        of: &ScopedRelation,
        rows: AssignedRows,
        qualified: bool,
        depth: u32,
    ) -> Option<()> {
        let plan = &self.tables[of.table];
        let eligible: Vec<usize> = (0..plan.columns.len())
            .filter(|at| plan.column(*at).generated.is_none())
            .filter(|at| rows == AssignedRows::One || !plan.column(*at).unique)
            .collect();
        let mut chosen: Vec<usize> = (0..=self.entropy.below(3))
            .filter_map(|_| self.entropy.pick(&eligible).copied())
            .collect();
        chosen.sort_unstable();
        chosen.dedup();
        let idle = !self.version_keys && self.entropy.percent(IDLE_PERCENT);
        if idle {
            chosen.truncate(1);
        }
        let keyed = self.version_keys || chosen.is_empty() || (!idle && self.entropy.percent(60));
        let prefix = if qualified {
            format!("{}.", of.alias)
        } else {
            String::new()
        };
        let number = if keyed { self.version() } else { 0 };
        let version = format!("{prefix}{} = {number}", plan.version);
        let first = keyed && self.entropy.percent(50);
        if first {
            self.write(&version);
        }
        // A SET expression reads its own table and tables that the statement does not write,
        // because engines differ in the order in which they assign the columns of several targets.
        let mut relations = vec![ScopedRelation {
            hidden: false,
            ..of.clone()
        }];
        if let Some(frame) = self.frames.last() {
            relations.extend(
                frame
                    .relations
                    .iter()
                    .filter(|relation| !self.targets.contains(&relation.table))
                    .cloned(),
            );
        }
        self.frames.push(Frame {
            closed: true,
            relations,
        });
        for (number, at) in chosen.iter().enumerate() {
            if number > 0 || first {
                self.write(", ");
            }
            self.write(&format!("{prefix}{} = ", plan.column(*at).name));
            self.forbid(of, *at, &chosen);
            if idle {
                self.write(&format!("{}.{}", of.alias, plan.column(*at).name));
            } else {
                self.assigned(of, *at, rows, depth)?;
            }
            self.forbidden.clear();
        }
        self.frames.pop();
        if keyed && !first {
            if !chosen.is_empty() {
                self.write(", ");
            }
            self.write(&version);
        }
        Some(())
    }

    /// Hides the columns that another assignment of the same SET may have changed: the other
    /// assigned columns and the generated ones.
    fn forbid(&mut self, of: &ScopedRelation, own: usize, chosen: &[usize]) {
        let plan = &self.tables[of.table];
        self.forbidden = (0..plan.columns.len())
            .filter(|at| *at != own)
            .filter(|at| chosen.contains(at) || plan.column(*at).generated.is_some())
            .map(|column| ColumnRef {
                alias: of.alias.clone(),
                table: of.table,
                column,
            })
            .collect();
        // Marks that a SET list is being written, even when it assigns one column only.
        self.forbidden.push(ColumnRef {
            alias: of.alias.clone(),
            table: of.table,
            column: usize::MAX,
        });
    }

    /// The value of one assigned column.
    fn assigned(
        &mut self,
        of: &ScopedRelation,
        at: usize,
        rows: AssignedRows,
        depth: u32,
    ) -> Option<()> {
        let tables = self.tables;
        let column = tables[of.table].column(at);
        if self.reference(column) {
            return Some(());
        }
        // Of many rows, another one could fail first, for another reason.
        if rows == AssignedRows::One && self.failing(column) {
            return Some(());
        }
        if column.unique {
            let value = if self.entropy.percent(75) {
                self.stock.unique(column.class)
            } else {
                self.entropy.pick(&column.literals)?.clone()
            };
            self.write(&value);
            return Some(());
        }
        // Where NULL is forbidden, one row at a time only: of many rows, any could fail first.
        let null_percent = match (column.nullable, rows) {
            (true, _) => 6,
            (false, AssignedRows::One) => 3,
            (false, AssignedRows::Many) => 0,
        };
        if self.entropy.percent(null_percent) {
            self.write("NULL");
            return Some(());
        }
        let has_default = column.nullable || column.default.is_some();
        if has_default
            && self.dialect.supports(Capability::AssignDefault)
            && self.entropy.percent(3)
        {
            self.write("DEFAULT");
            return Some(());
        }
        if !self.version_keys {
            let same = match self.entropy.below(100) {
                0..12 => Some(format!("{}.{}", of.alias, column.name)),
                12..45 => self.stock.agreed(column.class),
                _ => None,
            };
            if let Some(same) = same {
                self.write(&same);
                return Some(());
            }
        }
        self.value("set-", column, depth)
    }

    /// An expression of a column's class; never NULL for a column that forbids it.
    fn value(&mut self, prefix: &str, column: &ColumnPlan, depth: u32) -> Option<()> {
        let rule = self
            .grammar
            .rule(&format!("{prefix}{}", class_word(column.class)))?;
        let start = self.text.len();
        self.rule(rule, depth + 1)?;
        let written = self.text[start..].to_owned();
        if !column.nullable && !column.literals.contains(&written) {
            let fallback = self.entropy.pick(&column.literals)?.clone();
            self.text.truncate(start);
            self.text
                .push_str(&format!("COALESCE({written}, {fallback})"));
        }
        Some(())
    }

    /// The column list of an INSERT, sometimes without columns that may be left out.
    pub(super) fn insert_columns(&mut self, table: usize) {
        self.list_columns(table, KeyListing::Listed);
    }

    /// The same, with such a row key.
    pub(super) fn list_columns(&mut self, table: usize, listing: KeyListing) {
        self.key_listing = listing;
        let plan = &self.tables[table];
        self.insert_columns = (0..plan.columns.len())
            .filter(|at| {
                let column = plan.column(*at);
                let required = !column.nullable && column.default.is_none();
                column.generated.is_none() && (required || !self.entropy.percent(12))
            })
            .collect();
        let key = (listing != KeyListing::LeftOut).then_some("pkey");
        let names: Vec<&str> = key
            .into_iter()
            .chain([plan.version])
            .chain(
                self.insert_columns
                    .iter()
                    .map(|at| plan.column(*at).name.as_str()),
            )
            .collect();
        self.text.push_str(&names.join(", "));
    }

    /// A key that is or may be in the table, and in no earlier row of the same statement: which of
    /// two equal rows counts is a question of its own.
    fn existing_key(&mut self, table: usize) -> i64 {
        for _ in 0..4 {
            let key = self.stock.hot_key(self.entropy, table);
            if !self.insert_keys.contains(&key) {
                return key;
            }
        }
        self.stock.fresh_key(table)
    }

    /// One row, for the columns of the list.
    pub(super) fn insert_values(&mut self, table: usize, row: NewRow, depth: u32) -> Option<()> {
        let tables = self.tables;
        let chosen = self.insert_columns.clone();
        let risk = row == NewRow::Risky && self.entropy.percent(6);
        let violated = match row {
            NewRow::Risky if risk => {
                let strict = |at: &usize| !tables[table].column(*at).nullable;
                let strict: Vec<usize> = chosen.iter().copied().filter(strict).collect();
                self.entropy.pick(&strict).copied()
            }
            NewRow::Broken if !self.dialect.supports(Capability::IntegerOverflowError) => {
                let breaks = |at: &usize| self.can_break(tables[table].column(*at));
                let breaking: Vec<usize> = chosen.iter().copied().filter(breaks).collect();
                Some(*self.entropy.pick(&breaking)?)
            }
            NewRow::Fresh
            | NewRow::Existing
            | NewRow::Risky
            | NewRow::Repeated
            | NewRow::Counted
            | NewRow::Broken => None,
        };
        let repeats = risk && violated.is_none() && tables[table].keyed;
        let key = match row {
            NewRow::Counted => None,
            NewRow::Existing | NewRow::Broken => Some(self.existing_key(table)),
            NewRow::Risky if repeats => Some(self.existing_key(table)),
            NewRow::Fresh | NewRow::Risky => Some(self.stock.fresh_key(table)),
            NewRow::Repeated => Some(self.entropy.pick(&self.insert_keys).copied()?),
        };
        self.insert_keys.extend(key);
        let key = match key {
            Some(key) => format!("{key}, "),
            None => self.counted_key(table).to_owned(),
        };
        let version = self.version();
        let overflows =
            row == NewRow::Broken && self.dialect.supports(Capability::IntegerOverflowError);
        if overflows {
            self.write(&format!("{key}{} + {version}", i64::MAX));
        } else {
            self.write(&format!("{key}{version}"));
        }
        for at in chosen {
            let column = tables[table].column(at);
            self.write(", ");
            if violated == Some(at) {
                self.write("NULL");
            } else if column.unique && self.entropy.percent(fresh_percent(column)) {
                let value = self.stock.unique(column.class);
                self.write(&value);
            } else if column.unique {
                let value = self.entropy.pick(&column.literals)?.clone();
                self.write(&value);
            } else if column.nullable && self.entropy.percent(8) {
                self.write("NULL");
            } else if !self.reference(column) && !self.failing(column) {
                self.value("value-", column, depth)?;
            }
        }
        Some(())
    }

    /// Writes a value of the key that a column references; false where it references none, and now and
    /// then, for a value that has no parent.
    fn reference(&mut self, column: &ColumnPlan) -> bool {
        let Some(key) = column.references else {
            return false;
        };
        let parent = match self.entropy.percent(12) {
            true => None,
            false => self.stock.referenced(self.entropy, key),
        };
        parent.inspect(|value| self.write(value)).is_some()
    }

    /// Writes a value that the column's CHECK constraint refuses, or that is too long for it; false where there is
    /// none, and mostly.
    fn failing(&mut self, column: &ColumnPlan) -> bool {
        let (value, percent) = match (&column.refused, &column.too_long) {
            (Some(refused), _) => (refused, REFUSED_PERCENT),
            (None, Some(long)) if !column.unique => (long, TOO_LONG_PERCENT),
            (None, _) => return false,
        };
        let fails = self.entropy.percent(percent);
        if fails {
            self.write(value);
        }
        fails
    }

    /// The projection of INSERT .. SELECT, for the columns of the list.
    pub(super) fn insert_query(
        &mut self,
        table: usize,
        source: &ScopedRelation,
        depth: u32,
    ) -> Option<()> {
        let tables = self.tables;
        let key = format!("{}.pkey + {}", source.alias, self.stock.shift());
        let version = self.version();
        match self.key_listing {
            KeyListing::Listed => self.write(&format!("{key}, ")),
            KeyListing::Counted => self.write("NULL, "),
            KeyListing::LeftOut => {}
        }
        self.write(&version.to_string());
        for at in self.insert_columns.clone() {
            let column = tables[table].column(at);
            self.write(", ");
            if self.reference(column) {
                continue;
            }
            if column.unique {
                // Of many rows, only the key differs in each.
                self.write(if column.nullable { "NULL" } else { &key });
                continue;
            }
            let alike = source.columns(tables, Some(column.class));
            match self.entropy.pick(&alike) {
                Some(from) if self.entropy.percent(60) => {
                    let mut text = self.named(from);
                    if !column.nullable {
                        let fallback = self.entropy.pick(&column.literals)?;
                        text = format!("COALESCE({text}, {fallback})");
                    }
                    self.write(&text);
                }
                _ => self.value("value-", column, depth)?,
            }
        }
        Some(())
    }
}
