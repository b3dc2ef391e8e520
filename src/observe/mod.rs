//! How row versions are learned, and what each statement sees of them.
//!
//! [`instrument`] says what to add to a run, [`learn`] turns the record of that run into version
//! chains, a view per statement and the changes each write made. Two learners give the same
//! account on a correct engine: the **observer** reads the touched tables from outside the
//! sessions and computes every view from the read mode that the judged level promises; the
//! **probes** read inside the session, right before the statement, in the statement's own mode.
//! Probes are blind to the level: whatever the engine shows is taken for what the statement saw.

mod chain;
mod identity;
mod instrument;
mod latitude;
mod learn;
mod moved;
mod released;
mod safe_snapshot;
mod table_wait;
#[cfg(test)]
mod tests;
mod view;
mod visibility;

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::dialect::ChangedRows;
use crate::model::{CaseStatement, Doubt, Row, StatementId, UndecidedReason};

pub use chain::{Chains, RowId, Version, VersionId};
pub use identity::{is_hidden_row_key, with_row_identity};
pub use instrument::{instrument, promised_mode};
pub use latitude::{Latitude, RowLatitude, Sight};
pub use learn::{holds_a_key_twice, learn};
pub use released::is_released;
pub(crate) use safe_snapshot::waits_for_a_safe_snapshot;
pub use view::{TableView, View};
pub use visibility::{Reader, Timeline};

/// By which of the two ways row versions are learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Learner {
    /// An extra connection that reads beside the sessions.
    Observer,
    /// Reads added to the sessions themselves.
    Probes,
}

impl Learner {
    /// As the command line spells it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Observer => "observer",
            Self::Probes => "probes",
        }
    }
}

impl FromStr for Learner {
    type Err = UnknownLearner;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let both = [Self::Observer, Self::Probes];
        let named = both.into_iter().find(|learner| learner.slug() == text);
        named.ok_or_else(|| UnknownLearner(text.to_owned()))
    }
}

/// The word names no way to learn row versions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no way to learn what statements saw: probes, observer")]
pub struct UnknownLearner(String);

/// One row changed by one statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub table: String,
    pub row: RowId,
    /// The version it replaced; none for a row that was never there.
    pub before: Option<VersionId>,
    pub after: VersionId,
}

/// Everything learned from one run.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub chains: Chains,
    pub views: BTreeMap<StatementId, View>,
    pub changes: BTreeMap<StatementId, Vec<Change>>,
    /// Statements of which nothing certain is known, and why.
    pub unsure: BTreeMap<StatementId, UndecidedReason>,
    /// What else statements may have seen than their views, by documented behaviour; none for a
    /// statement that must have seen its view.
    pub latitudes: BTreeMap<StatementId, Latitude>,
    /// Statements that saw what only a registered behaviour lets them see, and were right by it.
    pub registered: BTreeMap<StatementId, Doubt>,
    /// What stood in the target of a MERGE when that was refused as a duplicate: it looked for its rows in a snapshot.
    pub newest: BTreeMap<StatementId, View>,
    /// Why versions may be missing, so that every later view may lack some.
    pub gap: Option<UndecidedReason>,
    /// Rows that changed though no statement could have changed them, for people.
    pub unexplained: Vec<String>,
    /// Rows that writes did not return as they changed them.
    pub mistold: Vec<MistoldRow>,
}

/// A row that a write changed, and what it returned of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MistoldRow {
    pub statement: StatementId,
    pub table: String,
    /// As a DELETE found it, or another write left it.
    pub row: Row,
    /// None where it did not return it.
    pub returned: Option<Row>,
}

impl Account {
    /// Whether a statement changed this row.
    pub fn has_changed(&self, statement: StatementId, table: &str, row: &RowId) -> bool {
        let mut changes = self.changes.get(&statement).into_iter().flatten();
        changes.any(|change| change.table == table && change.row == *row)
    }

    /// What became of the rows that a statement changed, as engines count them: without those that the
    /// action of a foreign key or a trigger changed (MySQL manual, "FOREIGN KEY Constraints", "Trigger Syntax
    /// and Examples"; SQLite manual, "sqlite3_changes()").
    pub fn changed_rows(&self, statement: &CaseStatement) -> ChangedRows {
        let uncounted = |table: &str| {
            let mut uses = statement.effect.uses.iter();
            uses.any(|used| used.role.is_unnamed_target() && used.table == table)
        };
        let stands =
            |version: Option<VersionId>| version.and_then(|v| self.chains.row(v)).is_some();
        let mut rows = ChangedRows::default();
        let changes = self.changes.get(&statement.id).into_iter().flatten();
        for Change { before, after, .. } in changes.filter(|change| !uncounted(&change.table)) {
            match (stands(*before), stands(Some(*after))) {
                (false, true) => rows.new += 1,
                (true, false) => rows.gone += 1,
                (true, true) => rows.other += 1,
                // Seen half-way, and gone again.
                (false, false) => {}
            }
        }
        rows
    }
}
