//! Columns that no statement needs, with their values.

use crate::minimize::draft::Draft;
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::model::TableShape;
use crate::statement;

pub(super) struct Columns;

impl super::Pass for Columns {
    fn name(&self) -> &'static str {
        "columns"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        let names: Vec<(String, String)> =
            statement::shapes(&search.best().setup, search.dialect())
                .into_iter()
                .flat_map(|shape| {
                    let table = shape.name;
                    let columns = shape.columns.into_iter();
                    columns.map(move |column| (table.clone(), column.name))
                })
                .collect();
        for (table, column) in names.iter().rev() {
            // The shape as it is now: INSERT without a column list goes by position.
            let shapes = statement::shapes(&search.best().setup, search.dialect());
            let candidate = shapes
                .iter()
                .find(|shape| shape.name == *table)
                .and_then(|shape| without(search, shape, column));
            if let Some(candidate) = candidate {
                search.try_draft(candidate)?;
            }
        }
        Ok(())
    }
}

/// The case without a column; none where a statement needs it.
fn without(search: &Minimization<'_>, shape: &TableShape, column: &str) -> Option<Draft> {
    let dialect = search.dialect();
    let best = search.best();
    let smaller = |sql: &str| {
        if statement::mentions(sql, &shape.name, dialect) {
            statement::without_column(sql, shape, column, dialect)
        } else {
            Some(sql.to_owned())
        }
    };
    let mut setup = best.setup.clone();
    for statement in &mut setup {
        statement.sql = smaller(&statement.sql)?;
    }
    let mut draft = best.with_setup(setup);
    for line in 0..draft.lines.len() {
        let sql = smaller(&draft.lines[line].sql)?;
        if sql != draft.lines[line].sql {
            draft = draft.with_text(line, &sql, dialect);
        }
    }
    Some(draft)
}
