//! The parents of the rows that a write is put on.
//!
//! A statement alone is put on the tables that it names. A table that they reference and that it does not name is
//! as other statements left it, and may lack the parent of a row. An engine may answer a write of such an orphan
//! otherwise: SQLite counts, for each statement, the children that it leaves without a parent, and takes one off for each
//! orphan that it removes, so that a DELETE of both a parent and an orphan is let through (the source of SQLite, `fkey.c`,
//! its first comment).

use std::collections::BTreeSet;

use super::alone::{Alone, Contents, SeenTables};
use super::moment::ShownUntil;
use crate::model::{CaseStatement, ForeignKey, TableShape};

impl Alone<'_> {
    /// The tables of a write, and with them those that they reference and that lack the parent of one of their rows, as
    /// they stood just before its answer: foreign keys are held against what is committed, and what the
    /// transaction itself wrote, at every level.
    pub(super) fn with_parents(
        &self,
        statement: &CaseStatement,
        mut tables: SeenTables,
    ) -> SeenTables {
        let record = self.evidence.execution.records.get(&statement.id);
        let Some(record) = record.filter(|_| statement.effect.kind.is_write()) else {
            return tables;
        };
        let until = ShownUntil::Committed(record.answered);
        for parent in self.lacking_a_parent(&tables) {
            let rows = self.table_at(&parent, statement.id, until);
            tables.insert(parent, rows);
        }
        tables
    }

    /// Tables beside these in which a row of one of these has no parent now.
    fn lacking_a_parent(&self, tables: &SeenTables) -> BTreeSet<String> {
        let case = &self.evidence.case;
        let mut lacking = BTreeSet::new();
        for (child, rows) in tables {
            let Some(child) = case.table(child) else {
                continue;
            };
            for key in &child.foreign_keys {
                let Some(parent) = case.table(&key.parent) else {
                    continue;
                };
                let stand = self.standing(&parent.name);
                if !tables.contains_key(&parent.name)
                    && has_an_orphan((child, rows), (parent, stand), key)
                {
                    lacking.insert(parent.name.clone());
                }
            }
        }
        lacking
    }
}

/// Whether a row of a child has values in all columns of its foreign key, and no row of the parent has them.
fn has_an_orphan(
    (child, rows): (&TableShape, &Contents),
    (parent, stand): (&TableShape, Option<&Contents>),
    key: &ForeignKey,
) -> bool {
    let parents = stand.into_iter().flat_map(Contents::values);
    let parents: BTreeSet<_> = parents
        .filter_map(|row| parent.key_of(&key.parent_columns, row))
        .collect();
    rows.values()
        .filter_map(|row| child.key_of(&key.columns, row))
        .any(|wanted| !parents.contains(&wanted))
}
