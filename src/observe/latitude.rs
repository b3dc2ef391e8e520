//! What else a statement may have seen, where documented behaviour allows more than one view.
//!
//! InnoDB at READ COMMITTED keeps no lock on a row that its cursor passed over, and an UPDATE passes
//! over locked rows by their last committed version (MySQL manual, "InnoDB Locking Reads" and
//! "Transaction Isolation Levels", semi-consistent read). So a statement that waited saw each row as
//! of some moment of its wait. What it locked it saw as it is when it goes on: an older version can
//! only have been passed over.

use super::chain::{RowId, VersionId};
use super::view::{TableView, View};
use crate::model::{Doubt, UndecidedReason};

/// What else a statement may see of one row, instead of the version that its view promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sight {
    /// Nothing: the row was not there yet, or not any more, or was moved out of the cursor's way.
    Nothing,
    /// Another version.
    Version(VersionId),
    /// This version, which the cursor found not to count and let go without a lock. Had it counted,
    /// the statement would have locked it.
    PassedOver(VersionId),
    /// This version at its old place, beside the promised one at the new place.
    Beside(VersionId),
}

/// One row of which a statement may see something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLatitude {
    pub table: String,
    pub row: RowId,
    /// Each at most once, with the registered behaviour by which it may be seen.
    pub sights: Vec<(Sight, Doubt)>,
}

/// Everything else that a statement may have seen beside its promised view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latitude {
    /// Rows that may be chosen one by one.
    pub rows: Vec<RowLatitude>,
    /// Tables that are read through a statement's snapshot, all at one moment: that of each earlier
    /// moment of the wait.
    pub snapshots: Vec<View>,
    /// The whole view at each earlier moment of the wait, oldest first.
    pub moments: Vec<View>,
    /// Rows of which another version than the promised one was committed before the statement went on to them.
    /// It locks what counts, so that it can have met the promised version only to let the row go.
    pub replaced: Vec<(String, RowId)>,
    /// Why it may have seen more than is listed here.
    pub beyond: Option<UndecidedReason>,
}

impl Latitude {
    /// Whether there is nothing else that it may have seen.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.snapshots.is_empty()
    }

    /// Adds what a row may be seen as. A sight that is there already keeps its doubt.
    pub(super) fn row(
        &mut self,
        table: &str,
        row: &RowId,
        doubt: Doubt,
        sights: impl IntoIterator<Item = Sight>,
    ) {
        for sight in sights {
            let same = |other: &&mut RowLatitude| other.table == table && other.row == *row;
            match self.rows.iter_mut().find(same) {
                Some(known) if known.sights.iter().any(|(other, _)| *other == sight) => {}
                Some(known) => known.sights.push((sight, doubt)),
                None => self.rows.push(RowLatitude {
                    table: table.to_owned(),
                    row: row.clone(),
                    sights: vec![(sight, doubt)],
                }),
            }
        }
    }

    /// Adds the view of the tables that are read through a statement's snapshot, unless it is known.
    pub(super) fn snapshot(&mut self, promised: &View, tables: Vec<(&str, TableView)>) {
        let view: View = tables
            .into_iter()
            .map(|(table, seen)| (table.to_owned(), seen))
            .collect();
        let is_promised = view
            .iter()
            .all(|(table, seen)| promised.get(table) == Some(seen));
        if !is_promised && !self.snapshots.contains(&view) {
            self.snapshots.push(view);
        }
    }
}
