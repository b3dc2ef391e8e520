//! Parts of writes of several rows that an engine rejects half-way, so that a statement that was not
//! undone whole shows.
//!
//! Whether such a statement fails depends on the rows it touches and never on their order: a run
//! alone on the same rows gives the same error.

use super::expand::Expander;
use super::schema::ColumnPlan;
use super::scope::ScopedRelation;
use crate::dialect::{Capability, TypeClass};

impl Expander<'_, '_, '_> {
    /// A SET list that gives one column of a unique key the same value in every row: the second
    /// row collides with the first. None where no column but the row key is unique.
    pub(super) fn colliding_assignments(&mut self, of: &ScopedRelation) -> Option<()> {
        let tables = self.tables;
        let plan = &tables[of.table];
        let unique: Vec<&ColumnPlan> = plan.columns.iter().filter(|c| c.unique).collect();
        let column = *self.entropy.pick(&unique)?;
        let value = if self.entropy.percent(60) {
            self.stock.unique(column.class)
        } else {
            self.entropy.pick(&column.literals)?.clone()
        };
        let version = self.version();
        let name = plan.version;
        self.write(&format!("{} = {value}, {name} = {version}", column.name));
        Some(())
    }

    /// A SET list that the engine rejects at one row, by its row key, and nowhere else.
    pub(super) fn breaking_assignments(&mut self, of: &ScopedRelation) -> Option<()> {
        let tables = self.tables;
        let plan = &tables[of.table];
        let breakable: Vec<&ColumnPlan> = plan
            .columns
            .iter()
            .filter(|c| c.generated.is_none() && !c.unique && self.can_break(c))
            .collect();
        let column = *self.entropy.pick(&breakable)?;
        let key = self.stock.hot_key(self.entropy, of.table);
        let broken = if self.dialect.supports(Capability::IntegerOverflowError) {
            format!("{} + {}.pkey", i64::MAX, of.alias)
        } else {
            "NULL".to_owned()
        };
        let value = self.entropy.pick(&column.literals)?.clone();
        let version = self.version();
        self.write(&format!(
            "{} = CASE WHEN {}.pkey = {key} THEN {broken} ELSE {value} END, {} = {version}",
            column.name, of.alias, plan.version
        ));
        Some(())
    }

    /// Whether there is a value for this column that the engine rejects in a row of many.
    pub(super) fn can_break(&self, column: &ColumnPlan) -> bool {
        if self.dialect.supports(Capability::IntegerOverflowError) {
            column.class == TypeClass::Integer
        } else {
            self.dialect.supports(Capability::NotNullOfManyRows)
                && !column.nullable
                && column.default.is_none()
        }
    }
}
