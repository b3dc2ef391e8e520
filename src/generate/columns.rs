//! Which columns the built-in nonterminals draw.

use super::expand::{Expander, Locals, column};
use super::scope::{ColumnRef, ScopedRelation, visible};
use crate::dialect::TypeClass;
use crate::grammar::Picked;

impl<'g> Expander<'g, '_, '_> {
    /// Whether the tables of the case have a column of each of these classes.
    pub(super) fn has_all(&self, classes: &[TypeClass]) -> bool {
        let columns = || self.tables.iter().flat_map(|table| &table.columns);
        let has = |class: &TypeClass| columns().any(|column| column.class == *class);
        classes.iter().all(has)
    }

    pub(super) fn class_of(&self, column: &ColumnRef) -> TypeClass {
        self.tables[column.table].column(column.column).class
    }

    /// A column of a relation.
    pub(super) fn picked(
        &mut self,
        of: &ScopedRelation,
        picked: &Picked,
        locals: &Locals<'g>,
    ) -> Option<ColumnRef> {
        let tables = self.tables;
        let suits = |holds: &dyn Fn(&ColumnRef) -> bool| -> Vec<ColumnRef> {
            let columns = of.columns(tables, None).into_iter();
            columns.filter(|column| holds(column)).collect()
        };
        let plan = |column: &ColumnRef| tables[column.table].column(column.column);
        let columns = match picked {
            Picked::Any => suits(&|column| plan(column).class.is_sorted()),
            Picked::Exact => suits(&|column| plan(column).class.is_exact()),
            Picked::Class(class) => of.columns(tables, Some(*class)),
            Picked::Alike(other) => {
                let other = plan(column(locals, other)?);
                suits(&|column| {
                    let column = plan(column);
                    column.class == other.class && column.collation == other.collation
                })
            }
            Picked::Indexed => {
                let indexes = &tables[of.table].indexes;
                let first = |at: usize| indexes.iter().any(|i| i.columns.first() == Some(&at));
                suits(&|column| first(column.column))
            }
        };
        self.entropy.pick(&columns).cloned()
    }

    /// A relation whose columns can be named: most often one of the innermost level.
    pub(super) fn any_relation(&mut self) -> Option<ScopedRelation> {
        let levels: Vec<Vec<ScopedRelation>> = visible(&self.frames)
            .map(|level| level.iter().filter(|r| !r.hidden).cloned().collect())
            .collect();
        let innermost = levels.first()?;
        if !innermost.is_empty() && self.entropy.percent(85) {
            return self.entropy.pick(innermost).cloned();
        }
        self.entropy.pick(&levels.concat()).cloned()
    }

    /// A column whose class suits, the keys included.
    pub(super) fn any_column(&mut self, suits: impl Fn(TypeClass) -> bool) -> Option<String> {
        let relation = self.any_relation()?;
        let columns = relation.columns(self.tables, None);
        let allowed: Vec<&ColumnRef> = columns
            .iter()
            .filter(|column| !self.forbidden.contains(column) && suits(self.class_of(column)))
            .collect();
        match self.entropy.below(allowed.len() * 2 + 3) {
            // The version key of a target may have changed already in a SET list.
            0 if self.forbidden.is_empty() => {
                let version = self.tables[relation.table].version;
                Some(format!("{}.{version}", relation.alias))
            }
            0..=2 => Some(format!("{}.pkey", relation.alias)),
            at => Some(self.named(allowed[(at - 3) / 2])),
        }
    }

    pub(super) fn column_of(&mut self, class: TypeClass) -> Option<String> {
        let levels: Vec<Vec<ColumnRef>> = visible(&self.frames)
            .map(|level| {
                level
                    .iter()
                    .filter(|relation| !relation.hidden)
                    .flat_map(|relation| relation.columns(self.tables, Some(class)))
                    .filter(|column| !self.forbidden.contains(column))
                    .collect()
            })
            .collect();
        let innermost = levels.first()?;
        let column = if !innermost.is_empty() && self.entropy.percent(85) {
            self.entropy.pick(innermost)?.clone()
        } else {
            self.entropy.pick(&levels.concat())?.clone()
        };
        Some(self.named(&column))
    }

    /// ORDER BY the row keys of every relation here, perhaps another column first.
    pub(super) fn total_order(&mut self) -> Option<String> {
        let relations = self.frames.last()?.relations.clone();
        let mut keys = Vec::new();
        if self.entropy.percent(25) {
            let columns: Vec<ColumnRef> = relations
                .iter()
                .flat_map(|relation| relation.columns(self.tables, None))
                .filter(|column| self.class_of(column).is_sorted())
                .collect();
            keys.extend(self.entropy.pick(&columns).map(|column| self.named(column)));
        }
        for relation in &relations {
            let descending = if self.entropy.percent(25) {
                " DESC"
            } else {
                ""
            };
            keys.push(format!("{}.pkey{descending}", relation.alias));
        }
        (!relations.is_empty()).then(|| format!("ORDER BY {}", keys.join(", ")))
    }
}
