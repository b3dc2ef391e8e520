//! What CREATE TABLE says behind its columns: engine, character set, collation, partitions. What stays
//! is part of the finding.

use super::constraints::{places, without};
use crate::dialect::Dialect;
use crate::minimize::draft::Draft;
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::statement::{is_stray_partition, shapes, table_options};

pub(super) struct TableOptions;

impl super::Pass for TableOptions {
    fn name(&self) -> &'static str {
        "table-options"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        let dialect = search.dialect();
        search.remove(
            |draft| places(draft, table_options, dialect).len(),
            |draft, gone| {
                let plain = without(draft, gone, table_options, dialect);
                Some(without_stray_partitions(plain, dialect))
            },
        )
    }
}

/// The draft without the statements that make partitions of tables which have none any more.
fn without_stray_partitions(draft: Draft, dialect: &Dialect) -> Draft {
    let tables = shapes(&draft.setup, dialect);
    let mut setup = draft.setup.clone();
    setup.retain(|statement| !is_stray_partition(&statement.sql, &tables, dialect));
    draft.with_setup(setup)
}
