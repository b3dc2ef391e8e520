//! What CREATE TABLE says behind its columns: engine, character set, collation, partitions. What stays
//! is part of the finding.

use super::constraints::{places, without};
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::statement::table_options;

pub(super) struct TableOptions;

impl super::Pass for TableOptions {
    fn name(&self) -> &'static str {
        "table-options"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        let dialect = search.dialect();
        search.remove(
            |draft| places(draft, table_options, dialect).len(),
            |draft, gone| Some(without(draft, gone, table_options, dialect)),
        )
    }
}
