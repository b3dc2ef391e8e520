//! Names as a person would give them: sessions, tables and columns count from the start again.

use std::collections::{BTreeMap, BTreeSet};

use crate::minimize::draft::Draft;
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::model::SessionId;
use crate::statement;

pub(super) struct ShortNames;

impl super::Pass for ShortNames {
    fn name(&self) -> &'static str {
        "names"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        let candidate = sessions(search.best());
        search.try_draft(candidate)?;
        let dialect = search.dialect();
        let shapes = statement::shapes(&search.best().setup, dialect);
        let tables: Vec<String> = shapes.iter().map(|shape| shape.name.clone()).collect();
        rename(search, &tables, "t")?;
        let mut columns: Vec<String> = Vec::new();
        for shape in &shapes {
            for column in &shape.columns {
                let key = [&shape.row_key, &shape.version_key]
                    .into_iter()
                    .flatten()
                    .any(|key| *key == column.name);
                if !key && !columns.contains(&column.name) {
                    columns.push(column.name.clone());
                }
            }
        }
        rename(search, &columns, "c")
    }
}

/// Sessions as s1, s2, ... in order of first submission.
fn sessions(draft: &Draft) -> Draft {
    let mut names: BTreeMap<SessionId, SessionId> = BTreeMap::new();
    let mut next = 1;
    for line in &draft.lines {
        names.entry(line.session).or_insert_with(|| {
            next += 1;
            SessionId(next - 1)
        });
    }
    draft.with_sessions(&names)
}

/// Gives each of these names the next free one of a series, where no statement uses it yet.
fn rename(
    search: &mut Minimization<'_>,
    names: &[String],
    prefix: &str,
) -> Result<(), MinimizationOver> {
    let wanted: Vec<String> = (0..names.len()).map(|n| format!("{prefix}{n}")).collect();
    let taken: BTreeSet<&String> = names.iter().filter(|name| wanted.contains(name)).collect();
    let mut free = wanted.iter().filter(|name| !taken.contains(name));
    for name in names.iter().filter(|name| !wanted.contains(name)) {
        let Some(new) = free.next() else { break };
        if let Some(candidate) = renamed(search, name, new) {
            search.try_draft(candidate)?;
        }
    }
    Ok(())
}

/// The case with one name for another everywhere; none when the new name is in use.
fn renamed(search: &Minimization<'_>, old: &str, new: &str) -> Option<Draft> {
    let dialect = search.dialect();
    let best = search.best();
    let texts = best
        .setup
        .iter()
        .map(|setup| &setup.sql)
        .chain(best.lines.iter().map(|line| &line.sql));
    if texts
        .into_iter()
        .any(|sql| statement::mentions(sql, new, dialect))
    {
        return None;
    }
    let mut setup = best.setup.clone();
    for statement in &mut setup {
        statement.sql = statement::renamed(&statement.sql, old, new, dialect);
    }
    let mut draft = best.with_setup(setup);
    for line in 0..draft.lines.len() {
        let sql = statement::renamed(&draft.lines[line].sql, old, new, dialect);
        if sql != draft.lines[line].sql {
            draft = draft.with_text(line, &sql, dialect);
        }
    }
    Some(draft)
}
