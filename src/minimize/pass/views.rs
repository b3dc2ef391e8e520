//! Views: a statement may name the table behind one instead.

use crate::minimize::draft::Draft;
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::statement::{self, Catalog};

pub(super) struct NamedViews;

impl super::Pass for NamedViews {
    fn name(&self) -> &'static str {
        "views"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        let dialect = search.dialect();
        let catalog = Catalog::of(&search.best().setup, dialect);
        for (view, table) in catalog.views_of_one_table() {
            let best = search.best();
            let named = |sql: &str| statement::mentions(sql, view, dialect);
            let mut setup = best.setup.clone();
            setup.retain(|statement| !named(&statement.sql));
            let all: Vec<usize> = (0..best.lines.len()).collect();
            let direct = |draft: Draft, at: &usize| {
                let sql = statement::renamed(&draft.lines[*at].sql, view, table, dialect);
                draft.with_text(*at, &sql, dialect)
            };
            let lines = all.iter().filter(|at| named(&best.lines[**at].sql));
            let candidate = lines.fold(best.with_setup(setup), direct);
            search.try_draft(candidate)?;
        }
        Ok(())
    }
}
