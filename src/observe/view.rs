//! Views: which versions one statement sees.

use std::collections::BTreeMap;

use super::chain::{RowId, VersionId};
use crate::model::Row;

/// Which version of each row of a table a statement sees; none where it comes before the first.
/// A version may be the mark of a deletion: the row is not there, and will not come back by itself.
pub type TableView = BTreeMap<RowId, Option<VersionId>>;

/// What a statement sees of every table it names.
pub type View = BTreeMap<String, TableView>;

/// What probes before a statement showed of one table.
#[derive(Clone, Debug)]
pub(super) enum ProbedTable {
    /// All its rows.
    Whole(Vec<Row>),
    /// The rows that the statement will touch.
    Matched(Vec<Row>),
}
