//! DDL that changes how a table is stored while another session's transaction, which has not used the table yet, is
//! open and will.
//!
//! Such a transaction finds the table as another one than its snapshot knows. One that has used it keeps DDL waiting, and
//! whoever reads the tables from outside would wait behind that: none is drawn there. None is drawn for tables of foreign
//! keys, which lead from one table to another, and for tables with a counter, which a rebuilt table begins anew.

use std::collections::{BTreeMap, BTreeSet};

use super::entropy::Entropy;
use super::schema::TablePlan;
use super::session::{DrawnStatement, sessions_up_to};
use crate::dialect::{Capability, Dialect};
use crate::model::{SessionId, TableShape};
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
    let all: Vec<DdlPlace> = tables
        .iter()
        .filter(|table| !table.counted && !is_tied(&table.name, &catalog.tables))
        .flat_map(|table| places(&table.name, sessions, lines, catalog))
        .collect();
    let Some(place) = entropy.pick(&all) else {
        return;
    };
    let Some(table) = tables.iter().find(|table| table.name == place.table) else {
        return;
    };
    let create = format!(
        "CREATE INDEX x1 ON {} ({})",
        table.name,
        columns(entropy, table)
    );
    let mut texts = match entropy.below(4) {
        0 | 1 => vec![(place.at, create)],
        2 => vec![(place.at, format!("ALTER TABLE {} FORCE", table.name))],
        _ => vec![
            (place.at, format!("DROP INDEX x1 ON {}", table.name)),
            (0, create),
        ],
    };
    let comma = if texts[0].1.starts_with("ALTER") {
        ","
    } else {
        ""
    };
    // Not every product lets DROP INDEX say how.
    if texts.len() == 1 && entropy.percent(COPY_PERCENT) {
        texts[0].1.push_str(comma);
        texts[0].1.push_str(" ALGORITHM=COPY");
    }
    for (at, sql) in texts {
        lines.insert(at, DrawnStatement::outside(place.session, sql, dialect));
    }
}

/// Before which line a session can change the storage of a table.
struct DdlPlace {
    at: usize,
    session: SessionId,
    table: String,
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
fn places(
    table: &str,
    sessions: usize,
    lines: &[DrawnStatement],
    catalog: &Catalog,
) -> Vec<DdlPlace> {
    let uses: Vec<bool> = lines
        .iter()
        .map(|line| {
            let effect = catalog.resolved(line.effect.clone());
            effect.uses.iter().any(|used| used.table == table)
        })
        .collect();
    let mut found = Vec::new();
    // The sessions that are inside a transaction, and whether it has used the table.
    let mut inside: BTreeMap<SessionId, bool> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        let will: BTreeSet<SessionId> = inside
            .keys()
            .filter(|session| will_use(**session, at, lines, &uses))
            .copied()
            .collect();
        if !will.is_empty() && inside.values().all(|used| !used) {
            let outside = sessions_up_to(sessions).filter(|s| !inside.contains_key(s));
            found.extend(outside.map(|session| DdlPlace {
                at,
                session,
                table: table.to_owned(),
            }));
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
