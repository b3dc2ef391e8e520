//! Rows that the set-up inserts, table by table, then one by one.

use std::collections::BTreeSet;

use crate::dialect::Dialect;
use crate::minimize::draft::Draft;
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::model::SetupKind;
use crate::statement::ValueRows;

pub(super) struct SetupRows;

impl super::Pass for SetupRows {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        let dialect = search.dialect();
        search.remove(
            |draft| draft.setup_of(SetupKind::Rows).len(),
            |draft, gone| {
                let inserts = draft.setup_of(SetupKind::Rows);
                let gone: BTreeSet<usize> = gone.iter().map(|index| inserts[*index]).collect();
                let mut setup = draft.setup.clone();
                let mut position = 0;
                setup.retain(|_| {
                    position += 1;
                    !gone.contains(&(position - 1))
                });
                Some(draft.with_setup(setup))
            },
        )?;
        search.remove(
            |draft| rows(draft, dialect).len(),
            |draft, gone| without(draft, gone, dialect),
        )
    }
}

/// Every row: the set-up statement it stands in, and its number there.
fn rows(draft: &Draft, dialect: &Dialect) -> Vec<(usize, usize)> {
    draft
        .setup_of(SetupKind::Rows)
        .into_iter()
        .flat_map(|position| {
            let rows = ValueRows::of(&draft.setup[position].sql, dialect);
            (0..rows.map_or(0, |rows| rows.len())).map(move |row| (position, row))
        })
        .collect()
}

/// The case without some of its rows; an INSERT that loses all of them goes.
fn without(draft: &Draft, gone: &BTreeSet<usize>, dialect: &Dialect) -> Option<Draft> {
    let all = rows(draft, dialect);
    let gone: BTreeSet<(usize, usize)> = gone.iter().map(|index| all[*index]).collect();
    let mut setup = Vec::new();
    for (position, statement) in draft.setup.iter().enumerate() {
        if !gone.iter().any(|(at, _)| *at == position) {
            setup.push(statement.clone());
            continue;
        }
        let rows = ValueRows::of(&statement.sql, dialect)?;
        if let Some(sql) = rows.with(|row| !gone.contains(&(position, row))) {
            let mut statement = statement.clone();
            statement.sql = sql;
            setup.push(statement);
        }
    }
    Some(draft.with_setup(setup))
}
