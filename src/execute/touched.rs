//! What of a set-up a serial run may have changed, and how it is brought back.

use std::collections::BTreeSet;

use crate::dialect::Dialect;
use crate::model::{Effect, SetupKind, StatementKind, TestCase};
use crate::statement::analyze;

/// What may differ from the set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Touched {
    /// Whatever there is: the schema, too.
    Everything,
    /// The rows of these tables at most.
    Tables(BTreeSet<String>),
}

impl Default for Touched {
    fn default() -> Self {
        Self::Tables(BTreeSet::new())
    }
}

impl Touched {
    /// Notes that the rows of a table may change.
    pub(super) fn note(&mut self, table: &str) {
        if let Self::Tables(tables) = self
            && !tables.contains(table)
        {
            tables.insert(table.to_owned());
        }
    }

    /// Notes what a statement of this effect may change: everything, where its text does not tell.
    pub(super) fn note_effect(&mut self, effect: &Effect, case: &TestCase) {
        if effect.kind == StatementKind::Opaque {
            *self = Self::Everything;
            return;
        }
        if let Some(shape) = (effect.storage_change.as_ref()).and_then(|c| case.table(&c.table)) {
            self.note(&shape.name);
        }
        for target in effect.targets() {
            match case.table(target) {
                Some(shape) => self.note(&shape.name),
                None => *self = Self::Everything,
            }
        }
    }

    /// Whether the rows of a table may have changed.
    pub(super) fn concerns(&self, table: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Tables(tables) => tables.contains(table),
        }
    }
}

/// The statements that fill these tables, where the set-up fills each with rows of its own: none
/// where a statement reads another table, for that one may have changed since.
pub(super) fn filled_by<'c>(
    case: &'c TestCase,
    tables: &BTreeSet<String>,
    dialect: &Dialect,
) -> Option<Vec<&'c str>> {
    let rows = case
        .setup
        .iter()
        .filter(|statement| statement.kind == SetupKind::Rows);
    let mut statements = Vec::new();
    for statement in rows {
        let effect = analyze(&statement.sql, dialect);
        let inserts = matches!(effect.kind, StatementKind::Insert | StatementKind::Replace);
        let [only] = effect.uses.as_slice() else {
            return None;
        };
        if !inserts {
            return None;
        }
        if tables.contains(&case.table(&only.table)?.name) {
            statements.push(statement.sql.as_str());
        }
    }
    Some(statements)
}
