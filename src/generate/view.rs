//! Views: statements that reach a table through one.

use super::entropy::Entropy;
use super::schema::{ColumnPlan, TablePlan};
use super::session::DrawnStatement;
use crate::dialect::{Capability, Dialect, TypeClass};
use crate::model::StatementKind;
use crate::statement::{analyze, renamed};

/// How many tables, of a hundred, of a schema with views have one; how many of their statements go through it.
const VIEW_PERCENT: usize = 70;
const THROUGH_PERCENT: usize = 40;

/// A view of one table that shows its columns by their names.
#[derive(Clone, Debug)]
pub(super) struct ViewPlan {
    pub name: String,
    /// The name of its table.
    table: String,
    pub sql: String,
    /// Each of its rows is a row of the table: it can be written, and locked.
    writable: bool,
}

/// Draws the views of an epoch.
pub(super) fn views(
    entropy: &mut Entropy<'_>,
    percent: usize,
    tables: &[TablePlan],
    dialect: &Dialect,
) -> Vec<ViewPlan> {
    if !dialect.supports(Capability::View) || !entropy.percent(percent) {
        return Vec::new();
    }
    let drawn = tables.iter().enumerate().map(|(number, table)| {
        let has_view = entropy.percent(VIEW_PERCENT);
        has_view.then(|| view(entropy, number + 1, table, dialect))
    });
    drawn.flatten().collect()
}

fn view(
    entropy: &mut Entropy<'_>,
    number: usize,
    table: &TablePlan,
    dialect: &Dialect,
) -> ViewPlan {
    let columns = table.columns.iter().map(|column| column.name.as_str());
    let columns: Vec<&str> = ["pkey", table.version].into_iter().chain(columns).collect();
    let (algorithm, distinct) = match entropy.below(10) {
        0 | 1 if dialect.supports(Capability::ViewAlgorithm) => (" ALGORITHM=TEMPTABLE", ""),
        2 if dialect.supports(Capability::ViewAlgorithm) => (" ALGORITHM=MERGE", ""),
        3 => ("", " DISTINCT"),
        _ => ("", ""),
    };
    let name = format!("v{number}");
    let condition = condition(entropy, table);
    ViewPlan {
        sql: format!(
            "CREATE{algorithm} VIEW {name} AS SELECT{distinct} {} FROM {}{condition}",
            columns.join(", "),
            table.name
        ),
        name,
        table: table.name.clone(),
        writable: distinct.is_empty() && !algorithm.contains("TEMPTABLE"),
    }
}

/// Which rows a view shows; all in half of them.
fn condition(entropy: &mut Entropy<'_>, table: &TablePlan) -> String {
    let integer = |column: &&ColumnPlan| column.class == TypeClass::Integer;
    let integers: Vec<&ColumnPlan> = table.columns.iter().filter(integer).collect();
    match (entropy.below(8), entropy.pick(&integers)) {
        (0, _) => " WHERE pkey > 1".to_owned(),
        (1, _) => " WHERE pkey < 6".to_owned(),
        (2, Some(column)) => format!(" WHERE {} IS NOT NULL", column.name),
        (3, Some(column)) => match entropy.pick(&column.literals) {
            Some(value) => format!(" WHERE {} >= {value}", column.name),
            None => String::new(),
        },
        _ => String::new(),
    }
}

/// Sends statements through the views of the tables that they name.
pub(super) fn send_through(
    entropy: &mut Entropy<'_>,
    views: &[ViewPlan],
    lines: &mut [DrawnStatement],
    dialect: &Dialect,
) {
    for line in lines {
        let Some(view) = entropy.pick(views) else {
            return;
        };
        if entropy.percent(THROUGH_PERCENT) && may_go_through(line, view, dialect) {
            line.sql = renamed(&line.sql, &view.table, &view.name, dialect);
            line.effect = analyze(&line.sql, dialect);
        }
    }
}

fn may_go_through(line: &DrawnStatement, view: &ViewPlan, dialect: &Dialect) -> bool {
    let mut uses = line.effect.uses.iter().filter(|u| u.table == view.table);
    let writes = dialect.supports(Capability::ViewWrite) && view.writable;
    let only_reads = line.effect.kind == StatementKind::Select;
    let may = uses.all(|u| {
        let suits = if u.role.is_target() {
            writes
        } else {
            view.writable
        };
        only_reads || suits
    });
    may && line.effect.uses.iter().any(|u| u.table == view.table)
        // A hint names an index of a table.
        && !line.sql.contains(" INDEX (")
}
