//! Views: which versions one statement sees.

use std::collections::BTreeMap;

use super::chain::{RowId, VersionId};

/// Which version of each row of a table a statement sees; none where it comes before the first.
/// A version may be the mark of a deletion: the row is not there, and will not come back by itself.
pub type TableView = BTreeMap<RowId, Option<VersionId>>;

/// What a statement sees of every table it names.
pub type View = BTreeMap<String, TableView>;
