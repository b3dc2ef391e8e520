//! What stands inside of single statements: clauses, joins, subqueries, expressions, constants.

use crate::minimize::search::{Minimization, MinimizationOver};
use crate::statement;

pub(super) struct Expressions;

impl super::Pass for Expressions {
    fn name(&self) -> &'static str {
        "expressions"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        // The longest first: what it loses may free columns and tables for the passes that follow.
        let mut lines: Vec<usize> = (0..search.best().lines.len()).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(search.best().lines[*line].sql.len()));
        for line in lines {
            while smaller(search, line)? {}
        }
        Ok(())
    }
}

/// Keeps the first smaller variant of a statement that shows the finding.
fn smaller(search: &mut Minimization<'_>, line: usize) -> Result<bool, MinimizationOver> {
    let dialect = search.dialect();
    for variant in statement::simplify(&search.best().lines[line].sql, dialect) {
        let candidate = search.best().with_text(line, &variant, dialect);
        if search.try_draft(candidate)? {
            return Ok(true);
        }
    }
    Ok(false)
}
