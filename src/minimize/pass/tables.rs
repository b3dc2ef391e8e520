//! Tables that no statement needs, indexes, and every other statement that shapes the schema.

use std::collections::BTreeSet;

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
