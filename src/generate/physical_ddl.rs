//! DDL that changes how a table is stored while another session's transaction, which has not used the table yet, is
//! open and will.
//!
//! Such a transaction finds the table as another one than its snapshot knows. One that has used it keeps DDL waiting, and
//! whoever reads the tables from outside would wait behind that: none is drawn there. None is drawn for tables of foreign
//! keys, which lead from one table to another, and for tables with a counter, which a rebuilt table begins anew.

use std::collections::BTreeMap;

use super::entropy::Entropy;
use super::schema::TablePlan;
use super::session::{DrawnStatement, sessions_up_to};
use crate::dialect::{Capability, Dialect};
use crate::model::{Effect, SessionId, TableShape};
use crate::statement::Catalog;

/// How many of these statements, of a hundred, copy the table row by row.
const COPY_PERCENT: usize = 30;

/// Puts such a statement into some cases that have a place for one.
pub(super) fn add_physical_ddl(
    entropy: &mut Entropy<'_>,
    percent: usize,
    sessions: usize,
    lines: &mut Vec<DrawnStatement>,
    (tables, catalog): (&[TablePlan], &Catalog),
    dialect: &Dialect,
) {
    if !dialect.supports(Capability::PhysicalDdl) || !entropy.percent(percent) {
        return;
    }
    let effects: Vec<Effect> = lines
        .iter()
        .map(|line| catalog.resolved(&line.sql, line.effect.clone(), dialect))
        .collect();
    let suited = tables
        .iter()
        .filter(|table| !table.counted && !is_tied(&table.name, &catalog.tables));
    let all: Vec<DdlPlace<'_>> = suited
        .flat_map(|table| places(table, sessions, lines, &effects))
        .collect();
    let Some(DdlPlace { at, session, table }) = entropy.pick(&all) else {
        return;
    };
    let name = &table.name;
    let create = format!("CREATE INDEX x1 ON {name} ({})", columns(entropy, table));
    let mut add = |at: usize, sql: String| {
        lines.insert(at, DrawnStatement::outside(*session, sql, dialect));
    };
    let (mut sql, way) = match entropy.below(4) {
        0 | 1 => (create, " ALGORITHM=COPY"),
        2 => (format!("ALTER TABLE {name} FORCE"), ", ALGORITHM=COPY"),
        _ => {
            // Not every product lets DROP INDEX say how.
            add(*at, format!("DROP INDEX x1 ON {name}"));
            add(0, create);
            return;
        }
    };
    if entropy.percent(COPY_PERCENT) {
        sql.push_str(way);
    }
    add(*at, sql);
}

/// Before which line a session can change the storage of a table.
struct DdlPlace<'t> {
    at: usize,
    session: SessionId,
    table: &'t TablePlan,
}

/// Whether a foreign key leads from or to a table.
fn is_tied(name: &str, tables: &[TableShape]) -> bool {
    let mut keys = tables
        .iter()
        .flat_map(|table| table.foreign_keys.iter().map(move |key| (table, key)));
    keys.any(|(table, key)| table.name == name || key.parent.eq_ignore_ascii_case(name))
}

/// The places for a table: the session is in no transaction, no other session is in one that has used the table, and
/// one is in one that will.
fn places<'t>(
    table: &'t TablePlan,
    sessions: usize,
    lines: &[DrawnStatement],
    effects: &[Effect],
) -> Vec<DdlPlace<'t>> {
    let is_used = |effect: &Effect| effect.uses.iter().any(|used| used.table == table.name);
    let uses: Vec<bool> = effects.iter().map(is_used).collect();
    let mut found = Vec::new();
    // The sessions that are inside a transaction, and whether it has used the table.
    let mut inside: BTreeMap<SessionId, bool> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        let mut open = inside.keys();
        let will_be_used = open.any(|session| will_use(*session, at, lines, &uses));
        if will_be_used && inside.values().all(|used| !used) {
            let outside = sessions_up_to(sessions).filter(|s| !inside.contains_key(s));
            found.extend(outside.map(|session| DdlPlace { at, session, table }));
        }
        if line.is_inside() {
            *inside.entry(line.session).or_default() |= uses[at];
        } else {
            inside.remove(&line.session);
        }
    }
    found
}

/// Whether the transaction that a session is in before a line uses the table from there on.
fn will_use(session: SessionId, from: usize, lines: &[DrawnStatement], uses: &[bool]) -> bool {
    let mut own = (from..lines.len())
        .filter(|at| lines[*at].session == session)
        .take_while(|at| lines[*at].is_inside());
    own.any(|at| uses[at])
}

/// The columns of a new index: one or two of those that an index can have whole.
fn columns(entropy: &mut Entropy<'_>, table: &TablePlan) -> String {
    let stored = table.columns.iter().filter(|column| column.indexable);
    let stored = stored.map(|column| column.name.as_str());
    let all: Vec<&str> = stored.chain([table.version, "pkey"]).collect();
    let first = entropy.below(all.len());
    let second = entropy.below(all.len() * 2);
    let direction = if entropy.percent(30) { " DESC" } else { "" };
    match all.get(second).filter(|_| second != first) {
        Some(other) => format!("{}{direction}, {other}", all[first]),
        None => format!("{}{direction}", all[first]),
    }
}
