//! Foreign keys: which tables the rows that a statement writes lead to, and in which role.

use std::collections::BTreeSet;

use crate::model::{
    Effect, ForeignKey, ForeignKeyAction, Role, StatementKind, TableShape, TableUse,
};

/// What foreign keys reach from a write.
pub(super) struct KeyReach<'t> {
    tables: &'t [TableShape],
    /// The tables at the other ends, with their roles.
    pub(super) found: BTreeSet<TableUse>,
    /// Columns of children that get another value.
    pub(super) assigned: BTreeSet<String>,
    /// The tables whose rows were followed already, and whether they are deleted.
    seen: BTreeSet<(String, bool)>,
}

impl<'t> KeyReach<'t> {
    /// What the keys of these tables reach from the rows that a statement writes.
    pub(super) fn of(effect: &Effect, tables: &'t [TableShape]) -> Self {
        let mut reach = KeyReach {
            tables,
            found: BTreeSet::new(),
            assigned: BTreeSet::new(),
            seen: BTreeSet::new(),
        };
        let assigned: BTreeSet<String> = effect.assigned.keys().cloned().collect();
        for used in &effect.uses {
            let table = used.table.to_ascii_lowercase();
            match used.role {
                Role::InsertTarget => {
                    reach.inserted(&table);
                    if effect.kind == StatementKind::Replace {
                        reach.deleted(&table);
                    }
                    reach.updated(&table, &assigned);
                }
                Role::UpdateTarget if effect.kind == StatementKind::Merge => {
                    reach.inserted(&table);
                    reach.deleted(&table);
                    reach.updated(&table, &assigned);
                }
                Role::UpdateTarget => {
                    reach.looks_for_parents(&table, &assigned);
                    reach.updated(&table, &assigned);
                }
                Role::DeleteTarget => reach.deleted(&table),
                Role::PlainSelect
                | Role::LockingSelect
                | Role::LockingSelectSource
                | Role::UpdateSource
                | Role::UpdateJoinSource
                | Role::DeleteSource
                | Role::InsertSelectSource
                | Role::InsertValuesSource
                | Role::ForeignKeyCheck
                | Role::ForeignKeyChild
                | Role::ForeignKeyTarget
                | Role::TriggerTarget => {}
            }
        }
        reach
    }

    fn note(&mut self, table: &str, role: Role) {
        let table = table.to_owned();
        self.found.insert(TableUse { table, role });
    }

    fn keys_of(&self, table: &str) -> &'t [ForeignKey] {
        let mut tables = self.tables.iter();
        let found = tables.find(|shape| shape.name.eq_ignore_ascii_case(table));
        found.map_or(&[], |shape| shape.foreign_keys.as_slice())
    }

    /// New rows have to have their parents.
    fn inserted(&mut self, table: &str) {
        for key in self.keys_of(table) {
            self.note(&key.parent, Role::ForeignKeyCheck);
        }
    }

    /// A row needs a parent where it gets another value of the key, and where it gets another place: there
    /// the engine writes it anew.
    fn looks_for_parents(&mut self, table: &str, assigned: &BTreeSet<String>) {
        let mut tables = self.tables.iter();
        let shape = tables.find(|shape| shape.name.eq_ignore_ascii_case(table));
        let places = shape
            .and_then(TableShape::clustered_key)
            .unwrap_or_default();
        let moves = places
            .iter()
            .any(|column| assigned.contains(&column.to_ascii_lowercase()));
        for key in self.keys_of(table) {
            if moves || key.columns.iter().any(|column| assigned.contains(column)) {
                self.note(&key.parent, Role::ForeignKeyCheck);
            }
        }
    }

    /// Rows with other values in these columns, in lower case.
    fn updated(&mut self, table: &str, columns: &BTreeSet<String>) {
        if columns.is_empty() || !self.seen.insert((table.to_owned(), false)) {
            return;
        }
        self.follow(table, false, |columns_of| {
            columns_of.iter().any(|column| columns.contains(column))
        });
    }

    fn deleted(&mut self, table: &str) {
        if self.seen.insert((table.to_owned(), true)) {
            self.follow(table, true, |_| true);
        }
    }

    /// Goes on to the children of a table whose referenced columns are among those meant.
    fn follow(&mut self, table: &str, deleted: bool, meant: impl Fn(&[String]) -> bool) {
        for child in self.tables {
            for key in &child.foreign_keys {
                if !key.parent.eq_ignore_ascii_case(table) || !meant(&key.parent_columns) {
                    continue;
                }
                let action = if deleted {
                    key.on_delete
                } else {
                    key.on_update
                };
                match action {
                    ForeignKeyAction::Refuse => self.note(&child.name, Role::ForeignKeyChild),
                    ForeignKeyAction::Cascade if deleted => {
                        self.note(&child.name, Role::ForeignKeyTarget);
                        self.deleted(&child.name.to_ascii_lowercase());
                    }
                    ForeignKeyAction::Cascade | ForeignKeyAction::Set => {
                        self.note(&child.name, Role::ForeignKeyTarget);
                        let columns: BTreeSet<String> = key.columns.iter().cloned().collect();
                        self.assigned.extend(columns.iter().cloned());
                        self.updated(&child.name.to_ascii_lowercase(), &columns);
                    }
                }
            }
        }
    }
}
