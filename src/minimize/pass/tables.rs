//! Indexes, tables that no statement needs, and every other statement that shapes the schema.

use std::collections::BTreeSet;

use crate::dialect::Dialect;
use crate::minimize::draft::Draft;
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::model::SetupKind;
use crate::statement;

pub(super) struct Tables;

impl super::Pass for Tables {
    fn name(&self) -> &'static str {
        "tables"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        let dialect = search.dialect();
        // All at once first: with an index that is made behind its table some engines have to build the tables anew for
        // each run.
        let candidate = only_tables(search.best(), dialect);
        search.try_draft(candidate)?;
        for table in statement::shapes(&search.best().setup, dialect) {
            let about = |sql: &str| statement::mentions(sql, &table.name, dialect);
            let needed = search.best().lines.iter().any(|line| about(&line.sql));
            if needed {
                continue;
            }
            let mut setup = search.best().setup.clone();
            setup.retain(|statement| !about(&statement.sql));
            let candidate = search.best().with_setup(setup);
            search.try_draft(candidate)?;
        }
        search.remove(
            |draft| draft.setup_of(SetupKind::Schema).len(),
            |draft, gone| Some(without(draft, gone)),
        )
    }
}

/// The case with no other statement that shapes the schema than those that make tables.
fn only_tables(draft: &Draft, dialect: &Dialect) -> Draft {
    let mut setup = draft.setup.clone();
    setup.retain(|statement| {
        statement.kind == SetupKind::Rows
            || !statement::shapes(std::slice::from_ref(statement), dialect).is_empty()
    });
    draft.with_setup(setup)
}

fn without(draft: &Draft, gone: &BTreeSet<usize>) -> Draft {
    let schema = draft.setup_of(SetupKind::Schema);
    let gone: BTreeSet<usize> = gone.iter().map(|index| schema[*index]).collect();
    let mut setup = draft.setup.clone();
    let mut position = 0;
    setup.retain(|_| {
        position += 1;
        !gone.contains(&(position - 1))
    });
    draft.with_setup(setup)
}
